//! The results of the experiments as text for the terminal.

use std::fmt::Write;
use std::path::Path;

use fairfront_reproduce::{Effort, Reproduction};

/// The claims with their verdicts, by experiment.
pub(crate) fn summary(found: &Reproduction, out: &Path) -> String {
    let mut text = String::new();
    if found.effort == Effort::Quick {
        text.push_str("Small budgets: these numbers show that the program works. They are not evidence about the paper.\n\n");
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
        "Page with figures and explanations: {}",
        out.join("reproduction.md").display()
    );
    text
}
