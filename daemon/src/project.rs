//! A project: one folder, its databases, its belt and its watcher, from opening to draining.
//!
//! Invariant: "settled" is read in the order work flows (watcher, belt, ripples), so that nothing slips by.
//! Not here: the socket (`serve/`), the process (`process.rs`).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use config::Settings;
use proto::shape::Freshness;
use proto::tool::core::SettledView;
use ractor::Actor;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::ask::Desk;
use crate::belt::{Budget, Depth, Gauge, Plan, Supervisor};
use crate::embedder::{Embedder, StaticModel, WordPiece};
use crate::health::Health;
use crate::pipeline::watch::{
    KnownFile, KnownFiles, WatchOptions, WatchState, Watcher, WatcherHandle,
};
use crate::pipeline::write::{Command, WriteStation, WriterArgs};
use crate::pipeline::{Queues, Stations, Tools};
use crate::serve::Activity;
use crate::store::{Decisions, IndexWriter, Readers, Snapshot, StoreError};
use crate::terms::{ContentHash, Generation, RelPath};

/// Commands that may wait for the writer.
const COMMAND_QUEUE: usize = 32;

/// How often a waiting call looks again, beside being woken by commits.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What a project is opened with.
pub struct OpenProject {
    /// The folder, canonical.
    pub root: PathBuf,
    /// Its name in every answer.
    pub name: String,
    /// Where its databases lie; exists.
    pub state_dir: PathBuf,
    /// Its settings.
    pub settings: Settings,
}

/// An open project.
pub struct Project {
    /// The folder.
    pub root: PathBuf,
    /// Its name in every answer.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
    readers: Arc<Readers>,
    embedder: Arc<dyn Embedder>,
    decisions: Decisions,
    health: Arc<Health>,
    gauges: Arc<Vec<Gauge>>,
    budget: Arc<Budget>,
    watcher: WatcherHandle,
    commands: mpsc::Sender<Command>,
    activity: Activity,
    belt: Mutex<Option<JoinHandle<()>>>,
}

impl Project {
    /// Opens databases, starts the belt and the watcher; the opening crawl runs on by itself.
    ///
    /// # Errors
    /// When a database cannot be opened or an actor cannot be started.
    pub async fn open(place: OpenProject) -> anyhow::Result<Arc<Project>> {
        let OpenProject { root, name, state_dir, settings } = place;
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        let fingerprint = config::fingerprint::rows(&settings, embedder.space());
        let writer = IndexWriter::open(&state_dir, &fingerprint, &settings, embedder.clone())?;
        let index = state_dir.join("index.sqlite");
        let readers = Readers::new(index);
        let health = Arc::new(Health::new(writer.tick()));
        let decisions = writer.ledger().decisions().clone();
        let unread = writer.requeued()?;

        let queues = Queues::new();
        let tools = Tools {
            settings: settings.clone(),
            tokens,
            embedder: embedder.clone(),
            gazetteer: writer.gazetteer(),
        };
        let stations = Stations::new(&queues, &tools);
        let Queues { source, normal, chunked, mentioned, linked, related, embedded } = queues;
        let gauges = Arc::new(vec![
            source.gauge,
            normal.gauge,
            chunked.gauge,
            mentioned.gauge,
            linked.gauge,
            related.gauge,
            embedded.gauge,
        ]);

        let state = Arc::new(WatchState::default());
        let (commands, command_receiver) = mpsc::channel(COMMAND_QUEUE);
        let late_watcher: Arc<OnceLock<WatcherHandle>> = Arc::default();
        let writer_args = WriterArgs {
            writer: Arc::new(tokio::sync::Mutex::new(Some(writer))),
            inlet: embedded.inlet,
            commands: Arc::new(tokio::sync::Mutex::new(command_receiver)),
            health: health.clone(),
            is_quiet: is_quiet(state.clone(), gauges.clone()),
            requeue: requeue(late_watcher.clone()),
            now_ms,
        };
        let plan = Plan::default()
            .station(stations.normalize)
            .station(stations.chunk)
            .station(stations.recognize)
            .station(stations.link)
            .station(stations.relate)
            .station(stations.embed)
            .actor("write", move |supervisor| {
                let args = writer_args.clone();
                Box::pin(async move {
                    let (actor, _) =
                        Actor::spawn_linked(None, WriteStation, args, supervisor).await?;
                    Ok(actor.get_id())
                })
            });
        let (_, belt) =
            Actor::spawn(None, Supervisor, plan).await.context("the belt does not start")?;

        let budget = Budget::new(settings.belt.max_bytes_in_flight);
        let options = WatchOptions {
            root: root.clone(),
            settings: settings.watch.clone(),
            first_generation: Generation(1),
            follows_outside: false,
            now_ms,
            budget: budget.clone(),
        };
        let known = Arc::new(KnownInIndex::new(&readers)?);
        let watcher = Watcher::spawn(options, known, source.lanes, state);
        let _ = late_watcher.set(watcher.clone());
        watcher.requeue(unread);
        Ok(Arc::new(Project {
            root,
            name,
            settings,
            readers,
            embedder,
            decisions,
            health,
            gauges,
            budget,
            watcher,
            commands,
            activity: Activity::default(),
            belt: Mutex::new(Some(belt)),
        }))
    }

    /// A consistent view of the index. Blocks for a page read or two.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.readers.snapshot()
    }

    /// What answering needs beside a snapshot.
    pub fn desk<'a>(&'a self, snapshot: &'a Snapshot) -> Desk<'a> {
        Desk {
            snapshot,
            settings: &self.settings,
            embedder: self.embedder.as_ref(),
            decisions: &self.decisions,
        }
    }

    /// How fresh an answer from this snapshot is.
    pub fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        // What is in work between two queues counts, too: only `settled` sees all of it.
        let is_building = !self.settled().searchable;
        Freshness {
            project: self.name.clone(),
            tick: snapshot.tick().0,
            building: if is_building { self.building(snapshot) } else { None },
        }
    }

    /// How fresh the index is now.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn freshness_now(&self) -> Result<Freshness, StoreError> {
        Ok(self.freshness(&self.snapshot()?))
    }

    fn building(&self, snapshot: &Snapshot) -> Option<String> {
        let known = self.watcher.state().n_known_files();
        let indexed: i64 =
            snapshot.query_row("SELECT count(*) FROM docs", [], |row| row.get(0)).ok()?;
        let indexed = indexed as u64;
        if indexed < known {
            return Some(format!("indexed {} of {}", grouped(indexed), grouped(known)));
        }
        (indexed == 0).then(|| "reading the folder, nothing indexed yet".to_string())
    }

    /// Why the writer stopped, if it did; then the process must end.
    pub fn is_poisoned(&self) -> Option<String> {
        self.health.poisoned()
    }

    /// Numbers kept by the writer.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Commands to the watcher.
    pub fn watcher(&self) -> &WatcherHandle {
        &self.watcher
    }

    /// Who is connected.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The queues, first to last.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// Bytes of source files between reading and commit.
    pub fn bytes_in_flight(&self) -> u64 {
        self.budget.in_flight()
    }

    /// Everything on the belt.
    fn depth(&self) -> Depth {
        sum(&self.gauges)
    }

    /// Documents on the belt.
    pub fn n_on_belt(&self) -> u64 {
        self.depth().total() as u64
    }

    /// Whether everything that was noticed is searchable, resolved, and has its vectors.
    pub fn settled(&self) -> SettledView {
        // In the order work flows: what left one place is found in a later one.
        let searchable = self.watcher.state().is_settled() && self.depth().total() == 0;
        let resolved = searchable && !self.health.has_ripple();
        SettledView { searchable, resolved, vectors: searchable }
    }

    /// True when nothing is queued, in work, or waiting to be resolved.
    pub fn is_settled(&self) -> bool {
        self.settled().resolved
    }

    /// Waits until `reached` says so, or until the time is over; false then.
    pub async fn wait_until(
        &self,
        limit: Duration,
        mut reached: impl FnMut(&Project) -> bool,
    ) -> bool {
        let deadline = Instant::now() + limit;
        let mut changes = self.health.changes();
        loop {
            if reached(self) {
                return true;
            }
            if Instant::now() >= deadline || self.is_poisoned().is_some() {
                return false;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Sends a command to the writer and waits for its answer.
    ///
    /// # Errors
    /// The writer's words, or that it has stopped.
    pub async fn command<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, String>>) -> Command,
    ) -> Result<T, String> {
        let (reply, answer) = oneshot::channel();
        let stopped = || "the writer has stopped".to_string();
        self.commands.send(make(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Stops watching, lets the belt run empty, and closes. What is left when the limit is over is found again at
    /// the next start.
    pub async fn drain(&self, limit: Duration) {
        self.watcher.stop().await;
        let belt = self.belt.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(belt) = belt
            && tokio::time::timeout(limit, belt).await.is_err()
        {
            tracing::warn!(left = self.n_on_belt(), "the belt did not run empty in time");
        }
    }
}

fn sum(gauges: &[Gauge]) -> Depth {
    gauges.iter().map(Gauge::depth).fold(Depth::default(), |a, b| Depth {
        interactive: a.interactive + b.interactive,
        bulk: a.bulk + b.bulk,
        in_work: a.in_work + b.in_work,
    })
}

fn is_quiet(
    state: Arc<WatchState>,
    gauges: Arc<Vec<Gauge>>,
) -> Arc<dyn Fn() -> bool + Send + Sync> {
    Arc::new(move || state.is_settled() && sum(&gauges).total() == 0)
}

fn requeue(watcher: Arc<OnceLock<WatcherHandle>>) -> Arc<dyn Fn(Vec<RelPath>) + Send + Sync> {
    Arc::new(move |paths| {
        if let Some(watcher) = watcher.get() {
            watcher.requeue(paths);
        }
    })
}

/// Milliseconds since 1970, by the system's clock.
fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// `9800` as `9,800`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The watcher's view of the index: one connection of its own, outside any transaction, so that it always sees the
/// last commit.
struct KnownInIndex {
    db: Mutex<Connection>,
}

impl KnownInIndex {
    fn new(readers: &Arc<Readers>) -> Result<Self, StoreError> {
        Ok(KnownInIndex { db: Mutex::new(readers.connection()?) })
    }

    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        match query(&db) {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(%error, "cannot look a file up in the index");
                None
            }
        }
    }
}

impl KnownFiles for KnownInIndex {
    fn get(&self, path: &RelPath) -> Option<KnownFile> {
        self.read(|db| {
            db.prepare_cached("SELECT hash, mtime_ms, n_bytes FROM docs WHERE path = ?1")?
                .query_row([path.as_str()], |row| {
                    let hash: [u8; 16] = row.get(0)?;
                    let n_bytes: i64 = row.get(2)?;
                    Ok(KnownFile {
                        hash: ContentHash(u128::from_le_bytes(hash)),
                        mtime_ms: row.get(1)?,
                        n_bytes: n_bytes as u64,
                    })
                })
                .optional()
        })
        .flatten()
    }

    fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        // `/` is followed by `0` in the order of bytes, so this is the range of all paths below the folder.
        let (low, high) = match folder {
            "" => (String::new(), "\u{10ffff}".to_string()),
            folder => (format!("{folder}/"), format!("{folder}0")),
        };
        self.read(|db| {
            let mut statement = db.prepare_cached(
                "SELECT path FROM docs WHERE path >= ?1 AND path < ?2
                 UNION SELECT path FROM quarantine WHERE path >= ?1 AND path < ?2",
            )?;
            let rows = statement.query_map([&low, &high], |row| row.get::<_, String>(0))?;
            rows.map(|path| path.map(RelPath::new)).collect::<rusqlite::Result<Vec<_>>>()
        })
        .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let rows = [(0, "0"), (999, "999"), (9800, "9,800"), (1234567, "1,234,567")];
        for (n, text) in rows {
            assert_eq!(grouped(n), text);
        }
    }
}
