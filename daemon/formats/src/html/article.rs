//! Article: which part of a page is its content.
//!
//! In: a measured [`Page`]. Out: a [`Selection`]: what to read, and what to skip in it. The author's own marks
//! (`<main>`, `<article>`, `<nav>`, roles) come first, then hints from classes and ids, then the share of linked
//! text. In doubt, text is kept: wrongly kept text is noise, wrongly dropped text is lost.
//! Invariant: a page with visible text has a selection with visible text.

use super::edge;
use super::hints::Hint;
use super::kind::Kind;
use super::page::{Page, Part};
use super::press;
use super::surround::{Care, MAX_BYLINES, PageTraits, surround};
use super::tree::{NodeId, Tree};

/// A page with less text outside links than this, in bytes, is not judged by its links: it may be a list of links
/// under a heading.
const MIN_OWN_BYTES: usize = 100;

/// Most text for each headline in a list of teasers, in bytes.
const MAX_TEASER_BYTES: usize = 300;
/// Prose of an article that is enough however much surrounds it, in bytes.
const MIN_ARTICLE_BYTES: usize = 800;

/// The part of a page to read.
#[derive(Debug)]
pub(super) struct Selection {
    /// The node whose content is read.
    pub(super) root: NodeId,
    /// The page's heading, if it is before the root and the root contains none.
    pub(super) lead: Option<NodeId>,
    /// The first byline.
    pub(super) author: Option<NodeId>,
    /// True for news and blogs, in which pictures are left out with their captions.
    pub(super) is_press: bool,
    /// For each node, whether it is skipped with its content.
    pub(super) is_dropped: Vec<bool>,
}

/// Chooses the part of a page to read.
pub(super) fn select(tree: &Tree, source: &str) -> Selection {
    let mut page = Page::measure(tree, source);
    let is_press = press::is_press(tree, source);
    // First follow all signs. If too little is left, only those of the author; if that fails, read the whole page.
    for care in [Care::Names, Care::Stated] {
        let traits = PageTraits::of(&page, is_press, care);
        let around = surround(&page, &traits);
        page.set_dropped(around);
        let (root, is_stated) = choose_root(&page);
        // A root that the author marked is taken as it is, except on pages of the press.
        if !is_stated || traits.is_press {
            prune_beside_path(&mut page, root);
        }
        if traits.is_press {
            edge::trim(&mut page, root);
        }
        if is_enough(&page, root) {
            let lead = lead_heading(&page, root);
            return Selection { is_press: traits.is_press, ..selection(tree, &page, root, lead) };
        }
    }
    page.set_dropped([]);
    selection(tree, &page, 0, None)
}

/// True when enough of all possible content is kept; less means that a sign was misread.
fn is_enough(page: &Page, root: usize) -> bool {
    let all = page.parts[0].amount;
    let kept = page.kept(root);
    let is_fair = kept.text * 4 >= all.text || n_clear_bytes(page) * 4 >= all.text;
    // A long article is enough, however much surrounds it.
    let is_article = kept.prose >= MIN_ARTICLE_BYTES && kept.prose * 8 >= all.prose;
    kept.text > 0 && (is_fair || is_article)
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
        author: byline(page),
        is_press: false,
        is_dropped,
    }
}

/// Returns the byline of the page; `None` if there are many, since then each belongs to a part.
fn byline(page: &Page) -> Option<NodeId> {
    let is_byline = |part: &&Part| part.hint == Hint::Byline && part.amount.text > 0;
    let mut bylines = page.parts.iter().filter(is_byline);
    let first = bylines.next().map(|part| part.node);
    first.filter(|_| bylines.count() < MAX_BYLINES)
}

/// Returns the amount of text that the author marked as not being content, in bytes.
fn n_clear_bytes(page: &Page) -> usize {
    let is_clear =
        |part: &Part| matches!(part.kind, Kind::Nav | Kind::Aside | Kind::Header | Kind::Footer);
    page.dropped()
        .map(|index| &page.parts[index])
        .filter(|part| is_clear(part))
        .map(|part| part.amount.text)
        .sum()
}

/// Returns the element with the content, and whether the author marked it.
fn choose_root(page: &Page) -> (usize, bool) {
    // The largest `<main>`, with at least half of the page's prose.
    let main = (0..page.parts.len())
        .filter(|index| page.parts[*index].is_main)
        .max_by_key(|index| page.kept(*index).text)
        .filter(|main| holds(page, *main, 0, 50));
    let top = main.unwrap_or(0);
    let mut article = None;
    let mut index = top;
    // The first `<article>` in it with 60 %; articles inside others are passed.
    while index < page.parts[top].end {
        let is_article = page.parts[index].kind == Kind::Article;
        if is_article && holds(page, index, top, 60) {
            article = Some(index);
        }
        index = if is_article { page.parts[index].end } else { index + 1 };
    }
    let stated = article.or(main);
    let outer = stated.unwrap_or(0);
    if let Some(body) = body_in(page, outer) {
        return (body, true);
    }
    match stated {
        Some(stated) => (stated, true),
        // The innermost element named as content that has three quarters of it.
        None => {
            let named = page.inside(0).rev().find(|index| {
                page.parts[*index].hint == Hint::Content && holds(page, *index, 0, 75)
            });
            (named.unwrap_or(0), false)
        }
    }
}

/// Returns the element named as the body of an article, or the one around all of them if there are several.
fn body_in(page: &Page, outer: usize) -> Option<usize> {
    let is_body =
        |index: &usize| page.parts[*index].hint == Hint::Body && page.kept(*index).prose > 0;
    let first = page.inside(outer).find(is_body)?;
    let last = page.inside(outer).rev().find(is_body)?;
    let around = (outer..=first).rev().find(|index| last < page.parts[*index].end)?;
    let is_around = around != outer && holds(page, around, outer, 60);
    let inner = (around == first).then(|| {
        // The innermost of several nested ones.
        let inner =
            page.inside(first).rev().filter(is_body).find(|inner| holds(page, *inner, first, 90));
        inner.unwrap_or(first)
    });
    is_around.then(|| inner.unwrap_or(around))
}

/// True when `inner` has at least this share of `outer`, in percent: of its prose, if that is most of its text,
/// otherwise of the text outside links, which may be a menu, and only then of all text.
fn holds(page: &Page, inner: usize, outer: usize, percent: usize) -> bool {
    let (inner, outer) = (page.kept(inner), page.kept(outer));
    let [part, whole] = match outer {
        _ if outer.prose * 2 > outer.own() => [inner.prose, outer.prose],
        _ if outer.own() > 0 => [inner.own(), outer.own()],
        _ => [inner.text, outer.text],
    };
    part > 0 && part * 100 >= whole * percent
}

/// Follows the text down from `root`, as long as one element has half of it, and drops elements beside this path that
/// are mostly links.
fn prune_beside_path(page: &mut Page, root: usize) {
    let whole = page.kept(root);
    if whole.own() * 3 < whole.text || whole.own() < MIN_OWN_BYTES {
        // A page of links: these are the content.
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
    page.drop_also(all);
}

fn holds_part(page: &Page, outer: usize, inner: usize) -> bool {
    (outer..page.parts[outer].end).contains(&inner)
}

fn is_beside_content(page: &Page, index: usize) -> bool {
    let (part, amount) = (&page.parts[index], page.kept(index));
    let n_links = if part.kind == Kind::Paragraph { 3 } else { 2 };
    let is_block = part.kind.is_block() && !matches!(part.kind, Kind::Heading(_) | Kind::Pre);
    let is_linked = amount.n_links >= n_links && amount.is_linked(50);
    // Short pieces, some of them links, and few sentences: a column beside the content.
    let is_box = part.kind.is_container()
        && amount.prose * 3 < amount.text
        && (amount.n_links >= 3 && amount.is_linked(20));
    // Headlines with a sentence each: teasers of other pages.
    let is_teased = part.kind.is_container()
        && amount.n_link_lines >= 3
        && amount.text < amount.n_link_lines * MAX_TEASER_BYTES;
    is_block && amount.n_h1 == 0 && (is_linked || is_box || is_teased)
}

/// Returns rows of links before the first and after the last text of an element.
fn link_bars(page: &Page, index: usize) -> Vec<usize> {
    let is_bar = |child: &usize| {
        let (part, amount) = (&page.parts[*child], page.kept(*child));
        let is_bar = part.kind.is_block() && amount.n_links >= 3 && amount.is_linked(80);
        is_bar && amount.n_h1 == 0 && !matches!(part.kind, Kind::Heading(_) | Kind::Pre)
    };
    let is_passed = |child: &usize| page.kept(*child).text == 0 || is_bar(child);
    let mut out: Vec<usize> = page.children(index).take_while(is_passed).filter(is_bar).collect();
    let n_leading = out.len();
    // A list at the end is more often one of references than a menu.
    let is_last_bar = |child: &usize| is_bar(child) && page.parts[*child].kind != Kind::List;
    let is_last = |child: &usize| page.kept(*child).text == 0 || is_last_bar(child);
    out.extend(page.children(index).rev().take_while(is_last).filter(is_bar));
    if out.len() > n_leading && out[..n_leading].contains(&out[n_leading]) {
        // Everything is rows of links, so these are the content.
        out.clear();
    }
    out
}

/// Returns the only top heading before `root`, if there is none inside and it is not just a logo.
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
