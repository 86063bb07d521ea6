//! Distributions of predicted numbers, or shares of decisions between classes, by group, of the unmitigated and
//! another model.

use fairfront_core::Classes;
use fairfront_model::ModelId;
use fairfront_report::{Distribution, Distributions, Line, Share, SharePanel, Shares};

use super::{Figure, RunNumbers, UNMITIGATED, file_name};
use crate::distribution::{column, region};

/// The start of the names of figures of predicted numbers.
pub(super) const START: &str = "distribution-";
/// The start of the names of figures of classes.
pub(super) const CLASSES_START: &str = "decisions-";

/// A group, and numbers, each with the share of at most this number.
type Points<'a> = (&'a str, Vec<(f64, f64)>);

impl RunNumbers<'_> {
    /// One figure per attribute; none if the target is not a number. `model` is shown next to the unmitigated
    /// model, unless it is `None`.
    pub(super) fn distributions(&self, model: Option<ModelId>) -> Vec<Figure> {
        let attributes = (1..).zip(&self.run.groups.0);
        let figures = attributes.filter_map(|(number, (attribute, groups))| {
            let groups: Vec<&str> = groups.0.iter().map(|(group, _)| &group[..]).collect();
            let svg = self.distribution(attribute, &groups, model)?;
            let name = format!("{START}{number}-{}", file_name(attribute));
            Some(Figure { name, svg })
        });
        figures.collect()
    }

    /// One figure per attribute; none if the target has no classes. `model` is shown next to the unmitigated model,
    /// unless it is `None`.
    pub(super) fn decisions(&self, model: Option<ModelId>) -> Vec<Figure> {
        let Some(classes) = self.run.meaning.target.classes() else {
            return Vec::new();
        };
        let attributes = (1..).zip(&self.run.groups.0);
        let figures = attributes.map(|(number, (attribute, groups))| {
            let groups: Vec<&str> = groups.0.iter().map(|(group, _)| &group[..]).collect();
            let name = format!("{CLASSES_START}{number}-{}", file_name(attribute));
            let svg = self.decision_shares(attribute, &groups, classes, model);
            Figure { name, svg }
        });
        figures.collect()
    }

    fn decision_shares(
        &self,
        attribute: &str,
        groups: &[&str],
        classes: &Classes,
        model: Option<ModelId>,
    ) -> String {
        // Every decision is at least as high as the lowest class.
        let first = usize::from(classes.ordered);
        let compared = &classes.names[first..];
        let panel = |title: String, value: &dyn Fn(&str) -> Option<f64>| {
            let share = |class: &str, group: &str| {
                let name = self.measure(&format!("selection_rate[{class}]({attribute}={group})"));
                let end = |end: &str| value(&format!("{name}.{end}"));
                Some(Share {
                    value: value(&name)?,
                    interval: end("low").zip(end("high")),
                })
            };
            let of_class =
                |class: &String| groups.iter().map(|group| share(class, group)).collect();
            SharePanel {
                title,
                shares: compared.iter().map(of_class).collect(),
            }
        };
        let unmitigated = |name: &str| self.run.unmitigated.values.get(name).copied().flatten();
        let mut panels = vec![panel(UNMITIGATED.to_owned(), &unmitigated)];
        panels.extend(model.map(|id| {
            let value = |name: &str| *self.front.column(name)?.get(id.index())?;
            panel(format!("model {id}"), &value)
        }));
        let figure = Shares {
            title: self.title(&format!("decisions by {attribute}")),
            x: match classes.ordered {
                true => "share decided at least as high".into(),
                false => "share of decisions".into(),
            },
            classes: compared.iter().map(String::as_str).collect(),
            groups: groups.to_vec(),
            panels,
        };
        figure.to_svg()
    }

    fn distribution(
        &self,
        attribute: &str,
        groups: &[&str],
        model: Option<ModelId>,
    ) -> Option<String> {
        let unit = self.run.meaning.target.unit()?;
        let all = |share: &dyn Fn(&str, usize) -> Option<f64>| -> Vec<Points> {
            let of_group = |group: &str| -> Vec<(f64, f64)> {
                let region = region(attribute, group);
                let numbers = unit.thresholds.iter().map(|label| unit.number(*label));
                let points = numbers.enumerate();
                points
                    .filter_map(|(i, number)| Some((number, share(&region, i)?)))
                    .collect()
            };
            let shares = groups.iter().map(|group| (*group, of_group(group)));
            shares.filter(|(_, points)| !points.is_empty()).collect()
        };
        let target = all(&|region, i| {
            let shares = self.run.target_shares.as_ref()?.get(region)?;
            shares.as_ref()?.get(i).copied()
        });
        let unmitigated = all(&|region, i| {
            let values = &self.run.unmitigated.values;
            values.get(&column(i, Some(region))).copied().flatten()
        });
        let mut panels = vec![(UNMITIGATED.to_owned(), unmitigated)];
        panels.extend(model.map(|id| {
            let value = |region: &str, i: usize| {
                let values = self.front.column(&column(i, Some(region)))?;
                values.get(id.index()).copied().flatten()
            };
            (format!("model {id}"), all(&value))
        }));
        if panels.iter().all(|(_, groups)| groups.is_empty()) {
            return None;
        }
        let figure = Distributions {
            title: self.title(&format!("predictions by {attribute}")),
            x: self.run.spec.target.clone().unwrap_or_default(),
            target: lines(&target),
            panels: (panels.iter())
                .map(|(title, groups)| Distribution {
                    title: title.clone(),
                    groups: lines(groups),
                })
                .collect(),
        };
        Some(figure.to_svg())
    }
}

fn lines<'a>(all: &'a [Points]) -> Vec<Line<'a>> {
    all.iter()
        .map(|(name, points)| Line { name, points })
        .collect()
}
