//! The paper's grid search.

use fairfront_run::Error;

use crate::finding::{Draft, Sheet, Verdict};
use crate::job::{ADULT_GENDER, Job, Kind, Variant};
use crate::stat::number;
use crate::work::Results;
use crate::{Effort, Experiment};

/// p1, p2 and the step around the paper's; what it tried itself it does not say.
const TRIES: [&str; 3] = ["runs=1,2,3", "steps=1,2,3", "step=0.7,2.1,4"];
const QUICK: [&str; 2] = ["runs=1,2", "step=0.7,2.1"];
/// The paper's, for Adult and gender.
const PAPER: [(&str, &str); 3] = [("runs", "2"), ("steps", "3"), ("step", "2.1")];

fn job(effort: Effort) -> Job {
    let tries: &[&str] = match effort {
        Effort::Full => &TRIES,
        Effort::Quick => &QUICK,
    };
    let mut job = ADULT_GENDER.fit(0, Variant::PfSmgPaper, effort);
    job.name = "tuning/adult-gender".into();
    // Enough for the most accurate predictor to be found.
    job.setup.ask.points = Some(job.setup.ask.points.unwrap_or(400));
    job.kind = Kind::Tune {
        tries: tries.iter().map(ToString::to_string).collect(),
    };
    job
}

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    vec![job(effort)]
}

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let job = job(effort);
    let (tuned, cpu_seconds) = results.tuned(&job)?;
    let points = job.setup.ask.points.unwrap_or(0);
    let mut draft = Draft::new(
        Experiment::Tuning,
        format!(
            "`fairfront tune` with the paper's settings of PF-SMG on Adult by gender, seed 0: every combination of p1, p2 \
             and α0 computes a front of at most {points} points on the training rows, and the one whose front has the \
             most accurate predictor on the validation rows is chosen. {} combinations, {} CPU seconds.",
            tuned.trials.len(),
            number(cpu_seconds, 0)
        ),
    );
    let mut sheet = Sheet::new(
        "grid",
        "Every combination, on validation rows; hypervolume as a share of the box.",
        &["p1", "p2", "α0", "accuracy", "hypervolume", "points", ""],
    );
    let setting = |i: usize, name: &str| {
        let own = tuned.trials[i].settings.get(name).cloned();
        let paper = PAPER.iter().find(|(known, _)| *known == name);
        own.or(paper.map(|(_, value)| (*value).into()))
            .unwrap_or_default()
    };
    let is_paper = |i: usize| PAPER.iter().all(|(name, value)| setting(i, name) == *value);
    for (i, trial) in tuned.trials.iter().enumerate() {
        let mark = match (tuned.chosen == Some(i), is_paper(i)) {
            (true, true) => "chosen; the paper's",
            (true, false) => "chosen",
            (false, true) => "the paper's",
            (false, false) => "",
        };
        sheet.row([
            setting(i, "runs"),
            setting(i, "steps"),
            setting(i, "step"),
            number(trial.accuracy.unwrap_or(f64::NAN), 4),
            number(trial.hypervolume.unwrap_or(f64::NAN), 4),
            trial.points.to_string(),
            mark.into(),
        ]);
    }
    let accuracies = || tuned.trials.iter().filter_map(|trial| trial.accuracy);
    let (least, most) = (
        accuracies().fold(f64::INFINITY, f64::min),
        accuracies().fold(f64::NEG_INFINITY, f64::max),
    );
    let paper = (0..tuned.trials.len()).find(|i| is_paper(*i));
    let paper_accuracy = paper
        .and_then(|i| tuned.trials[i].accuracy)
        .unwrap_or(f64::NAN);
    let chosen = tuned.chosen.map_or_else(String::new, |i| {
        format!(
            "p1 = {}, p2 = {}, α0 = {}",
            setting(i, "runs"),
            setting(i, "steps"),
            setting(i, "step")
        )
    });
    // A tenth of a point is within what 4,522 validation rows can tell.
    let as_good = most - paper_accuracy <= 0.001;
    draft.claim(
        "Grid search by the most accurate predictor on validation rows gives p1 = 2, p2 = 3, α0 = 2.1.",
        format!(
            "{chosen} is chosen with an accuracy of {}; the paper's has {}; all lie between {} and {}",
            number(most, 4),
            number(paper_accuracy, 4),
            number(least, 4),
            number(most, 4)
        ),
        match (tuned.chosen == paper && paper.is_some(), as_good) {
            _ if paper.is_none() => Verdict::Unknown,
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::InPart,
            (false, false) => Verdict::DoesNotHold,
        },
        "settings differ in accuracy by less than validation rows can tell, so that chance decides; what differs is how \
         much of the front they find",
    );
    draft.finding.sheets.push(sheet);
    Ok(draft)
}
