//! Resources: notes, and facts about the project, in MCP's form for people who attach things.
//!
//! In: a project and one view of its index. Out: addresses (`memory://PERMALINK`, [`INFO`]), their
//! texts, and which watched ones changed.
//! Invariants: secrets are replaced with marks; pages follow paths, so a cursor survives changes
//! elsewhere; a client that watches nothing costs nothing.

use std::collections::BTreeMap;

use notes::uri::SCHEME;
use proto::error::{Code, ErrorView};
use serde_json::json;

use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::read::{Addressed, Read};
use index::store::Snapshot;
use query::{AskError, address};

/// The address of the facts about the project (S0 §6.3).
pub(super) const INFO: &str = "kgd://project_info";

/// Notes per page.
const PAGE: usize = 100;

/// Longest text of a resource, bytes; a longer one is cut at a line, with a notice.
const MAX_BYTES: usize = 1 << 20;

/// A note that may be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    /// `memory://…`.
    pub(super) uri: String,
    pub(super) title: String,
    pub(super) path: String,
    pub(super) n_bytes: u64,
}

impl From<Addressed> for Offered {
    fn from(Addressed { permalink, title, path, n_bytes }: Addressed) -> Self {
        Offered { uri: format!("{SCHEME}{permalink}"), title, path, n_bytes }
    }
}

/// Prefix of a path in a cursor.
const BEHIND: &str = "behind:";

/// Returns a page of notes after the path of a cursor, and the cursor of the next page.
pub(super) fn list(
    snapshot: &Snapshot,
    cursor: Option<&str>,
) -> Result<(Vec<Offered>, Option<String>), ErrorView> {
    let behind = match cursor {
        None => "",
        Some(cursor) => cursor.strip_prefix(BEHIND).ok_or_else(|| {
            let hint = "give `nextCursor` of the page before, or none";
            invalid("`cursor` is not from a page of this list".into(), hint)
        })?,
    };
    let notes = snapshot.permalinks().after(behind, PAGE + 1).map_err(AskError::from)?;
    let mut found: Vec<Offered> = notes.into_iter().map(Offered::from).collect();
    let has_more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found.last().filter(|_| has_more).map(|last| format!("{BEHIND}{}", last.path));
    Ok((found, next))
}

/// Returns the text at an address, and whether it is Markdown rather than JSON.
pub(super) fn read(
    project: &Project,
    snapshot: &Snapshot,
    uri: &str,
) -> Result<(String, bool), ErrorView> {
    if uri == INFO {
        return Ok((info(project, snapshot)?, false));
    }
    let missing = || {
        let shown: String = uri.chars().filter(|c| !c.is_control()).take(100).collect();
        ErrorView::hinted(
            Code::NotFound,
            format!("no resource `{shown}`"),
            format!("resources are `{INFO}` and `memory://PERMALINK`"),
        )
    };
    if !uri.starts_with(SCHEME) {
        return Err(missing());
    }
    let doc = address::document(snapshot, uri)?;
    let document = snapshot.documents().get(doc).map_err(AskError::from)?.ok_or_else(missing)?;
    if document.is_note {
        match project.notes().read(&document.path) {
            Err(NoteError::NotText(_) | NoteError::NoFolder { .. }) => {}
            Err(error) => return Err(error.view()),
            Ok(note) => {
                return Ok((cut(project.notes().shown(&document.path, &note.text)), true));
            }
        }
    }
    let text = snapshot.documents().text(doc).map_err(AskError::from)?;
    Ok((cut(text.unwrap_or_default()), true))
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let end = text.floor_char_boundary(MAX_BYTES);
        let end = text.get(..end).and_then(|it| it.rfind('\n')).map_or(end, |at| at + 1);
        text.truncate(end);
        text.push_str("\n… cut here; `read_note` goes on with `from_line`\n");
    }
    text
}

/// Returns the project, its counts, and the progress of indexing (S0 §6.3).
fn info(project: &Project, snapshot: &Snapshot) -> Result<String, ErrorView> {
    let counts = snapshot.counts().of_project().map_err(AskError::from)?;
    let settled = project.settled();
    let freshness = project.freshness(snapshot);
    let info = json!({
        "project": project.name,
        "path": project.root.display().to_string(),
        "write": project.settings.write,
        "documents": counts.documents,
        "notes": counts.notes,
        "entities": counts.entities,
        "observations": counts.observations,
        "links": counts.links,
        "unresolved_links": counts.unresolved_links,
        "quarantine": counts.quarantine,
        "tick": freshness.tick,
        "building": freshness.building,
        "searchable": settled.searchable,
        "resolved": settled.resolved,
        "version": proto::version(),
    });
    Ok(format!("{info:#}"))
}

/// The watched resources, with their state at the last check.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The list of notes: their number, and a checksum of their permalinks.
    list: Option<(i64, i64)>,
    /// Addresses, with the state of the file; `None` while there is no such note.
    notes: BTreeMap<String, Option<Vec<u8>>>,
}

/// Changes since the last check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) is_list_changed: bool,
    pub(super) updated: Vec<String>,
}

impl Watched {
    /// Starts watching the list of notes.
    pub(super) fn watch_list(&mut self, snapshot: &Snapshot) -> Result<(), ErrorView> {
        self.list = Some(list_now(snapshot)?);
        Ok(())
    }

    /// Starts watching an address.
    pub(super) fn watch(&mut self, snapshot: &Snapshot, uri: &str) -> Result<(), ErrorView> {
        let now = note_now(snapshot, uri)?;
        self.notes.insert(uri.to_string(), now);
        Ok(())
    }

    /// Stops watching an address.
    pub(super) fn forget(&mut self, uri: &str) {
        self.notes.remove(uri);
    }

    /// Returns whether nothing is watched.
    pub(super) fn is_idle(&self) -> bool {
        self.list.is_none() && self.notes.is_empty()
    }

    /// Returns how many addresses are watched.
    pub(super) fn n_notes(&self) -> usize {
        self.notes.len()
    }

    /// Returns the changes since the last call.
    pub(super) fn look(&mut self, snapshot: &Snapshot) -> Result<Changes, ErrorView> {
        let mut changes = Changes::default();
        if let Some(before) = self.list {
            let now = list_now(snapshot)?;
            changes.is_list_changed = now != before;
            self.list = Some(now);
        }
        for (uri, before) in &mut self.notes {
            let now = note_now(snapshot, uri)?;
            if now != *before {
                *before = now;
                changes.updated.push(uri.clone());
            }
        }
        Ok(changes)
    }
}

fn list_now(snapshot: &Snapshot) -> Result<(i64, i64), ErrorView> {
    // The sum may stay the same by chance, so a rare change goes unnoticed.
    Ok(snapshot.permalinks().checksum().map_err(AskError::from)?)
}

/// Returns the state of the file that an address names; for the project, its last commit.
fn note_now(snapshot: &Snapshot, uri: &str) -> Result<Option<Vec<u8>>, ErrorView> {
    if uri == INFO {
        return Ok(Some(snapshot.tick().0.to_le_bytes().to_vec()));
    }
    let Ok(doc) = address::document(snapshot, uri) else { return Ok(None) };
    let file = snapshot.files().of(doc).map_err(AskError::from)?;
    Ok(file.map(|it| [it.path.as_bytes(), &it.hash.0.to_le_bytes()].concat()))
}

/// Returns the permalinks that contain the typed text, prefix matches first, and their number.
pub(super) fn permalinks_like(
    snapshot: &Snapshot,
    typed: &str,
    most: usize,
) -> Result<(Vec<String>, usize), ErrorView> {
    let typed = notes::resolve::fold(typed.trim().trim_start_matches(SCHEME));
    first(snapshot.permalinks().containing(&typed), most)
}

/// Returns the titles of notes and the tags that start with the typed text, or contain it.
pub(super) fn topics_like(
    snapshot: &Snapshot,
    typed: &str,
    most: usize,
) -> Result<(Vec<String>, usize), ErrorView> {
    let typed = notes::resolve::fold(typed.trim());
    first(snapshot.permalinks().topics_containing(&typed), most)
}

fn first(all: Read<Vec<String>>, most: usize) -> Result<(Vec<String>, usize), ErrorView> {
    let mut all = all.map_err(AskError::from)?;
    let n = all.len();
    all.truncate(most);
    Ok((all, n))
}
