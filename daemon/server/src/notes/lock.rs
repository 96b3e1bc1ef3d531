//! Lock: writers of one project take turns, among the threads of this process and among processes.
//!
//! In: a writer. Out: its turn, or the name of the lock that another process holds.
//! Invariant: nobody waits beyond the deadline of its call, nor beyond most of a request's time: others hold the lock
//! for milliseconds.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{NoteError, Notes};
use crate::errand::until;

/// Interval between attempts to get the lock that another process holds.
const INTERVAL: Duration = Duration::from_millis(5);

/// The lock of a project's writers.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    /// Held by the thread whose turn it is to write.
    turns: Mutex<()>,
    /// Whether that thread waits for another process.
    is_waiting: AtomicBool,
}

/// The turn to write.
pub(super) struct WriterTurn<'a> {
    _file: File,
    _ours: MutexGuard<'a, ()>,
}

impl Notes {
    /// Waits until no other process holds the lock of writers, without a thread and without a turn.
    ///
    /// # Errors
    /// [`NoteError::Locked`] when the call has no time left.
    pub(crate) async fn undisturbed(&self) -> Result<(), NoteError> {
        self.lock.undisturbed(self.request_time()).await
    }

    fn request_time(&self) -> Duration {
        Duration::from_millis(self.settings.serve.request_deadline_ms)
    }

    /// As [`Notes::turn`], for work that does not write notes.
    pub(super) fn lock(&self) -> Result<WriterTurn<'_>, NoteError> {
        self.lock.take(self.request_time())
    }
}

impl WriterLock {
    /// Returns the lock in a project's state folder.
    pub(super) fn new(state_dir: &Path) -> Self {
        let path = state_dir.join("notes.lock");
        WriterLock { path, turns: Mutex::default(), is_waiting: AtomicBool::new(false) }
    }

    /// Waits until no other process holds it.
    async fn undisturbed(&self, request_time: Duration) -> Result<(), NoteError> {
        let deadline = deadline(request_time);
        while self.is_held_elsewhere() {
            if Instant::now() >= deadline {
                return Err(NoteError::Locked(self.path.clone()));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Waits for the turn; others wait until it is dropped.
    fn take(&self, request_time: Duration) -> Result<WriterTurn<'_>, NoteError> {
        let deadline = deadline(request_time);
        // Threads of this process queue here, so that one of them alone asks for the file again and again.
        let ours = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let taken = self.try_take();
            let is_held = matches!(taken, Err(TryLockError::WouldBlock));
            self.is_waiting.store(is_held, Ordering::Relaxed);
            match taken {
                Ok(file) => return Ok(WriterTurn { _file: file, _ours: ours }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Err(NoteError::Locked(self.path.clone())),
                Err(TryLockError::Error(why)) => {
                    return Err(NoteError::Io { path: self.path.display().to_string(), why });
                }
            }
        }
    }

    fn is_held_elsewhere(&self) -> bool {
        match self.turns.try_lock() {
            // Nobody of ours has it; the lock is dropped again at once.
            Ok(_) => matches!(self.try_take(), Err(TryLockError::WouldBlock)),
            Err(_) => self.is_waiting.load(Ordering::Relaxed),
        }
    }

    fn try_take(&self) -> Result<File, TryLockError> {
        let mut options = OpenOptions::new();
        let opened = options.create(true).append(true).mode(0o600).open(&self.path);
        let file = opened.map_err(TryLockError::Error)?;
        file.try_lock().map(|()| file)
    }
}

/// Returns when the current call must have the lock.
fn deadline(request_time: Duration) -> Instant {
    let until = until().map(tokio::time::Instant::into_std);
    until.into_iter().fold(Instant::now() + request_time / 5 * 4, Instant::min)
}
