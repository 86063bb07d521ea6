//! Several fronts over the same objectives in one figure.

use std::fmt::Write;

use crate::figure::{Axis, GRAY, TEXT_SIZE, named_group};
use crate::legend::{Entry, Key, Legend};
use crate::marker::Marker;
use crate::page::Page;
use crate::panel::{Layer, Panels, REFERENCE};
use crate::scale::{LARGEST, Scale, grouped, range, rounded};
use crate::side::Better;
use crate::text::shorten;
use crate::trail::{Trail, described};

/// A named set of points in objective space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'a> {
    /// The name in the legend; a long name is shortened in the middle.
    pub name: &'a str,
    /// The values of all points, one after the other. Points with a value that is infinite, beyond
    /// ±1e300 or not a number are left out; the legend shows how many there are of each kind.
    pub values: &'a [f64],
}

/// Several fronts over the same objectives in one figure.
///
/// Two objectives give one panel. More objectives give one panel per pair, with shared scales, and
/// a single objective gives one row of points per series. There are at most 45 panels (all pairs of
/// ten objectives); a note below them names the pairs left out. Axes are linear and cover all
/// finite points.
///
/// Series of more than 150 points are drawn as small translucent dots. Only some of these points
/// carry the marker of the series, placed between the markers of the other series, so that series
/// on the same curve stay visible. Points of a series in the same half pixel are drawn once. Points
/// are not joined by lines, because values between two points of a front are not known to lie on
/// it.
///
/// The figure has a white background, for which its colors are chosen. It looks the same on a dark
/// background, on a slide and in programs that ignore style sheets.
///
/// ```
/// use fairfront_report::{Overlay, Series};
/// let overlay = Overlay {
///     title: "Two runs".into(),
///     axes: vec!["log_loss".into(), "score_covariance(sex)".into()],
///     series: vec![
///         Series { name: "a", values: &[0.3, 0.02, 0.4, 0.01] },
///         Series { name: "b", values: &[0.3, f64::NAN] },
///     ],
///     reference: Some(vec![0.41, 0.021]),
/// };
/// let svg = overlay.to_svg();
/// assert!(svg.contains("2 points"));
/// assert!(svg.contains("0 points, 1 not finite"));
/// # assert_eq!(svg, overlay.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// Names of the objectives, one per value of a point.
    pub axes: Vec<String>,
    /// The series in the order of the legend.
    pub series: Vec<Series<'a>>,
    /// A reference point, such as that of a hypervolume. It is drawn only if it lies among the
    /// points or near them; the axes do not stretch to a distant one.
    pub reference: Option<Vec<f64>>,
}

impl Overlay<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid: no points, equal points, names with any characters.
    ///
    /// The cost is about that of sorting the points once per pair of objectives.
    pub fn to_svg(&self) -> String {
        self.to_svg_with(&[])
    }

    /// Like [`to_svg`](Self::to_svg), with lines and marks below the points.
    pub fn to_svg_with(&self, trails: &[Trail]) -> String {
        let layers: Vec<Layer> = (self.series.iter().enumerate())
            .map(|(i, series)| Layer::new(series, self.axes.len(), Marker::of(i)))
            .collect();
        let ranges = self.ranges(&layers, trails);
        let reference = self.near_reference(&ranges);
        let axes: Vec<Axis> = (self.axes.iter().zip(&ranges).zip(&reference))
            .map(|((name, range), near)| {
                let (low, high) = range.unwrap_or((0.0, 1.0));
                let near = near.unwrap_or(low);
                Axis {
                    name,
                    note: "",
                    scale: Scale::covering(low.min(near), high.max(near)),
                }
            })
            .collect();
        let panels = Panels::new(&axes, layers.len());
        let drawn = panels.show(&reference);
        let note = panels.note(&axes);
        let below = if note.is_some() { 22.0 } else { 0.0 };
        let page = Page {
            title: self.title.trim(),
            better: Better::Lower,
            legend: Legend::new(self.entries(&layers, trails, drawn), panels.width),
            beside: panels.beside,
            width: panels.width,
            height: panels.height + below,
        };
        let (left, top, right) = (page.left(), page.top(), page.right());
        let about = self.describe(&layers, &ranges[..panels.n_shown()], note.as_deref());
        let about = about + &described(trails.iter());
        let mut svg = page.open(&self.name(), &about);
        for panel in panels.all(left, top) {
            panel.draw_axes(&mut svg, &axes);
            if let Some(y) = panel.y {
                let draw = |trail: &Trail| trail.draw(&mut svg, panel.frame, &axes, (panel.x, y));
                trails.iter().for_each(draw);
            }
            panel.draw_points(&mut svg, &axes, &layers, &reference);
        }
        if let Some(note) = note {
            let short = shorten(&note, TEXT_SIZE, right - left);
            named_group(&mut svg, (short != note).then_some(&note), None);
            svg.tag("text")
                .at(left, top + panels.height + 16.0)
                .set("font-size", TEXT_SIZE)
                .set("fill", GRAY)
                .text(&short);
            svg.close();
        }
        svg.finish()
    }

    /// Smallest and largest value of each objective; `None` without points.
    fn ranges(&self, layers: &[Layer], trails: &[Trail]) -> Vec<Option<(f64, f64)>> {
        let m = self.axes.len();
        let of = |axis: usize| {
            let points = layers.iter().flat_map(|l| &l.points).map(|p| p[axis]);
            range(points.chain(trails.iter().flat_map(|trail| trail.along(m, axis))))
        };
        (0..m).map(of).collect()
    }

    /// The values of the reference point that are in or near the ranges.
    fn near_reference(&self, ranges: &[Option<(f64, f64)>]) -> Vec<Option<f64>> {
        /// As a share of the range.
        const NEAR: f64 = 0.15;
        let reference = self.reference.as_deref().unwrap_or(&[]);
        let near = |(axis, range): (usize, &Option<(f64, f64)>)| {
            let value = reference
                .get(axis)
                .copied()
                .filter(|v| v.abs() <= LARGEST)?;
            // Without points there is no range to compare with.
            let Some((low, high)) = *range else {
                return Some(value);
            };
            let reach = match high - low {
                0.0 => NEAR * high.abs(),
                span => NEAR * span,
            };
            (low - reach <= value && value <= high + reach).then_some(value)
        };
        ranges.iter().enumerate().map(near).collect()
    }

    fn entries(&self, layers: &[Layer], trails: &[Trail], drawn: bool) -> Vec<Entry> {
        let entry = |layer: &Layer| Entry {
            key: match (layer.dense, layers.len()) {
                (false, _) => Key::Marker(layer.marker),
                (true, 1) => Key::Dots(layer.marker),
                (true, _) => Key::Dense(layer.marker),
            },
            name: layer.shown_name().to_owned(),
            note: layer.count(),
        };
        let mut entries: Vec<Entry> = layers.iter().map(entry).collect();
        entries.extend(trails.iter().map(Trail::entry));
        if self.reference.is_some() {
            entries.push(Entry {
                key: if drawn {
                    Key::Marker(REFERENCE)
                } else {
                    Key::None
                },
                name: "reference point".into(),
                note: if drawn { "" } else { "outside the figure" }.into(),
            });
        }
        entries
    }

    /// The title, or a default from the names of the objectives.
    fn name(&self) -> String {
        match (self.title.trim(), self.axes.is_empty()) {
            ("", true) => "Pareto fronts".into(),
            ("", false) if self.axes.len() > 10 => {
                format!("Pareto fronts of {} objectives", grouped(self.axes.len()))
            }
            ("", false) => format!("Pareto fronts of {}", self.axes.join(", ")),
            (title, _) => title.into(),
        }
    }

    /// The description for screen readers; `ranges` are those of the objectives shown.
    fn describe(
        &self,
        layers: &[Layer],
        ranges: &[Option<(f64, f64)>],
        note: Option<&str>,
    ) -> String {
        let mut text = String::from("Scatter plot; lower is better on every axis. Axes:");
        for (i, (name, range)) in self.axes.iter().zip(ranges).enumerate() {
            let _ = write!(text, "{} {name}", if i > 0 { ";" } else { "" });
            if let Some((low, high)) = range {
                let _ = write!(text, " from {} to {}", rounded(*low), rounded(*high));
            }
        }
        text += ". Series:";
        for (i, layer) in layers.iter().enumerate() {
            let separator = if i > 0 { ";" } else { "" };
            let _ = write!(
                text,
                "{separator} {}, {}",
                layer.shown_name(),
                layer.count()
            );
        }
        text += ".";
        if let Some(note) = note {
            let _ = write!(text, " {note}.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn draw(m: usize, series: &[&[f64]], reference: Option<Vec<f64>>) -> String {
        let svg = Overlay {
            title: "a title".into(),
            axes: (0..m).map(|i| format!("f{i}")).collect(),
            series: (series.iter().map(|values| Series { name: "s", values })).collect(),
            reference,
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    #[test]
    fn empty_figures_say_that_there_are_no_points() {
        let absent = [f64::NAN, 0.0, 1.0, f64::INFINITY];
        let cases: [&[&[f64]]; 3] = [&[], &[&[]], &[&absent]];
        for series in cases {
            // The reference point is the only point, and the axes always include it.
            for reference in [[1.0, 1.0], [-3e7, 0.5]] {
                let svg = draw(2, series, Some(reference.to_vec()));
                assert!(svg.contains("no points"));
                assert!(svg.contains("stroke-dasharray") && !svg.contains("outside"));
            }
        }
        assert!(draw(2, &[&[]], None).contains("0 points<"));
    }

    #[test]
    fn points_left_out_are_counted() {
        let svg = draw(2, &[&[0.1, 0.2, f64::NAN, 0.3, 0.4, -1e301, 0.5]], None);
        let counted = "1 point, 1 not finite, 1 beyond ±1e300, 1 incomplete<";
        assert!(svg.contains(counted), "{svg}");
        assert!(draw(1, &[&[f64::MAX, 2.0]], None).contains("1 point, 1 beyond ±1e300<"));
    }

    #[test]
    fn every_pair_has_a_panel() {
        let panels = |m: usize| {
            let svg = draw(m, &[&vec![0.5; 3 * m]], None);
            svg.matches("rotate(-90)").count()
        };
        assert_eq!([0, 1, 2, 3, 4, 6].map(panels), [0, 0, 1, 3, 6, 15]);
        assert_eq!([10, 11, 25, 3_000].map(panels), [45; 4]);
    }

    #[test]
    fn many_objectives_give_a_small_figure_that_names_the_pairs_left_out() {
        let said = |m: usize| {
            let points: Vec<f64> = (0..200 * m).map(|i| (i * 7_919 % 1_009) as f64).collect();
            let svg = draw(m, &[&points, &points[..20 * m]], None);
            assert!(svg.len() < 1_000_000, "{} bytes for m = {m}", svg.len());
            let at = svg.find("The first 45 of ")?;
            svg[at..].split(['.', '<']).next().map(str::to_owned)
        };
        assert_eq!(said(10), None);
        let expected =
            "The first 45 of 300 pairs of objectives; the pairs from f1 with f23 on are left out";
        assert_eq!(said(25).as_deref(), Some(expected));
        let large = said(3_000).expect("a note");
        assert!(large.contains("of 4,498,500 pairs"), "{large}");
    }

    #[test]
    fn no_series_looks_like_the_reference() {
        assert!((0..64).all(|i| Marker::of(i).shape != REFERENCE.shape));
    }

    #[test]
    fn a_distant_reference_is_not_drawn() {
        let front = [0.3, 0.02, 0.4, 0.01];
        let inside = |reference: &[f64]| {
            let svg = draw(2, &[&front], Some(reference.to_vec()));
            assert_eq!(svg.contains("stroke-dasharray"), !svg.contains("outside"));
            svg.contains("stroke-dasharray")
        };
        assert!(inside(&[0.35, 0.015]));
        assert!(inside(&[0.41, 0.0211]));
        for far in [
            &[1.0, 0.015][..],
            &[0.35, 1.0],
            &[f64::NAN, 0.015],
            &[0.35],
            &[],
        ] {
            assert!(!inside(far), "{far:?}");
        }
        // The axes are the same as without a reference.
        let ticks = |svg: &str| svg.matches("text-anchor").count();
        let far = draw(2, &[&front], Some(vec![1e9, 1e9]));
        assert_eq!(ticks(&far), ticks(&draw(2, &[&front], None)));
    }

    #[test]
    fn long_series_are_dots_with_a_few_markers() {
        let n = 1500;
        let curve: Vec<f64> = (0..n)
            .flat_map(|i| [f64::from(i), 1.0 / f64::from(i + 1)])
            .collect();
        let arcs = |svg: &str| svg.matches(" 0 1 0 1 0z").count();
        // Markers are written twice, first as a white background.
        let two = arcs(&draw(2, &[&curve, &curve], None));
        assert!((8..=40).contains(&two), "{two}");
        assert_eq!(arcs(&draw(2, &[&curve], None)), 0);
        assert!(draw(2, &[&curve], None).contains("1,500 points"));
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            0.0..1.0_f64,
            any::<f64>(),
            Just(0.0),
            Just(1e-17),
            Just(f64::MAX)
        ]
    }

    proptest! {
        #[test]
        fn any_input_gives_a_well_formed_figure(
            title in any::<String>(),
            axes in prop::collection::vec(any::<String>(), 0..5),
            series in prop::collection::vec(
                (any::<String>(), prop::collection::vec(value(), 0..12), 1..90_usize),
                0..10,
            ),
            reference in prop::option::of(prop::collection::vec(value(), 0..5)),
        ) {
            let series: Vec<(String, Vec<f64>)> = series
                .into_iter()
                .map(|(name, values, times)| (name, values.repeat(times)))
                .collect();
            let overlay = Overlay {
                title,
                axes,
                series: series.iter().map(|(name, values)| Series { name, values }).collect(),
                reference,
            };
            let svg = overlay.to_svg();
            assert_well_formed(&svg);
            prop_assert!(!svg.contains("MNaN") && !svg.contains("Minf"));
            prop_assert_eq!(svg, overlay.to_svg());
        }
    }
}
