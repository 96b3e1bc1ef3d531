//! Served: where a project is served beside its socket, and of whom it has its index.
//!
//! Not here: serving (`serve/http.rs`), publishing and copying (`hub`).

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use config::limits::DEFAULT_PREDICATES;
use confine::Root;
use engine::build::Still;
use index::store::Readers;
use proto::tool::core::HubView;
use tokio::sync::{mpsc, oneshot};

use super::{Asked, OpenProject, Project};

/// The folder's own relations, as far as it states some where everybody does.
pub fn predicates_of(root: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 64 << 10;
    let content = Root::open(root).ok()?.read(DEFAULT_PREDICATES, MAX_BYTES).ok()??;
    String::from_utf8(content.bytes).ok()
}

/// What the publisher tells; it keeps this current.
pub type Published = Arc<Mutex<HubView>>;

impl Project {
    /// Opens a project whose index others make: nothing is watched, and what would write is refused.
    ///
    /// # Errors
    /// As [`Project::open`].
    pub async fn open_still(place: OpenProject, index: Still) -> anyhow::Result<Arc<Project>> {
        Self::open_with(place, Some(index)).await
    }

    /// Remembers where MCP is served over HTTP, and what the user should know about that.
    pub fn serves_http_at(&self, address: String, warning: Option<String>) {
        // It is said once.
        let _ = self.http.set((address, warning));
    }

    /// Where MCP is served over HTTP.
    pub fn http(&self) -> Option<&str> {
        self.http.get().map(|(address, _)| address.as_str())
    }

    /// What the user should know about HTTP.
    pub fn http_warning(&self) -> Option<&str> {
        self.http.get()?.1.as_deref()
    }

    /// Notes who serves the page for people.
    pub(crate) fn serves_page(&self, asked: mpsc::Sender<Asked>) {
        let _ = self.page.set(asked);
    }

    /// Has the page served; returns its address.
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

    /// True where others make the index: nothing is written, and there are no files.
    pub fn is_still(&self) -> bool {
        self.is_still
    }

    /// Remembers who tells how far the hub is behind.
    pub fn publishes(&self, published: Published) {
        // It is said once.
        let _ = self.published.set(published);
    }

    /// How far the hub is behind, where the project is published.
    pub fn hub(&self) -> Option<HubView> {
        let view = self.published.get()?.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tick = self.build.health.tick().0;
        Some(HubView { lag: tick.saturating_sub(view.tick.unwrap_or(0)), ..view })
    }

    /// The readers of what answers now.
    pub fn readers(&self) -> Arc<Readers> {
        self.answers.load_full()
    }
}
