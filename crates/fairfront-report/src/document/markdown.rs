//! Documents as Markdown, with tables and footnotes as GitHub and Pandoc read them.

use std::fmt::Write as _;

use super::{Block, Document, Prose, SAME_SOURCE, Shown, Sources, Span, Table};

pub(super) fn render(document: &Document, sources: &Sources) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    if !document.facts.is_empty() {
        out.push('\n');
        for (name, line) in &document.facts {
            let _ = writeln!(out, "- **{}**: {}", escaped(name), inline(line, sources));
        }
    }
    for block in &document.blocks {
        out.push('\n');
        let _ = match block {
            Block::Section(heading) => writeln!(out, "## {}", escaped(heading)),
            Block::Part(heading) => writeln!(out, "### {}", escaped(heading)),
            Block::Text(line) => writeln!(out, "{}", inline(line, sources)),
            Block::Callout(line) => writeln!(out, "> {}", inline(line, sources)),
            Block::List(items) => {
                let items = items.iter();
                let items = items.map(|item| format!("- {}\n", inline(item, sources)));
                write!(out, "{}", items.collect::<String>())
            }
            Block::Table(table) => {
                self::table(&mut out, table, sources);
                Ok(())
            }
            Block::Figure { alt, caption, .. } => {
                writeln!(
                    out,
                    "Figure: {}. {}",
                    escaped(alt),
                    inline(caption, sources)
                )
            }
        };
    }
    if !sources.list.is_empty() {
        let _ = writeln!(out, "\n## Sources of the numbers\n\n{SAME_SOURCE}\n");
        for (at, source) in sources.list.iter().enumerate() {
            let _ = writeln!(out, "[^{}]: {}", at + 1, code(source));
        }
    }
    if let Some(origin) = &document.origin {
        let _ = writeln!(out, "\n<!-- {origin} -->");
    }
    out
}

fn table(out: &mut String, table: &Table, sources: &Sources) {
    if !table.caption.0.is_empty() {
        let _ = writeln!(out, "{}\n", inline(&table.caption, sources));
    }
    let head = table.head.iter().map(|name| escaped(name));
    let _ = writeln!(out, "| {} |", head.collect::<Vec<_>>().join(" | "));
    let rules = (0..table.head.len()).map(|column| {
        match column == 0 || table.text_columns.contains(&column) {
            true => "---",
            false => "---:",
        }
    });
    let _ = writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let mut shown = Shown::default();
        let row = row
            .iter()
            .map(|entry| spans(entry, sources, |source| shown.is_new(source)));
        let _ = writeln!(out, "| {} |", row.collect::<Vec<_>>().join(" | "));
    }
}

fn inline(line: &Prose, sources: &Sources) -> String {
    let mut shown = Shown::default();
    spans(line, sources, |source| shown.is_new(source))
}

/// A line, with the sources of the numbers for which `shows` is true.
fn spans<'a>(line: &'a Prose, sources: &Sources, mut shows: impl FnMut(&'a str) -> bool) -> String {
    let mut out = String::new();
    for span in &line.0 {
        let _ = match span {
            Span::Text(text) => write!(out, "{}", escaped(text)),
            Span::Strong(text) => write!(out, "**{}**", escaped(text)),
            Span::Code(text) => write!(out, "{}", code(text)),
            Span::Number { shown, source } if !shows(source) => write!(out, "{}", escaped(shown)),
            Span::Number { shown, source } => {
                write!(out, "{}[^{}]", escaped(shown), sources.number(source))
            }
        };
    }
    out
}

/// Text as code. A fence of more backticks than the text has in a row contains any text.
fn code(text: &str) -> String {
    let text: String = text.chars().map(printable).collect();
    let text = text.replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    match longest {
        0 => format!("`{text}`"),
        n => {
            let fence = "`".repeat(n + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// Text with the characters escaped that mean something in Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().map(printable) {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn printable(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}
