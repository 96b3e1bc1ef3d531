//! `note_history` and `restore_note`.
//!
//! In: a note, possibly a removed one. Out: its changes, from the kept versions and the ledger's
//! journal; a version; the restored note.
//! Invariants: an existing note takes precedence over a removed one, unless the path of the latter
//! is given; a name of several removed notes is refused, never guessed.

use std::sync::Arc;

use index::store::{ChangeLedger, DocChange};
use jiff::{Timestamp, Unit};
use notes::uri::SCHEME;
use proto::error::{Code, ErrorView};
use proto::tool::core;
use proto::tool::notes::{
    NoteChangeView, NoteHistory, NoteHistoryReply, RestoreNote, WrittenReply,
};

use super::read::window;
use super::write::reply_of;
use super::{path_of, path_to_change};
use crate::notes::{Names, NoteError, Past, Version, VersionText, Why};
use crate::project::Project;
use crate::serve::Progress;
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, invalid, unreadable, within};

/// Changes shown by default.
const USUAL_LIMIT: u32 = 20;

/// Most versions of one note that are read.
const MAX_READ: usize = 200;

/// Returns the changes of a note, or one of its versions.
pub async fn note_history(
    project: Arc<Project>,
    request: NoteHistory,
    _: Progress,
) -> Result<NoteHistoryReply, ErrorView> {
    let limit = request.limit.unwrap_or(USUAL_LIMIT);
    if !(1..=100).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 100"));
    }
    if request.diff.is_some() && request.version.is_none() {
        let hint = "give `version`, as `note_history` without it lists them";
        return Err(invalid("`diff` is of a version, and none is given".into(), hint));
    }
    let room = core::budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS) as usize;
    let found = path_of(&project, &request.path).await;
    let path = meant(&project, &request.path, found).await?;
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let journal = ChangeLedger::open(&project.state_dir).map_err(unreadable)?;
        let changes = journal.of_path(&path, snapshot.tick()).map_err(unreadable)?;
        let names = Names::of(&path, &changes);
        let mut reply = NoteHistoryReply {
            checksum: project.notes().read(&path).ok().map(|note| note.checksum),
            freshness: project.freshness(&snapshot),
            path,
            ..NoteHistoryReply::default()
        };
        if let Some(version) = &request.version {
            let text = project.notes().version_text(&names, version).map_err(refused)?;
            let VersionText { version, text, diff } = text;
            let text = if request.diff == Some(true) { diff } else { text };
            let (content, lines, next) = window(&text, 1, (request.from_line, None), room)?;
            (reply.content, reply.lines, reply.next_line) = (Some(content), Some(lines), next);
            reply.changes.push(kept_view(&version, &reply.path));
            return Ok(reply);
        }
        let past = project.notes().history(&names, MAX_READ).map_err(|error| error.view())?;
        reply.changes = joined(past, changes, &reply.path);
        reply.n_more = reply.changes.len().saturating_sub(limit as usize) as u32;
        reply.changes.truncate(limit as usize);
        Ok(reply)
    })
    .await
}

/// Restores a kept version of a note.
pub async fn restore_note(
    project: Arc<Project>,
    request: RestoreNote,
    who: Who,
) -> Result<WrittenReply, ErrorView> {
    let found = path_to_change(&project, &request.path).await;
    let path = meant(&project, &request.path, found).await?;
    let worker = project.clone();
    let written = blocking(move || {
        let names = worker.notes().names_of(&path).map_err(unreadable)?;
        let version = request.version.as_deref().unwrap_or("last");
        let expected = request.expected_checksum.as_deref();
        let restored = worker.notes().restore_for(&names, version, expected);
        let (mut written, version) = restored.map_err(refused)?;
        if written.checksum_before.is_some() && written.is_changed() {
            // The newest version: nobody else writes in between.
            let replaced = worker.notes().kept(Some(written.path.as_str()));
            let replaced = replaced.map_err(|error| error.view())?;
            let name = replaced.first().map_or("", |it| &it.at);
            let warning = format!("the note as it was until now is kept as version `{name}`");
            written.warnings.insert(0, warning);
        }
        if version.path != written.path.as_str() {
            let warning = format!("the version is of `{}`, where the note was then", version.path);
            written.warnings.push(warning);
        }
        Ok(written)
    })
    .await?;
    let action = if written.is_changed() { "restored" } else { "unchanged" };
    reply_of(&project, &who, action, written, Vec::new()).await
}

/// Returns the current or former path of the note that a caller names; `found` is the note that is there now.
async fn meant(
    project: &Arc<Project>,
    given: &str,
    found: Result<String, ErrorView>,
) -> Result<String, ErrorView> {
    let (worker, name) = (project.clone(), given.trim().trim_start_matches(SCHEME).to_string());
    let gone = blocking(move || Ok(worker.notes().gone_as(&within(&worker, name)))).await?;
    let is_exact = |path: &&String| given.trim().trim_start_matches("./") == path.as_str();
    if let Some(path) = gone.iter().find(is_exact) {
        return Ok(path.clone());
    }
    let missing = match found {
        Err(missing) if matches!(missing.code, Code::NotFound | Code::Refused) => missing,
        found => return found,
    };
    match gone.as_slice() {
        [] => Err(missing),
        [one] => Ok(one.clone()),
        several => {
            let paths: Vec<String> = several.iter().take(5).map(|it| format!("`{it}`")).collect();
            Err(ErrorView::hinted(
                Code::Ambiguous,
                format!("several notes that are gone are called `{}`", given.trim()),
                format!("give the path: {}", paths.join(", ")),
            ))
        }
    }
}

/// Converts an error; for a version that is not kept, the hint names the tool that lists them.
fn refused(error: NoteError) -> ErrorView {
    let is_unkept = matches!(error, NoteError::NotKept(_));
    let hint = is_unkept.then(|| "`note_history` lists the kept versions".to_string());
    let view = error.view();
    ErrorView { hint: hint.or(view.hint), ..view }
}

/// Merges kept versions and changes of the journal into one list, newest first: a version belongs
/// to the first later change that starts from its bytes. An `added` row after a version of the same
/// note is left out: the note existed, but was written before the first index had read it.
fn joined(past: Vec<Past>, mut changes: Vec<DocChange>, path: &str) -> Vec<NoteChangeView> {
    let mut rows: Vec<(Timestamp, NoteChangeView)> = Vec::new();
    // Oldest first, so that of equal bytes each version gets its own change.
    for it in past.into_iter().rev() {
        let at = it.version.time().unwrap_or_default();
        let follows = |change: &DocChange| {
            let is_before = change.before.as_ref().is_some_and(|it_was| it_was.hash == it.hash);
            is_before && change.at_ms >= at.as_millisecond()
        };
        let change = changes.iter().position(follows).map(|at| changes.remove(at));
        let is_nothing = it.version.why == Why::Replaced && (it.n_added, it.n_removed) == (0, 0);
        if is_nothing && change.is_none() {
            // Kept because a write failed, so it was never the note.
            continue;
        }
        let mut view = kept_view(&it.version, path);
        (view.n_added, view.n_removed) = (it.n_added, it.n_removed);
        view.tick = change.map(|it| it.tick.0);
        rows.push((at, view));
    }
    rows.extend(changes.into_iter().map(|it| {
        let at = Timestamp::from_millisecond(it.at_ms).unwrap_or_default();
        (at, journal_view(&it, path))
    }));
    rows.sort_by(|(one, a), (other, b)| (one, a.tick).cmp(&(other, b.tick)));
    let mut exists = false;
    rows.retain(|(_, row)| {
        let is_false = exists && row.kind == "added";
        exists = match row.kind.as_str() {
            "removed" => false,
            // Away from this path, where another note may have been added since.
            "moved" => row.was_path.is_some(),
            // A text that was never written.
            "refused" => exists,
            _ => true,
        };
        !is_false
    });
    rows.into_iter().rev().map(|(_, view)| view).collect()
}

fn kept_view(version: &Version, path: &str) -> NoteChangeView {
    let kind = match version.why {
        Why::Replaced => "changed",
        Why::Removed => "removed",
        Why::Moved => "moved",
        Why::Unwritten => "refused",
    };
    NoteChangeView {
        version: Some(version.at.clone()),
        at: version.time().map(shown).unwrap_or_default(),
        kind: kind.into(),
        by: version.by.clone(),
        was_path: (version.path != path).then(|| version.path.clone()),
        ..NoteChangeView::default()
    }
}

fn journal_view(change: &DocChange, path: &str) -> NoteChangeView {
    let kind = match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        (Some(before), Some(after)) if before.hash == after.hash => "moved",
        _ => "changed",
    };
    let n_removed = change.lines.iter().filter(|it| it.gone).count() as u64;
    let was_path = change.before.as_ref().map(|it| &it.path).filter(|it| *it != path);
    NoteChangeView {
        at: shown(Timestamp::from_millisecond(change.at_ms).unwrap_or_default()),
        kind: kind.into(),
        tick: Some(change.tick.0),
        n_added: change.lines.len() as u64 - n_removed,
        n_removed,
        was_path: was_path.cloned(),
        ..NoteChangeView::default()
    }
}

fn shown(at: Timestamp) -> String {
    at.round(Unit::Second).unwrap_or(at).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use index::store::DocVersion;
    use model::terms::Tick;

    use super::*;

    #[test]
    fn a_note_that_has_versions_was_not_added_after_them() {
        let version = |path: &str, hash: u8| DocVersion { path: path.into(), hash: vec![hash; 16] };
        let change = |tick: u64, before: Option<DocVersion>, after: DocVersion| DocChange {
            tick: Tick(tick),
            uid: "1".into(),
            at_ms: 1_000 * tick as i64,
            before,
            after: Some(after),
            is_unseen: false,
            lines: Vec::new(),
            n_more: 0,
        };
        let kept = |second: u32, path: &str, hash: u8, why: Why| Past {
            version: Version {
                path: path.into(),
                at: format!("19700101T0000{second:02}.000000Z"),
                uid: None,
                hash: String::new(),
                why,
                n_bytes: 0,
                file: PathBuf::new(),
                mode: None,
                by: None,
            },
            hash: [hash; 16],
            n_added: 1,
            n_removed: 1,
        };
        let kinds = |past: Vec<Past>, changes: Vec<DocChange>| {
            let rows = joined(past, changes, "b.md");
            rows.into_iter().map(|it| it.kind).collect::<Vec<_>>()
        };
        let moved = change(3, Some(version("a.md", 2)), version("b.md", 2));
        // Edited and moved while the first index was made: the edit was committed after the move began.
        let past = || vec![kept(1, "a.md", 2, Why::Moved), kept(0, "a.md", 1, Why::Replaced)];
        let added = change(2, None, version("a.md", 2));
        assert_eq!(kinds(past(), vec![added, moved]), ["moved", "changed"]);
        let added = change(2, None, version("b.md", 3));
        assert_eq!(kinds(Vec::new(), vec![added.clone()]), ["added"]);
        for (why, kind) in
            [(Why::Removed, "removed"), (Why::Moved, "moved"), (Why::Unwritten, "refused")]
        {
            let past = vec![kept(1, "b.md", 1, why)];
            assert_eq!(kinds(past, vec![added.clone()]), ["added", kind]);
        }
    }
}
