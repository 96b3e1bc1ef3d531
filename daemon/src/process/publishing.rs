//! Publishing: keeps the hub up to date with what is committed here, in the background.
//!
//! In: a project whose user named a hub. Out: nothing, in the background; `status` shows the
//! progress.
//! Invariants: no commit and no reply waits for the hub; while it is unreachable only the network is tried, at growing
//! intervals; reading rows takes a tenth of a core at most.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hub::{Address, HubError, Publisher, Settled};
use proto::tool::core::HubView;
use server::project::{Project, Published, predicates_of};
use tokio::runtime::Handle;

/// Interval between checks for something to publish.
const LOOK: Duration = Duration::from_millis(500);

/// Interval between checks that the hub is as it was left: it may have been restored from a backup.
const CHECK: Duration = Duration::from_secs(10);

/// Pause after a round, as a multiple of its duration: with 9, a round takes a tenth of the time.
const RESTS: u32 = 9;

/// Longest time for which a folder that never settles is not published.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pauses after an error: the first, and the longest.
const TROUBLE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Starts the thread, if the settings name a hub; it ends with the project.
pub(super) fn begin(project: &Arc<Project>) {
    let settings = &project.settings.publish;
    if settings.url.is_empty() {
        return;
    }
    let name = if settings.project.is_empty() { &project.name } else { &settings.project };
    let mut view = HubView { project: name.clone(), ..HubView::default() };
    match Address::parse(&settings.url, settings) {
        Ok(address) => view.address = address.shown().to_string(),
        Err(error) => view.trouble = Some(error.to_string()),
    }
    let published: Published = Arc::new(Mutex::new(view));
    project.publishes(published.clone());
    let task = Task { project: Arc::downgrade(project), name: name.clone(), published };
    let runtime = Handle::current();
    let started =
        std::thread::Builder::new().name("publish".into()).spawn(move || task.run(&runtime));
    if let Err(error) = started {
        tracing::warn!(%error, "cannot start the publishing thread; nothing is published");
    }
}

struct Task {
    project: Weak<Project>,
    name: String,
    published: Published,
}

impl Task {
    fn run(self, runtime: &Handle) {
        let mut rest = Duration::ZERO;
        let mut trouble = TROUBLE.0;
        let mut publisher: Option<Publisher> = None;
        let mut last = Last::default();
        let mut checked = Instant::now();
        let mut announced = None;
        // Another publisher took over: this one must never write again, unless a person publishes this folder.
        let mut is_fenced = false;
        loop {
            let rested = Instant::now();
            let project = loop {
                // The thread holds the project only during a round, so that it can close.
                std::thread::sleep(LOOK);
                let Some(project) = self.project.upgrade() else { return };
                if project.activity().is_stopping() {
                    return;
                }
                let before = std::mem::replace(&mut announced, hub::announced(&project.state_dir));
                if before.is_some() && before != announced {
                    // `kgctl publish` went well, so nothing stands in the way any more.
                    (publisher, last, is_fenced) = (None, Last::default(), false);
                    trouble = TROUBLE.0;
                    self.update_view(|view| view.trouble = None);
                    break project;
                }
                if !is_fenced && rested.elapsed() >= rest {
                    break project;
                }
            };
            let is_due = last.is_due(&project);
            if !is_due && checked.elapsed() < CHECK {
                rest = LOOK;
                continue;
            }
            checked = Instant::now();
            if !is_due {
                let checked = publisher.as_mut().map_or(Ok(()), |it| it.check(runtime));
                if checked.is_ok() {
                    rest = LOOK;
                    continue;
                }
                // The round below reports the fault, or repairs it.
                (publisher, last) = (None, Last::default());
            }
            let opened = match publisher.take() {
                Some(publisher) => Ok(publisher),
                None => self.open(&project),
            };
            // The publisher is kept only after success: after an error, a new one compares everything.
            let round = opened.and_then(|mut it| {
                let done =
                    it.round(runtime, &project.readers(), &project.state_dir, &settled(&project))?;
                publisher = Some(it);
                Ok(done)
            });
            match round {
                Ok(round) => {
                    self.update_view(|view| (view.tick, view.trouble) = (Some(round.tick), None));
                    last.note(&project, round.tick);
                    (rest, trouble) = (round.took * RESTS, TROUBLE.0);
                    if round.n_rows > 0 {
                        tracing::debug!(round.tick, round.n_rows, round.n_all, "published");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "not published");
                    self.update_view(|view| view.trouble = Some(error.to_string()));
                    is_fenced = matches!(error, HubError::Fenced(_));
                    // `Moved` is repaired by the next round, so it comes soon; the pause does not start over until a
                    // success.
                    rest = if matches!(error, HubError::Moved(_)) { LOOK } else { trouble };
                    trouble =
                        if error.is_passing() { (trouble * 2).min(TROUBLE.1) } else { TROUBLE.1 };
                }
            }
        }
    }

    fn open(&self, project: &Project) -> Result<Publisher, HubError> {
        let settings = &project.settings.publish;
        let address = Address::parse(&settings.url, settings)?;
        Publisher::new(address, &self.name, &project.state_dir, false)
    }

    fn update_view(&self, what: impl FnOnce(&mut HubView)) {
        what(&mut self.published.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The state that was published last.
#[derive(Default)]
struct Last {
    tick: Option<u64>,
    n_better: u64,
    at: Option<Instant>,
}

impl Last {
    fn is_due(&self, project: &Project) -> bool {
        let is_new =
            // The first round waits until all is settled, however long that takes, because `at` is
            // `None` until then.
            self.tick != Some(project.health().tick().0) || self.n_better != n_better(project);
        let is_late = self.at.is_some_and(|at| at.elapsed() > PATIENCE);
        is_new && (project.settled().resolved || is_late)
    }

    fn note(&mut self, project: &Project, tick: u64) {
        *self = Last { tick: Some(tick), n_better: n_better(project), at: Some(Instant::now()) };
    }
}

/// Returns the number of better vectors, which change without a commit.
fn n_better(project: &Project) -> u64 {
    project.backfilled().map_or(0, |it| it.n_done)
}

fn settled(project: &Project) -> Settled {
    Settled {
        settings: config::load::of_answers(&project.settings),
        predicates: predicates_of(&project.root),
    }
}
