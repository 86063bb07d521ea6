//! Who is in Adult and COMPAS.

use fairfront_data::{Known, Prepared};
use fairfront_run::Error;

use crate::Experiment;
use crate::finding::{Draft, Sheet, Verdict};

/// A table of the paper: groups with their counts of negative and positive labels.
struct Published {
    name: &'static str,
    caption: &'static str,
    source: &'static str,
    labels: [&'static str; 2],
    rows: &'static [(&'static str, usize, usize)],
}

const PUBLISHED: [Published; 3] = [
    Published {
        name: "adult-gender",
        caption: "Adult by gender.",
        source: "adult:gender",
        labels: ["≤ 50K", "> 50K"],
        rows: &[("Male", 20_988, 9_539), ("Female", 13_026, 1_669)],
    },
    Published {
        name: "adult-race",
        caption: "Adult by race.",
        source: "adult:race",
        labels: ["≤ 50K", "> 50K"],
        rows: &[
            ("Asian-Pac-Islander", 934, 369),
            ("Amer-Indian-Eskimo", 382, 53),
            ("White", 28_696, 10_207),
            ("Black", 3_694, 534),
            ("Other", 308, 45),
        ],
    },
    Published {
        name: "compas-race",
        caption: "COMPAS by race.",
        source: "compas:race",
        labels: ["reoffend", "do not reoffend"],
        rows: &[
            ("Caucasian", 822, 1_281),
            ("African-American", 1_661, 1_514),
        ],
    },
];

/// The share of Black with a high income that the paper's text gives.
const MISPRINT: f64 = 0.012;

/// Counts of negative and positive labels in a group of the first attribute.
fn counts(prepared: &Prepared, group: &str) -> [usize; 2] {
    let groups = prepared.attributes().next().map(|a| a.groups.as_slice());
    let code = groups.and_then(|groups| groups.iter().position(|g| g == group));
    let mut counts = [0; 2];
    let codes = prepared.groups.first().into_iter().flatten();
    for (own, positive) in codes.zip(&prepared.labels) {
        if Some(*own as usize) == code {
            counts[usize::from(*positive)] += 1;
        }
    }
    counts
}

pub(crate) fn find() -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::Tables,
        "Adult: both published parts, rows with a missing value left out. COMPAS: the two-year file, filtered as \
         its publishers do, Black and White only. What the paper prints stands in brackets where it differs.",
    );
    for published in &PUBLISHED {
        let Some(known) = Known::parse(published.source)? else {
            continue;
        };
        let prepared = Prepared::from_known(&known, &known.spec(), None)?;
        let [negative, positive] = published.labels;
        let header = [
            "group",
            negative,
            positive,
            "total",
            "share of all",
            positive,
        ];
        let mut sheet = Sheet::new(published.name, published.caption, &header);
        let (mut same, mut all) = (true, [0; 2]);
        for (group, negatives, positives) in published.rows {
            let found = counts(&prepared, group);
            let differs = |found: usize, published: usize| match found == published {
                true => found.to_string(),
                false => format!("{found} ({published})"),
            };
            same &= found == [*negatives, *positives];
            all = [all[0] + found[0], all[1] + found[1]];
            let total = found[0] + found[1];
            let percent = |n: usize, of: usize| format!("{:.1} %", 100.0 * n as f64 / of as f64);
            sheet.row([
                (*group).into(),
                differs(found[0], *negatives),
                differs(found[1], *positives),
                total.to_string(),
                percent(total, prepared.n_rows()),
                percent(found[1], total),
            ]);
        }
        same &= all[0] + all[1] == prepared.n_rows();
        draft.claim(
            &format!(
                "The composition of {}",
                published.caption.trim_end_matches('.')
            ),
            format!("{} rows, every count compared", prepared.n_rows()),
            Verdict::of(same, false),
            "",
        );
        if published.source == "adult:race" {
            let [negatives, positives] = counts(&prepared, "Black");
            let share = positives as f64 / (negatives + positives) as f64;
            draft.claim(
                "1.2 % of Black have a high income (in the paper's text).",
                format!("{:.1} %, as the paper's own table has it", 100.0 * share),
                Verdict::of((share - MISPRINT).abs() < 0.0005, false),
                "a misprint: a digit is missing",
            );
        }
        draft.finding.sheets.push(sheet);
    }
    Ok(draft)
}
