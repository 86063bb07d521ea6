//! Colors for a third quantity, from dark to bright.

use crate::figure::{Frame, GRAY, INK, TEXT_SIZE, TICK_SIZE, named_group};
use crate::scale::Scale;
use crate::svg::Svg;
use crate::text::{shorten, width};

/// The number of colors: more are hard to distinguish, fewer hide differences.
pub(crate) const STEPS: usize = 12;

/// From dark blue through green to a yellow that is visible on white. Brightness rises throughout,
/// so that the scale also works in grayscale.
const STOPS: [[u8; 3]; 4] = [[38, 20, 92], [0, 98, 150], [20, 150, 110], [226, 196, 40]];

/// Color number `step` of [`STEPS`].
pub(crate) fn color(step: usize) -> String {
    let last = STOPS.len() - 1;
    let at = step.min(STEPS - 1) * last;
    let (from, part) = (at / (STEPS - 1), at % (STEPS - 1));
    let (a, b) = (STOPS[from], STOPS[(from + 1).min(last)]);
    let mix = |i: usize| {
        let sum = usize::from(a[i]) * (STEPS - 1 - part) + usize::from(b[i]) * part;
        sum / (STEPS - 1)
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// The number of the color for a share of the range.
pub(crate) fn step(share: f64) -> usize {
    // NaN becomes 0.
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

/// The color key to the right of a frame.
pub(crate) struct Bar<'a> {
    pub(crate) name: &'a str,
    pub(crate) scale: Scale,
}

impl Bar<'_> {
    const WIDTH: f64 = 11.0;
    const GAP: f64 = 12.0;

    /// Room to the right of a frame.
    pub(crate) fn room(&self) -> f64 {
        let ticks = self.scale.ticks(6);
        let widest = ticks.iter().map(|t| width(&t.label, TICK_SIZE));
        Self::GAP + Self::WIDTH + 6.0 + widest.fold(0.0, f64::max) + 24.0
    }

    pub(crate) fn draw(&self, svg: &mut Svg, frame: Frame) {
        let left = frame.left + frame.width + Self::GAP;
        let part = frame.height / STEPS as f64;
        for i in 0..STEPS {
            let top = frame.top + part * (STEPS - 1 - i) as f64;
            svg.tag("rect")
                .at(left, top)
                .set("width", Self::WIDTH)
                // Rectangles overlap slightly, so that no line shows between them.
                .set("height", part + if i > 0 { 0.5 } else { 0.0 })
                .set("fill", &color(i)[..])
                .end();
        }
        let ticks = self.scale.ticks(6);
        svg.tag("g")
            .set("font-size", TICK_SIZE)
            .set("fill", GRAY)
            .open();
        let mut widest: f64 = 0.0;
        for tick in &ticks {
            let y = frame.top + (1.0 - self.scale.share(tick.value)) * frame.height;
            svg.tag("text")
                .at(left + Self::WIDTH + 5.0, y + 4.0)
                .text(&tick.label);
            widest = widest.max(width(&tick.label, TICK_SIZE));
        }
        svg.close();
        let short = shorten(self.name, TEXT_SIZE, frame.height);
        let whole = (short != self.name).then_some(self.name);
        let beside = left + Self::WIDTH + 6.0 + widest + 16.0;
        let middle = frame.top + frame.height / 2.0;
        let place = format!("translate({beside:.1} {middle:.1}) rotate(-90)");
        named_group(svg, whole, Some(&place));
        svg.tag("text")
            .set("text-anchor", "middle")
            .set("font-size", TEXT_SIZE)
            .set("fill", INK)
            .text(&short);
        svg.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_differ_and_get_brighter() {
        // Weights of red, green and blue in perceived brightness.
        let brightness = |i: usize| {
            let text = color(i);
            let part = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap());
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        for i in 1..STEPS {
            assert!(brightness(i) > brightness(i - 1) + 4.0, "{i}");
        }
        assert_eq!(color(0), "#26145c");
        assert_eq!(color(STEPS), "#e2c428");
    }

    #[test]
    fn any_share_has_a_color() {
        let shares = [f64::NAN, -1.0, 0.0, 0.5, 0.999, 1.0, f64::INFINITY];
        assert_eq!(shares.map(step), [0, 0, 0, 6, 11, 11, 11]);
    }
}
