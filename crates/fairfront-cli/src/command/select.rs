use std::path::Path;

use fairfront_data::{Error, Ordered, Part};
use fairfront_run::{
    FrontColumns, Model, Requirement, Rule, Selection, Term, read_run, select, weights,
};
use serde::Serialize;
use serde_json::json;

use crate::args::SelectArgs;
use crate::output::{self, Target};
use crate::render;

pub(super) fn run(args: &SelectArgs) -> anyhow::Result<()> {
    let require = args.require.iter().map(|text| Requirement::parse(text));
    let require: Vec<Requirement> = require
        .collect::<Result<_, _>>()
        .map_err(|e| e.of_flag("--require"))?;
    let rule = rule(args)?;
    if let Some(path) = &args.model {
        check_model(path)?;
    }
    super::say_damage(&args.run);
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
    for judged in &found.judged.requirements {
        let name = judged
            .column
            .rsplit_once("objective.")
            .map(|(_, name)| name);
        let at = name.and_then(|name| run.objectives.iter().position(|o| o == name));
        if let Some(measure) = at.and_then(|i| run.judged.measures.get(i)) {
            output::note(&format!(
                "notice: {} is about the smooth objective; what people read is {measure}\n",
                judged.requirement
            ));
        }
    }
    if let Some(path) = &args.model {
        Model::of(&args.run, found.id)?.write(path, args.force)?;
    }
    if args.json {
        let values = front.columns.0.iter();
        let values = values.map(|(name, column)| (name.clone(), column[found.id]));
        let said = Said {
            source: &run.source,
            found: &found,
            model: args.model.as_ref().map(|path| path.display().to_string()),
            values: Ordered(values.collect()),
            unmitigated: &front.unmitigated,
        };
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

/// Whether a model can go there, before any work.
fn check_model(path: &Path) -> anyhow::Result<()> {
    match Target::check(path)? {
        Target::File(_) => Ok(()),
        Target::Stdout | Target::Special(_) => {
            anyhow::bail!("{}: a model goes to a file; name one", path.display())
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Said<'a> {
    source: &'a str,
    #[serde(flatten)]
    found: &'a Selection,
    model: Option<String>,
    values: Ordered<Option<f64>>,
    unmitigated: &'a Ordered<Option<f64>>,
}
