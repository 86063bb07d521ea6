//! Detects the format of a file and its separator from the first bytes.

use std::io::{Read, Result};

use memchr::memchr_iter;

use super::form::{Decimal, parse_comma, parse_number};
use super::raw::RawRecord;

/// The number of bytes to examine for the separator.
pub(super) const SAMPLE: usize = 1 << 16;

const SEPARATORS: [u8; 4] = [b';', b'\t', b'|', b','];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Gzip,
    Parquet,
}

pub(super) fn format(head: &[u8]) -> Format {
    if head.starts_with(b"PAR1") {
        Format::Parquet
    } else if head.starts_with(&[0x1f, 0x8b]) {
        Format::Gzip
    } else {
        Format::Text
    }
}

/// The first `n` bytes, or fewer if the input is shorter.
pub(super) fn head(input: &mut impl Read, n: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(n);
    input.take(n as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The reason why this cannot be a text file, if one is found.
pub(super) fn not_text(sample: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| sample.starts_with(magic);
    if starts(&[0xff, 0xfe]) || starts(&[0xfe, 0xff]) {
        return Some("the file is UTF-16; save it as UTF-8");
    }
    if starts(b"PK\x03\x04") {
        return Some(
            "the file is a ZIP archive or a spreadsheet; save the table as CSV or Parquet",
        );
    }
    // Single NUL bytes in a text file are errors of their rows.
    let n_nul = memchr_iter(0, sample).count();
    let is_text = match std::str::from_utf8(sample) {
        Ok(_) => 100 * n_nul <= sample.len(),
        // The sample may end within a character.
        Err(error) => error.error_len().is_none() && 100 * n_nul <= sample.len(),
    };
    if n_nul > 0 && !is_text {
        return Some("not a text file; choose a CSV (plain or .gz) or Parquet file");
    }
    None
}

/// The layout of a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) separator: u8,
    /// Bytes and lines before the table: a byte order mark and comment lines.
    pub(super) skip_bytes: usize,
    pub(super) skip_lines: u64,
}

/// Detects the layout. The separator is the one that splits the lines most evenly and, among equals, into
/// the most fields. A leading line that starts with `|` or `#` and does not have the same fields as the
/// others is a comment.
pub(super) fn layout(sample: &[u8], separator: Option<u8>) -> Layout {
    let bom = if sample.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let text = &sample[bom..];
    let separator = separator.unwrap_or_else(|| {
        let score = |separator: u8| {
            let counts = field_counts(text, separator);
            let usual = usual(&counts);
            if usual < 2 {
                return (0, 0);
            }
            let even = counts.iter().filter(|c| **c == usual).count();
            (even * 100 / counts.len(), usual)
        };
        // The first of equals wins: a comma may be a decimal comma, while the others are rarely part of a
        // value.
        let best = SEPARATORS
            .into_iter()
            .rev()
            .max_by_key(|s| score(*s))
            .unwrap_or(b',');
        if score(best).1 < 2 { b',' } else { best }
    });

    let usual = usual(&field_counts(text, separator));
    let mut layout = Layout {
        separator,
        skip_bytes: bom,
        skip_lines: 0,
    };
    loop {
        let rest = &sample[layout.skip_bytes..];
        let Some(end) = rest.iter().position(|b| *b == b'\n') else {
            return layout;
        };
        let line = &rest[..=end];
        let comment = matches!(line[0], b'|' | b'#');
        // Take the whole record, which is longer than the line if it contains a quoted line break.
        if !comment || field_counts(rest, separator).first() == Some(&usual) {
            return layout;
        }
        layout.skip_bytes += line.len();
        layout.skip_lines += 1;
    }
}

/// The form of numbers, if the sample shows it. The separator must not be a comma, and there must be a
/// column of numbers with decimal commas or one of numbers with decimal points, but not both.
pub(super) fn decimal(sample: &[u8], separator: u8) -> Option<Decimal> {
    if separator == b',' {
        return None;
    }
    let mut columns: Vec<Seen> = Vec::new();
    // The first record most likely contains the names.
    each_record(sample, separator, |index, record| {
        for (at, field) in record.iter().enumerate().filter(|_| index > 0) {
            if columns.len() <= at {
                columns.push(Seen::default());
            }
            columns[at].count(field.trim_ascii());
        }
    });
    decided(&columns)
}

/// Like `decimal`, for records whose fields are not separated by commas.
pub fn decimal_of(records: &[RawRecord]) -> Option<Decimal> {
    let mut columns: Vec<Seen> = Vec::new();
    for fields in records.iter().filter_map(|r| r.fields.as_ref().ok()) {
        columns.resize_with(columns.len().max(fields.len()), Seen::default);
        for (column, field) in columns.iter_mut().zip(fields) {
            column.count(field.as_bytes());
        }
    }
    decided(&columns)
}

fn decided(columns: &[Seen]) -> Option<Decimal> {
    let commas = columns
        .iter()
        .any(|c| c.is_number(c.with_comma, c.by_comma));
    let points = columns
        .iter()
        .any(|c| c.is_number(c.with_point, c.by_point));
    match (commas, points) {
        (true, false) => Some(Decimal::Comma),
        (false, true) => Some(Decimal::Point),
        _ => None,
    }
}

/// Counts of the values of a column, read in both forms.
#[derive(Default)]
struct Seen {
    present: usize,
    by_comma: usize,
    by_point: usize,
    /// Values that are numbers in only one of the forms.
    with_comma: usize,
    with_point: usize,
}

impl Seen {
    fn count(&mut self, field: &[u8]) {
        if field.is_empty() {
            return;
        }
        let (comma, point) = (parse_comma(field).is_some(), parse_number(field).is_some());
        self.present += 1;
        self.by_comma += usize::from(comma);
        self.by_point += usize::from(point);
        self.with_comma += usize::from(comma && !point);
        self.with_point += usize::from(point && !comma);
    }

    /// Whether most values are numbers in a form, and some are numbers only in that form.
    fn is_number(&self, only: usize, numbers: usize) -> bool {
        only > 0 && 10 * numbers >= 8 * self.present
    }
}

/// Fields in each complete record of the sample.
fn field_counts(sample: &[u8], separator: u8) -> Vec<usize> {
    let mut counts = Vec::new();
    each_record(sample, separator, |_, record| counts.push(record.len()));
    counts
}

/// Passes on each complete record of the sample, with its number.
fn each_record(sample: &[u8], separator: u8, mut take: impl FnMut(usize, &::csv::ByteRecord)) {
    let complete = match sample.iter().rposition(|b| *b == b'\n') {
        Some(end) if sample.len() >= SAMPLE - 3 => &sample[..=end],
        _ => sample,
    };
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(complete);
    let mut record = ::csv::ByteRecord::new();
    let mut index = 0;
    while let Ok(true) = reader.read_byte_record(&mut record) {
        take(index, &record);
        index += 1;
    }
}

/// The most frequent count, and the largest among equals.
fn usual(counts: &[usize]) -> usize {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a == b)
        .max_by_key(|run| run.len())
        .map_or(0, |run| run[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (char, usize, u64) {
        let layout = layout(text.as_bytes(), None);
        (
            layout.separator as char,
            layout.skip_bytes,
            layout.skip_lines,
        )
    }

    #[test]
    fn separators_are_found() {
        assert_eq!(found("a,b,c\n1,2,3\n").0, ',');
        assert_eq!(found("a;b;c\n1,5;2,5;x\n").0, ';');
        assert_eq!(found("a\tb\n1\t2,3\n").0, '\t');
        assert_eq!(found("a|b\n1|2\n").0, '|');
        assert_eq!(found("a,b\n\"x;y;z\",1\n\"u;v;w\",2\n").0, ',');
        assert_eq!(found("only\none\ncolumn\n").0, ',');
        assert_eq!(found("").0, ',');
        assert_eq!(found("name,text\n1,\"a, b; c\"\n2,\"d\"\n").0, ',');
    }

    #[test]
    fn decimal_commas_are_found() {
        let of = |text: &str, separator| decimal(text.as_bytes(), separator);
        assert_eq!(of("a;b\n1,5;x\n2,75;y\n", b';'), Some(Decimal::Comma));
        assert_eq!(of("a;b\n1.234,5;3\n2;4\n", b';'), Some(Decimal::Comma));
        assert_eq!(of("a;b\n1.5;x\n2;y\n", b';'), Some(Decimal::Point));
        assert_eq!(of("a;b\n1;x\n2;y\n", b';'), None);
        assert_eq!(of("a;b\n1.5;3,4\n2.5;4,1\n", b';'), None);
        assert_eq!(of("a;b\n1;x, y\n2;3,4\n3;no\n", b';'), None);
        assert_eq!(of("a,b\n\"1,5\",2\n", b','), None);
    }

    #[test]
    fn comment_lines_and_byte_order_marks_are_skipped() {
        assert_eq!(
            found("|1x3 Cross validator\n25, Private\n38, Gov\n"),
            (',', 21, 1)
        );
        assert_eq!(
            found("# made by x\n# on a day\na,b\n1,2\n3,4\n"),
            (',', 23, 2)
        );
        assert_eq!(found("#a\tb\n1\t2\n").1, 0);
        assert_eq!(found("#a,\"b\nc\",d\n1,2,3\n4,5,6\n").1, 0);
        assert_eq!(found("\u{feff}a,b\n1,2\n").1, 3);
        // An empty first field in a file separated by `|` is not a comment.
        assert_eq!(found("|x|y\n1|2|3\n"), ('|', 0, 0));
    }
}
