//! `kgctl restart`: stops the daemon and starts the installed one.

use client::launch::Life;

use super::context::{Context, last_words};
use super::failure::{Exit, Failure};
use super::{start, stop};

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    // A daemon that runs is better than one that was stopped and cannot be started again.
    target.check()?;
    // Before it is stopped: else an agent's shim might be faster, and start one that ends when it is idle.
    let claim = target.claim()?;
    stop::stop(&target).await?;
    let n_logged = target.paths.log.metadata().map_or(0, |log| log.len());
    let started = start::report(ctx, target.start_claimed(Life::Stay, claim)?, "restarted").await;
    match started {
        // What the daemon said as it ended tells more than that it hung up.
        Err(failure) => Err(last_words(&target, n_logged).await.unwrap_or(failure)),
        done => done,
    }
}
