//! Performance profiles: how often a solver is nearly the best.

use std::fmt::Write;

use crate::curve::Line;
use crate::figure::{Axis, Frame, LineStyle, draw_line, named_group, tenths};
use crate::grid::{Grid, draw_title, lettered};
use crate::legend::{Entry, Key, Legend, shown_name};
use crate::marker::Position;
use crate::page::Page;
use crate::scale::{LARGEST, Scale, range, rounded};
use crate::side::Better;
use crate::svg::Svg;
use crate::text::shorten;

/// Width and height of the frame, in pixels.
const FRAME: (f64, f64) = (560.0, 320.0);

/// Performance profiles of several solvers: the share of problems on which each is within a factor
/// τ of the best, as a step line over τ. Lines higher up and further to the left are better.
///
/// The steps are those of `Profile::steps` in `fairfront-pareto`: each τ has the share that holds
/// from there on; before the first τ, the share is 0. The horizontal axis starts at 1. It is
/// logarithmic to base 2, or linear if all factors are below 2, since they may be very close to 1.
/// The vertical axis goes from 0 to 1. Steps with τ below 1 or not finite, or with a share outside
/// 0 to 1, are left out.
///
/// ```
/// use fairfront_report::{Line, Profiles};
/// let figure = Profiles {
///     title: "Seconds on 40 problems".into(),
///     solvers: vec![
///         Line { name: "pf-smg", points: &[(1.0, 0.7), (1.5, 0.9), (4.0, 1.0)] },
///         Line { name: "eps-fair", points: &[(1.0, 0.3), (8.0, 0.8)] },
///     ],
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("eps-fair") && svg.contains("best on 30%, at most 80%"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// One line per solver: factors τ, each with the share from there on.
    pub solvers: Vec<Line<'a>>,
}

impl Profiles<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid.
    ///
    /// The cost is about that of sorting the steps of each solver.
    pub fn to_svg(&self) -> String {
        let drawn = Drawn::new(self, Better::Higher.note());
        let styles: Vec<usize> = (0..drawn.solvers.len()).collect();
        let entry = |(i, solver): (usize, &Steps)| Entry {
            key: Key::Line(LineStyle::of(i), false),
            name: shown_name(solver.name).to_owned(),
            note: solver.summary(),
        };
        let entries = drawn.solvers.iter().enumerate().map(entry).collect();
        let (page, frame) = Page::of_one(self.title.trim(), entries, &drawn.y, FRAME);
        let text = format!("{ABOUT} Solvers:{}", drawn.describe());
        let mut svg = page.open(title_or_kind(&self.title), &text);
        drawn.draw(&mut svg, frame, &styles);
        svg.finish()
    }
}

/// Performance profiles of the same solvers in several indicators, one panel per indicator.
///
/// Solvers of the same name look the same in all panels and have one entry in the legend. Panels
/// are lettered from (a) on; more than four panels are smaller, three per row. Each has its own
/// horizontal axis. How often a solver is the best appears when the pointer is over its line, and
/// in the description.
///
/// ```
/// use fairfront_report::{Line, ProfilePanels, Profiles};
/// let panel = |title: &str, own: &'static [(f64, f64)], other: &'static [(f64, f64)]| Profiles {
///     title: title.into(),
///     solvers: vec![
///         Line { name: "pf-smg", points: own },
///         Line { name: "eps-fair", points: other },
///     ],
/// };
/// let figure = ProfilePanels {
///     title: "40 problems".into(),
///     panels: vec![
///         panel("purity", &[(1.0, 0.4), (1.1, 1.0)], &[(1.0, 0.6), (1.5, 1.0)]),
///         panel("seconds per model", &[(1.0, 1.0)], &[(8.0, 0.8)]),
///     ],
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("(b) seconds per model"));
/// assert!(svg.contains("eps-fair, best on 0%, at most 80%"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProfilePanels<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// The panels, row by row.
    pub panels: Vec<Profiles<'a>>,
}

impl ProfilePanels<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid.
    ///
    /// The cost is about that of sorting the steps of each solver in each panel.
    pub fn to_svg(&self) -> String {
        let names = self.names();
        let drawn: Vec<Drawn> = self.panels.iter().map(|p| Drawn::new(p, "")).collect();
        let axes: Vec<&Axis> = drawn.iter().map(|d| &d.y).collect();
        let grid = Grid::new(&axes);
        let entry = |(i, name): (usize, &&str)| Entry {
            key: Key::Line(LineStyle::of(i), false),
            name: shown_name(name).to_owned(),
            note: String::new(),
        };
        let entries = names.iter().enumerate().map(entry).collect();
        let page = Page {
            title: self.title.trim(),
            better: Better::Higher,
            legend: Legend::new(entries, grid.width()),
            beside: grid.beside,
            width: grid.width(),
            height: grid.height(),
        };
        let titles: Vec<String> = (self.panels.iter().enumerate())
            .map(|(i, panel)| lettered(i, self.panels.len(), &panel.title))
            .collect();
        let mut text = ABOUT.to_owned();
        for (title, drawn) in titles.iter().zip(&drawn) {
            let title = shorten(title.trim(), 10.0, 1_000.0);
            let _ = write!(text, " {title}:{}", drawn.describe());
        }
        let mut svg = page.open(title_or_kind(&self.title), &text);
        for (i, (title, drawn)) in titles.iter().zip(&drawn).enumerate() {
            let frame = grid.frame(i, page.left(), page.top());
            draw_title(&mut svg, frame, title, "");
            let style = |solver: &Steps| names.iter().position(|n| *n == solver.name);
            let styles = drawn.solvers.iter().map(|s| style(s).unwrap_or(0));
            drawn.draw(&mut svg, frame, &styles.collect::<Vec<usize>>());
        }
        svg.finish()
    }

    /// Names of solvers in the order of their first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for solver in self.panels.iter().flat_map(|p| &p.solvers) {
            if !names.contains(&solver.name) {
                names.push(solver.name);
            }
        }
        names
    }
}

/// A sentence that explains profiles.
const ABOUT: &str = "Performance profiles: the share of problems on which a solver is within a factor of the best. \
                     Higher is better.";

/// The title, or a default.
fn title_or_kind(title: &str) -> &str {
    match title.trim() {
        "" => "Performance profiles",
        title => title,
    }
}

/// A panel as it is drawn.
struct Drawn<'a> {
    x: Axis<'a>,
    y: Axis<'a>,
    solvers: Vec<Steps<'a>>,
    /// Whether the horizontal axis shows factors instead of their logarithms.
    linear: bool,
    /// The end of the lines on the horizontal axis.
    last: f64,
}

impl<'a> Drawn<'a> {
    /// The panel, with a note next to the name of its vertical axis.
    fn new(panel: &Profiles<'a>, note: &'static str) -> Self {
        let solvers: Vec<Steps> = panel.solvers.iter().map(Steps::new).collect();
        let highest = range(solvers.iter().flat_map(|s| &s.steps).map(|s| s.0));
        let highest = highest.map_or(1.0, |(_, high)| high);
        let linear = 1.0 < highest && highest < 2.0;
        // A little beyond the last step, so that its share is visible.
        let last = match linear {
            true => 1.0 + 1.1 * (highest - 1.0),
            false => log2(highest).floor() + 1.0,
        };
        Self {
            x: Axis {
                name: "factor τ of the best",
                note: "",
                scale: match linear {
                    true => Scale::covering(1.0, last),
                    false => Scale::powers_of_two(last),
                },
            },
            y: Axis {
                name: "share of problems within τ",
                note,
                scale: Scale::covering(0.0, 1.0),
            },
            solvers,
            linear,
            last,
        }
    }

    /// The coordinate of a factor on the horizontal axis, before scaling.
    fn along(&self, factor: f64) -> f64 {
        if self.linear { factor } else { log2(factor) }
    }

    /// The description of the solvers for screen readers.
    fn describe(&self) -> String {
        let mut text = String::new();
        for (i, solver) in self.solvers.iter().enumerate() {
            let separator = if i > 0 { ";" } else { "" };
            let _ = write!(text, "{separator} {}", solver.named_summary());
        }
        text += ".";
        text
    }

    /// Draws axes and lines; `styles` has the style number of each solver.
    fn draw(&self, svg: &mut Svg, frame: Frame, styles: &[usize]) {
        let (x, y) = (&self.x, &self.y);
        frame.draw(svg, x, Some(y));
        if self.solvers.iter().all(|s| s.steps.is_empty()) {
            frame.draw_empty(svg);
        }
        tenths(svg);
        let lines = self.solvers.iter().zip(styles).enumerate();
        for (i, (solver, number)) in lines.filter(|(_, (s, _))| !s.steps.is_empty()) {
            let place =
                |(at, share): (f64, f64)| frame.position(x.scale.share(at), y.scale.share(share));
            let steps: Vec<(f64, f64)> = (solver.steps.iter())
                .map(|(factor, share)| (self.along(*factor), *share))
                .collect();
            let corners = corners(&steps, self.along(1.0), self.last).into_iter();
            let mut line: Vec<Position> = corners.map(place).collect();
            line.dedup();
            let mut style = LineStyle::of(*number);
            // Lower lines are wider, so that their edges stay visible where lines coincide.
            style.width = 15.0 + 6.0 * (self.solvers.len() - 1 - i).min(2) as f64;
            named_group(svg, Some(&solver.named_summary()), None);
            draw_line(svg, style, &[line]);
            svg.close();
        }
        svg.close();
    }
}

/// A solver's profile as it is drawn.
struct Steps<'a> {
    name: &'a str,
    /// Factors and shares, in order.
    steps: Vec<(f64, f64)>,
}

impl<'a> Steps<'a> {
    fn new(line: &Line<'a>) -> Self {
        let drawn = |(factor, share): &(f64, f64)| {
            (1.0..=LARGEST).contains(factor) && (0.0..=1.0).contains(share)
        };
        let mut steps: Vec<(f64, f64)> = line.points.iter().copied().filter(drawn).collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            name: line.name,
            steps,
        }
    }

    /// How often the solver is the best, and its largest share.
    fn summary(&self) -> String {
        let percent = |share: f64| rounded(100.0 * share);
        let best = self.steps.iter().take_while(|s| s.0 == 1.0).last();
        let best = percent(best.map_or(0.0, |s| s.1));
        match self.steps.last() {
            None => "no steps".into(),
            Some((_, most)) => format!("best on {best}%, at most {}%", percent(*most)),
        }
    }

    /// The summary with the name of the solver.
    fn named_summary(&self) -> String {
        let name = shorten(shown_name(self.name), 10.0, 1_000.0);
        format!("{name}, {}", self.summary())
    }
}

/// The corners of a step line: level from one step to the next, then straight up.
fn corners(steps: &[(f64, f64)], first: f64, last: f64) -> Vec<(f64, f64)> {
    let mut corners = vec![(first, 0.0)];
    let mut height = 0.0;
    for (at, share) in steps {
        corners.extend([(*at, height), (*at, *share)]);
        height = *share;
    }
    corners.push((last, height));
    corners
}

/// The logarithm to base 2 of a number that is at least 1. It uses only arithmetic operations,
/// which give the same result on every machine.
fn log2(value: f64) -> f64 {
    let (mut mantissa, mut exponent) = (value, 0.0);
    // At most 1,000 times, and without rounding.
    while mantissa >= 2.0 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)); the argument is at most 1/3.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let mut sum = 0.0;
    for k in (0..17).rev() {
        sum = sum * s * s + 1.0 / f64::from(2 * k + 1);
    }
    exponent + 2.0 * s * sum / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn draw(solvers: &[&[(f64, f64)]]) -> String {
        let svg = Profiles {
            title: "a title".into(),
            solvers: (solvers.iter())
                .map(|points| Line { name: "s", points })
                .collect(),
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    #[test]
    fn a_profile_rises_in_steps() {
        let line = Line {
            name: "s",
            points: &[(4.0, 1.0), (1.0, 0.25), (2.0, 0.5)],
        };
        let steps = Steps::new(&line);
        assert_eq!(steps.steps, [(1.0, 0.25), (2.0, 0.5), (4.0, 1.0)]);
        let expected = [
            (0.0, 0.0),
            (0.0, 0.0),
            (0.0, 0.25),
            (1.0, 0.25),
            (1.0, 0.5),
            (2.0, 0.5),
            (2.0, 1.0),
            (3.0, 1.0),
        ];
        let logarithms = [(0.0, 0.25), (1.0, 0.5), (2.0, 1.0)];
        assert_eq!(corners(&logarithms, 0.0, 3.0), expected);
        assert_eq!(steps.summary(), "best on 25%, at most 100%");
        let svg = draw(&[line.points]);
        for label in [">1<", ">2<", ">4<", ">8<"] {
            assert!(svg.contains(label), "{label}");
        }
    }

    #[test]
    fn factors_near_one_have_different_labels() {
        let svg = draw(&[&[(1.0, 0.5), (1.004, 1.0)], &[(1.0, 0.5), (1.001, 1.0)]]);
        for label in [">1.000<", ">1.001<", ">1.004<"] {
            assert!(svg.contains(label), "{label}");
        }
        // A factor of two, or no factor above 1, has the logarithmic axis.
        for steps in [&[(1.0, 0.5), (2.0, 1.0)][..], &[(1.0, 1.0)]] {
            let svg = draw(&[steps]);
            assert!(svg.contains(">2<") && !svg.contains(">1.00"));
        }
    }

    #[test]
    fn invalid_steps_are_left_out() {
        let nothing = [
            (f64::NAN, 0.5),
            (f64::INFINITY, 0.5),
            (0.5, 0.5),
            (2.0, 1.5),
            (2.0, f64::NAN),
            (1e301, 1.0),
        ];
        let cases: [&[&[(f64, f64)]]; 3] = [&[], &[&[]], &[&nothing]];
        for solvers in cases {
            assert!(draw(solvers).contains(">no points<"));
        }
        // Even the largest factor has an axis.
        let svg = draw(&[&[(1.0, 0.5), (1e300, 1.0)]]);
        assert!(svg.contains(">2^") && !svg.contains("no points"));
    }

    #[test]
    fn names_are_escaped() {
        let script = "</text><script>alert(\"1\")</script>'&";
        let long = "long name ".repeat(1_000);
        for name in [script, &long, "", "\u{202e}\u{0}"] {
            let line = Line {
                name,
                points: &[(1.0, 0.5)],
            };
            let svg = Profiles {
                title: name.into(),
                solvers: vec![line; 10],
            }
            .to_svg();
            assert_well_formed(&svg);
            assert!(!svg.contains("<script"));
        }
    }

    type Named<'a> = (&'a str, &'a [(f64, f64)]);

    fn panels<'a>(panels: &[&[Named<'a>]]) -> String {
        let line = |(name, points): &Named<'a>| Line { name, points };
        let panel = |solvers: &&[Named<'a>]| Profiles {
            title: "an indicator".into(),
            solvers: solvers.iter().map(line).collect(),
        };
        let svg = ProfilePanels {
            title: "a title".into(),
            panels: panels.iter().map(panel).collect(),
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    #[test]
    fn a_solver_has_one_look_in_all_panels() {
        let (a, b): (&[_], &[_]) = (&[(1.0, 0.5), (2.0, 1.0)], &[(1.0, 0.75)]);
        let svg = panels(&[&[("a", a), ("b", b)], &[("b", a), ("a", b)], &[]]);
        assert_eq!(svg.matches(">a</tspan>").count(), 1);
        assert_eq!(svg.matches(">b</tspan>").count(), 1);
        for title in ["(a)", "(b)", "(c)"] {
            assert!(svg.contains(&format!(">{title} an indicator<")), "{title}");
        }
        assert_eq!(svg.matches(">no points<").count(), 1);
        assert_eq!(svg.matches(">higher is better<").count(), 1);
        // Legend and two panels, whatever the order in each.
        for i in 0..2 {
            let color = format!("stroke=\"{}\"", LineStyle::of(i).marker.color);
            assert_eq!(svg.matches(&color).count(), 3);
        }
        // Each summary is the title of its line, and part of the description.
        assert_eq!(
            svg.matches("<title>b, best on 75%, at most 75%<").count(),
            1
        );
        assert_eq!(svg.matches("b, best on 50%, at most 100%").count(), 2);
    }

    #[test]
    fn empty_panels_are_drawn() {
        assert!(panels(&[]).contains(">a title<"));
        assert!(panels(&[&[]]).contains(">an indicator<"));
        let nothing: &[(f64, f64)] = &[(f64::NAN, 0.5)];
        assert!(panels(&[&[("a", nothing)], &[("b", &[])]]).contains(">no points<"));
    }

    proptest! {
        #[test]
        fn logarithms_agree_with_the_library(value in 1.0..1e12_f64, large in 0..900_i32) {
            prop_assert!((log2(value) - value.log2()).abs() < 1e-12);
            prop_assert_eq!(log2(2_f64.powi(large)), f64::from(large));
        }

        #[test]
        fn any_steps_give_the_same_figure_again(
            steps in prop::collection::vec((any::<f64>(), 0.0..1.2_f64), 0..30),
            near in prop::collection::vec((0.9..9.0_f64, 0.0..1.0_f64), 0..30),
        ) {
            prop_assert_eq!(draw(&[&steps, &near]), draw(&[&steps, &near]));
            let both: &[Named] = &[("far", &steps), ("near", &near)];
            for n in [1, 2, 6] {
                prop_assert_eq!(panels(&vec![both; n]), panels(&vec![both; n]));
            }
        }
    }
}
