//! Dates and times as numbers: days since 1970-01-01, with a fraction for the time of day.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Nanoseconds per day.
pub(crate) const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// The order in which the dates of a column are written. Every order also accepts the year first
/// (`2024-03-01`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateOrder {
    /// The year first: `2024-03-01`.
    Ymd,
    /// The day first: `01.03.2024`.
    Dmy,
    /// The month first: `03/01/2024`.
    Mdy,
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ymd => "year first",
            Self::Dmy => "day first",
            Self::Mdy => "month first",
        })
    }
}

/// A date as written, before it is known which of the first two numbers is the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Year, month and day, or the two numbers before the year, as written.
    numbers: (i64, u32, u32),
    year_first: bool,
    separator: u8,
    /// Nanoseconds from the start of the day, in UTC if an offset is given; may be outside the day.
    nanos: i64,
}

impl Written {
    /// Reads a date, with or without a time. A year has four digits.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        // The shortest date is 1.3.2024. Most strings that are not dates are rejected here.
        if text.len() < 8 || !text[0].is_ascii_digit() {
            return None;
        }
        let mut at = Cursor { text, at: 0 };
        let (first, width) = at.digits(4)?;
        let separator = at.next()?;
        let (second, second_width) = at.digits(2)?;
        if at.next()? != separator || second_width == 0 {
            return None;
        }
        let (numbers, year_first) = match (width, separator) {
            (4, b'-' | b'/' | b'.') => {
                let (day, _) = at.digits(2)?;
                ((i64::from(first), second, day), true)
            }
            (1 | 2, b'-' | b'/' | b'.') => {
                let (year, 4) = at.digits(4)? else {
                    return None;
                };
                ((i64::from(year), first, second), false)
            }
            _ => return None,
        };
        let nanos = at.time()?;
        let written = Self {
            numbers,
            year_first,
            separator,
            nanos,
        };
        let possible = match year_first {
            true => written.days(DateOrder::Ymd).is_some(),
            false => {
                written.days(DateOrder::Dmy).is_some() || written.days(DateOrder::Mdy).is_some()
            }
        };
        possible.then_some(written)
    }

    /// Days since 1970-01-01, if the numbers are a valid date in this order.
    fn days(&self, order: DateOrder) -> Option<i64> {
        let (year, a, b) = self.numbers;
        let (month, day) = match (self.year_first, order) {
            (true, _) | (false, DateOrder::Mdy) => (a, b),
            (false, DateOrder::Dmy) => (b, a),
            (false, DateOrder::Ymd) => return None,
        };
        let sound = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
        sound.then(|| days_from_civil(year, month, day))
    }

    /// The date as a number, read in this order.
    pub(crate) fn number(&self, order: DateOrder) -> Option<f64> {
        Some(number(self.days(order)?, self.nanos))
    }
}

/// Parses a string as a date and returns its number.
pub(crate) fn parse_date(text: &[u8], order: DateOrder) -> Option<f64> {
    Written::read(text)?.number(order)
}

/// How many dates of a column fit each order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Orders {
    /// Strings that are dates.
    pub(crate) dates: usize,
    /// Of these, dates with the year first, dates valid with the day first, and dates valid with the month
    /// first.
    ymd: usize,
    dmy: usize,
    mdy: usize,
    /// The separator of the first date that does not start with its year.
    separator: Option<u8>,
}

impl Orders {
    pub(crate) fn count(&mut self, text: &[u8]) {
        let Some(written) = Written::read(text) else {
            return;
        };
        self.dates += 1;
        if written.year_first {
            self.ymd += 1;
            return;
        }
        self.separator.get_or_insert(written.separator);
        self.dmy += usize::from(written.days(DateOrder::Dmy).is_some());
        self.mdy += usize::from(written.days(DateOrder::Mdy).is_some());
    }

    /// Whether every date that does not start with its year is valid in both orders.
    pub(crate) fn is_open(&self) -> bool {
        self.dmy > 0 && self.dmy == self.mdy && self.dmy + self.ymd == self.dates
    }

    /// The order that most dates fit, and how many strings are dates in that order. A tie means month first
    /// if the separator is `/`, and day first otherwise.
    pub(crate) fn best(&self) -> (DateOrder, usize) {
        let order = match self.separator {
            None => DateOrder::Ymd,
            Some(_) if self.dmy > self.mdy => DateOrder::Dmy,
            Some(_) if self.mdy > self.dmy => DateOrder::Mdy,
            Some(b'/') => DateOrder::Mdy,
            Some(_) => DateOrder::Dmy,
        };
        let fit = match order {
            DateOrder::Ymd => 0,
            DateOrder::Dmy => self.dmy,
            DateOrder::Mdy => self.mdy,
        };
        (order, self.ymd + fit)
    }
}

/// Combines days since 1970-01-01 and nanoseconds from the start of that day into one number.
pub(crate) fn number(days: i64, nanos: i64) -> f64 {
    let days = days + nanos.div_euclid(NANOS_PER_DAY);
    let nanos = nanos.rem_euclid(NANOS_PER_DAY);
    days as f64 + nanos as f64 / NANOS_PER_DAY as f64
}

/// The number of a time: nanoseconds since 1970-01-01, converted to days.
///
/// ```
/// assert_eq!(fairfront_data::date_number(43_200_000_000_000), 0.5);
/// ```
pub fn date_number(nanos: i64) -> f64 {
    number(0, nanos)
}

/// Formats a number of days as `2024-03-01` or `2024-03-01T13:45:06.5`, to microseconds, the precision of
/// the number.
///
/// ```
/// assert_eq!(fairfront_data::date_text(19_783.0), "2024-03-01");
/// assert_eq!(fairfront_data::date_text(-0.25), "1969-12-31T18:00:00");
/// ```
pub fn date_text(number: f64) -> String {
    let whole = number.floor();
    let micros = ((number - whole) * 86_400e6).round() as i64;
    let (days, micros) = (
        whole as i64 + micros / 86_400_000_000,
        micros % 86_400_000_000,
    );
    let (year, month, day) = civil_from_days(days);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if micros > 0 {
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let time = format!("T{hours:02}:{minutes:02}:{:02}", seconds % 60);
        text.push_str(&time);
        let fraction = micros % 1_000_000;
        if fraction > 0 {
            let digits = format!("{fraction:06}");
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
    }
    text
}

/// The day of the week (0 for Monday) and the month (0 for January) of a number of days.
pub(crate) fn weekday_and_month(number: f64) -> (usize, usize) {
    let days = number.floor() as i64;
    // 1970-01-01 was a Thursday.
    let weekday = (days + 3).rem_euclid(7);
    (weekday as usize, civil_from_days(days).1 as usize - 1)
}

fn days_in(year: i64, month: u32) -> u32 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Howard Hinnant's algorithm for the proleptic Gregorian calendar. Years start in March, so that the leap
/// day is the last day of a year.
fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let from_march = i64::from((month + 9) % 12);
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a number of one to `most` digits, and returns it with its number of digits.
    fn digits(&mut self, most: usize) -> Option<(u32, usize)> {
        let (mut number, mut width) = (0, 0);
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            if width == most {
                return None;
            }
            number = number * 10 + u32::from(byte - b'0');
            width += 1;
            self.at += 1;
        }
        (width > 0).then_some((number, width))
    }

    fn spaces(&mut self) -> bool {
        let start = self.at;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        self.at > start
    }

    /// Reads the rest after a date up to the end: nothing, or a time.
    fn time(&mut self) -> Option<i64> {
        if self.peek().is_none() {
            return Some(0);
        }
        if !matches!(self.peek(), Some(b'T' | b't')) || self.next().is_none() {
            // Some programs write a comma, as in "3/1/2024, 13:45".
            if self.peek() == Some(b',') {
                self.at += 1;
            }
            if !self.spaces() {
                return None;
            }
        }
        let (mut hour, _) = self.digits(2)?;
        if self.next()? != b':' {
            return None;
        }
        let (minute, 2) = self.digits(2)? else {
            return None;
        };
        let (mut second, mut fraction) = (0, 0);
        if self.peek() == Some(b':') {
            self.at += 1;
            let (seconds, 2) = self.digits(2)? else {
                return None;
            };
            second = seconds;
            if matches!(self.peek(), Some(b'.' | b',')) {
                self.at += 1;
                fraction = self.fraction()?;
            }
        }
        let spaced = self.spaces();
        if let Some(half @ (b'A' | b'a' | b'P' | b'p')) = self.peek() {
            self.at += 1;
            if !matches!(self.next()?, b'M' | b'm') || !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if matches!(half, b'P' | b'p') { 12 } else { 0 };
        } else if spaced && !matches!(self.peek(), Some(b'+' | b'-' | b'Z' | b'U')) {
            return None;
        }
        // A leap second counts as the first second of the next minute.
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let offset = self.offset()?;
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second) - offset;
        Some(seconds * 1_000_000_000 + fraction)
    }

    /// Reads nanoseconds and ignores digits after the ninth.
    fn fraction(&mut self) -> Option<i64> {
        let (mut nanos, mut width) = (0, 0);
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            if width < 9 {
                nanos = nanos * 10 + i64::from(byte - b'0');
                width += 1;
            }
            self.at += 1;
        }
        (width > 0).then(|| nanos * 10_i64.pow(9 - width))
    }

    /// Seconds by which local time is ahead of UTC; 0 if no offset is given.
    fn offset(&mut self) -> Option<i64> {
        let sign = match &self.text[self.at..] {
            b"" | b"Z" | b"z" | b"UTC" => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        self.at += 1;
        let (hours, minutes) = match &self.text[self.at..] {
            [_, _, b':', ..] => {
                let (hours, 2) = self.digits(2)? else {
                    return None;
                };
                self.at += 1;
                let (minutes, 2) = self.digits(2)? else {
                    return None;
                };
                (hours, minutes)
            }
            _ => match self.digits(4)? {
                (hours, 2) => (hours, 0),
                (both, 4) => (both / 100, both % 100),
                _ => return None,
            },
        };
        let sound = self.peek().is_none() && hours <= 18 && minutes < 60;
        sound.then(|| sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn iso(text: &str) -> Option<f64> {
        parse_date(text.as_bytes(), DateOrder::Ymd)
    }

    #[test]
    fn dates_become_days() {
        assert_eq!(iso("1970-01-01"), Some(0.0));
        assert_eq!(iso("2024-03-01"), Some(19_783.0));
        assert_eq!(iso("1969-12-31"), Some(-1.0));
        assert_eq!(iso("2000-02-29"), Some(11_016.0));
        assert_eq!(iso("1900-02-29"), None);
        assert_eq!(iso("2024-13-01"), None);
        assert_eq!(iso("2024-03-01 12:00"), Some(19_783.5));
        assert_eq!(iso("2024-03-01T06:00:00Z"), Some(19_783.25));
        assert_eq!(iso("2024-03-01 02:00:00+02:00"), Some(19_783.0));
        assert_eq!(iso("2024-03-01T01:30:00-0430"), Some(19_783.25));
        assert_eq!(
            iso("2024-03-01T00:00:00.500"),
            Some(number(19_783, 500_000_000))
        );
        let mdy = |text: &str| parse_date(text.as_bytes(), DateOrder::Mdy);
        assert_eq!(mdy("3/1/2024 6:00 PM"), Some(19_783.75));
        assert_eq!(mdy("12/31/2024"), Some(20_088.0));
        assert_eq!(mdy("31/12/2024"), None);
        let dmy = |text: &str| parse_date(text.as_bytes(), DateOrder::Dmy);
        for text in ["31.12.2024", "31/12/2024", "31-12-2024", "2024-12-31"] {
            assert_eq!(dmy(text), Some(20_088.0), "{text}");
        }
    }

    #[test]
    fn other_strings_are_not_dates() {
        for text in [
            "",
            "2024",
            "2024-03",
            "20240301",
            "1.2.3",
            "31.12.24",
            "12:30:00",
            "2024-03-01x",
            "2024-03/01",
            "2024-03-01 25:00",
            "2024-03-01 12",
            "555-12-3456",
            "10.0.0.1",
            "2024-03-01T",
            "2024-03-01 12:00 CET",
            "99/99/2024",
            "1-2-20245",
        ] {
            assert_eq!(Written::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn days_above_12_decide_the_order() {
        let of = |strings: &[&str]| {
            let mut orders = Orders::default();
            strings.iter().for_each(|t| orders.count(t.as_bytes()));
            (orders.best(), orders.is_open())
        };
        assert_eq!(of(&["2024-03-01"]), ((DateOrder::Ymd, 1), false));
        assert_eq!(of(&["01.02.2024"]), ((DateOrder::Dmy, 1), true));
        assert_eq!(of(&["01/02/2024"]), ((DateOrder::Mdy, 1), true));
        assert_eq!(
            of(&["01/02/2024", "13/02/2024"]),
            ((DateOrder::Dmy, 2), false)
        );
        assert_eq!(
            of(&["01-02-2024", "02-13-2024"]),
            ((DateOrder::Mdy, 2), false)
        );
        assert_eq!(
            of(&["13/02/2024", "02/13/2024", "1/1/2024"]),
            ((DateOrder::Mdy, 2), false)
        );
    }

    #[test]
    fn weekday_and_month_are_found() {
        // A Friday.
        assert_eq!(weekday_and_month(19_783.9), (4, 2));
        assert_eq!(weekday_and_month(0.0), (3, 0));
        assert_eq!(weekday_and_month(-0.5), (2, 11));
    }

    proptest! {
        #[test]
        fn formatted_numbers_parse_back(days in -200_000_i64..200_000, micros in 0_i64..86_400_000_000) {
            for micros in [0, micros] {
                let number = number(days, micros * 1000);
                prop_assert_eq!(iso(&date_text(number)), Some(number));
            }
        }

        #[test]
        fn no_string_panics(text in ".*", like in "[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}[ T0-9:,.ZAPM+-]*") {
            for text in [text, like] {
                for order in [DateOrder::Ymd, DateOrder::Dmy, DateOrder::Mdy] {
                    let _ = parse_date(text.as_bytes(), order);
                }
            }
        }
    }
}
