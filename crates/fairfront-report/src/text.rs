//! Estimates the width of text without knowing the font.

use std::borrow::Cow;

/// The estimated width of `text` at a font size, in pixels. It is wide for a sans-serif font, so
/// that text that fits here fits everywhere.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(advance).sum::<f64>()
}

/// Shortens `text` to `room` pixels by replacing its middle with `…`, because names of runs differ
/// at their ends.
pub(crate) fn shorten(text: &str, size: f64, room: f64) -> Cow<'_, str> {
    if width(text, size) <= room {
        return text.into();
    }
    let free = (room / size - advance('…')).max(0.0);
    let fitting = |chars: &mut dyn Iterator<Item = (usize, char)>, room: f64| {
        let mut used = 0.0;
        let within = chars.take_while(|(_, c)| {
            used += advance(*c);
            used <= room
        });
        within.last()
    };
    let head = fitting(&mut text.char_indices(), 0.6 * free);
    let head = &text[..head.map_or(0, |(at, c)| at + c.len_utf8())];
    let tail = fitting(&mut text.char_indices().rev(), free - width(head, 1.0));
    let tail = &text[tail.map_or(text.len(), |(at, _)| at)..];
    // A combining mark without its letter would be drawn on the ellipsis.
    let tail = tail.trim_start_matches(|c| advance(c) == 0.0);
    format!("{}…{}", head.trim_end(), tail.trim_start()).into()
}

/// Width of a character in ems.
fn advance(c: char) -> f64 {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0.0,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '\\' | '-' | '"' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '−' | '+' | '=' | '<' | '>' => 0.95,
        'A'..='Z' => 0.72,
        ..'\u{80}' => 0.62,
        ..'\u{1100}' => 0.8,
        // Wide scripts, symbols and emoji.
        ..'\u{10000}' => 1.0,
        _ => 1.3,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_is_cut() {
        assert_eq!(shorten("short", 10.0, 100.0), "short");
        let cut = shorten("results/adult/gender/seed-1", 10.0, 100.0);
        assert_eq!(cut, "results/ad…seed-1");
        assert_eq!(shorten("anything", 10.0, 0.0), "…");
        assert_eq!(shorten("", 10.0, 0.0), "");
    }

    proptest! {
        #[test]
        fn shortened_text_fits(text in any::<String>(), room in 10.0..300.0_f64) {
            let short = shorten(&text, 10.0, room);
            prop_assert!(width(&short, 10.0) <= room + 1e-9);
            prop_assert_eq!(short == text, width(&text, 10.0) <= room);
        }
    }
}
