//! Sample: relations drawn from folders, for judges.
//!
//! In: a seed, a number, folders. Out: JSON lines in an order that depends on the seed: folder,
//! commit, path, span in the file, hash of those bytes, section, sentence, claim, and (not for
//! judges) predicate, pattern, confidence.
//! Invariants: the same folder, program and seed give the same lines; a relation is drawn once, by
//! its surest evidence; plain links (`links_to`) and denials are excluded: the former cannot be
//! judged, the latter claim nothing.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use config::Settings;
use embed::EmbedStage;
use embed::{Embedder, StaticModel, WordPiece};
use extract::chunk::{Chunker, sentences};
use extract::link::LinkStage;
use extract::recognize::RecognizeStage;
use extract::relate::RelateStage;
use formats::Normalizer;
use index::store::{IndexWriter, RippleStep, stored};
use model::document::{Document, Pass, SourceDoc};
use model::terms::{ContentHash, Generation, Lane, RelPath, norm_of};
use model::{Item, Stage, Ticket};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::support::{self, Scratch};

pub(crate) fn print(seed: u64, n: usize, folders: &[&str]) -> Result<()> {
    let mut all = Vec::new();
    for folder in folders {
        let (folder, commit) = folder.split_once('=').unwrap_or((folder, "unknown"));
        all.extend(relations_of(Path::new(folder), commit)?);
    }
    // Sorted by a hash of seed and claim, so that the order of folders and rows does not matter.
    all.sort_by_key(|row| xxh3_64(format!("{seed} {} {}", row["path"], row["claim"]).as_bytes()));
    all.iter().take(n).for_each(|row| println!("{row}"));
    Ok(())
}

fn relations_of(folder: &Path, commit: &str) -> Result<Vec<Value>> {
    let scratch = Scratch::new()?;
    let index = index(folder, &scratch)?;
    let db = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut rows = db.prepare(
        "SELECT d.path, e.raw_start, e.raw_end, e.start, e.end, d.text, s.name, e.predicate, o.name, e.pattern,
                max(e.confidence * coalesce(sn.link, 1.0) * coalesce(bn.link, 1.0)) AS confidence,
                (SELECT section FROM chunks c WHERE c.doc_id = d.id AND c.start <= e.start
                 ORDER BY c.start DESC LIMIT 1),
                (SELECT p.value ->> 8 FROM mentions m JOIN json_each(m.positions) p
                 WHERE m.doc_id = d.id AND p.value ->> 0 = e.subject_at LIMIT 1),
                (SELECT p.value ->> 8 FROM mentions m JOIN json_each(m.positions) p
                 WHERE m.doc_id = d.id AND p.value ->> 0 = e.object_at LIMIT 1), d.title
         FROM evidence e JOIN docs d ON d.id = e.doc_id
              LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
              LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
              JOIN entities s ON s.id = coalesce(sn.entity_id, sd.entity_id)
              JOIN entities o ON o.id = coalesce(bn.entity_id, bd.entity_id)
         WHERE e.predicate <> 'links_to' AND e.predicate NOT LIKE 'not %' AND s.id <> o.id
         GROUP BY s.id, e.predicate, o.id ORDER BY d.path, e.start",
    )?;
    let shown = folder.display().to_string();
    let read = rows.query_map([], |row| {
        let text: String = row.get(5)?;
        let (start, end): (i64, i64) = (row.get(3)?, row.get(4)?);
        let (subject, predicate, object): (String, String, String) =
            (row.get(6)?, row.get(7)?, row.get(8)?);
        let (subject, object) = (shown_as(row.get(12)?, subject), shown_as(row.get(13)?, object));
        // A relation stated by a title has the title as its words; its evidence is the first place
        // of the name.
        let pattern: String = row.get(9)?;
        let sentence = match pattern.starts_with("title:") {
            true => row.get(14)?,
            false => sentence_around(&text, start as usize, end as usize),
        };
        Ok(json!({
            "folder": shown, "commit": commit, "path": row.get::<_, String>(0)?,
            "span": [row.get::<_, i64>(1)?, row.get::<_, i64>(2)?],
            "section": row.get::<_, Option<String>>(11)?,
            "sentence": sentence,
            "claim": format!("{subject} — {predicate} — {object}"),
            "predicate": predicate, "pattern": pattern, "confidence": row.get::<_, f64>(10)?,
        }))
    })?;
    let mut rows: Vec<Value> = read.collect::<Result<_, _>>()?;
    for row in &mut rows {
        let bytes = std::fs::read(folder.join(row["path"].as_str().unwrap_or("")))?;
        let at = |i: usize| row["span"][i].as_u64().unwrap_or(0) as usize;
        let words = bytes.get(at(0)..at(1)).unwrap_or(&[]);
        row["hash"] = Value::String(format!("{:032x}", xxh3_128(words)));
    }
    Ok(rows)
}

/// Returns a party as written at its place, with the entity's name if that differs.
fn shown_as(surface: Option<String>, name: String) -> String {
    match surface {
        Some(surface) if norm_of(&surface) != norm_of(&name) => format!("{surface} ({name})"),
        Some(surface) => surface,
        None => name,
    }
}

/// Returns the sentences that a span touches, on one line.
fn sentence_around(text: &str, start: usize, end: usize) -> String {
    let line_start = text.get(..start).and_then(|head| head.rfind('\n')).map_or(0, |at| at + 1);
    let line_end =
        text.get(end..).and_then(|tail| tail.find('\n')).map_or(text.len(), |at| end + at);
    let line = text.get(line_start..line_end).unwrap_or("");
    let touched =
        sentences(line).filter(|it| line_start + it.start < end && line_start + it.end > start);
    let shown: String = touched.filter_map(|it| Some(format!("{} ", line.get(it)?))).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Indexes a folder in this process, reading every document deeply, and returns the path of the
/// index.
fn index(folder: &Path, scratch: &Scratch) -> Result<std::path::PathBuf> {
    let settings = Settings::default();
    let tokens = WordPiece::builtin();
    let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
    let fingerprint = config::fingerprint::rows(&settings, embedder.space());
    let mut writer =
        IndexWriter::open(&scratch.state(), &fingerprint, &settings, embedder.clone())?;
    let mut stages = (
        Normalizer::new(&settings.watch, &settings.privacy),
        Chunker::new(&settings.chunk, &settings.embed, tokens),
        RecognizeStage::new(&settings.recognize, writer.gazetteer()),
        RelateStage::default(),
        EmbedStage::new(embedder),
    );
    let sources = read(folder, &settings)?;
    let mut generation = 1;
    let mut open = Vec::new();
    for source in sources {
        let doc = run(&mut stages.0, source)?;
        open.push(run(&mut stages.1, doc)?);
    }
    while !open.is_empty() {
        let mut items = Vec::new();
        for doc in open {
            let doc = run(&mut stages.2, doc)?;
            let doc = run(&mut stages.3, run(&mut LinkStage, doc)?)?;
            items.push(item(run(&mut stages.4, doc)?, generation));
        }
        for batch in items.chunks(32) {
            writer.commit(batch, 0, false)?;
        }
        let rows = loop {
            match writer.ripple(true)? {
                RippleStep::Settled => break Vec::new(),
                RippleStep::Progress => {}
                RippleStep::Requeue(rows) => break rows,
            }
        };
        let readers = writer.readers();
        let again = |row: i64| readers.look(|index| stored(index, row)).transpose();
        open = rows.into_iter().filter_map(again).collect::<Result<_, _>>()?;
        open.iter_mut().for_each(|doc| doc.head.pass = Pass::Deep);
        generation += 1;
    }
    Ok(writer.path().to_path_buf())
}

fn run<S: Stage>(stage: &mut S, doc: S::In) -> Result<S::Out> {
    stage.run(doc).map_err(|fault| anyhow!("{}: {fault}", S::NAME))
}

fn item(doc: Document, generation: u64) -> Item<Document> {
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
}

fn read(folder: &Path, settings: &Settings) -> Result<Vec<SourceDoc>> {
    let mut docs = Vec::new();
    for (path, _) in support::files_below(folder)? {
        let relative = path.strip_prefix(folder)?.to_str().context("a path that is not UTF-8")?;
        let relative = RelPath::new(relative);
        if !settings.watch.extensions.contains(&relative.extension()) {
            continue;
        }
        let bytes: Arc<[u8]> = std::fs::read(&path)?.into();
        let hash = ContentHash::of(&bytes);
        docs.push(SourceDoc { path: relative, hash, bytes, mtime_ms: 0, pass: Pass::Deep });
    }
    docs.sort_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
    Ok(docs)
}
