//! Testing: documents for tests, from lines a reader can check by eye.
//!
//! One line is one block: `# ` to `###### ` heading, `- ` item, `1. ` numbered item (two spaces a level of
//! nesting), `| ` table row (a header if it ends with `|`), `> ` quote, `~ ` code line, anything else a
//! paragraph. Inside a line: `` `code` ``, `**bold**`, `*emphasis*`, `[[Target]]`, `[[Target|text]]`,
//! `[text](target)`, with `#fragment` after a target.
//! A blank line ends a list or a table. Not Markdown, and not the normalizer: only what the tests here need.

use crate::document::*;
use crate::terms::{Confidence, ContentHash, EntityType, Norm, RelPath, Span};

/// Builds a document named `Test Page` from these lines.
pub fn doc(lines: &str) -> Document {
    titled("Test Page", lines)
}

/// Builds a document from these lines under the given title.
pub fn titled(title: &str, lines: &str) -> Document {
    let mut builder = Builder::new(title);
    for line in lines.lines() {
        builder.line(line);
    }
    builder.doc
}

/// Returns the sentences of the blocks that have any; cut after `.`, `!` or `?` before a space.
pub fn sentences_of(doc: &Document) -> Vec<Span<Norm>> {
    let mut out = Vec::new();
    for block in &doc.blocks {
        if matches!(block.kind, BlockKind::Code { .. } | BlockKind::TableRow { .. }) {
            continue;
        }
        let bytes = &doc.text.as_bytes()[..block.span.end()];
        let mut start = block.span.start();
        for at in block.span.range() {
            let ends = matches!(bytes[at], b'.' | b'!' | b'?') && bytes.get(at + 1) == Some(&b' ');
            if ends {
                out.push(Span::new(start, at + 1));
                start = at + 2;
            }
        }
        if start < block.span.end() {
            out.push(Span::new(start, block.span.end()));
        }
    }
    out
}

struct Builder {
    doc: Document,
    n_lists: u32,
    n_tables: u32,
    in_list: bool,
    in_table: bool,
    headings: Vec<(u8, u32)>,
}

impl Builder {
    fn new(title: &str) -> Self {
        let path = RelPath::new(format!("{}.md", title.to_lowercase().replace(' ', "-")));
        let doc = Document {
            head: DocHead { path, hash: ContentHash::of(b""), ..DocHead::default() },
            title: title.to_string(),
            meta: DocMeta { has_stated_title: true, ..DocMeta::default() },
            language: "en".to_string(),
            line_starts: vec![0],
            ..Document::default()
        };
        let (n_lists, n_tables, in_list, in_table) = (0, 0, false, false);
        Builder { doc, n_lists, n_tables, in_list, in_table, headings: Vec::new() }
    }

    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            (self.in_list, self.in_table) = (false, false);
            return;
        }
        let (kind, rest) = self.kind_of(line);
        if !self.doc.text.is_empty() {
            let same = matches!(kind, BlockKind::ListItem { .. } | BlockKind::TableRow { .. })
                && self.doc.blocks.last().is_some_and(|b| {
                    std::mem::discriminant(&b.kind) == std::mem::discriminant(&kind)
                });
            self.doc.text.push_str(if same { "\n" } else { "\n\n" });
        }
        let start = self.doc.text.len();
        if matches!(kind, BlockKind::Code { .. }) {
            self.doc.text.push_str(rest);
        } else {
            self.inline(rest);
        }
        let span = Span::new(start, self.doc.text.len());
        if let BlockKind::Heading(level) = kind {
            self.headings.retain(|(l, _)| *l < level);
        }
        let section = self.headings.last().map(|(_, idx)| *idx);
        if let BlockKind::Heading(level) = kind {
            self.headings.push((level, self.doc.blocks.len() as u32));
        }
        self.doc.blocks.push(Block { kind, span, section });
    }

    fn kind_of<'l>(&mut self, line: &'l str) -> (BlockKind, &'l str) {
        let hashes = line.bytes().take_while(|b| *b == b'#').count();
        if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
            (self.in_list, self.in_table) = (false, false);
            return (BlockKind::Heading(hashes as u8), &line[hashes + 1..]);
        }
        if let Some(rest) = line.strip_prefix("~ ") {
            return (BlockKind::Code { language: String::new() }, rest);
        }
        if let Some(rest) = line.strip_prefix("> ") {
            return (BlockKind::Quote, rest);
        }
        if let Some(rest) = line.strip_prefix("| ") {
            self.n_tables += u32::from(!self.in_table);
            self.in_table = true;
            let is_header = rest.ends_with('|');
            let row = BlockKind::TableRow { table: self.n_tables - 1, is_header };
            return (row, rest.trim_end_matches('|').trim_end());
        }
        let body = line.trim_start();
        let depth = ((line.len() - body.len()) / 2) as u8;
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        let (ordinal, rest) = if let Some(rest) = body.strip_prefix("- ") {
            (None, rest)
        } else if digits > 0 && body[digits..].starts_with(". ") {
            (body[..digits].parse().ok(), &body[digits + 2..])
        } else {
            return (BlockKind::Paragraph, line);
        };
        self.n_lists += u32::from(!self.in_list);
        self.in_list = true;
        (BlockKind::ListItem { list: self.n_lists - 1, depth, ordinal }, rest)
    }

    fn inline(&mut self, mut rest: &str) {
        while let Some(at) = rest.find(['`', '*', '[']) {
            self.doc.text.push_str(&rest[..at]);
            rest = &rest[at..];
            let start = self.doc.text.len();
            if let Some((inside, after)) = between(rest, "`", "`") {
                self.doc.text.push_str(inside);
                self.mark(InlineKind::Code, start);
                rest = after;
            } else if let Some((inside, after)) = between(rest, "**", "**") {
                let n_before = self.doc.inlines.len();
                self.inline(inside);
                self.mark(InlineKind::Bold, start);
                self.doc.inlines[n_before..].rotate_right(1);
                rest = after;
            } else if let Some((inside, after)) = between(rest, "*", "*") {
                self.doc.text.push_str(inside);
                self.mark(InlineKind::Emphasis, start);
                rest = after;
            } else if let Some((inside, after)) = between(rest, "[[", "]]") {
                let (target, text) = inside.split_once('|').unwrap_or((inside, inside));
                self.link(LinkKind::Wiki, target, text);
                rest = after;
            } else if let Some((text, (target, after))) = between(rest, "[", "](")
                .and_then(|(text, after)| after.split_once(')').map(|pair| (text, pair)))
            {
                let kind = if target.contains("://") { LinkKind::Url } else { LinkKind::Path };
                self.link(kind, target, text);
                rest = after;
            } else {
                self.doc.text.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        self.doc.text.push_str(rest);
    }

    fn mark(&mut self, kind: InlineKind, start: usize) {
        self.doc.inlines.push(Inline { kind, span: Span::new(start, self.doc.text.len()) });
    }

    fn link(&mut self, kind: LinkKind, target: &str, text: &str) {
        let start = self.doc.text.len();
        self.doc.text.push_str(text);
        let span = Span::new(start, self.doc.text.len());
        let (target, fragment) = match target.split_once('#') {
            Some((target, fragment)) => (target, Some(fragment.to_string())),
            None => (target, None),
        };
        self.doc.links.push(Link { kind, target: target.to_string(), fragment, span });
    }
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(open)?.split_once(close)
}

/// Makes a mention of the first place where a text has a name, as the statistical recognizer finds it.
pub fn mention(doc: &Document, name: &str, entity_type: EntityType) -> Mention {
    let start = doc.text.find(name).expect("the name stands there");
    Mention {
        span: Span::new(start, start + name.len()),
        name: name.to_string(),
        entity_type,
        recognizer: RecognizerKind::Statistical,
        score: Confidence::new(0.6),
        place: PlaceFeatures::default(),
    }
}
