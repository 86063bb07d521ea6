//! The hypervolume of two objectives as an area.

use std::fmt::Write;

use crate::figure::{Axis, Frame, INK, Ink, TEXT_SIZE, draw_markers, named_group, tenths};
use crate::legend::{Entry, Key, shown_name};
use crate::marker::Marker;
use crate::overlay::Series;
use crate::page::Page;
use crate::panel::{Layer, REFERENCE};
use crate::scale::{LARGEST, Scale, range, rounded};
use crate::side::Better;
use crate::svg::Svg;
use crate::text::{shorten, width};

/// Width and height of the frame, in pixels.
const FRAME: (f64, f64) = (560.0, 360.0);
/// The color of the area that several points dominate.
const SHARED: &str = "#e3e3e3";
/// The color of the area that only one point dominates.
const OWN: &str = "#b9b9b9";

/// The hypervolume of a front over two objectives, drawn as the area between the points and a
/// reference point. The part that only one point dominates is shaded.
///
/// Both objectives are minimized. Points that are dominated, or that are not better than the
/// reference in both objectives, are drawn and add nothing. Points with a value that cannot be
/// drawn are left out. Without a reference that can be drawn, there is no area.
///
/// ```
/// use fairfront_report::{Series, Volume};
/// let figure = Volume {
///     title: "The hypervolume of three models".into(),
///     axes: ["log_loss", "score_covariance(a)"],
///     front: Series { name: "models", values: &[0.2, 0.6, 0.4, 0.2, 0.7, 0.1] },
///     reference: [1.0, 1.0],
///     label: "hypervolume 0.59".into(),
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains(">hypervolume 0.59<"));
/// assert!(svg.contains("adds 0.12 alone"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Volume<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// Names of the objectives, the horizontal axis first.
    pub axes: [&'a str; 2],
    /// The points, two values each.
    pub front: Series<'a>,
    /// The reference point, where the area ends.
    pub reference: [f64; 2],
    /// The label inside the area, such as its size.
    pub label: String,
}

impl Volume<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid.
    ///
    /// The cost is that of sorting the points.
    pub fn to_svg(&self) -> String {
        let layer = Layer::new(&self.front, 2, Marker::of(0));
        let known = self.reference.iter().all(|r| r.abs() <= LARGEST);
        let reference = known.then_some(self.reference);
        let steps = reference.map_or_else(Vec::new, |r| Step::all(&layer.points, r));
        let axis = |i: usize| {
            let values = layer.points.iter().map(|p| p[i]);
            let (low, high) = range(values.chain(reference.map(|r| r[i]))).unwrap_or((0.0, 1.0));
            Axis {
                name: self.axes[i],
                note: Better::Lower.note(),
                scale: Scale::covering(low, high),
            }
        };
        let axes = [axis(0), axis(1)];
        let entries = entries(&layer, &steps, reference);
        let (page, frame) = Page::of_one(self.title.trim(), entries, &axes[1], FRAME);
        let mut svg = page.open(self.name(), &self.describe(&layer, &steps, reference));
        frame.draw(&mut svg, &axes[0], Some(&axes[1]));
        let drawing = Drawing { frame, axes };
        if layer.points.is_empty() && reference.is_none() {
            frame.draw_empty(&mut svg);
        }
        tenths(&mut svg);
        drawing.area(&mut svg, &steps);
        let at: Vec<(i64, i64)> = (layer.points.iter())
            .map(|p| drawing.place([p[0], p[1]]))
            .collect();
        named_group(&mut svg, Some(layer.shown_name()), None);
        draw_markers(&mut svg, layer.marker, Ink::Signs, 44, &at);
        svg.close();
        if let Some(reference) = reference {
            draw_markers(
                &mut svg,
                REFERENCE,
                Ink::Outlines,
                44,
                &[drawing.place(reference)],
            );
        }
        svg.close();
        drawing.label(&mut svg, &self.label, &steps);
        svg.finish()
    }

    /// The title, or a default.
    fn name(&self) -> &str {
        match self.title.trim() {
            "" => "Hypervolume",
            title => title,
        }
    }

    /// The description for screen readers.
    fn describe(&self, layer: &Layer, steps: &[Step], reference: Option<[f64; 2]>) -> String {
        let [x, y] = self.axes.map(|name| shorten(name, 10.0, 1_000.0));
        let mut text = format!(
            "The area between points and a reference point, {y} against {x}, lower is better. {}, {}.",
            shorten(layer.shown_name(), 10.0, 1_000.0),
            layer.count(),
        );
        if let Some([x, y]) = reference {
            let _ = write!(text, " Reference: {}, {}.", rounded(x), rounded(y));
        }
        if !self.label.trim().is_empty() {
            let _ = write!(text, " {}.", shorten(self.label.trim(), 10.0, 1_000.0));
        }
        for step in steps {
            let _ = write!(text, " {}.", step.words());
        }
        text
    }
}

fn entries(layer: &Layer, steps: &[Step], reference: Option<[f64; 2]>) -> Vec<Entry> {
    let entry = |key: Key, name: &str, note: String| Entry {
        key,
        name: name.to_owned(),
        note,
    };
    let name = shown_name(layer.name);
    let mut entries = vec![entry(Key::Marker(layer.marker), name, layer.count())];
    if let Some([x, y]) = reference {
        let place = format!("({}, {})", rounded(x), rounded(y));
        entries.push(entry(Key::Marker(REFERENCE), "reference point", place));
    }
    if !steps.is_empty() {
        let none = String::new;
        entries.push(entry(
            Key::Area(SHARED),
            "dominated by several points",
            none(),
        ));
        entries.push(entry(
            Key::Area(OWN),
            "dominated by one point alone",
            none(),
        ));
    }
    entries
}

/// A point on the edge of the area, and the end of its part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    point: [f64; 2],
    /// The first value of the next point, or of the reference.
    right: f64,
    /// The second value of the previous point, or of the reference.
    top: f64,
    /// The second value of the reference.
    ceiling: f64,
}

impl Step {
    /// The points on the edge of the area, from left to right.
    fn all(points: &[&[f64]], reference: [f64; 2]) -> Vec<Self> {
        let mut inside: Vec<[f64; 2]> = (points.iter())
            .map(|p| [p[0], p[1]])
            .filter(|p| p[0] < reference[0] && p[1] < reference[1])
            .collect();
        inside.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let mut steps: Vec<Self> = Vec::new();
        for point in inside {
            let top = steps.last().map_or(reference[1], |last| last.point[1]);
            // Equal zeros of different signs are equal.
            if point[1] >= top {
                continue;
            }
            if let Some(last) = steps.last_mut() {
                last.right = point[0];
            }
            steps.push(Self {
                point,
                right: reference[0],
                top,
                ceiling: reference[1],
            });
        }
        steps
    }

    /// The area that only this point dominates.
    fn own(&self) -> f64 {
        (self.right - self.point[0]) * (self.top - self.point[1])
    }

    fn words(&self) -> String {
        let [x, y] = self.point.map(rounded);
        format!("The point ({x}, {y}) adds {} alone", rounded(self.own()))
    }
}

/// The frame and axes that the area is drawn in.
struct Drawing<'a> {
    frame: Frame,
    axes: [Axis<'a>; 2],
}

impl Drawing<'_> {
    fn place(&self, point: [f64; 2]) -> (i64, i64) {
        let [x, y] = [0, 1].map(|i| self.axes[i].scale.share(point[i]));
        self.frame.position(x, y)
    }

    /// Draws the area as stairs, each step with the part that only its point dominates.
    fn area(&self, svg: &mut Svg, steps: &[Step]) {
        let rectangle = |svg: &mut Svg, from: [f64; 2], to: [f64; 2], fill: &str| {
            let ((left, bottom), (right, top)) = (self.place(from), self.place(to));
            svg.tag("rect")
                .at(left as f64, top as f64)
                .set("width", (right - left) as f64)
                .set("height", (bottom - top) as f64)
                .set("fill", fill)
                .end();
        };
        let Some((first, last)) = steps.first().zip(steps.last()) else {
            return;
        };
        // The edge goes down to each point, then right to the next. It is one path, because seams
        // would show between adjacent rectangles.
        let (x, y) = self.place([first.point[0], first.ceiling]);
        let mut edge = format!("M{x} {y}");
        for step in steps {
            let ((_, y), (right, _)) = (self.place(step.point), self.place([step.right, step.top]));
            let _ = write!(edge, "V{y}H{right}");
        }
        let (_, top) = self.place([last.right, last.ceiling]);
        let _ = write!(edge, "V{top}z");
        svg.tag("path")
            .set("d", &edge[..])
            .set("fill", SHARED)
            .end();
        for step in steps {
            named_group(svg, Some(&step.words()), None);
            rectangle(svg, step.point, [step.right, step.top], OWN);
            svg.close();
        }
        svg.tag("path")
            .set("d", &edge[..])
            .set("stroke", INK)
            .set("stroke-width", 10.0)
            .set("stroke-linejoin", "round")
            .end();
    }

    /// Draws the label in the upper right of the area, as large as it fits.
    fn label(&self, svg: &mut Svg, label: &str, steps: &[Step]) {
        let (label, Some(first)) = (label.trim(), steps.first()) else {
            return;
        };
        let right = steps.last().map_or(first.right, |last| last.right);
        let (left, top) = self.place([first.point[0], first.ceiling]);
        let (right, _) = self.place([right, first.ceiling]);
        let room = (right - left) as f64 / 10.0 - 24.0;
        let size = if width(label, 18.0) <= room {
            18.0
        } else {
            TEXT_SIZE
        };
        let short = shorten(label, size, room.max(TEXT_SIZE));
        if short.is_empty() {
            return;
        }
        named_group(svg, (short != label).then_some(label), None);
        svg.tag("text")
            .at(right as f64 / 10.0 - 14.0, top as f64 / 10.0 + 34.0)
            .set("text-anchor", "end")
            .set("font-size", size)
            .set("font-weight", "bold")
            .set("fill", INK)
            .text(&short);
        svg.close();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn draw(values: &[f64], reference: [f64; 2], name: &str) -> String {
        let svg = Volume {
            title: name.into(),
            axes: [name, name],
            front: Series { name, values },
            reference,
            label: name.into(),
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    fn steps(values: &[f64], reference: [f64; 2]) -> Vec<Step> {
        let points: Vec<&[f64]> = values.chunks_exact(2).collect();
        Step::all(&points, reference)
    }

    #[test]
    fn each_point_adds_its_own_corner() {
        let stairs = steps(&[3.0, 1.0, 1.0, 3.0, 2.0, 2.0], [4.0, 4.0]);
        let own: Vec<f64> = stairs.iter().map(Step::own).collect();
        assert_eq!(own, [1.0, 1.0, 1.0]);
        // Dominated, equal, on the edge of the box, and outside it.
        let values = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 0.0, 4.0, 5.0, 0.0];
        let stairs = steps(&values, [4.0, 4.0]);
        assert_eq!(stairs.len(), 1);
        assert_eq!(stairs[0].own(), 9.0);
        let svg = draw(&values, [4.0, 4.0], "a name");
        assert!(svg.contains(">5 points<") && svg.contains("(1, 1) adds 9 alone"));
        assert_eq!(svg.matches(">a name</text>").count(), 2);
    }

    #[test]
    fn without_a_reference_there_is_no_area() {
        for reference in [[f64::NAN, 1.0], [1.0, f64::INFINITY]] {
            let svg = draw(&[0.5, 0.5], reference, "a name");
            assert!(!svg.contains(SHARED) && svg.contains(">1 point<"));
            assert!(draw(&[], reference, "a name").contains(">no points<"));
        }
        // There is no area either if no point is better than the reference.
        assert!(!draw(&[0.5, 0.5], [0.5, 1.0], "a name").contains(SHARED));
    }

    #[test]
    fn names_are_escaped() {
        let script = "</text><script>alert(\"1\")</script>'&";
        let long = "long name ".repeat(1_000);
        for name in [script, &long, "", "\u{202e}\u{0}"] {
            let svg = draw(&[0.1, 0.2], [1.0, 1.0], name);
            assert!(!svg.contains("<script"));
        }
    }

    proptest! {
        #[test]
        fn the_own_part_of_a_point_is_lost_without_it(
            points in prop::collection::vec((0..12_u8, 0..12_u8), 1..9),
            reference in (1..12_u8, 1..12_u8),
        ) {
            let values: Vec<f64> =
                points.iter().flat_map(|(x, y)| [f64::from(*x), f64::from(*y)]).collect();
            let reference = [f64::from(reference.0), f64::from(reference.1)];
            // Unit squares with a point below and to the left, counted one by one.
            let covered = |values: &[f64]| {
                let cell = |i: u8| [f64::from(i % 12), f64::from(i / 12)];
                let inside = |c: &[f64; 2]| c[0] < reference[0] && c[1] < reference[1];
                let by = |c: &[f64; 2]| values.chunks(2).any(|p| p[0] <= c[0] && p[1] <= c[1]);
                (0..144).map(cell).filter(inside).filter(by).count() as f64
            };
            let stairs = steps(&values, reference);
            let area: f64 =
                stairs.iter().map(|s| (s.right - s.point[0]) * (s.ceiling - s.point[1])).sum();
            prop_assert_eq!(area, covered(&values));
            for step in &stairs {
                // Only nondominated points count here.
                let others = stairs.iter().filter(|s| s.point != step.point);
                let others: Vec<f64> = others.flat_map(|s| s.point).collect();
                prop_assert_eq!(step.own(), covered(&values) - covered(&others));
            }
        }

        #[test]
        fn any_points_give_the_same_figure_again(
            values in prop::collection::vec(prop_oneof![0.0..1.0_f64, any::<f64>()], 0..20),
            x in any::<f64>(),
            y in prop_oneof![0.0..2.0_f64, any::<f64>()],
        ) {
            for reference in [[x, y], [1.0, y]] {
                prop_assert_eq!(draw(&values, reference, "n"), draw(&values, reference, "n"));
            }
        }
    }
}
