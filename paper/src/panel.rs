//! The paper's four panels, and panels of fronts.

use fairfront_report::{Better, Scatter, Scatters, Series, Side};
use fairfront_run::Error;

use crate::front::{Front, pairs};

/// The columns and labels that show a fairness objective.
pub(crate) struct Compared {
    /// The objective in the notation of the paper, with its groups.
    pub(crate) objective: &'static str,
    /// The rate of each group.
    pub(crate) rate: &'static str,
    /// The axis label of the rate.
    pub(crate) rate_axis: &'static str,
    /// Whether a higher or lower rate is better.
    pub(crate) rate_better: Better,
    /// The measure of the difference between groups.
    pub(crate) gap: &'static str,
    /// The axis label of the difference.
    pub(crate) gap_axis: &'static str,
    /// The attribute.
    pub(crate) attribute: &'static str,
    pub(crate) groups: &'static [&'static str],
}

pub(crate) fn side(name: &str, better: Better) -> Side {
    Side {
        name: name.into(),
        better,
    }
}

/// Values of two columns of a front.
fn columns(front: &Front, x: &str, y: &str) -> Result<Vec<f64>, Error> {
    Ok(pairs(&front.column(x)?, &front.column(y)?))
}

fn series<'a>(names: &[&'a str], values: &'a [Vec<f64>]) -> Vec<Series<'a>> {
    let pairs = names.iter().zip(values);
    pairs
        .map(|(name, values)| Series { name, values })
        .collect()
}

/// Four panels: the front, the rates of the groups, the difference between them, and accuracy against this
/// difference. The group rates are those of the first front. `measures` is a front of other objectives, which only
/// the last panel can show.
pub(crate) fn four_panels(
    title: String,
    split: &str,
    compared: &Compared,
    fronts: &[(&str, &Front)],
    measures: Option<(&str, &Front)>,
) -> Result<String, Error> {
    let Some((_, first)) = fronts.first() else {
        return Err(Error::data("the figure has no front"));
    };
    let (loss, fair) = (
        first.objective_name(split, 0),
        first.objective_name(split, 1),
    );
    let gap = format!("{split}.{}", compared.gap);
    let accuracy = format!("{split}.accuracy");
    let group = |name: &str| format!("{split}.{}({}={name})", compared.rate, compared.attribute);
    let all = |x: &str, y: &str| -> Result<Vec<Vec<f64>>, Error> {
        fronts
            .iter()
            .map(|(_, front)| columns(front, x, y))
            .collect()
    };
    let (plain, by_gap, mut by_accuracy) =
        (all(&loss, &fair)?, all(&fair, &gap)?, all(&accuracy, &gap)?);
    let mut names: Vec<&str> = fronts.iter().map(|(name, _)| *name).collect();
    let shown = names.clone();
    if let Some((name, front)) = measures {
        names.push(name);
        by_accuracy.push(columns(front, &accuracy, &gap)?);
    }
    let by_group = compared
        .groups
        .iter()
        .map(|name| columns(first, &fair, &group(name)));
    let by_group: Vec<Vec<f64>> = by_group.collect::<Result<_, Error>>()?;
    let marked = |x: &str, y: &str| vec![first.unmitigated(x), first.unmitigated(y)];
    let f1 = || side("f1, log loss", Better::Lower);
    let f2 = || side(compared.objective, Better::Lower);
    let score = || side(compared.gap_axis, Better::Lower);
    let figure = Scatters {
        title,
        panels: vec![
            Scatter {
                title: "the front".into(),
                x: f1(),
                y: f2(),
                series: series(&shown, &plain),
                marked: marked(&loss, &fair),
            },
            Scatter {
                title: format!("by group ({})", fronts[0].0),
                x: f2(),
                y: side(compared.rate_axis, compared.rate_better),
                series: series(compared.groups, &by_group),
                marked: (compared.groups.iter())
                    .flat_map(|name| marked(&fair, &group(name)))
                    .collect(),
            },
            Scatter {
                title: "objective and difference".into(),
                x: f2(),
                y: score(),
                series: series(&shown, &by_gap),
                marked: marked(&fair, &gap),
            },
            Scatter {
                title: "accuracy and difference".into(),
                x: side("accuracy", Better::Higher),
                y: score(),
                series: series(&names, &by_accuracy),
                marked: marked(&accuracy, &gap),
            },
        ],
        marked: "unmitigated model".into(),
    };
    Ok(figure.to_svg())
}

/// A panel of fronts, with its title.
pub(crate) struct Fronts<'a> {
    pub(crate) title: String,
    /// Names, and two values per model.
    pub(crate) series: Vec<(&'a str, Vec<f64>)>,
}

/// Panels of fronts in the same two quantities.
pub(crate) fn front_panels(title: &str, axes: [&str; 2], panels: &[Fronts]) -> String {
    let panel = |panel: &Fronts| Scatter {
        title: panel.title.clone(),
        x: side(axes[0], Better::Lower),
        y: side(axes[1], Better::Lower),
        series: Vec::new(),
        marked: Vec::new(),
    };
    let mut scatters: Vec<Scatter> = panels.iter().map(panel).collect();
    for (scatter, panel) in scatters.iter_mut().zip(panels) {
        let series = panel.series.iter();
        scatter.series = series
            .map(|(name, values)| Series { name, values })
            .collect();
    }
    Scatters {
        title: title.into(),
        panels: scatters,
        marked: String::new(),
    }
    .to_svg()
}
