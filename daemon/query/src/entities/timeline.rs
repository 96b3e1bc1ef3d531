//! Timeline: when an entity is mentioned, by the days of the documents.
//!
//! In: an entity, the documents that mention it. Out: the first and the last mention, and counts by
//! month, or by year if there are many months.
//! Invariants: at most the latest [`MAX_PERIODS`] counts; earlier mentions are summed up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proto::tool::core::{DatedPlace, PeriodView, TimelineView};

use crate::quote::source::first_place;
use crate::{AskError, QueryContext};
use index::read::Occurrences;

/// Most months or years in a reply.
const MAX_PERIODS: usize = 24;

/// Numbers of mentions and documents.
type Counts = (u64, u64);

/// Returns when an entity is mentioned; `None` if it never is.
pub(super) fn timeline(
    ctx: &QueryContext<'_>,
    entity: i64,
    mentioning: &[Occurrences],
) -> Result<Option<TimelineView>, AskError> {
    let mut months: BTreeMap<String, Counts> = BTreeMap::new();
    for it in mentioning {
        let sum = months.entry(it.day.chars().take(7).collect()).or_default();
        *sum = (sum.0 + it.n, sum.1 + 1);
    }
    // Of several documents of a day, the first by path.
    let first = mentioning.iter().min_by_key(|it| (&it.day, &it.path));
    let last = mentioning.iter().max_by_key(|it| (&it.day, Reverse(&it.path)));
    let (Some(first), Some(last)) = (placed(ctx, entity, first)?, placed(ctx, entity, last)?)
    else {
        return Ok(None);
    };
    let (per, counts, n_earlier) = periods(months);
    Ok(Some(TimelineView { first, last, per: per.into(), counts, n_earlier }))
}

/// Returns the first mention in a document.
fn placed(
    ctx: &QueryContext<'_>,
    entity: i64,
    mentioning: Option<&Occurrences>,
) -> Result<Option<DatedPlace>, AskError> {
    let Some(it) = mentioning else { return Ok(None) };
    let place = first_place(ctx, entity, it)?;
    Ok(place.map(|place| DatedPlace { day: it.day.clone(), place }))
}

/// Groups by month, or by year if there are too many; returns the latest periods, and the number of
/// mentions before.
fn periods(months: BTreeMap<String, Counts>) -> (&'static str, Vec<PeriodView>, u64) {
    let (per, periods) = if months.len() <= MAX_PERIODS {
        ("month", months)
    } else {
        let mut years: BTreeMap<String, Counts> = BTreeMap::new();
        for (month, (n_mentions, n_documents)) in months {
            let year: String = month.chars().take(4).collect();
            let sum = years.entry(year).or_default();
            *sum = (sum.0 + n_mentions, sum.1 + n_documents);
        }
        ("year", years)
    };
    let n_cut = periods.len().saturating_sub(MAX_PERIODS);
    let n_earlier = periods.values().take(n_cut).map(|counts| counts.0).sum();
    let view = |(period, (n_mentions, n_documents))| PeriodView { period, n_mentions, n_documents };
    (per, periods.into_iter().skip(n_cut).map(view).collect(), n_earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn months(n: u32) -> BTreeMap<String, Counts> {
        (0..n).map(|i| (format!("{:04}-{:02}", 1990 + i / 12, i % 12 + 1), (2, 1))).collect()
    }

    #[test]
    fn few_months_are_kept_and_many_become_years() {
        let (per, counts, earlier) = periods(months(24));
        assert_eq!((per, counts.len(), earlier), ("month", 24, 0));
        let (per, counts, earlier) = periods(months(25));
        assert_eq!((per, counts.len(), earlier), ("year", 3, 0));
        assert_eq!((counts[0].n_mentions, counts[2].n_documents), (24, 1));
    }

    #[test]
    fn mentions_before_the_latest_years_are_summed_up() {
        let (per, counts, earlier) = periods(months(26 * 12));
        assert_eq!((per, counts.len(), earlier), ("year", 24, 48));
        assert_eq!(counts[0].period, "1992");
    }
}
