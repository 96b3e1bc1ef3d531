//! `backlinks`, `list_directory`, `list_notes` and `recent_activity`.

use jiff::Zoned;
use notes::resolve::{fold, places};
use notes::slug::without_extension;
use notes::target::heading_and_block;
use proto::error::ErrorView;
use proto::tool::admin::{BrokenLinkView, BrokenLinks, BrokenLinksReply};
use proto::tool::notes::{
    BacklinkView, Backlinks, BacklinksReply, DirectoryReply, ItemType, ListDirectory, ListNotes,
    NotesReply, RecentActivity, SearchNotes,
};

use super::moving::MAX_BACKLINKS;
use super::{Named, named, when};
use crate::project::Project;
use crate::serve::tool::{folder_given, found_at, invalid, within};
use index::read::Link;
use index::store::Snapshot;
use query::browse;
use query::browse::{Page, Wanted};
use query::notes as rows;
use query::notes::Missing;
use query::{AskError, stated};

/// Default time range of `recent_activity` (S0 §6.2.8).
const USUAL_TIMEFRAME: &str = "1 day";

/// Most bytes of a file in which a label is looked for.
const MAX_READ_BYTES: u64 = 4 << 20;

/// Deepest listing of folders.
const MAX_DEPTH: u32 = 10;

/// Returns the links of other notes to one.
pub fn backlinks(
    project: &Project,
    snapshot: &Snapshot,
    request: Backlinks,
) -> Result<BacklinksReply, ErrorView> {
    let page = Page::of(request.page, request.page_size, 50, 500)?;
    let (note, part) = named_with_part(project, snapshot, &request.path)?;
    // One more than a page shows whether there is a next page.
    let size = page.size as usize;
    let context = project.context(snapshot);
    let mut links = match part {
        None => stated::backlinks(&context, note.doc, page.skip(), size + 1)?,
        Some(part) => {
            let links = stated::backlinks(&context, note.doc, 0, MAX_BACKLINKS)?;
            let (heading, block) = heading_and_block(&part);
            let wanted = Part::of(snapshot, note.doc, heading, block)?;
            let mut leading = Vec::new();
            for link in links {
                let (heading, block) = (link.heading.as_deref(), link.block.as_deref());
                if Part::of(snapshot, note.doc, heading, block)?.is_within(&wanted) {
                    leading.push(link);
                }
            }
            leading.into_iter().skip(page.skip()).take(size + 1).collect()
        }
    };
    let next_page = (links.len() > size).then(|| page.number.saturating_add(1));
    links.truncate(size);
    Ok(BacklinksReply {
        path: note.path,
        backlinks: links.into_iter().map(backlink_view).collect(),
        next_page,
        freshness: project.freshness(snapshot),
    })
}

/// Resolves `note#Heading^block` to the note and the part, unless a note has that name.
fn named_with_part(
    project: &Project,
    snapshot: &Snapshot,
    given: &str,
) -> Result<(Named, Option<String>), ErrorView> {
    match (named(project, snapshot, given), given.split_once('#')) {
        (Err(_), Some((note, part))) => {
            Ok((named(project, snapshot, note)?, Some(part.to_string())))
        }
        (found, _) => Ok((found?, None)),
    }
}

/// The part of a note that a link points to.
struct Part {
    /// The place of its heading, or the heading as written if it does not resolve.
    heading: Option<Result<usize, String>>,
    /// The id alone identifies a block; the heading in front of it is for people.
    block: Option<String>,
}

impl Part {
    fn of(
        snapshot: &Snapshot,
        doc: i64,
        heading: Option<&str>,
        block: Option<&str>,
    ) -> Result<Part, ErrorView> {
        let place = |words: &str| -> Result<_, AskError> {
            let found = rows::heading_place(snapshot, doc, words)?;
            Ok(found.map(|it| it.span.0).ok_or_else(|| fold(words)))
        };
        Ok(Part { heading: heading.map(place).transpose()?, block: block.map(fold) })
    }

    /// A link to a block under a heading counts as a link to that heading, too.
    fn is_within(&self, whole: &Part) -> bool {
        match &whole.block {
            Some(_) => self.block == whole.block,
            None => whole.heading.is_none() || self.heading == whole.heading,
        }
    }
}

/// Returns links without a target.
pub fn broken_links(
    project: &Project,
    snapshot: &Snapshot,
    request: BrokenLinks,
) -> Result<BrokenLinksReply, ErrorView> {
    let limit = request.limit.unwrap_or(1_000);
    if !(1..=10_000).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 10000"));
    }
    let prefix = within(project, request.path.unwrap_or_default());
    // A replica has no files to look at.
    let root = project.opened_root().ok();
    // The index does not hold what is left out, and no labels of other formats.
    let is_there = |link: &Link, missing: Missing| match (missing, &link.to_path, &link.heading) {
        (Missing::Target, ..) => {
            let mut places = places(&link.from_path, &link.target).into_iter();
            places.any(|it| root.as_ref().is_some_and(|root| root.look(&it).is_ok()))
        }
        (Missing::Heading, Some(path), Some(heading)) if without_extension(path) == path => {
            let read = root.as_ref().and_then(|root| root.read(path, MAX_READ_BYTES).ok()?);
            read.is_some_and(|it| rows::has_label(&String::from_utf8_lossy(&it.bytes), heading))
        }
        _ => false,
    };
    let found = rows::broken_links(snapshot, &prefix, limit as usize + 1, is_there)?;
    let has_more = found.len() > limit as usize;
    let view = |(link, missing): (Link, Missing)| {
        let heading = link.heading.map(|it| format!("#{it}")).unwrap_or_default();
        let block = link.block.map(|it| format!("#^{it}")).unwrap_or_default();
        let missing = match missing {
            Missing::Target => "document",
            Missing::Heading => "heading",
            Missing::Block => "block",
        };
        BrokenLinkView {
            path: link.from_path,
            line: link.line,
            target: format!("{}{heading}{block}", link.target),
            missing: missing.into(),
            to_path: link.to_path,
        }
    };
    Ok(BrokenLinksReply {
        links: found.into_iter().take(limit as usize).map(view).collect(),
        has_more,
        freshness: project.freshness(snapshot),
    })
}

pub(super) fn backlink_view(row: Link) -> BacklinkView {
    BacklinkView {
        title: row.from_title,
        path: row.from_path,
        line: row.line,
        relation: row.relation.unwrap_or_else(|| "embeds".into()),
        said: row.line_text,
        heading: row.heading,
        block: row.block,
    }
}

/// Returns the folders and files in a folder.
pub fn list_directory(
    project: &Project,
    snapshot: &Snapshot,
    request: ListDirectory,
) -> Result<DirectoryReply, ErrorView> {
    let page = Page::of(request.page, request.page_size, 100, 1_000)?;
    let depth = request.depth.unwrap_or(1);
    if !(1..=MAX_DEPTH).contains(&depth) {
        let hint = format!("give a number from 1 to {MAX_DEPTH}");
        return Err(invalid(format!("`depth` is {depth}"), &hint));
    }
    let (depth, glob) = (depth as usize, request.glob.as_deref());
    let order = request.sort.unwrap_or_default();
    let mut reply = found_at(project, &request.path.unwrap_or_default(), |folder| {
        browse::directory(&project.context(snapshot), folder, (depth, glob, order), page)
    })?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns a list of notes.
pub fn list_notes(
    project: &Project,
    snapshot: &Snapshot,
    request: ListNotes,
) -> Result<NotesReply, ErrorView> {
    let page = Page::of(request.page, request.page_size, 100, 1_000)?;
    let wanted = Wanted {
        path: folder_given(project, snapshot, request.path)?,
        tags: request.tags.unwrap_or_default(),
        types: request.note_types.unwrap_or_default(),
        modified_after: None,
        only_notes: true,
    };
    let mut reply = browse::list(&project.context(snapshot), &wanted, page)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns the notes that were modified recently.
pub fn recent_activity(
    project: &Project,
    snapshot: &Snapshot,
    request: RecentActivity,
) -> Result<NotesReply, ErrorView> {
    let page = Page::of(request.page, request.page_size, 20, 500)?;
    let timeframe = request.timeframe.as_deref().unwrap_or(USUAL_TIMEFRAME);
    let since = when::since("timeframe", timeframe, &Zoned::now())?;
    let items = request.item_types.clone().unwrap_or_default();
    let statements: Vec<ItemType> =
        items.iter().copied().filter(|it| *it != ItemType::Entity).collect();
    let wanted = Wanted {
        types: request.note_types.unwrap_or_default(),
        // Includes what was modified at that very moment.
        modified_after: Some(since.as_millisecond() - 1),
        ..Wanted::default()
    };
    let with_notes = statements.is_empty() || items.contains(&ItemType::Entity);
    let mut reply = browse::list(&project.context(snapshot), &wanted, page)?;
    if !with_notes {
        (reply.notes, reply.next_page) = (vec![], None);
    }
    if !statements.is_empty() {
        let stated = SearchNotes {
            page: Some(page.number),
            // A search has smaller pages.
            page_size: Some(page.size.min(100)),
            note_types: Some(wanted.types).filter(|types| !types.is_empty()),
            search_item_types: Some(statements),
            ..SearchNotes::default()
        };
        let found =
            query::search_notes(&project.context(snapshot), &stated, wanted.modified_after)?;
        reply.statements = found.results;
        reply.next_page =
            reply.next_page.or_else(|| found.has_more.then(|| page.number.saturating_add(1)));
    }
    reply.since = Some(browse::rfc3339(since.as_millisecond()));
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}
