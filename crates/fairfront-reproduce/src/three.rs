//! Three objectives: two attributes, or two measures.

use fairfront_pareto::{Values, nondominated};
use fairfront_report::{Series, Space};
use fairfront_run::Error;

use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{Front, pairs, time};
use crate::job::{ADULT_BOTH, COMPAS_BOTH, Case, Job, Variant};
use crate::panel::{Fronts, front_panels};
use crate::stat::{Summary, number};
use crate::work::Results;
use crate::{Effort, Experiment};

const VARIANTS: [(Variant, &str); 2] = [
    (Variant::PfSmgPaper, "PF-SMG, paper"),
    (Variant::Ours, "ours"),
];
/// Bands of equal width in log loss, from the unmitigated model to no model at all.
const BANDS: usize = 8;
/// Two measures are in conflict where neither can be had below this share of its value at the unmitigated
/// model without the other being above it.
const CONFLICT: f64 = 0.02;

pub(crate) fn jobs(case: Case, effort: Effort) -> Vec<Job> {
    let seeds = 0..effort.few_seeds();
    seeds
        .flat_map(|seed| VARIANTS.map(|(variant, _)| case.fit(seed, variant, effort)))
        .collect()
}

/// A front as points (f1, second, third), the latter two as shares of the unmitigated model's.
struct Scaled {
    points: Vec<[f64; 3]>,
    unmitigated_loss: f64,
    loss_at_zero: f64,
}

impl Scaled {
    fn of(front: &Front) -> Result<Self, Error> {
        let scale = [1, 2].map(|i| front.unmitigated(&front.objective_name("train", i)));
        let values = front.values("train")?;
        let point = |p: &[f64]| [p[0], p[1] / scale[0], p[2] / scale[1]];
        Ok(Self {
            points: values.chunks_exact(3).map(point).collect(),
            unmitigated_loss: front.unmitigated(&front.objective_name("train", 0)),
            loss_at_zero: front.info.at_zero[0],
        })
    }

    /// The least that both fairness objectives can be brought below at once.
    fn both(&self) -> f64 {
        let larger = self.points.iter().map(|p| p[1].max(p[2]));
        larger.fold(f64::INFINITY, f64::min)
    }

    /// The points whose loss lies in a band, and how much their front in the other two objectives spans: the
    /// smaller of its extents along them.
    fn band(&self, band: usize) -> (Vec<[f64; 3]>, f64) {
        let width = (self.loss_at_zero - self.unmitigated_loss) / BANDS as f64;
        let start = self.unmitigated_loss + band as f64 * width;
        let within = |p: &&[f64; 3]| p[0] >= start && p[0] < start + width;
        let points: Vec<[f64; 3]> = self.points.iter().filter(within).copied().collect();
        let values: Vec<f64> = points.iter().flat_map(|p| [p[1], p[2]]).collect();
        let Ok(values) = Values::new(&values, 2) else {
            return (points, f64::NAN);
        };
        let front = nondominated(values);
        let extent = |i: usize| {
            let along = || front.iter().map(|at| points[*at][i]);
            along().fold(0.0, f64::max) - along().fold(f64::INFINITY, f64::min)
        };
        let extent = if front.is_empty() {
            f64::NAN
        } else {
            extent(1).min(extent(2))
        };
        (points, extent)
    }
}

fn space(front: &Front, title: &str, axes: [&str; 3]) -> Result<String, Error> {
    let marked = (0..3).map(|i| front.unmitigated(&front.objective_name("train", i)));
    let values = front.values("train")?;
    Ok(Space {
        title: title.into(),
        axes,
        front: Series {
            name: "models of the front",
            values: &values,
        },
        marked: marked.collect(),
        marked_name: "unmitigated model",
    }
    .to_svg())
}

/// How far both fairness objectives fall at once, over seeds, and the bands of the first.
fn together(
    draft: &mut Draft,
    case: Case,
    effort: Effort,
    results: &Results,
    problem: &str,
) -> Result<[Summary; 2], Error> {
    let mut both = Vec::new();
    let mut sheet = Sheet::new(
        "bands",
        "Points by log loss, in bands of equal width from the unmitigated model (1) to no model at all: how many there \
         are, and how far the front in the two fairness objectives spans within the band, the smaller extent along \
         them, as a share of the unmitigated model's values. Seed 0.",
        &["front", "band", "points", "span"],
    );
    for (variant, name) in VARIANTS {
        let fronts =
            (0..effort.few_seeds()).map(|seed| results.front(&case.fit(seed, variant, effort)));
        let fronts: Vec<Front> = fronts.collect::<Result<_, Error>>()?;
        let scaled: Vec<Scaled> = fronts
            .iter()
            .map(Scaled::of)
            .collect::<Result<_, Error>>()?;
        both.push(Summary::of(scaled.iter().map(Scaled::both)));
        for (band, first) in (0..BANDS).filter_map(|band| scaled.first().map(|first| (band, first)))
        {
            let (points, extent) = first.band(band);
            sheet.row([
                name.into(),
                (band + 1).to_string(),
                points.len().to_string(),
                number(extent, 3),
            ]);
        }
        draft.finding.times.push(time(problem, name, &fronts));
    }
    draft.finding.sheets.push(sheet);
    Ok([both[0], both[1]])
}

pub(crate) fn two_attributes(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::AdultTwoAttributes,
        format!(
            "f1, f2 by gender and f3 by race on Adult, 60/10/30 split, {} seeds, training rows. *Ours* is the exact \
             front, a mesh over the surface.",
            effort.few_seeds()
        ),
    );
    let [paper, ours] = together(
        &mut draft,
        ADULT_BOTH,
        effort,
        results,
        "Adult, gender and race",
    )?;
    draft.claim(
        "There is no conflict between f2 and f3: removing the disparate impact by gender does not hinder removing that \
         by race.",
        format!(
            "one model has both below {} of the unmitigated model's with PF-SMG, below {} on the exact front",
            paper.percent(2),
            ours.percent(4)
        ),
        Verdict::of(ours.most < CONFLICT, ours.most < 0.2),
        "both are squares of linear functions of x, six in all, and zero at once wherever these are: with more features \
         than that there always are such models",
    );
    let axes = ["f1, log loss", "f2, by gender", "f3, by race"];
    for (variant, name, title) in [
        (
            Variant::PfSmgPaper,
            "adult-two-attributes",
            "Adult, gender and race: PF-SMG, training rows",
        ),
        (
            Variant::Ours,
            "adult-two-attributes-exact",
            "Adult, gender and race: exact front, training rows",
        ),
    ] {
        let front = results.front(&ADULT_BOTH.fit(0, variant, effort))?;
        draft.figure(name, format!("{title}."), space(&front, title, axes)?);
    }
    Ok(draft)
}

pub(crate) fn two_measures(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::CompasTwoMeasures,
        format!(
            "f1, f2 (positive outcomes) and f4 (false negatives, centred over all rows) on COMPAS by race, race as a \
             feature, all rows, {} seeds of the solver. *Ours* is PF-SMG with our settings, polished.",
            effort.few_seeds()
        ),
    );
    let [paper, ours] = together(
        &mut draft,
        COMPAS_BOTH,
        effort,
        results,
        "COMPAS, two measures",
    )?;
    draft.claim(
        "There is no conflict between f2 and f4: one model minimises both.",
        format!(
            "one model has both below {} of the unmitigated model's with PF-SMG, below {} with ours",
            paper.percent(2),
            ours.percent(4)
        ),
        Verdict::of(ours.most < CONFLICT, ours.most < 0.2),
        "",
    );
    little_front(&mut draft, effort, results)?;
    let axes = [
        "f1, log loss",
        "f2, positive outcomes",
        "f4, false negatives",
    ];
    for (variant, name, title) in [
        (
            Variant::PfSmgPaper,
            "compas-two-measures",
            "COMPAS, two measures: PF-SMG, all rows",
        ),
        (
            Variant::Ours,
            "compas-two-measures-ours",
            "COMPAS, two measures: ours, all rows",
        ),
    ] {
        let front = results.front(&COMPAS_BOTH.fit(0, variant, effort))?;
        draft.figure(name, format!("{title}."), space(&front, title, axes)?);
    }
    Ok(draft)
}

/// Bands of medium loss in which f2 and f4 are opposed.
fn little_front(draft: &mut Draft, effort: Effort, results: &Results) -> Result<(), Error> {
    let mut said = Vec::new();
    let mut found = Vec::new();
    let mut panels = Vec::new();
    for (variant, name) in VARIANTS {
        let front = results.front(&COMPAS_BOTH.fit(0, variant, effort))?;
        let scaled = Scaled::of(&front)?;
        let bands: Vec<(Vec<[f64; 3]>, f64)> = (0..BANDS).map(|band| scaled.band(band)).collect();
        let widest = (0..BANDS)
            .filter(|band| bands[*band].1.is_finite())
            .max_by(|a, b| bands[*a].1.total_cmp(&bands[*b].1));
        let extent = widest.map_or(f64::NAN, |band| bands[band].1);
        found.push((widest, extent));
        said.push(format!(
            "{name}: widest in band {} of {BANDS}, where f2 and f4 can be exchanged over {} % of the unmitigated model's",
            widest.map_or("–".into(), |band| (band + 1).to_string()),
            number(100.0 * extent, 1)
        ));
        let series = bands.iter().zip(BAND_NAMES).map(|((points, _), band)| {
            let [x, y] = [1, 2].map(|i| points.iter().map(|p| p[i]).collect::<Vec<f64>>());
            (band, pairs(&x, &y))
        });
        panels.push(Fronts {
            title: name.into(),
            series: series.filter(|(_, points)| !points.is_empty()).collect(),
        });
    }
    let medium = |(band, extent): &(Option<usize>, f64)| {
        *extent > CONFLICT && band.is_some_and(|band| band < BANDS - 1)
    };
    draft.claim(
        "At a medium accuracy there is a little front between f2 and f4.",
        said.join("; "),
        Verdict::of(found.iter().all(medium), found.iter().any(medium)),
        "",
    );
    let svg = front_panels(
        "COMPAS: f2 and f4 by bands of log loss, as shares of the unmitigated model's",
        ["f2 / unmitigated", "f4 / unmitigated"],
        &panels,
    );
    draft.figure(
        "compas-two-measures-bands",
        "The two measures by bands of log loss.",
        svg,
    );
    Ok(())
}

const BAND_NAMES: [&str; BANDS] = [
    "band 1 (least loss)",
    "band 2",
    "band 3",
    "band 4",
    "band 5",
    "band 6",
    "band 7",
    "band 8",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss from 0 to 8, one point a band, and two opposed ones in the third.
    fn scaled() -> Scaled {
        let mut points: Vec<[f64; 3]> = (0..8).map(|i| [f64::from(i) + 0.5, 0.5, 0.5]).collect();
        points.push([2.25, 0.1, 0.9]);
        points.push([2.75, 0.7, 0.2]);
        // Dominated in its band, and beyond all bands.
        points.push([3.6, 0.6, 0.6]);
        points.push([9.0, 0.0, 0.3]);
        Scaled {
            points,
            unmitigated_loss: 0.0,
            loss_at_zero: 8.0,
        }
    }

    #[test]
    fn bands_say_how_far_two_objectives_can_be_exchanged() {
        let scaled = scaled();
        let (points, span) = scaled.band(2);
        assert_eq!(points.len(), 3);
        // From 0.1 to 0.7 along the one, from 0.2 to 0.9 along the other.
        assert!((span - 0.6).abs() < 1e-12);
        let (points, span) = scaled.band(3);
        assert_eq!((points.len(), span), (2, 0.0));
        assert_eq!(scaled.both(), 0.3);
    }

    #[test]
    fn an_empty_band_has_no_span() {
        let empty = Scaled {
            points: Vec::new(),
            unmitigated_loss: 0.0,
            loss_at_zero: 1.0,
        };
        let (points, span) = empty.band(0);
        assert!(points.is_empty() && span.is_nan());
        assert!(empty.both().is_infinite());
    }
}
