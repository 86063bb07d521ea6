//! Printable documents, such as audits, memos and model cards: one structure, rendered as HTML or Markdown.
//!
//! A number can carry its source, the file and the entry that it comes from. Renderings number the distinct
//! sources and list them at the end, so that a reader can look up every number.

mod html;
mod markdown;

use std::collections::BTreeMap;

/// A printable document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The title.
    pub title: String,
    /// Facts below the title, such as the date and the source of the data.
    pub facts: Vec<(String, Prose)>,
    /// The content.
    pub blocks: Vec<Block>,
    /// How the document was made, as a comment at its end. It must not contain two hyphens in a row.
    pub origin: Option<String>,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading of a section.
    Section(String),
    /// A heading inside a section.
    Part(String),
    /// A paragraph.
    Text(Prose),
    /// A paragraph that must not be overlooked, such as a warning.
    Callout(Prose),
    /// A list.
    List(Vec<Prose>),
    /// A table.
    Table(Table),
    /// A figure as SVG.
    Figure {
        /// The SVG element.
        svg: String,
        /// The content of the figure in words, for screen readers.
        alt: String,
        /// The caption.
        caption: Prose,
    },
}

/// A table. The first column has the names of the rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The caption.
    pub caption: Prose,
    /// Names of the columns.
    pub head: Vec<String>,
    /// The rows, each with one entry per column. Numbers of a row that have the source of the number before show it
    /// once.
    pub rows: Vec<Vec<Prose>>,
    /// The columns that are text and therefore aligned left, besides the first.
    pub text_columns: Vec<usize>,
}

/// Text with numbers that carry their sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prose(pub Vec<Span>);

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Plain text.
    Text(String),
    /// Emphasized text.
    Strong(String),
    /// A name of a file, a column or a command.
    Code(String),
    /// A number as shown, and its source.
    Number {
        /// The number as shown, with its unit.
        shown: String,
        /// The file and the entry that it comes from, such as ``lda.json: candidates[0].accuracy``.
        source: String,
    },
}

impl Prose {
    /// Appends plain text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Text(text.into()));
        self
    }

    /// Appends emphasized text.
    #[must_use]
    pub fn strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Strong(text.into()));
        self
    }

    /// Appends a name of a file, a column or a command.
    #[must_use]
    pub fn code(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Code(text.into()));
        self
    }

    /// Appends a number with its source.
    #[must_use]
    pub fn number(mut self, shown: impl Into<String>, source: impl Into<String>) -> Self {
        self.0.push(Span::Number {
            shown: shown.into(),
            source: source.into(),
        });
        self
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

impl Document {
    /// The document as one HTML file that makes no network requests and prints on paper.
    pub fn to_html(&self) -> String {
        html::render(self, &Sources::of(self))
    }

    /// The document as Markdown, with its sources as footnotes. Figures are left out, except for their
    /// description.
    pub fn to_markdown(&self) -> String {
        markdown::render(self, &Sources::of(self))
    }

    /// All lines, in the order of the document.
    fn lines(&self) -> impl Iterator<Item = &Prose> {
        let facts = self.facts.iter().map(|(_, line)| line);
        facts.chain(self.blocks.iter().flat_map(Block::lines))
    }
}

impl Block {
    fn lines(&self) -> Vec<&Prose> {
        match self {
            Self::Section(_) | Self::Part(_) => Vec::new(),
            Self::Text(line) | Self::Callout(line) | Self::Figure { caption: line, .. } => {
                vec![line]
            }
            Self::List(items) => items.iter().collect(),
            Self::Table(table) => {
                let rows = table.rows.iter().flatten();
                std::iter::once(&table.caption).chain(rows).collect()
            }
        }
    }
}

/// The distinct sources of a document, numbered from 1 in the order of their first number.
struct Sources<'a> {
    list: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

/// The sentence before the list of sources.
const SAME_SOURCE: &str = "A number without a footnote has the source of the number before it in the same sentence or row.";

/// Whether to show the source of a number: in a line or a row of a table, only if the number before has another
/// one.
#[derive(Default)]
struct Shown<'a> {
    /// The source of the number before.
    last: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn is_new(&mut self, source: &'a str) -> bool {
        self.last.replace(source) != Some(source)
    }
}

impl<'a> Sources<'a> {
    fn of(document: &'a Document) -> Self {
        let mut sources = Self {
            list: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for span in document.lines().flat_map(|line| &line.0) {
            if let Span::Number { source, .. } = span
                && !sources.numbers.contains_key(source.as_str())
            {
                sources.list.push(source);
                sources.numbers.insert(source, sources.list.len());
            }
        }
        sources
    }

    fn number(&self, source: &str) -> usize {
        self.numbers.get(source).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Document {
        let rate = |shown: &str, group: &str| {
            Prose::default().number(shown, format!("audit.json: groups.{group}.selection_rate"))
        };
        Document {
            title: "Audit of <score> & more".into(),
            facts: vec![(
                "Rows".into(),
                Prose::default().number("1,234", "audit.json: rows"),
            )],
            blocks: vec![
                Block::Section("Selection rates".into()),
                Block::Text(
                    Prose::from("Women are selected at ")
                        .number("30.1%", "audit.json: groups.F.selection_rate")
                        .text(". See ")
                        .code("audit.json")
                        .text("."),
                ),
                Block::Callout(
                    Prose::from("This is a ")
                        .strong("screening figure")
                        .text(" | only."),
                ),
                Block::List(vec!["one".into(), "two * three".into()]),
                Block::Table(Table {
                    caption: "Rates by group".into(),
                    head: vec!["Group".into(), "Rate".into(), "Verdict".into()],
                    rows: vec![
                        vec!["F".into(), rate("30.1%", "F"), "below".into()],
                        vec!["M | other".into(), rate("40.2%", "M"), "".into()],
                    ],
                    text_columns: vec![2],
                }),
                Block::Figure {
                    svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>".into(),
                    alt: "Rates by group".into(),
                    caption: "Rates".into(),
                },
            ],
            origin: Some("made by a test".into()),
        }
    }

    #[test]
    fn html_is_complete() {
        insta::assert_snapshot!(example().to_html());
    }

    #[test]
    fn markdown_is_complete() {
        insta::assert_snapshot!(example().to_markdown());
    }

    #[test]
    fn equal_sources_have_equal_numbers() {
        let document = example();
        let sources = Sources::of(&document);
        assert_eq!(sources.list.len(), 3);
        assert_eq!(sources.number("audit.json: groups.F.selection_rate"), 2);
        // The rate of women occurs twice, in the text and in the table, with the same number.
        assert_eq!(document.to_markdown().matches("30.1%[^2]").count(), 2);
    }

    #[test]
    fn numbers_of_a_row_with_one_source_show_it_once() {
        let number = |shown: &str, source: &str| Prose::default().number(shown, source);
        let row = vec![
            "F".into(),
            number("1", "a"),
            number("2", "a"),
            number("3", "b"),
            number("4", "b"),
        ];
        let document = Document {
            blocks: vec![Block::Table(Table {
                head: ["group", "n", "m", "k", "l"].map(Into::into).into(),
                rows: vec![row.clone(), row],
                ..Table::default()
            })],
            ..Document::default()
        };
        assert_eq!(
            document
                .to_markdown()
                .matches("| F | 1[^1] | 2 | 3[^2] | 4 |")
                .count(),
            2
        );
        let html = document.to_html();
        assert_eq!(
            (
                html.matches("\">1</a></sup>").count(),
                html.matches("\">2</a></sup>").count()
            ),
            (2, 2)
        );
    }
}
