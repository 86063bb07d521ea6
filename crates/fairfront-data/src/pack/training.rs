//! Passes over the training rows: counts of classes, groups and categories, and the scales of numbers.

use fairfront_core::ExactSum;
use rustc_hash::FxHashMap;

use super::keys::Keys;
use super::numbers::NumberFacts;
use super::order::Order;
use super::spool::Spool;
use super::survey::{each_chunk, sieved};
use super::{PackProgress, PackStage};
use crate::encoding::Encoding;
use crate::error::Error;
use crate::fit::{self, Center, Fitted, NumericSummary, Rule};
use crate::group::AttributeRule;
use crate::memory::MemoryLimit;
use crate::number::Numbers;
use crate::prepare::Prepared;
use crate::prepare::check::ClassSums;
use crate::proxy::{self, Proxy};
use crate::rule::{NumericRule, too_large};
use crate::spec::{Scale, Spec};
use crate::split::{Part, Split};
use crate::table::{Column, Diagnostic, Table, Values};
use crate::target::{TargetKind, TargetPlan};
use crate::target_number::TargetSums;

/// The rules for the rows of a chunk, before they are encoded.
pub(crate) struct Rows<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) target: &'a TargetPlan,
    pub(crate) attributes: &'a [AttributeRule],
    pub(crate) keys: &'a [Keys],
    pub(crate) order: &'a Order,
}

/// The rows in use of a chunk.
pub(crate) struct ChunkRows {
    pub(crate) rows: Vec<u32>,
    pub(crate) weights: Vec<f64>,
    /// ±1, positions of classes, or numbers in the unit of the table.
    pub(crate) labels: Vec<f64>,
    pub(crate) groups: Vec<Vec<u32>>,
}

impl Rows<'_> {
    /// Whether a label is +1; never unless the target is binary.
    fn is_positive(&self, label: f64) -> bool {
        self.target.is_binary() && label > 0.0
    }

    pub(crate) fn of(&self, table: &Table) -> Result<ChunkRows, Error> {
        let sieved = sieved(table, self.spec, self.attributes)?;
        let groups = self.keys.iter().zip(self.attributes);
        let groups = groups.map(|(keys, rule)| keys.groups(rule, table, &sieved.rows));
        Ok(ChunkRows {
            labels: self.target.labels(table, &sieved.rows)?,
            groups: groups.collect::<Result<_, Error>>()?,
            rows: sieved.rows,
            weights: sieved.weights,
        })
    }
}

/// Counts and sums of the feature columns, by name.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    numeric: FxHashMap<String, NumericSummary>,
    /// Rows of each category by split, and training rows without a category.
    categorical: FxHashMap<String, ([Vec<usize>; 4], usize)>,
}

impl Columns {
    /// The rows of each category in a split.
    pub(crate) fn counts(&self, column: &str, part: Part) -> Option<&Vec<usize>> {
        let found = self.categorical.get(column);
        found.map(|(counts, _)| &counts[part as usize])
    }

    fn of(table: &Table, spec: &Spec, rows: &ChunkRows, parts: &[Part]) -> Self {
        let mut columns = Self::default();
        for column in table.columns() {
            if !spec.is_feature(&column.name) {
                continue;
            }
            match &column.values {
                Values::Numeric(numbers) => {
                    let mut summary = NumericSummary::default();
                    for ((row, weight), part) in rows.rows.iter().zip(&rows.weights).zip(parts) {
                        if *part == Part::Train {
                            summary.add(numbers.get(*row as usize), *weight);
                        }
                    }
                    columns.numeric.insert(column.name.clone(), summary);
                }
                Values::Categorical {
                    codes, categories, ..
                } => {
                    let mut counts: [Vec<usize>; 4] = [(); 4].map(|()| vec![0; categories.len()]);
                    let mut n_missing = 0;
                    for (row, part) in rows.rows.iter().zip(parts) {
                        let code = codes[*row as usize] as usize;
                        match counts[*part as usize].get_mut(code) {
                            Some(count) => *count += 1,
                            None => n_missing += usize::from(*part == Part::Train),
                        }
                    }
                    let name = column.name.clone();
                    columns.categorical.insert(name, (counts, n_missing));
                }
                Values::LeftOut(_) => {}
            }
        }
        columns
    }

    fn merge(&mut self, other: Self) {
        for (name, summary) in other.numeric {
            self.numeric.entry(name).or_default().merge(&summary);
        }
        for (name, (counts, n_missing)) in other.categorical {
            match self.categorical.get_mut(&name) {
                None => {
                    self.categorical.insert(name, (counts, n_missing));
                }
                Some((all, total)) => {
                    *total += n_missing;
                    for (all, more) in all.iter_mut().zip(counts) {
                        for (count, more) in all.iter_mut().zip(more) {
                            *count += more;
                        }
                    }
                }
            }
        }
    }
}

/// Evenly chosen rows in use, in memory.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The values of each column of the table.
    columns: Vec<Values>,
    weights: Vec<f64>,
    groups: Vec<Vec<u32>>,
}

impl Sample {
    /// Every `step`-th row in use, where `first` are in use before the chunk.
    fn of(table: &Table, rows: &ChunkRows, first: usize, step: usize) -> Self {
        let start = first.next_multiple_of(step) - first;
        let picked: Vec<usize> = (start..rows.rows.len()).step_by(step).collect();
        let values = |column: &Column| match &column.values {
            Values::Numeric(numbers) => {
                let number = |i: &usize| numbers.get(rows.rows[*i] as usize);
                Values::Numeric(picked.iter().map(number).collect::<Vec<_>>().into())
            }
            Values::Categorical { codes, .. } => Values::Categorical {
                codes: picked
                    .iter()
                    .map(|i| codes[rows.rows[*i] as usize])
                    .collect(),
                categories: Vec::new(),
                boolean: false,
            },
            Values::LeftOut(reason) => Values::LeftOut(*reason),
        };
        let groups = rows.groups.iter();
        Self {
            columns: table.columns().iter().map(values).collect(),
            weights: picked.iter().map(|i| rows.weights[*i]).collect(),
            groups: groups
                .map(|groups| picked.iter().map(|i| groups[*i]).collect())
                .collect(),
        }
    }

    fn merge(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        for (all, more) in self.columns.iter_mut().zip(other.columns) {
            match (all, more) {
                (Values::Numeric(Numbers::Own(all)), Values::Numeric(more)) => {
                    all.extend(more.iter());
                }
                (
                    Values::Categorical { codes: all, .. },
                    Values::Categorical { codes: more, .. },
                ) => all.extend(more),
                _ => {}
            }
        }
        self.weights.extend(other.weights);
        for (all, more) in self.groups.iter_mut().zip(other.groups) {
            all.extend(more);
        }
    }

    /// Measures how well the features of these rows predict the attributes.
    pub(crate) fn proxies(
        self,
        head: &Table,
        spec: &Spec,
        attributes: &[AttributeRule],
        code_of: &[Option<Vec<u32>>],
        encoding: &Encoding,
    ) -> Result<Vec<Proxy>, Error> {
        let n_rows = self.weights.len();
        let columns = head.columns().iter().zip(self.columns);
        let columns = columns.map(|(head, values)| Column {
            name: head.name.clone(),
            values: match (values, &head.values) {
                (
                    Values::Categorical { codes, .. },
                    Values::Categorical {
                        categories,
                        boolean,
                        ..
                    },
                ) => Values::Categorical {
                    codes,
                    categories: categories.clone(),
                    boolean: *boolean,
                },
                (values, _) => values,
            },
            n_missing: 0,
            date: head.date,
        });
        let table = head.piece(columns.collect(), 0, n_rows);
        let mut groups = self.groups;
        for (groups, code_of) in groups.iter_mut().zip(code_of) {
            let Some(code_of) = code_of else { continue };
            for group in groups {
                *group = code_of.get(*group as usize).copied().unwrap_or(*group);
            }
        }
        let prepared = Prepared {
            table,
            read: None,
            spec: spec.clone(),
            rows: (0..n_rows as u32).collect(),
            dropped: Vec::new(),
            rejected: Vec::new(),
            published: false,
            target: None,
            labels: Vec::new(),
            weights: self.weights,
            attributes: attributes.to_vec(),
            groups,
            memberships: Vec::new(),
            split: Split::default(),
            diagnostics: Vec::new(),
            memory: MemoryLimit::default(),
        };
        proxy::measure(&prepared, encoding)
    }
}

/// Counts and sums of the training rows.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    /// Rows of each class in each group of each attribute.
    pub(crate) counts: Vec<Vec<Vec<usize>>>,
    pub(crate) classes: ClassSums,
    /// Positive rows of all splits.
    pub(crate) positives: usize,
    /// The numbers of the target, if it is a number.
    pub(crate) target: TargetSums,
    pub(crate) columns: Columns,
    /// Every `step`-th row in use, of all splits.
    pub(crate) sample: Sample,
}

/// Counts the training rows, and samples every `step`-th row in use.
pub(crate) fn train(
    spool: &Spool,
    rows: &Rows<'_>,
    step: usize,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<Trained, Error> {
    let kind = rows.target.kind();
    let n_places = TargetKind::n_places(kind);
    let new_counts = || -> Vec<Vec<Vec<usize>>> {
        let attributes = rows.attributes.iter();
        let counts = attributes.map(|rule| vec![vec![0; n_places]; rule.attribute.groups.len()]);
        counts.collect()
    };
    let mut all = Trained {
        counts: new_counts(),
        classes: ClassSums::new(n_places),
        ..Trained::default()
    };
    let sampled = TargetSums::step(rows.order.n_rows(Part::Train));
    let count = |chunk: usize, table: &Table| {
        let found = rows.of(table)?;
        let parts = rows.order.parts(chunk, found.rows.len());
        let mut counts = new_counts();
        let mut classes = ClassSums::new(n_places);
        let mut target = TargetSums::default();
        let mut nth = rows.order.before(chunk, Part::Train);
        for (i, part) in parts.iter().enumerate() {
            if *part != Part::Train {
                continue;
            }
            let (label, weight) = (found.labels[i], found.weights[i]);
            let place = TargetKind::place(kind, label);
            if rows.target.is_number() {
                target.add(label, weight, nth, sampled);
                nth += 1;
            } else {
                classes.add(place, weight);
            }
            for (counts, groups) in counts.iter_mut().zip(&found.groups) {
                if let Some(count) = counts.get_mut(groups[i] as usize) {
                    count[place] += 1;
                }
            }
        }
        Ok(Trained {
            counts,
            classes,
            positives: found
                .labels
                .iter()
                .filter(|label| rows.is_positive(**label))
                .count(),
            target,
            columns: Columns::of(table, rows.spec, &found, parts),
            sample: Sample::of(table, &found, rows.order.first(chunk), step),
        })
    };
    each_chunk(spool, PackStage::Training, progress, count, |found| {
        for (all, more) in all.counts.iter_mut().zip(found.counts) {
            for (count, more) in all.iter_mut().zip(more) {
                for (count, more) in count.iter_mut().zip(more) {
                    *count += more;
                }
            }
        }
        all.classes.merge(&found.classes);
        all.positives += found.positives;
        all.target.merge(found.target);
        all.columns.merge(found.columns);
        all.sample.merge(found.sample);
        Ok(())
    })?;
    Ok(all)
}

/// Pools small groups if requested, and returns the new code of each group, for attributes that change.
pub(crate) fn pool(
    spec: &Spec,
    attributes: &mut [AttributeRule],
    counts: &mut [Vec<Vec<usize>>],
) -> Result<Vec<Option<Vec<u32>>>, Error> {
    let mut all = vec![None; attributes.len()];
    if spec.pool_groups == 0 {
        return Ok(all);
    }
    for ((rule, counts), new) in attributes.iter_mut().zip(counts).zip(&mut all) {
        let rows: Vec<usize> = counts.iter().map(|count| count.iter().sum()).collect();
        let Some(code_of) = rule.pool(spec.pool_groups, &rows)? else {
            continue;
        };
        let n_places = counts.first().map_or(0, Vec::len);
        let mut pooled = vec![vec![0; n_places]; rule.attribute.groups.len()];
        for (count, code) in counts.iter().zip(&code_of) {
            for (all, more) in pooled[*code as usize].iter_mut().zip(count) {
                *all += more;
            }
        }
        *counts = pooled;
        *new = Some(code_of);
    }
    Ok(all)
}

/// Fits the rules of all feature columns, in the order of the table. Also returns the sum of squared
/// deviations of a target from its mean, which is `Some` for a number.
pub(crate) fn fit(
    spool: &Spool,
    rows: &Rows<'_>,
    (columns, target): (&Columns, Option<Center>),
    mut numbers: FxHashMap<&str, &mut NumberFacts>,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<(Vec<Fitted>, ExactSum), Error> {
    let (spec, head) = (rows.spec, &spool.head);
    let centers: FxHashMap<&str, Result<Center, Diagnostic>> = columns
        .numeric
        .iter()
        .map(|(name, summary)| (name.as_str(), summary.center(name)))
        .collect();
    let wanted = centers.iter().filter(|_| spec.scale == Scale::Standard);
    let wanted: Vec<(&str, Center)> = wanted
        .filter_map(|(name, center)| Some((*name, *center.as_ref().ok()?)))
        .collect();
    let (squares, of_target) = squares(spool, rows, (&wanted, target), progress)?;
    let mut fitted = Vec::new();
    for column in head.columns() {
        let name = column.name.as_str();
        if !spec.is_feature(name) {
            continue;
        }
        if let Some((counts, n_missing)) = columns.categorical.get(name) {
            let counts = &counts[Part::Train as usize];
            fitted.push(fit::categorical(column, spec, counts, *n_missing));
            continue;
        }
        let (Some(summary), Some(facts)) = (columns.numeric.get(name), numbers.get_mut(name))
        else {
            continue;
        };
        let mut diagnostic = None;
        let rule = match (facts.wrong.take(), centers.get(name)) {
            (Some(wrong), _) => Err(wrong),
            (None, Some(Ok(center))) => {
                let none = ExactSum::default();
                let squares = squares.get(name).unwrap_or(&none);
                let rule = summary.rule(column, spec.scale, *center, squares);
                let checked = check_size(spool, rows, facts, &rule);
                diagnostic = summary.warning(&rule, spec.scale);
                checked.map(|()| Some(Rule::Numeric(rule)))
            }
            (None, Some(Err(note))) => {
                diagnostic = Some(note.clone());
                Ok(None)
            }
            (None, None) => Ok(None),
        };
        fitted.push(Fitted { rule, diagnostic });
    }
    Ok((fitted, of_target))
}

/// Sums of squared deviations from the mean over the training rows, of columns and of a target that is a
/// number.
fn squares<'a>(
    spool: &Spool,
    rows: &Rows<'_>,
    (wanted, target): (&[(&'a str, Center)], Option<Center>),
    progress: &mut dyn FnMut(PackProgress),
) -> Result<(FxHashMap<&'a str, ExactSum>, ExactSum), Error> {
    if wanted.is_empty() && target.is_none() {
        return Ok(Default::default());
    }
    // The target is the last.
    let mut all = vec![ExactSum::default(); wanted.len() + 1];
    let sum = |chunk: usize, table: &Table| {
        let found = sieved(table, rows.spec, rows.attributes)?;
        let parts = rows.order.parts(chunk, found.rows.len());
        let mut sums = vec![ExactSum::default(); wanted.len() + 1];
        for ((name, center), sum) in wanted.iter().zip(&mut sums) {
            let Some(numbers) = table.column(name).and_then(Column::numeric) else {
                continue;
            };
            for ((row, weight), part) in found.rows.iter().zip(&found.weights).zip(parts) {
                if *part == Part::Train {
                    center.add_square(sum, numbers.get(*row as usize), *weight);
                }
            }
        }
        if let Some(center) = target {
            let labels = rows.target.labels(table, &found.rows)?;
            for ((label, weight), part) in labels.into_iter().zip(&found.weights).zip(parts) {
                if *part == Part::Train {
                    center.add_square(&mut sums[wanted.len()], label, *weight);
                }
            }
        }
        Ok(sums)
    };
    each_chunk(spool, PackStage::Scales, progress, sum, |sums| {
        for (all, more) in all.iter_mut().zip(&sums) {
            all.merge(more);
        }
        Ok(())
    })?;
    let of_target = all.pop().unwrap_or_default();
    let names = wanted.iter().map(|(name, _)| *name);
    Ok((names.zip(all).collect(), of_target))
}

/// Rejects a value that is too large for a feature after scaling, in any row in use.
fn check_size(
    spool: &Spool,
    rows: &Rows<'_>,
    facts: &NumberFacts,
    rule: &NumericRule,
) -> Result<(), Error> {
    // Scaling keeps the order of numbers, so the extremes decide.
    let extremes = [facts.low, facts.high];
    let mut finite = extremes.into_iter().filter(|number| number.is_finite());
    if !finite.any(|number| too_large(number, Some(rule)).is_some()) {
        return Ok(());
    }
    for chunk in 0..spool.n_chunks() {
        let table = spool.chunk(chunk)?;
        let found = sieved(&table, rows.spec, rows.attributes)?;
        let Some(numbers) = table.column(&rule.column).and_then(Column::numeric) else {
            continue;
        };
        for row in found.rows {
            let number = numbers.get(row as usize);
            if !number.is_nan()
                && let Some(problem) = too_large(number, Some(rule))
            {
                return Err(Error::Cell {
                    place: table.place(row as usize),
                    column: rule.column.clone(),
                    problem: problem.into(),
                });
            }
        }
    }
    Ok(())
}
