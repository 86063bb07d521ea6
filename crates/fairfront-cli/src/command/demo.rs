use crate::table_args::TableArgs;
use crate::{command, output};

const INTRODUCTION: &str = "\
A made-up bank decided on 20,000 loans. Its decisions are unfair to women and by race, and other
columns give both away. This is what fairfront sees in the table, before any training:

";

const NEXT: &str = "
Try your own table:  fairfront inspect FILE --target COLUMN --positive VALUE --sensitive COLUMN
These rows as CSV:   fairfront data export demo -o demo.csv
";

pub(super) fn run() -> anyhow::Result<()> {
    output::print(INTRODUCTION)?;
    command::inspect::run(&TableArgs::known("demo"), false)?;
    output::print(NEXT)
}
