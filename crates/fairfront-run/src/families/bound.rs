//! An estimate of the best values that any model on the same columns could reach.
//!
//! Take the calibrated probabilities for the true ones. With the gain s(z) of selecting a row, and the
//! shares `c_k(z)` of the rows of group k that a row stands for, decisions δ(z) cost
//! base − E[δs] and have rates `r_k` = E[δ`c_k`]. If the rates of each comparison may differ by at most ε,
//! then for any multipliers λ with Σ`λ_k` = 0 in each comparison,
//!
//! cost ≥ base − E[(s − λ·c)₊] − ε Σ(`λ_k`)₊,
//!
//! and the largest value over λ is the least cost. Every λ gives a valid bound, so that an imprecise
//! search only makes it looser.

use fairfront_core::{Costs, Loaded, Measure};
use fairfront_learn::{Learned, OutOfFoldFeatures, Stratum};
use rayon::prelude::*;

use crate::{Overlay, OverlayKind, OverlayPoint};

/// Points of a curve.
const POINTS: usize = 25;
/// With more rows, every second, third, … row is used.
const MOST_ROWS: usize = 20_000;
/// Steps of the search for multipliers, for each point of a curve.
const STEPS: usize = 200;
/// Halvings of the range of the multiplier of two groups.
const HALVINGS: usize = 40;
/// The largest multiplier and the largest step.
const MOST: f64 = 1e3;
/// Standard errors on each side of a 95% band.
const BAND: f64 = 1.959_964;
/// The name of the bound in legends.
const LABEL: &str = "estimated bound";

/// Bounds on the costs of errors for each fairness measure, by the differences that are allowed. The
/// first measure is the one of errors.
pub(crate) fn bounds(
    train: &Loaded,
    learned: &Learned,
    out_of_fold: &OutOfFoldFeatures,
    measures: &[Measure],
) -> Vec<Overlay> {
    let [Measure::ErrorRate(costs), fair @ ..] = measures else {
        return Vec::new();
    };
    let schema = train.schema();
    // The bound is that of decisions between two labels.
    if !schema.target.is_binary() {
        return Vec::new();
    }
    let of_measure = |measure: &Measure| {
        let about = Comparisons::of(train, learned, out_of_fold, *measure)?;
        let rows = Rows::new(train, out_of_fold, &about, *costs);
        Some(Overlay {
            kind: OverlayKind::Bound,
            label: LABEL.into(),
            split: None,
            measures: vec![measures[0].name(schema), measure.name(schema)],
            points: rows.curve(),
        })
    };
    fair.iter().filter_map(of_measure).collect()
}

/// The learners of groups whose rates a measure compares.
struct Comparisons<'a> {
    /// Per learner: its condition, its number of classes, the compared classes, its probabilities.
    learners: Vec<(Stratum, usize, Vec<usize>, &'a [f64])>,
}

impl<'a> Comparisons<'a> {
    /// `None` if the measure does not compare rates, or has no learner.
    fn of(
        train: &Loaded,
        learned: &Learned,
        out_of_fold: &'a OutOfFoldFeatures,
        measure: Measure,
    ) -> Option<Self> {
        let (attribute, conditions) = compared(measure)?;
        let name = &train.schema().attributes[attribute].name;
        let learners = conditions.iter().map(|given| {
            let mut groups = learned.groups.iter();
            let at = groups.position(|g| g.attribute == *name && g.given == *given)?;
            let classes = &learned.groups[at].classes;
            let own = (0..classes.len()).filter(|class| classes[*class].is_some());
            let probabilities = out_of_fold.groups(at);
            Some((*given, classes.len(), own.collect(), probabilities))
        });
        let learners = learners.collect::<Option<Vec<_>>>()?;
        Some(Self { learners })
    }
}

/// The attribute whose groups a measure compares, and the rows whose rates it compares; `None` if it
/// is not the largest difference between rates.
pub(super) fn compared(measure: Measure) -> Option<(usize, &'static [Stratum])> {
    use Stratum::{All, Negative, Positive};
    match measure {
        Measure::DemographicParity { attribute } => Some((attribute, &[All])),
        Measure::EqualOpportunity { attribute } => Some((attribute, &[Positive])),
        Measure::FalsePositiveRate { attribute } => Some((attribute, &[Negative])),
        Measure::EqualizedOdds { attribute } => Some((attribute, &[Positive, Negative])),
        _ => None,
    }
}

/// Rows as the bound sees them.
struct Rows {
    /// Weights with a sum of 1.
    weights: Vec<f64>,
    /// The cost of rejecting each row.
    rejected: Vec<f64>,
    /// s of each row.
    gains: Vec<f64>,
    /// c, row by row, all comparisons together.
    shares: Vec<f64>,
    /// The number of groups in each comparison.
    sizes: Vec<usize>,
    /// The share of rows in each group, which scales the steps of its multiplier.
    scales: Vec<f64>,
}

/// The bound at some multipliers.
struct Value {
    /// The least cost for ε = 0, without the term in ε.
    cost: f64,
    /// Its standard error.
    error: f64,
    /// The rates of the decisions that minimize the Lagrangian.
    rates: Vec<f64>,
}

impl Rows {
    fn new(
        train: &Loaded,
        out_of_fold: &OutOfFoldFeatures,
        about: &Comparisons,
        costs: Costs,
    ) -> Self {
        let stride = train.n_rows().div_ceil(MOST_ROWS).max(1);
        let blocks = train.blocks();
        let all: Vec<f64> = blocks.flat_map(|b| b.weights().to_vec()).collect();
        let used: Vec<usize> = (0..all.len()).step_by(stride).collect();
        let total: f64 = used.iter().map(|row| all[*row]).sum();
        let weights: Vec<f64> = used.iter().map(|row| all[*row] / total).collect();
        let eta = |row: &usize| out_of_fold.outcome()[*row];
        let gain =
            |row: &usize| costs.false_negative * eta(row) - costs.false_positive * (1.0 - eta(row));
        let sizes: Vec<usize> = about.learners.iter().map(|l| l.2.len()).collect();
        let mut shares = Vec::with_capacity(used.len() * sizes.iter().sum::<usize>());
        for row in &used {
            for (given, n_classes, classes, probabilities) in &about.learners {
                let of_label = given.probability(&[eta(row)]);
                let own = &probabilities[row * n_classes..][..*n_classes];
                shares.extend(classes.iter().map(|class| of_label * own[*class]));
            }
        }
        let mut rows = Self {
            rejected: used
                .iter()
                .map(|row| costs.false_negative * eta(row))
                .collect(),
            gains: used.iter().map(gain).collect(),
            scales: vec![0.0; sizes.iter().sum()],
            weights,
            shares,
            sizes,
        };
        rows.normalize();
        rows
    }

    /// Divides the shares of each group by their mean, so that rates are between 0 and 1.
    fn normalize(&mut self) {
        let k = self.scales.len();
        for (shares, weight) in self.shares.chunks_exact(k).zip(&self.weights) {
            for (mean, share) in self.scales.iter_mut().zip(shares) {
                *mean += weight * share;
            }
        }
        self.scales
            .iter_mut()
            .for_each(|mean| *mean = mean.max(f64::MIN_POSITIVE));
        for shares in self.shares.chunks_exact_mut(k) {
            let pairs = shares.iter_mut().zip(&self.scales);
            pairs.for_each(|(share, mean)| *share /= mean);
        }
    }

    fn value(&self, multipliers: &[f64]) -> Value {
        let k = multipliers.len();
        let mut rates = vec![0.0; k];
        let (mut sum, mut squares, mut weights) = (0.0, 0.0, 0.0);
        for (row, weight) in self.weights.iter().enumerate() {
            let shares = &self.shares[row * k..(row + 1) * k];
            let dot: f64 = shares.iter().zip(multipliers).map(|(c, l)| c * l).sum();
            let gain = self.gains[row] - dot;
            let mut cost = self.rejected[row];
            if gain > 0.0 {
                cost -= gain;
                let pairs = rates.iter_mut().zip(shares);
                pairs.for_each(|(rate, share)| *rate += weight * share);
            }
            sum += weight * cost;
            squares += weight * weight * cost * cost;
            weights += weight * weight;
        }
        Value {
            cost: sum,
            error: (squares - sum * sum * weights).max(0.0).sqrt(),
            rates,
        }
    }

    /// Σ(λₖ)₊.
    fn price(multipliers: &[f64]) -> f64 {
        multipliers.iter().map(|l| l.max(0.0)).sum()
    }

    /// The largest difference between rates of one comparison.
    fn difference(&self, rates: &[f64]) -> f64 {
        let mut rest = rates;
        let mut largest: f64 = 0.0;
        for size in &self.sizes {
            let (own, others) = rest.split_at(*size);
            let high = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let low = own.iter().copied().fold(f64::INFINITY, f64::min);
            largest = largest.max(high - low);
            rest = others;
        }
        largest
    }

    /// The bound from no difference to the difference of decisions that only minimize the cost.
    fn curve(&self) -> Vec<OverlayPoint> {
        let free = self.value(&vec![0.0; self.scales.len()]);
        let widest = self.difference(&free.rates);
        let point = |at: usize| {
            let allowed = widest * at as f64 / (POINTS - 1) as f64;
            let (cost, error) = self.bound(allowed, &free);
            let band = BAND * error;
            OverlayPoint {
                values: vec![cost, allowed],
                low: vec![(cost - band).max(0.0), allowed],
                high: vec![cost + band, allowed],
                name: None,
            }
        };
        // A larger difference never raises the least cost, so neither does it raise the bound.
        let mut points: Vec<OverlayPoint> = (0..POINTS).into_par_iter().map(point).collect();
        for at in (1..POINTS).rev() {
            let raised = points[at].values[0] - points[at - 1].values[0];
            if raised > 0.0 {
                let OverlayPoint {
                    values, low, high, ..
                } = &mut points[at - 1];
                for of_point in [values, low, high] {
                    of_point[0] += raised;
                }
            }
        }
        points
    }

    /// The largest bound found for a difference of at most ε, and its standard error.
    fn bound(&self, allowed: f64, free: &Value) -> (f64, f64) {
        match self.sizes[..] {
            [2] => self.bound_of_two(allowed, free),
            _ => self.bound_of_many(allowed, free),
        }
    }

    /// Two groups have one multiplier. The bound is concave in it, so that the sign of its slope tells
    /// on which side the maximum is.
    fn bound_of_two(&self, allowed: f64, free: &Value) -> (f64, f64) {
        let difference = free.rates[0] - free.rates[1];
        if difference.abs() <= allowed {
            return (free.cost, free.error);
        }
        let sign = difference.signum();
        let at = |size: f64| self.value(&[sign * size, -sign * size]);
        let grows = |found: &Value| sign * (found.rates[0] - found.rates[1]) > allowed;
        let (mut low, mut high) = (0.0, 1.0);
        while high < MOST && grows(&at(high)) {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match grows(&at(middle)) {
                true => low = middle,
                false => high = middle,
            }
        }
        let found = at(low);
        (found.cost - allowed * low, found.error)
    }

    /// Steps along supergradients, scaled by the sizes of groups.
    fn bound_of_many(&self, allowed: f64, free: &Value) -> (f64, f64) {
        let mut best = (free.cost, free.error);
        let mut multipliers = vec![0.0; self.scales.len()];
        let mut rates = free.rates.clone();
        let mut size: f64 = 0.5;
        let mut unimproved = 0;
        let mut at_best = (multipliers.clone(), rates.clone());
        for _ in 0..STEPS {
            let step = self.step(&multipliers, &rates, allowed);
            let length: f64 = step.iter().map(|s| s.abs()).sum();
            // The rest would be rounding.
            if length < 1e-12 || size < 1e-6 {
                break;
            }
            let pairs = multipliers.iter_mut().zip(&step);
            pairs.for_each(|(l, s)| *l += size * s / length);
            let found = self.value(&multipliers);
            let cost = found.cost - allowed * Self::price(&multipliers);
            if cost > best.0 + 1e-9 {
                best = (cost, found.error);
                at_best = (multipliers.clone(), found.rates.clone());
                unimproved = 0;
                size = (1.5 * size).min(MOST);
            } else {
                unimproved += 1;
            }
            rates = found.rates;
            // Steps that only jump around the maximum are halved, from the best multipliers.
            if unimproved >= 2 {
                size *= 0.5;
                unimproved = 0;
                multipliers.clone_from(&at_best.0);
                rates.clone_from(&at_best.1);
            }
        }
        best
    }

    /// A direction in which the bound grows, with Σ = 0 in each comparison.
    fn step(&self, multipliers: &[f64], rates: &[f64], allowed: f64) -> Vec<f64> {
        let mut step = Vec::with_capacity(rates.len());
        let mut first = 0;
        for size in &self.sizes {
            let own = first..first + size;
            first += size;
            let scales = &self.scales[own.clone()];
            let rates = &rates[own.clone()];
            let middle = dot(rates, scales) / scales.iter().sum::<f64>();
            // At a multiplier of 0, the derivative of its price is between 0 and ε: take the one that
            // is closest to the derivative of the rest.
            let slope = |(rate, multiplier): (&f64, &f64)| match multiplier.total_cmp(&0.0) {
                std::cmp::Ordering::Greater => rate - allowed,
                std::cmp::Ordering::Less => *rate,
                std::cmp::Ordering::Equal => {
                    rate - (rate - middle + 0.5 * allowed).clamp(0.0, allowed)
                }
            };
            let slopes = rates.iter().zip(&multipliers[own]).map(slope);
            let slopes: Vec<f64> = slopes.collect();
            let mean = dot(&slopes, scales) / scales.iter().sum::<f64>();
            step.extend(
                slopes
                    .iter()
                    .zip(scales)
                    .map(|(g, scale)| scale * (g - mean)),
            );
        }
        step
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows with these gains, and probabilities of groups of one comparison.
    fn rows(eta: &[f64], groups: &[Vec<f64>]) -> Rows {
        let mut rows = Rows {
            weights: vec![1.0 / eta.len() as f64; eta.len()],
            rejected: eta.to_vec(),
            gains: eta.iter().map(|p| 2.0 * p - 1.0).collect(),
            shares: groups.concat(),
            sizes: vec![groups[0].len()],
            scales: vec![0.0; groups[0].len()],
        };
        rows.normalize();
        rows
    }

    /// With two groups, decisions that reach the bound are thresholds on η − λd, except at one row,
    /// which may be selected with some probability.
    fn least_cost(rows: &Rows, allowed: f64) -> f64 {
        let n = rows.weights.len();
        let d = |i: usize| rows.shares[2 * i] - rows.shares[2 * i + 1];
        // All intersections of two rows' lines, and 0: the bound is linear between them.
        let mut multipliers = vec![0.0];
        multipliers.extend(
            (0..n)
                .filter(|i| d(*i) != 0.0)
                .map(|i| rows.gains[i] / d(i)),
        );
        let bound = |l: &f64| rows.value(&[*l, -l]).cost - allowed * l.abs();
        multipliers.retain(|l| l.abs() < MOST);
        multipliers.iter().map(bound).fold(f64::MIN, f64::max)
    }

    proptest! {
        #[test]
        fn the_search_finds_the_maximum(
            of_rows in prop::collection::vec((0.0..1.0_f64, 0.02..0.98_f64), 5..40),
            share in 0.0..1.0_f64,
        ) {
            let eta: Vec<f64> = of_rows.iter().map(|(eta, _)| *eta).collect();
            let groups: Vec<Vec<f64>> = of_rows.iter().map(|(_, g)| vec![*g, 1.0 - g]).collect();
            let rows = rows(&eta, &groups);
            let free = rows.value(&[0.0, 0.0]);
            let allowed = share * rows.difference(&free.rates);
            let exact = least_cost(&rows, allowed);
            let (found, _) = rows.bound(allowed, &free);
            // The multiplier is found to 1e-12 of at most 2,000.
            prop_assert!((found - exact).abs() < 1e-8, "{found} {exact}");
            let (found, _) = rows.bound_of_many(allowed, &free);
            prop_assert!(found <= exact + 1e-9, "{found} {exact}");
        }

        #[test]
        fn no_decisions_are_better(
            of_rows in prop::collection::vec((0.0..1.0_f64, 0.02..1.0_f64, 0.02..1.0_f64, 0.02..1.0_f64, 0.0..1.0_f64), 4..30),
            multipliers in prop::collection::vec(-1.0..1.0_f64, 2),
        ) {
            let eta: Vec<f64> = of_rows.iter().map(|r| r.0).collect();
            let groups: Vec<Vec<f64>> = of_rows.iter().map(|r| {
                let sum = r.1 + r.2 + r.3;
                vec![r.1 / sum, r.2 / sum, r.3 / sum]
            }).collect();
            let rows = rows(&eta, &groups);
            // Random decisions, with probabilities.
            let n = eta.len() as f64;
            let cost = of_rows.iter().map(|r| r.0 * (1.0 - r.4) + (1.0 - r.0) * r.4).sum::<f64>() / n;
            let rate = |k: usize| {
                of_rows.iter().enumerate().map(|(i, r)| r.4 * rows.shares[3 * i + k]).sum::<f64>() / n
            };
            let rates = [rate(0), rate(1), rate(2)];
            let allowed = rows.difference(&rates);
            let multipliers = [multipliers[0], multipliers[1], -multipliers[0] - multipliers[1]];
            let bound = rows.value(&multipliers).cost - allowed * Rows::price(&multipliers);
            prop_assert!(cost >= bound - 1e-12);
            let (found, _) = rows.bound(allowed, &rows.value(&[0.0; 3]));
            prop_assert!(cost >= found - 1e-9, "{cost} {found} {allowed}");
        }
    }

    /// On many rows, which are close to smooth, steps along supergradients find the same as halving.
    #[test]
    fn both_searches_agree() {
        let of = |i: u32, k: f64| 0.5 + 0.45 * (f64::from(i) * k).sin();
        let eta: Vec<f64> = (0..5_000).map(|i| of(i, 0.7)).collect();
        let groups: Vec<Vec<f64>> = (0..5_000)
            .map(|i| {
                let first = (0.8 * of(i, 1.3) + 0.2 * of(i, 0.7)) * 0.3;
                vec![first, 1.0 - first]
            })
            .collect();
        let rows = rows(&eta, &groups);
        let free = rows.value(&[0.0, 0.0]);
        let widest = rows.difference(&free.rates);
        for share in [0.0, 0.2, 0.5, 0.9] {
            let (two, _) = rows.bound_of_two(share * widest, &free);
            let (many, _) = rows.bound_of_many(share * widest, &free);
            assert!((two - many).abs() < 1e-4, "{share}: {two} {many}");
        }
    }

    #[test]
    fn the_curve_falls_to_the_least_cost() {
        let eta: Vec<f64> = (0..200).map(|i| f64::from(i) / 199.0).collect();
        // Rows with a large η are mostly in the first group.
        let groups: Vec<Vec<f64>> = eta
            .iter()
            .map(|p| vec![0.2 + 0.6 * p, 0.8 - 0.6 * p])
            .collect();
        let rows = rows(&eta, &groups);
        let curve = rows.curve();
        assert_eq!(curve.len(), POINTS);
        // Without a constraint, the least cost is E[min(η, 1 − η)].
        let least = eta.iter().map(|p| p.min(1.0 - p)).sum::<f64>() / 200.0;
        assert!((curve[POINTS - 1].values[0] - least).abs() < 1e-12);
        for pair in curve.windows(2) {
            assert!(
                pair[0].values[0] >= pair[1].values[0] && pair[0].values[1] < pair[1].values[1]
            );
            assert!(pair[0].low[0] < pair[0].values[0] && pair[0].values[0] < pair[0].high[0]);
        }
        // Equal rates of groups that η predicts need random decisions here: η and γ are equivalent.
        assert!(curve[0].values[0] > least + 0.05);
    }
}
