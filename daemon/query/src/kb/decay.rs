//! Decay: the remaining confidence of an entry.
//!
//! In: the confidence in its note, its type, the start of its clock, the time. Out: the confidence
//! now.
//! `base * 2^(-age / half-life)` (S2). The clock starts when the entry was last edited or opened by
//! `kb_get`, whichever came later; a search does not restart it.
//! Invariant: pure; a clock that starts in the future counts as just started.

use proto::tool::kb::EntryType;

use super::Times;

/// An entry below this confidence gets a warning.
pub const WARNED_UNDER: f64 = 0.5;

/// Below this confidence an entry is hidden unless the caller asks for stale ones.
pub const HIDDEN_UNDER: f64 = 0.3;

/// Confidence of an entry that states none, as a base.
pub const USUAL: f64 = 0.9;

const DAY_MS: f64 = 86_400_000.0;

/// Days after which half of the confidence remains.
pub fn half_life_days(entry_type: EntryType) -> f64 {
    match entry_type {
        EntryType::FactualReference => 90.0,
        EntryType::Decision => 365.0,
        EntryType::PatternConvention => 730.0,
        EntryType::LessonLearned => 1_825.0,
    }
}

/// Returns when the clock of an entry started.
pub fn anchor(times: Times) -> i64 {
    times.opened_ms.map_or(times.updated_ms, |opened_ms| opened_ms.max(times.updated_ms))
}

/// Returns the remaining confidence.
pub fn effective(base: f64, entry_type: EntryType, anchor_ms: i64, now_ms: i64) -> f64 {
    let age_days = now_ms.saturating_sub(anchor_ms).max(0) as f64 / DAY_MS;
    base * (-age_days / half_life_days(entry_type)).exp2()
}

/// Returns the warning for a low confidence.
pub fn warning(confidence: f64, entry_type: EntryType) -> Option<String> {
    (confidence < WARNED_UNDER).then(|| {
        format!(
            "may be out of date: {:.0} % of confidence left ({} loses half in {} days); check it, then update it",
            confidence * 100.0,
            entry_type.as_str(),
            half_life_days(entry_type)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    #[test]
    fn half_is_left_after_each_type_s_half_life() {
        let table = [
            (EntryType::FactualReference, 90),
            (EntryType::Decision, 365),
            (EntryType::PatternConvention, 730),
            (EntryType::LessonLearned, 1_825),
        ];
        for (entry_type, days) in table {
            for (after, share) in [(0, 1.0), (days, 0.5), (2 * days, 0.25), (-days, 1.0)] {
                let left = effective(0.8, entry_type, 1_000, 1_000 + after * DAY);
                assert!(
                    (left - 0.8 * share).abs() < 1e-9,
                    "{entry_type:?} after {after} days: {left}"
                );
            }
        }
    }

    #[test]
    fn a_fact_of_the_usual_confidence_gets_a_warning_and_is_hidden_as_s2_says() {
        let left = |days: i64| effective(USUAL, EntryType::FactualReference, 0, days * DAY);
        assert!((left(90) - 0.45).abs() < 1e-9);
        assert!(warning(left(76), EntryType::FactualReference).is_none());
        assert!(
            warning(left(77), EntryType::FactualReference).is_some_and(|it| it.contains("50 %"))
        );
        assert!(left(142) > HIDDEN_UNDER && left(143) < HIDDEN_UNDER && left(160) < 0.27);
    }

    #[test]
    fn opening_and_editing_begin_the_clock_anew_whichever_is_later() {
        let times = |updated_ms, opened_ms| Times { created_ms: 0, updated_ms, opened_ms };
        let table = [(times(5, None), 5), (times(5, Some(3)), 5), (times(5, Some(9)), 9)];
        for (times, begins) in table {
            assert_eq!(anchor(times), begins, "{times:?}");
        }
    }
}
