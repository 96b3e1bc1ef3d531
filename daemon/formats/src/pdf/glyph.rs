//! Glyphs: characters at places of a page.
//!
//! In: nothing; these are the types that the layers below share.
//! Invariants: coordinates are points in a frame that is turned so that text runs to the right and lines follow
//! each other downwards; `x0 <= x1`; no glyph is a control character.
//! Not here: reading them (`interpret.rs`), making words and lines of them (`words.rs`, `rows.rs`).

use std::ops::BitOr;

/// How text is set, and what it is said to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GlyphStyle(u8);

impl GlyphStyle {
    /// Heavier than the text around it.
    pub(super) const BOLD: GlyphStyle = GlyphStyle(1);
    /// Slanted.
    pub(super) const ITALIC: GlyphStyle = GlyphStyle(2);
    /// All characters are equally wide.
    pub(super) const MONO: GlyphStyle = GlyphStyle(4);
    /// The document says that this is a running header, a footer or a page number.
    pub(super) const FURNITURE: GlyphStyle = GlyphStyle(8);

    /// True if all of `other` is there.
    pub(super) fn has(self, other: GlyphStyle) -> bool {
        self.0 & other.0 == other.0
    }

    /// This style, and `other` if `is_so`.
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
    /// Left and right end, spacing between characters included.
    pub(super) x0: f32,
    pub(super) x1: f32,
    /// The baseline; larger is further down.
    pub(super) y: f32,
    /// Size of the font.
    pub(super) size: f32,
    /// The direction in which text runs, whole degrees from 0 to 359, clockwise.
    pub(super) turn: u16,
    pub(super) style: GlyphStyle,
}

/// What a page shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// In the order of drawing.
    pub(super) glyphs: Vec<Glyph>,
    /// Pictures drawn.
    pub(super) n_images: usize,
    /// Characters for which the document does not say what they are.
    pub(super) n_unknown: usize,
}
