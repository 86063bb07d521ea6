//! Chooses a model by a rule, or finds the nearest one if no model meets the requirements.

use std::fmt;

use fairfront_core::{Name, counted, grouped, readable, say};
use fairfront_data::Part;
use fairfront_model::ModelId;
use fairfront_pareto::{Values, knee};
use serde::Serialize;

use super::price::{Price, price};
use super::{Column, First, FrontColumns, Requirement, Term};
use crate::Error;
use crate::setting::{BEST, MODEL_ID, WEIGHTS};

/// How to choose among the models that meet the requirements.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// The best model in a measure or an objective; `None` stands for the measure of how good predictions
    /// are.
    Best(Option<Term>),
    /// The knee of these models.
    Knee,
    /// The least weighted sum, with all values scaled to [0, 1] over the front, 0 for the best.
    Weights(Vec<(Term, f64)>),
    /// The least worst-case regret: the largest loss in any value that the front was judged by,
    /// scaled in the same way.
    Regret,
    /// The model with this id.
    Id(ModelId),
}

/// A requirement checked for one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// The requirement as written.
    pub requirement: String,
    /// The bounded column.
    pub column: String,
    /// The value for the model; `None` if it is undefined.
    pub value: Option<f64>,
    /// Whether it is met.
    pub met: bool,
    /// How far the value is on the wrong side of its bound.
    pub miss: Option<f64>,
}

/// The error if no model meets all requirements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unmet {
    /// Models of the front.
    pub models: usize,
    /// The model whose largest miss, each scaled by its column's range over the front, is least.
    pub nearest: ModelId,
    /// All requirements, checked for this model.
    pub misses: Vec<Miss>,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = match self.misses.as_slice() {
            [one] => one.requirement.clone(),
            [_, _] => "both requirements".into(),
            several => format!("all {} requirements", several.len()),
        };
        let none = match self.models {
            1 => "the only model does not meet".into(),
            n => format!("none of the {} models meets", grouped(n)),
        };
        let nearest = self.nearest;
        write!(f, "{none} {all}; model {nearest} comes nearest: ")?;
        let said = |miss: &Miss| {
            let Miss {
                requirement,
                column,
                ..
            } = miss;
            match (miss.value, miss.miss) {
                (Some(value), _) if miss.met => {
                    format!("{column} is {}, which meets {requirement}", readable(value))
                }
                (Some(value), Some(by)) => format!(
                    "{column} is {} and misses {requirement} by {}",
                    readable(value),
                    readable(by)
                ),
                _ => format!("{column} is undefined, so {requirement} is not met"),
            }
        };
        let said: Vec<String> = self.misses.iter().map(said).collect();
        f.write_str(&said.join("; "))
    }
}

/// The split on which the model was chosen, and its requirements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// `validation`, or `train` without validation rows.
    pub split: &'static str,
    /// Models of the front.
    pub models: usize,
    /// Models that meet all requirements.
    pub meeting: usize,
    /// The requirements, checked for the chosen model.
    pub requirements: Vec<Miss>,
}

/// A chosen model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selection {
    /// Its id.
    pub model_id: ModelId,
    /// The reason, in words.
    pub reason: String,
    /// The basis of the choice.
    pub judged: Judged,
    /// Its costs and gains.
    pub price: Price,
}

/// Chooses a model. Ties go to the model with the better first objective on training rows, then to
/// the smaller id.
pub fn select(
    front: &FrontColumns,
    requirements: &[Requirement],
    rule: &Rule,
) -> Result<Selection, Error> {
    if front.is_empty() {
        return Err(Error::data("the front has no models; fit again"));
    }
    let bounds = requirements.iter().map(|r| front.require_column(r));
    let bounds: Vec<Column> = bounds.collect::<Result<_, _>>()?;
    let misses = |point: usize| -> Vec<Miss> {
        let both = requirements.iter().zip(&bounds);
        both.map(|(requirement, column)| at(requirement, column, point))
            .collect()
    };
    let mut meeting = front.order();
    meeting.retain(|point| misses(*point).iter().all(|miss| miss.met));
    if meeting.is_empty() {
        let nearest = nearest(front, &bounds, misses);
        return Err(Error::Unmet(Box::new(Unmet {
            models: front.len(),
            nearest: ModelId::of_index(nearest),
            misses: misses(nearest),
        })));
    }
    let (id, why) = choose(front, &meeting, rule)?;
    let among = match requirements {
        [] => format!("of {}", counted(front.len(), "model")),
        all => {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!(
                "of the {} of {} that meet {}",
                grouped(meeting.len()),
                counted(front.len(), "model"),
                all.join(" and ")
            )
        }
    };
    Ok(Selection {
        model_id: ModelId::of_index(id),
        reason: match rule {
            Rule::Id(_) => why,
            _ => format!("{why}, {among}"),
        },
        judged: Judged {
            split: front.split().name(),
            models: front.len(),
            meeting: meeting.len(),
            requirements: misses(id),
        },
        price: price(front, id),
    })
}

/// Chooses among the certified models.
pub(crate) fn select_among(
    front: &FrontColumns,
    certified: &[ModelId],
    requirements: &[String],
    rule: &Rule,
) -> Result<Selection, Error> {
    let mut models = front.order();
    models.retain(|model| certified.contains(&ModelId::of_index(*model)));
    let (id, why) = choose(front, &models, rule)?;
    if !certified.contains(&ModelId::of_index(id)) {
        let all = requirements.join(" and ");
        return Err(Error::usage(say![
            MODEL_ID.is(ModelId::of_index(id)),
            ": this model is not certified for {all}; choose another rule"
        ]));
    }
    let certified = match models.len() {
        1 => "the only model certified for".into(),
        n => format!("of the {} certified for", counted(n, "model")),
    };
    Ok(Selection {
        model_id: ModelId::of_index(id),
        reason: format!("{why}, {certified} {}", requirements.join(" and ")),
        judged: Judged {
            split: front.split().name(),
            models: front.len(),
            meeting: models.len(),
            requirements: Vec::new(),
        },
        price: price(front, id),
    })
}

/// The error for an unusable measure or requirement in a setting.
pub(super) fn wrong(setting: Name, text: &impl fmt::Display, problem: &str) -> Error {
    let text = text.to_string();
    Error::usage(say![setting, " {text:?}: {problem}"])
}

fn at(requirement: &Requirement, column: &Column, point: usize) -> Miss {
    let Requirement {
        comparator, bound, ..
    } = requirement;
    let value = column.values[point];
    Miss {
        requirement: requirement.to_string(),
        column: column.name.clone(),
        value,
        met: value.is_some_and(|value| comparator.holds(value, *bound)),
        miss: value.map(|value| comparator.miss(value, *bound)),
    }
}

/// The model with the smallest largest miss; an undefined value counts as an infinite miss.
fn nearest(front: &FrontColumns, bounds: &[Column], misses: impl Fn(usize) -> Vec<Miss>) -> usize {
    let largest = |point: usize| {
        let scaled = misses(point).into_iter().zip(bounds);
        let scaled = scaled.map(|(miss, column)| match miss.miss {
            Some(by) => by / column.range(),
            None => f64::INFINITY,
        });
        scaled.fold(0.0, f64::max)
    };
    first_least(&front.order(), |point| Some(largest(point))).map_or(0, |(point, _)| point)
}

/// The first model with the least value.
fn first_least(points: &[usize], value: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for point in points {
        if let Some(value) = value(*point)
            && best.is_none_or(|(_, least)| value < least)
        {
            best = Some((*point, value));
        }
    }
    best
}

/// Applies a rule to `points`, sorted by the tie-breaking order. Returns the model and the reason.
fn choose(front: &FrontColumns, points: &[usize], rule: &Rule) -> Result<(usize, String), Error> {
    match rule {
        Rule::Id(id) if id.index() < front.len() => Ok((id.index(), "chosen by its id".into())),
        Rule::Id(id) => {
            let last = front.len();
            Err(Error::usage(say![
                MODEL_ID.is(id),
                ": the front has no such model; choose one of 1 to {last}"
            ]))
        }
        Rule::Best(term) => best(front, points, term.as_ref()),
        Rule::Knee => at_knee(front, points),
        Rule::Weights(weights) => weighted(front, points, weights),
        Rule::Regret => least_regret(front, points),
    }
}

fn best(
    front: &FrontColumns,
    points: &[usize],
    term: Option<&Term>,
) -> Result<(usize, String), Error> {
    let column = front.best_column(term)?;
    let (sign, word) = match column.large_is_better {
        true => (-1.0, "highest"),
        false => (1.0, "lowest"),
    };
    let value = |point: usize| column.values[point].map(|v| sign * v);
    let (id, value) = first_least(points, value).ok_or_else(|| no_value(front, &[&column]))?;
    let name = &column.name;
    Ok((id, format!("the {word} {name}, {}", readable(sign * value))))
}

pub(super) fn at_knee(front: &FrontColumns, points: &[usize]) -> Result<(usize, String), Error> {
    let columns = front.judged_by()?;
    let of_point = |point: &usize| {
        let values = columns.iter().map(|c| c.values[*point]);
        // Models with an infinite value are ignored.
        values
            .map(|v| v.unwrap_or(f64::INFINITY))
            .collect::<Vec<_>>()
    };
    let values: Vec<f64> = points.iter().flat_map(of_point).collect();
    let found = knee(Values::new(&values, columns.len().max(1))?);
    let found = found.ok_or_else(|| no_value(front, &columns.iter().collect::<Vec<_>>()))?;
    Ok((points[found], format!("the knee in {}", names(&columns))))
}

fn weighted(
    front: &FrontColumns,
    points: &[usize],
    weights: &[(Term, f64)],
) -> Result<(usize, String), Error> {
    let mut columns = Vec::new();
    let mut said = Vec::new();
    for (term, weight) in weights {
        let found = front.find(term, First::Objective);
        let column = found.map_err(|e| wrong(WEIGHTS, term, &e))?;
        said.push(format!("{weight} × {}", column.name));
        columns.push(column);
    }
    let scaled: Vec<Vec<Option<f64>>> = columns.iter().map(Column::scaled).collect();
    let sum = |point: usize| -> Option<f64> {
        let terms = scaled.iter().zip(weights);
        terms
            .map(|(c, (_, weight))| c[point].map(|v| weight * v))
            .sum()
    };
    let (id, sum) = first_least(points, sum)
        .ok_or_else(|| no_value(front, &columns.iter().collect::<Vec<_>>()))?;
    let said = said.join(" + ");
    let why = format!(
        "the least weighted sum, {}: {said}, each from 0 to 1 over the front",
        readable(sum)
    );
    Ok((id, why))
}

fn least_regret(front: &FrontColumns, points: &[usize]) -> Result<(usize, String), Error> {
    let columns = front.judged_by()?;
    let scaled: Vec<Vec<Option<f64>>> = columns.iter().map(Column::scaled).collect();
    let worst = |point: usize| -> Option<f64> {
        let losses: Option<Vec<f64>> = scaled.iter().map(|c| c[point]).collect();
        Some(losses?.into_iter().fold(0.0, f64::max))
    };
    let (id, worst) = first_least(points, worst)
        .ok_or_else(|| no_value(front, &columns.iter().collect::<Vec<_>>()))?;
    let why = format!(
        "the least worst-case regret, at most {} of the front's range in each of {}",
        readable(worst),
        names(&columns)
    );
    Ok((id, why))
}

fn names(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    names.join(", ")
}

fn no_value(front: &FrontColumns, columns: &[&Column]) -> Error {
    let other = format!("train.{}", front.meaning.performance);
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    let others: Vec<&str> = Part::SHOWN.iter().map(|part| part.name()).collect();
    let (names, others) = (names.join(" and "), others.join(", "));
    Error::data(say![
        "no model to choose from has a defined {names} on these rows";
        "choose by another measure";
        "choose by a measure on other rows, such as ", BEST.is(other), " ({others})"
    ])
}
