//! Routes: maps a tool's name to its handler, in the order of `proto::catalog::CATALOG`.
//!
//! In: a name, arguments, a deadline. Out: the reply as JSON and as text, or an error with code and hint.
//! Invariants: a handler's signature fixes what it may do: one that reads gets a snapshot and no means to write; a
//! typed reply is rendered before it becomes JSON; every call ends by its deadline or when it is cancelled, and its
//! queries end with it; a panic in a handler becomes an error of that call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use config::Settings;
use config::limits::max_readers;
use proto::catalog::Entry;
use proto::error::{Code, ErrorView};
use proto::tool::{Effect, Tool, ToolSet};
use rmcp::model::RequestId;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::form::{Replied, Wanted};
use super::progress::Progress;
use super::tool;
use super::turns::{InFlight, Readers, Turn};
use crate::errand::{acting, carrying, n_open, within};
use crate::llm::{Asker, Provider};
use crate::project::Project;
use index::store::{Cancellation, Snapshot};
use sys::courtesy::Wait;

mod asking;
mod ended;
mod marking;
mod parameters;
mod recording;
mod span;
mod table;

pub(super) use ended::too_slow;
use ended::{called_off, crashed, error_view, stopping, unreadable};
pub use table::routes;

/// Longest time of a call that is made to wait for indexing: the 600 s of `wait`, plus time for its answer.
const LONGEST_WAIT: Duration = Duration::from_secs(610);

/// Longest time of a call that builds an index: 100,000 files take minutes.
const LONGEST_BUILD: Duration = Duration::from_secs(6 * 3600);

/// Time of a call that is left for its answer when its waits must end, at most; of a short call a fifth.
const FOR_THE_ANSWER: Duration = Duration::from_secs(10);

/// Grace period of a call after the daemon has started to stop.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// One call of a tool.
pub struct Call {
    /// The project that answers.
    pub project: Arc<Project>,
    /// Arguments as the client sent them.
    pub arguments: Map<String, Value>,
    /// What the result carries.
    pub wanted: Wanted,
    /// Reports the progress of a long call.
    pub progress: Progress,
    /// The caller.
    pub(crate) caller: Caller,
}

/// One request of one client.
pub(crate) struct Caller {
    /// This client's unanswered requests.
    pub(crate) in_flight: InFlight,
    /// This request's id.
    pub request: RequestId,
    /// The client's own name for itself.
    pub client: String,
    /// The client's own model, if it offers one.
    pub model: Option<Arc<dyn Provider>>,
    /// The sets of tools that its session has.
    pub sets: Vec<ToolSet>,
}

impl Caller {
    async fn turn(&self) -> Option<Turn> {
        self.in_flight.turn().await
    }

    /// Holds this client's turn until the finished answer is queued.
    fn keep(&self, turn: Option<Turn>) {
        self.in_flight.keep(&self.request, turn);
    }
}

type Answer = Result<Replied, ErrorView>;
type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One tool's handler.
pub struct Route {
    /// The tool's declaration.
    pub tool: Entry,
    /// Whether hidden characters of the reply are left as they are: `kgctl` escapes them when it prints.
    pub replies_verbatim: bool,
    /// Whether secrets in the arguments must reach the handler.
    pub is_asked_verbatim: bool,
    /// Whether the reply is text of notes or documents rather than a list of hits, so its default budget is larger.
    pub is_long: bool,
    /// Whether the client may name the project `vault`.
    pub has_vault: bool,
    patience: Patience,
    run: Box<dyn Fn(Call, Arc<Readers>) -> Running + Send + Sync>,
}

/// The deadline of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// `serve.request_deadline_ms`.
    Request,
    /// Long enough for indexing: only for tools that exist to wait for it.
    Indexing,
    /// Long enough to build an index.
    Build,
}

impl Route {
    fn for_minutes(self) -> Self {
        Route { patience: Patience::Indexing, ..self }
    }

    fn for_hours(self) -> Self {
        Route { patience: Patience::Build, ..self }
    }

    fn replying_verbatim(self) -> Self {
        Route { replies_verbatim: true, ..self }
    }

    fn asked_verbatim(self) -> Self {
        Route { is_asked_verbatim: true, ..self }
    }

    fn at_length(self) -> Self {
        Route { is_long: true, ..self }
    }

    /// Marks a tool that comes from a server of vaults (S3), where a project is called `vault`.
    fn of_a_vault(self) -> Self {
        Route { has_vault: true, ..self }
    }

    /// Keeps notes from being moved during the call: the index would have the old path and the disk the new one.
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

    /// Indexes changes in a folder first, so that a person's latest edits count.
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

/// All routes, and the limit of concurrent reads.
pub struct Routes {
    routes: Vec<Route>,
    readers: Arc<Readers>,
}

impl Routes {
    /// Returns a table of these routes.
    pub fn new(routes: Vec<Route>) -> Self {
        Routes { routes, readers: Readers::new(max_readers()) }
    }

    /// Returns a table of the tools with these names.
    pub fn only(self, names: &[&str]) -> Self {
        let routes = self.routes.into_iter().filter(|route| names.contains(&route.tool.name));
        Routes { routes: routes.collect(), readers: self.readers }
    }

    /// Returns the route of a tool.
    pub fn find(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.tool.name == name)
    }

    /// Runs a tool until it answers, its deadline passes, or `cancelled` returns.
    ///
    /// # Errors
    /// The handler's own, or `invalid_params`, `deadline_exceeded`, `cancelled`, `internal`.
    async fn answer(
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
        let _asking = activity.ask();
        if activity.is_stopping() {
            return Err(stopping());
        }
        let _waiting = sys::courtesy::waiting(match route.patience {
            Patience::Request => Wait::Answer,
            Patience::Indexing | Patience::Build => Wait::Work,
        });
        let in_flight = call.caller.in_flight.clone();
        let until = Instant::now() + limit - FOR_THE_ANSWER.min(limit / 5);
        let mut running = Box::pin(within(
            until,
            Arc::new(move || in_flight.n_open()),
            (route.run)(call, Arc::clone(&self.readers)),
        ));
        tokio::select! {
            answer = &mut running => answer,
            () = tokio::time::sleep(limit) => Err(too_slow(&format!("`{}`", route.tool.name), limit)),
            () = cancelled => match activity.is_stopping() {
                // A call that is almost done, such as `shutdown` itself, may still answer.
                true => tokio::time::timeout(LAST_WORDS, running).await.unwrap_or_else(|_| Err(stopping())),
                false => Err(called_off(route.tool.name)),
            },
        }
    }
}

/// A route for a tool that answers from a snapshot, off the async threads.
pub(crate) fn reads<T: Tool>(
    handler: fn(&Project, &Snapshot, T) -> Result<T::Reply, ErrorView>,
) -> Route {
    reads_to_fit(handler, |_, _| ())
}

/// As [`reads`], for a tool whose answer depends on the form of its result: `adapt` writes that into its parameters.
pub(crate) fn reads_to_fit<T: Tool>(
    handler: fn(&Project, &Snapshot, T) -> Result<T::Reply, ErrorView>,
    adapt: fn(&mut T, Wanted),
) -> Route {
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot be a `reads` route") };
    route::<T>(move |call, readers| {
        Box::pin(async move {
            let mut parameters = parameters::parse::<T>(call.arguments)?;
            adapt(&mut parameters, call.wanted);
            let own_turn = call.caller.turn().await;
            let work = move |project: &Project, snapshot: &Snapshot| {
                answer::<T>(handler(project, snapshot, parameters), call.wanted)
            };
            let (answer, own_turn) = in_turn::<T, _>(call.project, readers, own_turn, work).await?;
            call.caller.keep(own_turn);
            answer
        })
    })
}

/// Reads off the async threads, with a turn among all readers and one among this client's requests; returns the latter.
async fn in_turn<T: Tool, R: Send + 'static>(
    project: Arc<Project>,
    readers: Arc<Readers>,
    own_turn: Option<Turn>,
    work: impl FnOnce(&Project, &Snapshot) -> Result<R, ErrorView> + Send + 'static,
) -> Result<(Result<R, ErrorView>, Option<Turn>), ErrorView> {
    let turn = readers.take(n_open()).await;
    let caller = EndsReading::default();
    let cancellation = caller.0.clone();
    let reading = tokio::task::spawn_blocking(move || {
        // Held until the work is done even if its caller has left, because this turn bounds the number of readers. The
        // caller's own turn lasts longer.
        let _turn = turn;
        let reply = read(&project, cancellation, |snapshot| work(&project, snapshot));
        (reply, own_turn)
    });
    reading.await.map_err(|error| crashed(T::NAME, &error))
}

/// Cancels a read when nobody waits for it.
#[derive(Default)]
struct EndsReading(Cancellation);

impl Drop for EndsReading {
    fn drop(&mut self) {
        self.0.cancellation();
    }
}

fn read<R>(
    project: &Project,
    cancellation: Cancellation,
    work: impl FnOnce(&Snapshot) -> Result<R, ErrorView>,
) -> Result<R, ErrorView> {
    if cancellation.is_called_off() {
        // The caller has left, so nobody sees this.
        return Err(stopping());
    }
    let _answering = project.health().answering();
    let mut snapshot = project.snapshot().map_err(|error| suspicious(project, &error))?;
    snapshot.heed(cancellation.clone()).map_err(|error| unreadable(&error))?;
    let reply = work(&snapshot);
    // An index that cannot be read may be damaged.
    if !cancellation.is_called_off()
        && reply.as_ref().is_err_and(|error| error.code == Code::Internal)
    {
        project.suspect();
    }
    reply
}

fn suspicious(project: &Project, error: &index::store::StoreError) -> ErrorView {
    project.suspect();
    unreadable(error)
}

/// A route for a tool that makes a short change.
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
    route::<T>(spawning::<T, F, Fut>(handler, true))
}

/// A route for a tool that writes notes and records who called it; it waits for indexing, too.
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
    route::<T>(move |call, _| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let parameters = parameters::parse::<T>(call.arguments)?;
            let until = asking::until(&call.project);
            let asker = Asker { client: call.caller.model, until };
            let client = call.caller.client;
            let sets = call.caller.sets;
            let who = Who { client: client.clone(), tool: T::NAME, asker, sets };
            let started = handler(call.project, parameters, who);
            let work =
                acting(T::NAME, &client, async move { answer::<T>(started.await, call.wanted) });
            let mut task = EndsWithCaller(tokio::spawn(work));
            (&mut task.0).await.map_err(|error| crashed(T::NAME, &error))?
        })
    })
}

/// The caller of a tool.
#[derive(Debug, Clone)]
pub struct Who {
    /// The client's own name for itself.
    pub client: String,
    /// The tool.
    pub tool: &'static str,
    /// The caller on whose behalf a language model is asked.
    pub asker: Asker,
    /// The sets of tools that the session has.
    pub sets: Vec<ToolSet>,
}

impl Who {
    /// Returns whether the caller may call another tool, too.
    pub fn has<T: Tool>(&self) -> bool {
        self.sets.iter().any(|set| Entry::of::<T>().is_in(*set))
    }
}

/// A route for a tool that exists to wait for indexing, possibly for minutes.
pub(crate) fn waits<T, F, Fut>(handler: F) -> Route
where
    T: Tool,
    F: Fn(Arc<Project>, T, Progress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    // Waiting is cheap, so it takes no turn: the client may call other tools meanwhile.
    route::<T>(spawning::<T, F, Fut>(handler, false)).for_minutes()
}

/// A route for a tool that reads files, so that it waits for them to be indexed.
pub(crate) fn reads_files<T, F, Fut>(handler: F) -> Route
where
    T: Tool,
    F: Fn(Arc<Project>, T, Progress) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T::Reply, ErrorView>> + Send + 'static,
{
    const { assert!(matches!(T::EFFECT, Effect::Reads), "a tool that writes cannot read files only") };
    route::<T>(spawning::<T, F, Fut>(handler, true))
}

fn route<T: Tool>(run: impl Fn(Call, Arc<Readers>) -> Running + Send + Sync + 'static) -> Route {
    Route {
        tool: Entry::of::<T>(),
        replies_verbatim: false,
        is_asked_verbatim: false,
        is_long: matches!(T::SET, ToolSet::Notes | ToolSet::Memory | ToolSet::Kb),
        has_vault: false,
        patience: Patience::Request,
        run: Box::new(run),
    }
}

/// Runs an async handler as a task of its own, so that a panic ends only this call. If the caller leaves, the task ends
/// at its next await, which is never inside a transaction: the writer commits on its own thread.
fn spawning<T, F, Fut>(
    handler: F,
    takes_turn: bool,
) -> impl Fn(Call, Arc<Readers>) -> Running + Send + Sync + 'static
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
            let work = carrying(async move { answer::<T>(started.await, call.wanted) });
            let mut task = EndsWithCaller(tokio::spawn(work));
            let answer = (&mut task.0).await.map_err(|error| crashed(T::NAME, &error))?;
            call.caller.keep(own_turn);
            answer
        })
    }
}

/// Aborts its task when the caller leaves.
struct EndsWithCaller<T>(JoinHandle<T>);

impl<T> Drop for EndsWithCaller<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn answer<T: Tool>(reply: Result<T::Reply, ErrorView>, wanted: Wanted) -> Answer {
    wanted.apply(&reply?).map_err(|error| {
        error_view(Code::Internal, format!("the reply of `{}` is not JSON: {error}", T::NAME), None)
    })
}
