//! Lines and marks next to the points of a figure, such as an estimated bound.

use std::fmt::Write;

use crate::figure::{
    Axis, Frame, GRAY, INK, Ink, LineStyle, draw_line, draw_markers, named_group, tenths,
};
use crate::legend::{Entry, Key, shown_name};
use crate::marker::{Marker, Position, Shape, line_path};
use crate::scale::LARGEST;
use crate::svg::Svg;

/// How a [`Trail`] is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailStyle {
    /// A dashed gray line, for an estimate.
    Dashed,
    /// A dotted purple line.
    Dotted,
    /// A black cross at every point.
    Marks,
}

/// A line or marks next to the points of a figure, such as an estimated bound with its band.
///
/// A panel shows the points that have values on both of its axes. The axes cover all points; a band
/// is cut at the edge of its panel.
///
/// ```
/// use fairfront_report::{Overlay, Series, Trail, TrailStyle};
/// let figure = Overlay {
///     title: "A front".into(),
///     axes: vec!["error rate".into(), "difference".into()],
///     series: vec![Series { name: "front", values: &[0.2, 0.1, 0.3, 0.0] }],
///     reference: None,
/// };
/// let bound = Trail {
///     name: "estimate".into(),
///     note: "no model does better".into(),
///     style: TrailStyle::Dashed,
///     values: vec![0.18, 0.1, 0.25, 0.0],
///     better: vec![0.17, 0.09, 0.24, 0.0],
///     worse: vec![0.19, 0.11, 0.26, 0.01],
/// };
/// let svg = figure.to_svg_with(&[bound]);
/// assert!(svg.contains(">estimate</tspan>"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trail {
    /// The name in the legend.
    pub name: String,
    /// A gray note after the name; may be empty.
    pub note: String,
    /// How it is drawn.
    pub style: TrailStyle,
    /// The values of all points, one after the other; NaN for an axis without a value.
    pub values: Vec<f64>,
    /// The points on the better side of a band, likewise; empty without a band.
    pub better: Vec<f64>,
    /// The points on the worse side of a band.
    pub worse: Vec<f64>,
}

impl Trail {
    /// The points that have values on these axes, of `m` values each.
    fn points(values: &[f64], m: usize, x: usize, y: usize) -> impl Iterator<Item = (f64, f64)> {
        let points = values.chunks_exact(m.max(1));
        let both = points.filter_map(move |p| Some((*p.get(x)?, *p.get(y)?)));
        both.filter(|(x, y)| x.abs() <= LARGEST && y.abs() <= LARGEST)
    }

    /// All values along an axis.
    pub(crate) fn along(&self, m: usize, axis: usize) -> impl Iterator<Item = f64> {
        let values = self.values.iter().skip(axis).step_by(m.max(1));
        values.copied().filter(|v| v.abs() <= LARGEST)
    }

    fn marker(&self) -> Marker {
        let color = match self.style {
            TrailStyle::Dashed => GRAY,
            TrailStyle::Dotted => "#9b3a78",
            TrailStyle::Marks => INK,
        };
        Marker {
            color,
            shape: Shape::Cross,
        }
    }

    fn line(&self) -> LineStyle {
        let dashes = match self.style {
            TrailStyle::Dashed => "70 45",
            _ => "18 28",
        };
        LineStyle::dashed(self.marker(), dashes)
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry {
            key: match self.style {
                TrailStyle::Marks => Key::Marker(self.marker()),
                _ => Key::Line(self.line(), false),
            },
            name: shown_name(&self.name).to_owned(),
            note: self.note.clone(),
        }
    }

    /// Draws it into a frame; `axes` are those of the figure, of which the frame shows `x` and `y`.
    pub(crate) fn draw(&self, svg: &mut Svg, frame: Frame, axes: &[Axis], (x, y): (usize, usize)) {
        let place = |(across, up): (f64, f64)| -> Position {
            let inside = |axis: usize, v: f64| axes[axis].scale.share(v).clamp(0.0, 1.0);
            frame.position(inside(x, across), inside(y, up))
        };
        let of = |values: &[f64]| -> Vec<Position> {
            Self::points(values, axes.len(), x, y).map(place).collect()
        };
        let at = of(&self.values);
        if at.is_empty() {
            return;
        }
        named_group(svg, Some(shown_name(&self.name)), None);
        tenths(svg);
        let (mut band, worse) = (of(&self.better), of(&self.worse));
        if !band.is_empty() && !worse.is_empty() {
            band.extend(worse.into_iter().rev());
            svg.tag("path")
                .set("d", &format!("{}z", line_path(&[band]))[..])
                .set("fill", self.marker().color)
                .set("fill-opacity", 0.1)
                .end();
        }
        match self.style {
            TrailStyle::Marks => draw_markers(svg, self.marker(), Ink::Rings, 48, &at),
            _ => draw_line(svg, self.line(), &[at]),
        }
        svg.close();
        svg.close();
    }
}

/// A sentence about these trails for screen readers; empty without trails.
pub(crate) fn described<'a>(trails: impl Iterator<Item = &'a Trail>) -> String {
    let mut text = String::new();
    for trail in trails {
        let separator = if text.is_empty() {
            " Also shown: "
        } else {
            "; "
        };
        let _ = write!(text, "{separator}{}", shown_name(&trail.name));
        if !trail.note.is_empty() {
            let _ = write!(text, " ({})", trail.note);
        }
    }
    if !text.is_empty() {
        text += ".";
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;
    use crate::{Better, Overlay, Pairs, Scatter, Scatters, Series, Side};

    fn trail(style: TrailStyle, values: &[f64]) -> Trail {
        Trail {
            name: "a trail".into(),
            note: "a note".into(),
            style,
            values: values.to_vec(),
            better: Vec::new(),
            worse: Vec::new(),
        }
    }

    fn overlay(m: usize, trails: &[Trail]) -> String {
        let values: Vec<f64> = (0..4 * m).map(|i| (i % 5) as f64 / 4.0).collect();
        let svg = Overlay {
            title: "a title".into(),
            axes: (0..m).map(|i| format!("f{i}")).collect(),
            series: vec![Series {
                name: "s",
                values: &values,
            }],
            reference: None,
        }
        .to_svg_with(trails);
        assert_well_formed(&svg);
        svg
    }

    #[test]
    fn trails_have_entries_and_a_description() {
        let dashed = trail(TrailStyle::Dashed, &[0.0, 1.0, 1.0, 0.0]);
        let svg = overlay(2, &[dashed, trail(TrailStyle::Marks, &[0.5, 0.5])]);
        assert_eq!(svg.matches(">a trail</tspan>").count(), 2);
        assert_eq!(svg.matches("<title>a trail</title>").count(), 2);
        assert!(svg.contains("Also shown: a trail (a note); a trail (a note)."));
        // In the panel and in the legend.
        assert_eq!(svg.matches("stroke-dasharray=\"70 45\"").count(), 2);
        assert!(!overlay(2, &[]).contains("Also shown"));
    }

    #[test]
    fn axes_cover_trails_and_bands_stay_inside() {
        let far = |value: f64| {
            let svg = overlay(2, &[trail(TrailStyle::Dotted, &[0.0, 0.0, value, 0.5])]);
            svg.contains(">5<") || svg.contains(">5.0<")
        };
        assert!(far(5.0) && !far(0.5));
        let banded = Trail {
            better: vec![-100.0, -100.0, 0.0, 0.0],
            worse: vec![100.0, 100.0, 1.0, 1.0],
            ..trail(TrailStyle::Dashed, &[0.0, 1.0, 1.0, 0.0])
        };
        let svg = overlay(2, &[banded]);
        assert_eq!(svg.matches("fill-opacity=\"0.1\"").count(), 1);
        assert!(!svg.contains(">100<") && !svg.contains(">-100<"));
    }

    #[test]
    fn panels_show_trails_with_values_on_both_axes() {
        let pair = trail(
            TrailStyle::Dashed,
            &[0.1, 0.2, f64::NAN, 0.3, 0.1, f64::NAN],
        );
        assert_eq!(
            overlay(3, std::slice::from_ref(&pair))
                .matches("<title>a trail<")
                .count(),
            1
        );
        // A single objective has no panel with two axes.
        let one = overlay(1, &[trail(TrailStyle::Dashed, &[0.1, 0.2])]);
        assert!(!one.contains("<title>a trail<"));
        let values = [0.1, 0.2, 0.3, 0.4, 0.2, 0.1];
        let svg = Pairs {
            title: String::new(),
            axes: ["f", "g", "h"],
            front: Series {
                name: "linear",
                values: &values,
            },
            marked: Vec::new(),
            marked_name: "",
        }
        .to_svg_with(
            &[Series {
                name: "trees",
                values: &values[..3],
            }],
            &[pair],
        );
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<title>a trail<").count(), 1);
        assert_eq!(svg.matches("<title>trees<").count(), 3);
        assert!(svg.contains(">trees</tspan>") && svg.contains("trees, 1 point"));
    }

    #[test]
    fn a_trail_is_in_its_panel_only() {
        let side = |name: &str| Side {
            name: name.into(),
            better: Better::Lower,
        };
        let panel = Scatter {
            title: "a panel".into(),
            x: side("f"),
            y: side("g"),
            series: vec![Series {
                name: "s",
                values: &[0.1, 0.2],
            }],
            marked: Vec::new(),
        };
        let figure = Scatters {
            title: String::new(),
            panels: vec![panel.clone(), panel],
            marked: String::new(),
        };
        let svg = figure.to_svg_with(&[(1, trail(TrailStyle::Dotted, &[0.1, 0.1, 0.2, 0.0]))]);
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<title>a trail<").count(), 1);
        assert!(svg.contains("Also shown: a trail"));
        assert_eq!(figure.to_svg_with(&[]), figure.to_svg());
    }

    proptest! {
        #[test]
        fn any_trail_gives_a_well_formed_figure(
            values in prop::collection::vec(any::<f64>(), 0..12),
            band in prop::collection::vec(any::<f64>(), 0..12),
            m in 0..4_usize,
        ) {
            for style in [TrailStyle::Dashed, TrailStyle::Dotted, TrailStyle::Marks] {
                let one = Trail {
                    better: band.clone(),
                    worse: band.clone(),
                    ..trail(style, &values)
                };
                let svg = overlay(m, &[one]);
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
    }
}
