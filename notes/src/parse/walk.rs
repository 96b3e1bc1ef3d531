//! The walk over a note's Markdown: one pass over the parser's events, block by block.
//!
//! In: the text, and where its body begins. Out: the parts of [`Note`] that are in the body.
//! Invariant: code, mathematics, comments and, but for its links and anchors, raw HTML are not read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::target::{BLANK, MAX_TARGET_BYTES};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::bracket::Brackets;
use super::comment::Comments;
use super::depth::nests_deeper_than;
use super::{Block, BlockKind, Footnote, Heading, InlineTag, Item, MAX_NESTING, Note, Place};
use super::{frontmatter, html, link, tag, text_and_id};

/// Reads the body, and passes each event to `each`.
pub(super) fn read<'a>(
    text: &'a str,
    note: &mut Note,
    each: &mut impl FnMut(Event<'a>, Range<usize>),
) {
    #[cfg(feature = "testing")]
    super::testing::N_PARSES.with(|n| n.set(n.get() + 1));
    let body_at = note.body;
    let body = text.get(body_at..).unwrap_or("");
    note.is_too_deep = nests_deeper_than(body, MAX_NESTING);
    let mut walk = Walk::new(text, note);
    // Before the check: front matter is read even if the body is nested too deep.
    walk.read_properties();
    if walk.note.is_too_deep {
        return;
    }
    let body = calls_joined(body);
    let events = Parser::new_ext(&body, options()).into_offset_iter();
    // Reference definitions may come after the links that use them, so collect them first.
    for (label, it) in events.reference_definitions().iter() {
        let span = it.span.start + body_at..it.span.end + body_at;
        walk.definitions.insert(label.to_lowercase(), span);
    }
    let mut step = |event: Event<'a>, range: Range<usize>| {
        each(event.clone(), range.clone());
        walk.event(event, range);
    };
    let moved = |range: Range<usize>| range.start + body_at..range.end + body_at;
    match &body {
        Cow::Borrowed(body) => {
            let events = Parser::new_ext(body, options()).into_offset_iter();
            events.for_each(|(event, range)| step(event, moved(range)));
        }
        Cow::Owned(_) => events.for_each(|(event, range)| {
            let range = moved(range);
            let written = text.get(range.clone()).unwrap_or("");
            step(
                match event.into_static() {
                    Event::Text(it) if it.len() == written.len() => Event::Text(written.into()),
                    event => event,
                },
                range,
            );
        }),
    }
    walk.end_leaf();
    end_sections(&mut note.headings, text.len());
}

/// Returns the body with [`BLANK`]s for the blanks of template calls that are addresses: `[x]({% page "/a/" %})` is a
/// link for the generator of the site, but not for CommonMark, which allows no blanks in an address.
fn calls_joined(body: &str) -> Cow<'_, str> {
    let mut joined = Cow::Borrowed(body);
    for (at, _) in body.match_indices("]({") {
        let rest = body.get(at + 2..).unwrap_or("");
        let end = rest.find('\n').unwrap_or(rest.len());
        let call = ["%}", "}}"].iter().filter_map(|close| rest.get(..end)?.find(close)).min();
        let Some(call) = call.filter(|it| *it <= MAX_TARGET_BYTES) else { continue };
        let range = at + 2..at + 2 + call;
        let written = body.get(range.clone()).unwrap_or("").replace(' ', BLANK);
        joined.to_mut().replace_range(range, &written);
    }
    joined
}

/// Returns the extensions of CommonMark that are enabled.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_WIKILINKS
}

/// A piece of running text: a paragraph, a heading, a cell, an item's own text.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    /// Its lines, without the indentation and `>` before each.
    pub(super) lines: Vec<Range<usize>>,
    /// The first of its links in [`Note::links`].
    pub(super) first_link: usize,
    /// The first of its tags in [`Note::inline_tags`].
    pub(super) first_tag: usize,
    /// Where links of any kind and footnote marks begin.
    pub(super) marks: Vec<usize>,
    /// The item whose own text it is.
    pub(super) item: Option<usize>,
    /// Its text, without markup.
    words: String,
    pub(super) brackets: Brackets,
    /// Spans of its wikilinks.
    pub(super) wikilinks: Vec<Range<usize>>,
    begins_line: bool,
}

/// A list item whose end has not been reached.
#[derive(Debug)]
struct OpenItem {
    index: usize,
    /// Number of open containers around its content.
    n_containers: usize,
    /// True when its own text has begun, or cannot come any more.
    is_read: bool,
}

pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    pub(super) note: &'a mut Note,
    line_starts: Vec<usize>,
    /// Where reference links are defined, by lowercase label.
    pub(super) definitions: HashMap<String, Range<usize>>,
    pub(super) comments: Comments,
    leaf: Option<Leaf>,
    pub(super) links: Vec<link::Open>,
    /// Where the link of raw HTML begins whose end has not been reached.
    pub(super) html_link: Option<usize>,
    /// Number of open containers: quotations, lists, items, footnotes.
    n_containers: usize,
    lists: Vec<bool>,
    items: Vec<OpenItem>,
    is_code: bool,
    is_heading: bool,
    /// The end of the innermost block of running text; a comment within a line must close before it.
    block_end: usize,
    /// The start of the open table, and its current row.
    pub(super) table: Option<(usize, Range<usize>)>,
    /// The previous block at the current level, which a block id alone below it names.
    pub(super) before: Range<usize>,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, note: &'a mut Note) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Walk {
            text,
            note,
            line_starts: std::iter::once(0).chain(starts).collect(),
            definitions: HashMap::new(),
            comments: Comments::new(text),
            leaf: None,
            links: Vec::new(),
            html_link: None,
            n_containers: 0,
            lists: Vec::new(),
            items: Vec::new(),
            is_code: false,
            is_heading: false,
            block_end: text.len(),
            table: None,
            before: 0..0,
        }
    }

    pub(super) fn place(&self, span: Range<usize>) -> Place {
        Place { line: self.line_starts.partition_point(|start| *start <= span.start), span }
    }

    /// Returns the text of a range.
    pub(super) fn at(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    /// Returns a range without the white space at its end.
    pub(super) fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let text = self.at(range.clone());
        range.start..range.start + text.trim_end().len()
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(end, range),
            Event::Text(_) if self.is_code => {}
            Event::Text(text) => self.words(&text, range),
            // Shown text, but not read for tags and links.
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline(&range).words.push_str(&text);
                self.verbatim(range);
            }
            Event::InlineHtml(tag) => {
                html::anchors(&tag, &mut self.note.anchors);
                self.inline(&range);
                self.read_html(range.clone());
                self.verbatim(range);
            }
            Event::Html(line) => {
                html::anchors(&line, &mut self.note.anchors);
                self.verbatim(range);
            }
            Event::FootnoteReference(_) => self.inline(&range).marks.push(range.start),
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::TaskListMarker(_) => {
                // The character inside `[x]`.
                let state = self.at(range).chars().nth(1);
                if let Some(open) = self.items.last() {
                    self.note.items[open.index].task = state;
                }
            }
            Event::Rule => {
                self.begin_block();
                self.end_block(BlockKind::Rule, range);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => {
                // A paragraph may be an item's own text, so it does not end the chance for one, unlike the other
                // blocks.
                self.end_leaf();
                self.block_end = range.end;
            }
            Tag::Heading { .. } => {
                self.begin_block();
                self.is_heading = true;
                self.block_end = range.end;
            }
            Tag::BlockQuote(_) => {
                self.begin_container();
                self.callout(&range);
            }
            Tag::List(first) => {
                self.begin_container();
                self.lists.push(first.is_some());
            }
            Tag::Item => self.start_item(range),
            Tag::FootnoteDefinition(label) => {
                self.begin_container();
                let place = self.place(self.trimmed(range));
                self.note.footnotes.push(Footnote { label: label.to_string(), place });
            }
            Tag::CodeBlock(_) => {
                self.begin_block();
                self.is_code = true;
                self.verbatim(self.trimmed(range));
            }
            Tag::HtmlBlock => self.begin_block(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some((range.start, range));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some((_, row)) = &mut self.table {
                    *row = range;
                }
            }
            Tag::TableCell => {
                self.end_leaf();
                self.block_end = range.end;
            }
            Tag::Link { link_type, dest_url, id, .. } => {
                self.inline(&range).marks.push(range.start);
                self.open_link(link_type, false, &dest_url, &id, range);
            }
            Tag::Image { link_type, dest_url, id, .. } => {
                self.inline(&range).marks.push(range.start);
                self.open_link(link_type, true, &dest_url, &id, range);
            }
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {
                self.inline(&range);
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::Paragraph => {
                self.end_leaf();
                self.end_block(BlockKind::Paragraph, range);
            }
            TagEnd::Heading(level) => {
                self.end_heading(level as u8, &range);
                self.end_block(BlockKind::Heading, range);
            }
            TagEnd::BlockQuote(_) => self.end_container(BlockKind::Quote, range),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_container(BlockKind::List, range);
            }
            TagEnd::Item => {
                self.end_leaf();
                self.n_containers -= 1;
                self.items.pop();
                self.before = self.trimmed(range);
            }
            TagEnd::FootnoteDefinition => self.end_container(BlockKind::Footnote, range),
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.end_block(BlockKind::Code, range);
            }
            TagEnd::HtmlBlock => {
                self.read_html(range.clone());
                self.end_block(BlockKind::Html, range);
            }
            TagEnd::Table => {
                self.end_leaf();
                self.table = None;
                self.end_block(BlockKind::Table, range);
            }
            TagEnd::TableCell => self.end_leaf(),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    fn start_item(&mut self, range: Range<usize>) {
        self.end_leaf();
        self.n_containers += 1;
        // A block id alone cannot refer to what comes before this item.
        self.before = 0..0;
        self.block_end = range.end;
        let is_ordered = self.lists.last().copied().unwrap_or(false);
        let item = Item {
            place: self.place(self.trimmed(range.clone())),
            // Empty until its own text is read.
            content: range.end..range.end,
            depth: self.lists.len().saturating_sub(1),
            is_ordered,
            task: None,
        };
        let index = self.note.items.len();
        self.note.items.push(item);
        self.items.push(OpenItem { index, n_containers: self.n_containers, is_read: false });
    }

    /// Begins a block other than a paragraph; the own text of an item cannot come after it.
    fn begin_block(&mut self) {
        self.end_leaf();
        if let Some(open) = self.items.last_mut() {
            open.is_read = true;
        }
    }

    fn begin_container(&mut self) {
        self.begin_block();
        self.n_containers += 1;
        self.before = 0..0;
    }

    fn end_container(&mut self, kind: BlockKind, range: Range<usize>) {
        self.end_leaf();
        self.n_containers -= 1;
        self.end_block(kind, range);
    }

    fn end_block(&mut self, kind: BlockKind, range: Range<usize>) {
        let span = self.trimmed(range);
        // Only outermost blocks are listed.
        if self.n_containers == 0 {
            let place = self.place(span.clone());
            self.note.blocks.push(Block { kind, place });
        }
        self.before = span;
    }

    fn end_heading(&mut self, level: u8, range: &Range<usize>) {
        let words = self.take_leaf();
        self.is_heading = false;
        let (text, id) = text_and_id(&words);
        let place = self.place(self.trimmed(range.clone()));
        self.note.headings.push(Heading {
            level,
            text: text.to_string(),
            id: id.map(str::to_string),
            section: place.span.clone(),
            place,
            is_outer: self.n_containers == 0,
        });
    }

    /// Returns the current piece of running text, extended by `range`; begins one if there is none.
    pub(super) fn inline(&mut self, range: &Range<usize>) -> &mut Leaf {
        if self.leaf.is_none() {
            self.leaf = Some(self.begin_leaf());
        }
        // Everything inside a link extends its text.
        if let Some(open) = self.links.last_mut() {
            open.inner_end = open.inner_end.max(range.end);
        }
        let leaf = self.leaf.get_or_insert_default();
        match leaf.lines.last_mut() {
            Some(line) if !leaf.begins_line => line.end = line.end.max(range.end),
            _ => leaf.lines.push(range.clone()),
        }
        leaf.begins_line = false;
        leaf
    }

    fn begin_leaf(&mut self) -> Leaf {
        let n_containers = self.n_containers;
        // The first paragraph directly inside an item is the item's own text.
        let is_plain = !self.is_heading && self.table.is_none();
        let open = self
            .items
            .last_mut()
            .filter(|open| is_plain && !open.is_read && open.n_containers == n_containers);
        let item = open.map(|open| {
            open.is_read = true;
            open.index
        });
        Leaf {
            first_link: self.note.links.len(),
            first_tag: self.note.inline_tags.len(),
            item,
            ..Leaf::default()
        }
    }

    fn words(&mut self, words: &str, range: Range<usize>) {
        let text = self.text;
        // A wikilink may contain `#heading`, which is not a tag.
        let is_silent = self.links.iter().any(|link| link.is_wiki);
        let verbatim = &mut self.note.verbatim;
        let add = |comment| add_verbatim(verbatim, comment);
        let shown = self.comments.shown(text, range.clone(), self.block_end, add);
        let is_whole = shown.first() == Some(&range);
        // Without comments, the parser's text is used, in which escapes and entities are decoded.
        self.inline(&range).words.push_str(if is_whole { words } else { "" });
        for piece in shown {
            let source = self.at(piece.clone());
            let is_escaped = piece.start > 0 && self.text.as_bytes()[piece.start - 1] == b'\\';
            let leaf = self.inline(&range);
            for (at, byte) in source.bytes().enumerate() {
                match byte {
                    // The parser leaves out the backslash and begins a new event after it.
                    _ if at == 0 && is_escaped => {}
                    b'[' => leaf.brackets.open(piece.start + at),
                    b']' => leaf.brackets.close(piece.start + at),
                    _ => {}
                }
            }
            if !is_whole {
                leaf.words.push_str(source);
            }
            if !is_silent && source.contains('#') {
                let mut tags = Vec::new();
                tag::find(text, piece, |place| tags.push(place));
                for place in tags {
                    let name = self.at(place.clone());
                    frontmatter::add_tag(&mut self.note.tags, name);
                    let place = self.place(place.start - 1..place.end);
                    self.note.inline_tags.push(InlineTag { name: name.to_string(), place });
                }
            }
        }
    }

    /// Marks a range as not to be read.
    fn verbatim(&mut self, range: Range<usize>) {
        add_verbatim(&mut self.note.verbatim, range);
    }

    /// Returns whether a place is text to be read.
    pub(super) fn is_text(&self, at: usize) -> bool {
        let next = self.note.verbatim.partition_point(|range| range.end <= at);
        self.note.verbatim.get(next).is_none_or(|range| at < range.start)
    }

    fn end_line(&mut self) {
        if let Some(leaf) = &mut self.leaf {
            leaf.wikilinks.extend(leaf.brackets.end_line());
            leaf.begins_line = true;
            leaf.words.push(' ');
        }
    }

    /// Ends the current piece of running text, if there is one, and reads its statements.
    fn end_leaf(&mut self) {
        self.take_leaf();
    }

    /// Like [`Walk::end_leaf`]; also returns its text.
    fn take_leaf(&mut self) -> String {
        let Some(mut leaf) = self.leaf.take() else { return String::new() };
        leaf.wikilinks.extend(leaf.brackets.end_line());
        self.add_wikilinks(&leaf);
        let words = std::mem::take(&mut leaf.words);
        self.read_leaf(&mut leaf);
        words
    }
}

/// Appends a range, or extends the last one if they meet.
fn add_verbatim(verbatim: &mut Vec<Range<usize>>, range: Range<usize>) {
    match verbatim.last_mut() {
        Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
        _ => verbatim.push(range),
    }
}

/// Sets the end of each heading's section.
fn end_sections(headings: &mut [Heading], end: usize) {
    // The next outer heading of each level, going backwards.
    let mut next = [end; 7];
    let mut next_of_any = end;
    for heading in headings.iter_mut().rev() {
        let level = usize::from(heading.level.min(6));
        let start = heading.place.span.start;
        if heading.is_outer {
            heading.section = start..next.iter().take(level + 1).copied().min().unwrap_or(end);
            next[level] = start;
        } else {
            heading.section = start..next_of_any;
        }
        next_of_any = start;
    }
}
