//! Fit: a reply as JSON within so many characters.
//!
//! In: a reply, a budget. Out: the reply without its least important parts, which `truncated` names.
//! Invariants: a reply that fits is left alone; what was asked for, the first list or object of a reply, goes last; a
//! part of a name, a place or a pair of numbers names nothing, so they are whole or left out.

use serde_json::Value;

/// What explains rather than answers; left out first, in this order.
const DETAILS: [&str; 6] = ["components", "features", "explanations", "edges", "doc_id", "also_in"];

/// What an answer can do without, where there is no room for a whole one; in this order.
const LESS: [&str; 17] = [
    "similarity",
    "score",
    "relevance",
    "search_type",
    "created_at",
    "updated_at",
    "modified",
    "entity_id",
    "page_size",
    "checksum",
    "metadata",
    "tags",
    "permalink",
    "section",
    "reason",
    "date",
    "tick",
];

/// What a text must not be cut in, by the end of its field's name: a part of it names nothing.
const WHOLE: [&str; 7] = ["cursor", "checksum", "path", "permalink", "ref", "id", "truncated"];

/// Shortest text that a string is cut to, characters.
const MIN_TEXT_CHARS: usize = 60;

/// Room for `truncated`, and for its short form in budgets below [`SHORT_CHARS`].
const NOTE_CHARS: usize = 220;
const SHORT_NOTE_CHARS: usize = 60;
const SHORT_CHARS: usize = 800;
/// Smallest budget: one hit with its place.
const LEAST_CHARS: usize = 300;
const SHORT_NOTE: &str = "cut; raise `max_chars`";

/// Leaves out of a reply what does not fit: details, then the ends of its longest lists, then the ends of its longest
/// texts, then what an answer can do without, then its largest fields.
pub fn fit(reply: &mut Value, max_chars: usize) {
    let max_chars = max_chars.max(LEAST_CHARS);
    let is_short = max_chars < SHORT_CHARS;
    // A cursor counts no more than half, as in `query`: it is of use only with the hits before it.
    let n_cursor = reply.get("next_cursor").filter(|_| !is_short).map_or(0, n_chars);
    let max_chars = max_chars + n_cursor.saturating_sub(max_chars / 2);
    if n_chars(reply) <= max_chars {
        return;
    }
    for key in DETAILS {
        remove(reply, key);
        if n_chars(reply) <= max_chars {
            return;
        }
    }
    let n_note = if is_short { SHORT_NOTE_CHARS } else { NOTE_CHARS };
    let room = max_chars.saturating_sub(n_note);
    if is_short && let Some(fields) = reply.as_object_mut() {
        fields.shift_remove("truncated");
    }
    let mut cuts = Vec::new();
    while let excess @ 1.. = n_chars(reply).saturating_sub(room) {
        let mut longest = None;
        longest_list("", reply, &mut longest);
        let Some((name, list)) = longest else { break };
        let n = list.len();
        let mut freed = 0;
        while list.len() > 1 && freed < excess {
            freed += list.pop().map_or(0, |it| n_chars(&it) + 1);
        }
        cuts.push(format!("{} of {n} `{name}`", list.len()));
    }
    while let excess @ 1.. = n_chars(reply).saturating_sub(room) {
        let mut longest = None;
        longest_text("", reply, &mut longest);
        let Some((name, text)) = longest else { break };
        let n = text.chars().count();
        let kept = n.saturating_sub(excess + 1).max(MIN_TEXT_CHARS);
        *text = text.chars().take(kept).chain(['…']).collect();
        cuts.push(format!("{kept} of {n} characters of `{name}`"));
    }
    for key in LESS {
        if n_chars(reply) <= room {
            break;
        }
        remove(reply, key);
    }
    while n_chars(reply) > room {
        let Some(name) = least_field(reply) else { break };
        reply.as_object_mut().and_then(|fields| fields.shift_remove(&name));
        cuts.push(format!("nothing of `{name}`"));
    }
    if let (Some(fields), false) = (reply.as_object_mut(), cuts.is_empty()) {
        let before = fields.get("truncated").and_then(Value::as_str).map(|it| format!("{it}; "));
        let cuts: Vec<String> = cuts.into_iter().take(3).collect();
        let before = before.unwrap_or_default();
        let note = match is_short {
            true => SHORT_NOTE.to_string(),
            false => format!("{before}{} fit; raise `max_chars` or ask for less", cuts.join(", ")),
        };
        fields.insert("truncated".to_string(), note.into());
    }
}

/// What a reply can do without: its largest object or list, but for the first one, then its cursor, then that first
/// one, then the largest other field, but for the first.
fn least_field(reply: &Value) -> Option<String> {
    let is_nested = |it: &&Value| it.is_object() || it.is_array();
    let fields = reply.as_object()?;
    let mut nested = fields.iter().filter(|(_, it)| is_nested(it));
    let first = nested.next();
    let largest = nested.max_by_key(|(_, it)| n_chars(it));
    let cursor = fields.get_key_value("next_cursor");
    let scalar = || fields.iter().skip(1).max_by_key(|(_, it)| n_chars(it));
    largest.or(cursor).or(first).or_else(scalar).map(|(name, _)| name.clone())
}

/// Characters of a value as JSON.
pub fn n_chars(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(it) => 5 - usize::from(*it),
        Value::Number(it) => it.to_string().len(),
        Value::String(it) => 2 + it.chars().map(escaped_chars).sum::<usize>(),
        Value::Array(items) => 1 + items.len().max(1) + items.iter().map(n_chars).sum::<usize>(),
        Value::Object(fields) => {
            let inside = fields.iter().map(|(key, it)| key.chars().count() + 3 + n_chars(it));
            1 + fields.len().max(1) + inside.sum::<usize>()
        }
    }
}

/// Characters of one character in a JSON string.
fn escaped_chars(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        _ => 1,
    }
}

fn remove(value: &mut Value, key: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|it| remove(it, key)),
        Value::Object(fields) => {
            fields.shift_remove(key);
            fields.values_mut().for_each(|it| remove(it, key));
        }
        _ => {}
    }
}

/// The longest list of several items. One inside it is looked at once it has only one item.
fn longest_list<'a>(
    name: &str,
    value: &'a mut Value,
    longest: &mut Option<(String, &'a mut Vec<Value>)>,
) {
    let size = |items: &[Value]| items.iter().map(n_chars).sum::<usize>();
    match value {
        // First and last line of a place.
        Value::Array(items) if items.len() == 2 && items.iter().all(Value::is_number) => {}
        Value::Array(items) => {
            if items.len() < 2 {
                items.iter_mut().for_each(|it| longest_list(name, it, longest));
            } else if longest.as_ref().is_none_or(|(_, it)| size(items) > size(it)) {
                *longest = Some((name.to_string(), items));
            }
        }
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, it)| longest_list(key, it, longest));
        }
        _ => {}
    }
}

/// The longest text that may be cut.
fn longest_text<'a>(
    name: &str,
    value: &'a mut Value,
    longest: &mut Option<(String, &'a mut String)>,
) {
    match value {
        Value::String(text) if !WHOLE.iter().any(|it| name.ends_with(it)) => {
            let most = longest.as_ref().map_or(MIN_TEXT_CHARS + 1, |(_, it)| it.chars().count());
            if text.chars().count() > most {
                *longest = Some((name.to_string(), text));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| longest_text(name, it, longest)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, it)| longest_text(key, it, longest));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_budget_is_kept_and_the_answer_stays() {
        let hit = json!({"ref": "69bfd07bf657", "id": 3, "doc_id": 3, "path": "signing.md", "lines": [1, 10],
            "section": "Signing keys", "snippet": "word ".repeat(40), "score": 1.968, "components": {},
            "relevance": 0.916});
        let mut reply = json!({"chunks": [hit.clone(), hit], "entities": [{"id": 1, "name": "Signing keys"}],
            "edges": [], "explanations": ["names Signing keys"], "next_cursor": "-IJK9n2IOQQ", "project": "one",
            "tick": 14});
        fit(&mut reply, 300);
        assert!(n_chars(&reply) <= 300, "{reply}");
        let kept = &reply["chunks"][0];
        assert_eq!((&kept["path"], &kept["lines"]), (&json!("signing.md"), &json!([1, 10])));
        assert_eq!(reply["truncated"], SHORT_NOTE);
    }
}
