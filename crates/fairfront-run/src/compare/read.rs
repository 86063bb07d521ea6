//! Fronts from run folders and from files of values.

use std::path::Path;

use super::{NamedFront, Origin};
use crate::{Error, read_run};

/// What precedes the names of objectives in tables of fronts.
const PREFIX: &str = "objective.";

impl NamedFront {
    /// Reads a front: of a run folder, or from a CSV file with one row a point.
    ///
    /// A file may name its columns in the first row. Where some names begin with `objective.`, as in
    /// what `fairfront show --csv` prints, those columns are taken and the others are not looked at;
    /// otherwise all columns are objectives.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let name = name.trim_end_matches('/').to_owned();
        if path.is_dir() {
            return Self::of_run(path, name);
        }
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => {
                Error::file(path, "this is no text; name run folders and CSV files")
            }
            std::io::ErrorKind::NotFound => {
                Error::file(path, "there is no such run folder or CSV file")
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
                method: run.method,
                fingerprint: run.fingerprint,
                definitions: run.definitions,
                at_zero: run.at_zero,
                seconds: run.seconds.solve,
                gradients: run.counters.gradient_evaluations.iter().sum(),
            }),
            objectives: run.objectives,
        })
    }

    fn of_text(path: &Path, name: String, text: &str) -> Result<Self, Error> {
        let first = text.lines().next().unwrap_or_default();
        let count = |separator: &u8| first.bytes().filter(|b| b == separator).count();
        let separator = [b',', b';', b'\t'].into_iter().rev().max_by_key(count);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator.unwrap_or(b','))
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
        let mut header: Option<Vec<String>> = None;
        let mut taken: Vec<usize> = Vec::new();
        let mut values = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| Error::file(path, e))?;
            let line = record.position().map_or(0, csv::Position::line);
            if taken.is_empty() {
                let names: Vec<&str> = record.iter().collect();
                let named = |(i, name): (usize, &&str)| name.starts_with(PREFIX).then_some(i);
                taken = names.iter().enumerate().filter_map(named).collect();
                if taken.is_empty() {
                    taken = (0..names.len()).collect();
                }
                if names.iter().any(|name| name.parse::<f64>().is_err()) {
                    let bare = |i: &usize| names[*i].trim_start_matches(PREFIX).to_owned();
                    header = Some(taken.iter().map(bare).collect());
                    continue;
                }
            }
            for &i in &taken {
                let column = header.as_ref().map_or_else(
                    || format!("column {}", i + 1),
                    |names| {
                        format!(
                            "{:?}",
                            names[taken.iter().position(|t| *t == i).unwrap_or(0)]
                        )
                    },
                );
                let field = record.get(i).unwrap_or_default();
                match field.parse::<f64>() {
                    Ok(value) if !value.is_nan() => values.push(value),
                    _ => {
                        return Err(Error::file(
                            path,
                            format!(
                                "line {line}, {column}: {field:?} is no number; every value of a \
                                 front's objectives has to be one"
                            ),
                        ));
                    }
                }
            }
        }
        if taken.is_empty() {
            return Err(Error::file(path, "the file is empty; give a row a point"));
        }
        let objectives = header.unwrap_or_default();
        for (i, objective) in objectives.iter().enumerate() {
            if objectives[..i].contains(objective) {
                return Err(Error::file(
                    path,
                    format!("two columns are named {objective:?}; give each its own name"),
                ));
            }
        }
        Ok(Self {
            name,
            n_objectives: taken.len(),
            objectives,
            values,
            run: None,
        })
    }
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
        let none = of("log_loss,gap\n").unwrap();
        assert_eq!((none.n_objectives, none.values.len()), (2, 0));
        assert_eq!(
            of("inf,-inf\n").unwrap().values,
            [f64::INFINITY, f64::NEG_INFINITY]
        );
    }

    #[test]
    fn what_is_no_front_is_refused_with_its_place() {
        assert!(refused("").contains("empty"));
        assert!(refused("a,b\n1,2\n3,x\n").contains("line 3, \"b\": \"x\""));
        assert!(refused("1,2\n3,\n").contains("line 2, column 2: \"\""));
        assert!(refused("1,2\n3,NaN\n").contains("line 2"));
        assert!(refused("1,2\n3\n").contains("a.csv"));
        assert!(refused("a,a\n1,2\n").contains("two columns"));
    }
}
