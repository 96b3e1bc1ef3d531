//! Linker: a separate index that gets the places of names, and returns what they denote.
//!
//! Every document goes through the stages and the writer of the product; only the result of
//! recognition is replaced with given mentions, or extended by them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use config::Settings;
use embed::{Embedder, StaticModel, WordPiece};
use extract::{chunk, link, recognize, relate};
use index::store::{IndexWriter, RippleStep};
use model::document::{Document, Mention, RecognizerKind, SourceDoc};
use model::terms::{Confidence, ContentHash, EntityType, Generation, Lane, RelPath, Span};
use model::{Item, Stage, Ticket};
use rusqlite::{Connection, OptionalExtension, params};

/// A name at a byte range of a document's normalized text.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) entity_type: EntityType,
}

/// The referent of a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denoted {
    /// This entity, and its own note if it has one.
    Entity(i64, Option<String>),
    /// Undecided.
    Unsure,
}

pub(crate) struct Linker {
    writer: IndexWriter,
    tokens: Arc<WordPiece>,
    embedder: Arc<dyn Embedder>,
    settings: Settings,
    generation: u64,
    documents: BTreeMap<String, (String, Vec<Given>, bool)>,
    index: Connection,
    _folder: tempfile::TempDir,
}

impl Linker {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        let settings = Settings::default();
        let writer = IndexWriter::open(folder.path(), "bench", &settings, embedder.clone())?;
        let (generation, documents) = (0, BTreeMap::new());
        let index = Connection::open(writer.path())?;
        Ok(Linker {
            writer,
            tokens,
            embedder,
            settings,
            generation,
            documents,
            index,
            _folder: folder,
        })
    }

    /// Returns the text in normalized form, to which spans refer.
    pub(crate) fn normal(&self, path: &str, text: &str) -> Result<Document> {
        let source = SourceDoc {
            path: RelPath::new(path),
            bytes: text.as_bytes().into(),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Default::default(),
        };
        let mut stage = formats::Normalizer::new(&self.settings.watch, &self.settings.privacy);
        stage.run(source).map_err(|fault| anyhow!("{path}: {fault}"))
    }

    /// Adds a document with only these names.
    pub(crate) fn add_given(&mut self, path: &str, text: &str, given: Vec<Given>) {
        self.documents.insert(path.into(), (text.into(), given, false));
    }

    /// Adds a document with these names in addition to recognized ones.
    pub(crate) fn add_found(&mut self, path: &str, text: &str, given: Vec<Given>) {
        self.documents.insert(path.into(), (text.into(), given, true));
    }

    /// Indexes the added documents until nothing is left to decide. `context` gives tags to a
    /// document by its path.
    pub(crate) fn settle(&mut self, context: &BTreeMap<String, Vec<String>>) -> Result<()> {
        let mut paths: Vec<String> = self.documents.keys().cloned().collect();
        loop {
            let mut items = Vec::new();
            for path in &paths {
                items.push(self.item(path, context)?);
            }
            for batch in items.chunks(64) {
                self.writer.commit(batch, 0, false)?;
            }
            paths = loop {
                match self.writer.ripple(true)? {
                    RippleStep::Progress => {}
                    RippleStep::Settled => return Ok(()),
                    RippleStep::Requeue(rows) => {
                        let sql = "SELECT path FROM docs WHERE id = ?1";
                        let mut path = self.index.prepare_cached(sql)?;
                        let path = |row: &i64| path.query_row([row], |row| row.get(0));
                        break rows.iter().map(path).collect::<Result<_, _>>()?;
                    }
                }
            };
        }
    }

    fn item(
        &mut self,
        path: &str,
        context: &BTreeMap<String, Vec<String>>,
    ) -> Result<Item<Document>> {
        self.generation += 1;
        let ticket = Ticket {
            path: RelPath::new(path),
            generation: Generation(self.generation),
            lane: Lane::Bulk,
            moved_from: None,
            is_exchange: false,
            is_forced: true,
            version: Default::default(),
            n_behind: 0,
            weight: Default::default(),
        };
        let fault = |fault| anyhow!("{path}: {fault}");
        let (text, given, is_found) =
            self.documents.get(path).cloned().ok_or_else(|| anyhow!("no document {path}"))?;
        let mut normal = self.normal(path, &text)?;
        normal.meta.tags.extend(context.get(path).cloned().unwrap_or_default());
        let doc =
            chunk::Chunker::new(&self.settings.chunk, &self.settings.embed, self.tokens.clone())
                .run(normal)
                .map_err(fault)?;
        let mut doc =
            recognize::RecognizeStage::new(&self.settings.recognize, self.writer.gazetteer())
                .run(doc)
                .map_err(fault)?;
        give(&mut doc, &given, is_found);
        let doc = link::LinkStage.run(doc).map_err(fault)?;
        let doc = relate::RelateStage::default().run(doc).map_err(fault)?;
        let doc = embed::EmbedStage::new(self.embedder.clone()).run(doc).map_err(fault)?;
        Ok(Item::Document(ticket, doc))
    }

    /// Returns what the name at these bytes of a document denotes; `None` if there is no such
    /// mention.
    pub(crate) fn denoted(&self, path: &str, at: usize, end: usize) -> Result<Option<Denoted>> {
        let row: Option<(Option<i64>, Option<String>)> = self
            .index
            .prepare_cached(
                "SELECT n.entity_id, h.path FROM docs d JOIN mentions m ON m.doc_id = d.id
                 JOIN json_each(m.positions) p JOIN names n ON n.id = m.name_id
                 LEFT JOIN entities e ON e.id = n.entity_id LEFT JOIN docs h ON h.id = e.doc_id
                 WHERE d.path = ?1 AND p.value ->> 0 = ?2 AND length(CAST(p.value ->> 8 AS BLOB)) = ?3",
            )?
            .query_row(params![path, at as i64, (end - at) as i64], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        Ok(row.map(|(entity, home)| match entity {
            Some(entity) => Denoted::Entity(entity, home),
            None => Denoted::Unsure,
        }))
    }

    /// Counts names by decision: all, linked inexactly, split by document, unsure, proposals.
    pub(crate) fn states(&self) -> Result<String> {
        let sql = "SELECT count(*), coalesce(sum(decision = 3), 0), coalesce(sum(is_split), 0),
            coalesce(sum(decision = 6 AND NOT is_split), 0), (SELECT count(*) FROM proposals)
            FROM names WHERE sense = 0";
        let counts: [i64; 5] = self.index.query_row(sql, [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        })?;
        let [all, linked, split, unsure, proposed] = counts;
        Ok(format!(
            "{all} names: {linked} linked to others, {split} parted by meaning, {unsure} unsure, {proposed} proposals"
        ))
    }
}

/// Replaces the recognized names with given ones, or adds these.
fn give(doc: &mut Document, given: &[Given], keeps_found: bool) {
    // They refer to mentions that may be removed.
    doc.found.anaphors.clear();
    let mut mentions: Vec<Mention> = Vec::new();
    for name in given {
        let span = Span::new(name.start, name.end);
        mentions.push(Mention {
            span,
            name: span.of(&doc.text).to_string(),
            entity_type: name.entity_type,
            recognizer: RecognizerKind::Statistical,
            score: Confidence::new(0.8),
            place: Default::default(),
        });
    }
    if keeps_found {
        let is_free =
            |it: &Mention| !given.iter().any(|g| it.span.overlaps(Span::new(g.start, g.end)));
        mentions.extend(doc.found.mentions.iter().filter(|it| is_free(it)).cloned());
    } else {
        doc.found.stated.clear();
        doc.found.terms.clear();
        doc.found.gazetteer_version = u64::from(u32::MAX);
    }
    mentions.sort_by_key(|it| (it.span.start(), it.span.end()));
    doc.found.mentions = mentions;
}
