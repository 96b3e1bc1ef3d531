//! Styles: the structure that the named styles of a document imply.
//!
//! In: `styles.xml`. Out: for each style its effect on a paragraph or a run, including the styles it is based on.
//! Invariants: a chain of styles is followed for a bounded number of steps, so a loop ends; names of Word's own
//! styles are the same in every language (`heading 1`), their ids are not (`berschrift1`).

use std::collections::HashMap;

use super::model::ParagraphKind;
use super::xml::{Space, Tag, Token, Xml};

/// Longest chain of styles based on each other.
const MAX_CHAIN: usize = 20;
/// Most styles that are kept.
const MAX_STYLES: usize = 10_000;
/// Names that other programs use for the styles that Word calls `heading N`.
const HEADING_NAMES: &[&str] = &[
    "heading",
    "überschrift",
    "titre",
    "título",
    "titolo",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "nagłówek",
    "nadpis",
    "заголовок",
    "标题",
    "標題",
    "見出し",
    "제목",
    "başlık",
    "cabeçalho",
];
/// Names of code styles, without spaces and dashes.
const CODE_NAMES: &[&str] = &[
    "code",
    "codeblock",
    "sourcecode",
    "programcode",
    "codesnippet",
    "htmlpreformatted",
    "preformattedtext",
    "preformatted",
    "preformattext",
    "macro",
    "macrotext",
    "verbatim",
    "listing",
    "consoletext",
    "terminal",
];
/// Names of inline code styles, without spaces and dashes.
const CODE_SPAN_NAMES: &[&str] = &[
    "verbatimchar",
    "htmlcode",
    "sourcetext",
    "inlinecode",
    "codechar",
    "htmltypewriter",
    "htmlkeyboard",
    "htmlsample",
    "sourcecodechar",
    "codeinline",
];
/// Beginnings of monospaced fonts' names without the word `mono`.
const MONOSPACED: &[&str] = &[
    "courier",
    "consolas",
    "menlo",
    "monaco",
    "inconsolata",
    "cascadia",
    "fira code",
    "source code",
    "lucida console",
    "letter gothic",
    "fixedsys",
];

/// Properties of a style, or of a single paragraph or run.
#[derive(Clone, Default, Debug)]
pub(super) struct Style {
    name: String,
    based_on: Option<String>,
    /// True for the default style: its font is that of all text, so it does not mark code.
    pub(super) is_default: bool,
    /// 0 to 8; 9 is body text.
    pub(super) outline_level: Option<u8>,
    /// The list id; 0 is none.
    pub(super) list: Option<u32>,
    pub(super) list_level: Option<u8>,
    pub(super) is_bold: Option<bool>,
    pub(super) is_hidden: Option<bool>,
    pub(super) is_monospaced: Option<bool>,
    /// The kind of paragraph, by the first name in the chain that implies one.
    pub(super) kind: Option<ParagraphKind>,
    /// True for entries of a table of contents.
    pub(super) is_contents: bool,
    /// True for inline code.
    pub(super) is_code_span: bool,
}

/// All styles by id, with the properties that they inherit.
#[derive(Default)]
pub(super) struct Styles {
    by_id: HashMap<String, Style>,
}

impl Styles {
    /// Reads `styles.xml`.
    pub(super) fn read(text: &str) -> Self {
        let declared = declared(text);
        let by_id = declared.keys().map(|id| (id.clone(), resolved(id, &declared))).collect();
        Styles { by_id }
    }

    /// Returns a style; `None` if it is not declared.
    pub(super) fn get(&self, id: &str) -> Option<&Style> {
        self.by_id.get(id)
    }
}

/// Reads the styles without inheritance.
fn declared(text: &str) -> HashMap<String, Style> {
    let mut found = HashMap::new();
    let mut xml = Xml::new(text);
    let mut open: Option<(String, Style)> = None;
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(token) = xml.next() {
        match token {
            Token::Open(tag) => {
                depth += 1;
                if tag.space != Space::Word {
                    continue;
                }
                match (tag.local(), &mut open) {
                    ("style", None) if found.len() < MAX_STYLES => {
                        let id = tag.attr("styleId").unwrap_or_default().into_owned();
                        let is_default = tag.attr("default").is_some_and(|on| &*on == "1");
                        open = Some((id, Style { is_default, ..Style::default() }));
                        at = depth;
                    }
                    ("name", Some((_, style))) => {
                        style.name = tag.attr("val").unwrap_or_default().to_lowercase();
                    }
                    ("basedOn", Some((_, style))) => {
                        style.based_on = tag.attr("val").map(|id| id.into_owned());
                    }
                    (_, Some((_, style))) => style.take(&tag),
                    _ => {}
                }
            }
            Token::Close => {
                if depth == at
                    && let Some((id, style)) = open.take()
                {
                    found.insert(id, style);
                }
                depth = depth.saturating_sub(1);
            }
            Token::Text(_) => {}
        }
    }
    found
}

impl Style {
    /// Takes a property from an element inside `w:pPr` or `w:rPr`.
    pub(super) fn take(&mut self, tag: &Tag<'_>) {
        let level = || tag.number("val").map(|level| level.min(9) as u8);
        match tag.local() {
            "outlineLvl" => self.outline_level = level(),
            "numId" => self.list = tag.number("val"),
            "ilvl" => self.list_level = level(),
            "b" => self.is_bold = Some(tag.is_on()),
            "vanish" => self.is_hidden = Some(tag.is_on()),
            "rFonts" => {
                let font = tag.attr("ascii").or_else(|| tag.attr("hAnsi"));
                self.is_monospaced = font.map(|font| is_monospaced(&font)).or(self.is_monospaced);
            }
            _ => {}
        }
    }

    /// Fills missing properties from the style that it is based on.
    fn inherit(&mut self, base: &Style) {
        self.outline_level = self.outline_level.or(base.outline_level);
        self.list = self.list.or(base.list);
        self.list_level = self.list_level.or(base.list_level);
        self.is_bold = self.is_bold.or(base.is_bold);
        self.is_hidden = self.is_hidden.or(base.is_hidden);
        if !base.is_default {
            self.is_monospaced = self.is_monospaced.or(base.is_monospaced);
        }
    }
}

/// Returns a style with everything that it inherits.
fn resolved(id: &str, declared: &HashMap<String, Style>) -> Style {
    let Some(mut style) = declared.get(id).cloned() else { return Style::default() };
    if style.is_default {
        style.is_monospaced = None;
    }
    let mut next = Some(id.to_string());
    for step in 0..MAX_CHAIN {
        let Some(base) = next.as_deref().and_then(|id| declared.get(id)) else { break };
        // The names of the whole chain count, the style's own first; its properties are already there.
        if step > 0 {
            style.inherit(base);
        }
        let name = compact(&base.name);
        style.kind = style.kind.or_else(|| kind_of(&base.name, &name));
        style.is_contents |= is_contents(&name);
        style.is_code_span |= CODE_SPAN_NAMES.contains(&name.as_str());
        next.clone_from(&base.based_on);
    }
    style
}

/// Returns the kind of paragraph that a style's name implies.
fn kind_of(name: &str, compact: &str) -> Option<ParagraphKind> {
    if let Some(level) = heading_level(name) {
        return Some(ParagraphKind::Heading(level));
    }
    match compact {
        "title" => Some(ParagraphKind::Title),
        "quote" | "intensequote" | "blocktext" | "quotations" => Some(ParagraphKind::Quote),
        _ if CODE_NAMES.contains(&compact) => Some(ParagraphKind::Code),
        _ if compact.starts_with("listcontinue") || compact == "listparagraph" => {
            Some(ParagraphKind::ItemText)
        }
        _ => None,
    }
}

/// Returns the level of a heading style, 1 to 9, by the names that several programs use.
fn heading_level(name: &str) -> Option<u8> {
    let digit = name.trim_end().chars().last()?.to_digit(10).filter(|level| *level > 0)?;
    let words = name.trim_end().get(..name.trim_end().len() - 1)?.trim();
    HEADING_NAMES.contains(&words).then_some(digit as u8)
}

/// Returns the letters and digits of a name, since programs differ in the rest.
fn compact(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn is_contents(compact: &str) -> bool {
    let rest = compact.strip_prefix("toc").or_else(|| compact.strip_prefix("contents"));
    compact == "tableoffigures"
        || rest.is_some_and(|rest| {
            rest == "heading" || (rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// True for a font that is used for code.
fn is_monospaced(font: &str) -> bool {
    let font = font.to_lowercase();
    MONOSPACED.iter().any(|known| font.starts_with(known))
        || font.split([' ', '-']).any(|word| word == "mono")
}

#[cfg(test)]
mod tests {
    use super::{heading_level, is_contents, is_monospaced};

    #[test]
    fn names_of_headings_are_known_in_several_languages() {
        let rows = [
            ("heading 1", Some(1)),
            ("überschrift 3", Some(3)),
            ("标题 2", Some(2)),
            ("heading", None),
            ("heading 10", None),
            ("subheading 1", None),
            ("", None),
        ];
        for (name, level) in rows {
            assert_eq!(heading_level(name), level, "{name}");
        }
    }

    #[test]
    fn tables_of_contents_and_fonts_are_known_by_name() {
        assert!(is_contents("toc1") && is_contents("tocheading") && is_contents("tableoffigures"));
        assert!(!is_contents("tocsin") && !is_contents("toc") && !is_contents("tableofdata"));
        assert!(is_monospaced("Courier New") && is_monospaced("DejaVu Sans Mono"));
        assert!(!is_monospaced("Monotype Corsiva") && !is_monospaced("Arial"));
    }
}
