//! The table of a front: `front.parquet`, one row per model.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fairfront_data::guarded;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::{Error, Family};

/// The name of the column of families.
const FAMILY: &str = "family";

/// The numbers of a front, column by column; `None` if a measure is undefined.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrontTable {
    /// Column names: `objective.NAME`, `SPLIT.objective.NAME`, `SPLIT.MEASURE`.
    pub names: Vec<String>,
    /// One vector per column, one number per model.
    pub columns: Vec<Vec<Option<f64>>>,
    /// Parameters of each model, the intercept last.
    pub params: Vec<Vec<f64>>,
    /// The family of each model. [`FrontTable::family`] treats missing ones as linear.
    pub families: Vec<Family>,
}

impl FrontTable {
    /// Number of models.
    pub fn len(&self) -> usize {
        self.params.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The family of a model by index; linear if the table has none for it.
    pub fn family(&self, index: usize) -> Family {
        self.families.get(index).copied().unwrap_or_default()
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&[Option<f64>]> {
        let at = self.names.iter().position(|n| n == name)?;
        Some(&self.columns[at])
    }

    pub(crate) fn write(&self, out: impl Write + Send) -> parquet::errors::Result<()> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("fairfront".into())
            .build();
        let mut writer = SerializedFileWriter::new(out, self.schema()?, Arc::new(properties))?;
        let mut rows = writer.next_row_group()?;
        let mut next = 0;
        while let Some(mut column) = rows.next_column()? {
            match column.untyped() {
                ColumnWriter::Int64ColumnWriter(ids) => {
                    let values: Vec<i64> = (1..=self.len() as i64).collect();
                    ids.write_batch(&values, None, None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(names) => {
                    let families = (0..self.len()).map(|i| self.family(i).name().into());
                    let families: Vec<ByteArray> = families.collect();
                    names.write_batch(&families, None, None)?;
                }
                ColumnWriter::DoubleColumnWriter(doubles) => {
                    match self.columns.get(next) {
                        Some(values) => {
                            let present: Vec<f64> = values.iter().flatten().copied().collect();
                            let levels: Vec<i16> =
                                values.iter().map(|v| i16::from(v.is_some())).collect();
                            doubles.write_batch(&present, Some(&levels), None)?;
                        }
                        None => {
                            let values = self.params.concat();
                            let repeats: Vec<i16> = self
                                .params
                                .iter()
                                .flat_map(|p| (0..p.len()).map(|i| i16::from(i > 0)))
                                .collect();
                            let levels = vec![1; values.len()];
                            doubles.write_batch(&values, Some(&levels), Some(&repeats))?;
                        }
                    }
                    next += 1;
                }
                _ => {}
            }
            column.close()?;
        }
        rows.close()?;
        writer.close()?;
        Ok(())
    }

    /// `model_id`, `family`, one optional double per column, and the parameters as a list.
    fn schema(&self) -> parquet::errors::Result<TypePtr> {
        use parquet::basic::{LogicalType, Repetition, Type as Physical};
        let field = |name: &str, physical, repetition| -> parquet::errors::Result<TypePtr> {
            let built = Type::primitive_type_builder(name, physical);
            Ok(Arc::new(built.with_repetition(repetition).build()?))
        };
        let family = Type::primitive_type_builder(FAMILY, Physical::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()?;
        let mut fields = vec![
            field("model_id", Physical::INT64, Repetition::REQUIRED)?,
            Arc::new(family),
        ];
        for name in &self.names {
            fields.push(field(name, Physical::DOUBLE, Repetition::OPTIONAL)?);
        }
        let element = field("element", Physical::DOUBLE, Repetition::REQUIRED)?;
        let list = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![element])
            .build()?;
        let params = Type::group_type_builder("params")
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(list)])
            .build()?;
        fields.push(Arc::new(params));
        let schema = Type::group_type_builder("front")
            .with_fields(fields)
            .build()?;
        Ok(Arc::new(schema))
    }

    /// Parses the bytes of a file; `path` is used only in error messages.
    pub(crate) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, Error> {
        let corrupted =
            |why: String| Error::file(path, format!("the file is corrupted ({why}); fit again"));
        let table = guarded(|| Self::read_from(Bytes::from(bytes)));
        let table = table.ok_or_else(|| corrupted("its pages are inconsistent".into()))?;
        let table = table.map_err(|e| corrupted(e.to_string()))?;
        let mut lengths = table.columns.iter().map(Vec::len);
        match lengths.all(|n| n == table.len()) && table.families.len() == table.len() {
            true => Ok(table),
            false => Err(corrupted("its columns differ in length".into())),
        }
    }

    fn read_from(bytes: Bytes) -> parquet::errors::Result<Self> {
        let reader = SerializedFileReader::new(bytes)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut table = Self::default();
        for index in 0..schema.num_columns() {
            let column = schema.column(index);
            let is_double = column.physical_type() == parquet::basic::Type::DOUBLE;
            if column.max_rep_level() == 0 && is_double {
                table.names.push(column.name().to_owned());
                table.columns.push(Vec::new());
            }
        }
        for group in 0..reader.num_row_groups() {
            let rows = reader.get_row_group(group)?;
            let mut next = 0;
            for index in 0..schema.num_columns() {
                let n = rows.metadata().num_rows().max(0) as usize;
                let mut doubles = match rows.get_column_reader(index)? {
                    ColumnReader::DoubleColumnReader(doubles) => doubles,
                    ColumnReader::ByteArrayColumnReader(mut names)
                        if schema.column(index).name() == FAMILY =>
                    {
                        let (mut values, mut levels, mut repeats) =
                            (Vec::new(), Vec::new(), Vec::new());
                        names.read_records(
                            n,
                            Some(&mut levels),
                            Some(&mut repeats),
                            &mut values,
                        )?;
                        for value in &values {
                            table.families.push(family_of(value)?);
                        }
                        continue;
                    }
                    _ => continue,
                };
                let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
                doubles.read_records(n, Some(&mut levels), Some(&mut repeats), &mut values)?;
                if schema.column(index).max_rep_level() > 0 {
                    for (value, repeat) in values.into_iter().zip(repeats) {
                        match table.params.last_mut() {
                            Some(last) if repeat > 0 => last.push(value),
                            _ => table.params.push(vec![value]),
                        }
                    }
                } else {
                    let mut values = values.into_iter();
                    let column = &mut table.columns[next];
                    column.extend(
                        levels
                            .iter()
                            .map(|l| if *l > 0 { values.next() } else { None }),
                    );
                    next += 1;
                }
            }
        }
        let has_families = (0..schema.num_columns()).any(|i| schema.column(i).name() == FAMILY);
        if !has_families {
            table.families = vec![Family::Linear; table.len()];
        }
        Ok(table)
    }
}

fn family_of(name: &ByteArray) -> parquet::errors::Result<Family> {
    let name = name.as_utf8()?;
    let known = Family::parse(name);
    known.ok_or_else(|| ParquetError::General(format!("model family {name:?} is not known")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(families: Vec<Family>) -> FrontTable {
        FrontTable {
            names: vec!["train.accuracy".into()],
            columns: vec![vec![Some(0.5), None, Some(0.25)]],
            params: vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]],
            families,
        }
    }

    fn reread(table: &FrontTable) -> FrontTable {
        let mut bytes = Vec::new();
        table.write(&mut bytes).unwrap();
        FrontTable::from_bytes(Path::new("front.parquet"), bytes).unwrap()
    }

    #[test]
    fn families_are_stored() {
        let all = table(vec![Family::Linear, Family::Trees, Family::Network]);
        assert_eq!(reread(&all), all);
        // Missing families are linear.
        let none = reread(&table(Vec::new()));
        assert_eq!(none, table(vec![Family::Linear; 3]));
        let empty = reread(&FrontTable::default());
        assert!(empty.is_empty() && empty.families.is_empty());
    }

    #[test]
    fn only_known_families_are_read() {
        let known = family_of(&"score".into());
        assert_eq!(known.unwrap(), Family::Score);
        let unknown = family_of(&"forest".into()).unwrap_err().to_string();
        assert!(unknown.contains("\"forest\""), "{unknown}");
    }
}
