//! The measures that can be tested: rates, and differences and ratios of rates between groups.

use std::ops::Range;

use fairfront_core::{
    Attribute, Cell, Classes, Contrast, Mean, Quantity, Rate, Redrawn, Schema, Tallies, Target,
    regions_of, wilson,
};

/// A measure made of binomial cells, or of means of predicted numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// The measure's name in the columns of a front, such as `demographic_parity_difference(sex)`.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Regions of groups that are too small for this comparison.
    pub(crate) left_out: Vec<usize>,
}

/// How a measure is computed from rates in regions of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A rate in one region.
    Rate { rate: Rate, region: usize },
    /// The largest minus the smallest rate over regions. With several rates, each with its own
    /// regions, the largest of these differences.
    Difference { terms: Vec<Term> },
    /// The smallest rate divided by the largest. With several rates, each with its own regions, the smallest
    /// of these ratios.
    Ratio { terms: Vec<Term> },
    /// The selection rate of a region divided by that of the reference group, or the ratio of their odds; of
    /// several regions, the smallest.
    Against {
        regions: Vec<usize>,
        reference: usize,
        odds: bool,
        /// Whether the measure is that of the attribute, rather than of one group.
        least: bool,
    },
    /// The mean of a quantity of predicted numbers, or its root.
    Mean { of: Averaged, region: usize },
    /// The largest minus the smallest mean over regions.
    MeanDifference { of: Quantity, regions: Vec<usize> },
    /// The largest mean over regions.
    Worst { of: Averaged, regions: Vec<usize> },
}

/// A rate and the regions that are compared in it.
pub(crate) type Term = (Rate, Vec<usize>);

/// Regions, each with the derivative of a measure by its mean.
pub(crate) type Gradient = Vec<(usize, f64)>;

/// A quantity of predicted numbers that is averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Averaged {
    pub(crate) quantity: Quantity,
    /// Whether the measure is the root of the mean.
    pub(crate) root: bool,
}

impl Averaged {
    const RMSE: Self = Self {
        quantity: Quantity::Squared,
        root: true,
    };
    const MAE: Self = Self {
        quantity: Quantity::Absolute,
        root: false,
    };

    /// The measure at a mean.
    fn measure(self, mean: f64) -> f64 {
        if self.root {
            mean.max(0.0).sqrt()
        } else {
            mean
        }
    }

    /// The mean at a value of the measure.
    fn mean(self, measure: f64) -> f64 {
        if self.root {
            measure.max(0.0) * measure.max(0.0)
        } else {
            measure
        }
    }
}

impl Family {
    /// All measures of rows with this schema that can be tested, in the order of the columns.
    pub(crate) fn all(schema: &Schema) -> Vec<Self> {
        match &schema.target {
            Target::Binary => {}
            Target::Classes(classes) => return Self::all_of_classes(schema, classes),
            Target::Number(_) => return Self::all_of_numbers(schema),
        }
        let rate = |name: String, rate: Rate, region: usize| Self {
            name,
            kind: Kind::Rate { rate, region },
            left_out: Vec::new(),
        };
        let mut all = vec![rate("accuracy".into(), Rate::Accuracy, 0)];
        for (index, attribute) in schema.attributes.iter().enumerate() {
            let (a, regions) = (&attribute.name, regions_of(schema, index));
            let compared = |rate: Rate| large(attribute, &regions, rate);
            let family = |name: &str, kind: Kind| Self {
                name: format!("{name}({a})"),
                left_out: left_out(&kind, &regions),
                kind,
            };
            let differences: [(&str, &[Rate]); 4] = [
                ("demographic_parity_difference", &[Rate::Selection]),
                ("equal_opportunity_difference", &[Rate::FalseNegative]),
                ("false_positive_rate_difference", &[Rate::FalsePositive]),
                (
                    "equalized_odds_difference",
                    &[Rate::FalseNegative, Rate::FalsePositive],
                ),
            ];
            all.extend(differences.map(|(name, rates)| {
                let terms = rates.iter().map(|rate| (*rate, compared(*rate)));
                family(
                    name,
                    Kind::Difference {
                        terms: terms.collect(),
                    },
                )
            }));
            let terms = vec![(Rate::Selection, compared(Rate::Selection))];
            all.push(family("demographic_parity_ratio", Kind::Ratio { terms }));
            all.extend(Self::against(attribute, &regions));
            for (group, region) in attribute.groups.iter().zip(regions.clone()) {
                let of_group = [
                    ("selection_rate", Rate::Selection),
                    ("false_negative_rate", Rate::FalseNegative),
                    ("false_positive_rate", Rate::FalsePositive),
                    ("accuracy", Rate::Accuracy),
                ];
                let of_group =
                    of_group.map(|(name, r)| rate(format!("{name}({a}={group})"), r, region));
                all.extend(of_group);
            }
        }
        all
    }

    /// The measures of an attribute against its reference group.
    fn against(attribute: &Attribute, own: &Range<usize>) -> Vec<Self> {
        let Some(reference) = attribute.reference.map(|g| own.start + g) else {
            return Vec::new();
        };
        let a = &attribute.name;
        let compared = attribute.compared_with_reference();
        let compared: Vec<usize> = compared.map(|g| own.start + g).collect();
        let others = own.clone().filter(|region| *region != reference);
        let left_out: Vec<usize> = others.clone().filter(|r| !compared.contains(r)).collect();
        let mut all = Vec::new();
        for (name, odds) in [("adverse_impact_ratio", false), ("odds_ratio", true)] {
            let kind = |regions: Vec<usize>, least: bool| Kind::Against {
                regions,
                reference,
                odds,
                least,
            };
            if !compared.is_empty() {
                all.push(Self {
                    name: format!("{name}({a})"),
                    kind: kind(compared.clone(), true),
                    left_out: left_out.clone(),
                });
            }
            all.extend(others.clone().map(|region| Self {
                name: format!("{name}({a}={})", attribute.groups[region - own.start]),
                kind: kind(vec![region], false),
                left_out: Vec::new(),
            }));
        }
        all
    }

    /// The same for decisions between classes.
    fn all_of_classes(schema: &Schema, classes: &Classes) -> Vec<Self> {
        let k = classes.len();
        // Every decision is at least as high as the lowest class.
        let compared = usize::from(classes.ordered)..k;
        let rate = |name: String, rate: Rate, region: usize| Self {
            name,
            kind: Kind::Rate { rate, region },
            left_out: Vec::new(),
        };
        let of_rows = |inside: &str, region: usize| -> Vec<Self> {
            let of_class = |(class, name): (usize, &String)| {
                let decided = Rate::Decided { class, of: None };
                [
                    rate(format!("selection_rate[{name}]{inside}"), decided, region),
                    rate(
                        format!("recall[{name}]{inside}"),
                        Rate::Recall { class },
                        region,
                    ),
                ]
            };
            let accuracy = rate(format!("accuracy{inside}"), Rate::Accuracy, region);
            let of_classes = classes.names.iter().enumerate().flat_map(of_class);
            std::iter::once(accuracy).chain(of_classes).collect()
        };
        let mut all = of_rows("", 0);
        for (index, attribute) in schema.attributes.iter().enumerate() {
            let a = &attribute.name;
            let regions = regions_of(schema, index);
            let term = |rate: Rate| -> Term { (rate, large(attribute, &regions, rate)) };
            let parity = |classes: Range<usize>| -> Vec<Term> {
                let rates = classes.map(|class| Rate::Decided { class, of: None });
                rates.map(term).collect()
            };
            let recalls = |classes: Range<usize>| -> Vec<Term> {
                classes.map(|class| term(Rate::Recall { class })).collect()
            };
            let odds = |classes: Range<usize>| -> Vec<Term> {
                let of_class = |of: usize| {
                    let rates = compared.clone().map(move |class| Rate::Decided {
                        class,
                        of: Some(of),
                    });
                    rates.map(term)
                };
                classes.flat_map(of_class).collect()
            };
            let family = |name: String, kind: Kind| Self {
                name,
                left_out: left_out(&kind, &regions),
                kind,
            };
            let mut differences = |of: &str, own: Range<usize>| {
                let names = [
                    "demographic_parity_difference",
                    "equal_opportunity_difference",
                    "equalized_odds_difference",
                ];
                let shares = match own.len() == k {
                    true => compared.clone(),
                    false => own.clone(),
                };
                let terms = [parity(shares), recalls(own.clone()), odds(own)];
                all.extend(names.into_iter().zip(terms).map(|(name, terms)| {
                    family(format!("{name}{of}({a})"), Kind::Difference { terms })
                }));
            };
            differences("", 0..k);
            for (class, name) in classes.names.iter().enumerate() {
                differences(&format!("[{name}]"), class..class + 1);
            }
            let terms = parity(compared.clone());
            all.push(family(
                format!("demographic_parity_ratio({a})"),
                Kind::Ratio { terms },
            ));
            for (group, region) in attribute.groups.iter().zip(regions.clone()) {
                all.extend(of_rows(&format!("({a}={group})"), region));
            }
        }
        all
    }

    /// Whether the measure is about one class.
    pub(crate) fn is_of_class(&self) -> bool {
        let name = self.name.split('(').next();
        name.is_some_and(|name| name.contains('['))
    }

    /// The same for predicted numbers.
    fn all_of_numbers(schema: &Schema) -> Vec<Self> {
        let family = |name: String, kind: Kind, left_out: &[usize]| Self {
            name,
            kind,
            left_out: left_out.to_vec(),
        };
        let plain = |quantity| Averaged {
            quantity,
            root: false,
        };
        let means = [
            ("rmse", Averaged::RMSE),
            ("mae", Averaged::MAE),
            ("mean_prediction", plain(Quantity::Prediction)),
            ("mean_residual", plain(Quantity::Residual)),
        ];
        let mut all: Vec<Self> = means
            .iter()
            .map(|(name, of)| family((*name).into(), Kind::Mean { of: *of, region: 0 }, &[]))
            .collect();
        for (index, attribute) in schema.attributes.iter().enumerate() {
            let (a, own) = (&attribute.name, regions_of(schema, index));
            let small = attribute.small.with_label(None);
            let is_large = |region: &usize| !small.contains(&((region - own.start) as u32));
            let (regions, left_out): (Vec<usize>, Vec<usize>) = own.clone().partition(is_large);
            let difference = |of| Kind::MeanDifference {
                of,
                regions: regions.clone(),
            };
            let worst = |of| Kind::Worst {
                of,
                regions: regions.clone(),
            };
            let compared = [
                ("mean_difference", difference(Quantity::Prediction)),
                ("mae_difference", difference(Quantity::Absolute)),
                ("worst_group_rmse", worst(Averaged::RMSE)),
                ("worst_group_mae", worst(Averaged::MAE)),
            ];
            all.extend(
                compared.map(|(name, kind)| family(format!("{name}({a})"), kind, &left_out)),
            );
            for (group, region) in attribute.groups.iter().zip(own.clone()) {
                let of_group = means.iter().map(|(name, of)| {
                    let name = format!("{name}({a}={group})");
                    family(name, Kind::Mean { of: *of, region }, &[])
                });
                all.extend(of_group);
            }
        }
        all
    }

    /// Whether the measure describes one set of rows, rather than comparing groups.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Rate { .. } | Kind::Mean { .. })
    }

    /// The quantities and regions from which a measure of predicted numbers is computed.
    pub(crate) fn means(&self) -> Vec<(Quantity, usize)> {
        match &self.kind {
            Kind::Mean { of, region } => vec![(of.quantity, *region)],
            Kind::MeanDifference { of, regions } => regions.iter().map(|r| (*of, *r)).collect(),
            Kind::Worst { of, regions } => regions.iter().map(|r| (of.quantity, *r)).collect(),
            Kind::Rate { .. }
            | Kind::Difference { .. }
            | Kind::Ratio { .. }
            | Kind::Against { .. } => Vec::new(),
        }
    }

    /// The value of a region that is shown, at the mean of its quantity.
    pub(crate) fn measure_of(&self, mean: f64) -> f64 {
        match &self.kind {
            Kind::Mean { of, .. } | Kind::Worst { of, .. } => of.measure(mean),
            _ => mean,
        }
    }

    /// The measure of a model.
    pub(crate) fn estimate(&self, tallies: &Tallies, model: usize) -> Option<f64> {
        let of = |of: Quantity, region: usize| {
            let mean = tallies.mean(model, of, region);
            (mean.rows > 0.0).then_some(mean.value)
        };
        let all = |quantity: Quantity, regions: &[usize]| -> Option<(f64, f64)> {
            let means: Option<Vec<f64>> = regions.iter().map(|r| of(quantity, *r)).collect();
            let means = means.filter(|means| !means.is_empty())?;
            let low = means.iter().copied().fold(f64::INFINITY, f64::min);
            Some((low, means.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
        };
        match &self.kind {
            Kind::Mean {
                of: averaged,
                region,
            } => of(averaged.quantity, *region).map(|mean| averaged.measure(mean)),
            Kind::MeanDifference { of, regions } => all(*of, regions).map(|(low, high)| high - low),
            Kind::Worst { of, regions } => {
                all(of.quantity, regions).map(|(_, high)| of.measure(high))
            }
            Kind::Rate { .. }
            | Kind::Difference { .. }
            | Kind::Ratio { .. }
            | Kind::Against { .. } => {
                self.value(|rate, region| tallies.cell(model, rate, region).rate())
            }
        }
    }

    /// The quantity that a measure of predicted numbers averages, and the derivatives of the measure by the mean
    /// of each region that determines it. The first are those at the estimate. If other regions are within `z`
    /// standard errors of the extreme ones, those of the other regions follow, because samples could have them.
    pub(crate) fn gradients(
        &self,
        tallies: &Tallies,
        model: usize,
        z: f64,
    ) -> Option<(Quantity, Vec<Gradient>)> {
        let mean = |of: Quantity, region: usize| tallies.mean(model, of, region);
        // The regions by how extreme they are; those that samples could confuse with the first.
        let extreme = |of: Quantity, regions: &[usize], sign: f64| -> Option<Vec<usize>> {
            let mut ordered: Vec<(usize, Mean)> =
                regions.iter().map(|r| (*r, mean(of, *r))).collect();
            if ordered.iter().any(|(_, mean)| mean.rows <= 0.0) {
                return None;
            }
            ordered.sort_by(|(_, a), (_, b)| (sign * b.value).total_cmp(&(sign * a.value)));
            let first = ordered.first()?.1;
            let is_near = |mean: &Mean| {
                let reach = z * (first.variance + mean.variance).sqrt();
                sign * (first.value - mean.value) <= reach
            };
            let near = ordered.iter().take_while(|(_, mean)| is_near(mean));
            Some(near.map(|(region, _)| *region).collect())
        };
        let of_mean = |of: &Averaged, region: usize| -> Option<Gradient> {
            let slope = match of.root {
                true => 0.5 / of.measure(mean(of.quantity, region).value),
                false => 1.0,
            };
            slope.is_finite().then(|| vec![(region, slope)])
        };
        match &self.kind {
            Kind::Mean { of, region } => Some((of.quantity, vec![of_mean(of, *region)?])),
            Kind::MeanDifference { of, regions } => {
                let highest = extreme(*of, regions, 1.0)?;
                let lowest = extreme(*of, regions, -1.0)?;
                let (high, low) = (highest[0], lowest[0]);
                let pairs = std::iter::once((high, low))
                    .chain(highest.iter().skip(1).map(|other| (*other, low)))
                    .chain(lowest.iter().skip(1).map(|other| (high, *other)))
                    // If all groups are nearly equal, the order may be the opposite one.
                    .chain(highest.contains(&low).then_some((low, high)));
                let pairs = pairs.filter(|(high, low)| high != low || regions.len() == 1);
                Some((
                    *of,
                    pairs
                        .map(|(high, low)| vec![(high, 1.0), (low, -1.0)])
                        .collect(),
                ))
            }
            Kind::Worst { of, regions } => {
                let worst = extreme(of.quantity, regions, 1.0)?;
                let all: Option<Vec<Gradient>> = worst.iter().map(|r| of_mean(of, *r)).collect();
                Some((of.quantity, all?))
            }
            Kind::Rate { .. }
            | Kind::Difference { .. }
            | Kind::Ratio { .. }
            | Kind::Against { .. } => None,
        }
    }

    /// Whether the measure covers all rows or compares all groups, rather than describing one
    /// group.
    pub(crate) fn is_overall(&self) -> bool {
        match self.kind {
            Kind::Rate { region, .. } | Kind::Mean { region, .. } => region == 0,
            Kind::Against { least, .. } => least,
            _ => true,
        }
    }

    /// The rates and regions from which the measure is computed.
    pub(crate) fn cells(&self) -> Vec<(Rate, usize)> {
        match &self.kind {
            Kind::Rate { rate, region } => vec![(*rate, *region)],
            Kind::Difference { terms } | Kind::Ratio { terms } => terms
                .iter()
                .flat_map(|(rate, regions)| regions.iter().map(|region| (*rate, *region)))
                .collect(),
            Kind::Against {
                regions, reference, ..
            } => {
                let all = regions.iter().chain([reference]);
                all.map(|region| (Rate::Selection, *region)).collect()
            }
            Kind::Mean { .. } | Kind::MeanDifference { .. } | Kind::Worst { .. } => Vec::new(),
        }
    }

    /// The cells that decide the value of a model: of several compared decisions between classes, those of
    /// the most different one.
    pub(crate) fn deciding_cells(&self, tallies: &Tallies, model: usize) -> Vec<(Rate, usize)> {
        let terms = match &self.kind {
            Kind::Difference { terms } | Kind::Ratio { terms } if tallies.classes.is_some() => {
                terms
            }
            _ => return self.cells(),
        };
        let alone = |term: &Term| Self {
            name: String::new(),
            kind: match self.kind {
                Kind::Ratio { .. } => Kind::Ratio {
                    terms: vec![term.clone()],
                },
                _ => Kind::Difference {
                    terms: vec![term.clone()],
                },
            },
            left_out: Vec::new(),
        };
        let bad = |family: &Self| -> f64 {
            let value = family.estimate(tallies, model);
            match self.kind {
                Kind::Ratio { .. } => value.map_or(f64::NEG_INFINITY, |ratio| -ratio),
                _ => value.unwrap_or(f64::NEG_INFINITY),
            }
        };
        let worst = terms.iter().map(alone).map(|family| (bad(&family), family));
        // The first of equally different ones.
        let worst = worst.reduce(|a, b| if b.0 > a.0 { b } else { a });
        worst.map_or_else(Vec::new, |(_, family)| family.cells())
    }

    /// The measure, from its rates; `None` if one of them is undefined.
    pub(crate) fn value(&self, rate: impl Fn(Rate, usize) -> Option<f64>) -> Option<f64> {
        let extremes = |of: Rate, regions: &[usize]| -> Option<(f64, f64)> {
            let mut bounds = (f64::NEG_INFINITY, f64::INFINITY);
            for region in regions {
                let rate = rate(of, *region)?;
                bounds = (bounds.0.max(rate), bounds.1.min(rate));
            }
            (!regions.is_empty()).then_some(bounds)
        };
        match &self.kind {
            Kind::Rate { rate: of, region } => rate(*of, *region),
            Kind::Difference { terms } => {
                let differences = terms.iter().map(|(of, regions)| {
                    let (high, low) = extremes(*of, regions)?;
                    Some(high - low)
                });
                let differences: Option<Vec<f64>> = differences.collect();
                differences.map(|all| all.into_iter().fold(0.0, f64::max))
            }
            Kind::Ratio { terms } => {
                let mut smallest: Option<f64> = None;
                for (of, regions) in terms {
                    let (high, low) = extremes(*of, regions)?;
                    // A decision that no group gets has no ratio.
                    if high > 0.0 {
                        let ratio = low / high;
                        smallest = Some(smallest.map_or(ratio, |least| least.min(ratio)));
                    }
                }
                smallest
            }
            Kind::Against {
                regions,
                reference,
                odds,
                ..
            } => {
                let of_reference = rate(Rate::Selection, *reference)?;
                let size = |p: f64| match odds {
                    false => (of_reference > 0.0).then(|| p / of_reference),
                    true if of_reference <= 0.0 => None,
                    true if p >= 1.0 => Some(f64::INFINITY),
                    true => Some(p * (1.0 - of_reference) / ((1.0 - p) * of_reference)),
                };
                let mut smallest = f64::INFINITY;
                for region in regions {
                    smallest = smallest.min(size(rate(Rate::Selection, *region)?)?);
                }
                // The odds of groups of which everybody is selected are infinite.
                smallest.is_finite().then_some(smallest)
            }
            Kind::Mean { .. } | Kind::MeanDifference { .. } | Kind::Worst { .. } => None,
        }
    }

    /// The contrasts to test to show that the measure meets its limit; `None` for lower limits on
    /// differences and upper limits on ratios, which cannot be tested.
    pub(crate) fn contrasts(
        &self,
        tallies: &Tallies,
        model: usize,
        at_most: bool,
        limit: f64,
    ) -> Option<Vec<Contrast>> {
        let cell = |rate: Rate, region: usize| tallies.cell(model, rate, region);
        let ordered = |regions: &[usize]| -> Vec<(usize, usize)> {
            let pairs = ordered_pairs(regions.len());
            pairs.map(|(a, b)| (regions[a], regions[b])).collect()
        };
        let of_rate = |(rate, regions): &Term| {
            let (rate, pairs) = (*rate, ordered(regions).into_iter());
            pairs.map(move |(a, b)| (rate, a, b))
        };
        match (&self.kind, at_most) {
            (Kind::Rate { rate, region }, at_most) => {
                let cell = cell(*rate, *region);
                Some(vec![match at_most {
                    true => Contrast::AtMost { cell, limit },
                    false => Contrast::AtLeast { cell, limit },
                }])
            }
            (Kind::Difference { terms }, true) => {
                let all = terms.iter().flat_map(of_rate);
                let contrast = |(rate, a, b)| Contrast::Difference {
                    a: cell(rate, a),
                    b: cell(rate, b),
                    limit,
                };
                Some(all.map(contrast).collect())
            }
            (Kind::Ratio { terms }, false) => {
                let contrast = |(rate, a, b)| Contrast::Ratio {
                    a: cell(rate, a),
                    b: cell(rate, b),
                    limit,
                };
                Some(terms.iter().flat_map(of_rate).map(contrast).collect())
            }
            (
                Kind::Against {
                    regions,
                    reference,
                    odds,
                    least,
                },
                at_most,
            ) => {
                // An upper limit on a ratio is a lower limit on its inverse.
                let of_region = |region: &usize| {
                    let [own, other] = [*region, *reference].map(|r| cell(Rate::Selection, r));
                    let (a, b, limit) = match at_most {
                        false => (own, other, limit),
                        true => (other, own, limit.max(0.0).recip()),
                    };
                    match odds {
                        false => Contrast::Ratio { a, b, limit },
                        true => Contrast::OddsRatio { a, b, limit },
                    }
                };
                (!(*least && at_most)).then(|| regions.iter().map(of_region).collect())
            }
            (Kind::Mean { of, region }, at_most) => {
                let mean = tallies.mean(model, of.quantity, *region);
                let limit = of.mean(limit);
                Some(vec![match at_most {
                    true => Contrast::MeanAtMost { mean, limit },
                    false => Contrast::MeanAtLeast { mean, limit },
                }])
            }
            (Kind::MeanDifference { of, regions }, true) => {
                let contrast = |(a, b)| Contrast::MeanDifference {
                    a: tallies.mean(model, *of, a),
                    b: tallies.mean(model, *of, b),
                    limit,
                };
                Some(ordered(regions).into_iter().map(contrast).collect())
            }
            (Kind::Worst { of, regions }, true) => {
                let contrast = |region: &usize| Contrast::MeanAtMost {
                    mean: tallies.mean(model, of.quantity, *region),
                    limit: of.mean(limit),
                };
                Some(regions.iter().map(contrast).collect())
            }
            _ => None,
        }
    }

    /// The signed contrasts whose extreme is the measure, with their standard errors: pairwise
    /// differences, logarithms of ratios, or the rate itself. `None` stands for a contrast without
    /// a standard error.
    pub(crate) fn signed(&self, tallies: &Tallies, model: usize) -> Vec<Option<(f64, f64)>> {
        let of = |rate: Rate, region: usize| {
            let cell = tallies.cell(model, rate, region);
            let rate = cell.rate()?;
            (rate > 0.0 && rate < 1.0).then(|| (rate, cell.variance()))
        };
        let mut all = Vec::new();
        self.each_pair(|pair| {
            let contrast = || match pair {
                Pair::One(rate, region) => of(rate, region).map(|(rate, v)| (rate, v.sqrt())),
                Pair::Minus(rate, a, b) => {
                    let ((p, v), (q, w)) = (of(rate, a)?, of(rate, b)?);
                    Some((p - q, (v + w).sqrt()))
                }
                Pair::Over(rate, a, b) => {
                    let ((p, v), (q, w)) = (of(rate, a)?, of(rate, b)?);
                    let error = (v / (p * p) + w / (q * q)).sqrt();
                    Some((libm::log(p) - libm::log(q), error))
                }
                Pair::Odds(a, b) => {
                    let ((p, v), (q, w)) = (of(Rate::Selection, a)?, of(Rate::Selection, b)?);
                    let slopes = [p * (1.0 - p), q * (1.0 - q)];
                    let error = (v / (slopes[0] * slopes[0]) + w / (slopes[1] * slopes[1])).sqrt();
                    Some((log_odds(p) - log_odds(q), error))
                }
                Pair::Mean(of, region) => tallies.mean(model, of, region).with_error(),
                Pair::MeanMinus(of, a, b) => {
                    let [a, b] = [a, b].map(|region| tallies.mean(model, of, region).with_error());
                    let ((a, of_a), (b, of_b)) = (a?, b?);
                    Some((a - b, libm::hypot(of_a, of_b)))
                }
            };
            all.push(contrast());
        });
        all
    }

    /// The same contrasts in a replicate, in the same order.
    pub(crate) fn each_redrawn(
        &self,
        redrawn: &Redrawn,
        model: usize,
        mut each: impl FnMut(Option<f64>),
    ) {
        let rate = |rate: Rate, region: usize| redrawn.rate(model, rate, region);
        self.each_pair(|pair| {
            let contrast = || match pair {
                Pair::One(of, region) => rate(of, region),
                Pair::Minus(of, a, b) => Some(rate(of, a)? - rate(of, b)?),
                Pair::Over(of, a, b) => {
                    let (p, q) = (rate(of, a)?, rate(of, b)?);
                    (p > 0.0 && q > 0.0).then(|| libm::log(p / q))
                }
                Pair::Odds(a, b) => {
                    let (p, q) = (rate(Rate::Selection, a)?, rate(Rate::Selection, b)?);
                    let inside = |p: f64| p > 0.0 && p < 1.0;
                    (inside(p) && inside(q)).then(|| log_odds(p) - log_odds(q))
                }
                // Predicted numbers are not redrawn.
                Pair::Mean(..) | Pair::MeanMinus(..) => None,
            };
            each(contrast());
        });
    }

    fn each_pair(&self, mut each: impl FnMut(Pair)) {
        let mut pairs = |regions: &[usize], pair: &dyn Fn(usize, usize) -> Pair| {
            for (i, a) in regions.iter().enumerate() {
                for b in &regions[i + 1..] {
                    each(pair(*a, *b));
                }
            }
        };
        match &self.kind {
            Kind::Difference { terms } => {
                for (rate, regions) in terms {
                    pairs(regions, &|a, b| Pair::Minus(*rate, a, b));
                }
            }
            Kind::Ratio { terms } => {
                for (rate, regions) in terms {
                    pairs(regions, &|a, b| Pair::Over(*rate, a, b));
                }
            }
            Kind::Against {
                regions,
                reference,
                odds,
                ..
            } => {
                let all = regions.iter();
                all.for_each(|region| {
                    each(match odds {
                        false => Pair::Over(Rate::Selection, *region, *reference),
                        true => Pair::Odds(*region, *reference),
                    });
                });
            }
            Kind::Rate { rate, region } => each(Pair::One(*rate, *region)),
            Kind::Mean { of, region } => each(Pair::Mean(of.quantity, *region)),
            Kind::MeanDifference { of, regions } => {
                pairs(regions, &|a, b| Pair::MeanMinus(*of, a, b));
            }
            Kind::Worst { of, regions } => {
                let all = regions.iter();
                all.for_each(|region| each(Pair::Mean(of.quantity, *region)));
            }
        }
    }

    /// The interval of the measure that extends `q` standard errors to either side of each
    /// contrast; `None` if a cell has no rows.
    pub(crate) fn interval(&self, tallies: &Tallies, model: usize, q: f64) -> Option<(f64, f64)> {
        let bounds = |rate: Rate, region: usize| Bounds::of(&tallies.cell(model, rate, region), q);
        match &self.kind {
            Kind::Rate { rate, region } => {
                let found = bounds(*rate, *region)?;
                Some((found.low.max(0.0), found.high.min(1.0)))
            }
            Kind::Difference { terms } => {
                let (mut low, mut high) = (0.0_f64, 0.0_f64);
                for (rate, regions) in terms {
                    let all: Option<Vec<Bounds>> = regions
                        .iter()
                        .map(|region| bounds(*rate, *region))
                        .collect();
                    let all = all?;
                    for (a, b) in ordered_pairs(all.len()) {
                        let (from, to) = all[a].minus(&all[b]);
                        low = low.max(from);
                        high = high.max(to);
                    }
                }
                Some((low, high.min(1.0)))
            }
            Kind::Ratio { terms } => {
                let (mut low, mut high) = (1.0_f64, 1.0_f64);
                for (rate, regions) in terms {
                    let all: Option<Vec<Bounds>> = regions
                        .iter()
                        .map(|region| bounds(*rate, *region))
                        .collect();
                    let all = all?;
                    for (a, b) in ordered_pairs(all.len()) {
                        let (from, to) = all[a].over(&all[b]);
                        low = low.min(from);
                        high = high.min(to);
                    }
                }
                Some((low, high))
            }
            Kind::Against {
                regions,
                reference,
                odds,
                ..
            } => {
                let of_reference = bounds(Rate::Selection, *reference)?;
                let (mut low, mut high) = (f64::INFINITY, f64::INFINITY);
                for region in regions {
                    let own = bounds(Rate::Selection, *region)?;
                    let (from, to) = match odds {
                        false => own.over(&of_reference),
                        true => own.odds_over(&of_reference),
                    };
                    low = low.min(from);
                    high = high.min(to);
                }
                Some((low, high))
            }
            Kind::Mean { of, region } => {
                let (low, high) = mean_interval(tallies, model, of.quantity, *region, q)?;
                Some((of.measure(low), of.measure(high)))
            }
            Kind::MeanDifference { .. } => {
                let signed: Option<Vec<(f64, f64)>> =
                    self.signed(tallies, model).into_iter().collect();
                let ends = signed?.into_iter();
                let ends = ends.map(|(d, error)| (d.abs() - q * error, d.abs() + q * error));
                Some(ends.fold((0.0, 0.0), |all, own| {
                    (f64::max(all.0, own.0), f64::max(all.1, own.1))
                }))
            }
            Kind::Worst { of, regions } => {
                let all: Option<Vec<(f64, f64)>> = regions
                    .iter()
                    .map(|region| mean_interval(tallies, model, of.quantity, *region, q))
                    .collect();
                let all = all.filter(|all| !all.is_empty())?;
                let largest = |end: fn(&(f64, f64)) -> f64| {
                    of.measure(all.iter().map(end).fold(f64::NEG_INFINITY, f64::max))
                };
                Some((largest(|ends| ends.0), largest(|ends| ends.1)))
            }
        }
    }
}

/// The regions of the groups of an attribute that are large enough to be compared in a rate.
fn large(attribute: &Attribute, regions: &Range<usize>, rate: Rate) -> Vec<usize> {
    let small = attribute.small.with_label(rate.label());
    let is_large = |region: &usize| !small.contains(&((region - regions.start) as u32));
    regions.clone().filter(is_large).collect()
}

/// The regions that some term does not compare.
fn left_out(kind: &Kind, regions: &Range<usize>) -> Vec<usize> {
    let (Kind::Difference { terms } | Kind::Ratio { terms }) = kind else {
        return Vec::new();
    };
    let is_left_out = |region: &usize| terms.iter().any(|(_, own)| !own.contains(region));
    regions.clone().filter(is_left_out).collect()
}

fn log_odds(rate: f64) -> f64 {
    libm::log(rate / (1.0 - rate))
}

/// The ends of the interval of a mean.
fn mean_interval(
    tallies: &Tallies,
    model: usize,
    of: Quantity,
    region: usize,
    q: f64,
) -> Option<(f64, f64)> {
    let (mean, error) = tallies.mean(model, of, region).with_error()?;
    Some((mean - q * error, mean + q * error))
}

enum Pair {
    One(Rate, usize),
    Minus(Rate, usize, usize),
    Over(Rate, usize, usize),
    /// The odds of selection.
    Odds(usize, usize),
    Mean(Quantity, usize),
    MeanMinus(Quantity, usize, usize),
}

fn ordered_pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let pairs = (0..n).flat_map(move |a| (0..n).map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b)
}

/// A rate with its interval.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    rate: f64,
    low: f64,
    high: f64,
}

impl Bounds {
    /// Wilson's interval. Quantiles of redraws are in standard errors at the estimate, which is the
    /// true rate of the redraws. The true rate of the population is therefore found with the
    /// standard error at that rate.
    fn of(cell: &Cell, q: f64) -> Option<Self> {
        let rate = cell.rate()?;
        let (spread, variance) = (rate * (1.0 - rate), cell.variance());
        let n = match spread > 0.0 && variance > 0.0 {
            true => spread / variance,
            false => cell.effective(),
        };
        let (low, high) = wilson(rate * n, n, q);
        Some(Self { rate, low, high })
    }

    /// Distances from the rate to the lower and the upper end.
    fn reach(&self) -> (f64, f64) {
        (self.rate - self.low, self.high - self.rate)
    }

    /// The ends of the difference to another rate, from the distances of both.
    fn minus(&self, other: &Self) -> (f64, f64) {
        let ((down, up), (other_down, other_up)) = (self.reach(), other.reach());
        let difference = self.rate - other.rate;
        (
            difference - libm::hypot(down, other_up),
            difference + libm::hypot(up, other_down),
        )
    }

    /// The ends of the ratio of its odds to those of another rate, computed on the log scale.
    fn odds_over(&self, other: &Self) -> (f64, f64) {
        let odds = |rate: f64| rate / (1.0 - rate);
        let inside = |rate: f64| rate > 0.0 && rate < 1.0;
        if !inside(self.rate) || !inside(other.rate) {
            // One of the odds is 0 or infinite.
            let low = match self.low > 0.0 && other.high < 1.0 {
                true => odds(self.low) / odds(other.high),
                false => 0.0,
            };
            let high = match self.high < 1.0 && other.low > 0.0 {
                true => odds(self.high) / odds(other.low),
                false => f64::INFINITY,
            };
            return (low, high);
        }
        let (own, others) = (log_odds(self.rate), log_odds(other.rate));
        let down = libm::hypot(own - log_odds(self.low), log_odds(other.high) - others);
        let up = libm::hypot(log_odds(self.high) - own, others - log_odds(other.low));
        (libm::exp(own - others - down), libm::exp(own - others + up))
    }

    /// The ends of the ratio to another rate, computed on the log scale.
    fn over(&self, other: &Self) -> (f64, f64) {
        if self.rate <= 0.0 || other.rate <= 0.0 {
            // A ratio to a rate that may be zero has no upper bound.
            let high = match other.low > 0.0 {
                true => self.high / other.low,
                false => f64::INFINITY,
            };
            return (0.0, high);
        }
        let own = libm::log(self.rate);
        let others = libm::log(other.rate);
        let down = libm::hypot(own - libm::log(self.low), libm::log(other.high) - others);
        let up = libm::hypot(libm::log(self.high) - own, others - libm::log(other.low));
        (libm::exp(own - others - down), libm::exp(own - others + up))
    }
}
