//! Waiting: the replies of a front end until it has reached the hub once.
//!
//! In: why the hub cannot be reached, and the registry of an earlier front end. Out: that reason, as the reply to every
//! call about one of its projects.
//! Invariant: no copy answers before the hub has stated what the role may see.

use std::sync::{Arc, Mutex, PoisonError};

use config::{Places, Registry};
use proto::error::{Code, ErrorView};
use server::serve::accept::refuse_with;
use server::serve::listen::Door;
use tokio::task::JoinSet;

/// The projects that were served before, each with a socket that replies with the error.
pub(super) struct Waiting {
    why: Arc<Mutex<ErrorView>>,
    doors: JoinSet<()>,
}

impl Waiting {
    /// Opens the sockets.
    pub(super) async fn begin(here: &Places, why: &str) -> anyhow::Result<Self> {
        tracing::warn!("the hub cannot be reached: {why}");
        let mut it = Waiting { why: Arc::new(Mutex::new(view(why))), doors: JoinSet::new() };
        for known in Registry::load(&here.config)?.projects() {
            let paths = here.project(&known.project())?;
            paths.create_dirs()?;
            let door = Door::bind(&paths.socket).await?;
            let why = Arc::clone(&it.why);
            it.doors.spawn(async move {
                while let Ok(stream) = door.accept().await {
                    let view = why.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    refuse_with(stream, view).await;
                }
            });
        }
        Ok(it)
    }

    /// Sets the present error.
    pub(super) fn note(&self, why: &str) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = view(why);
    }

    pub(super) fn why(&self) -> ErrorView {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes the sockets.
    pub(super) async fn end(mut self) {
        self.doors.shutdown().await;
    }
}

/// Converts an error of the hub for clients.
pub(super) fn view(why: &str) -> ErrorView {
    let (message, hint) = why.split_once("\nhint: ").unwrap_or((why, "see the front end's log"));
    let hint = format!("{hint}; the front end tries again by itself");
    ErrorView::hinted(Code::Unavailable, message.to_string(), hint)
}
