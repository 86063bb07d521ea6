//! What an experiment says: claims with verdicts, tables, figures.

use std::fmt;

use fairfront_run::Figure;
use serde::{Deserialize, Serialize};

use crate::Experiment;

/// What an experiment came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which.
    pub experiment: Experiment,
    /// How it was done, in a paragraph.
    pub setting: String,
    /// What the paper says, and what is found here.
    pub claims: Vec<Claim>,
    /// What is worth knowing beside them.
    pub notes: Vec<String>,
    /// Numbers.
    pub sheets: Vec<Sheet>,
    /// Names and captions of figures.
    pub figures: Vec<Drawn>,
    /// What fronts took.
    pub times: Vec<Time>,
}

/// A claim of the paper beside what is found here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim, in our words.
    pub paper: String,
    /// When it holds.
    pub rule: String,
    /// What is found.
    pub measured: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why, where something is known.
    pub reason: String,
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// On all or nearly all that was run.
    Holds,
    /// Some of it, or on some of what was run.
    InPart,
    /// Not on what was run.
    DoesNotHold,
    /// There are too few numbers to say.
    Unknown,
}

impl Verdict {
    /// `Holds` where the first is true, `InPart` where the second is; `Unknown` where nobody knows the first.
    pub(crate) fn of(holds: Option<bool>, in_part: Option<bool>) -> Self {
        match (holds, in_part) {
            (Some(true), _) => Self::Holds,
            (None, _) => Self::Unknown,
            (_, Some(true)) => Self::InPart,
            _ => Self::DoesNotHold,
        }
    }

    /// Of a claim that is looked at twice, on fronts of the paper's solver and on ours: it holds where it does on
    /// both, in part where it does on one.
    pub(crate) fn both(paper: Option<bool>, ours: Option<bool>) -> Self {
        match (paper, ours) {
            (Some(true), Some(true)) => Self::Holds,
            (Some(true), Some(false)) | (Some(false), Some(true)) => Self::InPart,
            (Some(false), Some(false)) => Self::DoesNotHold,
            // Half of the numbers do not make half of a verdict.
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
            Self::Unknown => "cannot be said",
        })
    }
}

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Name of its file.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, as long as the header.
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

/// A figure that was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// Name of its file, without `.svg`.
    pub name: String,
    /// What it shows.
    pub caption: String,
}

/// What a front took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// The problem.
    pub problem: String,
    /// The solver.
    pub solver: String,
    /// Training rows.
    pub rows: usize,
    /// Points of the front; the mean over seeds.
    pub points: f64,
    /// CPU seconds; the mean over seeds.
    pub cpu_seconds: f64,
    /// Over how many.
    pub seeds: usize,
}

/// A finding while it is put together.
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
    fn without_numbers_nothing_is_said() {
        assert_eq!(Verdict::of(Some(true), None), Verdict::Holds);
        assert_eq!(Verdict::of(Some(false), Some(true)), Verdict::InPart);
        assert_eq!(Verdict::of(Some(false), Some(false)), Verdict::DoesNotHold);
        assert_eq!(Verdict::of(None, Some(true)), Verdict::Unknown);
    }
}
