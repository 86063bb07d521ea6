use fairfront_core::{Purpose, Stream};
use fairfront_learn::{Binned, BoostSettings, Error, Forest, Labels, boost};

use crate::table::{Table, accuracy, mixed, probabilities, raw};

fn fit(table: &Table, n_classes: usize, n_rounds: usize, settings: &BoostSettings) -> Forest {
    let weights = vec![1.0; table.n_rows()];
    let binned = Binned::of(&table.dataset());
    let rows = table.all_rows();
    boost(
        &binned,
        &rows,
        &table.classes(n_classes),
        &weights,
        n_rounds,
        settings,
    )
    .unwrap()
}

#[test]
fn separable_rows_are_separated() {
    let x: Vec<f64> = (0..400).map(f64::from).collect();
    let table = Table {
        labels: x.iter().map(|x| u32::from(*x >= 150.0)).collect(),
        numbers: vec![x],
        ..Table::default()
    };
    let forest = fit(&table, 2, 50, &BoostSettings::default());
    let p = probabilities(&forest, &table.dataset());
    assert_eq!(accuracy(&p, &table.labels), 1.0);
    // The first split is between the neighbors of the step.
    assert_eq!(forest.trees[0].threshold[0], 149.5);
    assert_eq!(forest.inputs, ["x0"]);
    assert!(forest.gain[0] > 0.0);
}

#[test]
fn the_first_tree_is_a_newton_step() {
    // Two values: leaves are −G/(H + λ) of the rows on each side of 0.5.
    let table = Table {
        numbers: vec![(0..100).map(|i| f64::from(i % 2)).collect()],
        labels: (0..100).map(|i| u32::from(i % 2 == 1 || i < 20)).collect(),
        ..Table::default()
    };
    let forest = fit(&table, 2, 1, &BoostSettings::default());
    let p = 0.6_f64;
    assert!((forest.base[0] - (p / (1.0 - p)).ln()).abs() < 1e-12);
    let tree = &forest.trees[0];
    assert_eq!((tree.threshold[0], tree.leaves.len()), (0.5, 2));
    // 50 rows on each side; 10 and 50 of them are positive.
    let leaf = |positives: f64| -0.1 * (50.0 * p - positives) / (50.0 * p * (1.0 - p) + 0.1);
    let value = |child: i32| tree.leaves[!child as usize];
    // Integers of 2⁻⁴⁰ and less round the sums.
    assert!((value(tree.left[0]) - leaf(10.0)).abs() < 1e-9);
    assert!((value(tree.right[0]) - leaf(50.0)).abs() < 1e-9);
}

#[test]
fn exclusive_or_needs_two_levels() {
    let mut stream = Stream::new(1, Purpose::Synthetic, [2, 0]);
    let draw = |stream: &mut Stream| (0..2000).map(|_| stream.uniform()).collect::<Vec<f64>>();
    let (x, y) = (draw(&mut stream), draw(&mut stream));
    let labels = x
        .iter()
        .zip(&y)
        .map(|(x, y)| u32::from((*x > 0.5) != (*y > 0.5)));
    let table = Table {
        labels: labels.collect(),
        numbers: vec![x, y],
        ..Table::default()
    };
    let forest = fit(&table, 2, 60, &BoostSettings::default());
    let p = probabilities(&forest, &table.dataset());
    assert!(accuracy(&p, &table.labels) > 0.99);
}

#[test]
fn a_known_set_of_categories_is_found() {
    let mut stream = Stream::new(2, Purpose::Synthetic, [2, 0]);
    let codes: Vec<u32> = (0..6000).map(|_| stream.below(20) as u32).collect();
    let chosen = [1, 4, 5, 11, 17];
    let labels = codes.iter().map(|c| {
        let p = if chosen.contains(c) { 0.9 } else { 0.2 };
        u32::from(stream.chance(p))
    });
    let table = Table {
        labels: labels.collect(),
        categories: vec![(codes, 20)],
        ..Table::default()
    };
    let forest = fit(&table, 2, 1, &BoostSettings::default());
    assert_eq!(forest.trees[0].categories[0], chosen);
    // An unseen category goes right, as does every category that is not listed.
    let unseen = Table {
        labels: vec![0, 0],
        categories: vec![(vec![20, 2], 20)],
        ..Table::default()
    };
    let scores = raw(&forest, &unseen.dataset());
    assert!(scores[0] < 0.0 && scores[1] < 0.0);
}

#[test]
fn rare_categories_share_a_bin_that_goes_right() {
    // 300 categories: the last 45 are the rarest.
    let code = |i: u32| match i % 300 {
        rare if rare >= 255 && i < 9000 => rare - 255,
        other => other,
    };
    let codes: Vec<u32> = (0..30_000).map(code).collect();
    let labels = codes.iter().map(|c| u32::from(c % 2 == 0)).collect();
    let table = Table {
        labels,
        categories: vec![(codes, 300)],
        ..Table::default()
    };
    let forest = fit(&table, 2, 80, &BoostSettings::default());
    let listed = forest
        .trees
        .iter()
        .flat_map(|t| t.categories.iter().flatten());
    assert!(listed.max().is_some_and(|c| *c < 255));
    let p = probabilities(&forest, &table.dataset());
    assert!(accuracy(&p, &table.labels) > 0.85);
}

#[test]
fn weights_are_copies_of_rows() {
    let settings = BoostSettings {
        min_rows: 1,
        category_rows: 1,
        category_smoothing: 0.0,
        ..BoostSettings::default()
    };
    // So few rows that every value has its own bin.
    let table = mixed(250, 2, 3);
    let binned = Binned::of(&table.dataset());
    let copies: Vec<usize> = (0..table.n_rows()).map(|r| [1, 2, 0, 3][r % 4]).collect();
    let weights: Vec<f64> = copies.iter().map(|c| *c as f64).collect();
    let rows = table.all_rows();
    let weighted = boost(&binned, &rows, &table.classes(2), &weights, 20, &settings).unwrap();
    let copied: Vec<u32> = rows
        .iter()
        .flat_map(|r| std::iter::repeat_n(*r, copies[*r as usize]))
        .collect();
    // Scores are kept per row of the data set, so copies must be rows of their own.
    let copy = |column: &[f64]| {
        copied
            .iter()
            .map(|r| column[*r as usize])
            .collect::<Vec<_>>()
    };
    let (codes, n) = &table.categories[0];
    let expanded = Table {
        numbers: table.numbers.iter().map(|c| copy(c)).collect(),
        categories: vec![(copied.iter().map(|r| codes[*r as usize]).collect(), *n)],
        labels: copied.iter().map(|r| table.labels[*r as usize]).collect(),
        ..Table::default()
    };
    let from_copies = fit(&expanded, 2, 20, &settings);
    let dataset = table.dataset();
    for (row, (a, b)) in raw(&weighted, &dataset)
        .iter()
        .zip(raw(&from_copies, &dataset))
        .enumerate()
    {
        // Thresholds may lie elsewhere between values of rows that have no copy.
        if copies[row] > 0 {
            // Sums are rounded to about 2⁻³⁵ of the largest gradient.
            assert!((a - b).abs() < 1e-6, "row {row}: {a} and {b}");
        }
    }
}

#[test]
fn rows_of_weight_zero_are_ignored() {
    let table = mixed(600, 2, 4);
    let binned = Binned::of(&table.dataset());
    let settings = BoostSettings::default();
    let weights: Vec<f64> = (0..600).map(|r| f64::from(u8::from(r % 3 > 0))).collect();
    let some: Vec<u32> = (0..600).filter(|r| r % 3 > 0).collect();
    let mut other = table.clone();
    other.labels.iter_mut().step_by(3).for_each(|l| *l = 1 - *l);
    let rows = table.all_rows();
    let all = boost(&binned, &rows, &other.classes(2), &weights, 10, &settings).unwrap();
    let without = boost(
        &binned,
        &some,
        &table.classes(2),
        &[1.0; 600],
        10,
        &settings,
    )
    .unwrap();
    assert_eq!(all, without);
}

#[test]
fn one_class_gives_a_constant_forest() {
    for n_classes in [2, 3] {
        let mut table = mixed(200, 2, 5);
        table.labels.fill(1);
        let forest = fit(&table, n_classes, 5, &BoostSettings::default());
        let p = probabilities(&forest, &table.dataset());
        let first = &p[..n_classes];
        assert!(p.chunks_exact(n_classes).all(|row| row == first));
        assert!(first[1] > 0.999);
    }
}

#[test]
fn several_classes_are_told_apart() {
    let (train, test) = (mixed(4000, 3, 6), mixed(4000, 3, 7));
    let forest = fit(&train, 3, 60, &BoostSettings::default());
    assert_eq!((forest.n_outputs(), forest.trees.len()), (3, 180));
    let p = probabilities(&forest, &test.dataset());
    let mut counts = [0_usize; 3];
    test.labels.iter().for_each(|l| counts[*l as usize] += 1);
    let majority = *counts.iter().max().unwrap() as f64 / 4000.0;
    let found = accuracy(&p, &test.labels);
    assert!(found > majority + 0.1, "{found}, majority {majority}");
    for (class, count) in counts.iter().enumerate() {
        let mean = p.iter().skip(class).step_by(3).sum::<f64>() / 4000.0;
        // Three standard errors of a share are 0.024.
        assert!(
            (mean - *count as f64 / 4000.0).abs() < 0.035,
            "class {class}: {mean}"
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Enough rows for histograms to be summed by several threads.
    let table = mixed(150_000, 2, 8);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| fit(&table, 2, 5, &BoostSettings::default()))
    };
    let bytes = |forest: &Forest| serde_json::to_string(forest).unwrap();
    assert_eq!(bytes(&with(1)), bytes(&with(3)));
}

#[test]
fn a_stored_forest_is_the_same_forest() {
    let forest = fit(&mixed(1000, 3, 9), 3, 10, &BoostSettings::default());
    let text = serde_json::to_string(&forest).unwrap();
    let read: Forest = serde_json::from_str(&text).unwrap();
    assert_eq!(forest, read);
    let settings = BoostSettings::default();
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(settings, serde_json::from_str(&text).unwrap());
    assert_eq!(settings, serde_json::from_str("{}").unwrap());
}

#[test]
fn leaves_have_enough_rows() {
    let table = mixed(500, 2, 10);
    let settings = BoostSettings {
        min_rows: 60,
        ..BoostSettings::default()
    };
    let forest = fit(&table, 2, 20, &settings);
    let dataset = table.dataset();
    for tree in &forest.trees {
        assert!(tree.leaves.len() > 1 && tree.leaves.len() <= 8);
        let alone = Forest {
            base: vec![0.0],
            trees: vec![tree.clone()],
            ..forest.clone()
        };
        let scores = raw(&alone, &dataset);
        for leaf in &tree.leaves {
            assert!(scores.iter().filter(|s| *s == leaf).count() >= 60);
        }
    }
}

#[test]
fn wrong_input_is_an_error() {
    let table = mixed(50, 2, 11);
    let binned = Binned::of(&table.dataset());
    let (rows, labels, ones) = (table.all_rows(), table.labels.clone(), vec![1.0; 50]);
    let settings = BoostSettings::default();
    let try_with = |rows: &[u32], labels: &[u32], n_classes, weights: &[f64]| {
        let labels = Labels::Classes {
            of_row: labels.to_vec(),
            n_classes,
        };
        boost(&binned, rows, &labels, weights, 1, &settings).unwrap_err()
    };
    assert_eq!(try_with(&[], &labels, 2, &ones), Error::NoRows);
    assert_eq!(try_with(&rows, &labels, 2, &[0.0; 50]), Error::NoRows);
    assert_eq!(
        try_with(&rows, &labels, 1, &ones),
        Error::Classes { found: 1 }
    );
    assert!(matches!(
        try_with(&[50], &labels, 2, &ones),
        Error::Row { row: 50, .. }
    ));
    assert!(matches!(
        try_with(&rows, &[7; 50], 2, &ones),
        Error::Label { label: 7, .. }
    ));
    assert!(matches!(
        try_with(&rows, &labels, 2, &[-1.0; 50]),
        Error::Weight { row: 0, .. }
    ));
    assert!(matches!(
        try_with(&rows, &labels[1..], 2, &ones),
        Error::Shape { found: 49, .. }
    ));
    let mut numbers = vec![1.0; 50];
    numbers[3] = f64::INFINITY;
    let numbers = Labels::Numbers(numbers);
    let error = boost(&binned, &rows, &numbers, &ones, 1, &settings).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the label of row 3 is inf; expected a finite number"
    );
    let zero = BoostSettings {
        learning_rate: 0.0,
        ..settings.clone()
    };
    let error = boost(&binned, &rows, &table.classes(2), &ones, 1, &zero).unwrap_err();
    assert_eq!(
        error.to_string(),
        "learning_rate is 0; expected more than 0 and at most 1"
    );
}
