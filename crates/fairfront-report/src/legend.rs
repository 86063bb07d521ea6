//! Legends, with the number of points per entry.

use std::fmt::Write;

use crate::figure::{
    GRAY, INK, Ink, LineStyle, TEXT_SIZE, draw_line, draw_markers, named_group, tenths,
};
use crate::marker::{Marker, Position, Shape};
use crate::ramp::{STEPS, color};
use crate::scale::grouped;
use crate::svg::Svg;
use crate::text::{shorten, width};

/// The name of a series, or `(no name)`.
pub(crate) fn shown_name(name: &str) -> &str {
    match name.trim() {
        "" => "(no name)",
        name => name,
    }
}

/// The number of points drawn and left out. Points are left out if a value is not finite, if a
/// value is too large to draw, or if values are missing at the end.
pub(crate) fn count(drawn: usize, left_out: [usize; 3]) -> String {
    let mut text = match drawn {
        1 => "1 point".into(),
        n => format!("{} points", grouped(n)),
    };
    let why = ["not finite", "beyond ±1e300", "incomplete"];
    for (n, why) in left_out.iter().zip(why).filter(|(n, _)| **n > 0) {
        let _ = write!(text, ", {} {why}", grouped(*n));
    }
    text
}

/// The symbol before a name in a legend.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// A single marker.
    Marker(Marker),
    /// Dots.
    Dots(Marker),
    /// A marker among dots.
    Dense(Marker),
    /// A piece of a line; `true` if it has a marker.
    Line(LineStyle, bool),
    /// A rectangle of this color.
    Area(&'static str),
    /// Dots in the colors of a third quantity.
    Ramp,
    /// No symbol.
    None,
}

/// A line of a legend.
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) note: String,
}

/// A legend in columns of equal width.
pub(crate) struct Legend {
    entries: Vec<Entry>,
    columns: usize,
    column: f64,
    /// Width of the column of symbols.
    key: f64,
}

impl Legend {
    const ROW: f64 = 20.0;
    const GAP: f64 = 24.0;
    const LONGEST_NAME: f64 = 300.0;

    /// Creates a legend with as many columns as fit into `room`.
    pub(crate) fn new(entries: Vec<Entry>, room: f64) -> Self {
        let long = entries.iter().any(|e| {
            matches!(
                e.key,
                Key::Dense(_) | Key::Dots(_) | Key::Line(..) | Key::Ramp
            )
        });
        let key = if long { 40.0 } else { 16.0 };
        let wide = |entry: &Entry| {
            let name = width(&entry.name, TEXT_SIZE).min(Self::LONGEST_NAME);
            key + name + 7.0 + width(&entry.note, TEXT_SIZE) + Self::GAP
        };
        let column = entries.iter().map(wide).fold(1.0, f64::max);
        let columns = ((room + Self::GAP) / column).floor().max(1.0) as usize;
        Self {
            entries,
            columns,
            column,
            key,
        }
    }

    /// The height in pixels.
    pub(crate) fn height(&self) -> f64 {
        Self::ROW * self.entries.len().div_ceil(self.columns) as f64
    }

    /// The width in pixels.
    pub(crate) fn width(&self) -> f64 {
        self.column * self.columns.min(self.entries.len()) as f64 - Self::GAP
    }

    /// Draws the legend with this upper left corner.
    pub(crate) fn draw(&self, svg: &mut Svg, left: f64, top: f64) {
        let places = (0..self.entries.len()).map(|i| {
            let (row, column) = (i / self.columns, i % self.columns);
            let y = top + Self::ROW * (row as f64 + 0.5);
            (left + self.column * column as f64, y)
        });
        for (entry, (x, y)) in self.entries.iter().zip(places) {
            let short = shorten(&entry.name, TEXT_SIZE, Self::LONGEST_NAME);
            let whole = (short != entry.name).then_some(&entry.name[..]);
            named_group(svg, whole, None);
            tenths(svg);
            let at = |dx: f64| ((10.0 * (x + dx)).round() as i64, (10.0 * y).round() as i64);
            match entry.key {
                Key::Marker(marker) => {
                    draw_markers(svg, marker, Ink::Outlines, 36, &[at(self.key / 2.0 - 4.0)]);
                }
                Key::Dots(marker) | Key::Dense(marker) => {
                    let dots: Vec<Position> =
                        (0..8).map(|i| at(2.0 + 4.0 * f64::from(i))).collect();
                    draw_markers(svg, marker, Ink::Dots(30), 0, &dots);
                    if let Key::Dense(_) = entry.key {
                        draw_markers(svg, marker, Ink::Signs, 40, &[at(self.key / 2.0 - 4.0)]);
                    }
                }
                Key::Line(style, marked) => {
                    draw_line(svg, style, &[vec![at(0.0), at(32.0)]]);
                    if marked {
                        let middle = at(self.key / 2.0 - 4.0);
                        draw_markers(svg, style.marker, Ink::Ground, 34, &[middle]);
                        draw_markers(svg, style.marker, Ink::Rings, 34, &[middle]);
                    }
                }
                Key::Area(color) => {
                    let (left, middle) = at(0.0);
                    svg.tag("rect")
                        .at(left as f64, middle as f64 - 50.0)
                        .set("width", (self.key - 4.0).min(14.0) * 10.0)
                        .set("height", 100.0)
                        .set("fill", color)
                        .end();
                }
                Key::Ramp => {
                    for i in 0..STEPS {
                        let dot = at(2.0 + 28.0 * i as f64 / (STEPS - 1) as f64);
                        svg.tag("path")
                            .set("d", &Shape::Dot.path(0, &[dot])[..])
                            .set("stroke", &color(i)[..])
                            .set("stroke-width", 40.0)
                            .set("stroke-linecap", "round")
                            .end();
                    }
                }
                Key::None => {}
            }
            svg.close();
            svg.tag("text")
                .at(x + self.key, y + 4.0)
                .set("font-size", TEXT_SIZE)
                .set("fill", INK)
                .text_and_note(&short, &entry.note, GRAY);
            svg.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_legend_fits_its_room(
            names in prop::collection::vec("[a-z/]{0,80}", 1..30),
            room in 560.0..1200.0_f64,
        ) {
            let n = names.len();
            let entry = |name: String| Entry {
                key: Key::Dense(Marker::of(0)),
                name,
                note: "1,500 points".into(),
            };
            let legend = Legend::new(names.into_iter().map(entry).collect(), room);
            prop_assert!(legend.width() <= room + 1e-9);
            prop_assert!(legend.height() <= Legend::ROW * n as f64);
        }
    }
}
