//! Ratios of groups to a reference group with their intervals, and a line to compare them with.

use crate::svg::Svg;

/// Ratios with intervals, one line per group.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// The title, for screen readers.
    pub title: String,
    /// The name of the axis.
    pub axis: String,
    /// The groups, from the top.
    pub groups: Vec<RatioOfGroup>,
    /// The ratio at which a line is drawn, such as 0.8.
    pub line: f64,
}

/// The ratio of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioOfGroup {
    /// The group.
    pub name: String,
    /// Its ratio.
    pub ratio: f64,
    /// The interval of the ratio; the upper end may be infinite.
    pub interval: [f64; 2],
}

const WIDTH: f64 = 760.0;
const ROW: f64 = 26.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 60.0;
/// Approximate width of a character, and the longest names.
const CHARACTER: f64 = 7.2;
const LONGEST: usize = 34;
/// Larger ratios are drawn at the edge.
const MOST: f64 = 3.0;

impl Ratios {
    /// The figure as SVG.
    pub fn to_svg(&self) -> String {
        let names: Vec<String> = self.groups.iter().map(|group| cut(&group.name)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max();
        let left = longest.unwrap_or(0) as f64 * CHARACTER + 16.0;
        let height = TOP + ROW * self.groups.len() as f64 + BOTTOM;
        let mut svg = Svg::new(WIDTH, height, &self.title, &self.described());
        let ends = self
            .groups
            .iter()
            .flat_map(|group| [group.ratio, group.interval[1]]);
        let most = ends
            .filter(|end| end.is_finite())
            .fold(1.0, f64::max)
            .min(MOST);
        let most = (most * 5.0 + 0.5).ceil() / 5.0;
        let x = |ratio: f64| left + (WIDTH - left - RIGHT) * ratio.clamp(0.0, most) / most;
        let floor = height - BOTTOM;
        let step = if most > 1.6 { 0.5 } else { 0.2 };
        for at in 0..=(most / step + 1e-9) as usize {
            let ratio = at as f64 * step;
            svg.tag("line")
                .set("x1", x(ratio))
                .set("y1", TOP - 6.0)
                .set("x2", x(ratio))
                .set("y2", floor)
                .set("stroke", "#e3e6ea")
                .end();
            svg.tag("text")
                .at(x(ratio), floor + 16.0)
                .set("font-size", 12.0)
                .set("fill", "#3c444d")
                .set("text-anchor", "middle")
                .text(&format!("{ratio:.1}"));
        }
        for (ratio, color, dash) in [(self.line, "#8a5a00", "5 4"), (1.0, "#6b7480", "none")] {
            svg.tag("line")
                .set("x1", x(ratio))
                .set("y1", TOP - 6.0)
                .set("x2", x(ratio))
                .set("y2", floor)
                .set("stroke", color)
                .set("stroke-width", 1.5)
                .set("stroke-dasharray", dash)
                .end();
        }
        svg.tag("text")
            .at(left + 0.5 * (WIDTH - left - RIGHT), height - 10.0)
            .set("font-size", 12.0)
            .set("fill", "#1c1f23")
            .set("text-anchor", "middle")
            .text(&self.axis);
        for (at, (group, name)) in self.groups.iter().zip(&names).enumerate() {
            let y = TOP + ROW * (at as f64 + 0.5);
            svg.tag("text")
                .at(left - 10.0, y + 4.0)
                .set("font-size", 13.0)
                .set("fill", "#1c1f23")
                .set("text-anchor", "end")
                .text(name);
            let [low, high] = group.interval;
            svg.tag("line")
                .set("x1", x(low))
                .set("y1", y)
                .set("x2", x(high))
                .set("y2", y)
                .set("stroke", "#0b57a4")
                .set("stroke-width", 2.5)
                .end();
            if high > most {
                // An arrow, because the interval goes on.
                let tip = x(most) + 6.0;
                let points = format!("{tip},{y} {0},{1} {0},{2}", tip - 8.0, y - 5.0, y + 5.0);
                svg.tag("polygon")
                    .set("points", points.as_str())
                    .set("fill", "#0b57a4")
                    .end();
            }
            svg.tag("circle")
                .set("cx", x(group.ratio))
                .set("cy", y)
                .set("r", 5.0)
                .set("fill", "#0b57a4")
                .set("stroke", "#ffffff")
                .end();
            svg.tag("text")
                .at(WIDTH - RIGHT + 12.0, y + 4.0)
                .set("font-size", 13.0)
                .set("fill", "#1c1f23")
                .text(&format!("{:.3}", group.ratio));
        }
        svg.finish()
    }

    /// The figure in words.
    fn described(&self) -> String {
        let of = |group: &RatioOfGroup| {
            let [low, high] = group.interval;
            let high = if high.is_finite() {
                format!("{high:.3}")
            } else {
                "infinity".into()
            };
            format!(
                "{}: {:.3}, from {low:.3} to {high}",
                group.name, group.ratio
            )
        };
        let groups: Vec<String> = self.groups.iter().map(of).collect();
        format!("{}. {}.", self.axis, groups.join("; "))
    }
}

fn cut(name: &str) -> String {
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(intervals: &[[f64; 2]]) -> String {
        let group = |(at, interval): (usize, &[f64; 2])| RatioOfGroup {
            name: format!("group <{at}>"),
            ratio: 0.5 * (interval[0] + interval[1].min(2.0)),
            interval: *interval,
        };
        Ratios {
            title: "Ratios".into(),
            axis: "adverse impact ratio".into(),
            groups: intervals.iter().enumerate().map(group).collect(),
            line: 0.8,
        }
        .to_svg()
    }

    #[test]
    fn infinite_intervals_end_in_an_arrow() {
        assert!(!figure(&[[0.5, 0.7], [0.6, 1.4]]).contains("polygon"));
        let open = figure(&[[0.5, f64::INFINITY]]);
        assert!(
            open.contains("<polygon") && open.contains("to infinity"),
            "{open}"
        );
        assert!(!open.contains("inf\"") && !open.contains("NaN"), "{open}");
        assert!(open.contains("group &lt;0&gt;"));
    }

    #[test]
    fn larger_ratios_are_further_right() {
        let svg = figure(&[[0.2, 0.4], [0.6, 0.8], [1.0, 1.1]]);
        let places: Vec<f64> = svg
            .match_indices("cx=\"")
            .filter_map(|(at, _)| svg[at + 4..].split('"').next()?.parse().ok())
            .collect();
        assert_eq!(places.len(), 3);
        assert!(places.is_sorted(), "{places:?}");
    }
}
