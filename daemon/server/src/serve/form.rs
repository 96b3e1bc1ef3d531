//! Form: which of text and structured content a result carries, and within how many characters.
//!
//! In: the session's form, the arguments of a call, a typed reply. Out: the reply in that form.
//! Invariants: text and structured content each keep to the call's budget (structured content of at least
//! [`SMALLEST_CHARS`]), but for [`Form::Whole`]; what was left out
//! is said in `truncated`; a text alone costs no JSON.
//! Not here: the text (`render`), or which hits fit (`query`'s `present`).

use config::Settings;
use proto::form::{FORMATS, Form, wants_json};
use proto::tool::core;
use serde::Serialize;
use serde_json::{Map, Value};

/// The budgets of an answer. They may be given to every tool, too.
const BUDGETS: [&str; 2] = ["max_chars", "max_tokens"];

/// What any tool accepts, characters.
const RANGE: (u32, u32) = (200, 100_000);

/// What explains rather than answers; left out first, in this order.
const DETAILS: [&str; 6] = ["components", "features", "explanations", "edges", "doc_id", "also_in"];

/// Least room of structured content: field names alone take half of it.
const SMALLEST_CHARS: usize = 800;

/// What a text must not be cut in, by the end of its field's name: a part of it names nothing.
const WHOLE: [&str; 7] = ["cursor", "checksum", "path", "permalink", "ref", "id", "truncated"];

/// Shortest text that a string is cut to, characters.
const MIN_TEXT_CHARS: usize = 60;

/// Room for `truncated`.
const NOTE_CHARS: usize = 220;

/// What one call's result carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The form.
    pub form: Form,
    /// Whether the text is the structured content as JSON.
    pub is_json: bool,
    /// Most characters of each form.
    pub max_chars: usize,
}

/// A reply, not yet cleaned (`leaving.rs`).
pub struct Replied {
    /// The reply as JSON, where it is wanted.
    pub structured: Option<Value>,
    /// The text form; `None` where the text is the JSON.
    pub text: Option<String>,
}

impl Wanted {
    /// Reads the form from a call's arguments, and removes what the tool does not know of it. `knows` says whether the
    /// tool has a parameter; `long` is its usual budget for programs.
    pub fn of(
        session: Form,
        arguments: &mut Map<String, Value>,
        knows: impl Fn(&str) -> bool,
        settings: &Settings,
        long: Option<u32>,
    ) -> Self {
        let is_json = wants_json(arguments);
        FORMATS.iter().filter(|it| !knows(it)).for_each(|it| _ = arguments.shift_remove(*it));
        let given = |name| {
            let number = arguments.get(name).and_then(|it| match it {
                Value::String(text) => text.trim().parse().ok(),
                it => it.as_u64(),
            });
            number.map(|n| n.min(u32::MAX.into()) as u32)
        };
        let usual = settings.retrieval.max_chars;
        let usual = if session == Form::Whole { long.unwrap_or(usual) } else { usual };
        let [max_chars, max_tokens] = BUDGETS.map(given);
        let max_chars = core::budget(max_chars, max_tokens, usual).clamp(RANGE.0, RANGE.1);
        let is_given = BUDGETS.iter().any(|it| arguments.contains_key(*it));
        BUDGETS.iter().filter(|it| !knows(it)).for_each(|it| _ = arguments.shift_remove(*it));
        if !is_given && session != Form::Whole && knows("max_chars") {
            arguments.insert("max_chars".to_string(), max_chars.into());
        }
        Wanted { form: session, is_json, max_chars: max_chars as usize }
    }

    /// Whether the result has structured content.
    pub fn is_structured(self) -> bool {
        self.is_json || self.form != Form::Text
    }

    /// Most characters of the structured content: 0 where none is wanted, `None` where it may have any length.
    pub fn structured_chars(self) -> Option<u32> {
        match self.form {
            _ if !self.is_structured() => Some(0),
            Form::Whole if !self.is_json => None,
            _ => Some(self.max_chars as u32),
        }
    }

    /// The reply in this form.
    ///
    /// # Errors
    /// When it cannot be JSON.
    pub fn apply<R: Serialize>(
        self,
        reply: &R,
        render: fn(&R, usize) -> String,
    ) -> Result<Replied, serde_json::Error> {
        let text = (!self.is_json).then(|| render(reply, self.max_chars));
        let room = self.structured_chars();
        if room == Some(0) {
            return Ok(Replied { structured: None, text });
        }
        // Through a string: `to_value` would widen the `f32` 0.1 to 0.10000000149011612, which costs a model tokens.
        let mut structured = serde_json::from_str(&serde_json::to_string(reply)?)?;
        if let Some(room) = room {
            fit(&mut structured, (room as usize).max(SMALLEST_CHARS));
        }
        Ok(Replied { structured: Some(structured), text })
    }
}

/// Leaves out of a reply what does not fit: details, then the ends of its longest lists, then the ends of its longest
/// texts, then its largest fields.
fn fit(reply: &mut Value, max_chars: usize) {
    // A cursor counts no more than half, as in `query`: it is of use only with the hits before it.
    let n_cursor = reply.get("next_cursor").map_or(0, n_chars);
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
    let room = max_chars.saturating_sub(NOTE_CHARS);
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
    while n_chars(reply) > room {
        let Some(name) = largest_field(reply) else { break };
        reply.as_object_mut().and_then(|fields| fields.shift_remove(&name));
        cuts.push(format!("nothing of `{name}`"));
    }
    if let (Some(fields), false) = (reply.as_object_mut(), cuts.is_empty()) {
        let said = fields.get("truncated").and_then(Value::as_str).map(|it| format!("{it}; "));
        let cuts: Vec<String> = cuts.into_iter().take(3).collect();
        let said = said.unwrap_or_default();
        let note = format!("{said}{} fit; raise `max_chars` or ask for less", cuts.join(", "));
        fields.insert("truncated".to_string(), note.into());
    }
}

/// The largest field of a reply that is an object or a list.
fn largest_field(reply: &Value) -> Option<String> {
    let fields = reply.as_object()?.iter();
    let nested = fields.filter(|(_, it)| it.is_object() || it.is_array());
    nested.max_by_key(|(_, it)| n_chars(it)).map(|(name, _)| name.clone())
}

/// Characters of a value as JSON.
fn n_chars(value: &Value) -> usize {
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn reply() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-zé\"\\n ]{0,400}".prop_map(Value::from),
        ];
        let inner = leaf.prop_recursive(3, 60, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::vec(("[a-f]{1,3}", inner), 0..6)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        });
        prop::collection::vec(inner, 0..8).prop_map(|it| json!({"results": it, "tick": 7}))
    }

    proptest! {
        #[test]
        fn sizes_are_those_of_the_json(reply in reply()) {
            prop_assert_eq!(n_chars(&reply), reply.to_string().chars().count());
        }

        #[test]
        fn what_fits_is_left_alone_and_the_rest_gets_smaller(reply in reply(), room in 300usize..3_000) {
            let before = n_chars(&reply);
            let mut fitted = reply.clone();
            fit(&mut fitted, room);
            if before <= room {
                prop_assert_eq!(fitted, reply);
            } else {
                prop_assert!(n_chars(&fitted) <= before + NOTE_CHARS);
                prop_assert_eq!(&fitted["tick"], 7);
            }
        }
    }

    #[test]
    fn lists_lose_their_ends_and_say_so() {
        let items: Vec<Value> =
            (0..50).map(|n| json!({"name": format!("item {n}"), "id": n})).collect();
        let mut reply =
            json!({"results": items, "text": "x".repeat(900), "next_cursor": "c".repeat(90)});
        fit(&mut reply, 1_500);
        assert!(n_chars(&reply) <= 1_500, "{}", n_chars(&reply));
        assert_eq!(reply["results"][0]["name"], "item 0");
        let n = reply["results"].as_array().expect("a list").len();
        let said = format!("{n} of 50 `results` fit; raise `max_chars` or ask for less");
        assert_eq!(reply["truncated"], said);
        assert_eq!(reply["next_cursor"].as_str().expect("a text").len(), 90);
    }

    #[test]
    fn a_long_cursor_costs_no_hit() {
        let hit = json!({"path": "a.md", "snippet": "x".repeat(200)});
        let mut reply = json!({"chunks": [hit], "next_cursor": "c".repeat(2_000)});
        let before = reply.clone();
        fit(&mut reply, 800);
        assert_eq!(reply, before);
    }

    #[test]
    fn a_long_text_is_cut_last() {
        let mut reply = json!({"content": "ä\n".repeat(5_000), "checksum": "f".repeat(64), "components": {"a": 1}});
        fit(&mut reply, 800);
        assert!(n_chars(&reply) <= 800, "{}", n_chars(&reply));
        assert_eq!(reply["checksum"].as_str().expect("a text").len(), 64);
        assert!(reply["content"].as_str().expect("a text").ends_with('…'));
        assert!(reply.get("components").is_none());
    }

    #[test]
    fn budgets_and_formats_are_read_and_what_a_tool_does_not_know_is_removed() {
        let settings = Settings::default();
        let read = |form, given: Value, known: &[&str], long| {
            let Value::Object(mut arguments) = given else { panic!("an object") };
            let wanted =
                Wanted::of(form, &mut arguments, |it| known.contains(&it), &settings, long);
            (wanted.is_json, wanted.max_chars, Value::Object(arguments))
        };
        let plain = read(Form::Text, json!({"q": "x"}), &["q"], Some(8_000));
        assert_eq!(plain, (false, 3_000, json!({"q": "x"})));
        let known = read(Form::Text, json!({"q": "x"}), &["q", "max_chars"], Some(8_000));
        assert_eq!(known, (false, 3_000, json!({"q": "x", "max_chars": 3_000})));
        let program = read(Form::Whole, json!({"q": "x"}), &["q", "max_chars"], Some(8_000));
        assert_eq!(program, (false, 8_000, json!({"q": "x"})));
        let asked = json!({"format": "JSON", "max_tokens": "500", "q": "x"});
        assert_eq!(read(Form::Text, asked, &["q"], None), (true, 1_500, json!({"q": "x"})));
        let theirs = json!({"output_format": "json", "max_chars": 90});
        let kept = json!({"output_format": "json"});
        assert_eq!(read(Form::Text, theirs, &["output_format"], None), (true, 200, kept));
    }
}
