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
