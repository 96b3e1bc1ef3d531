//! Glyphs: characters at places on a page.
//!
//! In: nothing; these are the types that the other modules share.
//! Invariants: coordinates are points in a frame rotated so that text runs to the right and lines follow each other
//! downwards; `x0 <= x1`; no glyph is a control character.

use std::ops::BitOr;

/// Style of a glyph, and whether the document marks it as furniture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GlyphStyle(u8);

impl GlyphStyle {
    /// Bold.
    pub(super) const BOLD: GlyphStyle = GlyphStyle(1);
    /// Italic.
    pub(super) const ITALIC: GlyphStyle = GlyphStyle(2);
    /// Monospaced.
    pub(super) const MONO: GlyphStyle = GlyphStyle(4);
    /// The document says that this is a running header, a footer or a page number.
    pub(super) const FURNITURE: GlyphStyle = GlyphStyle(8);
    /// It belongs to an annotation, such as the value of a form's field.
    pub(super) const VALUE: GlyphStyle = GlyphStyle(16);

    /// True if all flags of `other` are set.
    pub(super) fn has(self, other: GlyphStyle) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns this style, with `other` added if `is_so`.
    pub(super) fn and(self, other: GlyphStyle, is_so: bool) -> GlyphStyle {
        if is_so { self | other } else { self }
    }
}

impl BitOr for GlyphStyle {
    type Output = GlyphStyle;

    fn bitor(self, other: GlyphStyle) -> GlyphStyle {
        GlyphStyle(self.0 | other.0)
    }
}

/// One character on a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Glyph {
    pub(super) char: char,
    /// Left and right end, including the spacing between characters.
    pub(super) x0: f32,
    pub(super) x1: f32,
    /// The baseline; larger is further down.
    pub(super) y: f32,
    /// Size of the font, in points.
    pub(super) size: f32,
    /// The direction of the text, in whole degrees clockwise, 0 to 359.
    pub(super) turn: u16,
    pub(super) style: GlyphStyle,
}

/// The content of a page.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// In drawing order.
    pub(super) glyphs: Vec<Glyph>,
    /// Number of pictures drawn.
    pub(super) n_images: usize,
    /// Number of characters whose text the document does not state.
    pub(super) n_unknown: usize,
    /// Comments on the page.
    pub(super) notes: Vec<String>,
}
