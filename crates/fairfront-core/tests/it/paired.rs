//! Two models on the same rows: counts row by row, and the level and power of a search by simulation.

use fairfront_core::{
    Dataset, Decisions, Points, Purpose, Rate, RateIn, Stream, predictor_of, regions_of,
};
use proptest::prelude::*;

use crate::objective::close;
use crate::plain::{Row, dataset, rows};

/// Decisions of models that are columns of bits.
fn decisions(of: &Dataset, bits: &[Vec<bool>]) -> Decisions {
    let (n, k) = (bits[0].len(), bits.len());
    let names: Vec<String> = (0..k).map(|model| format!("model {model}")).collect();
    let mut values = Vec::with_capacity(n * k);
    for row in 0..n {
        values.extend(bits.iter().map(|own| if own[row] { 1.0 } else { -1.0 }));
    }
    let data = of.of_numeric(&names, &values).expect("rows");
    let mut points = Points::new(k + 1);
    for model in 0..k {
        let mut point = vec![0.0; k + 1];
        point[model] = 1.0;
        points.push(&point);
    }
    Decisions::of(&*predictor_of(data.schema()), &data, &points).expect("decisions")
}

fn success(rate: Rate, row: &Row, decision: bool) -> Option<f64> {
    let positive = row.y > 0.0;
    let (counts, success) = match rate {
        Rate::Selection => (true, decision),
        Rate::FalseNegative => (positive, !decision),
        Rate::FalsePositive => (!positive, decision),
        _ => (true, decision == positive),
    };
    counts.then_some(f64::from(u8::from(success)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn changes_are_those_of_the_rows(
        seed: u64, n in 60_usize..1_500, n_groups in 2_usize..5, weighted: bool, pick in prop::array::uniform4(0_usize..9)
    ) {
        let all = rows(seed, n, n_groups, weighted);
        let mut random = Stream::new(seed, Purpose::Synthetic, [1, 2]);
        let mut bits = || (0..n).map(|_| random.chance(0.4)).collect::<Vec<bool>>();
        let models = [bits(), bits()];
        let data = dataset(&all, n_groups);
        let decided = decisions(&data, &models);
        let tally = decided.pairs(0, 1);
        let regions = regions_of(data.schema(), 0);
        let rates = [Rate::Selection, Rate::FalseNegative, Rate::FalsePositive];
        let at = |i: usize| -> RateIn { (rates[pick[i / 2 * 2] % 3], regions.start + pick[i] % n_groups) };
        let rate = |model: usize, (rate, region): RateIn| {
            let of = all.iter().zip(&models[model]).filter(|(row, _)| row.group == Some(region - regions.start));
            let of = of.filter_map(|(row, d)| Some((success(rate, row, *d)?, row.w)));
            let (sum, weight) = of.fold((0.0, 0.0), |(s, w), (x, own)| (s + x * own, w + own));
            sum / weight
        };
        let change = tally.change([at(0), at(1)], [at(2), at(3)]);
        let expected = rate(0, at(0)) - rate(0, at(1)) - (rate(1, at(2)) - rate(1, at(3)));
        if expected.is_finite() {
            let found = change.estimate().unwrap_or(f64::NAN);
            prop_assert!(close(found, expected, 1e-9), "{found} {expected}");
        }
        let accuracy = tally.change_of_rate((Rate::Accuracy, 0)).estimate().expect("rows");
        let right = |model: usize| {
            let of = all.iter().zip(&models[model]);
            let (sum, weight) = of.fold((0.0, 0.0), |(s, w), (row, d)| {
                (s + row.w * success(Rate::Accuracy, row, *d).unwrap_or(0.0), w + row.w)
            });
            sum / weight
        };
        prop_assert!(close(accuracy, right(0) - right(1), 1e-9));
    }
}

/// Shares of selected rows of three groups.
type Shares = [f64; 3];

/// Whether a search finds a candidate on rows of a population: its accuracy is not worse by 0.02 or more, and
/// every difference between two groups is below that of the baseline's groups 0 and 2.
fn finds(random: &mut Stream, n: usize, baseline: Shares, candidate: Shares, agree: f64) -> bool {
    let mut all = Vec::with_capacity(n);
    let mut bits = [Vec::with_capacity(n), Vec::with_capacity(n)];
    for _ in 0..n {
        let group = random.below(3);
        let first = random.chance(baseline[group]);
        // Correlated decisions with the right shares: rows that the baseline selects are selected with
        // probability `high`, the others with the probability that gives the share.
        let (b, c) = (baseline[group], candidate[group]);
        let high = agree + (1.0 - agree) * c;
        let high = high.min(c / b).max((c - (1.0 - b)) / b);
        let low = (c - b * high) / (1.0 - b);
        let second = random.chance(if first { high } else { low });
        bits[0].push(second);
        bits[1].push(first);
        all.push(Row {
            z: vec![0.0; crate::plain::N_FEATURES],
            // Labels are independent of the decisions, so that all accuracies are 1/2.
            y: if random.chance(0.5) { 1.0 } else { -1.0 },
            group: Some(group),
            w: 1.0,
        });
    }
    let data = dataset(&all, 3);
    let tally = decisions(&data, &bits).pairs(0, 1);
    let start = regions_of(data.schema(), 0).start;
    let rate = |group: usize| -> RateIn { (Rate::Selection, start + group) };
    let mut p = tally.change_of_rate((Rate::Accuracy, 0)).p_at_most(-0.02);
    for a in 0..3 {
        for b in (0..3).filter(|b| *b != a) {
            let change = tally.change([rate(a), rate(b)], [rate(0), rate(2)]);
            p = p.max(change.p_at_least(0.0));
        }
    }
    p <= 0.05
}

/// A candidate whose difference equals the baseline's is found in at most about 5% of the samples, also if its
/// difference is between other groups; a clearly fairer one is found in most.
#[test]
fn level_and_power_of_a_search() {
    let mut random = Stream::new(27, Purpose::Synthetic, [2, 7]);
    let samples = 400;
    let mut share = |baseline: Shares, candidate: Shares| {
        let found = (0..samples).filter(|_| finds(&mut random, 6_000, baseline, candidate, 0.9));
        found.count() as f64 / f64::from(samples)
    };
    let baseline = [0.6, 0.5, 0.4];
    // Three standard errors of a share of 5% among 400 samples are 3.3 percentage points.
    let same = share(baseline, baseline);
    assert!(same <= 0.083, "{same}");
    let turned = share(baseline, [0.4, 0.5, 0.6]);
    assert!(turned <= 0.083, "{turned}");
    let fairer = share(baseline, [0.52, 0.5, 0.46]);
    assert!(fairer > 0.8, "{fairer}");
}
