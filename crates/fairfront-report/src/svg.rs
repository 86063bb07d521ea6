//! An SVG writer that closes every tag and escapes every string.

use std::fmt::Write;

/// An SVG document being written, one element per line.
pub(crate) struct Svg {
    out: String,
    open: Vec<&'static str>,
}

impl Svg {
    /// A document of this size in pixels, with a title and a description for screen readers.
    pub(crate) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut svg = Self {
            out: String::new(),
            open: Vec::new(),
        };
        let (width, height) = (width.ceil(), height.ceil());
        svg.tag("svg")
            .set("xmlns", "http://www.w3.org/2000/svg")
            .set("role", "img")
            .set("width", width)
            .set("height", height)
            .set("viewBox", format!("0 0 {width} {height}").as_str())
            .set("font-family", "sans-serif")
            .open();
        svg.tag("title").text(title);
        svg.tag("desc").text(description);
        svg
    }

    /// Begins an element; one of the methods of [`Tag`] has to end it.
    pub(crate) fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.indent();
        self.out.push('<');
        self.out.push_str(name);
        Tag { svg: self, name }
    }

    /// Closes the most recently opened element.
    pub(crate) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.out, "</{name}>");
        }
    }

    /// The document, with everything closed.
    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }

    fn indent(&mut self) {
        self.out.extend(self.open.iter().map(|_| ' '));
    }
}

/// The start of an element.
#[must_use]
pub(crate) struct Tag<'a> {
    svg: &'a mut Svg,
    name: &'static str,
}

impl Tag<'_> {
    /// Sets an attribute.
    pub(crate) fn set<'v>(self, name: &str, value: impl Into<Value<'v>>) -> Self {
        let out = &mut self.svg.out;
        let _ = write!(out, " {name}=\"");
        match value.into() {
            Value::Text(text) => escape(text, out),
            Value::Number(number) => write_number(number, out),
        }
        out.push('"');
        self
    }

    /// Sets `x` and `y`.
    pub(crate) fn at(self, x: f64, y: f64) -> Self {
        self.set("x", x).set("y", y)
    }

    /// Ends an element without content.
    pub(crate) fn end(self) {
        self.svg.out.push_str("/>\n");
    }

    /// Leaves the element open for child elements, until [`Svg::close`].
    pub(crate) fn open(self) {
        self.svg.out.push_str(">\n");
        self.svg.open.push(self.name);
    }

    /// Ends an element with text in it.
    pub(crate) fn text(self, text: &str) {
        let out = &mut self.svg.out;
        out.push('>');
        escape(text, out);
        let _ = writeln!(out, "</{}>", self.name);
    }

    /// Ends an element with two pieces of text, the second in another color.
    pub(crate) fn text_and_note(self, text: &str, note: &str, color: &str) {
        let out = &mut self.svg.out;
        out.push('>');
        // The text may run from right to left; the note follows it in any case.
        out.push_str("<tspan unicode-bidi=\"isolate\">");
        escape(text, out);
        out.push_str("</tspan>");
        if !note.is_empty() {
            out.push_str("<tspan dx=\"7\" fill=\"");
            escape(color, out);
            out.push_str("\">");
            escape(note, out);
            out.push_str("</tspan>");
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// The value of an attribute.
pub(crate) enum Value<'a> {
    /// Text, escaped when written.
    Text(&'a str),
    /// A length in pixels, written to a tenth.
    Number(f64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

fn write_number(number: f64, out: &mut String) {
    let tenths = (number * 10.0).round() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
    let _ = match part {
        0 => write!(out, "{sign}{whole}"),
        _ => write!(out, "{sign}{whole}.{part}"),
    };
}

/// Escapes text for XML. Characters that XML forbids, that are invisible or that change the writing
/// direction become `�`; line ends and tabs become a space.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Panics unless `xml` is one well-formed element: names match, attributes are quoted and distinct,
/// and there is no stray `<`, `&` or forbidden character. It shares no code with the writer that it
/// tests.
#[cfg(test)]
pub(crate) fn assert_well_formed(xml: &str) {
    fn assert_text(text: &str) {
        assert!(
            !text.contains(['<', '"', '\u{fffe}', '\u{ffff}']),
            "{text:?}"
        );
        let forbidden = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(forbidden), "{text:?}");
        for part in text.split('&').skip(1) {
            let known = ["lt;", "gt;", "amp;", "quot;", "#39;"];
            assert!(known.iter().any(|k| part.starts_with(k)), "&{part}");
        }
    }
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    let mut roots = 0;
    while let Some(at) = rest.find('<') {
        assert_text(&rest[..at]);
        assert!(at == 0 || !open.is_empty() || rest[..at].trim().is_empty());
        let end = rest.find('>').expect("the end of the tag");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()), "<{tag}>");
        let mut seen = Vec::new();
        while !attributes.is_empty() {
            let (key, value) = attributes.split_once("=\"").expect("a quoted value");
            let (value, after) = value.split_once('"').expect("a closing quote");
            assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
            assert!(!seen.contains(&key), "{key} twice in <{tag}>");
            assert_text(value);
            seen.push(key);
            attributes = after.strip_prefix(' ').unwrap_or(after);
        }
        roots += usize::from(open.is_empty());
        if !empty {
            open.push(name);
        }
    }
    assert!(rest.trim().is_empty() && open.is_empty() && roots == 1);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(text, &mut out);
        out
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escaped("a<b & \"c\" 'd'>"),
            "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;"
        );
        assert_eq!(escaped("two\nlines\u{0}\u{1b}\u{85}"), "two lines���");
        assert_eq!(escaped("\u{202e}évil 男 \u{ffff}"), "�évil 男 �");
    }

    #[test]
    fn numbers_have_at_most_one_decimal() {
        let written = |number: f64| {
            let mut out = String::new();
            write_number(number, &mut out);
            out
        };
        assert_eq!(written(3.0), "3");
        assert_eq!(written(-0.04), "0");
        assert_eq!(written(-0.26), "-0.3");
        assert_eq!(written(120.55), "120.6");
    }

    proptest! {
        #[test]
        fn any_text_gives_well_formed_xml(a in any::<String>(), b in any::<String>()) {
            let mut svg = Svg::new(10.0, 10.0, &a, &b);
            svg.tag("g").set("class", b.as_str()).open();
            svg.tag("text").at(1.0, 2.5).text_and_note(&a, &b, &a);
            assert_well_formed(&svg.finish());
        }
    }
}
