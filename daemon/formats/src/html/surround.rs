//! Surround: the elements of a page that are not its content.
//!
//! In: a measured [`Page`]. Out: elements to drop, outermost ones only, by increasing index. There are three kinds of
//! signs: the author's marks (`<nav>`, roles), hints from names, and announcements in first words. A sign alone is
//! not enough: an element with half of the text, or with the page's content, stays.

use super::hints::Hint;
use super::kind::Kind;
use super::label::Label;
use super::page::{Amount, Page, Part};

/// Prose before comments from which they comment on something, in bytes; with less, they are the posts of a forum.
const MIN_COMMENTED_BYTES: usize = 600;
/// Longest line about author and date, in bytes.
const MAX_BYLINE_BYTES: usize = 200;
/// Longest announcement, tag list or legal line, in bytes.
const MAX_FURNITURE_BYTES: usize = 500;
/// Longest question about cookies, in bytes.
const MAX_CONSENT_BYTES: usize = 1_500;
/// Most bylines of one article. With more, a page has many authors that matter: a forum, an index.
pub(super) const MAX_BYLINES: usize = 6;
/// Longest heading that may announce other pages, in bytes.
const MAX_HEADING_BYTES: usize = 70;
/// Longest teaser of another page, in bytes of its text.
const MAX_TEASER_BYTES: usize = 500;

/// Which signs are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// All, including names and first words.
    Names,
    /// Only the author's marks.
    Stated,
}

/// Properties of a page as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageTraits {
    care: Care,
    /// True for an article of news or a blog, by its own declaration, without code.
    pub(super) is_press: bool,
    drops_comments: bool,
    drops_bylines: bool,
    drops_teasers: bool,
    all: Amount,
}

/// The place of an element.
#[derive(Clone, Copy)]
struct Place {
    /// Inside `<main>` or `<article>`.
    in_content: bool,
    /// The end of its parent.
    parent_end: usize,
}

impl PageTraits {
    /// Determines the properties of a page.
    pub(super) fn of(page: &Page, is_press: bool, care: Care) -> PageTraits {
        let all = page.parts[0].amount;
        let of_hint = |hint: Hint| move |part: &Part| part.hint == hint && part.amount.text > 0;
        let comments = outermost(page, of_hint(Hint::Comments));
        let n_comment_bytes: usize = comments.iter().map(|c| page.parts[*c].amount.own()).sum();
        let before = comments.first().map_or(0, |first| page.parts[*first].prose_before);
        let n_bylines = outermost(page, of_hint(Hint::Byline)).len();
        let teasers = outermost(page, |part| part.amount.n_teasers == 1 && is_teasers(part));
        let n_teased: usize = teasers.iter().map(|t| page.parts[*t].amount.text).sum();
        PageTraits {
            care,
            is_press: is_press && !page.parts.iter().any(|part| part.kind == Kind::Pre),
            // Comments that are half of the text and follow little prose are the content, as in a forum.
            drops_comments: n_comment_bytes * 2 < all.own() || before >= MIN_COMMENTED_BYTES,
            drops_bylines: n_bylines <= MAX_BYLINES && all.prose >= MIN_COMMENTED_BYTES,
            drops_teasers: n_teased * 2 < all.text,
            all,
        }
    }
}

/// Returns the outermost elements that pass a test.
fn outermost(page: &Page, test: impl Fn(&Part) -> bool) -> Vec<usize> {
    let mut out = Vec::new();
    // Index 0 is the page itself.
    let mut index = 1;
    while let Some(part) = page.parts.get(index) {
        let is_found = test(part);
        out.extend(is_found.then_some(index));
        index = if is_found { part.end } else { index + 1 };
    }
    out
}

/// Returns the elements that are not content, outermost ones only, by increasing index.
pub(super) fn surround(page: &Page, traits: &PageTraits) -> Vec<usize> {
    let all = traits.all;
    // `<main>`, or an article with more than a quarter of the text.
    let is_major = |part: &Part| {
        part.is_main && part.amount.text > 0
            || part.kind == Kind::Article && part.amount.own() * 4 > all.own()
    };
    let majors: Vec<usize> =
        (0..page.parts.len()).filter(|index| is_major(&page.parts[*index])).collect();
    let mut out = Vec::new();
    let mut index = 1;
    let mut content_end = 0;
    let mut open: Vec<usize> = vec![page.parts[0].end];
    while let Some(part) = page.parts.get(index) {
        // Close the elements that ended before this one.
        while open.len() > 1 && open.last().is_some_and(|end| *end <= index) {
            open.pop();
        }
        if matches!(part.kind, Kind::Main | Kind::Article) {
            content_end = content_end.max(part.end);
        }
        // The next major element after this one: if it is inside, this one contains the content.
        let major = majors.partition_point(|major| *major <= index);
        let is_discussion = part.hint == Hint::Comments && part.prose_before >= MIN_COMMENTED_BYTES;
        let holds_content = part.amount.own() * 2 > all.own() && !is_discussion
            || majors.get(major).is_some_and(|major| *major < part.end);
        let parent_end = open.last().copied().unwrap_or(part.end);
        let place = Place { in_content: index < content_end, parent_end };
        if !holds_content && is_surround(page, index, place, traits) {
            out.push(index);
            index = part.end;
        } else if let Some(end) =
            announced_end(page, index, place).filter(|_| traits.care == Care::Names)
        {
            // Drop a heading that announces other pages together with what follows.
            while index < end {
                out.push(index);
                index = page.parts[index].end;
            }
        } else {
            open.push(part.end);
            index += 1;
        }
    }
    out
}

fn is_surround(page: &Page, index: usize, place: Place, traits: &PageTraits) -> bool {
    let part = &page.parts[index];
    let Part { kind, hint, amount, .. } = *part;
    let in_content = place.in_content;
    match kind {
        Kind::Nav | Kind::Form => return true,
        Kind::Aside if hint == Hint::Callout => return false,
        Kind::Aside => {
            // An aside in the content stays if neither its name nor its links say otherwise; in articles of news,
            // none do.
            let is_beside = hint != Hint::None && hint != Hint::Content || amount.is_linked(30);
            return !in_content || is_beside || traits.is_press || amount.n_teasers > 0;
        }
        Kind::Header if !in_content => return true,
        Kind::Footer if !in_content || amount.is_linked(40) || traits.is_press => return true,
        _ => {}
    }
    let is_caption = || hint == Hint::Caption && traits.is_press && is_caption(page, index);
    traits.care == Care::Names
        && (is_named_surround(part, traits) || is_labelled_surround(part, traits) || is_caption())
}

/// True for a picture's caption; false for a table or quotation inside a caption's element.
fn is_caption(page: &Page, index: usize) -> bool {
    let holds = |kind: Kind| {
        matches!(
            kind,
            Kind::Table | Kind::Quote | Kind::List | Kind::OrderedList | Kind::Heading(_)
        )
    };
    page.parts[index].amount.text <= MAX_FURNITURE_BYTES
        && !page.inside(index).any(|inner| holds(page.parts[inner].kind))
}

fn is_named_surround(part: &Part, traits: &PageTraits) -> bool {
    let Part { hint, amount, .. } = *part;
    match hint {
        Hint::Boilerplate => true,
        Hint::Comments => traits.drops_comments,
        Hint::Suspect => {
            // Many links with little prose, at one of several thresholds.
            let is_short = amount.prose * 4 < amount.text && amount.is_linked(15);
            let is_links =
                amount.is_linked(40) || is_short || amount.n_teasers > 0 && amount.is_linked(25);
            amount.n_links > 1 && is_links && amount.n_h1 == 0
        }
        Hint::Byline => {
            traits.drops_bylines
                && amount.n_h1 == 0
                && amount.prose == 0
                && amount.text <= MAX_BYLINE_BYTES
        }
        Hint::Caption | Hint::None | Hint::Content | Hint::Body | Hint::Callout => false,
    }
}

/// True for an element whose first words announce that it is not content, and that looks so.
fn is_labelled_surround(part: &Part, traits: &PageTraits) -> bool {
    let Part { kind, label, amount, prose_before, hint, .. } = *part;
    // Callouts and other elements are only checked for teasers.
    if !(kind.is_container() || kind == Kind::Paragraph) || hint == Hint::Callout {
        return traits.drops_teasers && kind.is_container() && is_teasers(part);
    }
    let is_short = amount.text <= MAX_FURNITURE_BYTES && amount.prose == 0 && amount.n_h1 == 0;
    // After 95 % of the prose.
    let is_last = prose_before > 0 && prose_before + amount.prose >= traits.all.prose * 19 / 20;
    match label {
        Label::Related => amount.n_links > 0 && (amount.is_linked(30) || amount.n_teasers > 0),
        Label::Comments => traits.drops_comments && prose_before >= MIN_COMMENTED_BYTES,
        Label::Furniture => {
            is_short && kind != Kind::Table && traits.all.prose > MAX_FURNITURE_BYTES
        }
        Label::Rights => amount.text <= MAX_FURNITURE_BYTES && is_last,
        Label::Consent => {
            let is_first = prose_before == 0;
            kind.is_container() && amount.text <= MAX_CONSENT_BYTES && (is_first || is_last)
        }
        Label::None | Label::Byline => {
            traits.drops_teasers && kind.is_container() && is_teasers(part)
        }
    }
}

/// True for one or more teasers of other pages with little else.
fn is_teasers(part: &Part) -> bool {
    let Amount { n_teasers, text, n_h1, linked, .. } = part.amount;
    let is_short = text <= n_teasers * MAX_TEASER_BYTES && linked * 8 >= text;
    n_teasers > 0 && n_h1 == 0 && is_short && !matches!(part.kind, Kind::Heading(_))
}

/// Returns the end of a list of links or teasers that directly follows a heading announcing it.
fn announced_end(page: &Page, index: usize, place: Place) -> Option<usize> {
    let heading = &page.parts[index];
    let is_line =
        matches!(heading.kind, Kind::Heading(_) | Kind::Paragraph | Kind::Block | Kind::Header);
    let announces = is_line
        && heading.amount.text <= MAX_HEADING_BYTES
        && matches!(heading.label, Label::Related | Label::Comments);
    if !announces {
        return None;
    }
    let is_link_list = |part: &Part| {
        let Amount { n_links, n_teasers, .. } = part.amount;
        !matches!(part.kind, Kind::Heading(_))
            && (part.amount.text == 0
                || n_links > 0 && part.amount.is_linked(60)
                || n_teasers > 0 && is_teasers(part))
    };
    let mut end = heading.end;
    let mut has_links = false;
    while end < place.parent_end && is_link_list(&page.parts[end]) {
        has_links |= page.parts[end].amount.n_links > 0;
        end = page.parts[end].end;
    }
    has_links.then_some(end)
}
