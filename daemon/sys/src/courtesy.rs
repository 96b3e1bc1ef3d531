//! Courtesy: yields to other sessions of the machine while nobody waits for this process.
//!
//! In: who waits, and whether anything but background work is under way. Out: the nice value of the whole session,
//! and whether background work should rest: while others press for the processors (`Documentation/accounting/psi.rst`
//! of the kernel) or use much of them ([`Load`]), and on battery.
//! Kernels with autogroups, which most desktops have, share the processors among sessions first: a thread's own nice
//! value counts only within its session, so that background threads of one session take as much as a build in another
//! (`sched(7)`, "The autogroup feature").
//! Invariants: nothing is changed before [`begin`], and never in a session that has a terminal or that another
//! process leads, which would slow a person's shell down; the usual value is back before a call runs, unless the
//! kernel refuses (it allows ordinary users ten changes a second in total): then the next call, event or check tries
//! again.

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

/// The same for the share of the processors' time that other programs use. Processors that share hardware slow each
/// other down though nothing waits: work that used only the sixth of the time that a build left idle made the build
/// longer by a sixth.
const REST_ABOVE_USE: f32 = 40.0;
const REST_UNTIL_USE: f32 = 20.0;

/// How long work rests for other programs before it has a turn, and how long that turn is: a machine that is always
/// busy gets its index, too.
const LONGEST_REST: Duration = Duration::from_secs(600);
const TURN: Duration = Duration::from_secs(60);

/// How long a reading of the machine's state is valid.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Age from which a reading says nothing about now. While background work is due, there is one every second or two.
const STALE: Duration = Duration::from_secs(10);

static COURTESY: Mutex<Courtesy> = Mutex::new(Courtesy {
    is_begun: false,
    gives_way: false,
    n_waiting: 0,
    n_for_work: 0,
    last_wanted: None,
    looked: None,
    reason: None,
    load: Load::NONE,
    turns: Turns::NONE,
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
    load: Load,
    turns: Turns,
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
        let now = Instant::now();
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let is_stale = |at: Instant| now.saturating_duration_since(at) > STALE;
        if self.looked.replace(now).is_some_and(is_stale) {
            // Nothing was due meanwhile, so nothing rested, and the average says nothing about now.
            (self.load, self.turns) = (Load::NONE, Turns::NONE);
        }
        let given = crate::fail::number("courtesy.pressure");
        let pressure = match given {
            Some(percent) => Some(percent as f32),
            None => {
                self.load.add(now, times_in(&read("/proc/stat"), &read("/proc/self/stat")));
                pressure_in(&read("/proc/pressure/cpu"))
            }
        };
        let is_busy = is_busy(pressure, self.load.percent, self.turns.is_resting());
        let rests = self.turns.next(now, is_busy);
        self.reason = if is_on_battery(Path::new("/sys/class/power_supply")) {
            Some("the machine runs on battery")
        } else {
            rests.then_some("other programs use the processor")
        };
    }
}

/// Returns whether other programs are busy, by the pressure and their use of the processors, percent. Two limits each,
/// so that the work itself does not switch between resting and working all the time.
fn is_busy(pressure: Option<f32>, used: f32, is_resting: bool) -> bool {
    let (most_pressure, most_use) =
        if is_resting { (REST_UNTIL, REST_UNTIL_USE) } else { (REST_ABOVE, REST_ABOVE_USE) };
    pressure.is_some_and(|percent| percent > most_pressure) || used > most_use
}

/// Times since the machine started, in the kernel's ticks: of all processors, and those of work that matters to others:
/// user time at the usual priority, and system time, which the kernel does not split by priority, without this
/// process's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    all: u64,
    others: u64,
}

/// How much of the processors other programs use.
///
/// User time at a lower priority does not count: neither that of this process's own background work, nor that of other
/// daemons, which would rest for each other. Answers of this process count, since they come before background work,
/// too.
struct Load {
    /// An average that forgets: what is older than [`Load::MEMORY`] weighs a third.
    percent: f32,
    last: Option<(Instant, Times)>,
}

impl Load {
    const NONE: Load = Load { percent: 0.0, last: None };

    /// Long enough that a compiler's pause between two crates is not taken for its end.
    const MEMORY: Duration = Duration::from_secs(5);

    /// Adds a reading; without one, the last average stays.
    fn add(&mut self, now: Instant, times: Option<Times>) {
        let Some(times) = times else { return };
        let Some((at, last)) = self.last.replace((now, times)) else { return };
        let (all, others) =
            (times.all.saturating_sub(last.all), times.others.saturating_sub(last.others));
        if all == 0 {
            return;
        }
        let share = (others as f32 / all as f32 * 100.0).min(100.0);
        let age = now.saturating_duration_since(at).as_secs_f32() / Self::MEMORY.as_secs_f32();
        self.percent += (share - self.percent) * (1.0 - (-age).exp());
    }
}

/// Lets work have a turn after a long rest.
struct Turns {
    /// When the rest or the turn began.
    changed: Option<Instant>,
    is_turn: bool,
}

impl Turns {
    const NONE: Turns = Turns { changed: None, is_turn: false };

    /// True while other programs are the reason to rest, also in a turn.
    fn is_resting(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns whether work rests now, given whether other programs are busy.
    fn next(&mut self, now: Instant, is_busy: bool) -> bool {
        if !is_busy {
            *self = Turns::NONE;
            return false;
        }
        let since = *self.changed.get_or_insert(now);
        let longest = if self.is_turn { TURN } else { LONGEST_REST };
        if now.saturating_duration_since(since) >= longest {
            *self = Turns { changed: Some(now), is_turn: !self.is_turn };
        }
        !self.is_turn
    }
}

/// Parses the first line of `/proc/stat` (`cpu user nice system idle iowait irq softirq steal …`) and this process's
/// own `/proc/self/stat` (`pid (name) state …`), both in `proc(5)`.
fn times_in(machine: &str, own: &str) -> Option<Times> {
    let fields: Option<Vec<u64>> = machine
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_ascii_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect();
    let fields = fields?;
    let [user, _nice, system, ..] = fields[..] else { return None };
    // The fifteenth field; the kernel counts the rest of this process's background work as `nice`.
    let own_system: u64 = own.rsplit_once(')')?.1.split_ascii_whitespace().nth(12)?.parse().ok()?;
    Some(Times { all: fields.iter().sum(), others: (user + system).saturating_sub(own_system) })
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
    fn time_at_the_usual_priority_counts_but_for_this_process_s_own_in_the_kernel() {
        let own = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 900 50 0 0 20 0 9 0 88 4096 10";
        let machine = "cpu  400 3000 150 5000 40 6 4 0 300 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(times_in(machine, own), Some(Times { all: 8600, others: 500 }));
        for (machine, own) in [
            ("", own),
            ("cpu  1 x 3 4", own),
            ("cpu  1 2", own),
            ("intr 1 2 3", own),
            (machine, ""),
        ] {
            assert_eq!(times_in(machine, own), None, "{machine} {own}");
        }
    }

    #[test]
    fn the_load_follows_within_seconds_and_outlasts_a_pause() {
        let (start, mut load) = (Instant::now(), Load::NONE);
        let (mut second, mut times) = (0, Times { all: 0, others: 0 });
        let mut run = |load: &mut Load, seconds: u64, percent: u64| {
            for _ in 0..seconds {
                second += 1;
                times = Times { all: times.all + 200, others: times.others + 2 * percent };
                load.add(start + Duration::from_secs(second), Some(times));
            }
            load.percent
        };
        assert_eq!(run(&mut load, 1, 100), 0.0, "one reading is no load");
        assert!(run(&mut load, 2, 100) < REST_ABOVE_USE);
        assert!(run(&mut load, 2, 100) > REST_ABOVE_USE);
        assert!(run(&mut load, 60, 100) > 99.0);
        assert!(run(&mut load, 5, 0) > REST_UNTIL_USE);
        assert!(run(&mut load, 5, 0) < REST_UNTIL_USE);
        let before = load.percent;
        load.add(start, None);
        assert_eq!(load.percent, before);
    }

    #[test]
    fn pressure_and_use_each_make_the_machine_busy_and_lower_limits_end_it() {
        let rows = [
            (Some(0.0), 0.0, [false, false]),
            (Some(61.0), 0.0, [true, true]),
            (Some(31.0), 0.0, [false, true]),
            (Some(0.0), 41.0, [true, true]),
            (Some(0.0), 21.0, [false, true]),
            (Some(30.0), 20.0, [false, false]),
            (None, 41.0, [true, true]),
            (None, 0.0, [false, false]),
        ];
        for (pressure, used, expected) in rows {
            let busy = [false, true].map(|is_resting| is_busy(pressure, used, is_resting));
            assert_eq!(busy, expected, "{pressure:?} {used}");
        }
    }

    #[test]
    fn after_ten_minutes_of_rest_work_has_a_turn_of_one() {
        let start = Instant::now();
        let mut turns = Turns::NONE;
        let rows = [
            (0, false, false),
            (1, true, true),
            (600, true, true),
            (601, true, false),
            (660, true, false),
            (661, true, true),
            (1260, true, true),
            (1261, true, false),
            (1262, false, false),
            (1263, true, true),
            (1862, true, true),
        ];
        for (second, is_busy, rests) in rows {
            assert_eq!(turns.next(start + Duration::from_secs(second), is_busy), rests, "{second}");
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
