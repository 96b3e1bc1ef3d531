//! Polite: what a build loses beside the background work of a daemon.
//!
//! `cargo bench -p tests --bench polite -- DATA_DIR COMMAND [--before COMMAND] [--rounds 4]`
//! A `kgd` that `kgctl` started reads the notes of DATA_DIR. Once they are searchable and linked, a
//! shell runs COMMAND by turns while the daemon is halted and while it is free to read deeply and
//! to make vectors; `--before` runs before each, untimed (`touch src/lib.rs`). Prints the seconds of both,
//! and the CPU seconds that the daemon took meanwhile.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tests::{Client, TestProject};

/// Longest wait for the swift pass.
const PATIENCE: Duration = Duration::from_secs(300);

/// The daemon keeps its usual share for a moment after a call.
const AFTER_CALLS: Duration = Duration::from_secs(5);

/// The most that a build should lose, percent.
const LIMIT: f64 = 3.0;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let n_rounds: usize =
        support::option(&mut arguments, "--rounds").map_or(Ok(4), |n| n.parse())?;
    let before = support::option(&mut arguments, "--before").unwrap_or_default();
    let [data, command] = arguments.as_slice() else {
        bail!("which data and command? hint: … --bench polite -- DATA_DIR 'cargo build'")
    };
    let project = TestProject::empty();
    let _stopped_at_the_end = Started(&project);
    support::copy_notes(Path::new(data), project.root())?;
    kgctl(&project, &["query", "anything"])?;
    let [halted, working] = measure(&project, n_rounds, &before, command)?;
    let (alone, beside) = (support::median(&halted), support::median(&working));
    let loss = (beside / alone - 1.0) * 100.0;
    println!("median {alone:.1} s alone, {beside:.1} s beside: {loss:+.1} % (limit {LIMIT} %)");
    Ok(())
}

/// Returns the seconds of each run of the command: with the daemon halted, and at work.
fn measure(
    project: &TestProject,
    n_rounds: usize,
    before: &str,
    command: &str,
) -> Result<[Vec<f64>; 2]> {
    let lock = std::fs::read_to_string(&project.paths().lock)?;
    let pid: u32 = lock.split_whitespace().next().context("the lock names no process")?.parse()?;
    linked(&mut Client::admin(&project.paths().socket))?;
    std::thread::sleep(AFTER_CALLS);
    let mut seconds = [Vec::new(), Vec::new()];
    for round in 0..n_rounds {
        // By turns also within a pair, so that a drift of the machine counts on both sides.
        let mut pair: Vec<_> = seconds.iter_mut().zip(["STOP", "CONT"]).collect();
        if round % 2 == 1 {
            pair.reverse();
        }
        for (times, signal) in pair {
            shell(before)?;
            let _runs_on = Signalled::new(pid, signal)?;
            let (started, cpu) = (Instant::now(), support::cpu_of_process(pid)?);
            shell(command)?;
            let (took, cpu) =
                (started.elapsed().as_secs_f64(), support::cpu_of_process(pid)? - cpu);
            println!("SIG{signal}: {took:.2} s, the daemon took {cpu:.2} CPU s");
            times.push(took);
        }
    }
    // A daemon that rested has work left; one without work would flatter the last rounds.
    let left = status(&mut Client::admin(&project.paths().socket))?;
    ensure!(
        left["embedding"]["state"] != "done",
        "the daemon's work ended too early\nhint: fewer `--rounds`"
    );
    Ok(seconds)
}

/// A daemon that was sent a signal; it goes on at the end.
struct Signalled(String);

impl Signalled {
    fn new(pid: u32, signal: &str) -> Result<Self> {
        let sent = Signalled(pid.to_string());
        ensure!(sent.kill(signal)?.success(), "SIG{signal} cannot be sent to {pid}");
        Ok(sent)
    }

    fn kill(&self, signal: &str) -> std::io::Result<ExitStatus> {
        Command::new("kill").args(["-s", signal, &self.0]).status()
    }
}

impl Drop for Signalled {
    fn drop(&mut self) {
        let _ = self.kill("CONT");
    }
}

/// Stops the daemon that a client has started.
struct Started<'a>(&'a TestProject);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        let _ = kgctl(self.0, &["stop"]);
    }
}

fn shell(command: &str) -> Result<()> {
    let mut shell = Command::new("setsid");
    let status = shell.args(["sh", "-c", command]).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "`{command}` failed: {status}");
    Ok(())
}

fn status(client: &mut Client) -> Result<Value> {
    client.call("status", json!({})).map_err(|error| anyhow!("{error}"))
}

/// Waits until everything is searchable and linked.
fn linked(client: &mut Client) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if status(client)?["stages_settled"]["resolved"] == true {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    bail!("names are not linked after {PATIENCE:?}")
}

fn kgctl(project: &TestProject, arguments: &[&str]) -> Result<()> {
    let mut kgctl = project.kgctl();
    let output = kgctl.arg("--project").arg(project.root()).args(arguments).output()?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kgctl {arguments:?}: {why}");
    Ok(())
}
