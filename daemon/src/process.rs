//! Process: a daemon's whole life, from its flags to its exit code.
//!
//! In: which project, and how. Out: a daemon that serves it until it is asked to stop, or is no longer needed.
//! Invariants: one daemon per project and state folder (locks that end with the process, checked while it runs); nobody
//! is served before the project is open; once asked to stop, it ends within `DRAIN_SECONDS` and `FAREWELL_SECONDS`, or
//! at once when asked again, without partial writes; nobody else gets the lock before the last thread has ended.
//! Exit codes: 0 asked to stop or idle, 1 the store is unsound or the start failed, 2 no such folder or wrong settings,
//! 3 another daemon serves the project, including one that took over the lock.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use config::command::ProjectFlags;
use config::limits::{DRAIN_SECONDS, FAREWELL_SECONDS};
use config::{Places, ProjectPaths};
use formats::Parsing;
use formats::sandbox::Workers;
use server::project::reload::Source;
use server::project::{OpenProject, Project};
use server::serve::accept::{Sessions, serve};
use server::serve::http::HttpDoor;
use server::serve::listen::{Door, from_systemd, link_to};
use server::serve::routes::routes;
use sys::fail;
use tokio::signal::unix::{Signal, SignalKind, signal};

mod hub;
mod kept;
mod lock;
mod log;
mod manager;
mod publishing;
mod restore;
mod spans;
mod start_error;

pub use hub::HubJob;
use lock::{Lock, LockError};
use log::{LogFile, Logging};
use manager::Manager;
use start_error::StartError;

/// Longest wait at exit for threads that still compute; a commit takes some tens of milliseconds.
const LAST_COMMIT: Duration = Duration::from_millis(500);

/// Interval between checks of idleness, of the writer's health and of the status line. Long, because an idle daemon
/// should sleep.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// How long a second daemon may hold the lock before it finds that another one serves the project.
const FAILED_START: Duration = Duration::from_millis(250);

/// Threads for sockets and timers. Computation has threads of its own.
const N_ASYNC_THREADS: usize = 2;

/// What to serve, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A project's name or folder; `KG_PROJECT` or the current folder decide when it is left out.
    pub project: Option<String>,
    /// Exit after this long without a client and without work; never if none or zero.
    pub idle_exit: Option<Duration>,
    /// Listen here instead of at the project's usual path.
    pub socket: Option<PathBuf>,
    /// Also serve MCP over HTTP at this address; none means the setting `http.listen`.
    pub http: Option<String>,
    /// Settings as `key=value`, which win over every file and variable.
    pub settings: Vec<String>,
    /// Serve nothing: replace the ledger by this backup, and exit.
    pub restore: Option<PathBuf>,
    /// Serve nothing: list or restore earlier versions of notes, and exit.
    pub kept: Option<KeptJob>,
    /// Serve no folder: do this job with the hub at this address.
    pub hub: Option<(String, HubJob)>,
}

/// What to do with kept versions of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptJob {
    /// List those of one note, or all.
    List(Option<String>),
    /// Write one back.
    Restore {
        /// The note.
        path: String,
        /// The version, by its time.
        at: String,
    },
}

/// Why a daemon ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// A signal, or the tool `shutdown`.
    Asked(&'static str),
    /// Nobody has used it for the idle limit.
    Idle,
    /// The writer stopped, with this message.
    Poisoned(String),
    /// Its lock was removed and cannot be taken again; the reason, and its exit code.
    Displaced(String, u8),
}

/// Serves one project until the end and returns the exit code. Messages go to standard error.
///
/// # Errors
/// What kept it from starting, for the caller to print. Errors with an exit code of their own are printed here.
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    let found = options.hub.is_none().then(|| project_of(&options)).transpose();
    let settings = match &found {
        Ok(Some(found)) => found.loaded.settings.clone(),
        // Wrong settings are reported below; until then, the log follows the user's own.
        _ => own_settings(&options).unwrap_or_default(),
    };
    // Before the logging thread: the limit of arenas must be set before any thread starts.
    sys::spare_memory();
    let logging = Logging::start(&settings)?;
    // The folder in which the log is read is unknown.
    let flags = match (&found, Places::from_env()) {
        (Ok(Some(found)), Ok(places)) => ProjectFlags::anywhere(&places, &found.project),
        _ => ProjectFlags::default(),
    };
    sys::mind_fatal_signals(|line| flags.in_text(line).into_owned());
    let ended = run_logged(options, found, &logging, &flags);
    logging.finish();
    ended.or_else(|error| exit_code_of(error, &flags))
}

fn run_logged(
    options: Options,
    found: anyhow::Result<Option<Found>>,
    logging: &Logging,
    flags: &ProjectFlags,
) -> anyhow::Result<ExitCode> {
    sys::courtesy::begin();
    if let Some(job) = &options.kept {
        return kept::run(&options, job, flags);
    }
    if let Some((url, job)) = &options.hub {
        return hub::run(&options, url, job);
    }
    let prepared = found.and_then(|found| prepare(found.context("no project")?, &options));
    let prepared = prepared?;
    if let Some(from) = &options.restore {
        return restore::run(&prepared, from);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(N_ASYNC_THREADS)
        .thread_name("kgd")
        .enable_all()
        .build()?;
    let Prepared { place, paths, mut lock } = prepared;
    let end = runtime.block_on(live(place, paths, &mut lock, &options, logging));
    // Threads that still compute must not delay the exit: a commit that is cut off is rolled back.
    runtime.shutdown_timeout(LAST_COMMIT);
    // Only now, because the next holder of the lock may write.
    drop(lock);
    match end? {
        End::Poisoned(why) => {
            tracing::error!("the store is unsound");
            report(&why, flags);
            Ok(ExitCode::FAILURE)
        }
        End::Displaced(why, code) => {
            report(&why, flags);
            Ok(ExitCode::from(code))
        }
        End::Asked(_) | End::Idle => Ok(ExitCode::SUCCESS),
    }
}

/// Prints an error that has an exit code of its own; returns any other one to the caller, with commands that name the
/// project.
fn exit_code_of(error: anyhow::Error, flags: &ProjectFlags) -> anyhow::Result<ExitCode> {
    let Some(known) = error.downcast_ref::<StartError>() else {
        return Err(anyhow::Error::msg(flags.in_text(&format!("{error:#}")).into_owned()));
    };
    let code = known.exit_code();
    report(&known.to_string(), flags);
    Ok(ExitCode::from(code))
}

/// Prints a message in the form that all our programs use; its commands name the project.
fn report(message: &str, flags: &ProjectFlags) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "kgd: {}", flags.in_text(message));
}

/// Everything that is decided before a thread starts.
struct Prepared {
    place: OpenProject,
    paths: ProjectPaths,
    lock: Lock,
}

/// The selected project with its settings.
struct Found {
    project: config::Project,
    loaded: config::Loaded,
}

fn project_of(options: &Options) -> anyhow::Result<Found> {
    let places = Places::from_env()?;
    let found = config::which_project(&places, options.project.as_deref());
    let project = found.map_err(StartError::from)?;
    if !project.root.is_dir() {
        let (name, root) = (project.name, project.root);
        return Err(StartError::NoFolder { name, root }.into());
    }
    let loaded = config::load::load(&places, Some(&project.root), &options.settings);
    Ok(Found { project, loaded: loaded.map_err(StartError::from)? })
}

/// Returns the user's own settings.
fn own_settings(options: &Options) -> anyhow::Result<config::Settings> {
    let loaded = config::load::load(&Places::from_env()?, None, &options.settings);
    Ok(loaded.map_err(StartError::from)?.settings)
}

/// Returns the selected project with its settings and paths.
fn opened(options: &Options) -> anyhow::Result<(config::Project, config::Settings, ProjectPaths)> {
    let Found { project, loaded } = project_of(options)?;
    let paths = Places::from_env()?.project(&project)?;
    Ok((project, loaded.settings, paths))
}

fn prepare(found: Found, options: &Options) -> anyhow::Result<Prepared> {
    let Found { project, loaded } = found;
    loaded.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let (settings, paths) = (loaded.settings, Places::from_env()?.project(&project)?);
    paths.create_dirs()?;
    let is_brief = options.idle_exit.is_some_and(|limit| !limit.is_zero());
    let life = if is_brief { "until-idle" } else { "stay" };
    // Before any database is opened: only the holder of the lock may write.
    let lock = Lock::of(&paths.lock, life, settings.write.then_some(&project.root));
    let place = OpenProject {
        root: project.root,
        name: project.name,
        state_dir: paths.dir.clone(),
        parsing: Parsing::InWorkers(Workers::new(&settings.worker)?),
        settings,
    };
    Ok(Prepared { place, paths, lock: lock.map_err(StartError::from)? })
}

/// Returns what reads the settings of a project again: the same files, variables and flags as at the start.
fn source(root: PathBuf, flags: Vec<String>, logging: Logging) -> Source {
    let read = move || {
        let places = Places::from_env().map_err(|error| error.to_string())?;
        let loaded = config::load::load(&places, Some(&root), &flags);
        let loaded = loaded.map_err(|error| error.to_string())?;
        // A level that the log would refuse makes the whole reload fail, before anything has changed.
        log::filter_of(&loaded.settings.log)?;
        Ok(loaded)
    };
    let apply = move |settings: &config::Settings| logging.set_level(&settings.log);
    Source { read: Box::new(read), apply: Box::new(apply) }
}

async fn live(
    place: OpenProject,
    paths: ProjectPaths,
    lock: &mut Lock,
    options: &Options,
    logging: &Logging,
) -> anyhow::Result<End> {
    let mut signals = Signals::new()?;
    let manager = Manager::new();
    let usual = options.socket.as_deref().unwrap_or(&paths.socket);
    // The sockets are bound before the databases open, so that clients queue instead of finding nobody.
    let door = open_door(usual).await?;
    let (settings, token) = (&place.settings.http, paths.http_token.as_path());
    let (http, page, visitors) =
        HttpDoor::bind(options.http.as_deref(), settings, &place.name, token).await?;
    let (root, socket) = (place.root.display(), door.path().display());
    tracing::info!(project = place.name, %root, %socket, "starting");
    let project = tokio::select! {
        project = Project::open(place) => project?,
        // No client was served yet, so there is nothing to finish.
        name = signals.next() => return Ok(End::Asked(name)),
    };
    if let Some(http) = &http {
        project.serves_http_at(http.address(), http.warning());
    }
    project.rereads_by(source(project.root.clone(), options.settings.clone(), logging.clone()));
    publishing::begin(&project);
    manager.ready();
    let log = LogFile::at(&paths.log);
    let watching = watch(&project, lock, log, &manager, options.idle_exit, &mut signals);
    let ending = tokio::sync::watch::Sender::new(false);
    let waiting = ending.subscribe();
    let stop = move || {
        let mut ending = waiting.clone();
        async move {
            let _ = ending.wait_for(|it| *it).await;
        }
    };
    let routes = Arc::new(routes());
    let serving = tokio::spawn(serve(door, visitors, Arc::clone(&project), routes, stop()));
    let serving_page = tokio::spawn(page.serve(Arc::clone(&project), stop.clone()));
    let serving_http = http.map(|http| tokio::spawn(http.serve(Arc::clone(&project), stop())));
    let end = watching.await;
    tracing::info!(
        ?end,
        on_belt = project.n_on_belt(),
        "stopping: the belt has {DRAIN_SECONDS} s; a second signal stops at once"
    );
    manager.stopping();
    ending.send_replace(true);
    let sessions = serving.await?;
    let wound_down = async {
        // Another daemon writes by now, so the belt is its work.
        if matches!(end, End::Displaced(..)) {
            // New clients are refused from here on; those connected still wait for the belt.
            sessions.end(Duration::from_secs(FAREWELL_SECONDS)).await;
        } else {
            wind_down(&project, sessions).await;
        }
        if let Some(serving_http) = serving_http {
            let _ = serving_http.await;
        }
        let _ = serving_page.await;
    };
    tokio::select! {
        () = wound_down => {}
        name = signals.next() => tracing::warn!("{name} again: stopping at once"),
    }
    tracing::info!("stopped");
    Ok(end)
}

/// Returns the socket that systemd passed, or binds a new one at `usual`.
async fn open_door(usual: &Path) -> anyhow::Result<Door> {
    let Some(door) = from_systemd()? else { return Ok(Door::bind(usual).await?) };
    // Clients look at the usual path, wherever systemd listens.
    link_to(usual, door.path()).await?;
    Ok(door)
}

/// Finishes the belt, then disconnects the clients.
async fn wind_down(project: &Project, sessions: Sessions) {
    // Requests that wait for indexing see what the belt finishes; then all get a last reply.
    let limit = fail::number("stop.drain_ms").map(Duration::from_millis);
    let limit = limit.unwrap_or(Duration::from_secs(DRAIN_SECONDS));
    let drain = async {
        if let Some(ms) = fail::number("stop.hold_ms") {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        project.drain(limit).await;
    };
    if tokio::time::timeout(limit, drain).await.is_err() {
        tracing::warn!("the belt was not finished in time; the rest is indexed at the next start");
    }
    sessions.end(Duration::from_secs(FAREWELL_SECONDS)).await;
}

/// Returns when the daemon should end, with the reason.
async fn watch(
    project: &Arc<Project>,
    lock: &mut Lock,
    log: Option<LogFile>,
    manager: &Manager,
    idle_exit: Option<Duration>,
    signals: &mut Signals,
) -> End {
    let activity = project.activity().clone();
    // systemd's watchdog may want to hear from us more often.
    let mut heartbeat =
        tokio::time::interval(manager.interval().map_or(HEARTBEAT, |it| it.min(HEARTBEAT)));
    loop {
        tokio::select! {
            asked = signals.asked() => match asked {
                Some(name) => {
                    activity.request_stop();
                    return End::Asked(name);
                }
                None => reload(Arc::clone(project)).await,
            },
            () = activity.stop_requested() => return End::Asked("shutdown"),
            _ = heartbeat.tick() => {}
        }
        // Before idleness: a poisoned store must end with its own exit code.
        if let Some(why) = project.is_poisoned() {
            activity.request_stop();
            return End::Poisoned(why);
        }
        sys::courtesy::tend(project.has_only_background_work());
        match tend(lock).await {
            Ok(false) => {}
            Ok(true) => {
                let what = "its file was removed, replaced or cut; it is taken again".to_string();
                tracing::warn!(what, "the lock");
                project.health().mended("lock", what);
            }
            Err(error) => {
                activity.request_stop();
                let error = StartError::from(error);
                return End::Displaced(error.to_string(), error.exit_code());
            }
        }
        match log.as_ref().map(LogFile::tend).transpose() {
            Ok(is_made) if is_made != Some(true) => {}
            Ok(_) => {
                let what = "its file was removed or replaced; it is made again".to_string();
                tracing::warn!(what, "the log");
                project.health().mended("log", what);
            }
            Err(error) => tracing::debug!(%error, "the log cannot be made again yet"),
        }
        let n_on_belt = project.n_on_belt();
        manager.alive(activity.n_clients(), n_on_belt);
        let limit = idle_exit.filter(|limit| !limit.is_zero() && n_on_belt == 0);
        if limit.is_some_and(|limit| activity.idle_for(Instant::now()) >= limit) {
            activity.request_stop();
            return End::Idle;
        }
    }
}

/// Checks the lock. A daemon that starts meanwhile holds it for some milliseconds, until it finds our socket served,
/// hence the second try.
async fn tend(lock: &mut Lock) -> Result<bool, LockError> {
    match lock.tend() {
        Err(LockError::Held { .. }) => {
            tokio::time::sleep(FAILED_START).await;
            lock.tend()
        }
        tended => tended,
    }
}

/// Reads the settings again; errors are logged.
async fn reload(project: Arc<Project>) {
    let read = tokio::task::spawn_blocking(move || project.reload()).await;
    if let Ok(Err(why)) = read {
        tracing::error!(why, "the settings stay as they were");
    }
}

/// The signals that a daemon handles. With a terminal, `SIGHUP` asks it to end: closing the terminal must not leave a
/// half-written index. Without one, it asks to read the settings again.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    has_terminal: bool,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            has_terminal: std::fs::File::open("/dev/tty").is_ok(),
        })
    }

    /// Returns the name of the next signal that asks to end; none for one that asks to read the settings again.
    /// Cancel-safe.
    async fn asked(&mut self) -> Option<&'static str> {
        tokio::select! {
            _ = self.terminate.recv() => Some("SIGTERM"),
            _ = self.interrupt.recv() => Some("SIGINT"),
            _ = self.hang_up.recv() => self.has_terminal.then_some("SIGHUP"),
        }
    }

    /// Returns the name of the next signal that asks to end. Cancel-safe.
    async fn next(&mut self) -> &'static str {
        loop {
            if let Some(name) = self.asked().await {
                return name;
            }
        }
    }
}
