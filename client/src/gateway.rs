//! Gateway: one MCP server in front of the daemons of several projects.
//!
//! In: lines of the client, lines of the projects, time. Out: lines for each of them. How: the
//! first project that can answers the client's handshake and its request for the list of tools; the
//! project of the current folder is asked first. A project is opened when it is first needed, with
//! a handshake of its own. A call goes to the project that it names, or that an address in it
//! names. A search without one goes to all projects, and the hits are merged by relevance
//! (`merge.rs`). Any other call goes to the project of the folder in which the agent started; if
//! there is none, calls that only read go to the default, and the others are refused. Names of
//! resources and prompts include the project (`naming.rs`).
//! Invariants: each request of the client is answered once, under its own id, unless the client
//! cancels it; a slow or dead project does not delay the answers of others; a request that may
//! change something never reaches a project it was not meant for.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use proto::form::{Form, META_KEY};
use proto::tool::ToolSet;
use serde_json::{Value, json};

mod alone;
mod asker;
mod at_least;
mod backend;
mod cancel;
mod choose;
mod cursor;
mod each;
mod fitting;
mod follow;
mod job;
mod line;
mod listen;
mod merge;
mod naming;
mod news;
pub mod pump;
mod readings;
mod route;
mod same;
mod seek;
mod served;
mod spread;
mod text;
mod trouble;

pub use choose::{Choice, Surroundings, all, choose, left, registered};
pub use served::Served;

use crate::shim::{Kind, RESTARTED};
use asker::Asker;
use backend::{Asked, Backend};
use job::{Job, Part, Task};
use listen::Listening;
use route::{First, Route, route};
use trouble::Trouble;

/// Longest time that a call waits for all projects.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Longest wait for a project that did not answer the previous search.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);

/// When any project can answer: the time after which the next one is asked as well.
const HEDGE: Duration = Duration::from_secs(3);

/// A line and its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// The client.
    Client(Vec<u8>),
    /// A project, by its index in [`Served`].
    Project(usize, Vec<u8>),
}

/// One client's session over several projects.
#[derive(Debug)]
pub struct Gateway {
    served: Served,
    patience: Duration,
    /// Whether the client wants structured content.
    is_structured: bool,
    /// What to offer while there is no project.
    sets: Vec<ToolSet>,
    /// The parameters of the client's handshake.
    hello: Option<Value>,
    backends: Vec<Backend>,
    jobs: HashMap<u64, Job>,
    /// Requests that projects have not answered: the job and the index of its part.
    parts: HashMap<u64, (u64, usize)>,
    /// Requests of projects that the client has not answered, by the id that the client sees.
    asked: HashMap<String, (usize, Value)>,
    last_id: u64,
    out: Vec<Out>,
}

/// Returns the parameters of a call whose result must have this form.
fn in_form(form: Form, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"][META_KEY] = form.as_str().into();
    params
}

impl Gateway {
    /// Creates a session over these projects with a limit for waiting for all of them together.
    pub fn new(served: Served, patience: Duration) -> Self {
        let backends = (0..served.len()).map(|_| Backend::default()).collect();
        Gateway {
            served,
            patience,
            is_structured: false,
            sets: Vec::new(),
            hello: None,
            backends,
            jobs: HashMap::new(),
            parts: HashMap::new(),
            asked: HashMap::new(),
            last_id: 0,
            out: Vec::new(),
        }
    }

    /// Sets whether the results of tools have structured content.
    pub fn structured(self, is_structured: bool) -> Self {
        Gateway { is_structured, ..self }
    }

    /// Returns true while a request of the client is unanswered; subscriptions do not count.
    pub fn is_waiting(&self) -> bool {
        self.jobs.values().any(|job| !matches!(job.task, Task::Listen(_)))
    }

    /// Returns when [`Gateway::on_time`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        let parts = self.jobs.values().flat_map(|job| &job.parts);
        parts.filter(|part| part.answer.is_none()).filter_map(|part| part.deadline).min()
    }

    /// Handles a line from the client.
    pub fn on_client_line(&mut self, line: &[u8], now: Instant) -> Vec<Out> {
        match Kind::of(line) {
            Kind::Initialize(id) => {
                let params = line::params(line);
                self.hello = Some(params.clone());
                let asker = Asker::of(id, "initialize", &params, self.is_structured);
                self.start_first(asker, First::Hello, params, now);
            }
            Kind::Request(id) => self.on_request(id, line, now),
            Kind::Cancelled(id) => self.cancel(&id),
            Kind::Answer(id) => self.on_client_answer(&id, line),
            // Each project gets its own after it answers its handshake.
            Kind::Initialized => {}
            Kind::Notification => {
                for project in self.open_projects() {
                    self.out.push(Out::Project(project, line.to_vec()));
                }
            }
            Kind::Unreadable | Kind::Refusal(_) => {
                let is_json = serde_json::from_slice::<Value>(line).is_ok();
                let (code, message) = match is_json {
                    true => (-32_600, "not a JSON-RPC message"),
                    false => (-32_700, "not JSON"),
                };
                self.send_to_client(line::error(
                    "null",
                    &json!({ "code": code, "message": message }),
                ));
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Handles a line from a project.
    pub fn on_project_line(&mut self, project: usize, line: &[u8], now: Instant) -> Vec<Out> {
        if self.served.get(project).is_none() {
            return Vec::new();
        }
        match Kind::of(line) {
            Kind::Answer(id) => {
                if let (Ok(id), Ok(message)) = (id.parse(), serde_json::from_slice(line)) {
                    self.on_answer(project, id, message, now);
                }
            }
            Kind::Request(_) | Kind::Initialize(_) => self.on_question(project, line),
            Kind::Cancelled(id) => self.on_question_cancelled(project, &id, line),
            Kind::Notification | Kind::Initialized => self.on_news(project, line),
            Kind::Unreadable | Kind::Refusal(_) => {}
        }
        std::mem::take(&mut self.out)
    }

    /// Handles the passing of time.
    pub fn on_time(&mut self, now: Instant) -> Vec<Out> {
        let is_late =
            |part: &Part| part.answer.is_none() && part.deadline.is_some_and(|it| it <= now);
        let late = self.jobs.iter().flat_map(|(number, job)| {
            let late = job.parts.iter().enumerate().filter(|(_, part)| is_late(part));
            late.map(|(idx, part)| (*number, idx, part.project, part.id))
        });
        let mut late: Vec<_> = late.collect();
        late.sort_unstable();
        for (number, idx, project, id) in late {
            if self.jobs.get(&number).is_some_and(|job| matches!(job.task, Task::First { .. })) {
                if let Some(part) = self.part_mut(number, idx) {
                    part.deadline = None;
                }
                self.ask_next(number, now);
                continue;
            }
            self.call_off(project, id);
            let patience = self.patience_with(project);
            if let Some(backend) = self.backends.get_mut(project) {
                backend.is_slow = true;
            }
            self.settle(number, idx, Err(Trouble::late(patience)), now);
        }
        std::mem::take(&mut self.out)
    }

    /// Returns how long to wait for a project when several are asked.
    fn patience_with(&self, project: usize) -> Duration {
        let is_slow = self.backends.get(project).is_some_and(|it| it.is_slow);
        if is_slow { SHORT_PATIENCE.min(self.patience) } else { self.patience }
    }

    fn open_projects(&self) -> Vec<usize> {
        let all = self.backends.iter().enumerate();
        all.filter(|(_, it)| it.is_open()).map(|(project, _)| project).collect()
    }

    fn send_to_client(&mut self, line: Vec<u8>) {
        self.out.push(Out::Client(line));
    }

    fn fresh_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn part_mut(&mut self, number: u64, idx: usize) -> Option<&mut Part> {
        self.jobs.get_mut(&number)?.parts.get_mut(idx)
    }

    fn on_request(&mut self, id: String, line: &[u8], now: Instant) {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_string();
        let params = line::params(line);
        let asker = Asker::of(id, &method, &params, self.is_structured);
        match route(&method, params, &self.served) {
            Route::Result(result) => self.send_to_client(asker.result(result)),
            Route::Error(error) => self.send_to_client(asker.error(&error)),
            Route::First(first, params) => self.start_first(asker, first, params, now),
            Route::One { project, params, is_tool } => {
                let asks = vec![(project, Some((method, params)))];
                self.start(asker, Task::One { is_tool }, asks, now);
            }
            Route::Either { project, readings } => {
                let asks = vec![(project, Some((method, readings.start())))];
                self.start(asker, Task::Either(readings), asks, now);
            }
            Route::Seek { address, of, params } => {
                let ask = |project| (project, Some((of.method().to_string(), params.clone())));
                let asks = self.served.all().into_iter().map(ask).collect();
                self.start(asker, Task::Seek { address, of }, asks, now);
            }
            Route::Spread { spread, params } => {
                let ask = |target: &cursor::Onward| {
                    let mut params = params.clone();
                    params["arguments"] = Value::Object(spread.arguments(target));
                    (target.project, Some((method.clone(), params)))
                };
                let asks = spread.targets.iter().map(ask).collect();
                self.start(asker, Task::Search(spread), asks, now);
            }
            Route::List { field, targets, params } => {
                let ask = |target: &cursor::Onward| {
                    let mut params = params.clone();
                    if let Some(cursor) = &target.cursor {
                        params["cursor"] = cursor.as_str().into();
                    }
                    (target.project, Some((method.clone(), params)))
                };
                let asks = targets.iter().map(ask).collect();
                self.start(asker, Task::List { field }, asks, now);
            }
            Route::Projects { params, is_json } => {
                let ask = |project| (project, Some((method.clone(), params.clone())));
                let asks = self.served.all().into_iter().map(ask).collect();
                self.start(asker, Task::Projects { is_json }, asks, now);
            }
            Route::Listen(asks) => {
                let task = Task::Listen(Listening::of(asks.len()));
                let ask = |(project, params)| (project, Some((method.clone(), params)));
                self.start(asker, task, asks.into_iter().map(ask).collect(), now);
            }
            Route::Open(params) => {
                for project in self.open_projects() {
                    // The answer is not needed.
                    let own = self.fresh_id();
                    self.out.push(Out::Project(project, line::request(own, &method, &params)));
                }
                self.send_to_client(asker.result(json!({})));
            }
        }
    }

    /// Asks the likeliest project for something that any can answer.
    fn start_first(&mut self, asker: Asker, of: First, params: Value, now: Instant) {
        let method = match of {
            First::Hello => "initialize",
            First::Discover => "server/discover",
            First::Tools => "tools/list",
        };
        if self.served.len() == 0 {
            let result = alone::answer(of, &params, &self.sets, &self.served);
            return self.send_to_client(asker.result(result));
        }
        let others = self.served.likeliest_first().into();
        let task = Task::First { of, method, params, others };
        let number = self.fresh_id();
        self.jobs.insert(number, Job { asker, task, parts: Vec::new() });
        self.ask_next(number, now);
    }

    /// Asks one more project, if one is left.
    fn ask_next(&mut self, number: u64, now: Instant) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let Task::First { of, method, params, others } = &mut job.task else { return };
        let Some(project) = others.pop_front() else { return };
        // Each project has its own handshake; it only has to be opened.
        let request = (*of != First::Hello).then(|| (method.to_string(), params.clone()));
        let idx = job.parts.len();
        let deadline = Some(now + HEDGE);
        job.parts.push(Part {
            project,
            id: 0,
            request,
            answer: None,
            deadline,
            is_repeated: false,
        });
        self.ask(number, idx, now);
    }

    fn start(
        &mut self,
        asker: Asker,
        task: Task,
        asks: Vec<(usize, Option<(String, Value)>)>,
        now: Instant,
    ) {
        let number = self.fresh_id();
        let is_one = matches!(task, Task::One { .. } | Task::Either(_));
        let part = |(project, request): (usize, Option<(String, Value)>)| {
            let deadline = (!is_one).then(|| now + self.patience_with(project));
            Part { project, id: 0, request, answer: None, deadline, is_repeated: false }
        };
        let parts: Vec<Part> = asks.into_iter().map(part).collect();
        let n = parts.len();
        self.jobs.insert(number, Job { asker, task, parts });
        (0..n).for_each(|idx| self.ask(number, idx, now));
        if n == 0 {
            self.finish(number);
        }
    }

    /// Sends the request of a part, opening its project if necessary.
    fn ask(&mut self, number: u64, idx: usize, now: Instant) {
        let (id, opening) = (self.fresh_id(), self.fresh_id());
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let form = job.task.form();
        let Some(part) = job.parts.get_mut(idx) else { return };
        part.id = id;
        let project = part.project;
        if self.served.get(project).is_none() {
            return self.settle(number, idx, Err(self.gone(project)), now);
        }
        let line = part.request.as_ref().map(|(method, params)| match method.as_str() {
            "tools/call" => {
                let params = at_least::of(in_form(form, params), project, &self.served);
                line::request(id, method, &params)
            }
            _ => line::request(id, method, params),
        });
        self.parts.insert(id, (number, idx));
        let Some(backend) = self.backends.get_mut(project) else { return };
        match backend.ask(id, line, self.hello.as_ref(), opening) {
            Asked::Waits => {}
            Asked::Opens(line) | Asked::Goes(line) => self.out.push(Out::Project(project, line)),
            Asked::Done(hello) => self.settle(number, idx, Ok(hello), now),
        }
    }

    fn on_answer(&mut self, project: usize, id: u64, mut message: Value, now: Instant) {
        let answer = match message.get_mut("error") {
            Some(error) => Err(Trouble::of_error(error.take())),
            None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        };
        let Some(backend) = self.backends.get_mut(project) else { return };
        backend.is_slow = false;
        if !backend.is_opening_with(id) {
            // Checks the project, too: a project may answer only its own requests.
            let asked = self.parts.get(&id).copied();
            let is_theirs = |(number, idx): &(u64, usize)| {
                self.jobs
                    .get(number)
                    .and_then(|job| job.parts.get(*idx))
                    .is_some_and(|it| it.project == project)
            };
            if let Some((number, idx)) = asked.filter(is_theirs) {
                self.parts.remove(&id);
                self.settle(number, idx, answer, now);
            }
            return;
        }
        match answer {
            Ok(hello) => {
                let (lines, done) = backend.on_open(hello);
                let hello = backend.hello();
                self.out.extend(lines.into_iter().map(|line| Out::Project(project, line)));
                for id in done {
                    if let Some((number, idx)) = self.parts.remove(&id) {
                        self.settle(number, idx, Ok(hello.clone()), now);
                    }
                }
            }
            Err(trouble) => {
                for id in backend.on_refusal() {
                    if let Some((number, idx)) = self.parts.remove(&id) {
                        self.settle(number, idx, Err(trouble.clone()), now);
                    }
                }
            }
        }
    }

    /// Records the answer to a part. The client gets its answer once the job is done.
    fn settle(&mut self, number: u64, idx: usize, mut answer: merge::Answer, now: Instant) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        if job.is_asked_further(idx, &mut answer) {
            return self.ask(number, idx, now);
        }
        let may_repeat = job.may_repeat();
        let Some(part) = job.parts.get_mut(idx) else { return };
        let is_lost = matches!(&answer, Err(trouble) if trouble.message == RESTARTED);
        if is_lost && may_repeat && !part.is_repeated {
            part.is_repeated = true;
            return self.ask(number, idx, now);
        }
        let is_failed = answer.is_err();
        part.answer = Some(answer);
        if job.turns_to_owner() {
            return self.ask(number, 0, now);
        }
        if is_failed {
            // Only matters where the first good answer is wanted.
            self.ask_next(number, now);
        }
        self.acknowledge(number);
        self.finish(number);
    }

    /// Answers the client once a job is done.
    fn finish(&mut self, number: u64) {
        if self.jobs.get(&number).is_some_and(Job::is_done)
            && let Some(job) = self.jobs.remove(&number)
        {
            for part in job.parts.iter().filter(|part| part.answer.is_none()) {
                self.call_off(part.project, part.id);
            }
            let line = job.conclude(&self.served);
            self.send_to_client(line);
        }
    }
}

#[cfg(test)]
mod tests;
