use std::path::{Path, PathBuf};

use fairfront_data::Diagnostic;
use fairfront_model::{Model, ModelCertificate, ModelId};
use fairfront_run::{
    Choice, Demand, FrontColumns, Requirement, Rule, Run, Selection, Term, choose_certified,
    choose_in_memory, run_name, select, uncertified_model, weights,
};

use crate::Error;

/// The models of a front with their measures.
#[derive(Debug, Clone)]
pub struct Front {
    run: Run,
    /// The requirements that were stated before the fit.
    demand: Option<Demand>,
    /// The folder of the run, once it has one.
    folder: Option<PathBuf>,
}

impl Front {
    pub(crate) fn of(run: Run, demand: Option<Demand>) -> Self {
        Self {
            run,
            demand,
            folder: None,
        }
    }

    /// Reads the front in a run folder.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self {
            run: Run::read(folder.as_ref())?,
            demand: None,
            folder: Some(folder.as_ref().into()),
        })
    }

    /// The number of models.
    pub fn len(&self) -> usize {
        self.run.front.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of all columns: `test.accuracy`, `validation.demographic_parity_difference(sex)`.
    pub fn columns(&self) -> &[String] {
        &self.run.front.names
    }

    /// A column, one value per model; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&[Option<f64>]> {
        self.run.front.column(name)
    }

    /// The value of a column for the unmitigated model.
    pub fn unmitigated(&self, name: &str) -> Option<f64> {
        self.run
            .info
            .unmitigated
            .values
            .get(name)
            .copied()
            .flatten()
    }

    /// Warnings and notes about the table, the solver and the front.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.run.info.diagnostics
    }

    /// The content of a run folder.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Chooses a model. Requirements that were stated before the fit hold unless `choose` states
    /// its own.
    ///
    /// A requirement is certified on rows that played no part in the fit. Every further requirement
    /// makes the test stricter.
    pub fn select(&mut self, choose: &Choose) -> Result<Chosen, Error> {
        let rule = choose.rule()?;
        let demand = choose.demand()?;
        let stated = self.demand.clone().filter(|_| choose.require.is_empty());
        let choice = match (demand.or(stated), &self.folder) {
            (Some(demand), Some(folder)) => choose_certified(folder, &self.run, &demand, &rule)?,
            (Some(demand), None) => choose_in_memory(&mut self.run, &demand, &rule)?,
            (None, _) => self.choose_untested(choose, &rule)?,
        };
        let name = self.folder.as_deref().map_or_else(String::new, run_name);
        let mut model = self.run.model(&name, choice.selection.model_id)?;
        model.certificate.clone_from(&choice.of_model);
        Ok(Chosen {
            model,
            selection: choice.selection,
        })
    }

    fn choose_untested(&self, choose: &Choose, rule: &Rule) -> Result<Choice, Error> {
        let requirements = choose.requirements()?;
        let columns = FrontColumns::of(&self.run.info, &self.run.front);
        let selection = select(&columns, &requirements, rule)?;
        Ok(Choice {
            of_model: uncertified_model(&self.run, &requirements, &selection),
            selection,
            certificate: None,
        })
    }

    /// Writes the run folder with `report.html`, atomically. Returns its path.
    ///
    /// It is an error if the folder already contains a run; remove that run first.
    pub fn write(&mut self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let written = self.run.write(folder.as_ref(), false)?;
        self.folder = Some(written.clone());
        Ok(written)
    }
}

/// The rule that chooses a model from a front.
#[derive(Debug, Clone)]
#[must_use = "pass it to `Front::select`"]
pub struct Choose {
    by: By,
    require: Vec<String>,
    confidence: Option<f64>,
    exact: bool,
}

#[derive(Debug, Clone)]
enum By {
    Best(String),
    Weights(String),
    Rule(Rule),
}

impl Choose {
    fn by(by: By) -> Self {
        Self {
            by,
            require: Vec::new(),
            confidence: Some(0.95),
            exact: false,
        }
    }

    /// The model that is best in a measure: `accuracy`, `demographic_parity_ratio(sex)`.
    pub fn best(measure: &str) -> Self {
        Self::by(By::Best(measure.into()))
    }

    /// The knee of the front.
    pub fn knee() -> Self {
        Self::by(By::Rule(Rule::Knee))
    }

    /// The model whose largest regret over all measures is smallest.
    pub fn regret() -> Self {
        Self::by(By::Rule(Rule::Regret))
    }

    /// The model with the best weighted sum of scaled measures: `accuracy=2,
    /// demographic_parity_difference(sex)=1`.
    pub fn weights(weights: &str) -> Self {
        Self::by(By::Weights(weights.into()))
    }

    /// The model with this id.
    pub fn model_id(id: ModelId) -> Self {
        Self::by(By::Rule(Rule::Id(id)))
    }

    /// Requires this of the model. Requirements that were stated before the fit are then not used.
    pub fn require(mut self, requirement: &str) -> Self {
        self.require.push(requirement.into());
        self
    }

    /// Certifies requirements with this confidence, 0.95 by default.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Honors requirements on validation rows only, without a test.
    pub fn untested(mut self) -> Self {
        self.confidence = None;
        self
    }

    /// Certifies with finite-sample tests.
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    fn rule(&self) -> Result<Rule, Error> {
        Ok(match &self.by {
            By::Best(measure) => Rule::Best(Some(Term::parse(measure)?)),
            By::Weights(text) => Rule::Weights(weights(text)?),
            By::Rule(rule) => rule.clone(),
        })
    }

    fn demand(&self) -> Result<Option<Demand>, Error> {
        let best = match &self.by {
            By::Best(measure) => Some(measure.as_str()),
            By::Weights(_) | By::Rule(_) => None,
        };
        let wanted = self.confidence.filter(|_| !self.require.is_empty());
        let demand = |confidence| Demand::parse(&self.require, confidence, self.exact, best);
        wanted.map(demand).transpose()
    }

    fn requirements(&self) -> Result<Vec<Requirement>, Error> {
        let parsed = self.require.iter().map(|text| Requirement::parse(text));
        Ok(parsed.collect::<Result<_, _>>()?)
    }
}

/// A chosen model.
#[derive(Debug, Clone)]
pub struct Chosen {
    model: Model,
    selection: Selection,
}

impl Chosen {
    /// Its id on the front.
    pub fn model_id(&self) -> ModelId {
        self.selection.model_id
    }

    /// Its cost in accuracy and its gain in fairness compared with the unmitigated model, in a
    /// sentence.
    pub fn sentence(&self) -> &str {
        &self.selection.price.sentence
    }

    /// The reason for the choice.
    pub fn reason(&self) -> &str {
        &self.selection.reason
    }

    /// The verdict on its requirements; `None` without requirements.
    pub fn certificate(&self) -> Option<&ModelCertificate> {
        self.model.certificate.as_ref()
    }

    /// The model itself: coefficients, encoding, prediction, export.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Writes the model file, which must not exist yet.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.model.write(path.as_ref(), false)?)
    }
}
