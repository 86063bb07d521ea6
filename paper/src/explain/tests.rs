use std::path::Path;

use fairfront_pareto::hypervolume;

use super::*;

fn exact(problem: &FairProblem) -> Front {
    let trace = Trace {
        points: EXACT_POINTS,
        ..Trace::default()
    };
    trace.solve(problem, &mut ()).expect("a front").front
}

/// Whether one of these points is at least as good in both objectives and better in one.
fn is_dominated(point: &[f64], by: &[f64]) -> bool {
    by.chunks_exact(2)
        .any(|q| q[0] <= point[0] && q[1] <= point[1] && (q[0] < point[0] || q[1] < point[1]))
}

#[test]
fn the_list_keeps_nondominated_points() {
    let problem = problem().expect("a problem");
    let moves = Moves::watch(&problem).expect("a run");
    let settings = Moves::settings();
    let n_list = moves.list.len() / 2;
    assert!(n_list >= 3 && n_list <= settings.n_starts);
    assert_eq!(
        moves.copies.len(),
        settings.perturbations * moves.list.len()
    );
    assert_eq!(moves.ends.len(), moves.list.len() + moves.copies.len());
    assert_eq!(moves.rounds.len(), ROUNDS[2]);

    let all = [&moves.list[..], &moves.ends].concat();
    let (kept, removed) = moves.kept_and_removed();
    assert_eq!(kept.len() + removed.len(), all.len());
    // The list has no other points.
    assert_eq!(kept.len(), moves.after(1).len());
    assert!(kept.chunks_exact(2).all(|p| !is_dominated(p, &all)));
    assert!(removed.chunks_exact(2).all(|p| is_dominated(p, &all)));
    assert!(!removed.is_empty());
}

#[test]
fn observation_does_not_change_the_result() {
    let problem = problem().expect("a problem");
    let plain = Moves::settings().solve(&problem, &mut ()).expect("a run");
    let moves = Moves::watch(&problem).expect("a run");
    let mut last: Vec<&[f64]> = moves.after(ROUNDS[2]).chunks_exact(2).collect();
    last.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    assert_eq!(last.concat(), plain.front.values);
}

#[test]
fn rounds_move_towards_the_exact_front() {
    let problem = problem().expect("a problem");
    let exact = exact(&problem);
    let moves = Moves::watch(&problem).expect("a run");
    // No point is below the exact front by more than the spacing of its 400 points …
    let all = [&moves.ends[..], moves.after(ROUNDS[2])].concat();
    assert!(all.chunks_exact(2).all(|p| {
        let mut front = exact.values.chunks_exact(2);
        front.any(|q| q[0] <= p[0] + 3e-3 && q[1] <= p[1] + 3e-3)
    }));
    // … and each list in the figure is closer to it than the previous one.
    let reference = Dominated::of(&problem, &exact).expect("a volume").reference;
    let volume = |values: &[f64]| {
        let values = fairfront_pareto::Values::new(values, 2).expect("values");
        hypervolume(values, &reference).expect("a volume")
    };
    let lists = [&moves.list[..]]
        .into_iter()
        .chain(ROUNDS.map(|n| moves.after(n)));
    let volumes: Vec<f64> = lists.map(volume).collect();
    assert!(volumes.is_sorted(), "{volumes:?}");
    assert!(volumes[1] > volumes[0] && volumes[3] > 0.95 * volume(&exact.values));
    assert!(volumes[3] < volume(&exact.values) + 1e-3);
}

#[test]
fn the_volume_is_a_sum_of_rectangles() {
    let problem = problem().expect("a problem");
    let few = Dominated::of(&problem, &exact(&problem)).expect("a volume");
    assert_eq!(few.values.len(), 2 * FEW);
    let points: Vec<&[f64]> = few.values.chunks_exact(2).collect();
    // The values along both objectives form rectangles that are dominated entirely or not at all.
    let cuts = |i: usize| {
        let mut cuts: Vec<f64> = points.iter().map(|p| p[i]).collect();
        cuts.push(few.reference[i]);
        cuts.sort_by(f64::total_cmp);
        cuts
    };
    let (columns, rows) = (cuts(0), cuts(1));
    let mut sum = 0.0;
    for x in columns.windows(2) {
        for y in rows.windows(2) {
            if points.iter().any(|p| p[0] <= x[0] && p[1] <= y[0]) {
                sum += (x[1] - x[0]) * (y[1] - y[0]);
            }
        }
    }
    // 36 products and sums of numbers below 1.
    assert!((sum - few.volume).abs() < 1e-13, "{sum} {}", few.volume);
    assert!(few.draw().contains(&format!(">hypervolume {sum:.4}<")));
    // No model dominates another.
    assert!(points.iter().all(|p| !is_dominated(p, &few.values)));
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .expect("threads")
            .install(explain)
            .expect("figures")
    };
    assert_eq!(with(1), with(3));
}

/// The committed figures are the output of this code; `FAIRFRONT_UPDATE=1` rewrites them.
#[test]
fn the_committed_figures_are_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures");
    for figure in explain().expect("figures") {
        let path = folder.join(format!("{}.svg", figure.name));
        if std::env::var_os("FAIRFRONT_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, &figure.svg).expect("written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == figure.svg,
            "docs/figures/{}.svg differs from the output of explain(); check the change, then update the file with \
             FAIRFRONT_UPDATE=1 cargo test -p fairfront-reproduce the_committed_figures",
            figure.name
        );
    }
}
