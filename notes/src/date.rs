//! Date: days, months and years in a text, a name or a stated value, in any of the usual forms.
//!
//! In: words. Out: [`Named`]. The forms are the rows of [`FORMS`]; the names of months, in English, German, French,
//! Spanish and Italian, are in `dates.tsv`.
//! Invariants: a day is one of the calendar; ambiguous words are not dates: `may` and `march` alone are months only
//! after a word such as `in`, and `01/05/2024` is no day, because it has two meanings.

use std::sync::LazyLock;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use unicode_normalization::UnicodeNormalization;

use Field::{Day, Month, Name, Packed, Week, Year};

use crate::lists::WordLists;

/// Words of dates, in five languages.
pub static LISTS: LazyLock<WordLists> =
    LazyLock::new(|| WordLists::parse(include_str!("dates.tsv")));

/// Keys of front matter that state the day of a document, first the one that counts before the others. Compared
/// without case, blanks, `-` and `_`.
const KEYS: &[&str] = &[
    "date",
    "created",
    "createdat",
    "createdon",
    "datecreated",
    "creationdate",
    "createddate",
    "published",
    "publishedat",
    "publishedon",
    "datepublished",
    "publishdate",
    "publisheddate",
    "publicationdate",
    "pubdate",
    "datetime",
    "timestamp",
    "day",
];

/// Keys of front matter that state when it was last changed, in the same form.
const CHANGED_KEYS: &[&str] = &[
    "modified",
    "updated",
    "lastmodified",
    "lastmod",
    "lastupdated",
    "updatedat",
    "modifiedat",
    "datemodified",
    "dateupdated",
    "dateupdate",
];

/// A day, month or year. A missing part matches any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// 1900 to 2099.
    pub year: Option<i16>,
    /// From 1.
    pub month: Option<i8>,
    /// From 1.
    pub day: Option<i8>,
}

/// A word, and the signs between it and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// Its letters and digits.
    pub text: &'t str,
    gap: &'t str,
}

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Field {
    /// Four digits.
    Year,
    /// A number.
    Month,
    /// The name of a month.
    Name,
    /// With or without `st`, `nd`, `er`.
    Day,
    /// `20240501`, perhaps with a time: `202405011030`.
    Packed,
    /// `W18`.
    Week,
}

/// A form of dates.
struct Form {
    fields: &'static [Field],
    /// Signs of which one is between two parts (a blank for none but blanks); empty: any.
    gaps: &'static str,
    /// In any text; otherwise only where a date is stated: a file's name, front matter, a filter.
    is_anywhere: bool,
    /// Whether day and month can be mistaken for each other; then only what has one meaning counts.
    has_twin: bool,
}

const fn form(fields: &'static [Field], gaps: &'static str) -> Form {
    Form { fields, gaps, is_anywhere: true, has_twin: false }
}

const fn stated(fields: &'static [Field], gaps: &'static str) -> Form {
    Form { fields, gaps, is_anywhere: false, has_twin: false }
}

const fn twin(fields: &'static [Field], gaps: &'static str) -> Form {
    Form { fields, gaps, is_anywhere: true, has_twin: true }
}

/// All forms, longer ones before those with which they begin.
const FORMS: &[Form] = &[
    form(&[Year, Month, Day], "-/._ 年月"),
    form(&[Day, Month, Year], "."),
    twin(&[Day, Month, Year], "-/"),
    twin(&[Month, Day, Year], "-/"),
    stated(&[Packed], ""),
    form(&[Day, Name, Year], ""),
    form(&[Name, Day, Year], ""),
    stated(&[Year, Name, Day], ""),
    form(&[Name, Year], ""),
    form(&[Name, Day], ""),
    form(&[Day, Name], ""),
    stated(&[Year, Week], "-"),
    stated(&[Year, Month], "-/._年"),
    form(&[Name], ""),
    form(&[Year], ""),
];

impl Named {
    /// Returns the day, or the first day of the month or year, in ISO form; `None` without a year.
    pub fn first_day(self) -> Option<String> {
        let date = Date::new(self.year?, self.month.unwrap_or(1), self.day.unwrap_or(1));
        date.ok().map(|it| it.to_string())
    }

    /// Returns the day in ISO form, if it is one.
    fn whole_day(self) -> Option<String> {
        (self.month.is_some() && self.day.is_some()).then(|| self.first_day()).flatten()
    }
}

/// Splits a lowercase text into words, in the form that [`read`] takes; `2024-05-01t10` and `2024年5月1日` also at the
/// letters.
pub fn words(lower: &str) -> Vec<Word<'_>> {
    let digit_at = |at: usize| lower.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_in_word = |(at, c): (usize, char)| match c {
        't' => !(at > 0 && digit_at(at - 1) && digit_at(at + 1)),
        '年' | '月' | '日' => false,
        c => c.is_alphanumeric(),
    };
    let mut all: Vec<Word<'_>> = Vec::new();
    let (mut start, mut end) = (None, 0);
    for (at, c) in lower.char_indices().chain([(lower.len(), ' ')]) {
        match (start, is_in_word((at, c))) {
            (None, true) => {
                if let Some(last) = all.last_mut() {
                    last.gap = lower.get(end..at).unwrap_or("");
                }
                start = Some(at);
            }
            (Some(from), false) => {
                all.push(Word {
                    text: lower.get(from..at).unwrap_or(""),
                    gap: lower.get(at..).unwrap_or(""),
                });
                (start, end) = (None, at);
            }
            _ => {}
        }
    }
    all
}

/// Reads a date that begins with the first word. Also returns how many words it takes; at least one, even without a
/// date, so that a loop over the words advances.
pub fn read(words: &[Word<'_>], before: Option<&str>) -> (Option<Named>, usize) {
    read_as(words, before, false)
}

fn read_as(words: &[Word<'_>], before: Option<&str>, is_stated: bool) -> (Option<Named>, usize) {
    let forms = FORMS.iter().filter(|form| form.is_anywhere || is_stated);
    let found = forms.filter_map(|form| form.read(words, before)).next();
    found.map_or((None, 1), |(named, n_words)| (Some(named), n_words))
}

impl Form {
    fn read(&self, words: &[Word<'_>], before: Option<&str>) -> Option<(Named, usize)> {
        let mut named = Named::default();
        let (mut at, mut name) = (0, "");
        for (number, field) in self.fields.iter().enumerate() {
            if number > 0 && !self.parts(words.get(at - 1)?.gap) {
                return None;
            }
            // `1 de mayo de 2024`.
            let is_joint = number > 0 && self.fields.contains(&Name);
            if is_joint && words.get(at).is_some_and(|it| LISTS.has("joint", it.text)) {
                at += 1;
            }
            let word = words.get(at)?.text;
            match field {
                Year => named.year = Some(year(word)?),
                Month => named.month = Some(digits(word, 12)?),
                Day => named.day = Some(day(word)?),
                Name => {
                    named.month = Some(month(word)?);
                    name = word;
                }
                Packed => named = packed(word)?,
                Week => {
                    let week = word.strip_prefix('w').and_then(|it| digits(it, 53))?;
                    let first = ISOWeekDate::new(named.year?, week, Weekday::Monday).ok()?.date();
                    let (year, month, day) = (first.year(), first.month(), first.day());
                    named = Named { year: Some(year), month: Some(month), day: Some(day) };
                }
            }
            at += 1;
        }
        // Of any year: the 29th of February is a day of some.
        let in_year = Named { year: named.year.or(Some(2000)), ..named };
        let has_one_meaning = !self.has_twin || named.day > Some(12) || named.day == named.month;
        let is_month = name.is_empty() || is_month(name, named, before);
        (in_year.first_day().is_some() && has_one_meaning && is_month).then_some((named, at))
    }

    /// Returns whether signs may stand between two parts.
    fn parts(&self, gap: &str) -> bool {
        let mut signs = gap.trim().chars();
        let sign = signs.next().unwrap_or(' ');
        self.gaps.is_empty() || self.gaps.contains(sign) && signs.next().is_none()
    }
}

/// Returns the first complete day in a text, in ISO form.
pub fn first_day(text: &str) -> Option<String> {
    first_as(text, false)
}

fn first_as(text: &str, is_stated: bool) -> Option<String> {
    if !may_have_year(text) {
        return None;
    }
    let lower = text.to_lowercase();
    let words = words(&lower);
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let (found, n_words) = read_as(rest, None, is_stated);
        if let Some(day) = found.and_then(Named::whole_day) {
            return Some(day);
        }
        rest = rest.get(n_words..).unwrap_or_default();
    }
    None
}

/// Returns the day that a value states, in ISO form; of a week, month or year the first one. What follows a whole day,
/// such as the time, does not count, so the day is that of the place where it was written.
pub fn stated_day(text: &str) -> Option<String> {
    // `[[2024-05-01]]`, `[[Journal/2024-05-01|today]]`.
    if let Some(link) = text.trim().strip_prefix("[[") {
        let target = link.split([']', '|', '#']).next().unwrap_or(link);
        return day_of_path(&format!("{target}.md"));
    }
    // In ISO form, a day of any year.
    if let Ok(day) = text.trim().parse::<Date>() {
        return Some(day.to_string());
    }
    let lower = text.nfc().collect::<String>().to_lowercase();
    let words = words(&lower);
    let is_lead = |list: &&str| *list == "lead" || list.starts_with("weekday.");
    let is_before = |it: &&Word<'_>| LISTS.of(it.text).iter().any(is_lead);
    let words = words.get(words.iter().take_while(is_before).count()..)?;
    let (found, n_words) = read_as(words, None, true);
    let is_whole = n_words == words.len();
    found.and_then(|it| if is_whole { it.first_day() } else { it.whole_day() })
}

/// Returns the first day in the name of a file, or in the names of its folders and its own: `2024/05/01.md`.
pub fn day_of_path(path: &str) -> Option<String> {
    let path: String = path.nfc().collect();
    let file = path.rsplit('/').next().unwrap_or(&path);
    let n_ending = file.rsplit_once('.').map_or(0, |(_, ending)| ending.len() + 1);
    let bare = |it: &str| first_as(it.get(..it.len() - n_ending).unwrap_or(it), true);
    bare(file).or_else(|| bare(&path))
}

/// Returns how early a key of front matter that states the day of a document counts, from 0.
pub fn key_rank(key: &str) -> Option<usize> {
    rank(KEYS, key)
}

/// Returns whether a key of front matter states when a document was last changed.
pub fn is_of_change(key: &str) -> bool {
    rank(CHANGED_KEYS, key).is_some()
}

/// Returns the day of the last change that one of the properties states.
pub fn changed_day<'v>(
    properties: impl Iterator<Item = (&'v String, &'v serde_json::Value)>,
) -> Option<String> {
    let ranked = properties.filter_map(|(key, value)| Some((rank(CHANGED_KEYS, key)?, value)));
    let days = ranked.filter_map(|(rank, value)| Some((rank, stated_day(&first_text(value)?)?)));
    days.min().map(|(_, day)| day)
}

fn rank(keys: &[&str], key: &str) -> Option<usize> {
    let plain: String = key.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect();
    keys.iter().position(|known| plain.eq_ignore_ascii_case(known))
}

/// Returns the first text of a value; `[[2024-05-01]]` without quotes is a list in a list.
pub fn first_text(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Array(items) => items.iter().find_map(first_text),
        value => crate::parse::scalar_text(value),
    }
}

/// True if four digits in a row may be a year: most texts have none, and need not be split into words.
fn may_have_year(text: &str) -> bool {
    let is_year = |four: &[u8]| {
        matches!(four, [b'1', b'9', ..] | [b'2', b'0', ..]) && four.iter().all(u8::is_ascii_digit)
    };
    text.as_bytes().windows(4).any(is_year)
}

fn digits(word: &str, most: i8) -> Option<i8> {
    let is_short = (1..=2).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit());
    word.parse().ok().filter(|n| is_short && (1..=most).contains(n))
}

/// Reads a day of the month, with or without `st`, `nd`, `er`.
fn day(word: &str) -> Option<i8> {
    let bare = LISTS.words("ordinal").iter().find_map(|ending| word.strip_suffix(ending));
    digits(bare.unwrap_or(word), 31)
}

fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2100).contains(year))
}

/// Reads eight digits, perhaps with hour and minute, perhaps with second.
fn packed(word: &str) -> Option<Named> {
    let (date, time) = word.split_at_checked(8)?;
    let is_time = matches!(time.len(), 0 | 4 | 6)
        && time.get(..2).is_none_or(|hour| hour < "24")
        && time.get(2..4).is_none_or(|minute| minute < "60");
    let is_date = is_time && word.bytes().all(|it| it.is_ascii_digit());
    let (year, month, day) =
        (year(date.get(..4)?)?, digits(date.get(4..6)?, 12)?, digits(date.get(6..)?, 31)?);
    is_date.then_some(Named { year: Some(year), month: Some(month), day: Some(day) })
}

/// Reads the name of a month in any of the languages, in full or short.
fn month(word: &str) -> Option<i8> {
    LISTS.of(word).iter().find_map(|list| {
        let (name, number) = list.rsplit_once('.')?;
        (name.starts_with("month.") || name.starts_with("short.")).then(|| number.parse().ok())?
    })
}

/// Returns whether a word that may be a month is one, beside what is known of the date and after the word before.
fn is_month(word: &str, named: Named, before: Option<&str>) -> bool {
    let n_beside = usize::from(named.day.is_some()) + usize::from(named.year.is_some());
    LISTS.of(word).iter().any(|list| {
        let mut parts = list.split('.');
        let (kind, language) = (parts.next(), parts.next().unwrap_or(""));
        let n_needed = match kind {
            Some("month") => usize::from(LISTS.has("doubtful", word)),
            // English ones are no words of another language.
            Some("short") if language == "en" => 0,
            Some("short") => 2,
            _ => return false,
        };
        n_beside >= n_needed
            || before.is_some_and(|it| LISTS.has(&format!("before.{language}"), it))
    })
}

/// Returns the English name of a month.
pub fn month_name(month: i8) -> Option<&'static str> {
    LISTS.words(&format!("month.en.{month}")).first().copied()
}

/// Reads the English name of a month, in full or short.
pub fn english_month(lower: &str) -> Option<i8> {
    LISTS.of(lower).iter().find_map(|list| {
        let number = list.strip_prefix("month.en.").or_else(|| list.strip_prefix("short.en."))?;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whole_date_is_the_day_of_a_text() {
        for (text, day) in [
            ("1:56 pm on 8 May, 2023", Some("2023-05-08")),
            ("2023/05/20 (Sat) 02:21", Some("2023-05-20")),
            ("In May 2023 we left, back on June 3rd, 2023", Some("2023-06-03")),
            ("2024-02-29T10:00", Some("2024-02-29")),
            ("2024-02-29 10:00", Some("2024-02-29")),
            ("in May 2023", None),
            ("Port 8080, 12 of 30", None),
        ] {
            assert_eq!(first_day(text).as_deref(), day, "{text}");
        }
    }

    #[test]
    fn days_are_read_in_five_languages() {
        for (text, day) in [
            ("am 3. März 2023 war Markt", "2023-03-03"),
            ("le 1er août 2022", "2022-08-01"),
            ("el 14 de febrero de 2021", "2021-02-14"),
            ("il 2 giugno 2024 a Roma", "2024-06-02"),
            ("Moved on 25.12.2023 to Oslo", "2023-12-25"),
            ("2022年11月30日に", "2022-11-30"),
            ("on 4 mars 2024", "2024-03-04"),
        ] {
            assert_eq!(first_day(text).as_deref(), Some(day), "{text}");
        }
        for text in [
            "Mars 2020 landed",
            "gen 3 sensors of 2023",
            "set 1 ago",
            "31.02.2024",
            "01/05/2024",
            "id 20240501 of a row",
        ] {
            assert_eq!(first_day(text), None, "{text}");
        }
    }

    #[test]
    fn stated_days_are_read_in_every_usual_form() {
        for (text, day) in [
            ("2023-11-07", Some("2023-11-07")),
            ("2023-11-7", Some("2023-11-07")),
            ("2023/11/07", Some("2023-11-07")),
            ("2023.11.07", Some("2023-11-07")),
            ("20231107", Some("2023-11-07")),
            ("20231107T0930", Some("2023-11-07")),
            ("20231107093000", Some("2023-11-07")),
            ("07.11.2023", Some("2023-11-07")),
            ("7.11.2023", Some("2023-11-07")),
            ("11/27/2023", Some("2023-11-27")),
            ("27/11/2023", Some("2023-11-27")),
            ("Nov 7, 2023", Some("2023-11-07")),
            ("7 November 2023", Some("2023-11-07")),
            ("Tuesday, November 7th, 2023", Some("2023-11-07")),
            ("Tue, 07 Nov 2023 23:30:00 -0800", Some("2023-11-07")),
            ("2023-11-07T23:30:00-08:00", Some("2023-11-07")),
            ("2023-11-07 00:30:00 +0900", Some("2023-11-07")),
            ("2023-11-07T09:30:00.5Z", Some("2023-11-07")),
            ("[[2023-11-07]]", Some("2023-11-07")),
            ("[[Journal/2023-11-07|Tuesday]]", Some("2023-11-07")),
            ("2023年11月7日", Some("2023-11-07")),
            ("Dienstag, den 7. November 2023", Some("2023-11-07")),
            ("mardi 7 novembre 2023", Some("2023-11-07")),
            ("7 de noviembre de 2023", Some("2023-11-07")),
            ("martedì 7 novembre 2023", Some("2023-11-07")),
            ("2023-11", Some("2023-11-01")),
            ("November 2023", Some("2023-11-01")),
            ("2023-W45", Some("2023-11-06")),
            ("2023", Some("2023-01-01")),
            ("11/07/2023", None),
            ("07-11-2023", None),
            ("2023-13-45", None),
            ("2023-02-29", None),
            ("2023-311", None),
            ("1699347600", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(stated_day(text).as_deref(), day, "{text}");
        }
    }

    #[test]
    fn names_of_files_have_days() {
        for (path, day) in [
            ("a/2023-11-07.md", Some("2023-11-07")),
            ("journals/2023_11_07.md", Some("2023-11-07")),
            ("20231107.md", Some("2023-11-07")),
            ("20231107-standup.md", Some("2023-11-07")),
            ("202311070915 slip.md", Some("2023-11-07")),
            ("20231107T0915.md", Some("2023-11-07")),
            ("daily.journal.2023.11.07.md", Some("2023-11-07")),
            ("Minutes 20231107.md", Some("2023-11-07")),
            ("IMG_20231107_101010.md", Some("2023-11-07")),
            ("Nov 7, 2023.md", Some("2023-11-07")),
            ("7. November 2023.md", Some("2023-11-07")),
            ("3 fe\u{301}vrier 2023.md", Some("2023-02-03")),
            ("call 2023-11-07T10-30.md", Some("2023-11-07")),
            ("notes/2023/11/07.md", Some("2023-11-07")),
            ("27-11-2023.md", Some("2023-11-27")),
            ("07-11-2023.md", None),
            ("v2023-11-07x.md", None),
            ("23-11-07.md", None),
            ("20239907.md", None),
            ("120231107.md", None),
            ("2023/11/plan.md", None),
        ] {
            assert_eq!(day_of_path(path).as_deref(), day, "{path}");
        }
    }
}
