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

/// Performance profiles of several solvers: for each the share of problems on which it is within a factor τ of
/// the best, as a line of steps over τ. Higher is better, and further to the left.
///
/// The steps are what `Profile::steps` of `fairfront-pareto` gives: from each τ on the share that belongs to
/// it; 0 before the first. The horizontal axis starts at 1 and is logarithmic to base 2, or linear where all factors
/// are below 2, since they may be very near to 1; the vertical one goes from 0 to 1. A step whose τ is below 1 or not finite, or whose share is not within 0 and 1, is left out.
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
/// assert!(svg.contains("eps-fair") && svg.contains("best on 30 %, at most 80 %"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles<'a> {
    /// Above the picture; may be empty.
    pub title: String,
    /// A line for each solver: factors τ with the share from there on.
    pub solvers: Vec<Line<'a>>,
}

impl Profiles<'_> {
    /// The picture as an SVG document, the same bytes for the same figure. Any input gives a picture.
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

/// Performance profiles of the same solvers in several indicators, a panel for each.
///
/// Solvers of the same name look the same in all panels and have one line of the legend. Panels are
/// lettered from (a) on, more than four are smaller, three in a row. Each has a horizontal axis of its own;
/// how often a solver is the best is said where the mouse is over its line, and in the description.
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
///         panel("seconds a point", &[(1.0, 1.0)], &[(8.0, 0.8)]),
///     ],
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("(b) seconds a point"));
/// assert!(svg.contains("eps-fair, best on 0 %, at most 80 %"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProfilePanels<'a> {
    /// Above the picture; may be empty.
    pub title: String,
    /// The panels, row by row.
    pub panels: Vec<Profiles<'a>>,
}

impl ProfilePanels<'_> {
    /// The picture as an SVG document, the same bytes for the same figure. Any input gives a picture.
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

    /// Names of solvers in the order they come up.
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

/// What profiles are, in words.
const ABOUT: &str = "Performance profiles: the share of problems on which a solver is within a factor of the best. \
                     Higher is better.";

/// The title, or what the picture shows where there is none.
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
    /// Whether the horizontal axis has factors, not their logarithms.
    linear: bool,
    /// Where the lines end on the horizontal axis.
    last: f64,
}

impl<'a> Drawn<'a> {
    /// The panel, with what is said beside the name of its vertical axis.
    fn new(panel: &Profiles<'a>, note: &'static str) -> Self {
        let solvers: Vec<Steps> = panel.solvers.iter().map(Steps::new).collect();
        let highest = range(solvers.iter().flat_map(|s| &s.steps).map(|s| s.0));
        let highest = highest.map_or(1.0, |(_, high)| high);
        let linear = 1.0 < highest && highest < 2.0;
        // Somewhat further than the last step, so that it is seen to last.
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

    /// Where a factor lies on the horizontal axis, before it is scaled.
    fn along(&self, factor: f64) -> f64 {
        if self.linear { factor } else { log2(factor) }
    }

    /// The solvers in words.
    fn describe(&self) -> String {
        let mut text = String::new();
        for (i, solver) in self.solvers.iter().enumerate() {
            let separator = if i > 0 { ";" } else { "" };
            let _ = write!(text, "{separator} {}", solver.named_summary());
        }
        text += ".";
        text
    }

    /// Draws axes and lines, each solver's in the style of this number.
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
            // What lies below is a little wider, and shows at the edges where lines are the same.
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

    /// How often it is the best, and how often it comes to an end at all.
    fn summary(&self) -> String {
        let percent = |share: f64| rounded(100.0 * share);
        let best = self.steps.iter().take_while(|s| s.0 == 1.0).last();
        let best = percent(best.map_or(0.0, |s| s.1));
        match self.steps.last() {
            None => "no steps".into(),
            Some((_, most)) => format!("best on {best} %, at most {} %", percent(*most)),
        }
    }

    /// The same, with its name.
    fn named_summary(&self) -> String {
        let name = shorten(shown_name(self.name), 10.0, 1_000.0);
        format!("{name}, {}", self.summary())
    }
}

/// The corners of a line of steps: level from one step to the next, then straight up.
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

/// The logarithm to base 2 of a number from 1 on. By sums and products only, which are the same on every
/// machine.
fn log2(value: f64) -> f64 {
    let (mut mantissa, mut exponent) = (value, 0.0);
    // At most 1,000 times, and without rounding.
    while mantissa >= 2.0 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)); the argument is a third at most.
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
        assert_eq!(steps.summary(), "best on 25 %, at most 100 %");
        let svg = draw(&[line.points]);
        for label in [">1<", ">2<", ">4<", ">8<"] {
            assert!(svg.contains(label), "{label}");
        }
    }

    #[test]
    fn factors_near_one_are_told_apart() {
        let svg = draw(&[&[(1.0, 0.5), (1.004, 1.0)], &[(1.0, 0.5), (1.001, 1.0)]]);
        for label in [">1.000<", ">1.001<", ">1.004<"] {
            assert!(svg.contains(label), "{label}");
        }
        // A factor of two, or one alone, has the logarithmic axis.
        for steps in [&[(1.0, 0.5), (2.0, 1.0)][..], &[(1.0, 1.0)]] {
            let svg = draw(&[steps]);
            assert!(svg.contains(">2<") && !svg.contains(">1.00"));
        }
    }

    #[test]
    fn what_is_no_step_is_left_out() {
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
    fn names_are_text_however_they_look() {
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
            let colour = format!("stroke=\"{}\"", LineStyle::of(i).marker.colour);
            assert_eq!(svg.matches(&colour).count(), 3);
        }
        // What each does there is said over its line, and once more in words.
        assert_eq!(
            svg.matches("<title>b, best on 75 %, at most 75 %<").count(),
            1
        );
        assert_eq!(svg.matches("b, best on 50 %, at most 100 %").count(), 2);
    }

    #[test]
    fn panels_without_anything_are_panels() {
        assert!(panels(&[]).contains(">a title<"));
        assert!(panels(&[&[]]).contains(">an indicator<"));
        let nothing: &[(f64, f64)] = &[(f64::NAN, 0.5)];
        assert!(panels(&[&[("a", nothing)], &[("b", &[])]]).contains(">no points<"));
    }

    proptest! {
        #[test]
        fn logarithms_are_those_of_the_library(value in 1.0..1e12_f64, large in 0..900_i32) {
            prop_assert!((log2(value) - value.log2()).abs() < 1e-12);
            prop_assert_eq!(log2(2_f64.powi(large)), f64::from(large));
        }

        #[test]
        fn any_steps_give_the_same_picture_again(
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
