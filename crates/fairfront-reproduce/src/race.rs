//! Adult by race: the paper's second figure, its appendix, and the true maximum.

use fairfront_report::Better;
use fairfront_run::Error;

use crate::adult::{Seed, add_figures, add_times, goes_with, over, seed_jobs, seed_sheet};
use crate::finding::{Draft, Verdict};
use crate::front::{Front, pairs, values_at};
use crate::job::{ADULT_RACE, Job, Variant};
use crate::panel::{Compared, Fronts, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;
use crate::{Effort, Experiment};

const RACE: Compared = Compared {
    objective: "f3, impact by race",
    gap: "demographic_parity_difference(race)",
    attribute: "race",
    groups: &[
        "Amer-Indian-Eskimo",
        "Asian-Pac-Islander",
        "Black",
        "Other",
        "White",
    ],
    rate: "selection_rate",
    rate_axis: "share of positive outcomes",
    rate_better: Better::Neither,
    gap_axis: "CV score",
};

/// The front of another maximum, log-sum-exp of so large a β that it is the maximum but for little.
fn true_maximum(effort: Effort) -> Job {
    let mut job = ADULT_RACE.fit(0, Variant::Ours, effort);
    job.name = "adult-race/seed-0/true-maximum".into();
    job.setup.ask.objectives = vec!["log_loss".into(), SHARP.into()];
    job
}

const SHARP: &str = "disparate_impact(race, smooth_max=lse, beta=5000)";
/// Boltzmann's maximum of such a β is the maximum, to all digits.
const MAXIMUM: &str = "disparate_impact(race, beta=1e9)";
const MEAN: &str = "disparate_impact(race, beta=1e-9)";

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    let mut jobs = seed_jobs(ADULT_RACE, effort);
    jobs.push(true_maximum(effort));
    jobs
}

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let seeds = Seed::all(ADULT_RACE, effort, results)?;
    let mut draft = Draft::new(
        Experiment::AdultRace,
        format!(
            "f1 and f3 on Adult by race (five groups, smooth maximum with β = 8), 60/10/30 split, {} seeds: the first \
             with the settings of the paper's text, the others with those of its appendix. Panels are on test rows.",
            seeds.len()
        ),
    );
    unfair(&mut draft, &seeds)?;
    gap_without_asian(&mut draft, &seeds)?;
    let with_gap = over(&seeds, |s| goes_with(&s.exact, RACE.gap))?;
    let accuracy = over(&seeds, |seed| {
        let front = &seed.exact;
        let gap = front.column(&format!("test.{}", RACE.gap))?;
        Ok(rank_correlation(&front.column("test.accuracy")?, &gap))
    })?;
    draft.claim(
        "Noise aside, f3 rises with the CV score, and accuracy with the CV score.",
        format!(
            "rank correlations on the exact front, test rows: f3 and CV score {}, accuracy and CV score {}",
            with_gap.text(2),
            accuracy.text(2)
        ),
        Verdict::of(
            with_gap.mean > 0.5 && accuracy.mean > 0.5,
            with_gap.mean > 0.2 || accuracy.mean > 0.2,
        ),
        "the smallest groups have about 100 and 130 test rows, so that a percent of them is one person",
    );
    maximum(&mut draft, effort, results, &seeds)?;
    add_figures(&mut draft, "adult-race", "Adult by race", &RACE, &seeds)?;
    draft.finding.sheets.push(seed_sheet(&seeds, RACE.gap)?);
    add_times(&mut draft, "Adult, race", ADULT_RACE, effort, results)?;
    Ok(draft)
}

/// Shares of positive outcomes of the most accurate predictors, by group.
fn unfair(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); RACE.groups.len()];
    for seed in seeds {
        let front = &seed.exact;
        let accuracy = front.column("test.accuracy")?;
        let best = (0..accuracy.len()).max_by(|a, b| accuracy[*a].total_cmp(&accuracy[*b]));
        for (group, rates) in RACE.groups.iter().zip(&mut rates) {
            let column = front.column(&format!("test.selection_rate(race={group})"))?;
            rates.push(best.map_or(f64::NAN, |best| column[best]));
        }
    }
    let [indian, asian, black, other, white] = rates.as_slice() else {
        return Ok(());
    };
    let below = |group: &Vec<f64>| {
        let highest = asian.iter().zip(white).map(|(a, b)| a.min(*b));
        group
            .iter()
            .zip(highest)
            .filter(|(own, highest)| *own < highest)
            .count()
    };
    let counts = [below(indian), below(black), below(other)];
    let n = seeds.len();
    let shares: Vec<String> = (RACE.groups.iter().zip(&rates))
        .map(|(group, rates)| format!("{group} {}", Summary::of(rates.iter().copied()).percent(1)))
        .collect();
    draft.claim(
        "The most accurate predictors are unfair to American-Indian, Black and Other.",
        format!(
            "positive outcomes of the most accurate predictor: {}. Below both Asian and White: American-Indian on {} \
             of {n} seeds, Black on {}, Other on {}",
            shares.join(", "),
            counts[0],
            counts[1],
            counts[2]
        ),
        Verdict::of(
            counts.iter().all(|count| *count == n),
            counts.iter().all(|count| 2 * count > n),
        ),
        "",
    );
    Ok(())
}

fn gap_without_asian(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let correlation = |front: &Front| -> Result<f64, Error> {
        let groups = RACE
            .groups
            .iter()
            .filter(|group| !group.starts_with("Asian"));
        let columns =
            groups.map(|group| front.column(&format!("test.selection_rate(race={group})")));
        let columns: Vec<Vec<f64>> = columns.collect::<Result<_, Error>>()?;
        let gap = |i: usize| {
            let rates = || columns.iter().map(|column| column[i]);
            rates().fold(f64::MIN, f64::max) - rates().fold(f64::MAX, f64::min)
        };
        let gaps: Vec<f64> = (0..front.table.len()).map(gap).collect();
        Ok(rank_correlation(&front.objective("test", 1)?, &gaps))
    };
    let paper = over(seeds, |seed| correlation(&seed.pf_smg))?;
    let exact = over(seeds, |seed| correlation(&seed.exact))?;
    draft.claim(
        "The largest gap of percentages rises with f3, Asian left out.",
        format!(
            "rank correlation on test rows {} with PF-SMG, {} on the exact front (from {} to {})",
            paper.text(2),
            exact.text(2),
            number(exact.least, 2),
            number(exact.most, 2)
        ),
        Verdict::of(exact.mean > 0.8 && exact.least > 0.3, exact.mean > 0.3),
        "",
    );
    Ok(())
}

/// What the smooth maximum is worth.
fn maximum(
    draft: &mut Draft,
    effort: Effort,
    results: &Results,
    seeds: &[Seed],
) -> Result<(), Error> {
    let Some(first) = seeds.first() else {
        return Ok(());
    };
    let sharp_job = true_maximum(effort);
    let sharp = results.front(&sharp_job)?;
    let setup = &sharp_job.setup;
    let values =
        |front: &Front| values_at(setup, &front.table.params, &["log_loss", MAXIMUM, MEAN]);
    let column = |values: &[f64], i: usize| -> Vec<f64> {
        values.iter().skip(i).step_by(3).copied().collect()
    };
    let smooth = values(&first.exact)?;
    let f3 = first.exact.objective("train", 1)?;
    let ratio = |to: &[f64]| {
        // Where nothing is left of either, a ratio says nothing.
        let pairs = f3.iter().zip(to).filter(|(_, to)| **to > 1e-6);
        Summary::of(pairs.map(|(f3, to)| f3 / to))
    };
    let (to_maximum, to_mean) = (ratio(&column(&smooth, 1)), ratio(&column(&smooth, 2)));
    let plain = |values: &[f64]| pairs(&column(values, 0), &column(values, 1));
    let best = |values: &[f64], limit: f64| {
        let points = values.chunks_exact(3).filter(|point| point[1] <= limit);
        points.map(|point| point[0]).fold(f64::INFINITY, f64::min)
    };
    let sharp_values = values(&sharp)?;
    let limit = 0.1 * column(&smooth, 1).into_iter().fold(0.0, f64::max);
    let saved = best(&smooth, limit) - best(&sharp_values, limit);
    draft.claim(
        "The maximum over groups can be replaced by its smooth version with β = 8.",
        format!(
            "on the front f3 is {} of the true maximum and {} times the mean of the groups' squares; at a tenth of \
             the largest true maximum, minimising the maximum itself (log-sum-exp, β = 5,000) has a log loss lower \
             by {}",
            to_maximum.percent(0),
            to_mean.text(2),
            number(saved, 5)
        ),
        Verdict::of(to_maximum.mean > 0.9, to_maximum.mean > 0.6),
        "the squares are about 0.01 at most, and with β = 8 all weights e^(βv) are nearly 1: the smooth maximum is \
         nearly the mean",
    );
    let panels = [Fronts {
        title: "log loss and the true maximum".into(),
        series: vec![
            ("front of the smooth maximum, β = 8", plain(&smooth)),
            ("front of the maximum", plain(&sharp_values)),
        ],
    }];
    let svg = front_panels(
        "Adult by race, seed 0, training rows",
        ["f1, log loss", "largest square of a group's covariance"],
        &panels,
    );
    draft.figure(
        "adult-race-maximum",
        "What minimising the smooth maximum means for the true one.",
        svg,
    );
    Ok(())
}
