//! Certified choices for predicted numbers: rows are drawn from a table with replacement, a front is fitted on
//! them, and its models are certified.
//!
//! `number_choice TABLE ROWS DRAWS SEED REQUIREMENT…` prints one JSON line per draw: the encoding, the
//! parameters of all models, and the ids of the certified models of each requirement by each test. `bench/number_choice.py`
//! computes from the whole table which of them keep the limit.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use fairfront_core::{Purpose, Stream};
use fairfront_data::{Facts, MinGroup, Prepared, ReadOptions, Spec};
use fairfront_run::{Ask, Demand, Error, Rule, Run, choose_in_memory, fit};
use serde_json::{Value, json};

#[expect(clippy::print_stdout, reason = "results go to standard output")]
fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, rows, draws, seed, requirements @ ..] = args.as_slice() else {
        bail!("wrong number of arguments; pass those that the top of number_choice.rs lists");
    };
    let (rows, draws, seed): (usize, u64, u64) = (rows.parse()?, draws.parse()?, seed.parse()?);
    let text = fs::read_to_string(table)?;
    let mut lines = text.lines();
    let header = lines.next().context("the table is empty")?;
    let lines: Vec<&str> = lines.collect();
    let drawn = format!("{table}.drawn-{seed}.csv");
    for draw in 0..draws {
        let mut stream = Stream::new(seed, Purpose::Synthetic, [draw, 26]);
        let mut text = format!("{header}\n");
        for _ in 0..rows {
            writeln!(text, "{}", lines[stream.below(lines.len())])?;
        }
        fs::write(&drawn, text)?;
        println!("{}", certified(&drawn, requirements)?);
    }
    fs::remove_file(&drawn)?;
    Ok(())
}

fn certified(table: &str, requirements: &[String]) -> Result<Value> {
    let spec = Spec {
        target: Some("target".into()),
        numeric: true,
        sensitive: vec![vec!["group".into()]],
        split: "40/10/50/0".parse()?,
        min_group: MinGroup(10),
        ..Spec::default()
    };
    let prepared = Prepared::from_files(&[table.to_owned()], &spec, ReadOptions::default())?;
    let ask = Ask {
        models: Some(25),
        ..Ask::default()
    };
    let request = ask.request(table, &["group".into()], true)?;
    let fitted = fit(&prepared, &request, &mut ())?;
    let run = Run::of(&Facts::of(&prepared)?, &fitted);
    let mut by_requirement = Vec::new();
    for requirement in requirements {
        for exact in [false, true] {
            let demand = Demand::parse(std::slice::from_ref(requirement), 0.95, exact, None)?;
            let rule = Rule::Best(demand.best.clone());
            // Each requirement is the first use of the rows.
            let certified = match choose_in_memory(&mut run.clone(), &demand, &rule) {
                Ok(choice) => choice.certificate.map_or_else(Vec::new, |c| c.certified),
                Err(Error::Uncertified(_)) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            let ids: Vec<String> = certified.iter().map(ToString::to_string).collect();
            by_requirement.push(ids);
        }
    }
    let points = &fitted.outcome.front.points;
    Ok(json!({
        "encoding": serde_json::from_str::<Value>(&fitted.encoded.encoding.to_json())?,
        "params": points.iter().collect::<Vec<&[f64]>>(),
        "certified": by_requirement,
    }))
}
