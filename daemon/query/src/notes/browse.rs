//! Browse: lists notes and documents without a question, by folder or by modification time.
//!
//! In: filters and a page. Out: notes in brief, in a fixed order, and their total number.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use notes::resolve::{file_key, fold, name_key};
use notes::slug::slug;
use proto::error::{Code, ErrorView};
use proto::shape::OriginView;
use proto::tool::notes::{DirectoryOrder, DirectoryReply, EntryView, NoteView, NotesReply};

use crate::error::{in_range, invalid, quoted};
use crate::{AskError, QueryContext};
use index::read::{Brief, Filter, OfNotes, Order, Under};
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
        Ok(Page { number, size: in_range("page_size", size, 1, most)? })
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
    Ok(snapshot.documents().brief(doc)?.map(note_view).unwrap_or_default())
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
    let is_taken = |permalink: &str| snapshot.notes().is_taken(permalink, path);
    if base.is_empty() || !is_taken(&base)? {
        return Ok(None);
    }
    let mut n = 1;
    loop {
        let permalink = format!("{base}-{n}");
        if !is_taken(&permalink)? {
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
    let key = name_key(title);
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |it| it.0.to_string());
    let mut best: Option<((bool, bool, bool), String)> = None;
    for (found, titled) in snapshot.documents().namesakes(&key, &file_key(path))? {
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

fn note_view(it: Brief) -> NoteView {
    NoteView {
        title: it.title,
        path: it.path,
        permalink: it.permalink,
        note_type: Some(it.doc_type),
        entity_id: it.entity,
        modified: Some(rfc3339(it.changed_ms)),
        origin: OriginView { source_url: it.source_url, security: it.security },
    }
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
        paths: path
            .map(|it| ctx.snapshot.documents().spelled(it))
            .transpose()?
            .into_iter()
            .collect(),
        tags: wanted.tags.clone(),
        of_notes: OfNotes {
            types: wanted.types.iter().map(|it| fold(it.trim())).collect(),
            modified_after: wanted.modified_after,
            only_notes: wanted.only_notes,
            ..OfNotes::default()
        },
        ..Filter::default()
    };
    let documents = ctx.snapshot.documents();
    let n_notes = documents.n_matching(&filter)?;
    let order = if wanted.modified_after.is_some() { Order::Changed } else { Order::Path };
    let notes = documents.page(&filter, order, page.skip(), page.size as usize)?;
    Ok(NotesReply {
        notes: notes.into_iter().map(note_view).collect(),
        n_notes,
        next_page: page.next(n_notes as usize),
        ..NotesReply::default()
    })
}

/// Returns a folder in the spelling of the index, so that none is made or missed that only looks
/// the same: the longest part of it that documents are in, and the rest as given.
///
/// # Errors
/// When the index cannot be read.
pub fn spelled_folder(snapshot: &Snapshot, folder: &str) -> Result<String, AskError> {
    let documents = snapshot.documents();
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let (known, rest) = folder.split_at(end);
        if known.is_empty() {
            break;
        }
        let under = documents.spelled(Under::Begins(format!("{known}/")))?;
        let inside = Filter { paths: vec![under], ..Filter::default() };
        if let Some(Brief { path, .. }) = documents.page(&inside, Order::Path, 0, 1)?.pop() {
            let n_parts = known.split('/').count();
            let spelled = path.split('/').take(n_parts).collect::<Vec<_>>().join("/");
            return Ok(format!("{spelled}{rest}"));
        }
    }
    Ok(folder.to_string())
}

/// Returns a page of the folders and indexed files of a folder, `depth` levels deep, in an order of the files.
///
/// # Errors
/// `not_found` for a folder without indexed files; `invalid_params` for an invalid pattern.
pub fn directory(
    ctx: &QueryContext<'_>,
    folder: &str,
    (depth, glob, order): (usize, Option<&str>, DirectoryOrder),
    page: Page,
) -> Result<DirectoryReply, ErrorView> {
    let folder = folder.trim().trim_start_matches("./").trim_matches('/');
    let folder = if folder == "." { "" } else { folder };
    let folder = &*spelled_folder(ctx.snapshot, folder)?;
    let glob = glob.map(matcher).transpose()?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let inside = Filter { paths: vec![Under::Begins(prefix.clone())], ..Filter::default() };
    let documents = ctx.snapshot.documents().page(&inside, Order::Path, 0, usize::MAX);
    let mut folders: BTreeMap<String, u64> = BTreeMap::new();
    let (mut files, mut n_inside) = (Vec::new(), 0_u64);
    for it in documents.map_err(AskError::from)? {
        n_inside += 1;
        let parts: Vec<&str> = it.path.get(prefix.len()..).unwrap_or("").split('/').collect();
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
            let n_bytes = it.n_bytes;
            let note = note_view(it);
            files.push(EntryView {
                kind: "file".into(),
                path: note.path,
                title: Some(note.title),
                permalink: note.permalink,
                note_type: note.note_type,
                n_bytes: Some(n_bytes),
                modified: note.modified,
                n_files: None,
            });
        }
    }
    if n_inside == 0 && !folder.is_empty() {
        return Err(no_folder(folder));
    }
    match order {
        DirectoryOrder::Name => {}
        DirectoryOrder::Modified => files.sort_by(|a, b| b.modified.cmp(&a.modified)),
        DirectoryOrder::Size => files.sort_by_key(|it| Reverse(it.n_bytes)),
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
    let message = format!("nothing is indexed in `{}`", quoted(folder, 120));
    let hint = "`list_directory` without `path` shows the folders there are";
    ErrorView::hinted(Code::NotFound, message, hint)
}

fn matcher(glob: &str) -> Result<GlobMatcher, ErrorView> {
    let built = GlobBuilder::new(&fold(glob)).literal_separator(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| {
        invalid(format!("invalid `glob`: {}", error.kind()), "give a pattern such as `*.md`")
    })
}
