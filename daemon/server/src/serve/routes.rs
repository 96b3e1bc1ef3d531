//! Routes: from a tool's name to its handler, in the order of `proto::catalog::CATALOG`.
//!
//! In: a name, arguments, a deadline. Out: the reply as JSON, or an error with code and hint.
//! Invariants: a handler's signature fixes what it may do: one that reads gets a snapshot and
//! nothing to write with; every call ends by its deadline or when it is cancelled, and with it the
//! queries it runs; a panic in a handler is that call's error.
//! Not here: what a tool does (`tool/`), or how MCP wraps it (`session.rs`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use config::Settings;
use config::limits::max_readers;
use proto::error::{Code, ErrorView};
use proto::tool::{Effect, Tool};
use rmcp::model::RequestId;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

use super::progress::Progress;
use super::tool;
use super::turns::{InFlight, Turn};
use crate::llm::{Asker, Provider};
use crate::project::Project;
use index::store::{CallOff, Snapshot};

mod asking;
mod parameters;
mod recording;

use asking::{asks_and_reads, reads_and_asks};

/// Longest a call may take that waits for indexing: the 600 s of `wait`, and time for its answer.
const LONGEST_WAIT: Duration = Duration::from_secs(610);

/// Longest a call may take that builds an index: 100,000 files take minutes.
const LONGEST_BUILD: Duration = Duration::from_secs(6 * 3600);

/// How long a call may still take once its session is hung up on because the daemon ends.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Where entities lie.
const MEMORY: fn(&Settings) -> &str = |settings| &settings.memory.folder;

/// Where entries lie.
const ENTRIES: fn(&Settings) -> &str = |settings| &settings.kb.folder;

/// Every tool, in the order of the catalog.
pub fn routes() -> Routes {
    Routes::new(vec![
        reads(tool::hybrid_query),
        reads(tool::read_passage),
        reads(tool::entity_lookup),
        reads(tool::explain_entity),
        waits(tool::ingest_docs).recording(),
        waits(tool::extract_and_link),
        writes(tool::review_links).recording(),
        reads(tool::status),
        reads(tool::search),
        reads(tool::search_notes),
        waits(tool::read_note).of_notes_at_rest(),
        remembers(tool::write_note).recording(),
        remembers(tool::edit_note).recording().of_notes_at_rest(),
        remembers(tool::move_note).recording(),
        remembers(tool::delete_note).recording().of_notes_at_rest(),
        reads(tool::build_context).of_notes_at_rest(),
        reads(tool::backlinks).of_notes_at_rest(),
        reads(tool::list_directory),
        reads(tool::list_notes),
        reads(tool::recent_activity),
        reads(tool::list_memory_projects),
        writes(tool::create_memory_project),
        reads(tool::get_mcp_instructions),
        remembers(tool::memory::create_entities).recording().looking_at(MEMORY),
        remembers(tool::memory::delete_entities).recording().looking_at(MEMORY),
        reads(tool::memory::open_nodes).looking_at(MEMORY),
        reads(tool::memory::get_nodes_by_type).looking_at(MEMORY),
        reads(tool::memory::get_recently_modified).looking_at(MEMORY),
        remembers(tool::memory::set_summary).recording().looking_at(MEMORY),
        remembers(tool::memory::set_tags).recording().looking_at(MEMORY),
        remembers(tool::memory::add_observations).recording().looking_at(MEMORY),
        remembers(tool::memory::replace_observation).recording().looking_at(MEMORY),
        remembers(tool::memory::delete_observations).recording().looking_at(MEMORY),
        reads(tool::memory::query_observations).looking_at(MEMORY),
        remembers(tool::memory::create_relations).recording().looking_at(MEMORY),
        remembers(tool::memory::delete_relations).recording().looking_at(MEMORY),
        remembers(tool::memory::update_relation_type).recording().looking_at(MEMORY),
        reads(tool::memory::get_relations_between).looking_at(MEMORY),
        reads(tool::memory::get_neighborhood).looking_at(MEMORY),
        reads(tool::memory::get_path).looking_at(MEMORY),
        reads(tool::memory::get_orphans).looking_at(MEMORY),
        reads(tool::memory::get_relation_gaps).looking_at(MEMORY),
        reads(tool::memory::find_similar_nodes).looking_at(MEMORY),
        reads(tool::memory::search_nodes).looking_at(MEMORY),
        reads_and_asks(tool::memory::get_consolidation_report, tool::memory::with_drafts)
            .looking_at(MEMORY),
        reads(tool::memory::get_pending_consolidation).looking_at(MEMORY),
        reads(tool::memory::get_stats).looking_at(MEMORY),
        reads(tool::memory::read_graph).looking_at(MEMORY),
        remembers(tool::kb::kb_store).recording(),
        remembers(tool::kb::kb_store_batch).recording(),
        reads(tool::kb::kb_search).looking_at(ENTRIES),
        waits(tool::kb::kb_get),
        asks_and_reads(tool::kb::to_plan, tool::kb::plan_by_model, tool::kb::kb_ask)
            .looking_at(ENTRIES),
        reads_and_asks(tool::kb::kb_summarize, tool::kb::with_answer).looking_at(ENTRIES),
        remembers(tool::kb::kb_ingest).recording(),
        remembers(tool::kb::kb_maintain),
        reads(tool::graph),
        reads(tool::dump),
        reads(tool::broken_links),
        remembers(tool::memory::memory_report).recording(),
        waits(tool::wait),
        waits(tool::verify).for_hours(),
        waits(tool::rescan),
        waits(tool::retry),
        waits(tool::deep_pass),
        waits(tool::checkup),
        waits(tool::backup),
        waits(tool::forget).for_hours(),
        writes(tool::shutdown),
    ])
}

/// What a handler is called with.
pub struct Call {
    /// The project that is asked.
    pub project: Arc<Project>,
    /// As they came.
    pub arguments: Map<String, Value>,
    /// Where a long call tells how far it is.
    pub progress: Progress,
    /// Who asks.
    pub(crate) caller: Caller,
}

/// One request of one client.
pub(crate) struct Caller {
    /// What this client has under way.
    pub(crate) in_flight: InFlight,
    /// This request's id.
    pub request: RequestId,
    /// What the client calls itself.
    pub client: String,
    /// The client's own model, where it offers that.
    pub model: Option<Arc<dyn Provider>>,
}

impl Caller {
    async fn turn(&self) -> Option<Turn> {
        self.in_flight.turn().await
    }

    /// The answer is made, but not queued yet: until then it takes up this client's turn.
    fn keep(&self, turn: Option<Turn>) {
        self.in_flight.keep(&self.request, turn);
    }
}

type Answer = Result<Value, ErrorView>;
type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One tool's handler.
pub struct Route {
    /// What clients call it by.
    pub name: &'static str,
    patience: Patience,
    run: Box<dyn Fn(Call, Arc<Semaphore>) -> Running + Send + Sync>,
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// As long as a request may take by the settings.
    Request,
    /// As long as indexing may take.
    Indexing,
    /// As long as building an index may take.
    Build,
}

impl Route {
    fn for_hours(mut self) -> Self {
        self.patience = Patience::Build;
        self
    }

    /// No note is on its way meanwhile: the index would have it at the old path, and the disk at the new one.
    fn of_notes_at_rest(mut self) -> Self {
        let run = Arc::new(self.run);
        self.run = Box::new(move |call, readers| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                let _unmoved = call.project.unmoved().await;
                run(call, readers).await
            })
        });
        self
    }

    /// The notes of a folder are looked at first: what a person has just changed there counts.
    fn looking_at(mut self, folder: fn(&Settings) -> &str) -> Self {
        let run = Arc::new(self.run);
        self.run = Box::new(move |call, readers| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                tool::look(&call.project, folder(&call.project.settings), &call.arguments).await;
                run(call, readers).await
            })
        });
        self
    }
}

/// The table.
pub struct Routes {
    routes: Vec<Route>,
    readers: Arc<Semaphore>,
}

impl Routes {
    /// A table of these tools.
    pub fn new(routes: Vec<Route>) -> Self {
        Routes { routes, readers: Arc::new(Semaphore::new(max_readers())) }
    }

    /// The route of that name.
    pub fn find(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name == name)
    }

    /// Runs a tool until it answers, its deadline is over, or `cancelled` returns.
    ///
    /// # Errors
    /// The handler's own, or `invalid_params`, `deadline_exceeded`, `cancelled`, `internal`.
    pub async fn call(
        &self,
        route: &Route,
        call: Call,
        cancelled: impl Future<Output = ()>,
    ) -> Answer {
        let limit = match route.patience {
            Patience::Build => LONGEST_BUILD,
            Patience::Indexing => LONGEST_WAIT,
            Patience::Request => {
                Duration::from_millis(call.project.settings.serve.request_deadline_ms)
            }
        };
        let activity = call.project.activity().clone();
        if activity.is_stopping() {
            return Err(stopping());
        }
        let mut running = (route.run)(call, Arc::clone(&self.readers));
        tokio::select! {
            answer = &mut running => answer,
            () = tokio::time::sleep(limit) => Err(too_slow(route.name, limit)),
            () = cancelled => match activity.is_stopping() {
                // What is all but done, such as the reply of `shutdown` itself, is still told.
                true => tokio::time::timeout(LAST_WORDS, running).await.unwrap_or_else(|_| Err(stopping())),
                false => Err(called_off(route.name)),
            },
        }
    }

    #[cfg(test)]
    /// Every tool, in the order of the catalog.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }
}

/// A tool that answers from a snapshot, off the async threads.
pub(crate) fn reads<T: Tool>(
    handler: fn(&Project, &Snapshot, T) -> Result<T::Reply, ErrorView>,
) -> Route {
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot be a `reads` route") };
    route::<T>(Patience::Request, move |call, readers| {
        Box::pin(async move {
            let parameters = parameters::parse::<T>(call.arguments)?;
            let own_turn = call.caller.turn().await;
            let work = move |project: &Project, snapshot: &Snapshot| {
                answer::<T>(handler(project, snapshot, parameters))
            };
            let (answer, own_turn) = in_turn::<T, _>(call.project, readers, own_turn, work).await?;
            call.caller.keep(own_turn);
            answer
        })
    })
}

/// Reads off the async threads, with a turn among all readers and one among this client's own, which is given back.
async fn in_turn<T: Tool, R: Send + 'static>(
    project: Arc<Project>,
    readers: Arc<Semaphore>,
    own_turn: Option<Turn>,
    work: impl FnOnce(&Project, &Snapshot) -> Result<R, ErrorView> + Send + 'static,
) -> Result<(Result<R, ErrorView>, Option<Turn>), ErrorView> {
    let turn = readers.acquire_owned().await.map_err(|_| stopping())?;
    let caller = EndsReading::default();
    let call_off = caller.0.clone();
    let reading = tokio::task::spawn_blocking(move || {
        // Held until the work is done, also when its caller has gone: that is what bounds
        // it. The caller's own turn lasts longer.
        let _turn = turn;
        let reply = read(&project, call_off, |snapshot| work(&project, snapshot));
        (reply, own_turn)
    });
    reading.await.map_err(|error| crashed(T::NAME, &error))
}

/// Calls a read off when nobody waits for it any more.
#[derive(Default)]
struct EndsReading(CallOff);

impl Drop for EndsReading {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

fn read<R>(
    project: &Project,
    call_off: CallOff,
    work: impl FnOnce(&Snapshot) -> Result<R, ErrorView>,
) -> Result<R, ErrorView> {
    if call_off.is_called_off() {
        // Nobody will see this.
        return Err(stopping());
    }
    let _answering = project.health().answering();
    let mut snapshot = project.snapshot().map_err(|error| suspicious(project, &error))?;
    snapshot.heed(call_off.clone()).map_err(|error| unreadable(&error))?;
    let reply = work(&snapshot);
    // What cannot be read may be damaged.
    if !call_off.is_called_off() && reply.as_ref().is_err_and(|error| error.code == Code::Internal)
    {
        project.suspect();
    }
    reply
}

fn suspicious(project: &Project, error: &index::store::StoreError) -> ErrorView {
    project.suspect();
    unreadable(error)
}

/// A tool that changes something, soon.
pub(crate) fn writes<T, F, Fut>(handler: F) -> Route
where
    T: Tool,
    F: Fn(Arc<Project>, T, Progress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    const {
        assert!(
            matches!(T::EFFECT, Effect::Writes),
            "a tool that only reads must be a `reads` route"
        )
    };
    route::<T>(Patience::Request, spawning::<T, F, Fut>(handler, true))
}

/// A tool that remembers who called it; it waits for indexing, too.
pub(crate) fn remembers<T, F, Fut>(handler: F) -> Route
where
    T: Tool,
    F: Fn(Arc<Project>, T, Who) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    const {
        assert!(
            matches!(T::EFFECT, Effect::Writes),
            "a tool that only reads must be a `reads` route"
        )
    };
    let handler = Arc::new(handler);
    route::<T>(Patience::Indexing, move |call, _| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let parameters = parameters::parse::<T>(call.arguments)?;
            let until = asking::until(&call.project);
            let asker = Asker { client: call.caller.model, until };
            let who = Who { client: call.caller.client, tool: T::NAME, asker };
            let mut task = EndsWithCaller(tokio::spawn(handler(call.project, parameters, who)));
            let reply = (&mut task.0).await.map_err(|error| crashed(T::NAME, &error))?;
            answer::<T>(reply)
        })
    })
}

/// Who calls a tool.
#[derive(Debug, Clone)]
pub struct Who {
    /// What the client calls itself.
    pub client: String,
    /// The tool.
    pub tool: &'static str,
    /// Whom a language model is asked for.
    pub asker: Asker,
}

/// A tool that waits for indexing; it has minutes.
pub(crate) fn waits<T, F, Fut>(handler: F) -> Route
where
    T: Tool,
    F: Fn(Arc<Project>, T, Progress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    // Waiting is cheap, and must not keep a client from asking meanwhile.
    route::<T>(Patience::Indexing, spawning::<T, F, Fut>(handler, false))
}

fn route<T: Tool>(
    patience: Patience,
    run: impl Fn(Call, Arc<Semaphore>) -> Running + Send + Sync + 'static,
) -> Route {
    Route { name: T::NAME, patience, run: Box::new(run) }
}

/// Runs an async handler as a task of its own, so that its panic stays its own; a caller that goes
/// ends it at its next await, which is between transactions and never inside one: the writer
/// commits on a thread of its own.
fn spawning<T, F, Fut>(
    handler: F,
    takes_turn: bool,
) -> impl Fn(Call, Arc<Semaphore>) -> Running + Send + Sync + 'static
where
    T: Tool,
    F: Fn(Arc<Project>, T, Progress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    let handler = Arc::new(handler);
    move |call, _| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let parameters = parameters::parse::<T>(call.arguments)?;
            let own_turn = if takes_turn { call.caller.turn().await } else { None };
            let started = handler(call.project, parameters, call.progress);
            let mut task = EndsWithCaller(tokio::spawn(started));
            let reply = (&mut task.0).await.map_err(|error| crashed(T::NAME, &error))?;
            call.caller.keep(own_turn);
            answer::<T>(reply)
        })
    }
}

/// Aborts its task when the caller is no longer interested.
struct EndsWithCaller<T>(JoinHandle<T>);

impl<T> Drop for EndsWithCaller<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn answer<T: Tool>(reply: Result<T::Reply, ErrorView>) -> Answer {
    // By way of text: `to_value` would widen the `f32` 0.1 to 0.10000000149011612, which costs every reader.
    let text = serde_json::to_string(&reply?);
    text.and_then(|text| serde_json::from_str(&text)).map_err(|error| {
        error_view(Code::Internal, format!("the reply of `{}` is not JSON: {error}", T::NAME), None)
    })
}

fn error_view(code: Code, message: String, hint: Option<&str>) -> ErrorView {
    ErrorView { code, message, hint: hint.map(str::to_string), conflict: None }
}

fn unreadable(error: &index::store::StoreError) -> ErrorView {
    let hint = "see the daemon's log; `kgctl doctor` says more";
    error_view(Code::Unavailable, format!("the index cannot be read: {error}"), Some(hint))
}

fn stopping() -> ErrorView {
    let hint = Some("try again in a moment");
    error_view(Code::Unavailable, "the daemon is stopping".to_string(), hint)
}

fn called_off(tool: &str) -> ErrorView {
    error_view(Code::Cancelled, format!("`{tool}` was cancelled"), None)
}

fn too_slow(tool: &str, limit: Duration) -> ErrorView {
    let hint = "ask for less, try again, or raise `serve.request_deadline_ms`";
    let message = format!("`{tool}` did not finish within {} ms", limit.as_millis());
    error_view(Code::DeadlineExceeded, message, Some(hint))
}

fn crashed(tool: &str, error: &JoinError) -> ErrorView {
    if !error.is_panic() {
        return stopping();
    }
    // The panic's own text may hold words of a document; it went to the log, not to the caller.
    tracing::error!(tool, "a handler panicked");
    let hint = "this is a bug in kgd; the daemon's log says where";
    error_view(Code::Internal, format!("`{tool}` failed inside"), Some(hint))
}
