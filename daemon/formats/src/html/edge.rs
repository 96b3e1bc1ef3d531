//! Edge: short pieces directly before and after the prose of an article: its subject, author, date, buttons.
//!
//! In: a measured page and the element to read, of an article of the press. Out: more elements to drop.
//! Invariants: headings, lists of sentences, tables and code stay; time is linear in the elements beside one path.

use super::kind::Kind;
use super::label::Label;
use super::page::Page;

/// Longest piece that is dropped, in bytes.
const MAX_PIECE_BYTES: usize = 150;
/// Longest byline before the prose, in bytes.
const MAX_LINE_BYTES: usize = 80;

/// Drops the short pieces at either end of the prose inside `root`.
pub(super) fn trim(page: &mut Page, root: usize) {
    let mut found = Vec::new();
    let mut at = root;
    // Down to the first prose: on each level, pieces before it are at the edge.
    while let Some(first) = page.children(at).find(|child| page.kept(*child).prose > 0) {
        let before = page.children(at).take_while(|child| *child < first);
        found.extend(before.filter(|child| is_piece(page, *child) || is_line(page, *child)));
        at = first;
    }
    at = root;
    while let Some(last) = page.children(at).rev().find(|child| page.kept(*child).prose > 0) {
        let after = page.children(at).filter(|child| *child > last);
        found.extend(after.filter(|child| is_piece(page, *child)));
        at = last;
    }
    page.drop_also(found);
}

fn is_piece(page: &Page, index: usize) -> bool {
    let (part, amount) = (&page.parts[index], page.kept(index));
    let is_box =
        matches!(part.kind, Kind::Block | Kind::List | Kind::Header | Kind::Footer | Kind::Aside);
    let has_heading = || {
        page.inside(index)
            .any(|inner| matches!(page.parts[inner].kind, Kind::Heading(_) | Kind::Pre))
    };
    is_box
        && amount.text > 0
        && amount.text <= MAX_PIECE_BYTES
        && amount.n_h1 == 0
        && !has_heading()
}

/// True for a paragraph that is a byline.
fn is_line(page: &Page, index: usize) -> bool {
    let (part, amount) = (&page.parts[index], page.kept(index));
    part.kind == Kind::Paragraph && part.label == Label::Byline && amount.text <= MAX_LINE_BYTES
}
