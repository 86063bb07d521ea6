//! Jobs: fits, streams and grid searches that run on one thread.

use fairfront_data::{Known, Part, Prepared, Spec, Split, SplitRule, data_folder};
use fairfront_run::{Ask, Error, FitRequest, PAPER_PENALTY, Penalty, SolverName, attribute_texts};
use serde::{Deserialize, Serialize};

use crate::Effort;

/// A job. Equal jobs have equal results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its name, which is also the path of its result.
    pub(crate) name: String,
    /// The kind of job.
    pub(crate) kind: Kind,
    /// Rows, objectives and solver.
    pub(crate) setup: Setup,
}

/// The kind of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// One front.
    Fit,
    /// A front after each batch, and one of all rows.
    Stream { batches: usize, rows: usize },
    /// A front for every combination of values of settings.
    Tune { tries: Vec<String> },
}

/// Rows, objectives and solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// A known data set.
    pub(crate) source: String,
    /// Seed of split and solver.
    pub(crate) seed: u64,
    /// Whether the sensitive attribute is a feature.
    pub(crate) use_sensitive: bool,
    /// Whether rows are drawn so that groups are equally large, including test rows.
    pub(crate) balanced: bool,
    /// Whether all rows are training rows.
    pub(crate) all_rows: bool,
    /// Number of training rows to use, if not all; the others become test rows.
    #[serde(default)]
    pub(crate) sample: Option<usize>,
    /// Objectives and solver.
    pub(crate) ask: Ask,
}

/// A problem of the paper: rows and objectives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// A known data set; `synthetic` has one per seed.
    pub(crate) source: &'static str,
    pub(crate) objectives: &'static [&'static str],
    pub(crate) use_sensitive: bool,
    pub(crate) all_rows: bool,
}

/// f1 and f2.
pub(crate) const ADULT_GENDER: Case = Case {
    name: "adult-gender",
    source: "adult:sex",
    objectives: &["log_loss", "score_covariance(sex)"],
    use_sensitive: false,
    all_rows: false,
};

/// f1 and f3.
pub(crate) const ADULT_RACE: Case = Case {
    name: "adult-race",
    source: "adult:race",
    objectives: &["log_loss", "score_covariance(race)"],
    ..ADULT_GENDER
};

/// f1, f2 and f3.
pub(crate) const ADULT_BOTH: Case = Case {
    name: "adult-gender-race",
    source: "adult:sex+race",
    objectives: &[
        "log_loss",
        "score_covariance(sex)",
        "score_covariance(race)",
    ],
    ..ADULT_GENDER
};

/// f1, f2 and f4; the authors keep race as a feature.
pub(crate) const COMPAS_BOTH: Case = Case {
    name: "compas-two-measures",
    source: "compas:race",
    objectives: &[
        "log_loss",
        "score_covariance(race)",
        "score_covariance(race, given=positive, center=all)",
    ],
    use_sensitive: true,
    all_rows: true,
};

/// f1 and f2 on synthetic rows.
pub(crate) const SYNTHETIC: Case = Case {
    name: "synthetic",
    source: "synthetic",
    objectives: &["log_loss", "score_covariance(a)"],
    use_sensitive: false,
    all_rows: true,
};

/// The way to compute a front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// PF-SMG with the paper's settings.
    PfSmgPaper,
    /// EPS-fair with the paper's random starts and finite differences.
    EpsFairPaper,
    /// PF-SMG with our settings.
    PfSmg,
    /// EPS-fair with exact gradients, warm starts and a preconditioner.
    EpsFair,
    /// The default of `fit` for these objectives; the exact front for f2 and f3.
    Ours,
    /// The default of `fit` without `--objective`: smooth versions of the error rate and the selection rates.
    Measures,
}

impl Variant {
    /// The name in the names of jobs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PfSmgPaper => "pf-smg-paper",
            Self::EpsFairPaper => "eps-fair-paper",
            Self::PfSmg => "pf-smg",
            Self::EpsFair => "eps-fair",
            Self::Ours => "ours",
            Self::Measures => "measures",
        }
    }

    /// The name in tables.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::PfSmgPaper => "PF-SMG, paper",
            Self::EpsFairPaper => "EPS-fair, paper",
            Self::PfSmg => "PF-SMG, ours",
            Self::EpsFair => "EPS-fair, ours",
            Self::Ours => "ours",
            Self::Measures => "ours, smooth rates",
        }
    }

    fn is_paper(self) -> bool {
        matches!(self, Self::PfSmgPaper | Self::EpsFairPaper)
    }
}

impl Case {
    /// The fit of this problem by seed and solver.
    pub(crate) fn fit(self, seed: u64, variant: Variant, effort: Effort) -> Job {
        let synthetic = self.source == SYNTHETIC.source;
        let solver = match variant {
            Variant::PfSmgPaper | Variant::PfSmg => SolverName::PfSmg,
            Variant::EpsFairPaper | Variant::EpsFair => SolverName::EpsFair,
            Variant::Ours | Variant::Measures => SolverName::Auto,
        };
        let mut settings = Vec::new();
        let mut points = match variant {
            Variant::Ours if self.source.starts_with("adult") => effort.our_points(),
            _ => None,
        };
        if solver == SolverName::PfSmg {
            points = effort.most_points();
            let steps = effort.most_steps();
            settings.extend(steps.map(|steps| ("max-steps".to_owned(), steps.to_string())));
        }
        if solver == SolverName::EpsFair {
            points = Some(match synthetic {
                true => effort.synthetic_bounds(),
                false => effort.bounds(),
            });
        }
        if self.name == ADULT_RACE.name && variant == Variant::PfSmgPaper && seed > 0 {
            // The paper's appendix has other settings than its text.
            let appendix = [("step", "3"), ("batches", "50*1.012,30*1.012")];
            settings.extend(appendix.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let objectives = match variant {
            Variant::Measures => Vec::new(),
            _ => self.objectives.iter().map(ToString::to_string).collect(),
        };
        Job {
            name: format!("{}/seed-{seed}/{}", self.name, variant.name()),
            kind: Kind::Fit,
            setup: Setup {
                source: match synthetic {
                    true => format!("{}:{seed}", self.source),
                    false => self.source.into(),
                },
                seed,
                use_sensitive: self.use_sensitive,
                balanced: false,
                all_rows: self.all_rows,
                sample: None,
                ask: Ask {
                    objectives,
                    solver,
                    paper: variant.is_paper(),
                    models: points,
                    settings,
                    seed,
                    ..Ask::default()
                },
            },
        }
    }
}

impl Job {
    /// Approximate seconds with full budgets. Long jobs begin first, and the remaining time is estimated from the
    /// weights.
    pub(crate) fn weight(&self) -> f64 {
        let ask = &self.setup.ask;
        let (adult, compas) = (self.is_of("adult"), self.is_of("compas"));
        let fit = match (ask.solver, ask.paper) {
            (SolverName::PfSmg, true) if adult => 110.0,
            (SolverName::PfSmg, true) if compas => 30.0,
            (SolverName::EpsFair, true) if adult => 50.0,
            (SolverName::PfSmg, _) if adult => 20.0,
            (SolverName::PfSmg, true) => 7.0,
            (SolverName::EpsFair, _) if adult => 7.0,
            _ if compas => 4.0,
            _ => 1.0,
        };
        match &self.kind {
            Kind::Fit => fit,
            Kind::Stream { .. } => 2.0 * fit,
            Kind::Tune { .. } => 8.0 * fit,
        }
    }

    fn is_of(&self, family: &str) -> bool {
        self.setup.source.starts_with(family)
    }
}

impl Setup {
    /// Roles, split and seed.
    pub(crate) fn spec(&self) -> Result<(Known, Spec), Error> {
        let Some(known) = Known::named(&self.source)? else {
            let message = format!("{}: not a known data set", self.source);
            return Err(Error::data(message));
        };
        let mut spec = known.spec();
        spec.seed = self.seed;
        spec.use_sensitive = self.use_sensitive;
        if self.all_rows {
            spec.split = SplitRule::None;
        }
        if self.balanced {
            spec.balance = spec.sensitive.first().cloned();
        }
        Ok((known, spec))
    }

    /// The rows.
    pub(crate) fn prepare(&self) -> Result<Prepared, Error> {
        let (known, spec) = self.spec()?;
        let mut prepared = Prepared::from_known(&known, &spec, data_folder().as_deref())?;
        if let Some(sample) = self.sample {
            let mut train = prepared.split.part(Part::Train).to_vec();
            train.sort_unstable();
            let mut parts = vec![Part::Test; prepared.n_rows()];
            // The split is random, so evenly spaced training rows are a random sample.
            let picked = (0..sample).map(|i| train[i * train.len() / sample]);
            picked.for_each(|row| parts[row as usize] = Part::Train);
            prepared.split = Split::from_parts(&parts);
            prepared.split.shuffle(spec.seed);
        }
        Ok(prepared)
    }

    /// The request for a fit.
    pub(crate) fn request(&self, spec: &Spec) -> Result<FitRequest, Error> {
        // The paper's penalty for every solver, so that all of them minimize the same loss.
        Ok(FitRequest {
            penalty: Penalty::Fixed(PAPER_PENALTY),
            ..self
                .ask
                .request(&self.source, &attribute_texts(spec), false)?
        })
    }
}

#[cfg(test)]
mod tests {
    use fairfront_solve::{AnySolver, EpsFair, PfSmg};

    use super::*;

    fn solver(job: &Job) -> AnySolver {
        let (_, spec) = job.setup.spec().expect("a known data set");
        let request = job.setup.request(&spec).expect("valid settings");
        request.solvers[0].solver.clone()
    }

    /// p1, p2, α0, interval of the steps, first batches and their growth.
    fn settings(case: Case, seed: u64) -> (usize, usize, f64, usize, Vec<(f64, f64)>) {
        let AnySolver::PfSmg(PfSmg {
            runs,
            steps,
            step,
            step_every,
            batches,
            ..
        }) = solver(&case.fit(seed, Variant::PfSmgPaper, Effort::Full))
        else {
            panic!("the paper's solver is PF-SMG")
        };
        let batches = batches.iter().map(|batch| (batch.initial, batch.growth));
        (runs, steps, step, step_every, batches.collect())
    }

    #[test]
    fn settings_are_those_that_the_paper_prints() {
        let gender = (2, 3, 2.1, 500, vec![(80.0, 1.018), (50.0, 1.018)]);
        assert_eq!(settings(ADULT_GENDER, 0), gender);
        assert_eq!(settings(ADULT_GENDER, 9), gender);
        let race = (3, 2, 2.6, 100, vec![(50.0, 1.005), (80.0, 1.005)]);
        assert_eq!(settings(ADULT_RACE, 0), race);
        let appendix = (3, 2, 3.0, 100, vec![(50.0, 1.012), (30.0, 1.012)]);
        assert_eq!(settings(ADULT_RACE, 1), appendix);
        let both = (3, 2, 2.6, 100, vec![(80.0, 1.005)]);
        assert_eq!(settings(ADULT_BOTH, 0), both);
        let compas = (3, 3, 4.0, 100, vec![(80.0, 1.005)]);
        assert_eq!(settings(COMPAS_BOTH, 0), compas);
        let (runs, steps, step, _, batches) = settings(SYNTHETIC, 3);
        assert_eq!((runs, steps, step), (1, 1, 0.3));
        assert_eq!(batches, [(5.0, 1.01), (200.0, 1.01)]);
    }

    #[test]
    fn eps_fair_has_the_papers_number_of_bounds() {
        for (case, bounds) in [(SYNTHETIC, 1_500), (ADULT_GENDER, 100), (ADULT_RACE, 100)] {
            for (variant, is_paper) in [(Variant::EpsFairPaper, true), (Variant::EpsFair, false)] {
                let AnySolver::EpsFair(EpsFair {
                    points,
                    cold,
                    finite_differences,
                    ..
                }) = solver(&case.fit(0, variant, Effort::Full))
                else {
                    panic!("the solver is EPS-fair")
                };
                assert_eq!(points, bounds);
                assert_eq!((cold, finite_differences), (is_paper, is_paper));
            }
        }
    }

    #[test]
    fn jobs_have_distinct_names_and_a_json_round_trip() {
        let job = ADULT_RACE.fit(4, Variant::PfSmgPaper, Effort::Full);
        assert_eq!(job.name, "adult-race/seed-4/pf-smg-paper");
        let text = serde_json::to_string(&job).expect("a job can be written");
        assert_eq!(serde_json::from_str::<Job>(&text).expect("and read"), job);
        assert_ne!(job, ADULT_RACE.fit(4, Variant::PfSmgPaper, Effort::Quick));
    }
}
