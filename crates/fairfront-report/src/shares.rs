//! Shares of decisions by class and group.

use std::fmt::Write;

use crate::figure::{
    Axis, Frame, INK, Ink, LineStyle, TEXT_SIZE, draw_line, draw_markers, named_group, tenths,
};
use crate::grid::{draw_title, lettered};
use crate::legend::{Entry, Key, Legend, shown_name};
use crate::marker::{Marker, Position};
use crate::page::Page;
use crate::scale::Scale;
use crate::side::Better;
use crate::text::{shorten, width};

/// The largest number of groups of a panel, one per color.
const MOST_GROUPS: usize = 8;
/// The largest number of classes of a panel.
const MOST_CLASSES: usize = 30;
/// Width of a panel.
const WIDTH: f64 = 300.0;
/// Room above a panel for its title.
const ABOVE: f64 = 24.0;
/// Height of the marker of a group.
const STEP: f64 = 12.0;
/// Room between the markers of two classes.
const GAP: f64 = 12.0;
/// Room to the right of a panel.
const BETWEEN: f64 = 22.0;
/// The largest room for the name of a class.
const MOST_NAME: f64 = 150.0;

/// A share, and the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The share, from 0 to 1.
    pub value: f64,
    /// The ends of its interval, if there is one.
    pub interval: Option<(f64, f64)>,
}

/// Shares of decisions by class and group, one panel per model. A panel has one marker per class and group, with
/// its interval as a line.
///
/// Shares outside 0 to 1 are left out. A panel shows at most eight groups and 30 classes.
///
/// ```
/// use fairfront_report::{Share, SharePanel, Shares};
/// let share = |value| Some(Share { value, interval: Some((value - 0.1, value + 0.1)) });
/// let figure = Shares {
///     title: "Grades".into(),
///     x: "share of decisions".into(),
///     classes: vec!["low", "high"],
///     groups: vec!["F", "M"],
///     panels: vec![SharePanel {
///         title: "model 12".into(),
///         shares: vec![vec![share(0.7), share(0.6)], vec![share(0.3), share(0.4)]],
///     }],
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("model 12") && svg.contains("share of decisions"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Shares<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// The name of the shares.
    pub x: String,
    /// The names of the classes, from top to bottom.
    pub classes: Vec<&'a str>,
    /// The names of the groups.
    pub groups: Vec<&'a str>,
    /// The panels, from left to right.
    pub panels: Vec<SharePanel>,
}

/// The shares of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct SharePanel {
    /// The name of the model.
    pub title: String,
    /// Class by class, the share of each group; `None` if it is not known.
    pub shares: Vec<Vec<Option<Share>>>,
}

impl Shares<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is valid.
    pub fn to_svg(&self) -> String {
        let x = Axis {
            name: &self.x,
            note: "",
            scale: Scale::covering(0.0, 1.0),
        };
        let classes = &self.classes[..self.classes.len().min(MOST_CLASSES)];
        let groups = &self.groups[..self.groups.len().min(MOST_GROUPS)];
        let row = GAP + STEP * groups.len().max(1) as f64;
        let height = row * classes.len().max(1) as f64;
        let widest = classes
            .iter()
            .map(|name| width(shown_name(name), TEXT_SIZE));
        let beside = widest.fold(0.0, f64::max).min(MOST_NAME) + 12.0;
        let n_panels = self.panels.len().max(1) as f64;
        let page = Page {
            title: self.title.trim(),
            better: Better::Neither,
            legend: Legend::new(self.entries(), n_panels * (WIDTH + beside)),
            beside,
            width: n_panels * (WIDTH + beside + BETWEEN) - beside - BETWEEN,
            height: ABOVE + height + Frame::BELOW,
        };
        let mut svg = page.open(&self.name(), &self.describe());
        for (i, panel) in self.panels.iter().enumerate() {
            let frame = Frame {
                left: page.left() + i as f64 * (WIDTH + beside + BETWEEN),
                top: page.top() + ABOVE,
                width: WIDTH,
                height,
            };
            draw_title(
                &mut svg,
                frame,
                &lettered(i, self.panels.len(), &panel.title),
                "",
            );
            frame.draw(&mut svg, &x, None);
            for (class, name) in classes.iter().enumerate() {
                let name = shown_name(name);
                let short = shorten(name, TEXT_SIZE, MOST_NAME);
                named_group(&mut svg, (short != name).then_some(name), None);
                svg.tag("text")
                    .at(
                        frame.left - 8.0,
                        frame.top + (class as f64 + 0.5) * row + 4.0,
                    )
                    .set("font-size", TEXT_SIZE)
                    .set("text-anchor", "end")
                    .set("fill", INK)
                    .text(&short);
                svg.close();
            }
            if drawn(panel, classes.len(), groups.len()).next().is_none() {
                frame.draw_empty(&mut svg);
            }
            tenths(&mut svg);
            for (group, name) in groups.iter().enumerate() {
                let place = |class: usize, share: f64| -> Position {
                    let from_top = class as f64 * row + GAP / 2.0 + (group as f64 + 0.5) * STEP;
                    frame.position(x.scale.share(share), 1.0 - from_top / height)
                };
                let own = || {
                    let all = drawn(panel, classes.len(), groups.len());
                    all.filter(|(_, of, _)| *of == group)
                };
                let lines: Vec<Vec<Position>> = own()
                    .filter_map(|(class, _, share)| {
                        let (low, high) = share.interval?;
                        let is_share = |end: f64| (0.0..=1.0).contains(&end);
                        (is_share(low) && is_share(high))
                            .then(|| vec![place(class, low), place(class, high)])
                    })
                    .collect();
                let places: Vec<Position> = own().map(|(c, _, s)| place(c, s.value)).collect();
                if places.is_empty() {
                    continue;
                }
                named_group(&mut svg, Some(shown_name(name)), None);
                if !lines.is_empty() {
                    draw_line(&mut svg, LineStyle::of(group), &lines);
                }
                draw_markers(&mut svg, Marker::of(group), Ink::Signs, 38, &places);
                svg.close();
            }
            svg.close();
        }
        svg.finish()
    }

    fn entries(&self) -> Vec<Entry> {
        let groups = self.groups.iter().take(MOST_GROUPS).enumerate();
        let mut entries: Vec<Entry> = groups
            .map(|(i, name)| Entry {
                key: Key::Marker(Marker::of(i)),
                name: shown_name(name).to_owned(),
                note: String::new(),
            })
            .collect();
        let rest = [
            (self.groups.len(), MOST_GROUPS, "groups"),
            (self.classes.len(), MOST_CLASSES, "classes"),
        ];
        for (all, most, noun) in rest {
            if all > most {
                entries.push(Entry {
                    key: Key::None,
                    name: format!("{} more {noun} are not drawn", all - most),
                    note: String::new(),
                });
            }
        }
        entries
    }

    /// The title, or a default.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => "Decisions by class and group".into(),
            title => title.into(),
        }
    }

    /// The description for screen readers.
    fn describe(&self) -> String {
        let mut text = format!("{} by class and group.", self.x.trim());
        for panel in &self.panels {
            let _ = write!(text, " {}:", shorten(panel.title.trim(), 10.0, 1_000.0));
            let (n_classes, n_groups) = (
                self.classes.len().min(MOST_CLASSES),
                self.groups.len().min(MOST_GROUPS),
            );
            for (i, (class, group, share)) in drawn(panel, n_classes, n_groups).enumerate() {
                let separator = if i > 0 { ";" } else { "" };
                let (class, group) = (
                    shown_name(self.classes[class]),
                    shown_name(self.groups[group]),
                );
                let _ = write!(
                    text,
                    "{separator} {class}, {group} {:.1}%",
                    100.0 * share.value
                );
            }
            text.push('.');
        }
        text
    }
}

/// The shares that can be drawn, with class and group.
fn drawn(
    panel: &SharePanel,
    n_classes: usize,
    n_groups: usize,
) -> impl Iterator<Item = (usize, usize, Share)> + '_ {
    let classes = panel.shares.iter().take(n_classes).enumerate();
    let all = classes.flat_map(move |(class, groups)| {
        let groups = groups.iter().take(n_groups).enumerate();
        groups.filter_map(move |(group, share)| Some((class, group, (*share)?)))
    });
    all.filter(|(_, _, share)| (0.0..=1.0).contains(&share.value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn figure(shares: &[Vec<Option<Share>>], classes: &[String], groups: &[String]) -> String {
        let panel = |title: &str| SharePanel {
            title: title.into(),
            shares: shares.to_vec(),
        };
        let figure = Shares {
            title: "t".into(),
            x: "Share of decisions".into(),
            classes: classes.iter().map(String::as_str).collect(),
            groups: groups.iter().map(String::as_str).collect(),
            panels: vec![panel("unmitigated model"), panel("model 3")],
        };
        figure.to_svg()
    }

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| i.to_string()).collect()
    }

    #[test]
    fn shares_are_described() {
        let share = |value| {
            Some(Share {
                value,
                interval: None,
            })
        };
        let shares = [vec![share(0.25), share(0.5)], vec![share(0.75), None]];
        let svg = figure(
            &shares,
            &["low".into(), "Assoc, voc".into()],
            &["F".into(), "M".into()],
        );
        assert!(
            svg.contains("model 3: low, F 25.0%; low, M 50.0%; Assoc, voc, F 75.0%."),
            "{svg}"
        );
        let svg = figure(&[vec![share(0.5); 9]], &names(31), &names(9));
        assert!(svg.contains("1 more groups are not drawn"));
        assert!(svg.contains("1 more classes are not drawn"));
    }

    proptest! {
        #[test]
        fn all_input_is_valid(shares in prop::collection::vec(
            prop::collection::vec(prop::option::of((-1.0..2.0_f64, prop::option::of((-1e305..1e305_f64, -1.0..2.0_f64)))), 0..10), 0..5
        ), n in 0..5_usize, name in "\\PC{0,9}") {
            let share = |share: &Option<(f64, Option<(f64, f64)>)>| {
                share.map(|(value, interval)| Share { value, interval })
            };
            let shares: Vec<Vec<Option<Share>>> =
                shares.iter().map(|class| class.iter().map(share).collect()).collect();
            let mut classes = names(n);
            classes.push(name);
            assert_well_formed(&figure(&shares, &classes, &names(2 * n)));
        }
    }
}
