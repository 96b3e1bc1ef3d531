//! Attempt: the steps from no daemon to one that answers.
//!
//! In: a target that does not answer. Out: more waiting, a start, or why waiting is useless.
//! Invariants: while another process holds the lock, or the claim to start, this waits for it; a
//! daemon of ours that gave way to another is not a failure, and is started again if the other one
//! ends.

use std::time::{Duration, Instant};

use super::{Claim, HOLDER_TIMEOUT, LaunchError, Life, START_TIMEOUT, Target, is_alive};

/// Start of the last message of a daemon that found the lock taken.
const GAVE_WAY: &str = "kgd: another daemon";

/// Most daemons started in one attempt: each but the last gave way to another that ended at once.
const MAX_STARTS: u32 = 5;

pub(super) struct Launch<'a> {
    target: &'a Target,
    life: Life,
    /// The daemon that we started: its process id, the previous length of the log, and when.
    ours: Option<(u32, u64, Instant)>,
    n_starts: u32,
    /// Since when another process has held the lock.
    held_since: Option<Instant>,
    /// Since when another client has had the claim.
    claimed_since: Option<Instant>,
    claim: Option<Claim>,
}

impl<'a> Launch<'a> {
    pub(super) fn new(target: &'a Target, life: Life, claim: Option<Claim>) -> Self {
        let (ours, held_since, claimed_since) = (None, None, None);
        Launch { target, life, ours, n_starts: 0, held_since, claimed_since, claim }
    }

    /// Takes the next step while no daemon answers.
    pub(super) fn go_on(&mut self) -> Result<(), LaunchError> {
        // Our own daemon first: while it starts, it also holds the lock checked below.
        if let Some((pid, log_bytes, since)) = self.ours {
            if is_alive(pid) {
                return self.patience(since, START_TIMEOUT, "did not answer");
            }
            self.ours = None;
            let last = self.target.last_words(log_bytes);
            // It gave way: the other daemon, or its end, decides what comes next.
            if !last.starts_with(GAVE_WAY) {
                let last = if last.is_empty() { last } else { format!(": {last}") };
                return Err(self.target.silent(format!("exited at once{last}")));
            }
        }
        if self.target.pid().is_some() {
            let since = *self.held_since.get_or_insert_with(Instant::now);
            return self.patience(since, HOLDER_TIMEOUT, "holds the lock, but did not answer");
        }
        // Nobody holds the lock, so a start is due, by the owner of the claim.
        self.held_since = None;
        if self.claim.is_some() {
            return self.start();
        }
        self.claim = Claim::take(&self.target.paths)?;
        if self.claim.is_some() {
            // Its last owner may have started a daemon since our check, so check again from the top.
            return Ok(());
        }
        let since = *self.claimed_since.get_or_insert_with(Instant::now);
        self.patience(
            since,
            HOLDER_TIMEOUT,
            "is being started by another client, but did not answer",
        )
    }

    fn start(&mut self) -> Result<(), LaunchError> {
        if self.n_starts >= MAX_STARTS {
            return Err(self.target.silent("keeps ending right after its start".to_string()));
        }
        self.n_starts += 1;
        self.target.check()?;
        // The length of the log before the start separates this daemon's messages from those of earlier ones.
        let log_bytes = self.target.paths.log.metadata().map_or(0, |found| found.len());
        self.ours = Some((self.target.start(self.life)?, log_bytes, Instant::now()));
        Ok(())
    }

    fn patience(&self, since: Instant, limit: Duration, what: &str) -> Result<(), LaunchError> {
        if since.elapsed() <= limit {
            return Ok(());
        }
        Err(self.target.silent(format!("{what} within {} seconds", limit.as_secs())))
    }
}
