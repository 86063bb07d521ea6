//! Settings of solvers. Each is declared once; its check, its parser, its help and its row in the
//! documentation follow from the declaration.

use std::fmt::{self, Display};
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;

use fairfront_core::grouped;

use crate::Error;
use crate::pf_smg::BatchSchedule;

/// A setting of a solver, as its documentation describes it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name that users set it by.
    pub name: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// Its meaning.
    pub help: &'static str,
}

/// The values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number between two bounds.
    Count(usize, usize),
    /// A number between two bounds.
    Number(Bound<f64>, Bound<f64>),
    /// true or false.
    Flag,
    /// Rows per batch at step k, one schedule per objective.
    Batches,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(usize),
    /// A number.
    Number(f64),
    /// true or false.
    Flag(bool),
    /// Batch schedules.
    Batches(Vec<BatchSchedule>),
}

impl Kind {
    /// The rule for values.
    pub fn rule(&self) -> String {
        match *self {
            Self::Count(least, usize::MAX) => format!("at least {}", grouped(least)),
            Self::Count(least, most) => {
                format!("at least {} and at most {}", grouped(least), grouped(most))
            }
            Self::Number(low, high) => {
                let low = match low {
                    Included(low) => Some(format!("at least {}", written(low))),
                    Excluded(low) => Some(format!("above {}", written(low))),
                    Unbounded => None,
                };
                let high = match high {
                    Included(high) => Some(format!("at most {}", written(high))),
                    Excluded(high) => Some(format!("below {}", written(high))),
                    Unbounded => None,
                };
                let parts: Vec<String> = [low, high].into_iter().flatten().collect();
                parts.join(" and ")
            }
            Self::Flag => "true or false".into(),
            Self::Batches => "rows*growth, with at least 1 row and a growth above 0".into(),
        }
    }

    /// The form of a value as users type it.
    fn form(&self) -> String {
        match self {
            Self::Count(..) => "a whole number".into(),
            Self::Number(..) => "a number".into(),
            Self::Flag | Self::Batches => self.rule(),
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Self::Count(..) => text.parse().ok().map(Value::Count),
            Self::Number(..) => number(text).map(Value::Number),
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Batches => {
                let schedule = |text: &str| {
                    let (initial, growth) = text.split_once('*').unwrap_or((text, "1"));
                    Some(BatchSchedule {
                        initial: number(initial.trim())?,
                        growth: number(growth.trim())?,
                    })
                };
                let all: Option<Vec<_>> = text.split(',').map(schedule).collect();
                all.map(Value::Batches)
            }
        }
    }

    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Count(least, most), Value::Count(value)) => (least..=most).contains(&value),
            (Self::Number(low, high), Value::Number(value)) => {
                value.is_finite() && (*low, *high).contains(value)
            }
            (Self::Flag, Value::Flag(_)) => true,
            (Self::Batches, Value::Batches(all)) => {
                let holds = |batch: &BatchSchedule| {
                    let BatchSchedule { initial, growth } = *batch;
                    initial.is_finite() && initial >= 1.0 && growth.is_finite() && growth > 0.0
                };
                !all.is_empty() && all.iter().all(holds)
            }
            _ => false,
        }
    }
}

/// A finite number; JSON cannot represent any other.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Formats a bound for users.
fn written(number: f64) -> String {
    match number >= 1e4 && number.fract() == 0.0 {
        true => grouped(number as usize),
        false => Value::Number(number).to_string(),
    }
}

impl Value {
    /// The value for display, rounded to four decimals unless it is small.
    pub fn short(&self) -> String {
        match self {
            Self::Number(number) if number.abs() >= 1e-3 => {
                let rounded = (number * 1e4).round() / 1e4;
                rounded.to_string()
            }
            other => other.to_string(),
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) if number.abs() < 1e-3 && *number != 0.0 => {
                write!(f, "{number:e}")
            }
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Batches(all) => {
                let of = |batch: &BatchSchedule| format!("{}*{}", batch.initial, batch.growth);
                f.write_str(&all.iter().map(of).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Functions that read and write the field of a setting.
type Field<S> = (fn(&S) -> Value, fn(&mut S, Value));

/// A setting with the field that holds it.
pub struct Declared<S> {
    setting: Setting,
    get: fn(&S) -> Value,
    set: fn(&mut S, Value),
}

impl<S> Declared<S> {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        help: &'static str,
        (get, set): Field<S>,
    ) -> Self {
        let setting = Setting { name, kind, help };
        Self { setting, get, set }
    }

    fn check(&self, solver: &S) -> Result<(), Error> {
        let value = (self.get)(solver);
        match self.setting.kind.holds(&value) {
            true => Ok(()),
            false => wrong(
                self.setting.name,
                value.to_string(),
                self.setting.kind.rule(),
            ),
        }
    }
}

/// Functions that read and write a field: `field!(Count, points)`, or `field!(Count, |s| read, |s|
/// place)`.
macro_rules! field {
    ($kind:ident, $field:ident) => {
        field!($kind, |s| s.$field.clone(), |s| s.$field)
    };
    ($kind:ident, |$s:ident| $get:expr, |$t:ident| $place:expr) => {
        (
            |$s| $crate::setting::Value::$kind($get),
            |$t, value| {
                if let $crate::setting::Value::$kind(value) = value {
                    $place = value;
                }
            },
        )
    };
}
pub(crate) use field;

/// Declares the settings of a type.
pub trait Declares: Default + 'static {
    /// The requested number of points.
    const POINTS: Declared<Self>;
    /// The settings by name, in the order of the help text.
    const SETTINGS: &'static [Declared<Self>];

    /// Reports problems that involve several settings.
    fn check_together(&self, _n_params: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// The settings of a solver, by name.
pub trait Settings {
    /// Every setting, in the order of the help text.
    fn settings(&self) -> Vec<Setting>;
    /// The value of a setting.
    fn get(&self, name: &str) -> Option<Value>;
    /// The default value of a setting.
    fn default_of(&self, name: &str) -> Option<Value>;
    /// Sets one setting by its name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Error>;
    /// Checks all settings, for problems with this many parameters.
    fn check(&self, n_params: usize) -> Result<(), Error>;
    /// The requested number of points.
    fn points(&self) -> usize;
    /// Sets the requested number of points.
    fn set_points(&mut self, points: usize);
}

fn find<S: Declares>(name: &str) -> Option<&'static Declared<S>> {
    S::SETTINGS.iter().find(|d| d.setting.name == name)
}

impl<S: Declares> Settings for S {
    fn settings(&self) -> Vec<Setting> {
        S::SETTINGS
            .iter()
            .map(|declared| declared.setting)
            .collect()
    }

    fn get(&self, name: &str) -> Option<Value> {
        find::<S>(name).map(|declared| (declared.get)(self))
    }

    fn default_of(&self, name: &str) -> Option<Value> {
        S::default().get(name)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let Some(declared) = find::<S>(name) else {
            let rule = "one of this solver's settings".into();
            return wrong("the setting", name.into(), rule);
        };
        match declared.setting.kind.parse(value) {
            Some(value) => (declared.set)(self, value),
            None => {
                let rule = declared.setting.kind.form();
                return wrong("the value", value.into(), rule);
            }
        }
        Ok(())
    }

    fn check(&self, n_params: usize) -> Result<(), Error> {
        S::POINTS.check(self)?;
        S::SETTINGS
            .iter()
            .try_for_each(|declared| declared.check(self))?;
        self.check_together(n_params)
    }

    fn points(&self) -> usize {
        match (S::POINTS.get)(self) {
            Value::Count(points) => points,
            _ => 0,
        }
    }

    fn set_points(&mut self, points: usize) {
        (S::POINTS.set)(self, Value::Count(points));
    }
}

/// Returns an error about an invalid setting.
pub(crate) fn wrong(setting: &'static str, value: String, rule: String) -> Result<(), Error> {
    Err(Error::Setting {
        setting,
        value,
        rule,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnySolver, Weighted};

    #[test]
    fn defaults_are_valid_and_can_be_typed() {
        for solver in AnySolver::all() {
            solver.check(3).unwrap();
            for Setting { name, kind, help } in solver.settings() {
                let value = solver.get(name).unwrap();
                assert_eq!(solver.default_of(name), Some(value.clone()));
                assert!(kind.holds(&value), "{name} {value}");
                assert!(!help.is_empty());
                let mut changed = solver.clone();
                changed.set(name, &value.to_string()).unwrap();
                assert_eq!(changed.get(name), Some(value), "{name}");
            }
        }
    }

    /// The tables in docs/reference/solvers.md.
    fn tables() -> String {
        let table = |solver: AnySolver| {
            let head = format!("| `{}` | default | values | meaning |", solver.name());
            let row = |Setting { name, kind, help }: Setting| {
                let default = solver.get(name).unwrap().short();
                format!("| `{name}` | {default} | {} | {help} |", kind.rule())
            };
            let rows = solver.settings().into_iter().map(row);
            let lines = [head, "| --- | --- | --- | --- |".into()].into_iter();
            lines.chain(rows).collect::<Vec<_>>().join("\n")
        };
        format!("\n{}\n\n", AnySolver::all().map(table).join("\n\n"))
    }

    /// Set `FAIRFRONT_UPDATE=1` to write the tables.
    #[test]
    fn the_documentation_lists_every_setting() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/solvers.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let (start, end) = (
            "<!-- generated from the declarations of settings -->\n",
            "<!-- generated until here -->",
        );
        let from = page.find(start).unwrap() + start.len();
        let to = page.find(end).unwrap();
        let wanted = tables();
        if std::env::var_os("FAIRFRONT_UPDATE").is_some() {
            let page = [&page[..from], &wanted, &page[to..]].concat();
            std::fs::write(path, page).unwrap();
            return;
        }
        assert_eq!(
            &page[from..to],
            wanted,
            "set FAIRFRONT_UPDATE=1 to write the tables"
        );
    }

    #[test]
    fn names_are_unique() {
        for solver in AnySolver::all() {
            let mut names: Vec<&str> = solver.settings().iter().map(|s| s.name).collect();
            let n = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), n, "{}", solver.name());
        }
    }

    #[test]
    fn numbers_must_be_finite() {
        let mut weighted = Weighted::default();
        weighted.set("tolerance", "1e-308").unwrap();
        assert_eq!(weighted.get("tolerance"), Some(Value::Number(1e-308)));
        for text in ["inf", "-inf", "1e999", "nan", "x", ""] {
            assert!(weighted.set("tolerance", text).is_err(), "{text}");
        }
        assert!(weighted.set("sums", "1.5").is_err());
        weighted.tolerance = f64::NAN;
        assert!(weighted.check(1).is_err());
    }
}
