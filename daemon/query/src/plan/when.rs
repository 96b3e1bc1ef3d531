//! When: the times that a question names.
//!
//! In: a question as typed. Out: [`When`]: days, months and years, and periods counted back from
//! the newest day of the index (`last month`, `three weeks ago`), so that the same index always
//! gives the same answer. A month without a year means that month of any year.
//! Invariant: only what is certainly a time counts as one.

use jiff::ToSpan;
use jiff::civil::Date;
use notes::date::{self, LISTS, Named, Word};

use super::event::Side;

/// Most units counted back.
const MAX_BACK: i64 = 500;

/// Most spellings of a period.
const MAX_SPELLINGS: usize = 24;

/// Times that a question names; a date may match any of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct When(Vec<Time>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    Named(Named),
    /// This many units before the newest day; the unit that contains that day is 0.
    Back {
        unit: Unit,
        n: i64,
    },
    /// The first and the last day.
    Between(Date, Date),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

impl When {
    /// Parses the times of a question.
    pub(crate) fn of(question: &str) -> When {
        When::parted(question).0
    }

    /// Parses the times of a question, and returns the question without those words.
    pub(crate) fn parted(question: &str) -> (When, String) {
        let lower = question.to_lowercase();
        let words = date::words(&lower);
        let (mut times, mut at) = (Vec::new(), 0);
        let mut are_of_time = Vec::new();
        while at < words.len() {
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|it| it.text);
            let (time, n_words) = read(words.get(at..).unwrap_or_default(), before);
            are_of_time.extend(std::iter::repeat_n(time.is_some(), n_words));
            times.extend(time);
            at += n_words;
        }
        let mut are_of_time = are_of_time.into_iter();
        let rest = question.split_whitespace().filter(|word| {
            let n_words = date::words(&word.to_lowercase()).len();
            let of_time = are_of_time.by_ref().take(n_words).filter(|it| *it).count();
            of_time == 0 || of_time < n_words
        });
        let rest = rest.collect::<Vec<_>>().join(" ");
        (When(times), rest)
    }

    /// Returns how texts may write its days and months: `2026-02-14`, `14 February`; for a period,
    /// its months.
    pub(crate) fn spellings(&self) -> Vec<String> {
        let mut all = Vec::new();
        let month = |n: i8| {
            let mut letters = date::month_name(n).unwrap_or_default().chars();
            letters.next().map(|it| it.to_uppercase().chain(letters).collect::<String>())
        };
        for time in &self.0 {
            match *time {
                Time::Named(Named { year, month: Some(m), day }) => {
                    let name = month(m).unwrap_or_default();
                    let digits = day.map_or("-".to_string(), |day| format!("-{day:02}"));
                    let year_text = year.map(|it| format!("{it:04}")).unwrap_or_default();
                    all.push(format!("{year_text}-{m:02}{digits}"));
                    match day {
                        Some(day) => {
                            all.extend([format!("{day} {name}"), format!("{name} {day}")]);
                        }
                        None => all.push(format!("{name} {year_text}").trim().to_string()),
                    }
                }
                Time::Named(Named { year: Some(year), .. }) => all.push(format!("{year:04}")),
                Time::Between(first, last) => {
                    let mut at = first.first_of_month();
                    while at <= last && all.len() < MAX_SPELLINGS {
                        all.push(format!("{:04}-{:02}-", at.year(), at.month()));
                        let Ok(next) = at.checked_add(1.month()) else { break };
                        at = next;
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Returns whether no time is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a time is counted back from the newest day.
    pub(crate) fn is_relative(&self) -> bool {
        self.0.iter().any(|it| matches!(it, Time::Back { .. }))
    }

    /// Returns the days before or after one; `None` beyond the calendar.
    pub(crate) fn beside(day: Date, side: Side) -> Option<When> {
        let between = match side {
            Side::Before => Time::Between(Date::MIN, day.yesterday().ok()?),
            Side::After => Time::Between(day.tomorrow().ok()?, Date::MAX),
        };
        Some(When(vec![between]))
    }

    /// Counts back from the newest day.
    pub(crate) fn resolved(self, newest: Date) -> When {
        let between = |time| match time {
            Time::Back { unit, n } => stretch(newest, unit, n),
            time => Some(time),
        };
        When(self.0.into_iter().filter_map(between).collect())
    }

    /// Returns whether a date in ISO form, `2024-03-12` or `2024-03`, with or without hyphens, is
    /// in one of the times.
    pub(crate) fn holds(&self, date: &str) -> bool {
        let digits: String = date.chars().filter(char::is_ascii_digit).collect();
        let part = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
        let Some(year) = part(0, 4) else { return false };
        let [month, day] = [part(4, 6), part(6, 8)].map(|it| it.map(|it| it as i8));
        let fits = |asked: Option<i8>, has: Option<i8>| asked.is_none() || asked == has;
        self.0.iter().any(|time| match time {
            Time::Named(Named { year: y, month: m, day: d }) => {
                y.is_none_or(|it| it == year) && fits(*m, month) && fits(*d, day)
            }
            Time::Between(first, last) => {
                let known = Date::new(year, month.unwrap_or(1), day.unwrap_or(1));
                known.is_ok_and(|it| month.is_some() && *first <= it && it <= *last)
            }
            Time::Back { .. } => false,
        })
    }
}

/// Parses a time that starts at the first word, and returns how many words to skip; at least one.
fn read(words: &[Word<'_>], before: Option<&str>) -> (Option<Time>, usize) {
    match date::read(words, before) {
        (Some(named), n_words) => (Some(Time::Named(named)), n_words),
        (None, _) => back(words),
    }
}

/// Parses `yesterday`, `last week`, `three months ago`, `vor drei Monaten`, `il y a trois mois`.
fn back(words: &[Word<'_>]) -> (Option<Time>, usize) {
    let found = BACK.iter().find_map(|(form, n)| {
        let (mut unit, mut n) = (Unit::Day, *n);
        for (at, part) in form.iter().enumerate() {
            let word = words.get(at)?.text;
            match *part {
                "unit" => unit = unit_of(word, "unit.")?,
                "units" => unit = unit_of(word, "unit")?,
                "number" => n = number(word)?,
                list => LISTS.has(list, word).then_some(())?,
            }
        }
        Some((Time::Back { unit, n }, form.len()))
    });
    found.map_or((None, 1), |(time, n_words)| (Some(time), n_words))
}

/// Forms of times that are counted back, and by how many units: `unit` is one in the singular, `units` in any number,
/// `number` how many; the other parts are lists of words in five languages.
const BACK: &[(&[&str], i64)] = &[
    (&["today"], 0),
    (&["yesterday"], 1),
    (&["last", "unit"], 1),
    (&["unit", "last_behind"], 1),
    (&["this", "unit"], 0),
    (&["number", "units", "ago"], 0),
    (&["ago_before", "number", "units"], 0),
    (&["il_y", "il_y_a", "number", "units"], 0),
];

/// Reads a number from 1, in digits or as a word.
fn number(word: &str) -> Option<i64> {
    let named = || LISTS.of(word).iter().find_map(|it| it.strip_prefix("number.")?.parse().ok());
    word.parse().ok().or_else(named).filter(|n| (1..=MAX_BACK).contains(n))
}

/// Reads a unit by the lists whose names begin so.
fn unit_of(word: &str, lists: &str) -> Option<Unit> {
    let mut units = LISTS.of(word).iter().filter(|list| list.starts_with(lists));
    units.find_map(|list| match list.rsplit_once('.')?.1 {
        "day" => Some(Unit::Day),
        "week" => Some(Unit::Week),
        "month" => Some(Unit::Month),
        "year" => Some(Unit::Year),
        _ => None,
    })
}

/// Returns the days of a unit before the newest day.
fn stretch(newest: Date, unit: Unit, n: i64) -> Option<Time> {
    let (first, last) = match unit {
        Unit::Day => {
            let day = newest.checked_sub(n.days()).ok()?;
            (day, day)
        }
        Unit::Week => {
            let monday = i64::from(newest.weekday().to_monday_zero_offset());
            let first = newest.checked_sub((monday + 7 * n).days()).ok()?;
            (first, first.checked_add(6.days()).ok()?)
        }
        Unit::Month => {
            let day = newest.first_of_month().checked_sub(n.months()).ok()?;
            (day, day.last_of_month())
        }
        Unit::Year => {
            let day = newest.first_of_year().checked_sub(n.years()).ok()?;
            (day, day.last_of_year())
        }
    };
    Some(Time::Between(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_days_months_and_years() {
        let table = [
            ("When did Ana move in 2023?", &["2023-05-07", "202301"][..], &["2022-12-31"][..]),
            ("the trip in May 2023", &["2023-05-07", "2023-05"], &["2023-06-01", "2022-05-07"]),
            ("What happened on 7 May, 2023?", &["2023-05-07"], &["2023-05-08", "2023-05"]),
            ("meeting of May 7th", &["2023-05-07", "2024-05-07"], &["2023-05-08"]),
            ("the release of 2023-05-07", &["20230507"], &["2023-05-08"]),
            ("last May", &["2021-05-30", "2023-05"], &["2023-04-30"]),
            ("who left in August", &["2023-08-01"], &["2023-09-01"]),
            ("Was geschah am 1. Mai 2024?", &["2024-05-01"], &["2024-05-02", "2024-06-01"]),
            ("les ventes du 1er mai 2024", &["2024-05-01"], &["2024-05-02"]),
            ("quién vino el 1 de mayo de 2024", &["2024-05-01"], &["2023-05-01"]),
            ("chi è venuto il 3 marzo 2024", &["2024-03-03"], &["2024-03-04"]),
            ("wer kam im Mai", &["2023-05-07"], &["2023-06-07"]),
            ("las ventas de agosto", &["2023-08-07"], &["2023-09-07"]),
            ("que s'est-il passé en février 2023", &["2023-02-07"], &["2023-03-07"]),
            ("2024-05-01T10:30", &["2024-05-01"], &["2024-05-02"]),
            ("the second gen 3 sensor of the set", &[], &["2023-01-03"]),
            ("May I ask who may march?", &[], &["2023-05-07", "2023-03-01"]),
            ("port 8080 of 4 services", &[], &["2023-05-07"]),
        ];
        for (question, inside, outside) in table {
            let when = When::of(question);
            assert_eq!(when.is_empty(), inside.is_empty(), "{question}");
            assert!(inside.iter().all(|date| when.holds(date)), "{question}: {when:?}");
            assert!(!outside.iter().any(|date| when.holds(date)), "{question}: {when:?}");
        }
    }

    #[test]
    fn a_question_is_left_without_its_times() {
        for (question, rest, spelling) in [
            ("to Billing on 14 February 2026?", "to Billing on", "2026-02-14"),
            ("to Billing on 2026-02-14", "to Billing on", "February 14"),
            ("in March 2026", "in", "March 2026"),
            ("port 8080", "port 8080", ""),
        ] {
            let (when, left) = When::parted(question);
            assert_eq!(left, rest, "{question}");
            let all = when.spellings();
            assert!(spelling.is_empty() || all.iter().any(|it| it == spelling), "{all:?}");
        }
    }

    #[test]
    fn relative_times_count_back_from_the_newest_day() {
        // A Wednesday.
        let newest = "2024-03-13".parse().expect("a day");
        let table = [
            ("what did we decide yesterday", "2024-03-12", "2024-03-13"),
            ("decisions of last week", "2024-03-04", "2024-03-11"),
            ("this week", "2024-03-11", "2024-03-10"),
            ("who came last month", "2024-02-29", "2024-03-01"),
            ("the talk two weeks ago", "2024-03-01", "2024-03-04"),
            ("3 months ago", "2023-12-25", "2024-01-01"),
            ("last year", "2023-07-01", "2024-01-01"),
            ("wer kam gestern", "2024-03-12", "2024-03-13"),
            ("Beschlüsse von letzter Woche", "2024-03-04", "2024-03-11"),
            ("vor drei Monaten", "2023-12-25", "2024-01-01"),
            ("les décisions de la semaine dernière", "2024-03-04", "2024-03-11"),
            ("il y a deux semaines", "2024-03-01", "2024-03-04"),
            ("el mes pasado", "2024-02-29", "2024-03-01"),
            ("hace 3 meses", "2023-12-25", "2024-01-01"),
            ("l'anno scorso", "2023-07-01", "2024-01-01"),
            ("tre mesi fa", "2023-12-25", "2024-01-01"),
        ];
        for (question, inside, outside) in table {
            let when = When::of(question);
            assert!(when.is_relative() && !when.holds(inside), "{question}");
            let when = when.resolved(newest);
            assert!(when.holds(inside) && !when.holds(outside), "{question}: {when:?}");
        }
        assert!(When::of("the last weeks, this days").is_empty());
    }
}
