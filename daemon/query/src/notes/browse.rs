//! Browse: lists notes and documents without a question, by folder or by modification time.
//!
//! In: filters and a page. Out: notes in brief, in a fixed order, and their total number.
//! Not here: what notes state (`mod.rs`), searching (`search.rs`).

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use notes::resolve::{By, file_key, fold, name_key};
use notes::slug::slug;
use proto::error::ErrorView;
use proto::shape::OriginView;
use proto::tool::notes::{DirectoryReply, EntryView, NoteView, NotesReply};
use rusqlite::{OptionalExtension, params, params_from_iter};

use crate::error::invalid;
use crate::plan::condition::Under;
use crate::plan::{CHANGED_MS, Filter, OfNotes};
use crate::{AskError, QueryContext};
use index::store::Snapshot;

/// Filters of a list.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A folder, the path of a note, or a pattern.
    pub path: Option<String>,
    /// Notes must have all of these tags, or tags under them.
    pub tags: Vec<String>,
    /// Notes must have one of these types or formats.
    pub types: Vec<String>,
    /// Modified later than this, milliseconds since 1970; sorts by modification, latest first.
    pub modified_after: Option<i64>,
    /// Notes only, no other documents.
    pub only_notes: bool,
}

/// One page of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// From 1.
    pub number: u32,
    /// Entries per page.
    pub size: u32,
}

impl Page {
    /// Checks the page that a caller asked for.
    ///
    /// # Errors
    /// `invalid_params` for page 0 and sizes out of range.
    pub fn of(
        number: Option<u32>,
        size: Option<u32>,
        usual: u32,
        most: u32,
    ) -> Result<Page, ErrorView> {
        let (number, size) = (number.unwrap_or(1), size.unwrap_or(usual));
        if number == 0 {
            return Err(invalid("`page` is 0".into(), "pages are counted from 1"));
        }
        if !(1..=most).contains(&size) {
            let hint = format!("give a number from 1 to {most}");
            return Err(invalid(format!("`page_size` is {size}"), &hint));
        }
        Ok(Page { number, size })
    }

    /// Returns the number of entries before this page.
    pub fn skip(self) -> usize {
        (self.number as usize - 1).saturating_mul(self.size as usize)
    }

    /// Returns the number of the next page, if there is one.
    pub fn next(self, n_all: usize) -> Option<u32> {
        (self.skip().saturating_add(self.size as usize) < n_all)
            .then(|| self.number.saturating_add(1))
    }
}

/// Returns a document in brief.
///
/// # Errors
/// When the index cannot be read.
pub fn brief(snapshot: &Snapshot, doc: i64) -> Result<NoteView, AskError> {
    let mut statement = snapshot.prepare_cached(&format!("{} WHERE d.id = ?1", brief_sql()))?;
    Ok(statement.query_row([doc], note_view)?)
}

/// Returns the permalink that a new note at this path must state because another note has its
/// default one: the first free one of `base-1`, `base-2` …; `None` if the default is free.
///
/// # Errors
/// When the index cannot be read.
pub fn lasting_permalink(
    snapshot: &Snapshot,
    title: &str,
    path: &str,
) -> Result<Option<String>, AskError> {
    let base = slug(title);
    let mut statement = snapshot.prepare_cached(
        "SELECT 1 FROM notes n JOIN docs d ON d.id = n.doc_id
         WHERE (n.base = ?1 OR n.permalink = ?1) AND d.path <> ?2",
    )?;
    if base.is_empty() || !statement.exists(params![base, path])? {
        return Ok(None);
    }
    let mut n = 1;
    loop {
        let permalink = format!("{base}-{n}");
        if !statement.exists(params![permalink, path])? {
            return Ok(Some(permalink));
        }
        n += 1;
    }
}

/// Returns the file in the folder of `path` that already is the note with this title, whatever the file is called
/// (`My Note.md` for `my-note.md`); `None` if there is none, or if it is the file at `path`.
///
/// # Errors
/// When the index cannot be read.
pub fn namesake(snapshot: &Snapshot, title: &str, path: &str) -> Result<Option<String>, AskError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT d.path, d.title FROM doc_names n JOIN docs d ON d.id = n.doc_id
         WHERE (n.kind = ?1 AND n.key IN (?3, ?4) OR n.kind = ?2 AND n.key = ?3) AND d.path LIKE '%.md'
         ORDER BY d.path",
    )?;
    let (by, key) = ([By::FileName as i64, By::Title as i64], name_key(title));
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |it| it.0.to_string());
    let paths = statement.query_map(params![by[0], by[1], key, file_key(path)], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut best: Option<((bool, bool, bool), String)> = None;
    for found in paths {
        let (found, titled) = found?;
        if folder(&found) != folder(path) {
            continue;
        }
        // The file at `path` itself is a different note if its title differs.
        let rank = (name_key(&titled) != key, found != path, file_key(&found) != key);
        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            best = Some((rank, found));
        }
    }
    Ok(best.map(|it| it.1).filter(|found| found != path))
}

/// Selects the columns of a document in brief.
fn brief_sql() -> String {
    format!(
        "SELECT d.title, d.path, n.permalink, coalesce(d.doc_type, d.format), d.entity_id, {CHANGED_MS}, d.n_bytes, \
         d.source_url, json_extract(d.meta, '$.security') FROM docs d LEFT JOIN notes n ON n.doc_id = d.id"
    )
}

fn note_view(row: &rusqlite::Row<'_>) -> rusqlite::Result<NoteView> {
    Ok(NoteView {
        title: row.get(0)?,
        path: row.get(1)?,
        permalink: row.get(2)?,
        note_type: row.get(3)?,
        entity_id: row.get(4)?,
        modified: Some(rfc3339(row.get(5)?)),
        origin: OriginView { source_url: row.get(7)?, security: row.get(8)? },
    })
}

/// Formats a time as RFC 3339, always with milliseconds, so that sorting texts from several
/// projects sorts by time.
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map(|it| format!("{it:.3}")).unwrap_or_default()
}

/// Returns a page of notes.
///
/// # Errors
/// When the index cannot be read.
pub fn list(ctx: &QueryContext<'_>, wanted: &Wanted, page: Page) -> Result<NotesReply, AskError> {
    let path = wanted.path.as_deref().map(Under::folder).filter(|it| !it.is_everywhere());
    let filter = Filter {
        paths: path.map(|it| it.spelled(ctx)).transpose()?.into_iter().collect(),
        tags: wanted.tags.clone(),
        of_notes: OfNotes {
            types: wanted.types.iter().map(|it| fold(it.trim())).collect(),
            modified_after: wanted.modified_after,
            ..OfNotes::default()
        },
        ..Filter::default()
    };
    let (condition, values) = filter.sql().unwrap_or_else(|| ("1".into(), Vec::new()));
    let only_notes = if wanted.only_notes { " AND n.doc_id IS NOT NULL" } else { "" };
    let count = format!(
        "SELECT count(*) FROM docs d LEFT JOIN notes n ON n.doc_id = d.id WHERE {condition}{only_notes}"
    );
    let mut count = ctx.snapshot.prepare_cached(&count)?;
    let n_notes: i64 = count.query_row(params_from_iter(&values), |row| row.get(0))?;
    let order = match wanted.modified_after {
        Some(_) => format!("{CHANGED_MS} DESC, d.path"),
        None => "d.path".to_string(),
    };
    let (skip, size) = (page.skip(), page.size);
    let sql = format!(
        "{} WHERE {condition}{only_notes} ORDER BY {order} LIMIT {size} OFFSET {skip}",
        brief_sql()
    );
    let mut statement = ctx.snapshot.prepare(&sql)?;
    let notes = statement.query_map(params_from_iter(&values), note_view)?;
    let notes = notes.collect::<Result<Vec<_>, _>>()?;
    let n_notes = n_notes.max(0) as usize;
    Ok(NotesReply {
        notes,
        n_notes: n_notes as u64,
        next_page: page.next(n_notes),
        ..NotesReply::default()
    })
}

/// Returns a folder in the spelling of the index, so that none is made or missed that only looks
/// the same: the longest part of it that documents are in, and the rest as given.
///
/// # Errors
/// When the index cannot be read.
pub fn spelled_folder(snapshot: &Snapshot, folder: &str) -> Result<String, AskError> {
    // `0` is the character after `/`.
    let mut exact = snapshot
        .prepare_cached("SELECT 1 FROM docs WHERE path >= ?1 || '/' AND path < ?1 || '0'")?;
    let mut folded = snapshot.prepare_cached(
        "SELECT path FROM docs WHERE substr(folded(path), 1, length(?1)) = ?1 ORDER BY path LIMIT 1",
    )?;
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let (known, rest) = folder.split_at(end);
        if known.is_empty() || exact.exists([known])? {
            return Ok(folder.to_string());
        }
        let begins = format!("{}/", fold(known));
        let path = folded.query_row([begins], |row| row.get::<_, String>(0)).optional()?;
        if let Some(path) = path {
            let n_parts = known.split('/').count();
            let spelled = path.split('/').take(n_parts).collect::<Vec<_>>().join("/");
            return Ok(format!("{spelled}{rest}"));
        }
    }
    Ok(folder.to_string())
}

/// Returns a page of the folders and indexed files of a folder, `depth` levels deep.
///
/// # Errors
/// `not_found` for a folder without indexed files; `invalid_params` for an invalid pattern.
pub fn directory(
    ctx: &QueryContext<'_>,
    folder: &str,
    depth: usize,
    glob: Option<&str>,
    page: Page,
) -> Result<DirectoryReply, ErrorView> {
    let folder = folder.trim().trim_start_matches("./").trim_matches('/');
    let folder = if folder == "." { "" } else { folder };
    let folder = &*spelled_folder(ctx.snapshot, folder)?;
    let glob = glob.map(matcher).transpose()?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut statement = ctx
        .snapshot
        .prepare_cached(&format!(
            "{} WHERE substr(d.path, 1, length(?1)) = ?1 ORDER BY d.path",
            brief_sql()
        ))
        .map_err(AskError::from)?;
    let mut rows = statement.query([&prefix]).map_err(AskError::from)?;
    let mut folders: BTreeMap<String, u64> = BTreeMap::new();
    let (mut files, mut n_inside) = (Vec::new(), 0_u64);
    while let Some(row) = rows.next().map_err(AskError::from)? {
        n_inside += 1;
        let path: String = row.get(1).map_err(AskError::from)?;
        let parts: Vec<&str> = path.get(prefix.len()..).unwrap_or("").split('/').collect();
        let Some((name, above)) = parts.split_last() else { continue };
        let fits = glob.as_ref().is_none_or(|glob| glob.is_match(fold(name)));
        if !fits {
            continue;
        }
        for level in 1..=above.len().min(depth) {
            let inner = above.get(..level).unwrap_or_default().join("/");
            *folders.entry(format!("{prefix}{inner}")).or_default() += 1;
        }
        if above.len() < depth {
            let note = note_view(row).map_err(AskError::from)?;
            let n_bytes: i64 = row.get(6).map_err(AskError::from)?;
            files.push(EntryView {
                kind: "file".into(),
                path: note.path,
                title: Some(note.title),
                permalink: note.permalink,
                note_type: note.note_type,
                n_bytes: Some(n_bytes.max(0) as u64),
                modified: note.modified,
                n_files: None,
            });
        }
    }
    if n_inside == 0 && !folder.is_empty() {
        return Err(no_folder(folder));
    }
    let folders = folders.into_iter().map(|(path, n)| EntryView {
        kind: "directory".into(),
        path,
        n_files: Some(n),
        ..EntryView::default()
    });
    let all: Vec<EntryView> = folders.chain(files).collect();
    let n_entries = all.len();
    Ok(DirectoryReply {
        path: folder.to_string(),
        entries: all.into_iter().skip(page.skip()).take(page.size as usize).collect(),
        n_entries: n_entries as u64,
        next_page: page.next(n_entries),
        ..DirectoryReply::default()
    })
}

fn no_folder(folder: &str) -> ErrorView {
    let name: String = folder.chars().filter(|c| !c.is_control()).take(120).collect();
    ErrorView {
        code: proto::error::Code::NotFound,
        message: format!("nothing is indexed in `{name}`"),
        hint: Some("`list_directory` without `path` shows the folders there are".into()),
        conflict: None,
    }
}

fn matcher(glob: &str) -> Result<GlobMatcher, ErrorView> {
    let built = GlobBuilder::new(&fold(glob)).literal_separator(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| {
        invalid(format!("invalid `glob`: {}", error.kind()), "give a pattern such as `*.md`")
    })
}
