//! Tags in front matter: adds and removes single tags in the form used there: a list in lines, a list in brackets, or
//! one string.
//!
//! In: a text and tags, with or without `#`. Out: changes of single tags.
//! Invariants: other tags, their order, quotes and comments stay; tags are compared without regard to case, as in
//! Obsidian; adding an existing tag or removing a missing one changes nothing.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::front::{self, Front, FrontEntry, Shape, walk_flow};
use super::lines::{eol_at, line_end, lines_of};
use super::yaml::{self, Quotes};
use super::{Change, EditError};

/// A tag as it is written.
struct Written {
    tag: String,
    /// Its bytes, including quotes.
    span: Range<usize>,
}

/// Adds tags.
pub(super) fn add(text: &str, tags: &[String]) -> Result<Vec<Change>, EditError> {
    let tags = clean(tags)?;
    let Some(front) = front::find(text)? else {
        let tags = distinct(&[], &tags);
        return if tags.is_empty() {
            Ok(vec![])
        } else {
            front::set_key(text, "tags", &json!(tags))
        };
    };
    let key = key_of(&front);
    let known = stated(&front, &key)?;
    let new = distinct(&known, &tags);
    if new.is_empty() {
        return Ok(vec![]);
    }
    // What the tags must be after the change; `checked` compares.
    let mut wanted = known;
    wanted.extend(new.iter().cloned());
    let Some(entry) = front.entry(&key)? else {
        let changes = vec![front.add(&key, &json!(new))?];
        return checked(&front, &key, changes, &wanted);
    };
    let eol = eol_at(text, entry.span.start);
    let changes = match front.shape(entry) {
        Shape::Empty => return front::set_key(text, &key, &json!(new)),
        Shape::Block { lines, indent } => {
            let items: String = new
                .iter()
                .map(|tag| format!("{eol}{}", yaml::item(&json!(tag), indent, eol)))
                .collect();
            vec![Change::insert(lines.end, items)]
        }
        Shape::Flow { token } => {
            let items = flow_items(text, &token);
            let new: Vec<_> =
                new.iter().map(|tag| yaml::scalar(&json!(tag), Quotes::Plain, true)).collect();
            match items.last() {
                // After the last item, so that its comments and the bracket stay.
                Some(last) => vec![Change::insert(last.span.end, format!(", {}", new.join(", ")))],
                None => vec![Change::new(token, format!("[{}]", new.join(", ")))],
            }
        }
        Shape::Scalar { token, quotes } => {
            let old = text.get(token.clone()).unwrap_or("");
            // Separate as the existing tags are: by blanks, if there are blanks and no commas.
            let separator =
                if !old.contains(',') && old.contains(char::is_whitespace) { " " } else { ", " };
            // Inside the closing quote, if there is one.
            let at = if quotes == Quotes::Plain { token.end } else { token.end - 1 };
            vec![Change::insert(at, format!("{separator}{}", new.join(separator)))]
        }
        Shape::Other { .. } => return Err(unknown_form(&key)),
    };
    checked(&front, &key, changes, &wanted)
}

/// Removes tags.
pub(super) fn remove(text: &str, tags: &[String]) -> Result<Vec<Change>, EditError> {
    let tags = clean(tags)?;
    let Some(front) = front::find(text)? else { return Ok(vec![]) };
    let key = key_of(&front);
    let known = stated(&front, &key)?;
    let is_gone = |tag: &str| tags.iter().any(|gone| same(gone, tag));
    let wanted: Vec<_> = known.iter().filter(|tag| !is_gone(tag)).cloned().collect();
    // Nothing to remove.
    if wanted.len() == known.len() {
        return Ok(vec![]);
    }
    let entry = front.entry(&key)?.ok_or_else(|| unknown_form(&key))?;
    let changes = match front.shape(entry) {
        Shape::Block { .. } => {
            let items = block_items(&front, entry);
            let gone = items.into_iter().filter(|(written, _)| is_gone(&written.tag));
            gone.map(|(_, line)| Change::new(line, "")).collect()
        }
        Shape::Flow { token } => without(&flow_items(text, &token), &token, is_gone),
        // Inside the quotes, if there are any.
        Shape::Scalar { token, quotes } => {
            let inner = match quotes {
                Quotes::Plain => token,
                _ => token.start + 1..token.end - 1,
            };
            // `around` includes one character on each side, as the brackets of a list.
            without(
                &words_of(text, &inner),
                &(inner.start.saturating_sub(1)..inner.end + 1),
                is_gone,
            )
        }
        Shape::Empty | Shape::Other { .. } => return Err(unknown_form(&key)),
    };
    checked(&front, &key, changes, &wanted)
}

fn unknown_form(key: &str) -> EditError {
    EditError::Frontmatter(format!(
        "`{key}` is written in a form that cannot be edited line by line"
    ))
}

/// Returns the existing tags, if the whole value consists of tags.
fn stated(front: &Front<'_>, key: &str) -> Result<Vec<String>, EditError> {
    let value = front.map.get(key);
    let is_part = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    match value {
        Some(Value::Array(items)) if !items.iter().all(is_part) => Err(unknown_form(key)),
        Some(Value::Object(_)) => Err(unknown_form(key)),
        value => Ok(tags_of(value)),
    }
}

/// Returns the key for tags: `tags`, or `tag` if only that exists.
fn key_of(front: &Front<'_>) -> String {
    let tags = front.name_of("tags");
    let tag = front.name_of("tag");
    if !front.map.contains_key(&tags) && front.map.contains_key(&tag) { tag } else { tags }
}

/// Returns the changes, if applying them gives exactly the wanted tags and leaves all other keys unchanged.
fn checked(
    front: &Front<'_>,
    key: &str,
    changes: Vec<Change>,
    wanted: &[String],
) -> Result<Vec<Change>, EditError> {
    let after = super::apply(front.text, &changes);
    let now = front::find(&after)?.map(|front| front.map).unwrap_or_default();
    let rest = |map: &Map<String, Value>| {
        let mut map = map.clone();
        map.shift_remove(key);
        map
    };
    if tags_of(now.get(key)) == wanted && rest(&now) == rest(&front.map) {
        Ok(changes)
    } else {
        Err(unknown_form(key))
    }
}

/// Returns tags without `#`; fails for text that would not be read back as one tag.
fn clean(tags: &[String]) -> Result<Vec<String>, EditError> {
    let clean = |tag: &String| {
        let bare = bare(tag);
        let why = if bare.is_empty() {
            "it is empty"
        } else if bare.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',') {
            "a tag has no blanks and commas in it"
        } else {
            return Ok(bare.to_string());
        };
        Err(EditError::BadName { what: "tag", text: tag.clone(), why })
    };
    tags.iter().map(clean).collect()
}

fn bare(tag: &str) -> &str {
    tag.trim().trim_start_matches('#').trim_end_matches('/')
}

fn same(one: &str, other: &str) -> bool {
    names::is_same(bare(one), bare(other))
}

/// Returns tags that are not known yet, each once.
fn distinct(known: &[String], tags: &[String]) -> Vec<String> {
    let mut new: Vec<String> = Vec::new();
    for tag in tags {
        if !known.iter().chain(&new).any(|it| same(it, tag)) {
            new.push(tag.clone());
        }
    }
    new
}

/// Returns the tags in a value, without `#`.
fn tags_of(value: Option<&Value>) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    let all: Vec<String> = match value {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(value) => text(value)
            .iter()
            .flat_map(|text| text.split(|c: char| c == ',' || c.is_whitespace()))
            .map(str::to_string)
            .collect(),
        None => vec![],
    };
    all.iter().map(|tag| bare(tag).to_string()).filter(|tag| !tag.is_empty()).collect()
}

/// Returns the tags in a string.
fn words_of(text: &str, part: &Range<usize>) -> Vec<Written> {
    let inner = text.get(part.clone()).unwrap_or("");
    let mut at = part.start;
    let mut out = Vec::new();
    for piece in inner.split_inclusive(|c: char| c == ',' || c.is_whitespace()) {
        let word = piece.trim_end_matches(|c: char| c == ',' || c.is_whitespace());
        if !word.is_empty() {
            out.push(Written { tag: bare(word).to_string(), span: at..at + word.len() });
        }
        at += piece.len();
    }
    out
}

/// Returns the items of a list in brackets.
fn flow_items(text: &str, token: &Range<usize>) -> Vec<Written> {
    let mut starts = vec![];
    let mut ends = vec![];
    walk_flow(text, token.clone(), |at, depth, byte| {
        match byte {
            b'[' if depth == 1 => starts.push(at + 1),
            b',' if depth == 1 => {
                ends.push(at);
                starts.push(at + 1);
            }
            b']' if depth == 0 => ends.push(at),
            _ => {}
        }
        true
    });
    let written = |(start, end): (usize, usize)| {
        let part = text.get(start..end).unwrap_or("");
        // Comments on lines of their own may precede an item.
        let skipped: usize = part
            .split_inclusive('\n')
            .take_while(|line| line.trim().is_empty() || line.trim_start().starts_with("# "))
            .map(str::len)
            .sum();
        let part = part.get(skipped..).unwrap_or("");
        let from = start + skipped + (part.len() - part.trim_start().len());
        let until = start + skipped + part.trim_end().len();
        let value = yaml::read(text.get(from..until)?).ok()?;
        let tag = tags_of(Some(&Value::Array(vec![value]))).pop()?;
        Some(Written { tag, span: from..until })
    };
    starts.into_iter().zip(ends).filter_map(written).collect()
}

/// Returns the items of a list in lines, with their lines.
fn block_items(front: &Front<'_>, entry: &FrontEntry) -> Vec<(Written, Range<usize>)> {
    let first = line_end(front.text, entry.span.start);
    let mut out = Vec::new();
    for line in lines_of(front.text, first..entry.span.end) {
        let Some(rest) = line.text.trim_start().strip_prefix('-') else { continue };
        let tag =
            yaml::read(rest).ok().and_then(|value| tags_of(Some(&Value::Array(vec![value]))).pop());
        if let Some(tag) = tag {
            let span = line.text_end() - rest.trim_start().len()..line.text_end();
            out.push((Written { tag, span }, line.span));
        }
    }
    out
}

/// Removes items, each run with one separator. `around` is the whole list including its brackets.
fn without(
    items: &[Written],
    around: &Range<usize>,
    is_gone: impl Fn(&str) -> bool,
) -> Vec<Change> {
    let mut out = Vec::new();
    let mut kept_before = None;
    let mut i = 0;
    while let Some(item) = items.get(i) {
        if !is_gone(&item.tag) {
            kept_before = Some(item.span.end);
            i += 1;
            continue;
        }
        let run = items.get(i..).unwrap_or(&[]).iter().take_while(|it| is_gone(&it.tag)).count();
        let next = items.get(i + run);
        let span = match (kept_before, next) {
            // Up to the next item, or from the previous one on: exactly one separator goes with the run.
            (_, Some(next)) => item.span.start..next.span.start,
            (Some(before), None) => {
                before..items.get(i + run - 1).map_or(before, |last| last.span.end)
            }
            (None, None) => around.start + 1..around.end - 1,
        };
        out.push(Change::new(span, ""));
        i += run;
    }
    out
}
