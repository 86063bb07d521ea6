//! Checks of forests that were read from files.

use fairfront_core::Schema;

use crate::{Error, Forest, Tree};

impl Forest {
    /// Checks that the forest can score rows of this schema.
    pub fn check(&self, schema: &Schema) -> Result<(), Error> {
        let bad = |problem: &str| Err(Error::Corrupted(format!("the trees are {problem}")));
        let categorical = schema.categorical.iter().map(|c| &c.column);
        if !schema.numeric.iter().chain(categorical).eq(&self.inputs) {
            return bad("not those of these columns");
        }
        let n = self.base.len();
        let is_sound = n > 0 && n != 2 && self.trees.len().is_multiple_of(n);
        if !is_sound || self.gain.len() != self.inputs.len() {
            return bad("inconsistent in their number");
        }
        let numbers = self.base.iter().chain(&self.gain);
        if !numbers.copied().all(f64::is_finite) {
            return bad("not finite");
        }
        match self.trees.iter().all(|tree| tree.is_sound(schema)) {
            true => Ok(()),
            false => bad("inconsistent in their nodes"),
        }
    }
}

impl Tree {
    /// Whether every row reaches a leaf.
    fn is_sound(&self, schema: &Schema) -> bool {
        let n = self.input.len();
        let lengths = [
            self.threshold.len(),
            self.categories.len(),
            self.left.len(),
            self.right.len(),
        ];
        let is_number = |input: u32| (input as usize) < schema.numeric.len();
        let node = |at: usize| {
            let input = self.input[at];
            let inside = match is_number(input) {
                true => self.categories[at].is_empty(),
                false => (input as usize) < schema.numeric.len() + schema.categorical.len(),
            };
            let sorted = self.categories[at].is_sorted_by(|a, b| a < b);
            inside && sorted && self.threshold[at].is_finite()
        };
        // Children come after their parents, so no path is a circle.
        let child = |(at, child): (usize, &i32)| match *child >= 0 {
            true => (*child as usize) > at && (*child as usize) < n,
            false => (!*child as usize) < self.leaves.len(),
        };
        lengths == [n; 4]
            && self.leaves.len() == n + 1
            && self.leaves.iter().all(|leaf| leaf.is_finite())
            && (0..n).all(node)
            && self.left.iter().enumerate().all(child)
            && self.right.iter().enumerate().all(child)
    }
}
