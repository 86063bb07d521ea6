//! Three objectives: two attributes, or two measures.

use fairfront_core::counted;
use fairfront_pareto::{Values, nondominated};
use fairfront_report::{Pairs, Series};
use fairfront_run::Error;

use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{Front, pairs, time};
use crate::job::{ADULT_BOTH, COMPAS_BOTH, Case, Job, Variant};
use crate::panel::{Fronts, front_panels};
use crate::stat::{Summary, number, rank_correlation};
use crate::work::Results;
use crate::{Effort, Experiment};

const VARIANTS: [Variant; 2] = [Variant::PfSmgPaper, Variant::Ours];
/// Bands of loss with equally many points each.
const BANDS: usize = 8;
/// Fairness objectives are none to speak of below this share of the unmitigated model's.
const LITTLE: f64 = 0.02;

pub(crate) fn jobs(case: Case, effort: Effort) -> Vec<Job> {
    let seeds = 0..effort.few_seeds();
    seeds
        .flat_map(|seed| VARIANTS.map(|variant| case.fit(seed, variant, effort)))
        .collect()
}

/// Points (f1, second, third), the latter two as shares of the unmitigated model's; those that are worse than it
/// by more than a tenth in either are left out, and so are those with a loss above that of no model.
struct Scaled {
    /// By loss.
    points: Vec<[f64; 3]>,
}

/// Points of about the same loss.
struct Band {
    points: Vec<[f64; 3]>,
    /// Rank correlation of the two fairness objectives.
    correlation: f64,
    /// How far their own front reaches: the smaller of its extents along them.
    span: f64,
}

impl Scaled {
    fn of(front: &Front) -> Result<Self, Error> {
        let scale = [1, 2].map(|i| front.unmitigated(&front.objective_name("train", i)));
        let values = front.values("train")?;
        let points = values.chunks_exact(3);
        let points = points.map(|p| [p[0], p[1] / scale[0], p[2] / scale[1]]);
        Ok(Self::new(points, front.info.at_zero[0]))
    }

    fn new(points: impl Iterator<Item = [f64; 3]>, most_loss: f64) -> Self {
        let inside = |p: &[f64; 3]| p[0] <= most_loss && p[1] <= 1.1 && p[2] <= 1.1;
        let mut points: Vec<[f64; 3]> = points.filter(inside).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Self { points }
    }

    /// The least that both fairness objectives can be brought below at once; NaN of no points.
    fn both(&self) -> f64 {
        let larger = self.points.iter().map(|p| p[1].max(p[2]));
        larger.fold(f64::NAN, f64::min)
    }

    fn band(&self, band: usize) -> Result<Band, Error> {
        let n = self.points.len();
        let points = self.points[band * n / BANDS..(band + 1) * n / BANDS].to_vec();
        let values: Vec<f64> = points.iter().flat_map(|p| [p[1], p[2]]).collect();
        let front = nondominated(Values::new(&values, 2)?);
        let extent = |i: usize| {
            let along = || front.iter().map(|at| points[*at][i]);
            along().fold(f64::NAN, f64::max) - along().fold(f64::NAN, f64::min)
        };
        let [second, third] = [1, 2].map(|i| points.iter().map(|p| p[i]).collect::<Vec<f64>>());
        Ok(Band {
            correlation: rank_correlation(&second, &third),
            span: extent(1).min(extent(2)),
            points,
        })
    }
}

/// What is found of one solver, over seeds.
struct Found {
    both: Summary,
    /// Rank correlations and spans, band by band.
    bands: Vec<[Summary; 2]>,
}

impl Found {
    /// Whether less of one fairness objective is more of the other in a band.
    fn is_opposed(&self, band: usize) -> bool {
        let [correlation, span] = &self.bands[band];
        correlation.mean < -0.3 && span.mean > LITTLE
    }

    fn opposed(&self) -> Vec<usize> {
        (0..BANDS).filter(|band| self.is_opposed(*band)).collect()
    }

    fn text(&self) -> String {
        if self.both.n == 0 {
            return "no point is within reach of the unmitigated model's values".into();
        }
        let widest = self
            .bands
            .iter()
            .map(|[_, span]| span.mean)
            .fold(f64::NAN, f64::max);
        let opposed: Vec<String> = self
            .opposed()
            .iter()
            .map(|band| (band + 1).to_string())
            .collect();
        let opposed = match opposed.len() {
            0 => "in no band of loss are they opposed".into(),
            BANDS => "in every band of loss they are opposed".into(),
            n => format!(
                "they are opposed in {} {} of {BANDS} by loss",
                if n == 1 { "band" } else { "bands" },
                opposed.join(", ")
            ),
        };
        let both = 100.0 * self.both.most;
        let both = match both < 0.01 {
            true => "below 0.01 %".into(),
            false => format!("down to {} %", number(both, 2)),
        };
        format!(
            "on every seed both come {both} of the unmitigated model's in one model; {opposed}, and can be exchanged over \
             {} % of it at most",
            number(100.0 * widest, 1)
        )
    }
}

/// Fronts by solver, and what is found of them.
fn found(
    draft: &mut Draft,
    case: Case,
    effort: Effort,
    results: &Results,
    problem: &str,
) -> Result<[Found; 2], Error> {
    let mut sheet = Sheet::new(
        "bands",
        "Points in bands by log loss, equally many in each, from the least loss (1) on: rank correlation of the two \
         fairness objectives, and how far their own front reaches within the band, the smaller extent along them, in \
         percent of the unmitigated model's values. Training rows; means over seeds, log loss of seed 0.",
        &["front", "band", "log loss", "correlation", "reach, %"],
    );
    let mut of = |variant: Variant| -> Result<Found, Error> {
        let fronts = results.fronts(case, effort.few_seeds(), variant, effort)?;
        let scaled: Vec<Scaled> = fronts
            .iter()
            .map(Scaled::of)
            .collect::<Result<_, Error>>()?;
        let mut bands = Vec::new();
        for band in 0..BANDS {
            let of_seeds = scaled.iter().map(|scaled| scaled.band(band));
            let of_seeds: Vec<Band> = of_seeds.collect::<Result<_, Error>>()?;
            let correlation = Summary::of(of_seeds.iter().map(|band| band.correlation));
            let span = Summary::of(of_seeds.iter().map(|band| band.span));
            let losses = || of_seeds[0].points.iter().map(|p| p[0]);
            sheet.row([
                variant.label().into(),
                (band + 1).to_string(),
                format!(
                    "{} – {}",
                    number(losses().fold(f64::NAN, f64::min), 4),
                    number(losses().fold(f64::NAN, f64::max), 4)
                ),
                correlation.text(2),
                number(100.0 * span.mean, 1),
            ]);
            bands.push([correlation, span]);
        }
        draft.finding.times.push(time(problem, variant, &fronts));
        Ok(Found {
            both: Summary::of(scaled.iter().map(Scaled::both)),
            bands,
        })
    };
    let [paper, ours] = VARIANTS;
    let found = [of(paper)?, of(ours)?];
    draft.finding.sheets.push(sheet);
    Ok(found)
}

/// Fronts of the first seed in pairs of objectives, by solver: names and titles of the figures.
fn add_pairs(
    draft: &mut Draft,
    case: Case,
    effort: Effort,
    results: &Results,
    split: &str,
    axes: [&str; 3],
    named: [(&str, &str); 2],
) -> Result<(), Error> {
    for (variant, (name, title)) in VARIANTS.into_iter().zip(named) {
        let front = results.front(&case.fit(0, variant, effort))?;
        let marked = (0..3).map(|i| front.unmitigated(&front.objective_name(split, i)));
        let values = front.values(split)?;
        let svg = Pairs {
            title: title.into(),
            axes,
            front: Series {
                name: "models of the front",
                values: &values,
            },
            marked: marked.collect(),
            marked_name: "unmitigated model",
        }
        .to_svg();
        draft.figure(name, format!("{title}."), svg);
    }
    Ok(())
}

/// The two fairness objectives against each other, band by band.
fn add_bands(
    draft: &mut Draft,
    case: Case,
    effort: Effort,
    results: &Results,
    (name, title, axes): (&str, &str, [&str; 2]),
) -> Result<(), Error> {
    let mut panels = Vec::new();
    for variant in VARIANTS {
        let scaled = Scaled::of(&results.front(&case.fit(0, variant, effort))?)?;
        let mut series = Vec::new();
        for (band, band_name) in BAND_NAMES.iter().enumerate() {
            let points = scaled.band(band)?.points;
            let [x, y] = [1, 2].map(|i| points.iter().map(|p| p[i]).collect::<Vec<f64>>());
            series.push((*band_name, pairs(&x, &y)));
        }
        // Those of the least loss lie far from the others.
        let further = series.iter().skip(2).cloned().collect();
        panels.push(Fronts {
            title: variant.label().into(),
            series,
        });
        panels.push(Fronts {
            title: format!("{}, bands 3 to 8", variant.label()),
            series: further,
        });
    }
    let svg = front_panels(title, axes, &panels);
    draft.figure(name, format!("{title}, seed 0, training rows."), svg);
    Ok(())
}

pub(crate) fn two_attributes(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::AdultTwoAttributes,
        format!(
            "f1, f2 by gender and f3 by race on Adult, 60/10/30 split, {}. *Ours* is the exact front, a mesh over the \
             surface. The first two figures are on test rows, as the paper's; bands and verdict are on training rows.",
            counted(effort.few_seeds() as usize, "seed")
        ),
    );
    let problem = "Adult, gender and race";
    let [paper, ours] = found(&mut draft, ADULT_BOTH, effort, results, problem)?;
    let none = |found: &Found| {
        found
            .both
            .when(|both| both.most < LITTLE && found.opposed().is_empty())
    };
    let together = ours.both.when(|both| both.most < LITTLE);
    let verdict = match Verdict::both(none(&paper), none(&ours)) {
        Verdict::DoesNotHold if together == Some(true) => Verdict::InPart,
        verdict => verdict,
    };
    draft.claim(
        (
            "There is no conflict between f2 and f3: removing the disparate impact by gender does not hinder removing that \
             by race.",
            "one model has both below 2 % of the unmitigated model's, and they are opposed in no band of loss (rank correlation \
             below −0.3 and a reach above 2 %); in part where the first is so on our fronts",
        ),
        format!("PF-SMG: {}; exact front: {}", paper.text(), ours.text()),
        verdict,
        match verdict {
            Verdict::InPart => {
                "both vanish together, but so they do on any data where the score is the same for everybody; at a given \
                 loss in between, less of the one may be more of the other"
            }
            _ => "",
        },
    );
    let axes = ["f1, log loss", "f2, by gender", "f3, by race"];
    let spaces = [
        (
            "adult-two-attributes",
            "Adult, gender and race: PF-SMG, test rows",
        ),
        (
            "adult-two-attributes-exact",
            "Adult, gender and race: exact front, test rows",
        ),
    ];
    add_pairs(
        &mut draft, ADULT_BOTH, effort, results, "test", axes, spaces,
    )?;
    let figure = (
        "adult-two-attributes-bands",
        "Adult: f2 and f3 by bands of log loss, as shares of the unmitigated model's",
        ["f2 / unmitigated", "f3 / unmitigated"],
    );
    add_bands(&mut draft, ADULT_BOTH, effort, results, figure)?;
    Ok(draft)
}

pub(crate) fn two_measures(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::CompasTwoMeasures,
        format!(
            "f1, f2 (positive outcomes) and f4 (false negatives, centred over all rows) on COMPAS by race, race as a \
             feature, all rows, {} of the solver. *Ours* is PF-SMG with our settings, polished.",
            counted(effort.few_seeds() as usize, "seed")
        ),
    );
    let problem = "COMPAS, two measures";
    let [paper, ours] = found(&mut draft, COMPAS_BOTH, effort, results, problem)?;
    let both = |found: &Found| found.both.when(|both| both.most < LITTLE);
    let text = format!("PF-SMG: {}; ours: {}", paper.text(), ours.text());
    draft.claim(
        (
            "One model minimises both f2 and f4: there is no conflict at the fair end.",
            "one model of every front has both below 2 % of the unmitigated model's",
        ),
        text,
        Verdict::both(both(&paper), both(&ours)),
        "a score that is the same for everybody does so on any data",
    );
    let first = |found: &Found| found.bands[0][0].text(2);
    let aligned = |found: &Found| found.bands[0][0].rises();
    draft.claim(
        (
            "Where accuracy is high, f2 and f4 are aligned.",
            "their mean rank correlation in the band of least loss is above 0.5",
        ),
        format!(
            "rank correlation in the band of least loss {} with PF-SMG, {} with ours",
            first(&paper),
            first(&ours)
        ),
        Verdict::both(aligned(&paper), aligned(&ours)),
        "",
    );
    let medium = |found: &Found| {
        (1..BANDS - 1)
            .filter(|band| found.is_opposed(*band))
            .count()
    };
    let in_between = |found: &Found| found.both.when(|_| medium(found) > 0);
    draft.claim(
        (
            "At a medium accuracy there is a little front between f2 and f4.",
            "they are opposed (rank correlation below −0.3 and a reach above 2 %) in a band between the first and the last",
        ),
        format!(
            "of the {} bands between the first and the last the two are opposed in {} with PF-SMG and in {} with ours",
            BANDS - 2,
            medium(&paper),
            medium(&ours)
        ),
        Verdict::both(in_between(&paper), in_between(&ours)),
        "",
    );
    let axes = [
        "f1, log loss",
        "f2, positive outcomes",
        "f4, false negatives",
    ];
    let spaces = [
        (
            "compas-two-measures",
            "COMPAS, two measures: PF-SMG, all rows",
        ),
        (
            "compas-two-measures-ours",
            "COMPAS, two measures: ours, all rows",
        ),
    ];
    add_pairs(
        &mut draft,
        COMPAS_BOTH,
        effort,
        results,
        "train",
        axes,
        spaces,
    )?;
    let figure = (
        "compas-two-measures-bands",
        "COMPAS: f2 and f4 by bands of log loss, as shares of the unmitigated model's",
        ["f2 / unmitigated", "f4 / unmitigated"],
    );
    add_bands(&mut draft, COMPAS_BOTH, effort, results, figure)?;
    Ok(draft)
}

const BAND_NAMES: [&str; BANDS] = [
    "band 1, least loss",
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

    /// Forty points, five a band; in the third band two objectives are opposed, elsewhere they rise together.
    fn scaled() -> Scaled {
        let point = |i: u32| {
            let (loss, x) = (f64::from(i) / 40.0, f64::from(i % 5) / 10.0);
            match i / 5 {
                2 => [loss, x, 0.5 - x],
                _ => [loss, x, x],
            }
        };
        // Out of order, and two that are beyond the box.
        let points = (0..40).rev().map(point);
        let beyond = [[0.2, 1.2, 0.1], [3.0, 0.1, 0.1]];
        Scaled::new(points.chain(beyond), 1.0)
    }

    #[test]
    fn bands_tell_opposed_from_aligned() {
        let scaled = scaled();
        assert_eq!(scaled.points.len(), 40);
        for band in 0..BANDS {
            let found = scaled.band(band).expect("points");
            assert_eq!(found.points.len(), 5);
            let opposed = band == 2;
            let (correlation, span) = if opposed { (-1.0, 0.4) } else { (1.0, 0.0) };
            assert!((found.correlation - correlation).abs() < 1e-12);
            assert!((found.span - span).abs() < 1e-12);
        }
        assert_eq!(scaled.both(), 0.0);
    }

    #[test]
    fn no_points_say_nothing() {
        let empty = Scaled::new(std::iter::empty(), 1.0);
        let band = empty.band(3).expect("no points");
        assert!(band.points.is_empty() && band.span.is_nan() && band.correlation.is_nan());
        assert!(empty.both().is_nan());
    }
}
