//! Furniture: removes running headers, footers and page numbers.
//!
//! In: the lines of all pages. Out: the same without lines that recur at the same place on other pages. Numbers in
//! such a line may differ if they count with the pages.
//! Invariant: only the first and last lines of a page, near its edges, are dropped.

use rustc_hash::FxHashMap;

use super::columns::Line;
use super::page::PageLines;

/// Number of lines at the top, and at the bottom, that are checked.
const MAX_LINES: usize = 3;
/// Share of the page's height at the top, and at the bottom, that can hold furniture.
const EDGE: f32 = 0.14;
/// Largest difference in height between pages, in points.
const SLACK: f32 = 6.0;

/// Drops furniture from all pages.
pub(super) fn drop_furniture(pages: &mut [PageLines]) {
    let mut found: FxHashMap<String, Vec<Seen>> = FxHashMap::default();
    for (page, lines) in pages.iter().enumerate() {
        for line in candidates(lines) {
            let Some(line_at) = lines.lines.get(line) else { continue };
            let text = text_of(line_at);
            let seen = Seen { page, line, y: line_at.y, numbers: numbers_of(&text) };
            found.entry(key_of(&text)).or_default().push(seen);
        }
    }
    let mut dropped: Vec<(usize, usize)> =
        found.into_values().flat_map(|mut seen| repeated(&mut seen)).collect();
    dropped.sort_unstable();
    dropped.dedup();
    for of_page in dropped.chunk_by(|a, b| a.0 == b.0) {
        let page = of_page.first().and_then(|(page, _)| pages.get_mut(*page));
        // On a page with nothing else, these lines are its text.
        let Some(page) = page.filter(|page| page.lines.len() > of_page.len()) else { continue };
        // From the last to the first, so that indices stay valid.
        for (_, line) in of_page.iter().rev() {
            page.lines.remove(*line);
        }
    }
}

/// A line that may be furniture.
struct Seen {
    page: usize,
    line: usize,
    y: f32,
    numbers: Vec<i64>,
}

/// Returns the first and last lines of a page, as far as they are near its edges.
fn candidates(page: &PageLines) -> Vec<usize> {
    let mut by_height: Vec<usize> = (0..page.lines.len()).collect();
    let y = |i: &usize| page.lines.get(*i).map_or(0.0, |line| line.y);
    by_height.sort_by(|a, b| y(a).total_cmp(&y(b)));
    let (top, bottom) = (page.top + EDGE * page.height, page.top + (1.0 - EDGE) * page.height);
    let first = by_height.iter().take(MAX_LINES).filter(|i| y(i) < top);
    let last = by_height.iter().rev().take(MAX_LINES).filter(|i| y(i) > bottom);
    first.chain(last).copied().collect()
}

fn text_of(line: &Line) -> String {
    line.words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the text without white space, and with `#` for each number.
fn key_of(text: &str) -> String {
    let mut key = String::new();
    for char in text.chars().filter(|char| !char.is_whitespace()) {
        let char = if char.is_numeric() { '#' } else { char };
        if !(char == '#' && key.ends_with('#')) {
            key.push(char);
        }
    }
    // A Roman page number, as in a preface.
    if !key.is_empty() && key.chars().all(|char| "ivxlc".contains(char)) {
        "#".to_string()
    } else {
        key
    }
}

fn numbers_of(text: &str) -> Vec<i64> {
    let numbers =
        text.split(|char: char| !char.is_ascii_digit()).filter(|number| !number.is_empty());
    numbers.filter_map(|number| number.parse().ok()).take(8).collect()
}

/// Returns (page, line) of the lines with one key that recur at their height on another page.
fn repeated(seen: &mut [Seen]) -> Vec<(usize, usize)> {
    let n_numbers = seen.iter().map(|seen| seen.numbers.len()).max().unwrap_or(0);
    // All numbers of the key must stay the same or count with the pages.
    if seen.len() < 2 || !(0..n_numbers).all(|i| counts_along(seen, i)) {
        return Vec::new();
    }
    seen.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.page.cmp(&b.page)));
    // Sorted by height, a line at the same height of another page is next to it or a few lines away.
    let comes_again = |(i, one): &(usize, &Seen)| {
        let near = seen
            .get(i.saturating_sub(MAX_LINES)..(i + MAX_LINES + 1).min(seen.len()))
            .unwrap_or(&[]);
        near.iter().any(|other| other.page != one.page && (other.y - one.y).abs() < SLACK)
    };
    seen.iter().enumerate().filter(comes_again).map(|(_, seen)| (seen.page, seen.line)).collect()
}

/// True if the number at this place is the same on most pages (60 %), or grows with the page number.
fn counts_along(seen: &[Seen], place: usize) -> bool {
    let mut by_value: FxHashMap<i64, usize> = FxHashMap::default();
    let mut by_distance: FxHashMap<i64, usize> = FxHashMap::default();
    let mut n = 0;
    for Seen { page, numbers, .. } in seen {
        if let Some(number) = numbers.get(place) {
            *by_value.entry(*number).or_insert(0) += 1;
            *by_distance.entry(number - *page as i64).or_insert(0) += 1;
            n += 1;
        }
    }
    let most = |counts: &FxHashMap<i64, usize>| counts.values().copied().max().unwrap_or(0);
    n < 2 || most(&by_value).max(most(&by_distance)) * 10 >= n * 6
}
