//! Stages: the cost of each stage over the whole folder, on one thread, for both rounds of the
//! ripple.
//!
//! In: a scratch folder. Out: a table.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use config::Settings;
use embed::EmbedStage;
use embed::{Embedder, StaticModel, WordPiece};
use extract::chunk::Chunker;
use extract::link::LinkStage;
use extract::recognize::RecognizeStage;
use extract::relate::RelateStage;
use formats::Normalizer;
use index::store::{IndexWriter, RippleStep, stored};
use model::document::{Document, SourceDoc};
use model::terms::{ContentHash, Generation, Lane, RelPath};
use model::{Item, Stage, Ticket};

use crate::support::{self, Scratch};

/// As many documents as the writer takes at once.
const BATCH: usize = 32;

/// Runs everything once, with a second round for the documents that the gazetteer requeues, and
/// prints the cost of each step.
pub(crate) fn run(scratch: &Scratch, repeat: usize) -> Result<()> {
    let settings = Settings::default();
    let mut costs = Costs::default();
    let (tokens, embedder) = costs.of("load models", || {
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        Ok((tokens, embedder))
    })?;
    let fingerprint = config::fingerprint::rows(&settings, embedder.space());
    let mut writer = costs.of("open databases", || {
        Ok(IndexWriter::open(&scratch.state(), &fingerprint, &settings, embedder.clone())?)
    })?;
    let recognize = RecognizeStage::new(&settings.recognize, writer.gazetteer());
    let mut stages = Stages {
        normalize: Normalizer::new(&settings.watch, &settings.privacy),
        chunk: Chunker::new(&settings.chunk, &settings.embed, tokens),
        recognize,
        relate: RelateStage::default(),
        embed: EmbedStage::new(embedder),
    };
    let sources = costs.of("read and hash files", || read(scratch))?;
    for _ in 1..repeat {
        stages.read(&mut Costs::default(), sources.clone())?;
    }
    let mut generation = 1;
    costs.round(generation, sources.len());
    let mut docs = stages.read(&mut costs, sources)?;
    while !docs.is_empty() {
        let found = stages.find(&mut costs, docs)?;
        costs.of("commit", || commit(&mut writer, found, generation))?;
        let rows = ripple(&mut costs, &mut writer)?;
        generation += 1;
        costs.round(generation, rows.len());
        let readers = writer.readers();
        let again = |row: &i64| readers.look(|index| stored(index, *row)).transpose();
        docs = costs.of("read from the index", || {
            Ok(rows.iter().filter_map(again).collect::<Result<_, _>>()?)
        })?;
    }
    costs.print();
    Ok(())
}

struct Stages {
    normalize: Normalizer,
    chunk: Chunker,
    recognize: RecognizeStage,
    relate: RelateStage,
    embed: EmbedStage,
}

impl Stages {
    fn read(&mut self, costs: &mut Costs, docs: Vec<SourceDoc>) -> Result<Vec<Document>> {
        let docs = costs.of("normalize", || all(&mut self.normalize, docs))?;
        costs.of("chunk", || all(&mut self.chunk, docs))
    }

    fn find(&mut self, costs: &mut Costs, docs: Vec<Document>) -> Result<Vec<Document>> {
        let docs = costs.of("recognize", || all(&mut self.recognize, docs))?;
        let docs = costs.of("link", || all(&mut LinkStage, docs))?;
        let docs = costs.of("relate", || all(&mut self.relate, docs))?;
        costs.of("embed", || all(&mut self.embed, docs))
    }
}

fn all<S: Stage>(stage: &mut S, docs: Vec<S::In>) -> Result<Vec<S::Out>> {
    let one = |doc| stage.run(doc).map_err(|fault| anyhow!("{}: {fault}", S::NAME));
    docs.into_iter().map(one).collect()
}

fn read(scratch: &Scratch) -> Result<Vec<SourceDoc>> {
    let root = scratch.notes();
    let mut docs = Vec::new();
    for (path, _) in support::files_below(&root)? {
        let relative = path.strip_prefix(&root)?.to_str().context("a path that is not UTF-8")?;
        let relative = RelPath::new(relative);
        let is_hidden = relative.as_str().split('/').any(|part| part.starts_with('.'));
        let extension = relative.extension();
        if is_hidden || !Settings::default().watch.extensions.contains(&extension) {
            continue;
        }
        let bytes: Arc<[u8]> = std::fs::read(&path)?.into();
        docs.push(SourceDoc {
            path: relative,
            hash: ContentHash::of(&bytes),
            bytes,
            mtime_ms: 0,
            pass: Default::default(),
        });
    }
    Ok(docs)
}

fn commit(writer: &mut IndexWriter, docs: Vec<Document>, generation: u64) -> Result<()> {
    let items: Vec<Item<Document>> = docs
        .into_iter()
        .map(|doc| {
            let ticket = Ticket {
                path: doc.head.path.clone(),
                generation: Generation(generation),
                lane: Lane::Bulk,
                moved_from: None,
                is_exchange: false,
                is_forced: false,
                version: Default::default(),
                n_behind: 0,
                weight: Default::default(),
            };
            Item::Document(ticket, doc)
        })
        .collect();
    for batch in items.chunks(BATCH) {
        writer.commit(batch, 0, false)?;
    }
    Ok(())
}

/// Ripples until nothing is left, or until documents must be read again; returns their rows.
fn ripple(costs: &mut Costs, writer: &mut IndexWriter) -> Result<Vec<i64>> {
    loop {
        match costs.of("ripple", || Ok(writer.ripple(true)?))? {
            RippleStep::Settled => return Ok(Vec::new()),
            RippleStep::Progress => {}
            RippleStep::Requeue(rows) => return Ok(rows),
        }
    }
}

/// CPU milliseconds of each step, in the order they ran.
#[derive(Default)]
struct Costs {
    rows: Vec<(String, f64)>,
}

impl Costs {
    fn of<T>(&mut self, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = support::cpu_of_thread()?;
        let result = work()?;
        self.rows.push((what.to_string(), (support::cpu_of_thread()? - before) * 1e3));
        Ok(result)
    }

    fn round(&mut self, number: u64, n_docs: usize) {
        self.rows.push((format!("round {number}: {n_docs} documents"), 0.0));
    }

    fn print(&self) {
        for (what, ms) in &self.rows {
            match what.starts_with("round") {
                true => println!("{what}"),
                false => println!("  {what:<24} {ms:8.1} ms"),
            }
        }
        let total: f64 = self.rows.iter().map(|(_, ms)| ms).sum();
        println!("  {:<24} {total:8.1} ms of CPU", "total");
    }
}
