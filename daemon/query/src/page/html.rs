//! Html: renders Markdown as HTML for a page that trusts no document.
//!
//! In: the text of a file, the marks in it, the targets of its links, the wanted bytes. Out: HTML
//! with a fixed set of tags.
//! Invariants: every text is escaped, including raw HTML, which is shown as source; no style, no
//! script, no attribute from a document except checked addresses (web addresses and our own);
//! nothing is loaded: an image becomes a link. Elements that start before the wanted bytes keep
//! their tags, so that half a list is still a list.

use std::fmt::Write as _;
use std::ops::Range;

use notes::parse::Head;
use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, Tag, TagEnd};

/// Schemes of outside links that a browser may follow.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// A place in a text that names an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Bytes in the text.
    pub(super) at: Range<usize>,
    /// The entity.
    pub(super) entity: i64,
}

/// Returns the path of the document that the link at a byte of the text leads to.
pub(super) type Leads<'a> = &'a dyn Fn(usize) -> Option<String>;

/// Renders the bytes `wanted` of Markdown. `marks` are sorted and do not overlap.
pub(super) fn markdown(
    text: &str,
    marks: &[Mark],
    leads: Leads<'_>,
    wanted: &Range<usize>,
) -> String {
    let mut page = Page { text, marks, out: String::new(), links: Vec::new(), is_head: false };
    let note = Head::of(text).parse(|event, range| {
        if range.start < wanted.end && wanted.start < range.end {
            page.event(event, &range, leads, wanted);
        }
    });
    match note.is_too_deep {
        true => plain(text.get(wanted.clone()).unwrap_or(text), &[], true),
        false => page.out,
    }
}

/// Renders text without markup: as paragraphs, or preformatted.
pub(super) fn plain(text: &str, marks: &[Mark], is_laid_out: bool) -> String {
    if is_laid_out {
        let mut out = String::from("<pre>");
        marked(&mut out, text, 0, marks);
        return out + "</pre>\n";
    }
    let mut out = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            out.push_str("<p>");
            marked(&mut out, line.trim_end(), at, marks);
            out.push_str("</p>\n");
        }
        at += line.len();
    }
    out
}

/// Escapes text for an element or an attribute in double quotes.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

/// Writes a text that starts at byte `at`, with the marks in it.
fn marked(out: &mut String, text: &str, at: usize, marks: &[Mark]) {
    let end = at + text.len();
    let first = marks.partition_point(|it| it.at.start < at);
    let mut done = 0;
    for mark in marks.iter().skip(first).take_while(|it| it.at.start < end) {
        let part = mark.at.start - at..mark.at.end.min(end) - at;
        let (Some(before), Some(name)) = (text.get(done..part.start), text.get(part.clone()))
        else {
            continue;
        };
        if mark.at.end > end {
            continue;
        }
        escape(out, before);
        let _ = write!(out, "<a class=\"entity\" href=\"#/entity/{}\">", mark.entity);
        escape(out, name);
        out.push_str("</a>");
        done = part.end;
    }
    escape(out, text.get(done..).unwrap_or_default());
}

/// Percent-encodes a path.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

struct Page<'t> {
    text: &'t str,
    marks: &'t [Mark],
    out: String,
    /// The closing tag of each open link or image.
    links: Vec<&'static str>,
    /// Whether the current row is a table's first.
    is_head: bool,
}

impl Page<'_> {
    fn event(
        &mut self,
        event: Event<'_>,
        range: &Range<usize>,
        leads: Leads<'_>,
        wanted: &Range<usize>,
    ) {
        match event {
            Event::Start(tag) => self.start(&tag, range, leads),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.words(&text, range, wanted),
            Event::Code(text) => {
                self.out.push_str("<code>");
                self.words(&text, range, &range.clone());
                self.out.push_str("</code>");
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.escaped("<code class=\"math\">", &text, "</code>");
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.escaped("<span class=\"raw\">", &text, "</span>");
            }
            Event::FootnoteReference(name) => self.escaped("<sup>", &name, "</sup>"),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " });
            }
        }
    }

    /// Writes a text between two tags, or in an attribute.
    fn escaped(&mut self, before: &str, text: &str, after: &str) {
        self.out.push_str(before);
        escape(&mut self.out, text);
        self.out.push_str(after);
    }

    /// Writes the part of an event's words that is wanted. Only words that appear verbatim in the
    /// file can be marked.
    fn words(&mut self, words: &str, range: &Range<usize>, wanted: &Range<usize>) {
        let found = self.text.get(range.clone()).and_then(|raw| raw.find(words));
        let Some(at) = found.map(|offset| range.start + offset) else {
            return escape(&mut self.out, words);
        };
        let from = wanted.start.clamp(at, at + words.len());
        let to = wanted.end.clamp(from, at + words.len());
        // If a boundary is inside a character, show all the words rather than lose any.
        let part = words.get(from - at..to - at).unwrap_or(words);
        let from = if part.len() == words.len() { at } else { from };
        let marks = if self.links.is_empty() { self.marks } else { &[] };
        marked(&mut self.out, part, from, marks);
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>, leads: Leads<'_>) {
        let open = match tag {
            Tag::Paragraph => "<p>",
            Tag::Heading { level, .. } => {
                // Level 1 is reserved for the heading of the page.
                let level = (*level as usize + 1).min(6);
                let _ = write!(self.out, "<h{level}>");
                return;
            }
            Tag::BlockQuote(kind) => {
                let class = match kind {
                    Some(BlockQuoteKind::Warning | BlockQuoteKind::Caution) => " class=\"warning\"",
                    _ => "",
                };
                let _ = writeln!(self.out, "<blockquote{class}>");
                return;
            }
            Tag::CodeBlock(kind) => {
                let name = match kind {
                    CodeBlockKind::Fenced(name) if !name.is_empty() => name.as_ref(),
                    _ => "text",
                };
                let open = "<pre tabindex=\"0\" aria-label=\"Code: ";
                return self.escaped(open, name, "\"><code>");
            }
            Tag::HtmlBlock | Tag::MetadataBlock(_) => "<pre class=\"raw\">",
            Tag::List(Some(1)) => "<ol>\n",
            Tag::List(Some(first)) => {
                let _ = writeln!(self.out, "<ol start=\"{first}\">");
                return;
            }
            Tag::List(None) => "<ul>\n",
            Tag::Item => "<li>",
            Tag::FootnoteDefinition(name) => {
                return self.escaped("<div class=\"footnote\"><sup>", name, "</sup> ");
            }
            Tag::DefinitionList => "<dl>\n",
            Tag::DefinitionListTitle => "<dt>",
            Tag::DefinitionListDefinition => "<dd>",
            Tag::Table(_) => "<table>\n",
            Tag::TableHead => {
                self.is_head = true;
                "<thead><tr>"
            }
            Tag::TableRow => "<tr>",
            Tag::TableCell if self.is_head => "<th scope=\"col\">",
            Tag::TableCell => "<td>",
            Tag::Emphasis => "<em>",
            Tag::Strong => "<strong>",
            Tag::Strikethrough => "<del>",
            Tag::Superscript => "<sup>",
            Tag::Subscript => "<sub>",
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let is_image = matches!(tag, Tag::Image { .. });
                return self.link(dest_url, is_image, leads(range.start));
            }
        };
        self.out.push_str(open);
    }

    /// Opens a link: to a document, to the web, or to nowhere.
    fn link(&mut self, target: &str, is_image: bool, document: Option<String>) {
        let lower = target.to_ascii_lowercase();
        let is_outside = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
        let close = match document {
            _ if !self.links.is_empty() => {
                self.out.push_str("<span>");
                "</span>"
            }
            Some(path) => {
                let _ = write!(self.out, "<a href=\"#/document/{}\">", encoded(&path));
                "</a>"
            }
            None if is_outside => {
                let open = "<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"";
                self.escaped(open, target, "\">");
                "</a>"
            }
            None => {
                let open = "<span class=\"missing\" title=\"leads to no document: ";
                self.escaped(open, target, "\">");
                "</span>"
            }
        };
        if is_image {
            self.out.push_str("🖼 ");
        }
        self.links.push(close);
    }

    fn end(&mut self, tag: TagEnd) {
        let close = match tag {
            TagEnd::Paragraph => "</p>\n",
            TagEnd::Heading(level) => {
                let level = (level as usize + 1).min(6);
                let _ = writeln!(self.out, "</h{level}>");
                return;
            }
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => "</code></pre>\n",
            TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => "</pre>\n",
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::FootnoteDefinition => "</div>\n",
            TagEnd::DefinitionList => "</dl>\n",
            TagEnd::DefinitionListTitle => "</dt>\n",
            TagEnd::DefinitionListDefinition => "</dd>\n",
            TagEnd::Table => "</table>\n",
            TagEnd::TableHead => {
                self.is_head = false;
                "</tr></thead>\n"
            }
            TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell if self.is_head => "</th>",
            TagEnd::TableCell => "</td>",
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Superscript => "</sup>",
            TagEnd::Subscript => "</sub>",
            TagEnd::Link | TagEnd::Image => self.links.pop().unwrap_or_default(),
        };
        self.out.push_str(close);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, wanted: Range<usize>, expected: Expect) {
        let at = text.find("Key Vault").map(|at| at..at + "Key Vault".len());
        let marks: Vec<Mark> = at.map(|at| Mark { at, entity: 7 }).into_iter().collect();
        let vault = text.find("[[");
        let leads = |at| (Some(at) == vault).then(|| "a b/Key Vault.md".to_string());
        expected.assert_eq(&markdown(text, &marks, &leads, &wanted));
    }

    #[test]
    fn markdown_becomes_html_with_entities_and_links() {
        let text = "---\ntitle: T\n---\n# One *two*\n\n\
                    The Key Vault & [[Vault|it]], [web](https://example.org/?a=1&b).\n\n\
                    1. a\n2. b\n\n- [x] done\n\n| A | B |\n|---|---|\n| 1 | `c` |\n\n```sh\nls <x>\n```\n";
        check(
            text,
            0..text.len(),
            expect![[r##"
            <h2>One <em>two</em></h2>
            <p>The <a class="entity" href="#/entity/7">Key Vault</a> &amp; <a href="#/document/a%20b/Key%20Vault.md">it</a>, <a rel="noopener noreferrer" target="_blank" href="https://example.org/?a=1&amp;b">web</a>.</p>
            <ol>
            <li>a</li>
            <li>b</li>
            </ol>
            <ul>
            <li>☑ done</li>
            </ul>
            <table>
            <thead><tr><th scope="col">A</th><th scope="col">B</th></tr></thead>
            <tr><td>1</td><td><code>c</code></td></tr>
            </table>
            <pre tabindex="0" aria-label="Code: sh"><code>ls &lt;x&gt;
            </code></pre>
        "##]],
        );
    }

    #[test]
    fn nothing_of_a_document_becomes_markup() {
        let text = "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> [x](javascript:alert(1)) \
                    ![i](http://evil.example/a.png) [q](<\" onmouseover=\"x>)\n\n```\"><script>\nx\n```\n";
        check(
            text,
            0..text.len(),
            expect![[r##"
            <pre class="raw"><span class="raw">&lt;script&gt;alert(1)&lt;/script&gt;
            </span></pre>
            <p>a <span class="raw">&lt;img src=x onerror=alert(1)&gt;</span> <span class="missing" title="leads to no document: javascript:alert(1)">x</span> <a rel="noopener noreferrer" target="_blank" href="http://evil.example/a.png">🖼 i</a> <span class="missing" title="leads to no document: &quot; onmouseover=&quot;x">q</span></p>
            <pre tabindex="0" aria-label="Code: &quot;&gt;&lt;script&gt;"><code>x
            </code></pre>
        "##]],
        );
    }

    #[test]
    fn a_passage_keeps_its_list_and_its_words() {
        let text = "# T\n\nFirst. The Key Vault is second.\n\n- one\n- two\n";
        let from = text.find("The").expect("there");
        check(
            text,
            from..text.find("- two").expect("there"),
            expect![[r##"
            <p>The <a class="entity" href="#/entity/7">Key Vault</a> is second.</p>
            <ul>
            <li>one</li>
            </ul>
        "##]],
        );
    }

    #[test]
    fn plain_text_keeps_its_marks() {
        let marks = [Mark { at: 4..7, entity: 1 }];
        expect![[r##"
            <p>The <a class="entity" href="#/entity/1">KMS</a> &lt;</p>
            <p>b</p>
        "##]]
        .assert_eq(&plain("The KMS <\n\nb", &marks, false));
    }
}
