//! `read_content`, `view_note` and `fetch`.

use std::path::Path;
use std::sync::Arc;

use proto::error::{Code, ErrorView};
use proto::tool::core;
use proto::tool::notes::{
    Fetch, FetchReply, ReadContent, ReadContentReply, ReadNote, ReadNoteReply, ViewNote,
    ViewNoteReply,
};
use serde_json::{Map, Value};

use super::path_at;
use super::read::{read_note, window};
use crate::notes::{NoteError, RawFile};
use crate::project::Project;
use crate::serve::Progress;
use crate::serve::tool::{blocking, found_at, unreadable, within};
use query::address;

/// Reads a text file as it is on disk.
pub async fn read_content(
    project: Arc<Project>,
    request: ReadContent,
    _: Progress,
) -> Result<ReadContentReply, ErrorView> {
    let room = core::budget(request.max_chars, request.max_tokens, core::PASSAGE_CHARS) as usize;
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let found = found_at(&project, &request.path, |path| address::document(&snapshot, path));
        let (path, missing) = match found {
            Ok(doc) => (path_at(&snapshot, doc)?, None),
            // The file may exist without being indexed yet.
            Err(error) if error.code == Code::NotFound => {
                (within(&project, request.path.trim().to_string()), Some(error))
            }
            Err(error) => return Err(error),
        };
        let file = project.notes().raw(&path).map_err(|error| match (error, missing) {
            (NoteError::NotFound(_) | NoteError::BadPath { .. }, Some(missing)) => missing,
            (error, _) => refused(&error),
        })?;
        let content_type = content_type(&file.path);
        let text = text_of(&file, content_type)?;
        let shown = project.notes().shown(&file.path, text);
        let (text, lines, next_line) = window(&shown, 1, (request.from_line, None), room)?;
        Ok(ReadContentReply {
            path: file.path,
            content_type: content_type.to_string(),
            n_bytes: file.bytes.len() as u64,
            checksum: file.checksum,
            text,
            lines,
            next_line,
            freshness: project.freshness(&snapshot),
        })
    })
    .await
}

/// Returns the file's text; an error if it is not text.
fn text_of<'f>(file: &'f RawFile, content_type: &str) -> Result<&'f str, ErrorView> {
    let text = std::str::from_utf8(&file.bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| {
        ErrorView::hinted(
            Code::Refused,
            format!(
                "`{}` is {content_type} of {} bytes, not UTF-8 text",
                file.path,
                file.bytes.len()
            ),
            "`read_note` returns the text that is indexed of a document",
        )
    })
}

/// Converts an error of reading; the messages of [`NoteError`] are about writing.
fn refused(error: &NoteError) -> ErrorView {
    let message = match error {
        NoteError::Unwatched { path, reason } => {
            format!("`{path}` ({}) is not read: {reason}", content_type(path))
        }
        NoteError::BadPath { path, why } => format!("`{path}` cannot be read: {why}"),
        _ => return error.view(),
    };
    let hint = Some("`list_directory` shows the files that are read".into());
    ErrorView { message, hint, ..error.view() }
}

/// Returns the media type of a file, by its extension.
fn content_type(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
    match extension.to_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "json" | "canvas" | "ipynb" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "zip" => "application/zip",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        _ => "text/plain",
    }
}

/// Shows a note; differs from `read_note` only in its text form.
pub async fn view_note(
    project: Arc<Project>,
    request: ViewNote,
    progress: Progress,
) -> Result<ViewNoteReply, ErrorView> {
    read_note(project, request.0, progress).await.map(ViewNoteReply)
}

/// Reads a document by the id that a search returned.
pub async fn fetch(
    project: Arc<Project>,
    request: Fetch,
    progress: Progress,
) -> Result<FetchReply, ErrorView> {
    let note = ReadNote {
        path: request.id,
        max_chars: request.max_chars,
        max_tokens: request.max_tokens,
        ..ReadNote::default()
    };
    let ReadNoteReply { note, tags, metadata: front, content, next_line, freshness, .. } =
        read_note(project, note, progress).await?;
    let mut metadata = Map::new();
    metadata.insert("path".into(), note.path.clone().into());
    metadata.insert("format".into(), format_of(&note.path).into());
    metadata.insert("is_whole".into(), next_line.is_none().into());
    let more = [
        ("type", note.note_type.map(Value::from)),
        ("modified", note.modified.map(Value::from)),
        ("tags", (!tags.is_empty()).then(|| tags.into())),
        ("frontmatter", (!front.is_empty()).then(|| front.into())),
    ];
    for (key, value) in more {
        metadata.extend(value.map(|value| (key.to_string(), value)));
    }
    let id = note.permalink.unwrap_or(note.path);
    let url = format!("{}{id}", notes::uri::SCHEME);
    let text = content.trim_start_matches('\n').to_string();
    Ok(FetchReply { id, title: note.title, text, url, metadata, freshness })
}

/// Returns `markdown` for notes, else the extension.
fn format_of(path: &str) -> String {
    let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
    match content_type(path) {
        "text/markdown" => "markdown".to_string(),
        _ => extension.to_lowercase(),
    }
}
