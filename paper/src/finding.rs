//! The results of an experiment: claims with verdicts, tables, figures.

use std::fmt;

use fairfront_run::Figure;
use serde::{Deserialize, Serialize};

use crate::Experiment;

/// The results of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The experiment.
    pub experiment: Experiment,
    /// A paragraph about the setup.
    pub setting: String,
    /// The paper's claims with our results.
    pub claims: Vec<Claim>,
    /// Additional remarks.
    pub notes: Vec<String>,
    /// Tables.
    pub sheets: Vec<Sheet>,
    /// Names and captions of figures.
    pub figures: Vec<Drawn>,
    /// CPU times of the fronts.
    pub times: Vec<Time>,
}

/// A claim of the paper with our result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim, in our words.
    pub paper: String,
    /// The condition under which it holds.
    pub rule: String,
    /// The result.
    pub measured: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// An explanation of the result, or an empty string.
    pub reason: String,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim holds in all or nearly all runs.
    Holds,
    /// Part of the claim holds, or it holds in some runs.
    InPart,
    /// The claim does not hold in these runs.
    DoesNotHold,
    /// There are too few numbers to decide.
    Unknown,
}

impl Verdict {
    /// `Unknown` if `holds` is `None`; otherwise `Holds` or `InPart` if the condition of that name is true.
    pub(crate) fn of(holds: Option<bool>, in_part: Option<bool>) -> Self {
        match (holds, in_part) {
            (Some(true), _) => Self::Holds,
            (None, _) => Self::Unknown,
            (_, Some(true)) => Self::InPart,
            _ => Self::DoesNotHold,
        }
    }

    /// The verdict on a claim that is checked on the fronts of the paper's solver and on ours. It holds if it holds on
    /// both, and holds in part if it holds on one.
    pub(crate) fn both(paper: Option<bool>, ours: Option<bool>) -> Self {
        match (paper, ours) {
            (Some(true), Some(true)) => Self::Holds,
            (Some(true), Some(false)) | (Some(false), Some(true)) => Self::InPart,
            (Some(false), Some(false)) => Self::DoesNotHold,
            // A claim that is checked on one of the two fronts only is undecided.
            (None, _) | (_, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::InPart => "holds in part",
            Self::DoesNotHold => "does not hold here",
            Self::Unknown => "cannot be decided",
        })
    }
}

/// A table of strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Name of its file, without `.csv`.
    pub name: String,
    /// The caption.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    pub(crate) fn new(name: &str, caption: &str, header: &[&str]) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// Name and caption of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// Name of its file, without `.svg`.
    pub name: String,
    /// The caption.
    pub caption: String,
}

/// The CPU time of a front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The problem.
    pub problem: String,
    /// The solver.
    pub solver: String,
    /// Training rows.
    pub rows: usize,
    /// Models of the front; the mean over seeds.
    pub points: f64,
    /// CPU seconds; the mean over seeds.
    pub cpu_seconds: f64,
    /// Number of seeds.
    pub seeds: usize,
}

/// A finding under construction, with its figures.
pub(crate) struct Draft {
    pub(crate) finding: Finding,
    pub(crate) figures: Vec<Figure>,
}

impl Draft {
    pub(crate) fn new(experiment: Experiment, setting: impl Into<String>) -> Self {
        Self {
            finding: Finding {
                experiment,
                setting: setting.into(),
                claims: Vec::new(),
                notes: Vec::new(),
                sheets: Vec::new(),
                figures: Vec::new(),
                times: Vec::new(),
            },
            figures: Vec::new(),
        }
    }

    pub(crate) fn claim(
        &mut self,
        (paper, rule): (&str, &str),
        measured: impl Into<String>,
        verdict: Verdict,
        reason: impl Into<String>,
    ) {
        self.finding.claims.push(Claim {
            paper: paper.into(),
            rule: rule.into(),
            measured: measured.into(),
            verdict,
            reason: reason.into(),
        });
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.finding.notes.push(text.into());
    }

    pub(crate) fn figure(&mut self, name: &str, caption: impl Into<String>, svg: String) {
        self.finding.figures.push(Drawn {
            name: name.into(),
            caption: caption.into(),
        });
        self.figures.push(Figure {
            name: name.into(),
            svg,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_from_both_fronts() {
        let (yes, no) = (Some(true), Some(false));
        for (paper, ours, verdict) in [
            (yes, yes, Verdict::Holds),
            (yes, no, Verdict::InPart),
            (no, yes, Verdict::InPart),
            (None, yes, Verdict::Unknown),
            (no, no, Verdict::DoesNotHold),
            (no, None, Verdict::Unknown),
            (None, None, Verdict::Unknown),
        ] {
            assert_eq!(Verdict::both(paper, ours), verdict);
        }
    }

    #[test]
    fn verdicts_without_numbers_are_unknown() {
        assert_eq!(Verdict::of(Some(true), None), Verdict::Holds);
        assert_eq!(Verdict::of(Some(false), Some(true)), Verdict::InPart);
        assert_eq!(Verdict::of(Some(false), Some(false)), Verdict::DoesNotHold);
        assert_eq!(Verdict::of(None, Some(true)), Verdict::Unknown);
    }
}
