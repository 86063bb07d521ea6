//! Tests figures of small runs.

use fairfront_data::{Known, Ordered, Prepared};
use fairfront_solve::{AnySolver, PfSmg, Trace, Weighted};

use super::*;
use crate::{
    Family, FitRequest, Overlay as RunOverlay, OverlayKind, OverlayPoint, SolverChoice, fit,
    front_table, run_info,
};

fn run_of(name: &str, solver: AnySolver) -> (RunInfo, FrontTable) {
    let known = Known::named(name).unwrap().unwrap();
    let prepared = Prepared::from_known(&known, &known.spec(), None).unwrap();
    let request = FitRequest {
        objectives: match solver {
            AnySolver::Weighted(_) => Vec::new(),
            _ => vec!["log_loss".into(), "score_covariance(sex)".into()],
        },
        solvers: vec![SolverChoice {
            solver,
            polish: None,
        }],
        front_in: None,
        penalty: crate::Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    };
    let fitted = fit(&prepared, &request, &mut ()).unwrap();
    (
        run_info(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted),
        front_table(&fitted),
    )
}

/// The figures without a chosen model.
fn all_of(run: &RunInfo, front: &FrontTable) -> Vec<Figure> {
    figures(run, front, None).unwrap()
}

fn traced() -> (RunInfo, FrontTable) {
    let trace = Trace {
        points: 12,
        ..Trace::default()
    };
    run_of("demo(rows=600)", AnySolver::Trace(trace))
}

fn range_of(front: &FrontTable, column: &str) -> (f64, f64) {
    let values = front.column(column).unwrap().iter().flatten();
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(start, |(low, high), v| (low.min(*v), high.max(*v)))
}

/// Whether the description of a figure contains this name and this range.
fn says(svg: &str, name: &str, range: (f64, f64)) -> bool {
    let Some((_, from)) = svg.split_once(&format!("{name} from ")) else {
        return false;
    };
    let text: String = from.chars().take(60).collect();
    let mut numbers = text.split_whitespace();
    let low: f64 = numbers.next().unwrap().parse().unwrap();
    assert_eq!(numbers.next(), Some("to"));
    let high = numbers.next().unwrap().trim_end_matches([';', '.', '<']);
    let high: f64 = high.parse().unwrap();
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs().max(1e-12);
    near(low, range.0) && near(high, range.1)
}

#[test]
fn panels_show_the_columns_of_test_rows() {
    let (run, front) = traced();
    let figures = all_of(&run, &front);
    let names: Vec<&str> = figures.iter().map(|f| &f.name[..]).collect();
    assert_eq!(names, ["front", "trade-off-1-score-covariance-sex"]);
    assert!(names.iter().all(|name| is_own(&format!("{name}.svg"))));
    let svg = &figures[1].svg;
    let column = |name: &str| range_of(&front, &format!("test.{name}"));
    let lower = |name: &str| format!("{name} (lower is better)");
    for (name, of) in [
        (lower("log_loss"), "objective.log_loss"),
        (
            lower("score_covariance(sex)"),
            "objective.score_covariance(sex)",
        ),
        (
            lower("demographic parity difference"),
            "demographic_parity_difference(sex)",
        ),
        ("accuracy (higher is better)".into(), "accuracy"),
    ] {
        assert!(says(svg, &name, column(of)), "{name}: {svg}");
    }
    let [women, men] = ["Female", "Male"].map(|g| column(&format!("selection_rate(sex={g})")));
    let both = (women.0.min(men.0), women.1.max(men.1));
    assert!(says(svg, "selection rate", both), "{svg}");
    assert!(svg.contains("Female, 12 points; Male, 12 points"), "{svg}");
    assert!(svg.contains("unmitigated model"));
}

#[test]
fn a_front_in_measures_is_drawn_in_measures() {
    let (run, front) = weighted();
    let figures = all_of(&run, &front);
    assert_eq!(figures.len(), 3);
    let (low, high) = range_of(&front, "test.accuracy");
    let svg = &figures[0].svg;
    assert!(says(svg, "error rate", (1.0 - high, 1.0 - low)), "{svg}");
    let difference = range_of(&front, "test.demographic_parity_difference(sex)");
    let named = "demographic parity difference (sex)";
    assert!(says(svg, named, difference), "{svg}");
}

fn weighted() -> (RunInfo, FrontTable) {
    let weighted = Weighted {
        sums: 6,
        most_steps: 4,
        ..Weighted::default()
    };
    run_of("demo(rows=600)", AnySolver::Weighted(weighted))
}

#[test]
fn families_have_their_own_markers() {
    let (run, mut front) = weighted();
    let n = front.len();
    assert!(n > 2);
    assert!(all_of(&run, &front)[0].svg.contains(FRONT));
    front.families = vec![Family::Linear; n];
    front.families[0] = Family::Trees;
    front.families[2] = Family::Trees;
    for Figure { svg, .. } in all_of(&run, &front) {
        assert!(svg.contains("models from boosted trees, 2 points"), "{svg}");
        assert!(svg.contains(&format!("linear models, {} point", n - 2)));
        assert!(!svg.contains(FRONT));
    }
    front.families = vec![Family::Trees; n];
    let svg = &all_of(&run, &front)[1].svg;
    assert!(svg.contains("models from boosted trees") && !svg.contains("linear models"));
}

#[test]
fn overlays_are_drawn_in_plots_of_their_measures() {
    let (mut run, front) = weighted();
    let difference = "demographic_parity_difference(sex)";
    let point = |values: &[f64], low: &[f64], high: &[f64]| OverlayPoint {
        values: values.to_vec(),
        low: low.to_vec(),
        high: high.to_vec(),
        name: None,
    };
    let overlay = |kind, split: &str, points| RunOverlay {
        kind,
        label: "a label".into(),
        split: Some(split.into()),
        measures: vec!["error_rate".into(), difference.into()],
        points,
    };
    let line = vec![
        point(&[0.25, 0.0], &[0.125, 0.0], &[0.5, 0.0625]),
        point(&[0.125, 0.5], &[], &[]),
    ];
    run.overlays = vec![
        overlay(OverlayKind::Bound, "test", line.clone()),
        overlay(OverlayKind::ByGroup, "validation", line.clone()),
        overlay(OverlayKind::Score, "test", line[1..].to_vec()),
    ];
    let shown = all_of(&run, &front);
    let drawn = |at: usize| shown[at].svg.matches("<title>estimate</title>").count();
    // Once in each figure with accuracy and the difference by sex; not for race.
    assert_eq!([drawn(0), drawn(1), drawn(2)], [1, 1, 0]);
    assert!(
        shown[0]
            .svg
            .contains("Also shown: estimate (a label); a label.")
    );
    assert!(!shown.iter().any(|f| f.svg.contains("thresholds by group")));

    let numbers = RunNumbers::new(&run, &front);
    let trails = numbers.trails(&["accuracy".into(), difference.into()]);
    assert_eq!(trails.len(), 2);
    assert_eq!(trails[0].values, [0.75, 0.0, 0.875, 0.5]);
    // Accuracy is better above, the difference below; a point without a band is its own band.
    assert_eq!(trails[0].better, [0.875, 0.0, 0.875, 0.5]);
    assert_eq!(trails[0].worse, [0.5, 0.0625, 0.875, 0.5]);
    assert!(trails[1].better.is_empty());
    let race = "demographic_parity_difference(race)".to_owned();
    assert!(
        numbers
            .trails(&["accuracy".into(), race.clone()])
            .is_empty()
    );
    let three = numbers.trails(&[race, Measure::ERROR_RATE.into(), difference.into()]);
    assert!(three[0].values[0].is_nan() && three[0].values[1..3] == [0.25, 0.0]);
}

#[test]
fn the_hypervolume_is_drawn_if_there_are_rounds() {
    let (mut run, front) = traced();
    assert!(run.counters.hypervolume_by_round.is_empty());
    for (volumes, drawn) in [(vec![0.5], false), (vec![0.5, 0.625, 0.75], true)] {
        run.counters.hypervolume_by_round = volumes;
        let figures = all_of(&run, &front);
        let found = figures.iter().find(|f| f.name == "hypervolume-by-round");
        assert_eq!(found.is_some(), drawn);
        let text = "3 points, first 0.5, last 0.75";
        assert!(found.is_none_or(|f| f.svg.contains(text) && is_own("hypervolume-by-round.svg")));
    }
    let pf_smg = PfSmg {
        most_points: 30,
        most_steps: 12,
        ..PfSmg::default()
    };
    let (run, front) = run_of("demo(rows=600)", AnySolver::PfSmg(pf_smg));
    let counters = &run.counters;
    assert_eq!(
        counters.hypervolume_by_round.len(),
        counters.points_by_round.len()
    );
    assert_eq!(all_of(&run, &front).len(), 3);
}

#[test]
fn a_front_of_any_kind_has_figures() {
    let (run, front) = traced();
    // Without test rows, unmitigated values or a measure; with one model; with none.
    let mut untested = front.clone();
    let keep: Vec<bool> = untested
        .names
        .iter()
        .map(|n| !n.starts_with("test."))
        .collect();
    let mut kept = keep.iter();
    untested.columns.retain(|_| *kept.next().unwrap());
    untested.names.retain(|name| !name.starts_with("test."));
    let svg = &all_of(&run, &untested)[1].svg;
    assert!(svg.contains("on validation rows"));

    let mut absent = front.clone();
    let difference = "test.demographic_parity_difference(sex)";
    let at = (absent.names.iter().position(|n| n == difference)).unwrap();
    absent.columns[at].iter_mut().for_each(|v| *v = None);
    let mut unknown = run.clone();
    unknown.unmitigated.values = Ordered(Vec::new());
    let svg = &all_of(&unknown, &absent)[1].svg;
    assert_eq!(svg.matches(">no points<").count(), 2);
    assert_eq!(svg.matches(">12 not finite<").count(), 2);
    assert!(!svg.contains("unmitigated model"));

    for n in [0, 1] {
        let mut short = front.clone();
        short.columns.iter_mut().for_each(|c| c.truncate(n));
        short.params.truncate(n);
        assert_eq!(all_of(&run, &short).len(), 2);
    }
    assert_eq!(all_of(&run, &FrontTable::default()).len(), 2);
}

#[test]
fn groups_belong_to_the_attribute_with_the_longest_name() {
    let (run, _) = traced();
    let names = ["a", "a=b"].map(|a| format!("train.demographic_parity_difference({a})"));
    let of = ["a=x", "a=b=y"].map(|a| format!("train.selection_rate({a})"));
    let front = FrontTable {
        columns: vec![Vec::new(); 5],
        names: [&["train.accuracy".to_owned()], &names[..], &of[..]].concat(),
        params: Vec::new(),
        families: Vec::new(),
    };
    let numbers = RunNumbers::new(&run, &front);
    let groups = |attribute: &str| -> Vec<&str> {
        let groups = numbers.groups(attribute, "selection_rate");
        groups.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(groups("a"), ["x"]);
    assert_eq!(groups("a=b"), ["y"]);
}

#[test]
fn file_names_are_plain() {
    assert_eq!(
        file_name("score_covariance(sex:race)"),
        "score-covariance-sex-race"
    );
    assert_eq!(file_name("../../etc/<男>\0"), "etc");
    assert_eq!(file_name(&"x".repeat(500)).len(), 60);
    for (name, own) in [
        ("front.svg", true),
        ("trade-off-1-.png", true),
        ("front.html", false),
        ("notes.svg", false),
        ("front", false),
        (".front.svg", false),
    ] {
        assert_eq!(is_own(name), own, "{name}");
    }
}
