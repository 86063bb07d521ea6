//! Intervals of measures: pointwise, and simultaneous over all models of a front.

use fairfront_core::{
    Costs, Decided, MOST_PAIRS, MOST_REDRAWN, Measure, NumberChanges, Redrawn, Schema, Tallies,
    normal_quantile,
};
use fairfront_pareto::{Values, nondominated};
use serde::{Deserialize, Serialize};

use super::family::{Family, Gradient};
use crate::Error;

/// Share of samples in which an interval should contain the true value.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Number of redraws of the rows.
pub(crate) const REPLICATES: usize = 1_000;
/// Levels whose quantiles are stored; ten replicates lie beyond the last one.
const LEVELS: [f64; 7] = [0.5, 0.8, 0.9, 0.95, 0.975, 0.98, 0.99];
/// Number of replicates whose results are in memory at a time.
const CHUNK: usize = 128;
/// The same from [`FEWER_FROM`] rows on, where redraws take long.
const FEW: usize = 32;
const FEWER_FROM: u64 = 100_000;
/// The largest number of sums per replicate; 16 replicates are in memory per thread.
const MOST_SUMS: usize = 1 << 20;
/// The seed of redraws. It is constant because the rows already depend on the run's seed.
pub(crate) const SEED: u64 = 0;

/// How far a simultaneous band extends to either side of each contrast of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The measure.
    pub measure: String,
    /// Number of contrasts that the band covers together: pairs of groups times models.
    pub contrasts: usize,
    /// Levels, and quantiles of the largest deviation in standard errors.
    pub quantiles: Vec<[f64; 2]>,
}

impl Band {
    /// The number of standard errors to either side at a level: the stored quantile of the next
    /// higher level, or Bonferroni's bound beyond the last one.
    pub(crate) fn reach(&self, level: f64) -> f64 {
        let stored = self.quantiles.iter().find(|[at, _]| *at >= level - 1e-12);
        match stored {
            Some([_, quantile]) => *quantile,
            None => bonferroni(level, self.contrasts),
        }
    }
}

/// The number of standard errors to either side that holds for `contrasts` contrasts at once.
fn bonferroni(level: f64, contrasts: usize) -> f64 {
    -normal_quantile((1.0 - level) / (2.0 * contrasts.max(1) as f64))
}

/// Intervals from redraws of the rows, with the unmitigated model last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Intervals {
    pub(crate) bands: Vec<Band>,
    /// Column names without the split, and one value per model.
    pub(crate) columns: Vec<(String, Vec<Option<f64>>)>,
    /// The largest share of replicates that lack the rows a measure needs.
    pub(crate) left_out: f64,
}

/// Which columns to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Only changes relative to the unmitigated model.
    Changes,
    /// Only the bands, without any columns.
    Bands,
    /// Everything.
    All,
}

/// Knowledge about the rows besides the tallies.
pub(crate) enum Known<'a> {
    /// The decisions on each row, to be redrawn.
    Decisions(&'a Decided),
    /// Differences between predicted numbers; `None` if they are not known.
    Changes(Option<&'a NumberChanges>),
}

/// Whether decisions of this many models can be redrawn. With many classes and groups, they have too many sums.
pub(super) fn can_redraw(schema: &Schema, n_models: usize) -> bool {
    Decided::sums_per_replicate(schema, n_models) <= MOST_SUMS
}

/// Redraws the rows of these decisions. `judged` lists the measures by which models are compared.
/// Without decisions or replicates, bands are Bonferroni's. Changes of predicted numbers have intervals if
/// differences between them are known; other changes need replicates. Returns `None` if the work was stopped
/// before all replicates were complete.
pub(crate) fn intervals(
    known: &Known<'_>,
    tallies: &Tallies,
    schema: &Schema,
    judged: &[Measure],
    key: u64,
    scope: Scope,
    (replicates, is_over): (usize, &dyn Fn() -> bool),
) -> Result<Option<Intervals>, Error> {
    let replicates = match can_redraw(schema, tallies.n_models()) {
        true => replicates,
        false => 0,
    };
    let mut families = Family::all(schema);
    if scope == Scope::Changes {
        families.retain(Family::is_overall);
    }
    let mut found = Redraws::new(&families, tallies, replicates > 0);
    found.by_class = schema
        .target
        .classes()
        .is_none_or(|c| c.len() <= MOST_PAIRS);
    let compared = compared(&families, judged, schema);
    let decisions = match known {
        Known::Decisions(decisions) => decisions,
        Known::Changes(changes) => {
            found.number_changes = *changes;
            return Ok(Some(found.finish(scope, false, 0)));
        }
    };
    let mut done = 0;
    // Beyond a million rows, each chunk has a fixed cost.
    let many = FEWER_FROM..=MOST_REDRAWN as u64;
    let chunk = match many.contains(&decisions.n_rows()) {
        true => FEW,
        false => CHUNK,
    };
    while done < replicates {
        if is_over() {
            return Ok(None);
        }
        let n = chunk.min(replicates - done);
        let made = decisions.redraw(SEED, key, done..done + n, |redrawn| {
            found.of(redrawn, compared.as_deref())
        });
        for made in made {
            found.add(made?);
        }
        done += n;
    }
    Ok(Some(found.finish(
        scope,
        compared.is_some() && replicates > 0,
        replicates,
    )))
}

/// A value by which models are compared; less is better.
#[derive(Debug, Clone, Copy)]
enum Compared {
    /// The mean cost of errors.
    Cost(Costs),
    /// The family at this position.
    Family(usize),
}

/// The values by which models are compared; `None` if one of the measures cannot be redrawn.
fn compared(families: &[Family], judged: &[Measure], schema: &Schema) -> Option<Vec<Compared>> {
    if judged.len() < 2 {
        return None;
    }
    let find = |measure: &Measure| match measure {
        Measure::ErrorRate(costs) => Some(Compared::Cost(*costs)),
        // The log loss cannot be computed from decisions; the error rate stands in.
        Measure::LogLoss => Some(Compared::Cost(Costs::EQUAL)),
        other => {
            let name = other.name(schema);
            let at = families.iter().position(|family| family.name == name)?;
            Some(Compared::Family(at))
        }
    };
    judged.iter().map(find).collect()
}

/// Contrasts of a model in a family: estimates and the inverses of their standard errors.
type Signed = Vec<Option<(f64, f64)>>;

/// The contrasts of a model.
fn signed(family: &Family, tallies: &Tallies, model: usize) -> Signed {
    let all = family.signed(tallies, model).into_iter();
    let inverse = |(value, error): (f64, f64)| (value, 1.0 / error);
    all.map(|found| found.map(inverse).filter(|(_, e)| e.is_finite()))
        .collect()
}

/// One replicate.
struct Replicate {
    /// The largest deviation of each family, in standard errors; `None` if rows are missing.
    largest: Vec<Option<f64>>,
    /// The largest deviation of each model, for families of several contrasts.
    of_models: Vec<Vec<Option<f32>>>,
    /// Values of overall families, one per model.
    values: Vec<Vec<Option<f64>>>,
    /// Which models are nondominated.
    best: Option<Vec<bool>>,
}

struct Redraws<'a> {
    families: &'a [Family],
    tallies: &'a Tallies,
    n_models: usize,
    signed: Vec<Vec<Signed>>,
    values: Vec<Vec<Option<f64>>>,
    largest: Vec<Vec<f64>>,
    of_models: Vec<Vec<Vec<f32>>>,
    /// For each overall family and model: the number of replicates, the sum of the values, and the
    /// sums of d and d². d is the change relative to the unmitigated model minus the estimated
    /// change.
    sums: Vec<Vec<[f64; 4]>>,
    best: Vec<f64>,
    compared: f64,
    number_changes: Option<&'a NumberChanges>,
    /// Whether measures of single classes have columns.
    by_class: bool,
}

impl<'a> Redraws<'a> {
    fn new(families: &'a [Family], tallies: &'a Tallies, redraws: bool) -> Self {
        let n_models = tallies.n_models();
        // Redraws are compared with the estimates; there may be many, so that only redraws keep them.
        let signed = |family: &Family| -> Vec<Signed> {
            let of = |model: usize| signed(family, tallies, model);
            match redraws {
                true => (0..n_models).map(of).collect(),
                false => Vec::new(),
            }
        };
        let values = |family: &Family| -> Vec<Option<f64>> {
            let of = |model: usize| family.estimate(tallies, model);
            (0..n_models).map(of).collect()
        };
        let several = |family: &Family| match family.is_single() {
            true => Vec::new(),
            false => vec![Vec::new(); n_models],
        };
        Self {
            signed: families.iter().map(signed).collect(),
            values: families.iter().map(values).collect(),
            largest: vec![Vec::new(); families.len()],
            of_models: families.iter().map(several).collect(),
            sums: vec![vec![[0.0; 4]; n_models]; families.len()],
            best: vec![0.0; n_models],
            compared: 0.0,
            number_changes: None,
            by_class: true,
            families,
            tallies,
            n_models,
        }
    }

    fn of(&self, redrawn: &Redrawn, compared: Option<&[Compared]>) -> Result<Replicate, Error> {
        let mut replicate = Replicate {
            largest: Vec::with_capacity(self.families.len()),
            of_models: Vec::with_capacity(self.families.len()),
            values: Vec::with_capacity(self.families.len()),
            best: None,
        };
        for (family, signed) in self.families.iter().zip(&self.signed) {
            let mut largest = Some(0.0_f64);
            let mut of_models = Vec::new();
            for model in 0..self.n_models {
                let mut estimates = signed[model].iter();
                let mut of_model = Some(0.0_f64);
                family.each_redrawn(redrawn, model, |value| {
                    // Contrasts without a standard error get a different kind of interval.
                    if let Some(Some((estimate, inverse))) = estimates.next() {
                        of_model = match (of_model, value) {
                            (Some(most), Some(value)) => {
                                Some(most.max((value - estimate).abs() * inverse))
                            }
                            _ => None,
                        };
                    }
                });
                largest = match (largest, of_model) {
                    (Some(most), Some(own)) => Some(most.max(own)),
                    _ => None,
                };
                if !family.is_single() {
                    of_models.push(of_model.map(|v| v as f32));
                }
            }
            replicate.largest.push(largest);
            replicate.of_models.push(of_models);
            let value =
                |model: usize| family.value(|rate, region| redrawn.rate(model, rate, region));
            replicate.values.push(match family.is_overall() {
                true => (0..self.n_models).map(value).collect(),
                false => Vec::new(),
            });
        }
        if let Some(compared) = compared {
            replicate.best = self.best(redrawn, &replicate.values, compared)?;
        }
        Ok(replicate)
    }

    /// Which models of the front are nondominated.
    fn best(
        &self,
        redrawn: &Redrawn,
        values: &[Vec<Option<f64>>],
        compared: &[Compared],
    ) -> Result<Option<Vec<bool>>, Error> {
        let n = self.n_models - 1;
        let mut all = Vec::with_capacity(n * compared.len());
        for model in 0..n {
            for measure in compared {
                let value = match *measure {
                    Compared::Cost(costs) => {
                        redrawn.cost(model, costs.false_positive, costs.false_negative)
                    }
                    Compared::Family(family) => values[family][model],
                };
                let Some(value) = value else {
                    return Ok(None);
                };
                all.push(value);
            }
        }
        if n == 0 {
            return Ok(None);
        }
        let m = compared.len();
        let of = |model: usize| &all[model * m..(model + 1) * m];
        let by_value = |a: &[f64], b: &[f64]| {
            let ordered = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            ordered.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        };
        let mut kept: Vec<&[f64]> = nondominated(Values::new(&all, m)?)
            .into_iter()
            .map(of)
            .collect();
        kept.sort_by(|a, b| by_value(a, b));
        // Models that equal a nondominated one are nondominated too.
        let is_best = |model: usize| {
            kept.binary_search_by(|own| by_value(own, of(model)))
                .is_ok()
        };
        Ok(Some((0..n).map(is_best).collect()))
    }

    fn add(&mut self, replicate: Replicate) {
        for (all, largest) in self.largest.iter_mut().zip(replicate.largest) {
            all.extend(largest);
        }
        for (all, own) in self.of_models.iter_mut().zip(replicate.of_models) {
            for (all, own) in all.iter_mut().zip(own) {
                all.extend(own);
            }
        }
        for (family, values) in replicate.values.iter().enumerate() {
            let Some(Some(unmitigated)) = values.last() else {
                continue;
            };
            let estimate = |model: usize| self.values[family][model];
            let last = self.n_models - 1;
            for model in 0..values.len() {
                let (Some(value), Some(own), Some(base)) =
                    (values[model], estimate(model), estimate(last))
                else {
                    continue;
                };
                let off = (value - unmitigated) - (own - base);
                let sums = &mut self.sums[family][model];
                for (sum, more) in sums.iter_mut().zip([1.0, value, off, off * off]) {
                    *sum += more;
                }
            }
        }
        if let Some(best) = replicate.best {
            self.compared += 1.0;
            for (sum, best) in self.best.iter_mut().zip(best) {
                *sum += f64::from(u8::from(best));
            }
        }
    }

    fn finish(mut self, scope: Scope, compared: bool, replicates: usize) -> Intervals {
        let total = replicates as f64;
        let mut left_out = 0.0_f64;
        let mut bands = Vec::new();
        let mut columns: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        let z = normal_quantile(0.5 + 0.5 * CONFIDENCE);
        for (at, family) in self.families.iter().enumerate() {
            let of_models: Vec<usize> = (0..self.n_models)
                .map(|model| match self.signed[at].get(model) {
                    Some(signed) => signed.iter().flatten().count(),
                    None => signed(family, self.tallies, model).iter().flatten().count(),
                })
                .collect();
            let contrasts = of_models.iter().sum();
            // If a group has no rows at all, no redraw was left out by chance. Rates of single
            // groups have their own intervals.
            if contrasts > 0 && family.is_overall() && replicates > 0 {
                left_out = left_out.max(1.0 - self.largest[at].len() as f64 / total);
            }
            self.largest[at].sort_by(f64::total_cmp);
            let largest = &self.largest[at];
            let quantiles = match replicates {
                0 => Vec::new(),
                _ => LEVELS
                    .map(|level| [level, quantile(largest, level, z)])
                    .to_vec(),
            };
            let band = Band {
                measure: family.name.clone(),
                contrasts,
                quantiles,
            };
            let simultaneous = band.reach(CONFIDENCE);
            let has_columns = self.by_class || !family.is_of_class();
            if scope == Scope::All && has_columns {
                let pointwise = |model: usize| match self.of_models[at].get(model) {
                    Some(_) if replicates == 0 => bonferroni(CONFIDENCE, of_models[model]),
                    Some(own) => {
                        let mut own: Vec<f64> = own.iter().map(|v| f64::from(*v)).collect();
                        own.sort_by(f64::total_cmp);
                        quantile(&own, CONFIDENCE, z)
                    }
                    None => z,
                };
                let ends = |reach: &dyn Fn(usize) -> f64| -> Vec<Option<(f64, f64)>> {
                    (0..self.n_models)
                        .map(|model| {
                            self.values[at][model]?;
                            family.interval(self.tallies, model, reach(model))
                        })
                        .collect()
                };
                let own = ends(&pointwise);
                let all = ends(&|_| simultaneous);
                let mut column = |end: &str, values: Vec<Option<f64>>| {
                    columns.push((format!("{}.{end}", family.name), values));
                };
                column("low", own.iter().map(|v| v.map(|v| v.0)).collect());
                column("high", own.iter().map(|v| v.map(|v| v.1)).collect());
                column("band_low", all.iter().map(|v| v.map(|v| v.0)).collect());
                column("band_high", all.iter().map(|v| v.map(|v| v.1)).collect());
            }
            if scope != Scope::Bands && family.is_overall() && has_columns {
                let changes = self.changes(at, z);
                let mut column = |end: &str, values: Vec<Option<f64>>| {
                    columns.push((format!("{}.{end}", family.name), values));
                };
                column(
                    "change_low",
                    changes.iter().map(|v| v.map(|v| v.0)).collect(),
                );
                column(
                    "change_high",
                    changes.iter().map(|v| v.map(|v| v.1)).collect(),
                );
                if scope == Scope::All && !family.is_single() {
                    column("bias", self.biases(at));
                }
            }
            bands.push(band);
        }
        if scope == Scope::All && compared {
            let share = |model: usize| {
                let front = model + 1 < self.n_models && self.compared > 0.0;
                front.then(|| self.best[model] / self.compared)
            };
            let shares = (0..self.n_models).map(share).collect();
            columns.push(("probability_nondominated".into(), shares));
        }
        Intervals {
            bands,
            columns,
            left_out,
        }
    }

    /// The ends of each model's change relative to the unmitigated model; `None` for that model.
    fn changes(&self, family: usize, z: f64) -> Vec<Option<(f64, f64)>> {
        let last = self.n_models - 1;
        let of = |model: usize| {
            let [n, _, sum, squares] = self.sums[family][model];
            let change = self.values[family][model]? - self.values[family][last]?;
            if let Some(changes) = self.number_changes {
                let error = self.error_of_change(changes, &self.families[family], model, z)?;
                return (model != last).then_some((change - z * error, change + z * error));
            }
            let mean = sum / n;
            let reach = z * (squares / n - mean * mean).max(0.0).sqrt();
            (n > 0.0 && model != last).then_some((change - reach, change + reach))
        };
        (0..self.n_models).map(of).collect()
    }

    /// The standard error of the change of a measure relative to the unmitigated model, by the delta method. The
    /// largest of several variables varies no more than the one that varies most, so that the largest error
    /// counts if samples could have other extreme groups.
    fn error_of_change(
        &self,
        changes: &NumberChanges,
        family: &Family,
        model: usize,
        z: f64,
    ) -> Option<f64> {
        let numbers = self.tallies.numbers.as_ref()?;
        let (of, own) = family.gradients(self.tallies, model, z)?;
        let (_, base) = family.gradients(self.tallies, self.n_models - 1, z)?;
        let slope = |all: &Gradient, region: usize| -> f64 {
            let own = all.iter().filter(|(of, _)| *of == region);
            own.map(|(_, slope)| slope).sum()
        };
        let variance = |own: &Gradient, base: &Gradient| -> f64 {
            let mut regions: Vec<usize> =
                own.iter().chain(base).map(|(region, _)| *region).collect();
            regions.sort_unstable();
            regions.dedup();
            // The regions of a measure have no row in common.
            let variances = regions.into_iter().map(|region| {
                let slopes = [slope(own, region), slope(base, region)];
                changes.variance(numbers, model, of, region, slopes)
            });
            variances.sum()
        };
        // In a sample, similar models have the same extreme groups.
        let partner = |of: &Gradient, others: &[Gradient]| -> Option<Gradient> {
            let regions = |of: &Gradient| of.iter().map(|(region, _)| *region).collect::<Vec<_>>();
            let same = others.iter().find(|other| regions(other) == regions(of));
            same.or(others.first()).cloned()
        };
        let mut largest = variance(own.first()?, base.first()?);
        for of_model in &own {
            largest = largest.max(variance(of_model, &partner(of_model, &base)?));
        }
        for of_base in &base {
            largest = largest.max(variance(&partner(of_base, &own)?, of_base));
        }
        largest.is_finite().then(|| largest.sqrt())
    }

    /// How much higher a measure is in redraws than in the rows. This estimates how much higher it
    /// is in the rows than in the population.
    fn biases(&self, family: usize) -> Vec<Option<f64>> {
        let of = |model: usize| {
            let [n, sum, ..] = self.sums[family][model];
            let value = self.values[family][model]?;
            (n > 0.0).then(|| sum / n - value)
        };
        (0..self.n_models).map(of).collect()
    }
}

/// The smallest deviation that at least a share `level` of the sorted ones do not exceed, or `z`.
fn quantile(sorted: &[f64], level: f64, z: f64) -> f64 {
    let at = (level * sorted.len() as f64).ceil() as usize;
    let found = sorted.get(at.saturating_sub(1)).copied();
    found.filter(|q| *q > 0.0).unwrap_or(z)
}
