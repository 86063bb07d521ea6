//! Distributions of predicted numbers by group, of the unmitigated and another model.

use fairfront_model::ModelId;
use fairfront_report::{Distribution, Distributions, Line};

use super::{Figure, RunNumbers, UNMITIGATED, file_name};
use crate::distribution::{column, region};

/// The start of the names of these figures.
pub(super) const START: &str = "distribution-";

/// A group, and numbers, each with the share of at most this number.
type Shares<'a> = (&'a str, Vec<(f64, f64)>);

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

    fn distribution(
        &self,
        attribute: &str,
        groups: &[&str],
        model: Option<ModelId>,
    ) -> Option<String> {
        let unit = self.run.meaning.target.unit()?;
        let all = |share: &dyn Fn(&str, usize) -> Option<f64>| -> Vec<Shares> {
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

fn lines<'a>(all: &'a [Shares]) -> Vec<Line<'a>> {
    all.iter()
        .map(|(name, points)| Line { name, points })
        .collect()
}
