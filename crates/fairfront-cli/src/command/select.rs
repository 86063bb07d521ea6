use std::path::Path;

use fairfront_data::{Error, Ordered, Part};
use fairfront_model::ModelCertificate;
use fairfront_run::{
    Certificate, Choice, FrontColumns, Requirement, Rule, Run, Selection, Term, choose_certified,
    run_name, select, uncertified_model, weights,
};
use serde::Serialize;
use serde_json::json;

use crate::args::SelectArgs;
use crate::output::{self, Target};
use crate::render;
use crate::wording::Flags;

pub(super) fn run(args: &SelectArgs) -> anyhow::Result<()> {
    let require = args
        .certify
        .require
        .iter()
        .map(|text| Requirement::parse(text));
    let require: Vec<Requirement> = require
        .collect::<Result<_, _>>()
        .map_err(|e| e.of_setting("--require"))?;
    let demand = args.certify.demand(args.best.as_deref())?;
    let rule = rule(args)?;
    if let Some(path) = &args.model {
        check_model(path)?;
    }
    super::warn_if_corrupted(&args.run);
    let run = Run::read(&args.run)?;
    let front = FrontColumns::of(&run.info, &run.front);
    if front.split() == Part::Train {
        output::note(
            "note: the run has no validation rows, so models are ranked on training rows\n",
        );
    }
    let choice = match &demand {
        Some(demand) => choose_certified(&args.run, &run, demand, &rule),
        None => select(&front, &require, &rule).map(|selection| Choice {
            of_model: uncertified_model(&run, &require, &selection),
            selection,
            certificate: None,
        }),
    };
    let choice = match choice {
        Err(fairfront_run::Error::Unmet(unmet)) if args.json => {
            print_json(&json!({ "model_id": null, "unmet": unmet }))?;
            return Err(fairfront_run::Error::Unmet(unmet).into());
        }
        Err(fairfront_run::Error::Uncertified(mut uncertified)) if args.json => {
            let reason = uncertified.reason.as_ref();
            uncertified.reason = reason.map(|reason| reason.worded(&Flags));
            print_json(&json!({ "model_id": null, "uncertified": uncertified }))?;
            return Err(fairfront_run::Error::Uncertified(uncertified).into());
        }
        choice => choice?,
    };
    let found = &choice.selection;
    for judged in &found.judged.requirements {
        let name = judged
            .column
            .rsplit_once("objective.")
            .map(|(_, name)| name);
        let at = name.and_then(|name| run.info.objectives.iter().position(|o| o == name));
        if let Some(measure) = at.and_then(|i| run.info.judged.measures.get(i)) {
            output::note(&format!(
                "note: {} limits the smooth objective; the matching measure is {measure}\n",
                judged.requirement
            ));
        }
    }
    if let Some(path) = &args.model {
        let mut model = run.model(&run_name(&args.run), found.model_id)?;
        model.certificate.clone_from(&choice.of_model);
        model.write(path, args.force)?;
    }
    if args.json {
        let values = front.columns.0.iter();
        let values = values.map(|(name, column)| (name.clone(), column[found.model_id.index()]));
        let printed = Printed {
            source: &run.info.source,
            found,
            certificate: choice.of_model.as_ref(),
            test: choice.certificate.as_ref(),
            model: args.model.as_ref().map(|path| path.display().to_string()),
            values: Ordered(values.collect()),
            unmitigated: &front.unmitigated,
        };
        return print_json(&printed);
    }
    output::print(&render::selection(
        &args.run,
        &front,
        &choice,
        &run.info.not_compared(),
        &run.info.spec,
        args.model.as_deref(),
    ))
}

fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    output::print_data(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

fn rule(args: &SelectArgs) -> Result<Rule, Error> {
    Ok(if let Some(id) = args.model_id {
        Rule::Id(id)
    } else if args.knee {
        Rule::Knee
    } else if args.regret {
        Rule::Regret
    } else if let Some(text) = &args.weights {
        Rule::Weights(weights(text).map_err(|e| e.of_setting("--weights"))?)
    } else {
        let term = |best: &String| Term::parse(best).map_err(|e| e.of_setting("--best"));
        Rule::Best(args.best.as_ref().map(term).transpose()?)
    })
}

/// Checks that a model can be written to `path`, before any work.
fn check_model(path: &Path) -> anyhow::Result<()> {
    match Target::check(path)? {
        Target::File(_) => Ok(()),
        Target::Stdout | Target::Special(_) => {
            anyhow::bail!(
                "{}: is not a regular file; choose a file for the model",
                path.display()
            )
        }
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Printed<'a> {
    source: &'a str,
    #[serde(flatten)]
    found: &'a Selection,
    /// The certificate in the model file.
    certificate: Option<&'a ModelCertificate>,
    /// The test, with all models in their order.
    test: Option<&'a Certificate>,
    model: Option<String>,
    values: Ordered<Option<f64>>,
    unmitigated: &'a Ordered<Option<f64>>,
}
