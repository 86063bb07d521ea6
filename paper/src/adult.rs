//! Code for both experiments on Adult: the fronts of every seed and their results.

use fairfront_pareto::{Values, coverage};
use fairfront_run::Error;

use crate::Effort;
use crate::finding::{Draft, Sheet};
use crate::front::{Front, Price, time, volume};
use crate::job::{Case, Job, Variant};
use crate::panel::{Compared, Fronts, four_panels, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;

/// The fronts of each seed.
const VARIANTS: [Variant; 4] = [
    Variant::PfSmgPaper,
    Variant::EpsFairPaper,
    Variant::Ours,
    Variant::Measures,
];
pub(crate) const PF_SMG: &str = "PF-SMG, the paper's settings";
const EPS_FAIR: &str = "EPS-fair, the paper's settings";
pub(crate) const EXACT: &str = "exact front (ours)";
const MEASURES: &str = "ours, smooth rates";

/// Fronts of one seed.
pub(crate) struct Seed {
    pub(crate) pf_smg: Front,
    eps_fair: Front,
    pub(crate) exact: Front,
    pub(crate) measures: Front,
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

    pub(crate) fn all(case: Case, effort: Effort, results: &Results) -> Result<Vec<Self>, Error> {
        let seeds = 0..effort.seeds();
        seeds
            .map(|seed| Self::read(case, seed, effort, results))
            .collect()
    }

    /// In the order of [`VARIANTS`].
    fn fronts(&self) -> [&Front; 4] {
        [&self.pf_smg, &self.eps_fair, &self.exact, &self.measures]
    }
}

/// The summary of a number over all seeds.
pub(crate) fn over<'a>(
    seeds: &'a [Seed],
    number: impl Fn(&'a Seed) -> Result<f64, Error>,
) -> Result<Summary, Error> {
    let numbers: Vec<f64> = seeds.iter().map(number).collect::<Result<_, Error>>()?;
    Ok(Summary::of(numbers))
}

/// The rank correlation of the fairness objective with another column on test rows.
pub(crate) fn goes_with(front: &Front, column: &str) -> Result<f64, Error> {
    let fair = front.objective("test", 1)?;
    Ok(rank_correlation(
        &fair,
        &front.column(&format!("test.{column}"))?,
    ))
}

pub(crate) fn conflict(front: &Front) -> Result<f64, Error> {
    let (loss, fair) = (front.objective("test", 0)?, front.objective("test", 1)?);
    Ok(rank_correlation(&loss, &fair))
}

pub(crate) fn seed_jobs(case: Case, effort: Effort) -> Vec<Job> {
    let seeds = 0..effort.seeds();
    let of_seed = |seed| VARIANTS.map(|variant| case.fit(seed, variant, effort));
    seeds.flat_map(of_seed).collect()
}

/// PF-SMG's fronts compared with EPS-fair's, on test rows.
pub(crate) struct Overlaid {
    /// Shares of the other solver's models that PF-SMG and EPS-fair dominate or equal.
    pub(crate) dominates: [Summary; 2],
    /// Hypervolumes as shares of the exact front's.
    pub(crate) volumes: [Summary; 2],
    /// The largest fairness objective on training rows as a share of the unmitigated model's.
    pub(crate) reach: [Summary; 2],
}

impl Overlaid {
    pub(crate) fn of(seeds: &[Seed]) -> Result<Self, Error> {
        let mut numbers: [Vec<f64>; 6] = Default::default();
        for seed in seeds {
            let fronts = [&seed.pf_smg, &seed.eps_fair, &seed.exact];
            let [paper, bounds, exact] = fronts.map(|front| front.values("test"));
            let (paper, bounds, exact) = (paper?, bounds?, exact?);
            let (p, b) = (Values::new(&paper, 2)?, Values::new(&bounds, 2)?);
            let unmitigated = seed
                .exact
                .unmitigated(&seed.exact.objective_name("test", 1));
            let reference = [seed.exact.info.at_zero[0], 1.1 * unmitigated];
            let best = volume(&exact, &reference)?;
            let found = [
                coverage(p, b)?,
                coverage(b, p)?,
                volume(&paper, &reference)? / best,
                volume(&bounds, &reference)? / best,
                seed.pf_smg.reach(1)?,
                seed.eps_fair.reach(1)?,
            ];
            let pairs = numbers.iter_mut().zip(found);
            pairs.for_each(|(numbers, found)| numbers.push(found));
        }
        let [a, b, c, d, e, f] = numbers.map(Summary::of);
        Ok(Self {
            dominates: [a, b],
            volumes: [c, d],
            reach: [e, f],
        })
    }

    /// The sentence for the page; `objective` is the fairness objective.
    pub(crate) fn text(&self, objective: &str) -> String {
        let percent = |summary: &Summary| summary.percent(1);
        let [paper, bounds] = self.dominates.each_ref().map(percent);
        let [paper_volume, bounds_volume] = self.volumes.each_ref().map(percent);
        let [paper_reach, bounds_reach] = self.reach.each_ref().map(percent);
        format!(
            "on test rows, PF-SMG's fronts dominate {paper} of EPS-fair's models, and EPS-fair's fronts dominate {bounds} \
             of PF-SMG's; PF-SMG has {paper_volume} of the exact front's hypervolume and EPS-fair {bounds_volume}; \
             {objective} reaches {paper_reach} of the unmitigated model's with PF-SMG and {bounds_reach} with EPS-fair"
        )
    }
}

/// Panels with the fronts of all seeds except the first.
fn appendix(title: &str, objective: &str, seeds: &[Seed]) -> Result<String, Error> {
    let panel = |(i, seed): (usize, &Seed)| {
        Ok(Fronts {
            title: format!("seed {}", i + 1),
            series: vec![
                (PF_SMG, seed.pf_smg.values("test")?),
                (EPS_FAIR, seed.eps_fair.values("test")?),
                (EXACT, seed.exact.values("test")?),
            ],
        })
    };
    let panels = seeds.iter().skip(1).enumerate().map(panel);
    let panels: Vec<Fronts> = panels.collect::<Result<_, Error>>()?;
    Ok(front_panels(title, ["f1, log loss", objective], &panels))
}

/// The results of each seed.
pub(crate) fn seed_sheet(seeds: &[Seed], gap: &str) -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        "seeds",
        "Results per seed on test rows: accuracy and demographic parity difference of the most accurate model, and \
         the same difference and the cost in accuracy of the most accurate nearly fair model. A model is nearly fair \
         if its fairness objective on training rows is below 1% of the unmitigated model's.",
        &[
            "seed",
            "front",
            "models",
            "CPU s",
            "accuracy",
            "difference",
            "cost, percentage points",
            "difference, nearly fair",
        ],
    );
    for (i, seed) in seeds.iter().enumerate() {
        // The last front has other objectives.
        for (variant, front) in VARIANTS.into_iter().zip(seed.fronts()).take(3) {
            let price = Price::of(front, "test", gap)?;
            sheet.row([
                i.to_string(),
                variant.label().into(),
                front.table.len().to_string(),
                number(front.cpu_seconds, 1),
                number(price.accuracy, 4),
                number(price.gap, 4),
                number(100.0 * price.cost, 2),
                number(price.fair_gap, 4),
            ]);
        }
    }
    Ok(sheet)
}

/// Adds the CPU times of the fronts.
pub(crate) fn add_times(draft: &mut Draft, problem: &str, seeds: &[Seed]) {
    for (i, variant) in VARIANTS.into_iter().enumerate() {
        let fronts = seeds.iter().map(|seed| seed.fronts()[i]);
        draft.finding.times.push(time(problem, variant, fronts));
    }
}

/// Adds the paper's four panels for the first seed, and panels with the fronts of the other seeds.
pub(crate) fn add_figures(
    draft: &mut Draft,
    name: &str,
    title: &str,
    compared: &Compared,
    seeds: &[Seed],
) -> Result<(), Error> {
    if let Some(first) = seeds.first() {
        let fronts = [
            (PF_SMG, &first.pf_smg),
            (EPS_FAIR, &first.eps_fair),
            (EXACT, &first.exact),
        ];
        let svg = four_panels(
            format!("{title}, test rows"),
            "test",
            compared,
            &fronts,
            Some((MEASURES, &first.measures)),
        )?;
        let caption = format!("{title}: the paper's four panels, seed 0, test rows.");
        draft.figure(name, caption, svg);
    }
    let svg = appendix(
        &format!("{title}, other splits, test rows"),
        compared.objective,
        seeds,
    )?;
    let caption = format!("{title}: fronts of the other splits, test rows.");
    draft.figure(&format!("{name}-seeds"), caption, svg);
    Ok(())
}
