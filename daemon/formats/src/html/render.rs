//! Render: writes the selected part of a page as blocks.
//!
//! In: a tree and a [`Selection`]. Out: text, map, outline, marks and links, through the [`TextBuilder`].
//! Invariants: one pass in document order, without recursion; everything that opens is closed, innermost first; text
//! is written once.

use super::super::builder::TextBuilder;
use super::super::format::FormatLimits;
use super::super::target::Target;
use super::article::Selection;
use super::kind::Kind;
use super::table;
use super::tree::{Data, Element, NodeId, Tree};
use model::document::{InlineKind, LinkKind, Parsed};

/// Longest alternative text of an image, in bytes; longer ones are descriptions for machines.
const MAX_ALT_BYTES: usize = 500;

/// What to do at the end of an element.
#[derive(Clone, Copy)]
enum End {
    Nothing,
    Block,
    Heading,
    List,
    Item,
    Definition,
    Table,
    Row,
    Quote,
    Pre,
    Mark,
    /// A line of preformatted text.
    Line,
}

/// The result.
pub(super) struct Rendered {
    pub(super) parsed: Parsed,
    /// The `datetime` of the first `<time>`.
    pub(super) time: Option<String>,
}

/// Writes the selected part.
pub(super) fn render(
    tree: &Tree,
    source: &str,
    selection: &Selection,
    limits: &FormatLimits,
) -> Rendered {
    let builder = TextBuilder::new(source, limits);
    let mut writer = PageWriter {
        tree,
        source,
        builder,
        is_dropped: &selection.is_dropped,
        shows_alt: !selection.is_press,
        max_nesting: limits.max_nesting,
        n_nested: 0,
        tables: Vec::new(),
        n_headings: 0,
        n_pre: 0,
        n_breaks: 0,
        is_line_due: false,
        at: 0,
        time: None,
    };
    if let Some(lead) = selection.lead {
        writer.begin_element(lead);
        writer.write_inside(lead);
        writer.end_element(End::Heading);
    }
    writer.write_inside(selection.root);
    Rendered { parsed: writer.builder.finish(), time: writer.time }
}

/// Writes in document order.
pub(super) struct PageWriter<'a> {
    tree: &'a Tree,
    pub(super) source: &'a str,
    pub(super) builder: TextBuilder<'a>,
    is_dropped: &'a [bool],
    /// True when alternative texts of images are written.
    shows_alt: bool,
    max_nesting: usize,
    /// Number of open lists and quotations.
    n_nested: usize,
    /// Open tables, outermost first: true for those with data.
    tables: Vec<bool>,
    n_headings: usize,
    pub(super) n_pre: usize,
    /// Number of line breaks since the last text.
    pub(super) n_breaks: usize,
    /// In preformatted text: true when a line must end before the next text.
    pub(super) is_line_due: bool,
    /// The end of the last text in the source.
    pub(super) at: usize,
    time: Option<String>,
}

impl PageWriter<'_> {
    // A loop with a stack, since recursion would overflow on deep pages.
    fn write_inside(&mut self, top: NodeId) {
        let mut open: Vec<End> = Vec::new();
        let mut next = self.tree.first_child(top);
        while let Some(here) = next {
            next = None;
            match self.tree.data(here) {
                Data::Text(text) => self.text(text),
                Data::Element(_) if !self.is_dropped[here.index()] => {
                    let end = self.begin_element(here);
                    next = self.tree.first_child(here);
                    match next {
                        Some(_) => open.push(end),
                        None => self.end_element(end),
                    }
                }
                Data::Element(_) | Data::Other => {}
            }
            // Go up until there is a next sibling, closing elements on the way.
            let mut at = here;
            while next.is_none() && at != top {
                next = self.tree.next_sibling(at);
                if next.is_none() {
                    let Some(parent) = self.tree.parent(at) else { break };
                    at = parent;
                    if let Some(end) = open.pop() {
                        self.end_element(end);
                    }
                }
            }
        }
    }

    fn begin_element(&mut self, id: NodeId) -> End {
        let Some(element) = self.tree.element(id) else { return End::Nothing };
        if &*element.name.local == "time" && self.time.is_none() {
            self.time = element.attr("datetime").map(String::from);
        }
        let kind = element.kind;
        if kind.is_block() {
            // A block ends the line, so line breaks before it do not count.
            self.n_breaks = 0;
            return self.begin_block(id, element);
        }
        match kind {
            Kind::Code if self.n_pre == 0 => {
                self.builder.begin_inline(InlineKind::Code);
                End::Mark
            }
            Kind::Bold if self.n_pre == 0 => {
                self.builder.begin_inline(InlineKind::Bold);
                End::Mark
            }
            Kind::Emphasis if self.n_pre == 0 => {
                self.builder.begin_inline(InlineKind::Emphasis);
                End::Mark
            }
            Kind::Link => {
                self.builder.begin_link(element.attr("href").and_then(target_of));
                End::Mark
            }
            Kind::Image => {
                self.image(element);
                End::Nothing
            }
            Kind::Break => {
                self.line_break();
                End::Nothing
            }
            _ => End::Nothing,
        }
    }

    fn begin_block(&mut self, id: NodeId, element: &Element) -> End {
        // In preformatted text, a block is only a line.
        if self.n_pre > 0 {
            self.is_line_due = true;
            return End::Line;
        }
        if self.n_headings > 0 {
            // A heading is one block, whatever it contains.
            self.builder.space_inserted();
            return End::Nothing;
        }
        match element.kind {
            Kind::Heading(level) => {
                self.n_headings += 1;
                self.builder.begin_heading(level);
                End::Heading
            }
            Kind::Pre => {
                self.n_pre += 1;
                self.is_line_due = false;
                self.builder.begin_code(&language_of(self.tree, id));
                End::Pre
            }
            Kind::List | Kind::Definitions => self.begin_list(None),
            Kind::OrderedList => {
                let first = element.attr("start").and_then(|start| start.trim().parse().ok());
                self.begin_list(Some(first.unwrap_or(1)))
            }
            // Items outside of any list are plain blocks.
            Kind::Item | Kind::Term if self.n_nested > 0 => {
                self.builder.begin_item();
                End::Item
            }
            // The builder has no definitions: a definition is an item of a list one level below its term.
            Kind::Definition if self.n_nested > 0 => {
                self.builder.begin_list(None);
                self.builder.begin_item();
                End::Definition
            }
            Kind::Quote if self.n_nested < self.max_nesting => {
                self.n_nested += 1;
                self.builder.begin_quote();
                End::Quote
            }
            Kind::Table | Kind::Row | Kind::Cell | Kind::HeaderCell => {
                self.begin_table_part(id, element.kind)
            }
            _ => {
                self.builder.end_block();
                End::Block
            }
        }
    }

    fn begin_list(&mut self, first: Option<u32>) -> End {
        // Beyond the limit, items become plain blocks.
        if self.n_nested >= self.max_nesting {
            self.builder.end_block();
            return End::Block;
        }
        self.n_nested += 1;
        self.builder.begin_list(first);
        End::List
    }

    fn begin_table_part(&mut self, id: NodeId, kind: Kind) -> End {
        // Rows and cells of a layout table are plain blocks.
        let is_data = self.tables.last().copied().unwrap_or(false);
        match kind {
            Kind::Table => {
                let is_data = table::holds_data(self.tree, id);
                self.tables.push(is_data);
                if is_data {
                    self.builder.begin_table();
                } else {
                    self.builder.end_block();
                }
                End::Table
            }
            Kind::Row if is_data => {
                self.builder.begin_row(table::is_header(self.tree, id));
                End::Row
            }
            Kind::Cell | Kind::HeaderCell if is_data => {
                self.builder.begin_cell();
                End::Nothing
            }
            _ => {
                self.builder.end_block();
                End::Block
            }
        }
    }

    fn end_element(&mut self, end: End) {
        match end {
            End::Nothing => {}
            End::Block => self.builder.end_block(),
            End::Heading => {
                self.n_headings -= 1;
                self.builder.end_block();
            }
            End::Pre => {
                self.n_pre -= 1;
                self.builder.end_block();
            }
            End::List => {
                self.n_nested -= 1;
                self.builder.end_list();
            }
            End::Item => self.builder.end_item(),
            End::Definition => {
                self.builder.end_item();
                self.builder.end_list();
            }
            End::Table => {
                if self.tables.pop() == Some(true) {
                    self.builder.end_table();
                } else {
                    self.builder.end_block();
                }
            }
            End::Row => self.builder.end_row(),
            End::Quote => {
                self.n_nested -= 1;
                self.builder.end_quote();
            }
            End::Mark => self.builder.end_mark(),
            End::Line => self.is_line_due = true,
        }
    }

    fn line_break(&mut self) {
        if self.n_pre > 0 {
            self.is_line_due = true;
            return;
        }
        self.n_breaks += 1;
        if self.n_breaks == 2 && self.n_headings == 0 {
            // Old pages separate paragraphs by two line breaks.
            self.builder.end_block();
        }
        self.builder.space_inserted();
    }

    fn image(&mut self, element: &Element) {
        let path = element.attr("src").and_then(Target::of_address);
        // Only files of the project; images on the web are not embedded.
        if let Some(path) = path.filter(|target| target.kind == LinkKind::Path) {
            self.builder.embed(path);
        }
        let alt = element.attr("alt").filter(|alt| alt.len() <= MAX_ALT_BYTES);
        let Some(alt) = alt.filter(|_| self.shows_alt) else { return };
        self.builder.space_inserted();
        self.words(alt, self.at..self.at);
        self.builder.space_inserted();
    }
}

/// Returns the target of a link, unless it is personal (mail, telephone).
fn target_of(href: &str) -> Option<Target> {
    let scheme = href.trim_start().split(':').next().unwrap_or("");
    let is_personal = ["mailto", "tel", "sms"].iter().any(|kind| scheme.eq_ignore_ascii_case(kind));
    if is_personal { None } else { Target::of_address(href) }
}

/// Returns the language given by a preformatted block, its `<code>` or its parent; empty if there is none.
fn language_of(tree: &Tree, pre: NodeId) -> String {
    // The block itself, the first elements inside it, then its parent.
    let inner = tree.walk(pre).take(4).skip(1);
    for id in [pre].into_iter().chain(inner).chain(tree.parent(pre)) {
        let Some(element) = tree.element(id) else { continue };
        let class = element.attr("class").unwrap_or("");
        let named = class.split_ascii_whitespace().find_map(|word| {
            ["language-", "lang-", "highlight-source-"]
                .iter()
                .find_map(|prefix| word.strip_prefix(prefix))
        });
        if let Some(language) = named.or_else(|| element.attr("data-lang")) {
            return language.split_ascii_whitespace().next().unwrap_or("").to_ascii_lowercase();
        }
    }
    String::new()
}
