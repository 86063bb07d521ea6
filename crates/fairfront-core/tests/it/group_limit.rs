//! Values of the objectives of groups' rates and losses in cases with a known answer.

use fairfront_core::{
    Batches, Condition, Confusion, Costs, FairProblem, GroupRisk, Linear, Measure, Measures,
    MutualInformation, Objective, Points, Problem, Purpose, RateParity, Risk, Stream, measure,
};
use proptest::prelude::*;

use crate::group_plain::{
    CVAR, ERROR, INFORMATION, MEASURED, N_KINDS, PARITIES, RISK_VARIANCE, Settings, WORST,
    information, loss, objective, objectives, settings, value,
};
use crate::objective::{N_PARAMS, close, points};
use crate::plain::{Row, dataset, phi, problem, rows, schema};

/// Settings with decisions and maxima so sharp that smoothing has no visible effect.
fn sharp(s: Settings, rows: &[Row], points: &Points) -> Settings {
    let all = points
        .iter()
        .flat_map(|x| rows.iter().map(|r| phi(r, x).abs()));
    // Information has twice this temperature.
    let tau = all.fold(f64::INFINITY, f64::min) / 100.0;
    Settings {
        tau,
        beta: 1e10,
        clamp: 1e-15,
        lambda: 0.0,
        shrink: 0.0,
        ..s
    }
}

fn measured(rows: &[Row], n_groups: usize, points: &Points) -> Vec<Measures> {
    measure(&Linear, &dataset(rows, n_groups), points).unwrap()
}

fn one(of: &FairProblem, k: usize, x: &[f64]) -> f64 {
    of.values_of(k, &Points::from_vec(N_PARAMS, x.to_vec()))
        .unwrap()[0]
}

/// Rows of groups 0, 1, … with these total weights. Each group has its own labels and, at the point
/// that [`at_category`] returns, its own score.
fn by_category(weights: &[f64], n_each: usize, label: impl Fn(usize, usize) -> f64) -> Vec<Row> {
    let mut all = Vec::new();
    for (g, w) in weights.iter().enumerate() {
        for i in 0..n_each {
            let mut z = vec![0.0; N_PARAMS - 1];
            // The category is the group; the fourth has no feature.
            if g < 3 {
                z[2 + g] = 1.0;
            }
            z[5] = 1.0;
            all.push(Row {
                z,
                y: label(g, i),
                group: Some(g),
                w: w / n_each as f64,
            });
        }
    }
    all
}

/// Parameters that give rows of group g of [`by_category`] the score `scores[g]`.
fn at_category(scores: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; N_PARAMS];
    let last = scores.get(3).copied().unwrap_or(0.0);
    x[N_PARAMS - 1] = last;
    for (c, score) in x[2..5].iter_mut().zip(scores) {
        *c = score - last;
    }
    x
}

fn entropy(p: f64) -> f64 {
    -p * p.ln() - (1.0 - p) * (1.0 - p).ln()
}

/// The mean of the worst `tail` of the mass; a group at the border counts in part.
fn worst_mean(groups: &[(f64, f64)], tail: f64) -> f64 {
    let mut sorted = groups.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (mut left, mut sum) = (tail, 0.0);
    for (p, l) in sorted {
        let taken = left.min(p);
        sum += taken * l;
        left -= taken;
    }
    sum / tail
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// As τ falls and β rises, objectives approach the measures of which they are smooth versions.
    #[test]
    fn sharp_objectives_are_their_measures(seed: u64, n_groups in 2_usize..6, weighted: bool, s in settings()) {
        let rows = rows(seed, 300, n_groups, weighted);
        let points = points(seed, 3, 0.7);
        let s = sharp(s, &rows, &points);
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let hard = measured(&rows, n_groups, &points);
        let values = all.values(&points).unwrap();
        let (_, gradients) = all.evaluate(&points).unwrap();
        let of: Vec<_> = all.objectives().map(Objective::measure).collect();
        for (i, measures) in hard.iter().enumerate() {
            let values = &values[i * N_KINDS..(i + 1) * N_KINDS];
            for k in MEASURED {
                let expected = of[k].unwrap().of(measures).unwrap();
                let found = values[k];
                // log(5)/β, and rounding of sums.
                prop_assert!((found - expected).abs() < 1e-9, "kind {k}: {found} is not {expected}");
                prop_assert!(gradients.get(k, i).iter().all(|g| g.is_finite()));
            }
            // Variances cannot be more than a quarter of the squared range; equalized odds adds two.
            for (k, most) in [(2, 0.25), (4, 0.25), (6, 0.25), (8, 0.5)] {
                let range = of[k].unwrap().of(measures).unwrap();
                prop_assert!(values[k] <= most * range * range + 1e-12);
            }
        }
        prop_assert!((RISK_VARIANCE..N_KINDS).all(|k| of[k].is_none()));
    }

    /// If all groups have the same rows, however large the groups are, objectives are 0; since
    /// nothing is below 0, gradients are 0 too.
    #[test]
    fn independence_gives_zero(seed: u64, n_groups in 2_usize..6, s in settings()) {
        let mut random = Stream::new(seed, Purpose::Synthetic, [6, 6]);
        let base = rows(seed, 50, 1, true);
        let mut all_rows = Vec::new();
        for g in 0..n_groups {
            let factor = 0.05 + random.uniform();
            let of_group = |r: &Row| Row { group: Some(g), w: factor * r.w, ..r.clone() };
            all_rows.extend(base.iter().map(of_group));
        }
        let all = problem(dataset(&all_rows, n_groups), objectives(n_groups, &s));
        let points = points(seed, 3, 0.7);
        let (values, gradients) = all.evaluate(&points).unwrap();
        for i in 0..points.len() {
            for k in PARITIES.chain([INFORMATION, RISK_VARIANCE, CVAR]) {
                let found = values[i * N_KINDS + k];
                prop_assert!(found.abs() < 1e-13, "kind {k}: {found}");
                // Rates that differ by 1e-16, times β or 1/μ.
                prop_assert!(gradients.get(k, i).iter().all(|g| g.abs() < 1e-11), "kind {k}");
            }
        }
        for measures in measured(&all_rows, n_groups, &points) {
            for difference in [measures.equalized_odds_difference(0), measures.demographic_parity_difference(0), measures.mutual_information(0)] {
                prop_assert!(difference.unwrap() < 1e-13);
            }
        }
    }

    /// Selecting exactly group 0 gives the largest range, and the variance and information of an
    /// indicator.
    #[test]
    fn deciding_by_group_has_known_values(weights in prop::collection::vec(0.1..3.0_f64, 2..5), score in 0.1..5.0_f64, s in settings()) {
        let n_groups = weights.len();
        // Group g has g + 1 positives of 6.
        let rows = by_category(&weights, 6, |g, i| if i <= g { 1.0 } else { -1.0 });
        let mut scores = vec![-score; n_groups];
        scores[0] = score;
        let x = at_category(&scores);
        let s = sharp(s, &rows, &Points::from_vec(N_PARAMS, x.clone()));
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let share = |positives: f64, of: fn(f64, f64) -> f64| {
            let weight = |g: usize| weights[g] * of(g as f64 + 1.0, positives) / 6.0;
            weight(0) / (0..n_groups).map(weight).sum::<f64>()
        };
        let p = share(6.0, |_, all| all);
        let of_positives = share(6.0, |positives, _| positives);
        let of_negatives = share(6.0, |positives, all| all - positives);
        let indicator = |p: f64| p * (1.0 - p);
        let expected = [
            (1, 1.0),
            (3, 1.0),
            (5, 1.0),
            (7, 1.0),
            (2, indicator(p)),
            (4, indicator(of_positives)),
            (6, indicator(of_negatives)),
            (8, indicator(of_positives) + indicator(of_negatives)),
            (INFORMATION, entropy(p)),
        ];
        for (k, expected) in expected {
            let found = one(&all, k, &x);
            prop_assert!((found - expected).abs() < 1e-9, "kind {k}: {found} is not {expected}");
        }
        let hard = &measured(&rows, n_groups, &Points::from_vec(N_PARAMS, x.clone()))[0];
        prop_assert!((hard.mutual_information(0).unwrap() - entropy(p)).abs() < 1e-12);
        // Errors: the negatives of group 0 and the positives of the others.
        let total: f64 = weights.iter().sum();
        let Costs { false_positive, false_negative } = s.costs;
        let cost = |g: usize| match g {
            0 => 5.0 * false_positive,
            _ => (g as f64 + 1.0) * false_negative,
        };
        let wrong = |g: usize| weights[g] * cost(g) / 6.0;
        let wrong = (0..n_groups).map(wrong).sum::<f64>() / total;
        prop_assert!((one(&all, ERROR, &x) - wrong).abs() < 1e-12 * wrong.max(1.0));
        let measure = Measure::ErrorRate(s.costs);
        prop_assert!((measure.of(hard).unwrap() - wrong).abs() < 1e-12 * wrong.max(1.0));
    }

    /// As μ falls, the conditional value at risk approaches the mean of the worst 1 − α. At any μ
    /// it is not above that mean, and below it by at most μ times the entropy of α over 1 − α. The
    /// smooth maximum of losses is at most log(K)/β below the largest.
    #[test]
    fn risks_are_near_their_sharp_versions(weights in prop::collection::vec(0.1..3.0_f64, 2..5), seed: u64, s in settings()) {
        let n_groups = weights.len();
        let rows = by_category(&weights, 2, |_, _| 1.0);
        let scores = points(seed, 1, 2.0).get(0)[..n_groups].to_vec();
        let x = at_category(&scores);
        let total: f64 = weights.iter().sum();
        let losses: Vec<f64> = scores.iter().map(|v| (-v).exp().ln_1p()).collect();
        let groups: Vec<(f64, f64)> = weights.iter().map(|w| w / total).zip(losses.iter().copied()).collect();
        let mean: f64 = groups.iter().map(|(p, l)| p * l).sum();
        let exact = worst_mean(&groups, 1.0 - s.alpha) - mean;
        for mu in [s.mu, 0.1 * s.mu, 1e-3, 1e-9] {
            let s = Settings { mu, shrink: 0.0, ..s };
            let all = problem(dataset(&rows, n_groups), vec![objective(CVAR, n_groups, &s)]);
            let found = one(&all, 0, &x);
            let below = mu * entropy(s.alpha) / (1.0 - s.alpha);
            prop_assert!(found <= exact + 1e-13, "{found} above {exact}");
            prop_assert!(found >= exact - below - 1e-13, "{found} far below {exact}");
            prop_assert!(found >= -1e-14);
        }
        let plain = Settings { shrink: 0.0, ..s };
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &plain));
        let largest = losses.iter().copied().fold(0.0, f64::max);
        let found = one(&all, WORST, &x);
        prop_assert!(found <= largest + 1e-13);
        prop_assert!(found >= largest - (n_groups as f64).ln() / s.beta - 1e-13);
        let variance: f64 = groups.iter().map(|(p, l)| p * (l - mean).powi(2)).sum();
        prop_assert!(close(one(&all, RISK_VARIANCE, &x), variance, 1e-13));
    }

    /// With a small β, the smooth maximum is near the mean: the remaining range is β times the
    /// variance of the rates, and not rounding.
    #[test]
    fn ranges_with_small_beta_are_variances(weights in prop::collection::vec(0.1..3.0_f64, 2..5), seed: u64, digits in 2.0..16.0_f64, s in settings()) {
        let n_groups = weights.len();
        let rows = by_category(&weights, 2, |_, _| 1.0);
        let scores = points(seed, 1, 2.0).get(0)[..n_groups].to_vec();
        let beta = 10.0_f64.powf(-digits);
        let s = Settings { beta, shrink: 0.0, ..s };
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        let rates: Vec<f64> = scores.iter().map(|v| 1.0 / (1.0 + (-v / s.tau).exp())).collect();
        let n = n_groups as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
        // Half of it for equalized odds, as there are no negatives.
        for (k, expected) in [(1, beta * variance), (3, beta * variance), (7, 0.5 * beta * variance)] {
            let found = one(&all, k, &at_category(&scores));
            prop_assert!((found - expected).abs() < beta * beta + 1e-15, "kind {k}: {found} is not {expected}");
            prop_assert!(found >= -1e-15);
        }
    }

    /// In the limit of shrinking, only the overall rate remains.
    #[test]
    fn shrinking_ends_at_the_overall_rate(seed: u64, n_groups in 2_usize..6, s in settings()) {
        let rows = rows(seed, 100, n_groups, true);
        let points = points(seed, 2, 0.7);
        let known: Vec<Row> = rows.iter().filter(|r| r.group.is_some()).cloned().collect();
        let s = Settings { shrink: 1e13, ..s };
        let all = problem(dataset(&rows, n_groups), objectives(n_groups, &s));
        for x in points.iter() {
            for k in PARITIES.chain([INFORMATION, RISK_VARIANCE, CVAR]) {
                let found = one(&all, k, x);
                prop_assert!(found.abs() < 1e-11, "kind {k}: {found}");
            }
            let overall = crate::plain::mean(known.iter(), |r| loss(r, x));
            prop_assert!(close(one(&all, WORST, x), overall, 1e-11));
        }
    }

    /// Shrinking gives the same rates as adding copies of all rows that count to each group.
    /// Objectives that depend only on rates or losses, not on the groups' shares, are then equal
    /// too.
    #[test]
    fn shrinking_is_adding_rows_of_all_groups(seed: u64, n_groups in 2_usize..6, s in settings(), shrink in 0.01..2.0_f64) {
        let rows = rows(seed, 60, n_groups, true);
        let points = points(seed, 2, 0.7);
        let shrunk = problem(dataset(&rows, n_groups), objectives(n_groups, &Settings { shrink, ..s }));
        let known: Vec<&Row> = rows.iter().filter(|r| r.group.is_some()).collect();
        let weight = |counts: &dyn Fn(&Row) -> bool| known.iter().filter(|r| counts(r)).map(|r| r.w).sum::<f64>();
        let all_known = weight(&|_| true);
        // Under a condition too, the added weight is `shrink` of all rows.
        let with_copies = |conditioned: bool| {
            let mut more = rows.clone();
            for g in 0..n_groups {
                for row in &known {
                    let counted = weight(&|r: &Row| !conditioned || r.y == row.y);
                    let w = row.w * shrink * all_known / counted;
                    more.push(Row { group: Some(g), w, ..(*row).clone() });
                }
            }
            problem(dataset(&more, n_groups), objectives(n_groups, &Settings { shrink: 0.0, ..s }))
        };
        for (conditioned, kinds) in [(false, vec![1, WORST]), (true, vec![3, 5, 7])] {
            // A group without rows that count is left out, but would not be with copies.
            let cells = (0..n_groups).flat_map(|g| [(g, 1.0), (g, -1.0)]);
            let mut full = cells.map(|(g, y)| weight(&|r: &Row| r.group == Some(g) && r.y == y));
            if conditioned && full.any(|w| w == 0.0) {
                continue;
            }
            let copied = with_copies(conditioned);
            for x in points.iter() {
                for k in &kinds {
                    let (found, expected) = (one(&shrunk, *k, x), one(&copied, *k, x));
                    prop_assert!(close(found, expected, 1e-12), "kind {k}: {found} is not {expected}");
                }
            }
        }
    }

    /// The information is that of the joint table, and measures of two sets of rows together are
    /// those of all rows.
    #[test]
    fn measures_are_counts(seed: u64, n_groups in 2_usize..6, weighted: bool, n in 12_usize..300, split in 0.0..1.0_f64) {
        let rows = rows(seed, n, n_groups, weighted);
        let points = points(seed, 35, 0.7);
        let all = measured(&rows, n_groups, &points);
        let at = 1 + (split * (n - 2) as f64) as usize;
        let (first, second) = rows.split_at(at);
        let first = measured(first, n_groups, &points);
        let second = measured(second, n_groups, &points);
        for ((i, x), together) in points.iter().enumerate().zip(&all) {
            let mut table = vec![[0.0; 2]; n_groups];
            for row in &rows {
                if let Some(g) = row.group {
                    table[g][usize::from(phi(row, x) >= 0.0)] += row.w;
                }
            }
            let found = together.mutual_information(0).unwrap();
            prop_assert!(close(found, information(&table), 1e-13));
            let with = first[i].with(&second[i]);
            for (a, b) in with.values().iter().zip(together.values()) {
                prop_assert_eq!(a.is_some(), b.is_some());
                if let (Some(a), Some(b)) = (a, b) {
                    prop_assert!(close(*a, b, 1e-11), "{a} is not {b}");
                }
            }
        }
    }
}

/// Losses of a small group shrink more than those of a large one. The mean with which the worst
/// losses are compared must shrink with them, or the risk would be negative.
#[test]
fn a_small_group_of_large_loss_does_not_make_risk_negative() {
    let rows = by_category(&[9.0, 1.0], 2, |_, _| 1.0);
    let x = at_category(&[2.0, -2.0]);
    for (alpha, shrink) in [(0.05, 0.1), (0.05, 1.0), (0.5, 1.0), (0.05, 100.0)] {
        let s = Settings {
            tau: 1.0,
            beta: 1.0,
            alpha,
            mu: 1e-3,
            clamp: 1e-6,
            lambda: 0.0,
            shrink,
            costs: Costs::EQUAL,
        };
        let all = problem(dataset(&rows, 2), vec![objective(CVAR, 2, &s)]);
        let found = one(&all, 0, &x);
        assert!(found >= -1e-14, "alpha {alpha}, shrink {shrink}: {found}");
        assert!(close(found, value(CVAR, &s, &rows, &x), 1e-12));
    }
}

/// Shrinking by 0 has no effect.
#[test]
fn shrinking_by_zero_changes_nothing() {
    let attribute = &schema(3).attributes[0];
    let kinds: [(Box<dyn Objective>, Box<dyn Objective>); 4] = [
        both(RateParity::new(Condition::Positive, 0, attribute), |o| {
            o.shrunk(0.0)
        }),
        both(RateParity::equalized_odds(0, attribute), |o| o.shrunk(0.0)),
        both(MutualInformation::new(0, attribute), |o| o.shrunk(0.0)),
        both(GroupRisk::new(Risk::Variance, 0, attribute), |o| {
            o.shrunk(0.0)
        }),
    ];
    let rows = rows(2, 200, 3, true);
    let points = points(2, 4, 0.7);
    for (plain, shrunk) in kinds {
        assert_eq!(plain.definition(), shrunk.definition());
        assert!(!plain.definition().contains("shrink"));
        let both = problem(dataset(&rows, 3), vec![plain, shrunk]);
        for pair in both.values(&points).unwrap().chunks(2) {
            assert!(pair[0] > 0.0);
            assert_eq!(pair[0], pair[1]);
        }
    }
}

fn both<T: Objective + Clone + 'static>(
    of: T,
    changed: fn(T) -> T,
) -> (Box<dyn Objective>, Box<dyn Objective>) {
    (Box::new(of.clone()), Box::new(changed(of)))
}

/// Rows without weight have no measures, and do not change the measures of other rows.
#[test]
fn measures_without_rows_are_none() {
    let mut rows = rows(1, 40, 2, false);
    let points = points(1, 1, 0.7);
    let known = measured(&rows, 2, &points).remove(0);
    for row in &mut rows {
        row.w = 0.0;
    }
    let nothing = measured(&rows, 2, &points).remove(0);
    assert_eq!(nothing.mutual_information(0), None);
    assert_eq!(nothing.log_loss, None);
    assert_eq!(nothing.overall, Confusion::default());
    assert_eq!(known.with(&nothing), known);
    assert_eq!(nothing.with(&known), known);
    assert_eq!(nothing.with(&nothing), nothing);
}

/// Values that count as 0 are those of differences that are too small to matter.
#[test]
fn negligible_values_are_too_small_to_matter() {
    let s = Settings {
        tau: 1.0,
        beta: 50.0,
        alpha: 0.5,
        mu: 1e-3,
        clamp: 1e-6,
        lambda: 0.0,
        shrink: 0.0,
        costs: Costs::EQUAL,
    };
    let rows = by_category(&[1.0, 1.0], 4, |_, i| if i < 2 { 1.0 } else { -1.0 });
    let all = problem(dataset(&rows, 2), objectives(2, &s));
    // σ(±1e-4 · 2 / 2τ) is 0.5 ± 0.5e-4; information uses decisions that are twice as blurred.
    let apart = |tau: f64| at_category(&[2e-4 * tau, -2e-4 * tau]);
    for (k, tau) in PARITIES.map(|k| (k, 1.0)).chain([(INFORMATION, 2.0)]) {
        let found = one(&all, k, &apart(tau));
        let expected = all.negligible(k);
        // Equalized odds adds two variances.
        let times = if k == 8 { 2.0 } else { 1.0 };
        assert!(
            (found - times * expected).abs() < 1e-4 * expected,
            "kind {k}: {found} is not {expected}"
        );
    }
    for k in [ERROR, RISK_VARIANCE, CVAR, WORST] {
        assert_eq!(all.negligible(k), 0.0);
    }
    let gradients = all
        .gradients(&Points::from_vec(N_PARAMS, apart(1.0)), Batches::All)
        .unwrap();
    assert!(gradients.get(1, 0).iter().any(|g| *g != 0.0));
}
