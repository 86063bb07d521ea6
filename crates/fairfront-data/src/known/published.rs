//! Files as first published: where they are, and whether they are the right ones.

use std::path::{Path, PathBuf};

use fairfront_core::{grouped, hex};
use sha2::{Digest, Sha256};

use super::DATA_FOLDER;
use crate::Error;

/// A file that a known data set is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedFile {
    /// Its name in the data folder.
    pub name: &'static str,
    /// Where it is published.
    pub url: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
}

/// Paths of the files, after checking that they are there and are the published ones.
pub(super) fn find(
    data_set: &str,
    files: &[PublishedFile],
    folder: Option<&Path>,
) -> Result<Vec<PathBuf>, Error> {
    let missing: Vec<&PublishedFile> = files
        .iter()
        .filter(|file| folder.is_none_or(|folder| !folder.join(file.name).is_file()))
        .collect();
    if !missing.is_empty() {
        let listed: Vec<String> = missing
            .iter()
            .map(|file| format!("{} (published at {})", file.name, file.url))
            .collect();
        let place = match folder {
            Some(folder) => format!(
                "put it into {}, the folder of {DATA_FOLDER}",
                folder.display()
            ),
            None => format!("put it into a folder and set {DATA_FOLDER} to that folder"),
        };
        return Err(Error::MissingData(format!(
            "the data set {data_set} needs {}; {place}",
            listed.join(" and ")
        )));
    }
    let folder = folder.unwrap_or(Path::new(""));
    files.iter().map(|file| check(file, folder)).collect()
}

fn check(file: &PublishedFile, folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(file.name);
    let bytes = std::fs::read(&path).map_err(|e| Error::io(path.display().to_string(), e))?;
    let wrong = |path, found, expected| {
        Err(Error::WrongData {
            path,
            found,
            expected,
            url: file.url.into(),
        })
    };
    if bytes.len() as u64 != file.size {
        let size = |n: u64| format!("{} bytes", grouped(n as usize));
        return wrong(path, size(bytes.len() as u64), size(file.size));
    }
    let found = hex(&Sha256::digest(&bytes));
    if found != file.sha256 {
        let hash = |h: &str| format!("sha256 {h}");
        return wrong(path, hash(&found), hash(file.sha256));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: PublishedFile = PublishedFile {
        name: "abc.txt",
        url: "https://example.org/abc.txt",
        size: 3,
        // The SHA-256 of "abc", from FIPS 180-2.
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    };

    #[test]
    fn files_are_found_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let found = || find("abc:x", &[FILE], Some(folder.path()));
        let message = found().unwrap_err().to_string();
        assert!(message.contains("abc.txt (published at https://example.org/abc.txt)"));
        assert!(message.contains("FAIRFRONT_DATA"));
        assert!(find("abc:x", &[FILE], None).is_err());

        let path = folder.path().join("abc.txt");
        std::fs::write(&path, "abcd").unwrap();
        assert!(
            found()
                .unwrap_err()
                .to_string()
                .contains("4 bytes, expected 3 bytes")
        );
        std::fs::write(&path, "abd").unwrap();
        assert!(
            found()
                .unwrap_err()
                .to_string()
                .contains("expected sha256 ba7816bf")
        );
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(found().unwrap(), [path]);
    }
}
