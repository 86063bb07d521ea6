//! The page: claims and verdicts, figures, tables, times. A function of what was found and nothing else.

use std::fmt::Write;

use crate::finding::{Claim, Finding, Sheet, Time, Verdict};
use crate::job::Variant;
use crate::stat::number;
use crate::{Effort, Experiment, Place, Reproduction};

/// A run of the authors' own program, as they published it.
struct Published {
    problem: &'static str,
    rows: usize,
    points: usize,
    seconds: f64,
}

/// Seconds that the authors published with their program, and rows it was trained on.
const PUBLISHED: [Published; 5] = [
    Published {
        problem: "synthetic",
        rows: 2_000,
        points: 514,
        seconds: 26.0,
    },
    Published {
        problem: "Adult, gender",
        rows: 5_000,
        points: 1_513,
        seconds: 2_778.0,
    },
    Published {
        problem: "Adult, race",
        rows: 5_000,
        points: 884,
        seconds: 17_174.0,
    },
    Published {
        problem: "Adult, gender and race",
        rows: 5_000,
        points: 3_118,
        seconds: 6_929.0,
    },
    Published {
        problem: "COMPAS, false negatives",
        rows: 5_278,
        points: 1_505,
        seconds: 2_223.0,
    },
];

const INTRODUCTION: &str = "\
# The paper, reproduced

Liu and Vicente, *Accuracy and Fairness Trade-offs in Machine Learning: A Stochastic Multi-Objective Approach*, is where
fairfront starts from. Here its experiments are run again, and of each claim is said whether it holds. The page is
written by the command below from the numbers it found, verdicts included; nothing on it is edited by hand.
";

const WORDS: &str = "\
`--quick` goes the same way in a minute or two, with small budgets. `fairfront-reproduce --help` lists the experiments;
the program is not part of the published command, and `cargo run --release -p fairfront-reproduce` builds and runs it.
Claims are told in our words, each with the rule of its verdict. Most are looked at twice: on fronts of PF-SMG with the
paper's settings (`--preset paper`), and on the fronts that fairfront finds for the same objectives, which are exact where
these are covariances of scores. Such a claim *holds* where its rule is met on both, *in part* where it is on one. What the
paper leaves open of PF-SMG (exploration, holes, thinning) is as in the authors' published program for Adult and
gender, everywhere; f1 has the penalty that the paper mentions, with λ = 1e-4.

*f1* is the log loss, *f2* the square of the covariance of a binary attribute with the score, *f3* the smooth maximum of
these squares over the groups of an attribute, *f4* the square of the covariance with false negatives. The *CV score* is
the difference between the largest and the smallest share of positive outcomes of groups, elsewhere called
`demographic_parity_difference`; of false negatives it is `equal_opportunity_difference`. A *rank correlation* (Spearman's) is 1
where one quantity rises whenever the other does, and −1 where it falls. *Hypervolume* is the area that a front dominates,
*purity* the share of its points that no other front dominates, *Γ* its widest gap, *Δ* how uneven its gaps are. Numbers
after ± are standard deviations over seeds, or over problems where there are many.
";

const LINKS: &str = "\
[Objectives](objectives.md) and [method](method.md) have the formulas, [reading a front](reading.md) the words.
";

const FUTURE: &str = "\
## What the paper names as future

- Other predictors than linear ones, several classes, regression: not there yet.
- Approximations that are not convex, mutual information and fairness risk measures among them: there, as the objectives
  `mutual_information`, `group_risk` and `worst_group_loss`, beside smooth versions of the rates themselves, which are
  what fairfront minimises by default.
";

/// The page.
pub(crate) fn markdown(found: &Reproduction, place: Place) -> String {
    let mut page = String::from(INTRODUCTION);
    let _ = write!(
        page,
        "\n<!-- not run: takes long -->\n\n```sh\n{}\n```\n",
        found.command
    );
    let _ = write!(
        page,
        "\nfairfront {} on {}. The files of Adult and COMPAS are those first published, held to their SHA-256.\n\n{WORDS}",
        found.program, found.machine
    );
    if place == Place::Documentation {
        page.push_str(LINKS);
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
    if found.effort == Effort::Quick {
        page.push_str("\n**Small budgets: these numbers say that everything works, not what the paper is worth.**\n");
    }
    page.push_str("\n## Verdicts\n\n");
    summary(&mut page, &found.findings);
    for finding in &found.findings {
        section(&mut page, finding, place.figures());
    }
    times(&mut page, &found.findings);
    let _ = write!(page, "\n{FUTURE}");
    page
}

fn title(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::Tables => "Who is in the data",
        Experiment::AdultGender => "Adult by gender",
        Experiment::AdultRace => "Adult by race",
        Experiment::Profiles => "Solvers on many problems",
        Experiment::CompasOpportunity => "COMPAS, false negatives by race",
        Experiment::AdultTwoAttributes => "Adult, two attributes",
        Experiment::CompasTwoMeasures => "COMPAS, two measures",
        Experiment::Streaming => "Adult as a stream",
        Experiment::Tuning => "Grid search",
        Experiment::Figures => "Two figures that explain",
    }
}

/// Where a heading is found, as Markdown names it.
fn anchor(title: &str) -> String {
    let letters = title.to_lowercase();
    letters.replace(' ', "-").replace(',', "")
}

/// How many claims of each experiment hold, and all of them in one line each.
fn summary(page: &mut String, findings: &[Finding]) {
    let of = |findings: &[Finding], verdict: Verdict| {
        let claims = findings.iter().flat_map(|finding| &finding.claims);
        claims.filter(|claim| claim.verdict == verdict).count()
    };
    let all: usize = findings.iter().map(|finding| finding.claims.len()).sum();
    let _ = writeln!(
        page,
        "Of {all} claims {} hold, {} hold in part, {} do not hold here, and of {} it cannot be said.\n",
        of(findings, Verdict::Holds),
        of(findings, Verdict::InPart),
        of(findings, Verdict::DoesNotHold),
        of(findings, Verdict::Unknown)
    );
    row(page, ["experiment", "claim", "verdict"]);
    row(page, ["---"; 3]);
    for finding in findings {
        let title = title(finding.experiment);
        for claim in &finding.claims {
            let link = format!("[{title}](#{})", anchor(title));
            row(page, [link.as_str(), &claim.paper, &bold(claim.verdict)]);
        }
    }
}

/// What does not hold is what people look for.
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

fn section(page: &mut String, finding: &Finding, figures: &str) {
    let experiment = finding.experiment;
    let _ = writeln!(page, "\n## {}\n", title(experiment));
    let _ = writeln!(
        page,
        "`fairfront-reproduce {experiment}`. {}",
        finding.setting
    );
    if !finding.claims.is_empty() {
        page.push('\n');
        row(page, ["the paper", "found here", "verdict"]);
        row(page, ["---"; 3]);
    }
    for claim in &finding.claims {
        let paper = format!("{} *Holds if {}.*", claim.paper, claim.rule);
        row(
            page,
            [paper.as_str(), &found_here(claim), &bold(claim.verdict)],
        );
    }
    for note in &finding.notes {
        let _ = writeln!(page, "\n{note}");
    }
    for figure in &finding.figures {
        let caption = &figure.caption;
        let _ = writeln!(page, "\n![{caption}]({figures}/{}.svg)", figure.name);
        let _ = writeln!(page, "\n*{}*", caption.trim_end());
    }
    finding.sheets.iter().for_each(|sheet| table(page, sheet));
}

/// What was found, and why where that is known.
fn found_here(claim: &Claim) -> String {
    let measured = capital(&claim.measured);
    match claim.reason.is_empty() {
        true => format!("{measured}."),
        false => format!("{measured}. *{}.*", capital(&claim.reason)),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    // f1, p2: names stay as they are.
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
        row(page, cells.iter().map(String::as_str));
    }
}

fn times(page: &mut String, findings: &[Finding]) {
    let all: Vec<&Time> = findings.iter().flat_map(|finding| &finding.times).collect();
    if all.is_empty() {
        return;
    }
    page.push_str(
        "\n## Times\n\nCPU seconds of one thread for a whole front, means over seeds, encoding and measuring included. The \
         authors' are those that they published with their program (Python, numpy), on a machine of theirs and on \
         fewer rows of Adult: the two columns of seconds are not of one machine, and not of one number of points.\n\n",
    );
    row(
        page,
        [
            "problem",
            "front",
            "rows",
            "points",
            "CPU s",
            "authors' rows",
            "points",
            "seconds",
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
        // Theirs is PF-SMG.
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
                &cell(|p| p.points.to_string()),
                &cell(|p| number(p.seconds, 0)),
            ],
        );
    }
}

#[cfg(test)]
mod tests;
