use super::*;
use crate::finding::Drawn;

fn found() -> Reproduction {
    let claim = |paper: &str, verdict, reason: &str| Claim {
        paper: paper.into(),
        rule: "it does".into(),
        measured: "rank correlation −0.9".into(),
        verdict,
        reason: reason.into(),
    };
    Reproduction {
        program: "0".into(),
        effort: Effort::Full,
        command: "fairfront-reproduce".into(),
        machine: "a machine".into(),
        findings: vec![Finding {
            experiment: Experiment::CompasTwoMeasures,
            setting: "All rows.".into(),
            claims: vec![
                claim("|a| falls.", Verdict::Holds, ""),
                claim("b rises.", Verdict::DoesNotHold, "there is none"),
            ],
            notes: vec!["A note.".into()],
            sheets: vec![Sheet {
                name: "numbers".into(),
                caption: "Numbers.".into(),
                header: vec!["n".into(), "v".into()],
                rows: vec![vec!["1".into(), "2 | 3".into()]],
            }],
            figures: vec![Drawn {
                name: "one".into(),
                caption: "One.".into(),
            }],
            times: vec![Time {
                problem: "Adult, gender".into(),
                solver: "PF-SMG, paper".into(),
                rows: 27_133,
                points: 551.4,
                cpu_seconds: 113.2,
                seeds: 10,
            }],
        }],
    }
}

#[test]
fn a_page_has_everything_once_and_links_to_it() {
    let page = found().to_markdown(Place::Documentation);
    assert!(page.contains(
        "Of 2 claims 1 hold, 0 hold in part, 1 do not hold here, and of 0 it cannot be said."
    ));
    assert!(page.contains("[COMPAS, two measures](#compas-two-measures)"));
    assert!(page.contains("\n## COMPAS, two measures\n"));
    assert!(
        page.contains("| \\|a\\| falls. *Holds if it does.* | Rank correlation −0.9. | holds |")
    );
    assert!(page.contains(
        "| b rises. *Holds if it does.* | Rank correlation −0.9. *There is none.* | **does not hold here** |"
    ));
    assert!(page.contains("![One.](figures/reproduction/one.svg)"));
    assert!(page.contains("| n | v |\n| --- | --- |\n| 1 | 2 \\| 3 |"));
    assert!(
        page.contains("| Adult, gender | PF-SMG, paper | 27133 | 551 | 113 | 5000 | 1513 | 2778 |")
    );
    assert!(page.contains("\nA note.\n") && page.contains("fairfront 0 on a machine."));
    assert!(page.contains("**Not run: tables, adult-gender,"));
    assert!(page.contains("](method.md)"));
    assert!(!page.contains("Small budgets"));
}

#[test]
fn small_budgets_are_said() {
    let quick = Reproduction {
        effort: Effort::Quick,
        ..found()
    };
    let page = quick.to_markdown(Place::Folder);
    assert!(page.contains("Small budgets") && page.contains("](figures/one.svg)"));
    assert!(!page.contains("](method.md)"));
}

#[test]
fn json_gives_back_what_was_found() {
    let found = found();
    let text = found.to_json().expect("it can be written");
    assert_eq!(Reproduction::from_json(&text).expect("and read"), found);
    assert!(Reproduction::from_json("{}").is_err());
}

#[test]
fn names_of_functions_stay_small() {
    assert_eq!(capital("rank"), "Rank");
    assert_eq!(capital("f1 falls"), "f1 falls");
    assert_eq!(capital("from 1 to 2"), "From 1 to 2");
    assert_eq!(capital("p1 = 2"), "p1 = 2");
    assert_eq!(capital("positive outcomes"), "Positive outcomes");
    assert_eq!(capital("0.4 against 0.2"), "0.4 against 0.2");
}

/// The page of the documentation is what the numbers kept in `bench/` say, with the figures it names and no others.
#[test]
fn the_documentation_says_what_was_found() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let found = Reproduction::from_json(&text("bench/results/reproduction.json"));
    let found = found.expect("the numbers of make reproduce");
    assert_eq!(found.effort, Effort::Full);
    let experiments: Vec<Experiment> = found.findings.iter().map(|f| f.experiment).collect();
    assert_eq!(experiments, Experiment::ALL);
    let folder = Place::Documentation.figures();
    assert!(
        found.to_markdown(Place::Documentation) == text("docs/reproduction.md"),
        "docs/reproduction.md is not made of bench/results/reproduction.json; run make reproduce"
    );
    let figures = found.findings.iter().flat_map(|finding| &finding.figures);
    let mut named: Vec<String> = figures
        .map(|figure| format!("{}.svg", figure.name))
        .collect();
    let drawn = std::fs::read_dir(root.join("docs").join(folder)).expect("figures");
    let name = |file: std::io::Result<std::fs::DirEntry>| file.ok()?.file_name().into_string().ok();
    let mut drawn: Vec<String> = drawn.filter_map(name).collect();
    named.sort();
    drawn.sort();
    assert_eq!(named, drawn);
}
