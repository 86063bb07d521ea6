//! The results of the experiments, as text.

use std::fmt::Write;
use std::path::Path;

use fairfront_reproduce::{Effort, Reproduction};

/// Claims with their verdicts, experiment by experiment.
pub(crate) fn summary(found: &Reproduction, out: &Path) -> String {
    let mut text = String::new();
    if found.effort == Effort::Quick {
        text.push_str("Small budgets: what is said here is that everything works, not what the paper is worth.\n\n");
    }
    for finding in &found.findings {
        let _ = writeln!(
            text,
            "{}: {}",
            finding.experiment,
            finding.experiment.about()
        );
        for claim in &finding.claims {
            let _ = writeln!(text, "  {:<18}  {}", claim.verdict.to_string(), claim.paper);
            let _ = writeln!(text, "  {:<18}    {}", "", claim.measured);
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "The page with figures and reasons: {}",
        out.join("reproduction.md").display()
    );
    text
}
