//! Polite: what a build loses beside the background work of a daemon.
//!
//! `cargo bench -p tests --bench polite -- DATA_DIR COMMAND [--before COMMAND] [--rounds 4]`
//! A `kgd` that `kgctl` started reads the notes of DATA_DIR. Once they are searchable and linked, a
//! shell runs COMMAND by turns while the daemon is halted and while it reads deeply or makes
//! vectors; `--before` runs before each, untimed (`touch src/lib.rs`). Prints the seconds of both,
//! and the CPU seconds that the daemon took meanwhile.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::json;
use tests::{Client, TestProject};

/// Longest wait for the swift pass.
const PATIENCE: Duration = Duration::from_secs(300);

/// The daemon keeps its usual share for a moment after a call.
const AFTER_CALLS: Duration = Duration::from_secs(5);

/// The limit for the loss, percent.
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
    support::copy_notes(Path::new(data), project.root())?;
    kgctl(&project, &["query", "anything"])?;
    let measured = measure(&project, n_rounds, &before, command);
    kgctl(&project, &["stop"])?;
    let [halted, working] = measured?;
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
    for _ in 0..n_rounds {
        for (times, signal) in seconds.iter_mut().zip(["-STOP", "-CONT"]) {
            shell(before)?;
            ensure!(Command::new("kill").args([signal, &pid.to_string()]).status()?.success());
            let (started, cpu) = (Instant::now(), support::cpu_of_process(pid)?);
            let ran = shell(command);
            let (took, cpu) =
                (started.elapsed().as_secs_f64(), support::cpu_of_process(pid)? - cpu);
            println!("{signal}: {took:.2} s, the daemon took {cpu:.2} CPU s");
            times.push(took);
            // Also after a failure, so that the daemon can be stopped.
            Command::new("kill").args(["-CONT", &pid.to_string()]).status()?;
            ran?;
        }
    }
    Ok(seconds)
}

fn shell(command: &str) -> Result<()> {
    let mut shell = Command::new("setsid");
    let status = shell.args(["sh", "-c", command]).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "`{command}` failed: {status}");
    Ok(())
}

/// Waits until everything is searchable and linked.
fn linked(client: &mut Client) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let reply = client.call("status", json!({})).map_err(|error| anyhow!("{error}"))?;
        if reply["stages_settled"]["resolved"] == true {
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
