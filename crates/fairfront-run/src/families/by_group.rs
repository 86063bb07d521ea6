//! Thresholds by group: decisions that use the sensitive attribute.

use fairfront_core::{Costs, Loaded, Measure};
use fairfront_data::{Encoded, Part};
use fairfront_learn::{Learned, Stratum};
use rayon::prelude::*;

use super::bound::compared;
use crate::mark::{usual_threshold, values};
use crate::{Error, Overlay, OverlayKind, OverlayPoint};

/// Points of a curve.
const POINTS: usize = 25;
/// With more thresholds in a group, every second, third, … is tried; for one rate, and for each of
/// two rates.
const MOST_THRESHOLDS: [usize; 2] = [4_096, 128];
/// The smallest allowed difference, in steps between points.
const LEAST: f64 = 0.1;
/// Rates that differ by less than this are equal.
const EQUAL: f64 = 1e-12;
/// Most blocks of a split that thresholds are measured on; rows are in random order.
const MOST_BLOCKS: usize = 1_024;
/// The name in legends.
const LABEL: &str = "thresholds by group";

/// Thresholds on η by group that cost least for each allowed difference, for each fairness measure.
/// They are chosen on training rows, with out-of-fold probabilities, and measured on each split.
pub(crate) fn by_group(
    encoded: &Encoded,
    learned: &Learned,
    measures: &[Measure],
) -> Result<Vec<Overlay>, Error> {
    let [Measure::ErrorRate(costs), fair @ ..] = measures else {
        return Ok(Vec::new());
    };
    let mut overlays = Vec::new();
    for one in fair {
        let Some((attribute, conditions)) = compared(*one) else {
            continue;
        };
        let train = &encoded.part(Part::Train).loaded()?;
        let eta = outcome(learned, train);
        let groups = groups(train, &eta, (attribute, conditions), *costs);
        let chosen = front(&groups, conditions.len());
        for part in [Part::Train, Part::Validation, Part::Test] {
            let measured = &encoded.part(part).head(MOST_BLOCKS)?;
            let rows = &measured.loaded()?;
            if rows.n_rows() == 0 {
                continue;
            }
            let codes: Vec<u32> = groups.iter().map(|group| group.code).collect();
            let eta = outcome(learned, rows);
            let of_point = |thresholds: &Vec<f64>| {
                let margins = margins(rows, &eta, attribute, &codes, thresholds, *costs);
                let values = values(measured, &margins, &[measures[0], *one])?;
                let values = values.into_iter().collect::<Option<Vec<f64>>>();
                Ok(values.map(|values| OverlayPoint {
                    values,
                    low: Vec::new(),
                    high: Vec::new(),
                    name: None,
                }))
            };
            let points: Vec<Option<OverlayPoint>> =
                chosen.iter().map(of_point).collect::<Result<_, Error>>()?;
            let schema = rows.schema();
            overlays.push(Overlay {
                kind: OverlayKind::ByGroup,
                label: LABEL.into(),
                split: Some(part.name().into()),
                measures: vec![measures[0].name(schema), one.name(schema)],
                points: points.into_iter().flatten().collect(),
            });
        }
    }
    Ok(overlays)
}

/// η of each row, from the features of the learners, which follow the numeric columns.
fn outcome(learned: &Learned, rows: &Loaded) -> Vec<f64> {
    let at = rows.schema().numeric.len() - learned.features.len();
    let feature = &learned.features[0];
    let of_block = |block: &fairfront_core::RowBlock| -> Vec<f64> {
        let eta = |row| feature.shift + feature.factor * block.numeric(row)[at];
        (0..block.n_rows()).map(eta).collect()
    };
    rows.blocks().flat_map(of_block).collect()
}

/// η minus the threshold of each row's group: rows are selected from 0 on.
fn margins(
    rows: &Loaded,
    eta: &[f64],
    attribute: usize,
    codes: &[u32],
    thresholds: &[f64],
    costs: Costs,
) -> Vec<f64> {
    let groups = rows.blocks().flat_map(|block| block.groups(attribute));
    let margin = |(eta, group): (&f64, &u32)| {
        let own = codes.iter().position(|code| code == group);
        eta - own.map_or_else(|| usual_threshold(costs), |at| thresholds[at])
    };
    eta.iter().zip(groups).map(margin).collect()
}

/// The thresholds of a group, from no selected row to all rows.
struct Group {
    code: u32,
    thresholds: Vec<f64>,
    /// The rates at each threshold, one list per compared rate. They never fall.
    rates: Vec<Vec<f64>>,
    /// The cost of each threshold for the rows of the group, for ranges of 1, 2, 4, … thresholds the
    /// position of the smallest.
    least: Vec<Vec<u32>>,
    costs: Vec<f64>,
}

impl Group {
    /// Rows are (η, whether positive, weight).
    fn new(
        code: u32,
        mut rows: Vec<(f64, bool, f64)>,
        conditions: &[Stratum],
        costs: Costs,
    ) -> Option<Self> {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let counts = |given: Stratum, positive: bool| {
            given.label().is_none_or(|label| (label > 0.0) == positive)
        };
        let totals = conditions.iter().map(|given| {
            let own = rows.iter().filter(|row| counts(*given, row.1));
            own.map(|row| row.2).sum::<f64>()
        });
        let totals: Vec<f64> = totals.collect();
        let highest = rows.first()?.0;
        if totals.iter().any(|total| *total <= 0.0) {
            return None;
        }
        let mut group = Self {
            code,
            thresholds: vec![highest.next_up()],
            rates: vec![vec![0.0]; conditions.len()],
            costs: vec![0.0],
            least: Vec::new(),
        };
        let mut selected = vec![0.0; conditions.len()];
        let mut cost = 0.0;
        for (at, (eta, positive, weight)) in rows.iter().enumerate() {
            cost += match positive {
                true => -costs.false_negative * weight,
                false => costs.false_positive * weight,
            };
            for (sum, given) in selected.iter_mut().zip(conditions) {
                *sum += if counts(*given, *positive) {
                    *weight
                } else {
                    0.0
                };
            }
            let next = rows.get(at + 1).map(|row| row.0);
            let middle = next.map_or(f64::NEG_INFINITY, |next| 0.5 * (eta + next));
            // Rows with equal probabilities are decided together.
            if next.is_some_and(|next| !(middle < *eta && middle > next)) {
                continue;
            }
            group.thresholds.push(middle.max(-1.0));
            group.costs.push(cost);
            for (rates, (sum, total)) in group.rates.iter_mut().zip(selected.iter().zip(&totals)) {
                rates.push(sum / total);
            }
        }
        group.thin(MOST_THRESHOLDS[conditions.len() - 1]);
        group.prepare();
        Some(group)
    }

    /// Keeps about this many thresholds.
    fn thin(&mut self, most: usize) {
        let n = self.thresholds.len();
        let step = n.div_ceil(most);
        let mut kept: Vec<usize> = (0..n).step_by(step).collect();
        if kept.last() != Some(&(n - 1)) {
            kept.push(n - 1);
        }
        let of = |all: &[f64]| kept.iter().map(|i| all[*i]).collect();
        self.thresholds = of(&self.thresholds);
        self.costs = of(&self.costs);
        self.rates = self.rates.iter().map(|rates| of(rates)).collect();
    }

    /// Fills the table for the smallest cost in a range.
    fn prepare(&mut self) {
        let n = self.costs.len();
        self.least = vec![(0..n as u32).collect()];
        let mut length = 1;
        while 2 * length <= n {
            let last = &self.least[self.least.len() - 1];
            let smaller = |i: usize| self.smaller(last[i], last[i + length]);
            let next = (0..=n - 2 * length).map(smaller).collect();
            self.least.push(next);
            length *= 2;
        }
    }

    fn smaller(&self, a: u32, b: u32) -> u32 {
        match self.costs[b as usize] < self.costs[a as usize] {
            true => b,
            false => a,
        }
    }

    /// The threshold with the smallest cost whose rates are between these lower ends and ε above.
    fn best(&self, ends: &[f64], allowed: f64) -> Option<u32> {
        let (mut first, mut last) = (0, self.costs.len());
        for (rates, end) in self.rates.iter().zip(ends) {
            first = first.max(rates.partition_point(|rate| *rate < end - EQUAL));
            last = last.min(rates.partition_point(|rate| *rate <= end + allowed + EQUAL));
        }
        if first >= last {
            return None;
        }
        let level = (last - first).ilog2() as usize;
        let least = &self.least[level];
        Some(self.smaller(least[first], least[last - (1 << level)]))
    }
}

/// The compared groups of an attribute, with out-of-fold probabilities.
fn groups(
    train: &Loaded,
    eta: &[f64],
    (attribute, conditions): (usize, &[Stratum]),
    costs: Costs,
) -> Vec<Group> {
    let about = &train.schema().attributes[attribute];
    let is_compared = |group: &u32| {
        let left_out = |given: &Stratum| about.small.with_label(given.label()).contains(group);
        !conditions.iter().any(left_out)
    };
    let codes = (0..about.groups.len() as u32).filter(is_compared);
    let of_code = |code: u32| {
        let mut rows = Vec::new();
        let mut all = eta.iter();
        for block in train.blocks() {
            let labels = block.labels().iter().zip(block.weights());
            for (group, (label, weight)) in block.groups(attribute).iter().zip(labels) {
                let eta = all.next().copied().unwrap_or_default();
                if *group == code {
                    rows.push((eta, *label > 0.0, *weight));
                }
            }
        }
        Group::new(code, rows, conditions, costs)
    };
    codes.filter_map(of_code).collect()
}

/// The thresholds of each group with the least cost, for differences from 0 to that of the thresholds
/// that only minimize the cost.
fn front(groups: &[Group], n_rates: usize) -> Vec<Vec<f64>> {
    if groups.len() < 2 {
        return Vec::new();
    }
    let free: Vec<u32> = groups
        .iter()
        .filter_map(|group| group.best(&vec![0.0; n_rates], 1.0))
        .collect();
    let difference = |rate: usize| {
        let chosen = groups.iter().zip(&free);
        let rates = chosen.map(|(group, at)| group.rates[rate][*at as usize]);
        let (low, high) = rates.fold((1.0_f64, 0.0_f64), |(l, h), r| (l.min(r), h.max(r)));
        high - low
    };
    let widest = (0..n_rates).map(difference).fold(0.0, f64::max);
    // Rates of few people cannot be equal, unless all rows are rejected.
    let allowed = |at: usize| widest * (at as f64).max(LEAST) / (POINTS - 1) as f64;
    let found = (0..POINTS)
        .into_par_iter()
        .map(|at| least_cost(groups, n_rates, allowed(at)));
    let found: Vec<Option<Vec<f64>>> = found.collect();
    let mut chosen: Vec<Vec<f64>> = found.into_iter().flatten().collect();
    chosen.dedup();
    chosen
}

/// The thresholds with the least total cost whose rates differ by at most ε: all windows of this
/// width that start at the rate of some threshold.
fn least_cost(groups: &[Group], n_rates: usize, allowed: f64) -> Option<Vec<f64>> {
    let ends = |rate: usize| {
        let mut ends: Vec<f64> = groups.iter().flat_map(|g| g.rates[rate].clone()).collect();
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let step = ends.len().div_ceil(2 * MOST_THRESHOLDS[n_rates - 1]);
        ends.into_iter().step_by(step.max(1)).collect::<Vec<f64>>()
    };
    let first = ends(0);
    let second = if n_rates > 1 { ends(1) } else { vec![0.0] };
    let mut best: Option<(f64, Vec<u32>)> = None;
    for a in &first {
        for b in &second {
            let window = [*a, *b];
            let chosen = groups
                .iter()
                .map(|group| group.best(&window[..n_rates], allowed));
            let Some(chosen) = chosen.collect::<Option<Vec<u32>>>() else {
                continue;
            };
            let costs = groups.iter().zip(&chosen);
            let cost: f64 = costs.map(|(group, at)| group.costs[*at as usize]).sum();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, chosen));
            }
        }
    }
    let (_, chosen) = best?;
    let thresholds = groups.iter().zip(chosen);
    Some(
        thresholds
            .map(|(group, at)| group.thresholds[at as usize])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIVEN: [&[Stratum]; 3] = [
        &[Stratum::All],
        &[Stratum::Positive],
        &[Stratum::Positive, Stratum::Negative],
    ];

    /// Cost and difference of thresholds, counted row by row.
    fn counted(
        groups: &[Vec<(f64, bool, f64)>],
        given: &[Stratum],
        thresholds: &[f64],
    ) -> [f64; 2] {
        let mut cost = 0.0;
        let mut difference: f64 = 0.0;
        for rows in groups.iter().zip(thresholds) {
            let selected = rows.0.iter().filter(|row| row.0 >= *rows.1);
            cost += selected
                .map(|row| if row.1 { -row.2 } else { row.2 })
                .sum::<f64>();
        }
        for condition in given {
            let rates = groups.iter().zip(thresholds).map(|(rows, threshold)| {
                let own = || {
                    rows.iter()
                        .filter(|row| condition.label().is_none_or(|l| (l > 0.0) == row.1))
                };
                let selected: f64 = own()
                    .filter(|row| row.0 >= *threshold)
                    .map(|row| row.2)
                    .sum();
                selected / own().map(|row| row.2).sum::<f64>()
            });
            let rates: Vec<f64> = rates.collect();
            let largest = rates.iter().copied().fold(0.0, f64::max);
            let smallest = rates.iter().copied().fold(1.0, f64::min);
            difference = difference.max(largest - smallest);
        }
        [cost, difference]
    }

    proptest! {
        #[test]
        fn thresholds_are_the_best_of_all(
            rows in prop::collection::vec((0..12_u32, any::<bool>(), 1..4_u32, 0..2_usize), 6..30),
            which in 0..3_usize,
            allowed in 0.0..0.6_f64,
        ) {
            let mut of_groups: Vec<Vec<(f64, bool, f64)>> = vec![Vec::new(); 2];
            for (eta, positive, weight, group) in rows {
                of_groups[group].push((f64::from(eta) / 12.0, positive, f64::from(weight)));
            }
            let given = GIVEN[which];
            let groups = of_groups.iter().zip(0..).map(|(rows, code)| {
                Group::new(code, rows.clone(), given, Costs::EQUAL)
            });
            let Some(groups) = groups.collect::<Option<Vec<Group>>>() else {
                return Ok(());
            };
            let found = least_cost(&groups, given.len(), allowed);
            let mut least = f64::INFINITY;
            for a in &groups[0].thresholds {
                for b in &groups[1].thresholds {
                    let [cost, difference] = counted(&of_groups, given, &[*a, *b]);
                    if difference <= allowed + EQUAL {
                        least = least.min(cost);
                    }
                }
            }
            let found = found.map(|thresholds| counted(&of_groups, given, &thresholds));
            let [cost, difference] = found.unwrap();
            prop_assert!(difference <= allowed + 1e-9);
            prop_assert!((cost - least).abs() < 1e-9, "{cost} {least}");
        }
    }
}
