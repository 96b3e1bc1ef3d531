//! Served: where a project is served besides its socket, and who makes its index.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use config::limits::DEFAULT_PREDICATES;
use confine::Root;
use engine::build::Still;
use index::store::Readers;
use proto::tool::core::HubView;
use tokio::sync::{mpsc, oneshot};

use super::{Asked, OpenProject, Project};

/// Returns the text of the folder's own relations (`kg.predicates.toml`), if it has the file and can be read.
pub fn predicates_of(root: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 64 << 10;
    let content = Root::open_canonical(root).ok()?.read(DEFAULT_PREDICATES, MAX_BYTES).ok()??;
    String::from_utf8(content.bytes).ok()
}

/// The publisher's progress, which the publisher keeps current.
pub type Published = Arc<Mutex<HubView>>;

impl Project {
    /// Opens a project whose index is made elsewhere: nothing is watched, and writing is refused.
    ///
    /// # Errors
    /// As [`Project::open`].
    pub async fn open_still(place: OpenProject, index: Still) -> anyhow::Result<Arc<Project>> {
        Self::open_with(place, Some(index)).await
    }

    /// Sets the address of MCP over HTTP, and a warning for the user about it.
    pub fn serves_http_at(&self, address: String, warning: Option<String>) {
        // Called once, when the listener starts.
        let _ = self.http.set((address, warning));
    }

    /// Returns the address of MCP over HTTP.
    pub fn http(&self) -> Option<&str> {
        self.http.get().map(|(address, _)| address.as_str())
    }

    /// Returns the warning about HTTP for the user, if any.
    pub fn http_warning(&self) -> Option<&str> {
        self.http.get()?.1.as_deref()
    }

    /// Sets who serves the page for people.
    pub(crate) fn serves_page(&self, asked: mpsc::Sender<Asked>) {
        let _ = self.page.set(asked);
    }

    /// Starts the page for people; returns its address.
    ///
    /// # Errors
    /// Why it cannot be served.
    pub(crate) async fn open_page(&self) -> Result<String, String> {
        let (reply, address) = oneshot::channel();
        let asked = match self.page.get() {
            Some(page) => page.send(reply).await.is_ok(),
            None => false,
        };
        let gone = "this process serves no page".to_string();
        if asked { address.await.unwrap_or(Err(gone)) } else { Err(gone) }
    }

    /// Returns true when the index is made elsewhere: nothing is written, and there are no files.
    pub fn is_replica(&self) -> bool {
        self.is_replica
    }

    /// Sets the source of the hub's lag.
    pub fn publishes(&self, published: Published) {
        // Called once, when publishing starts.
        let _ = self.published.set(published);
    }

    /// Returns how far the hub is behind, if the project is published.
    pub fn hub(&self) -> Option<HubView> {
        let view = self.published.get()?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tick = self.build.health.tick().0;
        Some(HubView { lag: tick.saturating_sub(view.tick.unwrap_or(0)), ..view })
    }

    /// Returns the readers of the index that answers now.
    pub fn readers(&self) -> Arc<Readers> {
        self.answers.load_full()
    }
}
