//! Performance profiles: how often a solver is nearly the best.

use std::fmt::Write;

use crate::curve::Line;
use crate::figure::{Axis, LineStyle, draw_line, named_group, tenths};
use crate::legend::{Entry, Key, shown_name};
use crate::marker::Position;
use crate::page::Page;
use crate::scale::{LARGEST, Scale, range, rounded};
use crate::text::shorten;

/// Width and height of the frame, in pixels.
const FRAME: (f64, f64) = (560.0, 320.0);

/// Performance profiles of several solvers: for each the share of problems on which it is within a factor τ of
/// the best, as a line of steps over τ. Higher is better, and further to the left.
///
/// The steps are what `Profile::steps` of `fairfront-pareto` gives: from each τ on the share that belongs to
/// it; 0 before the first. The horizontal axis is logarithmic to base 2 and starts at 1, the vertical one goes from 0
/// to 1. A step whose τ is below 1 or not finite, or whose share is not within 0 and 1, is left out.
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
        let solvers: Vec<Steps> = self.solvers.iter().map(Steps::new).collect();
        let last = range(solvers.iter().flat_map(|s| &s.steps).map(|s| s.0));
        // Up to the next power of two, so that the last step is seen to last.
        let last = last.map_or(1.0, |(_, high)| high.floor() + 1.0);
        let x = Axis {
            name: "factor τ of the best",
            note: "",
            scale: Scale::powers_of_two(last),
        };
        let y = Axis {
            name: "share of problems within τ",
            note: "higher is better",
            scale: Scale::covering(0.0, 1.0),
        };
        let entry = |(i, solver): (usize, &Steps)| Entry {
            key: Key::Line(LineStyle::of(i), false),
            name: shown_name(solver.name).to_owned(),
            note: solver.summary(),
        };
        let entries = solvers.iter().enumerate().map(entry).collect();
        let (page, frame) = Page::of_one(self.title.trim(), entries, &y, FRAME);
        let mut svg = page.open(&self.name(), &describe(&solvers));
        frame.draw(&mut svg, &x, Some(&y));
        if solvers.iter().all(|s| s.steps.is_empty()) {
            frame.draw_empty(&mut svg);
        }
        tenths(&mut svg);
        for (i, solver) in solvers.iter().enumerate() {
            if solver.steps.is_empty() {
                continue;
            }
            let place = |(factor, share): (f64, f64)| {
                frame.position(x.scale.share(factor), y.scale.share(share))
            };
            let corners = solver.corners(last).into_iter();
            let mut line: Vec<Position> = corners.map(place).collect();
            line.dedup();
            let mut style = LineStyle::of(i);
            // What lies below is a little wider, and shows at the edges where lines are the same.
            style.width = 15.0 + 6.0 * (solvers.len() - 1 - i).min(2) as f64;
            named_group(&mut svg, Some(shown_name(solver.name)), None);
            draw_line(&mut svg, style, &[line]);
            svg.close();
        }
        svg.finish()
    }

    /// The title, or what the picture shows where there is none.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => "Performance profiles".into(),
            title => title.into(),
        }
    }
}

/// The picture in words.
fn describe(solvers: &[Steps]) -> String {
    let mut text = String::from(
        "Performance profiles: the share of problems on which a solver is within a factor of the best. \
         Higher is better. Solvers:",
    );
    for (i, solver) in solvers.iter().enumerate() {
        let separator = if i > 0 { ";" } else { "" };
        let name = shorten(shown_name(solver.name), 10.0, 1_000.0);
        let _ = write!(text, "{separator} {name}, {}", solver.summary());
    }
    text += ".";
    text
}

/// A solver's profile as it is drawn.
struct Steps<'a> {
    name: &'a str,
    /// Logarithms of factors, and shares, in order.
    steps: Vec<(f64, f64)>,
}

impl<'a> Steps<'a> {
    fn new(line: &Line<'a>) -> Self {
        let drawn = |(factor, share): &(f64, f64)| {
            (1.0..=LARGEST).contains(factor) && (0.0..=1.0).contains(share)
        };
        let mut steps: Vec<(f64, f64)> = line.points.iter().copied().filter(drawn).collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let steps = steps
            .into_iter()
            .map(|(factor, share)| (log2(factor), share));
        Self {
            name: line.name,
            steps: steps.collect(),
        }
    }

    /// The corners of its line: level from one step to the next, then straight up.
    fn corners(&self, last: f64) -> Vec<(f64, f64)> {
        let mut corners = vec![(0.0, 0.0)];
        let mut height = 0.0;
        for (factor, share) in &self.steps {
            corners.extend([(*factor, height), (*factor, *share)]);
            height = *share;
        }
        corners.push((last, height));
        corners
    }

    /// How often it is the best, and how often it comes to an end at all.
    fn summary(&self) -> String {
        let percent = |share: f64| rounded(100.0 * share);
        let best = self.steps.iter().take_while(|s| s.0 == 0.0).last();
        let best = percent(best.map_or(0.0, |s| s.1));
        match self.steps.last() {
            None => "no steps".into(),
            Some((_, most)) => format!("best on {best} %, at most {} %", percent(*most)),
        }
    }
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
        let corners = [
            (0.0, 0.0),
            (0.0, 0.0),
            (0.0, 0.25),
            (1.0, 0.25),
            (1.0, 0.5),
            (2.0, 0.5),
            (2.0, 1.0),
            (3.0, 1.0),
        ];
        assert_eq!(steps.corners(3.0), corners);
        assert_eq!(steps.summary(), "best on 25 %, at most 100 %");
        let svg = draw(&[line.points]);
        for label in [">1<", ">2<", ">4<", ">8<"] {
            assert!(svg.contains(label), "{label}");
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
        }
    }
}
