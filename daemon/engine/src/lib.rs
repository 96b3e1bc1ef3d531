//! Engine: the layer that keeps the index current. It lies on `formats`, `extract` and `index`; `server` starts it. The
//! read path (`query`) never sees it.
//!
//! The write path on one screen: the stages in the order a document meets them, with the capacity of each queue.
//!
//! watch ► normalize ► chunk ► recognize ► link ► relate ► embed ► write

pub mod backfill;
pub mod belt;
pub mod build;
pub mod health;
pub mod watch;
pub mod write;

use std::sync::Arc;

use arc_swap::ArcSwap;
use config::Settings;

use crate::belt::{Gauge, Inlet, Lanes, StationArgs, lanes};
use embed::{Embedder, WordPiece};
use extract::recognize::Gazetteer;
use extract::recognize::tagger::TaggerRecognizer;
use formats::GivenNames;
use model::Stage;
use model::parcel::{
    ChunkedDoc, EmbeddedDoc, LinkedDoc, MentionedDoc, NormalDoc, RelatedDoc, SourceDoc,
};
use sys::crew;

/// Documents that may wait in front of a stage: (interactive, bulk). Small, because a parcel may hold megabytes;
/// enough that a stage never idles while the one before it works.
const QUEUE: (usize, usize) = (64, 16);

/// Documents that may wait in front of the writer, which takes them in batches.
const WRITE_QUEUE: (usize, usize) = (64, 64);

/// Every queue of the belt, first to last.
pub struct Queues {
    /// In front of normalize; the watcher sends here.
    pub source: Queue<SourceDoc>,
    /// In front of chunk.
    pub normal: Queue<NormalDoc>,
    /// In front of recognize.
    pub chunked: Queue<ChunkedDoc>,
    /// In front of link.
    pub mentioned: Queue<MentionedDoc>,
    /// In front of relate.
    pub linked: Queue<LinkedDoc>,
    /// In front of embed.
    pub related: Queue<RelatedDoc>,
    /// In front of the writer.
    pub embedded: Queue<EmbeddedDoc>,
}

/// One queue: where items are put, where they are taken, how many wait.
pub struct Queue<T> {
    /// Senders; dropped to drain.
    pub lanes: Lanes<T>,
    /// Receivers, lent to the station that runs now.
    pub inlet: Arc<Inlet<T>>,
    /// Depth.
    pub gauge: Gauge,
}

impl<T: Send + 'static> Queue<T> {
    fn new(stage: &'static str, (interactive, bulk): (usize, usize)) -> Self {
        let (lanes, inlet, gauge) = lanes(stage, interactive, bulk);
        Queue { lanes, inlet, gauge }
    }
}

impl Queues {
    /// Makes every queue, empty.
    pub fn new() -> Self {
        Queues {
            source: Queue::new(formats::Normalizer::NAME, QUEUE),
            normal: Queue::new(extract::chunk::Chunker::NAME, QUEUE),
            chunked: Queue::new(extract::recognize::RecognizeStage::NAME, QUEUE),
            mentioned: Queue::new(extract::link::LinkStage::NAME, QUEUE),
            linked: Queue::new(extract::relate::RelateStage::NAME, QUEUE),
            related: Queue::new(embed::EmbedStage::NAME, QUEUE),
            embedded: Queue::new("write", WRITE_QUEUE),
        }
    }
}

impl Default for Queues {
    fn default() -> Self {
        Queues::new()
    }
}

/// What the stages are made from.
#[derive(Clone)]
pub struct Tools {
    /// The project's settings.
    pub settings: Settings,
    /// The relations that are found.
    pub vocabulary: Arc<extract::relate::Vocabulary>,
    /// The tokenizer that counts and cuts.
    pub tokens: Arc<WordPiece>,
    /// The model that embeds.
    pub embedder: Arc<dyn Embedder>,
    /// The user's own model that finds names.
    pub model: Option<Arc<TaggerRecognizer>>,
    /// The names that the user states for documents.
    pub given: Option<Arc<GivenNames>>,
    /// Where documents are parsed.
    pub parsing: formats::Parsing,
    /// The names known now.
    pub gazetteer: Arc<ArcSwap<Gazetteer>>,
}

/// How each station is started, first to last.
pub struct Stations {
    /// normalize
    pub normalize: StationArgs<formats::Normalizer>,
    /// chunk
    pub chunk: StationArgs<extract::chunk::Chunker>,
    /// recognize
    pub recognize: StationArgs<extract::recognize::RecognizeStage>,
    /// link
    pub link: StationArgs<extract::link::LinkStage>,
    /// relate
    pub relate: StationArgs<extract::relate::RelateStage>,
    /// embed
    pub embed: StationArgs<embed::EmbedStage>,
}

fn station<S: Stage>(
    from: &Queue<S::In>,
    to: &Queue<S::Out>,
    recipe: impl Fn() -> S + Send + Sync + 'static,
) -> StationArgs<S> {
    StationArgs {
        recipe: Arc::new(move |_| recipe()),
        crew: crew::stages(),
        n_at_once: 1,
        inlet: from.inlet.clone(),
        outlet: to.lanes.clone(),
    }
}

impl Stations {
    /// Joins the stages by the queues.
    pub fn new(queues: &Queues, tools: &Tools) -> Self {
        let (t1, t2, t3, t4) = (tools.clone(), tools.clone(), tools.clone(), tools.clone());
        let vocabulary = tools.vocabulary.clone();
        Stations {
            normalize: StationArgs {
                crew: crew::parsing(),
                n_at_once: t1.parsing.n_at_once(),
                recipe: Arc::new(move |lane| {
                    let (watch, privacy) = (&t1.settings.watch, &t1.settings.privacy);
                    formats::Normalizer::with(watch, privacy, t1.parsing.clone(), lane)
                        .with_given(t1.given.clone())
                }),
                inlet: queues.source.inlet.clone(),
                outlet: queues.normal.lanes.clone(),
            },
            chunk: station(&queues.normal, &queues.chunked, move || {
                extract::chunk::Chunker::new(
                    &t2.settings.chunk,
                    &t2.settings.embed,
                    t2.tokens.clone(),
                )
            }),
            recognize: station(&queues.chunked, &queues.mentioned, move || {
                extract::recognize::RecognizeStage::new(
                    &t3.settings.recognize,
                    t3.gazetteer.clone(),
                )
                .with_model(t3.model.clone())
            }),
            link: station(&queues.mentioned, &queues.linked, || extract::link::LinkStage),
            relate: station(&queues.linked, &queues.related, move || {
                extract::relate::RelateStage::new(vocabulary.clone())
            }),
            embed: station(&queues.related, &queues.embedded, move || {
                embed::EmbedStage::new(t4.embedder.clone())
                    .with_dedup(t4.settings.dedup.clone())
                    .with_memory(t4.settings.memory.clone())
            }),
        }
    }
}
