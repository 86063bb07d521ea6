//! Small random rows, and every objective written out row by row.

use std::sync::Arc;

use fairfront_core::{
    Attribute, BLOCK_ROWS, CategoricalFeature, Center, Condition, Covariance, Dataset, FairProblem,
    Linear, LogLoss, Objective, Purpose, RowBlock, Schema, SmoothMax, Stream, UNKNOWN_GROUP,
};

/// One row, dense.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) z: Vec<f64>,
    pub(crate) y: f64,
    pub(crate) group: Option<usize>,
    pub(crate) w: f64,
}

/// Two numeric features, columns of three and of two categories, and an attribute.
pub(crate) fn schema(n_groups: usize) -> Schema {
    let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    Schema {
        numeric: names("n", 2),
        categorical: vec![
            CategoricalFeature {
                column: "c".into(),
                categories: names("c", 3),
            },
            CategoricalFeature {
                column: "d".into(),
                categories: names("d", 2),
            },
        ],
        attributes: vec![Attribute::new("a", names("g", n_groups))],
        target: fairfront_core::Target::Binary,
        hidden: 0,
    }
}

pub(crate) const N_FEATURES: usize = 7;

pub(crate) fn rows(seed: u64, n: usize, n_groups: usize, weighted: bool) -> Vec<Row> {
    let mut random = Stream::new(seed, Purpose::Synthetic, [9, 9]);
    (0..n)
        .map(|i| {
            let mut z = vec![0.0; N_FEATURES];
            z[0] = random.normal();
            z[1] = random.normal();
            let (c, d) = (random.below(4), random.below(2));
            // The fourth category has no feature.
            if c < 3 {
                z[2 + c] = 1.0;
            }
            z[5 + d] = 1.0;
            // The first rows ensure that every group and label occurs.
            let group = if i < 2 * n_groups {
                i % n_groups
            } else {
                random.below(n_groups)
            };
            Row {
                z,
                y: if i < n_groups || random.chance(0.4) {
                    1.0
                } else {
                    -1.0
                },
                group: (i < 2 * n_groups || !random.chance(0.1)).then_some(group),
                w: if weighted {
                    random.uniform() * 3.0
                } else {
                    1.0
                },
            }
        })
        .collect()
}

pub(crate) fn dataset(rows: &[Row], n_groups: usize) -> Dataset {
    let schema = schema(n_groups);
    let null = schema.null_feature();
    let block = |rows: &[Row]| {
        let code = |z: &[f64], range: std::ops::Range<usize>| {
            range
                .clone()
                .find(|i| z[*i] == 1.0)
                .map_or(null, |i| i as u32)
        };
        RowBlock::new(
            &schema,
            rows.iter().flat_map(|r| r.z[..2].to_vec()).collect(),
            rows.iter()
                .flat_map(|r| [code(&r.z, 2..5), code(&r.z, 5..7)])
                .collect(),
            rows.iter().map(|r| r.y).collect(),
            vec![
                rows.iter()
                    .map(|r| r.group.map_or(UNKNOWN_GROUP, |g| g as u32))
                    .collect(),
            ],
            rows.iter().map(|r| r.w).collect(),
        )
        .expect("sound rows")
    };
    Dataset::new(schema.clone(), rows.chunks(BLOCK_ROWS).map(block).collect())
        .expect("sound blocks")
}

pub(crate) fn problem(data: Dataset, objectives: Vec<Box<dyn Objective>>) -> FairProblem {
    FairProblem::new(Arc::new(data), Box::new(Linear), objectives).expect("a problem")
}

/// An objective of every kind, on the one attribute.
pub(crate) fn objective(number: usize, n_groups: usize) -> Box<dyn Objective> {
    let attribute = &schema(n_groups).attributes[0];
    let of = |kind| Covariance::new(kind, 0, attribute);
    match number {
        0 => Box::new(LogLoss { lambda: 0.01 }),
        1 => Box::new(of(Condition::All)),
        2 => Box::new(Covariance {
            smooth_max: SmoothMax::LogSumExp,
            beta: 3.0,
            ..of(Condition::All)
        }),
        3 => Box::new(Covariance {
            mu: 0.3,
            ..of(Condition::Positive)
        }),
        4 => Box::new(Covariance {
            mu: 0.3,
            center: Center::All,
            ..of(Condition::Positive)
        }),
        _ => Box::new(Covariance {
            mu: 0.3,
            ..of(Condition::Negative)
        }),
    }
}

pub(crate) fn mean<'a>(
    rows: impl Iterator<Item = &'a Row> + Clone,
    value: impl Fn(&Row) -> f64,
) -> f64 {
    let total: f64 = rows.clone().map(|r| r.w).sum();
    rows.map(|r| r.w * value(r)).sum::<f64>() / total
}

pub(crate) fn phi(row: &Row, x: &[f64]) -> f64 {
    row.z.iter().zip(x).map(|(z, c)| z * c).sum::<f64>() + x[N_FEATURES]
}

/// The value of `objective(number, n_groups)` by its definition, row by row.
pub(crate) fn value(number: usize, n_groups: usize, rows: &[Row], x: &[f64]) -> f64 {
    if number == 0 {
        let loss = mean(rows.iter(), |r| {
            let m = r.y * phi(r, x);
            // log(1 + e^{−m}) without overflow.
            if m > 0.0 {
                (-m).exp().ln_1p()
            } else {
                m.exp().ln_1p() - m
            }
        });
        return loss + 0.005 * x[..N_FEATURES].iter().map(|c| c * c).sum::<f64>();
    }
    let squares: Vec<f64> = covariances(number, n_groups, rows, x)
        .iter()
        .map(|c| c * c)
        .collect();
    smooth_max(number, &squares)
}

/// The covariances whose squares make up objective `number`; for two groups, that of the second.
pub(crate) fn covariances(number: usize, n_groups: usize, rows: &[Row], x: &[f64]) -> Vec<f64> {
    let smooth_min = |s: f64| {
        let mu = 0.3;
        if s < -mu {
            s
        } else if s > mu {
            0.0
        } else {
            -(s - mu) * (s - mu) / (4.0 * mu)
        }
    };
    let counts = |r: &Row| match number {
        1 | 2 => true,
        3 | 4 => r.y > 0.0,
        _ => r.y < 0.0,
    };
    let psi = |r: &Row| match number {
        _ if !counts(r) => 0.0,
        1 | 2 => phi(r, x),
        3 | 4 => smooth_min(phi(r, x)),
        _ => smooth_min(-phi(r, x)),
    };
    let known: Vec<Row> = rows.iter().filter(|r| r.group.is_some()).cloned().collect();
    let covariance = |g: usize| {
        let a = |r: &Row| f64::from(u8::from(r.group == Some(g)));
        let center = match number {
            3 | 5 => mean(known.iter().filter(|r| counts(r)), a),
            _ => mean(known.iter(), a),
        };
        mean(known.iter(), |r| (a(r) - center) * psi(r))
    };
    let first = usize::from(n_groups == 2);
    (first..n_groups).map(covariance).collect()
}

/// The smooth maximum that objective `number` uses.
pub(crate) fn smooth_max(number: usize, v: &[f64]) -> f64 {
    if let [one] = v {
        return *one;
    }
    if number == 2 {
        let sum: f64 = v.iter().map(|v| (3.0 * v).exp()).sum();
        return (sum / v.len() as f64).ln() / 3.0;
    }
    let e: Vec<f64> = v.iter().map(|v| (8.0 * v).exp()).collect();
    v.iter().zip(&e).map(|(v, e)| v * e).sum::<f64>() / e.iter().sum::<f64>()
}
