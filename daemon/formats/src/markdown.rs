//! Markdown: CommonMark with tables, footnotes, strikethrough, task lists, math, and Obsidian's extensions
//! (wikilinks, embeds, callouts, tags, comments).
//!
//! In: decoded, redacted text. Out: [`Parsed`], visible text only.
//! Decisions: soft and hard line breaks both become one space, so that sentences flow; the alternative text of an
//! image is text, that of a wiki embed (its size) or of a badge after the words of a heading is not; footnote
//! references, task boxes and rules are dropped.

mod hidden;
mod raw_html;

use std::ops::Range;

use notes::parse::{Head, MAX_NESTING, Note, add_tag, tag};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Tag, TagEnd};

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use super::frontmatter;
use super::light::PLAIN;
use super::target::Target;
use model::document::{InlineKind, Parsed};
use raw_html::RawHtml;

/// The Markdown format.
pub(crate) struct Markdown;

impl Format<str> for Markdown {
    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        read_note(text, limits).map(|(parsed, _)| parsed)
    }
}

/// Reads a document's visible text, and what its author stated as a note, in one parse.
pub(crate) fn read_note(text: &str, limits: &FormatLimits) -> Result<(Parsed, Note), String> {
    let head = Head::of(text);
    let stated = frontmatter::sort(head.frontmatter());
    let mut walk = MarkdownWalk::new(text, stated.body, limits);
    walk.tags = stated.meta.tags.clone();
    let note = head.parse(|event, range| walk.event(event, range));
    if note.is_too_deep {
        // By Markdown's rules, a line costs time in proportion to its depth, so such text would take too long.
        let mut parsed = PLAIN.read(text, limits)?;
        parsed.warnings.push(format!(
            "a line nests more than {MAX_NESTING} lists or quotations; the document is read as plain text"
        ));
        return Ok((parsed, note));
    }
    // Tags of the front matter come first; the walk added those in the text.
    let mut parsed = walk.out.finish();
    parsed.title = stated.title;
    parsed.meta = stated.meta;
    parsed.meta.tags = walk.tags;
    parsed.warnings.extend(stated.warnings);
    Ok((parsed, note))
}

/// One walk over the events of a document.
struct MarkdownWalk<'a> {
    source: &'a str,
    out: TextBuilder<'a>,
    tags: Vec<String>,
    html: RawHtml,
    /// A range of the source that is not shown, at or after the current place.
    hidden: Range<usize>,
    has_comments: bool,
    /// The end of the innermost block with running text; an inline comment must close before it.
    block_end: usize,
    /// The line end after the title of a callout.
    callout_title_end: Option<usize>,
    is_code: bool,
    /// In a heading: whether it has words yet. Images after them are badges, whose text is no part of it.
    heading: Option<bool>,
    /// Depth inside embeds whose text is not shown.
    n_silent: u32,
}

impl<'a> MarkdownWalk<'a> {
    fn new(source: &'a str, body: usize, limits: &FormatLimits) -> Self {
        let body = source.get(body..).unwrap_or("");
        MarkdownWalk {
            source,
            out: TextBuilder::new(source, limits),
            tags: Vec::new(),
            html: RawHtml::default(),
            hidden: 0..0,
            has_comments: hidden::may_have_comments(body),
            block_end: source.len(),
            callout_title_end: None,
            is_code: false,
            heading: None,
            n_silent: 0,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        if matches!(event, Event::Text(_) | Event::Code(_)) {
            self.heading = self.heading.map(|_| true);
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(end),
            _ if self.n_silent > 0 => {}
            Event::Text(text) if self.is_code => self.code_text(&text, range),
            Event::Text(text) => self.text(&text, range),
            Event::Code(text) => self.code_span(&text, range),
            // With its `$` signs: in prose they are money, and in commands variables.
            Event::InlineMath(_) | Event::DisplayMath(_) => self.running(range),
            Event::Html(_) if !self.is_hidden(&range) => {
                self.html.feed(self.source, range, &mut self.out);
            }
            Event::InlineHtml(tag) if raw_html::parts_words(&tag) => self.out.space_inserted(),
            // The title of a callout is a block of its own.
            Event::SoftBreak | Event::HardBreak if self.callout_title_end == Some(range.start) => {
                self.out.end_block();
            }
            Event::SoftBreak | Event::HardBreak => self.out.space_inserted(),
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => {
                self.block_end = range.end;
                self.out.begin_text();
            }
            Tag::Heading { level, .. } => {
                self.block_end = range.end;
                self.heading = Some(false);
                self.hide_heading_attributes(&range);
                self.out.begin_heading(level as u8);
            }
            Tag::BlockQuote(_) => {
                self.out.begin_quote();
                self.hide_callout_marker(&range);
            }
            Tag::CodeBlock(kind) => {
                self.is_code = true;
                self.out.begin_code(&language_of(&kind));
            }
            Tag::HtmlBlock => self.html = RawHtml::default(),
            Tag::List(first) => {
                self.out.begin_list(first.map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
            }
            Tag::Item => {
                self.block_end = range.end;
                self.out.begin_item();
            }
            Tag::Table(_) => self.out.begin_table(),
            Tag::TableHead => self.out.begin_row(true),
            Tag::TableRow => self.out.begin_row(false),
            Tag::TableCell => {
                self.block_end = range.end;
                self.out.begin_cell();
            }
            Tag::Emphasis => self.out.begin_inline(InlineKind::Emphasis),
            Tag::Strong => self.out.begin_inline(InlineKind::Bold),
            Tag::Link { link_type, dest_url, .. } => {
                let target = self.target(link_type, &dest_url, &range);
                self.out.begin_link(target);
                // Without text (`[[Target|]]`), the parser shows nothing; show the target.
                if let Some(written) = self.unshown(link_type, &range) {
                    self.running(written);
                }
            }
            Tag::Image { link_type, dest_url, .. } => {
                if let Some(target) = self.target(link_type, &dest_url, &range) {
                    self.out.embed(target);
                }
                // Inside a silent embed, all images count, since each ends with an event of its own.
                let is_silent = self.heading == Some(true) || is_wiki(link_type);
                self.n_silent += u32::from(self.n_silent > 0 || is_silent);
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(_) => {
                self.heading = None;
                self.out.end_block();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => {
                self.out.end_block()
            }
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.out.end_block();
            }
            TagEnd::BlockQuote(_) => self.out.end_quote(),
            TagEnd::List(_) => self.out.end_list(),
            TagEnd::Item => self.out.end_item(),
            TagEnd::Table => self.out.end_table(),
            TagEnd::TableHead | TagEnd::TableRow => self.out.end_row(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link => self.out.end_mark(),
            TagEnd::Image => self.n_silent = self.n_silent.saturating_sub(1),
            _ => {}
        }
    }

    /// Returns the target of a link; `None` when it is hidden or empty.
    fn target(
        &self,
        link_type: LinkType,
        address: &CowStr<'_>,
        range: &Range<usize>,
    ) -> Option<Target> {
        if self.is_hidden(range) || self.n_silent > 0 {
            return None;
        }
        match link_type {
            // In a table, the `|` of a wikilink is escaped, and the backslash stays on the target.
            LinkType::WikiLink { .. } => {
                // `notes::parse` does not accept a wikilink that spans lines either.
                let written = self.source.get(range.clone()).unwrap_or("");
                let is_one = !written.contains(['\n', '\r']);
                is_one.then(|| Target::of_wikilink(address.trim_end_matches('\\'))).flatten()
            }
            LinkType::Email => Target::of_address(&format!("mailto:{address}")),
            _ => Target::of_address(address),
        }
    }

    /// Returns the range of the target of `[[Target|]]`, which shows nothing else.
    fn unshown(&self, link_type: LinkType, range: &Range<usize>) -> Option<Range<usize>> {
        let written = self.source.get(range.clone()).filter(|_| is_wiki(link_type))?;
        let target = written.strip_prefix("[[")?.strip_suffix("|]]")?.trim_end_matches('\\');
        let start = range.start + "[[".len();
        (!target.contains('|')).then(|| start..start + target.len())
    }

    /// Writes a piece of text: verbatim where it equals its source, else as a replacement (an entity, an escape, or
    /// text made by the parser).
    fn text(&mut self, text: &str, range: Range<usize>) {
        if self.source.get(range.clone()) == Some(text) {
            self.running(range);
        } else if !self.is_hidden(&range) {
            self.out.replaced(text, range);
        }
    }

    fn code_text(&mut self, text: &str, range: Range<usize>) {
        if self.is_hidden(&range) {
            return;
        }
        if self.source.get(range.clone()) == Some(text) {
            self.out.code(range);
        } else {
            self.out.code_replaced(text, range);
        }
    }

    fn code_span(&mut self, text: &str, range: Range<usize>) {
        if self.is_hidden(&range) {
            return;
        }
        let Some(written) = self.source.get(range.clone()) else { return };
        let n_ticks = written.bytes().take_while(|byte| *byte == b'`').count();
        let mut place = inner(range, n_ticks);
        let mut shown = self.source.get(place.clone()).unwrap_or("");
        if shown.len() == text.len() + 2 {
            // The parser strips one space from each side, which is there to keep backticks apart.
            place = inner(place, 1);
            shown = self.source.get(place.clone()).unwrap_or("");
        }
        self.out.begin_inline(InlineKind::Code);
        // The parser turns a line end into a space; the builder does the same.
        let is_blank = |byte: u8| byte == b' ' || byte == b'\n';
        let is_same = shown.len() == text.len()
            && shown.bytes().zip(text.bytes()).all(|(a, b)| a == b || (is_blank(a) && is_blank(b)));
        if is_same {
            self.out.flow(place);
        } else {
            self.out.replaced(text, place);
        }
        self.out.end_mark();
    }

    /// Shows a range of running text except for what is hidden, and collects its tags.
    fn running(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if self.hidden.contains(&at) {
                at = self.hidden.end;
                continue;
            }
            if self.has_comments {
                self.find_comment(at..range.end);
            }
            if self.hidden.end <= at {
                self.hide_block_id(at..range.end);
            }
            // Stop at the hidden range if it begins in the rest.
            let stop = match self.hidden.start {
                start if (at..range.end).contains(&start) && !self.hidden.is_empty() => start,
                _ => range.end,
            };
            tag::find(self.source, at..stop, |tag| {
                add_tag(&mut self.tags, self.source.get(tag).unwrap_or(""));
            });
            self.out.flow(at..stop);
            at = stop;
        }
    }
}

/// Returns the range without `n` bytes at either end; empty if it is shorter.
fn inner(range: Range<usize>, n: usize) -> Range<usize> {
    range.start + n..range.end.saturating_sub(n).max(range.start + n)
}

fn is_wiki(link_type: LinkType) -> bool {
    matches!(link_type, LinkType::WikiLink { .. })
}

/// Returns the first word of an info string: `Rust,ignore` and `{.rust #id}` both give `rust`.
fn language_of(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(info) = kind else { return String::new() };
    let info = info.trim_start_matches(['{', '.', ' ']);
    let word = info.split([' ', '\t', ',', '{', '}', ':', ';']).next().unwrap_or("");
    word.to_lowercase()
}

#[cfg(test)]
mod tests;
