//! New notes: front matter and content as one text.
//!
//! In: title, type, tags, further keys, content. Out: `---`, the front matter, `---`, a blank line, the content.
//! Invariants: given values win; front matter at the start of the content stays as it is written, except for keys
//! that are also given. The note ends with a line end.

use serde_json::{Map, Value};

use super::front::split;
use super::lines::eol_at;
use super::{EditError, Op, apply, edit_all};

/// The content of a new note.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewNote {
    /// Its title.
    pub title: String,
    /// Its type; if `None`, the one in the content, otherwise `note`.
    pub note_type: Option<String>,
    /// Its tags, in addition to those in the content.
    pub tags: Vec<String>,
    /// Further keys of its front matter; not `title`, `type` and `tags`.
    pub metadata: Map<String, Value>,
    /// Its text. Front matter at its start becomes that of the note.
    pub content: String,
}

/// Returns the text of a new note.
///
/// # Errors
/// [`EditError`] for an invalid key or tag, and for content that begins with front matter that cannot be read.
pub fn render_new(new: &NewNote) -> Result<String, EditError> {
    let title = new.title.trim();
    if title.is_empty() {
        return Err(EditError::Empty("the title"));
    }
    if let Some(key) = new.metadata.keys().find(|key| is_given(key)) {
        let why = "it is given by itself";
        return Err(EditError::BadName { what: "further key", text: key.clone(), why });
    }
    let content = new.content.strip_prefix('\u{feff}').unwrap_or(&new.content);
    let stated = super::front::find(content)?.filter(|_| split(content).is_some());
    let set = |key: &str, value: Value| Op::SetKey { key: key.to_string(), value };
    let mut ops = vec![set("title", title.into())];
    let has_type =
        stated.as_ref().is_some_and(|front| front.map.contains_key(&front.name_of("type")));
    match &new.note_type {
        Some(note_type) => ops.push(set("type", note_type.as_str().into())),
        None if !has_type => ops.push(set("type", "note".into())),
        None => {}
    }
    if !new.tags.is_empty() {
        ops.push(Op::AddTags(new.tags.clone()));
    }
    ops.extend(new.metadata.iter().map(|(key, value)| set(key, value.clone())));
    let eol = eol_at(content, 0);
    let mut text = content.to_string();
    if stated.is_none() {
        // Exactly one blank line between front matter and body.
        text = format!("---{eol}---{eol}{eol}{text}");
    }
    let mut text = apply(&text, &edit_all(&text, &ops)?);
    if !text.ends_with('\n') {
        text.push_str(eol);
    }
    Ok(text)
}

fn is_given(key: &str) -> bool {
    ["title", "type", "tags"].iter().any(|given| key.trim().eq_ignore_ascii_case(given))
}
