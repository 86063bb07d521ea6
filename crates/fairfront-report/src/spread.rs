//! Chooses the points of dense series that carry the marker of their series.

use crate::marker::Position;

/// Chooses well-spread positions for each series: `apart` tenths of a pixel from each other and, if
/// there is room, between the markers of the other series and the `taken` positions. Each series
/// gets at most `most` positions, a few if it has room for them, and at least one.
///
/// The series take turns, and each takes the point farthest from all markers so far. The first
/// positions are therefore the ends of a curve, and series on the same curve alternate along it.
pub(crate) fn spread(
    series: &[Vec<Position>],
    taken: &[Position],
    apart: f64,
    most: usize,
) -> Vec<Vec<Position>> {
    /// A marker of another series may be this many times nearer than one of its own.
    const OTHERS: f64 = 2.5;
    /// A taken position may be this many times nearer.
    const TAKEN: f64 = 5.0;
    /// A series gets this many markers even if they are near others.
    const LEAST: usize = 4;
    /// More candidates than this do not help: they are nearer to each other than a marker is wide.
    const CANDIDATES: usize = 500;
    let square = |(a, b): Position, (c, d): Position| ((a - c).pow(2) + (b - d).pow(2)) as f64;
    let mut room: Vec<Vec<(Position, f64)>> = Vec::with_capacity(series.len());
    for positions in series {
        let every = positions.len().div_ceil(CANDIDATES).max(1);
        let free = |p: Position| {
            let nearest = taken.iter().map(|t| square(*t, p));
            TAKEN.powi(2) * nearest.fold(f64::INFINITY, f64::min)
        };
        let candidates = positions.iter().step_by(every);
        room.push(candidates.map(|p| (*p, free(*p))).collect());
    }
    let mut chosen: Vec<Vec<Position>> = vec![Vec::new(); series.len()];
    let mut active: Vec<usize> = (0..series.len()).collect();
    while !active.is_empty() {
        active.retain(|&turn| {
            let mut best: Option<(Position, f64)> = None;
            for candidate in &room[turn] {
                if best.is_none_or(|(_, free)| candidate.1 > free) {
                    best = Some(*candidate);
                }
            }
            let Some((place, free)) = best else {
                return false;
            };
            let enough = match chosen[turn].len() {
                0 => false,
                n if n < LEAST => free == 0.0,
                n => n >= most || free < apart.powi(2),
            };
            if enough {
                return false;
            }
            chosen[turn].push(place);
            for (i, candidates) in room.iter_mut().enumerate() {
                let weight = if i == turn { 1.0 } else { OTHERS.powi(2) };
                for (position, free) in candidates {
                    *free = free.min(weight * square(*position, place));
                }
            }
            true
        });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_on_one_curve_alternate() {
        let line: Vec<Position> = (0..1000).map(|x| (5 * x, 0)).collect();
        let chosen = spread(&[line.clone(), line.clone(), line], &[], 300.0, 30);
        for (i, own) in chosen.iter().enumerate() {
            assert!(own.len() >= 5, "{}", own.len());
            for (j, other) in chosen.iter().enumerate() {
                for (a, p) in own.iter().enumerate() {
                    for (b, q) in other.iter().enumerate() {
                        let least = if i == j { 300 } else { 120 };
                        assert!((i, a) == (j, b) || (p.0 - q.0).abs() >= least);
                    }
                }
            }
        }
    }

    #[test]
    fn every_series_has_a_marker_even_without_room() {
        let spot = vec![(7, 7); 400];
        let chosen = spread(&[spot.clone(), spot, Vec::new()], &[(7, 7)], 300.0, 30);
        assert_eq!(chosen, [vec![(7, 7)], vec![(7, 7)], Vec::new()]);
    }

    #[test]
    fn the_maximum_is_kept() {
        let square: Vec<Position> = (0..400).map(|i| (i % 20 * 100, i / 20 * 100)).collect();
        assert_eq!(spread(&[square], &[], 100.0, 9)[0].len(), 9);
    }
}
