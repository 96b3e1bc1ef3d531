//! XML: tokens of a part, with their namespaces.
//!
//! In: the text of a part. Out: [`Token`]s: elements that open and close, text.
//! Invariants: linear time; only the five predefined entities and characters by number are resolved, so that declared
//! entities cost nothing; broken XML ends the tokens, see [`Xml::broken_at`].
//!
//! Namespaces are bound for the whole part at their first occurrence, not by scope: Office declares them at the root,
//! and a stack of scopes takes quadratic time when each of many nested elements declares one.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// Most prefixes that are remembered.
const MAX_PREFIXES: usize = 64;

/// The relevant namespaces; strict and transitional variants are the same here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    /// WordprocessingML.
    Word,
    /// Office Math.
    Math,
    /// Markup compatibility (`AlternateContent`).
    Compatibility,
    /// Charts.
    Chart,
    /// DrawingML.
    Drawing,
    /// Places of drawings in the text.
    Placement,
    /// SmartArt.
    Diagram,
    /// Any other.
    Other,
}

/// A piece of XML.
pub(super) enum Token<'a> {
    /// An element begins; every one is closed, including empty ones.
    Open(Tag<'a>),
    /// The innermost open element ends.
    Close,
    /// Character data with resolved entities.
    Text(Cow<'a, str>),
}

/// The opening tag of an element.
pub(super) struct Tag<'a> {
    tag: BytesStart<'a>,
    pub(super) space: Space,
}

impl Tag<'_> {
    /// The name without prefix.
    pub(super) fn local(&self) -> &str {
        self.tag.local_name().into_inner()
    }

    /// Returns the value of an attribute, by its name without prefix.
    pub(super) fn attr(&self, local: &str) -> Option<Cow<'_, str>> {
        // Checking for duplicate attributes takes quadratic time.
        let mut all = self.tag.attributes();
        let mut read = all.with_checks(false).flatten();
        let found = read.find(|attribute| attribute.key.local_name().into_inner() == local)?;
        Some(match found.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => Cow::Owned(value.into_owned()),
            Err(_) => Cow::Owned(found.value.into_owned()),
        })
    }

    /// Returns an attribute that is a number.
    pub(super) fn number(&self, local: &str) -> Option<u32> {
        self.attr(local)?.trim().parse().ok()
    }

    /// Returns the value of a switch such as `<w:b/>` or `<w:b w:val="0"/>`.
    pub(super) fn is_on(&self) -> bool {
        self.attr("val").is_none_or(|val| !matches!(&*val, "0" | "false" | "off" | "none"))
    }
}

/// The tokens of one part.
pub(super) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    prefixes: Vec<(String, Space)>,
    broken_at: Option<u64>,
}

impl<'a> Xml<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        // Be lenient: empty elements get an end, and mismatched ends and bare `&` are accepted.
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Xml { reader, prefixes: Vec::new(), broken_at: None }
    }

    /// Returns the byte at which the XML is broken, if it is.
    pub(super) fn broken_at(&self) -> Option<u64> {
        self.broken_at
    }

    /// Returns the next token; `None` at the end, or where the XML is broken.
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        loop {
            match self.reader.read_event() {
                Ok(Event::Start(tag)) => {
                    let space = self.space_of(&tag);
                    return Some(Token::Open(Tag { tag, space }));
                }
                Ok(Event::End(_)) => return Some(Token::Close),
                Ok(Event::Text(text)) => return Some(Token::Text(text.into_inner())),
                Ok(Event::CData(text)) => return Some(Token::Text(text.into_inner())),
                Ok(Event::GeneralRef(name)) => {
                    let text = match name.resolve_char_ref() {
                        Ok(Some(character)) => Cow::Owned(character.to_string()),
                        _ => Cow::Borrowed(
                            resolve_predefined_entity(&name.into_inner()).unwrap_or(""),
                        ),
                    };
                    return Some(Token::Text(text));
                }
                Ok(Event::Eof) => return None,
                Ok(_) => {}
                Err(_) => {
                    self.broken_at = Some(self.reader.error_position());
                    return None;
                }
            }
        }
    }

    fn space_of(&mut self, tag: &BytesStart<'a>) -> Space {
        if tag.attributes_raw().contains("xmlns") {
            self.bind(tag);
        }
        let name = tag.name();
        let prefix = name.prefix().map_or("", |prefix| prefix.into_inner());
        let bound = self.prefixes.iter().find(|(known, _)| known == prefix);
        bound.map_or(Space::Other, |(_, space)| *space)
    }

    fn bind(&mut self, tag: &BytesStart<'a>) {
        let mut all = tag.attributes();
        for attribute in all.with_checks(false).flatten() {
            let key = attribute.key.into_inner();
            let prefix = match key.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) => match rest.strip_prefix(':') {
                    Some(prefix) => prefix,
                    None => continue,
                },
                None => continue,
            };
            if self.prefixes.len() >= MAX_PREFIXES {
                return;
            }
            if self.prefixes.iter().all(|(known, _)| known != prefix) {
                self.prefixes.push((prefix.to_string(), space_of_uri(&attribute.value)));
            }
        }
    }
}

/// Returns the namespace of a URI. Both dialects end in the same way.
fn space_of_uri(uri: &str) -> Space {
    let ends = |end: &str| uri.ends_with(end);
    match uri {
        _ if ends("/wordprocessingml/main") || ends("/wordprocessingml/2006/main") => Space::Word,
        _ if ends("/officeDocument/math") || ends("/officeDocument/2006/math") => Space::Math,
        _ if ends("/markup-compatibility/2006") => Space::Compatibility,
        _ if ends("/drawingml/chart") || ends("/drawingml/2006/chart") => Space::Chart,
        _ if ends("/drawingml/diagram") || ends("/drawingml/2006/diagram") => Space::Diagram,
        _ if ends("/wordprocessingDrawing") => Space::Placement,
        _ if ends("/drawingml/main") || ends("/drawingml/2006/main") => Space::Drawing,
        _ => Space::Other,
    }
}
