//! Recency: how new a candidate's document is beside the newest candidate's.
//!
//! In: candidates with their documents. Out: a number in (0, 1] each: 1 for the newest day, half for each year before.
//! Invariants: it follows from the commit alone, not from the day of asking; a document without a day has none.
//! Not here: which day a document is of (`store/commit.rs`), what newness counts (`rank.rs`; nothing by default).

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::{AskError, Desk};

/// Days until a document counts half.
const HALF_LIFE_DAYS: f32 = 365.0;

/// How new each candidate is.
pub(super) fn recency(
    desk: &Desk<'_>,
    docs: &FxHashMap<i64, i64>,
) -> Result<FxHashMap<i64, f32>, AskError> {
    let mut statement = desk.snapshot.prepare_cached("SELECT day FROM docs WHERE id = ?1")?;
    let mut days: Vec<(i64, Date)> = Vec::with_capacity(docs.len());
    for (chunk, doc) in docs {
        let day: String = statement.query_row([doc], |row| row.get(0))?;
        days.extend(day.parse().ok().map(|day| (*chunk, day)));
    }
    let newest = days.iter().map(|(_, day)| *day).max();
    let value = |day: Date| newest.map_or(0.0, |newest| newness(newest, day));
    Ok(days.into_iter().map(|(chunk, day)| (chunk, value(day))).collect())
}

fn newness(newest: Date, day: Date) -> f32 {
    let n_days = (newest - day).get_days() as f32;
    0.5f32.powf(n_days / HALF_LIFE_DAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_older_counts_half() {
        let day = |text: &str| text.parse::<Date>().expect("a day");
        assert_eq!(newness(day("2025-03-01"), day("2025-03-01")), 1.0);
        assert_eq!(newness(day("2025-03-01"), day("2024-03-01")), 0.5);
        assert!(newness(day("2025-03-01"), day("1990-01-01")) > 0.0);
    }
}
