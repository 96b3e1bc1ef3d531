//! Links of a note: wikilinks, embeds, Markdown links and images, `<a>` of raw HTML, and links in values of the front
//! matter.
//!
//! Invariant: where `[[…]]` could also be read in another way, it is a wikilink; links to the web are skipped.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::LinkType;
use serde_json::Value;

use super::bracket::Brackets;
use super::walk::{Leaf, Walk};
use super::{Link, LinkKind, html};
use crate::target::Target;

/// A link whose end has not been reached.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) is_wiki: bool,
    range: Range<usize>,
    /// Kind and target, if it leads to a note or file.
    target: Option<(LinkKind, Target)>,
    /// For a link by reference: the place of its definition.
    definition: Option<Range<usize>>,
    /// Where its text begins, and where the part read so far ends.
    first: usize,
    pub(super) inner_end: usize,
}

impl Walk<'_> {
    pub(super) fn open_link(
        &mut self,
        link_type: LinkType,
        is_image: bool,
        address: &str,
        label: &str,
        range: Range<usize>,
    ) {
        if matches!(link_type, LinkType::WikiLink { .. }) {
            // Only their brackets are used: which ones make a link is decided for the whole line (`bracket.rs`).
            let first = range.start + usize::from(is_image);
            let leaf = self.inline(&range);
            leaf.brackets.open(first);
            leaf.brackets.open(first + 1);
            let open = Open {
                is_wiki: true,
                range,
                target: None,
                definition: None,
                first,
                inner_end: first,
            };
            self.links.push(open);
            return;
        }
        let kind = if is_image { LinkKind::Image } else { LinkKind::Markdown };
        let is_address = matches!(link_type, LinkType::Autolink | LinkType::Email);
        let is_hidden = is_address || self.comments.hides(range.start);
        let target = Target::of_address(address).filter(|_| !is_hidden).map(|it| (kind, it));
        let definition = self.definitions.get(&label.to_lowercase()).cloned();
        // An inline link has no definition, even if its label is defined.
        let definition = definition.filter(|_| link_type != LinkType::Inline);
        let first = range.start + 1 + usize::from(is_image);
        self.links.push(Open {
            is_wiki: false,
            range,
            target,
            definition,
            first,
            inner_end: first,
        });
    }

    pub(super) fn close_link(&mut self) {
        let Some(open) = self.links.pop() else { return };
        if open.is_wiki {
            let end = open.range.end;
            let leaf = self.inline(&open.range);
            leaf.brackets.close(end.saturating_sub(2));
            leaf.brackets.close(end.saturating_sub(1));
            return;
        }
        let Some((display, written)) = self.parts_of(&open) else { return };
        let Some((kind, target)) = open.target else { return };
        let link = Link {
            kind,
            target: target.name,
            heading: target.heading,
            block: target.block,
            display: Some(self.at(display).to_string()),
            place: self.place(open.range),
            target_span: written,
            is_html: false,
        };
        self.note.links.push(link);
    }

    /// Adds the links in raw HTML: `<a href="…">text</a>`, which may go on in text after it.
    pub(super) fn read_html(&mut self, range: Range<usize>) {
        let from = range.start;
        for (tag, address) in html::links(self.at(range)) {
            let tag = from + tag.start..from + tag.end;
            let open = self.html_link.take();
            let Some(address) = address else {
                // From the end, where it is.
                let links = self.note.links.iter_mut().rev();
                if let Some(link) = links.into_iter().find(|it| Some(it.place.span.start) == open) {
                    let words = self.text.get(link.place.span.end..tag.start).unwrap_or("");
                    link.display = Some(words.trim().to_string());
                    link.place.span.end = tag.end;
                }
                continue;
            };
            let target_span = from + address.start..from + address.end;
            let written = self.at(target_span.clone()).replace("&amp;", "&");
            let target = Target::of_address(&written).filter(|_| !self.comments.hides(tag.start));
            let Some(target) = target else { continue };
            self.html_link = Some(tag.start);
            self.note.links.push(Link {
                kind: LinkKind::Markdown,
                target: target.name,
                heading: target.heading,
                block: target.block,
                display: None,
                place: self.place(tag),
                target_span,
                is_html: true,
            });
        }
    }

    /// Returns the ranges of a Markdown link's text and address.
    fn parts_of(&self, open: &Open) -> Option<(Range<usize>, Range<usize>)> {
        let (start, end) = (open.first, open.inner_end);
        let (before, written) = match &open.definition {
            Some(definition) => (definition.start, self.at(definition.clone()).split_once("]:")?),
            None => (end, self.at(end..open.range.end).split_once("](")?),
        };
        let (head, tail) = written;
        let address = address_in(tail)?;
        let from = before + head.len() + 2;
        Some((start..end, from + address.start..from + address.end))
    }

    /// Adds the wikilinks of a piece of running text, and sorts all of its links by place.
    pub(super) fn add_wikilinks(&mut self, leaf: &Leaf) {
        for span in &leaf.wikilinks {
            if self.comments.hides(span.start) {
                continue;
            }
            let is_embed = self.text.get(..span.start).is_some_and(|before| before.ends_with('!'))
                // The `!` must be text, and not escaped.
                && self.is_text(span.start - 1)
                && !self.at(0..span.start - 1).ends_with('\\');
            let kind = if is_embed { LinkKind::Embed } else { LinkKind::Wiki };
            if let Some(mut link) = self.wikilink(kind, span.clone()) {
                link.place.span.start -= usize::from(is_embed);
                self.note.links.push(link);
            }
        }
        self.note.links[leaf.first_link..].sort_by_key(|link| link.place.span.start);
    }

    fn wikilink(&self, kind: LinkKind, span: Range<usize>) -> Option<Link> {
        let inner = span.start + 2..span.end - 2;
        let written = self.at(inner.clone());
        let (target, display) = match written.split_once('|') {
            // In a table, the `|` is escaped.
            Some((target, display)) => (target.trim_end_matches('\\'), Some(display.trim())),
            None => (written, None),
        };
        let n_blank = target.len() - target.trim_start().len();
        let target_span = inner.start + n_blank..inner.start + n_blank + target.trim().len();
        // A name in backticks is code that shows the syntax of links; a heading may contain code.
        let parts = Target::of_wikilink(target)
            .filter(|parts| !parts.name.contains('`') && !written.contains(['\n', '\r']))?;
        Some(Link {
            kind,
            target: parts.name,
            heading: parts.heading,
            block: parts.block,
            display: display.filter(|it| !it.is_empty()).map(str::to_string),
            place: self.place(span),
            target_span,
            is_html: false,
        })
    }

    /// Reads links in values of the front matter.
    pub(super) fn read_properties(&mut self) {
        let Some(frontmatter) = &self.note.frontmatter else { return };
        // The values say what is a link, and the source says where: only links found in both count.
        let mut stated = HashSet::new();
        for value in frontmatter.values.values() {
            links_in_value(value, &mut stated);
        }
        if stated.is_empty() {
            return;
        }
        let mut at = frontmatter.yaml.start;
        let mut links = Vec::new();
        for line in self.at(frontmatter.yaml.clone()).split_inclusive('\n') {
            for span in wikilinks_in(line) {
                if stated.contains(line.get(span.clone()).unwrap_or("")) {
                    let span = at + span.start..at + span.end;
                    links.extend(self.wikilink(LinkKind::Property, span));
                }
            }
            at += line.len();
        }
        self.note.links = links;
    }
}

fn links_in_value(value: &Value, out: &mut HashSet<String>) {
    match value {
        Value::String(text) if text.contains("[[") => {
            let links = wikilinks_in(text).into_iter();
            out.extend(links.filter_map(|span| Some(text.get(span)?.to_string())));
        }
        Value::Array(items) => items.iter().for_each(|item| links_in_value(item, out)),
        Value::Object(keys) => keys.values().for_each(|value| links_in_value(value, out)),
        _ => {}
    }
}

/// Returns the wikilinks of one line of plain text.
fn wikilinks_in(line: &str) -> Vec<Range<usize>> {
    let mut brackets = Brackets::default();
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'[' => brackets.open(at),
            b']' => brackets.close(at),
            _ => {}
        }
    }
    brackets.end_line()
}

/// Returns the address at the start of the text after `](` or `]:`.
fn address_in(text: &str) -> Option<Range<usize>> {
    let start = text.len() - text.trim_start().len();
    let rest = text.get(start..)?;
    if let Some(inner) = rest.strip_prefix('<') {
        return Some(start + 1..start + 1 + inner.find('>')?);
    }
    // Parentheses in an address must be balanced.
    let mut depth = 0;
    let mut is_escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some(start..start + at),
            ')' => depth -= 1,
            _ if c.is_whitespace() => return Some(start..start + at),
            _ => {}
        }
    }
    Some(start..text.len())
}
