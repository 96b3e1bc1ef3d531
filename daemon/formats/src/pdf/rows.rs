//! Rows: groups glyphs to words, and words to stretches that are close together on one line.
//!
//! In: glyphs of one direction in drawing order. Out: [`Stretch`]es; each keeps its drawing order.
//! ```text
//! glyphs ► runs (drawn one after another) ► rows (same height) ► stretches (no wide gap) ► words
//! ```
//! Invariants: the time is that of sorting; every glyph that is not white space ends up in exactly one word, except
//! copies of a glyph at its own place, which fake bold print.

use super::accent::accented;
use super::bidi;
use super::glyph::{Glyph, GlyphStyle};

/// Largest distance of baselines on one line, in font sizes; allows for superscripts and subscripts.
const SAME_ROW: f32 = 0.45;
/// Gap between stretches, in font sizes.
const WIDE_GAP: f32 = 1.0;
/// Gap between words where the document draws no spaces, and where it does, in font sizes.
const WORD_GAP: f32 = 0.15;
const WORD_GAP_BESIDE_SPACES: f32 = 0.22;
/// Number of runs of a row that a new one is compared with.
const MAX_COMPARED: usize = 48;

/// A word and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: Box<str>,
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) style: GlyphStyle,
    /// The link of the page that it belongs to, counted from 1; 0 for none.
    pub(super) link: u16,
}

/// Words close together on one line, in reading order.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    pub(super) words: Vec<Word>,
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) y: f32,
    pub(super) size: f32,
    /// Number of glyphs drawn before it.
    pub(super) order: usize,
    pub(super) n_chars: usize,
    pub(super) reads_leftwards: bool,
}

/// Glyphs drawn one after another on one line.
struct GlyphRun {
    start: usize,
    end: usize,
    x0: f32,
    x1: f32,
    y: f32,
    size: f32,
}

/// Returns the stretches of all rows, from top to bottom, and in each row from left to right.
pub(super) fn stretches(glyphs: &[Glyph]) -> Vec<Stretch> {
    let runs = runs(glyphs);
    let mut out = Vec::new();
    for row in rows(runs) {
        stretches_of(glyphs, &row, &mut out);
    }
    out
}

fn runs(glyphs: &[Glyph]) -> Vec<GlyphRun> {
    let mut runs: Vec<GlyphRun> = Vec::new();
    let mut last: Option<&Glyph> = None;
    for (at, glyph) in glyphs.iter().enumerate() {
        if glyph.char == ' ' {
            // It belongs to the run before it, and may separate that from the next one.
            if let Some(run) =
                runs.last_mut().filter(|run| (run.y - glyph.y).abs() < 0.1 * glyph.size)
            {
                run.end = at + 1;
            }
            continue;
        }
        let goes_on = last.is_some_and(|last| {
            let em = glyph.size.max(last.size);
            let is_level = (glyph.y - last.y).abs() < 0.1 * em;
            // Glyphs may overlap (kerning, accents). Right-to-left text may be drawn leftwards.
            let is_right = (-0.6..WIDE_GAP).contains(&((glyph.x0 - last.x1) / em));
            let is_left = (-0.6..WIDE_GAP).contains(&((last.x0 - glyph.x1) / em));
            is_level && (is_right || is_left) && (glyph.size - last.size).abs() < 0.3 * em
        });
        match runs.last_mut().filter(|_| goes_on) {
            Some(run) => {
                run.end = at + 1;
                run.x0 = run.x0.min(glyph.x0);
                run.x1 = run.x1.max(glyph.x1);
                run.size = run.size.max(glyph.size);
            }
            None => {
                let Glyph { x0, x1, y, size, .. } = *glyph;
                runs.push(GlyphRun { start: at, end: at + 1, x0, x1, y, size });
            }
        }
        last = Some(glyph);
    }
    runs
}

/// Runs on the same baseline.
struct BaselineRow {
    runs: Vec<GlyphRun>,
    /// Baseline and size of its largest run, with which raised and lowered runs are compared.
    y: f32,
    size: f32,
}

impl BaselineRow {
    /// True if a run belongs to this row: near its baseline, and not above or below another run of it. Only small
    /// runs may be, such as a superscript above a subscript.
    fn takes(&self, run: &GlyphRun) -> bool {
        // A run directly above or below another one is on another line.
        let is_small = run.size < 0.85 * self.size;
        let stands_over = |other: &GlyphRun| {
            let shared = run.x1.min(other.x1) - run.x0.max(other.x0);
            let is_level = (run.y - other.y).abs() < 0.15 * run.size.min(other.size);
            let are_small = is_small && other.size < 0.85 * self.size;
            shared > 0.3 * (run.x1 - run.x0).min(other.x1 - other.x0) && !is_level && !are_small
        };
        (run.y - self.y).abs() < SAME_ROW * self.size.max(run.size)
            && !self.runs.iter().rev().take(MAX_COMPARED).any(stands_over)
    }

    fn push(&mut self, run: GlyphRun) {
        if run.size > 1.05 * self.size {
            (self.y, self.size) = (run.y, run.size);
        }
        self.runs.push(run);
    }
}

/// Groups runs by height.
fn rows(mut runs: Vec<GlyphRun>) -> Vec<Vec<GlyphRun>> {
    runs.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.start.cmp(&b.start)));
    let mut rows: Vec<BaselineRow> = Vec::new();
    for run in runs {
        // A run rejected by the last row because it is below one of its runs may fit an earlier row.
        match rows.iter_mut().rev().take(3).find(|row| row.takes(&run)) {
            Some(row) => row.push(run),
            None => rows.push(BaselineRow { y: run.y, size: run.size, runs: vec![run] }),
        }
    }
    rows.into_iter().map(|row| row.runs).collect()
}

/// A glyph of a row, and whether white space was drawn before it.
#[derive(Clone, Copy)]
struct RowItem {
    glyph: Glyph,
    order: usize,
    is_after_space: bool,
}

fn stretches_of(glyphs: &[Glyph], row: &[GlyphRun], out: &mut Vec<Stretch>) {
    let items = items_of(glyphs, row);
    let word_gap = word_gap(&items);
    let mut open: Vec<(RowItem, bool)> = Vec::new();
    let mut end = f32::MIN;
    for item in items {
        let em =
            open.last().map_or(item.glyph.size, |(last, _)| last.glyph.size.max(item.glyph.size));
        let gap = item.glyph.x0 - end;
        if !open.is_empty() && gap > WIDE_GAP * em {
            out.extend(stretch(std::mem::take(&mut open)));
        }
        let begins_word = item.is_after_space || gap > word_gap * em;
        open.push((item, begins_word));
        end = end.max(item.glyph.x1);
        // After a wide gap the new stretch begins at its first glyph; otherwise glyphs may lie inside earlier ones.
        if open.len() == 1 {
            end = item.glyph.x1;
        }
    }
    out.extend(stretch(open));
}

/// Returns the glyphs of a row from left to right, without copies at the same place.
fn items_of(glyphs: &[Glyph], row: &[GlyphRun]) -> Vec<RowItem> {
    let places = row.iter().flat_map(|run| run.start..run.end);
    let mut all: Vec<(usize, Glyph)> =
        places.filter_map(|order| glyphs.get(order).map(|glyph| (order, *glyph))).collect();
    all.sort_by(|(_, a), (_, b)| a.x0.total_cmp(&b.x0));
    let mut items: Vec<RowItem> = Vec::with_capacity(all.len());
    let mut is_after_space = false;
    for (order, glyph) in all {
        if glyph.char == ' ' {
            is_after_space = true;
            continue;
        }
        let is_copy = items.last().is_some_and(|last| {
            let RowItem { glyph: last, .. } = last;
            last.char == glyph.char
                && glyph.x0 - last.x0 < 0.3 * (last.x1 - last.x0)
                && (glyph.y - last.y).abs() < 0.3 * last.size
        });
        if !is_copy {
            items.push(RowItem { glyph, order, is_after_space });
        }
        is_after_space = false;
    }
    items
}

/// Returns the gap that separates words in a row, in font sizes. In letter-spaced text, only gaps wider than most
/// separate words.
fn word_gap(items: &[RowItem]) -> f32 {
    let mut gaps: Vec<f32> = items
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] => Some((b.glyph.x0 - a.glyph.x1) / a.glyph.size.max(b.glyph.size)),
            _ => None,
        })
        .filter(|gap| *gap < WIDE_GAP)
        .collect();
    let has_spaces = items.iter().skip(1).any(|item| item.is_after_space);
    let usual = if has_spaces { WORD_GAP_BESIDE_SPACES } else { WORD_GAP };
    let n_wide = gaps.iter().filter(|gap| **gap > usual).count();
    // Fewer than 60 % wide gaps: the text is not letter-spaced.
    if gaps.len() < 5 || n_wide * 10 < gaps.len() * 6 {
        return usual;
    }
    // The median is the gap between letters.
    gaps.sort_by(f32::total_cmp);
    let middle = gaps.get(gaps.len() / 2).copied().unwrap_or(usual);
    (1.7 * middle).max(usual)
}

fn stretch(mut items: Vec<(RowItem, bool)>) -> Option<Stretch> {
    let order = items.iter().map(|(item, _)| item.order).min()?;
    let reads_leftwards = bidi::reads_leftwards(items.iter().map(|(item, _)| item.glyph.char));
    // Reordering needs the white space between words as items.
    if items.iter().any(|(item, _)| bidi::is_right_to_left(item.glyph.char)) {
        items = turned(items, reads_leftwards);
    }
    let words = words_of(&items);
    let (mut x0, mut x1, mut n_chars) = (f32::MAX, f32::MIN, 0);
    for word in &words {
        (x0, x1) = (x0.min(word.x0), x1.max(word.x1));
        n_chars += word.text.chars().count() + 1;
    }
    // The longest word sets baseline and size, so that a superscript does not.
    let main = words.iter().max_by_key(|word| word.text.len())?;
    let (y, size) = (main.y, main.size);
    Some(Stretch { words, x0, x1, y, size, order, n_chars, reads_leftwards })
}

/// Puts a stretch with right-to-left letters into reading order.
fn turned(items: Vec<(RowItem, bool)>, reads_leftwards: bool) -> Vec<(RowItem, bool)> {
    let mut spaced: Vec<Option<RowItem>> = Vec::with_capacity(items.len() * 2);
    for (at, (mut item, begins_word)) in items.into_iter().enumerate() {
        if begins_word && at > 0 {
            spaced.push(None);
        }
        if reads_leftwards {
            item.glyph.char = bidi::mirrored(item.glyph.char);
        }
        spaced.push(Some(item));
    }
    bidi::into_reading_order(&mut spaced, |item| item.map_or(' ', |item| item.glyph.char));
    let mut out = Vec::with_capacity(spaced.len());
    let mut begins_word = true;
    for item in spaced {
        match item {
            Some(item) => {
                out.push((item, begins_word));
                begins_word = false;
            }
            None => begins_word = true,
        }
    }
    out
}

fn words_of(items: &[(RowItem, bool)]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut text = String::new();
    let mut last: Option<Glyph> = None;
    for (at, (item, begins_word)) in items.iter().enumerate() {
        let glyph = item.glyph;
        // A letter and its accent are drawn as two glyphs at one place.
        let joined = last.filter(|_| at > 0).and_then(|last| accented(last, glyph));
        if let (Some(joined), Some(word)) = (joined, words.last_mut()) {
            text.pop();
            text.push(joined);
            word.x1 = word.x1.max(glyph.x1);
            last = Some(Glyph { char: joined, ..glyph });
            continue;
        }
        if *begins_word || words.is_empty() {
            if let Some(word) = words.last_mut() {
                word.text = std::mem::take(&mut text).into();
            }
            let Glyph { x0, x1, y, size, style, .. } = glyph;
            words.push(Word { text: "".into(), x0, x1, y, size, style, link: 0 });
        }
        text.push(glyph.char);
        if let Some(word) = words.last_mut() {
            word.x0 = word.x0.min(glyph.x0);
            word.x1 = word.x1.max(glyph.x1);
            // The largest glyph sets size, baseline and style of the word.
            if glyph.size > word.size {
                (word.size, word.y, word.style) = (glyph.size, glyph.y, glyph.style);
            }
        }
        last = Some(glyph);
    }
    if let Some(word) = words.last_mut() {
        word.text = text.into();
    }
    words
}
