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
