//! Courtesy: yields to other sessions of the machine while nobody waits for this process.
//!
//! In: who waits, and whether anything but background work is under way. Out: the nice value of the whole session,
//! and whether background work should rest: while others press for the processors (`Documentation/accounting/psi.rst`
//! of the kernel), and on battery.
//! Kernels with autogroups, which most desktops have, share the processors among sessions first: a thread's own nice
//! value counts only within its session, so that background threads of one session take as much as a build in another
//! (`sched(7)`, "The autogroup feature").
//! Invariants: nothing is changed before [`begin`], and never in a session that has a terminal or that another
//! process leads, which would slow a person's shell down; the usual value is back before a call runs, unless the
//! kernel refuses (it allows ordinary users ten changes a second in total): then the next call, event or check tries
//! again.
//! Not here: the priorities of threads among each other (`crew.rs`).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The file with the session's nice value.
const AUTOGROUP: &str = "/proc/self/autogroup";

/// The lowest share: 1.5 % of that of a session at the usual value.
const LOW: i32 = 19;
const USUAL: i32 = 0;

/// How long the session keeps its usual share after somebody waited for it: calls and saves come in bursts.
const LINGER: Duration = Duration::from_secs(2);

/// Share of the last ten seconds in which something waited for a processor, percent: background work rests above the
/// first, until the share falls below the second. Without other work, its own threads wait for each other in 10 % of
/// the time on two cores, in 35 % on one.
const REST_ABOVE: f32 = 60.0;
const REST_UNTIL: f32 = 30.0;

/// How long a reading of the machine's state is valid.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

static COURTESY: Mutex<Courtesy> = Mutex::new(Courtesy {
    is_begun: false,
    gives_way: false,
    n_waiting: 0,
    n_for_work: 0,
    last_wanted: None,
    looked: None,
    reason: None,
});

/// True while the session is low. Separate from the mutex, since every call and event reads it.
static IS_LOW: AtomicBool = AtomicBool::new(false);

/// Wakes background work that is resting.
static WANTED: Notify = Notify::const_new();

struct Courtesy {
    is_begun: bool,
    /// True if the session's value may be changed while the session is this process's own.
    gives_way: bool,
    n_waiting: usize,
    n_for_work: usize,
    last_wanted: Option<Instant>,
    looked: Option<Instant>,
    reason: Option<&'static str>,
}

/// Starts to rest, and to yield where the kernel has autogroups. Call [`tend`] every second or two.
pub fn begin() {
    // A process on a terminal shares its session with a person's shell and jobs, also once the shell has ended.
    let is_on_terminal = std::fs::File::open("/dev/tty").is_ok();
    let mut courtesy = lock();
    courtesy.is_begun = true;
    courtesy.gives_way = !is_on_terminal && std::fs::metadata(AUTOGROUP).is_ok();
}

/// Returns whether this process leads its session, or the leader is gone: a client starts a daemon through a process
/// that opens a session and ends at once.
fn owns_its_session() -> bool {
    // In a container, the leader may be outside: then the kernel returns 0, which `rustix` does not accept as a
    // process id.
    // SAFETY: the call reads a number of this process and has no other effect.
    let leader = unsafe { libc::getsid(0) };
    let Some(leader) = rustix::process::Pid::from_raw(leader) else { return false };
    leader == rustix::process::getpid()
        || rustix::process::test_kill_process(leader) == Err(rustix::io::Errno::SRCH)
}

/// Returns why background work should rest now, in words; `None` while somebody waits for work.
pub fn rests() -> Option<&'static str> {
    let mut courtesy = lock();
    courtesy.look();
    courtesy.reason.filter(|_| courtesy.n_for_work == 0)
}

/// Returns why background work would rest if nobody waited for work.
pub fn reason() -> Option<&'static str> {
    let mut courtesy = lock();
    courtesy.look();
    courtesy.reason
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// An answer.
    Answer,
    /// Work that the answer needs: background work does not pause for it.
    Work,
}

/// Counts somebody as waiting for this process until it is dropped.
#[must_use]
pub struct Waiting(Wait);

/// Counts one more waiter; while any waits, the session keeps its usual share.
pub fn waiting(wait: Wait) -> Waiting {
    let mut courtesy = lock();
    courtesy.n_waiting += 1;
    courtesy.n_for_work += usize::from(wait == Wait::Work);
    drop(courtesy);
    attend();
    if wait == Wait::Work {
        WANTED.notify_waiters();
    }
    Waiting(wait)
}

/// Returns when somebody starts to wait for work.
pub async fn wanted() {
    WANTED.notified().await;
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut courtesy = lock();
        courtesy.n_waiting -= 1;
        courtesy.n_for_work -= usize::from(self.0 == Wait::Work);
        courtesy.last_wanted = Some(Instant::now());
    }
}

/// Records an event that a person may be waiting for: the session has its usual share for a while.
pub fn attend() {
    if IS_LOW.load(Ordering::Relaxed) {
        let mut courtesy = lock();
        courtesy.last_wanted = Some(Instant::now());
        courtesy.adjust(false);
    }
}

/// Yields while `only_background` is true and nobody waits, and only then. Call it every second or two.
pub fn tend(only_background: bool) {
    lock().adjust(only_background);
}

impl Courtesy {
    fn adjust(&mut self, only_background: bool) {
        let lingers = self.last_wanted.is_some_and(|at| at.elapsed() < LINGER);
        let is_low = self.gives_way && only_background && self.n_waiting == 0 && !lingers;
        if is_low == IS_LOW.load(Ordering::Relaxed) || is_low && !owns_its_session() {
            return;
        }
        match std::fs::write(AUTOGROUP, if is_low { LOW } else { USUAL }.to_string()) {
            Ok(()) => IS_LOW.store(is_low, Ordering::Relaxed),
            // The value was changed, by any process, less than a tenth of a second ago.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::info!(%error, "cannot lower the priority of background work");
                self.gives_way = false;
            }
        }
    }
}

impl Courtesy {
    /// Reads the machine's state, unless it was read a moment ago.
    fn look(&mut self) {
        if !self.is_begun || self.looked.is_some_and(|at| at.elapsed() < LOOK_AGAIN) {
            return;
        }
        self.looked = Some(Instant::now());
        let pressure = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
        let pressure = crate::fail::number("courtesy.pressure")
            .map_or_else(|| pressure_in(&pressure), |percent| Some(percent as f32));
        // Two limits, so that the work itself does not switch between resting and working all the time.
        let limit = if self.reason.is_some() { REST_UNTIL } else { REST_ABOVE };
        self.reason = if is_on_battery(Path::new("/sys/class/power_supply")) {
            Some("the machine runs on battery")
        } else if pressure.is_some_and(|percent| percent > limit) {
            Some("other programs use the processor")
        } else {
            None
        };
    }
}

/// Parses the share of the last ten seconds from the kernel's text: `some avg10=1.53 avg60=…`.
fn pressure_in(text: &str) -> Option<f32> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

/// Returns whether a battery is discharging and no mains supply is connected.
fn is_on_battery(supplies: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(supplies) else { return false };
    let (mut is_emptied, mut has_mains) = (false, false);
    for entry in entries.flatten() {
        let read =
            |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        match read("type").trim() {
            // `Device` is the battery of a peripheral, such as a mouse.
            "Battery" if read("scope").trim() != "Device" => {
                is_emptied |= read("status").trim() == "Discharging";
            }
            "Mains" | "USB" => has_mains |= read("online").trim() == "1",
            _ => {}
        }
    }
    is_emptied && !has_mains
}

fn lock() -> MutexGuard<'static, Courtesy> {
    COURTESY.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_long_others_wait() {
        let text = "some avg10=61.25 avg60=7.06 avg300=12.83 total=15\nfull avg10=0.00 total=0\n";
        assert_eq!(pressure_in(text), Some(61.25));
        for text in ["", "some", "full avg10=3.00", "some avg10=x"] {
            assert_eq!(pressure_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_battery_counts_while_it_is_emptied_without_mains() {
        let rows: [(&[[&str; 4]], bool); 6] = [
            (&[], false),
            (&[["Battery", "Discharging", "", ""]], true),
            (&[["Battery", "Charging", "", ""]], false),
            (&[["Battery", "Discharging", "", ""], ["Mains", "", "1", ""]], false),
            (&[["Battery", "Discharging", "", ""], ["Mains", "", "0", ""]], true),
            (&[["Battery", "Discharging", "", "Device"]], false),
        ];
        for (supplies, expected) in rows {
            let dir = tempfile::tempdir().expect("a folder");
            for (n, fields) in supplies.iter().enumerate() {
                let folder = dir.path().join(n.to_string());
                std::fs::create_dir(&folder).expect("a folder");
                for (name, text) in ["type", "status", "online", "scope"].iter().zip(fields) {
                    std::fs::write(folder.join(name), format!("{text}\n")).expect("a file");
                }
            }
            assert_eq!(is_on_battery(dir.path()), expected, "{supplies:?}");
        }
        assert!(!is_on_battery(Path::new("/nowhere")));
    }

    #[test]
    fn who_did_not_begin_never_rests() {
        assert_eq!((rests(), reason()), (None, None));
    }
}
