//! Runs `fit` and `show` as a user does.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{has, on_loans, read_json, run_in, words};

const SMALL: &str = "demo(rows=900) --objective log_loss --objective score_covariance(sex) \
    --objective score_covariance(race) --solver pf-smg --set max-steps=8 --set holes=10 --quiet";

fn fit(folder: &Path, more: &str) -> crate::Outcome {
    run_in(folder, &format!("fit {SMALL} {more}"))
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).expect("a file of the run")
}

#[test]
fn a_run_folder_has_the_documented_contents() {
    let folder = TempDir::new().expect("a folder");
    let outcome = fit(folder.path(), "--out runs/one");
    assert_eq!(
        (outcome.code, outcome.out.as_str(), outcome.err.as_str()),
        (0, "", "")
    );
    let run = folder.path().join("runs/one");
    let json: serde_json::Value = read_json(run.join("run.json"));
    assert_eq!(json["format"], "fairfront-run");
    assert_eq!(
        json["objectives"],
        serde_json::json!([
            "log_loss",
            "score_covariance(sex)",
            "score_covariance(race)"
        ])
    );
    assert!(json["counters"]["gradient_evaluations"][0].as_u64() > Some(0));
    assert!(json["unmitigated"]["values"]["test.accuracy"].as_f64() > Some(0.5));
    assert_eq!(
        json["unmitigated"]["params"].as_array().map(Vec::len),
        Some(47)
    );

    let shown = run_in(&folder, "show runs/one --csv");
    let mut reader = csv::Reader::from_reader(shown.out.as_bytes());
    let header = reader.headers().expect("a header").clone();
    for name in [
        "model_id",
        "family",
        "objective.log_loss",
        "objective.score_covariance(sex)",
        "validation.objective.log_loss",
        "test.objective.score_covariance(race)",
        "train.accuracy",
        "test.demographic_parity_difference(sex)",
        "test.selection_rate(sex=Male)",
        "test.true_positives(race=Black)",
        "params.(intercept)",
    ] {
        assert!(header.iter().any(|h| h == name), "{name}");
    }
    let mut rows: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("a row")).collect();
    let unmitigated = rows.pop().expect("a row");
    assert_eq!(&unmitigated[0], "unmitigated");
    assert_eq!(&unmitigated[1], "linear");
    let loss: f64 = unmitigated[2].parse().expect("a number");
    assert_eq!(
        json["unmitigated"]["values"]["objective.log_loss"].as_f64(),
        Some(loss)
    );
    assert_eq!(rows.len() as u64, json["models"].as_u64().expect("a count"));
    let losses: Vec<f64> = rows
        .iter()
        .map(|r| r[2].parse().expect("a number"))
        .collect();
    assert!(losses.is_sorted(), "models are ordered by the loss");

    let text = run_in(&folder, "show runs/one").out;
    assert!(
        text.contains("the unmitigated model") && text.contains("left is better"),
        "{text}"
    );
    let models: serde_json::Value =
        serde_json::from_str(&run_in(&folder, "show runs/one --json").out).expect("JSON");
    assert_eq!(models[0]["params"].as_array().map(Vec::len), Some(47));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = TempDir::new().expect("a folder");
    for (out, threads, seed) in [
        ("a", "1", "3"),
        ("b", "2", "3"),
        ("c", "8", "3"),
        ("d", "2", "4"),
    ] {
        let more = format!("--out {out} --threads {threads} --seed {seed}");
        fit(folder.path(), &more).ok();
    }
    let front = |run: &str| read(&folder.path().join(run), "front.parquet");
    assert_eq!(front("a"), front("b"));
    assert_eq!(front("a"), front("c"));
    assert_ne!(front("a"), front("d"));
    let encoding = |run: &str| read(&folder.path().join(run), "encoding.json");
    assert_eq!(encoding("a"), encoding("c"));
}

#[test]
fn the_library_and_the_command_give_the_same_bytes() {
    let folder = TempDir::new().expect("a folder");
    let data = "demo(rows=1500)";
    let flags = "--seed 5 --models 20 --quiet --out c";
    run_in(&folder, &format!("fit {data} {flags}")).ok();
    let known = fairfront_data::Known::parse(data).expect("a name");
    let known = known.expect("a known data set");
    let mut spec = known.spec();
    spec.seed = 5;
    let prepared = fairfront_data::Prepared::from_known(&known, &spec, None).expect("rows");
    let ask = fairfront_run::Ask {
        models: Some(20),
        seed: 5,
        ..fairfront_run::Ask::default()
    };
    let attributes = fairfront_run::attribute_texts(&spec);
    let request = ask.request(data, &attributes, false).expect("a request");
    let fitted = fairfront_run::fit(&prepared, &request, &mut ()).expect("a front");
    let mut run = fairfront_run::Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted);
    for (name, bytes) in run.to_files().expect("files") {
        if name != "run.json" {
            assert_eq!(bytes, read(&folder.path().join("c"), name), "{name}");
        }
    }
}

#[test]
fn a_run_is_replaced_only_with_force() {
    let folder = TempDir::new().expect("a folder");
    fit(folder.path(), "--out r").ok();
    let before = read(&folder.path().join("r"), "front.parquet");
    fit(folder.path(), "--out r --seed 9").fails(1, "--force");
    assert_eq!(read(&folder.path().join("r"), "front.parquet"), before);
    fit(folder.path(), "--out r --seed 9 --force").ok();
    assert_ne!(read(&folder.path().join("r"), "front.parquet"), before);
    // A run folder with another file in it is not touched.
    std::fs::write(folder.path().join("r/notes.txt"), "x").expect("a file");
    fit(folder.path(), "--out r --force").fails(1, "notes.txt");
    let demo = run_in(&folder, "demo --out r");
    assert_eq!((demo.code, demo.out.as_str()), (1, ""));
    // Anything other than a run is never replaced.
    std::fs::write(folder.path().join("precious"), "x").expect("a file");
    fit(folder.path(), "--out precious --force").fails(1, "is not a folder");
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn wrong_fits_fail_before_any_work() {
    let spec = "--target approved --sensitive sex --split none --out r";
    let cases: [(&str, i32, &str); 12] = [
        ("--objective log_loss", 2, "at least two objectives"),
        (
            "--objective score_covariance(sex) --objective log_loss",
            2,
            "must be a loss",
        ),
        (
            "--objective logloss --objective x",
            2,
            "did you mean \"log_loss\"?",
        ),
        (
            "--objective log_loss --objective score_covariance(job)",
            2,
            "is not a sensitive attribute",
        ),
        (
            "--objective log_loss(lambda=-1) --objective score_covariance(sex)",
            2,
            "lambda",
        ),
        ("--models 0", 2, "models is 0"),
        ("--set runs=0", 2, "runs is 0"),
        ("--set stp=1", 2, "did you mean \"step\""),
        ("--set step=inf", 2, "must be a number"),
        ("--set batches=0*1", 2, "at least 1 row"),
        ("--max-seconds 0", 2, "--max-seconds"),
        ("--threads 0", 2, "--threads"),
    ];
    for (more, code, words) in cases {
        let outcome = on_loans(&format!("fit - {spec} {more}"));
        assert_eq!(outcome.code, code, "{more:?}: {}", outcome.err);
        assert!(outcome.err.contains(words), "{more:?}: {}", outcome.err);
        let errors = outcome
            .err
            .lines()
            .filter(|l| l.starts_with("error: "))
            .count();
        assert_eq!(
            (errors, outcome.out.as_str()),
            (1, ""),
            "{more:?}: {}",
            outcome.err
        );
    }
    let one_group = "--target approved --sensitive job --split column:sex";
    let outcome = on_loans(&format!("fit - --out r {one_group}"));
    assert_eq!(outcome.code, 1, "{}", outcome.err);
}

#[test]
fn a_toml_file_can_configure_a_fit() {
    let folder = TempDir::new().expect("a folder");
    let toml = "files = \"demo(rows=900)\"\n[fit]\nobjective = [\"log_loss\", \"score_covariance(sex, given=positive)\"]\n\
                set = [\"max-steps=4\"]\n";
    std::fs::write(folder.path().join("run.toml"), toml).expect("a file");
    let args = "fit --config run.toml --out r --json --set max-steps=8";
    let json = run_in(&folder, args).json();
    assert_eq!(
        json["objectives"][1],
        "score_covariance(sex, given=positive)"
    );
    assert_eq!(
        json["solver_settings"]["most_steps"], 8,
        "flags override the file"
    );
    run_in(&folder, "inspect --config run.toml").ok();
}

#[test]
fn polishing_never_makes_a_front_worse() {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("polish.toml"), "[fit]\npolish = true\n").expect("a file");
    fit(folder.path(), "--out plain").ok();
    fit(folder.path(), "--out polished --polish").ok();
    fit(folder.path(), "--out toml --config polish.toml --threads 1").ok();
    let bounds = "--polish --solver eps-fair --models 9 --quiet --out bounds";
    run_in(&folder, &format!("fit demo(rows=900) {bounds}")).ok();
    let json =
        |run: &str| -> serde_json::Value { read_json(folder.path().join(run).join("run.json")) };
    assert!(json("plain").get("polish").is_none());
    for run in ["polished", "bounds"] {
        let polish = json(run)["polish"].clone();
        assert!(polish["improved"].as_u64() > Some(0), "{run}: {polish}");
        assert_eq!(polish["settings"]["references"], 16);
        assert!(polish["hypervolume"][1].as_f64() > polish["hypervolume"][0].as_f64());
    }
    assert_eq!(
        read(&folder.path().join("polished"), "front.parquet"),
        read(&folder.path().join("toml"), "front.parquet")
    );
    let compared = run_in(&folder, "compare plain polished --json").json();
    assert_eq!(compared["fronts"][1]["purity"], 1.0);
    assert!(
        compared["fronts"][1]["hypervolume"].as_f64()
            > compared["fronts"][0]["hypervolume"].as_f64()
    );
    let printed = run_in(
        &folder,
        "fit demo(rows=900) --set max-steps=8 --polish --out printed",
    );
    let line = printed.out.lines().find(|l| l.starts_with("  polished: "));
    let line = line.expect("a line about polishing");
    assert!(
        line.contains(" models improved") && line.contains("hypervolume +"),
        "{line}"
    );
}

#[test]
fn errors_name_the_wrong_key_of_a_toml_file() {
    let folder = TempDir::new().expect("a folder");
    let refused = |text: &str, expected: &str| {
        std::fs::write(folder.path().join("run.toml"), text).expect("a file");
        let args = "fit --config run.toml --out r";
        run_in(&folder, args).fails(2, expected);
    };
    let table = "files = \"demo\"\n\n[fit]\nmodels = 5\n\n[fit.set]\ntolerance = 1e-7\n";
    refused(
        table,
        "run.toml, line 6: fit.set: expected a string or a list",
    );
    refused("sensitive = 3\n", "line 1: sensitive: expected a string");
    refused("[fit]\nset = [1,\n  2]\n", "line 2: set: expected a string");
    refused(
        "fit = { models = 3, set = { a = 1 } }\n",
        "line 1: set: expected",
    );
    refused(
        "[fit]\n\nsolver = \"x\"\n",
        "line 3: solver: unknown variant `x`",
    );
    refused(
        "[fit]\nmethod = \"trace\"\n",
        "line 2: method: `method` is now called `solver`; rename it",
    );
    refused(
        "[fit]\npoints = 7\n",
        "line 2: points: `points` is now called `models`; rename it",
    );
    refused("[fit]\npionts = 3\n", "line 2: unknown field `pionts`");
    refused("[fit]\nset = \n", "line 2: ");
}

/// Former names are errors that name the present ones.
#[test]
fn former_names_are_rejected() {
    let folder = TempDir::new().expect("a folder");
    for (args, error) in [
        (
            "fit demo --method trace --out r",
            "error: --method is now called --solver",
        ),
        (
            "tune demo --method=trace",
            "error: --method is now called --solver",
        ),
        (
            "fit demo --points 9 --out r",
            "error: --points is now called --models",
        ),
        ("select r --id 3", "error: --id is now called --model-id"),
        (
            "fit demo --set metric=none --out r",
            "it is now called \"preconditioner\"",
        ),
        (
            "fit demo --solver pf-smg --set metric=none --out r",
            "it is now called \"preconditioner\"",
        ),
        (
            "select r --model-id 0",
            "ids of models are whole numbers from 1 on",
        ),
    ] {
        run_in(&folder, args).fails(2, error);
    }
    let outcome = run_in(&folder, "fit demo --solver trade");
    has(&outcome.err, "'trace'");
}

/// With more than 1,000 parameters there is no dense matrix, but the unmitigated model is still the
/// minimum.
#[test]
fn many_features_are_supported() {
    let folder = TempDir::new().expect("a folder");
    let row = |i: usize| {
        let (town, y) = (i * 7_919 % 1_200, (i * 31 % 97 + i % 1_200 / 40) % 3 / 2);
        format!("{y},{},t{town},{}", ["a", "b"][i / 3 % 2], i % 17)
    };
    let rows: Vec<String> = (0..4_800).map(row).collect();
    let rows = rows.join("\n");
    std::fs::write(folder.path().join("t.csv"), format!("y,g,town,x\n{rows}")).expect("a file");
    let args = "fit t.csv --target y --positive 1 --sensitive g --type town=categorical \
        --split none --set max-steps=8 --json";
    let fit =
        |more: &str| -> serde_json::Value { run_in(&folder, &format!("{args} {more}")).json() };
    let covariances = "--objective log_loss --objective score_covariance(g)";
    let pf_smg = "--solver pf-smg --out pf-smg";
    let json = fit(&format!("{covariances} {pf_smg}"));
    assert_eq!(json["features"].as_array().map(Vec::len), Some(1_201));
    assert!(json["models"].as_u64() > Some(5));
    let json = fit("--out weighted --penalty 0.000001");
    assert_eq!(json["solver"], "weighted");
    // Towns predict labels: the model is better than the share of the larger class, 0.666.
    let accuracy = json["unmitigated"]["values"]["train.accuracy"].as_f64();
    assert!(accuracy > Some(0.675), "{accuracy:?}");
}

#[test]
fn corrupted_runs_are_rejected() {
    let folder = TempDir::new().expect("a folder");
    fit(folder.path(), "--out r").ok();
    let run = folder.path().join("r");
    let show = || run_in(&folder, "show r");
    let whole = read(&run, "front.parquet");
    std::fs::write(run.join("front.parquet"), &whole[..whole.len() / 2]).expect("a file");
    assert!(
        show().code == 1 && show().err.contains("front.parquet"),
        "{}",
        show().err
    );
    std::fs::remove_file(run.join("front.parquet")).expect("a file");
    assert!(show().err.contains("incomplete"), "{}", show().err);
    std::fs::write(run.join("run.json"), "{").expect("a file");
    assert!(show().err.contains("corrupted"), "{}", show().err);
    run_in(&folder, "show nothing").fails(1, "not a run folder");
}

/// Ctrl-C keeps the front so far and marks it as stopped. On a busy machine, a front needs more time to have
/// several models.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_results_so_far() {
    let models = [4, 16, 64].map(std::time::Duration::from_secs).into_iter();
    let mut models = models.map(models_of_interrupted_fit);
    assert!(models.any(|models| models > 1));
}

/// The number of models of a fit that is interrupted after this time.
#[cfg(unix)]
fn models_of_interrupted_fit(time: std::time::Duration) -> u64 {
    let folder = TempDir::new().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(words("fit demo --set patience=0 --set max-steps=1000000"))
        .args(words("--models 1000000 --out r --quiet"))
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    std::thread::sleep(time);
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let json: serde_json::Value = read_json(folder.path().join("r/run.json"));
    assert_eq!(json["stop"], "stopped");
    json["models"].as_u64().expect("a number")
}

/// Two fits that write to the same folder at the same time both keep their runs.
#[test]
fn concurrent_fits_do_not_overwrite_each_other() {
    let folder = TempDir::new().expect("a folder");
    let start = |seed: &str| {
        Command::new(env!("CARGO_BIN_EXE_fairfront"))
            .args(words(
                "fit demo(rows=3000) --set max-steps=40 --quiet --out r",
            ))
            .args(["--seed", seed])
            .current_dir(folder.path())
            .spawn()
            .expect("the command starts")
    };
    let children = [start("1"), start("2")];
    for mut child in children {
        child.wait().expect("the command ends");
    }
    let runs: Vec<_> = ["r", "r-2"]
        .iter()
        .filter(|r| folder.path().join(r).is_dir())
        .collect();
    // The second starts while the first one runs, or starts after it and is rejected.
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert!(
        !runs.is_empty() && left == runs.len(),
        "{left} entries, {runs:?}"
    );
}

/// Equal opportunity compares groups among positive rows; with only one group it is undefined.
#[test]
fn an_undefined_objective_is_rejected() {
    let folder = TempDir::new().expect("a folder");
    let rows = "y,g,x\n1,a,1\n1,a,2\n0,b,3\n0,b,4\n0,a,5\n";
    std::fs::write(folder.path().join("t.csv"), rows).expect("a file");
    let args = "fit t.csv --target y --positive 1 --sensitive g --split none \
        --objective log_loss --objective score_covariance(g,given=positive) --out r";
    run_in(&folder, args).fails(1, "fewer than two");
}

#[test]
fn a_time_limit_keeps_the_results_so_far() {
    let folder = TempDir::new().expect("a folder");
    let args = "fit demo --set patience=0 --set max-steps=1000000 --models 1000000 \
        --max-seconds 0.5 --out r";
    let outcome = run_in(&folder, args).ok();
    has(&outcome.out, "stopped early");
}

/// Without objectives, the front is between the error rate and differences between selection rates,
/// compared by measures.
#[test]
fn the_default_front_is_in_measures() {
    let folder = TempDir::new().expect("a folder");
    let run = |more: &str| {
        let args = "fit demo(rows=1500) --set sums=24";
        run_in(&folder, &format!("{args} {more}")).ok()
    };
    let json =
        |run: &str| -> serde_json::Value { read_json(folder.path().join(run).join("run.json")) };
    let printed = run("--out m");
    has(&printed.out, " models by weighted");
    assert!(
        printed
            .out
            .contains("  front in measures on training and validation rows (1 - accuracy, ")
    );
    has(&printed.out, " models are not dominated by another model");
    // A warning names groups with few rows.
    has(&printed.err, "have few training rows for");
    let info = json("m");
    assert_eq!(info["judged"]["front_in"], "measures");
    assert_eq!(info["judged"]["in_measures"], info["models"]);
    assert_eq!(
        info["judged"]["measures"],
        serde_json::json!([
            "1 - accuracy",
            "demographic_parity_difference(sex)",
            "demographic_parity_difference(race)"
        ])
    );
    run("--front-in objectives --out o --quiet");
    let info = json("o");
    assert_eq!(info["judged"]["front_in"], "objectives");
    assert_eq!(info["judged"]["in_objectives"], info["models"]);
    run("--models 5 --out few --quiet");
    assert_eq!(json("few")["models"], 5);
    std::fs::write(
        folder.path().join("c.toml"),
        "[fit]\nfront-in = \"objectives\"\n",
    )
    .expect("a file");
    run("--config c.toml --out toml --quiet");
    assert_eq!(
        read(&folder.path().join("toml"), "front.parquet"),
        read(&folder.path().join("o"), "front.parquet")
    );
}

#[test]
fn a_front_in_measures_needs_a_measure_per_objective() {
    let folder = TempDir::new().expect("a folder");
    let args = "fit demo(rows=900) --front-in measures --out r";
    let risk = "--objective log_loss --objective group_risk(sex)";
    let outcome = run_in(&folder, &format!("{args} {risk}"));
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    assert!(
        outcome
            .err
            .contains("there is no measure for group_risk(sex)"),
        "{}",
        outcome.err
    );
    assert!(!folder.path().join("r").exists());
}
