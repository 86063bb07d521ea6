//! Finds published files and verifies them.

use std::path::{Path, PathBuf};

use fairfront_core::{grouped, hex, say};
use sha2::{Digest, Sha256};

use super::{DATA_FOLDER, named_folder};
use crate::Error;
use crate::setting::DATA_GET;

/// A published file that a known data set consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedFile {
    /// Its name in the data folder.
    pub name: &'static str,
    /// The URL where it is published.
    pub url: &'static str,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
}

/// Paths of the files, after checking that they exist and match the published ones.
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
        let (it, is) = match missing.len() {
            1 => ("it", "is"),
            _ => ("them", "are"),
        };
        let get = DATA_GET.is(data_set);
        let needs = format!("the data set {data_set} needs {}", listed.join(" and "));
        return Err(Error::MissingData(match folder.map(Path::display) {
            Some(place) if named_folder().as_deref() == folder => say![
                needs, ", which {is} not in {place} (set by {DATA_FOLDER})";
                "put {it} there";
                "unset {DATA_FOLDER} and run ", get
            ],
            Some(place) => say![
                needs, ", which {is} not in {place}";
                "run ", get;
                "set {DATA_FOLDER} to the folder that has {it}"
            ],
            None => say![
                needs;
                "run ", get;
                "set {DATA_FOLDER} to the folder that has {it}"
            ],
        }));
    }
    let folder = folder.unwrap_or(Path::new(""));
    let checked = |file: &PublishedFile| {
        let path = folder.join(file.name);
        file.check(&path).map(|()| path)
    };
    files.iter().map(checked).collect()
}

impl PublishedFile {
    /// Checks the size and SHA-256 of the file at a path.
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        let failed = |e| Error::io(path.display().to_string(), e);
        let wrong = |found, expected| {
            Err(Error::WrongData {
                path: path.to_owned(),
                found,
                expected,
                url: self.url.into(),
            })
        };
        // If the size differs, the file is not read, however large it is.
        let size = std::fs::metadata(path).map_err(failed)?.len();
        if size != self.size {
            let said = |n: u64| format!("{} bytes", grouped(n as usize));
            return wrong(said(size), said(self.size));
        }
        let found = hex(&Sha256::digest(std::fs::read(path).map_err(failed)?));
        if found != self.sha256 {
            let said = |hash: &str| format!("sha256 {hash}");
            return wrong(said(&found), said(self.sha256));
        }
        Ok(())
    }
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
        assert!(message.contains("; set FAIRFRONT_DATA"));
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
