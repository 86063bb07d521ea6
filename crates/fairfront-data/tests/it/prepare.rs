use fairfront_core::UNKNOWN_GROUP;
use fairfront_data::{
    ColumnType, Encoding, Inspection, Merge, MinGroup, MissingPolicy, MissingSensitive, Part,
    Prepared, Spec, SplitRule, TargetDistribution,
};

use crate::{csv, names, prepare, spec};

const ROWS: &str = "\
y,g,h,age,x,w
1,a,p,20,1.5,1
0,b,q,25,,2
1,b,,44,2.5,3
0,,p,45,3.5,4
1,a,q,70,4.5,5
0,b,p,31,5.5,6
";

fn groups(prepared: &Prepared, attribute: usize) -> Vec<&str> {
    let names = &prepared.attributes[attribute].attribute.groups;
    let name = |g: &u32| names.get(*g as usize).map_or("?", String::as_str);
    prepared.groups[attribute].iter().map(name).collect()
}

fn with(change: impl FnOnce(&mut Spec)) -> Prepared {
    let mut spec = spec();
    spec.drop = names(&["h", "age", "w"]);
    change(&mut spec);
    prepare(ROWS, &spec).unwrap()
}

#[test]
fn rows_with_missing_values_are_dropped_and_counted() {
    let prepared = with(|s| s.missing = MissingPolicy::Drop);
    assert_eq!(prepared.rows, [0, 2, 4, 5]);
    let reasons: Vec<(&str, usize)> = prepared
        .dropped
        .iter()
        .map(|d| (d.reason.as_str(), d.rows))
        .collect();
    assert_eq!(reasons, [("g missing", 1), ("x missing", 1)]);
    assert_eq!(prepared.labels, [1.0, 1.0, 1.0, -1.0]);
    assert_eq!(groups(&prepared, 0), ["a", "b", "a", "b"]);
    assert!(
        prepared
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains("(the default)"))
    );
}

#[test]
fn missing_sensitive_values_form_a_group_or_count_only_for_the_loss() {
    let prepared = with(|s| {
        s.missing_sensitive = MissingSensitive::Group;
        s.missing = MissingPolicy::Keep;
    });
    assert_eq!(groups(&prepared, 0), ["a", "b", "b", "(missing)", "a", "b"]);
    let prepared = with(|s| {
        s.missing_sensitive = MissingSensitive::LossOnly;
        s.missing = MissingPolicy::Keep;
    });
    assert_eq!(groups(&prepared, 0), ["a", "b", "b", "?", "a", "b"]);
    assert_eq!(prepared.groups[0][3], UNKNOWN_GROUP);
    let inspection = Inspection::new(&prepared).unwrap();
    assert_eq!(inspection.unknown.get("g"), Some(&1));
    assert_eq!(
        inspection
            .sensitive
            .get("g")
            .unwrap()
            .get("b")
            .unwrap()
            .count,
        3
    );
}

#[test]
fn bins_turn_numbers_into_groups() {
    let prepared = with(|s| {
        s.drop = names(&["g", "h", "w", "x"]);
        s.sensitive = vec![names(&["age"])];
        s.bins = [("age".to_owned(), vec![25.0, 45.0])].into();
        s.use_sensitive = true;
    });
    assert_eq!(
        groups(&prepared, 0),
        [
            "age<25",
            "25<=age<45",
            "25<=age<45",
            "age>=45",
            "age>=45",
            "25<=age<45"
        ]
    );
    assert_eq!(
        prepared.attributes[0].attribute.groups,
        ["age<25", "25<=age<45", "age>=45"]
    );
}

#[test]
fn intersections_have_the_groups_that_occur() {
    let prepared = with(|s| {
        s.drop = names(&["age", "w", "x"]);
        s.sensitive = vec![names(&["g", "h"]), names(&["g"])];
        s.features = None;
        s.use_sensitive = true;
    });
    assert_eq!(prepared.attributes[0].attribute.name, "g:h");
    assert_eq!(
        prepared.attributes[0].attribute.groups,
        ["a:p", "a:q", "b:p", "b:q"]
    );
    assert_eq!(groups(&prepared, 0), ["a:p", "b:q", "a:q", "b:p"]);
}

#[test]
fn merges_reach_target_and_groups() {
    let merge = |pairs: &[(&str, &str)]| Merge {
        categories: pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect(),
        rest: None,
    };
    let csv = "y,g,x\n1.,a,1\n0,b,2\n1,c,3\n0.,a,4\n";
    let mut spec = spec();
    spec.merges = [
        ("y".to_owned(), merge(&[("1.", "1"), ("0.", "0")])),
        ("g".to_owned(), merge(&[("b", "other"), ("c", "other")])),
    ]
    .into();
    let prepared = prepare(csv, &spec).unwrap();
    assert_eq!(prepared.labels, [1.0, -1.0, 1.0, -1.0]);
    assert_eq!(groups(&prepared, 0), ["a", "other", "other", "a"]);
}

#[test]
fn positive_value_may_be_written_as_a_number() {
    let csv = "y,g,x\n1.0,a,1\n0.0,b,2\n1.0,b,3\n";
    assert_eq!(prepare(csv, &spec()).unwrap().labels, [1.0, -1.0, 1.0]);
    let unnamed = Spec {
        positive: None,
        ..spec()
    };
    let prepared = prepare(csv, &unnamed).unwrap();
    assert_eq!(prepared.target.as_ref().unwrap().positive(), Some("1.0"));
    assert!(
        prepared.diagnostics[0]
            .message
            .to_string()
            .contains("pass positive to choose")
    );
}

#[test]
fn base_rates_and_shares_use_weights() {
    let prepared = with(|s| {
        s.drop = names(&["h", "age", "x"]);
        s.weight = Some("w".into());
        s.features = Some(names(&["h"]));
        s.drop.retain(|c| c != "h");
        s.missing = MissingPolicy::Keep;
    });
    assert_eq!(prepared.weights, [1.0, 2.0, 3.0, 5.0, 6.0]);
    let inspection = Inspection::new(&prepared).unwrap();
    // Positives weigh 1 + 3 + 5 of 17; group b weighs 2 + 3 + 6, its positive 3.
    let Some(TargetDistribution::Binary { base_rate, .. }) =
        inspection.target.map(|target| target.distribution)
    else {
        panic!("no binary target");
    };
    assert!((base_rate - 9.0 / 17.0).abs() < 1e-15);
    let b = inspection
        .sensitive
        .get("g")
        .unwrap()
        .get("b")
        .unwrap()
        .clone();
    assert!((b.share - 11.0 / 17.0).abs() < 1e-15);
    assert!((b.base_rate.unwrap() - 3.0 / 11.0).abs() < 1e-15);
    assert_eq!((b.count, b.positives), (3, Some(1)));
}

#[test]
fn balancing_makes_groups_equal_in_size() {
    let group = |i: usize| if i.is_multiple_of(5) { "few" } else { "many" };
    let csv = csv("y,g,x", 100, |i| format!("{},{},{i}", i % 2, group(i)));
    let mut spec = spec();
    spec.balance = Some(names(&["g"]));
    spec.split = SplitRule::default();
    let prepared = prepare(&csv, &spec).unwrap();
    let count = |name: &str| groups(&prepared, 0).iter().filter(|g| **g == name).count();
    assert_eq!((count("few"), count("many")), (20, 20));
    assert_eq!(prepared.labels.len(), 40);
    assert_eq!(prepared.split.part(Part::Train).len(), 24);
    let again = prepare(&csv, &spec).unwrap();
    assert_eq!(prepared.rows, again.rows);
    spec.seed = 1;
    assert_ne!(prepared.rows, prepare(&csv, &spec).unwrap().rows);
}

#[test]
fn labels_with_colons_stay_apart_in_intersections() {
    let csv = "y,a,b,x\n1,x:y,z,1\n0,x,y:z,2\n1,x,y:z,3\n";
    let mut spec = spec();
    spec.sensitive = vec![names(&["a", "b"])];
    let prepared = prepare(csv, &spec).unwrap();
    assert_eq!(
        prepared.attributes[0].attribute.groups,
        ["x:\"y:z\"", "\"x:y\":z"]
    );
}

#[test]
fn missing_values_join_a_group_called_missing() {
    let csv = "y,g,x\n1,(missing),1\n0,,2\n1,b,3\n";
    let mut spec = spec();
    spec.missing_sensitive = MissingSensitive::Group;
    let prepared = prepare(csv, &spec).unwrap();
    assert_eq!(groups(&prepared, 0), ["(missing)", "(missing)", "b"]);
}

#[test]
fn codes_may_be_groups_if_their_type_is_set() {
    let csv = csv("y,g,x", 40, |i| format!("{},{},{i}", i % 2, i % 20));
    let mut spec = spec();
    assert!(prepare(&csv, &spec).is_err());
    spec.types = [("g".to_owned(), ColumnType::Categorical)].into();
    assert_eq!(
        prepare(&csv, &spec).unwrap().attributes[0]
            .attribute
            .groups
            .len(),
        20
    );
}

#[test]
fn classes_and_groups_without_training_rows_give_a_warning() {
    let csv = "y,g,x,part\n1,a,1,train\n1,a,2,train\n0,b,3,test\n";
    let mut spec = spec();
    spec.split = SplitRule::Column("part".into());
    let prepared = prepare(csv, &spec).unwrap();
    let said = |words: &str| {
        prepared
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    assert!(said("all 2 training rows are positive"));
    assert!(said("these groups of \"g\" have no training rows: \"b\""));
}

#[test]
fn balancing_down_to_one_class_is_rejected() {
    let csv = "y,g,x\n0,a,1\n0,a,2\n0,b,3\n0,b,4\n1,b,5\n";
    let mut spec = spec();
    spec.balance = Some(names(&["g"]));
    let results: Vec<_> = (0..20)
        .map(|seed| {
            prepare(
                csv,
                &Spec {
                    seed,
                    ..spec.clone()
                },
            )
            .map(|p| p.n_positives())
        })
        .collect();
    assert!(results.iter().flatten().all(|positives| *positives == 1));
    let rejected = results
        .into_iter()
        .find_map(Result::err)
        .expect("a seed without positives");
    assert!(
        rejected
            .to_string()
            .contains("remain after balance are all negative")
    );
}

#[test]
fn failed_automatic_intersection_does_not_stop_the_inspection() {
    let csv = "y,g,h,x\n1,a,,1\n0,b,,2\n1,,p,3\n0,,q,4\n";
    let mut spec = spec();
    spec.sensitive = vec![names(&["g"]), names(&["h"])];
    spec.missing_sensitive = MissingSensitive::LossOnly;
    let inspection = Inspection::new(&prepare(csv, &spec).unwrap()).unwrap();
    assert!(inspection.intersections.0.is_empty());
    assert!(
        inspection
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains("\"g:h\" is not shown"))
    );
}

#[test]
fn merge_of_an_unknown_category_gives_a_warning() {
    let mut spec = spec();
    spec.merges = [(
        "g".to_owned(),
        Merge {
            categories: [("A".to_owned(), "z".to_owned())].into(),
            rest: None,
        },
    )]
    .into();
    spec.drop = names(&["h", "age", "w", "x"]);
    spec.use_sensitive = true;
    let prepared = prepare(ROWS, &spec).unwrap();
    assert!(
        prepared.diagnostics[0]
            .message
            .to_string()
            .contains("no category \"A\"; did you mean \"a\"?")
    );
}

#[test]
fn rows_with_missing_features_are_kept_by_default() {
    let prepared = with(|_| ());
    assert_eq!(prepared.rows, [0, 1, 2, 4, 5]);
    let reasons: Vec<&str> = prepared.dropped.iter().map(|d| d.reason.as_str()).collect();
    assert_eq!(reasons, ["g missing"]);
    let inspection = Inspection::new(&prepared).unwrap();
    let said = |words: &str| {
        inspection
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    assert!(said(
        "1 of 6 rows (16.7%) are dropped: \"g\" is missing (1 row)"
    ));
    assert!(said(
        "rows with missing features are kept: \"x\" (1 row); missing numbers"
    ));
}

/// 400 rows in groups of 200, 160, 37 and 3; the third has two positives.
fn uneven(least: usize, pool: usize) -> Prepared {
    let group = |i: usize| {
        ["a", "b", "c", "d"][usize::from(i >= 200) + usize::from(i >= 360) + usize::from(i >= 397)]
    };
    let label = |i: usize| {
        if group(i) == "c" {
            usize::from(i < 362)
        } else {
            i % 2
        }
    };
    let csv = csv("y,g,x", 400, |i| {
        format!("{},{},{}", label(i), group(i), i % 9)
    });
    let mut spec = spec();
    spec.split = SplitRule::None;
    spec.min_group = MinGroup(least);
    spec.pool_groups = pool;
    prepare(&csv, &spec).unwrap()
}

#[test]
fn small_groups_are_not_compared() {
    let prepared = uneven(30, 0);
    let small = &prepared.attributes[0].attribute.small;
    assert_eq!(small.all, [3]);
    assert_eq!(small.positives, [2, 3]);
    assert_eq!(small.negatives, [3]);
    let inspection = Inspection::new(&prepared).unwrap();
    let said = |words: &str| {
        inspection
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    assert!(said(
        "\"g\" has groups with fewer than 30 training rows: \"d\" (3); they are reported, but left out of all"
    ));
    assert!(said(
        "fewer than 30 positive training rows: \"c\" (2); they are reported, but left out of \
         differences between true"
    ));
    assert!(uneven(0, 0).attributes[0].attribute.small.is_empty());
}

#[test]
fn reference_groups_are_found() {
    let rows = csv("y,g,h,x", 120, |i| {
        format!(
            "{},{},{},{}",
            i % 2,
            ["a", "b", "c"][i % 3],
            ["1", "2"][i % 2],
            i % 9
        )
    });
    let with = |attribute: &str, group: &str| {
        let mut spec = spec();
        spec.sensitive = vec![
            vec!["g".into()],
            vec!["g".into(), "h".into()],
            vec!["h".into()],
        ];
        spec.references.insert(attribute.into(), group.into());
        prepare(&rows, &spec)
    };
    let reference = |attribute: &str, group: &str, at: usize| {
        let prepared = with(attribute, group).unwrap();
        let found = prepared.attributes[at].attribute.reference;
        found.map(|g| prepared.attributes[at].attribute.groups[g].clone())
    };
    assert_eq!(reference("g", "b", 0).as_deref(), Some("b"));
    assert_eq!(reference("g", "b", 1), None);
    assert_eq!(reference("g:h", "c:2", 1).as_deref(), Some("c:2"));
    // The same number, written differently.
    assert_eq!(reference("h", "2.0", 2).as_deref(), Some("2"));
    let rejected = |attribute: &str, group: &str| with(attribute, group).unwrap_err().to_string();
    assert_eq!(
        rejected("g", "zzz"),
        "reference of \"g\"=zzz: the attribute has no group \"zzz\"; available: \"a\", \"b\", \"c\""
    );
    assert!(rejected("k", "a").contains("no sensitive attribute \"k\"; "));
    // The encoding keeps it, and refuses a position without a group.
    let (encoding, _) = Encoding::fit(&with("g", "b").unwrap()).unwrap();
    let json = encoding.to_json();
    assert!(json.contains("\"reference\": 1"), "{json}");
    assert_eq!(Encoding::from_json(&json).unwrap(), encoding);
    let wrong = json.replace("\"reference\": 1", "\"reference\": 3");
    let error = Encoding::from_json(&wrong).unwrap_err().to_string();
    assert!(
        error.contains("the reference group of \"g\" is not one of its 3 groups"),
        "{error}"
    );
}

#[test]
fn small_groups_are_pooled_also_in_later_rows() {
    let prepared = uneven(30, 40);
    let rule = &prepared.attributes[0];
    assert_eq!(rule.attribute.groups, ["a", "b", "(other)"]);
    assert_eq!(prepared.training_counts(0)[2], [36, 4]);
    assert!(rule.attribute.small.all.is_empty());
    let later = prepare("y,g,x\n1,a,1\n0,c,2\n1,zz,3\n0,b,3\n", &{
        let mut spec = spec();
        spec.split = SplitRule::None;
        spec
    });
    assert_eq!(rule.groups(&later.unwrap().table).unwrap(), [0, 2, 2, 1]);
    let error = prepare("y,g,x\n1,a,1\n0,c,2\n1,zz,3\n0,b,3\n", &{
        let mut spec = spec();
        spec.pool_groups = 40;
        spec
    });
    let message = error.unwrap_err().to_string();
    assert!(message.contains("choose a smaller number"), "{message}");
}

#[test]
fn table_can_be_inspected_without_roles() {
    let prepared = prepare(ROWS, &Spec::default()).unwrap();
    let inspection = Inspection::new(&prepared).unwrap();
    assert!(inspection.target.is_none());
    assert_eq!((inspection.read, inspection.rows), (6, 6));
    let types: Vec<_> = inspection.columns.iter().map(|c| c.column_type).collect();
    let (n, c) = (Some(ColumnType::Numeric), Some(ColumnType::Categorical));
    assert_eq!(types, [n, c, c, n, n, n]);
}

#[test]
fn small_groups_and_identifiers_give_a_warning() {
    let group = |i: usize| if i < 7 { "rare" } else { "usual" };
    let row = |i: usize| format!("{},{},{},{}", i % 2, group(i), i % 9, 1000 - i);
    let csv = csv("y,g,x,id", 200, row);
    let inspection = Inspection::new(&prepare(&csv, &spec()).unwrap()).unwrap();
    let said = |words: &str| {
        inspection
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    // Four of the seven are training rows; at least two groups are always compared.
    assert!(said(
        "its largest groups are compared although they are small: \"rare\" ("
    ));
    assert!(said(
        "column \"id\" is left out: it looks like an identifier"
    ));
    assert!(said("few values are read as quantities: \"x\" (9 values)"));
}
