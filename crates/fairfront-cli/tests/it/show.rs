//! `show` in terminals of all kinds.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::run_in;

/// What the command prints under these variables of the environment alone.
fn printed(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fairfront"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .envs(env.iter().copied())
        .output()
        .expect("the command starts");
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8(both).expect("output is UTF-8")
}

#[test]
fn the_plot_is_in_what_the_terminal_can_show() {
    let folder = TempDir::new().expect("a folder");
    let fit = [
        "fit",
        "demo(rows=400)",
        "--points",
        "5",
        "--out",
        "r",
        "--quiet",
    ];
    assert_eq!(run_in(folder.path(), &fit, b"").code, 0);
    let show = |args: &[&str], env: &[(&str, &str)]| {
        printed(folder.path(), &[&["show", "r"], args].concat(), env)
    };
    let unicode = show(&[], &[("LANG", "en_US.UTF-8")]);
    assert!(
        unicode.contains('│') && unicode.contains("└──"),
        "{unicode}"
    );
    let ascii = show(&["--ascii"], &[("LANG", "en_US.UTF-8")]);
    assert!(ascii.is_ascii() && ascii.contains("+--"), "{ascii}");
    // The same table, and a plot of as many lines.
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
        assert_eq!(show(&[], env), ascii, "{env:?}");
    }
    assert_eq!(show(&[], &[("LC_ALL", "C.UTF-8"), ("LANG", "C")]), unicode);
}

#[test]
fn there_is_no_colour_where_nobody_sees_it() {
    let folder = TempDir::new().expect("a folder");
    let fit = ["fit", "demo(rows=400)", "--points", "5", "--out", "r"];
    assert_eq!(run_in(folder.path(), &fit, b"").code, 0);
    let colourful = ("TERM", "xterm-256color");
    let again = [&fit[..], &["--force"]].concat();
    for args in [
        &["show", "r"][..],
        &again,
        &["--help"],
        &["show", "--wrong"],
    ] {
        for env in [&[colourful][..], &[colourful, ("NO_COLOR", "1")]] {
            let text = printed(folder.path(), args, env);
            assert!(
                !text.is_empty() && !text.contains('\u{1b}'),
                "{args:?}: {text}"
            );
        }
    }
}
