//! `edit_note`.

use std::sync::Arc;

use notes::edit::Op;
use proto::error::ErrorView;
use proto::tool::notes::{EditNote, EditOperation, WrittenReply};

use super::write::{
    Lasting, MAX_COUNTED, changed_lines, check_permalink, lasting_permalink, lost_links, reply_of,
    stem,
};
use super::{named, path_to_change};
use crate::project::{Project, Reserved};
use crate::serve::routes::Who;
use crate::serve::tool::{blocking, invalid, unreadable};
use model::terms::RelPath;

/// Changes a part of a note.
pub async fn edit_note(
    project: Arc<Project>,
    request: EditNote,
    who: Who,
) -> Result<WrittenReply, ErrorView> {
    let op = operation(&request)?;
    let path = path_to_change(&project, &request.path).await?;
    // Until the index shows the new name, no other note may get it.
    let (address, _reserved) = match &op {
        Some(op) => address(&project, op, &path).await?,
        None => (None, vec![]),
    };
    let lasting = address.as_ref().and_then(|op| match op {
        Op::SetKey { value, .. } => value.as_str().map(str::to_string),
        _ => None,
    });
    let is_dry = request.dry_run == Some(true);
    let ops: Vec<Op> = op.into_iter().chain(keys_of(&request)?).chain(address).collect();
    // Links by a removed name are broken afterwards.
    let may_lose = !is_dry && ops.iter().any(sets_names);
    let n_before = if may_lose { count_backlinks(&project, &path).await? } else { 0 };
    let (worker, edited) = (project.clone(), path.clone());
    let (written, changed) = blocking(move || {
        let notes = worker.notes();
        let refused = |error: crate::notes::NoteError| error.view();
        let expected = request.expected_checksum.as_deref();
        let before = notes.read(&path).map_err(refused)?;
        ops.iter().try_for_each(|op| refuse_nested(op, &before.text))?;
        let written = match is_dry {
            true => notes.preview(&path, &ops, expected),
            false => notes.edit(&path, &ops, expected),
        };
        let mut written = written.map_err(refused)?;
        if let Some(permalink) = lasting {
            let warning = format!(
                "another note has that title already: `permalink: {permalink}` was stated, too"
            );
            written.warnings.push(warning);
        }
        // If somebody wrote in between, the changed lines are unknown.
        let is_same = written.checksum_before.as_deref() == Some(before.checksum.as_str());
        let changed = if is_same {
            changed_lines(notes, &path, &before.text, &written.changes)
        } else {
            vec![]
        };
        Ok((written, changed))
    })
    .await?;
    let action = match (written.is_changed(), is_dry) {
        (false, _) => "unchanged",
        (true, true) => "would be edited",
        (true, false) => "edited",
    };
    let mut written = written;
    if is_dry {
        // The file is unchanged, so there is nothing to index.
        written.checksum = written.checksum_before.clone();
    }
    let mut reply = reply_of(&project, &who, action, written, changed).await?;
    let n_now = if n_before > 0 { count_backlinks(&project, &edited).await? } else { 0 };
    reply.warnings.extend(n_before.checked_sub(n_now).filter(|n| *n > 0).map(lost_links));
    Ok(reply)
}

/// Returns whether an edit may change a name to which links resolve.
fn sets_names(op: &Op) -> bool {
    let (Op::SetKey { key, .. } | Op::RemoveKey(key)) = op else { return false };
    let key = key.trim().to_lowercase();
    matches!(key.as_str(), "title" | "permalink" | "alias" | "aliases")
}

async fn count_backlinks(project: &Arc<Project>, path: &str) -> Result<usize, ErrorView> {
    let (worker, path) = (project.clone(), path.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let Ok(note) = named(&worker, &snapshot, &path) else { return Ok(0) };
        let leading = snapshot.notes().backlinks(note.doc, 0, MAX_COUNTED);
        Ok(leading.map_err(unreadable)?.len())
    })
    .await
}

/// Returns the edits that set the keys of `metadata`.
fn keys_of(request: &EditNote) -> Result<Vec<Op>, ErrorView> {
    let mut ops = Vec::new();
    for (key, value) in request.metadata.iter().flatten() {
        if ["title", "permalink"].iter().any(|name| key.trim().eq_ignore_ascii_case(name)) {
            let hint = "`set_frontmatter` changes a name of the note, alone";
            return Err(invalid(format!("`metadata` has the key `{}`", key.trim()), hint));
        }
        if value.is_null() {
            let hint = "`remove_frontmatter` removes a key, alone";
            return Err(invalid(format!("`{}` in `metadata` is null", key.trim()), hint));
        }
        ops.push(Op::SetKey { key: key.clone(), value: value.clone() });
    }
    Ok(ops)
}

/// Converts the request to an edit; `None` if it only sets `metadata`.
fn operation(request: &EditNote) -> Result<Option<Op>, ErrorView> {
    let has_text = request.content_updates.as_ref().is_some_and(|it| !it.trim().is_empty());
    let adds =
        matches!(request.operation, None | Some(EditOperation::Append | EditOperation::Prepend));
    let has_place = request.find.is_some() || request.section.is_some();
    if request.metadata.as_ref().is_some_and(|it| !it.is_empty()) && adds && !has_text && !has_place
    {
        return Ok(None);
    }
    let operation = request.operation.unwrap_or(match (&request.find, &request.section) {
        (Some(_), _) => EditOperation::FindReplace,
        (None, Some(_)) => EditOperation::ReplaceSection,
        (None, None) => EditOperation::Append,
    });
    let needs = |what: &str, hint: &str| {
        invalid(format!("`edit_note` needs `{what}` for this operation"), hint)
    };
    let content = || {
        request.content_updates.clone().ok_or_else(|| needs("content_updates", "give the new text"))
    };
    let section =
        || request.section.clone().ok_or_else(|| needs("section", "give the words of a heading"));
    let key = || request.key.clone().ok_or_else(|| needs("key", "give a key of the front matter"));
    check_unused(request, operation)?;
    Ok(Some(match (operation, &request.section) {
        (EditOperation::Append, None) => Op::Append(content()?),
        (EditOperation::Append, Some(section)) => {
            Op::AppendToSection { section: section.clone(), content: content()? }
        }
        (EditOperation::Prepend, _) => Op::Prepend(content()?),
        (EditOperation::ReplaceSection, _) if request.replace_subsections == Some(false) => {
            Op::ReplaceOwnText { section: section()?, content: content()? }
        }
        (EditOperation::ReplaceSection, _) => {
            Op::ReplaceSection { section: section()?, content: content()? }
        }
        (EditOperation::InsertBefore, _) => {
            Op::InsertBefore { section: section()?, content: content()? }
        }
        (EditOperation::InsertAfter, _) => {
            Op::InsertAfter { section: section()?, content: content()? }
        }
        (EditOperation::FindReplace, _) => Op::Replace {
            find: request
                .find
                .clone()
                .ok_or_else(|| needs("find", "give the text that is to be replaced"))?,
            with: content()?,
            expected: request.expected_count.unwrap_or(1) as usize,
        },
        (EditOperation::SetFrontmatter, _) => Op::SetKey {
            key: key()?,
            value: request
                .value
                .clone()
                .ok_or_else(|| needs("value", "give the value of the key"))?,
        },
        (EditOperation::RemoveFrontmatter, _) => Op::RemoveKey(key()?),
    }))
}

/// Returns the name that an edit changes, `title` or `permalink`, and its new value; `None` if it
/// is removed.
fn named_by(op: &Op) -> Option<(&'static str, Option<String>)> {
    let (Op::SetKey { key, .. } | Op::RemoveKey(key)) = op else { return None };
    let name = ["title", "permalink"].into_iter().find(|it| key.trim().eq_ignore_ascii_case(it))?;
    let Op::SetKey { value, .. } = op else { return Some((name, None)) };
    Some((name, Some(value.as_str().map_or_else(|| value.to_string(), str::to_string))))
}

/// Applies the rules of `write_note`: a permalink of another note is refused; a note that takes the
/// title of another, or loses its own permalink next to one of that title, gets a stated one.
async fn address(
    project: &Arc<Project>,
    op: &Op,
    path: &str,
) -> Result<(Option<Op>, Vec<Reserved>), ErrorView> {
    let Some((name, value)) = named_by(op) else { return Ok((None, vec![])) };
    let (worker, own) = (project.clone(), path.to_string());
    let text = blocking(move || worker.notes().read(&own).map_err(|error| error.view()));
    let front = notes::parse::parse(&text.await?.text).frontmatter;
    let front = front.map(|front| front.normalized()).unwrap_or_default();
    let stated = |name: &str| front.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    if let ("permalink", Some(permalink)) = (name, &value) {
        let title = stated("title").and_then(|(_, title)| title.as_str()).map(str::to_string);
        let title = title.unwrap_or_else(|| stem(&RelPath::new(path.to_string())));
        return Ok((None, vec![check_permalink(project, permalink, path, &title).await?]));
    }
    if name == "title" && stated("permalink").is_some() {
        return Ok((None, vec![]));
    }
    let title = match name {
        "title" => value,
        _ => stated("title").and_then(|(_, title)| title.as_str()).map(str::to_string),
    };
    let title = title.unwrap_or_else(|| stem(&RelPath::new(path.to_string())));
    let Lasting { permalink, reserved } = lasting_permalink(project, &title, path).await?;
    let op = permalink.map(|it| Op::SetKey { key: "permalink".into(), value: it.into() });
    Ok((op, reserved))
}

/// Refuses `outer.inner` if the front matter has `outer` with keys of its own: it would become a
/// separate key with a dot in its name.
fn refuse_nested(op: &Op, text: &str) -> Result<(), ErrorView> {
    let (Op::SetKey { key, .. } | Op::RemoveKey(key)) = op else { return Ok(()) };
    let Some((outer, _)) = key.split_once('.') else { return Ok(()) };
    let front = notes::parse::parse(text).frontmatter.map(|it| it.normalized()).unwrap_or_default();
    if front.contains_key(key) || !front.get(outer).is_some_and(serde_json::Value::is_object) {
        return Ok(());
    }
    let hint = format!(
        "set all of `{outer}` as one value, or change its lines by `find` and `content_updates`"
    );
    Err(invalid(format!("`key` is `{key}`, and `{outer}` has keys of its own"), &hint))
}

/// Refuses parameters that the operation would ignore: the caller means something else.
fn check_unused(request: &EditNote, operation: EditOperation) -> Result<(), ErrorView> {
    use EditOperation as E;
    let is_of_front = matches!(operation, E::SetFrontmatter | E::RemoveFrontmatter);
    let is_of_section =
        matches!(operation, E::Append | E::ReplaceSection | E::InsertBefore | E::InsertAfter);
    let given = [
        ("find", request.find.is_some() && operation != E::FindReplace),
        (
            "expected_count",
            request.expected_count.is_some_and(|n| n != 1) && operation != E::FindReplace,
        ),
        ("section", request.section.is_some() && !is_of_section),
        (
            "replace_subsections",
            request.replace_subsections == Some(false) && operation != E::ReplaceSection,
        ),
        ("key", request.key.is_some() && !is_of_front),
        ("value", request.value.is_some() && operation != E::SetFrontmatter),
        ("content_updates", request.content_updates.is_some() && is_of_front),
    ];
    match given.into_iter().find(|(_, is_unused)| *is_unused) {
        Some((name, _)) => {
            let hint = "leave it out, or choose the operation that it belongs to";
            Err(invalid(format!("`{name}` says nothing to this operation"), hint))
        }
        None => Ok(()),
    }
}
