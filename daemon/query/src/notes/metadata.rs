//! Metadata: filters on the front matter of notes.
//!
//! In: keys with values or operators (`{"status": "open", "priority": {"$gte": 3}}`), a note's front matter as S0 §3.2
//! stores it (strings, lists and maps of strings). Out: whether it matches. Numbers are compared as numbers, other
//! values as text, which is the right order for ISO dates; words ignore case. A text equals only what is written so:
//! `"1.1"` is not `1.10`, but `1.1` is. A word is neither greater nor less than a value that is given as a number. A
//! list matches if one of its items does; a list in the filter must be contained as a whole.
//! Invariants: pure; an invalid operator or value is an error, never a filter that matches nothing.

use std::fmt;

use notes::resolve::fold;
use proto::error::ErrorView;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{invalid, quoted};

/// Most keys, and most values in a list.
const MAX_KEYS: usize = 20;
const MAX_VALUES: usize = 100;

/// Deepest nesting of a key, `a.b.c`.
const MAX_DEPTH: usize = 8;

/// The conditions of a filter, all of which must hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conditions(Vec<(KeyPath, MetadataCondition)>);

/// A folded key: `a.b.c` as parts and as a whole, because a key may contain dots.
#[derive(Debug, Clone, PartialEq)]
struct KeyPath {
    parts: Vec<String>,
    whole: String,
}

#[derive(Debug, Clone, PartialEq)]
enum MetadataCondition {
    Equals(Bound),
    Differs(Bound),
    Compares(Comparison, Bound),
    Between(Bound, Bound),
    OneOf(Vec<Bound>),
    NoneOf(Vec<Bound>),
    HoldsAll(Vec<Bound>),
    Exists(bool),
}

/// What a value is compared with.
#[derive(Debug, Clone, PartialEq)]
struct Bound {
    text: String,
    /// Whether it was given as a JSON number rather than as text that looks like one.
    is_number: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    More,
    MoreOrEqual,
    Less,
    LessOrEqual,
}

impl Conditions {
    /// Parses the filter of a caller.
    pub(super) fn parse(filters: &Map<String, Value>) -> Result<Conditions, ErrorView> {
        if filters.len() > MAX_KEYS {
            let hint = format!("give at most {MAX_KEYS}");
            return Err(invalid(format!("`metadata_filters` has {} keys", filters.len()), &hint));
        }
        let mut all = Vec::new();
        for (key, value) in filters {
            let parts: Vec<String> = key.split('.').map(fold).collect();
            if parts.len() > MAX_DEPTH || parts.iter().any(String::is_empty) {
                return Err(bad(
                    key,
                    "is not a key",
                    "give a key of the front matter, such as `status` or `a.b`",
                ));
            }
            let path = KeyPath { whole: parts.join("."), parts };
            match value {
                Value::Object(operators) if operators.keys().any(|it| it.starts_with('$')) => {
                    for (operator, value) in operators {
                        all.push((path.clone(), condition(key, operator, value)?));
                    }
                }
                Value::Array(values) => {
                    all.push((path, MetadataCondition::HoldsAll(bounds(key, values)?)));
                }
                value => all.push((path, MetadataCondition::Equals(bound(key, value)?))),
            }
        }
        Ok(Conditions(all))
    }

    /// Returns whether a condition refers to a top-level key of the front matter.
    pub(super) fn concern(&self, key: &str) -> bool {
        let key = fold(key);
        self.0.iter().any(|(path, _)| key == path.whole || path.parts.first() == Some(&key))
    }

    /// Parses the keys of front matter that conditions refer to; empty if the JSON is not a map.
    pub(super) fn concerned(&self, metadata: &str) -> Map<String, Value> {
        let mut json = serde_json::Deserializer::from_str(metadata);
        json.deserialize_map(Concerned(self)).unwrap_or_default()
    }

    /// Returns whether a note's front matter meets all conditions.
    pub(super) fn hold(&self, metadata: &Map<String, Value>) -> bool {
        self.0.iter().all(|(path, condition)| {
            let mut found = Vec::new();
            for (key, value) in metadata {
                gather(key, value, &path.parts, &path.whole, &mut found);
            }
            condition.holds(&found)
        })
    }
}

/// Parses only the keys that conditions refer to: parsing the whole front matter of all notes would
/// cost more than a search.
struct Concerned<'a>(&'a Conditions);

impl<'de> Visitor<'de> for Concerned<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if self.0.concern(&key) {
                kept.insert(key, access.next_value()?);
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(kept)
    }
}

/// Collects the texts at a path, given as parts and as a whole, including those in lists.
fn gather(key: &str, value: &Value, parts: &[String], whole: &str, found: &mut Vec<String>) {
    let key = fold(key);
    // A key may contain dots.
    if key == whole {
        leaves(value, found);
        return;
    }
    let Some((first, rest)) = parts.split_first() else { return };
    let Some(whole) = whole.get(first.len() + 1..).filter(|_| key == *first) else { return };
    let mut below = |map: &Map<String, Value>| {
        map.iter().for_each(|(key, value)| gather(key, value, rest, whole, found));
    };
    match value {
        Value::Object(map) => below(map),
        Value::Array(items) => items.iter().filter_map(Value::as_object).for_each(below),
        _ => {}
    }
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, found)),
        Value::Null => {}
        other => found.push(other.to_string()),
    }
}

impl MetadataCondition {
    fn holds(&self, found: &[String]) -> bool {
        let has = |wanted: &Bound| found.iter().any(|it| is_equal(it, wanted));
        match self {
            MetadataCondition::Equals(wanted) => has(wanted),
            MetadataCondition::Differs(wanted) => !has(wanted),
            MetadataCondition::Compares(how, wanted) => {
                found.iter().any(|it| how.holds(it, wanted))
            }
            MetadataCondition::Between(low, high) => found.iter().any(|it| {
                Comparison::MoreOrEqual.holds(it, low) && Comparison::LessOrEqual.holds(it, high)
            }),
            MetadataCondition::OneOf(wanted) => wanted.iter().any(has),
            MetadataCondition::NoneOf(wanted) => !wanted.iter().any(has),
            MetadataCondition::HoldsAll(wanted) => wanted.iter().all(has),
            MetadataCondition::Exists(wanted) => found.is_empty() != *wanted,
        }
    }
}

impl Comparison {
    fn holds(self, found: &str, wanted: &Bound) -> bool {
        let order = match (number(found), number(&wanted.text)) {
            (Some(found), Some(wanted)) => found.total_cmp(&wanted),
            _ if wanted.is_number => return false,
            // Compare with the precision of the filter: any day in a year equals that year.
            _ if is_date(found) && (is_date(&wanted.text) || is_year(&wanted.text)) => {
                found.get(..wanted.text.len()).unwrap_or(found).cmp(wanted.text.as_str())
            }
            // Values of different kinds have no order: `someday` is not after any day.
            (found, wanted) if found.is_some() != wanted.is_some() => return false,
            _ if is_date(found) != is_date(&wanted.text) => return false,
            _ => fold(found).cmp(&fold(&wanted.text)),
        };
        match self {
            Comparison::More => order.is_gt(),
            Comparison::MoreOrEqual => order.is_ge(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
        }
    }
}

/// A number equals numbers, however they are written; text equals only what is written so: `1.1` is not `1.10`.
fn is_equal(found: &str, wanted: &Bound) -> bool {
    let is_text = || fold(found) == fold(&wanted.text);
    is_text()
        || wanted.is_number && number(found).is_some() && number(found) == number(&wanted.text)
}

/// Reads a number of YAML.
fn number(text: &str) -> Option<f64> {
    let of_base = |(mark, base)| i64::from_str_radix(text.strip_prefix(mark)?, base).ok();
    if let Some(number) = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(of_base) {
        return Some(number as f64);
    }
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Returns whether a text starts with a day or month of ISO 8601; as text these sort by time.
fn is_date(text: &str) -> bool {
    let (year, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    let is_month = |it: &str| it.starts_with('-') && it.bytes().skip(1).all(|c| c.is_ascii_digit());
    is_year(year) && rest.get(..3).is_some_and(is_month)
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|c| c.is_ascii_digit())
}

fn condition(key: &str, operator: &str, value: &Value) -> Result<MetadataCondition, ErrorView> {
    let compares = |how| Ok(MetadataCondition::Compares(how, bound(key, value)?));
    let list = || match value {
        Value::Array(values) => bounds(key, values),
        one => Ok(vec![bound(key, one)?]),
    };
    match operator {
        "$eq" => Ok(MetadataCondition::Equals(bound(key, value)?)),
        "$ne" => Ok(MetadataCondition::Differs(bound(key, value)?)),
        "$gt" => compares(Comparison::More),
        "$gte" => compares(Comparison::MoreOrEqual),
        "$lt" => compares(Comparison::Less),
        "$lte" => compares(Comparison::LessOrEqual),
        "$in" => Ok(MetadataCondition::OneOf(list()?)),
        "$nin" => Ok(MetadataCondition::NoneOf(list()?)),
        "$contains" => Ok(MetadataCondition::HoldsAll(list()?)),
        "$between" => match value.as_array().map(Vec::as_slice) {
            Some([low, high]) => {
                Ok(MetadataCondition::Between(bound(key, low)?, bound(key, high)?))
            }
            _ => Err(bad(key, "`$between` needs two values", "give `{\"$between\": [1, 5]}`")),
        },
        "$exists" => match value {
            Value::Bool(wanted) => Ok(MetadataCondition::Exists(*wanted)),
            _ => Err(bad(key, "`$exists` must be true or false", "give one of them")),
        },
        other => {
            let known =
                "use $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $between, $contains or $exists";
            Err(bad(
                key,
                &format!("no operator `{}`", other.chars().take(30).collect::<String>()),
                known,
            ))
        }
    }
}

fn bound(key: &str, value: &Value) -> Result<Bound, ErrorView> {
    let bound = |text: String| Ok(Bound { text, is_number: value.is_number() });
    match value {
        Value::String(text) => bound(text.clone()),
        Value::Number(_) | Value::Bool(_) => bound(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(bad(
            key,
            "the value must be a string, a number or a boolean",
            "use `$exists` to ask whether a key exists",
        )),
    }
}

fn bounds(key: &str, values: &[Value]) -> Result<Vec<Bound>, ErrorView> {
    if values.is_empty() || values.len() > MAX_VALUES {
        return Err(bad(
            key,
            &format!("{} values", values.len()),
            &format!("give 1 to {MAX_VALUES}"),
        ));
    }
    values.iter().map(|value| bound(key, value)).collect()
}

fn bad(key: &str, what: &str, hint: &str) -> ErrorView {
    invalid(format!("`metadata_filters` of `{}`: {what}", quoted(key, 60)), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn filters_compare_numbers_words_dates_and_lists() {
        let metadata = json!({
            "status": "Open", "priority": "10", "due": "2026-03-01", "release": "1.10",
            "mask": "0x1F", "draft": "False", "tags": ["a", "B"],
            "schema": {"version": "2", "owners": [{"name": "Ada"}]}, "a.b": "dotted",
        });
        let rows = [
            (json!({"status": "open"}), true),
            (json!({"status": "closed"}), false),
            (json!({"status": {"$ne": "closed"}}), true),
            (json!({"priority": 10}), true),
            (json!({"release": "1.10"}), true),
            (json!({"release": "1.1"}), false),
            (json!({"release": {"$in": ["1.1", 1.1]}}), true),
            (json!({"release": {"$gt": "1.05", "$lt": 2}}), true),
            (json!({"mask": {"$gt": 30, "$lt": 32}}), true),
            (json!({"mask": "0x1f"}), true),
            (json!({"draft": {"$ne": false}}), false),
            (json!({"priority": {"$gt": 9}}), true),
            (json!({"priority": {"$gt": "9"}}), true),
            (json!({"priority": {"$gte": 10, "$lt": 11}}), true),
            (json!({"priority": {"$lte": 9.5}}), false),
            (json!({"priority": {"$between": [1, 10]}}), true),
            (json!({"status": {"$gte": 3}}), false),
            (json!({"status": {"$between": [3, 5]}}), false),
            (json!({"status": {"$gte": "3"}}), false),
            (json!({"status": {"$gte": "2026-01-01"}}), false),
            (json!({"priority": {"$gte": "2026-01-01"}}), false),
            (json!({"status": {"$gte": "held", "$lt": "p"}}), true),
            (json!({"due": {"$gte": "april"}}), false),
            (json!({"due": {"$gt": 3}}), false),
            (json!({"due": {"$between": ["2026", "2026"]}}), true),
            (json!({"due": {"$lte": "2026-03"}}), true),
            (json!({"due": {"$lt": "2026-03"}}), false),
            (json!({"tags": {"$gt": 3}}), false),
            (json!({"due": {"$lt": "2026-04-01"}}), true),
            (json!({"due": {"$gt": "2026-04-01"}}), false),
            (json!({"draft": false}), true),
            (json!({"tags": "b"}), true),
            (json!({"tags": ["a", "b"]}), true),
            (json!({"tags": ["a", "c"]}), false),
            (json!({"tags": {"$in": ["c", "a"]}}), true),
            (json!({"tags": {"$nin": ["c"]}}), true),
            (json!({"tags": {"$contains": "a"}}), true),
            (json!({"schema.version": {"$gte": 2}}), true),
            (json!({"schema.owners.name": "ada"}), true),
            (json!({"a.b": "dotted"}), true),
            (json!({"missing": {"$exists": false}, "status": {"$exists": true}}), true),
            (json!({"missing": {"$ne": "x"}}), true),
            (json!({"missing": "x"}), false),
        ];
        let metadata = metadata.as_object().expect("a map");
        for (filter, expected) in rows {
            let conditions = Conditions::parse(filter.as_object().expect("a map")).expect("read");
            assert_eq!(conditions.hold(metadata), expected, "{filter}");
            let concerned = conditions.concerned(&json!(metadata).to_string());
            assert_eq!(conditions.hold(&concerned), expected, "{filter} of {concerned:?}");
        }
    }

    #[test]
    fn invalid_filters_are_refused() {
        let rows = [
            (json!({"a": {"$like": 1}}), "no operator `$like`"),
            (json!({"a": null}), "must be a string"),
            (json!({"a": {"$in": []}}), "0 values"),
            (json!({"a": {"$between": [1]}}), "two values"),
            (json!({"a": {"$exists": "yes"}}), "true or false"),
            (json!({"a..b": 1}), "not a key"),
        ];
        for (filter, message) in rows {
            let error = Conditions::parse(filter.as_object().expect("a map")).expect_err("refused");
            assert!(error.message.contains(message), "{}", error.message);
        }
    }
}
