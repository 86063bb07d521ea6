use fairfront_core::Points;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{parse, unknown, wrong};

/// Rows drawn for an objective at step k: initial · growth^k, capped at a share of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchSchedule {
    /// Rows at the first step.
    pub initial: f64,
    /// Factor a step.
    pub growth: f64,
}

/// Steps along one objective alone, which widen the front.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// Share of the budget in which it takes place; 0.4 by default.
    pub share: f64,
    /// Steps k between two of them.
    pub every: usize,
    /// Runs from each point.
    pub runs: usize,
    /// Steps of a run.
    pub steps: usize,
}

/// Extra runs where the front has holes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HoleFilling {
    /// How many of the widest holes.
    pub holes: usize,
    /// Runs for each.
    pub runs: usize,
    /// Whether runs start between the two points beside the hole (where objectives are convex,
    /// such a point is nearly on the front) rather than at them.
    pub between: bool,
}

/// PF-SMG, the Pareto front of stochastic multi-gradient runs, with its settings.
/// [`PfSmg::default`] are ours, robust without tuning; [`PfSmg::paper`] are those of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PfSmg {
    /// Starting list; where `None`, `n_starts` points are drawn.
    #[serde(skip)]
    pub starts: Option<Points>,
    /// Points drawn to start from, each coordinate uniform in ±`start_radius`.
    pub n_starts: usize,
    /// Half width of the starting box.
    pub start_radius: f64,
    /// Whether the list also starts from the unmitigated model, the minima of the other
    /// objectives near it, and points between them.
    pub anchors: bool,
    /// r: perturbed copies of every listed point in each round.
    pub perturbations: usize,
    /// Their distance: uniform in ± this, each coordinate.
    pub perturbation_radius: f64,
    /// p1: runs from each point and round.
    pub runs: usize,
    /// p2: steps of a run.
    pub steps: usize,
    /// α0.
    pub step: f64,
    /// α is multiplied by this …
    pub step_factor: f64,
    /// … each time k passes a multiple of this.
    pub step_every: usize,
    /// Batch sizes, one schedule for each objective; the last serves all further ones.
    pub batches: Vec<BatchSchedule>,
    /// Share of the rows that a batch has at most.
    pub batch_share: f64,
    /// Steps along one objective alone; `None` turns them off.
    pub exploration: Option<Exploration>,
    /// Extra runs at holes; `None` turns them off.
    pub holes: Option<HoleFilling>,
    /// Points nearer than this share of the range along every objective are thinned; `None` turns
    /// it off.
    pub thinning: Option<f64>,
    /// At most this many well-spread points of the list get runs in a round.
    pub most_active: usize,
    /// The run ends when the list holds this many points …
    pub most_points: usize,
    /// … or any trajectory has had this many steps …
    pub most_steps: usize,
    /// … or this many rounds in a row improved the hypervolume (beyond the starting front's range
    /// by a tenth of it) by less than 5e-5 of itself (0 turns this off; needs two or three
    /// objectives). Each such round has shorter steps and larger batches than the one before.
    pub patience: usize,
    /// Whether steps use a metric made from second derivatives of the first objective, objectives
    /// are scaled to comparable curvature, and steps at a zero of a covariance keep it.
    pub metric: bool,
    /// For the first 40 % of the budget, temperatures of smooth objectives are this much higher in
    /// steps; 1 turns it off.
    pub softening: f64,
    /// Whether one batch serves both factors of a gradient, as in the paper.
    pub paper_batches: bool,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for PfSmg {
    fn default() -> Self {
        Self {
            starts: None,
            n_starts: 5,
            start_radius: 0.1,
            anchors: true,
            perturbations: 0,
            perturbation_radius: 0.05,
            runs: 1,
            steps: 4,
            step: 1.0,
            step_factor: 1.0 / 3.0,
            step_every: 400,
            batches: vec![BatchSchedule {
                initial: 200.0,
                growth: 1.02,
            }],
            batch_share: 1.0 / 3.0,
            exploration: None,
            holes: Some(HoleFilling {
                holes: 48,
                runs: 1,
                between: true,
            }),
            thinning: Some(1e-3),
            most_active: 96,
            most_points: 1_500,
            most_steps: 1_000,
            patience: 12,
            metric: true,
            softening: 3.0,
            paper_batches: false,
            seed: 0,
        }
    }
}

impl PfSmg {
    /// The paper's way, with the settings of one of its experiments: p1, p2, α0, the interval of
    /// the step schedule, and the batch schedules.
    pub fn paper(
        runs: usize,
        steps: usize,
        step: f64,
        step_every: usize,
        batches: Vec<BatchSchedule>,
    ) -> Self {
        Self {
            n_starts: 5,
            start_radius: 5.0,
            anchors: false,
            runs,
            steps,
            step,
            step_every,
            batches,
            exploration: Some(Exploration {
                share: 0.4,
                every: 15,
                runs: 2,
                steps: 9,
            }),
            holes: Some(HoleFilling {
                holes: 5,
                runs: 4,
                between: false,
            }),
            thinning: Some(1.0 / 800.0),
            most_active: usize::MAX,
            patience: 0,
            metric: false,
            softening: 1.0,
            paper_batches: true,
            ..Self::default()
        }
    }

    /// Names that [`PfSmg::set`] takes, with what they mean.
    pub const NAMES: [(&'static str, &'static str); 25] = [
        ("starts", "points drawn to start from"),
        ("start-radius", "half width of the box they are drawn from"),
        (
            "anchors",
            "start from the minima of the objectives too (true, false)",
        ),
        (
            "perturbations",
            "perturbed copies of every point in each round (r)",
        ),
        (
            "softening",
            "how much higher temperatures are in steps of the first 40 %; 1: not at all",
        ),
        (
            "perturbation-radius",
            "their largest distance along a coordinate",
        ),
        ("runs", "runs from each point and round (p1)"),
        ("steps", "steps of a run (p2)"),
        ("step", "step length (α0)"),
        ("step-factor", "what it is multiplied by …"),
        ("step-every", "… each time this many steps are passed"),
        (
            "batches",
            "rows at step k for each objective, as 80*1.018,50*1.018",
        ),
        ("batch-share", "largest batch as a share of the rows"),
        (
            "explore-share",
            "share of the budget with steps along one objective (0: none)",
        ),
        ("explore-every", "steps between two of them"),
        ("explore-runs", "runs from each point"),
        ("explore-steps", "steps of such a run"),
        ("holes", "widest holes that get extra runs (0: none)"),
        ("hole-runs", "runs for each"),
        (
            "hole-between",
            "start them between the two points beside the hole (true, false)",
        ),
        (
            "thinning",
            "points nearer than this share of the range go (0: none)",
        ),
        ("active", "points that get runs in a round, at most"),
        ("max-steps", "steps of a trajectory, at most"),
        (
            "patience",
            "rounds without improvement until the end (0: never)",
        ),
        ("metric", "use second derivatives of the loss (true, false)"),
    ];

    /// Sets one setting by its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let count = || parse::<usize>(value, "a whole number");
        let number = || parse::<f64>(value, "a number");
        let flag = || parse::<bool>(value, "true or false");
        let explore = Exploration {
            share: 0.0,
            every: 15,
            runs: 2,
            steps: 9,
        };
        let holes = HoleFilling {
            holes: 0,
            runs: 1,
            between: true,
        };
        match name {
            "starts" => self.n_starts = count()?,
            "start-radius" => self.start_radius = number()?,
            "anchors" => self.anchors = flag()?,
            "perturbations" => self.perturbations = count()?,
            "perturbation-radius" => self.perturbation_radius = number()?,
            "softening" => self.softening = number()?,
            "runs" => self.runs = count()?,
            "steps" => self.steps = count()?,
            "step" => self.step = number()?,
            "step-factor" => self.step_factor = number()?,
            "step-every" => self.step_every = count()?,
            "batches" => {
                let schedule = |text: &str| {
                    let (initial, growth) = text.split_once('*').unwrap_or((text, "1"));
                    let rule = "rows*growth, such as 80*1.018";
                    Ok(BatchSchedule {
                        initial: parse(initial.trim(), rule)?,
                        growth: parse(growth.trim(), rule)?,
                    })
                };
                self.batches = value
                    .split(',')
                    .map(schedule)
                    .collect::<Result<_, Error>>()?;
            }
            "batch-share" => self.batch_share = number()?,
            "explore-share" => self.exploration.get_or_insert(explore).share = number()?,
            "explore-every" => self.exploration.get_or_insert(explore).every = count()?,
            "explore-runs" => self.exploration.get_or_insert(explore).runs = count()?,
            "explore-steps" => self.exploration.get_or_insert(explore).steps = count()?,
            "holes" => self.holes.get_or_insert(holes).holes = count()?,
            "hole-runs" => self.holes.get_or_insert(holes).runs = count()?,
            "hole-between" => self.holes.get_or_insert(holes).between = flag()?,
            "thinning" => self.thinning = Some(number()?).filter(|share| *share != 0.0),
            "active" => self.most_active = count()?,
            "max-steps" => self.most_steps = count()?,
            "patience" => self.patience = count()?,
            "metric" => self.metric = flag()?,
            _ => return unknown(name),
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), Error> {
        // Bounds far beyond any use, so that a slip of the finger does not fill the memory.
        let counts = [
            ("runs", self.runs, 1, 1_000),
            ("steps", self.steps, 1, 1_000_000),
            ("points", self.most_points, 1, 100_000_000),
            ("max-steps", self.most_steps, 1, usize::MAX),
            ("active", self.most_active, 1, usize::MAX),
            ("step-every", self.step_every, 1, usize::MAX),
            ("starts", self.n_starts, 0, 1_000_000),
            ("perturbations", self.perturbations, 0, 1_000),
            ("holes", self.holes.map_or(0, |h| h.holes), 0, 1_000_000),
            ("hole-runs", self.holes.map_or(0, |h| h.runs), 0, 1_000),
            (
                "explore-runs",
                self.exploration.map_or(0, |e| e.runs),
                0,
                1_000,
            ),
            (
                "explore-steps",
                self.exploration.map_or(0, |e| e.steps),
                0,
                1_000_000,
            ),
        ];
        for (setting, value, least, most) in counts {
            if value < least {
                return wrong(setting, value.to_string(), "at least 1");
            }
            if value > most {
                return wrong(
                    setting,
                    value.to_string(),
                    "a smaller number: it would take too long",
                );
            }
        }
        Ok(())
    }

    /// Says what cannot be right.
    pub fn check(&self, n_params: usize) -> Result<(), Error> {
        self.check_counts()?;
        let positive = [
            ("step", self.step),
            ("step-factor", self.step_factor),
            ("batch-share", self.batch_share),
        ];
        for (setting, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return wrong(setting, value.to_string(), "a positive number");
            }
            if value > 1e6 {
                return wrong(setting, value.to_string(), "at most 1e6");
            }
        }
        if self.batch_share > 1.0 {
            return wrong("batch-share", self.batch_share.to_string(), "at most 1");
        }
        let radii = [
            ("start-radius", self.start_radius),
            ("perturbation-radius", self.perturbation_radius),
        ];
        for (setting, value) in radii {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(setting, value.to_string(), "a number that is not negative");
            }
        }
        if !(self.softening >= 1.0 && self.softening <= 1e6) {
            let rule = "at least 1 and at most 1,000,000";
            return wrong("softening", self.softening.to_string(), rule);
        }
        if self.batches.is_empty() {
            return wrong("batches", "empty".into(), "one schedule at least");
        }
        for batch in &self.batches {
            if !(batch.initial.is_finite() && batch.initial >= 1.0) {
                return wrong("batch size", batch.initial.to_string(), "at least 1");
            }
            if !(batch.growth.is_finite() && batch.growth > 0.0) {
                return wrong(
                    "batch growth",
                    batch.growth.to_string(),
                    "a positive number",
                );
            }
        }
        if let Some(explore) = &self.exploration {
            let share = explore.share;
            if !(share.is_finite() && (0.0..=1.0).contains(&share)) {
                return wrong("explore-share", share.to_string(), "between 0 and 1");
            }
            if explore.every == 0 {
                return wrong("explore-every", "0".into(), "at least 1");
            }
        }
        if let Some(share) = self.thinning
            && !(share.is_finite() && share > 0.0 && share < 1.0)
        {
            return wrong("thinning", share.to_string(), "between 0 and 1");
        }
        match &self.starts {
            Some(starts) if starts.n_params() != n_params => wrong(
                "starting list",
                format!("of points with {} parameters", starts.n_params()),
                "of points with as many parameters as the problem",
            ),
            Some(starts) if starts.is_empty() => {
                wrong("starting list", "empty".into(), "not empty")
            }
            Some(starts) if starts.as_slice().iter().any(|v| !v.is_finite()) => {
                wrong("starting list", "not finite".into(), "finite")
            }
            None if self.n_starts == 0 && !self.anchors => {
                wrong("starts", "0".into(), "at least 1")
            }
            _ => Ok(()),
        }
    }
}
