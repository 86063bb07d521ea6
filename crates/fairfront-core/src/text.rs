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

/// A count of things: the noun gets an s unless there is one of them.
///
/// ```
/// assert_eq!(fairfront_core::counted(1, "point"), "1 point");
/// assert_eq!(fairfront_core::counted(1_500, "point"), "1,500 points");
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
