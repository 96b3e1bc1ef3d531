//! Courtesy: gives way to other sessions of the machine while nobody waits for this process.
//!
//! In: who waits, and whether anything but background work is under way. Out: the nice value of the session as a whole,
//! and whether background work should rest: while others press for the processors (`Documentation/accounting/psi.rst`
//! of the kernel), and on battery.
//! Kernels with autogroups, which most desktops have, share the processors among sessions first: a thread's own nice
//! value counts within its session only, so that background threads of one session take as much as a build in another
//! (`sched(7)`, "The autogroup feature").
//! Invariants: nothing is changed before [`begin`], and nothing by a process that does not lead its session, which
//! would slow a person's shell down; the usual value is back before a call runs, unless the kernel refuses (it lets
//! ordinary users change it ten times a second, all together): then the next call, event or look tries again.
//! Not here: the priorities of threads among each other (`crew.rs`).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Where the kernel keeps the value.
const AUTOGROUP: &str = "/proc/self/autogroup";

/// The lowest share: 1.5 % of what a session at the usual value gets.
const LOW: i32 = 19;
const USUAL: i32 = 0;

/// How long the session keeps its usual share after somebody waited for it: calls and saves come in bursts.
const LINGER: Duration = Duration::from_secs(2);

/// Share of the last ten seconds in which something waited for a processor, percent: background work rests above the
/// first, until it falls below the second. Without other work, its own threads wait for each other in 10 % of the time
/// on two cores, in 35 % on one.
const REST_ABOVE: f32 = 60.0;
const REST_UNTIL: f32 = 30.0;

/// How long an answer about the machine holds.
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

/// True while the session is low; apart from the rest, since every call and event looks at it.
static IS_LOW: AtomicBool = AtomicBool::new(false);

/// Wakes those who rest.
static WANTED: Notify = Notify::const_new();

struct Courtesy {
    is_begun: bool,
    /// The session's value may be changed.
    gives_way: bool,
    n_waiting: usize,
    n_for_work: usize,
    last_wanted: Option<Instant>,
    looked: Option<Instant>,
    reason: Option<&'static str>,
}

/// Begins to rest and to give way; the latter if this process leads its session and the kernel has autogroups. Call
/// [`tend`] now and then.
pub fn begin() {
    let leads = leads_its_session();
    let mut courtesy = lock();
    courtesy.is_begun = true;
    courtesy.gives_way = leads && std::fs::metadata(AUTOGROUP).is_ok();
}

fn leads_its_session() -> bool {
    // In a container, the leader may be outside: then the kernel says 0, which is no process to `rustix`.
    // SAFETY: both calls read numbers of this process and have no other effect.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Returns why background work should rest now, in words; nothing while somebody waits for work.
pub fn rests() -> Option<&'static str> {
    let mut courtesy = lock();
    courtesy.look();
    courtesy.reason.filter(|_| courtesy.n_for_work == 0)
}

/// Returns why background work rests while nobody waits for work.
pub fn reason() -> Option<&'static str> {
    let mut courtesy = lock();
    courtesy.look();
    courtesy.reason
}

/// For what somebody waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// An answer.
    Answer,
    /// Work that the answer needs: background work does not rest meanwhile.
    Work,
}

/// Somebody waits for this process, until this is dropped.
#[must_use]
pub struct Waiting(Wait);

/// Returns the mark of somebody who waits; the session has its usual share meanwhile.
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

/// Returns when somebody begins to wait for work.
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
        let is_low = self.gives_way && only_background && self.n_waiting == 0 && !lingers;
        if is_low == IS_LOW.load(Ordering::Relaxed) {
            return;
        }
        match std::fs::write(AUTOGROUP, if is_low { LOW } else { USUAL }.to_string()) {
            Ok(()) => IS_LOW.store(is_low, Ordering::Relaxed),
            // It was changed less than a tenth of a second ago, by anybody.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::info!(%error, "background work cannot give way to other sessions");
                self.gives_way = false;
            }
        }
    }
}

impl Courtesy {
    /// Looks at the machine, if that was a while ago.
    fn look(&mut self) {
        if !self.is_begun || self.looked.is_some_and(|at| at.elapsed() < LOOK_AGAIN) {
            return;
        }
        self.looked = Some(Instant::now());
        let pressure = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
        let pressure = crate::fail::number("courtesy.pressure")
            .map_or_else(|| pressure_in(&pressure), |percent| Some(percent as f32));
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

/// The share of the last ten seconds in the kernel's words: `some avg10=1.53 avg60=…`.
fn pressure_in(text: &str) -> Option<f32> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

/// True when a battery is being emptied and no supply from the mains is on.
fn is_on_battery(supplies: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(supplies) else { return false };
    let (mut is_emptied, mut has_mains) = (false, false);
    for entry in entries.flatten() {
        let read =
            |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        match read("type").trim() {
            // A mouse has a battery, too.
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
