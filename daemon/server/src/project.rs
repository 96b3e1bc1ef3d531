//! A project: one folder, the index that answers questions about it, and the build that keeps it current.

pub mod activity;
mod enrichment;
pub mod forget;
mod freshness;
mod graph;
pub mod indexing;
mod naming;
pub mod reload;
pub mod scrub;
mod served;
pub(crate) mod tallies;
#[cfg(test)]
mod tests;
mod upkeep;
pub mod verify;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use config::command::ProjectFlags;
use config::settings::Precision;
use config::{Live, Places, Settings};
use confine::Root;
use jiff::Timestamp;
use proto::tool::core::SettledView;
use tokio::sync::{Notify, mpsc, oneshot};

use self::activity::Activity;
pub use self::naming::Reserved;
pub use self::served::{Published, predicates_of};
use self::tallies::Tallies;
use crate::llm::Llms;
use crate::notes::{NoteError, Notes};
use embed::reranker::Reranker;
use embed::{Embedder, StaticModel, Unrounded, WordPiece};
use engine::Recipe;
use engine::backfill::BackfillProgress;
use engine::belt::Gauge;
use engine::build::{Build, Still};
use engine::health::Health;
use engine::watch::WatcherHandle;
use engine::write::Command;
use extract::recognize::tagger::TaggerRecognizer;
use extract::relate::Vocabulary;
use formats::GivenNames;
use formats::Parsing;
use formats::sandbox::Workers;
use index::store::{Breakers, Readers, Snapshot, StoreError};
use index::vectors::Layer;
use model::terms::Tick;
use query::QueryContext;

/// What it takes to open a project.
pub struct OpenProject {
    /// The folder, canonical.
    pub root: PathBuf,
    /// Its name in every answer.
    pub name: String,
    /// The folder of its databases; exists.
    pub state_dir: PathBuf,
    /// Its settings.
    pub settings: Settings,
    /// Where documents are parsed.
    pub parsing: Parsing,
}

/// A caller that waits for the address of the page for people, or for the reason why there is none.
pub(crate) type Asked = oneshot::Sender<Result<String, String>>;

/// An open project.
pub struct Project {
    /// The folder.
    pub root: PathBuf,
    /// Its name in every answer.
    pub name: String,
    /// The folder of its databases.
    pub state_dir: PathBuf,
    /// Its settings, as they are now.
    pub settings: Live<Settings>,
    /// Readers of the index that answers: the build's, or the previous one until the build's is complete.
    answers: ArcSwap<Readers>,
    /// The last commit of the previous index, which no longer changes; none without one, or if it cannot be read.
    tick_before: Option<Tick>,
    recipe: Recipe,
    reranker: Option<Reranker>,
    llms: Llms,
    /// Why the named better model is unavailable.
    missing_model: Option<String>,
    /// Settings without effect.
    ignored: Option<String>,
    /// Relations that contradict themselves when stated both ways.
    one_way: Vec<&'static str>,
    /// Relations in which one subject has only one object.
    functional: Vec<&'static str>,
    build: Build,
    /// Held while the index is replaced or another is built, so that only one of these runs at a time.
    upkeep: Arc<tokio::sync::Mutex<()>>,
    /// Signals that a read failed, so that the index is checked.
    suspicion: Notify,
    /// Progress of comparing stored data with its checksums.
    scrub: scrub::Scrub,
    activity: Activity,
    notes: Notes,
    /// Cached row counts.
    pub(crate) tallies: Tallies,
    /// The entries of the last commit that was asked for.
    pub(crate) indexes: query::kb::EntryIndexes,
    projections: query::Projections,
    associations: query::AssociationCache,
    means: query::MeanCache,
    /// The task that has a model read entries, for `kb_maintain`.
    enrichment: Arc<enrichment::Enrichment>,
    /// True once everything found at the start was searchable.
    has_caught_up: AtomicBool,
    /// Held from the write of an entry to its record, so that versions are recorded in the order of writes.
    pub(crate) entries_turn: tokio::sync::Mutex<()>,
    /// Where MCP is served over HTTP, once it is.
    http: OnceLock<(String, Option<String>)>,
    /// Who serves the page for people.
    page: OnceLock<mpsc::Sender<Asked>>,
    /// When it was opened.
    opened: SystemTime,
    /// Reloads the settings.
    reread: reload::Reread,
    /// True if the index is made elsewhere and only read here.
    is_replica: bool,
    /// How far the hub is behind, if the project is published.
    published: OnceLock<Published>,
    /// Permalinks that new notes will have once the index shows them.
    names: Arc<naming::Names>,
    /// Write-locked while a note has moved on disk but not in the index; read-locked by calls that refer to notes.
    moving: Arc<tokio::sync::RwLock<()>>,
}

impl Project {
    /// Opens the databases and starts the belt and the watcher; the first crawl continues in the background.
    ///
    /// # Errors
    /// When a database cannot be opened or an actor cannot be started.
    pub async fn open(place: OpenProject) -> anyhow::Result<Arc<Project>> {
        Self::open_with(place, None).await
    }

    async fn open_with(place: OpenProject, still: Option<Still>) -> anyhow::Result<Arc<Project>> {
        let OpenProject { root, name, state_dir, settings, parsing } = place;
        let opened = SystemTime::now();
        let tokens = WordPiece::builtin();
        let embedder: Arc<dyn Embedder> = Arc::new(StaticModel::builtin(tokens.clone()));
        let mut made_with = settings.clone();
        let (better, missing_model) = match embed::better(&settings.embed) {
            Ok(better) => (better, None),
            Err(error) => {
                tracing::warn!(%error, "using static vectors only");
                // Nothing below may take the static vectors for those of the named model.
                made_with.embed.model = "none".to_string();
                (Vec::new(), Some(format!("{error}; then `kgctl restart`")))
            }
        };
        let ignored = embed::ignored(&settings.embed);
        if let Some(ignored) = &ignored {
            tracing::warn!(ignored, "a setting has no effect");
        }
        // With full precision even the static vectors become a layer of unrounded ones, unless better models have
        // theirs.
        let better: Vec<Arc<dyn Embedder>> = match settings.vectors.precision {
            Precision::Float32 => {
                let own = better.is_empty().then(|| embedder.clone());
                let unrounded = |it| Arc::new(Unrounded::of(it)) as Arc<dyn Embedder>;
                better.into_iter().chain(own).map(unrounded).collect()
            }
            Precision::Int8 | Precision::Bit => better,
        };
        let reranker = Reranker::of(&settings.retrieval.rerank);
        let llms = Llms::new(&settings);
        let vocabulary = Vocabulary::load(&root, &settings.relate)?;
        let model = TaggerRecognizer::open_tried(&settings.recognize)?;
        let given = GivenNames::open(&settings.recognize)?;
        let recipe = Recipe {
            root: root.clone(),
            state_dir: state_dir.clone(),
            settings: made_with,
            vocabulary,
            tokens,
            embedder,
            better,
            model,
            given,
            parsing,
        };
        let is_replica = still.is_some();
        let build = match still {
            Some(index) => Build::still(&recipe, index)?,
            None => Build::start(recipe.clone()).await?,
        };
        let answers = match &build.answers {
            Some(old) => Readers::new(old.clone()),
            None => build.readers.clone(),
        };
        // Only the previous index never changes; a build without one has no `tick_before`.
        let before = build.answers.as_ref().and_then(|_| answers.snapshot().ok());
        let tick_before = before.map(|snapshot| snapshot.tick());
        let settings = Live::new(settings);
        let notes = Notes::open(&root, &state_dir, &settings)
            .guarded_by(build.held.clone())
            .following(settings.clone());
        let indexes = query::kb::EntryIndexes::new(&state_dir);
        let scrub = scrub::Scrub::open(&state_dir);
        let project = Arc::new(Project {
            root,
            name,
            state_dir,
            settings,
            answers: ArcSwap::new(answers),
            tick_before,
            reranker,
            llms,
            missing_model,
            ignored,
            one_way: recipe.vocabulary.one_way(),
            functional: recipe.vocabulary.functional(),
            recipe,
            build,
            upkeep: Arc::default(),
            suspicion: Notify::new(),
            scrub,
            activity: Activity::default(),
            notes,
            tallies: Tallies::default(),
            names: Arc::default(),
            moving: Arc::default(),
            indexes,
            projections: query::Projections::default(),
            associations: query::AssociationCache::default(),
            means: query::MeanCache::default(),
            enrichment: Arc::default(),
            has_caught_up: AtomicBool::default(),
            entries_turn: tokio::sync::Mutex::default(),
            http: OnceLock::new(),
            page: OnceLock::new(),
            opened,
            reread: reload::Reread::new(opened),
            is_replica,
            published: OnceLock::new(),
        });
        // These all write to the state folder.
        if !is_replica {
            upkeep::begin(&project);
            scrub::begin(&project);
            enrichment::begin(&project);
            forget::begin(&project);
        }
        Ok(project)
    }

    /// Returns a consistent view of the index. Blocks for a page read or two.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.answers.load_full().snapshot()
    }

    /// Returns what answering needs besides a snapshot.
    pub fn context<'a>(&'a self, snapshot: &'a Snapshot) -> QueryContext<'a> {
        QueryContext {
            snapshot,
            settings: &self.settings,
            embedder: self.recipe.embedder.as_ref(),
            reranker: self.reranker.as_ref(),
            one_way: &self.one_way,
            functional: &self.functional,
            associations: &self.associations,
            means: &self.means,
            decisions: self.build.decisions.at(snapshot.tick()),
        }
    }

    /// Returns why hits are not re-ranked, if a model for that is named but unusable.
    pub fn reranker_trouble(&self) -> Option<&str> {
        self.reranker.as_ref().and_then(Reranker::trouble)
    }

    /// Returns the language models that the settings name.
    pub fn llms(&self) -> &Llms {
        &self.llms
    }

    /// Returns why the named better model is unavailable; the static vectors answer without it.
    pub fn missing_model(&self) -> Option<&str> {
        self.missing_model.as_deref()
    }

    /// Returns settings that no model uses.
    pub fn ignored_settings(&self) -> Option<&str> {
        self.ignored.as_deref()
    }

    /// Retries a better model that failed; returns false if none is waiting for a retry.
    pub fn try_embedding_again(&self) -> bool {
        self.build.try_embedding_again()
    }

    /// Returns the layer of a better model that gave no vector for the last question.
    pub fn unanswered(&self) -> Option<Arc<Layer>> {
        self.build.unanswered()
    }

    /// Opens the project's folder; all of its files are reached through it.
    ///
    /// # Errors
    /// When it does not exist, or a link is in its place.
    pub fn opened_root(&self) -> std::io::Result<Root> {
        Root::open_canonical(&self.root)
    }

    /// Returns why the project's folder is out of reach, if it is; an index that is made elsewhere needs none.
    pub fn lost_folder(&self) -> Option<NoteError> {
        let why = self.opened_root().err().filter(|_| !self.is_replica())?;
        Some(NoteError::NoFolder { root: self.root.clone(), why })
    }

    /// Returns why the writer stopped, if it did; the process must end then.
    pub fn is_poisoned(&self) -> Option<String> {
        self.build.health.poisoned()
    }

    /// Returns why tools that write are refused, if the ledger is lost.
    pub fn lost_ledger(&self) -> Option<String> {
        self.build.held.check_ledger().err().map(|lost| lost.to_string())
    }

    /// Returns the writer's state and counters.
    pub fn health(&self) -> &Health {
        &self.build.health
    }

    /// Returns the files that failed last.
    pub fn breakers(&self) -> &Breakers {
        &self.build.breakers
    }

    /// Returns the processes that parse; none if documents are parsed in this process.
    pub fn workers(&self) -> Option<&Workers> {
        match &self.recipe.parsing {
            Parsing::InProcess => None,
            Parsing::InWorkers(workers) => Some(workers),
        }
    }

    /// Returns the progress of the better model's vectors, if there is such a model.
    pub fn backfilled(&self) -> Option<BackfillProgress> {
        self.build.backfilled()
    }

    /// Reserves a permalink until the index shows the note that gets it.
    pub async fn reserve(&self, permalink: &str) -> Reserved {
        self.names.reserve(permalink).await
    }

    /// Keeps notes from being moved by tools while the guard is held.
    pub async fn unmoved(&self) -> tokio::sync::OwnedRwLockReadGuard<()> {
        Arc::clone(&self.moving).read_owned().await
    }

    /// Excludes other moves and calls that refer to notes; held until the index shows the new path.
    pub async fn moving(&self) -> tokio::sync::OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.moving).write_owned().await
    }

    /// Returns a message whose commands name this project where they must.
    pub fn in_commands(&self, text: String) -> String {
        if !text.contains("`kgctl ") {
            return text;
        }
        let project = config::Project { root: self.root.clone(), name: self.name.clone() };
        match Places::from_env() {
            Ok(places) => ProjectFlags::anywhere(&places, &project).in_text(&text).into_owned(),
            Err(_) => text,
        }
    }

    /// Returns when it was opened.
    pub fn started_at(&self) -> Timestamp {
        Timestamp::try_from(self.opened).unwrap_or_default()
    }

    /// Returns the handle for commands to the watcher.
    pub fn watcher(&self) -> &WatcherHandle {
        &self.build.watcher
    }

    /// Returns the writer of the project's notes, which blocks for some file operations.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the connected clients.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns the queues, first to last.
    pub fn gauges(&self) -> &[Gauge] {
        self.build.traffic.gauges()
    }

    /// Returns the bytes of source files between reading and commit.
    pub fn bytes_in_flight(&self) -> u64 {
        self.build.budget.in_flight()
    }

    /// Returns the number of documents on the belt.
    pub fn n_on_belt(&self) -> u64 {
        self.build.traffic.depth().total() as u64
    }

    /// Returns whether everything that was noticed is searchable, is resolved, and has its vectors.
    pub fn settled(&self) -> SettledView {
        let mut settled = self.build.settled();
        // The index that answers does not show what the new one has.
        if self.is_being_replaced() {
            settled = SettledView::default();
        }
        settled
    }

    /// Returns true while the previous index answers, made by other settings or another version.
    pub fn is_being_replaced(&self) -> bool {
        !Arc::ptr_eq(&self.answers.load(), &self.build.readers)
    }

    /// Returns true when nothing is queued, in work, waiting to be resolved, or waiting for the deep pass.
    pub fn is_settled(&self) -> bool {
        self.settled().deep
    }

    /// Returns true when only the deep pass or better vectors are left to do.
    pub fn has_only_background_work(&self) -> bool {
        let settled = self.settled();
        // A layer in trouble waits for a retry; it is not working.
        let lacks = |it: &BackfillProgress| it.n_done < it.n_windows && it.trouble.is_none();
        let lacks_vectors =
            || self.backfilled().is_some_and(|it| lacks(&it) || it.others.iter().any(lacks));
        settled.resolved && (!settled.deep || lacks_vectors())
    }

    /// Waits until `reached` returns true; returns false after `limit`.
    pub async fn wait_until(
        &self,
        limit: Duration,
        mut reached: impl FnMut(&Project) -> bool,
    ) -> bool {
        self.build.wait_until(limit, || reached(self)).await
    }

    /// Sends a command to the writer and waits for its reply.
    ///
    /// # Errors
    /// The writer's message, or that it has stopped.
    pub async fn command<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, String>>) -> Command,
    ) -> Result<T, String> {
        self.build.command(make).await
    }

    /// Stops watching, lets the belt run empty, and closes. The next start finds whatever is left after `limit`.
    pub async fn drain(&self, limit: Duration) {
        self.build.drain(limit).await;
    }
}
