//! Render: renders replies as text for people.
//!
//! In: replies of the tools. Out: text, with colors if wanted.
//! Invariants: text of documents reaches a terminal only without control characters.

use std::borrow::Cow;
use std::io::IsTerminal;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proto::visible::show;

pub mod answer;
pub mod asked;
pub mod changes;
pub mod entries;
pub mod health;
mod hint;
pub mod links;
pub mod maintain;
pub mod models;
pub mod natural;
pub mod notes;
pub mod quality;
pub mod questions;

pub use hint::for_shell;

/// Width of text when the terminal's is unknown, in columns.
const DEFAULT_WIDTH: u16 = 100;

/// How text is styled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colors.
    pub color: bool,
    /// Maximum width in columns.
    pub width: u16,
}

impl Style {
    /// Returns the style for standard output: colors on a terminal, unless `NO_COLOR` is set; the width from `COLUMNS`.
    /// Otherwise nothing wraps, so that a row is one line for `grep`.
    pub fn for_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Style { color: false, width: u16::MAX };
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Style {
            color: !no_color,
            width: width.filter(|width| *width >= 40).unwrap_or(DEFAULT_WIDTH),
        }
    }

    /// Returns the style without colors, at the default width.
    pub fn plain() -> Self {
        Style { color: false, width: DEFAULT_WIDTH }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// Marks what to look at first.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Marks what can be skipped.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Marks what is in order.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Marks what deserves attention.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Marks what is wrong.
    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Marks a path.
    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// Makes text of a document or file name safe to print on one line: control characters could move the cursor, recolor
/// the terminal or fake a line, and others disguise a path. They are escaped; line breaks and tabs become spaces.
pub fn clean(text: &str) -> Cow<'_, str> {
    let breaks = ["\r\n", "\n", "\t"];
    let shown = show(text);
    match breaks.iter().any(|it| shown.contains(it)) {
        true => {
            Cow::Owned(breaks.iter().fold(shown.into_owned(), |it, part| it.replace(part, " ")))
        }
        false => shown,
    }
}

/// Renders a table without lines: a bold header, and rows whose cells wrap within the width.
pub fn table(style: Style, header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(style.width);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    for row in rows {
        table.add_row(row);
    }
    // No left padding, so that the first column starts at the margin; two columns between cells.
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text = String::new();
    for (idx, line) in table.lines().enumerate() {
        let line = line.trim_end();
        text.push_str(&if idx == 0 && !header.is_empty() {
            style.bold(line)
        } else {
            line.to_string()
        });
        text.push('\n');
    }
    text
}

/// Formats a number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats `1 file` or `2 files`, `1 entity` or `2 entities`.
pub fn counted(number: u64, noun: &str) -> String {
    match noun.strip_suffix("ity") {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{} {stem}ities", thousands(number)),
        None => format!("{} {noun}s", thousands(number)),
    }
}

/// Formats the local day of a time as `YYYY-MM-DD`, from seconds since 1970.
pub fn day(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
    let time = time.unwrap_or(Timestamp::MAX);
    time.to_zoned(TimeZone::system()).date().to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn documents_cannot_steer_the_terminal() {
        let table = [
            ("plain text, ünïcode", "plain text, ünïcode"),
            ("a\nb\tc", "a b c"),
            ("\x1b[31mred\x1b]0;title\x07", r"\u{1b}[31mred\u{1b}]0;title\u{7}"),
            ("txt.\u{202e}exe", r"txt.\u{202e}exe"),
            ("\u{9b}2J", r"\u{9b}2J"),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text), expected);
        }
    }

    #[test]
    fn numbers_and_days() {
        let numbers = [0, 7, 999, 1_000, 123_456, 1_234_567].map(thousands).join(" ");
        assert_eq!(numbers, "0 7 999 1,000 123,456 1,234,567");
        assert_eq!([counted(1, "file"), counted(2_000, "file")], ["1 file", "2,000 files"]);
        let days =
            [0, 86_399, 951_782_400, 951_868_800, 1_709_164_800, 1_772_323_200, 4_107_542_400]
                .map(day)
                .join(" ");
        assert_eq!(
            days,
            "1970-01-01 1970-01-01 2000-02-29 2000-03-01 2024-02-29 2026-03-01 2100-03-01"
        );
    }

    #[test]
    fn tables_wrap_within_the_width() {
        let rows = vec![
            vec!["watch.debounce_ms".to_string(), "300".to_string()],
            vec![
                "long".to_string(),
                "many words that do not fit into one line of a narrow table".to_string(),
            ],
        ];
        let style = Style { color: false, width: 48 };
        expect![[r#"
            KEY                VALUE
            watch.debounce_ms  300
            long               many words that do not fit
                               into one line of a narrow
                               table
        "#]]
        .assert_eq(&table(style, &["KEY", "VALUE"], rows.clone()));
        let colored = table(Style { color: true, width: 48 }, &["KEY", "VALUE"], rows);
        assert!(colored.starts_with("\x1b[1mKEY"), "{colored:?}");
    }
}
