//! The surroundings of a figure: white background, title and legend, and room for the panels.

use crate::figure::{Axis, Frame, GRAY, INK, TEXT_SIZE, named_group};
use crate::legend::{Entry, Legend};
use crate::side::Better;
use crate::svg::Svg;
use crate::text::{shorten, width};

/// The surroundings of the panels of a figure, and the size of the panels; lengths in pixels.
pub(crate) struct Page<'a> {
    /// The title above the figure; may be empty.
    pub(crate) title: &'a str,
    /// The better direction, if it is the same for the whole figure.
    pub(crate) better: Better,
    pub(crate) legend: Legend,
    /// Room to the left of the panels, for ticks and names.
    pub(crate) beside: f64,
    /// From the left edge of the first panel to the right edge of the last.
    pub(crate) width: f64,
    /// The height of the panels and everything below them.
    pub(crate) height: f64,
}

impl<'a> Page<'a> {
    /// Surroundings for one panel of this width and height, and the frame of that panel.
    pub(crate) fn of_one(
        title: &'a str,
        entries: Vec<Entry>,
        y: &Axis,
        (width, height): (f64, f64),
    ) -> (Self, Frame) {
        let page = Self {
            title,
            better: Better::Neither,
            legend: Legend::new(entries, width),
            beside: Frame::beside(y, height),
            width,
            height: height + Frame::BELOW,
        };
        let frame = Frame {
            left: page.left(),
            top: page.top(),
            width,
            height,
        };
        (page, frame)
    }
}

impl Page<'_> {
    const MARGIN: f64 = 14.0;
    const HEADER: f64 = 42.0;
    const TITLE_SIZE: f64 = 15.0;
    /// How much wider bold text is.
    const BOLD: f64 = 1.1;

    /// Left edge of the panels.
    pub(crate) fn left(&self) -> f64 {
        self.beside + Self::MARGIN
    }

    /// Top edge of the panels.
    pub(crate) fn top(&self) -> f64 {
        self.header() + self.legend.height() + 14.0
    }

    /// Right edge of panels and legend.
    pub(crate) fn right(&self) -> f64 {
        self.left() + self.width.max(self.legend.width())
    }

    fn header(&self) -> f64 {
        match self.title.is_empty() && self.better == Better::Neither {
            true => Self::MARGIN,
            false => Self::HEADER,
        }
    }

    /// Opens a document of the right size and draws background, title and legend. `name` and
    /// `description` are for screen readers.
    pub(crate) fn open(&self, name: &str, description: &str) -> Svg {
        let mut svg = Svg::new(
            self.right() + 24.0,
            self.top() + self.height + Self::MARGIN,
            name,
            description,
        );
        svg.tag("rect")
            .set("width", "100%")
            .set("height", "100%")
            .set("fill", "#ffffff")
            .end();
        self.draw_header(&mut svg);
        self.legend.draw(&mut svg, self.left(), self.header());
        svg
    }

    /// Draws the title and the better direction.
    fn draw_header(&self, svg: &mut Svg) {
        let note = self.better.note();
        let (left, right) = (self.left(), self.right());
        let arrow = right - width(note, TEXT_SIZE) - 18.0;
        let end = if note.is_empty() { right } else { arrow - 12.0 };
        let short = shorten(self.title, Self::TITLE_SIZE * Self::BOLD, end - left);
        if !short.is_empty() {
            named_group(svg, (short != self.title).then_some(self.title), None);
            svg.tag("text")
                .at(left, 28.0)
                .set("font-size", Self::TITLE_SIZE)
                .set("font-weight", "bold")
                .set("fill", INK)
                .text(&short);
            svg.close();
        }
        // The arrow is drawn, because not every font has it.
        let path = match self.better {
            Better::Lower => format!("M{:.1} 18.5l-9 9m0-6v6h6", arrow + 10.0),
            Better::Higher => format!("M{:.1} 28.5v-11m-4 4l4-4l4 4", arrow + 6.0),
            Better::Neither => return,
        };
        svg.tag("path")
            .set("d", &path[..])
            .set("fill", "none")
            .set("stroke", GRAY)
            .set("stroke-width", 1.5)
            .end();
        svg.tag("text")
            .at(right, 27.5)
            .set("text-anchor", "end")
            .set("font-size", TEXT_SIZE)
            .set("fill", GRAY)
            .text(note);
    }
}
