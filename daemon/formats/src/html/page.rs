//! Page: measures how much text, and how much linked text, every element of a page contains.
//!
//! In: a tree. Out: its visible elements in document order, measured.
//! Invariants: an element precedes its content; two elements are nested or disjoint. Hidden elements are skipped.
//! Text is counted in bytes that are not white space. A run of text between the bounds of blocks is prose if it reads
//! like sentences (`run.rs`); prose is counted where its block ends.

use std::ops::{Range, Sub};

use super::hints::{Hint, hint_of, is_custom, is_hidden, may_be_boilerplate};
use super::kind::Kind;
use super::label::Label;
use super::run::Run;
use super::tree::{Data, Element, NodeId, Tree};

/// The contents of an element.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    /// Text, in bytes.
    pub(super) text: usize,
    /// Text inside links, in bytes.
    pub(super) linked: usize,
    pub(super) n_links: usize,
    /// Number of top headings.
    pub(super) n_h1: usize,
    /// Text outside links that reads like sentences or is code, in bytes.
    pub(super) prose: usize,
    /// Number of headings that link to another page.
    pub(super) n_teasers: usize,
    /// Number of lines that are entirely links.
    pub(super) n_link_lines: usize,
}

impl Amount {
    /// Returns the text outside links, in bytes.
    pub(super) fn own(self) -> usize {
        self.text.saturating_sub(self.linked)
    }

    /// True when at least this share of the text, in percent, is linked.
    pub(super) fn is_linked(self, percent: usize) -> bool {
        self.text > 0 && self.linked * 100 >= self.text * percent
    }

    /// Returns the sum of two amounts.
    pub(super) fn plus(self, other: Amount) -> Amount {
        Amount {
            text: self.text + other.text,
            linked: self.linked + other.linked,
            n_links: self.n_links + other.n_links,
            n_h1: self.n_h1 + other.n_h1,
            prose: self.prose + other.prose,
            n_teasers: self.n_teasers + other.n_teasers,
            n_link_lines: self.n_link_lines + other.n_link_lines,
        }
    }
}

impl Sub for Amount {
    type Output = Amount;

    fn sub(self, other: Amount) -> Amount {
        Amount {
            text: self.text.saturating_sub(other.text),
            linked: self.linked.saturating_sub(other.linked),
            n_links: self.n_links.saturating_sub(other.n_links),
            n_h1: self.n_h1.saturating_sub(other.n_h1),
            prose: self.prose.saturating_sub(other.prose),
            n_teasers: self.n_teasers.saturating_sub(other.n_teasers),
            n_link_lines: self.n_link_lines.saturating_sub(other.n_link_lines),
        }
    }
}

/// A visible element.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) node: NodeId,
    pub(super) kind: Kind,
    pub(super) hint: Hint,
    /// True for `<main>` and `role=main`.
    pub(super) is_main: bool,
    /// What its first words announce.
    pub(super) label: Label,
    /// The index after its last descendant.
    pub(super) end: usize,
    /// Prose before it, in bytes.
    pub(super) prose_before: usize,
    /// Its contents, including all descendants.
    pub(super) amount: Amount,
}

impl Part {
    fn new(node: NodeId, kind: Kind, hint: Hint) -> Self {
        Part {
            node,
            kind,
            hint,
            is_main: false,
            label: Label::None,
            end: 0,
            prose_before: 0,
            amount: Amount::default(),
        }
    }
}

/// The state of measuring.
#[derive(Default)]
struct Measuring {
    /// Open elements, outermost first, as indexes of parts. Until a part is closed, its amount is the sum before it.
    open: Vec<usize>,
    /// The sum of everything so far.
    sum: Amount,
    n_open_links: usize,
    n_open_pre: usize,
    /// True when the last link leads to another page.
    leads_away: bool,
    /// Text since the last bound of a block.
    run: Run,
    /// Open elements without text so far, outermost first: the next run labels them.
    blank: Vec<usize>,
}

impl Measuring {
    /// Counts an element that begins.
    fn count(&mut self, kind: Kind, element: &Element) {
        match kind {
            Kind::Link => {
                self.n_open_links += 1;
                self.sum.n_links += 1;
                // A link to a place in this page is only an anchor of the heading.
                self.leads_away =
                    element.attr("href").is_some_and(|href| !href.trim_start().starts_with('#'));
            }
            Kind::Heading(level) => {
                // A link around the heading was counted before it and also applies.
                self.leads_away &= self.n_open_links > 0;
                self.sum.n_h1 += usize::from(level == 1);
            }
            Kind::Pre => self.n_open_pre += 1,
            _ => {}
        }
    }
}

/// A measured page.
#[derive(Debug)]
pub(super) struct Page {
    /// Visible elements in document order; the first contains all others.
    pub(super) parts: Vec<Part>,
    /// Hidden elements.
    pub(super) hidden: Vec<NodeId>,
    /// Dropped elements, outermost ones only, by increasing index, each with the sum of it and all before it.
    dropped: Vec<(usize, Amount)>,
}

impl Page {
    /// Measures everything visible in a tree.
    pub(super) fn measure(tree: &Tree, source: &str) -> Page {
        let mut page = Page { parts: Vec::new(), hidden: Vec::new(), dropped: Vec::new() };
        page.parts.push(Part::new(NodeId::ROOT, Kind::Block, Hint::None));
        let mut walk = Measuring { open: vec![0], ..Measuring::default() };
        let mut next = tree.first_child(NodeId::ROOT);
        while let Some(here) = next {
            next = page.visit(tree, source, here, &mut walk);
            // Without recursion: go up until there is a next sibling, closing elements on the way.
            let mut at = here;
            while next.is_none() && at != NodeId::ROOT {
                next = tree.next_sibling(at);
                if next.is_none() {
                    let Some(parent) = tree.parent(at) else { break };
                    at = parent;
                    page.close(&mut walk);
                }
            }
        }
        while !walk.open.is_empty() {
            page.close(&mut walk);
        }
        page
    }

    /// Measures one node; returns its first child if that is to be measured, too.
    fn visit(
        &mut self,
        tree: &Tree,
        source: &str,
        here: NodeId,
        walk: &mut Measuring,
    ) -> Option<NodeId> {
        let element = match tree.data(here) {
            Data::Other => return None,
            Data::Text(text) => {
                let bytes = text.of(source).bytes();
                let n_bytes = bytes.filter(|byte| !byte.is_ascii_whitespace()).count();
                walk.sum.text += n_bytes;
                let is_linked = walk.n_open_links > 0;
                walk.sum.linked += if is_linked { n_bytes } else { 0 };
                walk.run.push(text.of(source), n_bytes, is_linked);
                return None;
            }
            Data::Element(element) => element,
        };
        let kind = element.kind;
        if kind == Kind::Hidden || is_hidden(element) {
            self.hidden.push(here);
            return None;
        }
        if kind.is_block() {
            self.end_run(walk);
        }
        let may_be = may_be_boilerplate(kind) || is_custom(element);
        let hint = if may_be { hint_of(element) } else { Hint::None };
        let is_main = kind == Kind::Main || kind.is_block() && element.attr("role") == Some("main");
        walk.open.push(self.parts.len());
        walk.blank.push(self.parts.len());
        let prose_before = walk.sum.prose;
        let part = Part::new(here, kind, hint);
        self.parts.push(Part { is_main, amount: walk.sum, prose_before, ..part });
        walk.count(kind, element);
        let first = tree.first_child(here);
        if first.is_none() {
            self.close(walk);
        }
        first
    }

    /// Ends the innermost open element.
    fn close(&mut self, walk: &mut Measuring) {
        let n_parts = self.parts.len();
        let Some(index) = walk.open.pop() else { return };
        if self.parts[index].kind.is_block() {
            self.end_run(walk);
        }
        walk.blank.pop_if(|blank| *blank == index);
        let part = &mut self.parts[index];
        part.end = n_parts;
        // The sum now minus the sum at its beginning.
        part.amount = walk.sum - part.amount;
        walk.n_open_links -= usize::from(part.kind == Kind::Link);
        if matches!(part.kind, Kind::Heading(_)) && part.amount.is_linked(90) && walk.leads_away {
            // Counted after closing, so for the element around the heading.
            walk.sum.n_teasers += 1;
        }
        walk.n_open_pre -= usize::from(part.kind == Kind::Pre);
    }

    /// Ends a run of text: counts it as prose or not, and labels the elements that begin with it.
    fn end_run(&mut self, walk: &mut Measuring) {
        if walk.run.is_blank() {
            return;
        }
        walk.sum.prose += walk.run.prose(walk.n_open_pre > 0);
        walk.sum.n_link_lines += usize::from(walk.run.is_link());
        let label = walk.run.label();
        for index in walk.blank.drain(..) {
            self.parts[index].label = label;
        }
        walk.run.clear();
    }

    /// Returns the descendants of an element.
    pub(super) fn inside(&self, index: usize) -> Range<usize> {
        index + 1..self.parts[index].end
    }

    /// Returns the children of an element.
    pub(super) fn children(&self, index: usize) -> impl DoubleEndedIterator<Item = usize> {
        let mut children = Vec::new();
        let mut at = index + 1;
        while at < self.parts[index].end {
            children.push(at);
            // A child's end is where the next child begins.
            at = self.parts[at].end;
        }
        children.into_iter()
    }

    /// Sets the dropped elements, which must be disjoint and by increasing index.
    pub(super) fn set_dropped(&mut self, indexes: impl IntoIterator<Item = usize>) {
        self.dropped.clear();
        let mut sum = Amount::default();
        for index in indexes {
            sum = sum.plus(self.parts[index].amount);
            self.dropped.push((index, sum));
        }
    }

    /// Drops more elements, in any order, which may be nested.
    pub(super) fn drop_also(&mut self, mut indexes: Vec<usize>) {
        indexes.extend(self.dropped());
        indexes.sort_unstable();
        let mut end = 0;
        indexes.retain(|index| {
            let is_outermost = *index >= end;
            end = end.max(self.parts[*index].end);
            is_outermost
        });
        self.set_dropped(indexes);
    }

    /// Returns the dropped elements.
    pub(super) fn dropped(&self) -> impl Iterator<Item = usize> {
        self.dropped.iter().map(|(index, _)| *index)
    }

    /// True when an element or one of its ancestors is dropped.
    pub(super) fn is_dropped(&self, index: usize) -> bool {
        let after = self.dropped.partition_point(|(start, _)| *start <= index);
        after.checked_sub(1).is_some_and(|last| index < self.parts[self.dropped[last].0].end)
    }

    /// Returns the contents of an element without those of dropped elements.
    pub(super) fn kept(&self, index: usize) -> Amount {
        if self.is_dropped(index) {
            return Amount::default();
        }
        // Prefix sums: the difference is what was dropped between two places.
        let sum_before = |end: usize| {
            let n_before = self.dropped.partition_point(|(start, _)| *start < end);
            n_before.checked_sub(1).map_or(Amount::default(), |last| self.dropped[last].1)
        };
        let part = &self.parts[index];
        part.amount - (sum_before(part.end) - sum_before(index))
    }
}
