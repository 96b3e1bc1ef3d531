//! Taken: what a note takes over from other notes by moving: links to them, and their permalink.
//!
//! In: the current index, a note and its new path. Out: the links that would resolve to another
//! note, and a warning about permalinks.

use notes::parse::{LinkKind, Note};
use notes::resolve::{By, Candidate, Keys, choose, file_key};
use notes::slug::slug;
use notes::uri::SCHEME;

use super::moving::MAX_BACKLINKS;
use super::write::stem;
use index::store::Snapshot;
use model::terms::RelPath;
use query::AskError;

/// A link that would resolve to another note.
pub(super) struct Taken {
    /// The note that contains it, before the move.
    pub at: String,
    /// Its kind and target.
    pub written: (LinkKind, String),
    /// The path of its current target.
    pub leads_to: String,
}

/// Returns the links to another note that would resolve to this one at `to`, and those of this note
/// that would resolve to a third one, which is nearer there.
pub(super) fn links(
    snapshot: &Snapshot,
    doc: i64,
    from: &str,
    to: &str,
) -> Result<Vec<Taken>, AskError> {
    let mut taken = Vec::new();
    let key = file_key(to);
    for link in snapshot.notes().links_by_file_name(&key, MAX_BACKLINKS)? {
        let (Some(leads_to), false) = (link.to_path, link.to == Some(doc)) else { continue };
        let by = if file_key(&leads_to) == key { By::FileName } else { By::Title };
        let moved = Candidate { path: to, by: By::FileName };
        let both = [Candidate { path: &leads_to, by }, moved];
        let written = (link.kind, link.target);
        let at = if link.from_path == from { to } else { &link.from_path };
        if choose(at, written.0, &written.1, &both) == Some(1) {
            taken.push(Taken { at: link.from_path, written, leads_to });
        }
    }
    for link in snapshot.notes().links(doc)? {
        let (Some(_), Some(leads_to)) = (Keys::of(to, link.kind, &link.target), link.to_path)
        else {
            continue;
        };
        let written = (link.kind, link.target);
        let there = snapshot.documents().linked(to, written.0, &written.1)?;
        if link.to != Some(doc) && there != link.to {
            taken.push(Taken { at: link.from_path, written, leads_to });
        }
    }
    Ok(taken)
}

/// Returns a warning if the note would take over the permalink of another one: of notes with one
/// title, the one in the fewest folders has it, and a number that is a title goes to the note with
/// that title.
pub(super) fn address(
    snapshot: &Snapshot,
    from: &str,
    to: &str,
    note: &Note,
) -> Result<Option<String>, AskError> {
    if note.permalink.is_some() {
        return Ok(None);
    }
    let base = slug(&note.title.clone().unwrap_or_else(|| stem(&RelPath::new(to.to_string()))));
    let other = snapshot.permalinks().derived(&base, from)?;
    let order = |path: &str| (path.matches('/').count(), path.to_string());
    let taken = other.filter(|(other, its)| *its != base || order(to) < order(other));
    Ok(taken.map(|(other, _)| {
        format!(
            "`{SCHEME}{base}` is the address of `{other}`, and will be this note's: state `permalink` in one of them"
        )
    }))
}
