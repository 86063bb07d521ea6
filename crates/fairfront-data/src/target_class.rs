//! Targets with more than two classes: which values are classes, and their order.

use fairfront_core::{Classes, MOST_CLASSES, Message, either, grouped, say, with};

use crate::category::{natural, same_value};
use crate::error::{Error, listed, near, quoted_list};
use crate::read::parse_number;
use crate::setting::{CLASSES, MERGE, NUMERIC, ORDER, POSITIVE, TARGET};
use crate::spec::Spec;
use crate::table::Diagnostic;
use crate::target::Present;

/// The number of training rows that each class needs. The penalty is chosen by cross-validation with 5 folds,
/// and each fold should have two rows of each class.
pub(crate) const LEAST_OF_CLASS: usize = 10;

impl Present<'_> {
    /// The classes of the target; `None` if it is binary.
    pub(crate) fn classes(
        &self,
        spec: &Spec,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Classes>, Error> {
        if !spec.positives().is_empty() {
            return Ok(None);
        }
        // Spellings of a number are neighbors, and the same class.
        let mut names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
        names.dedup_by(|next, name| same_value(name, next));
        let absent = spec.known_classes.iter();
        let absent = absent.filter(|class| !names.iter().any(|name| same_value(name, class)));
        if let Some(class) = absent.min_by(|a, b| natural(a, b)) {
            let problem = say!["no row has the class {class:?}"; "pass rows of all classes"];
            // Later rows of a stream may have it.
            return Err(Error::no_variation(self.target, problem));
        }
        let has_order = !spec.order.is_empty();
        if names.len() < 3 && !has_order {
            return Ok(None);
        }
        if names.len() > MOST_CLASSES {
            return Err(self.too_many(names.len(), spec));
        }
        if has_order {
            return self.ordered(&names, spec).map(Some);
        }
        if !spec.classes {
            let (target, n) = (self.target, names.len());
            diagnostics.push(Diagnostic::note(say![
                "{target:?} has {n} values, so models predict a class";
                "pass ", POSITIVE.is("VALUE"), " to predict one of them (repeat it for several)"
            ]));
        }
        Ok(Some(Classes {
            names: names.into_iter().map(Into::into).collect(),
            ordered: false,
        }))
    }

    fn too_many(&self, n: usize, spec: &Spec) -> Error {
        let n = grouped(n);
        let mut problem = say![
            "the target has {n} values, but models can predict at most {MOST_CLASSES} classes";
            "merge values", with(MERGE);
            "choose the values that count as positive", with(POSITIVE)
        ];
        if self.has_numbers() && !spec.merges.contains_key(self.target) {
            problem.push_remedy(say!["predict the number", with(NUMERIC)]);
        }
        problem.push_remedy(say!["choose another target"]);
        Error::column(self.target, problem)
    }

    /// The classes in the order of the spec, which must list each of them.
    fn ordered(&self, names: &[&str], spec: &Spec) -> Result<Classes, Error> {
        let mut classes: Vec<&str> = Vec::with_capacity(names.len());
        for wanted in &spec.order {
            let Some(found) = names.iter().find(|name| same_value(name, wanted)) else {
                return Err(self.unknown(wanted, names, spec));
            };
            classes.push(found);
        }
        let missing = names.iter().filter(|name| !classes.contains(name));
        let missing: Vec<&str> = missing.copied().collect();
        if !missing.is_empty() {
            let missing = quoted_list(&missing, 6);
            return Err(Error::column(
                self.target,
                say![
                    ORDER, " does not list these classes of the target: {missing}";
                    "add them in their place";
                    "merge them into other classes", with(MERGE)
                ],
            ));
        }
        Ok(Classes {
            names: classes.into_iter().map(Into::into).collect(),
            ordered: true,
        })
    }

    /// The error for a class of the order that does not occur.
    fn unknown(&self, wanted: &str, names: &[&str], spec: &Spec) -> Error {
        let mut problem = say!["no row has the class {wanted:?}, which ", ORDER, " lists; "];
        let merged = spec.merged(self.target, wanted);
        if merged != wanted {
            problem.push(say![MERGE, " merges it into {merged:?}"]);
            return Error::column(self.target, problem);
        }
        match near(wanted, names).as_slice() {
            [] => {
                problem.push(format!("available: {}", self.listed(6)));
                // Later rows of a stream may have it.
                return Error::no_variation(self.target, problem);
            }
            near => problem.push(format!("did you mean {}?", quoted_list(near, 3))),
        }
        Error::column(self.target, problem)
    }
}

/// Rejects classes with too few training rows.
pub(crate) fn check_rows(target: &str, classes: &Classes, rows: &[usize]) -> Result<(), Error> {
    let counts = classes.names.iter().zip(rows);
    let few: Vec<(&String, &usize)> = counts.filter(|(_, n)| **n < LEAST_OF_CLASS).collect();
    if few.is_empty() {
        return Ok(());
    }
    let shown = few
        .iter()
        .map(|(name, n)| format!("{name:?} ({})", grouped(**n)));
    let shown = listed(shown, 6);
    let mut problem = say![
        "each class of the target needs at least {LEAST_OF_CLASS} training rows, but some have fewer: {shown}";
        "merge them with other classes", with(MERGE);
        "remove their rows";
        "pass ", POSITIVE, " to predict one of the classes"
    ];
    let is_number = |name: &String| parse_number(name.as_bytes()).is_some();
    if classes.names.iter().all(is_number) {
        problem.push_remedy(say!["predict the number", with(NUMERIC)]);
    }
    Err(Error::no_variation(target, problem))
}

/// Rejects settings about classes that are wrong for any table.
pub(crate) fn check_spec(spec: &Spec) -> Result<(), Error> {
    let usage = |message: Message| Err(Error::Usage(message));
    if !spec.wants_classes() {
        return Ok(());
    }
    let setting = match spec.order.is_empty() {
        true => CLASSES,
        false => ORDER,
    };
    if spec.target.is_none() {
        return usage(say![setting, " needs ", TARGET]);
    }
    if spec.numeric {
        return usage(say![
            NUMERIC,
            " predicts the target as a number and ",
            setting,
            " as a class; choose one of them"
        ]);
    }
    if !spec.positives().is_empty() {
        return usage(say![
            POSITIVE,
            " predicts the target as two classes and ",
            setting,
            " as all of its classes; choose one of them"
        ]);
    }
    let n = spec.order.len();
    if n == 0 {
        return Ok(());
    }
    for (i, class) in spec.order.iter().enumerate() {
        if spec.order[..i]
            .iter()
            .any(|before| same_value(before, class))
        {
            return usage(say![
                ORDER,
                " lists the class {class:?} twice; remove one of them"
            ]);
        }
    }
    if n < 3 {
        return usage(say![
            ORDER, " lists fewer than three classes";
            "list all classes, from the lowest to the highest";
            "if there are two, choose the one that counts as positive", with(POSITIVE)
        ]);
    }
    if n > MOST_CLASSES {
        return usage(say![
            ORDER, " lists {n} classes, but models can predict at most {MOST_CLASSES}";
            "predict a number or two classes", with(either([NUMERIC, POSITIVE]));
            "merge classes", with(MERGE)
        ]);
    }
    Ok(())
}

/// The position of the class that a value stands for.
pub(crate) fn position(classes: &Classes, value: &str) -> Option<usize> {
    let exact = classes.position(value);
    let same = || {
        classes
            .names
            .iter()
            .position(|name| same_value(name, value))
    };
    exact.or_else(same)
}
