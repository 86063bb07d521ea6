use std::path::Path;

use fairfront_data::{Error, Part};
use fairfront_run::{
    FrontColumns, Model, Requirement, Rule, RunSummary, Selection, Term, read_run, select, weights,
};
use serde_json::{Value, json};

use crate::args::SelectArgs;
use crate::{output, render};

pub(super) fn run(args: &SelectArgs) -> anyhow::Result<()> {
    let require = args.require.iter().map(|text| Requirement::parse(text));
    let require: Vec<Requirement> = require
        .collect::<Result<_, _>>()
        .map_err(|e| e.of_flag("--require"))?;
    let rule = rule(args)?;
    if let Some(path) = &args.model {
        check_model(path)?;
    }
    let (run, table) = read_run(&args.run)?;
    let front = FrontColumns::of(&run, &table);
    if front.split() == Part::Train {
        output::note("the run has no validation rows: training rows decide\n");
    }
    let found = match select(&front, &require, &rule) {
        Err(fairfront_run::Error::Unmet(unmet)) if args.json => {
            let said = json!({ "id": null, "unmet": unmet });
            output::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?;
            return Err(fairfront_run::Error::Unmet(unmet).into());
        }
        found => found?,
    };
    if let Some(path) = &args.model {
        Model::of(&args.run, found.id)?.write(path, args.force)?;
    }
    if args.json {
        let said = as_json(args, &run, &front, &found)?;
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&said)?));
    }
    output::print(&render::selection(
        &args.run,
        &front,
        &found,
        args.model.as_deref(),
    ))
}

fn rule(args: &SelectArgs) -> Result<Rule, Error> {
    Ok(if let Some(id) = args.id {
        Rule::Id(id)
    } else if args.knee {
        Rule::Knee
    } else if args.regret {
        Rule::Regret
    } else if let Some(text) = &args.weights {
        Rule::Weights(weights(text).map_err(|e| e.of_flag("--weights"))?)
    } else {
        let best = args.best.as_deref().unwrap_or("accuracy");
        Rule::Best(Term::parse(best).map_err(|e| e.of_flag("--best"))?)
    })
}

/// A run folder holds nothing but its run.
fn check_model(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    if folder.join("run.json").exists() {
        anyhow::bail!(
            "{}: this is in a run folder, which holds nothing but its run; name a file elsewhere",
            path.display()
        );
    }
    Ok(())
}

fn as_json(
    args: &SelectArgs,
    run: &RunSummary,
    front: &FrontColumns,
    found: &Selection,
) -> anyhow::Result<Value> {
    let mut said = serde_json::to_value(found)?;
    let values = front.columns.0.iter();
    let values: serde_json::Map<String, Value> = values
        .map(|(name, column)| (name.clone(), column[found.id].into()))
        .collect();
    said["source"] = run.source.clone().into();
    said["values"] = values.into();
    said["unmitigated"] = serde_json::to_value(&front.unmitigated)?;
    said["model"] = serde_json::to_value(args.model.as_ref().map(|m| m.display().to_string()))?;
    Ok(said)
}
