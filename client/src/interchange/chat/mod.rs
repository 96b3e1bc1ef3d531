//! Chat: turns conversations of ChatGPT and Claude into notes, one per conversation.
//!
//! In: an export (`source.rs`). Out: `conversations/TITLE.md` with front matter and a section for each turn.
//! Invariants: one conversation is in memory at a time; a message is kept as it is, but cannot end its section or
//! swallow the next (`body.rs`); a conversation is identified by its id, so it is written once.

mod body;
mod chatgpt;
mod claude;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;

use notes::edit::{NewNote, render_new};
use notes::filename::file_name;
use notes::plain;
use serde_json::{Map, Value};

use super::elements::{Elements, Found, value};
use super::moment::shown;
use super::{Added, Format, InterchangeError, NoteSink, Report, Source};

/// The folder of the notes, below the target folder.
pub const FOLDER: &str = "conversations";

/// The front matter key for the id of a conversation.
const ID: &str = "source_id";

/// The front matter key for the time of the last change.
const UPDATED: &str = "updated";

/// Longest title, characters; the daemon cuts longer ones.
const MAX_TITLE_CHARS: usize = 200;

/// Longest id, characters.
const MAX_ID_CHARS: usize = 200;

/// Largest note that the daemon reads with default settings, bytes.
const MAX_NOTE_BYTES: usize = 2_000_000;

/// One conversation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Conversation {
    id: String,
    title: String,
    created: Option<String>,
    updated: Option<String>,
    turns: Vec<Turn>,
    /// Omitted parts, by kind and number.
    left_out: BTreeMap<String, u64>,
}

/// One message.
#[derive(Debug, Default, PartialEq, Eq)]
struct Turn {
    speaker: String,
    at: Option<String>,
    /// Markdown.
    text: String,
    /// Names of attached files and pictures.
    attached: Vec<String>,
}

impl Conversation {
    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_string()).or_default() += 1;
    }

    /// Adds a turn unless it is empty.
    fn add_turn(&mut self, turn: Turn) {
        if !turn.text.trim().is_empty() || !turn.attached.is_empty() {
            self.turns.push(turn);
        }
    }
}

/// Parses a conversation in one of these formats.
///
/// # Errors
/// Why it is not a conversation.
fn conversation(value: &Value, format: Option<Format>) -> Result<(Format, Conversation), String> {
    let found = format_of(value).ok_or("no conversation: neither `mapping` nor `chat_messages`")?;
    match format {
        Some(wanted) if wanted != found => Err(format!("a conversation of {}", found.name())),
        _ if found == Format::ChatGpt => Ok((found, chatgpt::read(value)?)),
        _ => Ok((found, claude::read(value)?)),
    }
}

/// Returns the format of a conversation.
pub fn format_of(value: &Value) -> Option<Format> {
    match (value.get("mapping"), value.get("chat_messages")) {
        (Some(_), _) => Some(Format::ChatGpt),
        (None, Some(_)) => Some(Format::Claude),
        _ => None,
    }
}

/// Imports every conversation of an export.
///
/// # Errors
/// When there is no export, or the folder cannot be read; problems of single conversations are in the report.
pub fn import(
    source: &Source,
    format: Format,
    sink: &mut NoteSink,
    dry_run: bool,
    report: &mut Report,
) -> Result<(), InterchangeError> {
    let path = sink.root().join(FOLDER).display().to_string();
    let mut importer =
        Importer::open(sink, dry_run).map_err(|source| InterchangeError::Io { path, source })?;
    source.each(&mut |name, reader| read_file(name, reader, format, &mut importer, report))
}

fn read_file(
    name: &str,
    reader: &mut dyn Read,
    format: Format,
    importer: &mut Importer<'_>,
    report: &mut Report,
) {
    for found in Elements::new(reader) {
        let (line, bytes) = match found {
            Found::Item { line, bytes } => (line, bytes),
            Found::Broken { line, why } => {
                let hint =
                    "what stands before it was imported; download the export again for the rest";
                report.trouble(format!("{name}:{line}"), why, hint);
                continue;
            }
        };
        let value = match value(line, &bytes) {
            Ok(value) => value,
            Err((line, why)) => {
                let hint = "this conversation was left out; the others were read";
                report.trouble(format!("{name}:{line}"), why, hint);
                continue;
            }
        };
        // An item may have many megabytes; do not hold both forms.
        drop(bytes);
        // Some tools wrap the list in an object.
        let wrapped = value.get("conversations").and_then(Value::as_array);
        for value in wrapped.map_or(std::slice::from_ref(&value), Vec::as_slice) {
            match conversation(value, Some(format)) {
                Ok((_, it)) => importer.take(&format!("{name}:{line}"), format, it, report),
                Err(why) => {
                    let hint = "give the export of this program as it was downloaded";
                    report.trouble(format!("{name}:{line}"), why, hint);
                }
            }
        }
    }
}

/// Writes conversations as notes.
struct Importer<'a> {
    sink: &'a mut NoteSink,
    dry_run: bool,
    /// File and last change of each conversation that already has a note.
    known: HashMap<String, (String, Option<String>)>,
    taken: HashSet<String>,
}

impl<'a> Importer<'a> {
    fn open(sink: &'a mut NoteSink, dry_run: bool) -> std::io::Result<Self> {
        let (mut known, mut taken) = (HashMap::new(), HashSet::new());
        for name in sink.names(FOLDER)? {
            // Case-insensitive file systems would take `A.md` and `a.md` for the same file.
            taken.insert(names::fold(&name));
            let text = sink.read(FOLDER, &name)?.unwrap_or_default();
            let Some(front) = notes::parse::frontmatter(&text) else { continue };
            let stated = |key: &str| front.values.get(key)?.as_str().map(str::to_string);
            if let Some(id) = stated(ID) {
                known.insert(id, (name, stated(UPDATED)));
            }
        }
        Ok(Importer { sink, dry_run, known, taken })
    }

    fn take(&mut self, at: &str, format: Format, it: Conversation, report: &mut Report) {
        report.count("conversations read");
        report.add("turns read", it.turns.len() as u64);
        for (what, n) in &it.left_out {
            report.add(&format!("left out: {what}"), *n);
        }
        let n_attached: usize = it.turns.iter().map(|turn| turn.attached.len()).sum();
        report.add("attachments named, not copied", n_attached as u64);
        // An existing note is never rewritten: its owner may have edited it.
        if let Some((file, updated)) = self.known.get(&it.id) {
            report.count("notes already there");
            if *updated != it.updated {
                let what = format!(
                    "`{FOLDER}/{file}` already exists, and the conversation has continued since; remove the note to \
                     import it anew"
                );
                report.remark(at, what);
            }
            return;
        }
        if it.turns.is_empty() {
            return report.remark(at, format!("`{}` is empty: no note", it.title));
        }
        let text = match render(&it, format) {
            Ok(text) => text,
            Err(why) => return report.trouble(at, why, "look at this conversation in the export"),
        };
        let file = self.file_for(&it);
        let path = format!("{FOLDER}/{file}");
        if text.len() > MAX_NOTE_BYTES {
            report
                .remark(at, format!("`{path}` has {} bytes, too large to be indexed", text.len()));
        }
        let added = if self.dry_run {
            Ok(Added::New)
        } else {
            self.sink.add(FOLDER, &file, text.as_bytes())
        };
        match added {
            // Known from now on, so that a repetition later in the export is not written again.
            Ok(Added::New) => {
                self.known.insert(it.id, (file, it.updated));
                report.note(path);
            }
            Ok(Added::There) => {
                report.trouble(path, "was created by another program just now", "import again")
            }
            Err(error) => {
                report.trouble(path, format!("cannot be written: {error}"), "import again")
            }
        }
    }

    fn file_for(&mut self, it: &Conversation) -> String {
        // Title, then title and the id's start, then numbers: names stay short and stable.
        let head: String = it.id.chars().take(8).collect();
        let numbered = (2..).map(|n| file_name(&format!("{} {head} {n}", it.title)));
        let plain = [file_name(&it.title), file_name(&format!("{} {head}", it.title))];
        let mut names = plain.into_iter().chain(numbered);
        names.find(|name| self.taken.insert(names::fold(name))).unwrap_or_default()
    }
}

fn render(it: &Conversation, format: Format) -> Result<String, String> {
    let mut metadata = Map::new();
    let stated = [("created", it.created.as_ref()), (UPDATED, it.updated.as_ref())];
    for (key, value) in stated {
        if let Some(value) = value {
            metadata.insert(key.to_string(), value.as_str().into());
        }
    }
    metadata.insert("imported_from".to_string(), format.name().into());
    metadata.insert(ID.to_string(), it.id.as_str().into());
    let mut content = String::new();
    for turn in &it.turns {
        let gap = if content.is_empty() { "" } else { "\n" };
        let at = turn.at.as_deref().map(|at| format!(", {}", shown(at))).unwrap_or_default();
        content += &format!("{gap}## {}{at}\n", plain::encoded(&turn.speaker));
        let text = body::contained(&turn.text);
        if !text.is_empty() {
            content += &format!("\n{text}\n");
        }
        if !turn.attached.is_empty() {
            let names: Vec<String> = turn.attached.iter().map(|it| plain::encoded(it)).collect();
            content += &format!("\nAttached: {}\n", names.join(", "));
        }
    }
    let note_type = Some("conversation".to_string());
    let title = it.title.clone();
    let new = NewNote { title, note_type, tags: Vec::new(), metadata, content };
    render_new(&new).map_err(|error| error.to_string())
}

/// Returns a title on one line, of limited length, that is not a link.
fn title_of(value: Option<&Value>) -> String {
    let words = value.and_then(Value::as_str).unwrap_or("");
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ").replace("[[", "[ [");
    let title: String = words.chars().take(MAX_TITLE_CHARS).collect();
    let title = title.trim();
    if title.is_empty() { "Untitled conversation".to_string() } else { title.to_string() }
}

/// Returns the id of a conversation: the export's id, else title and time.
fn id_of(value: &Value, keys: &[&str], it: &Conversation) -> String {
    let stated = keys.iter().find_map(|key| value.get(*key)?.as_str());
    // Without an id, title and time identify a conversation across imports.
    let id = stated.map(str::trim).filter(|id| !id.is_empty()).map(str::to_string);
    let id = id
        .unwrap_or_else(|| format!("{} {}", it.created.as_deref().unwrap_or("undated"), it.title));
    let id: String = id.chars().filter(|c| !c.is_control()).take(MAX_ID_CHARS).collect();
    id.replace("[[", "[ [")
}

/// Returns a text as a block of code, whatever it contains.
fn code(language: &str, text: &str) -> String {
    let is_language =
        language.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-#_.".contains(&byte));
    let language = if is_language && language != "unknown" { language } else { "" };
    // A fence must be longer than any run of backticks inside.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests;
