//! Group counts of Adult and COMPAS.

use fairfront_core::counted;
use fairfront_data::{Known, Prepared, data_folder};
use fairfront_run::Error;

use crate::Experiment;
use crate::finding::{Draft, Sheet, Verdict};

/// A table of the paper: groups with their counts of negative and positive labels.
struct Published {
    name: &'static str,
    caption: &'static str,
    claim: &'static str,
    source: &'static str,
    labels: [&'static str; 2],
    rows: &'static [(&'static str, usize, usize)],
}

const PUBLISHED: [Published; 3] = [
    Published {
        name: "adult-gender",
        caption: "Adult by gender.",
        claim: "Adult has 45,222 people: 30,527 males (9,539 with a high income) and 14,695 females (1,669 with a high income).",
        source: "adult:sex",
        labels: ["≤ 50K", "> 50K"],
        rows: &[("Male", 20_988, 9_539), ("Female", 13_026, 1_669)],
    },
    Published {
        name: "adult-race",
        caption: "Adult by race.",
        claim: "By race, Adult has 38,903 White, 4,228 Black, 1,303 Asian, 435 American-Indian and 353 other people.",
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
        claim: "COMPAS has 5,278 people: 3,175 Black (1,661 reoffend) and 2,103 White (822 reoffend).",
        source: "compas:race",
        labels: ["reoffend", "do not reoffend"],
        rows: &[
            ("Caucasian", 822, 1_281),
            ("African-American", 1_661, 1_514),
        ],
    },
];

/// The share of Black people with a high income in the paper's text.
const MISPRINT: f64 = 0.012;

/// Counts of negative and positive labels in a group of the first attribute.
fn counts(prepared: &Prepared, group: &str) -> [usize; 2] {
    let groups = prepared.attributes().next().map(|a| a.groups.as_slice());
    let code = groups.and_then(|groups| groups.iter().position(|g| g == group));
    let mut counts = [0; 2];
    let codes = prepared.groups.first().into_iter().flatten();
    for (own, label) in codes.zip(&prepared.labels) {
        if Some(*own as usize) == code {
            counts[usize::from(*label > 0.0)] += 1;
        }
    }
    counts
}

pub(crate) fn find() -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::Tables,
        "Adult consists of both published files, without rows with missing values. COMPAS is the two-year file, filtered \
         as its publishers do, with Black and White people only. If a count in the tables differs from the paper's, the \
         paper's count follows in parentheses.",
    );
    for published in &PUBLISHED {
        let Some(known) = Known::named(published.source)? else {
            continue;
        };
        let prepared = Prepared::from_known(&known, &known.spec(), data_folder().as_deref())?;
        let [negative, positive] = published.labels;
        let share = format!("share {positive}");
        let header = ["group", negative, positive, "total", "share of all", &share];
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
            let percent = |n: usize, of: usize| format!("{:.1}%", 100.0 * n as f64 / of as f64);
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
            (published.claim, "all counts agree"),
            format!(
                "every count was compared, on {}",
                counted(prepared.n_rows(), "row")
            ),
            Verdict::of(Some(same), None),
            "",
        );
        if published.source == "adult:race" {
            let [negatives, positives] = counts(&prepared, "Black");
            let share = positives as f64 / (negatives + positives) as f64;
            draft.note(format!(
                "According to the paper's text, {:.1}% of Black people have a high income. The paper's own table gives {:.1}%, and so do \
                 the data.",
                100.0 * MISPRINT,
                100.0 * share
            ));
        }
        draft.finding.sheets.push(sheet);
    }
    Ok(draft)
}
