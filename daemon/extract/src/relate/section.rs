//! Section: lists under a heading that names a relation: `Dependencies`, `See also`, `Owners`, `Components`.
//!
//! In: the outline. Out: for each item its first name, related to the subject of the section.
//! Invariants: the subject is the thing that the heading around names, or what the section around is about where the
//! document has several such sections, else the document; below a plain word there is none. An item counts only if its
//! name is at its beginning. Linear in the blocks.

use rustc_hash::FxHashMap;

use super::cues::{Cue, CueKind};
use super::page::{Page, plain_words};
use super::{OF_DOCUMENTS, Statement, Statements};
use model::document::{BlockKind, Link, LinkKind, Party};

/// Longest heading that is a cue, in bytes.
const MAX_HEADING_BYTES: usize = 40;
/// Headings of a lower weight need items that are a name without explanation.
const SURE_WEIGHT: f32 = 0.9;
/// Longest paragraph that is read as an item, in bytes: plain text lists its references on separate lines.
const MAX_LINE_BYTES: usize = 80;

/// Most items before a nested one among which the one around it is looked for.
const MOST_SIBLINGS: usize = 500;

/// Adds what the sections state.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let has_capitals = page.blocks().iter().any(|block| {
        matches!(block.kind, BlockKind::Heading(level) if level > 1)
            && block.span.of(page.text).starts_with(char::is_uppercase)
    });
    let n_blocks = page.blocks().len();
    let cues: Vec<Option<&Cue>> =
        (0..n_blocks).map(|idx| cue_of(page, idx, has_capitals)).collect();
    let mut n_sections: FxHashMap<&str, u32> = FxHashMap::default();
    for cue in cues.iter().flatten() {
        *n_sections.entry(cue.predicate).or_default() += 1;
    }
    for (block_idx, block) in page.blocks().iter().enumerate() {
        let Some(heading_idx) = block.section.map(|idx| idx as usize) else { continue };
        let Some(cue) = cues.get(heading_idx).copied().flatten() else { continue };
        let is_item = match block.kind {
            BlockKind::ListItem { depth, .. } => depth == 0 || !is_of_item(page, block_idx, depth),
            BlockKind::Paragraph => cue.predicate == "cites" && block.span.len() <= MAX_LINE_BYTES,
            _ => false,
        };
        let Some(item) = item_of(page, block_idx, cue).filter(|_| is_item) else { continue };
        if cue.words == "contents" && !matches!(item, Party::Link(_)) {
            continue;
        }
        let is_one_of_many = n_sections.get(cue.predicate).is_some_and(|n| *n > 1);
        let holder = match heading_around(page, heading_idx) {
            // Under `nginx` or `client` it is of that, which may be no name here.
            Around::Word => continue,
            Around::Name => page.about(heading_idx),
            Around::Other if is_one_of_many => page.about(heading_idx),
            Around::Other => Party::Document,
        };
        let (mut subject, mut object) = (holder, item);
        if cue.is_backward {
            std::mem::swap(&mut subject, &mut object);
        }
        let (predicate, pattern, confidence) = (cue.predicate, cue.pattern, cue.weight);
        out.add(block.span, Statement { subject, predicate, object, pattern, confidence });
    }
}

/// The heading around a section, below the title.
enum Around {
    /// It names a thing.
    Name,
    /// It is a single word in small letters, or a word of code.
    Word,
    /// There is none, or it is any other.
    Other,
}

fn heading_around(page: &Page<'_>, heading_idx: usize) -> Around {
    let around = page.blocks().get(heading_idx).and_then(|it| it.section);
    let block = around.and_then(|idx| page.blocks().get(idx as usize));
    let Some(block) = block.filter(|it| matches!(it.kind, BlockKind::Heading(level) if level > 1))
    else {
        return Around::Other;
    };
    let names = |idx: u32| page.mention(idx).is_some_and(|it| block.span.contains(it.span));
    match page.about(heading_idx) {
        Party::Mention(idx) if names(idx) => Around::Name,
        _ if block.span.of(page.text).trim().chars().all(char::is_lowercase) => Around::Word,
        _ => Around::Other,
    }
}

/// True for an item nested in one that begins with a name, to which it belongs; a word that only groups has none.
fn is_of_item(page: &Page<'_>, block_idx: usize, depth: u8) -> bool {
    let is_outer = |idx: &usize| {
        let kind = page.blocks().get(*idx).map(|it| &it.kind);
        matches!(kind, Some(BlockKind::ListItem { depth: other, .. }) if *other < depth)
    };
    let outer = (0..block_idx).rev().take(MOST_SIBLINGS).find(is_outer);
    let name = |idx: usize| {
        let block = page.blocks().get(idx)?;
        page.leading_name(block.span, page.mentions_of(idx))
    };
    outer.is_some_and(|idx| name(idx).is_some())
}

/// Returns what an item is about: the name or wikilink that it begins with; of a source, any link comes first. A link
/// to a path leads to a page, which may be cited, but is no part or dependency of anything.
fn item_of(page: &Page<'_>, block_idx: usize, cue: &Cue) -> Option<Party> {
    let block = page.blocks().get(block_idx)?;
    let is_line = matches!(block.kind, BlockKind::Paragraph);
    let of_pages = OF_DOCUMENTS.contains(&cue.predicate);
    let may_be_it = |link: &Link| !is_line && (of_pages || link.kind == LinkKind::Wiki);
    let link = page.links_in(block.span).find(|(_, link)| may_be_it(link));
    let name = || {
        let name = page.leading_name(block.span, page.mentions_of(block_idx))?;
        let rest = page.text.get(page.mention(name)?.span.end()..block.span.end())?;
        // `Collector: it must be told whether …` under `Requirements` is about the collector, not a need for it.
        let is_bare = !rest.trim_start().starts_with([':', '-', '–', '—']);
        (is_bare || cue.weight >= SURE_WEIGHT).then_some(name)
    };
    link.map(|(idx, _)| Party::Link(idx)).or_else(|| name().map(Party::Mention))
}

/// Returns the cue of a heading, if it has one.
fn cue_of<'v>(page: &Page<'v>, block_idx: usize, has_capitals: bool) -> Option<&'v Cue> {
    let block = page.blocks().get(block_idx)?;
    let is_short_heading =
        matches!(block.kind, BlockKind::Heading(_)) && block.span.len() <= MAX_HEADING_BYTES;
    let text = block.span.of(page.text);
    // `dependencies` between headings with capitals is a field of a file.
    let is_field = has_capitals && text.starts_with(char::is_lowercase);
    if !is_short_heading || is_field {
        return None;
    }
    page.cues().get(CueKind::Section, &plain_words(text))
}
