//! The two pages in Markdown, one with the claims and verdicts and one with the tables. They depend only on the
//! results.

use std::fmt::Write;

use fairfront_core::counted;

use crate::finding::{Claim, Drawn, Finding, Sheet, Time, Verdict};
use crate::job::Variant;
use crate::reproduce::{PAGE, TABLES};
use crate::stat::number;
use crate::{Effort, Experiment, Place, Reproduction};

/// A run of the authors' program, with the numbers that they published.
struct Published {
    problem: &'static str,
    rows: usize,
    models: usize,
    seconds: f64,
}

/// The runs that the authors published with their program.
const PUBLISHED: [Published; 5] = [
    Published {
        problem: "synthetic",
        rows: 2_000,
        models: 514,
        seconds: 26.0,
    },
    Published {
        problem: "Adult, gender",
        rows: 5_000,
        models: 1_513,
        seconds: 2_778.0,
    },
    Published {
        problem: "Adult, race",
        rows: 5_000,
        models: 884,
        seconds: 17_174.0,
    },
    Published {
        problem: "Adult, gender and race",
        rows: 5_000,
        models: 3_118,
        seconds: 6_929.0,
    },
    Published {
        problem: "COMPAS, false negatives",
        rows: 5_278,
        models: 1_505,
        seconds: 2_223.0,
    },
];

const INTRODUCTION: &str = "\
# Reproduction of the paper

fairfront is based on Liu and Vicente, *Accuracy and Fairness Trade-offs in Machine Learning: A Stochastic
Multi-Objective Approach*. This page gives a verdict on each claim of the paper after a repetition of its experiments,
with the rule for the verdict and the numbers that decide it. The command below ran the experiments and wrote this page
and its [tables](reproduction-tables.md). No number or verdict is edited by hand.
";

const WORDS: &str = "\
`--quick` runs the same experiments with small budgets in a minute or two. `fairfront-reproduce --help` lists the
experiments. The program is not part of the published command; `cargo run --release -p fairfront-reproduce` builds and
runs it.

## How the claims are checked

The claims are stated in our words. Most of them are checked on two fronts:

- **PF-SMG** is the paper's solver with the paper's settings (`--preset paper`). The paper leaves some details open
  (exploration, holes, thinning). For these, all experiments follow the authors' published program for Adult by gender.
- **Ours** is the front that fairfront computes for the same objectives. It is the *exact front* if the fairness
  objectives are f2 and f3.

Such a claim *holds* if both fronts meet the rule, and *holds in part* if one of them does. **EPS-fair** is the paper's
baseline: it minimizes f1 subject to |covariance| ≤ ε for a series of bounds ε. The *unmitigated model* is trained
without regard to fairness.

| term | meaning |
| --- | --- |
| f1 | the log loss, plus the penalty that the paper mentions, with λ = 1e-4 |
| f2 | the squared covariance between a binary attribute and the score |
| f3 | the smooth maximum of these squares over the groups of an attribute |
| f4 | the squared covariance between a binary attribute and the false negatives |
| CV score | the paper's name for the demographic parity difference, which is the largest selection rate of a group minus the smallest; for false negatives, the equal opportunity difference |
| rank correlation | Spearman's: 1 if one quantity always rises with the other, −1 if it always falls |
| hypervolume | the area that a front dominates |
| purity | the share of a front's models that no other front dominates |
| Γ | the largest hole in a front |
| Δ | how uneven the distances between neighboring models are |
| ± | standard deviation over seeds, or over problems if there are several |
";

const LINKS: &str = "\
[Objectives](../reference/objectives.md) and [the method](../explanation/method.md) have the formulas;
[reading a front](../explanation/reading.md) explains the terms.
";

const FUTURE: &str = "\
## The paper's future work

- Nonlinear predictors, more than two classes and regression are implemented, but not part of this reproduction.
- Nonconvex approximations, among them mutual information and fairness risk measures, are implemented as the objectives
  `mutual_information`, `group_risk` and `worst_group_loss`. fairfront also has smooth versions of the rates themselves
  and minimizes these by default.
";

const TABLES_INTRODUCTION: &str = "\
# Reproduction of the paper: tables

This is the appendix of the [reproduction of the paper](reproduction.md), which has the claims and verdicts and defines
the terms. The same command wrote both pages from the same results.
";

/// Figures that stay next to the claims; the others are on the page with the tables.
const MAIN_FIGURES: [&str; 10] = [
    "adult-gender",
    "adult-race",
    "adult-race-maximum",
    "profiles-paper",
    "compas-with-race-all",
    "adult-two-attributes",
    "adult-two-attributes-exact",
    "adult-two-attributes-bands",
    "compas-two-measures-bands",
    "streaming-pf-smg-paper",
];

/// The page with the claims and verdicts.
pub(crate) fn markdown(found: &Reproduction, place: Place) -> String {
    let mut page = String::from(INTRODUCTION);
    let _ = write!(
        page,
        "\n<!-- not run: takes long -->\n\n```sh\n{}\n```\n",
        found.command
    );
    let _ = write!(
        page,
        "\nThe results are from fairfront {} on {}. The files of Adult and COMPAS are the original ones, checked by \
         SHA-256.\n\n{WORDS}",
        found.program, found.machine
    );
    if place == Place::Documentation {
        let _ = write!(page, "\n{LINKS}");
    }
    let has = |one: &Experiment| {
        found
            .findings
            .iter()
            .any(|finding| finding.experiment == *one)
    };
    let left_out: Vec<&str> = (Experiment::ALL.iter().filter(|one| !has(one)))
        .map(|one| one.name())
        .collect();
    if !left_out.is_empty() {
        let _ = write!(page, "\n**Not run: {}.**\n", left_out.join(", "));
    }
    small_budgets(&mut page, found.effort);
    page.push_str("\n## Verdicts\n\n");
    summary(&mut page, &found.findings);
    let (mut claims, mut tables) = (1, 1);
    for finding in &found.findings {
        if !finding.claims.is_empty() {
            section(&mut page, finding, (claims, tables), place.figures());
        }
        claims += finding.claims.len();
        tables += finding.sheets.len();
    }
    if found.findings.iter().any(|f| !f.times.is_empty()) {
        let _ = write!(
            page,
            "\n## CPU times\n\nThe CPU seconds per front, next to those that the authors published, are \
             [in the appendix]({TABLES}#cpu-times).\n"
        );
    }
    let _ = write!(page, "\n{FUTURE}");
    page
}

/// The page with the tables, the remaining figures and the CPU times.
pub(crate) fn tables(found: &Reproduction, place: Place) -> String {
    let mut page = String::from(TABLES_INTRODUCTION);
    small_budgets(&mut page, found.effort);
    let mut number = 1;
    for finding in &found.findings {
        let mut figures = further_figures(finding).peekable();
        if finding.sheets.is_empty() && figures.peek().is_none() {
            continue;
        }
        let title = title(finding.experiment);
        let _ = writeln!(page, "\n## {title}\n");
        match finding.claims.is_empty() {
            true => {
                let _ = writeln!(page, "{}", finding.setting);
            }
            false => {
                let _ = writeln!(page, "[Claims and verdicts]({PAGE}#{})", anchor(title));
            }
        }
        for sheet in &finding.sheets {
            let _ = writeln!(page, "\n### Table {number}");
            table(&mut page, sheet);
            number += 1;
        }
        figures.for_each(|drawn| figure(&mut page, drawn, place.figures()));
    }
    times(&mut page, &found.findings);
    page
}

fn small_budgets(page: &mut String, effort: Effort) {
    if effort == Effort::Quick {
        page.push_str(
            "\n**Small budgets: these numbers show that the program works. They are not evidence about the paper.**\n",
        );
    }
}

fn title(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::Tables => "Group counts",
        Experiment::AdultGender => "Adult by gender",
        Experiment::AdultRace => "Adult by race",
        Experiment::Profiles => "Solvers on many problems",
        Experiment::CompasOpportunity => "COMPAS, false negatives by race",
        Experiment::AdultTwoAttributes => "Adult, two attributes",
        Experiment::CompasTwoMeasures => "COMPAS, two measures",
        Experiment::Streaming => "Adult as a stream",
        Experiment::Tuning => "Grid search",
        Experiment::Figures => "Explanatory figures",
    }
}

/// The anchor of a heading in Markdown.
fn anchor(title: &str) -> String {
    let letters = title.to_lowercase();
    letters.replace(' ', "-").replace(',', "")
}

/// The number of claims with each verdict, and a table with one row per claim.
fn summary(page: &mut String, findings: &[Finding]) {
    let claims = || findings.iter().flat_map(|finding| &finding.claims);
    let counts = [
        (Verdict::Holds, "holds", "hold"),
        (Verdict::InPart, "holds in part", "hold in part"),
        (
            Verdict::DoesNotHold,
            "does not hold here",
            "do not hold here",
        ),
        (Verdict::Unknown, "cannot be decided", "cannot be decided"),
    ];
    let counts = counts.iter().filter_map(|(verdict, one, many)| {
        let n = claims().filter(|claim| claim.verdict == *verdict).count();
        (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }))
    });
    let counts: Vec<String> = counts.collect();
    if let Some((last, others)) = counts.split_last() {
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("{} and ", others.join(", ")),
        };
        let all = counted(claims().count(), "claim");
        let _ = writeln!(page, "Of {all}, {others}{last}.\n");
    }
    row(page, ["claim", "experiment", "statement", "verdict"]);
    row(page, ["---:", "---", "---", "---"]);
    let mut number = 1;
    for finding in findings {
        let title = title(finding.experiment);
        for claim in &finding.claims {
            let link = format!("[{number}](#claim-{number})");
            let section = format!("[{title}](#{})", anchor(title));
            let verdict = bold(claim.verdict);
            row(page, [link.as_str(), &section, &claim.paper, &verdict]);
            number += 1;
        }
    }
}

/// Verdicts other than "holds" stand out.
fn bold(verdict: Verdict) -> String {
    match verdict {
        Verdict::Holds => verdict.to_string(),
        _ => format!("**{verdict}**"),
    }
}

fn row<'a>(page: &mut String, cells: impl IntoIterator<Item = &'a str>) {
    for cell in cells {
        let _ = write!(page, "| {} ", cell.replace('|', "\\|"));
    }
    page.push_str("|\n");
}

/// An experiment with its claims. The numbers are those of its first claim and first table.
fn section(page: &mut String, finding: &Finding, first: (usize, usize), figures: &str) {
    let experiment = finding.experiment;
    let title = title(experiment);
    let _ = writeln!(page, "\n## {title}\n");
    let _ = writeln!(
        page,
        "Command: `fairfront-reproduce {experiment}`\n\n{}",
        finding.setting
    );
    for (i, claim) in finding.claims.iter().enumerate() {
        let table = table_of(finding, i).map(|table| first.1 + table);
        add_claim(page, claim, first.0 + i, table);
    }
    for note in &finding.notes {
        let _ = writeln!(page, "\n{note}");
    }
    let main = finding.figures.iter().filter(|drawn| is_main(drawn));
    main.for_each(|drawn| figure(page, drawn, figures));
    if further_figures(finding).next().is_some() {
        let _ = writeln!(
            page,
            "\nThe appendix has [more figures of this experiment]({TABLES}#{}).",
            anchor(title)
        );
    }
}

fn add_claim(page: &mut String, claim: &Claim, number: usize, table: Option<usize>) {
    let Claim {
        paper,
        rule,
        measured,
        verdict,
        reason,
    } = claim;
    let _ = writeln!(page, "\n### Claim {number}\n\n**{paper}**\n");
    let _ = writeln!(page, "- Verdict: {}", bold(*verdict));
    let _ = writeln!(page, "- Rule: holds if {rule}.");
    let _ = writeln!(page, "- Result: {}.", capital(measured));
    if !reason.is_empty() {
        let _ = writeln!(page, "- Remark: {}.", capital(reason));
    }
    if let Some(table) = table {
        let _ = writeln!(page, "- Table: [table {table}]({TABLES}#table-{table})");
    }
}

/// The table of a finding that has the numbers of a claim, both counted from 0.
fn table_of(finding: &Finding, claim: usize) -> Option<usize> {
    let first_has = match finding.experiment {
        // One table per claim.
        Experiment::Tables => return (claim < finding.sheets.len()).then_some(claim),
        // The tables by seed have demographic parity differences and costs.
        Experiment::AdultGender => [2, 3].contains(&claim),
        Experiment::AdultRace => claim == 2,
        // The last claim counts dominated models, which are not in the table.
        Experiment::Profiles => claim + 1 < finding.claims.len(),
        // The ends of the fronts.
        Experiment::CompasOpportunity => claim < 3,
        _ => true,
    };
    (first_has && !finding.sheets.is_empty()).then_some(0)
}

fn is_main(drawn: &Drawn) -> bool {
    MAIN_FIGURES.contains(&drawn.name.as_str())
}

fn further_figures(finding: &Finding) -> impl Iterator<Item = &Drawn> {
    finding.figures.iter().filter(|drawn| !is_main(drawn))
}

fn figure(page: &mut String, Drawn { name, caption }: &Drawn, folder: &str) {
    let _ = writeln!(page, "\n![{caption}]({folder}/{name}.svg)");
    let _ = writeln!(page, "\n*{}*", caption.trim_end());
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    // Names such as f1 and p2 stay lowercase.
    match letters.clone().next() {
        Some(second) if second.is_ascii_digit() => text.to_owned(),
        _ => first.to_uppercase().chain(letters).collect(),
    }
}

fn table(page: &mut String, sheet: &Sheet) {
    let _ = writeln!(page, "\n{}\n", sheet.caption);
    row(page, sheet.header.iter().map(String::as_str));
    row(page, sheet.header.iter().map(|_| "---"));
    for cells in &sheet.rows {
        // Cells have no Markdown; settings such as 80*1.018 contain asterisks.
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('*', "\\*")).collect();
        row(page, cells.iter().map(String::as_str));
    }
}

fn times(page: &mut String, findings: &[Finding]) {
    let all: Vec<&Time> = findings.iter().flat_map(|finding| &finding.times).collect();
    if all.is_empty() {
        return;
    }
    page.push_str(
        "\n## CPU times\n\nCPU seconds of one thread for a whole front, including encoding and measuring; means over seeds. \
         The authors published theirs with their program (Python, NumPy). They used another machine and fewer rows of \
         Adult, and their fronts have other numbers of models, so the two columns of seconds are not directly \
         comparable.\n\n",
    );
    row(
        page,
        [
            "problem",
            "front",
            "rows",
            "models",
            "CPU s",
            "authors' rows",
            "authors' models",
            "authors' seconds",
        ],
    );
    row(
        page,
        ["---", "---", "---:", "---:", "---:", "---:", "---:", "---:"],
    );
    for time in all {
        let published = PUBLISHED
            .iter()
            .find(|published| published.problem == time.problem);
        // The authors ran PF-SMG.
        let published = published.filter(|_| time.solver == Variant::PfSmgPaper.label());
        let cell = |number: fn(&Published) -> String| published.map(number).unwrap_or_default();
        let decimals = if time.cpu_seconds < 10.0 { 2 } else { 0 };
        row(
            page,
            [
                time.problem.as_str(),
                &time.solver,
                &time.rows.to_string(),
                &number(time.points, 0),
                &number(time.cpu_seconds, decimals),
                &cell(|p| p.rows.to_string()),
                &cell(|p| p.models.to_string()),
                &cell(|p| number(p.seconds, 0)),
            ],
        );
    }
}

#[cfg(test)]
mod tests;
