use super::*;
use proptest::prelude::*;

fn of(points: &[f64], reference: &[f64]) -> f64 {
    hypervolume(Values::new(points, reference.len()).unwrap(), reference).unwrap()
}

fn contributions_of(points: &[f64], reference: &[f64]) -> Vec<f64> {
    contributions(Values::new(points, reference.len()).unwrap(), reference).unwrap()
}

/// Inclusion and exclusion over all subsets.
fn inclusion_exclusion(points: &[f64], reference: &[f64]) -> f64 {
    let m = reference.len();
    let points: Vec<&[f64]> = points.chunks(m).collect();
    let mut volume = 0.0;
    for subset in 1_u32..1 << points.len() {
        let members = (0..points.len()).filter(|i| subset >> i & 1 == 1);
        let mut corner = vec![f64::NEG_INFINITY; m];
        for i in members {
            for (c, v) in corner.iter_mut().zip(points[i]) {
                *c = c.max(*v);
            }
        }
        let sides = corner.iter().zip(reference).map(|(c, r)| (r - c).max(0.0));
        let sign = if subset.count_ones() % 2 == 1 {
            1.0
        } else {
            -1.0
        };
        volume += sign * sides.product::<f64>();
    }
    volume
}

/// Counts the unit cells below `top` that points with whole coordinates dominate.
fn counted(points: &[f64], m: usize, top: usize) -> f64 {
    let cells = (0..top.pow(m as u32)).filter(|cell| {
        points.chunks(m).any(|p| {
            let mut rest = *cell;
            p.iter().all(|v| {
                let c = rest % top;
                rest /= top;
                *v <= c as f64
            })
        })
    });
    cells.count() as f64
}

fn whole(raw: &[u8], m: usize, levels: u8) -> Vec<f64> {
    let n = raw.len() / m * m;
    raw[..n].iter().map(|v| f64::from(v % levels)).collect()
}

#[test]
fn closed_forms() {
    assert_eq!(of(&[], &[1.0, 1.0]), 0.0);
    assert_eq!(of(&[0.25], &[1.0]), 0.75);
    assert_eq!(of(&[0.0, 0.0, 0.0], &[1.0, 2.0, 3.0]), 6.0);
    for m in 1..9 {
        assert_eq!(of(&vec![0.0; 5 * m], &vec![2.0; m]), 2.0_f64.powi(m as i32));
        // Points at the far ends of the axes: each adds a slab.
        let slabs: Vec<f64> = (0..m * m)
            .map(|i| if i % (m + 1) == 0 { 1.0 } else { 0.0 })
            .collect();
        let expected = 2.0_f64.powi(m as i32) - 1.0;
        assert_eq!(
            of(&slabs, &vec![2.0; m]),
            if m == 1 { 1.0 } else { expected }
        );
    }
}

#[test]
fn every_input_has_a_volume() {
    const UP: f64 = f64::INFINITY;
    for m in 1..7 {
        let reference = vec![1.0; m];
        let beyond = vec![1.0; m];
        assert_eq!(of(&beyond, &reference), 0.0, "point on the reference point");
        let mut one_beyond = vec![0.0; m];
        one_beyond[m - 1] = UP;
        assert_eq!(of(&one_beyond, &reference), 0.0, "infinitely bad value");
        let mut low = vec![0.5; m];
        low[0] = -UP;
        assert_eq!(of(&low, &reference), UP, "infinitely good value");
        assert_eq!(
            of(&vec![0.0; m], &vec![UP; m]),
            UP,
            "infinite reference point"
        );
        assert_eq!(of(&vec![0.0; m], &vec![-UP; m]), 0.0, "no point counts");
        assert_eq!(contributions_of(&low, &reference), [UP]);
        let finite = vec![0.5; m];
        assert_eq!(
            contributions_of(&[low, finite].concat(), &reference),
            [UP, 0.0]
        );
    }
    // The first point covers an area of 1 that the second does not; far out, both cover the same.
    let crossing = [0.0, 1.0, 1.0, 0.0];
    assert_eq!(contributions_of(&crossing, &[UP, 2.0]), [1.0, UP]);
    assert_eq!(contributions_of(&crossing, &[UP, UP]), [UP, UP]);
    assert_eq!(contributions_of(&[0.0, UP, 1.0, 0.0], &[UP, UP]), [0.0, UP]);
    assert_eq!(
        contributions_of(&[-UP, 0.0, -UP, 0.0], &[1.0, 1.0]),
        [0.0, 0.0]
    );
    let values = Values::new(&[0.0, 0.0], 2).unwrap();
    let not_a_number = Error::NotANumber {
        point: 0,
        objective: 1,
    };
    assert_eq!(hypervolume(values, &[1.0, f64::NAN]), Err(not_a_number));
    let objectives = Error::Objectives {
        expected: 2,
        found: 3,
    };
    assert_eq!(hypervolume(values, &[1.0; 3]), Err(objectives));
    assert_eq!(contributions(values, &[1.0; 3]), Err(objectives));
}

#[test]
fn only_the_result_can_overflow() {
    assert_eq!(
        of(&[1e200, 0.0, 0.0, 1e200], &[1e201, 1e201]),
        f64::INFINITY
    );
    // Powers of two are exact.
    let (huge, tiny) = (2.0_f64.powi(900), 2.0_f64.powi(-1_000));
    let points = [0.0, huge, 0.0, huge, 0.0, tiny];
    let reference = [4.0 * huge, 4.0 * huge, 4.0 * tiny];
    let volume = of(&points, &reference);
    assert_eq!(
        volume,
        of(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0], &[4.0; 3]) * 2.0_f64.powi(800)
    );
    let added = contributions_of(&points, &reference);
    assert!(added.iter().all(|c| *c > 0.0 && c.is_finite()));
    assert_eq!(
        of(&[0.0; 6], &[f64::MAX, f64::MIN_POSITIVE, 1.0]),
        f64::MAX * f64::MIN_POSITIVE
    );
}

#[test]
fn volume_below_a_sphere_matches_its_closed_form() {
    // The part of the unit cube that a fine grid of points on the sphere dominates (from outside)
    // approaches 1 − the volume of the ball's part in the cube from below.
    use std::f64::consts::PI;
    let ball = [1.0, PI / 4.0, PI / 6.0, PI * PI / 32.0];
    for m in 2..5_usize {
        let mut state = 1_u64;
        let mut points = Vec::new();
        for _ in 0..4_000 {
            let p: Vec<f64> = (0..m)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 40) as f64 / f64::from(1 << 24)
                })
                .collect();
            let length = p.iter().map(|v| v * v).sum::<f64>().sqrt();
            points.extend(p.iter().map(|v| v / length));
        }
        let volume = of(&points, &vec![1.0; m]);
        let limit = 1.0 - ball[m - 1];
        assert!(
            volume < limit && volume > limit - 0.07,
            "m = {m}: {volume} of {limit}"
        );
    }
}

proptest! {
    #[test]
    fn volume_equals_inclusion_and_exclusion(m in 1_usize..8, raw in prop::collection::vec(0_u8..8, 0..56)) {
        let n = (raw.len() / m).min(8);
        let points = whole(&raw[..n * m], m, 8);
        let reference = vec![6.0; m];
        // With small whole numbers, every sum is exact.
        prop_assert_eq!(of(&points, &reference), inclusion_exclusion(&points, &reference));
    }

    #[test]
    fn volume_equals_counted_cells(m in 1_usize..7, raw in prop::collection::vec(any::<u8>(), 0..500)) {
        let points = whole(&raw, m, 5);
        prop_assert_eq!(of(&points, &vec![4.0; m]), counted(&points, m, 4));
    }

    #[test]
    fn order_and_copies_change_nothing(m in 1_usize..7, raw in prop::collection::vec(any::<u8>(), 0..120), turn in 0_usize..40) {
        let points = whole(&raw, m, 9);
        let reference = vec![8.0; m];
        let mut moved: Vec<&[f64]> = points.chunks(m).chain(points.chunks(m).take(5)).collect();
        if !moved.is_empty() {
            let turn = turn % moved.len();
            moved.rotate_left(turn);
        }
        prop_assert_eq!(of(&moved.concat(), &reference), of(&points, &reference));
    }

    #[test]
    fn one_more_point_never_lowers_the_volume(m in 1_usize..7, raw in prop::collection::vec(0.0..1.0_f64, 6..120)) {
        let n = raw.len() / m;
        let reference = vec![0.9; m];
        let all = of(&raw[..n * m], &reference);
        let fewer = of(&raw[..(n - 1) * m], &reference);
        // Sums in a different order may differ in the last digits.
        prop_assert!(all >= fewer - 1e-12);
    }

    #[test]
    fn contributions_equal_the_volume_lost_without_the_point(m in 1_usize..7, raw in prop::collection::vec(any::<u8>(), 0..72)) {
        let points = whole(&raw, m, 7);
        let reference = vec![6.0; m];
        let all = of(&points, &reference);
        let found = contributions_of(&points, &reference);
        for (i, contribution) in found.iter().enumerate() {
            let mut rest: Vec<&[f64]> = points.chunks(m).collect();
            rest.remove(i);
            prop_assert_eq!(*contribution, all - of(&rest.concat(), &reference));
        }
    }
}
