//! Runs `fit --solver eps-fair` as a user does.

use std::path::Path;

use tempfile::TempDir;

use crate::{Outcome, has, on_loans, run_in};

const SMALL: &str = "fit demo(rows=900) --solver eps-fair";

fn fit(folder: &Path, more: &str) -> Outcome {
    run_in(folder, &format!("{SMALL} {more}"))
}

fn json(folder: &Path) -> serde_json::Value {
    let bytes = std::fs::read(folder.join("run.json")).expect("a run");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[test]
fn a_run_counts_its_subproblems() {
    let folder = TempDir::new().expect("a folder");
    // With two attributes, the grid has four bounds per attribute.
    let outcome = fit(folder.path(), "--models 20 --out r --verbose").ok();
    let run = json(&folder.path().join("r"));
    assert_eq!(
        (&run["solver"], &run["stop"]),
        (&"eps-fair".into(), &"complete".into())
    );
    assert_eq!(run["solver_settings"]["models"], 20);
    let count = |name: &str| run["counters"]["subproblems"][name].as_u64().expect(name);
    assert_eq!((count("solved"), count("failed")), (15, 0));
    assert_eq!(
        run["models"].as_u64().expect("a count") + count("dominated") + count("copies"),
        16
    );
    has(&outcome.out, "15 subproblems solved, 0 failed");
    let reported = outcome
        .out
        .contains("of 16 solutions were dominated and left out");
    assert_eq!(reported, count("dominated") > 0, "{}", outcome.out);
    // The result does not depend on the number of threads.
    let front = |run: &str| std::fs::read(folder.path().join(run).join("front.parquet")).ok();
    fit(folder.path(), "--models 20 --out s --threads 1").ok();
    assert!(front("r").is_some());
    assert_eq!(front("r"), front("s"));
}

/// The groups of an attribute alternate between rows, whatever else is in a row, so that its
/// covariances are 0 up to rounding.
#[test]
fn an_irrelevant_attribute_is_not_traded_off() {
    let folder = TempDir::new().expect("a folder");
    let n = 1_998;
    let rows: Vec<String> = (0..n)
        .map(|i| {
            let (row, group) = (i * 977 % n / 2, ["a", "b"][i * 977 % 2]);
            let (x, z) = (row * 7_919 % 1_009, row * 104_729 % 503);
            let y = usize::from(x + 2 * z + row * 31 % 400 > 1_200);
            format!(
                "{y},{group},{},{x}.37,{z}.11",
                ["u", "v"][usize::from(x > 400 + z)]
            )
        })
        .collect();
    let text = format!("y,g,h,x,z\n{}\n", rows.join("\n"));
    std::fs::write(folder.path().join("t.csv"), text).expect("a file");
    let fit = |more: &str| {
        let args = "fit t.csv --target y --positive 1 --split none";
        run_in(&folder, &format!("{args} {more}")).ok()
    };
    let diagnostic = "score_covariance(g) of the unmitigated model is already zero";
    for solver in ["pf-smg", "eps-fair"] {
        let alone = format!("--sensitive g --drop h --solver {solver}");
        let of_g = "--objective log_loss --objective score_covariance(g)";
        let outcome = fit(&format!("{alone} {of_g} --out {solver}"));
        has(&outcome.err, diagnostic);
        has(&outcome.out, ": 1 model in ");
        has(&outcome.out, "t.csv: 1 model by");
        let run = json(&folder.path().join(solver));
        assert_eq!(run["models"], 1);
        assert_eq!(run["counters"]["points_by_round"], serde_json::json!([]));
        // It does not interfere with another attribute that can be traded off.
        let both = format!("--sensitive g --sensitive h --solver {solver}");
        let of_h = "--objective score_covariance(h)";
        let outcome = fit(&format!("{both} {of_g} {of_h} --out r --force"));
        has(&outcome.err, diagnostic);
        let run = json(&folder.path().join("r"));
        assert!(run["models"].as_u64() >= Some(100), "{}", outcome.out);
    }
}

#[test]
fn unsolved_subproblems_are_a_warning() {
    let folder = TempDir::new().expect("a folder");
    let more = "--models 9 --set max-evaluations=1 --out r";
    let outcome = fit(folder.path(), more).ok();
    assert!(
        outcome.out.contains("8 of 9 solutions were duplicates"),
        "{}",
        outcome.out
    );
    assert!(
        !outcome.out.contains("dominated and left out"),
        "{}",
        outcome.out
    );
    let diagnostics = json(&folder.path().join("r"))["messages"].to_string();
    has(&diagnostics, "8 of 8 subproblems were not solved");
}

#[test]
fn values_that_are_not_finite_are_explained() {
    let folder = TempDir::new().expect("a folder");
    let more = "--preset paper --models 4 --set start-radius=1e307 --out r";
    let outcome = fit(folder.path(), more).ok();
    has(
        &outcome.err.replace("\n  ", " "),
        "a smaller --set start-radius",
    );
}

#[test]
fn flags_override_the_solver_in_a_toml_file() {
    let folder = TempDir::new().expect("a folder");
    let toml = "files = \"demo(rows=900)\"\nsensitive = \"sex\"\n[fit]\nsolver = \"eps-fair\"\n\
                models = 5
set = [\"tolerance=1e-7\"]\n";
    std::fs::write(folder.path().join("run.toml"), toml).expect("a file");
    let fit = |more: &str| {
        let args = format!("fit --config run.toml --quiet {more}");
        run_in(&folder, &args)
    };
    fit("--out r").ok();
    let run = json(&folder.path().join("r"));
    assert_eq!(run["counters"]["subproblems"]["solved"], 4);
    assert_eq!(run["solver_settings"]["tolerance"], 1e-7);
    let flags = "--solver pf-smg --set max-steps=4 --out s";
    fit(flags).ok();
    let run = json(&folder.path().join("s"));
    assert_eq!(run["solver"], "pf-smg");
    assert!(run["counters"].get("subproblems").is_none());
}

#[test]
fn the_paper_preset_applies_to_conditional_covariances() {
    let folder = TempDir::new().expect("a folder");
    let more = "--preset paper --models 5 --objective log_loss --objective score_covariance(sex,given=positive) --out r";
    let outcome = fit(folder.path(), more).ok();
    has(&outcome.err, "is not convex");
    let run = json(&folder.path().join("r"));
    assert_eq!(run["solver_settings"]["finite_differences"], true);
    assert_eq!(run["solver_settings"]["start_radius"], 5.0);
    assert_eq!(
        run["requested"][1],
        "score_covariance(sex,given=positive, center=all)"
    );
    // 47 parameters: a gradient by differences evaluates 48 points.
    let counters = &run["counters"];
    let gradients = counters["gradient_evaluations"][0]
        .as_u64()
        .expect("a count");
    assert!(counters["evaluations"].as_u64() > Some(48 * gradients));
}

#[test]
fn wrong_usage_is_an_error() {
    let spec = "fit - --target approved --sensitive sex --split none --solver eps-fair --out r";
    let cases: [(&str, i32, &str); 5] = [
        ("--models 1", 2, "models is 1"),
        ("--set runs=1", 2, "eps-fair has no such setting"),
        ("--set tolerence=1", 2, "did you mean \"tolerance\"?"),
        ("--set feasibility=0", 2, "feasibility is 0"),
        (
            "--objective log_loss --objective log_loss(lambda=1)",
            2,
            "log_loss is given twice",
        ),
    ];
    for (more, code, message) in cases {
        let outcome = on_loans(&format!("{spec} {more}"));
        assert!(
            outcome.code == code && outcome.err.contains(message),
            "{more:?}: {} {}",
            outcome.code,
            outcome.err
        );
        assert_eq!(outcome.err.matches('\n').count(), 1, "{}", outcome.err);
    }
}

#[test]
fn a_time_limit_keeps_the_results_so_far() {
    let folder = TempDir::new().expect("a folder");
    let args = "fit demo --solver eps-fair --models 1000000 --max-seconds 1 --out r";
    let outcome = run_in(&folder, args).ok();
    has(&outcome.out, "stopped early");
    assert_eq!(json(&folder.path().join("r"))["stop"], "stopped");
}
