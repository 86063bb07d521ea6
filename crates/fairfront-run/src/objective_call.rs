//! Parses the call syntax of objectives.

use fairfront_data::Error;
use fairfront_data::grammar::Scanner;

/// The parsed call of an objective or a measure: `name(attribute, setting=value, …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectiveCall {
    /// The name before the parenthesis.
    pub name: String,
    /// Columns of the attribute; empty if the call names no attribute.
    pub attribute: Vec<String>,
    /// Settings in the order given.
    pub settings: Vec<(String, String)>,
}

impl ObjectiveCall {
    /// Parses `name`, `name(attribute)` or `name(attribute, setting=value, …)`; the attribute may
    /// be an intersection, `sex:race`.
    ///
    /// ```
    /// use fairfront_run::ObjectiveCall;
    /// let call = ObjectiveCall::parse("demographic_parity(sex:race, tau=0.03)").unwrap();
    /// assert_eq!(call.attribute, ["sex", "race"]);
    /// assert_eq!(call.settings, [("tau".to_owned(), "0.03".to_owned())]);
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut scanner = Scanner::new(text);
        let mut call = Self {
            name: scanner.name()?,
            attribute: Vec::new(),
            settings: Vec::new(),
        };
        if scanner.take('(') {
            while !scanner.take(')') {
                call.argument(&mut scanner)?;
                if scanner.take(')') {
                    break;
                }
                if !scanner.take(',') {
                    return Err(scanner.fail(
                        "expected ')'; put a name that contains one of , = : ( ) < > in double quotes",
                    ));
                }
            }
        }
        scanner.finish()?;
        Ok(call)
    }

    /// Reads a setting, or the attribute if it comes first.
    fn argument(&mut self, scanner: &mut Scanner) -> Result<(), Error> {
        let before = scanner.clone();
        let name = scanner.name()?;
        if scanner.take('=') {
            self.settings.push((name, scanner.name()?));
        } else if self.attribute.is_empty() && self.settings.is_empty() {
            self.attribute.push(name);
            while scanner.take(':') {
                self.attribute.push(scanner.name()?);
            }
        } else {
            let problem =
                "expected setting=value; put a name that contains a comma in double quotes";
            return Err(before.fail(problem));
        }
        Ok(())
    }
}
