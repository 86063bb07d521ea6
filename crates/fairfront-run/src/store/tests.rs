//! Tests the store with killed processes, corrupted files and concurrent readers.

mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use fairfront_model::file::names_in;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The files of generation `n`.
fn files(n: u64) -> Vec<(&'static str, Vec<u8>)> {
    let long = |salt: u64| {
        (0..300)
            .map(|i| (i * n + salt) as u8)
            .collect::<Vec<u8>>()
            .repeat(3)
    };
    vec![
        ("run.json", format!("{{\"batch\": {n}}}\n").into_bytes()),
        ("front.parquet", long(1)),
        ("empty", Vec::new()),
        ("state.json", long(7)),
    ]
}

fn borrowed<'a>(files: &'a [(&'static str, Vec<u8>)]) -> Vec<(&'static str, &'a [u8])> {
    files.iter().map(|(n, b)| (*n, b.as_slice())).collect()
}

fn commit(of: &Generations, n: u64) {
    of.commit(n, &borrowed(&files(n))).expect("a commit");
}

/// Everything below a folder; the content of a link is its target.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names_in(folder).expect("names") {
        let path = folder.join(&name);
        let kind = std::fs::symlink_metadata(&path).expect("there");
        if kind.is_symlink() {
            let to = std::fs::read_link(&path).expect("a link");
            found.insert(name, to.to_string_lossy().into_owned().into_bytes());
        } else if kind.is_dir() {
            found.insert(format!("{name}/"), Vec::new());
            let below = tree(&path).into_iter();
            found.extend(below.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.insert(name, std::fs::read(&path).expect("a file"));
        }
    }
    found
}

/// Writes such a tree into a folder.
fn plant(tree: &BTreeMap<String, Vec<u8>>, folder: &Path) {
    for (name, bytes) in tree {
        let path = folder.join(name);
        match name {
            name if name.ends_with('/') => std::fs::create_dir_all(&path).expect("a folder"),
            #[cfg(unix)]
            name if name == "current" => {
                let to = String::from_utf8(bytes.clone()).expect("text");
                std::os::unix::fs::symlink(to, &path).expect("a link");
            }
            _ => std::fs::write(&path, bytes).expect("a file"),
        }
    }
}

/// A state with the generations 1 and 2.
fn two() -> TempDir {
    static TREE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    let tree = TREE.get_or_init(|| {
        let at = folder();
        let of = Generations::open(at.path()).expect("a folder");
        (1..=2).for_each(|n| commit(&of, n));
        tree(at.path())
    });
    let at = folder();
    plant(tree, at.path());
    at
}

#[test]
fn a_commit_can_be_read_and_checked_by_other_programs() {
    let at = folder();
    let of = Generations::open(at.path()).expect("a folder");
    assert_eq!(of.newest().expect("nothing wrong"), None);
    commit(&of, 12);
    let found = of.newest().expect("sound").expect("one");
    assert_eq!((found.number, found.damaged.len()), (12, 0));
    assert_eq!(found.path, at.path().join("generation-000012"));
    for (name, bytes) in files(12) {
        assert_eq!(std::fs::read(found.path.join(name)).expect("a file"), bytes);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let link = std::fs::read_link(at.path().join("current")).expect("a link");
        assert_eq!(link, Path::new("generation-000012"));
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&found.path) & 0o7022, 0);
        assert_eq!(mode(&found.path.join("run.json")) & 0o7133, 0);
    }
    // The program that defines the format.
    if let Ok(done) = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&found.path)
        .output()
    {
        assert!(done.status.success(), "{done:?}");
        assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 4);
    }
}

#[test]
fn a_kill_at_any_step_of_a_commit_loses_nothing() {
    let start = two();
    let whole = {
        let at = two();
        let of = Generations::open(at.path()).expect("a folder");
        commit(&of, 3);
        of.prune(3).expect("pruned");
        tree(at.path())
    };
    // Possible disk contents after a kill, and the generation that is then the newest.
    let mut moments = vec![(tree(start.path()), 2)];
    let of = Generations::open(start.path()).expect("a folder");
    let new = of.begin(3).expect("begun");
    moments.push((tree(start.path()), 2));
    of.fill(&new, 3, &borrowed(&files(3))).expect("filled");
    let filled = tree(start.path());
    let hidden: Vec<&String> = filled
        .keys()
        .filter(|k| k.starts_with(".fairfront-new-"))
        .collect();
    assert_eq!(hidden.len(), 6, "{hidden:?}");
    for name in hidden.iter().skip(1) {
        for share in [0, 1, 2] {
            // Files may reach the disk in any order; any of them may be truncated or missing.
            let mut torn = filled.clone();
            let bytes = torn.get_mut(*name).expect("there");
            bytes.truncate(bytes.len() * share / 2);
            moments.push((torn.clone(), 2));
            torn.remove(*name);
            moments.push((torn, 2));
        }
    }
    moments.push((filled, 2));
    of.publish(&new, 3).expect("published");
    moments.push((tree(start.path()), 3));
    of.link(3);
    let linked = tree(start.path());
    moments.push((linked.clone(), 3));
    // Half pruned: already hidden, but not all files removed.
    let mut half = linked.clone();
    for (name, bytes) in linked {
        if let Some(rest) = name.strip_prefix("generation-000001") {
            half.remove(&name);
            if !rest.ends_with("run.json") {
                half.insert(format!(".fairfront-old-000001{rest}"), bytes);
            }
        }
    }
    moments.push((half, 3));
    for (number, (moment, expected)) in moments.iter().enumerate() {
        let at = folder();
        plant(moment, at.path());
        let of = Generations::open(at.path()).expect("a folder");
        let found = of.newest().expect("sound").expect("one");
        assert_eq!(
            (found.number, found.damaged.len()),
            (*expected, 0),
            "{number}"
        );
        assert_eq!(resolve(at.path()).expect("sound").path, found.path);
        if found.number == 2 {
            commit(&of, 3);
        } else {
            of.link(3);
        }
        of.prune(3).expect("pruned");
        assert!(tree(at.path()) == whole, "moment {number}");
    }
}

#[test]
fn corrupted_generations_are_reported_and_set_aside() {
    let at = two();
    let of = Generations::open(at.path()).expect("a folder");
    let two = at.path().join("generation-000002");
    let reason = |of: &Generations| {
        let found = of.newest().expect("sound").expect("one");
        assert_eq!((found.number, found.damaged.len()), (1, 1));
        assert_eq!(found.damaged[0].path, two);
        let diagnostics = resolve(at.path()).expect("sound").diagnostics;
        assert!(
            diagnostics[0]
                .message
                .to_string()
                .contains(&found.damaged[0].reason)
        );
        found.damaged[0].reason.clone()
    };
    let front = two.join("front.parquet");
    let bytes = std::fs::read(&front).expect("a file");
    std::fs::write(&front, &bytes[..100]).expect("cut");
    assert_eq!(
        reason(&of),
        "front.parquet is shorter than before: 100 instead of 900 bytes"
    );
    std::fs::write(&front, vec![0; 900]).expect("changed");
    assert_eq!(reason(&of), "front.parquet has a different checksum");
    std::fs::remove_file(&front).expect("removed");
    assert_eq!(reason(&of), "front.parquet is missing");
    std::fs::create_dir(&front).expect("a folder");
    assert_eq!(reason(&of), "front.parquet is not a file");
    std::fs::remove_dir(&front).expect("removed");
    std::fs::write(&front, &bytes).expect("put back");
    assert_eq!(of.newest().expect("sound").expect("one").number, 2);
    // An intact generation is never replaced.
    let again = of.commit(2, &[("other", b"1")]).expect_err("it exists");
    assert!(again.to_string().contains("already committed"), "{again}");
    std::fs::write(two.join("note.txt"), "mine").expect("a file");
    assert_eq!(reason(&of), "note.txt does not belong to this generation");

    let found = of.newest().expect("sound").expect("one");
    let aside = of.set_aside(&found.damaged).expect("set aside");
    assert_eq!(aside, [at.path().join("generation-000002.damaged")]);
    assert_eq!(of.newest().expect("sound").expect("one").damaged, []);
    // A commit moves a corrupted generation with its number aside.
    std::fs::create_dir(&two).expect("a folder");
    commit(&of, 2);
    assert!(at.path().join("generation-000002.damaged-2").is_dir());
    assert_eq!(of.newest().expect("sound").expect("one").number, 2);
    commit(&of, 3);
    of.prune(3).expect("pruned");
    let left = names_in(at.path()).expect("names").join(" ");
    assert_eq!(
        left,
        "current generation-000002 generation-000002.damaged generation-000002.damaged-2 \
         generation-000003"
    );
}

#[test]
fn if_no_generation_is_intact_the_error_names_all() {
    let at = two();
    for n in [1, 2] {
        let sums = at.path().join(format!("generation-00000{n}/SHA256SUMS"));
        std::fs::write(sums, "").expect("a file");
    }
    let of = Generations::open(at.path()).expect("a folder");
    let before = tree(at.path());
    for error in [
        of.newest().expect_err("damaged").to_string(),
        resolve(at.path()).expect_err("damaged").to_string(),
    ] {
        assert!(error.contains("generation-000002 is corrupted"), "{error}");
        assert!(error.contains("generation-000001 is corrupted"), "{error}");
        assert!(!error.contains('\n'));
    }
    assert!(tree(at.path()) == before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_change_of_a_generation_is_found(
        file in 0..5_usize,
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
        cut in any::<bool>(),
    ) {
        let state = two();
        let newest = state.path().join("generation-000002");
        let names = names_in(&newest).expect("names");
        let name = &names[file];
        let path = newest.join(name);
        let mut bytes = std::fs::read(&path).expect("a file");
        match (bytes.len(), cut) {
            (0, _) => bytes.push(flip),
            (n, true) => bytes.truncate(at.index(n)),
            (n, false) => bytes[at.index(n)] ^= flip,
        }
        std::fs::write(&path, bytes).expect("written");
        let of = Generations::open(state.path()).expect("a folder");
        let found = of.newest().expect("the one before").expect("one");
        prop_assert_eq!(found.number, 1);
        prop_assert_eq!(found.damaged.len(), 1);
        let named = name == "SHA256SUMS" || found.damaged[0].reason.contains(name.as_str());
        prop_assert!(named, "{} {}", name, found.damaged[0].reason);
        prop_assert_eq!(resolve(state.path()).expect("sound").path, found.path);
    }
}

#[test]
fn readers_keep_up_with_a_writer() {
    let at = two();
    let done = AtomicBool::new(false);
    let read = |path: &Path| -> Result<Vec<Vec<u8>>, Error> {
        let bytes = |name: &&str| {
            let path = path.join(name);
            std::fs::read(&path).map_err(|e| Error::file(&path, e))
        };
        ["run.json", "front.parquet", "state.json"]
            .iter()
            .map(bytes)
            .collect()
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut newest, mut reads) = (0, 0);
                    while !done.load(Ordering::Relaxed) {
                        let (found, diagnostics) = read_stable(at.path(), read).expect("readable");
                        assert!(diagnostics.is_empty(), "{diagnostics:?}");
                        let text = String::from_utf8_lossy(&found[0]);
                        let n = text.trim_matches(|c: char| !c.is_ascii_digit());
                        let n: u64 = n.parse().expect("a number");
                        let all = files(n);
                        assert!(found == [&all[0].1[..], &all[1].1, &all[3].1], "{n}");
                        assert!(n >= newest, "{n} after {newest}");
                        (newest, reads) = (n, reads + 1);
                    }
                    (newest, reads)
                })
            })
            .collect();
        let writer = scope.spawn(|| {
            // Readers end even if this fails.
            let _end = End(&done);
            let of = Generations::open(at.path()).expect("a folder");
            for n in 3..=202 {
                commit(&of, n);
                of.prune(n).expect("pruned");
            }
        });
        writer.join().expect("a writer");
        for reader in readers {
            let (newest, reads) = reader.join().expect("a reader");
            assert!(newest > 2 && reads > 10, "{newest} {reads}");
        }
    });
    let left = names_in(at.path()).expect("names").join(" ");
    assert_eq!(left, "current generation-000201 generation-000202");
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
