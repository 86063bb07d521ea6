//! Selection by rank: ratios if exactly the rows with the highest scores are selected, and groups by decile.

use fairfront_core::UNKNOWN_GROUP;
use fairfront_data::Ordered;
use serde::{Deserialize, Serialize};

/// Number of parts of the rows, ordered by score.
const PARTS: usize = 10;

/// Selection rates if exactly this share of the rows is selected, from the highest score. Rows with the score at the
/// end of the selection count as their share that fits, as if they were drawn at random.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtRate {
    /// The share of all rows that is selected.
    pub selected_share: f64,
    /// The groups that are compared.
    pub groups: Ordered<RateOfGroup>,
}

/// A group at a share of selected rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateOfGroup {
    /// Share of its rows that are selected.
    pub selection_rate: Option<f64>,
    /// Its rate divided by that of the reference group.
    pub adverse_impact_ratio: Option<f64>,
}

/// A tenth of the rows, ordered by score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decile {
    /// 1 for the highest scores.
    pub decile: usize,
    /// The lowest and the highest score.
    pub scores: [f64; 2],
    /// Share of each group among these rows.
    pub shares: Ordered<f64>,
    /// Share of rows of unknown group.
    pub unknown_share: f64,
}

/// Rows in the order of their scores, from the highest, for any number of attributes.
pub(crate) struct Ranking<'a> {
    scores: &'a [f64],
    weights: Option<&'a [f64]>,
    order: Vec<u32>,
    total: f64,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(scores: &'a [f64], weights: Option<&'a [f64]>) -> Self {
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        let total = weights.map_or(scores.len() as f64, |weights| weights.iter().sum());
        Self {
            scores,
            weights,
            order,
            total,
        }
    }

    /// The weight of each group among this share of the rows, those with the highest scores. Rows with the score at
    /// the end count as their share that fits.
    pub(crate) fn top(&self, codes: &[u32], n_groups: usize, share: f64) -> Vec<f64> {
        let mut left = share * self.total;
        let mut selected = vec![0.0; n_groups];
        let same = |a: &u32, b: &u32| self.scores[*a as usize] == self.scores[*b as usize];
        let weight = |row: &u32| self.weights.map_or(1.0, |weights| weights[*row as usize]);
        for ties in self.order.chunk_by(same) {
            let here: f64 = ties.iter().map(weight).sum();
            if here <= 0.0 {
                continue;
            }
            let fits = (left / here).min(1.0);
            if fits <= 0.0 {
                break;
            }
            for row in ties {
                // Rows of unknown group have no place.
                if let Some(sum) = selected.get_mut(codes[*row as usize] as usize) {
                    *sum += fits * weight(row);
                }
            }
            left -= here;
        }
        selected
    }

    /// For each tenth of the rows, its lowest and highest score, and the weight of each group in it. The last entry
    /// of the weights is that of unknown groups.
    pub(super) fn parts(&self, codes: &[u32], n_groups: usize) -> Vec<([f64; 2], Vec<f64>)> {
        let ends: Vec<f64> = (1..=PARTS)
            .map(|part| self.total * part as f64 / PARTS as f64)
            .collect();
        let mut parts = vec![([f64::NAN, f64::NAN], vec![0.0; n_groups + 1]); PARTS];
        let (mut part, mut taken) = (0, 0.0);
        let same = |a: &u32, b: &u32| self.scores[*a as usize] == self.scores[*b as usize];
        for ties in self.order.chunk_by(same) {
            let score = self.scores[ties[0] as usize];
            let mut here = vec![0.0; n_groups + 1];
            for row in ties {
                let row = *row as usize;
                let weight = self.weights.map_or(1.0, |weights| weights[row]);
                let group = match codes[row] {
                    UNKNOWN_GROUP => n_groups,
                    code => code as usize,
                };
                here[group] += weight;
            }
            let weight: f64 = here.iter().sum();
            let mut left = weight;
            while left > 0.0 {
                // Rounding may leave a little for the last part.
                let room = match part + 1 < PARTS {
                    true => (ends[part] - taken).max(0.0),
                    false => left,
                };
                let fits = left.min(room);
                if fits > 0.0 {
                    let (scores, weights) = &mut parts[part];
                    if scores[1].is_nan() {
                        scores[1] = score;
                    }
                    scores[0] = score;
                    for (sum, of_group) in weights.iter_mut().zip(&here) {
                        *sum += of_group * (fits / weight);
                    }
                }
                taken += fits;
                left -= fits;
                if left > 0.0 || fits >= room {
                    part = (part + 1).min(PARTS - 1);
                }
            }
        }
        parts
    }
}

/// The shares of the groups in each tenth.
pub(super) fn deciles(parts: &[([f64; 2], Vec<f64>)], names: &[String]) -> Vec<Decile> {
    let filled = parts
        .iter()
        .enumerate()
        .filter(|(_, (scores, _))| !scores[0].is_nan());
    filled
        .map(|(at, (scores, weights))| {
            let total: f64 = weights.iter().sum();
            let shares = names.iter().zip(weights);
            Decile {
                decile: at + 1,
                scores: *scores,
                shares: Ordered(shares.map(|(name, w)| (name.clone(), w / total)).collect()),
                unknown_share: weights[names.len()] / total,
            }
        })
        .collect()
}

/// The ratios if the first tenth, the first two tenths, … are selected. `compared` are the groups to show.
pub(super) fn at_rates(
    parts: &[([f64; 2], Vec<f64>)],
    names: &[String],
    compared: &[usize],
    reference: usize,
) -> Vec<AtRate> {
    let mut all = vec![0.0; names.len()];
    for (_, weights) in parts {
        all.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
    }
    let mut selected = vec![0.0; names.len()];
    let mut found = Vec::new();
    for (at, (_, weights)) in parts.iter().enumerate().take(PARTS - 1) {
        selected
            .iter_mut()
            .zip(weights)
            .for_each(|(sum, w)| *sum += w);
        let rate = |group: usize| (all[group] > 0.0).then(|| selected[group] / all[group]);
        let of_reference = rate(reference).filter(|rate| *rate > 0.0);
        let of = |group: &usize| {
            let rate = rate(*group);
            let value = RateOfGroup {
                selection_rate: rate,
                adverse_impact_ratio: rate.zip(of_reference).map(|(own, other)| own / other),
            };
            (names[*group].clone(), value)
        };
        found.push(AtRate {
            selected_share: (at + 1) as f64 / PARTS as f64,
            groups: Ordered(compared.iter().map(of).collect()),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_rows_are_shared_between_deciles() {
        // 20 rows: the first has its own score, the other 19 are tied.
        let mut scores = vec![0.5; 20];
        scores[0] = 0.9;
        let codes: Vec<u32> = (0..20).map(|row| u32::from(row > 9)).collect();
        let parts = Ranking::new(&scores, None).parts(&codes, 2);
        let weights = |part: usize| &parts[part].1;
        // The first decile has 2 rows: the first, and a share of the tied ones (9 of group 0, 10 of group 1).
        assert!((weights(0)[0] - (1.0 + 9.0 / 19.0)).abs() < 1e-12);
        assert!((weights(0)[1] - 10.0 / 19.0).abs() < 1e-12);
        for part in 1..10 {
            assert!((weights(part)[0] - 18.0 / 19.0).abs() < 1e-9);
        }
        assert_eq!(parts[0].0, [0.5, 0.9]);
        let names = ["a".to_owned(), "b".to_owned()];
        let rates = at_rates(&parts, &names, &[0, 1], 0);
        assert_eq!(rates.len(), 9);
        let b = rates[0].groups.get("b").expect("a group");
        let (rate, of_reference) = (10.0 / 190.0, (1.0 + 9.0 / 19.0) / 10.0);
        assert!((b.selection_rate.expect("a rate") - rate).abs() < 1e-12);
        assert!((b.adverse_impact_ratio.expect("a ratio") - rate / of_reference).abs() < 1e-12);
    }

    #[test]
    fn distinct_scores_are_cut_exactly() {
        let scores: Vec<f64> = (0..50).map(f64::from).collect();
        let codes: Vec<u32> = (0..50)
            .map(|row| if row % 7 == 0 { UNKNOWN_GROUP } else { row % 2 })
            .collect();
        let ranking = Ranking::new(&scores, None);
        let parts = ranking.parts(&codes, 2);
        for (at, (range, weights)) in parts.iter().enumerate() {
            let high = 49.0 - 5.0 * at as f64;
            assert_eq!(*range, [high - 4.0, high]);
            let count = |code: u32| {
                (0..50)
                    .filter(|row| {
                        (high - 4.0..=high).contains(&scores[*row]) && codes[*row] == code
                    })
                    .count() as f64
            };
            let expected = [count(0), count(1), count(UNKNOWN_GROUP)];
            assert!(
                weights
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-12)
            );
        }
        let shares: f64 = deciles(&parts, &["a".into(), "b".into()])[3]
            .shares
            .0
            .iter()
            .map(|(_, s)| s)
            .sum();
        assert!(shares < 1.0 + 1e-12);
    }

    #[test]
    fn fewer_rows_than_deciles_leave_no_row_out() {
        let parts = Ranking::new(&[0.1, 0.2, 0.3], Some(&[1.0, 0.0, 2.0])).parts(&[0, 0, 0], 1);
        let total: f64 = parts.iter().map(|(_, weights)| weights[0]).sum();
        assert!((total - 3.0).abs() < 1e-12);
    }
}
