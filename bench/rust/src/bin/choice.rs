//! Certified choices on redraws of a population: a table is the population, a front is fitted on
//! some of its rows, and rows drawn with replacement order and certify its models.
//!
//! `choice TABLE SPEC-JSON REQUIREMENT VALIDATION-ROWS CERTIFY-ROWS FITS REDRAWS SEED [bands]`
//! prints one JSON line per redraw. This program computes from counts on the whole table whether a
//! model keeps the limit, independently of the code that certifies.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use fairfront_core::{
    Decisions, Linear, Points, Purpose, Rate, Schema, Stream, Tallies, regions_of,
};
use fairfront_data::{Facts, Known, Part, Prepared, ReadOptions, Spec, SplitRule};
use fairfront_run::{
    Ask, Demand, Error, Evidence, FrontColumns, Requirement, Rule, Run, attribute_texts,
    choose_in_memory, fit, select,
};
use serde_json::{Value, json};

#[expect(clippy::print_stdout, reason = "results go to standard output")]
fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [
        table,
        spec,
        requirement,
        order,
        certify,
        fits,
        redraws,
        seed,
        rest @ ..,
    ] = args.as_slice()
    else {
        bail!("wrong number of arguments; pass those that the top of choice.rs lists");
    };
    let bands = rest.first().is_some_and(|word| word == "bands");
    let setup = Setup {
        table,
        spec: serde_json::from_str(spec)?,
        requirement: Requirement::parse(requirement)?,
        rows: [order.parse()?, certify.parse()?],
        bands,
    };
    let (fits, redraws, seed): (u64, u64, u64) = (fits.parse()?, redraws.parse()?, seed.parse()?);
    for number in 0..fits {
        let front = setup.front(seed + number)?;
        for redraw in 0..redraws {
            println!("{}", setup.redraw(&front, seed + number, redraw)?);
        }
    }
    Ok(())
}

struct Setup<'a> {
    table: &'a str,
    spec: BTreeMap<String, Value>,
    requirement: Requirement,
    rows: [usize; 2],
    bands: bool,
}

/// A fitted front and its decisions on the population.
struct Front {
    run: Run,
    population: [Decisions; 2],
    schema: Schema,
    truth: Tallies,
}

impl Setup<'_> {
    fn text(&self, key: &str) -> Option<String> {
        Some(self.spec.get(key)?.as_str()?.to_owned())
    }

    fn front(&self, seed: u64) -> Result<Front> {
        // Training rows are part of the population; any front is valid for the test.
        let train = self
            .spec
            .get("train_percent")
            .and_then(Value::as_f64)
            .unwrap_or(40.0);
        let split = SplitRule::Shares([train, 0.0, 0.0, 100.0 - train]);
        let published = std::env::var_os("FAIRFRONT_DATA");
        let published = published.as_ref().map(std::path::Path::new);
        let prepared = match Known::parse(self.table)? {
            Some(known) => {
                let spec = Spec {
                    split,
                    seed,
                    ..known.spec()
                };
                Prepared::from_known(&known, &spec, published)?
            }
            None => {
                let sensitive = self
                    .text("sensitive")
                    .context("SPEC-JSON has no key \"sensitive\"")?;
                let spec = Spec {
                    target: self.text("target"),
                    positive: self.text("positive"),
                    sensitive: vec![vec![sensitive]],
                    split,
                    seed,
                    ..Spec::default()
                };
                Prepared::from_files(&[self.table.to_owned()], &spec, ReadOptions::default())?
            }
        };
        let objectives = self.spec.get("objectives").and_then(Value::as_array);
        let objectives = objectives.into_iter().flatten().filter_map(Value::as_str);
        let ask = Ask {
            objectives: objectives.map(str::to_owned).collect(),
            seed,
            ..Ask::default()
        };
        let request = ask.request(
            &prepared.table.name,
            &attribute_texts(&prepared.spec),
            false,
        )?;
        let fitted = fit(&prepared, &request, &mut ())?;
        let mut models = fitted.outcome.front.points.clone();
        models.push(fitted.outcome.unmitigated.points.get(0));
        let on =
            |part: Part, models: &Points| Decisions::of(&Linear, fitted.encoded.part(part), models);
        let population = [on(Part::Train, &models)?, on(Part::Test, &models)?];
        let schema = fitted.encoded.encoding.schema();
        let all: Vec<usize> = (0..population[0].n_rows() + population[1].n_rows()).collect();
        let sources = [&population[0], &population[1]];
        let truth = Decisions::gathered(&sources, &all).tallies();
        Ok(Front {
            run: Run::of(&Facts::of(&prepared)?, &fitted),
            population,
            schema,
            truth,
        })
    }

    fn redraw(&self, front: &Front, seed: u64, redraw: u64) -> Result<Value> {
        let sources = [&front.population[0], &front.population[1]];
        let total = sources[0].n_rows() + sources[1].n_rows();
        let draw = |which: usize| {
            let mut stream = Stream::new(seed, Purpose::Synthetic, [redraw, 77 + which as u64]);
            let rows: Vec<usize> = (0..self.rows[which]).map(|_| stream.below(total)).collect();
            Decisions::gathered(&sources, &rows)
        };
        let (order, certify) = (draw(0), draw(1));
        let mut run = front.run.clone();
        run.evidence = Evidence::of_decisions(&order, &certify, &front.schema, self.bands)?;
        // Columns that determine the order of the models and that the naive rule uses.
        let n = run.front.len();
        let limited = self.requirement.term.canonical();
        for name in ["accuracy", limited.as_str()] {
            let values: Vec<Option<f64>> = (0..n)
                .map(|model| measured(&front.schema, &run.evidence.order.tallies, name, model))
                .collect();
            set(&mut run, &format!("validation.{name}"), values);
        }
        let truth = |model: usize, name: &str| measured(&front.schema, &front.truth, name, model);
        let keeps = |model: usize| {
            let value = truth(model, &limited).unwrap_or(f64::NAN);
            self.requirement
                .comparator
                .holds(value, self.requirement.bound)
        };
        let accuracy = |model: usize| truth(model, "accuracy").unwrap_or(f64::NAN);
        let best = (0..n)
            .filter(|m| keeps(*m))
            .map(accuracy)
            .fold(f64::NAN, f64::max);
        let demand = Demand::parse(&[self.requirement.to_string()], 0.95, false, None)?;
        let columns = FrontColumns::of(&run.info, &run.front);
        let rule = Rule::Best(demand.best.clone());
        let naive = match select(&columns, std::slice::from_ref(&self.requirement), &rule) {
            Ok(found) => Some(found.model_id.index()),
            Err(Error::Unmet(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut bands = Vec::new();
        if self.bands {
            bands = covered(front, &run);
        }
        let certified = match choose_in_memory(&mut run, &demand, &rule) {
            Ok(choice) => choice.certificate.map_or_else(Vec::new, |c| c.certified),
            Err(Error::Uncertified(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let chosen = match certified.is_empty() {
            true => None,
            false => Some(
                choose_in_memory(&mut run, &demand, &rule)?
                    .selection
                    .model_id
                    .index(),
            ),
        };
        let of = |model: Option<usize>| {
            model.map(|m| json!({ "value": truth(m, &limited), "keeps": keeps(m), "accuracy": accuracy(m) }))
        };
        Ok(json!({
            "fit": seed, "redraw": redraw, "models": n, "certified": certified.len(),
            "any_broken": certified.iter().any(|m| !keeps(m.index())),
            "chosen": of(chosen), "naive": of(naive),
            "best_allowed": best.is_finite().then_some(best), "bands": bands,
        }))
    }
}

/// For each measure with a band, whether the band contains the true values of all models at once.
fn covered(front: &Front, run: &Run) -> Vec<Value> {
    let Some(certify) = &run.evidence.certify else {
        return Vec::new();
    };
    let names = certify.bands.iter().map(|band| band.measure.clone());
    names
        .map(|name| {
            let covered = (0..run.front.len()).all(|model| {
                let truth = measured(&front.schema, &front.truth, &name, model);
                let band = certify.band(&front.schema, &name, model, 0.95);
                match (truth, band) {
                    (Some(truth), Some([low, high])) => {
                        low <= truth + 1e-12 && truth <= high + 1e-12
                    }
                    _ => true,
                }
            });
            json!([name, covered])
        })
        .collect()
}

fn set(run: &mut Run, name: &str, values: Vec<Option<f64>>) {
    match run.front.names.iter().position(|n| n == name) {
        Some(at) => run.front.columns[at] = values,
        None => {
            run.front.names.push(name.into());
            run.front.columns.push(values);
        }
    }
}

/// A measure of a model on the rows of some counts, by its definition.
fn measured(schema: &Schema, tallies: &Tallies, name: &str, model: usize) -> Option<f64> {
    let rate = |rate: Rate, region: usize| tallies.cell(model, rate, region).rate();
    let (kind, inside) = match name.split_once('(') {
        Some((kind, inside)) => (kind, inside.strip_suffix(')')?),
        None => return rate(Rate::Accuracy, 0),
    };
    let of_kind = |kind: &str| match kind {
        "selection_rate" | "demographic_parity_difference" | "demographic_parity_ratio" => {
            Rate::Selection
        }
        "false_negative_rate" | "equal_opportunity_difference" => Rate::FalseNegative,
        "accuracy" => Rate::Accuracy,
        _ => Rate::FalsePositive,
    };
    if let Some((attribute, group)) = inside.split_once('=') {
        let at = schema.attributes.iter().position(|a| a.name == attribute)?;
        let of = schema.attributes[at]
            .groups
            .iter()
            .position(|g| g == group)?;
        return rate(of_kind(kind), regions_of(schema, at).start + of);
    }
    let at = schema.attributes.iter().position(|a| a.name == inside)?;
    let rates =
        |of: Rate| -> Option<Vec<f64>> { regions_of(schema, at).map(|r| rate(of, r)).collect() };
    let range = |rates: Vec<f64>| {
        let high = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        (low, high)
    };
    match kind {
        "demographic_parity_ratio" => {
            let (low, high) = range(rates(Rate::Selection)?);
            Some(low / high)
        }
        "equalized_odds_difference" => {
            let (a, b) = (
                range(rates(Rate::FalseNegative)?),
                range(rates(Rate::FalsePositive)?),
            );
            Some((a.1 - a.0).max(b.1 - b.0))
        }
        other => {
            let (low, high) = range(rates(of_kind(other))?);
            Some(high - low)
        }
    }
}
