//! A front over three objectives: each pair of them, colored by the third.

use std::fmt::Write;

use crate::figure::{Axis, Frame, GRAY, Ink, draw_markers, named_group, tenths};
use crate::grid::draw_title;
use crate::legend::{Entry, Key, Legend};
use crate::marker::{Marker, Position, Shape, merge};
use crate::overlay::Series;
use crate::page::Page;
use crate::panel::{Layer, REFERENCE};
use crate::ramp::{Bar, STEPS, color, step};
use crate::scale::{Scale, range, rounded};
use crate::side::Better;
use crate::svg::Svg;
use crate::trail::{Trail, described};

/// Width and height of a frame, in pixels.
const FRAME: (f64, f64) = (300.0, 270.0);
/// Room above a frame for its title.
const ABOVE: f64 = 24.0;
const GAP: f64 = 22.0;

/// A front over three objectives, all to be minimized: one panel per pair of objectives, colored by
/// the objective that it does not show. Panels above each other share their horizontal axis, and
/// panels next to each other their vertical axis. Axes are linear and cover all finite points.
///
/// ```
/// use fairfront_report::{Pairs, Series};
/// let figure = Pairs {
///     title: "Adult, gender and race".into(),
///     axes: ["log_loss", "score_covariance(gender)", "score_covariance(race)"],
///     front: Series { name: "front", values: &[0.34, 0.02, 0.01, 0.36, 0.01, 0.002, 0.4, 0.0, 0.0] },
///     marked: vec![0.33, 0.021, 0.012],
///     marked_name: "unmitigated model",
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("3 points"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// Names of the objectives.
    pub axes: [&'a str; 3],
    /// The points, three values each.
    pub front: Series<'a>,
    /// Points with a marker of their own, three values each; may be empty.
    pub marked: Vec<f64>,
    /// The name of the marked points in the legend.
    pub marked_name: &'a str,
}

impl Pairs<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid: no points, equal points, names with any characters.
    ///
    /// The cost is about that of sorting the points three times.
    pub fn to_svg(&self) -> String {
        self.to_svg_with(&[], &[])
    }

    /// Like [`to_svg`](Self::to_svg), with more series of the front, which differ in the shape of their
    /// markers, and with lines and marks below the points.
    pub fn to_svg_with(&self, others: &[Series], trails: &[Trail]) -> String {
        let first = Marker {
            color: GRAY,
            shape: Shape::Dot,
        };
        let mut fronts = vec![Layer::new(&self.front, 3, first)];
        fronts.extend(others.iter().enumerate().map(|(i, series)| {
            let shape = Marker::of(i + 1).shape;
            Layer::new(series, 3, Marker { shape, ..first })
        }));
        let marked = Series {
            name: self.marked_name,
            values: &self.marked,
        };
        let marked = Layer::new(&marked, 3, REFERENCE);
        let axes = [0, 1, 2].map(|i| {
            let layers = fronts.iter().chain([&marked]);
            let points = layers.flat_map(|layer| &layer.points).map(|p| p[i]);
            let points = points.chain(trails.iter().flat_map(|trail| trail.along(3, i)));
            let (low, high) = range(points).unwrap_or((0.0, 1.0));
            Axis {
                name: self.axes[i],
                note: "",
                scale: Scale::covering(low, high),
            }
        });
        let bars = [0, 1, 2].map(|i| Bar {
            name: self.axes[i],
            scale: axes[i].scale,
        });
        let beside = axes.iter().map(|axis| Frame::beside(axis, FRAME.1));
        let beside = beside.fold(10.0, f64::max);
        let after = bars.iter().map(Bar::room).fold(0.0, f64::max);
        let cell = (
            FRAME.0 + after + beside + GAP,
            ABOVE + FRAME.1 + Frame::BELOW + GAP,
        );
        let page = Page {
            title: self.title.trim(),
            better: Better::Neither,
            legend: Legend::new(entries(&fronts, &marked, trails), cell.0 + FRAME.0),
            beside,
            width: cell.0 + FRAME.0 + after,
            height: 2.0 * cell.1 - GAP,
        };
        let about = self.describe(&fronts) + &described(trails.iter());
        let mut svg = page.open(&self.name(), &about);
        let frame = |i: usize| Frame {
            left: page.left() + (i % 2) as f64 * cell.0,
            top: page.top() + (i / 2) as f64 * cell.1 + ABOVE,
            width: FRAME.0,
            height: FRAME.1,
        };
        // The place in the grid, the axes and the color of each panel.
        let panels = [
            ("(a)", 0, (0, 1, 2)),
            ("(b)", 2, (0, 2, 1)),
            ("(c)", 3, (1, 2, 0)),
        ];
        for (title, at, (x, y, third)) in panels {
            let frame = frame(at);
            draw_title(&mut svg, frame, title, "lower is better on both axes");
            frame.draw(&mut svg, &axes[x], Some(&axes[y]));
            bars[third].draw(&mut svg, frame);
            let place =
                |p: &&[f64]| frame.position(axes[x].scale.share(p[x]), axes[y].scale.share(p[y]));
            let share = |p: &&[f64]| axes[third].scale.share(p[third]);
            for trail in trails {
                trail.draw(&mut svg, frame, &axes, (x, y));
            }
            for front in fronts.iter().filter(|front| !front.points.is_empty()) {
                draw_points(&mut svg, front, place, share);
            }
            if fronts.iter().all(|front| front.points.is_empty()) {
                frame.draw_empty(&mut svg);
            }
            draw_marked(&mut svg, &marked, place);
        }
        svg.finish()
    }

    /// The title, or a default from the names of the objectives.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => format!("Pareto front of {}", self.axes.join(", ")),
            title => title.into(),
        }
    }

    /// The description for screen readers.
    fn describe(&self, fronts: &[Layer]) -> String {
        let counts =
            (fronts.iter()).map(|front| format!("{}, {}", front.shown_name(), front.count()));
        let mut text = format!(
            "A front over three objectives: each pair of them, colored by the third; lower is \
             better on every axis. {}. Axes:",
            counts.collect::<Vec<String>>().join("; ")
        );
        for (i, name) in self.axes.iter().enumerate() {
            let _ = write!(text, "{} {name}", if i > 0 { ";" } else { "" });
            if let Some((low, high)) = range(fronts.iter().flat_map(|f| &f.points).map(|p| p[i])) {
                let _ = write!(text, " from {} to {}", rounded(low), rounded(high));
            }
        }
        text += ".";
        text
    }
}

/// Draws the points of the front, color by color.
fn draw_points(
    svg: &mut Svg,
    front: &Layer,
    place: impl Fn(&&[f64]) -> Position,
    share: impl Fn(&&[f64]) -> f64,
) {
    let mut by_color: Vec<Vec<Position>> = vec![Vec::new(); STEPS];
    for point in &front.points {
        by_color[step(share(point))].push(place(point));
    }
    // Dots are drawn by the ends of a stroke, other shapes are filled.
    let shape = front.marker.shape;
    let width = match (shape, front.dense) {
        (Shape::Dot, true) => 32.0,
        (Shape::Dot, false) => 46.0,
        _ => 8.0,
    };
    let size = if front.dense { 17 } else { 24 };
    named_group(svg, Some(front.shown_name()), None);
    tenths(svg);
    for (i, at) in by_color.into_iter().enumerate() {
        let at = merge(at);
        if !at.is_empty() {
            let color = color(i);
            let path = svg.tag("path").set("d", &shape.path(size, &at)[..]);
            let path = match shape {
                Shape::Dot => path,
                _ => path.set("fill", &color[..]).set("fill-opacity", 0.9),
            };
            path.set("stroke", &color[..])
                .set("stroke-width", width)
                .set("stroke-linecap", "round")
                .set("stroke-opacity", 0.85)
                .end();
        }
    }
    svg.close();
    svg.close();
}

fn draw_marked(svg: &mut Svg, marked: &Layer, place: impl Fn(&&[f64]) -> Position) {
    let at = merge(marked.points.iter().map(place).collect());
    if !at.is_empty() {
        named_group(svg, Some(marked.shown_name()), None);
        tenths(svg);
        draw_markers(svg, REFERENCE, Ink::Outlines, 40, &at);
        svg.close();
        svg.close();
    }
}

fn entries(fronts: &[Layer], marked: &Layer, trails: &[Trail]) -> Vec<Entry> {
    let entry = |front: &Layer| Entry {
        key: match front.marker.shape {
            Shape::Dot => Key::Ramp,
            _ => Key::Marker(front.marker),
        },
        name: front.shown_name().to_owned(),
        note: front.count(),
    };
    let mut entries: Vec<Entry> = fronts.iter().map(entry).collect();
    if !marked.points.is_empty() {
        entries.push(Entry {
            key: Key::Marker(REFERENCE),
            name: marked.shown_name().to_owned(),
            note: String::new(),
        });
    }
    entries.extend(trails.iter().map(Trail::entry));
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn draw(values: &[f64], marked: &[f64]) -> String {
        let svg = Pairs {
            title: "a title".into(),
            axes: ["f1", "f2", "f3"],
            front: Series { name: "s", values },
            marked: marked.to_vec(),
            marked_name: "unmitigated model",
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    /// The number of points drawn in a color.
    fn dots(svg: &str, step: usize) -> usize {
        let stroke = format!("\" stroke=\"{}\" stroke-width", color(step));
        let parts: Vec<&str> = svg.split(&stroke).collect();
        let paths = parts[..parts.len() - 1].iter();
        // The legend has one dot of each color.
        let all: usize = paths
            .map(|p| {
                p.rsplit("<path d=\"")
                    .next()
                    .unwrap_or("")
                    .matches("h1")
                    .count()
            })
            .sum();
        all - 1
    }

    #[test]
    fn colors_are_those_of_the_third_objective() {
        // Third values at the ends of each range: two are low, one is high.
        let svg = draw(&[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5, 1.0], &[]);
        // In (a) two points are lowest in f3; in (b) and (c) one each in f2 and f1.
        assert_eq!(dots(&svg, 0), 2 + 1 + 1);
        assert_eq!(dots(&svg, STEPS - 1), 1 + 1 + 1);
        assert_eq!(dots(&svg, STEPS / 2), 2);
        assert!(svg.contains(">3 points<") && !svg.contains("unmitigated"));
    }

    #[test]
    fn degenerate_fronts_give_a_figure() {
        for values in [&[][..], &[0.5; 3], &[0.5; 30], &[f64::NAN; 3], &[0.1, 0.2]] {
            let svg = draw(values, &[0.5, 0.5, 0.5]);
            assert!(svg.contains("unmitigated model"));
        }
        assert_eq!(draw(&[], &[]).matches(">no points<").count(), 3);
        let part = draw(&[0.1, 0.2, 0.3, 0.1, f64::NAN, 0.3], &[]);
        assert!(part.contains(">1 point, 1 not finite<"));
    }

    #[test]
    fn names_are_escaped() {
        let script = "</text><script>alert(\"1\")</script>'&";
        let long = "long name ".repeat(1_000);
        for name in [script, &long, "", "\u{202e}\u{0}", "男".repeat(50).as_str()] {
            let svg = Pairs {
                title: name.into(),
                axes: [name; 3],
                front: Series {
                    name,
                    values: &[1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
                },
                marked: vec![1.0; 3],
                marked_name: name,
            }
            .to_svg();
            assert_well_formed(&svg);
            assert!(!svg.contains("<script"));
        }
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![0.0..1.0_f64, any::<f64>(), Just(0.0), Just(f64::NAN)]
    }

    proptest! {
        #[test]
        fn any_points_give_the_same_figure_again(
            values in prop::collection::vec(value(), 0..60),
            marked in prop::collection::vec(value(), 0..5),
        ) {
            prop_assert_eq!(draw(&values, &marked), draw(&values, &marked));
        }
    }
}
