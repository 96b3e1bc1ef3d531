//! Gazetteer: finds known names by exact match of their norm, in every variant of spelling.
//!
//! In: rows of (surface, norm, type); then a document. Out: mentions named by the entry's surface.
//! Runs of words are compared by norm, so `Signing Service`, `signing-service`, `signing_service`
//! and `SigningService` are one entry. The longest run wins, and the last word may have a plural
//! `s`.
//! Invariants: the order of the rows does not affect the matches; nothing matches inside a URL or a
//! path; in fenced code only identifiers that equal an entry exactly match; an ordinary or short
//! word needs its capital or a mark around it; matches never overlap and never cross blocks.
//!
//! How: each entry puts the hash of its norm, and of each prefix that ends at a word or hump, into
//! one table. A scan hashes each word while it finds its end, and extends a run only while the run
//! is a prefix of an entry.
//! Rejected: Aho–Corasick over surfaces. It needs a pattern for each variant (four a name) and has
//! to check word boundaries afterwards. Measured on 3 MB of Markdown with 2,250 mined names that
//! match often: this table 145 MB/s with all checks; Aho–Corasick without them 110 MB/s (NFA, 1.6
//! MB) to 145 MB/s (DFA, 38 MB). With 5,000 names that rarely match, the table reaches 370 MB/s.
//! Rebuilding 50,000 entries takes 25 ms against 970 ms.

mod accept;
mod hash;
mod scan;

use rustc_hash::FxHashMap;

use crate::recognize::Recognizer;
use crate::recognize::words;
use model::document::{Document, Mention, RecognizerKind};
use model::terms::{EntityType, Norm, NormKey, Span, norm_of};

/// One row that the gazetteer is built from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GazetteerTerm {
    /// The name as users write it. Accepted matches depend on its capitals.
    pub surface: String,
    /// Its norm.
    pub norm: NormKey,
    /// The type of what it names.
    pub entity_type: EntityType,
}

/// Maps known names to entity types.
#[derive(Debug, Default)]
pub struct Gazetteer {
    version: u64,
    entries: Vec<Packed>,
    /// The surface and norm of each entry, one after the other. With a hundred thousand titles, two
    /// allocations an entry would cost more memory than the names.
    text: String,
    table: FxHashMap<u64, Slot>,
    /// A filter with one bit for the folded hash of each first word. Most words of a text are
    /// rejected here, in the cache.
    first_words: Vec<u64>,
}

/// A known name.
#[derive(Debug, Clone, Copy)]
struct Entry<'g> {
    surface: &'g str,
    norm: &'g str,
    entity_type: EntityType,
    case_rule: CaseRule,
}

/// A stored entry: its surface is `text[start..middle]`, its norm `text[middle..end]`.
#[derive(Debug, Clone, Copy)]
struct Packed {
    start: u32,
    middle: u32,
    end: u32,
    entity_type: EntityType,
    case_rule: CaseRule,
}

/// How much proof a match needs beyond its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseRule {
    /// None: every variant is a mention.
    Folded,
    /// For an ordinary or short word: it must be written like the entry, capitals included, or fill
    /// a mark by itself.
    Exact,
}

/// What the table stores for one hash.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Index of the entry with this norm, or [`Slot::NONE`].
    entry: u32,
    /// Whether a longer entry begins with this run.
    goes_on: bool,
}

impl Slot {
    const NONE: u32 = u32::MAX;
}

/// Bits of the first-word filter: 64 KiB fit the second-level cache and leave room for 50,000
/// entries.
const FILTER_BITS: usize = 1 << 19;

/// Single words of at most this many characters are matched like ordinary words: `Go`, `IT`, `API`.
const SHORT_CHARS: usize = 3;

/// Confidence of a match that differs from the entry at most in case and joints.
const EXACT_SCORE: f32 = 0.9;
/// Confidence of a match in the plural.
const PLURAL_SCORE: f32 = 0.8;

impl Gazetteer {
    /// The version of the gazetteer before the first mining of a project.
    pub const UNMINED: u64 = 0;

    /// Builds a gazetteer from rows in any order. Rows with an empty norm are skipped; among rows
    /// of one norm the smallest is kept.
    pub fn build(version: u64, rows: impl Iterator<Item = GazetteerTerm>) -> Self {
        Gazetteer::build_by(version, rows, case_rule_of)
    }

    /// Does the same with another rule for the case of an entry.
    pub(super) fn build_by(
        version: u64,
        rows: impl Iterator<Item = GazetteerTerm>,
        case_rule_of: impl Fn(&GazetteerTerm) -> CaseRule,
    ) -> Self {
        let mut rows: Vec<GazetteerTerm> = rows.filter(|row| !row.norm.is_empty()).collect();
        rows.sort_unstable_by(|a, b| a.norm.cmp(&b.norm).then_with(|| a.cmp(b)));
        rows.dedup_by(|later, first| later.norm == first.norm);
        let mut gazetteer = Gazetteer {
            version,
            entries: Vec::with_capacity(rows.len()),
            text: String::with_capacity(rows.iter().map(|r| r.surface.len() + r.norm.len()).sum()),
            table: FxHashMap::with_capacity_and_hasher(rows.len(), Default::default()),
            first_words: vec![0; FILTER_BITS / 64],
        };
        for row in rows {
            gazetteer.insert(&row, case_rule_of(&row));
        }
        gazetteer.table.shrink_to_fit();
        gazetteer
    }

    /// Returns the version, which identifies the gazetteer's content.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the number of known names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no name is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn insert(&mut self, row: &GazetteerTerm, case_rule: CaseRule) {
        let entry_idx = self.entries.len() as u32;
        let whole = hash::hash_of(row.norm.as_bytes());
        let prefixes = hash::prefix_hashes(&row.surface);
        // The text may begin the name with its first word or hump, or write it all as one word.
        self.open(prefixes.first().copied().unwrap_or(whole));
        self.open(whole);
        for prefix in prefixes.into_iter().filter(|prefix| *prefix != whole) {
            let slot =
                self.table.entry(prefix).or_insert(Slot { entry: Slot::NONE, goes_on: true });
            slot.goes_on = true;
        }
        let slot = self.table.entry(whole).or_insert(Slot { entry: entry_idx, goes_on: false });
        if slot.entry == Slot::NONE {
            slot.entry = entry_idx;
        }
        let start = self.text.len() as u32;
        self.text.push_str(&row.surface);
        let middle = self.text.len() as u32;
        self.text.push_str(&row.norm);
        let (end, entity_type) = (self.text.len() as u32, row.entity_type);
        self.entries.push(Packed { start, middle, end, entity_type, case_rule });
    }

    /// Records that an entry may begin with a word of this hash.
    fn open(&mut self, hash: u64) {
        let bit = hash::fold(hash, FILTER_BITS);
        if let Some(word) = self.first_words.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Returns false for nearly every word that begins no entry; true may be wrong.
    fn may_begin(&self, hash: u64) -> bool {
        let bit = hash::fold(hash, FILTER_BITS);
        self.first_words.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    fn entry_of(&self, slot: Slot) -> Option<Entry<'_>> {
        let Packed { start, middle, end, entity_type, case_rule } =
            *self.entries.get(slot.entry as usize)?;
        let surface = self.text.get(start as usize..middle as usize)?;
        let norm = self.text.get(middle as usize..end as usize)?;
        Some(Entry { surface, norm, entity_type, case_rule })
    }
}

impl Recognizer for Gazetteer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Gazetteer
    }

    fn recognize(&self, doc: &Document, sentences: &[Span<Norm>], out: &mut Vec<Mention>) {
        if !self.entries.is_empty() {
            scan::Scan::new(self, doc, sentences).run(out);
        }
    }
}

fn case_rule_of(row: &GazetteerTerm) -> CaseRule {
    let is_single = !row.surface.trim().contains([' ', '-', '_', '/']);
    let is_short = row.norm.chars().count() <= SHORT_CHARS;
    // Compared by norm, so that `__name__` does not match every "name", nor `sign-in` every "sign
    // in".
    if words::is_ordinary(&row.norm) || (is_single && (is_short || is_spoken(&row.surface))) {
        CaseRule::Exact
    } else if !is_single
        && words::all_ordinary(&row.surface)
        && row.surface.contains(char::is_uppercase)
    {
        // `Getting Started`, the title of a page, is a phrase of many texts.
        CaseRule::Exact
    } else {
        CaseRule::Folded
    }
}

/// Returns whether the surface is a short word in capitals (`REST`, `SEAL`), which in lowercase is
/// another word.
fn is_spoken(surface: &str) -> bool {
    surface.len() <= 4 && surface.bytes().all(|b| b.is_ascii_uppercase())
}

/// Returns whether a run has the entry's norm, without its `s` if it is a plural.
fn has_norm(surface: &str, entry: Entry<'_>, is_plural: bool) -> bool {
    let norm = norm_of(surface);
    if is_plural { norm.strip_suffix('s') == Some(entry.norm) } else { norm == entry.norm }
}

#[cfg(test)]
mod tests;
