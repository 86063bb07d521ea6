//! Rows that cannot be used: the lines of `rejected.csv`.

use super::source::Row;

const HEADER: [&str; 5] = ["batch", "input", "row", "reason", "record"];

/// Lines for these rows, each with its reason; with a header if the file is new.
pub(super) fn lines(
    new: bool,
    batch: u64,
    inputs: &[String],
    rejected: &[(&Row, String)],
) -> Vec<u8> {
    let mut lines = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory cannot fail.
    if new && !rejected.is_empty() {
        let _ = lines.write_record(HEADER);
    }
    for (row, reason) in rejected {
        let input = inputs.get(row.input).map_or("", String::as_str);
        let (batch, number) = (batch.to_string(), row.number.to_string());
        let _ = lines.write_record([&batch, input, &number, reason, &record(row)]);
    }
    lines.into_inner().unwrap_or_default()
}

/// The row as text.
fn record(row: &Row) -> String {
    match &row.fields {
        Err(bad) => bad.text.clone(),
        Ok(fields) => {
            let mut line = csv::WriterBuilder::new().from_writer(Vec::new());
            let _ = line.write_record(fields);
            let bytes = line.into_inner().unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            // Remove only the line end; trailing spaces belong to the row.
            text.strip_suffix('\n').unwrap_or(&text).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairfront_data::BadRecord;

    #[test]
    fn every_row_is_read_back_unchanged() {
        let good = Row {
            input: 1,
            number: 7,
            fields: Ok(vec!["a,b".into(), "say \"x\"".into(), "end ".into()]),
        };
        let bad = Row {
            input: 0,
            number: 8,
            fields: Err(BadRecord {
                text: "1,2,\"3".into(),
                reason: "".into(),
            }),
        };
        let rejected = [(&good, "why".to_owned()), (&bad, "why, too".to_owned())];
        let names = ["first.csv".to_owned(), "second, file.csv".to_owned()];
        let bytes = lines(true, 3, &names, &rejected);
        let mut table = csv::Reader::from_reader(bytes.as_slice());
        assert_eq!(table.headers().unwrap(), &HEADER[..]);
        let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
        assert_eq!(
            &rows[0],
            &[
                "3",
                "second, file.csv",
                "7",
                "why",
                "\"a,b\",\"say \"\"x\"\"\",end "
            ][..]
        );
        assert_eq!(
            &rows[1],
            &["3", "first.csv", "8", "why, too", "1,2,\"3"][..]
        );
        assert!(lines(true, 3, &names, &[]).is_empty());
    }
}
