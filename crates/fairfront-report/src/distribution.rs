//! Distributions of predicted numbers by group.

use std::fmt::Write;

use crate::curve::Line;
use crate::figure::{Axis, LineStyle, draw_line, named_group, tenths};
use crate::grid::{Grid, draw_title, lettered};
use crate::legend::{Entry, Key, Legend, shown_name};
use crate::marker::{Marker, Position};
use crate::page::Page;
use crate::scale::{LARGEST, Scale, range, rounded};
use crate::side::Better;
use crate::text::shorten;

/// Dashes and gaps of the lines of the target, in tenths of a pixel.
const DASHES: &str = "30 40";
/// The largest number of groups of a panel, one per color.
const MOST_GROUPS: usize = 8;

/// Distributions of predicted numbers by group: the share of predictions of at most each number, one panel per
/// model. The same distributions of the target are dashed lines in every panel.
///
/// The vertical axis goes from 0 to 1. Points with a share outside 0 to 1, or with a number that is not finite,
/// are left out. The vertical distance between two lines is the Kolmogorov–Smirnov distance of two groups, where
/// it is largest. A panel shows at most eight groups.
///
/// ```
/// use fairfront_report::{Distribution, Distributions, Line};
/// let figure = Distributions {
///     title: "Salaries".into(),
///     x: "salary".into(),
///     target: vec![Line { name: "F", points: &[(20.0, 0.3), (40.0, 1.0)] }],
///     panels: vec![Distribution {
///         title: "model 12".into(),
///         groups: vec![Line { name: "F", points: &[(20.0, 0.2), (40.0, 0.9)] }],
///     }],
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("model 12") && svg.contains("share of at most this number"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distributions<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// The name of the target.
    pub x: String,
    /// The distribution of the target in each group; may be empty.
    pub target: Vec<Line<'a>>,
    /// The panels, row by row.
    pub panels: Vec<Distribution<'a>>,
}

/// The distributions of the predictions of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution<'a> {
    /// The name of the model.
    pub title: String,
    /// One line per group: numbers, each with the share of predictions of at most this number.
    pub groups: Vec<Line<'a>>,
}

impl Distributions<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is valid.
    pub fn to_svg(&self) -> String {
        let all = || {
            let groups = self.panels.iter().flat_map(|panel| &panel.groups);
            groups.chain(&self.target).flat_map(drawn)
        };
        let (low, high) = range(all().map(|p| p.0)).unwrap_or((0.0, 1.0));
        let x = Axis {
            name: &self.x,
            note: "",
            scale: Scale::covering(low, high),
        };
        let y = Axis {
            name: "share of at most this number",
            note: "",
            scale: Scale::covering(0.0, 1.0),
        };
        let names = self.names();
        let grid = Grid::new(&vec![&y; self.panels.len()]);
        let page = Page {
            title: self.title.trim(),
            better: Better::Neither,
            legend: Legend::new(self.entries(&names), grid.width()),
            beside: grid.beside,
            width: grid.width(),
            height: grid.height(),
        };
        let mut svg = page.open(&self.name(), &self.describe());
        for (i, panel) in self.panels.iter().enumerate() {
            let frame = grid.frame(i, page.left(), page.top());
            draw_title(
                &mut svg,
                frame,
                &lettered(i, self.panels.len(), &panel.title),
                "",
            );
            frame.draw(&mut svg, &x, Some(&y));
            if panel.groups.iter().flat_map(drawn).next().is_none() {
                frame.draw_empty(&mut svg);
            }
            tenths(&mut svg);
            let place =
                |(at, share): (f64, f64)| frame.position(x.scale.share(at), y.scale.share(share));
            let both = [(&self.target, true), (&panel.groups, false)];
            for (lines, is_target) in both {
                for line in lines.iter().take(MOST_GROUPS) {
                    let Some(color) = names.iter().position(|name| *name == line.name) else {
                        continue;
                    };
                    let run: Vec<Position> = drawn(line).map(place).collect();
                    if run.is_empty() {
                        continue;
                    }
                    let mut style = match is_target {
                        true => LineStyle::dashed(Marker::of(color), DASHES),
                        false => LineStyle::of(color),
                    };
                    style.width = if is_target { 16.0 } else { 22.0 };
                    let suffix = if is_target { ", target" } else { "" };
                    let name = format!("{}{suffix}", shown_name(line.name));
                    named_group(&mut svg, Some(&name), None);
                    draw_line(&mut svg, style, &[run]);
                    svg.close();
                }
            }
            svg.close();
        }
        svg.finish()
    }

    /// The groups that are drawn, in the order of their first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.groups) {
            if !names.contains(&line.name) && names.len() < MOST_GROUPS {
                names.push(line.name);
            }
        }
        names
    }

    fn entries(&self, names: &[&str]) -> Vec<Entry> {
        let most = self.panels.iter().map(|panel| panel.groups.len()).max();
        let left_out = most.unwrap_or(0).saturating_sub(MOST_GROUPS);
        let mut entries: Vec<Entry> = (names.iter().enumerate())
            .map(|(i, name)| Entry {
                key: Key::Line(LineStyle::of(i), false),
                name: shown_name(name).to_owned(),
                note: String::new(),
            })
            .collect();
        let line = |style: LineStyle, name: &str| Entry {
            key: Key::Line(style, false),
            name: name.into(),
            note: String::new(),
        };
        if !self.target.is_empty() {
            let style = LineStyle::dashed(Marker::of(0), DASHES);
            entries.push(line(style, "dashed: the target itself"));
        }
        if left_out > 0 {
            entries.push(Entry {
                key: Key::None,
                name: format!("{left_out} more groups are not drawn"),
                note: String::new(),
            });
        }
        entries
    }

    /// The title, or a default.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => "Distributions by group".into(),
            title => title.into(),
        }
    }

    /// The description for screen readers.
    fn describe(&self) -> String {
        let x = match self.x.trim() {
            "" => "numbers",
            x => x,
        };
        let mut text = format!("Distributions of predictions of {x} by group.");
        for panel in &self.panels {
            let _ = write!(text, " {}:", shorten(panel.title.trim(), 10.0, 1_000.0));
            for (i, line) in panel.groups.iter().take(MOST_GROUPS).enumerate() {
                let separator = if i > 0 { ";" } else { "" };
                let median = drawn(line).find(|(_, share)| *share >= 0.5);
                let median = median.map_or_else(
                    || "not known".into(),
                    |(at, _)| format!("at most {}", rounded(at)),
                );
                let _ = write!(
                    text,
                    "{separator} {}, median {median}",
                    shown_name(line.name)
                );
            }
            text.push('.');
        }
        text
    }
}

/// The points of a line that can be drawn.
fn drawn<'a>(line: &Line<'a>) -> impl Iterator<Item = (f64, f64)> + 'a {
    let points = line.points.iter().copied();
    points.filter(|(at, share)| at.abs() <= LARGEST && (0.0..=1.0).contains(share))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn figure(groups: &[Vec<(f64, f64)>], names: &[String]) -> String {
        let lines: Vec<Line> = (groups.iter().zip(names))
            .map(|(points, name)| Line { name, points })
            .collect();
        let figure = Distributions {
            title: "t".into(),
            x: "salary".into(),
            target: lines.clone(),
            panels: vec![
                Distribution {
                    title: "unmitigated model".into(),
                    groups: lines.clone(),
                },
                Distribution {
                    title: "model 3".into(),
                    groups: lines,
                },
            ],
        };
        figure.to_svg()
    }

    #[test]
    fn medians_are_described() {
        let groups = [
            vec![(1.0, 0.25), (2.0, 0.5), (3.0, 1.0)],
            vec![(1.0, 0.1), (3.0, 0.75)],
        ];
        let svg = figure(&groups, &["F".into(), "M".into()]);
        assert!(
            svg.contains("model 3: F, median at most 2; M, median at most 3."),
            "{svg}"
        );
        // Two panels with two groups, each once for predictions and once for the target.
        assert_eq!(svg.matches("stroke-dasharray=\"30 40\"").count(), 5);
        let nine: Vec<String> = (0..9).map(|i| i.to_string()).collect();
        let svg = figure(&vec![vec![(0.0, 0.5)]; 9], &nine);
        assert!(svg.contains("1 more groups are not drawn"));
    }

    proptest! {
        #[test]
        fn all_input_is_valid(groups in prop::collection::vec(
            prop::collection::vec((-1e305..1e305_f64, -1.0..2.0_f64), 0..5), 0..11
        ), name in "\\PC{0,9}") {
            let names: Vec<String> = (0..groups.len()).map(|i| format!("{name}{i}")).collect();
            assert_well_formed(&figure(&groups, &names));
        }
    }
}
