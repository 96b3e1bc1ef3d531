//! Columns: determines the order in which the parts of a page are read.
//!
//! In: stretches of words. Out: regions in reading order, each a list of lines from top to bottom. A page is cut at a
//! gutter between two blocks of text that look like columns by their drawing order or by how full their lines are.
//! Text that crosses the gutter (titles, wide tables) cuts the columns into bands. Rows of a table have gaps too, but
//! are drawn row by row, and their cells are short.
//! Invariants: every stretch ends up in exactly one line; depth and time of cutting are bounded.

use super::glyph::GlyphStyle;
use super::hyphen::stem_of;
use super::rows::{Stretch, Word};

/// Deepest nesting of columns within columns.
const MAX_DEPTH: usize = 6;
/// Number of vertical strips that a page is divided into to find gutters.
const N_STRIPS: usize = 512;
/// Number of gutters tried.
const MAX_GUTTERS: usize = 4;
/// Fewest stretches on each side for columns that are recognized by their shape; fewer must read on from line to line.
const MIN_STRETCHES: usize = 3;
const MIN_SHORT: usize = 2;
/// Number of stretches below one among which its next line is looked for.
const MAX_BELOW: usize = 8;

/// One line of a region.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// In reading order.
    pub(super) words: Vec<Word>,
    /// Index of the first word of each cell. There is a wide gap before each cell but the first.
    pub(super) cells: Vec<usize>,
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) y: f32,
    pub(super) size: f32,
    /// Lines with the same number are in one column.
    pub(super) region: usize,
    pub(super) reads_leftwards: bool,
}

/// Returns the lines of a page in reading order. Regions are numbered from `first_region` on.
pub(super) fn lines(stretches: Vec<Stretch>, first_region: usize) -> Vec<Line> {
    let n_leftwards = stretches.iter().filter(|stretch| stretch.reads_leftwards).count();
    let mut cut = Cut { regions: Vec::new(), starts_right: n_leftwards * 2 > stretches.len() };
    cut.cut(stretches, 0);
    let mut out = Vec::new();
    for (i, region) in cut.regions.into_iter().enumerate() {
        lines_of(region, first_region + i, &mut out);
    }
    out
}

struct Cut {
    regions: Vec<Vec<Stretch>>,
    /// True if columns are read from right to left.
    starts_right: bool,
}

impl Cut {
    fn cut(&mut self, mut stretches: Vec<Stretch>, depth: usize) {
        stretches.sort_by(|a, b| a.y.total_cmp(&b.y));
        let is_deepest = depth >= MAX_DEPTH;
        let wide = if is_deepest { Vec::new() } else { gutters(&stretches) };
        // Short columns may stand among much text over the whole width, which hides their gutter.
        let short = blocks(&stretches).filter(|_| !is_deepest).flat_map(gutters).take(MAX_GUTTERS);
        // The first gutter with real columns on both sides somewhere.
        let wide = wide.into_iter().map(|gutter| (gutter, false));
        let columns =
            wide.chain(short.map(|gutter| (gutter, true))).find_map(|(gutter, is_short)| {
                let bands = bands(&stretches, gutter, is_short);
                bands.iter().any(|band| band.are_columns).then_some((gutter, bands))
            });
        let Some((gutter, bands)) = columns else { return self.regions.push(stretches) };
        // Bands follow each other downwards; those without columns are joined with their neighbors to one region.
        let mut rest = stretches.into_iter();
        let mut plain: Vec<Stretch> = Vec::new();
        for band in bands {
            let stretches = rest.by_ref().take(band.n_stretches);
            if !band.are_columns {
                plain.extend(stretches);
                continue;
            }
            if !plain.is_empty() {
                self.regions.push(std::mem::take(&mut plain));
            }
            let (left, right): (Vec<_>, Vec<_>) =
                stretches.partition(|stretch| middle(stretch) < gutter);
            let (first, second) = if self.starts_right { (right, left) } else { (left, right) };
            self.cut(first, depth + 1);
            self.cut(second, depth + 1);
        }
        if !plain.is_empty() {
            self.regions.push(plain);
        }
    }
}

/// A horizontal part of the page: stretches that follow each other downwards.
struct Band {
    n_stretches: usize,
    are_columns: bool,
}

/// Returns the parts of a page in which each row has several stretches.
fn blocks(stretches: &[Stretch]) -> impl Iterator<Item = &[Stretch]> {
    let mut rows = stretches.chunk_by(|a, b| b.y - a.y < 0.5 * a.size.max(b.size)).peekable();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(row) = rows.next_if(|row| row.len() < 2) {
            at += row.len();
        }
        let start = at;
        while let Some(row) = rows.next_if(|row| row.len() > 1) {
            at += row.len();
        }
        stretches.get(start..at).filter(|block| !block.is_empty())
    })
}

/// Cuts a page where text crosses a gutter. `is_short` if the gutter is that of some rows, and not of the page.
fn bands(stretches: &[Stretch], gutter: f32, is_short: bool) -> Vec<Band> {
    let is_across = |stretch: &Stretch| {
        // Text that only touches the gutter does not cross it.
        let slack = 0.3 * stretch.size;
        stretch.x0 < gutter - slack && stretch.x1 > gutter + slack
    };
    let parts = stretches.chunk_by(|a, b| is_across(a) == is_across(b));
    parts
        .map(|part| Band {
            n_stretches: part.len(),
            are_columns: !part.first().is_some_and(is_across)
                && are_columns(part, gutter, is_short),
        })
        .collect()
}

fn middle(stretch: &Stretch) -> f32 {
    (stretch.x0 + stretch.x1) / 2.0
}

/// Returns the x of places that much less text crosses than there is on both sides; best first.
fn gutters(stretches: &[Stretch]) -> Vec<f32> {
    if stretches.len() < 2 * MIN_SHORT {
        return Vec::new();
    }
    let left = stretches.iter().fold(f32::MAX, |x, stretch| x.min(stretch.x0));
    let right = stretches.iter().fold(f32::MIN, |x, stretch| x.max(stretch.x1));
    let strip = ((right - left) / N_STRIPS as f32).max(0.01);
    let index = |x: f32| (((x - left) / strip) as usize).min(N_STRIPS);
    // How much text covers each strip: add where a stretch begins, subtract where it ends, then sum up.
    let mut change = vec![0.0_f32; N_STRIPS + 2];
    for stretch in stretches {
        // The strips at both ends count as covered, so a hairline gap is not a gutter.
        change[index(stretch.x0)] += stretch.size;
        change[index(stretch.x1) + 1] -= stretch.size;
    }
    let covered: Vec<f32> = change
        .iter()
        .take(N_STRIPS + 1)
        .scan(0.0, |sum, change| {
            *sum += change;
            Some(*sum)
        })
        .collect();
    let size = stretches.iter().map(|stretch| stretch.size).sum::<f32>() / stretches.len() as f32;
    let mut found = strips(&covered, 0.6 * size / strip);
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MAX_GUTTERS).map(|(_, at)| left + at * strip).collect()
}

/// Returns the gaps in `covered` that are at least `min_width` strips wide: a score, and the middle.
fn strips(covered: &[f32], min_width: f32) -> Vec<(f32, f32)> {
    let n = covered.len();
    // For each strip, the maximum and the sum of what is covered on each side of it.
    let mut before = vec![(0.0_f32, 0.0_f32); n];
    let mut after = vec![(0.0_f32, 0.0_f32); n];
    for i in 1..n {
        let (most, all) = before[i - 1];
        before[i] = (most.max(covered[i - 1]), all + covered[i - 1]);
        let (most, all) = after[n - i];
        after[n - 1 - i] = (most.max(covered[n - i]), all + covered[n - i]);
    }
    // A few titles or wide lines may cross a gutter.
    let is_low = |i: usize| covered[i] < 0.55 * before[i].0.min(after[i].0);
    let mut found = Vec::new();
    let mut i = 0;
    while i < n {
        let start = i;
        while i < n && is_low(i) {
            i += 1;
        }
        if i == start {
            i += 1;
            continue;
        }
        // Within the low stretch, the gutter is where the least text crosses.
        let low = &covered[start..i];
        let least = low.iter().copied().fold(f32::MAX, f32::min);
        let peak = before[start].0.min(after[i - 1].0);
        let is_floor = |c: &f32| *c <= least + 0.03 * peak;
        let (first, last) = (low.iter().position(is_floor), low.iter().rposition(is_floor));
        let (Some(first), Some(last)) = (first, last) else { continue };
        let width = (last - first + 1) as f32;
        if width >= min_width {
            // A good gutter is crossed by little text, is wide (up to a limit), and has much text on both sides.
            let (all_before, all_after) = (before[start].1, after[i - 1].1);
            let balance = all_before.min(all_after) / (all_before + all_after).max(0.01);
            let score =
                (1.0 - least / peak.max(0.01)) * width.min(6.0 * min_width) * (0.1 + balance);
            found.push((score, (start + first + start + last + 1) as f32 / 2.0));
        }
    }
    found
}

/// True if the two sides of a gutter are to be read one after the other.
fn are_columns(stretches: &[Stretch], gutter: f32, is_short: bool) -> bool {
    let (left, right): (Vec<&Stretch>, Vec<&Stretch>) =
        stretches.iter().partition(|stretch| middle(stretch) < gutter);
    let n_pairs = left.len().min(right.len());
    // The values of a form stand beside their labels.
    let are_values = |side: &[&Stretch]| {
        let is_value = |stretch: &&&Stretch| {
            stretch.words.iter().any(|word| word.style.has(GlyphStyle::VALUE))
        };
        side.iter().filter(is_value).count() * 2 > side.len()
    };
    if are_values(&left) || are_values(&right) {
        return false;
    }
    if n_pairs == 0 {
        return false;
    }
    // A short column beside a long one counts if there is enough text in all.
    let is_small = n_pairs < MIN_STRETCHES && left.len() + right.len() < 4 * MIN_STRETCHES;
    // Columns are usually drawn one after the other, tables row by row: count how often drawing changes sides.
    let mut drawn: Vec<(usize, bool)> =
        stretches.iter().map(|stretch| (stretch.order, middle(stretch) < gutter)).collect();
    drawn.sort_unstable();
    let n_turns = drawn.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let is_drawn_apart = n_turns <= 2 + n_pairs / 4;
    // The mean over characters, not over stretches, so that boxes and bullets before lines do not count.
    let mean_chars = |side: &[&Stretch]| {
        let n_all: usize = side.iter().map(|stretch| stretch.n_chars).sum();
        side.iter().map(|stretch| stretch.n_chars * stretch.n_chars).sum::<usize>() / n_all.max(1)
    };
    let (n_left, n_right) = (mean_chars(&left), mean_chars(&right));
    if is_small || is_short {
        // Labels and values are not sentences, and of a sentence both columns have more than one line.
        let n_reading_on = usize::from(reads_on(&left)) + usize::from(reads_on(&right));
        let needed = if is_drawn_apart && is_small { 1 } else { 2 };
        return n_pairs >= MIN_SHORT && n_reading_on >= needed && n_left.min(n_right) >= 12;
    }
    let are_filled = is_filled(&left) && is_filled(&right);
    // Cells of a table are shorter than lines of a column. Without the drawing order as evidence, ask for more.
    match is_drawn_apart {
        true => n_left.min(n_right) >= 12 || are_filled && n_left.min(n_right) >= 6,
        false => are_filled && n_left.min(n_right) >= 25,
    }
}

/// True if most lines of a column continue in the next one.
fn reads_on(side: &[&Stretch]) -> bool {
    // A larger step is between paragraphs.
    let is_below = |line: &Stretch, next: &Stretch| {
        (0.5..2.0).contains(&((next.y - line.y) / line.size))
            && next.x0 < line.x1
            && next.x1 > line.x0
    };
    let (mut n_lines, mut n_continued) = (0, 0);
    for (i, line) in side.iter().enumerate() {
        let mut rest = side.iter().skip(i + 1).take(MAX_BELOW);
        let Some(next) = rest.find(|next| is_below(line, next)) else { continue };
        let (last, first) = (line.words.last(), next.words.first());
        let is_broken = last.is_some_and(|word| stem_of(&word.text).is_some());
        let is_lower = first.is_some_and(|word| word.text.starts_with(char::is_lowercase));
        n_lines += 1;
        n_continued += usize::from(is_broken || is_lower);
    }
    n_continued * 2 > n_lines
}

/// True if most lines of a column reach from edge to edge.
fn is_filled(side: &[&Stretch]) -> bool {
    let left = side.iter().fold(f32::MAX, |x, stretch| x.min(stretch.x0));
    let right = side.iter().fold(f32::MIN, |x, stretch| x.max(stretch.x1));
    let width = (right - left).max(1.0);
    let covered: f32 = side.iter().map(|stretch| stretch.x1 - stretch.x0).sum();
    covered / side.len().max(1) as f32 >= 0.6 * width
}

/// Joins stretches at the same height to lines.
fn lines_of(mut stretches: Vec<Stretch>, region: usize, out: &mut Vec<Line>) {
    stretches.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut row: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        let is_same = row.first().is_some_and(|first| {
            let is_level = stretch.y - first.y < 0.5 * first.size.max(stretch.size);
            // Overlapping stretches are separate lines that are close together. Only the last ones are compared, to
            // bound the time.
            let is_beside = row
                .iter()
                .rev()
                .take(8)
                .all(|other| stretch.x0 >= other.x1 || stretch.x1 <= other.x0);
            is_level && is_beside
        });
        if !is_same && !row.is_empty() {
            out.push(line_of(std::mem::take(&mut row), region));
        }
        row.push(stretch);
    }
    if !row.is_empty() {
        out.push(line_of(row, region));
    }
}

fn line_of(mut row: Vec<Stretch>, region: usize) -> Line {
    let n_leftwards = row.iter().filter(|stretch| stretch.reads_leftwards).count();
    let reads_leftwards = n_leftwards * 2 > row.len();
    row.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    if reads_leftwards {
        row.reverse();
    }
    // The longest stretch sets baseline and size, so that raised or small print does not.
    let main = row.iter().max_by_key(|stretch| stretch.n_chars);
    let (y, size) = main.map_or((0.0, 0.0), |main| (main.y, main.size));
    let x0 = row.iter().fold(f32::MAX, |x, stretch| x.min(stretch.x0));
    let x1 = row.iter().fold(f32::MIN, |x, stretch| x.max(stretch.x1));
    let mut line =
        Line { words: Vec::new(), cells: Vec::new(), x0, x1, y, size, region, reads_leftwards };
    for stretch in row {
        line.cells.push(line.words.len());
        line.words.extend(stretch.words);
    }
    line
}
