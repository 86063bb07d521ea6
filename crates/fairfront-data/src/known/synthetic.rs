//! Two Gaussian classes, and an attribute that depends on the position of a row (after Zafar et al.).

use fairfront_core::{Purpose, Stream};

use super::{check_memory, check_rows, check_settings, setting, with_room};
use crate::Error;
use crate::grammar::Call;
use crate::memory::MemoryLimit;
use crate::spec::{Scale, Spec, SplitRule};
use crate::table::{Column, Table};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    seed: u64,
    rows: usize,
    rotation: f64,
}

impl Settings {
    pub(super) fn from_call(seed: u64, call: &Call) -> Result<Self, Error> {
        check_settings(call, &["rows", "rotation"])?;
        let settings = Self {
            seed,
            rows: setting(call, "rows", 2_000)?,
            // The paper's twenty data sets: φ_i = 1.2 + 0.35 i.
            rotation: setting(call, "rotation", 1.2 + 0.35 * (seed % 20) as f64)?,
        };
        check_rows(call, settings.rows)?;
        if !settings.rotation.is_finite() {
            return Err(Error::usage(format!(
                "{}: the rotation must be finite",
                call.name
            )));
        }
        Ok(settings)
    }
}

pub(super) fn spec() -> Spec {
    Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![vec!["a".into()]],
        scale: Scale::None,
        split: SplitRule::None,
        ..Spec::default()
    }
}

/// A Gaussian in the plane.
struct Gaussian {
    mean: [f64; 2],
    /// The covariance [[xx, xy], [xy, yy]] as (xx, xy, yy).
    covariance: (f64, f64, f64),
}

const POSITIVE: Gaussian = Gaussian {
    mean: [2.0, 2.0],
    covariance: (5.0, 1.0, 5.0),
};
const NEGATIVE: Gaussian = Gaussian {
    mean: [-2.0, -2.0],
    covariance: (10.0, 1.0, 3.0),
};

impl Gaussian {
    fn draw(&self, random: &mut Stream) -> [f64; 2] {
        let (xx, xy, yy) = self.covariance;
        // The Cholesky factor of the covariance, written out.
        let l11 = xx.sqrt();
        let l21 = xy / l11;
        let l22 = (yy - l21 * l21).sqrt();
        let (u, v) = (random.normal(), random.normal());
        [self.mean[0] + l11 * u, self.mean[1] + l21 * u + l22 * v]
    }

    fn log_density(&self, z: [f64; 2]) -> f64 {
        let (xx, xy, yy) = self.covariance;
        let determinant = xx * yy - xy * xy;
        let (dx, dy) = (z[0] - self.mean[0], z[1] - self.mean[1]);
        let distance = (yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / determinant;
        -0.5 * (distance + libm::log(determinant)) - libm::log(std::f64::consts::TAU)
    }
}

/// z′ = zR with R = [[cos φ, −sin φ], [sin φ, cos φ]].
fn rotate(z: [f64; 2], rotation: f64) -> [f64; 2] {
    let (sin, cos) = (libm::sin(rotation), libm::cos(rotation));
    [z[0] * cos + z[1] * sin, -z[0] * sin + z[1] * cos]
}

/// p(z′ | y = 1) / (p(z′ | y = 1) + p(z′ | y = −1)).
fn chance_of_attribute(z: [f64; 2], rotation: f64) -> f64 {
    let turned = rotate(z, rotation);
    let log_ratio = NEGATIVE.log_density(turned) - POSITIVE.log_density(turned);
    1.0 / (1.0 + libm::exp(log_ratio))
}

pub(super) fn table(settings: &Settings, memory: MemoryLimit) -> Result<Table, Error> {
    let n = settings.rows;
    // The drawn rows, and the columns made from them.
    let row_bytes = size_of::<([f64; 2], bool)>() + 2 * size_of::<f64>() + 2 * size_of::<u32>() + 1;
    check_memory("synthetic", n, row_bytes, memory)?;
    let mut random = Stream::new(settings.seed, Purpose::Synthetic, [0, 0]);
    let mut rows: Vec<([f64; 2], bool)> = with_room(n)?;
    rows.extend((0..n).map(|i| {
        let positive = i < n / 2;
        let class = if positive { &POSITIVE } else { &NEGATIVE };
        (class.draw(&mut random), positive)
    }));
    random.shuffle(&mut rows);
    let attribute: Vec<bool> = rows
        .iter()
        .map(|(z, _)| random.chance(chance_of_attribute(*z, settings.rotation)))
        .collect();

    let label = |positive: bool| Some(if positive { "1" } else { "-1" });
    let group = |a: bool| Some(if a { "1" } else { "0" });
    Ok(Table::from_columns(
        "synthetic",
        vec![
            Column::from_numbers("z1", rows.iter().map(|(z, _)| z[0]).collect()),
            Column::from_numbers("z2", rows.iter().map(|(z, _)| z[1]).collect()),
            Column::from_strings("a", attribute.into_iter().map(group)),
            Column::from_strings("y", rows.iter().map(|(_, y)| label(*y))),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(settings: &Settings) -> Table {
        table(settings, MemoryLimit::default()).unwrap()
    }

    fn settings(rows: usize, rotation: f64) -> Settings {
        Settings {
            seed: 5,
            rows,
            rotation,
        }
    }

    fn columns(table: &Table) -> (Vec<[f64; 2]>, Vec<bool>, Vec<bool>) {
        let numbers = |name: &str| -> Vec<f64> {
            table
                .column(name)
                .unwrap()
                .numeric()
                .unwrap()
                .iter()
                .collect()
        };
        let flags = |name: &str| {
            let (codes, categories) = table.column(name).unwrap().categorical().unwrap();
            codes
                .iter()
                .map(|c| categories[*c as usize] == "1")
                .collect()
        };
        let z = numbers("z1")
            .into_iter()
            .zip(numbers("z2"))
            .map(|(a, b)| [a, b])
            .collect();
        (z, flags("y"), flags("a"))
    }

    #[test]
    fn classes_have_their_means_and_covariances() {
        let n = 200_000;
        let (z, y, _) = columns(&made(&settings(n, 1.2)));
        assert_eq!(y.iter().filter(|y| **y).count(), n / 2);
        for (class, label) in [(&POSITIVE, true), (&NEGATIVE, false)] {
            let rows: Vec<[f64; 2]> = z
                .iter()
                .zip(&y)
                .filter(|(_, y)| **y == label)
                .map(|(z, _)| *z)
                .collect();
            let m = rows.len() as f64;
            let mean = |k: usize| rows.iter().map(|z| z[k]).sum::<f64>() / m;
            let cov = |k: usize, l: usize| {
                rows.iter()
                    .map(|z| (z[k] - class.mean[k]) * (z[l] - class.mean[l]))
                    .sum::<f64>()
                    / m
            };
            let (xx, xy, yy) = class.covariance;
            // Five standard errors: √(10/1e5) = 0.01 for means, √2·10/√1e5 = 0.045 for variances.
            assert!(
                (mean(0) - class.mean[0]).abs() < 0.05 && (mean(1) - class.mean[1]).abs() < 0.05
            );
            for (found, expected) in [(cov(0, 0), xx), (cov(0, 1), xy), (cov(1, 1), yy)] {
                assert!((found - expected).abs() < 0.23, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn attribute_follows_its_probability() {
        let rotation = 0.7;
        let (z, _, a) = columns(&made(&settings(100_000, rotation)));
        let mut bins = [(0.0, 0.0, 0.0); 10];
        for (z, a) in z.into_iter().zip(a) {
            // The densities computed independently, with R applied as a matrix product from the right.
            let (s, c) = rotation.sin_cos();
            let turned = [z[0] * c + z[1] * s, z[0] * -s + z[1] * c];
            let density = |mean: f64, xx: f64, xy: f64, yy: f64| {
                let det = xx * yy - xy * xy;
                let (dx, dy) = (turned[0] - mean, turned[1] - mean);
                (-(yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / (2.0 * det)).exp()
                    / det.sqrt()
            };
            let (p, q) = (density(2.0, 5.0, 1.0, 5.0), density(-2.0, 10.0, 1.0, 3.0));
            let chance = p / (p + q);
            let bin = &mut bins[((chance * 10.0) as usize).min(9)];
            bin.0 += 1.0;
            bin.1 += chance;
            bin.2 += f64::from(u8::from(a));
        }
        for (count, expected, found) in bins {
            assert!((found - expected).abs() < 5.0 * (count * 0.25_f64).sqrt());
        }
    }

    #[test]
    fn same_seed_gives_same_rows() {
        let a = made(&settings(50, 1.2));
        assert_eq!(a.columns(), made(&settings(50, 1.2)).columns());
        let other = Settings {
            seed: 6,
            ..settings(50, 1.2)
        };
        assert_ne!(a.columns(), made(&other).columns());
    }
}
