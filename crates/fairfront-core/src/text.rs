/// Writes a count with thousands separators: `45222` becomes `45,222`.
///
/// ```
/// assert_eq!(fairfront_core::grouped(45_222), "45,222");
/// assert_eq!(fairfront_core::grouped(7), "7");
/// ```
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number in the unit of a target: commas, a fixed number of digits after the decimal point, and no minus
/// before 0.
///
/// ```
/// assert_eq!(fairfront_core::in_target(-54321.06, 1), "-54,321.1");
/// assert_eq!(fairfront_core::in_target(-0.001, 2), "0.00");
/// assert_eq!(fairfront_core::in_target(2.5e20, 0), "2.50e20");
/// ```
pub fn in_target(value: f64, digits: usize) -> String {
    /// Larger numbers have more digits than people read.
    const MOST: f64 = 1e15;
    if value.is_nan() || value.abs() >= MOST {
        return format!("{value:.2e}");
    }
    let text = format!("{:.digits$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{whole}{rest}")
}

/// A count with its noun, which gets an s unless the count is 1.
///
/// ```
/// assert_eq!(fairfront_core::counted(1, "row"), "1 row");
/// assert_eq!(fairfront_core::counted(1_500, "row"), "1,500 rows");
/// ```
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Bytes in hexadecimal.
///
/// ```
/// assert_eq!(fairfront_core::hex(&[0, 255, 16]), "00ff10");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let both = |byte: &u8| [digit(byte >> 4), digit(byte & 15)];
    bytes.iter().flat_map(both).collect()
}

/// A number for display: four significant digits without trailing zeros. Very small and very large
/// numbers have three digits and a power of ten.
///
/// ```
/// assert_eq!(fairfront_core::readable(0.041_50), "0.0415");
/// assert_eq!(fairfront_core::readable(2.5e-7), "2.50e-7");
/// ```
pub fn readable(value: f64) -> String {
    let text = match value.abs() {
        // Zero up to rounding.
        v if v < 1e-12 => return "0".into(),
        v if !(1e-6..1e6).contains(&v) => return format!("{value:.2e}"),
        v => {
            // Four significant digits.
            let digits = (3 - v.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
