//! Draws a front with characters.

use std::fmt::Write;

use fairfront_pareto::{Values, ranges};

use super::front::significant;
use crate::output;

/// The characters that a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Braille for dots, lines for axes.
    Unicode,
    /// Characters that every terminal has.
    Ascii,
}

impl Charset {
    /// The character set of the locale, or ASCII if `ascii` is set.
    pub(crate) fn of_terminal(ascii: bool) -> Self {
        // Windows does not set these variables, and its terminals show Unicode.
        if cfg!(windows) && !ascii {
            return Self::Unicode;
        }
        let value = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        match !ascii && is_utf8(["LC_ALL", "LC_CTYPE", "LANG"].map(value)) {
            true => Self::Unicode,
            false => Self::Ascii,
        }
    }

    /// The number of dots in a character, horizontally and vertically.
    fn dots(self) -> (usize, usize) {
        match self {
            Self::Unicode => (2, 4),
            Self::Ascii => (1, 2),
        }
    }

    /// The character with these dots, one bit per dot: column by column, from the top.
    fn character(self, dots: u32) -> char {
        /// The Braille bit of each dot.
        const BRAILLE: [u32; 8] = [0, 1, 2, 6, 3, 4, 5, 7];
        match self {
            Self::Unicode => {
                let bits = BRAILLE.iter().enumerate();
                let bits = bits.map(|(dot, bit)| (dots >> dot & 1) << bit);
                char::from_u32(0x2800 + bits.sum::<u32>()).unwrap_or(' ')
            }
            Self::Ascii => [' ', '\'', '.', ':'][dots as usize & 3],
        }
    }

    /// The vertical axis, the corner and the horizontal axis.
    fn axes(self) -> [char; 3] {
        match self {
            Self::Unicode => ['│', '└', '─'],
            Self::Ascii => ['|', '+', '-'],
        }
    }
}

/// Whether the first of these locales that is set uses UTF-8. If none is set, the locale is `C`, which does
/// not.
fn is_utf8(locales: [Option<String>; 3]) -> bool {
    let locale = locales.into_iter().flatten().find(|l| !l.is_empty());
    let Some(locale) = locale else {
        return false;
    };
    // language_TERRITORY.codeset@modifier
    let codeset = locale.split_once('.').map_or("", |(_, codeset)| codeset);
    let codeset = codeset.split('@').next().unwrap_or("");
    ["utf-8", "utf8"].contains(&&codeset.to_ascii_lowercase()[..])
}

/// Plots the first two columns of `values`.
pub(super) fn plot(values: Values, names: &[String], charset: Charset, out: &mut String) {
    const HEIGHT: usize = 14;
    /// Columns to the left of the plot.
    const MARGIN: usize = 13;
    let terminal = output::width().unwrap_or(usize::MAX);
    let columns = terminal.saturating_sub(MARGIN).clamp(20, 60);
    let (wide, high) = charset.dots();
    let [vertical, corner, horizontal] = charset.axes();
    let ranges = ranges(values, None);
    let mut cells = vec![vec![0_u32; columns]; HEIGHT];
    let place = |value: f64, (low, high): (f64, f64), n: usize| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        };
        ((share * (n - 1) as f64).round() as usize).min(n - 1)
    };
    for point in values.iter().filter(|p| p.iter().all(|v| v.is_finite())) {
        let x = place(point[0], ranges[0], wide * columns);
        let y = high * HEIGHT - 1 - place(point[1], ranges[1], high * HEIGHT);
        cells[y / high][x / wide] |= 1 << (x % wide * high + y % high);
    }
    let _ = writeln!(out, "  {} (down is better)", names[1]);
    for (row, cells) in cells.iter().enumerate() {
        let label = match row {
            0 => significant(ranges[1].1),
            r if r == HEIGHT - 1 => significant(ranges[1].0),
            _ => String::new(),
        };
        let dots: String = cells.iter().map(|c| charset.character(*c)).collect();
        let _ = writeln!(out, "  {label:>9} {vertical}{}", dots.trim_end());
    }
    let axis: String = std::iter::repeat_n(horizontal, columns).collect();
    let _ = writeln!(out, "  {:9} {corner}{axis}", "");
    let (low, high) = (significant(ranges[0].0), significant(ranges[0].1));
    let space = columns.saturating_sub(low.len() + high.len());
    let _ = writeln!(out, "  {:9}  {low}{}{high}", "", " ".repeat(space));
    let _ = writeln!(out, "  {:9}  {} (left is better)", "", names[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(charset: Charset) -> Vec<String> {
        // Both ends of the range, and two points above each other in the middle of the lowest row.
        let points = [0.0, 27.0, 59.0, 0.0, 30.0, 1.0, 30.0, 0.0];
        let names = ["loss".to_owned(), "difference".to_owned()];
        let mut out = String::new();
        plot(Values::new(&points, 2).unwrap(), &names, charset, &mut out);
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn ascii_draws_two_dots_per_character() {
        let lines = drawn(Charset::Ascii);
        assert!(lines.iter().all(|line| line.is_ascii()));
        assert_eq!(lines[0], "  difference (down is better)");
        assert_eq!(lines[1], "       27.0 |'");
        assert_eq!(lines[2], "            |");
        let last = format!("          0 |{}:{}.", " ".repeat(30), " ".repeat(28));
        assert_eq!(lines[14], last);
        assert_eq!(lines[15], format!("            +{}", "-".repeat(60)));
    }

    #[test]
    fn unicode_draws_eight_dots_per_character() {
        let lines = drawn(Charset::Unicode);
        // The dots in the upper left and lower right corners.
        assert!(lines[1].starts_with("       27.0 │⠁"), "{}", lines[1]);
        assert!(lines[14].ends_with('⢀'), "{}", lines[14]);
        // The second and the lowest dot on the right.
        assert_eq!(lines[14].chars().nth(13 + 30), Some('⢐'));
        assert_eq!(lines[15], format!("            └{}", "─".repeat(60)));
    }

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let of = |all: &str, ctype: &str, lang: &str| {
            is_utf8([all, ctype, lang].map(|l| (l != "-").then(|| l.to_owned())))
        };
        assert!(of("-", "-", "en_US.UTF-8"));
        assert!(of("", "C.utf8", "C"));
        assert!(of("-", "-", "de_DE.UTF-8@euro"));
        assert!(!of("C", "-", "en_US.UTF-8"));
        assert!(!of("-", "POSIX", "en_US.UTF-8"));
        assert!(!of("-", "-", "de_DE.ISO-8859-1"));
        assert!(!of("-", "-", "de_DE@utf-8"));
        assert!(!of("-", "-", "-"));
    }
}
