//! Resources: notes, and facts about the project, in MCP's form for people who attach things.
//!
//! In: a project and one view of its index. Out: addresses (`memory://PERMALINK`, [`INFO`]), their
//! texts, and which watched ones changed.
//! Invariants: secrets are replaced with marks; pages follow paths, so a cursor survives changes
//! elsewhere; a client that watches nothing costs nothing.
//! Not here: MCP's own types (`session/offers.rs`).

use std::collections::BTreeMap;

use notes::uri::SCHEME;
use proto::error::{Code, ErrorView};
use rusqlite::{OptionalExtension, params};
use serde_json::json;

use crate::notes::NoteError;
use crate::project::Project;
use crate::serve::tool::invalid;
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
    let mut statement = snapshot
        .prepare_cached(
            "SELECT n.permalink, d.title, d.path, d.n_bytes FROM docs d JOIN notes n ON n.doc_id = d.id
             WHERE n.permalink IS NOT NULL AND d.path > ?1 ORDER BY d.path LIMIT ?2",
        )
        .map_err(AskError::from)?;
    let rows = statement
        .query_map(params![behind, PAGE as i64 + 1], |row| {
            Ok(Offered {
                uri: format!("{SCHEME}{}", row.get::<_, String>(0)?),
                title: row.get(1)?,
                path: row.get(2)?,
                n_bytes: row.get::<_, i64>(3)?.max(0) as u64,
            })
        })
        .map_err(AskError::from)?;
    let mut found: Vec<Offered> = rows.collect::<Result<_, _>>().map_err(AskError::from)?;
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
    if !uri.starts_with(SCHEME) {
        let shown: String = uri.chars().filter(|c| !c.is_control()).take(100).collect();
        return Err(ErrorView {
            code: Code::NotFound,
            message: format!("no resource `{shown}`"),
            hint: Some(format!("resources are `{INFO}` and `memory://PERMALINK`")),
            conflict: None,
        });
    }
    let doc = address::document(snapshot, uri)?;
    let (path, is_note): (String, bool) = snapshot
        .query_row(
            "SELECT path, EXISTS (SELECT 1 FROM notes WHERE doc_id = ?1) FROM docs WHERE id = ?1",
            [doc],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(AskError::from)?;
    if !is_note {
        let text = "SELECT text FROM docs WHERE id = ?1";
        let text = snapshot.query_row(text, [doc], |row| row.get(0)).map_err(AskError::from)?;
        return Ok((cut(text), true));
    }
    let note = match project.notes().read(&path) {
        Err(NoteError::NotText(_) | NoteError::NoFolder { .. }) => {
            let text = "SELECT text FROM docs WHERE id = ?1";
            let text = snapshot.query_row(text, [doc], |row| row.get(0)).map_err(AskError::from)?;
            return Ok((cut(text), true));
        }
        note => note.map_err(|error| error.view())?,
    };
    Ok((cut(project.notes().shown(&path, &note.text)), true))
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
    let count =
        |sql: &str| -> Result<i64, AskError> { Ok(snapshot.query_row(sql, [], |row| row.get(0))?) };
    let settled = project.settled();
    let freshness = project.freshness(snapshot);
    let info = json!({
        "project": project.name,
        "path": project.root.display().to_string(),
        "write": project.settings.write,
        "documents": count("SELECT count(*) FROM docs")?,
        "notes": count("SELECT count(*) FROM notes")?,
        "entities": count("SELECT count(*) FROM entities WHERE status = 'active'")?,
        "observations": count("SELECT count(*) FROM observations")?,
        "links": count("SELECT count(*) FROM note_links")?,
        "unresolved_links": count("SELECT count(*) FROM note_links WHERE dst IS NULL AND rel IS NOT NULL")?,
        "quarantine": count("SELECT count(*) FROM quarantine")?,
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
    // Uses only the index over permalinks. The sum may stay the same by chance, so a rare change
    // goes unnoticed.
    let sql = "SELECT count(permalink), coalesce(sum(doc_id % 1000003 * (length(permalink) + 7 * unicode(permalink)
                 + 31 * unicode(substr(permalink, -1)))), 0) FROM notes";
    let now = snapshot.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(now.map_err(AskError::from)?)
}

/// Returns the state of the file that an address names; for the project, its last commit.
fn note_now(snapshot: &Snapshot, uri: &str) -> Result<Option<Vec<u8>>, ErrorView> {
    if uri == INFO {
        return Ok(Some(snapshot.tick().0.to_le_bytes().to_vec()));
    }
    let Ok(doc) = address::document(snapshot, uri) else { return Ok(None) };
    let row = snapshot
        .query_row("SELECT path, hash FROM docs WHERE id = ?1", [doc], |row| {
            let (path, hash): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            Ok([path.into_bytes(), hash].concat())
        })
        .optional();
    Ok(row.map_err(AskError::from)?)
}

/// Returns the permalinks that contain the typed text, prefix matches first, and their number.
pub(super) fn permalinks_like(
    snapshot: &Snapshot,
    typed: &str,
    most: usize,
) -> Result<(Vec<String>, usize), ErrorView> {
    let typed = notes::resolve::fold(typed.trim().trim_start_matches(SCHEME));
    let mut statement = snapshot
        .prepare_cached(
            "SELECT permalink FROM notes WHERE permalink IS NOT NULL AND instr(permalink, ?1) > 0
             ORDER BY instr(permalink, ?1) > 1, permalink",
        )
        .map_err(AskError::from)?;
    let rows = statement.query_map([&typed], |row| row.get(0)).map_err(AskError::from)?;
    let all: Vec<String> = rows.collect::<Result<_, _>>().map_err(AskError::from)?;
    let n = all.len();
    Ok((all.into_iter().take(most).collect(), n))
}

/// Returns the titles of notes and the tags that start with the typed text, or contain it.
pub(super) fn topics_like(
    snapshot: &Snapshot,
    typed: &str,
    most: usize,
) -> Result<(Vec<String>, usize), ErrorView> {
    let typed = notes::resolve::fold(typed.trim());
    let mut statement = snapshot
        .prepare_cached(
            "SELECT name FROM (SELECT d.title AS name, n.key AS key FROM doc_names n JOIN docs d ON d.id = n.doc_id
               WHERE n.kind = ?2
             UNION SELECT '#' || tag, '#' || tag FROM doc_tags)
             WHERE instr(key, ?1) > 0 GROUP BY name ORDER BY instr(key, ?1) > 2, length(name), name",
        )
        .map_err(AskError::from)?;
    let by_title = notes::resolve::By::Title as i64;
    let rows =
        statement.query_map(params![typed, by_title], |row| row.get(0)).map_err(AskError::from)?;
    let all: Vec<String> = rows.collect::<Result<_, _>>().map_err(AskError::from)?;
    let n = all.len();
    Ok((all.into_iter().take(most).collect(), n))
}
