//! Form: whether a result carries text, structured content or both, and within how many characters.
//!
//! In: the session's form, the arguments of a call, a typed reply. Out: the reply in that form.
//! Invariants: text and structured content each keep to the call's budget, except in
//! [`Form::Whole`]; what was left out is reported in `truncated`; text alone needs no JSON.

use config::Settings;
use proto::error::{Code, ErrorView};
use proto::form::fit::fit;
use proto::form::{FORMATS, Form, wants_json};
use proto::tool::core;
use proto::view::{Style, View};
use serde::Serialize;
use serde_json::{Map, Value};

/// The budget parameters of an answer. Every tool accepts them.
const BUDGETS: [&str; 2] = ["max_chars", "max_tokens"];

/// Range of budgets that every tool accepts, characters.
const RANGE: (u32, u32) = (200, 100_000);

/// What the result of one call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The form.
    pub form: Form,
    /// Whether the text is the structured content as JSON.
    pub is_json: bool,
    /// Most characters of each form.
    pub max_chars: usize,
}

/// Returns the error for an unknown format; `knows` as in [`Wanted::of`].
pub(super) fn unknown_format(
    arguments: &Map<String, Value>,
    knows: impl Fn(&str) -> bool,
) -> Option<ErrorView> {
    let (name, value) = proto::form::unknown_format(arguments).filter(|it| !knows(it.0))?;
    let value: String = value.chars().filter(|c| !c.is_control()).take(60).collect();
    Some(ErrorView::hinted(
        Code::InvalidParams,
        format!("`{name}` is `{value}`"),
        "use `json`, or `text`, which it is when left out",
    ))
}

/// The style of text for agents: what may repeat a request is cleaned.
pub(super) fn for_agents(max_chars: usize) -> Style {
    Style::agent(max_chars, redact::clean)
}

/// A reply before it is cleaned (`leaving.rs`).
pub struct Replied {
    /// The reply as JSON, if wanted.
    pub structured: Option<Value>,
    /// The text form; `None` if the text is the JSON.
    pub text: Option<String>,
}

impl Wanted {
    /// Reads the form from a call's arguments and removes those that the tool does not have.
    /// `knows` returns whether the tool has a parameter; `long` is its default budget for programs.
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

    /// Returns whether the result has structured content.
    pub fn is_structured(self) -> bool {
        self.is_json || self.form != Form::Text
    }

    /// Returns the most characters of the structured content: 0 for none, `None` for no limit.
    pub fn structured_chars(self) -> Option<u32> {
        match self.form {
            _ if !self.is_structured() => Some(0),
            Form::Whole if !self.is_json => None,
            _ => Some(self.max_chars as u32),
        }
    }

    /// Converts the reply to this form.
    ///
    /// # Errors
    /// When it cannot be converted to JSON.
    pub fn apply(self, reply: &(impl View + Serialize)) -> Result<Replied, serde_json::Error> {
        let text = (!self.is_json).then(|| reply.text(for_agents(self.max_chars)));
        let room = self.structured_chars();
        if room == Some(0) {
            return Ok(Replied { structured: None, text });
        }
        // Through a string: `to_value` would widen the `f32` 0.1 to 0.10000000149011612, which
        // costs a model tokens.
        let mut structured = serde_json::from_str(&serde_json::to_string(reply)?)?;
        if let Some(room) = room {
            fit(&mut structured, room as usize);
        }
        Ok(Replied { structured: Some(structured), text })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proto::form::fit::n_chars;
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
                prop_assert!(n_chars(&fitted) <= before + 220);
                // Below 800 even the tick is dropped, the last thing that an answer can do without.
                prop_assert!(fitted["tick"] == 7 || room < 800);
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
        let note = format!("{n} of 50 `results` fit; raise `max_chars` or ask for less");
        assert_eq!(reply["truncated"], note);
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
