//! Headings: recognizes lines that are headings.
//!
//! In: lines, the font sizes of the document, its bookmarks. Out: the level of a heading and its number of lines. A
//! heading is larger than the running text, or all bold and alone, or has a bookmark. Its level comes from the
//! bookmark, else from its number (`2.1`), else from its size.
//! Invariant: a heading is short and has letters.

use std::collections::BTreeMap;

use super::blocks::{is_bold, text_of};
use super::columns::Line;
use super::glyph::GlyphStyle;
use super::outline::Outline;
use super::page::PageLines;

/// Longest heading, in characters and in lines.
const MAX_CHARS: usize = 200;
const MAX_LINES: usize = 4;
/// Longest heading that is only bold, in characters.
const MAX_BOLD_CHARS: usize = 120;
/// Smallest size of a heading, relative to the running text.
const LARGER: f32 = 1.12;
/// Number of different heading sizes that count as levels.
const MAX_SIZES: usize = 4;

/// What is known about a document's headings.
#[derive(Debug)]
pub(super) struct Headings {
    /// Size of most of the text, in points.
    body: f32,
    /// Sizes of headings in half points, largest first.
    sizes: Vec<u32>,
    outline: Outline,
}

fn half_points(size: f32) -> u32 {
    (size * 2.0).round() as u32
}

impl Headings {
    pub(super) fn new(pages: &[PageLines], outline: Outline) -> Self {
        let mut n_chars: BTreeMap<u32, usize> = BTreeMap::new();
        for line in pages.iter().flat_map(|page| &page.lines) {
            // In bytes, with one for the space, which is enough to find the most frequent size.
            let n = line.words.iter().map(|word| word.text.len() + 1).sum::<usize>();
            *n_chars.entry(half_points(line.size)).or_insert(0) += n;
        }
        let body = n_chars.iter().max_by_key(|(_, n)| **n).map_or(0, |(size, _)| *size);
        let body = body as f32 / 2.0;
        let mut sizes: Vec<u32> =
            n_chars.into_keys().filter(|size| *size as f32 / 2.0 >= LARGER * body).collect();
        sizes.reverse();
        sizes.truncate(MAX_SIZES);
        Headings { body, sizes, outline }
    }

    /// Returns the level of the heading that begins at a line, and its number of lines.
    pub(super) fn heading_at(&self, lines: &[Line], at: usize) -> Option<(u8, usize)> {
        let line = lines.get(at)?;
        // May count one line more than allowed, by which a heading that is too long is recognized below.
        let n_lines = 1 + lines
            .windows(2)
            .skip(at)
            .take(MAX_LINES)
            .take_while(|pair| goes_on(&pair[0], &pair[1]))
            .count();
        let whole = lines.get(at..at + n_lines)?;
        let text = text_of(whole, 0..usize::MAX);
        let n_chars = text.chars().count();
        let n_letters = text.chars().filter(|char| char.is_alphabetic()).count();
        // At least half of it is letters, not counting a short number.
        if n_chars > MAX_CHARS || n_letters < 2 || n_letters * 2 < n_chars.saturating_sub(4) {
            return None;
        }
        // A bookmark decides whatever the style, unless the line is smaller than the running text.
        if let Some(level) = self.outline.level_of(&text).filter(|_| line.size >= 0.95 * self.body)
        {
            return Some((level, n_lines));
        }
        let is_mono = line.words.iter().all(|word| word.style.has(GlyphStyle::MONO));
        let is_larger = line.size >= LARGER * self.body;
        let is_alone = n_chars <= MAX_BOLD_CHARS
            && !text.ends_with(['.', ',', ';', ':'])
            && line.cells.len() < 3
            && self.stands_apart(lines, at, n_lines);
        let is_bold = whole.iter().all(is_bold) && line.size >= 0.95 * self.body && is_alone;
        let ends_openly = text.ends_with([',', ';']) || text.contains("....");
        if is_mono || ends_openly || n_lines > MAX_LINES || !(is_larger || is_bold) {
            return None;
        }
        Some((self.level(&text, line.size, is_larger), n_lines))
    }

    /// True if there is a gap above it, and the text below has another style or a gap before it.
    fn stands_apart(&self, lines: &[Line], at: usize, n_lines: usize) -> bool {
        let (Some(first), Some(last)) = (lines.get(at), lines.get(at + n_lines - 1)) else {
            return false;
        };
        let above = at.checked_sub(1).and_then(|above| lines.get(above));
        let is_apart =
            above.is_none_or(|above| first.y - above.y > 1.15 * first.size || first.y < above.y);
        let below = lines.get(at + n_lines);
        let is_other =
            below.is_none_or(|below| !is_bold(below) || below.y - last.y > 1.6 * last.size);
        is_apart && is_other
    }

    fn level(&self, text: &str, size: f32, is_larger: bool) -> u8 {
        let by_size = self.sizes.iter().position(|known| *known <= half_points(size));
        // Bold headings in the size of the text are below all sizes of headings.
        let by_size = by_size.filter(|_| is_larger).unwrap_or(self.sizes.len()) + 1;
        let level = match section_depth(text) {
            // The title of the document is one level above its sections.
            Some(depth) if self.sizes.len() > 1 => depth + 1,
            Some(depth) => depth,
            None => by_size,
        };
        u8::try_from(level.clamp(1, 6)).unwrap_or(6)
    }
}

/// Returns the depth of a section number: 2 for `3.1 Keys`.
fn section_depth(text: &str) -> Option<usize> {
    let (number, rest) = text.split_once(' ')?;
    let number = number.trim_end_matches('.');
    // Numbers of three or more digits are not section numbers.
    let is_number = number.split('.').all(|part| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    (is_number && rest.chars().any(char::is_alphabetic)).then(|| number.split('.').count())
}

/// True if a heading continues in the next line: same style, close below, and no section number of its own.
fn goes_on(line: &Line, next: &Line) -> bool {
    let step = next.y - line.y;
    let is_same =
        (next.size - line.size).abs() < 0.04 * line.size && is_bold(line) == is_bold(next);
    let is_new_number =
        next.words.len() > 1 && section_depth(&text_of(std::slice::from_ref(next), 0..2)).is_some();
    is_same && step > 0.0 && step < 1.5 * line.size && !is_new_number
}
