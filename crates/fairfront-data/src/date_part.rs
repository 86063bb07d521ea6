//! Weekday and month of dates, as categorical columns derived from the date columns.

use fairfront_core::say;

use crate::date::weekday_and_month;
use crate::error::Error;
use crate::setting::{DATE_PARTS, TYPE};
use crate::table::{Column, MISSING, Table};

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The suffixes of the names of the derived columns.
const ENDS: [&str; 2] = [" (weekday)", " (month)"];

/// The date column that a derived column of this name comes from, if its parts are requested.
pub(crate) fn source<'a>(column: &str, dates: &'a [String]) -> Option<&'a str> {
    let date = ENDS.iter().find_map(|end| column.strip_suffix(end))?;
    dates.iter().map(String::as_str).find(|name| *name == date)
}

/// Adds the weekday and the month of these dates to the table. Existing derived columns stay unchanged.
pub(crate) fn add(table: &mut Table, dates: &[String]) -> Result<(), Error> {
    for name in dates {
        let column = table.require(name, DATE_PARTS)?;
        let Some(numbers) = column.numeric().filter(|_| column.date.is_some()) else {
            let found = match column.column_type() {
                Some(ty) => ty.to_string(),
                None => "left out".into(),
            };
            return Err(Error::column(
                name,
                say![
                    DATE_PARTS, " needs a column of dates, but this column is {found}";
                    "choose a column of dates";
                    "pass ", TYPE.of(name).is("date")
                ],
            ));
        };
        let parts: Vec<Option<(usize, usize)>> = numbers
            .iter()
            .map(|number| (!number.is_nan()).then(|| weekday_and_month(number)))
            .collect();
        let codes = |part: fn((usize, usize)) -> usize| -> Vec<u32> {
            let code = |both: &Option<(usize, usize)>| both.map_or(MISSING, |b| part(b) as u32);
            parts.iter().map(code).collect()
        };
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let new = [
            (codes(|(weekday, _)| weekday), strings(&WEEKDAYS)),
            (codes(|(_, month)| month), strings(&MONTHS)),
        ];
        for (end, (codes, categories)) in ENDS.iter().zip(new) {
            let name = format!("{name}{end}");
            match table.column(&name) {
                Some(_) if table.is_derived(&name) => {}
                Some(_) => {
                    let problem = say![
                        DATE_PARTS,
                        " adds a column with this name, but the table already has one; rename the \
                         column in the file"
                    ];
                    return Err(Error::column(name, problem));
                }
                None => table.push_derived(Column::from_codes(&name, codes, categories)?),
            }
        }
    }
    Ok(())
}
