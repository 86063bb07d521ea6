//! The tables of the page of an audit, and how it shows numbers.

use fairfront_core::{grouped, readable};
use fairfront_report::{Prose, Table};

use super::page::Page;
use super::{AuditGroup, ComparedGroup, FourFifths, GroupsOfAttribute, TestUsed};

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

pub(super) fn number(shown: impl Into<String>, source: &str) -> Prose {
    Prose::default().number(shown, source)
}

pub(super) fn dash() -> Prose {
    "–".into()
}

pub(super) fn p_value(p: f64) -> String {
    match p < 1e-4 {
        true => "<0.0001".into(),
        false => format!("{p:.4}"),
    }
}

pub(super) fn equal_or_below(p: f64) -> String {
    match p < 1e-4 {
        true => "< 0.0001".into(),
        false => format!("= {p:.4}"),
    }
}

pub(super) fn rates([low, high]: [f64; 2]) -> String {
    format!("{:.1}–{}", 100.0 * low, percent(high))
}

/// A difference with its sign. Differences that round to zero have none.
pub(super) fn signed(difference: f64, digits: usize) -> String {
    let text = format!("{difference:+.digits$}");
    match text.trim_start_matches(['+', '-']) {
        zero if zero.chars().all(|c| c == '0' || c == '.') => zero.to_owned(),
        _ => text,
    }
}

/// A difference of rates in percentage points.
pub(super) fn points(difference: f64) -> String {
    signed(100.0 * difference, 1)
}

pub(super) fn point_interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed(100.0 * low, 1), signed(100.0 * high, 1))
}

pub(super) fn ratios([low, high]: [Option<f64>; 2]) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "∞".into(), |end| format!("{end:.3}"));
    format!("{}–{}", end(low), end(high))
}

impl Page<'_> {
    /// A table with one row per group; groups for which `cells` is `None` are left out.
    pub(super) fn table(
        &self,
        at: usize,
        attribute: &GroupsOfAttribute,
        caption: &str,
        head: &[&str],
        cells: impl Fn(&str, &AuditGroup, &str) -> Option<Vec<Prose>>,
    ) -> Table {
        let row = |(name, group): &(String, AuditGroup)| {
            let source = self.source(&format!("attributes[{at}].groups[{name:?}]"));
            let cells = cells(name, group, &source)?;
            Some(
                [Prose::from(name.clone())]
                    .into_iter()
                    .chain(cells)
                    .collect(),
            )
        };
        Table {
            caption: caption.into(),
            head: [attribute.name.as_str()]
                .iter()
                .chain(head)
                .map(|name| (*name).into())
                .collect(),
            rows: attribute.groups.0.iter().filter_map(row).collect(),
            text_columns: Vec::new(),
        }
    }

    pub(super) fn selection(&self, at: usize, attribute: &GroupsOfAttribute) -> Table {
        let interval = format!("{} interval", self.level());
        let head = [
            "Rows",
            "Share of rows",
            "Selected",
            "Selection rate",
            &interval,
        ];
        self.table(
            at,
            attribute,
            &format!("Selection rates by {}", attribute.name),
            &head,
            |_, group, source| {
                Some(vec![
                    number(grouped(group.rows), source),
                    number(percent(group.share), source),
                    number(grouped(group.selected), source),
                    optional(group.selection_rate, source, percent),
                    optional(group.selection_rate_interval, source, rates),
                ])
            },
        )
    }

    /// `None` if no group is compared.
    pub(super) fn comparison(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        let reference = attribute.reference.as_ref()?;
        let interval = format!("{} interval", self.level());
        let head = [
            "Impact ratio",
            &interval,
            "Four fifths",
            "p-value",
            "Test",
            "Significant",
        ];
        let caption = format!(
            "Adverse impact ratios by {}, compared with {reference}",
            attribute.name
        );
        let mut table = self.table(at, attribute, &caption, &head, |_, group, source| {
            let compared = group.compared.as_ref()?;
            Some(vec![
                optional(compared.adverse_impact_ratio, source, |ratio| {
                    format!("{ratio:.3}")
                }),
                optional(compared.adverse_impact_ratio_interval, source, ratios),
                verdict(compared).into(),
                optional(compared.p_value, source, p_value),
                match compared.test {
                    TestUsed::Fisher => "Fisher",
                    TestUsed::Score => "score",
                }
                .into(),
                match compared.significant {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "–",
                }
                .into(),
            ])
        });
        table.text_columns = vec![3, 5, 6];
        (!table.rows.is_empty()).then_some(table)
    }

    pub(super) fn size(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        let reference = attribute.reference.as_ref()?;
        let interval = format!("{} interval", self.level());
        let head = [
            "Difference (percentage points)",
            &interval,
            "Shortfall",
            "Odds ratio",
            &interval,
        ];
        let caption = format!(
            "Size of the differences by {} from {reference}",
            attribute.name
        );
        let table = self.table(at, attribute, &caption, &head, |_, group, source| {
            let compared = group.compared.as_ref()?;
            Some(vec![
                optional(compared.selection_rate_difference, source, points),
                optional(
                    compared.selection_rate_difference_interval,
                    source,
                    point_interval,
                ),
                optional(compared.shortfall, source, |n| format!("{n:.1}")),
                optional(compared.odds_ratio, source, |odds| format!("{odds:.3}")),
                optional(compared.odds_ratio_interval, source, ratios),
            ])
        });
        (!table.rows.is_empty()).then_some(table)
    }

    pub(super) fn errors(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        self.found.target.as_ref()?;
        let head = [
            "Rows with a target",
            "Base rate",
            "False negative rate",
            "False positive rate",
            "Accuracy",
        ];
        let caption = format!(
            "Error rates by {}, with {} intervals",
            attribute.name,
            self.level()
        );
        let with_interval =
            |rate: Option<f64>, interval: Option<[f64; 2]>, source: &str| match (rate, interval) {
                (Some(rate), Some(interval)) => {
                    number(format!("{} ({})", percent(rate), rates(interval)), source)
                }
                _ => dash(),
            };
        Some(
            self.table(at, attribute, &caption, &head, |_, group, source| {
                let errors = group.errors.as_ref()?;
                Some(vec![
                    number(grouped(errors.rows), source),
                    optional(errors.base_rate, source, percent),
                    with_interval(
                        errors.false_negative_rate,
                        errors.false_negative_rate_interval,
                        source,
                    ),
                    with_interval(
                        errors.false_positive_rate,
                        errors.false_positive_rate_interval,
                        source,
                    ),
                    with_interval(errors.accuracy, errors.accuracy_interval, source),
                ])
            }),
        )
    }

    pub(super) fn error_differences(
        &self,
        at: usize,
        attribute: &GroupsOfAttribute,
    ) -> Option<Table> {
        let reference = attribute.reference.as_ref()?;
        let head = ["False negative rate", "False positive rate", "Accuracy"];
        let caption = format!(
            "Differences of error rates by {} from {reference} in percentage points, with {} intervals",
            attribute.name,
            self.level()
        );
        let with_interval =
            |difference: Option<f64>, interval: Option<[f64; 2]>, source: &str| match (
                difference, interval,
            ) {
                (Some(own), Some(interval)) => number(
                    format!("{} ({})", points(own), point_interval(interval)),
                    source,
                ),
                _ => dash(),
            };
        let table = self.table(at, attribute, &caption, &head, |_, group, source| {
            let of = group.errors.as_ref()?.minus_reference.as_ref()?;
            Some(vec![
                with_interval(
                    of.false_negative_rate,
                    of.false_negative_rate_interval,
                    source,
                ),
                with_interval(
                    of.false_positive_rate,
                    of.false_positive_rate_interval,
                    source,
                ),
                with_interval(of.accuracy, of.accuracy_interval, source),
            ])
        });
        (!table.rows.is_empty()).then_some(table)
    }

    pub(super) fn scores(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        self.found.overall.scores.as_ref()?;
        let has_target = self.found.target.is_some();
        let area = format!("AUC ({} interval)", self.level());
        let mut head = vec!["Mean score", "Standardized mean difference"];
        if has_target {
            head.extend([area.as_str(), "AUC difference", "KS"]);
        }
        Some(self.table(
            at,
            attribute,
            &format!("Scores by {}", attribute.name),
            &head,
            |_, group, source| {
                let of = group.scores.as_ref()?;
                let mut cells = vec![
                    optional(of.mean, source, readable),
                    optional(of.standardized_mean_difference, source, |d| {
                        format!("{d:+.3}")
                    }),
                ];
                if has_target {
                    let area = match (of.auc, of.auc_interval) {
                        (Some(area), Some([low, high])) => {
                            number(format!("{area:.3} ({low:.3}–{high:.3})"), source)
                        }
                        (area, _) => optional(area, source, |area| format!("{area:.3}")),
                    };
                    let difference = match (of.auc_difference, of.auc_difference_interval) {
                        (Some(d), Some([low, high])) => number(
                            format!(
                                "{} ({} to {})",
                                signed(d, 3),
                                signed(low, 3),
                                signed(high, 3)
                            ),
                            source,
                        ),
                        _ => dash(),
                    };
                    cells.extend([
                        area,
                        difference,
                        optional(of.ks, source, |ks| format!("{ks:.3}")),
                    ]);
                }
                Some(cells)
            },
        ))
    }

    pub(super) fn at_shares(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        let (first, reference) = (
            attribute.at_selection_rates.first()?,
            attribute.reference.as_ref()?,
        );
        let source = self.source(&format!("attributes[{at}].at_selection_rates"));
        let shares = attribute.at_selection_rates.iter();
        let head = shares.map(|at| format!("{}%", readable(100.0 * at.selected_share)));
        let groups = first.groups.0.iter().filter(|(name, _)| name != reference);
        let rows: Vec<Vec<Prose>> = groups
            .map(|(name, _)| {
                let ratios = attribute.at_selection_rates.iter().map(|at| {
                    let ratio = at.groups.get(name).and_then(|of| of.adverse_impact_ratio);
                    optional(ratio, &source, |ratio| format!("{ratio:.3}"))
                });
                [Prose::from(name.clone())]
                    .into_iter()
                    .chain(ratios)
                    .collect()
            })
            .collect();
        (!rows.is_empty()).then(|| Table {
            caption: format!(
                "Impact ratios by {} compared with {reference}, if exactly this share of all rows is \
                 selected, from the highest score",
                attribute.name
            )
            .into(),
            head: [attribute.name.clone()].into_iter().chain(head).collect(),
            rows,
            text_columns: Vec::new(),
        })
    }

    pub(super) fn deciles(&self, at: usize, attribute: &GroupsOfAttribute) -> Option<Table> {
        let first = attribute.deciles.first()?;
        let source = self.source(&format!("attributes[{at}].deciles"));
        let names = first.shares.0.iter().map(|(name, _)| name.clone());
        let has_unknown = attribute.unknown.rows > 0;
        let row = |decile: &super::Decile| {
            let shares = decile
                .shares
                .0
                .iter()
                .map(|(_, share)| number(percent(*share), &source));
            let unknown = has_unknown.then(|| number(percent(decile.unknown_share), &source));
            let [low, high] = decile.scores;
            let scores = number(format!("{} to {}", readable(high), readable(low)), &source);
            [Prose::from(decile.decile.to_string()), scores]
                .into_iter()
                .chain(shares)
                .chain(unknown)
                .collect()
        };
        Some(Table {
            caption: format!(
                "Share of each group by {} in each tenth of all rows, from the highest scores",
                attribute.name
            )
            .into(),
            head: ["Decile".to_owned(), "Scores".to_owned()]
                .into_iter()
                .chain(names)
                .chain(has_unknown.then(|| "unknown".to_owned()))
                .collect(),
            rows: attribute.deciles.iter().map(row).collect(),
            text_columns: Vec::new(),
        })
    }
}

pub(super) fn optional<T>(value: Option<T>, source: &str, shown: impl Fn(T) -> String) -> Prose {
    value.map_or_else(dash, |value| number(shown(value), source))
}

pub(super) fn verdict(compared: &ComparedGroup) -> &'static str {
    match compared.four_fifths {
        Some(FourFifths::Below) => "below four fifths",
        Some(FourFifths::AtOrAbove) => "at or above four fifths",
        Some(FourFifths::TooFewRows) => "too few rows to tell",
        None => "undefined",
    }
}
