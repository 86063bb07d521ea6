//! Figures of a run, for papers and slides.

use std::path::{Path, PathBuf};

use fairfront_core::{Measure, say};
use fairfront_model::{ModelId, write_file};
use fairfront_report::{
    Better, Curve, Line, Overlay, Pairs, Scatter, Scatters, Series, Side, Trail,
};

use crate::folder::FIGURES;
use crate::meaning::{Unit, kind};
use crate::place::recover;
use crate::select::{FrontColumns, Rule, opening, select};
use crate::setting::MODEL_ID;
use crate::{Error, FrontIn, FrontTable, RunInfo, read_run};

mod by_group;
mod next_to_models;

/// The front in legends, if all models are linear.
const FRONT: &str = "models of the front";
/// The unmitigated model in legends.
const UNMITIGATED: &str = "unmitigated model";
/// The largest number of objectives that are drawn in pairs.
const MOST_IN_PAIRS: usize = 4;

/// A figure of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// File name without extension, made of letters, digits and `-`.
    pub name: String,
    /// The SVG document.
    pub svg: String,
}

/// Converts figures to another format.
#[derive(Clone, Copy)]
pub struct Conversion<'a> {
    /// File extension of the converted figures, such as `png`.
    pub ending: &'a str,
    /// Converts an SVG document to the bytes of the other file.
    pub by: &'a dyn Fn(&str) -> Result<Vec<u8>, Error>,
}

/// All figures of a run; the same run gives the same bytes.
///
/// - `front`: the front; with three objectives, each pair, colored by the third; with more, the
///   first four in pairs
/// - `trade-off-…`: the paper's four panels, for each objective that compares groups
/// - `distribution-…`: for a target that is a number, the distribution of the predictions in the groups of each
///   attribute, of the unmitigated model and of `model`; by default of the model at which the report opens
/// - `decisions-…`: for classes, the shares of decisions by class in the groups of each attribute, of the same models
/// - `hypervolume-by-round`: if the solver recorded it
///
/// Values are those on test rows; without test rows, on validation rows or else training rows. If
/// not all models are linear, each family has its own markers. Overlays of the run are drawn in plots
/// of their measures.
pub fn figures(
    run: &RunInfo,
    front: &FrontTable,
    model: Option<ModelId>,
) -> Result<Vec<Figure>, Error> {
    let numbers = RunNumbers::new(run, front);
    let mut figures = vec![Figure {
        name: "front".into(),
        svg: numbers.front(),
    }];
    for index in 1..run.objectives.len() {
        figures.extend(numbers.trade_off(index));
    }
    if !run.meaning.target.is_binary() {
        let columns = FrontColumns::of(run, front);
        let model = match model {
            Some(id) => Some(select(&columns, &[], &Rule::Id(id))?.model_id),
            None => opening(&columns)?.model_id,
        };
        figures.extend(numbers.distributions(model));
        figures.extend(numbers.decisions(model));
    } else if model.is_some() {
        return Err(Error::usage(say![
            MODEL_ID, ": only figures of predicted numbers and classes show a single model"; "remove it"
        ]));
    }
    figures.extend(numbers.by_round());
    Ok(figures)
}

/// Writes the figures of a run, or of the newest run in a state, into `figures` in its folder. Each
/// file is written atomically and replaces an existing one. If a conversion fails, nothing is
/// written. Returns the paths.
pub fn write_figures(
    folder: &Path,
    conversion: Option<Conversion>,
    model: Option<ModelId>,
) -> Result<Vec<PathBuf>, Error> {
    let (run, front) = read_run(folder)?;
    let figures = figures(&run, &front, model)?;
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for figure in figures {
        let Figure { name, svg } = figure;
        let other = conversion.map(|c| (c.by)(&svg).map(|bytes| (c.ending, bytes)));
        let other = other.transpose()?;
        files.push((format!("{name}.svg"), svg.into_bytes()));
        files.extend(other.map(|(ending, bytes)| (format!("{name}.{ending}"), bytes)));
    }
    recover(folder)?;
    let place = folder.join(FIGURES);
    std::fs::create_dir_all(&place).map_err(|e| {
        let problem = format!(
            "the folder cannot be created ({}); check what is at this path",
            e.kind()
        );
        Error::file(&place, problem)
    })?;
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = place.join(name);
        write_file(&path, &bytes, true)?;
        written.push(path);
    }
    Ok(written)
}

/// Whether a file in `figures` is one that [`write_figures`] writes.
pub(crate) fn is_own(name: &str) -> bool {
    let Some((name, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let known = name == "front"
        || name == "hypervolume-by-round"
        || [by_group::START, by_group::CLASSES_START, "trade-off-"]
            .iter()
            .any(|start| name.starts_with(start));
    known && ["svg", "png"].contains(&ending)
}

/// The numbers of a run as figures need them.
struct RunNumbers<'a> {
    run: &'a RunInfo,
    front: &'a FrontTable,
    split: &'static str,
}

impl<'a> RunNumbers<'a> {
    fn new(run: &'a RunInfo, front: &'a FrontTable) -> Self {
        let performance = &run.meaning.performance;
        let has = |split: &&str| front.column(&format!("{split}.{performance}")).is_some();
        let splits = ["test", "validation", "train"].into_iter();
        let split = splits.clone().find(has).unwrap_or("train");
        Self { run, front, split }
    }

    /// The title of a figure.
    fn title(&self, subject: &str) -> String {
        let rows = match self.split {
            "train" => "training",
            other => other,
        };
        format!("{}: {subject} on {rows} rows", self.run.source)
    }

    /// The column of an objective.
    fn objective(&self, name: &str) -> String {
        match self.split {
            "train" => format!("objective.{name}"),
            split => format!("{split}.objective.{name}"),
        }
    }

    fn measure(&self, name: &str) -> String {
        format!("{}.{name}", self.split)
    }

    /// The name of a kind of measure in words, with the target if the measure is in its unit.
    fn words(&self, kind: &str) -> String {
        let unit = self.run.meaning.measure(kind).map(|measure| measure.unit);
        let target = self.run.spec.target.as_deref();
        match (unit, target) {
            (Some(Unit::InTarget), Some(target)) => format!("{}, in {target}", label(kind)),
            _ => label(kind),
        }
    }

    /// Values of these columns, model by model; NaN for missing values.
    fn values(&self, names: &[String]) -> Vec<f64> {
        let columns: Vec<_> = names.iter().map(|name| self.column(name)).collect();
        let point = |i: usize| columns.iter().map(move |c| c.get(i).copied().flatten());
        let values = (0..self.front.len()).flat_map(point);
        values.map(|v| v.unwrap_or(f64::NAN)).collect()
    }

    fn column(&self, name: &str) -> Vec<Option<f64>> {
        let column = |name: &str| self.front.column(name).unwrap_or(&[]).to_vec();
        match name.strip_suffix(Measure::ERROR_RATE) {
            Some(split) if split == self.measure("") => {
                let accuracy = column(&format!("{split}accuracy"));
                accuracy.into_iter().map(|v| v.map(|v| 1.0 - v)).collect()
            }
            _ => column(name),
        }
    }

    /// Values of these columns for the unmitigated model.
    fn unmitigated(&self, names: &[String]) -> Vec<f64> {
        let known = |name: &str| self.run.unmitigated.values.get(name).copied().flatten();
        let value = |name: &String| match name.strip_suffix(Measure::ERROR_RATE) {
            Some(split) if split == self.measure("") => {
                known(&format!("{split}accuracy")).map(|v| 1.0 - v)
            }
            _ => known(name),
        };
        let values = names.iter().map(value);
        values.map(|v| v.unwrap_or(f64::NAN)).collect()
    }

    /// The values that the front compares: names and columns.
    fn judged_in(&self) -> (Vec<String>, Vec<String>) {
        let front_in = self.run.judged.front_in;
        let names = match front_in {
            FrontIn::Objectives => &self.run.objectives,
            FrontIn::Measures => &self.run.judged.measures,
        };
        let column = |name: &String| match front_in {
            FrontIn::Objectives => self.objective(name),
            FrontIn::Measures => self.measure(name),
        };
        let shown = names.iter().map(|name| match front_in {
            FrontIn::Objectives => name.clone(),
            FrontIn::Measures => label(name),
        });
        let shown = shown.collect();
        (shown, names.iter().map(column).collect())
    }

    fn front(&self) -> String {
        let (mut axes, mut columns) = self.judged_in();
        axes.truncate(MOST_IN_PAIRS);
        columns.truncate(MOST_IN_PAIRS);
        let trails = match self.run.judged.front_in {
            FrontIn::Objectives => Vec::new(),
            FrontIn::Measures => self.trails(&self.run.judged.measures[..columns.len()]),
        };
        let (values, unmitigated) = (self.by_family(&columns), self.unmitigated(&columns));
        let mut series = series_of(&values);
        if let [x, y, z] = &axes[..] {
            let others = series.split_off(1);
            let figure = Pairs {
                title: self.title("the front"),
                axes: [x, y, z],
                front: series[0],
                marked: unmitigated,
                marked_name: UNMITIGATED,
            };
            return figure.to_svg_with(&others, &trails);
        }
        if unmitigated.iter().all(|v| v.is_finite()) {
            series.push(Series {
                name: UNMITIGATED,
                values: &unmitigated,
            });
        }
        Overlay {
            title: self.title("the front"),
            axes,
            series,
            reference: None,
        }
        .to_svg_with(&trails)
    }

    /// The hypervolume by round, if there is more than one round.
    fn by_round(&self) -> Option<Figure> {
        let volumes = &self.run.counters.hypervolume_by_round;
        let points: Vec<(f64, f64)> = (1_u32..)
            .map(f64::from)
            .zip(volumes.iter().copied())
            .collect();
        let name = self.run.solver.name();
        let curve = Curve {
            title: format!("{}: hypervolume by round, training rows", self.run.source),
            x: "round".into(),
            y: "hypervolume of the objectives".into(),
            lines: vec![Line {
                name,
                points: &points,
            }],
        };
        (points.len() > 1).then(|| Figure {
            name: "hypervolume-by-round".into(),
            svg: curve.to_svg(),
        })
    }

    /// Attributes that have measures.
    fn attributes(&self) -> impl Iterator<Item = &str> {
        let start = self.measure(match self.run.meaning.target.decides() {
            true => "demographic_parity_difference(",
            false => "mean_difference(",
        });
        let names = self.front.names.iter();
        names.filter_map(move |name| name.strip_prefix(&start)?.strip_suffix(')'))
    }

    /// The class whose rates a figure of a difference between groups shows: that of the difference, or the class with the
    /// largest difference for the unmitigated model. `None` if the target has no classes.
    fn class_of(&self, difference: &str, attribute: &str) -> Option<&'a str> {
        let classes = self.run.meaning.target.classes()?;
        let names = classes.names.iter().map(String::as_str);
        let kind = kind(difference);
        let of = |class: &str| format!("{kind}[{class}]({attribute})");
        if let Some(own) = names.clone().find(|class| of(class) == difference) {
            return Some(own);
        }
        let values = &self.run.unmitigated.values;
        let size = |class: &str| values.get(&self.measure(&of(class))).copied().flatten();
        let sizes = names.map(|class| (size(class).unwrap_or(-1.0), class));
        // Of equal differences, the first one.
        let largest = sizes.reduce(|a, b| if b.0 > a.0 { b } else { a });
        largest.map(|(_, class)| class)
    }

    /// The groups of an attribute, and the columns of a rate for them.
    fn groups(&self, attribute: &str, rate: &str) -> Vec<(&str, String)> {
        let start = self.measure(&format!("{rate}("));
        let of = |name: &'a String| -> Option<(&'a str, String)> {
            let of_group = name.strip_prefix(&start)?.strip_suffix(')')?;
            let group = |attribute: &str| of_group.strip_prefix(attribute)?.strip_prefix('=');
            // If the name could belong to several attributes, use the one with the longest name.
            let longest = self.attributes().filter(|a| group(a).is_some());
            let longest = longest.max_by_key(|a| a.len())?;
            (longest == attribute).then(|| (group(attribute).unwrap_or(""), name.clone()))
        };
        self.front.names.iter().filter_map(of).collect()
    }

    /// The attribute of an objective that compares groups.
    fn attribute_of(&self, fairness: &'a str) -> Option<&'a str> {
        let (_, attribute) = fairness.split_once('(')?;
        let attribute = attribute.strip_suffix(')')?;
        let attribute = attribute.split(", kind=").next()?;
        // The settings of an objective of one class, as in `demographic_parity(sex,class=high)`.
        let is_setting = |rest: &str| rest.starts_with(",class=") || rest.starts_with(",given=");
        let mut attributes = self.run.groups.0.iter().map(|(name, _)| name.as_str());
        let of_class = attributes.find(|name| attribute.strip_prefix(name).is_some_and(is_setting));
        Some(of_class.unwrap_or(attribute))
    }

    /// The difference between groups with which an objective is shown. For an objective without its own
    /// measure, it is that of selection rates or of mean predictions.
    fn difference_of(&self, fairness: &str, attribute: &str) -> Option<String> {
        let meaning = &self.run.meaning;
        let is_difference = |name: &String| {
            let known = meaning.measure(name);
            let differs = |unit: Unit| matches!(unit, Unit::Difference | Unit::InTarget);
            known.is_some_and(|m| differs(m.unit) && !m.compares.is_empty())
        };
        let own = meaning.objective(fairness)?.measure.clone();
        Some(
            own.filter(is_difference)
                .unwrap_or_else(|| match meaning.target.decides() {
                    true => format!("demographic_parity_difference({attribute})"),
                    false => format!("mean_difference({attribute})"),
                }),
        )
    }

    /// The paper's four panels for an objective that compares the groups of an attribute.
    fn trade_off(&self, index: usize) -> Option<Figure> {
        let fairness = self.run.objectives.get(index)?;
        let attribute = self.attribute_of(fairness)?;
        let meaning = &self.run.meaning;
        let named = self.difference_of(fairness, attribute)?;
        let kind_of_rate = meaning.measure(&named)?.compares.first()?;
        let of_rate = meaning.measure(kind_of_rate)?;
        let of_class = self.class_of(&named, attribute);
        let rate = &match of_class {
            Some(class) => format!("{kind_of_rate}[{class}]"),
            None => kind_of_rate.clone(),
        };
        let groups = self.groups(attribute, rate);
        let loss = self.run.objectives.first()?;
        let objective = self.objective(fairness);
        let difference = self.measure(&named);
        let pairs = [
            [self.objective(loss), objective.clone()],
            [objective.clone(), difference.clone()],
            [self.measure(&meaning.performance), difference],
        ];
        let of_front = pairs.each_ref().map(|pair| self.by_family(pair));
        let of_groups: Vec<Vec<f64>> = (groups.iter())
            .map(|(_, column)| self.values(&[objective.clone(), column.clone()]))
            .collect();
        let marked_groups = (groups.iter())
            .flat_map(|(_, column)| self.unmitigated(&[objective.clone(), column.clone()]))
            .collect();
        let side = |name: &str, better| Side {
            name: name.into(),
            better,
        };
        let one = |at: usize, title: &str, x: Side, y: Side| Scatter {
            title: title.into(),
            x,
            y,
            series: series_of(&of_front[at]),
            marked: self.unmitigated(&pairs[at]),
        };
        let lower = |name: &str| side(name, Better::Lower);
        let of_group = match of_class {
            Some(class) if kind_of_rate == "selection_rate" => {
                let ordered = meaning.target.classes().is_some_and(|c| c.ordered);
                let at_least = if ordered { "at least " } else { "" };
                format!("share decided {at_least}{class}")
            }
            Some(class) => format!("{} of {class}", self.words(kind_of_rate)),
            None => self.words(rate),
        };
        let by_group = Scatter {
            title: match of_class {
                Some(_) => format!("{of_group} by group"),
                None => format!("{}s by group", of_rate.label),
            },
            x: lower(fairness),
            y: match of_rate.better {
                None => side(&of_group, Better::Neither),
                Some(_) => lower(&of_group),
            },
            series: (groups.iter().zip(&of_groups))
                .map(|((name, _), values)| Series { name, values })
                .collect(),
            marked: marked_groups,
        };
        let performs = self.words(&meaning.performance);
        let performance = match meaning.larger_performs_better() {
            true => side(&performs, Better::Higher),
            false => side(&performs, Better::Lower),
        };
        let differing = || lower(&self.words(kind(&named)));
        let measures = [meaning.performance.clone(), named.clone()];
        let trails = self.trails(&measures).into_iter();
        let trails: Vec<(usize, Trail)> = trails.map(|trail| (3, trail)).collect();
        let svg = Scatters {
            title: self.title(fairness),
            panels: vec![
                one(0, "the front", lower(loss), lower(fairness)),
                by_group,
                one(
                    1,
                    "the objective and the difference",
                    lower(fairness),
                    differing(),
                ),
                one(
                    2,
                    &format!("{} and the difference", label(&meaning.performance)),
                    performance,
                    differing(),
                ),
            ],
            marked: UNMITIGATED.into(),
        }
        .to_svg_with(&trails);
        Some(Figure {
            name: format!("trade-off-{index}-{}", file_name(fairness)),
            svg,
        })
    }
}

/// Values by name as series.
fn series_of<'v>(values: &'v [(&'static str, Vec<f64>)]) -> Vec<Series<'v>> {
    let series = |(name, values): &'v (&'static str, Vec<f64>)| Series { name, values };
    values.iter().map(series).collect()
}

/// The name of a measure in words: `demographic parity difference (sex)`.
fn label(name: &str) -> String {
    if name == Measure::ERROR_RATE {
        return "error rate".into();
    }
    match name.split_once('(') {
        Some((kind, of)) => format!("{} ({of}", crate::meaning::label(kind)),
        None => crate::meaning::label(name),
    }
}

/// Turns any name into part of a file name: letters, digits, and `-` for everything else.
fn file_name(name: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::new();
    for c in name.chars().take(LONGEST) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
