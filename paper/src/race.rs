//! Adult by race: the paper's second figure, its appendix, and the true maximum over groups.

use fairfront_core::counted;
use fairfront_report::Better;
use fairfront_run::Error;

use crate::adult::{
    Overlaid, Seed, add_figures, add_times, goes_with, over, seed_jobs, seed_sheet,
};
use crate::finding::{Draft, Verdict};
use crate::front::{Front, pairs, values_at, volume};
use crate::job::{ADULT_RACE, Job, Variant};
use crate::panel::{Compared, Fronts, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;
use crate::{Effort, Experiment};

const RACE: Compared = Compared {
    objective: "f3, covariance with race",
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
    rate_axis: "selection rate",
    rate_better: Better::Neither,
    gap_axis: "demographic parity difference",
};

/// The front of the true maximum, approximated by a log-sum-exp with a large β.
fn true_maximum(seed: u64, effort: Effort) -> Job {
    let mut job = ADULT_RACE.fit(seed, Variant::Ours, effort);
    job.name = format!("adult-race/seed-{seed}/true-maximum");
    job.setup.ask.objectives = vec!["log_loss".into(), SHARP.into()];
    job
}

const SHARP: &str = "score_covariance(race, smooth_max=lse, beta=5000)";
/// A Boltzmann maximum with such a large β equals the maximum in all digits.
const MAXIMUM: &str = "score_covariance(race, beta=1e9)";
/// A Boltzmann maximum with such a small β is the mean.
const MEAN: &str = "score_covariance(race, beta=1e-9)";

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    let mut jobs = seed_jobs(ADULT_RACE, effort);
    jobs.extend((0..effort.few_seeds()).map(|seed| true_maximum(seed, effort)));
    jobs
}

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let seeds = Seed::all(ADULT_RACE, effort, results)?;
    let mut draft = Draft::new(
        Experiment::AdultRace,
        format!(
            "f1 and f3 on Adult by race (five groups, smooth maximum with β = 8), with a 60/10/30 split and {}. The first \
             seed uses the settings of the paper's text, the others those of its appendix. The panels show test rows. \
             About 100 of these belong to the smallest group, so one percentage point of its rate is one person.",
            counted(seeds.len(), "seed")
        ),
    );
    unfair(&mut draft, &seeds)?;
    gap_without_asian(&mut draft, &seeds)?;
    with_score(&mut draft, &seeds)?;
    maximum(&mut draft, effort, results, &seeds)?;
    let overlaid = Overlaid::of(&seeds)?;
    let mixed = |summary: &Summary| summary.when(|s| (0.05..0.8).contains(&s.mean));
    let [paper, bounds] = &overlaid.dominates;
    draft.claim(
        (
            "Neither PF-SMG's nor EPS-fair's fronts dominate the other's throughout.",
            "each solver's fronts dominate between 5% and 80% of the other's models on average; in part if one solver's fronts do",
        ),
        overlaid.text("f3"),
        Verdict::both(mixed(paper), mixed(bounds)),
        "EPS-fair bounds each of the five covariances and therefore their maximum, but f3 with β = 8 is not the maximum",
    );
    add_figures(&mut draft, "adult-race", "Adult by race", &RACE, &seeds)?;
    draft.finding.sheets.push(seed_sheet(&seeds, RACE.gap)?);
    add_times(&mut draft, "Adult, race", &seeds);
    Ok(draft)
}

/// The relation of f3 and accuracy to the demographic parity difference.
fn with_score(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let of = |front: fn(&Seed) -> &Front| -> Result<[Summary; 2], Error> {
        let by_accuracy = |seed: &Seed| {
            let front = front(seed);
            let gap = front.column(&format!("test.{}", RACE.gap))?;
            Ok(rank_correlation(&front.column("test.accuracy")?, &gap))
        };
        let with_f3 = over(seeds, |seed| goes_with(front(seed), RACE.gap))?;
        Ok([with_f3, over(seeds, by_accuracy)?])
    };
    let (paper, exact) = (of(|seed| &seed.pf_smg)?, of(|seed| &seed.exact)?);
    let rises = |[f3, accuracy]: &[Summary; 2]| Some(f3.rises()? && accuracy.rises()?);
    let text = |[f3, accuracy]: &[Summary; 2]| format!("{} and {}", f3.text(2), accuracy.text(2));
    draft.claim(
        (
            "Apart from noise, f3 and accuracy both rise with the demographic parity difference.",
            "both mean rank correlations on test rows are above 0.5",
        ),
        format!(
            "rank correlations of f3 and of accuracy with this difference on test rows: {} with PF-SMG, {} on the exact front",
            text(&paper),
            text(&exact)
        ),
        Verdict::both(rises(&paper), rises(&exact)),
        "",
    );
    Ok(())
}

/// Selection rates of the most accurate models, by group.
fn unfair(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let judged = |front: fn(&Seed) -> &Front| -> Result<(Option<bool>, String), Error> {
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); RACE.groups.len()];
        for seed in seeds {
            let front = front(seed);
            let accuracy = front.column("test.accuracy")?;
            let best = (0..accuracy.len()).max_by(|a, b| accuracy[*a].total_cmp(&accuracy[*b]));
            for (group, rates) in RACE.groups.iter().zip(&mut rates) {
                let column = front.column(&format!("test.selection_rate(race={group})"))?;
                rates.push(best.map_or(f64::NAN, |best| column[best]));
            }
        }
        let [indian, asian, black, other, white] = rates.as_slice() else {
            return Ok((None, String::new()));
        };
        let below = |group: &Vec<f64>| {
            let both = asian.iter().zip(white).map(|(a, b)| a.min(*b));
            let below = group.iter().zip(both).filter(|(own, both)| *own < both);
            below.count()
        };
        let counts = [below(indian), below(black), below(other)];
        let n = seeds.len();
        let shares: Vec<String> = (RACE.groups.iter().zip(&rates))
            .map(|(group, rates)| {
                let share = Summary::of(rates.iter().copied());
                format!("{group} {}", share.percent(1))
            })
            .collect();
        let unfair = counts.iter().all(|count| 10 * count >= 9 * n);
        let text = format!(
            "{}; American-Indian is below both Asian and White on {} of {n} seeds, Black on {}, Other on {}",
            shares.join(", "),
            counts[0],
            counts[1],
            counts[2]
        );
        Ok(((n > 0).then_some(unfair), text))
    };
    let (paper, paper_text) = judged(|seed| &seed.pf_smg)?;
    let (exact, exact_text) = judged(|seed| &seed.exact)?;
    draft.claim(
        (
            "The most accurate models are unfair to the groups American-Indian, Black and Other.",
            "each of the three groups has a lower selection rate than both Asian and White on at least nine of ten seeds",
        ),
        format!(
            "selection rates of the most accurate model on test rows. PF-SMG: {paper_text}. Exact front: {exact_text}"
        ),
        Verdict::both(paper, exact),
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
        (
            "Without Asian, the largest difference between selection rates rises with f3.",
            "their mean rank correlation on test rows is above 0.5",
        ),
        format!(
            "rank correlation on test rows: {} with PF-SMG, {} on the exact front (from {} to {})",
            paper.text(2),
            exact.text(2),
            number(exact.least, 2),
            number(exact.most, 2)
        ),
        Verdict::both(paper.rises(), exact.rises()),
        "",
    );
    Ok(())
}

/// Compares the smooth maximum with the true maximum.
fn maximum(
    draft: &mut Draft,
    effort: Effort,
    results: &Results,
    seeds: &[Seed],
) -> Result<(), Error> {
    let column = |values: &[f64], i: usize| -> Vec<f64> {
        values.iter().skip(i).step_by(3).copied().collect()
    };
    let plain = |values: &[f64]| pairs(&column(values, 0), &column(values, 1));
    let (mut of_maximum, mut of_mean, mut volumes) = (Vec::new(), Vec::new(), Vec::new());
    let mut panels = Vec::new();
    for (seed, fronts) in (0..effort.few_seeds()).zip(seeds) {
        let job = true_maximum(seed, effort);
        let sharp = results.front(&job)?;
        let values = |front: &Front| {
            values_at(
                &job.setup,
                &front.table.params,
                &["log_loss", MAXIMUM, MEAN],
            )
        };
        let (smooth, sharp) = (values(&fronts.exact)?, values(&sharp)?);
        let f3 = fronts.exact.objective("train", 1)?;
        let ratio = |to: &[f64]| {
            // If both are nearly 0, their ratio is meaningless.
            let pairs = f3.iter().zip(to).filter(|(_, to)| **to > 1e-6);
            Summary::of(pairs.map(|(f3, to)| f3 / to)).mean
        };
        of_maximum.push(ratio(&column(&smooth, 1)));
        of_mean.push(ratio(&column(&smooth, 2)));
        let largest = column(&smooth, 1).into_iter().fold(0.0, f64::max);
        let reference = [fronts.exact.info.at_zero[0], 1.1 * largest];
        let (smooth, sharp) = (plain(&smooth), plain(&sharp));
        volumes.push(volume(&smooth, &reference)? / volume(&sharp, &reference)?);
        panels.push(Fronts {
            title: format!("seed {seed}"),
            series: vec![
                ("front of the smooth maximum, β = 8", smooth),
                ("front of the maximum", sharp),
            ],
        });
    }
    let [of_maximum, of_mean, volumes] = [of_maximum, of_mean, volumes].map(Summary::of);
    let nearly_the_mean = of_mean.when(|s| (0.9..1.1).contains(&s.mean)) == Some(true);
    draft.claim(
        (
            "The maximum over groups can be replaced by its smooth version with β = 8.",
            "its fronts have more than 99% of the hypervolume in log loss and true maximum, and its values are above 90% \
             of the true maximum; in part with more than 95% of the hypervolume",
        ),
        format!(
            "in log loss and true maximum, fronts of the smooth maximum have {} of the hypervolume of fronts of the true \
             maximum (log-sum-exp, β = 5,000); f3 is {} of the true maximum and {} times the mean of the groups' squares \
             (training rows, {})",
            volumes.percent(2),
            of_maximum.percent(0),
            of_mean.text(2),
            counted(panels.len(), "seed")
        ),
        Verdict::of(
            volumes.when(|s| s.mean > 0.99 && of_maximum.mean > 0.9),
            volumes.when(|s| s.mean > 0.95),
        ),
        match nearly_the_mean {
            true => {
                "the squares are so small that with β = 8 all weights e^(βv) are nearly 1: solvers minimize nearly the \
                 mean, and the value of f3 is not that of a maximum"
            }
            false => "",
        },
    );
    let svg = front_panels(
        "Adult by race, training rows",
        ["f1, log loss", "largest square of a group"],
        &panels,
    );
    draft.figure(
        "adult-race-maximum",
        "Fronts of the smooth maximum and of the true maximum, in log loss and true maximum.",
        svg,
    );
    Ok(())
}
