use std::ops::Bound::{Excluded, Included, Unbounded};

use fairfront_core::{OuterBatch, Points};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::setting::{Declared, Declares, Kind, Value, field, wrong};

/// Rows drawn for an objective at step k: initial · growth^k, capped at a share of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchSchedule {
    /// Rows at the first step.
    pub initial: f64,
    /// Growth factor per step.
    pub growth: f64,
}

/// Steps along a single objective, which widen the front.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// Share of the budget with exploration; 0.4 by default.
    pub share: f64,
    /// Number of steps k between two explorations.
    pub every: usize,
    /// Number of restarts per point.
    pub runs: usize,
    /// Number of steps per restart.
    pub steps: usize,
}

/// Extra restarts at holes in the front.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HoleFilling {
    /// Number of largest holes.
    pub holes: usize,
    /// Number of restarts per hole.
    pub runs: usize,
    /// Whether restarts begin between the two points next to the hole rather than at them. If
    /// objectives are convex, such a point is nearly on the front.
    pub between: bool,
}

/// PF-SMG, which computes Pareto fronts by stochastic multi-gradient steps, with its settings.
/// [`PfSmg::default`] has our settings, robust without tuning; [`PfSmg::paper`] has those of the
/// paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PfSmg {
    /// Starting list; if `None`, `n_starts` points are drawn.
    #[serde(skip)]
    pub starts: Option<Points>,
    /// Number of starting points to draw, each coordinate uniform in ±`start_radius`.
    pub n_starts: usize,
    /// Half width of the starting box.
    pub start_radius: f64,
    /// Whether the list also starts from the unmitigated model, the minima of the other
    /// objectives near it, and points between them.
    pub anchors: bool,
    /// r: number of perturbed copies per listed point and round.
    pub perturbations: usize,
    /// Their distance: each coordinate is uniform in ± this value.
    pub perturbation_radius: f64,
    /// p1: number of restarts per point and round.
    pub runs: usize,
    /// p2: number of steps per restart.
    pub steps: usize,
    /// α0.
    pub step: f64,
    /// α is multiplied by this …
    pub step_factor: f64,
    /// … each time k passes a multiple of this.
    pub step_every: usize,
    /// Batch sizes, one schedule per objective; the last one applies to all further objectives.
    pub batches: Vec<BatchSchedule>,
    /// Maximum size of a batch, as a share of the rows.
    pub batch_share: f64,
    /// Steps along a single objective; `None` turns them off.
    pub exploration: Option<Exploration>,
    /// Extra restarts at holes; `None` turns them off.
    pub holes: Option<HoleFilling>,
    /// Points closer than this share of the range along every objective are thinned; `None` turns
    /// this off.
    pub thinning: Option<f64>,
    /// At most this many well-spread points of the list get restarts in a round.
    pub most_active: usize,
    /// The solver stops when the list holds this many points …
    #[serde(rename = "models")]
    pub most_points: usize,
    /// … or a trajectory has had this many steps …
    pub most_steps: usize,
    /// … or this many consecutive rounds improved the hypervolume (up to a tenth of the range
    /// beyond the starting front) by less than 5e-5 of itself (0 turns this off; needs at most four
    /// objectives). Each such round has shorter steps and larger batches than the one before.
    pub patience: usize,
    /// Whether steps use a preconditioner from second derivatives of the first objective,
    /// objectives are scaled to comparable curvature, and steps at a zero of a covariance keep it
    /// at zero.
    pub preconditioner: bool,
    /// For the first 40% of the budget, steps use temperatures of smooth objectives that are higher
    /// by this factor; 1 turns this off.
    pub softening: f64,
    /// The batch of the outer factor of a gradient; the paper uses the batch of the other factor.
    pub outer_batch: OuterBatch,
    /// Random seed.
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
            preconditioner: true,
            softening: 3.0,
            outer_batch: OuterBatch::Own,
            seed: 0,
        }
    }
}

impl PfSmg {
    /// The settings of one of the paper's experiments: p1, p2, α0, the interval of the step
    /// schedule, and the batch schedules.
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
            preconditioner: false,
            softening: 1.0,
            outer_batch: OuterBatch::Shared,
            ..Self::default()
        }
    }
}

/// The initial exploration, before its settings change it one by one.
const EXPLORATION: Exploration = Exploration {
    share: 0.0,
    every: 15,
    runs: 2,
    steps: 9,
};

/// The initial hole filling, before its settings change it one by one.
const HOLES: HoleFilling = HoleFilling {
    holes: 0,
    runs: 1,
    between: true,
};

macro_rules! explore {
    ($kind:ident, $field:ident) => {
        field!(
            $kind,
            |s| s.exploration.unwrap_or(EXPLORATION).$field,
            |s| s.exploration.get_or_insert(EXPLORATION).$field
        )
    };
}

macro_rules! hole {
    ($kind:ident, $field:ident) => {
        field!($kind, |s| s.holes.unwrap_or(HOLES).$field, |s| s
            .holes
            .get_or_insert(HOLES)
            .$field)
    };
}

impl Declares for PfSmg {
    const POINTS: Declared<Self> = Declared::new(
        "models",
        Kind::Count(1, 100_000_000),
        "maximum number of models on the front",
        field!(Count, most_points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "starts",
            Kind::Count(0, 1_000_000),
            "number of models drawn at random to start from",
            field!(Count, n_starts),
        ),
        Declared::new(
            "start-radius",
            Kind::Number(Included(0.0), Unbounded),
            "half-width of the box from which they are drawn",
            field!(Number, start_radius),
        ),
        Declared::new(
            "anchors",
            Kind::Flag,
            "also start from the minima of the objectives",
            field!(Flag, anchors),
        ),
        Declared::new(
            "perturbations",
            Kind::Count(0, 1_000),
            "number of perturbed copies per model and round (r)",
            field!(Count, perturbations),
        ),
        Declared::new(
            "perturbation-radius",
            Kind::Number(Included(0.0), Unbounded),
            "largest distance of these copies along a coordinate",
            field!(Number, perturbation_radius),
        ),
        Declared::new(
            "softening",
            Kind::Number(Included(1.0), Included(1e6)),
            "factor by which temperatures are higher in the first 40%; 1 turns it off",
            field!(Number, softening),
        ),
        Declared::new(
            "runs",
            Kind::Count(1, 1_000),
            "number of restarts per model and round (p1)",
            field!(Count, runs),
        ),
        Declared::new(
            "steps",
            Kind::Count(1, 1_000_000),
            "number of steps per restart (p2)",
            field!(Count, steps),
        ),
        Declared::new(
            "step",
            Kind::Number(Excluded(0.0), Included(1e6)),
            "step length (α0)",
            field!(Number, step),
        ),
        Declared::new(
            "step-factor",
            Kind::Number(Excluded(0.0), Included(1e6)),
            "factor by which the step length is multiplied every step-every steps",
            field!(Number, step_factor),
        ),
        Declared::new(
            "step-every",
            Kind::Count(1, usize::MAX),
            "number of steps after which step-factor is applied",
            field!(Count, step_every),
        ),
        Declared::new(
            "batches",
            Kind::Batches,
            "rows at step k, one schedule per objective: 80*1.018,50*1.018",
            field!(Batches, batches),
        ),
        Declared::new(
            "batch-share",
            Kind::Number(Excluded(0.0), Included(1.0)),
            "largest batch, as a share of the rows",
            field!(Number, batch_share),
        ),
        Declared::new(
            "explore-share",
            Kind::Number(Included(0.0), Included(1.0)),
            "share of the budget with steps along one objective; 0 turns them off",
            explore!(Number, share),
        ),
        Declared::new(
            "explore-every",
            Kind::Count(1, usize::MAX),
            "number of steps between two explorations along one objective",
            explore!(Count, every),
        ),
        Declared::new(
            "explore-runs",
            Kind::Count(0, 1_000),
            "number of restarts per model in an exploration",
            explore!(Count, runs),
        ),
        Declared::new(
            "explore-steps",
            Kind::Count(0, 1_000_000),
            "number of steps per restart in an exploration",
            explore!(Count, steps),
        ),
        Declared::new(
            "holes",
            Kind::Count(0, 1_000_000),
            "number of largest holes that get extra restarts; 0 turns them off",
            hole!(Count, holes),
        ),
        Declared::new(
            "hole-runs",
            Kind::Count(0, 1_000),
            "number of extra restarts per hole",
            hole!(Count, runs),
        ),
        Declared::new(
            "hole-between",
            Kind::Flag,
            "start them between the two models next to the hole",
            hole!(Flag, between),
        ),
        Declared::new(
            "thinning",
            Kind::Number(Included(0.0), Excluded(1.0)),
            "thin out models closer than this share of the range; 0 turns it off",
            (
                |s| Value::Number(s.thinning.unwrap_or(0.0)),
                |s, value| {
                    if let Value::Number(share) = value {
                        s.thinning = Some(share).filter(|share| *share != 0.0);
                    }
                },
            ),
        ),
        Declared::new(
            "active",
            Kind::Count(1, usize::MAX),
            "maximum number of models that get restarts per round",
            field!(Count, most_active),
        ),
        Declared::new(
            "max-steps",
            Kind::Count(1, usize::MAX),
            "maximum number of steps per trajectory",
            field!(Count, most_steps),
        ),
        Declared::new(
            "patience",
            Kind::Count(0, usize::MAX),
            "stop after this many rounds without improvement; 0 means never",
            field!(Count, patience),
        ),
        Declared::new(
            "preconditioner",
            Kind::Flag,
            "use second derivatives of the loss",
            field!(Flag, preconditioner),
        ),
    ];

    fn check_together(&self, n_params: usize) -> Result<(), Error> {
        match &self.starts {
            Some(starts) if starts.n_params() != n_params => wrong(
                "starting list",
                format!("a list of points with {} parameters", starts.n_params()),
                "a list of points with as many parameters as the problem".into(),
            ),
            Some(starts) if starts.is_empty() => {
                wrong("starting list", "empty".into(), "nonempty".into())
            }
            Some(starts) if starts.as_slice().iter().any(|v| !v.is_finite()) => {
                wrong("starting list", "not finite".into(), "finite".into())
            }
            None if self.n_starts == 0 && !self.anchors => {
                wrong("starts", "0".into(), "at least 1".into())
            }
            _ => Ok(()),
        }
    }
}
