//! Parse: what a note states, with places.
//!
//! In: the text of one Markdown file, whole (perhaps with a byte order mark and CRLF line ends). Out: [`Note`].
//! Invariants: every span is a range of that text, on UTF-8 boundaries; things of one kind are in the order of their
//! places; time and memory are linear in the text's length, whatever it contains; nothing fails: what is not
//! understood is text, and front matter that is not YAML gives a warning.

mod bracket;
mod comment;
mod depth;
mod dialogue;
mod field;
mod frontmatter;
mod html;
mod item;
mod link;
pub mod tag;
mod walk;
mod word;

use std::ops::Range;

pub use frontmatter::{Frontmatter, Key, add_tag, names, scalar_text};
pub use walk::options;

/// Deepest nesting of lists and quotations that is parsed: a line costs as much as it is deep.
pub const MAX_NESTING: usize = 100;

/// A span of the file, and its line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Bytes of the file.
    pub span: Range<usize>,
    /// Line of the first of them, from 1.
    pub line: usize,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// The YAML at the start, if there is any.
    pub frontmatter: Option<Frontmatter>,
    /// Where the body begins: after the front matter, otherwise after a byte order mark, otherwise 0.
    pub body: usize,
    /// The stated title.
    pub title: Option<String>,
    /// The stated type (`type:`).
    pub note_type: Option<String>,
    /// The stated permalink.
    pub permalink: Option<String>,
    /// Other names (`aliases:`, `alias:`).
    pub aliases: Vec<String>,
    /// Tags of the front matter, then of the text, without `#`, in their first spelling, each once.
    pub tags: Vec<String>,
    /// Headings, `#` and underlined ones.
    pub headings: Vec<Heading>,
    /// Blocks at the outermost level; only blank lines are between them.
    pub blocks: Vec<Block>,
    /// List items; nested ones after the one that contains them.
    pub items: Vec<Item>,
    /// Stated facts: `- [category] content #tag (context)`.
    pub observations: Vec<Observation>,
    /// Links to notes and files of the folder, and to places of this note, but not to the web.
    pub links: Vec<Link>,
    /// Relations with others: typed ones, and a `links_to` for every other link that is not an embed. One for each
    /// link, so a target and type may occur several times.
    pub relations: Vec<Relation>,
    /// `key:: value`.
    pub fields: Vec<Field>,
    /// Tags in the text.
    pub inline_tags: Vec<InlineTag>,
    /// `^id` after a block.
    pub block_ids: Vec<BlockId>,
    /// Anchors in raw HTML (`id`, `name`), which a link may name.
    pub anchors: Vec<String>,
    /// `[^label]: …`.
    pub footnotes: Vec<Footnote>,
    /// `> [!kind] title`.
    pub callouts: Vec<Callout>,
    /// Code (fenced, indented, in backticks), raw HTML, mathematics and comments, in which nothing is read but links
    /// and anchors of HTML.
    pub verbatim: Vec<Range<usize>>,
    /// True when the body nests deeper than [`MAX_NESTING`] and was not parsed; the front matter was.
    pub is_too_deep: bool,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without markup.
    pub text: String,
    /// The id in `{#…}` after it.
    pub id: Option<String>,
    /// All of its lines (two or more if it is underlined), without the last line end.
    pub place: Place,
    /// From its first byte to the next heading of the same or a higher level, or the end of the text. A heading in a
    /// list or quotation does not end a section, and its own section ends at the next heading.
    pub section: Range<usize>,
    /// True when it is in no list and no quotation.
    pub is_outer: bool,
}

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading.
    Heading,
    /// Running text.
    Paragraph,
    /// A list, whole.
    List,
    /// A quotation or callout, whole.
    Quote,
    /// Fenced or indented code.
    Code,
    /// A table.
    Table,
    /// Raw HTML.
    Html,
    /// A footnote's text.
    Footnote,
    /// `---`.
    Rule,
}

/// A block at the outermost level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// All of it, without the line end that closes it.
    pub place: Place,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// From its marker to the end of the items nested in it, without the last line end.
    pub place: Place,
    /// Its own text: from after the marker (and task box) to the end of that paragraph; empty when there is none.
    /// Lines after the first begin with their indentation.
    pub content: Range<usize>,
    /// Nesting from 0.
    pub depth: usize,
    /// True in a numbered list.
    pub is_ordered: bool,
    /// The character in the box of a task: ` `, `x`, or any other.
    pub task: Option<char>,
}

/// A stated fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The text in the brackets.
    pub category: String,
    /// The fact, without tags, context and block id; markup and links as written; on one line.
    pub content: String,
    /// Its tags, without `#`.
    pub tags: Vec<String>,
    /// The text in parentheses at its end.
    pub context: Option<String>,
    /// `^id` at its end.
    pub block_id: Option<String>,
    /// From the opening bracket to the end of its text, including the block id.
    pub place: Place,
    /// Its item, an index in [`Note::items`].
    pub item: usize,
}

/// The syntax of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// `[[Target]]`.
    Wiki,
    /// `![[Target]]`.
    Embed,
    /// `[text](target.md)`, `[text][reference]`, `<a href="target.md">text</a>`.
    Markdown,
    /// `![text](image.png)`.
    Image,
    /// `[[Target]]` in a value of the front matter.
    Property,
}

/// A link to a note, to a file of the folder, or to a place of this note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its syntax.
    pub kind: LinkKind,
    /// Its target, without heading, block and display: a name or path; for Markdown links a path, percent-decoded.
    /// Empty for a place of this note.
    pub target: String,
    /// The heading in the target (`A#B` for one below another), without its first `#`.
    pub heading: Option<String>,
    /// The block in the target, without `^`.
    pub block: Option<String>,
    /// The text shown instead of the target; for Markdown links the link text, as written.
    pub display: Option<String>,
    /// All of it, including the `!` of an embed.
    pub place: Place,
    /// The target as written, including heading and block: what an edit replaces to make the link lead elsewhere. For
    /// Markdown links by reference it is in the definition, which other links may share.
    pub target_span: Range<usize>,
    /// True for `<a href="…">` in raw HTML.
    pub is_html: bool,
}

/// How a relation is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// `- type [[Target]] (context)`, `type:: [[Target]]`, or a property of the front matter.
    Typed,
    /// Any other link: `links_to`.
    Implicit,
}

/// The type of a link without one.
pub const LINKS_TO: &str = "links_to";

/// A relation of this note with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// How it is stated.
    pub kind: RelationKind,
    /// Its type, as written.
    pub relation_type: String,
    /// Its link, an index in [`Note::links`].
    pub link: usize,
    /// The text in parentheses after the targets.
    pub context: Option<String>,
    /// `^id` at the end of the item.
    pub block_id: Option<String>,
    /// Its item, an index in [`Note::items`]; `None` outside lists.
    pub item: Option<usize>,
    /// The type and all targets with the context; for an implicit one, the link.
    pub place: Place,
}

/// `key:: value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, as written, without markup.
    pub key: String,
    /// Its value, as written; may be empty.
    pub value: String,
    /// True for a field in brackets or parentheses within a text, instead of on a line of its own.
    pub is_inline: bool,
    /// All of it, including the brackets of an inline one.
    pub place: Place,
    /// The value.
    pub value_span: Range<usize>,
}

/// `#tag` in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineTag {
    /// Without `#`.
    pub name: String,
    /// With `#`.
    pub place: Place,
}

/// `^id` after a block, or alone on a line below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// Without `^`.
    pub id: String,
    /// With `^`.
    pub place: Place,
    /// The block that it names: paragraph, item (without nested ones), table, quotation, code.
    pub block: Range<usize>,
}

/// `[^label]: text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footnote {
    /// Without `^`.
    pub label: String,
    /// The whole definition.
    pub place: Place,
}

/// `> [!kind] title`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callout {
    /// `note`, `warning`, …, in lower case.
    pub kind: String,
    /// The text after it on its line.
    pub title: Option<String>,
    /// `+` (open) or `-` (closed) when it can be folded.
    pub fold: Option<char>,
    /// The whole quotation.
    pub place: Place,
}

/// Returns the text of a heading, and the id after it, an attribute of other dialects: `Title {#id}`.
pub fn text_and_id(heading: &str) -> (&str, Option<&str>) {
    let heading = heading.trim();
    match heading.rfind("{#").filter(|_| heading.ends_with('}')) {
        Some(at) => (heading[..at].trim(), heading.get(at + 2..heading.len() - 1)),
        None => (heading, None),
    }
}

/// Reads only the front matter of a note, if there is any.
pub fn frontmatter(text: &str) -> Option<Frontmatter> {
    frontmatter::read(text, n_mark_bytes(text))
}

/// Returns the length of a byte order mark at the start.
fn n_mark_bytes(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Counts parses for tests.
#[cfg(feature = "testing")]
pub mod testing {
    use std::cell::Cell;

    thread_local! {
        /// Number of notes that this thread has parsed.
        pub static N_PARSES: Cell<usize> = const { Cell::new(0) };
    }
}

/// Longest part of a line that is kept with a link, in bytes.
const MAX_LINE_BYTES: usize = 300;

/// Returns the line of a link at a place of a text; of a long line, the part around the link.
pub fn line_around(text: &str, link: &Range<usize>) -> String {
    let before = text.get(..link.start).unwrap_or("");
    let after = text.get(link.start..).unwrap_or("");
    // Search the line's ends only within a window, since a line may be a megabyte long.
    let window = before.floor_char_boundary(before.len().saturating_sub(MAX_LINE_BYTES));
    let head = before.get(window..).unwrap_or("");
    let start = head.rfind('\n').map(|at| window + at + 1).unwrap_or(window);
    let reach = after.get(..after.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or("");
    let end = link.start + reach.find('\n').unwrap_or(reach.len());
    if end - start <= MAX_LINE_BYTES {
        return text.get(start..end).unwrap_or("").trim().to_string();
    }
    // Keep a third of the room for the text before the link, and more if the line ends soon.
    let from = start.max((link.start.saturating_sub(MAX_LINE_BYTES / 3)).min(end - MAX_LINE_BYTES));
    let from = text.ceil_char_boundary(from);
    let to = text.floor_char_boundary((from + MAX_LINE_BYTES).min(end));
    text.get(from..to).unwrap_or("").trim().to_string()
}

/// Parses a note.
pub fn parse(text: &str) -> Note {
    Head::of(text).parse(|_, _| {})
}

/// A note of which only the front matter has been read. A caller that needs the Markdown events themselves, such as
/// the reader of the document's text, gets them from this one parse.
pub struct Head<'a> {
    text: &'a str,
    note: Note,
}

impl<'a> Head<'a> {
    /// Reads the front matter.
    pub fn of(text: &'a str) -> Self {
        let mut note = Note { body: n_mark_bytes(text), ..Note::default() };
        if let Some(frontmatter) = frontmatter(text) {
            note.body = frontmatter.body;
            note.title = frontmatter.title();
            note.note_type = frontmatter.note_type();
            note.permalink = frontmatter.permalink();
            note.aliases = frontmatter.aliases();
            note.tags = frontmatter.tags();
            note.frontmatter = Some(frontmatter);
        }
        Head { text, note }
    }

    /// Returns the front matter, if there is any.
    pub fn frontmatter(&self) -> Option<&Frontmatter> {
        self.note.frontmatter.as_ref()
    }

    /// Parses the body. `each` gets every Markdown event with its range in the text, unless the note [nests too
    /// deep](Note::is_too_deep).
    pub fn parse(self, mut each: impl FnMut(pulldown_cmark::Event<'a>, Range<usize>)) -> Note {
        let Head { text, mut note } = self;
        walk::read(text, &mut note, &mut each);
        dialogue::drop_speakers(text, &mut note);
        item::relate(&mut note);
        note
    }
}

impl Note {
    /// Returns the title, otherwise the given file name without extension.
    pub fn title_or<'a>(&'a self, stem: &'a str) -> &'a str {
        self.title.as_deref().unwrap_or(stem)
    }
}

#[cfg(test)]
mod tests;
