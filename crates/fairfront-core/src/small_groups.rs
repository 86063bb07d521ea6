use serde::{Deserialize, Serialize};

/// Groups of an attribute with too few training rows to be compared: measures report them, but leave them
/// out of differences and ratios. Numbers are positions among the groups of the attribute.
///
/// The set is fixed once, from training rows, and is the same on every split.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SmallGroups {
    /// Groups that are too small if all rows count, as in selection rates.
    pub all: Vec<u32>,
    /// Groups that are too small if rows labeled positive count, as in true positive rates.
    pub positives: Vec<u32>,
    /// Groups that are too small if rows labeled negative count, as in false positive rates.
    pub negatives: Vec<u32>,
}

impl SmallGroups {
    /// Groups with fewer than `least` rows, from counts of negative and positive training rows per group.
    ///
    /// At least two groups are compared: if fewer than two are large enough, the two largest ones
    /// with rows; if fewer than two have rows, all groups.
    pub fn new(least: usize, counts: &[[usize; 2]]) -> Self {
        let of = |count: fn(&[usize; 2]) -> usize| -> Vec<u32> {
            let counts: Vec<usize> = counts.iter().map(count).collect();
            let mut large: Vec<usize> = (0..counts.len()).filter(|g| counts[*g] >= least).collect();
            if large.len() < 2 {
                large = (0..counts.len()).filter(|g| counts[*g] > 0).collect();
                large.sort_by_key(|g| std::cmp::Reverse(counts[*g]));
                large.truncate(2);
            }
            if large.len() < 2 {
                return Vec::new();
            }
            let small = (0..counts.len()).filter(|g| !large.contains(g));
            small.map(|g| g as u32).collect()
        };
        Self {
            all: of(|[negatives, positives]| negatives + positives),
            positives: of(|[_, positives]| *positives),
            negatives: of(|[negatives, _]| *negatives),
        }
    }

    /// Whether all groups are compared everywhere.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.positives.is_empty() && self.negatives.is_empty()
    }

    /// Groups that are left out if only rows with this label count; without a label, all rows
    /// count.
    pub fn with_label(&self, label: Option<f64>) -> &[u32] {
        match label {
            None => &self.all,
            Some(label) if label > 0.0 => &self.positives,
            Some(_) => &self.negatives,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positives_and_negatives_count_separately() {
        let counts = [[40, 40], [2, 31], [50, 29], [1, 2]];
        let small = SmallGroups::new(30, &counts);
        assert_eq!(small.all, [3]);
        assert_eq!(small.positives, [2, 3]);
        assert_eq!(small.negatives, [1, 3]);
        assert_eq!(small.with_label(Some(-1.0)), [1, 3]);
        assert!(!small.is_empty());
        assert!(SmallGroups::new(0, &counts).is_empty());
        assert!(SmallGroups::new(1, &counts).is_empty());
    }

    #[test]
    fn two_groups_are_always_compared() {
        let small = SmallGroups::new(30, &[[5, 5], [3, 4], [10, 10]]);
        assert_eq!(small.all, [1]);
        assert!(SmallGroups::new(30, &[[5, 0], [0, 0]]).is_empty());
    }

    #[test]
    fn equally_small_groups_keep_their_order() {
        let small = SmallGroups::new(30, &[[1, 1], [1, 1], [1, 1]]);
        assert_eq!(small.all, [2]);
    }
}
