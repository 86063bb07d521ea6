//! Parses and checks the settings of an objective.

use fairfront_core::{Message, say};
use fairfront_data::near_names;

use crate::Error;
use crate::setting::OBJECTIVE;

/// The numbers that a setting accepts.
#[derive(Clone, Copy)]
pub(super) enum At {
    Least(f64),
    Above(f64),
    Between(f64, f64),
}

impl At {
    fn holds(self, number: f64) -> bool {
        match self {
            Self::Least(least) => number >= least,
            Self::Above(least) => number > least,
            Self::Between(low, high) => number > low && number < high,
        }
    }

    fn rule(self) -> String {
        match self {
            Self::Least(0.0) => "that is not negative".into(),
            Self::Least(least) => format!("of at least {least:e}"),
            Self::Above(least) => format!("above {least}"),
            Self::Between(low, high) => format!("above {low} and below {high}"),
        }
    }
}

/// The settings of an objective, taken one by one.
pub(super) struct Settings<'a> {
    text: &'a str,
    left: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl<'a> Settings<'a> {
    pub(super) fn new(text: &'a str, settings: Vec<(String, String)>) -> Result<Self, Error> {
        let of = Self {
            text,
            left: settings,
            known: Vec::new(),
        };
        for (i, (setting, _)) in of.left.iter().enumerate() {
            if of.left[..i].iter().any(|(other, _)| other == setting) {
                return Err(of.wrong(&format!("the setting {setting} is given twice; remove one")));
            }
        }
        Ok(of)
    }

    pub(super) fn wrong(&self, problem: &str) -> Error {
        self.refused(problem.into())
    }

    pub(super) fn refused(&self, problem: Message) -> Error {
        let text = self.text;
        Error::usage(say![OBJECTIVE, " {text:?}: ", problem])
    }

    pub(super) fn take(&mut self, setting: &'static str) -> Option<String> {
        self.known.push(setting);
        let at = self.left.iter().position(|(name, _)| name == setting)?;
        Some(self.left.remove(at).1)
    }

    pub(super) fn number(
        &mut self,
        setting: &'static str,
        at: At,
        to: &mut f64,
    ) -> Result<(), Error> {
        let Some(text) = self.take(setting) else {
            return Ok(());
        };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && at.holds(number) => {
                *to = number;
                Ok(())
            }
            _ => {
                let rule = at.rule();
                let message = format!("{setting} is {text}; choose a number {rule}");
                Err(self.wrong(&message))
            }
        }
    }

    pub(super) fn one_of<T: Copy>(
        &mut self,
        setting: &'static str,
        all: &[(&str, T)],
        to: &mut T,
    ) -> Result<(), Error> {
        let Some(text) = self.take(setting) else {
            return Ok(());
        };
        if let Some((_, value)) = all.iter().find(|(name, _)| *name == text) {
            *to = *value;
            return Ok(());
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        Err(self.wrong(&format!(
            "{setting} is {text}; choose {}",
            names.join(" or ")
        )))
    }

    /// Rejects settings that apply only together with another one.
    pub(super) fn only_with(&self, settings: &[&str], other: &str) -> Result<(), Error> {
        let given = |name: &&&str| self.left.iter().any(|(given, _)| given == **name);
        match settings.iter().find(given) {
            Some(name) => Err(self.wrong(&format!("{name} applies only to {other}; remove it"))),
            None => Ok(()),
        }
    }

    pub(super) fn all_taken(&self) -> Result<(), Error> {
        let Some((setting, _)) = self.left.first() else {
            return Ok(());
        };
        let near = near_names(setting, self.known.iter().copied());
        Err(self.wrong(&format!("unknown setting {setting:?}; {near}")))
    }
}
