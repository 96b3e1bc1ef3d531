//! Chunk: cuts a document into spans sized for retrieval, and those into windows sized for embedding.
//!
//! In: a normalized document with its outline. Out: its chunks.
//! Invariants: the same document gives the same chunks; together they hold every character that is not whitespace;
//! each lies within one section, or joins whole small ones of one profile under one heading; none cuts a code line,
//! table row or list item (unless longer than four budgets) or a sentence (unless longer than one); each holds at
//! most its profile's `max_tokens`, except an ordered list kept whole (twice that) and a single line, row, item
//! or word that is larger alone; windows tile their chunk, except that a turn's first window begins before it. A fact
//! of a note (`notes::memory`) with what is nested in it is a chunk of its own, with the headings right above it, so
//! that facts are found as passages are; so is a turn of a dialogue, whose first window begins with the end of the turn
//! before: an answer without its question says too little. A note without text has one empty chunk, by which its title,
//! aliases and tags are found.
//!
//! The steps, each in its file: `profile` (kind of text, which sets the sizes), `atom` (the smallest pieces, counted
//! once), `turn` (where the turns of a dialogue begin), `outline` (which sections stay together), `fill`
//! (pieces into chunks), `window` (chunks into windows).

mod atom;
mod fill;
mod outline;
mod profile;
mod sentence;
mod turn;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use config::formats::Id;
use config::settings::{self, Memory};
use rustc_hash::{FxHashMap, FxHashSet};

use embed::wordpiece::{CachedWordPiece, WordPiece};
use model::document::{Block, BlockKind, Chunk, Document, Profile};
use model::terms::{ContentHash, Norm, Span, line_of};
use model::{DocFault, PartStage};

use atom::{Atom, TokenIndex};
use outline::Outline;
use profile::Budgets;

pub use atom::sentences_of;
pub use sentence::{Sentences, sentences};

/// Most tokens of a turn and the end of the one before that are embedded together: the English model reads 128, title
/// and headings included.
const MAX_TOGETHER: usize = 96;

/// The chunk stage. Each chunker has its own cache of words; only the vocabulary is shared.
#[derive(Debug)]
pub struct Chunker {
    budgets: Budgets,
    tokenizer: CachedWordPiece,
    index: TokenIndex,
    hashed: Vec<u8>,
    memory: Memory,
}

/// Sizes in tokens, each at least 1.
#[derive(Debug, Clone, Copy)]
struct Budget {
    /// Largest chunk.
    max: usize,
    /// Smaller sections are joined with the next one.
    min: usize,
    /// Largest overlap with the previous chunk.
    overlap: usize,
    /// Largest window.
    window: usize,
}

impl Budget {
    /// Largest chunk that is one ordered list: steps read badly apart (S4 §5 allows procedures twice as much).
    fn max_procedure(&self) -> usize {
        self.max.saturating_mul(2)
    }

    /// Largest line or row that stays whole; larger ones are cut, since no reader can use them as they are.
    fn max_line(&self) -> usize {
        self.max.saturating_mul(4)
    }
}

impl Chunker {
    /// Makes a chunker with the given sizes that counts tokens with `wordpiece`.
    pub fn new(
        chunk: &settings::Chunk,
        embed: &settings::Embed,
        wordpiece: Arc<WordPiece>,
    ) -> Self {
        let budgets = Budgets::new(chunk, size(embed.window_tokens));
        let tokenizer = CachedWordPiece::new(wordpiece);
        let (index, hashed, memory) = Default::default();
        Chunker { budgets, tokenizer, index, hashed, memory }
    }

    /// Sets the folder of memory, whose notes state facts in other places than notes elsewhere.
    pub fn with_memory(self, memory: Memory) -> Self {
        Chunker { memory, ..self }
    }

    fn chunks(&mut self, doc: &Document) -> Vec<Chunk> {
        // Count the tokens of the whole text once; all steps take their sizes from this index.
        self.index.read(&mut self.tokenizer, &doc.text);
        let profiles = profile::profiles_of(doc, &self.index);
        let (mut facts, said) = self.facts_of(doc);
        facts.extend(rows_of_sheet(doc));
        let mut turns = turn::turns_of(doc);
        turns.extend(said);
        turns.sort_unstable();
        turns.dedup();
        let atoms = atom::atoms_of(doc, &self.index, &profiles, &self.budgets, &turns);
        let outline = Outline::of(&doc.blocks, &profiles, &atoms, facts, &turns);
        let mut chunks = Vec::new();
        // A group is a section, or small ones joined; `fill` cuts it into chunks.
        for group in outline.groups(&self.budgets) {
            let budget = *self.budgets.of(group.profile);
            for range in fill::fill(outline.units(&group.atoms, &budget), &outline, &budget) {
                let headings = outline.headings(doc, range.clone());
                let said = outline.turn(range.clone(), MAX_TOGETHER);
                let profile = said.map_or(group.profile, |_| Profile::Dialogue);
                let of_atoms = |atoms: &[Atom]| self.chunk(doc, headings, profile, said, atoms);
                chunks.extend(atoms.get(range).and_then(of_atoms));
            }
        }
        if chunks.is_empty() && doc.note.is_some() {
            chunks.push(self.without_text(doc));
        }
        chunks
    }

    /// Makes the only chunk of a note without text.
    fn without_text(&mut self, doc: &Document) -> Chunk {
        let span = Span::new(0, 0);
        let language = doc.language.clone();
        let hash = self.hash([&doc.title, &language], &[], "");
        let (headings, windows, profile) = (vec![], vec![span], Profile::General);
        Chunk { span, headings, n_tokens: 0, profile, language, windows, hash }
    }

    /// Returns the blocks of a note that are its facts, as indices, and where those begin that somebody says on a day.
    fn facts_of(&self, doc: &Document) -> (FxHashSet<usize>, Vec<usize>) {
        let Some(note) = &doc.note else { return Default::default() };
        let in_memory = self.memory.holds(doc.head.path.as_str());
        let facts = note.node.facts(in_memory);
        let lines: FxHashMap<usize, bool> =
            facts.map(|it| (it.line, it.turn.speaker.is_some() && it.turn.day.is_some())).collect();
        if lines.is_empty() {
            return Default::default();
        }
        // A fact is the item on its line of the file; the note and the blocks have no other link.
        let (mut blocks, mut said) = (FxHashSet::default(), Vec::new());
        for (idx, block) in doc.blocks.iter().enumerate() {
            let start = doc.map.to_raw(block.span).start();
            let is_said = lines.get(&(line_of(&doc.line_starts, start) as usize));
            let is_item = matches!(block.kind, BlockKind::ListItem { .. });
            if let Some(is_said) = is_said.filter(|_| is_item) {
                blocks.insert(idx);
                let text = block.span.of(&doc.text);
                let start = block.span.start() + text.len() - text.trim_start().len();
                said.extend(Some(start).filter(|_| *is_said));
            }
        }
        (blocks, said)
    }

    /// Makes the chunk of some atoms, which for a turn says where its first window begins; `None` when there are none.
    fn chunk(
        &mut self,
        doc: &Document,
        headings: Vec<String>,
        profile: Profile,
        said: Option<usize>,
        atoms: &[Atom],
    ) -> Option<Chunk> {
        let span: Span<Norm> = Span::new(atoms.first()?.start, atoms.last()?.end);
        let n_tokens = self.index.count(span.start(), span.end());
        let mut windows = window::windows_of(span, atoms, &self.index, self.budgets.of(profile));
        let start = said.unwrap_or(span.start());
        if let Some(first) = windows.first_mut() {
            *first = Span::new(start, first.end());
        }
        let embedded: Span<Norm> = Span::new(start, span.end());
        let language = language_of(doc, span).to_string();
        let hash = self.hash([&doc.title, &language], &headings, embedded.of(&doc.text));
        let n_tokens = u32::try_from(n_tokens).unwrap_or(u32::MAX);
        Some(Chunk { span, headings, n_tokens, profile, language, windows, hash })
    }

    /// Hashes each part with its length before it, so that text cannot be mistaken for a heading.
    fn hash(&mut self, of_doc: [&str; 2], headings: &[String], text: &str) -> ContentHash {
        self.hashed.clear();
        let parts = of_doc.into_iter().chain(headings.iter().map(String::as_str));
        for part in parts.chain(std::iter::once(text)) {
            self.hashed.extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.hashed.extend_from_slice(part.as_bytes());
        }
        ContentHash::of(&self.hashed)
    }
}

/// Returns the rows of a sheet, each of which is a record, without those that name its columns. Tables of other formats
/// are read as a whole.
fn rows_of_sheet(doc: &Document) -> impl Iterator<Item = usize> {
    let format = config::formats::of(&doc.head.path.extension());
    let is_sheet = format.is_some_and(|it| matches!(it.id, Id::Csv | Id::Xlsx));
    let is_record =
        |block: &Block| matches!(block.kind, BlockKind::TableRow { is_header: false, .. });
    let blocks = if is_sheet { doc.blocks.as_slice() } else { &[] };
    blocks.iter().enumerate().filter(move |(_, block)| is_record(block)).map(|(idx, _)| idx)
}

/// Returns the language of the largest part of a span; ties go to the document's language.
fn language_of(doc: &Document, span: Span<Norm>) -> &str {
    let mut by_language: BTreeMap<&str, usize> = BTreeMap::new();
    let first = doc.other_languages.partition_point(|(other, _)| other.end() <= span.start());
    let others = doc.other_languages.iter().skip(first);
    for (other, code) in others.take_while(|(other, _)| other.start() < span.end()) {
        let n_bytes = other.end().min(span.end()) - other.start().max(span.start());
        *by_language.entry(code).or_default() += n_bytes;
    }
    let main = span.len().saturating_sub(by_language.values().sum());
    let largest = by_language.into_iter().max_by_key(|(_, n_bytes)| *n_bytes);
    largest.filter(|(_, n_bytes)| *n_bytes > main).map_or(doc.language.as_str(), |(code, _)| code)
}

fn size(tokens: u32) -> usize {
    tokens.max(1) as usize
}

impl PartStage for Chunker {
    const NAME: &'static str = "chunk";
    type Part = Vec<Chunk>;

    fn part_of(&mut self, doc: &Document) -> Result<Vec<Chunk>, DocFault> {
        Ok(self.chunks(doc))
    }

    fn place(doc: &mut Document) -> &mut Vec<Chunk> {
        &mut doc.chunks
    }
}

#[cfg(test)]
mod tests;
