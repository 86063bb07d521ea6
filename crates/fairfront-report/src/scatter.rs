//! Several panels in one figure, each with two quantities of its own.

use std::fmt::Write;

use crate::figure::{Axis, Frame, Ink, draw_markers, named_group, tenths};
use crate::grid::{Grid, draw_title, lettered};
use crate::legend::{Entry, Key, Legend, count, shown_name};
use crate::marker::{Marker, Position, merge};
use crate::overlay::Series;
use crate::page::Page;
use crate::panel::{GROUND, Layer, Panel, REFERENCE};
use crate::scale::{Scale, range, rounded};
use crate::side::{Better, Side};
use crate::svg::Svg;
use crate::trail::{Trail, described};

/// One panel: points with two values each.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter<'a> {
    /// The title above the panel; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Side,
    /// The vertical axis.
    pub y: Side,
    /// The series, with x and y of each point one after the other. Points with a value that cannot
    /// be drawn are left out; a note next to the title of the panel shows how many.
    pub series: Vec<Series<'a>>,
    /// Points with a marker of their own, x and y of each.
    pub marked: Vec<f64>,
}

/// Several panels in one figure, such as a front and the rates of groups along it.
///
/// Series of the same name look the same in all panels and have one entry in the legend. Panels are
/// lettered from (a) on; more than four panels are smaller, three per row. Axes are linear; each
/// covers all finite points of its panel and shows the better direction. If all axes of small
/// panels have the same better direction, the figure shows it once. Points are drawn as in an
/// [`Overlay`](crate::Overlay).
///
/// ```
/// use fairfront_report::{Better, Scatter, Scatters, Series, Side};
/// let side = |name: &str, better| Side { name: name.into(), better };
/// let figure = Scatters {
///     title: "Adult, gender".into(),
///     panels: vec![
///         Scatter {
///             title: "the front".into(),
///             x: side("log_loss", Better::Lower),
///             y: side("score_covariance(gender)", Better::Lower),
///             series: vec![Series { name: "front", values: &[0.34, 0.012, 0.41, 0.0] }],
///             marked: vec![0.33, 0.02],
///         },
///         Scatter {
///             title: "positive outcomes".into(),
///             x: side("score_covariance(gender)", Better::Lower),
///             y: side("share of positive outcomes", Better::Neither),
///             series: vec![
///                 Series { name: "Female", values: &[0.012, 0.1, 0.0, 0.16] },
///                 Series { name: "Male", values: &[0.012, 0.26, 0.0, f64::NAN] },
///             ],
///             marked: vec![0.02, 0.08, 0.02, 0.27],
///         },
///     ],
///     marked: "unmitigated model".into(),
/// };
/// let svg = figure.to_svg();
/// assert!(svg.contains("(b) positive outcomes"));
/// assert!(svg.contains("1 not finite"));
/// # assert_eq!(svg, figure.to_svg());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scatters<'a> {
    /// The title above the figure; may be empty.
    pub title: String,
    /// The panels, row by row.
    pub panels: Vec<Scatter<'a>>,
    /// The name of the marked points in the legend.
    pub marked: String,
}

impl Scatters<'_> {
    /// Returns the figure as an SVG document, with the same bytes for the same figure. All input is
    /// valid: no panels, no points, equal points, names with any characters.
    ///
    /// The cost is about that of sorting the points of every panel.
    pub fn to_svg(&self) -> String {
        self.draw(None, &[])
    }

    /// Like [`to_svg`](Self::to_svg), with lines and marks below the points of panels, each with the
    /// index of its panel.
    pub fn to_svg_with(&self, trails: &[(usize, Trail)]) -> String {
        self.draw(None, trails)
    }

    /// Like [`to_svg`](Self::to_svg), with a front in gray below the points of all panels. All
    /// panels have the same axes, so that their distances from the front can be compared.
    ///
    /// ```
    /// # use fairfront_report::{Better, Scatter, Scatters, Series, Side};
    /// # let side = |name: &str| Side { name: name.into(), better: Better::Lower };
    /// # let (early, late) = ([0.5, 0.03, 0.45, 0.05], [0.4, 0.01, 0.36, 0.02]);
    /// # let panel = |title: &str, values| Scatter {
    /// #     title: title.into(),
    /// #     x: side("log_loss"),
    /// #     y: side("score_covariance(a)"),
    /// #     series: vec![Series { name: "list", values }],
    /// #     marked: vec![],
    /// # };
    /// let figure = Scatters {
    ///     title: "PF-SMG".into(),
    ///     panels: vec![panel("after 1 round", &early), panel("after 9 rounds", &late)],
    ///     marked: String::new(),
    /// };
    /// let exact = Series { name: "exact front", values: &[0.34, 0.02, 0.36, 0.01, 0.4, 0.0] };
    /// let svg = figure.to_svg_over(&exact);
    /// assert_eq!(svg.matches("<title>exact front</title>").count(), 2);
    /// # assert_eq!(svg, figure.to_svg_over(&exact));
    /// ```
    pub fn to_svg_over(&self, front: &Series) -> String {
        self.draw(Some(&Layer::new(front, 2, GROUND)), &[])
    }

    fn draw(&self, ground: Option<&Layer>, trails: &[(usize, Trail)]) -> String {
        let names = self.names();
        let better = self.common_direction();
        let of = |panel: usize| trails.iter().filter(move |(at, _)| *at == panel);
        let mut drawn: Vec<Drawn> = (self.panels.iter().enumerate())
            .map(|(i, panel)| {
                let trails = of(i).map(|(_, trail)| trail).collect();
                Drawn::new(panel, &names, better, trails)
            })
            .collect();
        if let Some(ground) = ground {
            share_axes(&mut drawn, ground);
        }
        let axes: Vec<&Axis> = drawn.iter().map(|d| &d.axes[1]).collect();
        let grid = Grid::new(&axes);
        let page = Page {
            title: self.title.trim(),
            better,
            legend: Legend::new(self.entries(&names, &drawn, ground), grid.width()),
            beside: grid.beside,
            width: grid.width(),
            height: grid.height(),
        };
        let about = self.describe(&drawn) + &described(trails.iter().map(|(_, trail)| trail));
        let mut svg = page.open(&self.name(), &about);
        for (i, (panel, drawn)) in self.panels.iter().zip(&drawn).enumerate() {
            let frame = grid.frame(i, page.left(), page.top());
            let title = self.panel_title(i, panel);
            draw_title(&mut svg, frame, &title, &drawn.left_out());
            drawn.draw(&mut svg, frame, ground);
        }
        svg.finish()
    }

    /// The better direction to show once for the whole figure: small panels have no room for it on
    /// their axes. `Neither` if panels are large or axes differ.
    fn common_direction(&self) -> Better {
        let mut sides = self.panels.iter().flat_map(|p| [p.x.better, p.y.better]);
        let first = sides.next().unwrap_or(Better::Neither);
        match Grid::is_small(self.panels.len()) && sides.all(|better| better == first) {
            true => first,
            false => Better::Neither,
        }
    }

    /// Names of series in the order of their first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series) {
            if !names.contains(&series.name) {
                names.push(series.name);
            }
        }
        names
    }

    fn entries(&self, names: &[&str], drawn: &[Drawn], ground: Option<&Layer>) -> Vec<Entry> {
        let entry = |name: &&str| {
            let of_name = drawn.iter().flat_map(|d| &d.layers);
            let of_name = || of_name.clone().filter(|layer| layer.name == *name);
            let most = of_name().map(|layer| layer.points.len()).max();
            let marker = Marker::of(names.iter().position(|n| n == name).unwrap_or(0));
            // Dots have markers among them only in panels with several series.
            let shared = (drawn.iter()).any(|d| {
                let own = d.layers.iter().any(|layer| layer.name == *name);
                own && d.layers.len() > 1
            });
            Entry {
                key: match (of_name().any(|layer| layer.dense), shared) {
                    (false, _) => Key::Marker(marker),
                    (true, false) => Key::Dots(marker),
                    (true, true) => Key::Dense(marker),
                },
                name: shown_name(name).to_owned(),
                note: count(most.unwrap_or(0), [0; 3]),
            }
        };
        let below = ground.map(|layer| Entry {
            key: Key::Dots(layer.marker),
            name: layer.shown_name().to_owned(),
            note: layer.count(),
        });
        let mut entries: Vec<Entry> = below.into_iter().chain(names.iter().map(entry)).collect();
        if drawn.iter().any(|d| !d.marked.points.is_empty()) {
            entries.push(Entry {
                key: Key::Marker(REFERENCE),
                name: shown_name(&self.marked).to_owned(),
                note: String::new(),
            });
        }
        let trails = drawn.iter().flat_map(|d| &d.trails);
        entries.extend(trails.map(|trail| trail.entry()));
        entries
    }

    /// The title of a panel with its letter.
    fn panel_title(&self, index: usize, panel: &Scatter) -> String {
        lettered(index, self.panels.len(), &panel.title)
    }

    /// The title, or a default.
    fn name(&self) -> String {
        match self.title.trim() {
            "" => "Points in several panels".into(),
            title => title.into(),
        }
    }

    /// The description for screen readers.
    fn describe(&self, drawn: &[Drawn]) -> String {
        let mut text = String::from("Scatter plots");
        match self.common_direction().note() {
            "" => {}
            note => text = format!("{text}, {note}"),
        }
        text += ".";
        for (i, (panel, drawn)) in self.panels.iter().zip(drawn).enumerate() {
            let _ = write!(text, " {}: ", self.panel_title(i, panel).trim());
            for (axis, values) in [(1, drawn.range(1)), (0, drawn.range(0))] {
                let of = &drawn.axes[axis];
                let against = if axis == 0 { " against " } else { "" };
                let _ = write!(text, "{against}{}", of.name);
                if !of.note.is_empty() {
                    let _ = write!(text, " ({})", of.note);
                }
                if let Some((low, high)) = values {
                    let _ = write!(text, " from {} to {}", rounded(low), rounded(high));
                }
            }
            for layer in &drawn.layers {
                let _ = write!(text, "; {}, {}", layer.shown_name(), layer.count());
            }
            text += ".";
        }
        text
    }
}

/// A panel as it is drawn.
struct Drawn<'a> {
    axes: [Axis<'a>; 2],
    layers: Vec<Layer<'a>>,
    marked: Layer<'a>,
    trails: Vec<&'a Trail>,
}

impl<'a> Drawn<'a> {
    fn new(panel: &'a Scatter<'a>, names: &[&str], common: Better, trails: Vec<&'a Trail>) -> Self {
        let layer = |series: &Series<'a>| {
            let index = names.iter().position(|n| *n == series.name);
            Layer::new(series, 2, Marker::of(index.unwrap_or(0)))
        };
        let layers: Vec<Layer> = panel.series.iter().map(layer).collect();
        let marked = Series {
            name: "",
            values: &panel.marked,
        };
        let marked = Layer::new(&marked, 2, REFERENCE);
        let axis = |at: usize, side: &'a Side| Axis {
            name: &side.name,
            note: match side.better == common {
                true => "",
                false => side.better.note(),
            },
            scale: scale(at, layers.iter().chain([&marked]), &trails),
        };
        let axes = [axis(0, &panel.x), axis(1, &panel.y)];
        Self {
            axes,
            layers,
            marked,
            trails,
        }
    }

    fn draw(&self, svg: &mut Svg, frame: Frame, ground: Option<&Layer>) {
        let panel = Panel {
            x: 0,
            y: Some(1),
            frame,
        };
        frame.draw(svg, &self.axes[0], Some(&self.axes[1]));
        let place = |p: &&[f64]| {
            let [x, y] = [0, 1].map(|i| self.axes[i].scale.share(p[i]));
            frame.position(x, y)
        };
        for trail in &self.trails {
            trail.draw(svg, frame, &self.axes, (0, 1));
        }
        if let Some(ground) = ground {
            let at = merge(ground.points.iter().map(place).collect());
            tenths(svg);
            named_group(svg, Some(ground.shown_name()), None);
            draw_markers(svg, ground.marker, Ink::Dots(26), 0, &at);
            svg.close();
            svg.close();
        }
        // A panel without points still shows the front below.
        if ground.is_none() || self.layers.iter().any(|l| !l.points.is_empty()) {
            panel.draw_points(svg, &self.axes, &self.layers, &[None, None]);
        }
        let at: Vec<Position> = merge(self.marked.points.iter().map(place).collect());
        if !at.is_empty() {
            tenths(svg);
            draw_markers(svg, REFERENCE, Ink::Outlines, 40, &at);
            svg.close();
        }
    }

    /// Smallest and largest value of all series.
    fn range(&self, axis: usize) -> Option<(f64, f64)> {
        range(self.layers.iter().flat_map(|l| &l.points).map(|p| p[axis]))
    }

    /// The number of points left out, in words; empty if all points are drawn.
    fn left_out(&self) -> String {
        let mut left_out = [0; 3];
        for layer in &self.layers {
            for (sum, n) in left_out.iter_mut().zip(layer.left_out) {
                *sum += n;
            }
        }
        let text = count(0, left_out);
        text.split_once(", ").map_or("", |(_, why)| why).to_owned()
    }
}

/// A scale that covers all points of these layers and trails along an axis.
fn scale<'a>(at: usize, layers: impl Iterator<Item = &'a Layer<'a>>, trails: &[&Trail]) -> Scale {
    let points = layers.flat_map(|layer| &layer.points).map(|p| p[at]);
    let trails = trails.iter().flat_map(|trail| trail.along(2, at));
    let (low, high) = range(points.chain(trails)).unwrap_or((0.0, 1.0));
    Scale::covering(low, high)
}

/// Gives all panels the same scales, which cover the points of all panels.
fn share_axes(drawn: &mut [Drawn], ground: &Layer) {
    for at in [0, 1] {
        let layers = (drawn.iter()).flat_map(|d| d.layers.iter().chain([&d.marked]));
        let common = scale(at, layers.chain([ground]), &[]);
        drawn.iter_mut().for_each(|d| d.axes[at].scale = common);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::svg::assert_well_formed;

    fn side(name: &str, better: Better) -> Side {
        Side {
            name: name.into(),
            better,
        }
    }

    fn panel<'a>(series: &[(&'a str, &'a [f64])], marked: &[f64]) -> Scatter<'a> {
        Scatter {
            title: "a panel".into(),
            x: side("log_loss", Better::Lower),
            y: side("accuracy", Better::Higher),
            series: (series.iter())
                .map(|(name, values)| Series { name, values })
                .collect(),
            marked: marked.to_vec(),
        }
    }

    fn draw(panels: Vec<Scatter>) -> String {
        let svg = Scatters {
            title: "a title".into(),
            panels,
            marked: "unmitigated model".into(),
        }
        .to_svg();
        assert_well_formed(&svg);
        svg
    }

    #[test]
    fn a_series_has_one_look_and_one_entry_in_the_legend() {
        let first = panel(&[("front", &[0.1, 0.2, 0.3, 0.4])], &[0.0, 0.5]);
        let second = panel(&[("a", &[0.1, 0.2]), ("front", &[0.3, 0.1])], &[]);
        let svg = draw(vec![first, second]);
        // Its name appears once as text, and in each panel as a title.
        assert_eq!(svg.matches(">front</tspan>").count(), 1);
        assert_eq!(svg.matches("<title>front</title>").count(), 2);
        assert_eq!(svg.matches(">unmitigated model</tspan>").count(), 1);
        assert!(svg.contains(">2 points<") && svg.contains(">1 point<"));
        assert!(svg.contains(">(a) a panel<") && svg.contains(">(b) a panel<"));
        // The first color is in the legend and in both panels.
        let blue = format!("stroke=\"{}\"", Marker::of(0).color);
        assert_eq!(svg.matches(&blue).count(), 3);
    }

    #[test]
    fn axes_show_the_better_direction() {
        let mut one = panel(&[("front", &[0.1, 0.2])], &[]);
        let svg = draw(vec![one.clone()]);
        assert_eq!(svg.matches(">lower is better<").count(), 1);
        assert_eq!(svg.matches(">higher is better<").count(), 1);
        one.x.better = Better::Neither;
        one.y.better = Better::Neither;
        let svg = draw(vec![one]);
        assert!(!svg.contains("is better"));
        // A single panel has no letter. Without marked points, the legend has no entry for them.
        assert!(svg.contains(">a panel<") && !svg.contains("unmitigated"));
    }

    #[test]
    fn panel_titles_count_points_left_out() {
        let whole = panel(&[("front", &[0.1, 0.2, 0.3, 0.4])], &[f64::NAN, 1.0]);
        let part = panel(&[("front", &[0.1, f64::NAN, 0.3, 0.4])], &[]);
        let none = panel(&[("front", &[0.1, f64::NAN, 1e301, 0.4])], &[]);
        let svg = draw(vec![whole, part, none]);
        assert_eq!(svg.matches(">1 not finite<").count(), 1);
        assert_eq!(svg.matches(">1 not finite, 1 beyond ±1e300<").count(), 1);
        assert_eq!(svg.matches(">no points<").count(), 1);
        assert!(draw(vec![]).contains(">a title<"));
    }

    #[test]
    fn over_a_front_all_panels_have_the_same_axes() {
        let near = panel(&[("list", &[0.1, 0.2, 0.2, 0.1])], &[]);
        let far = panel(&[("list", &[0.9, 0.8])], &[]);
        let front = Series {
            name: "exact",
            values: &[0.0, 0.5, 0.5, 0.0, f64::NAN, 1.0],
        };
        let empty = panel(&[], &[]);
        let figure = Scatters {
            title: String::new(),
            panels: vec![near, far, empty],
            marked: String::new(),
        };
        let svg = figure.to_svg_over(&front);
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<title>exact</title>").count(), 3);
        assert!(svg.contains(">2 points, 1 not finite<") && !svg.contains(">no points<"));
        // From 0 to 0.9 and from 0 to 0.8 in all panels.
        for label in [">0.0<", ">0.2<", ">0.8<"] {
            assert_eq!(svg.matches(label).count(), 6, "{label}");
        }
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let script = "</text><script>alert(\"1\")</script>'&";
        let long = "long name ".repeat(1_000);
        for name in [script, &long, "", "\u{202e}\u{0}", "男".repeat(50).as_str()] {
            let mut one = panel(&[(name, &[1.0, 2.0, 2.0, 1.0])], &[1.0, 1.0]);
            one.title = name.into();
            one.x.name = name.into();
            one.y.name = name.into();
            let svg = Scatters {
                title: name.into(),
                panels: vec![one; 4],
                marked: name.into(),
            }
            .to_svg();
            assert_well_formed(&svg);
            assert!(!svg.contains("<script"));
            let size: Vec<f64> = (svg.split('"').skip_while(|t| !t.ends_with(" width=")))
                .skip(1)
                .step_by(2)
                .take(2)
                .map(|n| n.parse().unwrap())
                .collect();
            assert!(size[0] < 1_000.0 && size[1] < 1_000.0, "{size:?}");
        }
    }

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![0.0..1.0_f64, any::<f64>(), Just(0.0), Just(f64::NAN)]
    }

    proptest! {
        #[test]
        fn any_points_give_the_same_figure_again(
            values in prop::collection::vec(value(), 0..40),
            marked in prop::collection::vec(value(), 0..5),
            n in 0..7_usize,
        ) {
            let one = panel(&[("s", &values), ("t", &values)], &marked);
            prop_assert_eq!(draw(vec![one.clone(); n]), draw(vec![one.clone(); n]));
            let figure = Scatters {
                title: String::new(),
                panels: vec![one; n],
                marked: String::new(),
            };
            let below = Series { name: "", values: &marked };
            assert_well_formed(&figure.to_svg_over(&below));
            prop_assert_eq!(figure.to_svg_over(&below), figure.to_svg_over(&below));
        }
    }
}
