//! A page: white ground, title and legend, and room for what is drawn below them.

use crate::figure::{Axis, Frame, GREY, INK, TEXT_SIZE, named_group};
use crate::legend::{Entry, Legend};
use crate::side::Better;
use crate::svg::Svg;
use crate::text::{shorten, width};

/// What surrounds the panels of a figure, and how large they are; lengths in pixels.
pub(crate) struct Page<'a> {
    /// Above everything; may be empty.
    pub(crate) title: &'a str,
    /// Which direction to call the better one, for the whole figure.
    pub(crate) better: Better,
    pub(crate) legend: Legend,
    /// Room for what is to the left of the panels.
    pub(crate) beside: f64,
    /// From the first panel's left edge to the last one's right edge.
    pub(crate) width: f64,
    /// Of the panels and everything below them.
    pub(crate) height: f64,
}

impl<'a> Page<'a> {
    /// A page around one panel of this width and height, and that panel.
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

    /// A document of the right size with the ground, the title and the legend drawn; it has this name
    /// and description for those who do not see it.
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

    /// The title, and which direction is better.
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
        // Drawn, as not every font has the arrow.
        let path = match self.better {
            Better::Lower => format!("M{:.1} 18.5l-9 9m0-6v6h6", arrow + 10.0),
            Better::Higher => format!("M{:.1} 28.5v-11m-4 4l4-4l4 4", arrow + 6.0),
            Better::Neither => return,
        };
        svg.tag("path")
            .set("d", &path[..])
            .set("fill", "none")
            .set("stroke", GREY)
            .set("stroke-width", 1.5)
            .end();
        svg.tag("text")
            .at(right, 27.5)
            .set("text-anchor", "end")
            .set("font-size", TEXT_SIZE)
            .set("fill", GREY)
            .text(note);
    }
}
