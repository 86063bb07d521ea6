//! Columns whose numbers and codes are in another program's memory.

use std::sync::Arc;

use fairfront_core::Dataset;
use fairfront_data::{
    Column, Encoded, MISSING, MissingPolicy, NumberSource, Part, Prepared, Spec, SplitRule, Table,
};
use proptest::prelude::*;

use crate::{message, names};

/// Every second number of a buffer, as in a strided array.
#[derive(Debug)]
struct Strided(Vec<f32>);

impl NumberSource for Strided {
    fn len(&self) -> usize {
        self.0.len() / 2
    }

    fn get(&self, row: usize) -> f64 {
        f64::from(self.0[2 * row])
    }
}

fn strided(values: &[f32]) -> Arc<dyn NumberSource> {
    let spaced = values.iter().flat_map(|v| [*v, f32::INFINITY]);
    Arc::new(Strided(spaced.collect()))
}

fn shared(name: &str, values: &[f32]) -> Result<Column, fairfront_data::Error> {
    Column::from_shared(name, strided(values))
}

fn own(name: &str, values: &[f32]) -> Column {
    Column::from_numbers(name, values.iter().copied().map(f64::from).collect())
}

/// Encodes rows with `y` from the row number and groups from the column `g`; half of the rows are training
/// rows.
fn encoded(columns: Vec<Column>, weighted: bool) -> Result<Encoded, fairfront_data::Error> {
    let spec = Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![names(&["g"])],
        weight: weighted.then(|| "w".into()),
        split: SplitRule::Shares([50.0, 20.0, 0.0, 30.0]),
        missing: MissingPolicy::Keep,
        ..Spec::default()
    };
    let prepared = Prepared::new(Table::from_columns("memory", columns), &spec, &[])?;
    Encoded::new(&prepared)
}

/// Everything that the fingerprint depends on.
fn bits(data: &Dataset) -> Vec<u64> {
    let mut bits = Vec::new();
    for block in data.blocks().map(Result::unwrap) {
        for row in 0..block.n_rows() {
            bits.extend(block.numeric(row).iter().map(|v| v.to_bits()));
            bits.extend(block.codes(row).iter().map(|c| u64::from(*c)));
        }
        bits.extend(block.labels().iter().map(|v| v.to_bits()));
        bits.extend(block.weights().iter().map(|v| v.to_bits()));
        bits.extend(block.groups(0).iter().map(|g| u64::from(*g)));
    }
    bits
}

#[test]
fn infinite_numbers_are_rejected_with_their_row() {
    let mut values = vec![1.5_f32; 3_000];
    values[2] = f32::NAN;
    let column = shared("x3", &values).unwrap();
    assert_eq!(column.n_missing, 1);
    assert!(column.is_missing(2) && !column.is_missing(3));
    values[2_500] = f32::NEG_INFINITY;
    assert_eq!(
        message(shared("x3", &values)),
        "column \"x3\", row 2,501: the value is infinite; fix it, or mark it as missing"
    );
    assert_eq!(shared("x3", &[]).unwrap().n_missing, 0);
}

#[test]
fn shared_numbers_equal_own_ones() {
    let values = [1.0, -0.5, 7.0];
    assert_eq!(shared("x", &values).unwrap(), own("x", &values));
    assert_ne!(shared("x", &values).unwrap(), own("x", &values[..2]));
    let missing = [1.0, f32::NAN];
    assert_ne!(shared("x", &missing).unwrap(), own("x", &missing));
}

#[test]
fn codes_are_checked() {
    let categories = || names(&["a", "b"]);
    assert_eq!(
        message(Column::from_codes("c", vec![0, 1, 2], categories())),
        "column \"c\", row 3: the code 2 is out of range for 2 categories; fix it, or mark it as missing"
    );
    assert_eq!(
        message(Column::from_codes("c", vec![0], names(&["a", "b", "a"]))),
        "column \"c\": the category \"a\" is listed twice; list each category once"
    );
    let column = Column::from_codes("c", vec![1, MISSING, 1], categories()).unwrap();
    assert_eq!(column.n_missing, 1);
    assert_eq!(column.categorical().unwrap().1, ["b"]);
}

#[test]
fn attribute_uses_the_name_given_by_the_user() {
    let strings = |values: [&'static str; 6]| values.map(Some);
    let table = Table::from_columns(
        "memory",
        vec![
            own("sex", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            Column::from_strings(
                "sex (sensitive)",
                [Some("a"), None, Some("b"), Some("a"), None, Some("b")],
            ),
            Column::from_strings("race", strings(["u", "v", "u", "v", "u", "v"])),
            Column::from_strings("y", strings(["1", "0", "1", "0", "1", "0"])),
        ],
    );
    let spec = Spec {
        target: Some("y".into()),
        positive: Some("1".into()),
        sensitive: vec![names(&["sex (sensitive)"]), names(&["race"])],
        split: SplitRule::None,
        ..Spec::default()
    };
    let mut prepared = Prepared::new(table, &spec, &[]).unwrap();
    assert_eq!(
        message(prepared.name_attribute(0, "race")),
        "two sensitive attributes are both called \"race\"; rename one of them"
    );
    assert!(prepared.name_attribute(2, "x").is_err());
    prepared.name_attribute(0, "sex").unwrap();
    prepared.name_attribute(1, "race").unwrap();
    let encoded = Encoded::new(&prepared).unwrap();
    let attributes = &encoded.part(Part::Train).schema().attributes;
    assert_eq!(attributes[0].name, "sex");
    assert_eq!(attributes[1].name, "race");
    assert_eq!(
        encoded.encoding.attributes[0].columns[0].column,
        "sex (sensitive)"
    );
    let said = |words: &str| {
        prepared
            .diagnostics
            .iter()
            .any(|n| n.message.to_string().contains(words))
    };
    assert!(said("\"sex\" is missing in 2 rows") && !said("sensitive)\""));
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => -1e3_f32..1e3,
        1 => Just(f32::NAN),
        1 => Just(0.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Some lengths exceed one block.
    #[test]
    fn shared_columns_are_encoded_as_own_ones(
        rows in prop_oneof![
            prop::collection::vec((number(), number(), 0.0_f32..3.0, any::<bool>(), 0..3_usize), 8..60),
            prop::collection::vec((number(), number(), 0.0_f32..3.0, any::<bool>(), 0..3_usize), 2_300..2_400),
        ],
        weighted: bool,
    ) {
        let both = |numeric: fn(&str, &[f32]) -> Column| {
            let of = |value: fn(&(f32, f32, f32, bool, usize)) -> f32| rows.iter().map(value).collect::<Vec<f32>>();
            let text = |i: usize| Some(["a", "b", "c"][i]);
            encoded(vec![
                numeric("p", &of(|r| r.0)),
                numeric("q", &of(|r| r.1)),
                numeric("w", &of(|r| r.2)),
                numeric("y", &of(|r| f32::from(u8::from(r.3)))),
                Column::from_strings("g", rows.iter().map(|r| text(r.4))),
            ], weighted)
        };
        let of_own = both(own);
        let of_shared = both(|name, values| shared(name, values).unwrap());
        match (of_own, of_shared) {
            (Ok(own), Ok(shared)) => {
                prop_assert_eq!(own.encoding.to_json(), shared.encoding.to_json());
                prop_assert_eq!(own.diagnostics, shared.diagnostics);
                for part in Part::ALL {
                    prop_assert_eq!(bits(&own.parts[part as usize]), bits(&shared.parts[part as usize]));
                }
            }
            (own, shared) => {
                prop_assert_eq!(own.err().map(|e| e.to_string()), shared.err().map(|e| e.to_string()));
            }
        }
    }

    /// For any order of categories, even if some do not occur.
    #[test]
    fn codes_and_their_strings_make_the_same_column(
        codes in prop::collection::vec(prop_oneof![4 => 0_u32..6, 1 => Just(MISSING)], 0..40),
        categories in Just(names(&["yes", "no", "b", "a", "", "(missing)"])).prop_shuffle(),
    ) {
        let strings: Vec<Option<&String>> = codes.iter().map(|c| categories.get(*c as usize)).collect();
        let expected = Column::from_strings("c", strings);
        prop_assert_eq!(Column::from_codes("c", codes, categories.clone()).unwrap(), expected);
    }
}
