//! Reads fronts from run folders and CSV files.

use std::path::Path;

use fairfront_core::counted;

use super::{NamedFront, Origin};
use crate::{Error, read_run};

/// The id of the unmitigated model in tables of fronts; it is not part of the front.
pub const UNMITIGATED: &str = "unmitigated";

/// The prefix of objective names in tables of fronts.
const PREFIX: &str = "objective.";

impl NamedFront {
    /// Reads a front from a run folder, or from a CSV file with one row per model.
    ///
    /// The first row of a file may contain column names. If some names begin with `objective.`, as
    /// in `front.csv`, only those columns are read; otherwise all columns except the id are
    /// objectives. A row whose `model_id` (or `id`) is `unmitigated` is left out.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let name = name.trim_end_matches('/').to_owned();
        if path.is_dir() {
            return Self::of_run(path, name);
        }
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => Error::file(
                path,
                "the file is not UTF-8 text; pass run folders or CSV files",
            ),
            std::io::ErrorKind::NotFound => {
                Error::file(path, "no such run folder or CSV file; check the path")
            }
            _ => Error::file(path, e),
        })?;
        Self::of_text(path, name, &text)
    }

    fn of_run(path: &Path, name: String) -> Result<Self, Error> {
        let (run, table) = read_run(path)?;
        let columns = run.objectives.iter().map(|objective| {
            let column = table.column(&format!("{PREFIX}{objective}"));
            let values = column.and_then(|c| c.iter().copied().collect::<Option<Vec<f64>>>());
            values.ok_or_else(|| {
                Error::file(
                    path,
                    format!("the front has no values of {objective}; fit again"),
                )
            })
        });
        let columns: Vec<Vec<f64>> = columns.collect::<Result<_, _>>()?;
        let points = (0..table.len()).flat_map(|i| columns.iter().map(move |c| c[i]));
        Ok(Self {
            name,
            values: points.collect(),
            n_objectives: run.objectives.len(),
            run: Some(Origin {
                source: run.source,
                solver: run.solver.name().into(),
                fingerprint: run.fingerprint,
                definitions: run.definitions,
                loss: run.objectives[0].clone(),
                loss_at_zero: run.at_zero[0],
                seconds: run.seconds.get("solve").copied().unwrap_or(0.0),
                gap: (run.proof.largest_optimality_gap).filter(|_| run.proof.proven == table.len()),
                gradients: (run.counters.gradient_evaluations.iter())
                    .fold(0, |sum, n| u64::saturating_add(sum, *n)),
            }),
            objectives: run.objectives,
        })
    }

    fn of_text(path: &Path, name: String, text: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('\u{feff}');
        let first = text.lines().find(|line| !line.trim().is_empty());
        // A file with a separator other than the comma may contain commas too.
        let separators = [b'\t', b';', b','];
        let has = |separator: &u8| first.is_some_and(|line| line.as_bytes().contains(separator));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separators.into_iter().find(has).unwrap_or(b','))
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut columns: Option<Columns> = None;
        let mut values = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| Error::file(path, e))?;
            let place = |problem: String| {
                let line = line_of(text, &record);
                Error::file(path, format!("line {line}{problem}"))
            };
            let columns = match &columns {
                Some(columns) => columns,
                None => {
                    let found = columns.insert(Columns::of(&record).map_err(place)?);
                    if !found.names.is_empty() {
                        continue;
                    }
                    found
                }
            };
            if record.len() != columns.n_fields {
                return Err(place(format!(
                    " has {}, but the first row has {}",
                    counted(record.len(), "field"),
                    columns.n_fields
                )));
            }
            if columns.id.is_some_and(|i| &record[i] == UNMITIGATED) {
                continue;
            }
            for (number, &i) in columns.taken.iter().enumerate() {
                // "inf" is a value; a number that overflows to infinity is not.
                let overflows = |value: f64| {
                    value.is_infinite() && record[i].contains(|c: char| c.is_ascii_digit())
                };
                match record[i].parse::<f64>() {
                    Ok(value) if !value.is_nan() && !overflows(value) => values.push(value),
                    _ => {
                        let column = match columns.names.get(number) {
                            Some(name) => format!("{name:?}"),
                            None => format!("column {}", i + 1),
                        };
                        return Err(place(format!(
                            ", {column}: {:?} is not a number; write every objective value as a \
                             number with a decimal point",
                            &record[i]
                        )));
                    }
                }
            }
        }
        let Some(columns) = columns else {
            return Err(Error::file(
                path,
                "the file is empty; write one row per model",
            ));
        };
        Ok(Self {
            name,
            n_objectives: columns.taken.len(),
            objectives: columns.names,
            values,
            run: None,
        })
    }
}

/// Which columns of a file are objectives.
struct Columns {
    n_fields: usize,
    taken: Vec<usize>,
    /// The column with the model ids, if there is one.
    id: Option<usize>,
    /// Names of the objectives, if the first row has names.
    names: Vec<String>,
}

/// Whether a column contains model ids; tables of other programs may call it `id`.
fn is_id(name: &str) -> bool {
    name == "model_id" || name == "id"
}

impl Columns {
    /// Finds the columns by the first row, which has either names or values.
    fn of(row: &csv::StringRecord) -> Result<Self, String> {
        let is_number = |field: &str| field.parse::<f64>().is_ok();
        if row.iter().all(is_number) {
            return Ok(Self {
                n_fields: row.len(),
                taken: (0..row.len()).collect(),
                id: None,
                names: Vec::new(),
            });
        }
        let starts = |i: &usize| row[*i].starts_with(PREFIX);
        let mut taken: Vec<usize> = (0..row.len()).filter(starts).collect();
        if taken.is_empty() {
            // The id of a model is not an objective.
            taken = (0..row.len()).filter(|i| !is_id(&row[*i])).collect();
        }
        let names = taken
            .iter()
            .map(|i| row[*i].trim_start_matches(PREFIX).to_owned());
        let names: Vec<String> = names.collect();
        for (i, name) in names.iter().enumerate() {
            if name.is_empty() || is_number(name) {
                return Err(format!(
                    " mixes names with numbers or empty fields, such as {name:?}; write a name for \
                     each column, or only numbers (with a decimal point)"
                ));
            }
            if names[..i].contains(name) {
                return Err(format!(
                    ": two columns are named {name:?}; rename one of them"
                ));
            }
        }
        match taken.is_empty() {
            true => Err(" has no objectives; add one column per objective".into()),
            false => Ok(Self {
                n_fields: row.len(),
                id: row.iter().position(is_id),
                taken,
                names,
            }),
        }
    }
}

/// The line in which a record begins. The reader's own count skips empty lines.
fn line_of(text: &str, record: &csv::StringRecord) -> usize {
    let start = record.position().map_or(0, |p| p.byte() as usize);
    let bytes = text.as_bytes();
    let blank = bytes[start..]
        .iter()
        .take_while(|b| b.is_ascii_whitespace());
    let end = start + blank.count();
    1 + text[..end].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<NamedFront, Error> {
        NamedFront::of_text(Path::new("a.csv"), "a.csv".into(), text)
    }

    fn refused(text: &str) -> String {
        of(text).unwrap_err().to_string()
    }

    #[test]
    fn columns_of_objectives_are_found() {
        let plain = of("1,2\n3,4\n").unwrap();
        assert_eq!(
            (plain.n_objectives, plain.values),
            (2, vec![1.0, 2.0, 3.0, 4.0])
        );
        assert!(plain.objectives.is_empty());
        let named = of("\u{feff}log_loss; gap\r\n1; 2\r\n").unwrap();
        assert_eq!(named.objectives, ["log_loss", "gap"]);
        assert_eq!(named.values, [1.0, 2.0]);
        let shown =
            of("id,objective.log_loss,\"objective.f(a, b)\",test.accuracy\n0,1,2,\n").unwrap();
        assert_eq!(shown.objectives, ["log_loss", "f(a, b)"]);
        assert_eq!(shown.values, [1.0, 2.0]);
        // The unmitigated model is not part of a front, even if its row is incomplete.
        let whole = of("id,objective.log_loss,objective.f\n0,1,2\nunmitigated,0.5,\n").unwrap();
        assert_eq!(whole.values, [1.0, 2.0]);
        let plain = of("id,log_loss,f\n0,1,2\nunmitigated,0.5,3\n").unwrap();
        assert_eq!(plain.values, [1.0, 2.0]);
        let none = of("log_loss,gap\n").unwrap();
        assert_eq!((none.n_objectives, none.values.len()), (2, 0));
        assert_eq!(
            of("inf,-inf\n").unwrap().values,
            [f64::INFINITY, f64::NEG_INFINITY]
        );
    }

    #[test]
    fn invalid_files_are_rejected_with_the_place() {
        assert!(refused("").contains("empty"));
        assert!(refused("a,b\n1,2\n3,x\n").contains("line 3, \"b\": \"x\""));
        assert!(refused("1,2\n2,1e999\n").contains("\"1e999\" is not a number"));
        assert!(refused("1,2\n3,\n").contains("line 2, column 2: \"\""));
        assert!(refused("1,2\n3,NaN\n").contains("line 2"));
        assert!(refused("1,2\n3\n").contains("line 2 has 1 field, but the first row has 2"));
        assert!(refused("a,a\n1,2\n").contains("two columns"));
        assert!(refused("a,b\n\n\n1,2\n\n1,y\n").contains("line 6, \"b\": \"y\""));
        // An incomplete header is rejected.
        assert!(refused("0.3,\n0.4,0.1\n").contains("line 1 mixes names with numbers"));
        assert!(refused("0.3,0.x1\n0.4,0.1\n").contains("line 1"));
        assert!(refused("0,5;0,3\n0,6;0,2\n").contains("with a decimal point"));
        assert!(refused("id\n1\n").contains("has no objectives"));
    }
}
