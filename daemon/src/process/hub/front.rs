//! Front: serves the projects of a hub that its role may read, each over its own socket.
//!
//! In: a hub's address. Out: sockets where clients look for a project's daemon, and a registry that names the projects.
//! Invariants: a project is copied at the first request for it, and updated while it is open. A session sees whole
//! ticks. A revoked right ends the sessions and removes the copy. While the hub is unreachable, open copies answer as
//! of their tick. At most `MAX_OPEN` copies stay open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use config::{Places, Project as Place, ProjectPaths, Registry};
use engine::build::Still;
use formats::Parsing;
use hub::{Address, Copied, HubError, Visible};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::project::{OpenProject, Project};
use server::serve::accept::{refuse_with, serve};
use server::serve::listen::Door;
use server::serve::routes::routes;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::super::lock::Lock;
use super::super::{FAREWELL_SECONDS, Options, Signals, StartError};
use super::copy::{Copy, Lines, write_settings};
use super::fit::Fits;
use super::waiting::{self, Waiting};

/// The folder of the projects' own files.
const PROJECTS: &str = "projects";

/// Interval between queries for changes on the hub.
const LOOK: Duration = Duration::from_secs(1);

/// Longest wait for the answer to such a query.
const ANSWER: Duration = Duration::from_secs(5);

/// Most copies that stay open; beyond that, the least recently used are closed. Two questions' worth of projects; each
/// takes 13 MiB at 756 chunks (`tests/benches/RESULTS.md`, *hub*).
const MAX_OPEN: usize = 32;

/// A copy without a request for this long is closed.
const UNASKED: Duration = Duration::from_secs(600);

/// A copy with a request within this time counts as in use and stays open. Longer than the time between a client's
/// connection and its call.
const AT_WORK: Duration = Duration::from_secs(3);

/// The tools that work on a copy, which has none of the folder's files.
const TOOLS: [&str; 10] = [
    "hybrid_query",
    "ask",
    "read_passage",
    "entity_lookup",
    "explain_entity",
    "connect",
    "changes",
    "status",
    "graph",
    "dump",
];

/// One served project.
struct Front {
    news: watch::Sender<Visible>,
    task: JoinHandle<()>,
    place: Place,
    paths: ProjectPaths,
}

/// State that all projects share.
#[derive(Clone)]
struct Shared {
    address: Address,
    lines: Arc<Lines>,
    fits: Fits,
    user: Places,
    settings: Vec<String>,
    /// The last time a client was seen.
    seen: watch::Sender<Instant>,
    /// The projects whose copies are open, and when each was last asked about.
    open: Arc<Mutex<BTreeMap<i32, Instant>>>,
}

/// Returns whether a copy that is not in use must be closed. `open` has the last request for each open copy.
fn is_to_close(open: &BTreeMap<i32, Instant>, id: i32, now: Instant) -> bool {
    let Some(asked) = open.get(&id) else { return false };
    let age = now.saturating_duration_since(*asked);
    let n_younger = open.values().filter(|it| *it > asked).count();
    age >= UNASKED || age >= AT_WORK && n_younger >= MAX_OPEN
}

/// Raises the limit of open files to the hard limit. Each visible project has a socket, each open copy a dozen files,
/// and the usual soft limit is 1,024. A low hard limit bounds the number of projects.
fn open_more_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays");
    }
}

/// Serves until it is asked to stop, or no client came for `idle_exit`.
pub(super) async fn live(options: &Options, url: &str) -> anyhow::Result<ExitCode> {
    open_more_files();
    let mut signals = Signals::new()?;
    let user = Places::from_env()?;
    let here = user.of_hub(url);
    let control = here.front();
    std::fs::create_dir_all(&control.root)?;
    let paths = here.project(&control)?;
    paths.create_dirs()?;
    let idle = options.idle_exit.filter(|limit| !limit.is_zero());
    let life = if idle.is_some() { "until-idle" } else { "stay" };
    let _lock = Lock::take(&paths.lock, life).map_err(StartError::from)?;
    let address = Address::parse(url, &super::super::own_settings(options)?.publish)?;
    let (mut hub, mut waiting) = (None, None);
    // A hub that is down may come back: earlier copies stay hidden, and clients learn the reason. Other errors are
    // final.
    match address.connect().await {
        Ok(found) => hub = Some(found),
        Err(error) if error.is_passing() => {
            waiting = Some(Waiting::begin(&here, &error.to_string()).await?);
        }
        Err(error) => return Err(error.into()),
    }
    let mut connecting: Option<JoinHandle<Result<hub::Hub, HubError>>> = None;
    let seen = watch::Sender::new(Instant::now());
    let lines = Arc::new(Lines::to(address.clone()));
    let shared = Shared {
        fits: Fits::begin(address.clone()),
        address,
        lines,
        user,
        settings: options.settings.clone(),
        seen: seen.clone(),
        open: Arc::default(),
    };
    let mut fronts: BTreeMap<i32, Front> = BTreeMap::new();
    look(&mut hub, &shared, &here, &mut fronts).await?;
    // Bound last: a client that finds it open also finds the registry and the projects' sockets.
    let door = Door::bind(&paths.socket).await?;
    tracing::info!(hub = shared.address.shown(), projects = fronts.len(), "a front end");
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            name = signals.next() => {
                tracing::info!(name, "stopping");
                break;
            }
            // A client checks that the front end is running, or asks which projects fit a question.
            Ok(stream) = door.accept() => {
                let _ = seen.send_replace(Instant::now());
                match &waiting {
                    Some(waiting) => tokio::spawn(refuse_with(stream, waiting.why())),
                    None => tokio::spawn(shared.fits.clone().answer(stream)),
                };
            }
            // Connecting may take long, so it runs beside the loop.
            done = async { connecting.as_mut()?.await.ok() }, if connecting.is_some() => {
                connecting = None;
                match done {
                    Some(Ok(found)) => hub = Some(found),
                    Some(Err(error)) => {
                        waiting.iter().for_each(|it| it.note(&error.to_string()));
                    }
                    None => {}
                }
            }
            _ = ticks.tick() => {
                if hub.is_none() && connecting.is_none() {
                    let address = shared.address.clone();
                    connecting = Some(tokio::spawn(async move { address.connect().await }));
                }
                if hub.is_some() && let Some(waiting) = waiting.take() {
                    waiting.end().await;
                }
                if let Err(error) = look(&mut hub, &shared, &here, &mut fronts).await {
                    tracing::warn!(%error, "the hub cannot be reached; answering from copies");
                    hub = None;
                    // With copies, these keep answering; without any, clients must learn what is wrong.
                    if fronts.is_empty() {
                        waiting = Some(Waiting::begin(&here, &error.to_string()).await?);
                    }
                }
                if idle.is_some_and(|limit| seen.borrow().elapsed() >= limit) {
                    tracing::info!("nobody asks");
                    break;
                }
            }
        }
    }
    drop(door);
    for front in fronts.into_values() {
        front.end().await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Updates the served projects to those that are visible now.
async fn look(
    hub: &mut Option<hub::Hub>,
    shared: &Shared,
    here: &Places,
    fronts: &mut BTreeMap<i32, Front>,
) -> anyhow::Result<()> {
    let Some(hub) = hub else { return Ok(()) };
    // A database that hangs stops nothing else here.
    let seen = async { Ok::<_, HubError>((hub::visible(hub).await?, hub::same(hub).await?)) };
    let late = |_| anyhow::anyhow!("it does not answer within {} s", ANSWER.as_secs());
    let (visible, stated) = tokio::time::timeout(ANSWER, seen).await.map_err(late)??;
    shared.fits.see(&visible);
    let seen: BTreeSet<i32> = visible.iter().map(|it| it.id).collect();
    let gone: Vec<i32> = fronts.keys().copied().filter(|id| !seen.contains(id)).collect();
    let registry = here.config.join(config::registry::FILE_NAME);
    let mut has_changed = !gone.is_empty() || !registry.exists();
    for id in gone {
        let Some(front) = fronts.remove(&id) else { continue };
        let (state, root) = (front.paths.dir.clone(), front.place.root.clone());
        // In this order: the sessions end before their files are deleted.
        front.end().await;
        for folder in [state, root] {
            std::fs::remove_dir_all(&folder).ok();
        }
    }
    config::place::create_private_dir(&here.state.join(PROJECTS))?;
    for it in visible {
        if let Some(front) = fronts.get(&it.id) {
            front.news.send_if_modified(|known| {
                let is_new = *known != it;
                *known = it;
                is_new
            });
            continue;
        }
        has_changed = true;
        let root = here.state.join(PROJECTS).join(it.id.to_string());
        make(&root)?;
        let place = Place { root: root.canonicalize()?, name: it.name.clone() };
        let paths = here.project(&place)?;
        make(&paths.dir)?;
        paths.create_dirs()?;
        let door = Door::bind(&paths.socket).await?;
        let (news, visible) = watch::channel(it.clone());
        let work = run(shared.clone(), place.clone(), paths.clone(), door, visible);
        fronts.insert(it.id, Front { news, task: tokio::spawn(work), place, paths });
    }
    if has_changed {
        // After the sockets are bound, so that a registered project can be reached.
        register(here, fronts)?;
    }
    let row = |[one, other]: &[hub::Named; 2]| {
        [&one.project, &one.name, &other.project, &other.name].map(String::clone)
    };
    let text = serde_json::to_string(&stated.iter().map(row).collect::<Vec<_>>())?;
    if std::fs::read_to_string(here.same_as()).ok().as_ref() != Some(&text) {
        // Renamed into place, so that readers see the old text or the new one.
        let new = here.same_as().with_extension("new");
        std::fs::write(&new, text)?;
        std::fs::rename(&new, here.same_as())?;
    }
    Ok(())
}

/// Makes a folder of a copy, which need not outlive a crash: to sync those of a thousand takes five seconds.
fn make(folder: &Path) -> std::io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Writes the registry: clients find these projects as they find those of folders.
fn register(here: &Places, fronts: &BTreeMap<i32, Front>) -> anyhow::Result<()> {
    Registry::update(&here.config, |registry| {
        registry.replace_all(fronts.values().map(|front| &front.place));
        Ok(())
    })?;
    Ok(())
}

impl Front {
    /// Ends its sessions and waits for that.
    async fn end(self) {
        // The closed channel tells the task that the project is gone.
        drop(self.news);
        let _ = self.task.await;
    }
}

/// Serves one project until the role may no longer see it.
async fn run(
    shared: Shared,
    place: Place,
    paths: ProjectPaths,
    door: Door,
    mut visible: watch::Receiver<Visible>,
) {
    let mut door = Some(door);
    let mut first = None;
    loop {
        // It stays open whatever happens: clients that find it closed take the front end for dead.
        if door.is_none() {
            door = Door::bind(&paths.socket).await.ok();
        }
        let Some(bound) = &door else { return };
        // Nothing is copied for a project that nobody asks about.
        if first.is_none() {
            first = tokio::select! {
                first = bound.accept() => first.ok(),
                _ = until_gone(&mut visible) => return,
            };
        }
        if first.is_none() {
            continue;
        }
        match serve_one(&shared, &place, &paths, &mut door, &mut first, &mut visible).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(project = place.name, error = format!("{error:#}"), "not served");
                // The client that caused the copy learns why there is none, and the next one tries again.
                if let Some(first) = first.take() {
                    refuse_with(first, waiting::view(&format!("{error:#}"))).await;
                }
            }
        }
    }
}

async fn until_gone(visible: &mut watch::Receiver<Visible>) {
    while visible.changed().await.is_ok() {}
}

/// Serves one copy; returns false when the project is gone, true when the copy must be started over or opened with
/// other settings. While the hub is away, what was copied before answers.
async fn serve_one(
    shared: &Shared,
    place: &Place,
    paths: &ProjectPaths,
    door: &mut Option<Door>,
    first: &mut Option<tokio::net::UnixStream>,
    visible: &mut watch::Receiver<Visible>,
) -> anyhow::Result<bool> {
    let it = visible.borrow_and_update().clone();
    it.check()?;
    if it.generation == 0 {
        anyhow::bail!(
            "the hub's project `{}` is not published yet, or not as a whole\n\
             hint: see `kgctl status` where it is published",
            it.name
        );
    }
    let settings = write_settings(&shared.user, &shared.settings, place, &it)?;
    let copy = Copy::open(&shared.lines, &it, &paths.dir, &settings)?;
    let (copy, done) = copy.brought_on().await?;
    let is_behind = match done {
        Ok(Copied::At(..)) => false,
        Ok(Copied::Stale) => {
            copy.start_over(&place.name);
            return Ok(true);
        }
        Err(error) if error.is_away() && copy.replica.tick().0 > 0 => {
            tracing::warn!(project = place.name, %error, "answering from the copy as it is");
            true
        }
        Err(error) => return Err(error.into()),
    };
    let index = Still {
        readers: copy.replica.readers(),
        decisions: copy.replica.decisions().clone(),
        tick: copy.replica.tick(),
    };
    let open = OpenProject {
        root: place.root.clone(),
        name: place.name.clone(),
        state_dir: paths.dir.clone(),
        settings,
        parsing: Parsing::InProcess,
    };
    let project = Project::open_still(open, index).await?;
    let Some(bound) = door.take() else { return Ok(true) };
    let (visitors, of_visitors) = mpsc::channel(1);
    let ending = watch::Sender::new(false);
    let mut ends = ending.subscribe();
    let stop = async move {
        let _ = ends.wait_for(|it| *it).await;
    };
    let tools = Arc::new(routes().only(&TOOLS));
    let serving = tokio::spawn(serve(bound, of_visitors, Arc::clone(&project), tools, stop));
    // The client whose connection woke this project is the first one served.
    if let Some(first) = first.take() {
        let _ = visitors.send(first).await;
    }
    let id = it.id;
    let goes_on = follow(shared, &project, copy, is_behind, it, visible).await;
    shared.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    project.activity().request_stop();
    ending.send_replace(true);
    if let Ok(sessions) = serving.await {
        if goes_on {
            // Those who come meanwhile wait at the next door.
            *door = Door::bind(&paths.socket).await.ok();
        }
        sessions.end(Duration::from_secs(FAREWELL_SECONDS)).await;
    }
    drop((visitors, project));
    let _ = tokio::task::spawn_blocking(sys::release_free_memory).await;
    Ok(goes_on)
}

/// Updates the copy, which may be behind what the hub shows, until that fails or the project is gone. Returns as
/// [`serve_one`].
async fn follow(
    shared: &Shared,
    project: &Arc<Project>,
    mut copy: Copy,
    mut is_behind: bool,
    mut shown: Visible,
    visible: &mut watch::Receiver<Visible>,
) -> bool {
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            changed = visible.changed() => if changed.is_err() {
                return false;
            },
            _ = looks.tick() => {}
        }
        if project.activity().n_clients() > 0 {
            let _ = shared.seen.send_replace(Instant::now());
        }
        let now = Instant::now();
        let is_to_close = {
            let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(copy.id, project.activity().last_asked());
            !project.activity().is_asked() && is_to_close(&open, copy.id, now)
        };
        if is_to_close {
            tracing::debug!(project = project.name, "closed until it is asked about again");
            return true;
        }
        let it = visible.borrow_and_update().clone();
        if it == shown && !is_behind {
            continue;
        }
        // Another generation needs a new copy; other settings or a wrong version need the project opened again.
        if it.generation != shown.generation || it.settled != shown.settled || it.check().is_err() {
            return true;
        }
        let done;
        (copy, done) = match copy.brought_on().await {
            Ok(brought) => brought,
            Err(error) => {
                tracing::warn!(project = project.name, %error, "reopening the copy");
                return true;
            }
        };
        match done {
            Ok(Copied::At(..)) => {
                (shown, is_behind) = (it, false);
                project.health().changed();
            }
            Ok(Copied::Stale) => {
                copy.start_over(&project.name);
                return true;
            }
            // It answers as of its tick until the next query.
            Err(error) if error.is_passing() => {
                tracing::warn!(project = project.name, %error, "keeping the copy as it is");
            }
            Err(error) => {
                tracing::warn!(project = project.name, %error, "reopening the copy");
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_about_is_closed_and_of_many_the_oldest() {
        let now = Instant::now() + UNASKED * 2;
        let ago = |seconds: u64| now - Duration::from_secs(seconds);
        let closed = |open: &[u64]| -> Vec<i32> {
            let open: BTreeMap<i32, Instant> = (0..).zip(open.iter().map(|it| ago(*it))).collect();
            open.keys().copied().filter(|id| is_to_close(&open, *id, now)).collect()
        };
        assert_eq!(closed(&[599, 600, 1]), [1]);
        let mut many: Vec<u64> = (20..20 + MAX_OPEN as u64).collect();
        assert_eq!(closed(&many), Vec::<i32>::new());
        many.extend([100, 101]);
        assert_eq!(closed(&many), [MAX_OPEN as i32, MAX_OPEN as i32 + 1]);
        assert_eq!(closed(&[1; MAX_OPEN + 2]), Vec::<i32>::new(), "they are at work");
    }
}
