//! Embed: makes a vector for each window of a document, and a print for each chunk.
//!
//! In: a document with its chunks and windows. Out: [`Embedded`].
//! Invariants: one batch per document; the embedded text is the title, the last two headings and the window, so a
//! renamed folder changes no vector; that of a fact, which is one sentence, is its content alone, since in the mean
//! of so few words a title would outweigh them; a chunk in a language that the model does not know gets empty
//! vectors, whose windows wait for a better model. What the window of a turn has of the turn before comes first.

use std::ops::Range;
use std::sync::Arc;

use config::settings::{Dedup, Memory};

use crate::Embedder;
use model::document::{
    Block, BlockKind, Chunk, Document, Embedded, EmbeddedFact, Reading, UnitVector, may_be_english,
};
use model::print::prints_of;
use model::terms::{Norm, Span};
use model::{DocFault, PartStage};
use notes::memory::Fact;

/// Headings that are embedded with a window, counted from the innermost (S4 §5).
const N_HEADINGS: usize = 2;

/// The stage.
pub struct EmbedStage {
    embedder: Arc<dyn Embedder>,
    dedup: Dedup,
    memory: Memory,
}

impl EmbedStage {
    /// Creates a stage that gets vectors from `embedder`.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        EmbedStage { embedder, dedup: Dedup::default(), memory: Memory::default() }
    }

    /// Sets the settings of deduplication.
    pub fn with_dedup(self, dedup: Dedup) -> Self {
        EmbedStage { dedup, ..self }
    }

    /// Sets the folder of memory.
    pub fn with_memory(self, memory: Memory) -> Self {
        EmbedStage { memory, ..self }
    }
}

impl PartStage for EmbedStage {
    const NAME: &'static str = "embed";
    type Part = Embedded;

    fn part_of(&mut self, doc: &Document) -> Result<Embedded, DocFault> {
        let in_memory = self.memory.holds(doc.head.path.as_str());
        // The index has vectors, prints and facts of this content.
        if doc.head.reading != Reading::Whole {
            return Ok(Embedded { in_memory, ..Embedded::default() });
        }
        let vectors = self.vectors_of(doc, in_memory)?;
        // Equal sentences about two entities are not copies of each other.
        let prints = if in_memory { vec![] } else { prints_of(doc, &self.dedup) };
        let facts = self.facts_of(doc, in_memory)?;
        Ok(Embedded { vectors, prints, facts, in_memory })
    }

    fn place(doc: &mut Document) -> &mut Embedded {
        &mut doc.embedded
    }
}

impl EmbedStage {
    /// Returns the facts of a note with their vectors, in one batch.
    fn facts_of(&self, doc: &Document, in_memory: bool) -> Result<Vec<EmbeddedFact>, DocFault> {
        let Some(note) = &doc.note else { return Ok(vec![]) };
        let facts: Vec<_> = note.node.facts(in_memory).collect();
        // Vectors must stay aligned with facts, so either all facts are embedded or none.
        let is_read = self.embedder.reads(may_be_english(&doc.language));
        let texts: Vec<&str> =
            facts.iter().filter(|_| is_read).map(|it| it.content.as_str()).collect();
        let vectors = if texts.is_empty() { vec![] } else { self.embedder.embed(&texts) };
        if vectors.len() != texts.len() {
            let reason =
                format!("embedder gave {} vectors for {} facts", vectors.len(), texts.len());
            return Err(DocFault::transient(EmbedStage::NAME, reason));
        }
        let mut vectors = vectors.into_iter();
        let embedded = |it: &notes::memory::Fact| EmbeddedFact {
            ordinal: it.ordinal,
            content: it.content.clone(),
            lines: (it.line, it.line + it.n_lines.saturating_sub(1)),
            turn: it.turn.clone(),
            vector: vectors.next().unwrap_or(UnitVector(Box::default())),
        };
        Ok(facts.into_iter().map(embedded).collect())
    }

    /// Embeds the windows of all chunks in one batch.
    fn vectors_of(
        &self,
        doc: &Document,
        in_memory: bool,
    ) -> Result<Vec<Vec<UnitVector>>, DocFault> {
        let is_read = |chunk: &Chunk| self.embedder.reads(may_be_english(&chunk.language));
        let read: Vec<&Chunk> = doc.chunks.iter().filter(|chunk| is_read(chunk)).collect();
        let (buffer, places) = embedded_texts(doc, &read, in_memory);
        let texts: Vec<&str> =
            places.into_iter().map(|place| buffer.get(place).unwrap_or("")).collect();
        let vectors = self.embedder.embed(&texts);
        if vectors.len() != texts.len() {
            let reason =
                format!("embedder gave {} vectors for {} windows", vectors.len(), texts.len());
            return Err(DocFault::transient(EmbedStage::NAME, reason));
        }
        let mut vectors = vectors.into_iter();
        let mut of = |chunk: &Chunk| match is_read(chunk) {
            true => vectors.by_ref().take(chunk.windows.len()).collect(),
            false => vec![UnitVector(Box::default()); chunk.windows.len()],
        };
        Ok(doc.chunks.iter().map(&mut of).collect())
    }
}

/// Returns the text of a window for the better model: title and section, each on a line unless it repeats an earlier
/// one or the window's first line, and the window. Computed from the index, long after the document has left the
/// belt.
pub fn better_text(title: &str, section: &str, window: &str) -> String {
    let plain = |line: &str| -> String {
        line.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let window = window.trim();
    let mut seen = vec![plain(window.lines().next().unwrap_or_default())];
    let mut text = String::with_capacity(title.len() + section.len() + window.len() + 2);
    for line in std::iter::once(title).chain(section.split(" › ")) {
        let words = plain(line);
        if !words.is_empty() && !seen.contains(&words) {
            text.push_str(line.trim());
            text.push('\n');
            seen.push(words);
        }
    }
    text + window
}

/// Returns the texts of these chunks' windows, one after the other in one buffer, and their places in it.
fn embedded_texts(
    doc: &Document,
    chunks: &[&Chunk],
    in_memory: bool,
) -> (String, Vec<Range<usize>>) {
    let (mut buffer, mut places) = (String::with_capacity(doc.text.len() * 5 / 4), Vec::new());
    let note = doc.note.iter();
    let facts: Vec<&Fact> = note.flat_map(|it| it.node.facts(in_memory)).collect();
    for chunk in chunks {
        let n_outer = chunk.headings.len().saturating_sub(N_HEADINGS);
        let fact = fact_of(doc, &facts, chunk);
        for window in &chunk.windows {
            let start = buffer.len();
            // A chunk of one window with a fact in it is that fact: its content is embedded without title and
            // headings.
            match fact.filter(|_| chunk.windows.len() == 1) {
                Some((before, fact)) => {
                    for before in before.iter().filter(|_| window.start() < chunk.span.start()) {
                        buffer.push_str(&before.content);
                        buffer.push('\n');
                    }
                    push_fact(&mut buffer, doc, fact, chunk.span);
                }
                None => {
                    let headings = chunk.headings.iter().skip(n_outer);
                    for line in std::iter::once(&doc.title).chain(headings) {
                        buffer.push_str(line);
                        buffer.push('\n');
                    }
                    buffer.push_str(window.of(&doc.text));
                }
            }
            places.push(start..buffer.len());
        }
    }
    (buffer, places)
}

/// Returns the fact that starts in a chunk, and the one before it; facts are in the order of the file.
fn fact_of<'f>(
    doc: &Document,
    facts: &[&'f Fact],
    chunk: &Chunk,
) -> Option<(Option<&'f Fact>, &'f Fact)> {
    let raw = doc.map.to_raw(chunk.span);
    let first = facts.partition_point(|it| it.text.start < raw.start());
    let fact = facts.get(first).copied().filter(|it| it.text.start < raw.end())?;
    Some((first.checked_sub(1).and_then(|at| facts.get(at)).copied(), fact))
}

/// Appends the content of the fact of a chunk, and what is nested in it.
fn push_fact(buffer: &mut String, doc: &Document, fact: &Fact, chunk: Span<Norm>) {
    buffer.push_str(&fact.content);
    let is_above = |it: &&Block| {
        matches!(it.kind, BlockKind::Heading(_))
            && it.span.start() >= chunk.start()
            && it.span.end() <= chunk.end()
    };
    let n_above = doc.blocks.iter().filter(is_above).count();
    let lines = chunk.of(&doc.text).lines().filter(|line| !line.trim().is_empty());
    // Skips the headings above the fact and its own lines, which `content` replaces.
    for line in lines.skip(n_above + fact.n_lines) {
        buffer.push('\n');
        buffer.push_str(line.trim());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use expect_test::expect;

    use super::*;
    use model::document::{DocHead, Profile, StatedNote};
    use model::terms::{ContentHash, RelPath, SpanMap};

    /// Records every batch; each vector holds the number of its text.
    #[derive(Default)]
    struct Listening {
        batches: Mutex<Vec<Vec<String>>>,
        loses_one: bool,
    }

    impl Embedder for Listening {
        fn space(&self) -> &str {
            "listening"
        }
        fn dimensions(&self) -> usize {
            1
        }
        fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
            let batch = texts.iter().map(ToString::to_string).collect();
            self.batches.lock().expect("no test panics while it holds the lock").push(batch);
            let n_vectors = texts.len() - usize::from(self.loses_one);
            (0..n_vectors).map(|i| UnitVector([i as i8].into())).collect()
        }
    }

    fn chunked() -> Document {
        let text = "Install\n\nFetch it. Build it.\n\nThe end.".to_string();
        let chunk = |headings: &[&str], windows: &[(usize, usize)]| Chunk {
            span: Span::new(windows[0].0, windows[windows.len() - 1].1),
            headings: headings.iter().map(ToString::to_string).collect(),
            n_tokens: 1,
            profile: Profile::General,
            language: "en".into(),
            windows: windows.iter().map(|&(start, end)| Span::new(start, end)).collect(),
            hash: ContentHash(windows[0].0 as u128),
        };
        let chunks =
            vec![chunk(&["A", "B", "Install"], &[(0, 19), (19, 28)]), chunk(&[], &[(30, 38)])];
        Document {
            head: DocHead { path: RelPath::new("guide.md"), ..DocHead::default() },
            title: "Guide".into(),
            language: "en".into(),
            map: SpanMap::identity(text.len(), 0),
            text,
            line_starts: vec![0],
            chunks,
            ..Document::default()
        }
    }

    #[test]
    fn the_better_model_reads_no_line_twice() {
        let table = [
            (("tide-clock", "Tide Clock", "Tide Clock\n\nIt ticks."), "Tide Clock\n\nIt ticks."),
            (("tide-clock", "Tide Clock › Use", "Wind it."), "tide-clock\nUse\nWind it."),
            (("notes", "", " It ticks.\n"), "notes\nIt ticks."),
            (("", "", ""), ""),
        ];
        for ((title, section, window), text) in table {
            assert_eq!(better_text(title, section, window), text);
        }
    }

    #[test]
    fn a_fact_is_embedded_by_what_it_says_and_what_is_nested_in_it() {
        let text = "# Ada\n\n- [duty] Bakes bread ^o1\n  - at dawn\n- [duty] Sings";
        let second = text.find("- [duty] Sings").expect("a fact");
        let mut doc = chunked();
        let chunk = |start, end| Chunk {
            span: Span::new(start, end),
            windows: vec![Span::new(start, end)],
            ..doc.chunks[0].clone()
        };
        // The window of a turn begins with what was said before.
        let windows = vec![Span::new(0, text.len())];
        let said = Chunk { windows, ..chunk(second, text.len()) };
        doc.chunks = vec![chunk(0, second), chunk(second, text.len()), said];
        let heading = Block { kind: BlockKind::Heading(1), span: Span::new(0, 5), section: None };
        let (note, node) = (notes::parse::parse(text), notes::memory::read(text));
        doc = Document {
            map: SpanMap::identity(text.len(), 0),
            text: text.into(),
            blocks: vec![heading],
            note: Some(Box::new(StatedNote { note, link_lines: vec![], node })),
            ..doc
        };
        let embedder = Arc::new(Listening::default());
        EmbedStage::new(embedder.clone()).part_of(&doc).expect("the embedder answers");
        let batches = embedder.batches.lock().expect("nobody panicked").clone();
        let expected =
            ["[duty] Bakes bread\n- at dawn", "[duty] Sings", "[duty] Bakes bread\n[duty] Sings"];
        assert_eq!(batches.first().map(Vec::as_slice), Some(expected.map(String::from).as_slice()));
    }

    #[test]
    fn windows_are_embedded_with_title_and_two_headings() {
        let embedder = Arc::new(Listening::default());
        let mut stage = EmbedStage::new(embedder.clone());
        let embedded = stage.part_of(&chunked()).expect("the embedder answers");
        let batches = embedder.batches.lock().expect("nobody panicked").clone();
        expect![[r#"
            [
                [
                    "Guide\nB\nInstall\nInstall\n\nFetch it. ",
                    "Guide\nB\nInstall\nBuild it.",
                    "Guide\nThe end.",
                ],
            ]
        "#]]
        .assert_debug_eq(&batches);
        let numbers: Vec<Vec<i8>> = embedded
            .vectors
            .iter()
            .map(|chunk| chunk.iter().map(|vector| vector.0[0]).collect())
            .collect();
        assert_eq!(numbers, [vec![0, 1], vec![2]]);
    }

    #[test]
    fn a_missing_vector_is_a_fault() {
        let embedder = Arc::new(Listening { loses_one: true, ..Listening::default() });
        let fault =
            EmbedStage::new(embedder).part_of(&chunked()).expect_err("one vector is missing");
        assert_eq!(fault.to_string(), "embed: embedder gave 2 vectors for 3 windows");
    }

    #[test]
    fn a_document_that_is_read_for_its_names_is_not_embedded_again() {
        let listening = Arc::new(Listening::default());
        let mut stage = EmbedStage::new(listening.clone());
        let mut again = chunked();
        again.head.reading = Reading::Stored(1);
        assert_eq!(
            stage.part_of(&again).expect("passed on").vectors,
            Vec::<Vec<UnitVector>>::new()
        );
        assert_eq!(listening.batches.lock().expect("nobody panicked").len(), 0);
    }
}
