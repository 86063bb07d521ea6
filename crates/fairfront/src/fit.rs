use std::path::Path;

use fairfront_data::{
    GroupColumn, Input, Known, Prepared, ReadOptions, Source as Rows, Spec, Table, data_folder,
};
use fairfront_run::{
    Ask, Demand, Run, SolverName, attribute_texts, certify_fit, fit_input, fit_source,
};
use fairfront_solve::Observer;

use crate::{Error, Front};

/// The rows to fit on.
#[derive(Debug, Clone)]
enum Source {
    Files(Vec<String>),
    Known(Box<Known>),
    Table(Box<Table>),
}

/// A front to compute: the rows, the roles of columns, objectives and settings.
///
/// Everything that is not set has the default of the command.
///
/// ```no_run
/// use fairfront::{Choose, Fit};
///
/// let mut front = Fit::from_path("loans.csv")
///     .target("approved", "yes")
///     .sensitive("sex")
///     .require("demographic_parity_difference(sex) <= 0.05")
///     .run()?;
/// let chosen = front.select(&Choose::best("accuracy"))?;
/// println!("{}", chosen.sentence());
/// chosen.write("model.json")?;
/// front.write("runs/loans")?;
/// # Ok::<(), fairfront::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a fit does nothing before `run`"]
pub struct Fit {
    source: Source,
    spec: Spec,
    reading: ReadOptions,
    ask: Ask,
    require: Vec<String>,
    confidence: f64,
}

impl Fit {
    fn new(source: Source, spec: Spec) -> Self {
        Self {
            source,
            spec,
            reading: ReadOptions::default(),
            ask: Ask::default(),
            require: Vec::new(),
            confidence: 0.95,
        }
    }

    /// Rows of a CSV or Parquet file, also compressed with gzip.
    pub fn from_path(path: impl AsRef<Path>) -> Self {
        Self::from_paths([path])
    }

    /// Rows of several files with the same columns.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let named = |path: P| path.as_ref().to_string_lossy().into_owned();
        let files = paths.into_iter().map(named).collect();
        Self::new(Source::Files(files), Spec::default())
    }

    /// Rows of a known data set, with its target and sensitive columns: `demo`, `demo(rows=2000)`,
    /// `synthetic:3`; `adult:sex` and `compas:race` if their files are on this machine.
    pub fn from_known(name: &str) -> Result<Self, Error> {
        let Some(known) = Known::parse(name)? else {
            let problem = format!("{name:?} is not a known data set; use `from_path` for files");
            return Err(Error::usage(problem));
        };
        let spec = known.spec();
        Ok(Self::new(Source::Known(Box::new(known)), spec))
    }

    /// Rows in memory.
    pub fn from_table(table: Table) -> Self {
        Self::new(Source::Table(Box::new(table)), Spec::default())
    }

    /// Predicts this column; `positive` is the value of the favorable outcome.
    pub fn target(mut self, column: &str, positive: &str) -> Self {
        self.spec.target = Some(column.into());
        self.spec.positive = Some(positive.into());
        self
    }

    /// Compares the groups of this column. Call it again for further columns.
    pub fn sensitive(self, column: &str) -> Self {
        self.intersection([column])
    }

    /// Compares the groups that several columns form together.
    pub fn intersection<'a>(mut self, columns: impl IntoIterator<Item = &'a str>) -> Self {
        let columns = columns.into_iter().map(str::to_owned);
        self.spec.sensitive.push(columns.collect());
        self
    }

    /// Compares groups of which only probabilities are known; each group has a column with its probability. Call it
    /// again for a second attribute.
    pub fn sensitive_probability<'a>(
        mut self,
        name: &str,
        groups: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let groups = groups.into_iter().map(|(group, column)| GroupColumn {
            group: group.into(),
            column: column.into(),
        });
        self.spec.sensitive.push(vec![name.into()]);
        self.spec
            .probabilities
            .insert(name.into(), groups.collect());
        self
    }

    /// Excludes this column from the features. Call it again for further columns.
    pub fn drop(mut self, column: &str) -> Self {
        self.spec.drop.push(column.into());
        self
    }

    /// Weights rows by this column.
    pub fn weight(mut self, column: &str) -> Self {
        self.spec.weight = Some(column.into());
        self
    }

    /// Changes any other role or policy: missing values, merged categories, scales, splits.
    ///
    /// ```
    /// use fairfront::Fit;
    /// use fairfront::data::MissingPolicy;
    ///
    /// let fit = Fit::from_path("loans.csv").spec(|spec| spec.missing = MissingPolicy::Drop);
    /// ```
    pub fn spec(mut self, change: impl FnOnce(&mut Spec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// Changes how files are read: separator, column names, memory limit.
    pub fn reading(mut self, change: impl FnOnce(&mut ReadOptions)) -> Self {
        change(&mut self.reading);
        self
    }

    /// Minimizes this objective; the first one is the loss. Without any, the error rate and the
    /// demographic parity of each sensitive attribute are minimized.
    pub fn objective(mut self, objective: &str) -> Self {
        self.ask.objectives.push(objective.into());
        self
    }

    /// Computes the front with this solver instead of one that suits the objectives.
    pub fn solver(mut self, solver: SolverName) -> Self {
        self.ask.solver = solver;
        self
    }

    /// Sets a setting of the solver, as in the documentation of solvers.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.ask.settings.push((name.into(), value.into()));
        self
    }

    /// Requests a front of about this many models.
    pub fn models(mut self, models: usize) -> Self {
        self.ask.models = Some(models);
        self
    }

    /// Sets the penalty of the loss instead of choosing it by cross-validation.
    pub fn penalty(mut self, penalty: f64) -> Self {
        self.ask.penalty = Some(penalty);
        self
    }

    /// Splits rows and draws random numbers with this seed.
    pub fn seed(mut self, seed: u64) -> Self {
        (self.spec.seed, self.ask.seed) = (seed, seed);
        self
    }

    /// Requires this of the chosen model on new people, for example
    /// `demographic_parity_difference(sex) <= 0.05`. Rows that played no part in the fit test it.
    pub fn require(mut self, requirement: &str) -> Self {
        self.require.push(requirement.into());
        self
    }

    /// Certifies requirements with this confidence, 0.95 by default.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// Reads the rows and computes the front.
    pub fn run(self) -> Result<Front, Error> {
        self.run_with(&mut ())
    }

    /// Reads the rows and computes the front, with an observer that sees the progress and can stop
    /// the work.
    pub fn run_with(self, observer: &mut dyn Observer) -> Result<Front, Error> {
        let Rows { input, prepared } = self.rows()?;
        let facts = &input.facts;
        let attributes = attribute_texts(&facts.spec);
        let request = self
            .ask
            .request(&facts.table, &attributes, facts.is_number())?;
        let demand = match self.require.is_empty() {
            true => None,
            false => Some(Demand::parse(&self.require, self.confidence, false, None)?),
        };
        if let Some(demand) = &demand {
            demand.check(facts)?;
        }
        let fitted = match &prepared {
            Some(prepared) => fit_source(prepared, &input, &request, None, observer)?,
            None => fit_input(&input, &request, &[], None, observer)?,
        };
        let mut run = Run::of(facts, &fitted);
        if let Some(demand) = &demand {
            certify_fit(&mut run, demand, Vec::new())?;
        }
        Ok(Front::of(run, demand))
    }

    /// The rows, in memory, or in a block file if they need more memory than the limit.
    fn rows(&self) -> Result<Rows, Error> {
        let prepared = match &self.source {
            Source::Files(files) => {
                let (spec, options) = (&self.spec, self.reading.clone());
                return Ok(Rows::read(files, spec, options, true, None, &mut |_| {})?);
            }
            Source::Known(known) => {
                Prepared::from_known(known, &self.spec, data_folder().as_deref())?
            }
            Source::Table(table) => Prepared::new(table.as_ref().clone(), &self.spec, &[])?,
        };
        Ok(Rows {
            input: Input::of(&prepared, true)?,
            prepared: Some(prepared),
        })
    }
}
