//! Values: a cell's content as a person sees it.
//!
//! In: a value, and the code of its number format. Out: its text, as an English spreadsheet shows it; dates in ISO
//! form.
//! Invariant: a number is never rounded further than its format rounds it.

use std::borrow::Cow;

use calamine::{DataRef, ExcelDateTime};
use ssfmt::FormatOptions;

/// Smallest number that no format shows: a spreadsheet has 15 digits.
const MAX_FORMATTED: f64 = 1e15;

/// Returns the text of a value.
pub(super) fn shown<'a>(value: &'a DataRef<'_>, code: &str) -> Cow<'a, str> {
    match value {
        DataRef::Empty => Cow::Borrowed(""),
        DataRef::String(text) | DataRef::DurationIso(text) => Cow::Borrowed(text),
        DataRef::DateTimeIso(text) => Cow::Borrowed(text.strip_suffix("T00:00:00").unwrap_or(text)),
        DataRef::SharedString(text) => Cow::Borrowed(text),
        DataRef::Bool(is_true) => Cow::Borrowed(if *is_true { "TRUE" } else { "FALSE" }),
        DataRef::Error(error) => Cow::Owned(error.to_string()),
        DataRef::Int(number) => Cow::Owned(number_as(*number as f64, code)),
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

/// Returns a number as its format shows it; one without a format, and one too large for any, with all of its digits.
fn number_as(number: f64, code: &str) -> String {
    let is_plain = code.is_empty() || code == "General" || number.abs() >= MAX_FORMATTED;
    let options = FormatOptions::default();
    let shown = if is_plain { None } else { ssfmt::format(number, code, &options).ok() };
    // As spreadsheets do, 15 digits are shown: 0.3, and not 0.30000000000000004.
    let plain = || format!("{number:.14e}").parse::<f64>().unwrap_or(number).to_string();
    shown.map_or_else(plain, |shown| shown.trim().to_string())
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
            (1234.5, "#,##0.00", "1,234.50"),
            (-5.0, "#,##0.00_);[Red](#,##0.00)", "(5.00)"),
            (501.0, "00000", "00501"),
            (9.5, "#,##0.00\\ [$€-407]", "9.50 €"),
            (9.5, "\"$\"#,##0.00", "$9.50"),
            (1234.5, "R$ #,##0.00", "R$ 1,234.50"),
            (3.0, "0\" kg\"", "3 kg"),
            (3.5, "General\" kg\"", "3.5 kg"),
            (1500.0, "0.00E+00", "1.50E+03"),
            (0.5, "# ?/?", "1/2"),
            (2_500_000.0, "0.0,,\"M\"", "2.5M"),
            (5_551_234_567.0, "\\(###\\)\\ ###\\-####", "(555) 123-4567"),
            (0.0, "\"Yes\";;\"No\"", "No"),
            (2.0, "[=1]\"male\";[=2]\"female\"", "female"),
            (123_456_789_012.0, "General", "123456789012"),
            (1e300, "0.00", &1e300.to_string()),
            (1.0, "[", "1"),
            (f64::NAN, "0", "NaN"),
        ];
        for (number, code, expected) in rows {
            assert_eq!(number_as(number, code), expected, "{number} {code}");
        }
    }
}
