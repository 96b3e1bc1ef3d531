//! Testing: an index that tests fill with files, each taken through all stages.

use std::sync::Arc;

use config::Settings;

use super::writer::{IndexWriter, RippleStep};
use super::{Snapshot, canon};
use embed::{Embedder, StaticModel, WordPiece};
use extract::{chunk, link, recognize, relate};
use model::document::{Document, SourceDoc};
use model::terms::{ContentHash, Generation, Lane, RelPath};
use model::{Item, Stage, Ticket};

/// For tests that read a database beside the program, or tamper with it.
pub use rusqlite::{Connection, types::Value};

/// An index in a temporary folder, and the stages that lead to it.
pub struct Bench {
    /// The writer.
    pub writer: IndexWriter,
    /// Counts tokens and cuts text.
    pub tokens: Arc<WordPiece>,
    /// The model of the index.
    pub embedder: Arc<dyn Embedder>,
    /// Files seen so far.
    pub generation: u64,
    /// Folder of the index.
    pub folder: tempfile::TempDir,
}

impl Default for Bench {
    fn default() -> Self {
        Bench::new()
    }
}

impl Bench {
    /// Creates an empty index.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        let writer =
            IndexWriter::open(folder.path(), "test", &Settings::default(), embedder.clone());
        let writer = writer.expect("opens");
        Bench { writer, tokens, embedder, generation: 0, folder }
    }

    fn ticket(&self, path: &str) -> Ticket {
        Ticket {
            path: RelPath::new(path),
            generation: Generation(self.generation),
            lane: Lane::Bulk,
            moved_from: None,
            is_exchange: false,
            is_forced: false,
            version: Default::default(),
            n_behind: 0,
            weight: Default::default(),
        }
    }

    /// Runs one file through all stages.
    pub fn item(&mut self, path: &str, text: &str) -> Item<Document> {
        self.generation += 1;
        let settings = Settings::default();
        let ticket = self.ticket(path);
        let source = SourceDoc {
            path: ticket.path.clone(),
            bytes: text.as_bytes().into(),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Default::default(),
        };
        let doc = formats::Normalizer::new(&settings.watch, &settings.privacy)
            .run(source)
            .expect("normal");
        let doc = chunk::Chunker::new(&settings.chunk, &settings.embed, self.tokens.clone())
            .run(doc)
            .expect("chunked");
        Item::Document(ticket, self.found_in(doc))
    }

    /// Reads a document of the index for its names again.
    pub fn again(&mut self, row: i64) -> Item<Document> {
        let doc = self.writer.readers().look(|index| crate::store::stored(index, row));
        let doc = doc.expect("read").expect("a document");
        let ticket = Ticket { is_forced: true, ..self.ticket(doc.head.path.as_str()) };
        Item::Document(ticket, self.found_in(doc))
    }

    /// Runs a document through the stages after `chunk`.
    fn found_in(&self, doc: Document) -> Document {
        let settings = Settings::default();
        let doc = recognize::RecognizeStage::new(&settings.recognize, self.writer.gazetteer())
            .run(doc)
            .expect("recognized");
        let doc = link::LinkStage.run(doc).expect("linked");
        let doc = relate::RelateStage::default().run(doc).expect("related");
        embed::EmbedStage::new(self.embedder.clone()).run(doc).expect("embedded")
    }

    /// Commits items as one batch.
    pub fn commit(&mut self, items: &[Item<Document>]) {
        self.writer.commit(items, 0, false).expect("commits");
    }

    /// Returns the number that a query selects.
    pub fn count(&self, sql: &str) -> i64 {
        self.writer.db.query_row(sql, [], |row| row.get(0)).expect("counts")
    }

    /// Checks that chunks, texts and vectors agree.
    pub fn check(&self, n_chunks: i64) {
        assert_eq!(self.count("SELECT count(*) FROM chunks"), n_chunks);
        assert_eq!(self.count("SELECT count(*) FROM chunk_fts"), n_chunks, "texts");
        let windows = self.count("SELECT count(*) FROM windows");
        assert_eq!(self.count("SELECT count(vector) FROM windows"), windows, "vectors");
    }

    /// Commits the removal of a file.
    pub fn drop_file(&mut self, path: &str) {
        let item = self.item(path, "");
        self.commit(&[Item::Removed(item.ticket().clone())]);
    }

    /// Commits a file.
    pub fn put(&mut self, path: &str, text: &str) {
        let item = self.item(path, text);
        self.commit(&[item]);
    }

    /// Runs the ripple until nothing is left.
    pub fn settle_all(&mut self) {
        while self.writer.ripple(true).expect("ripples") != RippleStep::Settled {}
    }

    /// Returns the row of a document.
    pub fn doc(&self, path: &str) -> i64 {
        self.count(&format!("SELECT id FROM docs WHERE path = '{path}'"))
    }

    /// Returns the notes and their permalinks, by path.
    pub fn permalinks(&self) -> Vec<String> {
        let sql = "SELECT d.path || ' = ' || coalesce(n.permalink, '-') FROM notes n
                   JOIN docs d ON d.id = n.doc_id ORDER BY d.path";
        let mut statement = self.writer.db.prepare(sql).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("permalinks")
    }

    /// Returns what the index holds of notes, as canonical text.
    pub fn notes_text(&self) -> String {
        let text = canon::text(&self.writer.db).expect("canonical text");
        let is_note = |line: &&str| {
            ["doc name:", "note", "observation:", "dirty"].iter().any(|part| line.starts_with(part))
        };
        text.lines().filter(is_note).map(|line| format!("{line}\n")).collect()
    }
}

/// Returns the connection of a snapshot, for statements that no reader has.
pub fn connection(snapshot: &Snapshot) -> &Connection {
    snapshot.db()
}

/// Returns whether an expression is one to FTS5.
pub fn is_fts5(expression: &str) -> bool {
    let db = rusqlite::Connection::open_in_memory().expect("opens");
    db.execute_batch("CREATE VIRTUAL TABLE chunk_fts USING fts5(title, headings, body)")
        .expect("made");
    let sql = "SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ?1";
    db.query_row(sql, [expression], |row| row.get::<_, i64>(0)).is_ok()
}
