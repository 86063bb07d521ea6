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
                claim("b rises.", Verdict::DoesNotHold, "b is constant"),
            ],
            notes: vec!["A note.".into()],
            sheets: vec![Sheet {
                name: "numbers".into(),
                caption: "Numbers.".into(),
                header: vec!["n".into(), "v".into()],
                rows: vec![vec!["1*2*3".into(), "2 | 3".into()]],
            }],
            figures: vec![
                Drawn {
                    name: "compas-two-measures-bands".into(),
                    caption: "Bands.".into(),
                },
                Drawn {
                    name: "one".into(),
                    caption: "One.".into(),
                },
            ],
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
fn the_page_has_every_claim_and_links_to_the_tables() {
    let page = found().to_markdown(Place::Documentation);
    assert!(page.contains("Of 2 claims, 1 holds and 1 does not hold here.\n"));
    assert!(page.contains(
        "| [2](#claim-2) | [COMPAS, two measures](#compas-two-measures) | b rises. | **does not hold here** |"
    ));
    assert!(page.contains("| \\|a\\| falls. | holds |"));
    assert!(page.contains("\n## COMPAS, two measures\n"));
    assert!(page.contains(
        "\n### Claim 1\n\n**|a| falls.**\n\n- Verdict: holds\n- Rule: holds if it does.\n\
         - Result: Rank correlation −0.9.\n- Table: [table 1](reproduction-tables.md#table-1)\n"
    ));
    assert!(page.contains(
        "- Verdict: **does not hold here**\n- Rule: holds if it does.\n- Result: Rank correlation −0.9.\n\
         - Remark: B is constant.\n"
    ));
    assert!(page.contains("![Bands.](../figures/reproduction/compas-two-measures-bands.svg)"));
    assert!(page.contains("(reproduction-tables.md#compas-two-measures)"));
    assert!(page.contains("(reproduction-tables.md#cpu-times)"));
    assert!(page.contains("\nA note.\n") && page.contains("fairfront 0 on a machine."));
    assert!(page.contains("**Not run: tables, adult-gender,"));
    assert!(page.contains("](../explanation/method.md)"));
    assert!(!page.contains("Small budgets") && !page.contains("one.svg"));
}

#[test]
fn the_appendix_has_tables_figures_and_times() {
    let page = found().tables_to_markdown(Place::Documentation);
    assert!(
        page.contains("\n[Claims and verdicts](reproduction.md#compas-two-measures)\n"),
        "{page}"
    );
    assert!(page.contains(
        "\n### Table 1\n\nNumbers.\n\n| n | v |\n| --- | --- |\n| 1\\*2\\*3 | 2 \\| 3 |\n"
    ));
    assert!(page.contains("![One.](../figures/reproduction/one.svg)"));
    assert!(!page.contains("bands.svg"));
    assert!(page.contains("\n## CPU times\n"));
    assert!(
        page.contains("| Adult, gender | PF-SMG, paper | 27133 | 551 | 113 | 5000 | 1513 | 2778 |")
    );
}

#[test]
fn small_budgets_give_a_warning() {
    let quick = Reproduction {
        effort: Effort::Quick,
        ..found()
    };
    for (_, page) in quick.pages(Place::Folder) {
        assert!(page.contains("Small budgets") && page.contains("](figures/"));
        assert!(!page.contains("](../explanation/method.md)"));
    }
}

#[test]
fn results_survive_a_json_round_trip() {
    let found = found();
    let text = found.to_json().expect("JSON");
    assert_eq!(Reproduction::from_json(&text).expect("results"), found);
    assert!(Reproduction::from_json("{}").is_err());
}

#[test]
fn names_of_functions_stay_lowercase() {
    assert_eq!(capital("rank"), "Rank");
    assert_eq!(capital("f1 falls"), "f1 falls");
    assert_eq!(capital("from 1 to 2"), "From 1 to 2");
    assert_eq!(capital("p1 = 2"), "p1 = 2");
    assert_eq!(capital("positive outcomes"), "Positive outcomes");
    assert_eq!(capital("0.4 against 0.2"), "0.4 against 0.2");
}

/// The pages of the documentation are made from the results in `bench/`, and the folder of figures has the figures of
/// these results and no others; `FAIRFRONT_UPDATE=1` rewrites the pages.
#[test]
fn the_documentation_matches_the_results() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = std::fs::read_to_string(root.join("bench/results/reproduction.json"));
    let found = Reproduction::from_json(&found.expect("results of make reproduce"));
    let found = found.expect("results of make reproduce");
    assert_eq!(found.effort, Effort::Full);
    let experiments: Vec<Experiment> = found.findings.iter().map(|f| f.experiment).collect();
    assert_eq!(experiments, Experiment::ALL);
    let docs = root.join("docs/evidence");
    let pages = found.pages(Place::Documentation);
    for (name, page) in &pages {
        let path = docs.join(name);
        if std::env::var_os("FAIRFRONT_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, page).expect("a page");
        }
        assert!(
            *page == std::fs::read_to_string(&path).unwrap_or_default(),
            "docs/evidence/{name} differs from bench/results/reproduction.json; check the change, then update the page \
             with FAIRFRONT_UPDATE=1 cargo test -p fairfront-reproduce the_documentation"
        );
    }
    // A claim links to every table.
    let [(_, claims), (_, tables)] = &pages;
    for table in 1..=tables.matches("\n### Table ").count() {
        assert!(claims.contains(&format!("{TABLES}#table-{table})")));
    }
    let mut named: Vec<String> = found.figures().collect();
    let folder = docs.join(Place::Documentation.figures());
    let drawn = std::fs::read_dir(folder).expect("figures");
    let name = |file: std::io::Result<std::fs::DirEntry>| file.ok()?.file_name().into_string().ok();
    let mut drawn: Vec<String> = drawn.filter_map(name).collect();
    named.sort();
    drawn.sort();
    assert_eq!(named, drawn);
}
