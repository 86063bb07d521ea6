//! Measures how well the features predict a sensitive attribute.

use fairfront_core::{Cholesky, Loaded, RowBlock, UNKNOWN_GROUP};
use serde::{Deserialize, Serialize};

use crate::encoding::{Encoding, RowFacts};
use crate::error::Error;
use crate::prepare::Prepared;
use crate::spec::Role;
use crate::table::{Column, MISSING, Values};

/// The maximum number of features for the joint measure, which factors a dense matrix.
const MOST_FEATURES: usize = 1_000;
/// Larger tables are sampled evenly to about this many rows, which gives the AUC to within 0.01.
const MOST_ROWS: usize = 50_000;
/// With fewer rows than this on either side of the comparison, the AUC of a group is not reliable.
const FEW_ROWS: usize = 30;

/// How well the features predict one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proxy {
    /// The largest AUC, over the groups, of a linear score of all features that separates a group from the
    /// rest. The score is fitted on every other row and evaluated on the remaining rows; 0.5 is chance.
    /// `None` if not measured: more than 1,000 features, groups too small, or the attribute itself is a
    /// feature.
    pub auc: Option<f64>,
    /// The group that the features predict best.
    pub group: Option<String>,
    /// Each feature column with the strength of its association, strongest first: Cramér's V for
    /// categorical columns, the correlation ratio for numeric ones. Both lie in [0, 1].
    pub features: Vec<(String, f64)>,
}

impl Proxy {
    /// The three columns with the strongest association: `occupation 0.48, income 0.19`; empty without
    /// features.
    pub fn strongest(&self) -> String {
        let columns = self.features.iter().take(3);
        let columns = columns.map(|(name, strength)| format!("{name} {strength:.2}"));
        columns.collect::<Vec<_>>().join(", ")
    }
}

/// Measures all attributes; `encoding` is the one fitted on the training rows.
pub(crate) fn measure(prepared: &Prepared, encoding: &Encoding) -> Result<Vec<Proxy>, Error> {
    let scores = JointScores::new(prepared, encoding)?;
    let measured = prepared.attributes.iter().enumerate().map(|(index, rule)| {
        // Probabilities of groups are made from proxies.
        if rule.is_estimated() {
            return Proxy {
                auc: None,
                group: None,
                features: Vec::new(),
            };
        }
        let groups = &prepared.groups[index];
        let n_groups = rule.attribute.groups.len();
        let mut features: Vec<(String, f64)> = prepared
            .table
            .columns()
            .iter()
            .filter(|c| prepared.spec.role(&c.name) == Role::Feature)
            .filter_map(|c| Some((c.name.clone(), strength(prepared, c, groups, n_groups)?)))
            .collect();
        features.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best = scores
            .as_ref()
            .and_then(|scores| scores.best_auc(index, n_groups));
        Proxy {
            auc: best.map(|(_, auc)| auc),
            group: best.map(|(group, _)| rule.attribute.groups[group].clone()),
            features,
        }
    });
    Ok(measured.collect())
}

/// Every `step`-th item.
fn sampled<T: Copy>(all: &[T], step: usize) -> Vec<T> {
    all.iter().copied().step_by(step).collect()
}

/// The step between the rows in use that are examined.
pub(crate) fn step(n_rows: usize) -> usize {
    n_rows.div_ceil(MOST_ROWS).max(1)
}

/// Association of a column with the groups, in [0, 1]; `None` for a column that was left out.
fn strength(prepared: &Prepared, column: &Column, groups: &[u32], n_groups: usize) -> Option<f64> {
    let rows = prepared.rows.iter().zip(groups).zip(&prepared.weights);
    let known = rows
        .step_by(step(prepared.n_rows()))
        .filter(|((_, group), _)| **group != UNKNOWN_GROUP)
        .map(|((row, group), weight)| (*row as usize, *group as usize, *weight));
    match &column.values {
        Values::Categorical {
            codes, categories, ..
        } => {
            let known = known.filter(|(row, _, _)| codes[*row] != MISSING);
            // Categories after merging.
            let mut merged: Vec<&str> = Vec::new();
            let mut of_category = Vec::with_capacity(categories.len());
            for category in categories {
                let name = prepared.spec.merged(&column.name, category);
                let position = merged.iter().position(|m| *m == name);
                of_category.push(position.unwrap_or(merged.len()));
                if position.is_none() {
                    merged.push(name);
                }
            }
            let pairs = known.map(|(row, group, w)| (of_category[codes[row] as usize], group, w));
            Some(cramers_v(pairs, merged.len(), n_groups))
        }
        Values::Numeric(values) => {
            let known = known.filter(|(row, _, _)| !values.get(*row).is_nan());
            let pairs: Vec<_> = known
                .map(|(row, group, weight)| (values.get(row), group, weight))
                .collect();
            Some(correlation_ratio(&pairs, n_groups))
        }
        Values::LeftOut(_) => None,
    }
}

/// √(χ²/(n · min(r − 1, c − 1))) of the weighted table of categories and groups that occur.
fn cramers_v(
    pairs: impl Iterator<Item = (usize, usize, f64)>,
    n_categories: usize,
    n_groups: usize,
) -> f64 {
    let mut table = vec![0.0; n_categories * n_groups];
    let (mut by_category, mut by_group) = (vec![0.0; n_categories], vec![0.0; n_groups]);
    let mut total = 0.0;
    for (category, group, weight) in pairs {
        table[category * n_groups + group] += weight;
        by_category[category] += weight;
        by_group[group] += weight;
        total += weight;
    }
    let present = |sums: &[f64]| sums.iter().filter(|s| **s > 0.0).count();
    let smaller = present(&by_category).min(present(&by_group));
    if smaller < 2 {
        return 0.0;
    }
    // χ²/n = Σ n_ij² / (n_i n_j) − 1.
    let mut chi2 = -1.0;
    for (category, row) in table.chunks_exact(n_groups).enumerate() {
        for (count, group) in row.iter().zip(&by_group) {
            if *count > 0.0 {
                chi2 += count * count / (by_category[category] * group);
            }
        }
    }
    debug_assert!(total > 0.0);
    (chi2 / (smaller - 1) as f64).clamp(0.0, 1.0).sqrt()
}

/// √(variance of the group means / variance of the values), weighted.
fn correlation_ratio(pairs: &[(f64, usize, f64)], n_groups: usize) -> f64 {
    let mut sums = vec![(0.0, 0.0); n_groups];
    for &(value, group, weight) in pairs {
        sums[group].0 += weight * value;
        sums[group].1 += weight;
    }
    let total: f64 = sums.iter().map(|s| s.1).sum();
    let mean = sums.iter().map(|s| s.0).sum::<f64>() / total;
    let within: f64 = pairs.iter().map(|(v, _, w)| w * (v - mean).powi(2)).sum();
    let between: f64 = sums
        .iter()
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(sum, weight)| weight * (sum / weight - mean).powi(2))
        .sum();
    if !(within > 0.0 && between.is_finite()) {
        return 0.0;
    }
    (between / within).clamp(0.0, 1.0).sqrt()
}

/// All rows encoded, with the factored normal equations of every other row.
struct JointScores {
    data: Loaded,
    factor: Cholesky,
    n_params: usize,
}

impl JointScores {
    fn new(prepared: &Prepared, encoding: &Encoding) -> Result<Option<Self>, Error> {
        let schema = encoding.schema();
        // If the attribute is itself a feature, a proxy is irrelevant.
        let measures = !prepared.attributes.is_empty() && !prepared.spec.use_sensitive;
        if schema.n_features() > MOST_FEATURES || !measures {
            return Ok(None);
        }
        let step = step(prepared.n_rows());
        let rows = sampled(&prepared.rows, step);
        let facts = RowFacts {
            labels: vec![0.0; rows.len()],
            groups: prepared.groups.iter().map(|g| sampled(g, step)).collect(),
            weights: sampled(&prepared.weights, step),
        };
        let (data, _) = encoding.encode(&prepared.table, &rows, &facts)?;
        let data = data.loaded()?;
        // Features, the intercept, and the null feature, whose row and column stay zero.
        let n_params = schema.n_features() + 2;
        let mut gram = vec![0.0; n_params * n_params];
        let mut total = 0.0;
        let mut entries = Vec::new();
        for block in data.blocks() {
            for row in (0..block.n_rows()).step_by(2) {
                let weight = block.weights()[row];
                total += weight;
                entries_of(block, row, schema.intercept(), &mut entries);
                for (k, &(i, x)) in entries.iter().enumerate() {
                    for &(j, y) in &entries[..=k] {
                        gram[i.max(j) * n_params + i.min(j)] += weight * x * y;
                    }
                }
            }
        }
        let null = schema.null_feature() as usize;
        for i in 0..n_params {
            // The indicators of a column's categories sum to the intercept; a small ridge makes the system
            // solvable.
            gram[i * n_params + i] += 1e-6 * total.max(1.0);
        }
        for i in 0..null {
            gram[null * n_params + i] = 0.0;
        }
        gram[null * n_params + null] = 1.0;
        let factor = Cholesky::new(gram, n_params);
        Ok(factor.map(|factor| Self {
            data,
            factor,
            n_params,
        }))
    }

    /// The group that its score separates best from the rest, with its AUC.
    fn best_auc(&self, attribute: usize, n_groups: usize) -> Option<(usize, f64)> {
        // With two groups, one AUC covers both.
        let first = usize::from(n_groups == 2);
        (first..n_groups)
            .filter_map(|group| Some((group, self.auc(attribute, group as u32)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn auc(&self, attribute: usize, group: u32) -> Option<f64> {
        let intercept = self.data.schema().intercept();
        let mut x = vec![0.0; self.n_params];
        let mut entries = Vec::new();
        for block in self.data.blocks() {
            for row in (0..block.n_rows()).step_by(2) {
                if block.groups(attribute)[row] == group {
                    entries_of(block, row, intercept, &mut entries);
                    for &(i, value) in &entries {
                        x[i] += block.weights()[row] * value;
                    }
                }
            }
        }
        self.factor.solve(&mut x);
        let mut scored = Vec::with_capacity(self.data.n_rows() / 2);
        for block in self.data.blocks() {
            for row in (1..block.n_rows()).step_by(2) {
                let code = block.groups(attribute)[row];
                if code != UNKNOWN_GROUP {
                    entries_of(block, row, intercept, &mut entries);
                    let score: f64 = entries.iter().map(|&(i, value)| x[i] * value).sum();
                    scored.push((score, code == group, block.weights()[row]));
                }
            }
        }
        auc(&mut scored)
    }
}

/// The parameters that a row uses, with its value for each.
fn entries_of(block: &RowBlock, row: usize, intercept: usize, entries: &mut Vec<(usize, f64)>) {
    entries.clear();
    entries.extend(block.numeric(row).iter().copied().enumerate());
    entries.extend(block.codes(row).iter().map(|code| (*code as usize, 1.0)));
    entries.push((intercept, 1.0));
}

/// The weighted probability that a member scores above a non-member, counting ties as half; `None` if
/// either side has too few rows.
fn auc(scored: &mut [(f64, bool, f64)]) -> Option<f64> {
    let members = scored.iter().filter(|s| s.1).count();
    if members < FEW_ROWS || scored.len() - members < FEW_ROWS {
        return None;
    }
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut members, mut won) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let weight = |member: bool| {
            tied.iter()
                .filter(|s| s.1 == member)
                .map(|s| s.2)
                .sum::<f64>()
        };
        let (inside, outside) = (weight(true), weight(false));
        won += inside * (below + 0.5 * outside);
        below += outside;
        members += inside;
    }
    (members > 0.0 && below > 0.0).then(|| won / (members * below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn association_of_known_tables() {
        let same = (0..10).map(|i| (i % 2, i % 2, 1.0));
        assert!((cramers_v(same, 2, 2) - 1.0).abs() < 1e-12);
        let independent = (0..12).map(|i| (i % 2, i / 2 % 3, 1.0));
        assert!(cramers_v(independent, 2, 3) < 1e-7);
        // φ of [[30, 10], [20, 40]] is (30·40 − 10·20)/√(40·60·50·50) = 1000/√6e6.
        let table = [(0, 0, 30.0), (0, 1, 10.0), (1, 0, 20.0), (1, 1, 40.0)];
        let phi = 1000.0 / 6e6_f64.sqrt();
        assert!((cramers_v(table.into_iter(), 2, 2) - phi).abs() < 1e-12);
        assert_eq!(cramers_v([(0, 0, 1.0)].into_iter(), 3, 2), 0.0);

        let pairs = [(1.0, 0, 1.0), (3.0, 0, 1.0), (5.0, 1, 1.0), (7.0, 1, 1.0)];
        // 4·4 = 16 between groups, 20 in total.
        assert!((correlation_ratio(&pairs, 2) - 0.8_f64.sqrt()).abs() < 1e-12);
        assert_eq!(correlation_ratio(&[(2.0, 0, 1.0), (2.0, 1, 1.0)], 2), 0.0);
        assert_eq!(correlation_ratio(&[], 2), 0.0);
    }

    #[test]
    fn auc_is_the_share_of_pairs_won() {
        let mut scored: Vec<(f64, bool, f64)> = (0..100)
            .map(|i| (f64::from(i * 7 % 13), i % 3 == 0, f64::from(1 + i % 4)))
            .collect();
        let (mut won, mut total) = (0.0, 0.0);
        for a in scored.iter().filter(|s| s.1) {
            for b in scored.iter().filter(|s| !s.1) {
                let win = if a.0 > b.0 {
                    1.0
                } else if a.0 == b.0 {
                    0.5
                } else {
                    0.0
                };
                won += a.2 * b.2 * win;
                total += a.2 * b.2;
            }
        }
        assert!((auc(&mut scored).unwrap() - won / total).abs() < 1e-12);
        assert_eq!(auc(&mut scored[..40].to_vec()), None);
    }
}
