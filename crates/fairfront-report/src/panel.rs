//! Panels: their positions, and how several series share a panel.

use std::cmp::Reverse;

use crate::figure::{Axis, FRAME_COLOR, Frame, GRAY, INK, Ink, draw_markers, named_group, tenths};
use crate::legend::{count, shown_name};
use crate::marker::{Marker, Position, Shape, merge_within};
use crate::overlay::Series;
use crate::scale::{LARGEST, grouped};
use crate::spread::spread;
use crate::svg::Svg;

/// The maximum number of panels: all pairs of ten objectives.
const MOST: usize = 45;

/// A series with more points than this is drawn as dots, with a marker on some of them.
const DENSE: usize = 150;

/// The marker of a front that other points are drawn over.
pub(crate) const GROUND: Marker = Marker {
    color: FRAME_COLOR,
    shape: Shape::Dot,
};

/// The marker of the reference point.
pub(crate) const REFERENCE: Marker = Marker {
    color: INK,
    shape: Shape::Target,
};

/// A series as it is drawn.
pub(crate) struct Layer<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<&'a [f64]>,
    /// Numbers of points left out: a value is not finite, a value is too large to draw, values are
    /// missing at the end.
    pub(crate) left_out: [usize; 3],
    pub(crate) dense: bool,
    pub(crate) marker: Marker,
}

impl<'a> Layer<'a> {
    /// The series without the points that cannot be drawn.
    pub(crate) fn new(series: &Series<'a>, m: usize, marker: Marker) -> Self {
        let mut points = Vec::new();
        let mut left_out = [0; 3];
        if m > 0 {
            let whole = series.values.chunks_exact(m);
            left_out[2] = usize::from(!whole.remainder().is_empty());
            for point in whole {
                if point.iter().all(|v| v.abs() <= LARGEST) {
                    points.push(point);
                } else {
                    left_out[usize::from(point.iter().all(|v| v.is_finite()))] += 1;
                }
            }
        }
        Self {
            name: series.name,
            left_out,
            dense: points.len() > DENSE,
            points,
            marker,
        }
    }

    /// The name, or `(no name)`.
    pub(crate) fn shown_name(&self) -> &str {
        shown_name(self.name)
    }

    fn draw(&self, svg: &mut Svg, ink: Ink, size: i64, at: &[Position]) {
        if !at.is_empty() {
            named_group(svg, Some(self.shown_name()), None);
            draw_markers(svg, self.marker, ink, size, at);
            svg.close();
        }
    }

    /// The numbers of points drawn and left out, in words.
    pub(crate) fn count(&self) -> String {
        count(self.points.len(), self.left_out)
    }
}

/// The sizes and positions of panels.
pub(crate) struct Panels {
    /// The objectives of each panel; without a second objective, the panel has one row per series.
    pairs: Vec<(usize, Option<usize>)>,
    /// The first pair without a panel.
    left_out: Option<(usize, usize)>,
    columns: usize,
    frame: (f64, f64),
    /// Room to the left of every panel.
    pub(crate) beside: f64,
    /// From the left edge of the first frame to the right edge of the last.
    pub(crate) width: f64,
    /// The height of all panels with their ticks and names.
    pub(crate) height: f64,
}

impl Panels {
    pub(crate) fn new(axes: &[Axis], n_series: usize) -> Self {
        let m = axes.len();
        let mut all = (0..m).flat_map(|i| (i + 1..m).map(move |j| (i, j)));
        let pairs: Vec<(usize, Option<usize>)> = match m {
            1 => vec![(0, None)],
            _ => all.by_ref().take(MOST).map(|(i, j)| (i, Some(j))).collect(),
        };
        let left_out = all.next();
        let columns = match pairs.len() {
            0..=1 => 1,
            2..=6 => 3,
            _ => 4,
        };
        let frame = match m {
            1 => (560.0, (24.0 * n_series as f64 + 24.0).max(72.0)),
            2 => (560.0, 400.0),
            _ => (240.0, 210.0),
        };
        let beside = match m {
            1 => 10.0,
            _ => (axes.iter().map(|axis| Frame::beside(axis, frame.1))).fold(10.0, f64::max),
        };
        let rows = pairs.len().div_ceil(columns) as f64;
        let cell = (
            frame.0 + beside + Self::GAP,
            frame.1 + Frame::BELOW + Self::GAP,
        );
        Self {
            pairs,
            left_out,
            columns,
            frame,
            beside,
            width: frame.0 + (columns - 1) as f64 * cell.0,
            height: (rows * cell.1 - Self::GAP).max(0.0),
        }
    }

    const GAP: f64 = 16.0;

    /// The number of objectives that are in at least one panel.
    pub(crate) fn n_shown(&self) -> usize {
        let last = self.pairs.iter().map(|(x, y)| 1 + y.unwrap_or(*x));
        last.max().unwrap_or(0)
    }

    /// Whether at least one panel can show this point.
    pub(crate) fn show(&self, point: &[Option<f64>]) -> bool {
        let known = |axis: usize| point.get(axis).is_some_and(Option::is_some);
        (self.pairs.iter()).any(|(x, y)| known(*x) && y.is_none_or(known))
    }

    /// A note about the pairs without a panel.
    pub(crate) fn note(&self, axes: &[Axis]) -> Option<String> {
        let (x, y) = self.left_out?;
        let pairs = axes.len() as u128 * (axes.len() as u128 - 1) / 2;
        Some(format!(
            "The first {} of {} pairs of objectives; the pairs from {} with {} on are left out",
            self.pairs.len(),
            grouped(pairs as usize),
            axes[x].name,
            axes[y].name
        ))
    }

    pub(crate) fn all(&self, left: f64, top: f64) -> impl Iterator<Item = Panel> {
        let cell = (
            self.frame.0 + self.beside + Self::GAP,
            self.frame.1 + Frame::BELOW + Self::GAP,
        );
        self.pairs.iter().enumerate().map(move |(i, (x, y))| Panel {
            x: *x,
            y: *y,
            frame: Frame {
                left: left + (i % self.columns) as f64 * cell.0,
                top: top + (i / self.columns) as f64 * cell.1,
                width: self.frame.0,
                height: self.frame.1,
            },
        })
    }
}

/// Two objectives, or one.
pub(crate) struct Panel {
    pub(crate) x: usize,
    pub(crate) y: Option<usize>,
    pub(crate) frame: Frame,
}

impl Panel {
    pub(crate) fn draw_axes(&self, svg: &mut Svg, axes: &[Axis]) {
        let (x, y) = (&axes[self.x], self.y.map(|y| &axes[y]));
        self.frame.draw(svg, x, y);
    }

    /// Draws the points and the reference point inside the axes.
    pub(crate) fn draw_points(
        &self,
        svg: &mut Svg,
        axes: &[Axis],
        layers: &[Layer],
        reference: &[Option<f64>],
    ) {
        let x = &axes[self.x];
        let rows = layers.len() as f64;
        let small = self.frame.width < 300.0;
        let positions: Vec<Vec<Position>> = (layers.iter().enumerate())
            .map(|(row, layer)| {
                let place = |point: &&[f64]| {
                    let height = match self.y {
                        Some(y) => axes[y].scale.share(point[y]),
                        None => 1.0 - (row as f64 + 0.5) / rows,
                    };
                    self.frame.position(x.scale.share(point[self.x]), height)
                };
                // Figures of small panels have many of them, and their dots are three pixels wide.
                let side = if small && layer.dense { 10 } else { 5 };
                merge_within(layer.points.iter().map(place).collect(), side)
            })
            .collect();
        if positions.iter().all(Vec::is_empty) {
            self.frame.draw_empty(svg);
            tenths(svg);
            self.draw_reference(svg, axes, reference, 40);
            svg.close();
            return;
        }

        // The longest series first, so that it does not hide the others.
        let mut order: Vec<usize> = (0..layers.len()).collect();
        order.sort_by_key(|i| Reverse(layers[*i].points.len()));
        let (dense, sparse): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|i| layers[*i].dense);
        let (size, sign, apart, most) = match small {
            true => (30, 34, 320.0, 10),
            false => (36, 40, 420.0, 16),
        };

        tenths(svg);
        for (depth, i) in dense.iter().enumerate() {
            // Lower series have wider dots, so that their edges stay visible.
            let diameter = (36 - 4 * depth as i64).max(22) - if small { 6 } else { 0 };
            layers[*i].draw(svg, Ink::Dots(diameter), 0, &positions[*i]);
        }
        // A single series needs no markers to distinguish it.
        if layers.len() > 1 {
            let of = |i: &usize| positions[*i].clone();
            let curves: Vec<Vec<Position>> = dense.iter().map(of).collect();
            let taken: Vec<Position> = sparse.iter().flat_map(of).collect();
            let signs = spread(&curves, &taken, apart, most);
            for (i, at) in dense.iter().zip(&signs) {
                layers[*i].draw(svg, Ink::Signs, sign, at);
            }
        }
        for i in &sparse {
            layers[*i].draw(svg, Ink::Outlines, size, &positions[*i]);
        }
        self.draw_reference(svg, axes, reference, sign);
        svg.close();
    }

    /// Draws the reference point and the box that it bounds.
    fn draw_reference(&self, svg: &mut Svg, axes: &[Axis], reference: &[Option<f64>], size: i64) {
        let Some(x) = reference[self.x] else {
            return;
        };
        let height = match self.y.map(|y| (y, reference[y])) {
            None => 1.0,
            Some((_, None)) => return,
            Some((y, Some(value))) => axes[y].scale.share(value),
        };
        let (x, y) = self.frame.position(axes[self.x].scale.share(x), height);
        let (left, bottom) = self.frame.position(0.0, 0.0);
        let edge = match self.y {
            Some(_) => format!("M{left} {y}H{x}V{bottom}"),
            None => format!("M{x} {y}V{bottom}"),
        };
        svg.tag("path")
            .set("d", &edge[..])
            .set("stroke", GRAY)
            .set("stroke-width", 10.0)
            .set("stroke-dasharray", "40 30")
            .end();
        draw_markers(svg, REFERENCE, Ink::Outlines, size, &[(x, y)]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scale::Scale;

    proptest! {
        #[test]
        fn panels_do_not_overlap_and_contain_their_points(
            m in 2..14_usize,
            low in -1e3..1e3_f64,
            span in 0.0..1e3_f64,
            share in 0.0..=1.0_f64,
        ) {
            let scale = Scale::covering(low, low + span);
            let axes: Vec<Axis> = (0..m).map(|_| Axis { name: "f", note: "", scale }).collect();
            let panels = Panels::new(&axes, 3);
            let all: Vec<Panel> = panels.all(0.0, 0.0).collect();
            prop_assert_eq!(all.len(), (m * (m - 1) / 2).min(MOST));
            prop_assert_eq!(panels.note(&axes).is_some(), m > 10);
            for (i, panel) in all.iter().enumerate() {
                let frame = panel.frame;
                prop_assert!(frame.left + frame.width <= panels.width + 1e-9);
                prop_assert!(frame.top + frame.height + Frame::BELOW <= panels.height + 1e-9);
                for other in all[..i].iter().map(|p| p.frame) {
                    let beside = (frame.left - other.left).abs() >= frame.width + panels.beside;
                    let below = (frame.top - other.top).abs() >= frame.height + Frame::BELOW;
                    prop_assert!(beside || below);
                }
                let place = |v: f64| frame.position(scale.share(v), scale.share(v));
                let (x, y) = place(low + share * span);
                let (low_x, low_y) = place(low);
                // Smaller values lie to the left and below.
                prop_assert!(low_x <= x && low_y >= y);
                let inside = |at: i64, from: f64, size: f64| {
                    at as f64 > 10.0 * from && (at as f64) < 10.0 * (from + size)
                };
                prop_assert!(inside(x, frame.left, frame.width));
                prop_assert!(inside(y, frame.top, frame.height));
            }
        }
    }
}
