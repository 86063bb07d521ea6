//! Renders families of models and their learners.

use std::fmt::Write;

use fairfront_core::{Measure, counted};
use fairfront_run::{Family, FrontTable, LearnerInfo, OverlayKind, RunInfo, family_counts};

use super::share;

/// Whether the table of models has a column of families.
pub(super) fn has_several(run: &RunInfo, front: &FrontTable) -> bool {
    let models = (0..front.len()).map(|i| front.family(i));
    models
        .chain([run.unmitigated.family])
        .any(|family| family != Family::Linear)
}

/// Whether all models come from a sweep.
pub(super) fn is_swept(run: &RunInfo) -> bool {
    let only_learned = |family: &fairfront_run::FamilyInfo| {
        family.swept && family.request.family == fairfront_run::FamilyName::Trees
    };
    run.family.as_ref().is_some_and(only_learned)
}

/// The families of the models, or the solver that found linear models.
pub(super) fn origin(run: &RunInfo, front: &FrontTable) -> String {
    if !has_several(run, front) {
        return format!(" by {}", run.solver.name());
    }
    let families: Vec<Family> = (0..front.len()).map(|i| front.family(i)).collect();
    let counts = family_counts(&families);
    let parts = counts.iter().map(|(family, n)| format!("{n} {family}"));
    format!(" ({})", parts.collect::<Vec<_>>().join(", "))
}

/// The lines about learners.
pub(super) fn learners(run: &RunInfo) -> String {
    let mut text = String::new();
    for learner in &run.learners {
        let LearnerInfo {
            predicts,
            kind,
            trees,
            ..
        } = learner;
        let source = match trees {
            0 => kind.clone(),
            n => counted(*n, "tree"),
        };
        let quality = quality(learner, run.meaning.digits());
        let _ = writeln!(
            text,
            "  learner of {predicts}: {source}, {quality} out of fold"
        );
    }
    text
}

/// The quality of the predictions of a learner; `digits` are those of numbers in the unit of the target.
fn quality(learner: &LearnerInfo, digits: usize) -> String {
    let parts = [
        learner.auc.map(|auc| format!("AUC {auc:.3}")),
        learner.log_loss.map(|loss| format!("log loss {loss:.4}")),
        learner.rmse.map(|rmse| format!("RMSE {rmse:.digits$}")),
        learner.r2.map(|r2| format!("R2 {r2:.3}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The line about the estimated bound.
pub(super) fn bound(run: &RunInfo) -> String {
    let mut text = String::new();
    for overlay in &run.overlays {
        let [errors, fair] = &overlay.measures[..] else {
            continue;
        };
        let (Some(equal), Some(free)) = (overlay.points.first(), overlay.points.last()) else {
            continue;
        };
        if overlay.kind != OverlayKind::Bound || errors != Measure::ERROR_RATE {
            continue;
        }
        let [equal, free] = [equal, free].map(|point| share(1.0 - point.values[0]));
        let _ = writeln!(
            text,
            "  estimate for any model on these columns: accuracy at most {equal} if {fair} is 0, {free} without \
             a limit"
        );
    }
    text
}
