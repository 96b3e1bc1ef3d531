//! Kinds: the meaning of an HTML element for a reader, decided once by its name.
//!
//! In: a lowercase local name. Out: a [`Kind`]. Invariant: every name has a kind; unknown ones are inline.

/// The meaning of an element for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Part of a line without other meaning.
    Inline,
    /// Separates blocks of text, without other meaning.
    Block,
    /// A paragraph.
    Paragraph,
    /// A heading of this level, 1 to 6.
    Heading(u8),
    /// A bullet list.
    List,
    /// A numbered list.
    OrderedList,
    /// An item of either.
    Item,
    /// A list of terms and their definitions.
    Definitions,
    /// A term of such a list.
    Term,
    /// The definition of a term.
    Definition,
    /// A table.
    Table,
    /// A row.
    Row,
    /// A cell.
    Cell,
    /// A cell that heads a row or column.
    HeaderCell,
    /// A quotation of whole blocks.
    Quote,
    /// Preformatted text.
    Pre,
    /// Code, keys and sample output inside a line.
    Code,
    /// Strong emphasis.
    Bold,
    /// Emphasis, and terms where they are defined.
    Emphasis,
    /// A link.
    Link,
    /// An image.
    Image,
    /// A line break.
    Break,
    /// The main content of a page.
    Main,
    /// An article.
    Article,
    /// Navigation.
    Nav,
    /// Beside the content.
    Aside,
    /// The header of a page or article.
    Header,
    /// The footer of a page or article.
    Footer,
    /// A form; on some sites it is around the whole page.
    Form,
    /// Never shown as text: scripts, styles, templates, the head, controls, embedded objects.
    Hidden,
}

impl Kind {
    /// Returns the kind of an element in the HTML namespace.
    pub(super) fn of_name(name: &str) -> Kind {
        match name {
            "p" => Kind::Paragraph,
            "h1" => Kind::Heading(1),
            "h2" => Kind::Heading(2),
            "h3" => Kind::Heading(3),
            "h4" => Kind::Heading(4),
            "h5" => Kind::Heading(5),
            "h6" => Kind::Heading(6),
            "ul" | "menu" | "dir" => Kind::List,
            "ol" => Kind::OrderedList,
            "li" => Kind::Item,
            "dl" => Kind::Definitions,
            "dt" => Kind::Term,
            "dd" => Kind::Definition,
            "table" => Kind::Table,
            "tr" => Kind::Row,
            "td" => Kind::Cell,
            "th" => Kind::HeaderCell,
            "blockquote" => Kind::Quote,
            "pre" | "listing" | "xmp" | "plaintext" => Kind::Pre,
            "code" | "kbd" | "samp" | "tt" => Kind::Code,
            "b" | "strong" => Kind::Bold,
            "em" | "i" | "dfn" => Kind::Emphasis,
            "a" => Kind::Link,
            "img" => Kind::Image,
            "br" => Kind::Break,
            "main" => Kind::Main,
            "article" => Kind::Article,
            "nav" => Kind::Nav,
            "aside" => Kind::Aside,
            "header" => Kind::Header,
            "footer" => Kind::Footer,
            "form" => Kind::Form,
            _ if is_hidden(name) => Kind::Hidden,
            _ if is_block(name) => Kind::Block,
            _ => Kind::Inline,
        }
    }

    /// True for kinds that begin and end a block of text.
    pub(super) fn is_block(self) -> bool {
        !matches!(
            self,
            Kind::Inline
                | Kind::Code
                | Kind::Bold
                | Kind::Emphasis
                | Kind::Link
                | Kind::Image
                | Kind::Break
                | Kind::Hidden
        )
    }

    /// True for kinds that contain blocks and may be content, or not, as a whole.
    pub(super) fn is_container(self) -> bool {
        self.is_block()
            && !matches!(
                self,
                Kind::Paragraph | Kind::Heading(_) | Kind::Pre | Kind::Item | Kind::Row
            )
    }
}

fn is_hidden(name: &str) -> bool {
    matches!(
        name,
        "head"
            | "title"
            | "script"
            | "style"
            | "template"
            | "noscript"
            | "noembed"
            | "noframes"
            | "iframe"
            | "object"
            | "embed"
            | "applet"
            | "audio"
            | "video"
            | "canvas"
            | "map"
            | "button"
            | "input"
            | "select"
            | "textarea"
            | "option"
            | "datalist"
            | "dialog"
            | "progress"
            | "meter"
            | "svg"
            | "base"
            | "link"
            | "meta"
            | "rp"
    )
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "html"
            | "body"
            | "div"
            | "section"
            | "center"
            | "address"
            | "hgroup"
            | "figure"
            | "figcaption"
            | "caption"
            | "details"
            | "summary"
            | "fieldset"
            | "legend"
            | "hr"
            | "thead"
            | "tbody"
            | "tfoot"
            | "colgroup"
            | "frameset"
            | "search"
            | "isindex"
    )
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn names_have_their_kinds() {
        let rows = [
            ("h3", Kind::Heading(3)),
            ("kbd", Kind::Code),
            ("div", Kind::Block),
            ("template", Kind::Hidden),
            ("x-card", Kind::Inline),
        ];
        for (name, kind) in rows {
            assert_eq!(Kind::of_name(name), kind, "{name}");
        }
        assert!(Kind::Cell.is_container() && !Kind::Paragraph.is_container());
    }
}
