//! Values: a cell's content as a person sees it.
//!
//! In: a value, and the code of its number format. Out: its text. Of a format, the first section is followed: decimals,
//! leading zeros, percent signs, and what stands before and after the number, such as a currency. Separators of
//! thousands are left out, since they differ by country.
//! Invariant: a number is never rounded further than its format rounds it.

use std::borrow::Cow;

use calamine::{DataRef, ExcelDateTime};

/// Most decimals or leading zeros that are followed.
const MAX_DIGITS: usize = 30;

/// Returns the text of a value.
pub(super) fn shown<'a>(value: &'a DataRef<'_>, code: &str) -> Cow<'a, str> {
    match value {
        DataRef::Empty => Cow::Borrowed(""),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            Cow::Borrowed(text)
        }
        DataRef::SharedString(text) => Cow::Borrowed(text),
        DataRef::Bool(is_true) => Cow::Borrowed(if *is_true { "TRUE" } else { "FALSE" }),
        DataRef::Error(error) => Cow::Owned(error.to_string()),
        DataRef::Int(number) => Cow::Owned(number.to_string()),
        DataRef::Float(number) => Cow::Owned(number_as(*number, code)),
        DataRef::DateTime(time) => Cow::Owned(time_of(time)),
    }
}

/// Returns a date, a time, or both; a duration as hours, minutes and seconds.
fn time_of(time: &ExcelDateTime) -> String {
    let value = time.as_f64();
    if time.is_duration() {
        let seconds = (value.abs() * 86_400.0).round() as u64;
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let clock = match second {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    };
    match (value, (hour, minute, second)) {
        // Less than a day after the beginning of time is a time.
        _ if (0.0..1.0).contains(&value) => clock,
        (_, (0, 0, 0)) => date,
        _ => format!("{date} {clock}"),
    }
}

/// A number format, as far as it is followed.
#[derive(Default)]
struct NumberFormat {
    before: String,
    after: String,
    n_leading: usize,
    n_decimals: usize,
    /// Decimals that are shown even where they are zeros.
    n_fixed: usize,
    /// True once the place of the number is known.
    has_digits: bool,
    is_percent: bool,
    /// True where the number is shown as it is.
    is_general: bool,
}

fn number_as(number: f64, code: &str) -> String {
    let format = format_of(code);
    let NumberFormat { before, after, n_leading, n_decimals, n_fixed, .. } = &format;
    let number = if format.is_percent { number * 100.0 } else { number };
    let digits = match format.is_general || !format.has_digits {
        // As spreadsheets do, 15 digits are shown: 0.3, and not 0.30000000000000004.
        true => format!("{number:.14e}").parse::<f64>().unwrap_or(number).abs().to_string(),
        false => {
            let mut digits = format!("{:.n_decimals$}", number.abs());
            let n_optional = n_decimals - n_fixed.min(n_decimals);
            let n_zeros =
                digits.bytes().rev().take(n_optional).take_while(|it| *it == b'0').count();
            digits.truncate(digits.len() - n_zeros);
            digits.trim_end_matches('.').to_string()
        }
    };
    let n_whole = digits.find('.').unwrap_or(digits.len());
    let zeros = "0".repeat(n_leading.saturating_sub(n_whole));
    let is_zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if number < 0.0 && !is_zero { "-" } else { "" };
    format!("{before}{sign}{zeros}{digits}{after}").trim().to_string()
}

/// Reads the first section of a format (ECMA-376, 18.8.31).
fn format_of(code: &str) -> NumberFormat {
    let mut format = NumberFormat::default();
    let mut is_after_point = false;
    let mut chars = code.chars();
    while let Some(char) = chars.next() {
        let mut literal = String::new();
        match char {
            ';' => break,
            '0' | '#' | '?' => {
                format.has_digits = true;
                let is_fixed = usize::from(char == '0');
                if is_after_point {
                    format.n_decimals = (format.n_decimals + 1).min(MAX_DIGITS);
                    format.n_fixed = (format.n_fixed + is_fixed).min(MAX_DIGITS);
                } else {
                    format.n_leading = (format.n_leading + is_fixed).min(MAX_DIGITS);
                }
            }
            '.' => is_after_point = true,
            '%' => {
                format.is_percent = true;
                literal.push('%');
            }
            '"' => literal.extend(chars.by_ref().take_while(|char| *char != '"')),
            // `[$€-407]` is a currency and its country; other brackets are colors and conditions.
            '[' => {
                let inside: String = chars.by_ref().take_while(|char| *char != ']').collect();
                let sign = inside.strip_prefix('$').and_then(|it| it.split('-').next());
                literal.push_str(sign.unwrap_or(""));
            }
            '\\' => literal.extend(chars.next()),
            // The width of a character, or a character that fills the cell.
            '_' | '*' => {
                chars.next();
                literal.push(' ');
            }
            ' ' | '$' | '€' | '£' | '¥' | '-' | '+' | '(' | ')' => literal.push(char),
            // Thousands.
            ',' => {}
            'E' if format.has_digits => {
                return NumberFormat { is_general: true, ..NumberFormat::default() };
            }
            // `General`, fractions.
            _ => (format.is_general, format.has_digits) = (true, true),
        }
        let place = if format.has_digits { &mut format.after } else { &mut format.before };
        place.push_str(&literal);
    }
    format.n_leading *= usize::from(!format.is_general);
    format
}

#[cfg(test)]
mod tests {
    use super::number_as;

    #[test]
    fn numbers_are_shown_as_their_format_says() {
        let rows = [
            (1.0, "General", "1"),
            (0.1 + 0.2, "", "0.3"),
            (0.15, "0%", "15%"),
            (0.1234, "0.00%", "12.34%"),
            (1234.5, "#,##0.00", "1234.50"),
            (1234.5, "#,##0.##", "1234.5"),
            (1200.0, "#,##0.##", "1200"),
            (-5.0, "#,##0.00_);[Red](#,##0.00)", "-5.00"),
            (501.0, "00000", "00501"),
            (9.5, "#,##0.00\\ [$€-407]", "9.50 €"),
            (9.5, "\"$\"#,##0.00", "$9.50"),
            (3.0, "0\" kg\"", "3 kg"),
            (3.5, "General\" kg\"", "3.5 kg"),
            (1500.0, "0.00E+00", "1500"),
            (0.5, "# ?/?", "0.5"),
            (-0.001, "0.0", "0.0"),
            (1e300, "0.00", &format!("{:.2}", 1e300)),
            (f64::NAN, "0", "NaN"),
        ];
        for (number, code, expected) in rows {
            assert_eq!(number_as(number, code), expected, "{number} {code}");
        }
    }
}
