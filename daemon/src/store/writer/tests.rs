//! What one batch may hold, and what must be true of the rows afterwards.

use super::*;
use crate::belt::Stage;
use crate::embedder::{StaticModel, WordPiece};
use crate::pipeline::parcel::SourceDoc;
use crate::pipeline::{chunk, embed, link, normalize, recognize, relate};
use crate::terms::ContentHash;

struct Bench {
    writer: IndexWriter,
    tokens: Arc<WordPiece>,
    embedder: Arc<dyn Embedder>,
    generation: u64,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        let writer =
            IndexWriter::open(folder.path(), "test", &Settings::default(), embedder.clone());
        let writer = writer.expect("opens");
        Bench { writer, tokens, embedder, generation: 0, folder }
    }

    /// Takes one file through all stages.
    fn item(&mut self, path: &str, text: &str) -> Item<EmbeddedDoc> {
        self.generation += 1;
        let settings = Settings::default();
        let ticket = Ticket {
            path: RelPath::new(path),
            generation: Generation(self.generation),
            lane: Lane::Bulk,
            moved_from: None,
            is_exchange: false,
            is_forced: false,
            version: Default::default(),
            n_behind: 0,
            weight: Default::default(),
        };
        let source = SourceDoc {
            path: ticket.path.clone(),
            bytes: text.as_bytes().into(),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Default::default(),
        };
        let doc = normalize::Normalizer::new(&settings.watch, &settings.privacy)
            .run(source)
            .expect("normal");
        let doc = chunk::Chunker::new(&settings.chunk, &settings.embed, self.tokens.clone())
            .run(doc)
            .expect("chunked");
        let doc = recognize::RecognizeStage::new(&settings.recognize, self.writer.gazetteer())
            .run(doc)
            .expect("recognized");
        let doc = link::LinkStage.run(doc).expect("linked");
        let doc = relate::RelateStage::default().run(doc).expect("related");
        let doc = embed::EmbedStage::new(self.embedder.clone()).run(doc).expect("embedded");
        Item::Document(ticket, doc)
    }

    fn commit(&mut self, items: &[Item<EmbeddedDoc>]) {
        self.writer.commit(items, 0, false).expect("commits");
    }

    fn count(&self, sql: &str) -> i64 {
        self.writer.db.query_row(sql, [], |row| row.get(0)).expect("counts")
    }

    /// Chunks, texts and vectors must be about the same things.
    fn check(&self, n_chunks: i64) {
        assert_eq!(self.count("SELECT count(*) FROM chunks"), n_chunks);
        assert_eq!(self.count("SELECT count(*) FROM chunk_fts"), n_chunks, "texts");
        let windows = self.count("SELECT count(*) FROM chunk_vec_map");
        assert_eq!(self.count("SELECT count(*) FROM chunk_vec"), windows, "vectors");
    }
}

#[test]
fn several_versions_of_a_document_in_one_batch_leave_the_last_one() {
    let mut bench = Bench::new();
    let versions = [
        bench.item("a.md", "# Alpha\n\nThe first version speaks of apples."),
        bench.item("a.md", "# Alpha\n\nThe second version speaks of pears."),
        bench.item("a.md", "# Alpha\n\nThe third version speaks of plums."),
    ];
    bench.commit(&versions);
    bench.check(1);
    let other = bench.item("b.md", "# Beta\n\nAnother document.");
    bench.commit(&[other]);
    bench.check(2);
    let found = |word: &str| {
        let fts = crate::words::phrase_of(word).expect("a word");
        bench.count(&format!("SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH '{fts}'"))
    };
    assert_eq!([found("apples"), found("pears"), found("plums")], [0, 0, 1]);
}

#[test]
fn a_document_written_and_removed_in_one_batch_leaves_nothing() {
    let mut bench = Bench::new();
    let written = bench.item("a.md", "# Alpha\n\nHere and gone.");
    bench.generation += 1;
    let ticket = Ticket { generation: Generation(bench.generation), ..written.ticket().clone() };
    bench.commit(&[written, Item::Removed(ticket)]);
    bench.check(0);
    assert_eq!(bench.count("SELECT count(*) FROM entities"), 0);
}

#[test]
fn an_interrupted_batch_leaves_nothing_and_can_be_committed_again() {
    let mut bench = Bench::new();
    let batch: Vec<_> = (0..8)
        .map(|n| bench.item(&format!("{n}.md"), &format!("# Note {n}\n\nIt says {n}.")))
        .collect();
    let tick = bench.writer.tick();
    bench.writer.interruption().store(true, Ordering::SeqCst);
    let error = bench.writer.commit(&batch, 0, false).expect_err("it is interrupted");
    assert!(error.is_interruption(), "{error}");
    assert_eq!(bench.writer.tick(), tick);
    bench.check(0);
    bench.writer.interruption().store(false, Ordering::SeqCst);
    bench.commit(&batch);
    bench.check(8);
}

#[test]
fn a_document_on_its_way_while_a_name_becomes_known_is_read_again() {
    let mut bench = Bench::new();
    let first = bench.item("first.md", "# Alpha\n\nThe first note.");
    bench.commit(&[first]);
    let step = bench.writer.ripple(true).expect("mined");
    assert_eq!(step, RippleStep::Requeue(vec![RelPath::new("first.md")]));
    let again = bench.item("first.md", "# Alpha\n\nThe first note.");
    let on_its_way = bench.item("late.md", "# Late\n\nAsk the Billing Portal.");
    let names_it = bench.item("portal.md", "# Billing Portal\n\nIt bills.");
    bench.commit(&[again, names_it]);
    bench.writer.ripple(true).expect("the gazetteer learns the title");
    bench.commit(&[on_its_way]);
    let RippleStep::Requeue(paths) = bench.writer.ripple(true).expect("a step") else {
        panic!("nothing is read again")
    };
    assert!(paths.contains(&RelPath::new("late.md")), "{paths:?}");
}

#[test]
fn documents_that_cannot_be_read_again_are_not_asked_for_without_end() {
    let mut bench = Bench::new();
    let note = bench.item("a.md", "# Alpha\n\nThe only note.");
    bench.commit(&[note]);
    let steps: Vec<RippleStep> =
        (0..6).map(|_| bench.writer.ripple(true).expect("a step")).collect();
    let n_asked = steps.iter().filter(|step| matches!(step, RippleStep::Requeue(_))).count();
    assert_eq!(n_asked, 2, "once, and once more: {steps:?}");
    assert_eq!(steps.last(), Some(&RippleStep::Settled));
}

#[test]
fn a_damaged_ledger_is_not_taken_for_a_damaged_index() {
    let mut bench = Bench::new();
    let items: Vec<_> =
        (0..40).map(|n| bench.item(&format!("{n}.md"), "# Note\n\nText.\n")).collect();
    bench.commit(&items);
    assert!(bench.writer.check_ledger().is_ok());
    let ledger = bench.folder.path().join("ledger.sqlite");
    for file in [ledger.clone(), ledger.with_file_name("ledger.sqlite-wal")] {
        let n_bytes = file.metadata().map_or(0, |it| it.len()) as usize;
        std::fs::write(&file, vec![0xA5; n_bytes]).expect("damaged");
    }
    let error = bench.writer.check_ledger().expect_err("it is damaged");
    assert!(
        matches!(error, StoreError::Ledger(_)) && error.trouble() == crate::store::Trouble::Lasting
    );
    assert!(error.to_string().contains("the ledger `"), "{error}");
}

mod better;
mod damage;
mod duplicates;
mod linking;
mod notes;
mod vectors;
