//! Render: the text of what is no reply: registry, settings, findings, models, reports. Replies have their own
//! (`proto::view`).
//!
//! In: rows, findings, reports. Out: text, with colors if wanted.
//! Invariants: text of documents reaches a terminal only without control characters.

use std::io::IsTerminal;

use jiff::Timestamp;
use jiff::tz::TimeZone;
pub use proto::view::{Style, counted, for_shell, stored as clean, table, thousands};

pub mod health;
pub mod maintain;
pub mod models;
pub mod natural;
pub mod notes;
pub mod quality;
pub mod questions;

/// Returns the style for standard output: colors on a terminal, unless `NO_COLOR` is set.
pub fn for_stdout() -> Style {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style::terminal(std::io::stdout().is_terminal() && !no_color)
}

/// Formats the local day of a time as `YYYY-MM-DD`, from seconds since 1970.
pub fn day(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
    let time = time.unwrap_or(Timestamp::MAX);
    time.to_zoned(TimeZone::system()).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_local() {
        let days =
            [0, 86_399, 951_782_400, 951_868_800, 1_709_164_800, 1_772_323_200, 4_107_542_400]
                .map(day)
                .join(" ");
        assert_eq!(
            days,
            "1970-01-01 1970-01-01 2000-02-29 2000-03-01 2024-02-29 2026-03-01 2100-03-01"
        );
    }
}
