use super::smooth::{boltzmann, log_mean_exp};
use super::{Condition, Means, Objective, OfRoots, Output, Root, Squares};
use crate::engine::{Cells, Labels, Statistics};
use crate::measure::Measure;
use crate::{Attribute, Error};

/// The mean that is subtracted from the attribute's indicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Center {
    /// `E[a | Y = ±1]`, over the rows that count.
    #[default]
    Conditioned,
    /// `E[a]`, as in the paper.
    All,
}

/// The smooth approximation of the maximum of several squared covariances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SmoothMax {
    /// Σ vᵢ e^{βvᵢ} / Σ e^{βvᵢ}, as in the paper.
    #[default]
    Boltzmann,
    /// (1/β) log(mean of e^{βvᵢ}): convex and monotone, 0 if all are 0.
    LogSumExp,
}

/// The squared covariance of a sensitive attribute with the score, or with a stand-in for errors;
/// for more than two groups, a smooth maximum over the groups' indicators.
#[derive(Debug, Clone)]
pub struct Covariance {
    /// The rows that count, and thereby the quantity that should not correlate with the attribute:
    /// the score on all rows; smooth-min(0, φ), a stand-in for false negatives, on rows with y =
    /// +1; or smooth-min(0, −φ), a stand-in for false positives, on rows with y = −1.
    pub given: Condition,
    /// Position of the attribute among those of the schema.
    pub attribute: usize,
    /// Its name.
    pub attribute_name: String,
    /// Number of its groups.
    pub n_groups: usize,
    /// Sharpness of the smooth maximum; 8 by default.
    pub beta: f64,
    /// Half width of the smooth corner of smooth-min; 1e-5 by default.
    pub mu: f64,
    /// The mean that is subtracted from the indicators.
    pub center: Center,
    /// The smooth maximum.
    pub smooth_max: SmoothMax,
    /// Whether scores are predictions of a number, not of a decision.
    pub of_number: bool,
}

impl Covariance {
    /// The objective with default settings; `attribute` is at position `index` of the schema.
    pub fn new(given: Condition, index: usize, attribute: &Attribute) -> Self {
        Self {
            given,
            attribute: index,
            attribute_name: attribute.name.clone(),
            n_groups: attribute.groups.len(),
            beta: 8.0,
            mu: 1e-5,
            center: Center::default(),
            smooth_max: SmoothMax::default(),
            of_number: false,
        }
    }

    /// The statistic ψ(φ) of a row that counts.
    fn psi(&self) -> Output {
        let sign = match self.given {
            Condition::All => return Output::Score,
            Condition::Positive => 1.0,
            Condition::Negative => -1.0,
        };
        Output::Shortfall { mu: self.mu, sign }
    }

    /// The first group whose indicator is used; for two groups, one indicator is enough.
    fn first_group(&self) -> usize {
        usize::from(self.n_groups == 2)
    }

    fn n_indicators(&self) -> usize {
        self.n_groups - self.first_group()
    }

    /// The smooth maximum of squares, with its derivative.
    fn maximum(&self, squares: &[f64], slope: &mut [f64]) -> f64 {
        match (squares, self.smooth_max) {
            ([one], _) => {
                slope[0] = 1.0;
                *one
            }
            (_, SmoothMax::Boltzmann) => boltzmann(squares, self.beta, slope),
            (_, SmoothMax::LogSumExp) => log_mean_exp(squares, self.beta, slope),
        }
    }

    /// The setting that names the rows that count, if not all rows do.
    fn given_setting(&self) -> Option<&'static str> {
        match self.given {
            Condition::All => None,
            Condition::Positive => Some("given=positive"),
            Condition::Negative => Some("given=negative"),
        }
    }

    /// The label of the rows that indicators are centered on.
    fn centered_on(&self) -> Option<f64> {
        match self.center {
            Center::Conditioned => self.given.label(),
            Center::All => None,
        }
    }
}

impl Objective for Covariance {
    fn name(&self) -> String {
        match self.given_setting() {
            None => format!("score_covariance({})", self.attribute_name),
            Some(given) => format!("score_covariance({}, {given})", self.attribute_name),
        }
    }

    fn definition(&self) -> String {
        let mut settings = vec![self.attribute_name.clone()];
        settings.extend(self.given_setting().map(String::from));
        if self.given.label().is_some() {
            settings.push(format!("mu={}", self.mu));
            settings.push(match self.center {
                Center::Conditioned => "center=conditioned".into(),
                Center::All => "center=all".into(),
            });
        }
        // One covariance is its own maximum.
        if self.n_groups > 2 {
            settings.push(format!("beta={}", self.beta));
            settings.push(match self.smooth_max {
                SmoothMax::Boltzmann => "smooth_max=boltzmann".into(),
                SmoothMax::LogSumExp => "smooth_max=lse".into(),
            });
        }
        format!("score_covariance({})", settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        let labels = match self.given {
            Condition::All => Labels::Together,
            Condition::Positive => Labels::Positive,
            Condition::Negative => Labels::Negative,
        };
        let attribute = Some(self.attribute);
        Statistics::ByCell {
            output: self.psi(),
            cells: Cells { attribute, labels },
        }
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        let roots = self.roots(means);
        let squares: Vec<f64> = roots.iter().map(|c| c.value * c.value).collect();
        let mut by_square = vec![0.0; squares.len()];
        let value = self.maximum(&squares, &mut by_square);
        slope.fill(0.0);
        for (root, by_square) in roots.iter().zip(by_square) {
            let d = 2.0 * root.value * by_square;
            for (slope, by_mean) in slope.iter_mut().zip(&root.slope) {
                *slope += d * by_mean;
            }
        }
        Ok(value)
    }

    fn squares(&self) -> Option<&dyn Squares> {
        Some(self)
    }

    fn measure(&self) -> Option<Measure> {
        let attribute = self.attribute;
        Some(match self.given {
            Condition::All if self.of_number => Measure::MeanDifference { attribute },
            Condition::All => Measure::DemographicParity { attribute },
            Condition::Positive => Measure::EqualOpportunity { attribute },
            Condition::Negative => Measure::FalsePositiveRate { attribute },
        })
    }

    /// Squares of linear scores are convex, and so is their log-sum-exp, which increases in each of
    /// them. The Boltzmann maximum S of K squares v is convex where βv ≤ 1 for all of them
    /// (docs/explanation/method.md), and S ≥ max v / K.
    fn convex_below(&self) -> Option<f64> {
        match (self.given, self.n_indicators(), self.smooth_max) {
            (Condition::All, 1, _) | (Condition::All, _, SmoothMax::LogSumExp) => {
                Some(f64::INFINITY)
            }
            (Condition::All, k, SmoothMax::Boltzmann) => Some(1.0 / (self.beta * k as f64)),
            _ => None,
        }
    }
}

impl Squares for Covariance {
    fn n_roots(&self) -> usize {
        self.n_indicators()
    }

    /// The covariances `E[aᵢψ] − āᵢ E[ψ]`.
    fn roots(&self, means: &Means<'_>) -> Vec<Root> {
        let label = self.centered_on();
        let total: f64 = (0..self.n_groups).map(|g| means.share(g, label)).sum();
        let psi: f64 = means.values.iter().sum();
        let root = |group: usize| {
            let share = match total > 0.0 {
                true => means.share(group, label) / total,
                false => 0.0,
            };
            let mut slope = vec![-share; self.n_groups];
            slope[group] += 1.0;
            Root {
                value: means.values[group] - share * psi,
                slope,
            }
        };
        (self.first_group()..self.n_groups).map(root).collect()
    }

    fn of_roots(&self, roots: &[f64]) -> OfRoots {
        let n = roots.len();
        let squares: Vec<f64> = roots.iter().map(|c| c * c).collect();
        let mut by_square = vec![0.0; n];
        let value = self.maximum(&squares, &mut by_square);
        let slope = roots.iter().zip(&by_square).map(|(c, d)| 2.0 * c * d);
        let slope: Vec<f64> = slope.collect();
        let mut curvature = vec![0.0; n * n];
        // Second derivatives of the smooth maximum with respect to two squares, where p is the
        // softmax: βpᵢ(δᵢⱼ(aᵢ + 1) − pⱼ(aᵢ + aⱼ)) for Boltzmann, whose first derivatives are pᵢaᵢ;
        // βpᵢ(δᵢⱼ − pⱼ) for log-sum-exp.
        let largest = squares.iter().copied().fold(0.0, f64::max);
        let e = squares.iter().map(|v| libm::exp(self.beta * (v - largest)));
        let e: Vec<f64> = e.collect();
        let total: f64 = e.iter().sum();
        for i in 0..n {
            for j in 0..n {
                let (p, q) = (e[i] / total, e[j] / total);
                let a = |i: usize| 1.0 + self.beta * (squares[i] - value);
                let same = if i == j { 1.0 } else { 0.0 };
                let by_squares = match (n, self.smooth_max) {
                    (1, _) => 0.0,
                    (_, SmoothMax::Boltzmann) => {
                        self.beta * p * (same * (a(i) + 1.0) - q * (a(i) + a(j)))
                    }
                    (_, SmoothMax::LogSumExp) => self.beta * p * (same - q),
                };
                curvature[i * n + j] =
                    4.0 * roots[i] * roots[j] * by_squares + same * 2.0 * by_square[i];
            }
        }
        OfRoots {
            value,
            slope,
            curvature,
        }
    }
}
