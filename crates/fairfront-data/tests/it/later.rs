//! Rows that arrive in batches, from records to stored rows.

use std::collections::BTreeMap;

use fairfront_core::{BLOCK_ROWS, Dataset, Linear, UNKNOWN_GROUP, scores};
use fairfront_data::{
    Arrived, ColumnType, ColumnTypes, Encoded, Encoding, FixedType, Growth, LeftOut, MissingPolicy,
    MissingSensitive, Part, Prepared, RawRecord, ReadOptions, Records, Spec, Split, SplitRule,
    StoredRows, Table, drawn_part, embed, first_table, next_table, read_table, set_aside,
};
use proptest::prelude::*;

use crate::{Folder, csv, message, names, shown, spec};

fn records(text: &str) -> (Vec<String>, Vec<RawRecord>) {
    let mut records = Records::new("t.csv", text.as_bytes(), &ReadOptions::default());
    let all = std::iter::from_fn(|| records.rest().unwrap()).collect();
    (records.columns().to_vec(), all)
}

fn first(text: &str, options: &ReadOptions) -> (Arrived, ColumnTypes) {
    let (columns, records) = records(text);
    first_table("t.csv", &columns, &records, options, &BTreeMap::new()).unwrap()
}

fn next(text: &str, types: &ColumnTypes) -> Arrived {
    let (columns, records) = records(text);
    next_table("u.csv", &columns, &records, types).unwrap()
}

#[test]
fn types_of_the_first_batch_stay() {
    let text = csv("n,c,id,gone", 60, |i| {
        format!("{i},{},k{i},", ["u", "v"][i % 2])
    });
    let (first, types) = first(&text, &ReadOptions::default());
    assert!(first.rejected.is_empty());
    let fixed: Vec<FixedType> = types.columns.iter().map(|c| c.fixed).collect();
    let expected = [
        FixedType::Numeric,
        FixedType::Categorical,
        FixedType::LeftOut(LeftOut::Identifier),
        FixedType::LeftOut(LeftOut::AllMissing),
    ];
    assert_eq!(fixed, expected);
    let json = serde_json::to_string(&types).unwrap();
    assert_eq!(types, serde_json::from_str(&json).unwrap());

    // The columns have a different order, a number among categories is a category, and left-out columns
    // stay left out.
    let arrived = next("id,gone,c,n\na,5,7,1\nb,6,w,x\nc,7\nd,8,,?\n", &types);
    assert_eq!(arrived.accepted, [0, 3]);
    assert_eq!(shown(&arrived.table, "c"), ["7", ""]);
    assert_eq!(shown(&arrived.table, "n"), ["1", "NaN"]);
    assert_eq!(arrived.table.column("id").unwrap().column_type(), None);
    let said: Vec<(usize, String)> = arrived
        .rejected
        .iter()
        .map(|r| (r.index, r.reason.to_string()))
        .collect();
    let said: Vec<(usize, &str)> = said.iter().map(|(i, why)| (*i, why.as_str())).collect();
    assert_eq!(
        said,
        [
            (
                1,
                "column \"n\": \"x\" is not a number, but the column is numeric since the first batch; \
                 fix the value, or leave it empty if it is missing"
            ),
            (
                2,
                "expected 4 fields, found 2; fix the row, or set the separator with separator (found \
                 ',')"
            ),
        ]
    );
    let (columns, records) = records("n,c,id\n1,u,x\n");
    assert_eq!(
        message(next_table("u.csv", &columns, &records, &types)),
        "u.csv: the columns differ from those of t.csv: it does not have \"gone\""
    );
}

#[test]
fn rows_of_a_first_batch_that_do_not_fit_are_rejected() {
    // Most values are numbers, so the others are wrong, and their categories in other columns disappear
    // with them.
    let text = csv("n,c", 100, |i| match i {
        7 => "many,odd".into(),
        8 => "1,2,3".into(),
        _ => format!("{i},{}", ["u", "v"][i % 2]),
    });
    let (found, _) = first(&text, &ReadOptions::default());
    assert_eq!(found.accepted.len(), 98);
    assert_eq!(
        found.rejected[0].reason.to_string(),
        "column \"n\": \"many\" is not a number, but the column is numeric (98 of the first 99 values \
         are numbers); fix the value, pass missing_value=many if it stands for a missing value, or pass \
         type of \"n\"=categorical"
    );
    assert_eq!(found.rejected[1].index, 8);
    assert_eq!(
        found.table.column("c").unwrap().categorical().unwrap().1,
        ["u", "v"]
    );
    // A type declared by the format applies unless the user set a different one.
    let (columns, some) = records("a,b\n1,1\nx,2\n2,1\n");
    let declared = [
        ("a".to_owned(), ColumnType::Numeric),
        ("b".to_owned(), ColumnType::Categorical),
    ];
    let declared = declared.into();
    let (found, _) = first_table("t", &columns, &some, &ReadOptions::default(), &declared).unwrap();
    assert_eq!(found.accepted, [0, 2]);
    assert_eq!(shown(&found.table, "b"), ["1", "1"]);
    let options = ReadOptions {
        types: [("a".to_owned(), ColumnType::Categorical)].into(),
        ..ReadOptions::default()
    };
    let (found, _) = first_table("t", &columns, &some, &options, &declared).unwrap();
    assert_eq!(found.accepted, [0, 1, 2]);
    // Without rows there are no types.
    let said = message(first_table(
        "t",
        &columns,
        &some[1..2],
        &ReadOptions::default(),
        &declared,
    ));
    assert!(said.starts_with("no rows are left: t: all 1 rows of the first batch are rejected"));
    assert!(
        message(first_table("t", &columns, &[], &options, &declared))
            .starts_with("t: it has no rows")
    );
}

proptest! {
    #[test]
    fn pieces_of_a_file_equal_the_file(
        rows in prop::collection::vec(("[0-9]{1,3}|NA", "[abc]|", "-?[0-9]{1,2}[.][0-9]{1,2}"), 2..40),
        cut in 1_usize..40,
    ) {
        let lines: Vec<String> = rows.iter().map(|(a, b, c)| format!("{a},{b},{c}\n")).collect();
        let cut = cut.min(lines.len() - 1);
        let text = |lines: &[String]| format!("p,q,r\n{}", lines.concat());
        let folder = Folder::new();
        let whole = read_table(&[folder.file("t.csv", text(&lines))], &ReadOptions::default()).unwrap();
        let (one, types) = first(&text(&lines[..cut]), &ReadOptions::default());
        let same = |c: &fairfront_data::Column| {
            one.table.column(&c.name).unwrap().column_type().map(|t| t == ColumnType::Numeric)
                == c.column_type().map(|t| t == ColumnType::Numeric)
        };
        prop_assume!(whole.columns().iter().all(same));
        let two = next(&text(&lines[cut..]), &types);
        prop_assert!(one.rejected.is_empty() && two.rejected.is_empty());
        for column in ["p", "q", "r"] {
            if whole.column(column).unwrap().column_type().is_some() {
                let pieces = [shown(&one.table, column), shown(&two.table, column)].concat();
                prop_assert_eq!(pieces, shown(&whole, column));
            }
        }
    }
}

/// A first batch, prepared and encoded, with its rows stored.
struct Started {
    types: ColumnTypes,
    prepared: Prepared,
    encoding: Encoding,
    stored: StoredRows,
}

fn start(text: &str, spec: &Spec) -> Started {
    let (first, types) = first(text, &spec.read_options(ReadOptions::default()));
    let aside = set_aside(first.table, spec).unwrap();
    let prepared = Prepared::new(aside.table, spec, &[]).unwrap();
    let (encoding, _) = Encoding::fit(&prepared).unwrap();
    let (data, _) = prepared.encode(&encoding).unwrap();
    let stored = StoredRows::from_dataset(&data, &prepared.split.parts_by_row()).unwrap();
    Started {
        types,
        prepared,
        encoding,
        stored,
    }
}

/// A later batch, and the encoding that has learned from it.
struct Later {
    started: Started,
    table: Table,
    prepared: Prepared,
    encoding: Encoding,
    growth: Growth,
}

fn later(spec: &Spec, batch: &str, text: &str) -> Later {
    let started = start(batch, spec);
    let table = next(text, &started.types).table;
    let values = started.prepared.target_values().unwrap();
    let mut encoding = started.encoding.clone();
    let train = |rows: &[u32]| vec![Part::Train; rows.len()];
    let (prepared, growth) =
        Prepared::later(table.clone(), spec, &mut encoding, &values, train).unwrap();
    Later {
        started,
        table,
        prepared,
        encoding,
        growth,
    }
}

#[test]
fn later_rows_follow_the_rules_of_the_first() {
    let spec = Spec {
        weight: Some("w".into()),
        split: SplitRule::Column("part".into()),
        ..spec()
    };
    let batch = "y,g,n,w,part\n1,a,1,1,train\n0,b,2,2,test\n0,a,3,-1,train\n1,b,4,,train\n\
                 0,b,5,1,dev\n,a,6,-5,train\n0,b,8,0.5,train\n";
    let started = start(batch, &spec);
    assert_eq!(started.prepared.rows, [0, 1, 3]);
    assert_eq!(started.prepared.weights, [1.0, 2.0, 0.5]);
    assert_eq!(started.prepared.target_values().unwrap(), ["0", "1"]);
    let aside = set_aside(
        first(batch, &spec.read_options(ReadOptions::default()))
            .0
            .table,
        &spec,
    )
    .unwrap();
    let said: Vec<(usize, String)> = aside
        .rejected
        .iter()
        .map(|r| (r.index, r.reason.to_string()))
        .collect();
    let weights = "use a number that is not negative";
    let said: Vec<(usize, &str)> = said.iter().map(|(i, why)| (*i, why.as_str())).collect();
    assert_eq!(
        said,
        [
            (
                2,
                format!("column \"w\": the weight is -1; {weights}").as_str()
            ),
            (
                3,
                format!("column \"w\": the weight is missing; {weights}").as_str()
            ),
            (
                4,
                "column \"part\": the split is \"dev\"; use one of \"train\", \"validation\", \
                 \"certify\", \"test\""
            ),
        ]
    );

    let text = "y,g,n,w,part\n1.0,a,1,1,test\n2,b,2,1,train\n0,,3,1,train\n0,c,4,-1,train\n0,c,5,3,train\n";
    let Later {
        prepared, growth, ..
    } = later(&spec, batch, text);
    assert_eq!(prepared.rows, [0, 4]);
    assert_eq!(prepared.labels, [1.0, -1.0]);
    assert_eq!(prepared.weights, [1.0, 3.0]);
    assert_eq!(prepared.split.parts_by_row(), [Part::Test, Part::Train]);
    assert_eq!(prepared.dropped.len(), 1);
    assert_eq!(
        (
            prepared.dropped[0].reason.as_str(),
            prepared.dropped[0].rows
        ),
        ("g missing", 1)
    );
    assert_eq!(
        prepared.rejected[0].reason.to_string(),
        "column \"y\": the target has the value \"2\", which did not occur in the first batch; fix the \
         value, or start a new state with positive"
    );
    assert_eq!(prepared.rejected[1].index, 3);
    // The encoding now has the new group.
    assert_eq!(growth.groups[0].group, "c");
    assert_eq!(prepared.groups, [[0, 2]]);
    assert_eq!(prepared.attributes[0].attribute.groups, ["a", "b", "c"]);
}

#[test]
fn splits_depend_only_on_row_numbers() {
    let shares = [60.0, 10.0, 0.0, 30.0];
    let mut counts: [f64; 4] = [0.0; 4];
    for row in 0..20_000 {
        counts[drawn_part(shares, 3, row) as usize] += 1.0 / 200.0;
    }
    // Five standard deviations of the largest share.
    for (count, share) in counts.iter().zip(shares) {
        assert!((count - share).abs() < 1.75, "{counts:?}");
    }
    let draw = |seed| {
        (0..50)
            .map(|row| drawn_part(shares, seed, row))
            .collect::<Vec<_>>()
    };
    assert_ne!(draw(1), draw(2));
    // A split without a share gets no rows, although the shares do not sum to exactly 100.
    let near = [33.3, 66.699_999_999_999, 0.0, 0.0];
    assert!((0..5000).all(|row| drawn_part(near, 0, row) != Part::Test));

    let parts = draw(7);
    let split = Split::from_parts(&parts);
    assert_eq!(split.parts_by_row(), parts);
    let text = csv("y,g,n", 50, |i| {
        format!("{},{},{i}", i % 2, ["a", "b"][i / 2 % 2])
    });
    let table = first(&text, &ReadOptions::default()).0.table;
    let prepared = Prepared::with_split(table, &spec(), &[], |_, rows| {
        assert_eq!(rows.len(), 50);
        Ok(Split::from_parts(&parts))
    });
    assert_eq!(prepared.unwrap().split.parts_by_row(), split.parts_by_row());
}

fn grown(spec: &Spec, batch: &str, text: &str) -> Later {
    let later = later(spec, batch, text);
    let Later {
        encoding, prepared, ..
    } = &later;
    // A grown encoding is still valid and knows the new categories.
    assert_eq!(Encoding::from_json(&encoding.to_json()).unwrap(), *encoding);
    let again = encoding.clone().grow(&later.table, &prepared.rows).unwrap();
    assert!(again.categories.is_empty() && again.groups.is_empty());
    later
}

const BATCH: &str = "y,g,n,c,d\n1,a,1,u,p\n0,b,3,v,q\n1,a,5,u,p\n0,b,7,w,q\n";

#[test]
fn column_of_identifiers_stops_growing() {
    use std::fmt::Write as _;
    let mut later = String::from("y,g,n,c,d\n");
    for i in 0..1_500 {
        let _ = writeln!(later, "{},{},1,id{i},p", i % 2, ["a", "b"][i % 2]);
    }
    let later = grown(&spec(), BATCH, &later);
    let (encoding, growth) = (later.encoding, later.growth);
    // Up to 1,000 categories, and one for all others.
    let categories = &encoding.categorical[0].categories;
    assert_eq!(
        (categories.len(), categories[1_000].as_str()),
        (1_001, "(other)")
    );
    assert_eq!(growth.unseen_rows, 1_500);
    assert!(
        growth.diagnostics[0]
            .message
            .to_string()
            .contains("has reached the maximum of")
    );
}

#[test]
fn new_categories_come_last_in_their_column() {
    let mut spec = spec();
    spec.missing = MissingPolicy::Keep;
    let later = "y,g,n,c,d\n1,a,1,z,r\n0,b,3,t,\n1,a,5,u,p\n0,b,7,,q\n";
    let later = grown(&spec, BATCH, later);
    let (started, encoding, growth) = (later.started, later.encoding, later.growth);
    let names = encoding.schema().feature_names();
    assert_eq!(
        names,
        [
            "n",
            "c=u",
            "c=v",
            "c=w",
            "c=t",
            "c=z",
            "c=(missing)",
            "d=p",
            "d=q",
            "d=r",
            "d=(missing)"
        ]
    );
    let categories: Vec<(&str, &str)> = growth
        .categories
        .iter()
        .map(|l| (l.column.as_str(), l.category.as_str()))
        .collect();
    assert_eq!(
        categories,
        [
            ("c", "t"),
            ("c", "z"),
            ("c", "(missing)"),
            ("d", "r"),
            ("d", "(missing)")
        ]
    );
    assert_eq!(growth.unseen_rows, 3);
    let point = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(
        embed(&started.encoding.schema(), &encoding.schema(), &point),
        [0.5, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 4.0, 5.0, 0.0, 0.0, 6.0]
    );
}

#[test]
fn other_takes_new_categories_and_merges_still_apply() {
    let mut spec = spec();
    spec.pool_rare = 2;
    let merge = fairfront_data::Merge {
        categories: [("p".to_owned(), "P".to_owned())].into(),
        rest: Some("rest".into()),
    };
    spec.merges.insert("d".into(), merge);
    spec.missing = MissingPolicy::Keep;
    let later = "y,g,n,c,d\n1,a,1,z,r\n0,b,3,,q\n1,a,5,v,p\n";
    let later = grown(&spec, BATCH, later);
    let (started, encoding, growth) = (later.started, later.encoding, later.growth);
    assert_eq!(started.encoding.categorical[0].categories, ["u", "(other)"]);
    assert_eq!(encoding.categorical, started.encoding.categorical);
    assert!(growth.categories.is_empty() && growth.groups.is_empty());
    assert_eq!(growth.unseen_rows, 2);
}

#[test]
fn new_groups_come_last_in_their_attribute() {
    let mut spec = spec();
    spec.sensitive = vec![names(&["g"]), names(&["g", "d"])];
    spec.missing_sensitive = MissingSensitive::Group;
    let text = "y,g,n,c,d\n1,C,1,u,p\n0,A,3,u,p\n1,a,5,u,q\n0,,7,u,q\n";
    let later = grown(&spec, BATCH, text);
    let (encoding, growth, prepared) = (later.encoding, later.growth, later.prepared);
    let groups = |a: usize| &encoding.attributes[a].attribute.groups;
    assert_eq!(groups(0)[..], ["a", "b", "A", "C", "(missing)"]);
    assert_eq!(
        groups(1)[..],
        ["a:p", "b:q", "A:p", "C:p", "a:q", "(missing):q"]
    );
    assert_eq!(growth.groups.len(), 7);
    assert_eq!(prepared.groups, [[3, 2, 0, 4], [3, 2, 4, 5]]);
    // Rows that are dropped do not add groups.
    spec.missing_sensitive = MissingSensitive::LossOnly;
    let encoding = grown(&spec, BATCH, text).encoding;
    assert_eq!(
        encoding.attributes[0].attribute.groups,
        ["a", "b", "A", "C"]
    );
}

#[test]
fn number_of_groups_is_limited() {
    let text = csv("y,g,n,c,d", 1_000, |i| format!("{},x{i:04},1,u,p", i % 2));
    let later = later(&spec(), BATCH, &text);
    let (encoding, growth, prepared) = (later.encoding, later.growth, later.prepared);
    assert_eq!(encoding.attributes[0].attribute.groups.len(), 1_000);
    assert_eq!(growth.groups.len(), 998);
    assert!(
        growth.diagnostics[0]
            .message
            .to_string()
            .contains("\"x0998\", \"x0999\"")
    );
    assert_eq!(
        prepared.groups[0][997..],
        [999, UNKNOWN_GROUP, UNKNOWN_GROUP]
    );
}

/// The rows as bits and codes, sorted: the order of the rows of a split is random.
fn rows(data: &Dataset) -> Vec<(Vec<u64>, Vec<u32>)> {
    let mut all = Vec::new();
    for block in data.loaded().unwrap().blocks() {
        for row in 0..block.n_rows() {
            let numbers = block.numeric(row).iter();
            let numbers = numbers.chain([&block.labels()[row], &block.weights()[row]]);
            let codes = block.codes(row).iter().copied();
            let groups = (0..block.n_attributes()).map(|a| block.groups(a)[row]);
            let bits = numbers.map(|v| v.to_bits()).collect();
            all.push((bits, codes.chain(groups).collect()));
        }
    }
    all.sort_unstable();
    all
}

/// Random rows with a numeric and two categorical features; later rows have more categories.
fn batch(categories: usize, n: usize, seed: usize) -> String {
    csv("y,g,n,c,d", n, |i| {
        let k = i
            .wrapping_mul(2_654_435_761)
            .wrapping_add(seed.wrapping_mul(40_503))
            >> 3;
        // The first rows have both classes and groups.
        let y = if i < 2 { i } else { k / 7 % 2 };
        let g = if i < 2 {
            i
        } else {
            k / 14 % (categories / 2 + 1)
        };
        format!(
            "{y},g{g},{},c{},d{}",
            k % 1000,
            k / 3 % categories,
            k / 11 % (categories + 1)
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn growth_does_not_change_scores_or_stored_rows(n in 30_usize..3000, m in 1_usize..200, seed: u16, pool in 0_usize..2) {
        let mut spec = spec();
        spec.pool_rare = pool * 3;
        spec.split = SplitRule::Shares([60.0, 10.0, 0.0, 30.0]);
        let Later { started, encoding, prepared: new, .. } =
            later(&spec, &batch(4, n, seed.into()), &batch(9, m, 1 + usize::from(seed)));
        let n_params = started.encoding.schema().n_features() + 1;
        let point: Vec<f64> = (0..n_params).map(|i| (i as f64 * 0.7).sin()).collect();
        let embedded = embed(&started.encoding.schema(), &encoding.schema(), &point);
        prop_assert_eq!(embedded.len(), encoding.schema().n_features() + 1);

        // The rows of the first batch, encoded again, stored, and read with the grown schema.
        let prepared = &started.prepared;
        let all = prepared.encode(&encoding).unwrap().0;
        let again = StoredRows::from_dataset(&all, &prepared.split.parts_by_row()).unwrap();
        prop_assert_eq!(&again, &started.stored);
        let before = Encoded::new(prepared).unwrap();
        let after = started.stored.datasets(&encoding.schema()).unwrap();
        for (part, (old, new)) in Part::ALL.into_iter().zip(before.parts.iter().zip(&after)) {
            prop_assert_eq!(old.n_rows(), new.n_rows());
            let same = started.stored.datasets(&started.encoding.schema()).unwrap();
            prop_assert_eq!(rows(&same[part as usize]), rows(old));
            let old = scores(&Linear, old, &point).unwrap();
            let new = scores(&Linear, new, &embedded).unwrap();
            let bits = |s: &[f64]| {
                let mut bits = s.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                bits.sort_unstable();
                bits
            };
            prop_assert_eq!(bits(&old), bits(&new));
        }

        // Both batches together, in the order of arrival.
        let (data, unseen) = new.encode(&encoding).unwrap();
        prop_assert!(pool > 0 || unseen.is_empty());
        let parts = vec![Part::Train; data.n_rows()];
        let mut both = started.stored.clone();
        both.append(&StoredRows::from_dataset(&data, &parts).unwrap()).unwrap();
        let n_first = started.stored.n_rows();
        prop_assert_eq!(both.n_rows(), n_first + data.n_rows());
        let last: Vec<usize> = (n_first..both.n_rows()).collect();
        let [train, ..] = both.select(&last).unwrap().datasets(&encoding.schema()).unwrap();
        prop_assert_eq!(rows(&train), rows(&data));
        prop_assert!(train.blocks().count() == data.n_rows().div_ceil(BLOCK_ROWS));
        prop_assert_eq!(StoredRows::from_bytes(&both.to_bytes()).unwrap(), both);
    }
}

#[test]
fn stored_rows_that_do_not_fit_are_rejected() {
    let started = start(BATCH, &spec());
    let schema = started.encoding.schema();
    let mut rows = started.stored.clone();
    assert_eq!(rows.parts().collect::<Vec<_>>(), [Part::Train; 4]);
    assert!(message(rows.select(&[4])).contains("no row 4 among 4"));
    let mut smaller = schema.clone();
    smaller.categorical[0].categories.truncate(1);
    assert!(message(rows.datasets(&smaller)).contains("of column \"c\", which has only 1"));
    smaller.categorical.truncate(1);
    assert!(
        message(rows.datasets(&smaller)).contains("shape [1, 2, 1], but the schema has [1, 1, 1]")
    );
    assert!(rows.append(&StoredRows::new(&smaller)).is_err());
    rows.append(&StoredRows::new(&schema)).unwrap();
    assert_eq!(rows, started.stored);
    let empty = StoredRows::new(&schema);
    assert_eq!(StoredRows::from_bytes(&empty.to_bytes()).unwrap(), empty);
    assert_eq!(empty.datasets(&schema).unwrap()[0].n_rows(), 0);
}

proptest! {
    #[test]
    fn corrupted_rows_are_rejected(at in 0_usize..10_000, bit in 0_u8..8, keep in 0_usize..10_000) {
        let bytes = start(BATCH, &spec()).stored.to_bytes();
        let mut flipped = bytes.clone();
        flipped[at % bytes.len()] ^= 1 << bit;
        let said = message(StoredRows::from_bytes(&flipped));
        prop_assert!(said.starts_with("stored rows: "));
        prop_assert!(StoredRows::from_bytes(&bytes[..keep % bytes.len()]).is_err());
        prop_assert!(StoredRows::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn any_bytes_are_rejected_or_are_rows(bytes in prop::collection::vec(any::<u8>(), 0..200), shapes in prop::collection::vec(any::<u32>(), 5)) {
        prop_assert!(StoredRows::from_bytes(&bytes).is_err());
        // With a valid magic word, version and checksum, but any shapes.
        let mut text = b"ffrows\r\n\x01\0\0\0".to_vec();
        shapes.iter().for_each(|n| text.extend(n.to_le_bytes()));
        text.extend(&bytes);
        let sum = <sha2::Sha256 as sha2::Digest>::digest(&text);
        text.extend(sum);
        prop_assert!(StoredRows::from_bytes(&text).is_err());
    }
}
