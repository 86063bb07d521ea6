//! Corrupted files, full disks, and blocks that are read in any order.

use std::path::Path;

use fairfront_core::{Purpose, RowSource, Stream};
use tempfile::TempDir;

use super::super::Limits;
use super::super::packer::pack_files_with;
use super::super::writer::Place;
use super::{limits, pack, spec, text, write};
use crate::{Input, Part, ReadOptions};

/// Reads everything in a file; `None` if all is well.
fn problem(path: &Path) -> Option<String> {
    let input = match Input::open(path) {
        Ok(input) => input,
        Err(error) => return Some(error.to_string()),
    };
    for part in Part::ALL {
        for block in input.encoded.part(part).blocks() {
            if let Err(error) = block {
                return Some(error.to_string());
            }
        }
    }
    None
}

#[test]
fn corrupted_files_are_found() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(3_000, 3))];
    pack(&files, &spec(), folder.path(), &limits(500)).unwrap();
    let good = std::fs::read(folder.path().join("rows.ffb")).unwrap();
    let bad = folder.path().join("bad.ffb");
    let said = |bytes: &[u8]| {
        std::fs::write(&bad, bytes).unwrap();
        let said = problem(&bad).expect("a problem");
        assert!(said.contains("bad.ffb: ") && !said.contains('\n'), "{said}");
        said
    };
    let mut random = Stream::new(1, Purpose::Synthetic, [11, 0]);
    for _ in 0..300 {
        let mut bytes = good.clone();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        let said = said(&bytes);
        assert!(said.contains("corrupted") || at < 8, "{at}: {said}");
    }
    for at in 0..128 {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        said(&bytes);
    }
    for length in [
        0,
        3,
        8,
        9,
        127,
        128,
        500,
        40_000,
        good.len() / 2,
        good.len() - 1,
    ] {
        let said = said(&good[..length]);
        let expected = match length < 8 {
            true => "not a block file",
            false => "is truncated",
        };
        assert!(said.contains(expected), "{length}: {said}");
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(said(&longer).contains("longer than its header says"));
    assert!(
        said(b"a,b\n1,2\n").contains("not a block file, or its first bytes are corrupted; pack")
    );
    assert!(said(&[b'x'; 500]).contains("not a block file"));
    // Blocks that change places.
    let mut swapped = good.clone();
    let input = Input::open(&folder.path().join("rows.ffb")).unwrap();
    let block = 1024
        * pack(&files, &spec(), folder.path(), &limits(500))
            .unwrap()
            .row_bytes
        + 8;
    assert!(input.encoded.part(Part::Train).n_blocks() > 1);
    let (first, second) = (128..128 + block, 128 + block..128 + block + 100);
    let other = good[second.clone()].to_vec();
    swapped[second].copy_from_slice(&good[first][..100]);
    swapped[128..228].copy_from_slice(&other);
    assert!(said(&swapped).contains("block 1 of the train split does not match its checksum"));
    assert!(Input::is_block_file(&bad));
    assert!(!Input::is_block_file(folder.path()));
    assert!(problem(folder.path()).is_some());
}

#[test]
fn full_disk_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(3_000, 3))];
    let enough = pack(&files, &spec(), folder.path(), &limits(500)).unwrap();
    std::fs::remove_file(folder.path().join("rows.ffb")).unwrap();
    for most_bytes in [0, 100, 20_000, enough.bytes - 1] {
        let limits = Limits {
            most_bytes,
            ..limits(500)
        };
        let said = pack(&files, &spec(), folder.path(), &limits).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("the disk is full"), "{said}");
        assert!(
            said.contains("rows.ffb: ") || said.contains("temporary"),
            "{said}"
        );
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the table is left");
    }
    let out = folder.path().join("missing").join("rows.ffb");
    let options = ReadOptions::default();
    let paths = (Place::File(&out), folder.path());
    let said = pack_files_with(
        &files,
        &spec(),
        options,
        paths,
        (&limits(500), &|_| Ok(())),
        &mut |_| {},
    );
    assert!(said.unwrap_err().to_string().contains("missing"));
}

#[test]
fn blocks_are_read_ahead_and_in_any_order() {
    let folder = TempDir::new().unwrap();
    let files = [write(&folder, "t.csv", &text(9_000, 5))];
    pack(&files, &spec(), folder.path(), &limits(2_000)).unwrap();
    let input = Input::open(&folder.path().join("rows.ffb")).unwrap();
    let data = input.encoded.part(Part::Train);
    let n = data.n_blocks();
    let first: Vec<_> = (0..n).map(|i| data.block(i).unwrap()).collect();
    data.prefetch(0..n);
    std::thread::scope(|scope| {
        for start in 0..3 {
            let first = &first;
            scope.spawn(move || {
                for i in (0..n).rev().cycle().skip(start).take(3 * n) {
                    data.prefetch(i..n);
                    assert_eq!(*data.block(i).unwrap(), *first[i]);
                }
            });
        }
    });
    assert!(data.block(n).is_err());
    // Rows in a file stay usable after the input is gone.
    let kept = data.clone();
    drop(input);
    assert_eq!(*kept.block(0).unwrap(), *first[0]);
}
