//! Fonts: converts the bytes of a string to characters, widths and style.
//!
//! In: font dictionaries. Out: for each code of a string, its text and how far it moves the pen.
//! Invariants: each code of a font is looked up once; a font that cannot be read shows nothing.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use hayro_font::hayro_cmap::{self, BfString};
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn};
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier, Rect};
use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;

use super::bound;
use super::cid::CidText;
use super::glyph::GlyphStyle;

/// Units of a font's widths per font size.
const UNITS_PER_EM: f32 = 1000.0;
/// Words in the names of bold fonts.
const HEAVY: &[&str] = &["bold", "black", "heavy", "semibold", "demi", "cmbx", "sfbx"];
/// Words in the names of monospaced fonts.
const FIXED: &[&str] =
    &["mono", "courier", "consol", "cmtt", "sftt", "typewriter", "menlo", "inconsolata"];

/// One code of a font.
#[derive(Debug, Clone)]
pub(super) struct Code {
    /// Empty if the text of the glyph is unknown.
    pub(super) text: Rc<str>,
    /// How far the pen moves, in font sizes: to the right, and up.
    pub(super) advance: (f32, f32),
    /// Offset of the glyph's origin from the pen, in font sizes.
    pub(super) origin: (f32, f32),
}

/// A font of the document.
pub(super) struct PdfFont<'a> {
    font: Font<'a>,
    /// For a font that does not state the text of its glyphs itself.
    collection: Option<CidText>,
    codes: RefCell<FxHashMap<u32, Code>>,
    pub(super) style: GlyphStyle,
    /// Factor for the stated size; other than 1 only where glyphs are drawings (Type 3).
    pub(super) scale: f32,
}

impl PdfFont<'_> {
    /// Returns the code at the start of `bytes`, its number, and its length in bytes; `None` at the end.
    pub(super) fn next_code(&self, bytes: &[u8]) -> Option<(Code, u32, usize)> {
        if bytes.is_empty() {
            return None;
        }
        let (number, n_bytes) = self.font.read_code(bytes, 0);
        let known = self.codes.borrow().get(&number).cloned();
        let code = known.unwrap_or_else(|| {
            let code = self.look_up(number);
            self.codes.borrow_mut().insert(number, code.clone());
            code
        });
        // At least 1, so that the caller always advances.
        Some((code, number, n_bytes.clamp(1, bytes.len())))
    }

    fn look_up(&self, number: u32) -> Code {
        let text = match self.font.glyph(self.font.map_code(number), number) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let text = text.or_else(|| self.collection.as_ref()?.text(number));
        let text = match text {
            Some(BfString::Char(char)) => char.to_string(),
            Some(BfString::String(text)) => text,
            None => String::new(),
        };
        let in_sizes = |length: f64| length as f32 / UNITS_PER_EM;
        let advance = self.font.code_advance(number);
        let origin = self.font.origin_displacement(number);
        Code {
            text: plain_characters(&text).into(),
            advance: (in_sizes(advance.x), in_sizes(advance.y)),
            origin: (in_sizes(origin.x), in_sizes(origin.y)),
        }
    }
}

/// Replaces ligatures and presentation forms by letters, and removes what is not a character.
fn plain_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                // The presentation forms of Latin, Hebrew and Arabic.
                out.extend(std::iter::once(char).nfkc())
            }
            '\u{00a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' | '\t' | '\n' | '\r' => {
                out.push(' ');
            }
            // The soft hyphen at the end of a line tells that a word goes on (`hyphen.rs`).
            '\u{ad}' => out.push(char),
            '\u{fffd}' => {}
            // A glyph of nothing has no place among the others.
            _ if names::is_ignorable(char) => {}
            // Characters of private use without known text are pictures of bullets and boxes.
            '\u{e000}'..='\u{f8ff}' => out.push('•'),
            _ if char.is_control() => {}
            _ => out.push(char),
        }
    }
    out
}

/// The fonts of one document.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    by_id: FxHashMap<ObjectIdentifier, Option<Rc<PdfFont<'a>>>>,
    resolver: FontResolverFn,
    cmaps: CMapResolverFn,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        Fonts {
            cache: FontCache::new(),
            by_id: FxHashMap::default(),
            resolver: Arc::new(|query| {
                let font = match query {
                    FontQuery::Standard(font) => *font,
                    FontQuery::Fallback(query) => query.pick_standard_font(),
                };
                Some(font.get_font_data())
            }),
            cmaps: Arc::new(hayro_cmap::load_embedded),
        }
    }

    /// Returns the font of a dictionary; `None` if it cannot be read.
    pub(super) fn font(&mut self, dict: &Dict<'a>) -> Option<Rc<PdfFont<'a>>> {
        // Without an id, there is nothing to cache it by.
        let Some(id) = dict.obj_id() else { return self.read(dict) };
        if let Some(known) = self.by_id.get(&id) {
            return known.clone();
        }
        let font = self.read(dict);
        self.by_id.insert(id, font.clone());
        font
    }

    fn read(&self, dict: &Dict<'a>) -> Option<Rc<PdfFont<'a>>> {
        let inner =
            dict.get::<Array<'_>>(keys::DESCENDANT_FONTS).and_then(|a| a.iter::<Dict<'_>>().next());
        let descriptor = [Some(dict), inner.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|dict| dict.get::<Dict<'_>>(keys::FONT_DESC));
        bound::check_font(dict, descriptor.as_ref())?;
        let font = self.cache.font(dict, &self.resolver, &self.cmaps)?;
        let style = style_of(dict, descriptor.as_ref());
        let collection = CidText::of_font(dict);
        Some(Rc::new(PdfFont {
            font,
            collection,
            codes: RefCell::default(),
            style,
            scale: scale_of(dict),
        }))
    }
}

fn style_of(dict: &Dict<'_>, descriptor: Option<&Dict<'_>>) -> GlyphStyle {
    let name = dict.get::<Name<'_>>(keys::BASE_FONT).map(|name| name.as_str().to_ascii_lowercase());
    let name = name.unwrap_or_default();
    let number = |key: &[u8]| descriptor.and_then(|d| d.get::<f32>(key)).unwrap_or(0.0);
    let flags = number(keys::FLAGS) as u32;
    let has_word = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // Flags of the font descriptor (ISO 32000-1, 9.8.2): 1 fixed pitch, 1 << 6 italic, 1 << 18 force bold.
    GlyphStyle::default()
        .and(
            GlyphStyle::BOLD,
            has_word(HEAVY) || number(keys::FONT_WEIGHT) >= 600.0 || flags & (1 << 18) != 0,
        )
        .and(GlyphStyle::ITALIC, has_word(&["italic", "oblique"]) || flags & (1 << 6) != 0)
        .and(GlyphStyle::MONO, has_word(FIXED) || flags & 1 != 0 && has_one_width(dict))
}

/// True if all stated widths are the same; the flag alone is often wrong.
fn has_one_width(dict: &Dict<'_>) -> bool {
    let Some(widths) = dict.get::<Array<'_>>(keys::WIDTHS) else { return true };
    let mut widths = widths.iter::<f32>().filter(|width| *width > 0.0).take(256);
    let first = widths.next();
    widths.all(|width| Some(width) == first)
}

/// Returns the scale of a font. A Type 3 font has units of its own; its size is the height of its bounding box.
fn scale_of(dict: &Dict<'_>) -> f32 {
    if dict.get::<Name<'_>>(keys::SUBTYPE).is_none_or(|name| name.as_str() != "Type3") {
        return 1.0;
    }
    let matrix =
        dict.get::<[f32; 6]>(keys::FONT_MATRIX).unwrap_or([0.001, 0.0, 0.0, 0.001, 0.0, 0.0]);
    let unit = matrix[3].abs();
    let height = dict.get::<Rect>(keys::FONT_BBOX).map_or(0.0, |area| area.height() as f32);
    let scale = if height > 0.0 { unit * height } else { unit * UNITS_PER_EM };
    if scale.is_finite() && scale > 0.0 { scale.clamp(0.001, 1000.0) } else { 1.0 }
}
