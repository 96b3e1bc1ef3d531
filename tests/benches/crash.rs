//! Crash: kills a real daemon at random instants of its first index and of its work on changes, and
//! checks the result.
//!
//! `cargo bench -p tests --bench crash -- --kills 200` prints kills, restarts, what was missing,
//! duplicated or left over, and how long a restart took to settle. `--seed N` chooses other
//! instants, `--files N` another folder, `--compare N` compares with a rebuild after every N kills.
//! Exits with an error if anything was wrong.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

mod support;

use anyhow::{Result, ensure};
use support::{arguments, option};
use tests::Kills;

fn main() -> Result<()> {
    let mut given = arguments();
    let mut number = |name: &str, usual: u64| -> Result<u64> {
        Ok(option(&mut given, name).map(|text| text.parse()).transpose()?.unwrap_or(usual))
    };
    let plan = Kills {
        n_kills: number("--kills", 200)?,
        seed: number("--seed", 1)?,
        n_files: number("--files", 150)? as u32,
        compare_every: number("--compare", 10)?,
    };
    let figures = plan.run(|line| println!("{line}"));
    print!("{figures}");
    ensure!(figures.n_wrong() == 0, "{} things are wrong", figures.n_wrong());
    Ok(())
}
