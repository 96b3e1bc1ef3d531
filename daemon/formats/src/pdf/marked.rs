//! Marked content: tags that a document puts around pieces of its content.
//!
//! In: the tags around pieces. Out: a style for running headers and footers; text that replaces glyphs
//! (`ActualText`).
//! Invariant: every begin has one end, at the latest at the end of the page.

use hayro_syntax::object::{Dict, Name, String as PdfString};

use super::glyph::{Glyph, GlyphStyle};
use super::meta::text_of;

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 64;
/// Longest replacement text, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;

/// The open pieces.
#[derive(Default)]
pub(super) struct Marked {
    open: Vec<MarkedPiece>,
    /// Number of open pieces nested too deep to be followed.
    n_skipped: usize,
}

struct MarkedPiece {
    /// Number of glyphs before it.
    start: usize,
    text: Option<String>,
    is_furniture: bool,
}

impl Marked {
    /// Returns the style that the open pieces give.
    pub(super) fn style(&self) -> GlyphStyle {
        GlyphStyle::default()
            .and(GlyphStyle::FURNITURE, self.open.iter().any(|piece| piece.is_furniture))
    }

    pub(super) fn begin(
        &mut self,
        tag: Option<Name<'_>>,
        properties: Option<&Dict<'_>>,
        n_glyphs: usize,
    ) {
        if self.open.len() >= MAX_DEPTH {
            self.n_skipped += 1;
            return;
        }
        let text = properties.and_then(|dict| dict.get::<PdfString<'_>>("ActualText"));
        let text = text.filter(|text| text.as_bytes().len() <= MAX_TEXT_BYTES);
        let is_one_of = |key: &str, wanted: &[&str]| {
            let name = properties.and_then(|dict| dict.get::<Name<'_>>(key));
            name.is_some_and(|name| wanted.contains(&name.as_str()))
        };
        let is_artifact = tag.is_some_and(|tag| tag.as_str() == "Artifact");
        let is_furniture = is_artifact
            && (is_one_of("Type", &["Pagination"])
                || is_one_of("Subtype", &["Header", "Footer", "PageNum", "Watermark"]));
        self.open.push(MarkedPiece {
            start: n_glyphs,
            text: text.map(|text| text_of(text.as_bytes())),
            is_furniture,
        });
    }

    pub(super) fn end(&mut self, glyphs: &mut Vec<Glyph>) {
        // The innermost pieces are the skipped ones.
        if self.n_skipped > 0 {
            self.n_skipped -= 1;
            return;
        }
        let Some(MarkedPiece { start, text: Some(text), .. }) = self.open.pop() else { return };
        replace(glyphs, start, &text);
    }

    pub(super) fn end_all(&mut self, glyphs: &mut Vec<Glyph>) {
        self.n_skipped = 0;
        while !self.open.is_empty() {
            self.end(glyphs);
        }
    }
}

/// Replaces the glyphs from `start` on by the characters of `text`, if they are on one line.
fn replace(glyphs: &mut Vec<Glyph>, start: usize, text: &str) {
    let replaced = glyphs.get(start..).unwrap_or(&[]);
    let Some(first) = replaced.first().copied() else { return };
    let is_one_line =
        replaced.iter().all(|g| (g.y - first.y).abs() < 0.5 * first.size && g.turn == first.turn);
    let shown: String = replaced.iter().map(|glyph| glyph.char).collect();
    if !is_one_line || shown.trim() == text.trim() {
        return;
    }
    let x0 = replaced.iter().fold(f32::MAX, |x, glyph| x.min(glyph.x0));
    let x1 = replaced.iter().fold(f32::MIN, |x, glyph| x.max(glyph.x1));
    let mut text: Vec<char> = text.chars().filter(|c| !c.is_control()).collect();
    // Glyphs are in visual order, from left to right.
    if text.first().copied().is_some_and(super::bidi::is_right_to_left) {
        text.reverse();
    }
    // The widths of the new characters are unknown, so each gets an equal part.
    let step = (x1 - x0) / text.len().max(1) as f32;
    glyphs.truncate(start);
    for (i, char) in text.into_iter().enumerate() {
        let x0 = x0 + step * i as f32;
        glyphs.push(Glyph { char, x0, x1: x0 + step, ..first });
    }
}
