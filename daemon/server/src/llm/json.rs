//! Json: extracts the JSON that a model was asked for from whatever it wrote.
//!
//! In: a model's text: fenced, surrounded by words, cut off in the middle, or not JSON at all. Out: the objects of its
//! first list, or its first object.
//! Invariants: no text causes a panic or takes longer than [`MAX_STARTS`] passes; values nested deeper than serde's 128
//! levels are rejected.

use serde_json::{Map, Value};

/// Most brackets at which parsing is tried.
const MAX_STARTS: usize = 64;

/// Most objects taken from a list.
const MAX_ITEMS: usize = 200;

/// One object.
pub type Object = Map<String, Value>;

/// Returns the objects of the first list that has any, else an empty list if the text has one. A list that was cut off
/// gives its complete objects. Items that are not objects are skipped.
pub fn list(text: &str) -> Option<Vec<Object>> {
    // Every bracket is tried: prose before the list may contain some.
    let mut is_empty_list = false;
    for at in starts(text, '[') {
        let rest = text.get(at + 1..).unwrap_or_default();
        let (found, is_closed) = items(rest);
        if !found.is_empty() {
            return Some(found);
        }
        is_empty_list |= is_closed;
    }
    is_empty_list.then(Vec::new)
}

/// Returns the first object in a text.
pub fn object(text: &str) -> Option<Object> {
    starts(text, '{').find_map(|at| match first(text.get(at..)?)? {
        (Value::Object(object), _) => Some(object),
        _ => None,
    })
}

fn starts(text: &str, bracket: char) -> impl Iterator<Item = usize> {
    text.match_indices(bracket).map(|(at, _)| at).take(MAX_STARTS)
}

/// Returns the value at the start of a text, and its length in bytes.
fn first(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

/// Returns the objects of a list, starting after its bracket, and whether the list is closed.
fn items(mut rest: &str) -> (Vec<Object>, bool) {
    let mut found = Vec::new();
    while found.len() < MAX_ITEMS {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.starts_with(']') {
            return (found, true);
        }
        // A value that does not parse is where the reply was cut off.
        let Some((value, length)) = first(rest) else { break };
        if let Value::Object(object) = value {
            found.push(object);
        } else if found.is_empty() {
            // A list of words may be part of a sentence, such as a citation; it is not what was asked for.
            break;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    (found, false)
}

/// Returns the first of these fields that is a text, on one line, cut to `max_chars`; none if it is empty.
pub fn text_of(object: &Object, fields: &[&str], max_chars: usize) -> Option<String> {
    let found = fields.iter().find_map(|field| object.get(*field)?.as_str())?;
    let words: Vec<&str> = found
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|it| !it.is_empty())
        .collect();
    let line: String = words.join(" ").chars().take(max_chars).collect();
    let line = line.trim_end().to_string();
    (!line.is_empty()).then_some(line)
}

/// Like [`text_of`], but keeps line breaks.
pub fn lines_of(object: &Object, fields: &[&str], max_chars: usize) -> Option<String> {
    let found = fields.iter().find_map(|field| object.get(*field)?.as_str())?;
    let kept = found.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let text: String = kept.take(max_chars).collect();
    let text = text.trim().to_string();
    (!text.is_empty()).then_some(text)
}

/// Removes a Markdown fence around a text.
pub fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```") else { return text };
    // The first line is the fence's language.
    let inside = inside.split_once('\n').map_or("", |(_, rest)| rest);
    inside.trim_end().strip_suffix("```").unwrap_or(inside).trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(text: &str) -> Option<Vec<i64>> {
        Some(
            list(text)?
                .iter()
                .map(|it| it.get("i").and_then(Value::as_i64).unwrap_or(-1))
                .collect(),
        )
    }

    #[test]
    fn lists_are_found_in_whatever_is_around_them() {
        let rows: [(&str, Option<&[i64]>); 14] = [
            (r#"[{"i": 1}, {"i": 2}]"#, Some(&[1, 2])),
            ("```json\n[{\"i\": 1}]\n```", Some(&[1])),
            ("Here you are [as asked]:\n[ {\"i\": 1} ]. Anything else?", Some(&[1])),
            (r#"{"items": [{"i": 1}]}"#, Some(&[1])),
            (r#"[{"i": 1}, 7, "x", {"i": 2}, null]"#, Some(&[1, 2])),
            (r#"[{"i": 1}, {"i": 2}, {"i": "#, Some(&[1, 2])),
            (r#"[{"i": 1} {"i": 2}"#, Some(&[1, 2])),
            ("[]", Some(&[])),
            ("```\n[ ]\n```", Some(&[])),
            (r#"{"i": 1}"#, None),
            (r#"["a", "b"]"#, None),
            ("[", None),
            ("", None),
            ("no relations at all", None),
        ];
        for (text, expected) in rows {
            assert_eq!(ids(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn objects_are_found_in_whatever_is_around_them() {
        let found = |text: &str| object(text).map(|it| it.len());
        assert_eq!(found("Sure! ```json\n{\"a\": 1, \"b\": {}}\n```"), Some(2));
        assert_eq!(found("{a: 1} {\"a\": 1}"), Some(1));
        assert_eq!(found("{\"a\": "), None);
        assert_eq!(found("[1]"), None);
    }

    #[test]
    fn hostile_texts_end() {
        let deep = "[".repeat(100_000);
        assert_eq!(list(&deep), None);
        assert_eq!(list(&format!("{deep}{}", "{\"a\":".repeat(100_000))), None);
        assert_eq!(object(&"{\"a\":".repeat(100_000)), None);
        let many = format!("[{}]", vec!["{}"; 100_000].join(","));
        assert_eq!(list(&many).map(|it| it.len()), Some(MAX_ITEMS));
        let wide = format!("[{}", "1,".repeat(1_000_000));
        assert_eq!(list(&wide), None);
        let half = format!("[{{\"i\": 1}}, {{\"text\": \"{}", "x".repeat(1_000_000));
        assert_eq!(ids(&half), Some(vec![1]));
    }

    #[test]
    fn texts_are_on_one_line_and_short() {
        let it = object(r#"{"a": " x\n\u0000 y ", "b": 7, "c": "", "d": "l1\n l2\u0007 "}"#)
            .expect("JSON");
        assert_eq!(text_of(&it, &["b", "a"], 9), Some("x y".to_string()));
        assert_eq!(text_of(&it, &["a"], 2), Some("x".to_string()));
        assert_eq!(text_of(&it, &["c"], 9), None);
        assert_eq!(text_of(&it, &["b"], 9), None);
        assert_eq!(lines_of(&it, &["d"], 99), Some("l1\n l2".to_string()));
        assert_eq!(unfenced("```markdown\nText.\n```"), "Text.");
        assert_eq!(unfenced(" Text. "), "Text.");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for text in [&*text, &*String::from_utf8_lossy(&bytes)] {
                let _ = (list(text), object(text), unfenced(text));
            }
        }

        #[test]
        fn no_json_panics(text in r#"[\[\]{}",:a0\\ ]{0,200}"#) {
            let _ = (list(&text), object(&text));
        }

        #[test]
        fn a_list_cut_off_anywhere_gives_its_beginning(n in 1usize..9, cut in 0usize..200) {
            let items = (0..n).map(|i| format!(r#"{{"i": {i}, "t": "é]}}"}}"#));
            let whole = format!("[{}]", items.collect::<Vec<_>>().join(", "));
            let cut = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
            if let Some(found) = ids(&whole[..cut]) {
                prop_assert_eq!(found.clone(), (0..found.len() as i64).collect::<Vec<_>>());
            }
            prop_assert_eq!(ids(&whole), Some((0..n as i64).collect::<Vec<_>>()));
        }
    }
}
