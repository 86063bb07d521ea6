//! Adult by gender and by race: the paper's two main figures and its appendix.

use fairfront_report::Better;
use fairfront_run::Error;

use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{Front, Price, time, values_of};
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, Job, Variant};
use crate::panel::{Compared, Fronts, four_panels, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;
use crate::{Effort, Experiment};

/// What is run for each seed.
const VARIANTS: [Variant; 4] = [
    Variant::PfSmgPaper,
    Variant::EpsFairPaper,
    Variant::Ours,
    Variant::Measures,
];
const PF_SMG: &str = "PF-SMG, the paper's settings";
const EPS_FAIR: &str = "EPS-fair, the paper's way";
const EXACT: &str = "exact front (ours)";
const MEASURES: &str = "our default, in measures";

const GENDER: Compared = Compared {
    objective: "f2, disparate impact by sex",
    rate: "selection_rate",
    rate_axis: "share of positive outcomes",
    rate_better: Better::Neither,
    gap: "demographic_parity_difference(sex)",
    gap_axis: "CV score",
    attribute: "sex",
    groups: &["Female", "Male"],
};

const RACE: Compared = Compared {
    objective: "f3, disparate impact by race",
    gap: "demographic_parity_difference(race)",
    attribute: "race",
    groups: &[
        "Amer-Indian-Eskimo",
        "Asian-Pac-Islander",
        "Black",
        "Other",
        "White",
    ],
    ..GENDER
};

/// Fronts of one seed.
struct Seed {
    pf_smg: Front,
    eps_fair: Front,
    exact: Front,
    measures: Front,
}

impl Seed {
    fn read(case: Case, seed: u64, effort: Effort, results: &Results) -> Result<Self, Error> {
        let front = |variant| results.front(&case.fit(seed, variant, effort));
        Ok(Self {
            pf_smg: front(Variant::PfSmgPaper)?,
            eps_fair: front(Variant::EpsFairPaper)?,
            exact: front(Variant::Ours)?,
            measures: front(Variant::Measures)?,
        })
    }

    fn all(case: Case, effort: Effort, results: &Results) -> Result<Vec<Self>, Error> {
        let seeds = 0..effort.seeds();
        seeds
            .map(|seed| Self::read(case, seed, effort, results))
            .collect()
    }

    /// On test rows.
    fn plain(front: &Front) -> Result<Vec<f64>, Error> {
        front.values("test")
    }
}

/// A number of every seed.
fn over<'a>(
    seeds: &'a [Seed],
    number: impl Fn(&'a Seed) -> Result<f64, Error>,
) -> Result<Summary, Error> {
    let numbers: Vec<f64> = seeds.iter().map(number).collect::<Result<_, Error>>()?;
    Ok(Summary::of(numbers))
}

/// How an objective and another column go together on test rows.
fn goes_with(front: &Front, column: &str) -> Result<f64, Error> {
    let fair = front.objective("test", 1)?;
    Ok(rank_correlation(
        &fair,
        &front.column(&format!("test.{column}"))?,
    ))
}

fn conflict(front: &Front) -> Result<f64, Error> {
    let (loss, fair) = (front.objective("test", 0)?, front.objective("test", 1)?);
    Ok(rank_correlation(&loss, &fair))
}

fn seed_jobs(case: Case, effort: Effort) -> Vec<Job> {
    let seeds = 0..effort.seeds();
    let of_seed = |seed| VARIANTS.map(|variant| case.fit(seed, variant, effort));
    seeds.flat_map(of_seed).collect()
}

fn balanced(seed: u64, variant: Variant, effort: Effort) -> Job {
    let mut job = ADULT_GENDER.fit(seed, variant, effort);
    job.name = format!("adult-gender-balanced/seed-{seed}/{}", variant.name());
    job.setup.balanced = true;
    job
}

pub(crate) fn gender_jobs(effort: Effort) -> Vec<Job> {
    let mut jobs = seed_jobs(ADULT_GENDER, effort);
    for seed in 0..effort.few_seeds() {
        let variants = [Variant::PfSmgPaper, Variant::Ours];
        jobs.extend(variants.map(|variant| balanced(seed, variant, effort)));
    }
    jobs
}

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

pub(crate) fn race_jobs(effort: Effort) -> Vec<Job> {
    let mut jobs = seed_jobs(ADULT_RACE, effort);
    jobs.push(true_maximum(effort));
    jobs
}

/// Fronts of all seeds but the first, beside each other.
fn appendix(title: &str, objective: &str, seeds: &[Seed]) -> Result<String, Error> {
    let panel = |(i, seed): (usize, &Seed)| {
        Ok(Fronts {
            title: format!("seed {}", i + 1),
            series: vec![
                (PF_SMG, Seed::plain(&seed.pf_smg)?),
                (EPS_FAIR, Seed::plain(&seed.eps_fair)?),
                (EXACT, Seed::plain(&seed.exact)?),
            ],
        })
    };
    let panels = seeds.iter().skip(1).enumerate().map(panel);
    let panels: Vec<Fronts> = panels.collect::<Result<_, Error>>()?;
    Ok(front_panels(title, ["f1, log loss", objective], &panels))
}

/// What each seed came to.
fn seed_sheet(seeds: &[Seed], gap: &str) -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        "seeds",
        "Every seed: accuracy and CV score on test rows of the most accurate point, and what the most \
         accurate nearly fair one costs.",
        &[
            "seed",
            "front",
            "points",
            "CPU s",
            "accuracy",
            "CV score",
            "cost in points",
            "CV score there",
        ],
    );
    for (i, seed) in seeds.iter().enumerate() {
        for (name, front) in [
            ("PF-SMG, paper", &seed.pf_smg),
            ("EPS-fair, paper", &seed.eps_fair),
            ("exact", &seed.exact),
        ] {
            let price = Price::of(front, "test", gap)?;
            let cell = |value: fn(&Price) -> f64, decimals| {
                price
                    .as_ref()
                    .map_or("–".into(), |p| number(value(p), decimals))
            };
            sheet.row([
                i.to_string(),
                name.into(),
                front.table.len().to_string(),
                number(front.cpu_seconds, 1),
                cell(|p| p.accuracy, 4),
                cell(|p| p.gap, 4),
                cell(|p| 100.0 * p.cost, 2),
                cell(|p| p.fair_gap, 4),
            ]);
        }
    }
    Ok(sheet)
}

fn add_times(
    draft: &mut Draft,
    problem: &str,
    case: Case,
    effort: Effort,
    results: &Results,
) -> Result<(), Error> {
    for (variant, name) in [
        (Variant::PfSmgPaper, "PF-SMG, paper"),
        (Variant::EpsFairPaper, "EPS-fair, paper"),
        (Variant::Ours, "exact front"),
        (Variant::Measures, "default, in measures"),
    ] {
        let fronts =
            (0..effort.seeds()).map(|seed| results.front(&case.fit(seed, variant, effort)));
        let fronts: Vec<Front> = fronts.collect::<Result<_, Error>>()?;
        draft.finding.times.push(time(problem, name, &fronts));
    }
    Ok(())
}

pub(crate) fn gender(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let seeds = Seed::all(ADULT_GENDER, effort, results)?;
    let mut draft = Draft::new(
        Experiment::AdultGender,
        format!(
            "f1 and f2 on Adult by gender, 60/10/30 split, {} seeds, each a split of its own; panels are on test \
             rows. A point is *nearly fair* where f2 on training rows is below 1 % of the unmitigated model's.",
            seeds.len()
        ),
    );
    let of = |front: fn(&Seed) -> &Front| move |seed| conflict(front(seed));
    let (paper, exact) = (
        over(&seeds, of(|s| &s.pf_smg))?,
        over(&seeds, of(|s| &s.exact))?,
    );
    draft.claim(
        "Accuracy and fairness conflict: as f1 falls, f2 rises.",
        format!(
            "rank correlation of f1 and f2 on test rows {} with PF-SMG, {} on the exact front",
            paper.text(3),
            exact.text(3)
        ),
        Verdict::of(paper.most < -0.9 && exact.most < -0.9, exact.most < -0.5),
        "",
    );
    positive_outcomes(&mut draft, &seeds)?;
    let gap = |seed: &Seed| goes_with(&seed.pf_smg, GENDER.gap);
    let (paper, exact) = (
        over(&seeds, gap)?,
        over(&seeds, |s| goes_with(&s.exact, GENDER.gap))?,
    );
    let floor = over(&seeds, |seed| {
        let price = Price::of(&seed.exact, "test", GENDER.gap)?;
        Ok(price.map_or(f64::NAN, |price| price.fair_gap))
    })?;
    draft.claim(
        "The CV score rises with f2.",
        format!(
            "rank correlation on test rows {} with PF-SMG, {} on the exact front; at f2 near 0 the CV score is still {}",
            paper.text(3),
            exact.text(3),
            floor.text(3)
        ),
        Verdict::of(paper.mean > 0.9 && exact.mean > 0.9, exact.mean > 0.5),
        "a small covariance is not a small gap: the front in measures goes on to a CV score near 0 (panel d)",
    );
    cost(&mut draft, &seeds)?;
    balance(&mut draft, effort, results, &seeds)?;
    if let Some(first) = seeds.first() {
        let fronts = [
            (PF_SMG, &first.pf_smg),
            (EPS_FAIR, &first.eps_fair),
            (EXACT, &first.exact),
        ];
        let svg = four_panels(
            "Adult by gender, test rows".into(),
            "test",
            &GENDER,
            &fronts,
            Some((MEASURES, &first.measures)),
        )?;
        draft.figure(
            "adult-gender",
            "Adult by gender: the paper's four panels, seed 0, test rows.",
            svg,
        );
    }
    let svg = appendix(
        "Adult by gender, further splits, test rows",
        GENDER.objective,
        &seeds,
    )?;
    draft.figure(
        "adult-gender-seeds",
        "Adult by gender: fronts of the further splits, test rows.",
        svg,
    );
    draft.finding.sheets.push(seed_sheet(&seeds, GENDER.gap)?);
    add_times(&mut draft, "Adult, gender", ADULT_GENDER, effort, results)?;
    Ok(draft)
}

fn positive_outcomes(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let female = "selection_rate(sex=Female)";
    let of_female = over(seeds, |seed| goes_with(&seed.pf_smg, female))?;
    let at = |seed: &Seed, group: &str, fair: bool| -> Result<f64, Error> {
        let front = &seed.exact;
        let rates = front.column(&format!("test.selection_rate(sex={group})"))?;
        let f2 = front.objective("train", 1)?;
        let by = |a: &usize, b: &usize| f2[*a].total_cmp(&f2[*b]);
        let at = match fair {
            true => (0..f2.len()).min_by(by),
            false => (0..f2.len()).max_by(by),
        };
        Ok(at.map_or(f64::NAN, |at| rates[at]))
    };
    let ends = [
        ("Female", false),
        ("Male", false),
        ("Female", true),
        ("Male", true),
    ];
    let ends = ends.map(|(group, fair)| over(seeds, |seed| at(seed, group, fair)));
    let [female_most, male_most, female_fair, male_fair] = ends;
    let (female_most, male_most) = (female_most?, male_most?);
    let (female_fair, male_fair) = (female_fair?, male_fair?);
    let rises = of_female.most < -0.5 && female_fair.mean > female_most.mean;
    let closes = male_fair.mean - female_fair.mean < 0.5 * (male_most.mean - female_most.mean);
    draft.claim(
        "As f2 falls, the share of positive outcomes of females rises towards that of males.",
        format!(
            "rank correlation of f2 with the females' share {}; on the exact front females go from {} to {}, \
             males from {} to {}",
            of_female.text(3),
            female_most.percent(1),
            female_fair.percent(1),
            male_most.percent(1),
            male_fair.percent(1)
        ),
        Verdict::of(rises && closes, rises),
        "",
    );
    Ok(())
}

fn cost(draft: &mut Draft, seeds: &[Seed]) -> Result<(), Error> {
    let of = |front: &Front| -> Result<f64, Error> {
        let price = Price::of(front, "test", GENDER.gap)?;
        Ok(price.map_or(f64::NAN, |price| 100.0 * price.cost))
    };
    let paper = over(seeds, |seed| of(&seed.pf_smg))?;
    let exact = over(seeds, |seed| of(&seed.exact))?;
    draft.claim(
        "Nearly zero disparate impact costs about 1.5 points of accuracy.",
        format!(
            "{} points with PF-SMG ({} of {} fronts have a nearly fair point), {} on the exact front",
            paper.text(2),
            paper.n,
            seeds.len(),
            exact.text(2)
        ),
        Verdict::of((1.0..2.0).contains(&exact.mean), (0.5..3.0).contains(&exact.mean)),
        "",
    );
    Ok(())
}

fn balance(
    draft: &mut Draft,
    effort: Effort,
    results: &Results,
    seeds: &[Seed],
) -> Result<(), Error> {
    let gap = |front: &Front| -> Result<[f64; 2], Error> {
        let price = Price::of(front, "test", GENDER.gap)?;
        Ok(price.map_or([f64::NAN; 2], |price| [price.gap, 100.0 * price.cost]))
    };
    let mut panels = Vec::new();
    let mut with = Vec::new();
    for seed in 0..effort.few_seeds() {
        let front = |variant| results.front(&balanced(seed, variant, effort));
        let (paper, exact) = (front(Variant::PfSmgPaper)?, front(Variant::Ours)?);
        with.push(gap(&exact)?);
        panels.push(Fronts {
            title: format!("seed {seed}"),
            series: vec![
                (PF_SMG, Seed::plain(&paper)?),
                (EXACT, Seed::plain(&exact)?),
            ],
        });
    }
    let without = seeds.iter().map(|seed| gap(&seed.exact));
    let without: Vec<[f64; 2]> = without.collect::<Result<_, Error>>()?;
    let [gap_with, cost_with] = [0, 1].map(|i| Summary::of(with.iter().map(|v| v[i])));
    let [gap_without, cost_without] = [0, 1].map(|i| Summary::of(without.iter().map(|v| v[i])));
    let remains = |with: Summary, without: Summary, share: f64| with.mean >= share * without.mean;
    draft.claim(
        "Balancing the sample, half females and half males, does not remove the conflict.",
        format!(
            "most accurate model: CV score {} balanced, {} as it is; cost of near fairness {} points balanced, {} \
             as it is ({} balanced samples)",
            gap_with.text(3),
            gap_without.text(3),
            cost_with.text(2),
            cost_without.text(2),
            with.len()
        ),
        Verdict::of(
            remains(gap_with, gap_without, 0.75) && remains(cost_with, cost_without, 0.75),
            remains(gap_with, gap_without, 0.25),
        ),
        "test rows are balanced like training rows",
    );
    let svg = front_panels(
        "Adult, half females and half males, test rows",
        ["f1, log loss", GENDER.objective],
        &panels,
    );
    draft.figure(
        "adult-gender-balanced",
        "Adult with as many females as males: the conflict is still there.",
        svg,
    );
    Ok(())
}

pub(crate) fn race(effort: Effort, results: &Results) -> Result<Draft, Error> {
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
    if let Some(first) = seeds.first() {
        let fronts = [
            (PF_SMG, &first.pf_smg),
            (EPS_FAIR, &first.eps_fair),
            (EXACT, &first.exact),
        ];
        let svg = four_panels(
            "Adult by race, test rows".into(),
            "test",
            &RACE,
            &fronts,
            Some((MEASURES, &first.measures)),
        )?;
        draft.figure(
            "adult-race",
            "Adult by race: the paper's four panels, seed 0, test rows.",
            svg,
        );
    }
    let svg = appendix(
        "Adult by race, further splits, test rows",
        RACE.objective,
        &seeds,
    )?;
    draft.figure(
        "adult-race-seeds",
        "Adult by race: fronts of the further splits, test rows.",
        svg,
    );
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
    let values = |front: &Front| values_of(setup, front, &["log_loss", MAXIMUM, MEAN]);
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
    let plain = |values: &[f64]| crate::front::pairs(&column(values, 0), &column(values, 1));
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
