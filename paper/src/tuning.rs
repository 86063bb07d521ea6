//! The paper's grid search.

use fairfront_core::counted;
use fairfront_run::Error;

use crate::finding::{Draft, Sheet, Verdict};
use crate::job::{ADULT_GENDER, Job, Kind, Variant};
use crate::stat::number;
use crate::work::Results;
use crate::{Effort, Experiment};

/// Values of p1, p2, α0 and batches around the paper's choice. The paper does not list the values that it tried.
const TRIES: [&str; 4] = [
    "runs=1,2,3",
    "steps=2,3",
    "step=2.1,4,8",
    "batches=80*1.018,50*1.018;80*1.005",
];
const QUICK: [&str; 2] = ["runs=1,2", "step=0.7,2.1"];
/// The paper's choice for Adult by gender.
const PAPER: [(&str, &str); 4] = [
    ("runs", "2"),
    ("steps", "3"),
    ("step", "2.1"),
    ("batches", "80*1.018,50*1.018"),
];

fn job(effort: Effort) -> Job {
    let tries: &[&str] = match effort {
        Effort::Full => &TRIES,
        Effort::Quick => &QUICK,
    };
    let mut job = ADULT_GENDER.fit(0, Variant::PfSmgPaper, effort);
    job.name = "tuning/adult-gender".into();
    // With fronts of 400 models, a search takes as long as six fronts of full size.
    job.setup.ask.models = Some(job.setup.ask.models.unwrap_or(400));
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
    let models = job.setup.ask.models.unwrap_or(0);
    let mut draft = Draft::new(
        Experiment::Tuning,
        format!(
            "`fairfront tune` with the paper's settings of PF-SMG on Adult by gender, seed 0. Every combination of p1, p2, α0 \
             and batches computes a front of at most {models} models on the training rows. The search chooses the \
             combination whose front has the most accurate model on the validation rows. {} took {} CPU seconds.",
            counted(tuned.trials.len(), "combination"),
            number(cpu_seconds, 0)
        ),
    );
    let mut sheet = Sheet::new(
        "grid",
        "All combinations, on validation rows. The hypervolume is a share of the box up to the loss at x = 0 and twice the \
         unmitigated model's f2.",
        &[
            "p1",
            "p2",
            "α0",
            "batches",
            "accuracy",
            "hypervolume",
            "models",
            "",
        ],
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
            setting(i, "batches"),
            number(trial.accuracy.unwrap_or(f64::NAN), 4),
            number(trial.hypervolume.unwrap_or(f64::NAN), 4),
            trial.points.to_string(),
            mark.into(),
        ]);
    }
    let accuracies = || tuned.trials.iter().filter_map(|trial| trial.accuracy);
    let (least, most) = (
        accuracies().fold(f64::NAN, f64::min),
        accuracies().fold(f64::NAN, f64::max),
    );
    let paper = (0..tuned.trials.len()).find(|i| is_paper(*i));
    let paper_accuracy = paper.and_then(|i| tuned.trials[i].accuracy);
    let chosen = tuned.chosen.map_or_else(String::new, |i| {
        let [runs, steps, step, batches] = PAPER.map(|(name, _)| setting(i, name));
        format!("p1 = {runs}, p2 = {steps}, α0 = {step}, batches `{batches}`")
    });
    // Two standard errors of the accuracy on the 4,522 validation rows.
    let telling = 2.0 * (most * (1.0 - most) / 4_522.0).sqrt();
    let is_chosen = paper_accuracy.map(|_| tuned.chosen == paper);
    let as_good = paper_accuracy.map(|accuracy| most - accuracy < telling);
    let verdict = Verdict::of(is_chosen, as_good);
    draft.claim(
        (
            "Grid search by the most accurate model on validation rows gives p1 = 2, p2 = 3, α0 = 2.1.",
            "the search chooses these values; in part if their accuracy is within two standard errors of the chosen one",
        ),
        format!(
            "the search chooses {chosen} with an accuracy of {}; the paper's values have {}; all are between {} and {}",
            number(most, 4),
            number(paper_accuracy.unwrap_or(f64::NAN), 4),
            number(least, 4),
            number(most, 4)
        ),
        verdict,
        match verdict {
            Verdict::InPart => format!(
                "the two differ by less than {} percentage points, twice the standard error on these rows, so another draw \
                 of rows can change the choice",
                number(100.0 * telling, 1)
            ),
            _ => String::new(),
        },
    );
    draft.finding.sheets.push(sheet);
    Ok(draft)
}
