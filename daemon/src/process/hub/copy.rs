//! Copy: a replica of one project, and the connections by which replicas are brought on.
//!
//! In: the hub's address, a project. Out: its replica at the hub's tick.
//! Invariants: all replicas together hold at most `MAX_LINES` connections; where fetching fails, a replica is as it
//! was.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use config::{Places, Project};
use hub::{Address, Copied, HubError, Visible};
use index::store::Replica;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Connections by which projects are copied. More would only wait for the same two ends.
const MAX_LINES: usize = 8;

/// Connections to copy by, which all projects share: PostgreSQL has a hundred, and there may be more projects.
pub(super) struct Lines {
    address: Address,
    free: Mutex<Vec<hub::Hub>>,
    turns: Semaphore,
}

impl Lines {
    /// Connections to the hub at this address; none is opened yet.
    pub(super) fn to(address: Address) -> Self {
        Lines { address, free: Mutex::default(), turns: Semaphore::new(MAX_LINES) }
    }

    /// Does something over a connection. One that failed is not used again. Blocks.
    fn with<T>(
        &self,
        runtime: &Handle,
        work: impl FnOnce(&mut hub::Hub) -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        // It is never closed.
        let _turn = runtime.block_on(self.turns.acquire());
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let known = free().pop();
        let mut hub = runtime.block_on(self.address.connect_unless(known))?;
        let done = work(&mut hub)?;
        free().push(hub);
        Ok(done)
    }
}

/// A replica of a project.
pub(super) struct Copy {
    lines: Arc<Lines>,
    pub(super) id: i32,
    pub(super) replica: Replica,
    pub(super) folder: PathBuf,
}

impl Copy {
    /// Opens the copy in a folder; nothing is fetched yet.
    pub(super) fn open(
        lines: &Arc<Lines>,
        it: &Visible,
        folder: &Path,
        settings: &config::Settings,
    ) -> anyhow::Result<Self> {
        let of = format!("hub {} {}", it.id, it.generation);
        let replica = Replica::open(folder, &of, settings.vectors.precision)?;
        let (lines, folder) = (Arc::clone(lines), folder.to_path_buf());
        Ok(Copy { lines, id: it.id, replica, folder })
    }

    /// Fetches new rows. If that fails, the copy stays as it was; it is lost only if the work
    /// itself broke off.
    pub(super) async fn brought_on(mut self) -> Result<(Self, Result<Copied, HubError>), HubError> {
        let runtime = Handle::current();
        let work = move || {
            let done = self.bring_on(&runtime);
            (self, done)
        };
        spawn_blocking(work).await.map_err(|error| HubError::Crashed(error.to_string()))
    }

    /// Removes what cannot be brought on; it is copied again when it is opened.
    pub(super) fn start_over(&self, project: &str) {
        tracing::info!(project, "copying from the start");
        std::fs::remove_file(self.folder.join("index.sqlite")).ok();
    }

    fn bring_on(&mut self, runtime: &Handle) -> Result<Copied, HubError> {
        let Copy { lines, id, replica, folder } = self;
        lines.with(runtime, |hub| hub::copy(runtime, hub, *id, replica, folder))
    }
}

/// Writes a project's own files: the settings that decide about answers, with writing forbidden. Returns the resulting
/// settings, which also follow the user's own and those `given` as flags.
pub(super) fn write_settings(
    user: &Places,
    given: &[String],
    place: &Project,
    it: &Visible,
) -> anyhow::Result<config::Settings> {
    let published = serde_json::from_str(&it.settled.settings).unwrap_or_default();
    let mut fields: serde_json::Map<String, serde_json::Value> = published;
    fields.insert("write".to_string(), false.into());
    let text = serde_json::Value::Object(fields).to_string();
    std::fs::write(place.root.join(config::load::PROJECT_FILE), text)?;
    let predicates = place.root.join(config::limits::DEFAULT_PREDICATES);
    match &it.settled.predicates {
        Some(text) => std::fs::write(predicates, text)?,
        None => drop(std::fs::remove_file(predicates)),
    }
    Ok(config::load::load(user, Some(&place.root), given)?.settings)
}
