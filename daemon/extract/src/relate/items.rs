//! Items: options, fields and members that a list or table explains one by one (`- `--json`: print JSON`), and things
//! that a section of the page is about.
//!
//! In: the outline. Out: each such item `part_of` the thing that its section is about; the thing that a heading names
//! `documented_in` the document.
//! Invariants: an item is a name in code font at its start, with words of explanation; a list or table needs at least
//! two of them; at most [`MAX_ITEMS`] a document; linear.

use rustc_hash::FxHashMap;

use super::page::Page;
use super::{Statement, Statements};
use model::document::{BlockKind, Party};

/// Most items of a document that state something; likewise for headings.
const MAX_ITEMS: usize = 300;
/// Fewest items of a list or table: a single name in code font is often an accident.
const MIN_ITEMS: usize = 2;
const ITEM_CONFIDENCE: f32 = 0.7;
const HEADING_CONFIDENCE: f32 = 0.75;
/// A list or a table, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rows {
    List(u32),
    Table(u32),
}

/// Adds what items and headings state.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let mut items: Vec<(Rows, usize, u32)> = Vec::new();
    let mut n_items: FxHashMap<Rows, usize> = FxHashMap::default();
    let mut n_stated = 0;
    for (block_idx, block) in page.blocks().iter().enumerate() {
        let rows = match block.kind {
            BlockKind::ListItem { list, depth: 0, .. } => Rows::List(list),
            BlockKind::TableRow { table, is_header: false } => Rows::Table(table),
            BlockKind::Heading(level) if level > 1 && n_stated < MAX_ITEMS => {
                n_stated += usize::from(heading(page, block_idx, out));
                continue;
            }
            _ => continue,
        };
        if let Some(item) = item_of(page, block_idx) {
            items.push((rows, block_idx, item));
            *n_items.entry(rows).or_default() += 1;
        }
    }
    let is_of_code = is_code_name(&page.doc.title);
    // Filtered afterwards: only the end of a list shows how many items it has.
    items.retain(|(rows, ..)| n_items.get(rows).is_some_and(|n| *n >= MIN_ITEMS));
    for (_, block_idx, item) in items.into_iter().take(MAX_ITEMS) {
        let (Some(block), object) = (page.blocks().get(block_idx), page.about(block_idx)) else {
            continue;
        };
        // On a page about something in general, such items may be examples.
        let is_other = match object {
            Party::Mention(about) => page.name_of(about) != page.name_of(item),
            Party::Document => is_of_code && !page.is_own(item),
            Party::Link(_) => false,
        };
        if is_other {
            let (subject, predicate) = (Party::Mention(item), "part_of");
            let (pattern, confidence) = ("list:item", ITEM_CONFIDENCE);
            out.add(block.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}

/// True for a title such as `local.file` or `Rc::clone`: the page describes one thing of a program.
fn is_code_name(title: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    title.chars().all(is_word) && title.trim_end_matches('.').contains(['.', ':'])
}

/// Adds that a heading's thing is documented here; returns whether it did.
fn heading(page: &Page<'_>, block_idx: usize, out: &mut Statements) -> bool {
    let Party::Mention(about) = page.about(block_idx) else { return false };
    let Some(block) = page.blocks().get(block_idx) else { return false };
    // A heading that names nothing inherits the subject of the section around it.
    let is_own_name = page.mention(about).is_some_and(|it| block.span.contains(it.span));
    if !is_own_name || page.is_own(about) {
        return false;
    }
    let (subject, object) = (Party::Mention(about), Party::Document);
    let (predicate, pattern, confidence) = ("documented_in", "title:heading", HEADING_CONFIDENCE);
    out.add(block.span, Statement { subject, predicate, object, pattern, confidence });
    true
}

/// Returns the name in code font that a block begins with, if an explanation follows.
fn item_of(page: &Page<'_>, block_idx: usize) -> Option<u32> {
    let block = page.blocks().get(block_idx)?;
    let item = page.leading_name(block.span, page.mentions_of(block_idx))?;
    let mention = page.mention(item)?;
    let rest = page.text.get(mention.span.end()..block.span.end())?;
    let is_explained =
        rest.split_whitespace().filter(|it| it.contains(char::is_alphabetic)).count() > 1;
    (mention.place.in_code && is_explained).then_some(item)
}
