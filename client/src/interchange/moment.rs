//! Moment: converts seconds since 1970 to ISO 8601 text, in UTC.

use jiff::Timestamp;
use serde_json::Value;

/// Returns `2024-03-01T12:30:00Z` for a number of seconds, or for such a text; none for anything else.
pub(super) fn moment(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let seconds = number.as_f64().filter(|it| *it >= 0.0)? as i64;
            Timestamp::from_second(seconds).ok().map(|it| it.to_string())
        }
        Value::String(text) => {
            // The shape of an ISO 8601 date, without checking ranges: the text is copied, not computed with.
            let is_one = text.len() <= 40
                && text.len() >= 10
                && text.bytes().take(10).enumerate().all(|(i, byte)| match i {
                    4 | 7 => byte == b'-',
                    _ => byte.is_ascii_digit(),
                })
                && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZ ".contains(&byte));
            is_one.then(|| text.clone())
        }
        _ => None,
    }
}

/// Returns `2024-03-01 12:30` for such a text, for people.
pub(super) fn shown(moment: &str) -> String {
    moment.get(..16).unwrap_or(moment).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_and_texts_are_moments() {
        let rows = [
            (json!(0), Some("1970-01-01T00:00:00Z")),
            (json!(1_709_296_245.75), Some("2024-03-01T12:30:45Z")),
            (json!("2024-03-01T12:30:45.123456Z"), Some("2024-03-01T12:30:45.123456Z")),
            (json!("2024-03-01T12:30:45+00:00"), Some("2024-03-01T12:30:45+00:00")),
            (json!(-1), None),
            (json!(1e300), None),
            (json!(null), None),
            (json!("yesterday"), None),
            (json!("2024-03-01\n# heading"), None),
        ];
        for (value, expected) in rows {
            assert_eq!(moment(&value).as_deref(), expected, "{value}");
        }
        assert_eq!(shown("2024-03-01T12:30:45Z"), "2024-03-01 12:30");
    }
}
