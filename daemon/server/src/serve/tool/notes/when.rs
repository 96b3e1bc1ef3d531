//! When: parses a starting time as people write it.
//!
//! In: `7d`, `1 hour`, `2 weeks ago`, `yesterday`, `last friday`, `last month`, `2026-01-31`,
//! `2026-01`, RFC 3339; and now. Out: a time, where asked for one that is not after now. Spans and dates are parsed by
//! jiff, words by interim, both in the time zone of this machine; other forms are rewritten to
//! theirs here.
//! Invariant: a pure function of text and now.

use interim::{Dialect, parse_date_string};
use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, Zoned};
use notes::date::stated_day;
use proto::error::ErrorView;
use serde_json::{Map, Value};

use crate::serve::tool::invalid;

/// Longest text that is parsed, characters.
const MAX_CHARS: usize = 60;

/// Returns the past time that a text means.
///
/// # Errors
/// As [`after`], and for a time in the future.
pub(in crate::serve::tool) fn since(
    parameter: &str,
    text: &str,
    now: &Zoned,
) -> Result<Timestamp, ErrorView> {
    let moment = after(parameter, text, now)?;
    if moment > now.timestamp() {
        return Err(refused(parameter, text, "which lies in the future"));
    }
    Ok(moment)
}

fn refused(parameter: &str, text: &str, what: &str) -> ErrorView {
    let hint = "say `7d`, `2 hours`, `yesterday`, `last week`, `last friday`, `3 months ago` or a day, `2026-01-31`";
    let shown: String = text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect();
    invalid(format!("`{parameter}` is `{shown}`, {what}"), hint)
}

/// Returns the time that a text means.
///
/// # Errors
/// `invalid_params`, naming `parameter`, for a text that is not a time.
pub(in crate::serve::tool) fn after(
    parameter: &str,
    text: &str,
    now: &Zoned,
) -> Result<Timestamp, ErrorView> {
    if text.chars().count() > MAX_CHARS {
        return Err(refused(parameter, text, "which is too long"));
    }
    parse(&plain(text), now).ok_or_else(|| refused(parameter, text, "which is not a time"))
}

/// Replaces times in the parameters that take a day by that day: `yesterday`, `7d`. What is no time stays, and is
/// refused where the day is read.
pub(in crate::serve) fn to_days(arguments: &mut Map<String, Value>) {
    for name in ["after", "before"] {
        let Some(Value::String(text)) = arguments.get_mut(name) else { continue };
        let now = Zoned::now();
        if stated_day(text).is_none()
            && let Ok(moment) = after(name, text, &now)
        {
            *text = moment.to_zoned(now.time_zone().clone()).date().to_string();
        }
    }
}

/// Normalizes to lowercase and single spaces, without words that only mean that it is past.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut words: Vec<&str> = lower.split_whitespace().collect();
    // `in 3 days` is in the future, `in the last 3 days` in the past.
    let is_to_come = matches!(words.as_slice(), ["in", next, ..] if *next != "the");
    while let [first, _, ..] = words.as_slice()
        && matches!(*first, "since" | "the" | "in" | "within" | "from" | "after" | "over")
        && !is_to_come
    {
        words.remove(0);
    }
    if words.len() > 1 && matches!(words.last(), Some(&"ago" | &"back")) {
        words.pop();
    }
    words.join(" ")
}

fn parse(text: &str, now: &Zoned) -> Option<Timestamp> {
    day_by_name(text, now)
        .or_else(|| back_by(text, now))
        .or_else(|| stated(text, now))
        .or_else(|| by_words(text, now))
}

/// Parses with interim; for a day of the week, returns the last one, today included unless it is said to be the last.
fn by_words(text: &str, now: &Zoned) -> Option<Timestamp> {
    const DAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let names_day = |text: &&str| DAYS.iter().any(|day| text.len() >= 3 && day.starts_with(*text));
    let last = ["last ", "past ", "previous "].iter().find_map(|it| text.strip_prefix(it));
    let last = last.filter(names_day);
    let text = last.unwrap_or(text);
    let is_day = names_day(&text);
    // interim takes any word that begins like one of its own, `yesteryear` for one, and `12.5` as a time of day.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_day && (is_number || text.chars().all(char::is_alphabetic)) {
        return None;
    }
    let moment = parse_date_string(text, now.clone(), Dialect::Us).ok()?;
    let week_before =
        |it: Zoned| it.checked_sub(Span::new().days(7)).and_then(|it| it.start_of_day()).ok();
    let moment = if is_day && moment > *now { week_before(moment)? } else { moment };
    let is_today = last.is_some() && moment.date() == now.date();
    let moment = if is_today { week_before(moment)? } else { moment };
    Some(moment.timestamp())
}

fn day_by_name(text: &str, now: &Zoned) -> Option<Timestamp> {
    let start = |date: Date| Some(date.to_zoned(now.time_zone().clone()).ok()?.timestamp());
    let today = now.date();
    match text {
        "now" => Some(now.timestamp()),
        "today" => start(today),
        "yesterday" => start(today.yesterday().ok()?),
        "this week" => {
            let n_days = i64::from(today.weekday().to_monday_zero_offset());
            start(today.checked_sub(Span::new().days(n_days)).ok()?)
        }
        "this month" => start(today.first_of_month()),
        "this year" => start(today.first_of_year()),
        _ => None,
    }
}

/// Parses `7d`, `1 hour`, `two weeks`, `last month`, `past 3 days`.
fn back_by(text: &str, now: &Zoned) -> Option<Timestamp> {
    let (is_last, rest) = match text.split_once(' ') {
        Some(("last" | "past" | "previous", rest)) => (true, rest),
        _ => (false, text),
    };
    let rest = match rest {
        "half an hour" | "half hour" => "30 minutes",
        "half a day" => "12 hours",
        "half a year" => "6 months",
        "fortnight" | "a fortnight" => "2 weeks",
        "quarter" | "a quarter" => "3 months",
        "couple of days" | "a couple of days" => "2 days",
        "couple of weeks" | "a couple of weeks" => "2 weeks",
        "few days" | "a few days" => "3 days",
        "few weeks" | "a few weeks" => "3 weeks",
        rest => rest,
    };
    let (count, unit) = match rest.split_once(' ') {
        None if is_last => ("1", rest),
        None => ("", rest),
        Some((count, unit)) => (count, unit),
    };
    let count = match count {
        "a" | "an" | "one" => "1",
        "two" | "couple" => "2",
        "three" => "3",
        "four" => "4",
        "five" => "5",
        "six" => "6",
        "seven" => "7",
        "eight" => "8",
        "nine" => "9",
        "ten" => "10",
        "twelve" => "12",
        other => other,
    };
    let span: Span = format!("{count} {unit}").trim().parse().ok()?;
    // Days are calendar days, however many hours they have.
    Some(now.checked_sub(span.abs()).ok()?.timestamp())
}

/// Parses a day, a month or a time.
fn stated(text: &str, now: &Zoned) -> Option<Timestamp> {
    let here = |moment: DateTime| Some(moment.to_zoned(now.time_zone().clone()).ok()?.timestamp());
    let upper = text.to_uppercase();
    let day = || stated_day(text)?.parse::<Date>().ok();
    upper
        .parse::<Timestamp>()
        .ok()
        .or_else(|| here(upper.parse::<DateTime>().ok()?))
        .or_else(|| here(day()?.to_datetime(Default::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_say_them() {
        let now: Zoned = "2026-11-23T15:30:00+00:00[UTC]".parse().expect("a time");
        let rows = [
            ("7d", "2026-11-16T15:30:00Z"),
            ("1 day", "2026-11-22T15:30:00Z"),
            ("1 hour", "2026-11-23T14:30:00Z"),
            ("90m", "2026-11-23T14:00:00Z"),
            ("2 weeks ago", "2026-11-09T15:30:00Z"),
            ("the last 3 months", "2026-08-23T15:30:00Z"),
            ("two days ago", "2026-11-21T15:30:00Z"),
            ("an hour ago", "2026-11-23T14:30:00Z"),
            ("last week", "2026-11-16T15:30:00Z"),
            ("past year", "2025-11-23T15:30:00Z"),
            ("Yesterday", "2026-11-22T00:00:00Z"),
            ("today", "2026-11-23T00:00:00Z"),
            ("this week", "2026-11-23T00:00:00Z"),
            ("this month", "2026-11-01T00:00:00Z"),
            ("since 2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-02", "2026-02-01T00:00:00Z"),
            ("2026-01-31T10:00:00", "2026-01-31T10:00:00Z"),
            ("2026-01-31t10:00:00+02:00", "2026-01-31T08:00:00Z"),
            ("monday", "2026-11-23T00:00:00Z"),
            ("mon", "2026-11-23T00:00:00Z"),
            ("last monday", "2026-11-16T00:00:00Z"),
            ("since last mon", "2026-11-16T00:00:00Z"),
            ("last friday", "2026-11-20T00:00:00Z"),
            ("last tuesday", "2026-11-17T00:00:00Z"),
            ("since tuesday", "2026-11-17T00:00:00Z"),
            ("in the last 2 days", "2026-11-21T15:30:00Z"),
            ("half an hour ago", "2026-11-23T15:00:00Z"),
            ("a fortnight ago", "2026-11-09T15:30:00Z"),
            ("last quarter", "2026-08-23T15:30:00Z"),
            ("in the last few days", "2026-11-20T15:30:00Z"),
            ("1 April 2026", "2026-04-01T00:00:00Z"),
            ("1. April 2026", "2026-04-01T00:00:00Z"),
            ("since 01.04.2026", "2026-04-01T00:00:00Z"),
            ("1 de abril de 2026", "2026-04-01T00:00:00Z"),
        ];
        for (text, expected) in rows {
            let moment = since("timeframe", text, &now).map(|it| it.to_string());
            assert_eq!(moment.as_deref().ok(), Some(expected), "{text}: {moment:?}");
        }
        let friday = since("timeframe", "last friday", &now)
            .expect("a time")
            .to_zoned(now.time_zone().clone());
        assert_eq!(friday.date().to_string(), "2026-11-20");
    }

    #[test]
    fn what_is_no_time_in_the_past_is_refused_with_examples() {
        let now: Zoned = "2026-11-23T15:30:00+00:00[UTC]".parse().expect("a time");
        for (text, why) in [
            ("", "not a time"),
            ("soon", "not a time"),
            ("yesteryear", "not a time"),
            ("yes", "not a time"),
            ("mondays", "not a time"),
            ("12.5", "not a time"),
            ("99999999999 years", "not a time"),
            ("2026-13-01", "not a time"),
            ("2027-01-01", "in the future"),
            (&"9".repeat(100), "too long"),
        ] {
            let error = since("timeframe", text, &now).expect_err("refused");
            assert!(error.message.contains(why), "{text}: {}", error.message);
            assert!(error.hint.is_some_and(|hint| hint.contains("yesterday")));
        }
    }
}
