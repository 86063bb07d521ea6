//! The objectives of errors and of groups' rates and losses, each written out row by row.

use fairfront_core::{
    Condition, Costs, ErrorRate, GroupRisk, MutualInformation, Objective, RateParity, Risk, Spread,
};
use proptest::prelude::*;

use crate::plain::{N_FEATURES, Row, mean, phi, schema};

/// Number of objectives that [`objectives`] makes.
pub(crate) const N_KINDS: usize = 13;
/// The kinds that are smooth versions of a measure.
pub(crate) const MEASURED: [usize; 6] = [ERROR, 1, 3, 5, 7, INFORMATION];
pub(crate) const ERROR: usize = 0;
/// The kinds that compare rates: range and variance of selection rates, true positive rates, false
/// positive rates, and both of the latter.
pub(crate) const PARITIES: std::ops::Range<usize> = 1..9;
pub(crate) const INFORMATION: usize = 9;
pub(crate) const RISK_VARIANCE: usize = 10;
pub(crate) const CVAR: usize = 11;
pub(crate) const WORST: usize = 12;

/// The settings of the kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) tau: f64,
    pub(crate) beta: f64,
    pub(crate) alpha: f64,
    pub(crate) mu: f64,
    pub(crate) clamp: f64,
    pub(crate) lambda: f64,
    pub(crate) shrink: f64,
    pub(crate) costs: Costs,
}

/// Random settings of sizes at which the naive formulas below do not overflow.
pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let shrink = prop_oneof![Just(0.0), 0.001..0.5_f64];
    let clamp = prop_oneof![Just(1e-6), 0.01..0.3_f64];
    let lambda = prop_oneof![Just(0.0), 1e-4..0.1_f64];
    let costs = prop_oneof![Just((1.0, 1.0)), (0.1..10.0_f64, 0.1..10.0_f64)];
    let sharpness = (0.05..1.5_f64, 1.0..80.0_f64);
    let tail = (0.05..0.95_f64, 0.003..0.5_f64);
    (sharpness, tail, clamp, lambda, shrink, costs).prop_map(
        |((tau, beta), (alpha, mu), clamp, lambda, shrink, costs)| Settings {
            tau,
            beta,
            alpha,
            mu,
            clamp,
            lambda,
            shrink,
            costs: Costs {
                false_positive: costs.0,
                false_negative: costs.1,
            },
        },
    )
}

/// One objective of a kind. Information uses decisions that are twice as blurred, so that not all
/// objectives of decisions share them.
pub(crate) fn objective(kind: usize, n_groups: usize, s: &Settings) -> Box<dyn Objective> {
    let attribute = &schema(n_groups).attributes[0];
    let risk = |risk| -> Box<dyn Objective> {
        Box::new(GroupRisk::new(risk, 0, attribute).shrunk(s.shrink))
    };
    let rates = match kind {
        ERROR => {
            return Box::new(ErrorRate {
                tau: s.tau,
                lambda: s.lambda,
                costs: s.costs,
            });
        }
        1 | 2 => RateParity::new(Condition::All, 0, attribute),
        3 | 4 => RateParity::new(Condition::Positive, 0, attribute),
        5 | 6 => RateParity::new(Condition::Negative, 0, attribute),
        7 | 8 => RateParity::equalized_odds(0, attribute),
        INFORMATION => {
            let mut of = MutualInformation::new(0, attribute).shrunk(s.shrink);
            (of.tau, of.clamp) = (2.0 * s.tau, s.clamp);
            return Box::new(of);
        }
        RISK_VARIANCE => return risk(Risk::Variance),
        CVAR => {
            return risk(Risk::Cvar {
                alpha: s.alpha,
                mu: s.mu,
            });
        }
        _ => return risk(Risk::Worst { beta: s.beta }),
    };
    let mut rates = rates.shrunk(s.shrink);
    (rates.tau, rates.beta) = (s.tau, s.beta);
    rates.spread = match kind % 2 {
        1 => Spread::Range,
        _ => Spread::Variance,
    };
    Box::new(rates)
}

pub(crate) fn objectives(n_groups: usize, s: &Settings) -> Vec<Box<dyn Objective>> {
    (0..N_KINDS).map(|k| objective(k, n_groups, s)).collect()
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// log(1 + e^v) without overflow.
fn softplus(v: f64) -> f64 {
    match v > 0.0 {
        true => v + (-v).exp().ln_1p(),
        false => v.exp().ln_1p(),
    }
}

pub(crate) fn loss(row: &Row, x: &[f64]) -> f64 {
    softplus(-row.y * phi(row, x))
}

fn weight<'a>(rows: impl IntoIterator<Item = &'a Row>) -> f64 {
    rows.into_iter().map(|r| r.w).sum()
}

/// Share and mean of each group with weight among the rows that `counts` accepts, and the mean of
/// all of them. Each group has additional weight with that mean: `shrink` of the weight of all rows
/// of known group.
fn by_group(
    rows: &[Row],
    counts: impl Fn(&Row) -> bool,
    shrink: f64,
    value: impl Fn(&Row) -> f64,
) -> (Vec<(f64, f64)>, f64) {
    let known: Vec<&Row> = rows.iter().filter(|r| r.group.is_some()).collect();
    let counted: Vec<&Row> = known.iter().copied().filter(|r| counts(r)).collect();
    let all = weight(counted.iter().copied());
    if all == 0.0 {
        return (Vec::new(), 0.0);
    }
    let overall = mean(counted.iter().copied(), &value);
    let added = shrink * weight(known);
    let n_groups = counted.iter().filter_map(|r| r.group).max().unwrap_or(0) + 1;
    let mut of_groups = Vec::new();
    for g in 0..n_groups {
        let own = counted.iter().copied().filter(|r| r.group == Some(g));
        let w = weight(own.clone());
        if w > 0.0 {
            let sum: f64 = own.map(|r| r.w * value(r)).sum();
            of_groups.push((w / all, (sum + added * overall) / (w + added)));
        }
    }
    (of_groups, overall)
}

/// (1/β) log of the mean of e^{βv}, relative to the first value.
fn smooth_largest(v: &[f64], beta: f64) -> f64 {
    let e: f64 = v.iter().map(|u| (beta * (u - v[0])).exp()).sum();
    v[0] + (e / v.len() as f64).ln() / beta
}

/// The minimum over ρ of ρ + E[μ log(1 + e^{(L−ρ)/μ})]/(1−α), by bracketing.
fn least_over_rho(losses: &[(f64, f64)], alpha: f64, mu: f64) -> f64 {
    let at = |rho: f64| {
        let above = losses.iter().map(|(p, l)| p * softplus((l - rho) / mu));
        rho + mu * above.sum::<f64>() / (1.0 - alpha)
    };
    let smallest = losses.iter().map(|(_, l)| *l).fold(f64::INFINITY, f64::min);
    let largest = losses.iter().map(|(_, l)| *l).fold(0.0, f64::max);
    let (mut low, mut high) = (smallest - 10.0 * mu, largest + 10.0 * mu);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        match at(a) < at(b) {
            true => high = b,
            false => low = a,
        }
    }
    at(low).min(at(high))
}

fn spread(kind: usize, label: Option<f64>, s: &Settings, rows: &[Row], x: &[f64]) -> f64 {
    let counts = |r: &Row| label.is_none_or(|label| r.y == label);
    let rate = |r: &Row| sigmoid(phi(r, x) / s.tau);
    let (groups, overall) = by_group(rows, counts, s.shrink, rate);
    if groups.is_empty() {
        return 0.0;
    }
    if kind.is_multiple_of(2) {
        let squares = groups.iter().map(|(p, r)| p * (r - overall).powi(2));
        return squares.sum();
    }
    let rates: Vec<f64> = groups.iter().map(|(_, r)| *r).collect();
    let mirrored: Vec<f64> = rates.iter().map(|r| -r).collect();
    smooth_largest(&rates, s.beta) + smooth_largest(&mirrored, s.beta)
}

/// The value of `objective(kind, n_groups, s)` by its definition, row by row.
pub(crate) fn value(kind: usize, s: &Settings, rows: &[Row], x: &[f64]) -> f64 {
    let of = |label| spread(kind, label, s, rows, x);
    let losses = || by_group(rows, |_| true, s.shrink, |r| loss(r, x));
    match kind {
        ERROR => {
            let cost = |r: &Row| match r.y > 0.0 {
                true => s.costs.false_negative,
                false => s.costs.false_positive,
            };
            let wrong = mean(rows.iter(), |r| cost(r) * sigmoid(-r.y * phi(r, x) / s.tau));
            let square: f64 = x[..N_FEATURES].iter().map(|c| c * c).sum();
            wrong + 0.5 * s.lambda * square
        }
        1 | 2 => of(None),
        3 | 4 => of(Some(1.0)),
        5 | 6 => of(Some(-1.0)),
        7 => smooth_largest(&[of(Some(1.0)), of(Some(-1.0))], s.beta),
        8 => of(Some(1.0)) + of(Some(-1.0)),
        INFORMATION => {
            let rate = |r: &Row| sigmoid(phi(r, x) / (2.0 * s.tau));
            let (groups, _) = by_group(rows, |_| true, s.shrink, rate);
            let table: Vec<[f64; 2]> = groups
                .iter()
                .map(|(p, r)| {
                    let r = r.max(s.clamp).min(1.0 - s.clamp);
                    [p * (1.0 - r), p * r]
                })
                .collect();
            information(&table)
        }
        RISK_VARIANCE => {
            let (groups, overall) = losses();
            groups.iter().map(|(p, l)| p * (l - overall).powi(2)).sum()
        }
        CVAR => {
            let (groups, _) = losses();
            if groups.is_empty() {
                return 0.0;
            }
            // Subtract the value for equal groups, which comes from smoothing the corner.
            let equal: Vec<(f64, f64)> = groups.iter().map(|(p, _)| (*p, 0.0)).collect();
            let tail = least_over_rho(&groups, s.alpha, s.mu);
            let all: f64 = groups.iter().map(|(p, l)| p * l).sum();
            tail - least_over_rho(&equal, s.alpha, s.mu) - all
        }
        _ => {
            let losses: Vec<f64> = losses().0.iter().map(|(_, l)| *l).collect();
            match losses.is_empty() {
                true => 0.0,
                false => smooth_largest(&losses, s.beta),
            }
        }
    }
}

/// Σ p(g, d) log(p(g, d) / (p(g) p(d))) over a joint table with one row per group.
pub(crate) fn information(table: &[[f64; 2]]) -> f64 {
    let total: f64 = table.iter().flatten().sum();
    let of_decision = |d: usize| table.iter().map(|row| row[d]).sum::<f64>() / total;
    let mut sum = 0.0;
    for row in table {
        let of_group = (row[0] + row[1]) / total;
        for (d, cell) in row.iter().enumerate() {
            if *cell > 0.0 {
                let joint = cell / total;
                sum += joint * (joint / (of_group * of_decision(d))).ln();
            }
        }
    }
    sum
}
