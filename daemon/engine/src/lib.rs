//! Engine: the layer that keeps the index in step with the folder. It builds on `formats`, `extract`, `embed` and
//! `index`; `server` starts it, and `query`, the read path, never sees it.
//!
//! # The life of one document
//!
//! ```text
//! watch ► read ► chunk ► recognize ► link ► relate ► embed ► write
//!       64+16   64+16    64+16      64+16  64+16   64+16  64+64      interactive + bulk places in each queue
//! ```
//!
//! 1. **Watch** ([`watch`]). An event of the system or a crawl names a path. The event waits until the path has been
//!    quiet (`watch.debounce_ms`); a save then goes to the interactive lane and one change of a flood to the bulk
//!    lane.
//! 2. **Intake** (`watch/intake.rs`). It reads what is at the path now and compares it with what the index will hold
//!    (`watch/path_state.rs` has the table). New content becomes a `SourceDoc` with a ticket, which carries the lane,
//!    the generation and the share of the [`Budget`](belt::Budget); a deleted file becomes a removal, one that cannot
//!    be read a fault. All three go down the same belt.
//! 3. **Read** (`formats`). Decodes the bytes, removes secrets, and lets the format's reader make one text with an
//!    outline and a map back to the file: a `Document`, to which each later stage adds its part. Several bulk documents
//!    are read at once, the intricate formats in processes of their own.
//! 4. **Chunk** (`extract`). Cuts the text into the chunks that are indexed and the windows that are embedded.
//! 5. **Recognize** (`extract`). Finds mentions of names: those that the document states, those in the gazetteer, and
//!    in the deep pass statistical ones.
//! 6. **Link** (`extract`). Adds the features by which the index later decides what each name denotes.
//! 7. **Relate** (`extract`). Finds evidence for relations between the names.
//! 8. **Embed** (`embed`). Makes one vector for each window.
//! 9. **Write** ([`write`], `index::store`). Commits documents, removals and faults in order, several in one
//!    transaction, under the next tick. From here on queries see the document.
//!
//! Afterwards the same writer resolves names whose facts changed (the ripple), and sends documents through recognize
//! and the stages after it again: those in which names became known, and those that the deep pass reads
//! (`reread.rs`). The [`backfill`] computes the better model's vectors meanwhile.
//!
//! Each station is an actor that runs one stage ([`belt`]); a stage that panics costs only its document.

pub mod backfill;
pub mod belt;
pub mod build;
pub mod health;
mod known;
mod reread;
pub mod traffic;
pub mod watch;
pub mod write;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use config::Settings;
use confine::Root;
use ractor::Actor;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::belt::{Budget, Plan, Queue, StationArgs, Supervisor};
use crate::health::Health;
use crate::known::KnownInIndex;
use crate::reread::Reread;
use crate::traffic::Traffic;
use crate::watch::{WatchOptions, WatchState, Watcher, WatcherHandle};
use crate::write::{Order, WriterArgs};
use embed::{EmbedStage, Embedder, WordPiece};
use extract::chunk::Chunker;
use extract::link::LinkStage;
use extract::recognize::RecognizeStage;
use extract::recognize::tagger::TaggerRecognizer;
use extract::relate::{RelateStage, Vocabulary};
use formats::{GivenNames, Normalizer, Parsing};
use index::store::{IndexWriter, Readers};
use model::terms::RelPath;
use sys::crew;

/// Documents that may wait in front of a stage, in the interactive and in the bulk lane. Few, because each may hold
/// megabytes; enough that a stage never idles while the one before it works.
const QUEUE: (usize, usize) = (64, 16);

/// Documents that may wait in front of the writer, which takes them in batches.
const WRITE_QUEUE: (usize, usize) = (64, 64);

/// Commands that may wait for the writer.
const COMMAND_QUEUE: usize = 32;

/// Everything that an index is made from.
#[derive(Clone)]
pub struct Recipe {
    /// The folder that is read.
    pub root: PathBuf,
    /// The folder of index and ledger; exists.
    pub state_dir: PathBuf,
    /// The settings.
    pub settings: Settings,
    /// The relations to find.
    pub vocabulary: Arc<Vocabulary>,
    /// The tokenizer that counts tokens and cuts text.
    pub tokens: Arc<WordPiece>,
    /// The model that embeds each window before its commit.
    pub embedder: Arc<dyn Embedder>,
    /// The better models, whose vectors are computed later.
    pub better: Vec<Arc<dyn Embedder>>,
    /// The user's own model that finds names.
    pub model: Option<Arc<TaggerRecognizer>>,
    /// The names that the user states for documents.
    pub given: Option<Arc<GivenNames>>,
    /// Where documents are parsed.
    pub parsing: Parsing,
}

/// A running write path.
struct WritePath {
    watcher: WatcherHandle,
    traffic: Traffic,
    budget: Arc<Budget>,
    commands: mpsc::Sender<Order>,
    belt: JoinHandle<()>,
}

/// Starts the watcher and the stations, first to last, each with the queue in front of it. The opening crawl
/// continues in the background.
async fn start(
    recipe: Recipe,
    writer: IndexWriter,
    // The same pool as that of answers: the writer closes it when it replaces the file.
    readers: Arc<Readers>,
    health: Arc<Health>,
) -> anyhow::Result<WritePath> {
    // One queue in front of each station; `write` is not a stage, so it is named.
    let source = Queue::new::<Normalizer>(QUEUE);
    let normal = Queue::new::<Chunker>(QUEUE);
    let chunked = Queue::new::<RecognizeStage>(QUEUE);
    let mentioned = Queue::new::<LinkStage>(QUEUE);
    let linked = Queue::new::<RelateStage>(QUEUE);
    let related = Queue::new::<EmbedStage>(QUEUE);
    let embedded = Queue::named("write", WRITE_QUEUE);

    let state = Arc::new(WatchState::default());
    let budget = Budget::new(recipe.settings.belt.max_bytes_in_flight);
    let breakers = writer.ledger().breakers().clone();
    let gazetteer = writer.gazetteer();
    let mut lost: HashMap<u128, Vec<RelPath>> = HashMap::new();
    let folder = Root::open(&recipe.root).ok();
    for (path, hash) in writer.lost()? {
        let is_gone = |folder: &Root| folder.look(path.as_str()).is_err_and(|it| it.is_absent());
        if folder.as_ref().is_some_and(is_gone) {
            lost.entry(hash.0).or_default().push(path);
        }
    }
    // The watcher has the only senders of the first queue: when it stops, the belt drains.
    let watcher = Watcher::spawn(
        WatchOptions {
            root: recipe.root.clone(),
            settings: recipe.settings.watch.clone(),
            privacy: recipe.settings.privacy.clone(),
            now_ms,
            budget: budget.clone(),
            parsing: recipe.parsing.clone(),
        },
        Arc::new(KnownInIndex { readers: readers.clone(), breakers, lost, now_ms }),
        source.lanes,
        state.clone(),
    );

    let n_parsers = recipe.parsing.n_at_once();
    // Each recipe owns what it needs, since a station may be created again at any time.
    let (r1, r2, r3, r4) = (recipe.clone(), recipe.clone(), recipe.clone(), recipe.clone());
    let read = StationArgs::new(source.inlet, &normal, move |lane| {
        let (watch, privacy) = (&r1.settings.watch, &r1.settings.privacy);
        Normalizer::with(watch, privacy, r1.parsing.clone(), lane).with_given(r1.given.clone())
    });
    let chunk = StationArgs::new(normal.inlet, &chunked, move |_| {
        Chunker::new(&r2.settings.chunk, &r2.settings.embed, r2.tokens.clone())
            .with_memory(r2.settings.memory.clone())
    });
    let recognize = StationArgs::new(chunked.inlet, &mentioned, move |_| {
        RecognizeStage::new(&r3.settings.recognize, gazetteer.clone()).with_model(r3.model.clone())
    });
    let link = StationArgs::new(mentioned.inlet, &linked, |_| LinkStage);
    let relate =
        StationArgs::new(linked.inlet, &related, move |_| RelateStage::new(r4.vocabulary.clone()));
    let embed = StationArgs::new(related.inlet, &embedded, move |_| {
        EmbedStage::new(recipe.embedder.clone())
            .with_dedup(recipe.settings.dedup.clone())
            .with_memory(recipe.settings.memory.clone())
    });
    // In the order of the belt: `Traffic` relies on it.
    let gauges = vec![
        source.gauge,
        normal.gauge,
        chunked.gauge,
        mentioned.gauge,
        linked.gauge,
        related.gauge,
        embedded.gauge,
    ];
    let (reread, waiting) = Reread::spawn(&readers, budget.clone(), &chunked.lanes.bulk);
    let traffic = Traffic::new(state, waiting, gauges);
    let (commands, command_receiver) = mpsc::channel(COMMAND_QUEUE);
    let write_args = WriterArgs {
        held: writer.held().clone(),
        writer: Arc::new(Mutex::new(Some(writer))),
        inlet: embedded.inlet,
        commands: Arc::new(Mutex::new(command_receiver)),
        health,
        traffic: traffic.clone(),
        watcher: watcher.clone(),
        reread: Arc::new(reread),
        readers,
        now_ms,
    };

    let plan = Plan::default()
        .station(read.on(crew::parsing(), n_parsers))
        .station(chunk)
        .station(recognize)
        .station(link)
        .station(relate)
        .station(embed)
        .actor("write", move |supervisor| write::start(write_args.clone(), supervisor));
    let (_, belt) =
        Actor::spawn(None, Supervisor, plan).await.context("the belt does not start")?;
    Ok(WritePath { watcher, traffic, budget, commands, belt })
}

/// Returns milliseconds since 1970 by the system's clock; a test may shift it.
fn now_ms() -> i64 {
    let off = |name| sys::fail::number(name).map_or(0, |ms| ms as i64);
    jiff::Timestamp::now().as_millisecond() + off("clock.ahead_ms") - off("clock.behind_ms")
}
