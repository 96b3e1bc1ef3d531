//! Copy: a replica of one project, and the connections by which replicas are brought on.
//!
//! In: the hub's address, a project. Out: its replica at the hub's tick.
//! Invariants: all replicas together hold at most `MAX_LINES` connections; where fetching fails, a replica is as it
//! was.
//! Not here: when (`front.rs`), how (`hub`).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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
        let mut hub = match known {
            Some(hub) => hub,
            None => runtime.block_on(self.address.connect())?,
        };
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

    fn bring_on(&mut self, runtime: &Handle) -> Result<Copied, HubError> {
        let Copy { lines, id, replica, folder } = self;
        lines.with(runtime, |hub| hub::copy(runtime, hub, *id, replica, folder))
    }
}
