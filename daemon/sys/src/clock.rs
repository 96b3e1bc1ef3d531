//! Clock: processor time of processes and threads.
//!
//! Works without `/proc`, and for a process that hides from others.

use std::time::Duration;

/// Largest process id of Linux. The kernel packs ids into clock ids, where a larger number would be another clock.
#[cfg(target_os = "linux")]
const MAX_PID: i32 = 1 << 22;

/// Returns zero: the system has no such clocks, as on macOS, where only wall-clock time is limited.
#[cfg(not(target_os = "linux"))]
pub fn process_cpu_time(_: u32) -> Duration {
    Duration::ZERO
}

/// Returns the processor time of all threads of a process; zero without such a process.
#[cfg(target_os = "linux")]
pub fn process_cpu_time(pid: u32) -> Duration {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid <= MAX_PID) else {
        return Duration::ZERO;
    };
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the call only writes to the place it is given, which lives until it returns, and refuses an id of no
    // process.
    let is_known = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } == 0;
    time_of(clock).filter(|_| is_known).unwrap_or_default()
}

/// Returns the processor time of this thread.
pub fn thread_cpu_time() -> Duration {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// Returns the time of a clock; `None` if there is no such clock.
fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes to the place it is given, which lives until it returns.
    let is_known = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    is_known.then(|| Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_computes_is_told() {
        let before = process_cpu_time(std::process::id());
        let mut n = 0_u64;
        while process_cpu_time(std::process::id()) <= before {
            n = std::hint::black_box(n + 1);
        }
        for nobody in [1 << 22, 0x3fff_ffff, u32::MAX] {
            assert_eq!(process_cpu_time(nobody), Duration::ZERO);
        }
    }
}
