//! Runs the command as a user does.

mod compare;
mod eps_fair;
mod export;
mod fit;
#[cfg(feature = "download")]
mod get;
mod layers;
mod predict;
mod report;
mod select;
#[cfg(feature = "download")]
mod server;
mod show;
mod stream;
mod tune;
mod verify;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The result of a command.
struct Outcome {
    code: i32,
    out: String,
    err: String,
}

/// Environment variables that must not affect the tests.
const SET_ELSEWHERE: [&str; 11] = [
    "FAIRFRONT_DATA",
    "FAIRFRONT_MIRROR",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
];

impl Outcome {
    /// Asserts that the command succeeded.
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }

    /// Asserts that the command ended with this code and an error that contains these words.
    #[track_caller]
    fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{}", self.err);
        has(&self.err, words);
    }

    /// The JSON that a successful command printed.
    #[track_caller]
    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok().out).expect("JSON")
    }
}

/// Asserts that a text contains these words.
#[track_caller]
fn has(text: &str, words: &str) {
    assert!(text.contains(words), "{words:?} is not in {text}");
}

/// Splits a line into words like a shell; quotes protect spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The command with the words of a line as arguments. It runs in this folder, which is also its
/// home folder, so that it does not find the published data.
fn command(folder: &(impl AsRef<Path> + ?Sized), line: &str) -> Command {
    let folder = folder.as_ref();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairfront"));
    command.args(words(line)).current_dir(folder);
    SET_ELSEWHERE.iter().for_each(|name| {
        command.env_remove(name);
    });
    command
        .env("HOME", folder)
        .env("XDG_CACHE_HOME", folder.join("caches"))
        .env("LOCALAPPDATA", folder.join("caches"));
    command
}

/// Runs the command in a folder.
fn run_in(folder: &(impl AsRef<Path> + ?Sized), line: &str) -> Outcome {
    finish(command(folder, line), b"")
}

/// Runs the command on standard input.
fn feed(folder: &(impl AsRef<Path> + ?Sized), line: &str, input: &[u8]) -> Outcome {
    finish(command(folder, line), input)
}

fn finish(mut command: Command, input: &[u8]) -> Outcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that does not read its input closes the pipe early; that is not a failure.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Outcome {
        code: output.status.code().expect("no signal ended the command"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Reads a JSON file.
fn read_json(path: impl AsRef<Path>) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

const LOANS: &str = "\
approved,sex,age,job,pay
yes,F,31,nurse,30
no,M,45,clerk,28
yes,M,52,clerk,41
no,F,23,nurse,22
yes,M,36,driver,35
no,F,61,clerk,?
";

/// Runs the command on the small table, from standard input.
fn on_loans(line: &str) -> Outcome {
    let folder = TempDir::new().expect("a folder");
    feed(&folder, line, LOANS.as_bytes())
}

#[test]
fn demo_runs_the_full_workflow() {
    let folder = TempDir::new().expect("a folder");
    let outcome = run_in(&folder, "demo").ok();
    insta::assert_snapshot!("demo", outcome.out);
    let lines = outcome.out.lines().chain(outcome.err.lines()).count();
    assert!(lines <= 40, "{lines} lines");
    has(&outcome.out, "\n  certified: ");
    assert!(folder.path().join("fairfront-demo/front.parquet").is_file());
    // A second demo replaces the folder of the first.
    run_in(&folder, "demo").ok();
}

/// The subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<&str> {
    let (_, commands) = help.split_once("\nCommands:\n").unwrap_or_default();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn every_command_has_a_help_text() {
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    let mut n_commands = 0;
    while let Some(path) = left.pop() {
        let folder = TempDir::new().expect("a folder");
        let outcome = run_in(&folder, &format!("{} --help", path.join(" ")));
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{path:?}");
        let text = outcome.out.trim_end();
        let about = text.lines().next().unwrap_or_default();
        assert!(
            about.len() > 10 && !about.ends_with('.'),
            "{path:?}: {about}"
        );
        let usage = format!("Usage: fairfront {}", path.join(" "));
        assert!(text.contains(usage.trim_end()), "{path:?}");
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            assert!(line.chars().count() <= 100, "{path:?}: {line}");
            // An option and its description share a line, or the description follows.
            let option = line.trim_start();
            if option.starts_with('-') && (2..=6).contains(&(line.len() - option.len())) {
                let shares = option.contains("  ");
                let follows = lines.get(i + 1).is_some_and(|next| !next.trim().is_empty());
                assert!(shares || follows, "{path:?}: no help for {line}");
            }
        }
        // Examples can be pasted: a line without a command continues the previous line.
        if let Some((_, examples)) = text.split_once("Examples:\n") {
            let mut continued = false;
            for line in examples.lines() {
                let command = line.split(" | ").last().unwrap_or_default().trim_start();
                assert!(continued || command.starts_with("fairfront "), "{line}");
                continued = line.ends_with(" \\");
            }
            assert!(!continued);
        }
        n_commands += 1;
        for name in subcommands(text) {
            left.push(path.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    assert!(n_commands > 15, "found {n_commands} commands");
}

#[test]
fn inspect_reads_standard_input() {
    let outcome = on_loans("inspect - --target approved --sensitive sex --split none");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    insta::assert_snapshot!("inspect-loans", outcome.out);
}

#[test]
fn inspect_without_roles_shows_the_columns() {
    let outcome = on_loans("inspect -");
    insta::assert_snapshot!("inspect-columns", outcome.out);
}

#[test]
fn json_of_inspect_has_the_documented_keys() {
    let json = on_loans(
        "inspect - --target approved --positive yes --sensitive sex --missing drop --json",
    )
    .json();
    assert_eq!(json["rows"], 5);
    assert_eq!(json["dropped"], 1);
    assert_eq!(json["dropped_by"][0]["reason"], "pay missing");
    assert_eq!(json["columns"][2]["name"], "age");
    assert_eq!(json["columns"][2]["type"], "numeric");
    assert_eq!(json["target"]["positives"], 3);
    assert_eq!(json["sensitive"]["sex"]["M"]["count"], 3);
    assert_eq!(json["sensitive"]["sex"]["M"]["positives"], 2);
    assert_eq!(json["split"]["train"], 3);
}

#[test]
fn toml_keys_are_equivalent_to_flags() {
    let folder = TempDir::new().expect("a folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    write("sub/loans.csv", LOANS);
    write(
        "sub/run.toml",
        "files = \"loans.csv\"\ntarget = \"approved\"\npositive = \"yes\"\n\
         sensitive = [\"age\", \"sex:age\"]\nbins = \"age=40\"\nmissing = [\"pay=mean\"]\n\
         merge = [\"job=office:clerk\", \"job=other:*\"]\nsplit = \"none\"\nscale = \"none\"\n",
    );
    let flags = run_in(
        &folder,
        "inspect sub/loans.csv --target approved --positive yes --sensitive age \
            --sensitive sex:age --bins age=40 --missing pay=mean --merge job=office:clerk \
            --merge job=other:* --split none --scale none",
    );
    let toml = run_in(&folder, "inspect --config sub/run.toml");
    assert_eq!((flags.code, flags.err.as_str()), (0, ""));
    assert_eq!(toml.out, flags.out);
    // Flags override the file.
    let both = run_in(
        &folder,
        "inspect --config sub/run.toml --sensitive sex --bins age=99",
    );
    assert_eq!(both.code, 2, "bins of a column that is no longer sensitive");

    for (text, expected) in [
        ("targt = \"y\"", "line 1: unknown field `targt`"),
        ("\nseed = \"x\"", "line 2: seed: invalid type"),
        ("sensitive = 3", "expected a string or a list of strings"),
        ("= 3", "line 1:"),
    ] {
        write("bad.toml", text);
        let outcome = run_in(&folder, "inspect --config bad.toml");
        assert_eq!(outcome.code, 2);
        assert!(
            outcome.err.contains("bad.toml") && outcome.err.contains(expected),
            "{}",
            outcome.err
        );
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    }
}

/// Arguments on the small table, the exit code, and words of the error.
const WRONG: &[(&str, i32, &str)] = &[
    ("inspect none.csv", 1, "none.csv: no such file"),
    ("inspect .", 1, "is a folder"),
    (
        "inspect - --target aproved",
        1,
        "did you mean \"approved\"?",
    ),
    (
        "inspect - --target approved --positive y",
        1,
        "available: \"no\"",
    ),
    ("inspect - --target job", 1, "--positive"),
    (
        "inspect - --sensitive sex --drop sex",
        2,
        "both --sensitive and --drop",
    ),
    ("inspect - --bins age=5,3", 2, "must increase"),
    ("inspect - --split 60/60", 2, "sum to 100"),
    ("inspect - --scale big", 2, "standard, min-max or none"),
    (
        "inspect - --type age=text",
        2,
        "numeric, boolean, categorical, date",
    ),
    (
        "inspect - --merge job=a:x --merge job=b:x",
        2,
        "merged twice",
    ),
    ("inspect - --separator ab", 2, "one character"),
    ("inspect - --bins age=", 2, "--bins \"age=\", character 5"),
    ("inspect - --bins age=3 --bins age=4", 2, "set twice"),
    ("inspect - --missing drop --missing keep", 2, "set twice"),
    ("inspect - --weight \"job\"", 1, "\"nurse\" is not a number"),
    ("inspect", 2, "pass a file"),
    ("inspect demo -", 2, "cannot be combined with files"),
    (
        "inspect demo --no-header",
        2,
        "format of a known data set is fixed",
    ),
    ("inspect demo(rows=x)", 2, "rows=x"),
    ("inspect adult:age", 2, "adult:race"),
    ("inspect adult:race", 1, "FAIRFRONT_DATA"),
    ("inspect adult:race", 1, "fairfront data get adult:race"),
    ("data path demo", 1, "is generated"),
    ("data path x.csv", 2, "not a known data set"),
    (
        "data export demo -o no/such/rows.csv",
        1,
        "the folder does not exist",
    ),
    ("data export demo -o .", 1, "is a folder"),
    ("data export - -o rows.csv --encoded", 2, "--target"),
];

/// Failures exit with 1, wrong usage with 2; both print one line and nothing else.
#[test]
fn errors_are_one_line_with_an_exit_code() {
    for (args, code, words) in WRONG {
        let outcome = on_loans(args);
        assert_eq!(outcome.code, *code, "{args:?}: {}", outcome.err);
        assert!(outcome.err.contains(words), "{args:?}: {}", outcome.err);
        assert!(
            outcome.err.starts_with("error: "),
            "{args:?}: {}",
            outcome.err
        );
        assert_eq!(outcome.err.lines().count(), 1, "{args:?}: {}", outcome.err);
        assert_eq!(outcome.out, "", "{args:?}");
    }
}

#[test]
fn export_writes_the_prepared_rows() {
    let folder = TempDir::new().expect("a folder");
    let args = "data export - --target approved --positive yes --sensitive sex \
        --merge job=office:clerk --missing drop --split none -o rows.csv \
        --encoding encoding.json";
    let outcome = feed(&folder, args, LOANS.as_bytes());
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""));
    assert!(
        outcome
            .err
            .starts_with("standard input: 5 rows (6 read, 1 dropped)")
    );
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    insta::assert_snapshot!("export", read("rows.csv"));
    insta::assert_snapshot!("encoding", read("encoding.json"));
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 2, "a temporary file is left: {left:?}");
}

#[test]
fn a_failed_export_leaves_the_old_file() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, "precious").expect("a file");
    let args = "data export - --target nothing -o rows.csv";
    assert_eq!(feed(&folder, args, LOANS.as_bytes()).code, 1);
    assert_eq!(
        std::fs::read_to_string(&file).expect("the file"),
        "precious"
    );
}

#[test]
fn a_wrong_export_writes_nothing() {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("loans.csv"), LOANS).expect("a file");
    let export = |more: &str| {
        let args = format!("data export loans.csv --target approved {more}");
        run_in(&folder, &args)
    };
    let cases: [(&str, &str); 4] = [
        (
            "-o no/rows.csv --encoding e.json",
            "the folder does not exist",
        ),
        ("-o x --encoding x", "are the same file"),
        ("-o - --encoding -", "are the same file"),
        ("-o loans.csv", "is the input"),
    ];
    for (args, words) in cases {
        let outcome = export(args);
        assert!(
            outcome.code > 0 && outcome.err.contains(words),
            "{}",
            outcome.err
        );
        assert_eq!(outcome.out, "");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_not_replaced() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("real.csv"), "").expect("a file");
    std::os::unix::fs::symlink("real.csv", path("link.csv")).expect("a link");
    std::os::unix::fs::symlink("/dev/null", path("null")).expect("a link");
    for output in ["link.csv", "null"] {
        let args = format!("data export demo(rows=50) --force -o {output}");
        run_in(&folder, &args).ok();
        assert!(path(output).is_symlink());
    }
    assert!(
        std::fs::read_to_string(path("real.csv"))
            .expect("a file")
            .starts_with("age,")
    );
}

#[test]
fn the_list_contains_every_data_set() {
    let folder = TempDir::new().expect("a folder");
    let outcome = run_in(&folder, "data list");
    let home = folder.path().display().to_string();
    #[cfg(not(any(windows, target_os = "macos")))]
    insta::assert_snapshot!("data-list", outcome.out.replace(&home, "HOME"));
    assert!(outcome.out.contains(&home));
    let json = |variables: &[(&str, &str)]| -> serde_json::Value {
        let mut command = command(folder.path(), "data list --json");
        command.envs(variables.iter().copied());
        serde_json::from_str(&finish(command, b"").out).expect("JSON")
    };
    let found = json(&[]);
    assert_eq!(found[1]["name"], "adult:sex");
    assert_eq!(found[1]["files"][0]["present"], false);
    // Only the folder in FAIRFRONT_DATA is searched.
    let own = folder.path().join("own");
    std::fs::create_dir(&own).expect("a folder");
    let file = own.join("adult.data");
    std::fs::write(&file, "").expect("a file");
    let own = own.to_str().expect("UTF-8");
    let found = json(&[("FAIRFRONT_DATA", own)]);
    assert_eq!(found[1]["files"][0]["present"], true);
    assert_eq!(found[1]["files"][0]["path"], file.to_str().expect("UTF-8"));
    assert_eq!(found[1]["files"][1]["present"], false);
}

#[cfg(not(feature = "download"))]
#[test]
fn without_the_download_feature_curl_commands_are_printed() {
    let folder = TempDir::new().expect("a folder");
    let outcome = run_in(&folder, "data get compas:race");
    assert_eq!((outcome.code, outcome.out.as_str()), (1, ""));
    let lines: Vec<&str> = outcome.err.lines().collect();
    let [about, curl, error] = lines[..] else {
        panic!("{}", outcome.err)
    };
    let file = fairfront_data::KNOWN.iter().flat_map(|known| known.files);
    let file = file.last().expect("a file");
    has(&about, file.sha256);
    assert!(
        curl.starts_with("curl ") && curl.ends_with(file.url),
        "{curl}"
    );
    has(&curl, "/caches/fairfront/");
    assert!(
        error.starts_with("error: ") && error.contains("--features download"),
        "{error}"
    );
}
