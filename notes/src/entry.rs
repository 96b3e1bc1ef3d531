//! Entry: a note as an entry of the knowledge base (S2).
//!
//! In: the front matter of a note, or the data of a new entry. Out: [`Entry`], the text of a new note, or the
//! smallest changes of an existing one.
//! Shape: `kb-00042-the-title.md` with front matter `id`, `title` (the short one), `long_title`, `entry_type`,
//! `project`, `tags`, `confidence`, `hints`, `supersedes`, `active`; the text below it are the details.
//! Invariants: handwritten values are read leniently, as long as their meaning is clear; missing keys are not
//! written; an edit of the details changes only the lines that differ.

use serde_json::{Map, Value};

use crate::edit::{Change, EditError, Op, apply, edit_all};
use crate::parse::{add_tag, frontmatter, names, scalar_text};
use crate::slug::slug;

/// Prefix of ids.
const PREFIX: &str = "kb-";

/// Fewest digits of an id in running text, and most digits of any.
const DIGITS: (usize, usize) = (5, 12);

/// Longest part of a file name that comes from the title, in characters.
const MAX_SLUG_CHARS: usize = 60;

/// Keys for when a note was created and when it was changed, in order of precedence.
const CREATED: [&str; 3] = ["created", "created_at", "date"];
const UPDATED: [&str; 4] = ["updated", "updated_at", "modified", "last_modified"];

/// An entry as its note states it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// Its number.
    pub id: Option<u64>,
    /// The short title.
    pub short_title: Option<String>,
    /// The long one.
    pub long_title: Option<String>,
    /// What kind of knowledge it is.
    pub entry_type: Option<String>,
    /// The project that it belongs to.
    pub project: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Structured hints, except those with keys of their own.
    pub hints: Map<String, Value>,
    /// Confidence at the time of writing, 0 to 1.
    pub confidence: Option<f64>,
    /// Numbers of the entries that it supersedes.
    pub supersedes: Vec<u64>,
    /// Numbers of the entries that superseded it.
    pub superseded_by: Vec<u64>,
    /// Where the knowledge came from, in words.
    pub source_context: Option<String>,
    /// The file that it was taken from.
    pub extracted_from: Option<String>,
    /// False when it is inactive.
    pub is_active: bool,
    /// When it was created, as written: a day or a time.
    pub created: Option<String>,
    /// When it was changed, as written.
    pub updated: Option<String>,
    /// Values that make no sense, with their keys, for warnings.
    pub odd: Vec<(&'static str, String)>,
}

/// The data of a new entry, or the changes of an existing one. `None` leaves a value alone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntryEdit {
    /// The short title.
    pub short_title: Option<String>,
    /// The long one.
    pub long_title: Option<String>,
    /// The details.
    pub details: Option<String>,
    /// What kind of knowledge it is.
    pub entry_type: Option<String>,
    /// The project; an empty one removes it.
    pub project: Option<String>,
    /// All its tags.
    pub tags: Option<Vec<String>>,
    /// Its hints. Missing ones stay as they are; an empty value (null, an empty text or list) removes one.
    /// `supersedes` and `superseded_by` are written to keys of their own.
    pub hints: Option<Map<String, Value>>,
    /// The confidence.
    pub confidence: Option<f64>,
    /// Where the knowledge came from.
    pub source_context: Option<String>,
    /// The file that it was taken from.
    pub extracted_from: Option<String>,
    /// True when it is active.
    pub is_active: Option<bool>,
}

/// Formats an id: `kb-00042` for 42.
pub fn id_text(number: u64) -> String {
    format!("{PREFIX}{number:05}")
}

/// Parses an id: `kb-00042`, in any case, with fewer digits, or at the beginning of a file name.
pub fn number_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let name = text.rsplit('/').next().unwrap_or(text);
    let rest = name.get(..PREFIX.len()).filter(|it| it.eq_ignore_ascii_case(PREFIX));
    let rest = rest.and_then(|_| name.get(PREFIX.len()..))?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, behind) = rest.split_at_checked(end)?;
    let is_whole = behind.is_empty() || behind.starts_with(['-', '.']);
    (is_whole && (1..=DIGITS.1).contains(&digits.len())).then(|| digits.parse().ok()).flatten()
}

/// Returns the numbers of the entries that a text refers to as `kb-00042`, each once, in order.
pub fn references(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    // Only at a word's beginning and end: `xkb-00042` and `kb-00042b` are not references.
    for (at, _) in text.match_indices(['k', 'K']) {
        let is_inside = |c: char| c.is_alphanumeric() || c == '_';
        if text.get(..at).and_then(|before| before.chars().next_back()).is_some_and(is_inside) {
            continue;
        }
        let Some(rest) = text.get(at..at + PREFIX.len()) else { continue };
        if !rest.eq_ignore_ascii_case(PREFIX) {
            continue;
        }
        let digits = text.get(at + PREFIX.len()..).unwrap_or("");
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (digits, behind) = digits.split_at(end);
        let is_whole = !behind.starts_with(is_inside);
        let number =
            digits.parse().ok().filter(|_| is_whole && (DIGITS.0..=DIGITS.1).contains(&end));
        if let Some(number) = number.filter(|it| !found.contains(it)) {
            found.push(number);
        }
    }
    found
}

/// Returns the file name of a new entry.
pub fn file_name(number: u64, short_title: &str) -> String {
    let slug: String = slug(short_title).chars().take(MAX_SLUG_CHARS).collect();
    format!("{}-{}.md", id_text(number), slug.trim_end_matches('-'))
}

/// Reads an entry from front matter, also from its normalized form, in which all values are strings.
pub fn of(values: &Map<String, Value>) -> Entry {
    let found =
        |name: &str| values.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|it| it.1);
    let text = |name: &str| found(name).and_then(scalar_text).filter(|it| !it.is_empty());
    let mut tags = Vec::new();
    if let Some(value) = found("tags").or(found("tag")) {
        let mut stated = Vec::new();
        names(value, |c| c == ',' || c.is_whitespace(), &mut stated);
        stated.iter().for_each(|tag| add_tag(&mut tags, tag));
    }
    let mut hints = match found("hints") {
        Some(Value::Object(hints)) => hints.clone(),
        _ => Map::new(),
    };
    let mut numbers = |name: &str| {
        // A hint with this name counts as the key, and is removed from the hints.
        let mut numbers = found(name).map(numbers_of).unwrap_or_default();
        numbers.extend(hints.shift_remove(name).as_ref().map(numbers_of).unwrap_or_default());
        let mut once = Vec::new();
        for number in numbers {
            if !once.contains(&number) {
                once.push(number);
            }
        }
        once
    };
    let (supersedes, superseded_by) = (numbers("supersedes"), numbers("superseded_by"));
    let stated = text("confidence").or(text("confidence_level"));
    let number = |it: &String| it.parse::<f64>().ok().filter(|it| (0.0..=1.0).contains(it));
    let confidence = stated.as_ref().and_then(number);
    let mut odd = Vec::new();
    let mut warn = |key: &'static str, is_odd: fn(&Value) -> bool| {
        if let Some(value) = found(key).filter(|it| !is_nothing(it) && is_odd(it)) {
            odd.push((key, scalar_text(value).unwrap_or_else(|| value.to_string())));
        }
    };
    // Collected rather than failing: an entry with one odd value is still an entry.
    warn("entry_type", |it| scalar_text(it).is_none());
    warn("hints", |it| !it.is_object());
    warn("active", |it| scalar_text(it).is_none_or(|it| !is_no(&it) && !is_yes(&it)));
    for key in ["supersedes", "superseded_by"] {
        warn(key, |it| !names_entries_only(it));
    }
    for key in CREATED.into_iter().chain(UPDATED) {
        warn(key, |it| scalar_text(it).is_none());
    }
    odd.extend(stated.filter(|_| confidence.is_none()).map(|it| ("confidence", it)));
    Entry {
        id: text("id").and_then(|id| number_of(&id)),
        short_title: text("title").or(text("short_title")),
        long_title: text("long_title"),
        entry_type: text("entry_type"),
        project: text("project").or(text("project_ref")),
        tags,
        hints,
        confidence,
        odd,
        supersedes,
        superseded_by,
        source_context: text("source_context"),
        extracted_from: text("extracted_from"),
        is_active: !text("active").is_some_and(|it| is_no(&it)),
        created: CREATED.iter().find_map(|key| text(key)),
        updated: UPDATED.iter().find_map(|key| text(key)),
    }
}

fn is_yes(text: &str) -> bool {
    ["true", "yes", "on", "1"].iter().any(|yes| text.eq_ignore_ascii_case(yes))
}

/// True for an empty value.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn is_no(text: &str) -> bool {
    ["false", "no", "off", "0"].iter().any(|no| text.eq_ignore_ascii_case(no))
}

/// Returns the numbers that a value refers to: one id, a list of ids, or several in one string.
fn numbers_of(value: &Value) -> Vec<u64> {
    names_of(value).iter().filter_map(|id| number_of(id)).collect()
}

/// Returns whether a value refers to entries and to nothing else: one id, a list of ids, or several in one string.
pub fn names_entries_only(value: &Value) -> bool {
    match value {
        Value::String(_) => names_of(value).iter().all(|id| number_of(id).is_some()),
        Value::Array(items) => items.iter().all(|it| it.is_string() && names_entries_only(it)),
        value => value.is_null(),
    }
}

/// Returns the ids in a value as strings.
fn names_of(value: &Value) -> Vec<String> {
    let mut ids = Vec::new();
    names(value, |c| c == ',' || c.is_whitespace(), &mut ids);
    ids
}

/// Returns the details of an entry: the text below its front matter, without blank lines around it.
pub fn details(text: &str) -> &str {
    let body = frontmatter(text).map_or(0, |front| front.body);
    let body = text.get(body..).unwrap_or("");
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let start = body.len() - body.trim_start_matches(['\n', '\r', ' ', '\t']).len();
    // Keep the indentation of the first line, which may be code.
    let start = body.get(..start).and_then(|it| it.rfind('\n')).map_or(0, |at| at + 1);
    body.get(start..).unwrap_or("").trim_end()
}

/// Returns the text of a new entry's note.
///
/// # Errors
/// [`EditError`] for values that cannot be written to front matter.
pub fn render(number: u64, new: &EntryEdit) -> Result<String, EditError> {
    let details = new.details.as_deref().unwrap_or("").trim();
    let text = format!("---\n---\n\n{details}\n");
    let mut ops = vec![set("id", id_text(number).into())];
    ops.extend(ops_of(new));
    Ok(apply(&text, &edit_all(&text, &ops)?))
}

/// Returns the changes of an entry's note.
///
/// # Errors
/// [`EditError`] when the front matter cannot be edited.
pub fn change(text: &str, edit: &EntryEdit) -> Result<Vec<Change>, EditError> {
    let mut edit = edit.clone();
    let stated = frontmatter(text).map(|front| of(&front.values)).unwrap_or_default();
    // If the long title only repeats the short one, remove it when the short one changes.
    if edit.short_title.is_some()
        && edit.long_title.is_none()
        && stated.long_title == stated.short_title
    {
        edit.long_title = stated.long_title.map(|_| String::new());
    }
    // Merge with the existing hints, since the key is written as a whole.
    if let Some(given) = edit.hints.take() {
        let mut hints = stated.hints;
        hints.extend(given);
        edit.hints = Some(hints);
    }
    let edit = &edit;
    let mut changes = edit_all(text, &ops_of(edit))?;
    if let Some(new) = &edit.details {
        changes.extend(body_change(text, new));
    }
    Ok(changes)
}

fn set(key: &str, value: Value) -> Op {
    Op::SetKey { key: key.to_string(), value }
}

fn set_or_remove(key: &str, value: &str) -> Op {
    match value.trim() {
        "" => Op::RemoveKey(key.to_string()),
        value => set(key, value.into()),
    }
}

/// Returns the edits of the front matter, in the order of keys in a new note.
fn ops_of(edit: &EntryEdit) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut put = |key: &str, value: &Option<String>| {
        ops.extend(value.as_ref().map(|value| set_or_remove(key, value)));
    };
    put("title", &edit.short_title);
    put("long_title", &edit.long_title);
    put("entry_type", &edit.entry_type);
    put("project", &edit.project);
    if let Some(tags) = &edit.tags {
        ops.push(match tags.is_empty() {
            true => Op::RemoveKey("tags".into()),
            false => set("tags", tags.clone().into()),
        });
    }
    ops.extend(edit.confidence.map(|it| set("confidence", it.into())));
    if let Some(hints) = &edit.hints {
        let mut hints = hints.clone();
        for key in ["supersedes", "superseded_by"] {
            // Missing from the hints: the key stays as it is, since it is stored outside of them.
            let Some(value) = hints.shift_remove(key) else { continue };
            let ids: Vec<Value> =
                numbers_of(&value).into_iter().map(|it| id_text(it).into()).collect();
            ops.push(match ids.is_empty() {
                true => Op::RemoveKey(key.into()),
                false => set(key, ids.into()),
            });
        }
        hints.retain(|_, value| !is_nothing(value));
        ops.push(match hints.is_empty() {
            true => Op::RemoveKey("hints".into()),
            false => set("hints", Value::Object(hints)),
        });
    }
    let mut put = |key: &str, value: &Option<String>| {
        ops.extend(value.as_ref().map(|value| set_or_remove(key, value)));
    };
    put("source_context", &edit.source_context);
    put("extracted_from", &edit.extracted_from);
    ops.extend(edit.is_active.map(|it| set("active", it.into())));
    ops
}

/// Returns one change that covers the lines of the details that differ.
fn body_change(text: &str, new: &str) -> Option<Change> {
    let old = details(text);
    // `old` is a slice of `text`, so this is its offset.
    let start = old.as_ptr() as usize - text.as_ptr() as usize;
    let crlf = text.contains("\r\n");
    let new = new.trim_end();
    let new = new.replace("\r\n", "\n");
    let new = new.trim_start_matches('\n');
    let new = if crlf { new.replace('\n', "\r\n") } else { new.to_string() };
    if old == new {
        return None;
    }
    // Whole lines in common at the start and at the end; what is between them is replaced.
    let prefix: usize = old
        .split_inclusive('\n')
        .zip(new.split_inclusive('\n'))
        .take_while(|(a, b)| a == b)
        .map(|(line, _)| line.len())
        .sum();
    let (old_rest, new_rest) = (old.get(prefix..)?, new.get(prefix..)?);
    let suffix: usize = old_rest
        .rsplit('\n')
        .zip(new_rest.rsplit('\n'))
        .take_while(|(a, b)| a == b)
        .map(|(line, _)| line.len() + 1)
        .sum();
    let suffix = suffix.min(old_rest.len()).min(new_rest.len());
    // The suffix was counted with a line end before each line; the first line of the rest has none.
    let span = start + prefix..start + old.len() - suffix;
    let mut replacement = new_rest.get(..new_rest.len() - suffix)?.to_string();
    // The details begin right after the closing `---`, which has no line end.
    if text.get(..start).is_some_and(|before| !before.is_empty() && !before.ends_with('\n')) {
        replacement.insert(0, '\n');
    }
    if start + old.len() == text.len() && suffix == 0 && !replacement.is_empty() {
        replacement.push_str(if crlf { "\r\n" } else { "\n" });
    }
    Some(Change { span, replacement })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn new() -> EntryEdit {
        EntryEdit {
            short_title: Some("WAL mode".into()),
            long_title: Some("SQLite runs in WAL mode: why".into()),
            details: Some("Readers do not block.\n\nSee kb-00007.".into()),
            entry_type: Some("decision".into()),
            project: Some("kgd".into()),
            tags: Some(vec!["sqlite".into(), "db".into()]),
            hints: json!({"supersedes": "kb-00003", "person": ["Ada"],
                "related_entities": [{"id": "tool:sqlite", "type": "about"}, "concept:wal"]})
            .as_object()
            .cloned(),
            confidence: Some(0.9),
            is_active: Some(true),
            ..EntryEdit::default()
        }
    }

    #[test]
    fn an_entry_is_a_note_that_people_can_read() {
        let text = render(42, &new()).expect("rendered");
        expect![[r#"
            ---
            id: kb-00042
            title: WAL mode
            long_title: "SQLite runs in WAL mode: why"
            entry_type: decision
            project: kgd
            tags:
              - sqlite
              - db
            confidence: 0.9
            supersedes:
              - kb-00003
            hints:
              person:
                - Ada
              related_entities:
                - id: tool:sqlite
                  type: about
                - concept:wal
            active: true
            ---

            Readers do not block.

            See kb-00007.
        "#]]
        .assert_eq(&text);
        let front = frontmatter(&text).expect("front matter");
        for values in [front.values.clone(), front.normalized()] {
            let entry = of(&values);
            assert_eq!((entry.id, entry.confidence, entry.is_active), (Some(42), Some(0.9), true));
            assert_eq!(
                (entry.supersedes, entry.tags),
                (vec![3], vec!["sqlite".into(), "db".into()])
            );
            assert_eq!(entry.hints.keys().collect::<Vec<_>>(), ["person", "related_entities"]);
        }
        assert_eq!(details(&text), "Readers do not block.\n\nSee kb-00007.");
        assert_eq!(file_name(42, "WAL mode!"), "kb-00042-wal-mode.md");
    }

    #[test]
    fn an_edit_changes_only_what_differs() {
        let text = "---\n# by hand\nid: kb-1\ntitle: 'A'   # kept\nconfidence: .5\n---\none\ntwo\n\nthree\n\n";
        let edit = EntryEdit {
            details: Some("one\n2\n\nthree".into()),
            confidence: Some(0.7),
            ..EntryEdit::default()
        };
        let changes = change(text, &edit).expect("changed");
        let after = apply(text, &changes);
        assert_eq!(
            after,
            "---\n# by hand\nid: kb-1\ntitle: 'A'   # kept\nconfidence: 0.7\n---\none\n2\n\nthree\n\n"
        );
        assert_eq!(changes.last().map(|it| it.replacement.as_str()), Some("2"));
        assert!(change(&after, &edit).expect("nothing").is_empty());
    }

    #[test]
    fn hints_that_are_left_out_stay() {
        let text = "---\nid: kb-1\nsupersedes:\n  - kb-00003\nhints:\n  person: Ada\n  tool: Cargo\n---\nx\n";
        let hinted = |hints: Value| {
            let edit = EntryEdit { hints: hints.as_object().cloned(), ..EntryEdit::default() };
            let after = apply(text, &change(text, &edit).expect("changed"));
            let entry = of(&frontmatter(&after).expect("front matter").values);
            (Value::Object(entry.hints), entry.supersedes)
        };
        let both = json!({"person": "Ada", "tool": "Cargo"});
        assert_eq!(hinted(json!({})), (both.clone(), vec![3]));
        assert_eq!(hinted(json!({"supersedes": "kb-4"})), (both.clone(), vec![4]));
        assert_eq!(hinted(json!({"supersedes": []})), (both, vec![]));
        let other = json!({"person": "Ada", "tool": "Git"});
        assert_eq!(hinted(json!({"tool": "Git"})), (other, vec![3]));
        assert_eq!(hinted(json!({"tool": null})), (json!({"person": "Ada"}), vec![3]));
        assert_eq!(hinted(json!({"tool": "", "person": []})), (json!({}), vec![3]));
    }

    #[test]
    fn what_people_write_by_hand_is_understood() {
        let text = "---\nID: KB-7\ntitle: T\nactive: no\nsupersedes: kb-00001, kb-2\ntags: a, b\nhints: none\n---\n";
        let entry = of(&frontmatter(text).expect("front matter").values);
        assert_eq!((entry.id, entry.is_active), (Some(7), false));
        assert_eq!((entry.supersedes, entry.tags.len()), (vec![1, 2], 2));
        assert_eq!(entry.odd, [("hints", "none".to_string())]);
        let odd = "---\nid: kb-7\nentry_type: [decision]\nsupersedes: [kb-1, nope]\nhints: 7\nactive: maybe\n\
                   updated: [2026]\nconfidence: 7\ncreated:\n---\n";
        let odd = of(&frontmatter(odd).expect("front matter").values).odd;
        let keys: Vec<&str> = odd.iter().map(|it| it.0).collect();
        let all = ["entry_type", "hints", "active", "supersedes", "updated", "confidence"];
        assert_eq!(keys, all, "{odd:?}");
        for (text, number) in [
            ("kb-00042", Some(42)),
            ("KB-42", Some(42)),
            ("kb/kb-00042-a-title.md", Some(42)),
            ("kb-00042x", None),
            ("kb-", None),
            ("tag:kb-1", None),
            ("kb-9999999999999", None),
        ] {
            assert_eq!(number_of(text), number, "{text}");
        }
    }

    #[test]
    fn references_are_whole_ids() {
        let text = "As kb-00001 and KB-00002 say, [[kb-00003-title]], kb-00001; not akb-00004, kb-12, kb-00005x.";
        assert_eq!(references(text), [1, 2, 3]);
        assert!(references("k kb- é").is_empty());
    }

    proptest! {
        #[test]
        fn details_become_what_was_asked_for(old in "[ab\n]{0,12}", new in "[ab\n]{0,12}", tail in "\n{0,2}") {
            let text = format!("---\nid: kb-1\n---\n{old}{tail}");
            let edit = EntryEdit { details: Some(new.clone()), ..EntryEdit::default() };
            let after = apply(&text, &change(&text, &edit).expect("changed"));
            let wanted = format!("---\nid: kb-1\n---\n{new}");
            prop_assert_eq!(details(&after), details(&wanted), "{:?}", &after);
            prop_assert!(after.starts_with("---\nid: kb-1\n---\n"));
        }
    }
}
