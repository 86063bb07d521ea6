//! What the two experiments on Adult share: fronts of every seed, and what is said of them.

use fairfront_run::Error;

use crate::Effort;
use crate::finding::{Draft, Sheet};
use crate::front::{Front, Price, time};
use crate::job::{Case, Job, Variant};
use crate::panel::{Compared, Fronts, four_panels, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;

/// What is run for each seed.
const VARIANTS: [Variant; 4] = [
    Variant::PfSmgPaper,
    Variant::EpsFairPaper,
    Variant::Ours,
    Variant::Measures,
];
pub(crate) const PF_SMG: &str = "PF-SMG, the paper's settings";
const EPS_FAIR: &str = "EPS-fair, the paper's way";
pub(crate) const EXACT: &str = "exact front (ours)";
const MEASURES: &str = "our default, in measures";

/// Fronts of one seed.
pub(crate) struct Seed {
    pub(crate) pf_smg: Front,
    eps_fair: Front,
    pub(crate) exact: Front,
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

    pub(crate) fn all(case: Case, effort: Effort, results: &Results) -> Result<Vec<Self>, Error> {
        let seeds = 0..effort.seeds();
        seeds
            .map(|seed| Self::read(case, seed, effort, results))
            .collect()
    }

    /// On test rows.
    pub(crate) fn plain(front: &Front) -> Result<Vec<f64>, Error> {
        front.values("test")
    }
}

/// A number of every seed.
pub(crate) fn over<'a>(
    seeds: &'a [Seed],
    number: impl Fn(&'a Seed) -> Result<f64, Error>,
) -> Result<Summary, Error> {
    let numbers: Vec<f64> = seeds.iter().map(number).collect::<Result<_, Error>>()?;
    Ok(Summary::of(numbers))
}

/// How an objective and another column go together on test rows.
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
pub(crate) fn seed_sheet(seeds: &[Seed], gap: &str) -> Result<Sheet, Error> {
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

pub(crate) fn add_times(
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

/// The paper's four panels of the first seed, and the fronts of the others beside each other.
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
        &format!("{title}, further splits, test rows"),
        compared.objective,
        seeds,
    )?;
    let caption = format!("{title}: fronts of the further splits, test rows.");
    draft.figure(&format!("{name}-seeds"), caption, svg);
    Ok(())
}
