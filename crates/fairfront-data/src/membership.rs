//! Probabilities of the groups of people, such as those that names and places of residence give.
//!
//! A person becomes one encoded row per group with a probability above 0, with the weight of the person times the
//! probability; the rest up to 1 is a row of unknown group. Several attributes multiply their probabilities, as if
//! their groups were independent given the columns that the probabilities were estimated from.

use fairfront_core::{Dataset, UNKNOWN_GROUP, grouped, say};
use serde::{Deserialize, Serialize};

use crate::encoder::Unseen;
use crate::encoding::{Encoding, RowFacts};
use crate::error::{Error, Place};
use crate::group::AttributeRule;
use crate::number::Numbers;
use crate::prepare::Prepared;
use crate::setting::{SENSITIVE_PROBABILITY, TARGET};
use crate::split::Part;

use crate::table::{Diagnostic, Table};

/// Probabilities of a person may miss the sum 1 by this much per group, because files round them.
const TOLERANCE: f64 = 1e-6;

/// A group whose probability is a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupColumn {
    /// The name of the group.
    pub group: String,
    /// The column with its probability.
    pub column: String,
}

/// The probabilities of the groups of an attribute, for some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Memberships {
    n_groups: usize,
    /// Row by row; zeros if they are missing.
    shares: Vec<f64>,
    /// Rows with a missing probability.
    n_missing: usize,
    /// Other rows whose probabilities sum to less than 1.
    n_below: usize,
}

impl Memberships {
    /// Reads the probabilities of these rows, and rejects wrong ones. `place` is the origin of a row.
    pub fn read(
        rule: &AttributeRule,
        table: &Table,
        rows: impl Iterator<Item = u32>,
        place: &dyn Fn(usize) -> Place,
    ) -> Result<Self, Error> {
        let columns = rule.probabilities.iter().map(|name| {
            let column = table.require(name, SENSITIVE_PROBABILITY)?;
            column.numeric().ok_or_else(|| {
                Error::column(
                    name,
                    "probabilities of a group must be numbers; fix the values, or choose another column",
                )
            })
        });
        let columns: Vec<&Numbers> = columns.collect::<Result<_, Error>>()?;
        let n_groups = columns.len();
        let tolerance = TOLERANCE * n_groups as f64;
        let (mut shares, mut n_missing, mut n_below) = (Vec::new(), 0, 0);
        for row in rows {
            let row = row as usize;
            let own = shares.len();
            shares.extend(columns.iter().map(|column| column.get(row)));
            let own = &mut shares[own..];
            let wrong = |at: usize, problem: String| Error::Cell {
                place: place(row),
                column: rule.probabilities[at].clone(),
                problem: problem.into(),
            };
            let is_wrong = |p: &f64| !p.is_nan() && !(0.0..=1.0).contains(p);
            if let Some(at) = own.iter().position(is_wrong) {
                let problem = format!(
                    "the probability of the group {:?} is {}; use a number from 0 to 1",
                    rule.attribute.groups[at], own[at]
                );
                return Err(wrong(at, problem));
            }
            if own.iter().any(|p| p.is_nan()) {
                own.fill(0.0);
                n_missing += 1;
                continue;
            }
            let sum: f64 = own.iter().sum();
            if sum > 1.0 + tolerance {
                let problem = format!(
                    "the probabilities of the groups of {:?} sum to {sum} in this row, but they must not \
                     exceed 1; divide them by their sum, or remove a column",
                    rule.attribute.name
                );
                return Err(wrong(0, problem));
            }
            if sum < 1.0 - tolerance {
                n_below += 1;
            } else {
                own.iter_mut().for_each(|p| *p /= sum);
            }
        }
        Ok(Self {
            n_groups,
            shares,
            n_missing,
            n_below,
        })
    }

    /// The groups of a row with their probabilities above 0, and the rest as [`UNKNOWN_GROUP`].
    pub fn of(&self, position: usize) -> impl Iterator<Item = (u32, f64)> {
        let own = &self.shares[position * self.n_groups..(position + 1) * self.n_groups];
        let sum: f64 = own.iter().sum();
        // Smaller rests are rounding: probabilities within the tolerance were divided by their sum.
        let rest = 1.0 - sum;
        let rest = (rest > 0.5 * TOLERANCE).then_some((UNKNOWN_GROUP, rest));
        let known = (0..).zip(own.iter().copied());
        known.filter(|(_, p)| *p > 0.0).chain(rest)
    }

    /// The warning that figures by group are about weighted rates, with the number of rows whose group is unknown.
    pub(crate) fn warning(&self, rule: &AttributeRule) -> Diagnostic {
        let name = &rule.attribute.name;
        let columns: Vec<String> = rule
            .probabilities
            .iter()
            .map(|c| format!("{c:?}"))
            .collect();
        let mut message = say![format!(
            "the groups of {name:?} are estimated: every figure by group is weighted by the probabilities in {}, \
             and differs from the figure of the true groups if outcomes and true groups are related among people \
             with the same probabilities; nothing is certified for true groups, and these columns are not features",
            columns.join(", ")
        )];
        if self.n_missing > 0 {
            message.push(format!(
                "; rows of unknown group, because a probability is missing: {}",
                grouped(self.n_missing)
            ));
        }
        if self.n_below > 0 {
            message.push(format!(
                "; rows with probabilities that sum to less than 1, whose rest counts as an unknown group: {}",
                grouped(self.n_below)
            ));
        }
        Diagnostic::warning(message)
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.shares.len() * size_of::<f64>()) as u64
    }

    /// Keeps these positions.
    pub(crate) fn select(&mut self, kept: &[u32]) {
        let own = |position: &u32| {
            let start = *position as usize * self.n_groups;
            &self.shares[start..start + self.n_groups]
        };
        self.shares = kept.iter().flat_map(own).copied().collect();
    }
}

/// The encoded rows of some people: for each, the position of the person, its weight and its groups.
struct CopiedRows {
    positions: Vec<u32>,
    weights: Vec<f64>,
    groups: Vec<Vec<u32>>,
    /// The person of each row, from 0.
    people: Vec<u32>,
}

impl Prepared {
    /// Whether the groups of an attribute are only estimated.
    pub fn has_estimated(&self) -> bool {
        self.memberships.iter().any(Option::is_some)
    }

    /// The groups that a row counts in, with the share of its weight.
    pub(crate) fn members(
        &self,
        attribute: usize,
        position: usize,
    ) -> impl Iterator<Item = (u32, f64)> {
        let memberships = self.memberships.get(attribute).and_then(Option::as_ref);
        let known = match memberships {
            Some(_) => None,
            None => Some((self.groups[attribute][position], 1.0)),
        };
        let estimated = memberships.into_iter().flat_map(move |m| m.of(position));
        known.into_iter().chain(estimated)
    }

    /// Reads the probabilities of the rows in use, once their groups are known.
    pub(crate) fn read_memberships(&mut self) -> Result<(), Error> {
        for rule in &self.attributes {
            if !rule.is_estimated() {
                self.memberships.push(None);
                continue;
            }
            if self
                .target
                .as_ref()
                .is_some_and(crate::target::TargetRule::is_number)
            {
                return Err(Error::Usage(say![
                    SENSITIVE_PROBABILITY.of(&rule.attribute.name),
                    ": the target is a number, and probabilities of groups work only with decisions";
                    "choose another ", TARGET
                ]));
            }
            let (table, rows) = (&self.table, self.rows.iter().copied());
            let found = Memberships::read(rule, table, rows, &|row| table.place(row))?;
            if found.n_missing == self.rows.len() {
                return Err(Error::no_variation(
                    &rule.attribute.name,
                    "every row lacks a probability of its groups; fix the columns",
                ));
            }
            self.diagnostics.push(found.warning(rule));
            self.memberships.push(Some(found));
        }
        Ok(())
    }

    /// The position of the person of each encoded row of a split.
    pub fn encoded_positions(&self, part: Part) -> Vec<u32> {
        match self.has_estimated() {
            false => self.split.part(part).to_vec(),
            true => self.copied(self.split.part(part)).positions,
        }
    }

    /// The encoded rows of these people.
    fn copied(&self, positions: &[u32]) -> CopiedRows {
        let mut rows = CopiedRows {
            positions: Vec::with_capacity(2 * positions.len()),
            weights: Vec::with_capacity(2 * positions.len()),
            groups: vec![Vec::with_capacity(2 * positions.len()); self.groups.len()],
            people: Vec::with_capacity(2 * positions.len()),
        };
        let mut combinations: Vec<(Vec<u32>, f64)> = Vec::new();
        for (person, &position) in (0..).zip(positions) {
            let at = position as usize;
            combinations.clear();
            combinations.push((Vec::with_capacity(self.groups.len()), 1.0));
            for attribute in 0..self.groups.len() {
                let wider = combinations.iter().flat_map(|(groups, share)| {
                    self.members(attribute, at).map(move |(group, own)| {
                        let mut groups = groups.clone();
                        groups.push(group);
                        (groups, share * own)
                    })
                });
                combinations = wider.collect();
            }
            for (groups, share) in &combinations {
                rows.positions.push(position);
                rows.weights.push(self.weights[at] * share);
                rows.people.push(person);
                for (all, group) in rows.groups.iter_mut().zip(groups) {
                    all.push(*group);
                }
            }
        }
        rows
    }

    /// Number of encoded rows.
    pub(crate) fn n_encoded(&self) -> usize {
        if !self.has_estimated() {
            return self.n_rows();
        }
        let of_row = |position: usize| -> usize {
            let attributes = 0..self.groups.len();
            attributes
                .map(|a| self.members(a, position).count())
                .product()
        };
        (0..self.n_rows()).map(of_row).sum()
    }

    /// Encodes these people, one row per group that they may belong to.
    pub(crate) fn encode_copies(
        &self,
        encoding: &Encoding,
        positions: &[u32],
    ) -> Result<(Dataset, Vec<Unseen>), Error> {
        let copied = self.copied(positions);
        let row = |position: &u32| self.rows[*position as usize];
        let rows: Vec<u32> = copied.positions.iter().map(row).collect();
        let label = |position: &u32| self.standardized(*position as usize);
        let facts = RowFacts {
            labels: copied.positions.iter().map(label).collect(),
            groups: copied.groups,
            weights: copied.weights,
        };
        let encoder = encoding.encoder(&self.table)?;
        let people: Vec<u32> = positions.iter().map(row).collect();
        let dataset = encoder.encode(&rows, &facts)?;
        Ok((dataset.with_people(copied.people)?, encoder.unseen(&people)))
    }
}

#[cfg(test)]
mod tests {
    use fairfront_core::RowSource;

    use super::*;

    use crate::{Column, Encoded, Spec, SplitRule};

    fn table(p: [&[f64]; 3]) -> Table {
        let n = p[0].len();
        let numbers = |name: &str, values: &[f64]| Column::from_numbers(name, values.to_vec());
        let labels = (0..n).map(|row| Some(["no", "yes"][row % 2]));
        let columns = vec![
            numbers("x", &(0..n).map(|row| row as f64).collect::<Vec<_>>()),
            Column::from_strings("y", labels),
            numbers("p", p[0]),
            numbers("q", p[1]),
            numbers("r", p[2]),
        ];
        Table::from_columns("rows", columns)
    }

    fn spec() -> Spec {
        let mut spec = Spec {
            target: Some("y".into()),
            positive: Some("yes".into()),
            split: SplitRule::None,
            ..Spec::default()
        };
        let groups = [("c", "r"), ("a", "p"), ("b", "q")].map(|(group, column)| GroupColumn {
            group: group.into(),
            column: column.into(),
        });
        spec.add_probabilities("g", groups.to_vec()).unwrap();
        spec
    }

    const P: [&[f64]; 3] = [
        &[0.5, 1.0, 0.25, f64::NAN, 0.333_333],
        &[0.5, 0.0, 0.25, 0.5, 0.333_333],
        &[0.0, 0.0, 0.25, 0.5, 0.333_333],
    ];

    #[test]
    fn people_become_one_row_per_group() {
        let prepared = Prepared::new(table(P), &spec(), &[]).unwrap();
        assert_eq!(prepared.attributes[0].attribute.groups, ["a", "b", "c"]);
        assert_eq!(prepared.attributes[0].probabilities, ["p", "q", "r"]);
        let of = |position| prepared.members(0, position).collect::<Vec<_>>();
        assert_eq!(of(0), [(0, 0.5), (1, 0.5)]);
        assert_eq!(of(1), [(0, 1.0)]);
        assert_eq!(
            of(2),
            [(0, 0.25), (1, 0.25), (2, 0.25), (UNKNOWN_GROUP, 0.25)]
        );
        assert_eq!(of(3), [(UNKNOWN_GROUP, 1.0)]);
        // Rounded probabilities sum to 1 again.
        let sum: f64 = of(4).iter().map(|(_, share)| share).sum();
        assert!(of(4).len() == 3 && (sum - 1.0).abs() < 1e-15);
        assert_eq!(prepared.n_encoded(), 11);
        let encoded = Encoded::new(&prepared).unwrap();
        let rows = encoded.part(Part::Train);
        assert_eq!((rows.n_rows(), rows.n_people()), (11, 5));
        assert_eq!(
            rows.schema().numeric,
            ["x"],
            "probabilities are not features"
        );
        let block = rows.block(0).unwrap();
        assert!((block.weights().iter().sum::<f64>() - 5.0).abs() < 1e-12);
        let positions = prepared.encoded_positions(Part::Train);
        assert_eq!(positions.len(), 11);
        let warning = prepared.diagnostics.last().map(|d| d.message.to_string());
        let warning = warning.unwrap_or_default();
        assert!(
            warning.contains("because a probability is missing: 1"),
            "{warning}"
        );
        assert!(
            warning.contains("counts as an unknown group: 1"),
            "{warning}"
        );
    }

    #[test]
    fn wrong_probabilities_are_rejected_with_their_place() {
        let error = |p: [&[f64]; 3]| {
            let found = Prepared::new(table(p), &spec(), &[]);
            found.unwrap_err().to_string()
        };
        let low = error([&[0.5, -0.5], &[0.5, 0.5], &[0.0, 0.0]]);
        assert!(
            low.contains("row 2") && low.contains("\"p\"") && low.contains("is -0.5"),
            "{low}"
        );
        let high = error([&[0.5, 0.5], &[0.5, 0.5], &[0.0, 0.1]]);
        assert!(
            high.contains("row 2") && high.contains("must not exceed 1"),
            "{high}"
        );
        let none = error([&[f64::NAN, 0.5], &[0.5, f64::NAN], &[0.0, 0.1]]);
        assert!(none.contains("every row lacks a probability"), "{none}");
    }

    #[test]
    fn settings_about_estimated_groups_are_checked() {
        let error = |change: &dyn Fn(&mut Spec)| {
            let mut spec = spec();
            change(&mut spec);
            spec.check().unwrap_err().to_string()
        };
        assert!(error(&|s| s.pool_groups = 5).contains("add up the columns"));
        assert!(error(&|s| s.balance = Some(vec!["g".into()])).contains("cannot be balanced"));
        assert!(error(&|s| s.sensitive.push(vec!["g".into(), "x".into()])).contains("already"));
        assert!(error(&|s| s.weight = Some("p".into())).contains("cannot be both"));
        let columns = |s: &mut Spec, n: usize| {
            let groups = s.probabilities.get_mut("g").unwrap();
            groups.truncate(n);
        };
        assert!(error(&|s| columns(s, 1)).contains("expected from 2 to 20 groups"));
        let all = |s: &mut Spec| {
            for name in ["h", "i"] {
                let groups = ["j", "k"].map(|column| GroupColumn {
                    group: column.into(),
                    column: format!("{name}{column}"),
                });
                s.add_probabilities(name, groups.to_vec()).unwrap();
            }
        };
        assert!(error(&all).contains("3 attributes have estimated groups"));
        assert!(spec().add_probabilities("g", Vec::new()).is_err());
        assert!(spec().needs_known_groups("a stream").is_err());
        assert!(Spec::default().needs_known_groups("a stream").is_ok());
    }
}
