//! Courtesy: gives way to other sessions of the machine while nobody waits for this process.
//!
//! In: who waits, and whether anything but background work is under way. Out: the nice value of the session as a whole.
//! Kernels with autogroups, which most desktops have, share the processors among sessions first: a thread's own nice
//! value counts within its session only, so that background threads of one session take as much as a build in another
//! (`sched(7)`, "The autogroup feature").
//! Invariants: nothing is changed before [`begin`], and nothing by a process that does not lead its session, which
//! would slow a person's shell down; the usual value is back before a call runs, unless the kernel refuses (it lets
//! ordinary users change it ten times a second, all together): then the next call, event or look tries again.
//! Not here: the priorities of threads among each other (`crew.rs`).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where the kernel keeps the value.
const AUTOGROUP: &str = "/proc/self/autogroup";

/// The lowest share: 1.5 % of what a session at the usual value gets.
const LOW: i32 = 19;
const USUAL: i32 = 0;

/// How long the session keeps its usual share after somebody waited for it: calls and saves come in bursts.
const LINGER: Duration = Duration::from_secs(2);

static COURTESY: Mutex<Courtesy> =
    Mutex::new(Courtesy { is_begun: false, n_waiting: 0, last_wanted: None });

/// True while the session is low; apart from the rest, since every call and event looks at it.
static IS_LOW: AtomicBool = AtomicBool::new(false);

struct Courtesy {
    is_begun: bool,
    n_waiting: usize,
    last_wanted: Option<Instant>,
}

/// Begins to give way, if this process leads its session and the kernel has autogroups. Call [`tend`] now and then.
pub fn begin() {
    let leads = rustix::process::getsid(None).ok() == Some(rustix::process::getpid());
    lock().is_begun = leads && std::fs::metadata(AUTOGROUP).is_ok();
}

/// Somebody waits for this process, until this is dropped.
#[must_use]
pub struct Waiting(());

/// Returns the mark of somebody who waits; the session has its usual share meanwhile.
pub fn waiting() -> Waiting {
    lock().n_waiting += 1;
    attend();
    Waiting(())
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut courtesy = lock();
        courtesy.n_waiting -= 1;
        courtesy.last_wanted = Some(Instant::now());
    }
}

/// Something has happened that a person may wait for: the session has its usual share for a while.
pub fn attend() {
    if IS_LOW.load(Ordering::Relaxed) {
        let mut courtesy = lock();
        courtesy.last_wanted = Some(Instant::now());
        courtesy.adjust(false);
    }
}

/// Gives way while `only_background` and nobody waits, and only then. To be called every second or two.
pub fn tend(only_background: bool) {
    lock().adjust(only_background);
}

impl Courtesy {
    fn adjust(&mut self, only_background: bool) {
        let lingers = self.last_wanted.is_some_and(|at| at.elapsed() < LINGER);
        let is_low = self.is_begun && only_background && self.n_waiting == 0 && !lingers;
        if is_low == IS_LOW.load(Ordering::Relaxed) {
            return;
        }
        match std::fs::write(AUTOGROUP, if is_low { LOW } else { USUAL }.to_string()) {
            Ok(()) => IS_LOW.store(is_low, Ordering::Relaxed),
            // It was changed less than a tenth of a second ago, by anybody.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::info!(%error, "background work cannot give way to other sessions");
                self.is_begun = false;
            }
        }
    }
}

fn lock() -> MutexGuard<'static, Courtesy> {
    COURTESY.lock().unwrap_or_else(PoisonError::into_inner)
}
