//! Updates checksums after a mutation, so that the code after the checksum test is reached.
//!
//! Everything that the program verifies by a checksum is listed here and nowhere else.

use fairfront_run::store::sums_of;
use sha2::{Digest, Sha256};

use crate::fixture::Files;

const SUM: usize = 32;

/// The SHA-256 sum of bytes in hexadecimal.
pub(crate) fn sum(bytes: &[u8]) -> String {
    fairfront_core::hex(&Sha256::digest(bytes))
}

/// Updates files that end in the sum of everything before it: stored rows, checkpoints, fronts in
/// memory.
pub(crate) fn trailing(bytes: &[u8]) -> Vec<u8> {
    let content = &bytes[..bytes.len().saturating_sub(SUM)];
    let mut sealed = content.to_vec();
    sealed.extend_from_slice(&Sha256::digest(content));
    sealed
}

/// Updates `run.json`, which contains the sums of the other files of a run and its own. `prefix` is
/// the folder of the run.
pub(crate) fn run(files: &mut Files, original: &Files, prefix: &str) {
    let of = |files: &Files, name: &str| {
        let found = files.iter().find(|(n, _)| n == name);
        found.map(|(_, bytes)| sum(bytes)).unwrap_or_default()
    };
    let run = format!("{prefix}run.json");
    for name in ["front.parquet", "tallies.json", "encoding.json"] {
        let name = format!("{prefix}{name}");
        replace_in(files, &run, &of(original, &name), &of(files, &name));
    }
    if let Some((_, bytes)) = files.iter_mut().find(|(n, _)| *n == run) {
        *bytes = object(bytes);
    }
}

/// Updates a JSON object whose last field is the sum of everything before it, without white space
/// outside strings.
pub(crate) fn object(bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bytes.to_vec();
    };
    let body = unsealed(text);
    let body = body.strip_suffix('}').unwrap_or(&body);
    let sum = sum(body.as_bytes());
    format!("{body},\"checksum\":\"{sum}\"}}").into_bytes()
}

/// A JSON object without its sum and without white space outside strings.
pub(crate) fn unsealed(text: &str) -> String {
    let mut compact = String::with_capacity(text.len());
    let mut characters = text.chars();
    let mut quoted = false;
    while let Some(c) = characters.next() {
        match c {
            '"' => quoted = !quoted,
            ' ' | '\t' | '\n' | '\r' if !quoted => continue,
            _ => {}
        }
        compact.push(c);
        if quoted && c == '\\' {
            compact.extend(characters.next());
        }
    }
    match compact.rfind(",\"checksum\":\"") {
        Some(at) => format!("{}}}", &compact[..at]),
        None => compact,
    }
}

/// Updates the sums of a generation's files: `SHA256SUMS`. `folder` is empty for files without one.
pub(crate) fn generation(files: &mut Files, folder: &str) {
    let prefix = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let named = |(path, bytes): &(String, Vec<u8>)| {
        let name = path.strip_prefix(&prefix)?.to_owned();
        Some((name, bytes.clone()))
    };
    let named: Vec<(String, Vec<u8>)> = files.iter().filter_map(named).collect();
    let named: Vec<(&str, &[u8])> = named.iter().map(|(n, b)| (n.as_str(), &b[..])).collect();
    let (name, sums) = sums_of(&named);
    set(files, &format!("{prefix}{name}"), sums);
}

/// Updates the lines of a spool: the first 16 digits of the sum, a space, the entry.
pub(crate) fn spool(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let entry = line.get(17..).unwrap_or_default();
        sealed.extend_from_slice(&sum(entry).as_bytes()[..16]);
        sealed.push(b' ');
        sealed.extend_from_slice(entry);
        sealed.push(b'\n');
    }
    sealed
}

/// Replaces the content of a file.
pub(crate) fn set(files: &mut Files, name: &str, bytes: Vec<u8>) {
    if let Some((_, old)) = files.iter_mut().find(|(n, _)| n == name) {
        *old = bytes;
    }
}

/// Replaces a string in a file.
pub(crate) fn replace_in(files: &mut Files, name: &str, from: &str, to: &str) {
    if let Some((_, bytes)) = files.iter_mut().find(|(n, _)| n == name) {
        // Only text can be replaced; a file that is not text is rejected in any case.
        if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = text.replace(from, to).into_bytes();
        }
    }
}
