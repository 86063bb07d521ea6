//! Learners of targets with more than two classes.

use fairfront_core::{Classes, Loaded, Purpose, Stream, Target};
use fairfront_learn::{
    BoostSettings, Error, FeatureKind, Folds, Learned, LearnerQuality, OutOfFoldFeatures,
    ProbabilityColumn, Source, Stratum, Wanted, learn,
};
use serde_json::{Value, json};

use crate::table::{Table, mixed};

const CLASSES: [&str; 3] = ["low", "mid", "high"];
/// Values of each of two columns.
const VALUES: u32 = 6;

fn target(names: &[&str]) -> Target {
    Target::Classes(Classes {
        names: names.iter().map(ToString::to_string).collect(),
        ordered: true,
    })
}

/// P(Y = j | u, v).
fn outcome([u, v]: [f64; 2]) -> [f64; 3] {
    let odds = [1.0, 0.6 + 1.5 * (u - 2.5).abs(), 0.3 + 0.5 * u * v / 5.0];
    odds.map(|odd| odd / odds.iter().sum::<f64>())
}

/// P(A = M | Y = j, u, v).
fn group([u, v]: [f64; 2], class: usize) -> f64 {
    let score = 0.5 * (v - 2.5) * [-1.0, 0.3, 1.0][class] + if u > 2.0 { 0.4 } else { -0.3 };
    1.0 / (1.0 + (-score).exp())
}

/// P(A = M | u, v).
fn group_of_all(z: [f64; 2]) -> f64 {
    let p = outcome(z);
    (0..3).map(|class| p[class] * group(z, class)).sum()
}

fn population(n: usize, seed: u64) -> Table {
    let mut random = Stream::new(seed, Purpose::Synthetic, [31, 0]);
    let mut table = Table {
        numbers: vec![Vec::new(); 2],
        ..Table::default()
    };
    for _ in 0..n {
        let z = [0, 1].map(|_| (random.uniform() * f64::from(VALUES)).floor());
        let (p, at) = (outcome(z), random.uniform());
        let class = usize::from(at > p[0]) + usize::from(at > p[0] + p[1]);
        let is_male = random.chance(group(z, class));
        for (column, value) in table.numbers.iter_mut().zip(z) {
            column.push(value);
        }
        table.labels.push(class as u32);
        table.groups.push(u32::from(is_male));
    }
    table
}

fn rows(table: &Table) -> Loaded {
    table.dataset_of(target(&CLASSES), |row| f64::from(table.labels[row]))
}

/// Comparisons of all rows, and of the rows of each class.
fn all_comparisons() -> Wanted {
    let of_class = |class| (0, Stratum::Class(class));
    let mut comparisons = vec![(0, Stratum::All)];
    comparisons.extend((0..3).map(of_class));
    Wanted {
        comparisons,
        ..Wanted::default()
    }
}

fn learned(rows: &Loaded, wanted: &Wanted) -> (Learned, OutOfFoldFeatures) {
    learn(rows, wanted, &|| false).expect("learners")
}

/// The mean absolute difference.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / found.len() as f64
}

#[test]
fn learners_approach_the_known_population() {
    let table = population(12_000, 1);
    let rows = rows(&table);
    let (learned, out_of_fold) = learned(&rows, &all_comparisons());
    let of_row = |row: usize| [0, 1].map(|column: usize| table.numbers[column][row]);
    let known: Vec<f64> = (0..table.n_rows())
        .flat_map(|r| outcome(of_row(r)))
        .collect();
    assert!(distance(out_of_fold.outcome(), &known) < 0.02);
    for (learner, own) in learned.groups.iter().enumerate() {
        let known = |row: usize| match own.given {
            Stratum::Class(class) => group(of_row(row), class as usize),
            _ => group_of_all(of_row(row)),
        };
        let known: Vec<f64> = (0..table.n_rows()).map(known).collect();
        let found: Vec<f64> = out_of_fold
            .groups(learner)
            .iter()
            .skip(1)
            .step_by(2)
            .copied()
            .collect();
        let distance = distance(&found, &known);
        assert!(distance < 0.04, "{:?}: {distance}", own.given);
    }
    let LearnerQuality::Classes(quality) = learned.outcome.quality else {
        panic!("a learner of classes");
    };
    let losses = known
        .chunks(3)
        .map(|p| -p.iter().map(|p| p * p.ln()).sum::<f64>());
    let entropy = losses.sum::<f64>() / table.n_rows() as f64;
    assert!(
        (quality.log_loss - entropy).abs() < 0.02,
        "{quality:?}, {entropy}"
    );
    // The mean over classes of each against the others.
    assert!(quality.auc.expect("all classes have rows") > 0.6);
}

#[test]
fn features_are_the_probabilities_and_the_differences() {
    let table = population(2_000, 2);
    let rows = rows(&table);
    let (learned, out_of_fold) = learned(&rows, &all_comparisons());
    let names = learned.feature_names();
    assert_eq!(
        names[..3],
        ["low", "mid", "high"].map(|class| format!("trees: probability of {class}"))
    );
    let given = ["", " given low", " given mid", " given high"];
    for ((name, given), own) in names[3..].iter().zip(given).zip(&learned.groups) {
        let compared = ["M", "F"][own.reference];
        assert_eq!(*name, format!("trees: sex={compared}{given}"));
    }
    assert_eq!((names.len(), learned.groups.len()), (7, 4));
    let n = learned.features.len();
    for row in 0..rows.n_rows() {
        let p = &out_of_fold.outcome()[3 * row..][..3];
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut expected = p.to_vec();
        for (learner, own) in learned.groups.iter().enumerate() {
            let gamma = &out_of_fold.groups(learner)[2 * row..][..2];
            let ratio = |k: usize| gamma[k] / own.shares[k];
            let difference = ratio(1 - own.reference) - ratio(own.reference);
            expected.push(match own.given {
                Stratum::Class(class) => p[class as usize] * difference,
                _ => difference,
            });
        }
        for (feature, value) in expected.into_iter().enumerate() {
            let of = &learned.features[feature];
            let found = out_of_fold.values()[n * row + feature];
            assert!((found - (value - of.shift) / of.factor).abs() < 1e-9);
        }
    }
    // The shares of a class's groups are those of all rows.
    let sum: f64 = learned.groups[1..].iter().flat_map(|g| &g.shares).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn weights_of_one_on_log_probabilities_give_the_learner() {
    let table = population(1_500, 3);
    let rows = rows(&table);
    let wanted = Wanted {
        logarithms: true,
        ..all_comparisons()
    };
    let (learned, out_of_fold) = learned(&rows, &wanted);
    let kinds = learned.features.iter().take(3).map(|f| f.kind);
    assert!(kinds.eq((0..3).map(|class| FeatureKind::LogProbability { class })));
    assert_eq!(learned.features[2].name, "trees: log probability of high");
    let n = learned.features.len();
    for row in 0..rows.n_rows() {
        let values = &out_of_fold.values()[n * row..][..3];
        let of_class = |(class, value): (usize, &f64)| {
            let of = &learned.features[class];
            (of.shift + of.factor * value).exp()
        };
        let odds: Vec<f64> = values.iter().enumerate().map(of_class).collect();
        let sum: f64 = odds.iter().sum();
        for (class, odd) in odds.iter().enumerate() {
            let p = out_of_fold.outcome()[3 * row + class];
            assert!((odd / sum - p).abs() < 1e-5);
        }
    }
}

#[test]
fn labels_that_the_columns_do_not_predict_are_not_predicted() {
    let mut table = population(3_000, 4);
    let mut random = Stream::new(4, Purpose::Synthetic, [32, 0]);
    table.labels = (0..3_000).map(|_| random.below(3) as u32).collect();
    // Trees could tell almost every row by this column.
    table
        .numbers
        .push((0..3_000).map(|_| random.uniform()).collect());
    let (learned, out_of_fold) = learned(&rows(&table), &Wanted::default());
    let of_row = |(p, class): (&[f64], &u32)| -p[*class as usize].ln();
    let losses = out_of_fold
        .outcome()
        .chunks(3)
        .zip(&table.labels)
        .map(of_row);
    let loss = losses.sum::<f64>() / 3_000.0;
    assert!(loss > 3.0_f64.ln() - 0.005, "{loss}");
    let LearnerQuality::Classes(quality) = learned.outcome.quality else {
        panic!("a learner of classes");
    };
    assert!((quality.log_loss - loss).abs() < 1e-9);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let rows = rows(&population(2_000, 5));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("threads");
        let found = pool.install(|| learn(&rows, &all_comparisons(), &|| false));
        let (learned, out_of_fold) = found.expect("learners");
        let json = serde_json::to_string(&learned).expect("JSON");
        (json, out_of_fold)
    };
    let one = with(1);
    assert_eq!(one, with(3));
}

#[test]
fn rows_of_each_class_are_in_all_folds() {
    let table = population(3_000, 6);
    let folds = Folds::of(&rows(&table), 5, 1).expect("folds");
    for class in 0..3 {
        for group in 0..2 {
            let is_own = |row: &usize| table.labels[*row] == class && table.groups[*row] == group;
            let own: Vec<usize> = (0..3_000).filter(is_own).collect();
            for fold in 0..5 {
                let n = own
                    .iter()
                    .filter(|row| folds.of_row()[**row] == fold)
                    .count();
                assert!(n.abs_diff(own.len() / 5) <= 1, "{class}, {group}, {fold}");
            }
        }
    }
}

#[test]
fn columns_can_hold_the_probabilities_of_classes() {
    let mut table = population(1_000, 7);
    let of_row = |row: usize| outcome([0, 1].map(|column: usize| table.numbers[column][row]));
    let known: Vec<[f64; 3]> = (0..1_000).map(of_row).collect();
    let columns = (0..3).map(|class| known.iter().map(|p| p[class]).collect::<Vec<f64>>());
    table.numbers.extend(columns.collect::<Vec<_>>());
    let column = |class: usize| ProbabilityColumn {
        column: format!("x{}", 2 + class),
        position: 2 + class,
        shift: 0.0,
        factor: 1.0,
    };
    let wanted = Wanted {
        outcome: (0..3).map(column).collect(),
        ..Wanted::default()
    };
    let rows = rows(&table);
    let (learned, out_of_fold) = learned(&rows, &wanted);
    assert!(matches!(&learned.outcome.source, Source::Columns(own) if own.len() == 3));
    assert_eq!(learned.features[0].name, "score: probability of low");
    let known: Vec<f64> = known.concat();
    // Calibration moves known probabilities by chance only.
    assert!(distance(out_of_fold.outcome(), &known) < 0.03);
    let block = rows.blocks().next().expect("rows");
    let features = learned.features(rows.schema(), block);
    assert_eq!(features, out_of_fold.values()[..features.len()]);
    // A column per class is needed.
    let wanted = Wanted {
        outcome: vec![column(0)],
        ..Wanted::default()
    };
    assert!(matches!(
        learn(&rows, &wanted, &|| false),
        Err(Error::Shape { .. })
    ));
}

#[test]
fn stored_learners_are_read_again_and_checked() {
    let table = population(800, 8);
    let rows = rows(&table);
    let settings = BoostSettings {
        most_rounds: 3,
        ..BoostSettings::default()
    };
    let wanted = Wanted {
        settings,
        ..all_comparisons()
    };
    let (learned, _) = learned(&rows, &wanted);
    let stored = serde_json::to_value(&learned).expect("JSON");
    assert_eq!(
        stored["features"][2]["kind"],
        json!({"probability": {"class": 2}})
    );
    assert_eq!(stored["groups"][2]["given"], json!({"class": 1}));
    let read = |stored: Value| serde_json::from_value::<Learned>(stored);
    assert_eq!(read(stored.clone()).expect("learners"), learned);
    assert_eq!(learned.check(rows.schema()), Ok(()));

    // Rows with other targets.
    let binary = table.dataset();
    assert!(learned.check(binary.schema()).is_err());
    let two = table.dataset_of(target(&["a", "b", "c", "d"]), |_| 0.0);
    assert!(learned.check(two.schema()).is_err());
    let breaks: [(&str, Value); 8] = [
        ("/features/0/kind", json!("outcome")),
        ("/features/0/kind", json!({"probability": {"class": 3}})),
        (
            "/features/1/kind",
            json!({"product": {"learner": 0, "class": 1}}),
        ),
        (
            "/features/4/kind",
            json!({"group": {"learner": 4, "class": 0}}),
        ),
        ("/features/0/factor", json!(0.0)),
        ("/groups/1/given", json!("positive")),
        ("/groups/1/given", json!({"class": 3})),
        ("/outcome/calibration/intercepts", json!([0.0, 0.0])),
    ];
    for (place, value) in breaks {
        let mut broken = stored.clone();
        *broken.pointer_mut(place).expect("a place") = value.clone();
        let read = read(broken).expect("learners");
        let checked = read.check(rows.schema());
        assert!(
            matches!(checked, Err(Error::Corrupted(_))),
            "{place}: {value}"
        );
    }
    let mut unknown = stored.clone();
    unknown["features"][0]["kind"] = json!({"odds": {"class": 0}});
    assert!(read(unknown).is_err());
}

#[test]
fn too_many_classes_and_groups_are_refused_at_once() {
    let names: Vec<String> = (0..100).map(|class| format!("c{class}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = mixed(4_000, 2, 9);
    let rows = table.dataset_of(target(&names), |row| ((row / 2) % 100) as f64);
    let of_class = |class| (0, Stratum::Class(class));
    let mut wanted = Wanted {
        comparisons: (0..100).map(of_class).collect(),
        ..Wanted::default()
    };
    wanted.comparisons.push((0, Stratum::All));
    let error = learn(&rows, &wanted, &|| panic!("no trees")).expect_err("too many");
    assert_eq!(
        error,
        Error::TooManyFeatures {
            found: 201,
            most: 200
        }
    );
    assert!(
        error.to_string().contains("merge classes or groups"),
        "{error}"
    );
}
