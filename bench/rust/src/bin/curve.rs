//! Draws values by count: `curve TITLE Y < rows.csv > figure.svg`. The first column is the count;
//! each other column is a line, named by the header. An empty field interrupts the line. Fields
//! must not have quotes.

use std::io::{Read, Write, stdin, stdout};

use anyhow::{Context, ensure};
use fairfront_report::{Curve, Line};

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(title), Some(y), None) = (args.next(), args.next(), args.next()) else {
        anyhow::bail!("usage: curve TITLE Y < rows.csv > figure.svg");
    };
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let mut rows = text.lines();
    let head = rows
        .next()
        .context("standard input: the header is missing")?;
    let (x, names) = head
        .split_once(',')
        .context("standard input: there is only one column")?;
    let names: Vec<&str> = names.split(',').collect();
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); names.len()];
    for row in rows {
        let number = |field: &str| match field {
            "" => Ok(f64::NAN),
            field => field
                .parse()
                .with_context(|| format!("row {row:?}: {field:?} is not a number")),
        };
        let fields: Vec<f64> = row.split(',').map(number).collect::<Result<_, _>>()?;
        ensure!(
            fields.len() == names.len() + 1,
            "row {row:?}: has {} fields instead of {}",
            fields.len(),
            names.len() + 1
        );
        let points = lines.iter_mut().zip(&fields[1..]);
        points.for_each(|(line, value)| line.push((fields[0], *value)));
    }
    let named = names.iter().zip(&lines);
    let curve = Curve {
        title,
        x: x.into(),
        y,
        lines: named.map(|(name, points)| Line { name, points }).collect(),
    };
    stdout().write_all(curve.to_svg().as_bytes())?;
    Ok(())
}
