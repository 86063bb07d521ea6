//! Markers that are easy to distinguish: eight colors for all kinds of color vision, eight shapes.
//!
//! Positions are whole tenths of a pixel, and all markers of a series are one path of relative
//! moves. This takes a few bytes per point, and the translucent colors of overlapping markers of a
//! series do not add up.

use std::fmt::Write;

/// A position in tenths of a pixel.
pub(crate) type Position = (i64, i64);

/// The colors of Okabe and Ito, with gray instead of yellow, which is hard to see on white.
const COLORS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a7a7a",
];

const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Up,
    Shape::Diamond,
    Shape::Plus,
    Shape::Down,
    Shape::Cross,
    Shape::Star,
];

/// The color and shape of the markers of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) color: &'static str,
    pub(crate) shape: Shape,
}

impl Marker {
    /// The marker of series number `index`. Eight series in a row differ in both color and shape;
    /// 64 differ in the pair.
    pub(crate) fn of(index: usize) -> Self {
        Self {
            color: COLORS[index % 8],
            shape: SHAPES[(index + index / 8) % 8],
        }
    }
}

/// The outline of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A point, drawn by the round ends of a stroke.
    Dot,
    Circle,
    Square,
    Up,
    Diamond,
    Plus,
    Down,
    Cross,
    Star,
    /// A circle with a plus in it, which is not used for series.
    Target,
}

/// A shape as path data: start and end relative to the center, and the commands between them.
struct Glyph {
    start: Position,
    body: String,
    end: Position,
}

impl Shape {
    /// The shape, about `size` tenths of a pixel from center to edge. Shapes of equal size look
    /// equally large.
    fn glyph(self, size: i64) -> Glyph {
        let part = |share: f64| (share * size as f64).round() as i64;
        let closed = |start: Position, body: String| Glyph {
            start,
            body,
            end: start,
        };
        match self {
            // A tenth of a pixel long: some programs do not draw a stroke without any length.
            Self::Dot => Glyph {
                start: (0, 0),
                body: "h1".into(),
                end: (1, 0),
            },
            Self::Circle => closed((0, -size), format!("a{size} {size} 0 1 0 1 0z")),
            Self::Square => {
                let s = part(0.89);
                closed((-s, -s), format!("h{0}v{0}h-{0}z", 2 * s))
            }
            Self::Up | Self::Down => {
                let (half, tip, base) = (part(1.12), part(1.22), part(0.78));
                let (sign, height) = match self {
                    Self::Up => (1, tip + base),
                    _ => (-1, -(tip + base)),
                };
                let mut body = "l".to_owned();
                write_pair((half, height), &mut body);
                let _ = write!(body, "h-{}z", 2 * half);
                closed((0, -sign * tip), body)
            }
            Self::Diamond => {
                let d = part(1.25);
                closed((0, -d), format!("l{d} {d}-{d} {d}-{d}-{d}z"))
            }
            Self::Plus => {
                let p = part(1.2);
                Glyph {
                    start: (-p, 0),
                    body: format!("h{}m-{p}-{p}v{}", 2 * p, 2 * p),
                    end: (0, p),
                }
            }
            Self::Cross => {
                let c = part(0.92);
                Glyph {
                    start: (-c, -c),
                    body: format!("l{0} {0}m0-{0}l-{0} {0}", 2 * c),
                    end: (-c, c),
                }
            }
            Self::Target => Glyph {
                start: (0, -size),
                body: format!("a{size} {size} 0 1 0 1 0zv{0}m-{size}-{size}h{0}", 2 * size),
                end: (size, 0),
            },
            Self::Star => {
                // The arms of a regular six-pointed star: cos 30° and sin 30°.
                let (long, x, y) = (part(1.2), part(1.04), part(0.6));
                Glyph {
                    start: (0, -long),
                    body: format!(
                        "v{}m-{x}-{}l{} {}m0-{}l-{} {}",
                        2 * long,
                        long + y,
                        2 * x,
                        2 * y,
                        2 * y,
                        2 * x,
                        2 * y
                    ),
                    end: (-x, y),
                }
            }
        }
    }

    /// Path data of this shape at every position.
    pub(crate) fn path(self, size: i64, positions: &[Position]) -> String {
        let glyph = self.glyph(size);
        let mut path = String::with_capacity(positions.len() * (glyph.body.len() + 6));
        let mut pen = None;
        for (x, y) in positions {
            let start = (x + glyph.start.0, y + glyph.start.1);
            match pen {
                None => {
                    path.push('M');
                    write_pair(start, &mut path);
                }
                Some((from_x, from_y)) => {
                    path.push('m');
                    write_pair((start.0 - from_x, start.1 - from_y), &mut path);
                }
            }
            path.push_str(&glyph.body);
            pen = Some((x + glyph.end.0, y + glyph.end.1));
        }
        path
    }
}

/// Path data of lines through these positions, one line per run.
pub(crate) fn line_path(runs: &[Vec<Position>]) -> String {
    let mut path = String::new();
    for run in runs {
        let Some((first, others)) = run.split_first() else {
            continue;
        };
        path.push('M');
        write_pair(*first, &mut path);
        let mut pen = *first;
        for (i, (x, y)) in others.iter().enumerate() {
            let step = (x - pen.0, y - pen.1);
            match (i, step.0 < 0) {
                (0, _) => path.push('l'),
                (_, false) => path.push(' '),
                (_, true) => {}
            }
            write_pair(step, &mut path);
            pen = (*x, *y);
        }
    }
    path
}

/// Writes two numbers with the shortest separator.
fn write_pair((x, y): Position, out: &mut String) {
    let space = if y < 0 { "" } else { " " };
    let _ = write!(out, "{x}{space}{y}");
}

/// Sorts positions by x and keeps one per square of half a pixel; the others would not be visible.
pub(crate) fn merge(positions: Vec<Position>) -> Vec<Position> {
    merge_within(positions, 5)
}

/// The same for squares of `side` tenths of a pixel.
pub(crate) fn merge_within(mut positions: Vec<Position>, side: i64) -> Vec<Position> {
    let cell = |(x, y): Position| (x.div_euclid(side), y.div_euclid(side));
    positions.sort_unstable_by_key(|p| (cell(*p), *p));
    positions.dedup_by_key(|p| cell(*p));
    positions
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The start of each subpath, read from the path data alone.
    fn starts(path: &str) -> Vec<Position> {
        let mut tokens: Vec<String> = Vec::new();
        for c in path.chars() {
            match c {
                'a'..='z' | 'M' => tokens.push(c.to_string()),
                ' ' => tokens.push(String::new()),
                '-' => tokens.push("-".into()),
                _ => match tokens.last_mut() {
                    Some(last) if !last.starts_with(char::is_alphabetic) => last.push(c),
                    _ => tokens.push(c.into()),
                },
            }
        }
        let tokens: Vec<&str> = tokens
            .iter()
            .map(|t| &t[..])
            .filter(|t| !t.is_empty())
            .collect();
        let (mut at, mut start, mut command, mut i) = ((0, 0), (0, 0), "", 0);
        let mut found = Vec::new();
        while i < tokens.len() {
            if tokens[i].starts_with(char::is_alphabetic) {
                command = tokens[i];
                i += 1;
            }
            let number = |k: usize| tokens[i + k].parse::<i64>().unwrap();
            let used = match command {
                "h" => {
                    at.0 += number(0);
                    1
                }
                "v" => {
                    at.1 += number(0);
                    1
                }
                "a" => {
                    at = (at.0 + number(5), at.1 + number(6));
                    7
                }
                "z" => {
                    at = start;
                    0
                }
                _ => {
                    at = (at.0 + number(0), at.1 + number(1));
                    2
                }
            };
            if command == "m" || command == "M" {
                start = at;
                found.push(at);
            }
            i += used;
        }
        found
    }

    #[test]
    fn sixty_four_series_look_different() {
        let all: Vec<Marker> = (0..64).map(Marker::of).collect();
        for (i, a) in all.iter().enumerate() {
            assert!(!all[..i].contains(a));
            let eight = &all[i / 8 * 8..i];
            assert!(
                eight
                    .iter()
                    .all(|b| a.color != b.color && a.shape != b.shape)
            );
        }
    }

    proptest! {
        #[test]
        fn every_marker_is_where_its_point_is(
            positions in prop::collection::vec((0..9000_i64, -50..9000_i64), 1..40),
            size in 8..60_i64,
        ) {
            for shape in SHAPES.into_iter().chain([Shape::Dot, Shape::Target]) {
                let glyph = shape.glyph(size);
                let path = shape.path(size, &positions);
                let starts = starts(&path);
                let each = starts.len() / positions.len();
                for (start, (x, y)) in starts.iter().step_by(each).zip(&positions) {
                    prop_assert_eq!(*start, (x + glyph.start.0, y + glyph.start.1), "{}", path);
                }
            }
        }

        #[test]
        fn merged_positions_are_near_every_point(
            positions in prop::collection::vec((0..60_i64, 0..60_i64), 0..80),
            side in 1..20_i64,
        ) {
            prop_assert_eq!(merge(positions.clone()), merge_within(positions.clone(), 5));
            let merged = merge_within(positions.clone(), side);
            prop_assert!(merged.iter().all(|p| positions.contains(p)));
            for (x, y) in positions {
                prop_assert!(merged.iter().any(|(a, b)| (a - x).abs().max((b - y).abs()) < side));
            }
        }
    }
}
