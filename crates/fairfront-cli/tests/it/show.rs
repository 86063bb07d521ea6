//! Runs `show` in different terminals.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::{run_in, words};

/// The output of the command with only these environment variables.
fn printed(folder: &Path, args: &str, env: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(words(args))
        .current_dir(folder)
        .env_clear()
        .envs(env.iter().copied())
        .output()
        .expect("the command starts");
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8(both).expect("output is UTF-8")
}

#[test]
fn the_plot_uses_characters_that_the_terminal_supports() {
    let folder = TempDir::new().expect("a folder");
    let fit = "fit demo(rows=400) --models 5 --out r --quiet";
    run_in(&folder, fit).ok();
    let show =
        |args: &str, env: &[(&str, &str)]| printed(folder.path(), &format!("show r {args}"), env);
    let unicode = show("", &[("LANG", "en_US.UTF-8")]);
    assert!(
        unicode.contains('│') && unicode.contains("└──"),
        "{unicode}"
    );
    let ascii = show("--ascii", &[("LANG", "en_US.UTF-8")]);
    assert!(ascii.is_ascii() && ascii.contains("+--"), "{ascii}");
    // The tables and plots have the same number of lines.
    let table = |text: &str| {
        text.lines()
            .take_while(|l| !l.contains("down is better"))
            .count()
    };
    assert_eq!(table(&unicode), table(&ascii));
    assert_eq!(unicode.lines().count(), ascii.lines().count());
    for env in [
        &[][..],
        &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")],
        &[("LC_CTYPE", "POSIX"), ("LANG", "en_US.UTF-8")],
        &[("LANG", "de_DE.ISO-8859-1")],
    ] {
        assert_eq!(show("", env), ascii, "{env:?}");
    }
    assert_eq!(show("", &[("LC_ALL", "C.UTF-8"), ("LANG", "C")]), unicode);
}

#[test]
fn there_is_no_color_without_a_terminal() {
    let folder = TempDir::new().expect("a folder");
    let fit = "fit demo(rows=400) --models 5 --out r";
    run_in(&folder, fit).ok();
    let colorful = ("TERM", "xterm-256color");
    let again = format!("{fit} --force");
    for args in ["show r", &again, "--help", "show --wrong"] {
        for env in [&[colorful][..], &[colorful, ("NO_COLOR", "1")]] {
            let text = printed(folder.path(), args, env);
            assert!(
                !text.is_empty() && !text.contains('\u{1b}'),
                "{args:?}: {text}"
            );
        }
    }
}

/// `show`, `select`, `report` and `verify` accept a run with only a loss.
#[test]
fn a_front_of_one_model_is_shown() {
    use fairfront_data::{Known, Prepared};
    use fairfront_run::{FitRequest, Run, SolverChoice, fit};
    use fairfront_solve::{AnySolver, Weighted};

    let known = Known::parse("demo(rows=400)").expect("a name");
    let known = known.expect("a known data set");
    let prepared = Prepared::from_known(&known, &known.spec(), None).expect("rows");
    let request = FitRequest {
        objectives: vec!["error_rate".into()],
        solvers: vec![SolverChoice {
            solver: AnySolver::Weighted(Weighted::default()),
            polish: None,
        }],
        front_in: None,
        penalty: fairfront_run::Penalty::default(),
        loss_alone: true,
        family: fairfront_run::FamilyRequest::default(),
    };
    let fitted = fit(&prepared, &request, &mut ()).expect("a front");
    let folder = TempDir::new().expect("a folder");
    let at = folder.path().join("run");
    let mut run = Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted);
    run.write(&at, false).expect("written");
    for args in [
        "show run",
        "select run --model m.json",
        "report run --output page.html",
        "verify run",
    ] {
        let outcome = run_in(&folder, args);
        assert_eq!(outcome.code, 0, "{args:?}: {}{}", outcome.out, outcome.err);
    }
}
