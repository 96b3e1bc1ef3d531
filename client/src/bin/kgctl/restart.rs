//! `kgctl restart`: stops the daemon and starts the installed one.

use client::launch::Life;

use super::context::{Context, last_words};
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // Checked first: a running daemon is better than a stopped one that cannot be started again.
    target.check()?;
    // Claimed before the stop: otherwise an agent's shim might start one that ends when it is idle.
    let claim = target.claim()?;
    stop::stop(&target).await?;
    let n_logged = target.paths.log.metadata().map_or(0, |log| log.len());
    let started = start::report(ctx, target.start_claimed(Life::Stay, claim)?, "restarted").await;
    match started {
        // The daemon's last log lines explain more than the closed connection.
        Err(failure) => Err(last_words(&target, n_logged).await.unwrap_or(failure)),
        done => done,
    }
}
