//! A line of a [`Curve`](crate::Curve): its drawable points and its style.

use crate::curve::Line;
use crate::figure::{Ink, LineStyle, draw_line, draw_markers, named_group};
use crate::legend::{Entry, Key, count, shown_name};
use crate::marker::{Position, merge};
use crate::scale::LARGEST;
use crate::svg::Svg;

/// A line with no more points than this has a marker on each.
const MARKED: usize = 40;

/// A line with more points than this is thinned.
const EVERY: usize = 1_000;

/// A line as it is drawn.
pub(crate) struct Trace<'a> {
    pub(crate) name: &'a str,
    /// Runs of points without a gap, in order; no run is empty.
    pub(crate) runs: Vec<Vec<(f64, f64)>>,
    pub(crate) n_points: usize,
    left_out: [usize; 3],
    /// Whether the line has markers.
    pub(crate) marked: bool,
    pub(crate) style: LineStyle,
}

impl<'a> Trace<'a> {
    /// The line without the points that cannot be drawn; `above` lines are drawn after it.
    pub(crate) fn new(line: &Line<'a>, mut style: LineStyle, above: usize) -> Self {
        // A count that is not finite makes a gap at its position in the list.
        let mut before = f64::NEG_INFINITY;
        let mut points: Vec<(f64, (f64, f64))> = (line.points.iter())
            .map(|&(x, y)| {
                before = if x.abs() <= LARGEST { x } else { before };
                (before, (x, y))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));

        let drawn = |&(_, (x, y)): &(f64, (f64, f64))| x.abs() <= LARGEST && y.abs() <= LARGEST;
        let mut left_out = [0; 3];
        for (_, (x, y)) in points.iter().filter(|p| !drawn(p)) {
            left_out[usize::from(x.is_finite() && y.is_finite())] += 1;
        }
        let runs: Vec<Vec<(f64, f64)>> = (points.split(|p| !drawn(p)))
            .filter(|run| !run.is_empty())
            .map(|run| run.iter().map(|(_, point)| *point).collect())
            .collect();
        let n_points = runs.iter().map(Vec::len).sum();
        let marked = n_points <= MARKED;
        if !marked {
            // Lower lines are wider, so that their edges stay visible where lines coincide.
            style.width = 14.0 + 5.0 * above.min(2) as f64;
        }
        Self {
            name: line.name,
            runs,
            n_points,
            left_out,
            marked,
            style,
        }
    }

    /// The numbers of points drawn and left out, in words.
    pub(crate) fn count(&self) -> String {
        count(self.n_points, self.left_out)
    }

    /// The entry in the legend.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            key: Key::Line(self.style, self.marked),
            name: shown_name(self.name).to_owned(),
            note: self.count(),
        }
    }

    /// Draws the line without its markers.
    pub(crate) fn draw(&self, svg: &mut Svg, place: impl Fn(&(f64, f64)) -> Position) {
        let placed = |run: &Vec<(f64, f64)>| run.iter().map(&place).collect();
        let mut runs: Vec<Vec<Position>> = self.runs.iter().map(placed).collect();
        if self.n_points > EVERY {
            runs = thin(runs);
        }
        runs.iter_mut().for_each(Vec::dedup);
        let (points, lines): (Vec<Vec<Position>>, Vec<Vec<Position>>) =
            runs.into_iter().partition(|run| run.len() == 1);
        if lines.is_empty() && self.marked {
            return;
        }
        named_group(svg, Some(shown_name(self.name)), None);
        if !lines.is_empty() {
            draw_line(svg, self.style, &lines);
        }
        if !self.marked {
            // Isolated points would be too small to see at the width of the line.
            draw_markers(
                svg,
                self.style.marker,
                Ink::Dots(32),
                0,
                &merge(points.concat()),
            );
        }
        svg.close();
    }
}

/// Keeps the first, lowest, highest and last position of each pixel column; positions are in order
/// of x. Runs that end and begin in the same column are joined.
fn thin(runs: Vec<Vec<Position>>) -> Vec<Vec<Position>> {
    let column = |position: &Position| position.0.div_euclid(10);
    let mut joined: Vec<Vec<Position>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.last().map(column) == run.first().map(column) => last.extend(run),
            _ => joined.push(run),
        }
    }
    let seen = |run: Vec<Position>| {
        let mut kept = Vec::new();
        for part in run.chunk_by(|a, b| column(a) == column(b)) {
            let indices = || 0..part.len();
            let low = indices().min_by_key(|i| part[*i].1).unwrap_or(0);
            let high = indices().max_by_key(|i| part[*i].1).unwrap_or(0);
            let mut keep = vec![0, low, high, part.len() - 1];
            keep.sort_unstable();
            keep.dedup();
            kept.extend(keep.into_iter().map(|i| part[i]));
        }
        kept
    };
    joined.into_iter().map(seen).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn thinning_keeps_ends_and_extremes_of_every_column(
            steps in prop::collection::vec((0..4_i64, 0..3200_i64, 0..20_u8), 1..400),
        ) {
            let mut x = 0;
            let mut runs: Vec<Vec<Position>> = vec![Vec::new()];
            for (step, y, gap) in steps {
                x += step;
                if gap == 0 {
                    runs.push(Vec::new());
                }
                runs.last_mut().unwrap().push((x, y));
            }
            runs.retain(|run| !run.is_empty());
            let all = runs.concat();
            let thinned = thin(runs.clone());
            let kept = thinned.concat();
            let within = |points: &[Position], column: i64| -> Vec<Position> {
                points.iter().copied().filter(|p| p.0 / 10 == column).collect()
            };
            for column in 0..=x / 10 {
                let (before, after) = (within(&all, column), within(&kept, column));
                prop_assert!(after.len() <= 4);
                prop_assert!(after.iter().all(|p| before.contains(p)));
                prop_assert_eq!(before.first(), after.first());
                prop_assert_eq!(before.last(), after.last());
                let ys = |points: &[Position]| {
                    let ys = || points.iter().map(|p| p.1);
                    (ys().min(), ys().max())
                };
                prop_assert_eq!(ys(&before), ys(&after));
            }
            // Runs are joined only if they meet inside a column.
            for pair in runs.windows(2) {
                let (end, start) = (pair[0][pair[0].len() - 1], pair[1][0]);
                if end.0 / 10 != start.0 / 10 {
                    prop_assert!(thinned.iter().any(|run| run.first() == Some(&start)));
                }
            }
        }
    }
}
