//! Line plots of values by batch, round or another count.

use std::fmt::Write;

use crate::figure::{Axis, Ink, LineStyle, draw_markers, named_group, tenths};
use crate::legend::shown_name;
use crate::marker::{Position, merge};
use crate::page::Page;
use crate::scale::{Scale, range, rounded};
use crate::trace::Trace;

/// Width and height of the frame, in pixels.
const FRAME: (f64, f64) = (560.0, 320.0);

/// A named line of a plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    /// The name in the legend; a long name is shortened in the middle.
    pub name: &'a str,
    /// Counts and values, joined in the order of the counts. A count or value that is infinite,
    /// beyond ±1e300 or not a number interrupts the line; the legend shows how many there are of
    /// each kind.
    pub points: &'a [(f64, f64)],
}

/// A line plot of values by count, such as the hypervolume by batch of a stream or by round of a
/// solver.
///
/// Both axes are linear and cover all finite points; the vertical axis need not begin at 0. The
/// ticks of the horizontal axis are whole numbers. Lines of up to 40 points have a marker on each
/// point; longer lines have no markers. Lines of more than 1,000 points are thinned to the first,
/// the lowest, the highest and the last point in each pixel column. This keeps all peaks and a
/// small file; gaps inside a pixel column are closed.
///
/// The first eight lines have different colors; the next eight repeat the colors with dashes.
///
/// ```
/// use fairfront_report::{Curve, Line};
/// let curve = Curve {
///     title: "Adult as a stream".into(),
///     x: "batch".into(),
///     y: "hypervolume (share of the box)".into(),
///     lines: vec![
///         Line { name: "before the update", points: &[(1.0, 0.61), (2.0, 0.66), (3.0, 0.69)] },
///         Line { name: "after", points: &[(1.0, 0.65), (2.0, f64::NAN), (3.0, 0.7)] },
///     ],
/// };
/// let svg = curve.to_svg();
/// assert!(svg.starts_with("<svg "));
/// assert!(svg.contains("2 points, 1 not finite"));
/// # assert_eq!(svg, curve.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Curve<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// The name of the count: `batch`, `round`.
    pub x: String,
    /// The name of the values, with their unit.
    pub y: String,
    /// The lines in the order of the legend; later lines are drawn on top of earlier ones.
    pub lines: Vec<Line<'a>>,
}

impl Curve<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid: no points, one point, equal values, names with any characters.
    ///
    /// The cost is about that of sorting the points of each line.
    pub fn to_svg(&self) -> String {
        let traces: Vec<Trace> = (self.lines.iter().enumerate())
            .map(|(i, line)| Trace::new(line, LineStyle::of(i), self.lines.len() - 1 - i))
            .collect();
        let points = || traces.iter().flat_map(|t| t.runs.iter().flatten());
        let (first, last) = range(points().map(|p| p.0)).unwrap_or((0.0, 1.0));
        let (low, high) = range(points().map(|p| p.1)).unwrap_or((0.0, 1.0));
        let x = Axis {
            name: &self.x,
            note: "",
            scale: Scale::counting(first, last),
        };
        let y = Axis {
            name: &self.y,
            note: "",
            scale: Scale::covering(low, high),
        };
        let entries = traces.iter().map(Trace::entry).collect();
        let (page, frame) = Page::of_one(self.title.trim(), entries, &y, FRAME);

        let mut svg = page.open(&self.name(), &self.describe(&traces));
        frame.draw(&mut svg, &x, Some(&y));
        if points().next().is_none() {
            frame.draw_empty(&mut svg);
        }
        let place = |p: &(f64, f64)| frame.position(x.scale.share(p.0), y.scale.share(p.1));
        let marks: Vec<Vec<Position>> = (traces.iter())
            .map(|t| {
                merge(
                    t.runs
                        .iter()
                        .flatten()
                        .filter(|_| t.marked)
                        .map(place)
                        .collect(),
                )
            })
            .collect();
        tenths(&mut svg);
        for trace in traces.iter().filter(|t| t.n_points > 0) {
            trace.draw(&mut svg, place);
        }
        // Markers are drawn above all lines; no marker hides another.
        for ink in [Ink::Ground, Ink::Rings] {
            for (trace, at) in traces.iter().zip(&marks).filter(|(_, at)| !at.is_empty()) {
                let name = (ink == Ink::Rings).then_some(shown_name(trace.name));
                named_group(&mut svg, name, None);
                draw_markers(&mut svg, trace.style.marker, ink, 34, at);
                svg.close();
            }
        }
        svg.finish()
    }

    /// The title, or a default from the names of the axes.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => format!("{} by {}", self.values(), self.counts()),
            title => title.into(),
        }
    }

    fn values(&self) -> &str {
        match self.y.trim() {
            "" => "values",
            y => y,
        }
    }

    fn counts(&self) -> &str {
        match self.x.trim() {
            "" => "count",
            x => x,
        }
    }

    /// The description for screen readers.
    fn describe(&self, traces: &[Trace]) -> String {
        let mut text = format!("Line plot of {} by {}.", self.values(), self.counts());
        text += " Lines:";
        for (i, trace) in traces.iter().enumerate() {
            let separator = if i > 0 { ";" } else { "" };
            let name = shown_name(trace.name);
            let _ = write!(text, "{separator} {name}, {}", trace.count());
            let points = || trace.runs.iter().flatten();
            if let (Some(first), Some(last), Some((low, high))) = (
                points().next(),
                points().last(),
                range(points().map(|p| p.1)),
            ) {
                let _ = write!(
                    text,
                    ", first {}, last {}, lowest {}, highest {}",
                    rounded(first.1),
                    rounded(last.1),
                    rounded(low),
                    rounded(high)
                );
            }
        }
        text += ".";
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn draw(lines: &[&[(f64, f64)]]) -> String {
        let svg = Curve {
            title: "a title".into(),
            x: "batch".into(),
            y: "hypervolume".into(),
            lines: (lines.iter())
                .map(|points| Line { name: "s", points })
                .collect(),
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    fn counted(values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        let counts = (1..).map(f64::from);
        counts.zip(values).collect()
    }

    /// The positions of every run of the first line after the legend, from path data.
    fn runs(svg: &str) -> Vec<Vec<Position>> {
        let paths = svg.split("<path d=\"").skip(1);
        let data = paths.filter(|p| p.contains("stroke-linejoin") && p.contains('M'));
        // The first path belongs to the legend.
        let Some(path) = data.filter_map(|p| p.split('"').next()).nth(1) else {
            return Vec::new();
        };
        let run = |data: &str| {
            let spaced = data.replace('l', " ").replace('-', " -");
            let numbers: Vec<i64> = (spaced.split_whitespace())
                .map(|n| n.parse().unwrap())
                .collect();
            let mut at = (0, 0);
            let step = |pair: &[i64]| {
                at = (at.0 + pair[0], at.1 + pair[1]);
                at
            };
            numbers.chunks_exact(2).map(step).collect()
        };
        path.split('M').skip(1).map(run).collect()
    }

    fn markers(svg: &str) -> usize {
        svg.matches(" 0 1 0 1 0z").count()
    }

    #[test]
    fn a_line_goes_through_its_points_in_order() {
        let values = [0.5, 0.75, 0.25, 1.0, 0.0];
        let svg = draw(&[&counted(values)]);
        let drawn = runs(&svg);
        assert_eq!(drawn.len(), 1);
        let (left, bottom) = drawn[0][0];
        for (i, (at, value)) in drawn[0].iter().zip(values).enumerate() {
            // The frame is 5,600 by 3,200 tenths of a pixel, with 4% of the range free on every
            // side.
            let expected = left as f64 + i as f64 / 4.0 * 5600.0 / 1.08;
            assert!((at.0 as f64 - expected).abs() <= 1.0, "{drawn:?}");
            let expected = bottom as f64 - (value - 0.5) * 3200.0 / 1.08;
            assert!((at.1 as f64 - expected).abs() <= 1.0, "{drawn:?}");
        }
        // The order of the points does not matter.
        let mut shuffled = counted(values);
        shuffled.swap(0, 3);
        shuffled.swap(1, 4);
        assert_eq!(draw(&[&shuffled]), svg);
    }

    #[test]
    fn few_points_have_markers_and_many_have_none() {
        let constant = |n: usize| draw(&[&counted(vec![0.5; n])]);
        // Each marker is written twice, in white and as an outline; the legend has one more.
        for n in [1, 2, 40] {
            assert_eq!(markers(&constant(n)), 2 * (n + 1));
        }
        for n in [41, 5_000] {
            assert_eq!(markers(&constant(n)), 0);
        }
    }

    #[test]
    fn points_that_are_not_finite_interrupt_the_line() {
        let gap = [0.1, 0.2, f64::NAN, 0.3, f64::INFINITY, 0.4, 0.5, -1e301];
        let mut points = counted(gap);
        let svg = draw(&[&points]);
        assert!(svg.contains("5 points, 2 not finite, 1 beyond ±1e300<"));
        // The point between two gaps is a marker without a line.
        assert_eq!(runs(&svg).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(markers(&svg), 2 * (5 + 1));
        // A count that is not a number also interrupts the line.
        points[2] = (f64::NAN, 0.25);
        assert_eq!(runs(&draw(&[&points])), runs(&svg));
        // In a line without markers, an isolated point is a dot.
        let mut long = vec![0.5; 60];
        (long[29], long[31]) = (f64::NAN, f64::NAN);
        let svg = draw(&[&counted(long)]);
        assert_eq!(svg.matches("stroke-width=\"32\"").count(), 1);
        assert_eq!(runs(&svg).len(), 2);
    }

    #[test]
    fn empty_figures_say_that_there_are_no_points() {
        let absent = [(1.0, f64::NAN), (f64::INFINITY, 1.0)];
        let cases: [&[&[(f64, f64)]]; 3] = [&[], &[&[]], &[&absent]];
        for lines in cases {
            let svg = draw(lines);
            assert!(svg.contains(">no points<") && runs(&svg).is_empty());
        }
        assert!(draw(&[&[]]).contains("0 points<"));
        assert!(!draw(&[&[(3.0, 0.5)]]).contains("no points"));
    }

    #[test]
    fn close_values_have_different_labels() {
        let svg = draw(&[&counted([0.812_34, 0.812_36, 0.812_37])]);
        assert!(svg.contains(">0.812350<"), "{svg}");
        assert!(svg.contains(">1<") && svg.contains(">2<") && !svg.contains(">1.5<"));
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let script = "</text><script>alert(\"1\")</script>'&";
        let long = "long name ".repeat(1_000);
        for name in [script, &long, "", "\u{202e}\u{0}", "男".repeat(50).as_str()] {
            let line = Line {
                name,
                points: &[(1.0, 2.0), (2.0, 1.0)],
            };
            let svg = Curve {
                title: name.into(),
                x: name.into(),
                y: name.into(),
                lines: vec![line; 3],
            }
            .to_svg();
            assert_well_formed(&svg);
            assert!(!svg.contains("<script"));
            let size: Vec<f64> = (svg.split('"').skip_while(|t| !t.ends_with(" width=")))
                .skip(1)
                .step_by(2)
                .take(2)
                .map(|n| n.parse().unwrap())
                .collect();
            assert!(size[0] < 800.0 && size[1] < 600.0, "{size:?}");
        }
    }

    #[test]
    fn a_peak_among_many_points_is_drawn_in_a_small_file() {
        let n = 200_000;
        let mut values: Vec<f64> = (0..n).map(|i| f64::from(i * 7_919 % 1_009)).collect();
        values[123_457] = 5_000.0;
        values[60_001] = -4_000.0;
        let svg = draw(&[&counted(values)]);
        assert!(svg.len() < 40_000, "{} bytes", svg.len());
        assert!(svg.contains("200,000 points"));
        let ys: Vec<i64> = runs(&svg).concat().iter().map(|p| p.1).collect();
        let (low, high) = (ys.iter().min().unwrap(), ys.iter().max().unwrap());
        // From one peak to the other is the whole frame except its margins.
        assert!((high - low - 2_963).abs() <= 1, "{low} {high}");
        // A gap at every other point does not make the file large either.
        let gaps = (0..n).map(|i| {
            if i % 2 == 0 {
                f64::NAN
            } else {
                f64::from(i % 97)
            }
        });
        assert!(draw(&[&counted(gaps)]).len() < 40_000);
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
            names in prop::array::uniform3(any::<String>()),
            lines in prop::collection::vec(
                (any::<String>(), prop::collection::vec((value(), value()), 0..12), 1..120_usize),
                0..12,
            ),
        ) {
            let lines: Vec<(String, Vec<(f64, f64)>)> = lines
                .into_iter()
                .map(|(name, points, times)| (name, points.repeat(times)))
                .collect();
            let [title, x, y] = names;
            let curve = Curve {
                title,
                x,
                y,
                lines: lines.iter().map(|(name, points)| Line { name, points }).collect(),
            };
            let svg = curve.to_svg();
            assert_well_formed(&svg);
            prop_assert!(!svg.contains("MNaN") && !svg.contains("Minf"));
            prop_assert_eq!(svg, curve.to_svg());
        }
    }
}
