//! Mutations: turn a seed into an input that may be corrupted, hostile or merely unusual.

use crate::json;
use crate::random::Random;

/// Inputs do not grow beyond this.
const MOST_BYTES: usize = 1 << 16;

/// The format of an input, which determines its mutations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Numbers at fixed positions.
    Binary,
    /// Lines of fields.
    Csv,
    /// JSON or lines of JSON.
    Json,
    /// A string in a small grammar.
    Text,
}

/// Numbers that readers of binary formats get wrong.
const INTEGERS: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Pieces that CSV readers treat specially.
const CSV: &[&[u8]] = &[
    b"\"",
    b"\"\"",
    b"\"\"\"",
    b",",
    b";",
    b"\t",
    b"|",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b" ",
    b"#",
    b"# x\n",
    b"?",
    b"NA",
    b"NaN",
    b"inf",
    b"-inf",
    b"1e999",
    b"1e308",
    b"-1e160",
    b"5e-324",
    b"-0",
    b"0x10",
    b"1_000",
    b"1,5",
    b"1.000,5",
    b"31/12/2020",
    b"12/31/2020",
    b"2020-02-30",
    b"2020-02-29T24:00:00",
    b"0000-00-00",
    b"yes",
    b"no",
    b"true",
    b"=1+1",
    b"00123",
    b"1.1.1",
];

/// Pieces of the small grammars.
const TEXT: &[&str] = &[
    ",",
    "=",
    ":",
    "(",
    ")",
    "<",
    ">",
    "<=",
    ">=",
    "\"",
    "\\\"",
    "\\",
    "%",
    " ",
    "-",
    "+",
    ".",
    "0",
    "1",
    "-1",
    "1e308",
    "1e999",
    "nan",
    "inf",
    "auto",
    "none",
    "*",
    "é",
    "\u{a0}",
    "\u{202e}",
    "\0",
    "\n",
    "\t",
    "18446744073709551616",
    "0.95",
    "5%",
    "[",
    "]",
    "{",
    "}",
    "#",
    "'",
];

/// Numbers that readers of strings get wrong.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-3",
    "100",
    "1e308",
    "1e-320",
    "inf",
    "-0",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e18",
];

/// An input for a case: one of the seeds after a few mutations, among them splices with other
/// seeds.
pub fn input(seeds: &[Vec<u8>], form: Form, words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(seeds).cloned().unwrap_or_default();
    // Most inputs have few mutations; some have many.
    let n = match random.below(16) {
        0 => 1 + random.below(24),
        1..8 => 1 + random.below(4),
        _ => 1,
    };
    for _ in 0..n {
        mutate(&mut bytes, seeds, form, words, random);
        // Copies of long lines would grow without bound.
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], form: Form, words: &[&str], random: &mut Random) {
    let of_form = random.below(10) < 7;
    match form {
        Form::Json if of_form && json::mutate(bytes, words, random) => return,
        Form::Csv if of_form => return lines(bytes, random),
        Form::Text if of_form => return text(bytes, words, random),
        _ => {}
    }
    plain(bytes, seeds, words, random);
}

/// Mutations of any bytes.
fn plain(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let len = bytes.len();
    let at = random.below(len);
    match random.below(11) {
        0 | 1 if len > 0 => bytes[at] ^= 1 << random.below(8),
        2 if len > 0 => bytes[at] = random.next() as u8,
        3 => {
            let new: Vec<u8> = (0..=random.below(8)).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, new);
        }
        4 => drop(bytes.splice(random.range(len, 64), [])),
        5 => {
            let copy = bytes[random.range(len, 64)].to_vec();
            bytes.splice(at..at, copy);
        }
        6 => bytes.truncate(random.below(len + 1)),
        7 | 8 => {
            let number = random.pick(INTEGERS).copied().unwrap_or(0).to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            let end = (at + width).min(len);
            bytes.splice(at..end, number[..end - at].to_vec());
        }
        9 => {
            let other = random.pick(seeds).cloned().unwrap_or_default();
            let from = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => {
            let word = random.pick(words).map_or("0", |word| word);
            bytes.splice(at..at, word.bytes());
        }
    }
}

/// Mutations of lines and fields.
fn lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let line_at = |bytes: &[u8], at: usize| {
        let start = bytes[..at]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |n| n + 1);
        let end = bytes[at..].iter().position(|b| *b == b'\n');
        start..end.map_or(bytes.len(), |n| at + n + 1)
    };
    let at = random.below(bytes.len());
    match random.below(9) {
        0..=3 => {
            let piece = random.pick(CSV).copied().unwrap_or(b",");
            bytes.splice(at..at, piece.iter().copied());
        }
        4 => {
            // Replace a field.
            let is_end = |b: &u8| b",;\n\r\t".contains(b);
            let start = bytes[..at].iter().rposition(is_end).map_or(0, |n| n + 1);
            let end = bytes[at..]
                .iter()
                .position(is_end)
                .map_or(bytes.len(), |n| at + n);
            let piece = random.pick(CSV).copied().unwrap_or(b"");
            bytes.splice(start..end, piece.iter().copied());
        }
        5 => {
            let line = bytes[line_at(bytes, at)].to_vec();
            let copies = 1 + random.below(40);
            let place = line_at(bytes, random.below(bytes.len())).start;
            bytes.splice(place..place, line.repeat(copies));
        }
        6 => drop(bytes.splice(line_at(bytes, at), [])),
        7 => {
            let long = vec![*random.pick(b"x1,\" \n").unwrap_or(&b'x'); 1 + random.below(6_000)];
            bytes.splice(at..at, long);
        }
        _ => {
            let from = *random.pick(b",;\n.\"").unwrap_or(&b',');
            let to = *random.pick(b",;\t|\r.\"").unwrap_or(&b';');
            bytes
                .iter_mut()
                .filter(|b| **b == from)
                .for_each(|b| *b = to);
        }
    }
}

/// Mutations of strings in small grammars.
fn text(bytes: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let len = bytes.len();
    let at = random.below(len + 1);
    let own = !words.is_empty() && random.one_in(2);
    let piece = random
        .pick(if own { words } else { TEXT })
        .map_or("", |word| word);
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.';
    match random.below(8) {
        0..=2 => drop(bytes.splice(at..at, piece.bytes())),
        3 => drop(bytes.splice(random.range(len, 8), [])),
        4 | 5 => {
            // Replace a number.
            let digits: Vec<usize> = (0..len).filter(|i| bytes[*i].is_ascii_digit()).collect();
            if let Some(&start) = random.pick(&digits) {
                let end = bytes[start..].iter().position(|b| !b.is_ascii_digit());
                let number = random.pick(NUMBERS).map_or("0", |number| number);
                bytes.splice(start..end.map_or(len, |n| start + n), number.bytes());
            }
        }
        _ => {
            // Replace a word.
            let start = bytes[..at]
                .iter()
                .rposition(|b| !is_part(b))
                .map_or(0, |n| n + 1);
            let end = bytes[at..]
                .iter()
                .position(|b| !is_part(b))
                .map_or(len, |n| at + n);
            bytes.splice(start..end, piece.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_repeatable_and_differ() {
        let seeds = [
            b"a,b\n1,2\n".to_vec(),
            br#"{"a": [1, 2]}"#.to_vec(),
            Vec::new(),
        ];
        for form in [Form::Binary, Form::Csv, Form::Json, Form::Text] {
            let make = |case| input(&seeds, form, &["word"], &mut Random::of_case(3, "t", case));
            let all: Vec<Vec<u8>> = (0..500).map(make).collect();
            assert_eq!(all, (0..500).map(make).collect::<Vec<_>>());
            let distinct: std::collections::BTreeSet<&Vec<u8>> = all.iter().collect();
            assert!(distinct.len() > 200, "{form:?}: {}", distinct.len());
            assert!(all.iter().all(|bytes| bytes.len() <= MOST_BYTES));
        }
    }
}
