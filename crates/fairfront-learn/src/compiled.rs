//! Forests in a form that scores many rows at once.
//!
//! Numbers are first replaced by their position among the forest's thresholds, so that all trees
//! compare bytes. A tree then keeps, for each row, a set of leaves that are still possible: every
//! test that sends the row right removes the leaves on its left, in any order, and the leftmost leaf
//! that remains is the row's leaf. This idea is known as `QuickScorer` (Lucchese et al., SIGIR 2015).
//! Rows are processed side by side and without branches.

use fairfront_core::{RowBlock, Schema};

use crate::forest::{Forest, Tree};

/// Rows that are scored side by side. Their bytes stay in the first-level cache.
const TILE: usize = 512;

/// A forest that scores rows quickly, with exactly the results of the forest.
#[derive(Debug, Clone)]
pub struct CompiledForest {
    base: Vec<f64>,
    inputs: Vec<Codes>,
    trees: Trees,
}

/// How the values of an input become bytes.
#[derive(Debug, Clone)]
enum Codes {
    /// The number of thresholds that are less than the value.
    Number(Vec<f64>),
    /// The byte of each category; `other` for those after the last, which no test names.
    Category { of: Vec<u8>, other: u8 },
}

/// Trees by the type that holds a set of leaves.
#[derive(Debug, Clone)]
enum Trees {
    Leaves8(Vec<Lanes<u8>>),
    Leaves16(Vec<Lanes<u16>>),
    Leaves32(Vec<Lanes<u32>>),
    Leaves64(Vec<Lanes<u64>>),
    /// Too many leaves, thresholds or categories: rows are scored one by one.
    OneByOne(Forest),
}

/// The tests of a tree.
#[derive(Debug, Clone)]
struct Lanes<S> {
    numbers: Vec<NumberTest<S>>,
    /// For each categorical column that the tree tests, the leaves that each byte leaves possible.
    categories: Vec<(usize, Box<[S; 256]>)>,
    /// The values of the leaves from left to right.
    values: Vec<f64>,
}

#[derive(Debug, Clone)]
struct NumberTest<S> {
    input: usize,
    /// Rows with a larger byte go right.
    last: u8,
    /// The leaves that remain possible for rows that go right.
    right: S,
}

/// A set of leaves.
trait LeafSet: Copy + std::ops::BitAnd<Output = Self> {
    const ALL: Self;
    const LEAVES: usize;
    /// The leaves from `first` to before `end`, removed from all leaves.
    fn without(first: usize, end: usize) -> Self;
    fn first(self) -> usize;
    /// `right` if the row goes right, else all leaves; without a branch.
    fn kept(goes_right: bool, right: Self) -> Self;
}

macro_rules! leaf_set {
    ($type:ty) => {
        impl LeafSet for $type {
            const ALL: Self = <$type>::MAX;
            const LEAVES: usize = <$type>::BITS as usize;

            fn without(first: usize, end: usize) -> Self {
                (first..end).fold(Self::ALL, |set, leaf| set & !(1 << leaf))
            }

            fn first(self) -> usize {
                self.trailing_zeros() as usize
            }

            fn kept(goes_right: bool, right: Self) -> Self {
                if goes_right { right } else { Self::ALL }
            }
        }
    };
}
leaf_set!(u8);
leaf_set!(u16);
leaf_set!(u32);
leaf_set!(u64);

impl CompiledForest {
    /// Compiles a forest. `schema` describes the rows that it will score.
    pub fn new(forest: &Forest, schema: &Schema) -> Self {
        let most_leaves = forest.trees.iter().map(|t| t.leaves.len()).max();
        let n_numeric = schema.numeric.len();
        let inputs = codes(forest, n_numeric, n_numeric + schema.categorical.len());
        let (inputs, trees) = match (inputs, most_leaves.unwrap_or(1)) {
            (Some(inputs), 0..=8) => {
                let trees = Trees::Leaves8(compile(forest, &inputs));
                (inputs, trees)
            }
            (Some(inputs), 9..=16) => {
                let trees = Trees::Leaves16(compile(forest, &inputs));
                (inputs, trees)
            }
            (Some(inputs), 17..=32) => {
                let trees = Trees::Leaves32(compile(forest, &inputs));
                (inputs, trees)
            }
            (Some(inputs), 33..=64) => {
                let trees = Trees::Leaves64(compile(forest, &inputs));
                (inputs, trees)
            }
            _ => (Vec::new(), Trees::OneByOne(forest.clone())),
        };
        Self {
            base: forest.base.clone(),
            inputs,
            trees,
        }
    }

    /// Raw scores of the rows of a block, row by row, as [`Forest::raw`] gives them.
    pub fn raw(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        match &self.trees {
            Trees::Leaves8(trees) => self.score(trees, schema, block),
            Trees::Leaves16(trees) => self.score(trees, schema, block),
            Trees::Leaves32(trees) => self.score(trees, schema, block),
            Trees::Leaves64(trees) => self.score(trees, schema, block),
            Trees::OneByOne(forest) => forest.raw_one_by_one(schema, block),
        }
    }

    fn score<S: LeafSet>(&self, trees: &[Lanes<S>], schema: &Schema, block: &RowBlock) -> Vec<f64> {
        let offsets = schema.offsets();
        let n_outputs = self.base.len();
        let mut all = Vec::with_capacity(block.n_rows() * n_outputs);
        let mut bytes = vec![[0_u8; TILE]; self.inputs.len()];
        let mut sums = vec![[0.0; TILE]; n_outputs];
        for start in (0..block.n_rows()).step_by(TILE) {
            let n = TILE.min(block.n_rows() - start);
            for (input, (codes, bytes)) in self.inputs.iter().zip(&mut bytes).enumerate() {
                codes.write(
                    block,
                    start,
                    input,
                    schema.numeric.len(),
                    &offsets,
                    &mut bytes[..n],
                );
            }
            for (sums, base) in sums.iter_mut().zip(&self.base) {
                sums.fill(*base);
            }
            for (t, tree) in trees.iter().enumerate() {
                tree.add(&bytes, &mut sums[t % n_outputs]);
            }
            all.extend((0..n).flat_map(|row| sums.iter().map(move |sums| sums[row])));
        }
        all
    }
}

impl Codes {
    /// Writes the bytes of consecutive rows.
    fn write(
        &self,
        block: &RowBlock,
        start: usize,
        input: usize,
        n_numeric: usize,
        offsets: &[u32],
        bytes: &mut [u8],
    ) {
        match self {
            // No test reads this input.
            Self::Number(thresholds) if thresholds.is_empty() => {}
            Self::Category { of, .. } if of.is_empty() => {}
            Self::Number(thresholds) => {
                for (row, byte) in (start..).zip(bytes) {
                    let number = block.numeric(row)[input];
                    *byte = thresholds.partition_point(|t| *t < number) as u8;
                }
            }
            Self::Category { of, other } => {
                let column = input - n_numeric;
                for (row, byte) in (start..).zip(bytes) {
                    let category = block.codes(row)[column] - offsets[column];
                    *byte = of.get(category as usize).copied().unwrap_or(*other);
                }
            }
        }
    }
}

impl<S: LeafSet> Lanes<S> {
    /// Adds the values of the rows' leaves.
    fn add(&self, bytes: &[[u8; TILE]], sums: &mut [f64; TILE]) {
        let mut sets = [S::ALL; TILE];
        for test in &self.numbers {
            for (set, byte) in sets.iter_mut().zip(&bytes[test.input]) {
                *set = *set & S::kept(*byte > test.last, test.right);
            }
        }
        for (input, of_byte) in &self.categories {
            for (set, byte) in sets.iter_mut().zip(&bytes[*input]) {
                *set = *set & of_byte[usize::from(*byte)];
            }
        }
        let values = &self.values[..S::LEAVES];
        for (sum, set) in sums.iter_mut().zip(&sets) {
            // The set is never empty; the remainder tells the compiler that the index is valid.
            *sum += values[set.first() % S::LEAVES];
        }
    }
}

/// The bytes of all inputs. None if an input needs more than 256, or a test reads another input.
fn codes(forest: &Forest, n_numeric: usize, n_inputs: usize) -> Option<Vec<Codes>> {
    let mut thresholds = vec![Vec::new(); n_numeric];
    let mut named: Vec<Vec<u32>> = vec![Vec::new(); n_inputs - n_numeric];
    for tree in &forest.trees {
        for (node, input) in tree.input.iter().enumerate() {
            let input = *input as usize;
            match input.checked_sub(n_numeric) {
                None => thresholds[input].push(tree.threshold[node]),
                Some(column) => named.get_mut(column)?.extend(&tree.categories[node]),
            }
        }
    }
    let mut inputs = Vec::with_capacity(n_inputs);
    for mut thresholds in thresholds {
        if thresholds.iter().any(|t| t.is_nan()) {
            return None;
        }
        thresholds.sort_unstable_by(f64::total_cmp);
        // 0 and −0 are the same threshold.
        thresholds.dedup_by(|a, b| a == b);
        if thresholds.len() > 255 {
            return None;
        }
        inputs.push(Codes::Number(thresholds));
    }
    for mut named in named {
        named.sort_unstable();
        named.dedup();
        let other = u8::try_from(named.len()).ok()?;
        let mut of = vec![other; named.last().map_or(0, |last| *last as usize + 1)];
        for (byte, category) in (0..=u8::MAX).zip(&named) {
            of[*category as usize] = byte;
        }
        inputs.push(Codes::Category { of, other });
    }
    Some(inputs)
}

fn compile<S: LeafSet>(forest: &Forest, inputs: &[Codes]) -> Vec<Lanes<S>> {
    let compiled = |tree: &Tree| {
        let mut lanes = Lanes {
            numbers: Vec::new(),
            categories: Vec::new(),
            values: Vec::new(),
        };
        let root = if tree.input.is_empty() { !0 } else { 0 };
        visit(tree, root, inputs, &mut lanes);
        lanes.values.resize(S::LEAVES, 0.0);
        lanes
    };
    forest.trees.iter().map(compiled).collect()
}

/// Adds the leaves below a node from left to right, and its tests.
fn visit<S: LeafSet>(tree: &Tree, node: i32, inputs: &[Codes], lanes: &mut Lanes<S>) {
    if node < 0 {
        lanes.values.push(tree.leaves[!node as usize]);
        return;
    }
    let node = node as usize;
    let first = lanes.values.len();
    visit(tree, tree.left[node], inputs, lanes);
    let right = S::without(first, lanes.values.len());
    let input = tree.input[node] as usize;
    match &inputs[input] {
        Codes::Number(thresholds) => {
            let last = thresholds.partition_point(|t| *t < tree.threshold[node]) as u8;
            lanes.numbers.push(NumberTest { input, last, right });
        }
        Codes::Category { of, .. } => {
            let mut goes_right = [true; 256];
            for category in &tree.categories[node] {
                goes_right[usize::from(of[*category as usize])] = false;
            }
            let known = lanes.categories.iter().position(|(i, _)| *i == input);
            let at = known.unwrap_or_else(|| {
                lanes.categories.push((input, Box::new([S::ALL; 256])));
                lanes.categories.len() - 1
            });
            let sets = lanes.categories[at].1.iter_mut();
            for (set, goes_right) in sets.zip(goes_right) {
                *set = *set & S::kept(goes_right, right);
            }
        }
    }
    visit(tree, tree.right[node], inputs, lanes);
}

#[cfg(test)]
mod tests {
    use fairfront_core::CategoricalFeature;
    use proptest::prelude::*;

    use super::*;

    const CATEGORIES: u32 = 5;

    fn schema() -> Schema {
        Schema {
            numeric: vec!["a".into(), "b".into()],
            categorical: vec![CategoricalFeature {
                column: "c".into(),
                categories: (0..CATEGORIES).map(|c| c.to_string()).collect(),
            }],
            attributes: Vec::new(),
            target: fairfront_core::Target::Binary,
            hidden: 0,
        }
    }

    /// A tree from random choices: each splits one of the leaves so far.
    fn tree(choices: &[(u8, u32, i8, u8, f64)]) -> Tree {
        let mut tree = Tree {
            leaves: vec![1.0],
            ..Tree::default()
        };
        // The place of each leaf: its node, and whether it is on the left.
        let mut places = vec![None];
        for (leaf, input, threshold, set, value) in choices {
            let leaf = usize::from(*leaf) % tree.leaves.len();
            let node = tree.input.len();
            if let Some((parent, is_left)) = places[leaf] {
                let side: &mut Vec<i32> = match is_left {
                    true => &mut tree.left,
                    false => &mut tree.right,
                };
                side[parent] = node as i32;
            }
            let is_number = *input < 2;
            tree.input.push(*input);
            tree.threshold.push(if is_number {
                f64::from(*threshold)
            } else {
                0.0
            });
            let chosen = (0..CATEGORIES).filter(|c| set >> c & 1 == 1);
            tree.categories.push(match is_number {
                true => Vec::new(),
                false => chosen.collect(),
            });
            tree.left.push(!(leaf as i32));
            tree.right.push(!(tree.leaves.len() as i32));
            places[leaf] = Some((node, true));
            places.push(Some((node, false)));
            tree.leaves.push(*value);
        }
        tree
    }

    fn block(rows: &[(f64, f64, u32)]) -> RowBlock {
        let schema = schema();
        let code = |c: u32| {
            if c < CATEGORIES {
                c + 2
            } else {
                schema.null_feature()
            }
        };
        RowBlock::new(
            &schema,
            rows.iter().flat_map(|(a, b, _)| [*a, *b]).collect(),
            rows.iter().map(|(.., c)| code(*c)).collect(),
            vec![1.0; rows.len()],
            Vec::new(),
            vec![1.0; rows.len()],
        )
        .unwrap()
    }

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            -40.0..40.0_f64,
            (-30_i32..30).prop_map(f64::from),
            Just(-0.0),
            Just(f64::MAX),
        ]
    }

    proptest! {
        #[test]
        fn compiled_forests_have_the_scores_of_single_rows(
            trees in prop::collection::vec(
                prop::collection::vec(
                    (any::<u8>(), 0_u32..3, -30_i8..30, any::<u8>(), -1.0..1.0_f64), 0..70),
                0..7),
            rows in prop::collection::vec((number(), number(), 0_u32..7), 1..40),
            copies in 1_usize..40,
            n_outputs in 1_usize..4,
            most in prop_oneof![Just(7_usize), Just(15), Just(31), Just(63), Just(70)],
        ) {
            let trees: Vec<Tree> =
                trees.iter().map(|choices| tree(&choices[..choices.len().min(most)])).collect();
            let forest = Forest {
                inputs: vec!["a".into(), "b".into(), "c".into()],
                base: (0..n_outputs).map(|k| k as f64 * 0.1).collect(),
                trees,
                gain: vec![0.0; 3],
            };
            let block = block(&rows.repeat(copies));
            let schema = schema();
            let expected = forest.raw_one_by_one(&schema, &block);
            let found = CompiledForest::new(&forest, &schema).raw(&schema, &block);
            prop_assert_eq!(expected, found);
        }
    }

    #[test]
    fn forests_with_many_thresholds_are_scored_one_by_one() {
        let trees = (0..300).map(|i| Tree {
            input: vec![0],
            threshold: vec![f64::from(i) * 0.1],
            categories: vec![Vec::new()],
            left: vec![!0],
            right: vec![!1],
            leaves: vec![0.0, 1.0],
        });
        let forest = Forest {
            inputs: vec!["a".into(), "b".into(), "c".into()],
            base: vec![0.0],
            trees: trees.collect(),
            gain: vec![0.0; 3],
        };
        let block = block(&[(15.05, 0.0, 0), (1e9, 0.0, 9)]);
        assert_eq!(forest.raw(&schema(), &block), [151.0, 300.0]);
    }
}
