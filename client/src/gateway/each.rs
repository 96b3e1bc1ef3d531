//! Each: lists what several projects know about one thing, one project after the other.
//!
//! In: each project's answer, or why there is none. Out: one tool result: the answers below the
//! names of their projects, in the order of the projects.
//! Invariants: a project that does not know the thing is left out if another one does; the whole
//! stays within the budget: each project has an equal share, and what some do not need goes to the
//! others.

use serde_json::{Map, Value, json};

use super::cursor::Onward;
use super::merge::{Answer, all_failed, named, unavailable};
use super::served::Served;
use super::spread::Spread;
use super::trouble::Trouble;
use crate::render::clean;

/// Smallest budget of the structured form, in characters.
const SMALLEST_CHARS: usize = 800;

/// Characters added to a project's text: its heading, and the sign that it is cut.
const AROUND_CHARS: usize = 8;
const CUT: &str = "\n… (name the `project` for more)";

/// Lists the answers of the targets of `spread`.
pub(super) fn each(spread: &Spread, answers: Vec<Answer>, served: &Served) -> Value {
    let mut replies: Vec<(Onward, Value)> = Vec::new();
    let mut troubles: Vec<(Onward, Trouble)> = Vec::new();
    for (target, answer) in spread.targets.iter().zip(answers) {
        match answer.and_then(|it| Trouble::of_result(&it).map_or(Ok(it), Err)) {
            Ok(result) => replies.push((target.clone(), result)),
            Err(trouble) => troubles.push((target.clone(), trouble)),
        }
    }
    if replies.is_empty() {
        return all_failed(&troubles, served);
    }
    for (target, it) in &mut replies {
        served.statements().mark_one(it, served.name(target.project));
    }
    // A project that is asked alone answers as it does without a gateway.
    if let ([_], [(_, only)]) = (spread.targets.as_slice(), replies.as_slice()) {
        return only.clone();
    }
    troubles.retain(|(_, it)| it.code != "not_found");
    let name = |target: &Onward| served.name(target.project);
    let list = replies.iter().map(|(target, it)| named(name(target), &it["structuredContent"]));
    let mut structured = Map::from_iter([(spread.spec.hits.to_string(), list.collect())]);
    structured.extend(unavailable(&troubles, served));
    let mut structured = Value::Object(structured);
    let room = if spread.is_json { spread.max_chars } else { spread.max_chars * 2 };
    shorten(&mut structured, room.max(SMALLEST_CHARS));
    let text = match spread.is_json {
        true => structured.to_string(),
        false => {
            let texts = replies.iter().map(|(target, it)| {
                let text = it["content"][0]["text"].as_str().unwrap_or_default();
                (clean(name(target)).into_owned(), text)
            });
            let troubles = troubles.iter().map(|(target, it)| it.line(name(target)) + "\n\n");
            troubles.collect::<String>() + &side_by_side(texts.collect(), spread.max_chars)
        }
    };
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured })
}

/// Joins texts below their headings within `max_chars` characters; a text that is too long is cut
/// after a whole line.
fn side_by_side(mut texts: Vec<(String, &str)>, max_chars: usize) -> String {
    let n_chars = |text: &str| text.chars().count();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| texts.get(*at).map_or(0, |it| n_chars(it.1)));
    let mut left = max_chars;
    let mut shares = vec![0; texts.len()];
    // The shortest first: the others share what it leaves.
    for (n, at) in order.iter().enumerate() {
        let Some((heading, text)) = texts.get(*at) else { continue };
        let around = n_chars(heading) + AROUND_CHARS;
        let share = (left / (order.len() - n)).min(n_chars(text) + around);
        left -= share;
        if let Some(it) = shares.get_mut(*at) {
            *it = share.saturating_sub(around);
        }
    }
    let blocks = texts
        .drain(..)
        .zip(shares)
        .map(|((heading, text), share)| format!("## [{heading}]\n{}", cut(text, share)));
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_string();
    }
    let room = max_chars.saturating_sub(CUT.chars().count());
    let kept: String = text.chars().take(room).collect();
    let whole = kept.rfind('\n').map_or("", |at| kept.get(..at).unwrap_or(""));
    format!("{whole}{CUT}")
}

/// Drops the ends of the longest lists in the answers until the whole has at most `max_chars`
/// characters.
fn shorten(structured: &mut Value, max_chars: usize) {
    while structured.to_string().chars().count() > max_chars {
        let answers = structured.as_object_mut().into_iter().flat_map(|it| it.values_mut());
        let fields = answers
            .filter_map(Value::as_array_mut)
            .flatten()
            .filter_map(Value::as_object_mut)
            .flat_map(|it| it.values_mut());
        let lists = fields.filter_map(Value::as_array_mut).filter(|list| !list.is_empty());
        let Some(longest) = lists.max_by_key(|list| json!(list).to_string().len()) else { return };
        longest.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_short_text_leaves_the_long_one_has() {
        let long = "word\n".repeat(100);
        let texts = vec![("alpha".to_string(), long.as_str()), ("beta".to_string(), "short")];
        let text = side_by_side(texts, 300);
        assert!(text.chars().count() <= 300 && text.ends_with("## [beta]\nshort"), "{text}");
        assert!(text.contains("word\n… (name the `project` for more)"), "{text}");
        assert!(text.matches("word").count() > 40, "{text}");
    }

    #[test]
    fn the_longest_lists_are_shortened() {
        let mut it = json!({"entities": [{"relations": vec!["x".repeat(50); 20], "facts": ["a"]}]});
        shorten(&mut it, 600);
        assert!(it.to_string().len() <= 600 && it["entities"][0]["facts"] == json!(["a"]), "{it}");
    }
}
