//! `write_note` and `delete_note`.

use std::path::Path;
use std::sync::Arc;

use config::command::operand;
use config::limits::KEPT_DAYS;
use notes::edit::{Change, NewNote, render_new};
use notes::filename::file_name;
use notes::resolve::permalink_key;
use notes::slug::slug;
use notes::uri::{self, Address, SCHEME};
use proto::error::{Code, ErrorView};
use proto::tool::notes::{
    ChangedLines, DeleteNote, NoteHistory, RestoreNote, WriteNote, WrittenReply,
};

use super::kept::{event_of, keep};
use super::{index, path_to_remove};
use crate::notes::{Notes, Overwrite, Written};
use crate::project::{Project, Reserved};
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, invalid, unreadable};
use ::index::store::Operation;
use model::terms::RelPath;
use query::browse;
use query::stated::{accepted, relations};

/// Most changed ranges of an edit that are returned, and most characters of each.
const MAX_CHANGES: usize = 50;
const MAX_CHANGE_CHARS: usize = 400;

/// Most unresolved link targets that are returned.
const MAX_UNRESOLVED: usize = 20;

/// Most backlinks that are counted.
pub(super) const MAX_COUNTED: usize = 1_000;

/// Writes a new note, or replaces a whole one.
pub async fn write_note(
    project: Arc<Project>,
    request: WriteNote,
    who: Who,
) -> Result<WrittenReply, ErrorView> {
    let folder = request.directory.clone().unwrap_or_default();
    let folder = super::super::within(&project, folder);
    // `/notes` is a folder of the project, as in `list_directory`; `/home/ann` is none.
    let first = folder.trim_start().strip_prefix('/').and_then(|it| it.split('/').next());
    if first.is_some_and(|it| !it.trim().is_empty() && Path::new("/").join(it.trim()).exists()) {
        return Err(crate::notes::NoteError::Outside(folder).view());
    }
    let folder = folder.trim().trim_start_matches("./").trim_matches('/').to_string();
    let name = file_name(&request.title);
    let worker = project.clone();
    let title = request.title.clone();
    let path = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let path = match folder.as_str() {
            "" | "." => name,
            folder => format!("{}/{name}", browse::spelled_folder(&snapshot, folder)?),
        };
        // With an unresolved path, the note would be found as its own namesake.
        let path = worker.notes().indexed_as(&path);
        Ok(browse::namesake(&snapshot, &title, &path)?.unwrap_or(path))
    })
    .await?;
    let mut metadata = request.metadata.clone().unwrap_or_default();
    let source_url = request.source_url.as_deref().map(str::trim).filter(|it| !it.is_empty());
    metadata.extend(source_url.map(|url| ("source_url".to_string(), url.into())));
    let stated = notes::parse::parse(&request.content).frontmatter;
    let stated = stated.map(|front| front.normalized()).unwrap_or_default();
    let is_named = |key: &str| key.trim().eq_ignore_ascii_case("permalink");
    let given = metadata.iter().chain(&stated).find(|(key, _)| is_named(key));
    // Until the index shows the note, no other one gets its permalink.
    let _reserved = if let Some(permalink) = given.and_then(|(_, value)| value.as_str()) {
        vec![check_permalink(&project, permalink, &path, &request.title).await?]
    } else if metadata.keys().chain(stated.keys()).any(|key| is_named(key)) {
        vec![]
    } else {
        let lasting = lasting_permalink(&project, &request.title, &path).await?;
        metadata.extend(lasting.permalink.map(|it| ("permalink".into(), it.into())));
        lasting.reserved
    };
    let new = NewNote {
        title: request.title.trim().to_string(),
        note_type: request.note_type.clone().filter(|it| !it.trim().is_empty()),
        tags: request.tags.clone().unwrap_or_default(),
        metadata,
        content: request.content.clone(),
    };
    let text = render_new(&new).map_err(|why| {
        invalid(
            why.to_string(),
            "title, type and tags are parameters; front matter is keys with values",
        )
    })?;
    let overwrite = if request.overwrite == Some(true) { Overwrite::Yes } else { Overwrite::No };
    let other_title = stated
        .get("title")
        .and_then(|it| it.as_str())
        .filter(|it| it.trim() != request.title.trim())
        .map(str::to_string);
    let worker = project.clone();
    let expected = request.expected_checksum.clone();
    let has_history = who.has::<NoteHistory>();
    let written = blocking(move || {
        let before = match overwrite {
            Overwrite::Yes => worker.notes().read(&path).ok(),
            Overwrite::No => None,
        };
        let written = worker.notes().write(&path, &text, overwrite, expected.as_deref());
        let mut written = written.map_err(|error| error.view())?;
        if let Some(other) = other_title {
            written.warnings.push(format!(
                "`title: {other}` of the content was left out: `title` of the request counts"
            ));
        }
        let gone = before.map(|before| keys_gone(&before.text, &text)).unwrap_or_default();
        if !gone.is_empty() {
            let gone = gone.join(", ");
            let has_it = if has_history { "`note_history`" } else { "`kgctl restore`" };
            let warning =
                format!("front matter that is gone: {gone}; {has_it} has it for {KEPT_DAYS} days");
            written.warnings.push(worker.in_commands(warning));
        }
        Ok(written)
    })
    .await?;
    let action = match (&written.checksum_before, written.is_changed()) {
        (None, _) => "created",
        (Some(_), true) => "overwritten",
        (Some(_), false) => "unchanged",
    };
    reply_of(&project, &who, action, written, Vec::new()).await
}

/// Reserves a permalink; refuses one that cannot be resolved, and one that is another file's address.
pub(super) async fn check_permalink(
    project: &Arc<Project>,
    permalink: &str,
    path: &str,
    title: &str,
) -> Result<Reserved, ErrorView> {
    // An empty one counts as none.
    let is_address =
        matches!(uri::parse(permalink), Ok(Address::Note(_))) && !permalink.contains(SCHEME);
    if !permalink.trim().is_empty() && !is_address {
        return Err(invalid(
            format!("invalid permalink `{permalink}`: nothing resolves to it"),
            "give words such as `projects/plan`: without `memory://`, `//`, `..`, `*` and < > \" | ?, and not `id/…`",
        ));
    }
    let reserved = project.reserve(permalink).await;
    let (worker, permalink) = (project.clone(), permalink.to_string());
    let (path, title) = (path.to_string(), title.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let bearer = snapshot.documents().bearer(&permalink_key(&permalink), &path, &title);
        match bearer.map_err(unreadable)? {
            None => Ok(reserved),
            Some(other) => Err(invalid(
                format!("`{permalink}` is the address of `{other}`"),
                "choose another `permalink`, or leave it out",
            )),
        }
    })
    .await
}

/// The result of [`lasting_permalink`].
#[derive(Default)]
pub(super) struct Lasting {
    /// The permalink that the note must state; `None` if no other note has its title.
    pub(super) permalink: Option<String>,
    /// Permalinks that others cannot take meanwhile.
    pub(super) reserved: Vec<Reserved>,
}

/// Returns the permalink that a note with this title must state, if another note has the title
/// already.
pub(super) async fn lasting_permalink(
    project: &Arc<Project>,
    title: &str,
    path: &str,
) -> Result<Lasting, ErrorView> {
    let find = || {
        let (worker, title, path) = (project.clone(), title.to_string(), path.to_string());
        blocking(move || {
            let snapshot = worker.snapshot().map_err(unreadable)?;
            Ok(browse::lasting_permalink(&snapshot, &title, &path)?)
        })
    };
    let mut reserved = vec![project.reserve(&slug(title)).await];
    let mut permalink = find().await?;
    // Another note that states the numbered permalink may be about to be indexed.
    while let Some(numbered) = &permalink {
        let also = project.reserve(numbered).await;
        let again = find().await?;
        if again == permalink {
            reserved.push(also);
            break;
        }
        permalink = again;
    }
    Ok(Lasting { permalink, reserved })
}

/// Returns the keys of the front matter that were removed.
fn keys_gone(before: &str, after: &str) -> Vec<String> {
    let keys = |text: &str| {
        let front = notes::parse::parse(text).frontmatter;
        front.map(|front| front.normalized()).unwrap_or_default()
    };
    let now = keys(after);
    keys(before).into_iter().map(|(key, _)| key).filter(|key| !now.contains_key(key)).collect()
}

/// Removes a note.
pub async fn delete_note(
    project: Arc<Project>,
    request: DeleteNote,
    who: Who,
) -> Result<WrittenReply, ErrorView> {
    if request.is_directory == Some(true) {
        return Err(ErrorView::hinted(
            Code::Refused,
            format!("`{}` is not deleted: a tool deletes single notes", request.path),
            "`list_notes` shows what is in a folder; a person deletes it as a whole",
        ));
    }
    let path = path_to_remove(&project, &request.path).await?;
    let worker = project.clone();
    let restores = match who.has::<RestoreNote>() {
        true => "`restore_note` takes".to_string(),
        false => project.in_commands(format!("`kgctl restore --at last {}` takes", operand(&path))),
    };
    let (written, event, title, n_backlinks) = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let found = super::named(&worker, &snapshot, &path).ok().filter(|it| it.path == path);
        let (title, n_backlinks) = match found {
            Some(found) => (
                browse::brief(&snapshot, found.doc)?.title,
                snapshot.notes().backlinks(found.doc, 0, MAX_COUNTED).map_err(unreadable)?.len(),
            ),
            None => (path.clone(), 0),
        };
        let event = event_of(&snapshot, &who, Operation::Delete, &path)?;
        let removed = worker.notes().remove(&path, request.expected_checksum.as_deref());
        Ok((removed.map_err(|error| error.view())?, event, title, n_backlinks))
    })
    .await?;
    // Before the index forgets it.
    event.settle(&project).await?;
    let mut warnings = index(&project, std::slice::from_ref(&written.path)).await?;
    warnings.extend(written.warnings);
    if n_backlinks > 0 {
        warnings.push(lost_links(n_backlinks));
    }
    warnings.push(format!("{restores} this back within {KEPT_DAYS} days"));
    Ok(WrittenReply {
        action: "deleted".into(),
        path: written.path.to_string(),
        title,
        warnings,
        freshness: project.freshness_now().map_err(unreadable)?,
        ..WrittenReply::default()
    })
}

/// Warns that links have lost their target.
pub(super) fn lost_links(n: usize) -> String {
    match n {
        1 => "1 link of another note leads nowhere now".into(),
        n => format!("{n} links in other notes now have no target"),
    }
}

/// Returns the result of a write, once the index shows it; `changed` only if a part of the note was
/// edited.
pub(super) async fn reply_of(
    project: &Arc<Project>,
    who: &Who,
    action: &str,
    written: Written,
    changed: Vec<ChangedLines>,
) -> Result<WrittenReply, ErrorView> {
    let mut warnings = written.warnings;
    if written.checksum_before.is_none() || written.checksum_before != written.checksum {
        warnings.extend(index(project, std::slice::from_ref(&written.path)).await?);
        let operation = match written.checksum_before {
            None => Operation::Create,
            Some(_) => Operation::Edit,
        };
        keep(project, who, operation, written.path.as_str()).await?;
    }
    let (worker, action, path) = (project.clone(), action.to_string(), written.path);
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let reply = WrittenReply {
            action,
            path: path.to_string(),
            checksum: written.checksum,
            changed,
            warnings,
            freshness: worker.freshness(&snapshot),
            ..WrittenReply::default()
        };
        let doc = snapshot.documents().at(path.as_str());
        let Ok(Some(doc)) = doc else { return Ok(WrittenReply { title: stem(&path), ..reply }) };
        let note = browse::brief(&snapshot, doc)?;
        let relations = relations(&worker.context(&snapshot), doc)?;
        let mut lead_nowhere: Vec<String> = Vec::new();
        for target in relations.iter().filter(|it| it.to.is_none()).map(|it| &it.target) {
            if lead_nowhere.len() < MAX_UNRESOLVED && !lead_nowhere.contains(target) {
                lead_nowhere.push(target.clone());
            }
        }
        Ok(WrittenReply {
            title: note.title,
            permalink: note.permalink,
            n_observations: accepted(&worker.context(&snapshot), doc)?.len() as u64,
            n_relations: relations.len() as u64,
            unresolved: lead_nowhere,
            ..reply
        })
    })
    .await
}

pub(super) fn stem(path: &RelPath) -> String {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_string()
}

/// Returns the lines that changes touched, before and after, as callers may see them.
pub(super) fn changed_lines(
    notes: &Notes,
    path: &str,
    before: &str,
    changes: &[Change],
) -> Vec<ChangedLines> {
    let clean = |text: &str| {
        let text = notes.shown(path, text);
        let cut: String = text.chars().take(MAX_CHANGE_CHARS).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    };
    let lines_of = |change: &Change| {
        let (line, after) = shown_at(before, change);
        let before = clean(before.get(change.span.clone()).unwrap_or(""));
        ChangedLines { line, before, after: clean(after) }
    };
    changes.iter().take(MAX_CHANGES).map(lines_of).collect()
}

/// Returns the line at which a change starts, and its new text: text appended after the last word
/// of a line starts on the next line, without the line break before it.
fn shown_at<'a>(before: &str, change: &'a Change) -> (u32, &'a str) {
    let start = before.get(..change.span.start).unwrap_or("");
    let rest = before.get(change.span.end..).unwrap_or("");
    let line = start.matches('\n').count() as u32 + 1;
    let is_behind_line = change.span.is_empty()
        && !start.is_empty()
        && !start.ends_with('\n')
        && (rest.is_empty() || rest.starts_with(['\r', '\n']));
    let added = change.replacement.strip_prefix("\r\n");
    match added.or_else(|| change.replacement.strip_prefix('\n')).filter(|_| is_behind_line) {
        Some(added) => (line + 1, added),
        None => (line, &change.replacement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_behind_a_line_begins_on_the_next() {
        let at = |at: usize, text: &str| Change { span: at..at, replacement: text.into() };
        for (before, change, expected) in [
            ("a\n", at(2, "\nb\n"), (2, "\nb\n")),
            ("a", at(1, "\n\nb\n"), (2, "\nb\n")),
            ("a\r\nc", at(1, "\r\nb"), (2, "b")),
            ("ac", at(1, "\nb"), (1, "\nb")),
            ("a", at(0, "\nb"), (1, "\nb")),
            ("a\nb", at(3, "c"), (2, "c")),
        ] {
            assert_eq!(shown_at(before, &change), expected, "{before:?} {change:?}");
        }
    }
}
