//! Writes predictions as CSV or Parquet.

use std::io::Write;
use std::sync::Arc;

use fairfront_data::Error as DataError;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::{NOTE, ResultColumn, ResultColumns, ResultKind, Scored};
use crate::Error;

/// The minimum number of rows per row group, except for the last.
const GROUP_ROWS: usize = 1 << 17;

/// The destination of predictions.
pub enum Predictions<'a> {
    /// No output: the rows are only counted.
    None,
    /// CSV with a header.
    Csv(&'a mut (dyn Write + Send)),
    /// Parquet; kept columns are strings, and empty strings are null.
    Parquet(&'a mut (dyn Write + Send)),
}

/// Writes batches in order.
pub(super) enum Writer<'a, 'm> {
    None,
    /// With the header until it is written; it is written only together with the first rows.
    Csv(&'a mut (dyn Write + Send), Vec<u8>),
    Parquet(Box<Groups<'a, 'm>>),
}

impl<'a, 'm> Writer<'a, 'm> {
    /// Starts a file with these kept columns and results.
    pub(super) fn new(
        out: Predictions<'a>,
        kept: &[String],
        results: &[ResultColumn],
    ) -> Result<Self, Error> {
        Ok(match out {
            Predictions::None => Self::None,
            Predictions::Csv(out) => {
                let mut header = Vec::new();
                for name in kept.iter().chain(results.iter().map(|column| &column.name)) {
                    push_text(&mut header, name);
                    header.push(b',');
                }
                header.extend_from_slice(NOTE.as_bytes());
                header.push(b'\n');
                Self::Csv(out, header)
            }
            Predictions::Parquet(out) => Self::Parquet(Box::new(Groups::new(out, kept, results)?)),
        })
    }

    /// Whether batches must be passed as lines of CSV.
    pub(super) fn wants_lines(&self) -> bool {
        matches!(self, Self::Csv(..))
    }

    /// Takes the next rows, with their lines if these are needed.
    pub(super) fn take(&mut self, rows: Scored<'m>, lines: &[u8]) -> Result<(), Error> {
        match self {
            Self::None => Ok(()),
            Self::Csv(out, header) => {
                let header = std::mem::take(header);
                let written = out.write_all(&header).and_then(|()| out.write_all(lines));
                written.map_err(failed)
            }
            Self::Parquet(groups) => groups.take(rows).map_err(failed_parquet),
        }
    }

    /// Writes the remaining rows.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::None => Ok(()),
            Self::Csv(out, header) => {
                let written = out.write_all(&header).and_then(|()| out.flush());
                written.map_err(failed)
            }
            Self::Parquet(groups) => groups.finish().map_err(failed_parquet),
        }
    }
}

fn failed(source: std::io::Error) -> Error {
    let path = "the predictions".into();
    Error::Table(DataError::Io { path, source })
}

fn failed_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast() {
            Ok(source) => failed(*source),
            Err(cause) => failed(std::io::Error::other(cause)),
        },
        other => failed(std::io::Error::other(other)),
    }
}

/// The rows as lines of CSV.
pub(super) fn lines(rows: &Scored) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.notes.len() * 48);
    for (row, note) in rows.notes.iter().enumerate() {
        for kept in &rows.kept {
            push_text(&mut out, kept.get(row));
            out.push(b',');
        }
        match &rows.columns {
            ResultColumns::Decisions {
                scores,
                probabilities,
                decisions,
            } => {
                push_number(&mut out, scores[row]);
                out.push(b',');
                push_number(&mut out, probabilities[row]);
                let decision: &[u8] = if decisions[row] { b",1," } else { b",0," };
                out.extend_from_slice(decision);
            }
            ResultColumns::Classes {
                classes,
                scores,
                probabilities,
                decisions,
            } => {
                let own = row * classes.len()..(row + 1) * classes.len();
                for number in scores[own.clone()].iter().chain(&probabilities[own]) {
                    push_number(&mut out, *number);
                    out.push(b',');
                }
                push_text(&mut out, &classes.names[decisions[row]]);
                out.push(b',');
            }
            ResultColumns::Numbers(predictions) => {
                push_number(&mut out, predictions[row]);
                out.push(b',');
            }
        }
        push_text(&mut out, note);
        out.push(b'\n');
    }
    out
}

/// The shortest decimal that reads back as the same number.
fn push_number(out: &mut Vec<u8>, number: f64) {
    // Scores are finite, and writing to memory cannot fail.
    let _ = serde_json::to_writer(out, &number);
}

/// A field, quoted if necessary.
fn push_text(out: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// A Parquet file under construction, written one row group at a time.
pub(super) struct Groups<'a, 'm> {
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    results: Vec<ResultKind>,
    rows: Vec<Scored<'m>>,
    n_rows: usize,
}

impl<'a, 'm> Groups<'a, 'm> {
    fn new(
        out: &'a mut (dyn Write + Send),
        kept: &[String],
        results: &[ResultColumn],
    ) -> Result<Self, Error> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("fairfront".into());
        // Numbers hardly ever repeat.
        for column in results.iter().filter(|column| column.kind.is_double()) {
            // A dot in a name does not separate the parts of a path.
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        let schema = schema(kept, results).map_err(failed_parquet)?;
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()));
        Ok(Self {
            writer: writer.map_err(failed_parquet)?,
            results: results.iter().map(|column| column.kind).collect(),
            rows: Vec::new(),
            n_rows: 0,
        })
    }

    fn take(&mut self, rows: Scored<'m>) -> Result<(), ParquetError> {
        self.n_rows += rows.notes.len();
        self.rows.push(rows);
        match self.n_rows >= GROUP_ROWS {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        self.n_rows = 0;
        let mut group = self.writer.next_row_group()?;
        let n_kept = rows.first().map_or(0, |r| r.kept.len());
        let mut index = 0_usize;
        while let Some(mut column) = group.next_column()? {
            let writer = column.untyped();
            for rows in &rows {
                match (index.checked_sub(n_kept), rows.kept.get(index)) {
                    (None, Some(kept)) => write_strings(writer, kept.iter())?,
                    (Some(result), _) if result < self.results.len() => {
                        write_result(writer, rows, self.results[result])?;
                    }
                    _ => write_strings(writer, rows.notes.iter().map(String::as_str))?,
                }
            }
            column.close()?;
            index += 1;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), ParquetError> {
        if self.n_rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

impl ResultKind {
    fn is_double(self) -> bool {
        !matches!(self, Self::Selected | Self::Class)
    }

    fn physical(self) -> Physical {
        match self {
            Self::Score { .. } | Self::Probability { .. } | Self::Prediction => Physical::DOUBLE,
            Self::Selected => Physical::INT32,
            Self::Class => Physical::BYTE_ARRAY,
        }
    }
}

/// Writes strings; empty ones are null.
fn write_strings<'s>(
    writer: &mut ColumnWriter,
    strings: impl Iterator<Item = &'s str>,
) -> Result<(), ParquetError> {
    let ColumnWriter::ByteArrayColumnWriter(writer) = writer else {
        return Ok(());
    };
    let all: Vec<&str> = strings.collect();
    let levels: Vec<i16> = all.iter().map(|t| i16::from(!t.is_empty())).collect();
    let present = all.into_iter().filter(|t| !t.is_empty());
    let present: Vec<ByteArray> = present.map(ByteArray::from).collect();
    writer.write_batch(&present, Some(&levels), None)?;
    Ok(())
}

fn write_result(
    writer: &mut ColumnWriter,
    rows: &Scored,
    kind: ResultKind,
) -> Result<(), ParquetError> {
    if let ColumnWriter::DoubleColumnWriter(doubles) = writer {
        doubles.write_batch(&rows.columns.doubles(kind), None, None)?;
        return Ok(());
    }
    match (writer, &rows.columns) {
        (ColumnWriter::Int32ColumnWriter(integers), ResultColumns::Decisions { decisions, .. }) => {
            let values: Vec<i32> = decisions.iter().map(|d| i32::from(*d)).collect();
            integers.write_batch(&values, None, None)?;
        }
        (
            ColumnWriter::ByteArrayColumnWriter(strings),
            ResultColumns::Classes {
                classes, decisions, ..
            },
        ) => {
            let names = decisions.iter().map(|class| classes.names[*class].as_str());
            let names: Vec<ByteArray> = names.map(ByteArray::from).collect();
            strings.write_batch(&names, None, None)?;
        }
        _ => {}
    }
    Ok(())
}

impl ResultColumns<'_> {
    /// The numbers of a column.
    fn doubles(&self, kind: ResultKind) -> Vec<f64> {
        let (scores, probabilities) = match self {
            Self::Decisions {
                scores,
                probabilities,
                ..
            }
            | Self::Classes {
                scores,
                probabilities,
                ..
            } => (scores, probabilities),
            Self::Numbers(predictions) => return predictions.clone(),
        };
        let n_classes = match self {
            Self::Classes { classes, .. } => classes.len(),
            _ => 1,
        };
        let of_class = |numbers: &[f64], class: usize| -> Vec<f64> {
            let own = numbers.iter().skip(class).step_by(n_classes);
            own.copied().collect()
        };
        match kind {
            ResultKind::Score { class } => of_class(scores, class),
            ResultKind::Probability { class } => of_class(probabilities, class),
            ResultKind::Selected | ResultKind::Class | ResultKind::Prediction => Vec::new(),
        }
    }
}

/// Kept columns, the results, and the note; empty strings are null, but results never are.
fn schema(kept: &[String], results: &[ResultColumn]) -> Result<TypePtr, ParquetError> {
    let result = |column: &ResultColumn| -> Result<TypePtr, ParquetError> {
        let field = Type::primitive_type_builder(&column.name, column.kind.physical());
        let is_text = matches!(column.kind, ResultKind::Class);
        let field = field
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(is_text.then_some(LogicalType::String));
        Ok(Arc::new(field.build()?))
    };
    let text = |name: &str| -> Result<TypePtr, ParquetError> {
        let field = Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::String));
        Ok(Arc::new(field.build()?))
    };
    let kept = kept.iter().map(|name| text(name));
    let results = results.iter().map(result);
    let fields = kept.chain(results).chain([text(NOTE)]);
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("predictions").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}
