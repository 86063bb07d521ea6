//! Panels with their own axes, row by row.

use crate::figure::{Axis, Frame, GRAY, INK, TEXT_SIZE, named_group};
use crate::svg::Svg;
use crate::text::{shorten, width};

/// The sizes and positions of panels.
pub(crate) struct Grid {
    n_panels: usize,
    columns: usize,
    frame: (f64, f64),
    /// Room to the left of every panel.
    pub(crate) beside: f64,
}

impl Grid {
    /// Room above a frame for its title.
    const ABOVE: f64 = 24.0;
    const GAP: f64 = 22.0;
    /// Up to this many panels are large. More panels are smaller, three per row, to fit the width
    /// of a printed page.
    const MOST_LARGE: usize = 4;

    /// A grid for panels with these vertical axes.
    pub(crate) fn new(axes: &[&Axis]) -> Self {
        let n_panels = axes.len();
        let columns = match n_panels {
            0..=1 => 1,
            2..=Self::MOST_LARGE => 2,
            _ => 3,
        };
        let frame = match Self::is_small(n_panels) {
            true => (236.0, 200.0),
            false => (320.0, 270.0),
        };
        let beside = axes.iter().map(|axis| Frame::beside(axis, frame.1));
        Self {
            n_panels,
            columns,
            frame,
            beside: beside.fold(10.0, f64::max),
        }
    }

    /// Whether so many panels are too small for notes next to the names of their axes.
    pub(crate) fn is_small(n_panels: usize) -> bool {
        n_panels > Self::MOST_LARGE
    }

    fn cell(&self) -> (f64, f64) {
        (
            self.frame.0 + self.beside + Self::GAP,
            Self::ABOVE + self.frame.1 + Frame::BELOW + Self::GAP,
        )
    }

    /// From the first frame's left edge to the last one's right edge.
    pub(crate) fn width(&self) -> f64 {
        self.frame.0 + (self.columns - 1) as f64 * self.cell().0
    }

    /// The height of all panels with their titles, ticks and names.
    pub(crate) fn height(&self) -> f64 {
        let rows = self.n_panels.div_ceil(self.columns) as f64;
        (rows * self.cell().1 - Self::GAP).max(0.0)
    }

    /// The frame of a panel, in a grid with this left and top edge.
    pub(crate) fn frame(&self, index: usize, left: f64, top: f64) -> Frame {
        let cell = self.cell();
        Frame {
            left: left + (index % self.columns) as f64 * cell.0,
            top: top + (index / self.columns) as f64 * cell.1 + Self::ABOVE,
            width: self.frame.0,
            height: self.frame.1,
        }
    }
}

/// The title of a panel with its letter; a single panel has no letter.
pub(crate) fn lettered(index: usize, n_panels: usize, title: &str) -> String {
    let title = title.trim();
    match (n_panels, u8::try_from(index)) {
        (..=1, _) => title.to_owned(),
        (..=26, Ok(i)) => format!("({}) {title}", char::from(b'a' + i)),
        _ => format!("({}) {title}", index + 1),
    }
}

/// Draws the title of a panel, with a gray note.
pub(crate) fn draw_title(svg: &mut Svg, frame: Frame, title: &str, note: &str) {
    const BOLD: f64 = 1.1;
    let taken = match note {
        "" => 0.0,
        note => width(note, TEXT_SIZE) + 7.0,
    };
    let short = shorten(title, BOLD * TEXT_SIZE, frame.width - taken);
    if short.is_empty() && note.is_empty() {
        return;
    }
    named_group(svg, (short != title).then_some(title), None);
    let text = svg
        .tag("text")
        .at(frame.left, frame.top - 9.0)
        .set("font-size", TEXT_SIZE)
        .set("font-weight", "bold")
        .set("fill", INK);
    match note {
        "" => text.text(&short),
        note => text.text_and_note(&short, note, GRAY),
    }
    svg.close();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scale::Scale;

    proptest! {
        #[test]
        fn panels_lie_apart_and_inside_the_grid(n in 0..40_usize, high in 1e-3..1e6_f64) {
            let axis = Axis { name: "f", note: "", scale: Scale::covering(0.0, high) };
            let grid = Grid::new(&vec![&axis; n]);
            let frames: Vec<Frame> = (0..n).map(|i| grid.frame(i, 0.0, 0.0)).collect();
            for (i, frame) in frames.iter().enumerate() {
                prop_assert!(frame.left + frame.width <= grid.width() + 1e-9);
                prop_assert!(frame.top + frame.height + Frame::BELOW <= grid.height() + 1e-9);
                for other in &frames[..i] {
                    let beside = frame.left - other.left >= frame.width + grid.beside;
                    let below = frame.top - other.top >= frame.height + Frame::BELOW;
                    prop_assert!(beside || below);
                }
            }
        }
    }

    #[test]
    fn letters_end_after_the_alphabet() {
        assert_eq!(lettered(0, 1, " one "), "one");
        assert_eq!(lettered(25, 26, "last"), "(z) last");
        assert_eq!(lettered(25, 27, "last but one"), "(26) last but one");
        assert_eq!(lettered(300, 400, ""), "(301) ");
    }
}
