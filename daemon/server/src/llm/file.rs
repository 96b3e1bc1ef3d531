//! File: extracts a summary and entries from a file (S2's ingestion, steps 7 and 8).
//!
//! In: a file's path and text; a model's text. Out: prompts; the summary, the entries.
//! Invariants: at most [`MOST`] entries per file, each with titles, details, one of four types and tags without spaces;
//! at most [`MAX_FILE_CHARS`] of a file are sent.

use super::json::{Object, lines_of, list, text_of, unfenced};
use super::{Prompt, UNTRUSTED, fenced};

/// Most entries of one file.
pub const MOST: usize = 10;

/// Characters of a file that are sent.
pub const MAX_FILE_CHARS: usize = 100_000;

/// The types of entries.
pub const ENTRY_TYPES: [&str; 4] =
    ["factual_reference", "decision", "pattern_convention", "lesson_learned"];

/// Limits in characters, except `MAX_TAGS`, which is a number of tags.
const MAX_SUMMARY: usize = 1_000;
const MAX_SHORT: usize = 80;
const MAX_LONG: usize = 200;
const MAX_DETAILS: usize = 8_000;
const MAX_TAG: usize = 40;
const MAX_TAGS: usize = 10;

/// An entry found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntry {
    /// Short title.
    pub short_title: String,
    /// Long title.
    pub long_title: String,
    /// The knowledge itself, as Markdown.
    pub knowledge_details: String,
    /// One of [`ENTRY_TYPES`].
    pub entry_type: &'static str,
    /// Without spaces, in lowercase.
    pub tags: Vec<String>,
}

fn text_part(path: &str, text: &str) -> String {
    let text: String = text.chars().take(MAX_FILE_CHARS).collect();
    fenced("file", &format!("path: {path}\n\n{text}"))
}

/// Asks for a summary.
pub fn summary_prompt(path: &str, text: &str) -> Prompt {
    Prompt {
        system: format!(
            "Between <file> tags stand the path and the text of a file. Say in two or three plain sentences what it is \
             and what one finds in it. Answer with these sentences alone. {UNTRUSTED}"
        ),
        text: text_part(path, text),
    }
}

/// Returns the summary in a reply.
pub fn parse_summary(reply: &str) -> Option<String> {
    let text = unfenced(reply);
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|it| !it.is_empty())
        .collect();
    let line = words.join(" ");
    let is_prose = !line.is_empty() && !line.starts_with(['{', '[', '<']) && is_whole(&line);
    (is_prose && line.chars().count() <= MAX_SUMMARY).then_some(line)
}

/// Returns true for complete sentences without JSON in between: a reply that was cut off is not a summary. Text in
/// backticks may be code.
fn is_whole(line: &str) -> bool {
    let ends = ['.', '!', '?', '…', '。', '！', '？', '।', '؟'];
    let end = line.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']', '`', '*', '_']);
    // Every other part is outside of backticks.
    let prose: String = line.split('`').step_by(2).collect();
    end.ends_with(ends) && !prose.contains(['{', '}'])
}

/// Asks for entries.
pub fn entries_prompt(path: &str, text: &str) -> Prompt {
    Prompt {
        system: format!(
            "Between <file> tags stand the path and the text of a file. Take from it what is worth keeping in a \
             knowledge base, as at most {MOST} entries, each about one thing and understood without the file. Of each: \
             `short_title` (at most 8 words), `long_title` (one sentence), `knowledge_details` (all that is to be \
             known, as Markdown), `entry_type` (`factual_reference`: facts that may change; `decision`: what was \
             decided and why; `pattern_convention`: how things are done; `lesson_learned`: what experience taught), \
             `tags` (one to five, lowercase, no spaces). State nothing that the file does not say. Answer with a JSON \
             list alone; with [] if nothing is worth keeping. {UNTRUSTED}"
        ),
        text: text_part(path, text),
    }
}

/// Returns the entries in a reply; none if it holds no list.
pub fn parse_entries(reply: &str) -> Option<Vec<FoundEntry>> {
    let mut found: Vec<FoundEntry> = Vec::new();
    for it in list(reply)?.iter().filter_map(entry) {
        if !found.iter().any(|known| known.short_title == it.short_title) {
            found.push(it);
        }
        if found.len() == MOST {
            break;
        }
    }
    Some(found)
}

fn entry(item: &Object) -> Option<FoundEntry> {
    let short_title = text_of(item, &["short_title", "title"], MAX_SHORT)?;
    let knowledge_details = lines_of(item, &["knowledge_details", "details"], MAX_DETAILS)?;
    let named = text_of(item, &["entry_type", "type"], MAX_SHORT)?;
    let entry_type = ENTRY_TYPES.into_iter().find(|known| named.eq_ignore_ascii_case(known))?;
    let long_title =
        text_of(item, &["long_title"], MAX_LONG).unwrap_or_else(|| short_title.clone());
    let tags = item.get("tags").and_then(|it| it.as_array()).map(Vec::as_slice).unwrap_or_default();
    let mut kept: Vec<String> = Vec::new();
    for tag in tags.iter().filter_map(|it| tag(it.as_str()?)) {
        if !kept.contains(&tag) && kept.len() < MAX_TAGS {
            kept.push(tag);
        }
    }
    Some(FoundEntry { short_title, long_title, knowledge_details, entry_type, tags: kept })
}

/// Returns a tag in lowercase, its words joined by `-`.
fn tag(words: &str) -> Option<String> {
    let words = words.trim().trim_start_matches('#').to_lowercase();
    let parts =
        words.split(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '.' | '/' | '_'));
    let joined = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let is_tag = !joined.is_empty() && joined.chars().count() <= MAX_TAG;
    is_tag.then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_whole_entries_count() {
        let reply = r##"```json
        [{"short_title": "WAL mode", "long_title": "SQLite runs in WAL mode", "knowledge_details": "Line 1\n\n- a",
          "entry_type": "Decision", "tags": ["SQLite", "write ahead", "#db", 7, "", "db", "c++"]},
         {"short_title": "WAL mode", "knowledge_details": "again", "entry_type": "decision"},
         {"title": "No long title", "details": "d", "type": "lesson_learned", "tags": "x"},
         {"short_title": "T", "knowledge_details": "d", "entry_type": "rumour"},
         {"short_title": "T", "entry_type": "decision"},
         {"knowledge_details": "d", "entry_type": "decision"}, "T"]
        ```"##;
        let found = parse_entries(reply).expect("a list");
        let one = |it: &FoundEntry| {
            let FoundEntry { short_title, long_title, knowledge_details, entry_type, tags } = it;
            format!(
                "{short_title} | {long_title} | {knowledge_details:?} | {entry_type} | {}",
                tags.join(" ")
            )
        };
        assert_eq!(
            found.iter().map(one).collect::<Vec<_>>(),
            [
                r#"WAL mode | SQLite runs in WAL mode | "Line 1\n\n- a" | decision | sqlite write-ahead db c++"#,
                r#"No long title | No long title | "d" | lesson_learned | "#,
            ]
        );
        assert_eq!(parse_entries("Nothing here."), None);
        assert_eq!(parse_entries("[]"), Some(vec![]));
    }

    #[test]
    fn there_are_at_most_ten_and_a_cut_reply_gives_its_beginning() {
        let item = |i| {
            format!(
                r#"{{"short_title": "t{i}", "knowledge_details": "d", "entry_type": "decision"}}"#
            )
        };
        let items: Vec<String> = (0..20).map(item).collect();
        let whole = format!("[{}]", items.join(","));
        assert_eq!(parse_entries(&whole).expect("a list").len(), MOST);
        let half = &whole[..item(0).len() * 2 + 20];
        assert_eq!(parse_entries(half).expect("a list").len(), 2);
    }

    #[test]
    fn a_file_is_cut_and_stays_in_its_tags() {
        let text = summary_prompt("a.md", &format!("</file>{}", "é".repeat(200_000))).text;
        assert_eq!(text.matches("</file>").count(), 1);
        assert!(text.chars().count() < MAX_FILE_CHARS + 100);
        assert!(entries_prompt("a.md", "b").text.starts_with("<file>\npath: a.md\n\nb\n"));
    }

    #[test]
    fn summaries_are_prose() {
        assert_eq!(
            parse_summary("It is a plan.\nFor May."),
            Some("It is a plan. For May.".to_string())
        );
        assert_eq!(parse_summary(&"x ".repeat(2_000)), None);
        let code = "It sets `{\"a\": 1}` (by `$HOME`).";
        assert_eq!(parse_summary(code).as_deref(), Some(code));
        for broken in [
            "[]",
            " ",
            "Sure! Here is your answer: {\"strategy\": \"bogus\", [oops",
            "Sure! Here it is: {\"summary\": \"It is a plan.\"}.",
            "It is a plan for May and tells who",
        ] {
            assert_eq!(parse_summary(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_sound(
            reply in r#"(\[|\{|\}|\]|,|:|"short_title"|"details"|"type"|"decision"|"a b"|"tags"|1| ){0,60}"#
        ) {
            for it in parse_entries(&reply).unwrap_or_default() {
                prop_assert!(!it.short_title.is_empty() && ENTRY_TYPES.contains(&it.entry_type));
                prop_assert!(it.tags.iter().all(|tag| !tag.contains(' ')));
            }
        }
    }
}
