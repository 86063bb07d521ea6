//! Problems with three objectives: two attributes, or two measures.

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
/// Number of bands of loss, with equally many models each.
const BANDS: usize = 8;
/// Fairness objectives are negligible below this share of the unmitigated model's.
const LITTLE: f64 = 0.02;

pub(crate) fn jobs(case: Case, effort: Effort) -> Vec<Job> {
    let seeds = 0..effort.few_seeds();
    seeds
        .flat_map(|seed| VARIANTS.map(|variant| case.fit(seed, variant, effort)))
        .collect()
}

/// Models as (f1, second, third), the last two as shares of the unmitigated model's. Models that exceed a share of
/// 1.1, and models with a larger loss than zero parameters, are left out.
struct Scaled {
    /// Sorted by loss.
    points: Vec<[f64; 3]>,
}

/// Models with about the same loss.
struct Band {
    points: Vec<[f64; 3]>,
    /// Rank correlation of the two fairness objectives.
    correlation: f64,
    /// The reach of their own front: the smaller of its extents along them.
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

    /// The smallest bound that one model meets in both fairness objectives; NaN without models.
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

/// The results of one solver over seeds.
struct Found {
    both: Summary,
    /// Rank correlations and reaches by band.
    bands: Vec<[Summary; 2]>,
}

impl Found {
    /// Whether less of one fairness objective means more of the other in a band.
    fn is_opposed(&self, band: usize) -> bool {
        let [correlation, span] = &self.bands[band];
        correlation.mean < -0.3 && span.mean > LITTLE
    }

    fn opposed(&self) -> Vec<usize> {
        (0..BANDS).filter(|band| self.is_opposed(*band)).collect()
    }

    fn text(&self) -> String {
        if self.both.n == 0 {
            return "no model has both objectives within 110% of the unmitigated model's values"
                .into();
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
            0 => "they are not opposed in any band of loss".into(),
            BANDS => "they are opposed in every band of loss".into(),
            n => format!(
                "they are opposed in {} {} of {BANDS}",
                if n == 1 { "band" } else { "bands" },
                opposed.join(", ")
            ),
        };
        let both = 100.0 * self.both.most;
        let both = match both < 0.01 {
            true => "below 0.01%".into(),
            false => format!("at or below {}%", number(both, 2)),
        };
        format!(
            "on every seed, one model has both objectives {both} of the unmitigated model's values; {opposed}, and can \
             be exchanged for each other over at most {}% of these values",
            number(100.0 * widest, 1)
        )
    }
}

/// The results of both solvers.
fn found(
    draft: &mut Draft,
    case: Case,
    effort: Effort,
    results: &Results,
    problem: &str,
) -> Result<[Found; 2], Error> {
    let mut sheet = Sheet::new(
        "bands",
        "Models in bands of log loss, equally many in each, starting with the smallest loss (band 1). *Correlation* is the \
         rank correlation of the two fairness objectives. *Reach* is the extent of their own front within the band, the \
         smaller of the two, in percent of the unmitigated model's values. Training rows; means over seeds, log loss of \
         seed 0.",
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

/// Adds figures with the fronts of the first seed in pairs of objectives. `named` has the names and titles of the
/// figures by solver.
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

/// Adds a figure with the two fairness objectives by band.
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
        // The bands with the smallest loss are far from the others.
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
            "f1, f2 by gender and f3 by race on Adult, with a 60/10/30 split and {}. *Ours* is the exact front, a mesh over \
             the surface. The figures of the fronts show test rows, as in the paper; bands and verdict use training rows. \
             Two objectives are *opposed* in a band of loss if less of one means more of the other.",
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
            "f2 and f3 do not conflict: removing the disparate impact by gender does not hinder removing the disparate impact \
             by race.",
            "one model has both below 2% of the unmitigated model's values, and they are not opposed in any band of loss \
             (rank correlation below −0.3 and a reach above 2%); in part if the first is true on our fronts",
        ),
        format!("PF-SMG: {}; exact front: {}", paper.text(), ours.text()),
        verdict,
        match verdict {
            Verdict::InPart => {
                "both vanish together, but a constant score achieves this on any data; at losses in between, less of one \
                 can mean more of the other"
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
        "Adult: f2 and f3 by bands of log loss, as shares of the unmitigated model's values",
        ["f2 / unmitigated", "f3 / unmitigated"],
    );
    add_bands(&mut draft, ADULT_BOTH, effort, results, figure)?;
    Ok(draft)
}

pub(crate) fn two_measures(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::CompasTwoMeasures,
        format!(
            "f1, f2 (selection rates) and f4 (false negatives, centered over all rows) on COMPAS by race, with race as a \
             feature, all rows and {} of the solver. *Ours* is PF-SMG with our settings, polished.",
            counted(effort.few_seeds() as usize, "seed")
        ),
    );
    let problem = "COMPAS, two measures";
    let [paper, ours] = found(&mut draft, COMPAS_BOTH, effort, results, problem)?;
    let both = |found: &Found| found.both.when(|both| both.most < LITTLE);
    let text = format!("PF-SMG: {}; ours: {}", paper.text(), ours.text());
    draft.claim(
        (
            "One model minimizes both f2 and f4, so they do not conflict at the fair end.",
            "one model of every front has both below 2% of the unmitigated model's values",
        ),
        text,
        Verdict::both(both(&paper), both(&ours)),
        "a constant score achieves this on any data",
    );
    let first = |found: &Found| found.bands[0][0].text(2);
    let aligned = |found: &Found| found.bands[0][0].rises();
    draft.claim(
        (
            "At high accuracy, f2 and f4 are aligned.",
            "their mean rank correlation in the band of smallest loss is above 0.5",
        ),
        format!(
            "rank correlation in the band of smallest loss: {} with PF-SMG, {} with ours",
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
            "At medium accuracy, there is a small front between f2 and f4.",
            "they are opposed (rank correlation below −0.3 and a reach above 2%) in a band between the first and the last",
        ),
        format!(
            "of the {} bands between the first and the last, the two are opposed in {} with PF-SMG and in {} with ours",
            BANDS - 2,
            medium(&paper),
            medium(&ours)
        ),
        Verdict::both(in_between(&paper), in_between(&ours)),
        "",
    );
    let axes = ["f1, log loss", "f2, selection rates", "f4, false negatives"];
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
        "COMPAS: f2 and f4 by bands of log loss, as shares of the unmitigated model's values",
        ["f2 / unmitigated", "f4 / unmitigated"],
    );
    add_bands(&mut draft, COMPAS_BOTH, effort, results, figure)?;
    Ok(draft)
}

const BAND_NAMES: [&str; BANDS] = [
    "band 1, smallest loss",
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

    /// Forty models, five per band. The two objectives are opposed in the third band and rise together elsewhere.
    fn scaled() -> Scaled {
        let point = |i: u32| {
            let (loss, x) = (f64::from(i) / 40.0, f64::from(i % 5) / 10.0);
            match i / 5 {
                2 => [loss, x, 0.5 - x],
                _ => [loss, x, x],
            }
        };
        // Not sorted, and with two models outside the box.
        let points = (0..40).rev().map(point);
        let beyond = [[0.2, 1.2, 0.1], [3.0, 0.1, 0.1]];
        Scaled::new(points.chain(beyond), 1.0)
    }

    #[test]
    fn bands_distinguish_opposed_from_aligned() {
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
    fn without_models_all_numbers_are_nan() {
        let empty = Scaled::new(std::iter::empty(), 1.0);
        let band = empty.band(3).expect("no points");
        assert!(band.points.is_empty() && band.span.is_nan() && band.correlation.is_nan());
        assert!(empty.both().is_nan());
    }
}
