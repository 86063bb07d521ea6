//! Documents as HTML.

use std::fmt::Write as _;

use super::{Block, Document, Prose, SAME_SOURCE, Shown, Sources, Span, Table};

const STYLE: &str = include_str!("style.css");

pub(super) fn render(document: &Document, sources: &Sources) -> String {
    let title = escaped(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    if !document.facts.is_empty() {
        out.push_str("<dl>\n");
        for (name, line) in &document.facts {
            let _ = writeln!(
                out,
                "<dt>{}</dt><dd>{}</dd>",
                escaped(name),
                inline(line, sources)
            );
        }
        out.push_str("</dl>\n");
    }
    for part in &document.blocks {
        block(&mut out, part, sources);
    }
    if !sources.list.is_empty() {
        let _ = writeln!(out, "<h2>Sources of the numbers</h2>\n<p>{SAME_SOURCE}</p>");
        out.push_str("<ol class=\"sources\">\n");
        for (at, source) in sources.list.iter().enumerate() {
            let _ = writeln!(
                out,
                "<li id=\"source-{}\"><code>{}</code></li>",
                at + 1,
                escaped(source)
            );
        }
        out.push_str("</ol>\n");
    }
    out.push_str("</main>\n</body>\n</html>\n");
    if let Some(origin) = &document.origin {
        let _ = writeln!(out, "<!-- {origin} -->");
    }
    out
}

fn block(out: &mut String, block: &Block, sources: &Sources) {
    // Writing to a string never fails.
    let _ = match block {
        Block::Section(heading) => writeln!(out, "<h2>{}</h2>", escaped(heading)),
        Block::Part(heading) => writeln!(out, "<h3>{}</h3>", escaped(heading)),
        Block::Text(line) => writeln!(out, "<p>{}</p>", inline(line, sources)),
        Block::Callout(line) => writeln!(out, "<p class=\"callout\">{}</p>", inline(line, sources)),
        Block::List(items) => {
            let items = items.iter();
            let items = items.map(|item| format!("<li>{}</li>\n", inline(item, sources)));
            writeln!(out, "<ul>\n{}</ul>", items.collect::<String>())
        }
        Block::Table(table) => {
            self::table(out, table, sources);
            Ok(())
        }
        Block::Figure { svg, alt, caption } => writeln!(
            out,
            "<figure role=\"group\" aria-label=\"{}\">\n{}\n<figcaption>{}</figcaption>\n</figure>",
            escaped(alt),
            svg.trim_end(),
            inline(caption, sources)
        ),
    };
}

fn table(out: &mut String, table: &Table, sources: &Sources) {
    let class = |column: usize| match column == 0 || table.text_columns.contains(&column) {
        true => "",
        false => " class=\"number\"",
    };
    let caption = inline(&table.caption, sources);
    // A wide table scrolls inside its own box; the box takes the focus, so that keys can scroll it.
    let label = escaped(&plain(&table.caption));
    let _ = write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table>\n\
         <caption>{caption}</caption>\n<thead>\n<tr>"
    );
    for (column, name) in table.head.iter().enumerate() {
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{}</th>",
            class(column),
            escaped(name)
        );
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        let mut shown = Shown::default();
        for (column, entry) in row.iter().enumerate() {
            let entry = spans(entry, sources, |source| shown.is_new(source));
            let _ = match column {
                0 => write!(out, "<th scope=\"row\">{entry}</th>"),
                _ => write!(out, "<td{}>{entry}</td>", class(column)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
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
            Span::Strong(text) => write!(out, "<strong>{}</strong>", escaped(text)),
            Span::Code(text) => write!(out, "<code>{}</code>", escaped(text)),
            Span::Number { shown, source } if !shows(source) => write!(out, "{}", escaped(shown)),
            Span::Number { shown, source } => {
                let n = sources.number(source);
                write!(
                    out,
                    "{}<sup><a href=\"#source-{n}\" aria-label=\"source {n}\">{n}</a></sup>",
                    escaped(shown)
                )
            }
        };
    }
    out
}

fn plain(line: &Prose) -> String {
    let texts = line.0.iter().map(|span| match span {
        Span::Text(text) | Span::Strong(text) | Span::Code(text) => text.as_str(),
        Span::Number { shown, .. } => shown,
    });
    texts.collect()
}

/// Text with the characters replaced that mean something in HTML, and without control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
