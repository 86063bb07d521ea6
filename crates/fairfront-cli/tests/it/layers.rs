//! The order of the crates: each knows only those above it.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// All published crates, as ARCHITECTURE.md orders them, the lowest first.
const ORDER: [&str; 10] = [
    "fairfront-pareto",
    "fairfront-core",
    "fairfront-solve",
    "fairfront-data",
    "fairfront-model",
    "fairfront-report",
    "fairfront-run",
    "fairfront-stream",
    "fairfront",
    "fairfront-cli",
];

/// The project's own crates that each crate depends on, features included, tests left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{metadata:?}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let own = |package: &Value| {
        let all = list(&package["dependencies"]);
        let linked = all.iter().filter(|d| d["kind"].is_null()).map(name);
        linked.filter(|d| d.starts_with("fairfront")).collect()
    };
    let packages = list(&metadata["packages"]);
    packages.iter().map(|p| (name(p), own(p))).collect()
}

#[test]
fn a_crate_knows_only_those_above_it() {
    let all = dependencies();
    for (at, name) in ORDER.iter().enumerate() {
        for other in &all[*name] {
            assert!(ORDER[..at].contains(&other.as_str()), "{name} → {other}");
        }
    }
}

#[test]
fn scoring_links_no_solver_and_no_report() {
    let all = dependencies();
    let mut linked = vec!["fairfront-model".to_owned()];
    let mut at = 0;
    while let Some(name) = linked.get(at).cloned() {
        for other in &all[&name] {
            if !linked.contains(other) {
                linked.push(other.clone());
            }
        }
        at += 1;
    }
    linked.sort();
    assert_eq!(
        linked,
        ["fairfront-core", "fairfront-data", "fairfront-model"]
    );
}
