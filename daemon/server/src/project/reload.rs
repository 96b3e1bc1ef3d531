//! Reload: reads the settings again while the project is open.
//!
//! In: the source of the settings. Out: what differs from those in use; changes that need no restart take effect.
//! Invariants: settings that are unreadable or wrong change nothing; a setting that needs a restart keeps its value.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use config::limits::DEFAULT_PREDICATES;
use config::live::{Change, is_reread, merged};
use config::load::PROJECT_FILE;
use config::{Loaded, Settings};
use jiff::Timestamp;

use super::Project;

/// Reads the settings of a daemon, and applies those that are not the project's.
pub struct Source {
    /// Reads them; the error names file, line and key.
    pub read: Box<dyn Fn() -> Result<Loaded, String> + Send + Sync>,
    /// Applies what only the process can, such as the level of its log.
    pub apply: Box<dyn Fn(&Settings) + Send + Sync>,
}

/// How to read the settings again, and when they were last read.
pub(super) struct Reread {
    source: OnceLock<Source>,
    /// Held while the settings are read, so that reloads run one at a time.
    read_at: Mutex<SystemTime>,
}

impl Reread {
    pub(super) fn new(opened: SystemTime) -> Self {
        Reread { source: OnceLock::new(), read_at: Mutex::new(opened) }
    }
}

/// The result of a reload.
#[derive(Debug, Clone, PartialEq)]
pub struct Reloaded {
    /// Changes that took effect.
    pub changed: Vec<Change>,
    /// Changes that take effect after a restart.
    pub restart: Vec<Change>,
    /// Settings that were ignored, and why.
    pub warnings: Vec<String>,
}

impl Project {
    /// Sets the source of the settings.
    pub fn rereads_by(&self, source: Source) {
        // Called once, at the start; a second source would be ignored.
        let _ = self.reread.source.set(source);
    }

    /// Reads the settings again and applies what can change without a restart.
    ///
    /// # Errors
    /// Why they cannot be read, or what is wrong with them; nothing has changed then.
    pub fn reload(&self) -> Result<Reloaded, String> {
        let source = self.reread.source.get();
        let source = source.ok_or("the settings of this project are read at its start only")?;
        let mut read_at = self.reread.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the read: a file that is saved during it still counts as newer.
        let now = SystemTime::now();
        // A folder that is missing has no settings, which must not count as having changed them.
        self.opened_root().map_err(|why| format!("the project's folder is missing: {why}"))?;
        let loaded = (source.read)()?;
        let (changes, merged) = merged(&self.settings, &loaded.settings);
        let (changed, restart): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|it| is_reread(&it.key));
        if !changed.is_empty() {
            (source.apply)(&merged);
            let watch = merged.watch.clone();
            self.settings.replace(merged);
            if changed.iter().any(|it| it.key.starts_with("watch.")) {
                self.watcher().set_settings(watch);
            }
        }
        // Otherwise the file still holds changes that are not in force, so `newer_settings` keeps reporting it.
        if restart.is_empty() {
            *read_at = now;
        }
        let keys = |changes: &[Change]| {
            changes.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(", ")
        };
        tracing::info!(
            changed = keys(&changed),
            restart = keys(&restart),
            "settings were read anew"
        );
        Ok(Reloaded { changed, restart, warnings: loaded.warnings })
    }

    /// Returns the folder's settings files that changed since they were read, each with the command that applies it.
    pub fn newer_settings(&self) -> Vec<(&'static str, &'static str)> {
        let read_at = *self.reread.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let root = self.opened_root();
        let is_newer = |name: &str, since: SystemTime| {
            let since = Timestamp::try_from(since).map_or(0, Timestamp::as_millisecond);
            let found = root.as_ref().ok().and_then(|root| root.find(name).ok());
            found.is_some_and(|found| found.meta.mtime_ms > since)
        };
        let files = [
            (PROJECT_FILE, "kgctl reload", read_at),
            (DEFAULT_PREDICATES, "kgctl restart", self.opened),
        ];
        let newer = files.into_iter().filter(|(name, _, since)| is_newer(name, *since));
        newer.map(|(name, command, _)| (name, command)).collect()
    }
}
