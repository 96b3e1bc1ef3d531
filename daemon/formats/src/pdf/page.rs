//! Page: converts one page to lines in reading order.
//!
//! In: the content of a page, and its links. Out: [`PageLines`].
//! Invariants: text in the main direction of the page comes first, then other directions; glyphs outside the page are
//! dropped.

use std::collections::BTreeMap;

use super::columns::{self, Line};
use super::glyph::{Glyph, GlyphStyle, Shown};
use super::links::PageLink;
use super::rows;

/// The lines of a page.
#[derive(Debug, Default)]
pub(super) struct PageLines {
    pub(super) lines: Vec<Line>,
    /// Top of the page and its height, in the y coordinate of the lines.
    pub(super) top: f32,
    pub(super) height: f32,
    pub(super) links: Vec<PageLink>,
    /// Comments on the page.
    pub(super) notes: Vec<String>,
}

/// Reads a page of `width` and `height` points.
pub(super) fn page_lines(shown: Shown, width: f32, height: f32, links: Vec<PageLink>) -> PageLines {
    let mut by_turn: BTreeMap<u16, Vec<Glyph>> = BTreeMap::new();
    for glyph in shown.glyphs {
        if !glyph.style.has(GlyphStyle::FURNITURE) && is_on_page(&glyph, width, height) {
            by_turn.entry(glyph.turn).or_default().push(glyph);
        }
    }
    let mut groups: Vec<(u16, Vec<Glyph>)> = by_turn.into_iter().collect();
    // Most glyphs first.
    groups.sort_by_key(|(turn, glyphs)| (usize::MAX - glyphs.len(), *turn));
    let main_turn = groups.first().map_or(0, |(turn, _)| *turn);
    // In the frame of rotated text, the page's width is its height, and y may be negative; see `State::placed`.
    let (top, height) = match main_turn {
        45..=134 => (-width, width),
        135..=224 => (-height, height),
        225..=314 => (0.0, width),
        _ => (0.0, height),
    };
    let mut page = PageLines { lines: Vec::new(), top, height, links, notes: shown.notes };
    for (turn, glyphs) in groups {
        let mut stretches = rows::stretches(&glyphs);
        // Links are in the coordinates of the page, which are those of the text only if that is not rotated.
        if turn == 0 {
            for word in stretches.iter_mut().flat_map(|stretch| &mut stretch.words) {
                word.link = super::links::link_at(&page.links, word);
            }
        }
        let first_region = page.lines.last().map_or(0, |line| line.region + 1);
        page.lines.extend(columns::lines(stretches, first_region));
    }
    page
}

/// False for a glyph completely outside the page.
fn is_on_page(glyph: &Glyph, width: f32, height: f32) -> bool {
    let turn = f32::from(glyph.turn).to_radians();
    // Rotate back to the coordinates of the page.
    let (sin, cos) = turn.sin_cos();
    let middle = (glyph.x0 + glyph.x1) / 2.0;
    let (x, y) = (middle * cos - glyph.y * sin, middle * sin + glyph.y * cos);
    (-glyph.size..width + glyph.size).contains(&x)
        && (-glyph.size..height + glyph.size).contains(&y)
}
