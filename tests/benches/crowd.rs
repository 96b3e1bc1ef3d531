//! Crowd: latency of calls while 64 clients ask, 8 write and decide, and a folder is ingested; and
//! whether every reply comes from a single commit, and whether memory grows.
//!
//! `cargo bench -p tests --bench crowd -- [--seconds 300] [--askers 64] [--writers 8] [--rude 0]
//! [--bulk 100000]`
//! `--rude N`: N more clients flood the daemon, read nothing, break off and vanish, repeatedly.
//! Exits with 1 if any reply was an error, torn, or older than what its client had seen.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use support::{percentile, spread};
use tests::TestProject;
use tests::crowd::{Crowd, Report};

/// Width of the longest bar, characters.
const BAR: usize = 50;

/// Interval between samples of the daemon's memory.
const LOOK: Duration = Duration::from_millis(200);

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let mut number = |name: &str, otherwise: usize| -> Result<usize> {
        Ok(support::option(&mut arguments, name).map_or(Ok(otherwise), |n| n.parse())?)
    };
    let seconds = Duration::from_secs(number("--seconds", 300)? as u64);
    let crowd = Crowd {
        n_askers: number("--askers", 64)?,
        n_writers: number("--writers", 8)?,
        n_rude: number("--rude", 0)?,
        n_bulk: number("--bulk", 100_000)?,
    };
    if !arguments.is_empty() {
        bail!("what is {arguments:?}? hint: cargo bench -p tests --bench crowd -- --seconds 300");
    }
    let mut project = TestProject::empty();
    project.set(&format!("watch.debounce_ms={}", config::Settings::default().watch.debounce_ms));
    crowd.prepare(&mut project);
    let (pid, cpu_before) = (project.pid(), support::cpu_of_process(project.pid())?);
    let started = Instant::now();
    let is_over = AtomicBool::new(false);
    let (report, anonymous) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| anonymous(pid, seconds, &is_over));
        let report = crowd.run(&project, |_| started.elapsed() >= seconds);
        is_over.store(true, Ordering::SeqCst);
        (report, watching.join().unwrap_or_default())
    });
    let took = started.elapsed().as_secs_f64();
    let cpu = support::cpu_of_process(pid)? - cpu_before;
    print(&crowd, &report, took);
    println!(
        "daemon: {:.1} of {took:.0} CPU seconds ({:.2} cores); resident {:.1} MiB, peak {:.1} MiB",
        cpu,
        cpu / took,
        support::memory_mib(pid, "VmRSS")?,
        support::memory_mib(pid, "VmHWM")?,
    );
    let tenths = anonymous.map(|mib| format!("{mib:.0}")).join(", ");
    println!("anonymous memory, MiB, the most in each tenth of the time: {tenths}");
    for complaint in &report.complaints {
        println!("WRONG: {complaint}");
    }
    let log = project.log();
    if !report.complaints.is_empty() || log.contains("ERROR") || log.contains("panicked") {
        bail!("not every reply was right\n--- the daemon's log\n{log}");
    }
    println!("no error, no torn read, no tick older than the one before, every write seen");
    Ok(())
}

/// Returns the peak of the daemon's anonymous memory in each tenth of the time, MiB.
fn anonymous(pid: u32, seconds: Duration, is_over: &AtomicBool) -> [f64; 10] {
    let mut peaks = [0.0_f64; 10];
    let started = Instant::now();
    while !is_over.load(Ordering::SeqCst) {
        let share = started.elapsed().as_secs_f64() / seconds.as_secs_f64();
        let peak = &mut peaks[((share * 10.0) as usize).min(9)];
        *peak = peak.max(support::memory_mib(pid, "RssAnon").unwrap_or(0.0));
        std::thread::sleep(LOOK);
    }
    peaks
}

fn print(crowd: &Crowd, report: &Report, took: f64) {
    let Crowd { n_askers, n_writers, n_rude, .. } = crowd;
    let n_replies: usize = report.times.values().map(Vec::len).sum();
    println!(
        "{n_askers} clients ask, {n_writers} write, {n_rude} are rude ({} visits), {} files ingested meanwhile, \
         {took:.0} s: {n_replies} replies, {:.0} a second",
        report.n_rude,
        report.n_bulk,
        n_replies as f64 / took
    );
    println!(
        "of {} ticks; {} replies compared with another of the same request and tick; {} showed versioned \
         documents; {} writes and {} decisions seen",
        report.n_ticks, report.n_compared, report.n_versioned, report.n_written, report.n_decided
    );
    for (tool, times) in &report.times {
        println!("{tool}, ms: p90 {:7.2}  {}", percentile(times, 0.9), spread(times));
        histogram(times);
    }
}

/// Prints a histogram with doubling limits: how many calls took up to 1, 2, 4, … ms.
fn histogram(times: &[f64]) {
    let mut bars: Vec<(f64, usize)> = Vec::new();
    let mut limit = 0.5;
    let mut n_before = 0;
    while n_before < times.len() {
        limit *= 2.0;
        let n = times.iter().filter(|ms| **ms <= limit).count();
        bars.push((limit, n - n_before));
        n_before = n;
    }
    let most = bars.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
    for (limit, n) in bars.iter().skip_while(|(_, n)| *n == 0) {
        let width = (n * BAR).div_ceil(most);
        println!("  ≤ {limit:>6.0} {:<BAR$} {n}", "█".repeat(width));
    }
}
