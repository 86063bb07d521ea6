//! A box in space, seen from above and from the side.

use std::fmt::Write;

use crate::figure::{Axis, FRAME_COLOUR, Frame, GREY, GRID, TICK_SIZE};
use crate::marker::{Position, Shape};
use crate::scale::Tick;
use crate::svg::Svg;
use crate::text::width;

/// Where a unit step along each axis goes on paper, right and up: a parallel projection, turned by 40° and
/// seen from 24° above. Written out, since sines differ in their last bit from machine to machine.
const STEPS: [(f64, f64); 3] = [
    (0.766_044, -0.261_445),
    (0.642_788, 0.311_578),
    (0.0, 0.913_545),
];

/// A box whose three axes start at its left, front, lower corner.
pub(crate) struct Cube<'a> {
    axes: &'a [Axis<'a>; 3],
    /// Where the corner of all lower ends is, in pixels.
    origin: (f64, f64),
    /// Pixels to a unit.
    size: f64,
}

impl<'a> Cube<'a> {
    /// Room for ticks and names to the left and right, and below.
    const BESIDE: f64 = 30.0;
    const BELOW: f64 = 14.0;

    /// Ticks along an axis: few where their labels lie aslant.
    fn ticks(&self, axis: usize) -> Vec<Tick> {
        let most = if axis == 2 { 6 } else { 4 };
        self.axes[axis].scale.ticks(most)
    }

    pub(crate) fn new(frame: Frame, axes: &'a [Axis<'a>; 3]) -> Self {
        let wide = STEPS[0].0 + STEPS[1].0;
        let deep = -STEPS[0].1;
        let high = deep + STEPS[1].1 + STEPS[2].1;
        let (room_x, room_y) = (frame.width - 2.0 * Self::BESIDE, frame.height - Self::BELOW);
        let size = (room_x / wide).min(room_y / high);
        Self {
            axes,
            origin: (
                frame.left + (frame.width - size * wide) / 2.0 + 6.0,
                frame.top + size * (STEPS[1].1 + STEPS[2].1),
            ),
            size,
        }
    }

    /// A point given as shares of the three ranges, in pixels.
    fn pixels(&self, at: [f64; 3]) -> (f64, f64) {
        let right: f64 = at.iter().zip(STEPS).map(|(v, step)| v * step.0).sum();
        let up: f64 = at.iter().zip(STEPS).map(|(v, step)| v * step.1).sum();
        (
            self.origin.0 + self.size * right,
            self.origin.1 - self.size * up,
        )
    }

    /// The same in tenths of a pixel.
    pub(crate) fn position(&self, at: [f64; 3]) -> Position {
        let (x, y) = self.pixels(at);
        ((10.0 * x).round() as i64, (10.0 * y).round() as i64)
    }

    /// Walls with their grids, edges, ticks and names.
    pub(crate) fn draw(&self, svg: &mut Svg) {
        let mut grid = String::new();
        let line = |from: [f64; 3], to: [f64; 3], path: &mut String| {
            let ((a, b), (c, d)) = (self.pixels(from), self.pixels(to));
            let _ = write!(path, "M{a:.1} {b:.1}L{c:.1} {d:.1}");
        };
        for (axis, of) in self.axes.iter().enumerate() {
            for tick in self.ticks(axis) {
                let at = of.scale.share(tick.value);
                // On the two walls behind the box, or on the floor, that this axis runs along.
                let lines = match axis {
                    0 => [
                        ([at, 0.0, 0.0], [at, 1.0, 0.0]),
                        ([at, 1.0, 0.0], [at, 1.0, 1.0]),
                    ],
                    1 => [
                        ([0.0, at, 0.0], [1.0, at, 0.0]),
                        ([0.0, at, 0.0], [0.0, at, 1.0]),
                    ],
                    _ => [
                        ([0.0, 0.0, at], [0.0, 1.0, at]),
                        ([0.0, 1.0, at], [1.0, 1.0, at]),
                    ],
                };
                for (from, to) in lines {
                    line(from, to, &mut grid);
                }
            }
        }
        svg.tag("path")
            .set("d", &grid[..])
            .set("stroke", GRID)
            .end();
        let mut edges = String::new();
        for (from, to) in [
            // The floor.
            ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
            ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]),
            ([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
            ([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
            // The walls.
            ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0]),
            ([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]),
            ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0]),
            ([0.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ] {
            line(from, to, &mut edges);
        }
        svg.tag("path")
            .set("d", &edges[..])
            .set("stroke", FRAME_COLOUR)
            .end();
        for axis in 0..3 {
            self.draw_axis(svg, axis);
        }
    }

    /// Ticks and name of an axis, outside the box.
    fn draw_axis(&self, svg: &mut Svg, axis: usize) {
        let of = &self.axes[axis];
        let edge = |share: f64| match axis {
            0 => [share, 0.0, 0.0],
            1 => [1.0, share, 0.0],
            _ => [0.0, 0.0, share],
        };
        let ticks = self.ticks(axis);
        let widest = ticks.iter().map(|t| width(&t.label, TICK_SIZE));
        let widest = widest.fold(0.0, f64::max);
        let (anchor, dx, dy) = match axis {
            0 => ("end", -3.0, 13.0),
            1 => ("start", 4.0, 11.0),
            _ => ("end", -6.0, 4.0),
        };
        svg.tag("g")
            .set("font-size", TICK_SIZE)
            .set("fill", GREY)
            .set("text-anchor", anchor)
            .open();
        for tick in &ticks {
            let (x, y) = self.pixels(edge(of.scale.share(tick.value)));
            svg.tag("text").at(x + dx, y + dy).text(&tick.label);
        }
        svg.close();
        let (x, y) = self.pixels(edge(0.5));
        let length = self.size * 1.02;
        let (place, room) = match axis {
            // Along the edge, below the labels; the slopes are those of the steps.
            0 => (
                format!(
                    "translate({:.1} {:.1}) rotate(18.8)",
                    x - 0.45 * widest - 8.0,
                    y + 33.0
                ),
                0.85 * length,
            ),
            1 => (
                format!(
                    "translate({:.1} {:.1}) rotate(-25.9)",
                    x + 0.55 * widest + 10.0,
                    y + 33.0
                ),
                0.8 * length,
            ),
            _ => (
                format!("translate({:.1} {y:.1}) rotate(-90)", x - widest - 20.0),
                length,
            ),
        };
        Frame::name(
            svg,
            &Axis {
                name: of.name,
                note: "",
                scale: of.scale,
            },
            room,
            &place,
        );
    }
}

/// The shadows of points on the floor; to be called inside a group of tenths.
pub(crate) fn draw_shadows(svg: &mut Svg, at: &[Position]) {
    if at.is_empty() {
        return;
    }
    svg.tag("path")
        .set("d", &Shape::Dot.path(0, at)[..])
        .set("stroke", "#bbbbbb")
        .set("stroke-width", 22.0)
        .set("stroke-linecap", "round")
        .set("stroke-opacity", 0.6)
        .end();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scale::Scale;

    #[test]
    fn steps_are_those_of_a_turned_box() {
        // A parallel projection of a box turned by 40° about its height, from 24° above.
        let (turn, above) = (40_f64.to_radians(), 24_f64.to_radians());
        let expected = [
            (turn.cos(), -turn.sin() * above.sin()),
            (turn.sin(), turn.cos() * above.sin()),
            (0.0, above.cos()),
        ];
        for (step, expected) in STEPS.iter().zip(expected) {
            assert!((step.0 - expected.0).abs() < 1e-6, "{step:?} {expected:?}");
            assert!((step.1 - expected.1).abs() < 1e-6, "{step:?} {expected:?}");
        }
    }

    proptest! {
        #[test]
        fn the_box_is_inside_its_frame(at in prop::array::uniform3(0.0..=1.0_f64)) {
            let frame = Frame { left: 50.0, top: 70.0, width: 300.0, height: 270.0 };
            let axis = |name| Axis { name, note: "", scale: Scale::covering(0.0, 1.0) };
            let axes = ["a", "b", "c"].map(axis);
            let (x, y) = Cube::new(frame, &axes).position(at);
            prop_assert!((500..=3500).contains(&x) && (700..=3400).contains(&y), "{x} {y}");
        }
    }
}
