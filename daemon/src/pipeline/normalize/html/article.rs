//! Article: which part of a page is its content.
//!
//! In: a measured [`Page`]. Out: a [`Selection`]: where to read, and what to leave out there.
//! What the author says (`<main>`, `<article>`, `<nav>`, roles) counts first, then what classes and ids hint
//! at, then how much of the text is linked. The choice leans to keeping: what is wrongly kept makes noise,
//! what is wrongly dropped is lost.
//! Invariant: a page that shows text has a selection that shows text.

use super::hints::Hint;
use super::kind::Kind;
use super::page::{Page, Part};
use super::tree::{NodeId, Tree};

/// With less text outside links than this, in bytes, a page is not judged by its links: it may be a list of
/// them under a heading.
const MIN_OWN_BYTES: usize = 100;

/// What to read of a page.
#[derive(Debug)]
pub(super) struct Selection {
    /// Read what is inside this node.
    pub(super) root: NodeId,
    /// The page's heading, where it stands before the root and none stands in it.
    pub(super) lead: Option<NodeId>,
    /// Indexed by node: what to leave out, with all that is inside.
    pub(super) is_dropped: Vec<bool>,
}

/// Chooses what to read.
pub(super) fn select(tree: &Tree, source: &str) -> Selection {
    let mut page = Page::measure(tree, source);
    let boilerplate = boilerplate(&page);
    page.set_dropped(boilerplate);
    let (root, is_stated) = choose_root(&page);
    if !is_stated {
        prune_beside_path(&mut page, root);
    }
    let all = page.parts[0].amount.text;
    let kept = page.kept(root).text;
    let is_too_little = kept * 4 < all && n_clear_bytes(&page) * 4 < all;
    if kept == 0 || is_too_little {
        page.set_dropped([]);
        return selection(tree, &page, 0, None);
    }
    let lead = lead_heading(&page, root);
    selection(tree, &page, root, lead)
}

fn selection(tree: &Tree, page: &Page, root: usize, lead: Option<usize>) -> Selection {
    let mut is_dropped = vec![false; tree.n_nodes()];
    let dropped = page.dropped().map(|index| page.parts[index].node);
    for node in dropped.chain(page.hidden.iter().copied()) {
        is_dropped[node.index()] = true;
    }
    Selection {
        root: page.parts[root].node,
        lead: lead.map(|index| page.parts[index].node),
        is_dropped,
    }
}

/// Text that the author marked as not being content, in bytes.
fn n_clear_bytes(page: &Page) -> usize {
    let is_clear =
        |part: &Part| matches!(part.kind, Kind::Nav | Kind::Aside | Kind::Header | Kind::Footer);
    page.dropped()
        .map(|index| &page.parts[index])
        .filter(|part| is_clear(part))
        .map(|part| part.amount.text)
        .sum()
}

/// The elements that are not content, outermost ones only, by rising index.
fn boilerplate(page: &Page) -> Vec<usize> {
    let all = page.parts[0].amount;
    let is_major = |part: &Part| {
        part.is_main && part.amount.text > 0
            || part.kind == Kind::Article && part.amount.own() * 4 > all.own()
    };
    let majors: Vec<usize> =
        (0..page.parts.len()).filter(|index| is_major(&page.parts[*index])).collect();
    let drops_comments = n_comment_bytes(page) * 2 < all.own();
    let mut out = Vec::new();
    let mut index = 1;
    let mut content_end = 0;
    while let Some(part) = page.parts.get(index) {
        if matches!(part.kind, Kind::Main | Kind::Article) {
            content_end = content_end.max(part.end);
        }
        let major = majors.partition_point(|major| *major <= index);
        let holds_content = part.amount.own() * 2 > all.own()
            || majors.get(major).is_some_and(|major| *major < part.end);
        if !holds_content && is_boilerplate(part, index < content_end, drops_comments) {
            out.push(index);
            index = part.end;
        } else {
            index += 1;
        }
    }
    out
}

fn is_boilerplate(part: &Part, in_content: bool, drops_comments: bool) -> bool {
    let Part { kind, hint, amount, .. } = *part;
    match (kind, hint) {
        (Kind::Nav | Kind::Form, _) => true,
        (Kind::Aside, Hint::Callout) => false,
        (Kind::Aside, _) => !in_content || hint != Hint::None || amount.is_linked(30),
        (Kind::Header, _) => !in_content,
        (Kind::Footer, _) => !in_content || amount.is_linked(40),
        (_, Hint::Boilerplate) => true,
        (_, Hint::Comments) => drops_comments,
        (_, Hint::Suspect) => amount.n_links > 1 && amount.is_linked(40) && amount.n_h1 == 0,
        (_, Hint::None | Hint::Content | Hint::Callout) => false,
    }
}

/// Text in comments, in bytes: a forum is made of them.
fn n_comment_bytes(page: &Page) -> usize {
    let mut sum = 0;
    let mut index = 0;
    while let Some(part) = page.parts.get(index) {
        let is_comment = part.hint == Hint::Comments;
        sum += if is_comment { part.amount.own() } else { 0 };
        index = if is_comment { part.end } else { index + 1 };
    }
    sum
}

/// Where the content is, and whether the author says so.
fn choose_root(page: &Page) -> (usize, bool) {
    let main = (0..page.parts.len())
        .filter(|index| page.parts[*index].is_main)
        .max_by_key(|index| page.kept(*index).text)
        .filter(|main| holds(page, *main, 0, 50));
    let top = main.unwrap_or(0);
    let mut article = None;
    let mut index = top;
    while index < page.parts[top].end {
        let is_article = page.parts[index].kind == Kind::Article;
        if is_article && holds(page, index, top, 60) {
            article = Some(index);
        }
        index = if is_article { page.parts[index].end } else { index + 1 };
    }
    match article.or(main) {
        Some(stated) => (stated, true),
        // The innermost element that is called content and holds most of it.
        None => {
            let named = page.inside(0).rev().find(|index| {
                page.parts[*index].hint == Hint::Content && holds(page, *index, 0, 75)
            });
            (named.unwrap_or(0), false)
        }
    }
}

/// True when `inner` holds this share of the text of `outer`, in percent. Links do not count: they may be a
/// menu.
fn holds(page: &Page, inner: usize, outer: usize, percent: usize) -> bool {
    let (inner, outer) = (page.kept(inner), page.kept(outer));
    let [part, whole] =
        if outer.own() > 0 { [inner.own(), outer.own()] } else { [inner.text, outer.text] };
    part > 0 && part * 100 >= whole * percent
}

/// Follows the text down from `root`, as long as one element holds half of it, and leaves out what stands
/// beside this path and is mostly links.
fn prune_beside_path(page: &mut Page, root: usize) {
    let whole = page.kept(root);
    if whole.own() * 3 < whole.text || whole.own() < MIN_OWN_BYTES {
        // A page of links: they are the content.
        return;
    }
    let mut all: Vec<usize> = Vec::new();
    let mut at = root;
    loop {
        let heavy = page.children(at).find(|child| {
            page.parts[*child].kind.is_block() && page.kept(*child).own() * 2 >= whole.own()
        });
        let Some(heavy) = heavy else { break };
        let is_beside = |child: &usize| *child != heavy && is_beside_content(page, *child);
        all.extend(page.children(at).filter(is_beside));
        at = heavy;
    }
    all.extend(link_bars(page, at));
    all.extend(page.dropped());
    all.sort_unstable();
    let mut end = 0;
    all.retain(|index| {
        let is_outermost = *index >= end;
        end = end.max(page.parts[*index].end);
        is_outermost
    });
    page.set_dropped(all);
}

fn holds_part(page: &Page, outer: usize, inner: usize) -> bool {
    (outer..page.parts[outer].end).contains(&inner)
}

fn is_beside_content(page: &Page, index: usize) -> bool {
    let (part, amount) = (&page.parts[index], page.kept(index));
    let n_links = if part.kind == Kind::Paragraph { 3 } else { 2 };
    part.kind.is_block()
        && !matches!(part.kind, Kind::Heading(_))
        && amount.n_h1 == 0
        && amount.n_links >= n_links
        && amount.is_linked(50)
}

/// Rows of links before the first and after the last text of an element.
fn link_bars(page: &Page, index: usize) -> Vec<usize> {
    let is_bar = |child: &usize| {
        let (part, amount) = (&page.parts[*child], page.kept(*child));
        let is_bar = part.kind.is_block() && amount.n_links >= 3 && amount.is_linked(80);
        is_bar && amount.n_h1 == 0 && !matches!(part.kind, Kind::Heading(_) | Kind::Pre)
    };
    let is_passed = |child: &usize| page.kept(*child).text == 0 || is_bar(child);
    let mut out: Vec<usize> = page.children(index).take_while(is_passed).filter(is_bar).collect();
    let n_leading = out.len();
    // A list at the end is more often one of references.
    let is_last_bar = |child: &usize| is_bar(child) && page.parts[*child].kind != Kind::List;
    let is_last = |child: &usize| page.kept(*child).text == 0 || is_last_bar(child);
    out.extend(page.children(index).rev().take_while(is_last).filter(is_bar));
    if out.len() > n_leading && out[..n_leading].contains(&out[n_leading]) {
        // All of it is bars: nothing stands between.
        out.clear();
    }
    out
}

/// The one top heading before `root`, if there is none inside and it is more than a logo.
fn lead_heading(page: &Page, root: usize) -> Option<usize> {
    if page.kept(root).n_h1 > 0 {
        return None;
    }
    let is_heading = |index: &usize| {
        let Part { kind, amount, .. } = page.parts[*index];
        kind == Kind::Heading(1) && amount.text > 0
    };
    let mut headings = (0..page.parts.len()).filter(is_heading);
    let first = headings.next()?;
    let is_logo = page.parts[first].amount.is_linked(100) || is_linked_from_outside(page, first);
    let is_inside = holds_part(page, root, first);
    (first < root || is_inside && page.is_dropped(first))
        .then_some(first)
        .filter(|_| headings.next().is_none() && !is_logo)
}

fn is_linked_from_outside(page: &Page, index: usize) -> bool {
    (0..index).any(|outer| page.parts[outer].kind == Kind::Link && page.parts[outer].end > index)
}
