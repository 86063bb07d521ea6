use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::PerScore;
use crate::seal::reseal;

const MODEL: &str = include_str!("../../cases/model.json");
const NUMBER: &str = include_str!("../../cases/model-number.json");
const CLASSES: &str = include_str!("../../cases/model-classes.json");
const FORMATS: [ExportFormat; 3] = [ExportFormat::Onnx, ExportFormat::Sql, ExportFormat::Table];

/// The coefficients of a model with one score.
fn coefficients(model: &mut Model) -> &mut Vec<(String, f64)> {
    match &mut model.coefficients {
        PerScore::One(own) => &mut own.0,
        PerScore::Classes(_) => panic!("one score"),
    }
}

/// The terms of a model with one score.
fn terms(model: &Model) -> Terms<'_> {
    Terms::of_scores(model).swap_remove(0)
}

fn model() -> Model {
    Model::from_json(MODEL).expect("a model")
}

#[test]
fn spellings_are_complete() {
    let all = |text: &str| spellings(&[text]).into_iter().collect::<Vec<_>>();
    assert_eq!(all("n/A"), ["N/A", "N/a", "n/A", "n/a"]);
    assert_eq!(all("?"), ["?"]);
    assert_eq!(all("NaN").len(), 8);
    assert_eq!(
        all("Not Available"),
        [
            "NOT AVAILABLE",
            "Not Available",
            "Not available",
            "not available"
        ]
    );
    assert_eq!(all("ändlich unbekannt").len(), 2);
    assert_eq!(spellings(&["na", "NA"]).len(), 4);
}

#[test]
fn strings_become_the_indices_of_the_encoding() {
    let model = model();
    let terms = terms(&model);
    let [job, town] = terms.categories.as_slice() else {
        panic!("two columns");
    };
    // Pooled, *other*, missing and unseen categories are the same, so none needs a name.
    assert_eq!(
        job.named,
        [("clerk", 0), ("nurse", 1), ("registered nurse", 1)]
    );
    assert_eq!((job.unnamed, job.missing), (2, 2));
    assert_eq!(job.coefficients, [0.1, 0.2, -0.3, 0.0]);
    assert_eq!(town.named, [("(missing)", 2), ("O'Fallon", 0), ("Rome", 1)]);
    assert_eq!((town.unnamed, town.missing), (3, 2));
    let [age, pay] = terms.numbers.as_slice() else {
        panic!("two columns");
    };
    assert_eq!((age.coefficient, age.indicator), (0.75, Some(-0.125)));
    assert_eq!((pay.coefficient, pay.indicator), (-2.5e-7, None));
}

#[test]
fn only_a_later_version_needs_an_upgrade() {
    let rejected = |version: &str| {
        let text = MODEL.replacen("\"version\": 1", &format!("\"version\": {version}"), 1);
        Model::from_json(&text).expect_err("a version").to_string()
    };
    assert!(rejected("2").ends_with("not supported, only version 1; upgrade fairfront"));
    assert!(rejected("0").ends_with("not supported, only version 1; select the model again"));
}

#[test]
fn graph_needs_named_columns() {
    let rejected = |model: &Model| onnx::write(model).expect_err("no graph").to_string();
    let mut none = model();
    none.encoding.numeric.clear();
    none.encoding.categorical.clear();
    coefficients(&mut none).clear();
    assert!(rejected(&none).contains("this model does not read any"));
    let mut unnamed = model();
    unnamed.encoding.numeric[0].column.clear();
    assert!(rejected(&unnamed).contains("a column of this model has none"));
}

#[test]
fn results_are_renamed_if_a_column_has_their_name() {
    let text = reseal(&MODEL.replace("\"pay\"", "\"Score\""));
    let model = Model::from_json(&text).expect("a model");
    let terms = terms(&model);
    let names = ["score", "label", "a", "A"].map(String::from);
    assert_eq!(
        terms.results(names),
        ["model_score", "label", "a", "model_A"]
    );
}

#[test]
fn graphs_are_read_back() {
    let bytes = model().export(ExportFormat::Onnx).expect("a graph");
    let proto = proto::Model::decode(bytes.as_slice()).expect("a graph");
    let graph = proto.graph.expect("a graph");
    let inputs: Vec<&str> = graph.input.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(inputs, ["age", "pay", "job", "home \"town\""]);
    assert_eq!(proto.doc_string, model().title());
}

#[test]
fn numbers_are_exported_in_the_unit_of_the_target() {
    let model = Model::from_json(NUMBER).expect("a model");
    assert_eq!(Model::from_json(&model.to_json()), Ok(model.clone()));
    let text = |format| {
        let bytes = model.export(format).expect("exported");
        String::from_utf8(bytes).expect("UTF-8")
    };
    let sql = text(ExportFormat::Sql);
    assert!(sql.contains("fairfront 0.1.0; predicts salary\n"), "{sql}");
    assert!(
        sql.contains("  4.1e4 + 8e3 * (\n    CAST((-5e-1) AS DOUBLE PRECISION)"),
        "{sql}"
    );
    assert!(
        sql.ends_with("  ) AS \"prediction\"\nFROM input;\n"),
        "{sql}"
    );
    let table = text(ExportFormat::Table);
    // 0.75 and 0.125 standard deviations of 8,000; the intercept is 41,000 − 4,000.
    for line in [
        "\nage,age,,6000.0,38.5,13.0,38.5\n",
        "\npay,pay,,1000.0,31000.0,10000.0,31000.0\n",
        "\njob=nurse,job,nurse,1600.0,,,\n",
    ] {
        assert!(table.contains(line), "{table}");
    }
    assert!(table.ends_with("\n(intercept),,,37000.0,,,\n"), "{table}");

    let bytes = model.export(ExportFormat::Onnx).expect("a graph");
    let proto = proto::Model::decode(bytes.as_slice()).expect("a graph");
    let outputs = proto.graph.expect("a graph").output;
    let outputs: Vec<&str> = outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["prediction"]);
    let keys: Vec<&str> = proto
        .metadata_props
        .iter()
        .map(|p| p.key.as_str())
        .collect();
    assert!(keys.contains(&"fairfront.target.center") && !keys.contains(&"fairfront.positive"));
}

#[test]
fn classes_are_exported_with_a_score_each() {
    let model = Model::from_json(CLASSES).expect("a model");
    assert_eq!(Model::from_json(&model.to_json()), Ok(model.clone()));
    let text = |format| {
        let bytes = model.export(format).expect("exported");
        String::from_utf8(bytes).expect("UTF-8")
    };
    let sql = text(ExportFormat::Sql);
    assert!(sql.contains("fairfront 0.1.0; predicts grade\n"), "{sql}");
    for part in [
        "    CAST((-7.5e-1) AS DOUBLE PRECISION)\n",
        "    AS \"score[high]\"\n  FROM input\n) AS scored;\n",
        "ELSE EXP(1.25e0 * (\"score[mid]\" - \"score[low]\")) END",
        "    AS \"probability[high]\",\n  CASE\n    \
         WHEN \"score[low]\" >= \"score[mid]\" AND \"score[low]\" >= \"score[high]\" THEN 'low'\n    \
         WHEN \"score[mid]\" >= \"score[high]\" THEN 'mid'\n    ELSE 'high' END AS \"decision\"\n",
    ] {
        assert!(sql.contains(part), "{part}\n{sql}");
    }
    let table = text(ExportFormat::Table);
    for line in [
        "feature,column,category,coefficient[low],coefficient[mid],coefficient[high],shift,factor,mean\n",
        "\nage,age,,-0.75,0.25,0.5,38.5,13.0,38.5\n",
        "\njob=nurse,job,nurse,0.2,-0.1,-0.1,,,\n",
        "\n(intercept),,,0.25,0.5,-0.75,,,\n(calibration slope),,,1.25,1.25,1.25,,,\n",
    ] {
        assert!(table.contains(line), "{table}");
    }

    let bytes = model.export(ExportFormat::Onnx).expect("a graph");
    let proto = proto::Model::decode(bytes.as_slice()).expect("a graph");
    let graph = proto.graph.expect("a graph");
    let outputs: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["label", "probabilities", "score"]);
    let count = |op: &str| graph.node.iter().filter(|n| n.op_type == op).count();
    // Each column is encoded once, for all classes.
    assert_eq!((count("Div"), count("Gather")), (2, 2));
    assert_eq!((count("ArgMax"), count("Softmax")), (1, 1));
    let label = graph.node.iter().find(|n| n.output == ["label"]);
    let names = &label.expect("a label").attribute[1];
    assert_eq!(names.strings, ["low", "mid", "high"]);
    let property = |key: &str| {
        let found = proto.metadata_props.iter().find(|p| p.key == key);
        found.map(|property| property.value.as_str())
    };
    assert_eq!(
        property("fairfront.classes"),
        Some(r#"["low","mid","high"]"#)
    );
    assert_eq!(property("fairfront.ordered"), Some("true"));
    assert_eq!(property("fairfront.calibration.slope"), Some("1.25"));
    assert_eq!(property("fairfront.threshold"), None);
}

/// Every accepted model can be exported, or is rejected with a reason. With a wrong checksum it is
/// rejected.
fn try_out(text: &str) {
    if let Ok(model) = Model::from_json(text) {
        assert_eq!(Ok(model), Model::from_json(MODEL), "{text}");
    }
    if let Ok(model) = Model::from_json(&reseal(text)) {
        let again = Model::from_json(&model.to_json());
        assert_eq!(again.as_ref(), Ok(&model));
        for format in FORMATS {
            let _ = model.export(format);
        }
    }
}

/// The places of all values of a document, as JSON pointers.
fn places(value: &serde_json::Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                places(value, &format!("{at}/{}", escape(key)), out);
            }
        }
        serde_json::Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                places(value, &format!("{at}/{i}"), out);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_out(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_truncated_or_changed_bytes_panic(at in 0..MODEL.len(), with in prop::option::of(0_u8..128)) {
        let mut bytes = MODEL.as_bytes().to_vec();
        match with {
            Some(with) => bytes[at] = with,
            None => bytes.truncate(at),
        }
        try_out(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_other_value_panics(
        of in prop::sample::select(&[MODEL, NUMBER, CLASSES]),
        at in any::<prop::sample::Index>(),
        with in prop_oneof![
            Just("null".to_owned()),
            Just("[]".to_owned()),
            Just("{}".to_owned()),
            Just("true".to_owned()),
            any::<f64>().prop_map(|n| serde_json::json!(n).to_string()),
            any::<u64>().prop_map(|n| n.to_string()),
            ".{0,12}".prop_map(|t| serde_json::json!(t).to_string()),
        ],
    ) {
        let mut value: serde_json::Value = serde_json::from_str(of).expect("JSON");
        value.as_object_mut().expect("an object").remove("checksum");
        let mut found = Vec::new();
        places(&value, "", &mut found);
        *value.pointer_mut(at.get(&found).as_str()).expect("a place") =
            serde_json::from_str(&with).expect("JSON");
        try_out(&value.to_string());
    }

    #[test]
    fn any_names_and_categories_are_exported(
        column in "\\PC{1,8}|[\"'\\\\\n;-]{1,4}",
        category in "\\PC{0,8}|[\"'\\\\\n;-]{1,4}",
        missing in ".{0,14}",
        number in any::<f64>().prop_filter("finite", |n| n.is_finite()),
    ) {
        let mut model = model();
        prop_assume!(!["age", "pay", "job"].contains(&column.as_str()));
        prop_assume!(!["Rome", "(missing)"].contains(&category.as_str()));
        let rule = &mut model.encoding.categorical[1];
        rule.column.clone_from(&column);
        rule.categories[0].clone_from(&category);
        model.reading.missing_values.push(missing);
        model.intercept = PerScore::One(number);
        let names = model.encoding.schema().feature_names();
        for (own, name) in coefficients(&mut model).iter_mut().zip(names) {
            own.0 = name;
        }
        let model = Model::from_json(&model.to_json()).expect("a model");
        for format in FORMATS {
            prop_assert!(model.export(format).is_ok());
        }
    }
}
