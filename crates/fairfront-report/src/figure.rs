//! The elements of every figure: panels with axes, and the markers and lines in them.

use std::fmt::Write;

use crate::marker::{Marker, Position, Shape, line_path};
use crate::scale::{Scale, Tick};
use crate::svg::Svg;
use crate::text::{shorten, width};

pub(crate) const INK: &str = "#222222";
pub(crate) const GRAY: &str = "#666666";
pub(crate) const FRAME_COLOR: &str = "#8a8a8a";
pub(crate) const GRID: &str = "#e6e6e6";

/// Font size of ticks.
pub(crate) const TICK_SIZE: f64 = 11.0;
/// Font size of axis names that are too long for [`TEXT_SIZE`].
const SMALL_SIZE: f64 = 10.0;
/// Font size of all other text except titles.
pub(crate) const TEXT_SIZE: f64 = 12.0;

/// One objective: its name, and how its values become positions.
pub(crate) struct Axis<'a> {
    pub(crate) name: &'a str,
    /// A gray note next to the name, never shortened; may be empty.
    pub(crate) note: &'a str,
    pub(crate) scale: Scale,
}

impl Axis<'_> {
    /// Ticks for a vertical axis.
    pub(crate) fn vertical_ticks(&self, height: f64) -> Vec<Tick> {
        self.scale.ticks(if height < 300.0 { 6 } else { 8 })
    }

    /// Ticks for a horizontal axis, as many as have room for their labels. If even a few labels do
    /// not fit, some are left empty.
    fn horizontal_ticks(&self, room: f64) -> Vec<Tick> {
        let crowding = |ticks: &[Tick]| {
            let widest = ticks.iter().map(|t| width(&t.label, TICK_SIZE));
            let widest = widest.fold(0.0, f64::max) + 8.0;
            let step = match ticks {
                [a, b, ..] => room * (self.scale.share(b.value) - self.scale.share(a.value)),
                _ => room,
            };
            widest / step
        };
        let mut ticks = self.scale.ticks(8);
        for most in [7, 6] {
            if crowding(&ticks) > 1.0 {
                ticks = self.scale.ticks(most);
            }
        }
        let every = (crowding(&ticks).ceil() as usize).clamp(1, ticks.len().max(2) - 1);
        for (i, tick) in ticks.iter_mut().enumerate() {
            if i % every != 0 {
                tick.label.clear();
            }
        }
        ticks
    }
}

/// The area in which a panel draws its points, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Frame {
    /// Room below a frame for ticks and the name of the axis.
    pub(crate) const BELOW: f64 = 46.0;

    /// The position of a point given as shares of width and height, the latter from the bottom.
    pub(crate) fn position(&self, x: f64, y: f64) -> Position {
        let tenths = |pixels: f64| (10.0 * pixels).round() as i64;
        (
            tenths(self.left + x * self.width),
            tenths(self.top + (1.0 - y) * self.height),
        )
    }

    /// Draws grid, frame, ticks and names; without `y`, nothing to the left of the panel.
    pub(crate) fn draw(&self, svg: &mut Svg, x: &Axis, y: Option<&Axis>) {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let columns = x.horizontal_ticks(self.width);
        let rows = y.map_or_else(Vec::new, |y| y.vertical_ticks(self.height));
        let column = |tick: &Tick| self.left + x.scale.share(tick.value) * self.width;
        let share = |tick: &Tick| y.map_or(0.0, |y| y.scale.share(tick.value));
        let row = |tick: &Tick| bottom - share(tick) * self.height;

        let mut grid = String::new();
        let mut marks = String::new();
        for at in columns.iter().map(column) {
            let _ = write!(grid, "M{at:.1} {:.1}V{bottom:.1}", self.top);
            let _ = write!(marks, "M{at:.1} {bottom:.1}v4");
        }
        for at in rows.iter().map(row) {
            let _ = write!(grid, "M{:.1} {at:.1}H{right:.1}", self.left);
            let _ = write!(marks, "M{:.1} {at:.1}h-4", self.left);
        }
        svg.tag("path")
            .set("d", &grid[..])
            .set("stroke", GRID)
            .end();
        svg.tag("path")
            .set("d", &marks[..])
            .set("stroke", FRAME_COLOR)
            .end();
        svg.tag("rect")
            .at(self.left, self.top)
            .set("width", self.width)
            .set("height", self.height)
            .set("fill", "none")
            .set("stroke", FRAME_COLOR)
            .end();

        svg.tag("g")
            .set("font-size", TICK_SIZE)
            .set("fill", GRAY)
            .set("text-anchor", "middle")
            .open();
        for tick in columns.iter().filter(|t| !t.label.is_empty()) {
            svg.tag("text")
                .at(column(tick), bottom + 16.0)
                .text(&tick.label);
        }
        svg.close();
        svg.tag("g")
            .set("font-size", TICK_SIZE)
            .set("fill", GRAY)
            .set("text-anchor", "end")
            .open();
        for tick in &rows {
            svg.tag("text")
                .at(self.left - 7.0, row(tick) + 4.0)
                .text(&tick.label);
        }
        svg.close();

        let middle = self.left + self.width / 2.0;
        Self::name(
            svg,
            x,
            self.width,
            &format!("translate({middle:.1} {:.1})", bottom + 35.0),
        );
        if let Some(y) = y {
            let widest = rows.iter().map(|t| width(&t.label, TICK_SIZE));
            let beside = self.left - widest.fold(0.0, f64::max) - 15.0;
            let middle = self.top + self.height / 2.0;
            let place = format!("translate({beside:.1} {middle:.1}) rotate(-90)");
            Self::name(svg, y, self.height, &place);
        }
    }

    /// Writes "no points" in the middle of the frame.
    pub(crate) fn draw_empty(&self, svg: &mut Svg) {
        svg.tag("text")
            .at(
                self.left + self.width / 2.0,
                self.top + self.height / 2.0 + 4.0,
            )
            .set("text-anchor", "middle")
            .set("font-size", TEXT_SIZE)
            .set("fill", GRAY)
            .text("no points");
    }

    /// Room to the left of a frame for the ticks and name of a vertical axis.
    pub(crate) fn beside(axis: &Axis, height: f64) -> f64 {
        let ticks = axis.vertical_ticks(height);
        let widest = ticks.iter().map(|t| width(&t.label, TICK_SIZE));
        widest.fold(0.0, f64::max) + 30.0
    }

    pub(crate) fn name(svg: &mut Svg, axis: &Axis, room: f64, place: &str) {
        let Axis { name, note, .. } = *axis;
        let taken = |size: f64| match note {
            "" => 0.0,
            note => width(note, size) + 7.0,
        };
        // A long name is written smaller before it is shortened.
        let fits = width(name, TEXT_SIZE) + taken(TEXT_SIZE) <= room;
        let size = if fits { TEXT_SIZE } else { SMALL_SIZE };
        let short = shorten(name, size, room - taken(size));
        let whole = (short != name).then_some(name);
        named_group(svg, whole, Some(place));
        let text = svg
            .tag("text")
            .set("text-anchor", "middle")
            .set("font-size", size)
            .set("fill", INK);
        match note {
            "" => text.text(&short),
            note => text.text_and_note(&short, note, GRAY),
        }
        svg.close();
    }
}

/// Opens a group, with a name that appears when the pointer is over it.
pub(crate) fn named_group(svg: &mut Svg, name: Option<&str>, transform: Option<&str>) {
    let group = svg.tag("g");
    match transform {
        Some(transform) => group.set("transform", transform).open(),
        None => group.open(),
    }
    if let Some(name) = name {
        svg.tag("title").text(name);
    }
}

/// How markers are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Dots of this diameter in tenths of a pixel, translucent.
    Dots(i64),
    /// Outlines with a translucent fill, so that markers below stay visible.
    Outlines,
    /// Outlines filled with white, which stand out from the dots below.
    Signs,
    /// White without an outline, which hides the line below a marker.
    Ground,
    /// Outlines without a fill, so that all markers at the same position are visible.
    Rings,
}

/// Draws the markers of a series; call it inside a group of [`tenths`].
pub(crate) fn draw_markers(svg: &mut Svg, marker: Marker, ink: Ink, size: i64, at: &[Position]) {
    if at.is_empty() {
        return;
    }
    let shape = if let Ink::Dots(_) = ink {
        Shape::Dot
    } else {
        marker.shape
    };
    let path = shape.path(size, at);
    if ink == Ink::Signs {
        svg.tag("path")
            .set("d", &path[..])
            .set("fill", "#ffffff")
            .set("stroke", "#ffffff")
            .set("stroke-width", 34.0)
            .set("stroke-linejoin", "round")
            .set("stroke-linecap", "round")
            .end();
    }
    let tag = svg.tag("path").set("d", &path[..]);
    if ink == Ink::Ground {
        tag.set("fill", "#ffffff").end();
        return;
    }
    let tag = tag.set("stroke", marker.color);
    match ink {
        Ink::Dots(diameter) => tag
            .set("stroke-width", diameter as f64)
            .set("stroke-linecap", "round")
            .set("stroke-opacity", 0.6)
            .end(),
        Ink::Outlines => tag
            .set("stroke-width", 11.0)
            .set("stroke-opacity", 0.9)
            .set("fill", marker.color)
            .set("fill-opacity", 0.2)
            .end(),
        Ink::Signs => tag.set("stroke-width", 15.0).set("fill", "#ffffff").end(),
        Ink::Ground | Ink::Rings => tag.set("stroke-width", 15.0).end(),
    }
}

/// The style of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineStyle {
    pub(crate) marker: Marker,
    /// In tenths of a pixel.
    pub(crate) width: f64,
    /// Lengths of dashes and gaps in tenths of a pixel; `None` for a solid line.
    dashes: Option<&'static str>,
}

impl LineStyle {
    /// The style of line number `index`: colors repeat after eight lines, and the next eight lines
    /// have other dashes.
    pub(crate) fn of(index: usize) -> Self {
        const DASHES: [Option<&str>; 4] =
            [None, Some("70 40"), Some("15 35"), Some("120 35 15 35")];
        Self {
            marker: Marker::of(index),
            width: 16.0,
            dashes: DASHES[index / 8 % DASHES.len()],
        }
    }

    /// A line with these lengths of dashes and gaps in tenths of a pixel.
    pub(crate) fn dashed(marker: Marker, dashes: &'static str) -> Self {
        Self {
            marker,
            width: 16.0,
            dashes: Some(dashes),
        }
    }
}

/// Draws a line of several runs; call it inside a group of [`tenths`].
pub(crate) fn draw_line(svg: &mut Svg, style: LineStyle, runs: &[Vec<Position>]) {
    let tag = svg
        .tag("path")
        .set("d", &line_path(runs)[..])
        .set("stroke", style.marker.color)
        .set("stroke-width", style.width)
        .set("stroke-linejoin", "round");
    match style.dashes {
        // Round ends would fill the gaps.
        Some(dashes) => tag.set("stroke-dasharray", dashes).end(),
        None => tag.set("stroke-linecap", "round").end(),
    }
}

/// Opens a group in which lengths are tenths of a pixel, so that positions are whole numbers.
pub(crate) fn tenths(svg: &mut Svg) {
    svg.tag("g")
        .set("transform", "scale(.1)")
        .set("fill", "none")
        .open();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn labels_below_a_panel_do_not_touch(
            low in -1e6..1e6_f64,
            shrink in 0..25_i32,
            wide in any::<bool>(),
        ) {
            let span = 1e6 * 0.3_f64.powi(shrink);
            let axis = Axis { name: "f", note: "", scale: Scale::covering(low, low + span) };
            let room = if wide { 560.0 } else { 240.0 };
            let ticks = axis.horizontal_ticks(room);
            let shown: Vec<&Tick> = ticks.iter().filter(|t| !t.label.is_empty()).collect();
            prop_assert!(shown.len() >= 2);
            for pair in shown.windows(2) {
                let half = |tick: &Tick| width(&tick.label, TICK_SIZE) / 2.0;
                let at = |tick: &Tick| room * axis.scale.share(tick.value);
                prop_assert!(at(pair[0]) + half(pair[0]) < at(pair[1]) - half(pair[1]));
            }
        }
    }
}
