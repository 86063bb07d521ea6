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
    /// For each class, groups that are too small if rows of this class count. Empty unless there are more
    /// than two classes and one of them has such groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Vec<u32>>,
}

impl SmallGroups {
    /// Groups with fewer than `least` rows, from counts of negative and positive training rows per group.
    ///
    /// At least two groups are compared: if fewer than two are large enough, the two largest ones
    /// with rows; if fewer than two have rows, all groups.
    pub fn new(least: usize, counts: &[[usize; 2]]) -> Self {
        let of = |count: fn(&[usize; 2]) -> usize| -> Vec<u32> {
            let counts: Vec<usize> = counts.iter().map(count).collect();
            small(least, &counts)
        };
        Self {
            all: of(|[negatives, positives]| negatives + positives),
            positives: of(|[_, positives]| *positives),
            negatives: of(|[negatives, _]| *negatives),
            classes: Vec::new(),
        }
    }

    /// Groups with fewer than `least` rows, from counts of training rows per group and class. All groups have
    /// counts of the same classes.
    ///
    /// At least two groups are compared, as in [`SmallGroups::new`].
    pub fn of_classes(least: usize, counts: &[Vec<usize>]) -> Self {
        let n_classes = counts.first().map_or(0, Vec::len);
        let all: Vec<usize> = counts.iter().map(|counts| counts.iter().sum()).collect();
        let of_class = |class: usize| {
            let counts: Vec<usize> = counts.iter().map(|counts| counts[class]).collect();
            small(least, &counts)
        };
        // Lists without any groups are not stored, so that sets are equal after they are read again.
        let mut classes: Vec<Vec<u32>> = (0..n_classes).map(of_class).collect();
        if classes.iter().all(Vec::is_empty) {
            classes.clear();
        }
        Self {
            all: small(least, &all),
            classes,
            ..Self::default()
        }
    }

    /// Whether all groups are compared everywhere.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
            && self.positives.is_empty()
            && self.negatives.is_empty()
            && self.classes.iter().all(Vec::is_empty)
    }

    /// Groups that are left out if only rows with this label count; without a label, all rows
    /// count.
    pub fn with_label(&self, label: Option<f64>) -> &[u32] {
        match label {
            None => &self.all,
            Some(label) if !self.classes.is_empty() => &self.classes[label as usize],
            Some(label) if label > 0.0 => &self.positives,
            Some(_) => &self.negatives,
        }
    }
}

/// Groups with fewer than `least` rows, without the two largest.
fn small(least: usize, counts: &[usize]) -> Vec<u32> {
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

    #[test]
    fn classes_count_separately() {
        let counts = [
            vec![40, 40, 9],
            vec![2, 31, 31],
            vec![50, 29, 40],
            vec![1, 2, 3],
        ];
        let small = SmallGroups::of_classes(30, &counts);
        assert_eq!(small.all, [3]);
        assert_eq!(small.classes, [vec![1, 3], vec![2, 3], vec![0, 3]]);
        assert!(small.positives.is_empty() && small.negatives.is_empty());
        assert_eq!(small.with_label(Some(2.0)), [0, 3]);
        assert_eq!(small.with_label(None), [3]);
        assert!(!small.is_empty());
        let none = SmallGroups::of_classes(0, &counts);
        assert!(none.is_empty() && none.with_label(Some(1.0)).is_empty());
    }
}
