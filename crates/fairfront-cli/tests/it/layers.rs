//! The order of the crates: each depends only on lower ones, and only the command knows flags.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// All published crates in the order of ARCHITECTURE.md, the lowest first.
const ORDER: [&str; 11] = [
    "fairfront-pareto",
    "fairfront-core",
    "fairfront-learn",
    "fairfront-solve",
    "fairfront-data",
    "fairfront-model",
    "fairfront-report",
    "fairfront-run",
    "fairfront-stream",
    "fairfront",
    "fairfront-cli",
];

/// The crates of this project that each crate depends on, with all features but without tests.
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
fn crates_depend_only_on_lower_crates() {
    let all = dependencies();
    for (at, name) in ORDER.iter().enumerate() {
        for other in &all[*name] {
            assert!(ORDER[..at].contains(&other.as_str()), "{name} → {other}");
        }
    }
}

#[test]
fn scoring_does_not_link_solvers_or_reports() {
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
        [
            "fairfront-core",
            "fairfront-data",
            "fairfront-learn",
            "fairfront-model"
        ]
    );
}

/// The flags in the help of a command.
fn flags(of: &[&str]) -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(of)
        .arg("--help")
        .output()
        .expect("the command runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let words = help.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    let flags = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    flags.map(Into::into).collect()
}

/// Finds the lines in the sources of a library, including tests, that contain one of these flags.
fn places(folder: &Path, flags: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            places(&path, flags, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
            // Tests run themselves and system programs with these flags.
            let is_other = line.contains("--exact") || line.contains("--check");
            if !is_other && words.any(|word| flags.iter().any(|flag| flag == word)) {
                found.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
}

#[test]
fn libraries_do_not_mention_flags() {
    let commands = [
        "fit", "select", "stream", "tune", "predict", "compare", "inspect", "verify", "report",
        "show", "export",
    ];
    let mut all: Vec<String> = commands.iter().flat_map(|name| flags(&[name])).collect();
    all.extend(flags(&["data", "export"]));
    assert!(all.iter().any(|flag| flag == "--sensitive") && all.len() > 50);
    let mut found = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in &ORDER[..8] {
        places(&crates.join(name).join("src"), &all, &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
