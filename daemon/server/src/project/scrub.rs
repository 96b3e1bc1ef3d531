//! Scrub: reads all stored data, slice by slice, and repairs what the disk has changed.
//!
//! In: a running project, and idle time. Out: damaged documents, indexes or vectors are rebuilt; a
//! daemon with a damaged ledger stops; a line of `status`.
//! Invariants: one slice at a time, on a thread of the lowest priority; a round starts every
//! [`EVERY`], also across restarts, so that any damage is found within a day; a round that a
//! restart interrupts continues where it was.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Project;
use engine::write::Command;
use index::store::{Spaces, StoreError, Trouble, check_table, scrub_documents, tables_of};
use sys::crew;

/// How often everything is read.
const EVERY: SignedDuration = SignedDuration::from_hours(12);

/// Pause after a slice: a round over 100,000 documents takes about an hour.
const REST: Duration = Duration::from_secs(20);

/// The file with the end of the last round and the progress of this one.
const FILE: &str = "scrubbed";

/// The state of the scrub.
#[derive(Debug)]
pub(crate) struct Scrub {
    file: PathBuf,
    progress: Mutex<Progress>,
    /// Held while a slice is read.
    turn: tokio::sync::Mutex<Round>,
}

/// Progress as `status` shows it.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// When the last complete round ended.
    pub finished: Option<Timestamp>,
    /// Documents compared in this round, or in the last one if none is running.
    pub n_documents: u64,
    /// Documents found damaged since the daemon started.
    pub n_damaged: u64,
}

/// What this round still has to read.
#[derive(Debug, Default)]
struct Round {
    /// Row of the last document that was read; none once all are.
    after: Option<i64>,
    /// Tables still to check, with their databases; none before they are listed.
    tables: Option<VecDeque<(PathBuf, String)>>,
}

impl Scrub {
    pub(super) fn open(state_dir: &Path) -> Self {
        let file = state_dir.join(FILE);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut words = text.split_whitespace();
        let finished = words.next().and_then(|word| word.parse().ok());
        let after = words.next().and_then(|word| word.parse().ok());
        let progress = Progress { finished, ..Progress::default() };
        let round = Round { after: Some(after.unwrap_or(0)), tables: None };
        Scrub { file, progress: Mutex::new(progress), turn: tokio::sync::Mutex::new(round) }
    }

    /// Returns the progress.
    pub(crate) fn progress(&self) -> Progress {
        self.lock().clone()
    }

    fn is_due(&self) -> bool {
        let finished = self.lock().finished;
        // A clock that was set back makes it due, too.
        finished.is_none_or(|at| Timestamp::now().duration_since(at).abs() >= EVERY)
    }

    /// Saves the progress; what a crash loses of it is read again.
    fn note(&self, after: i64) {
        let finished = self.lock().finished.map_or("never".to_string(), |at| at.to_string());
        // Renamed into place: a half-written file would start the round over.
        let draft = self.file.with_extension("part");
        let written = std::fs::write(&draft, format!("{finished} {after}\n"));
        if let Err(error) = written.and_then(|()| std::fs::rename(&draft, &self.file)) {
            tracing::debug!(%error, "cannot store the progress of the scrub");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the task; it ends with the project.
pub(super) fn begin(project: &Arc<Project>) {
    tokio::spawn(run(Arc::downgrade(project)));
}

async fn run(project: Weak<Project>) {
    let rest = sys::fail::number("scrub.rest_ms").map_or(REST, Duration::from_millis);
    loop {
        tokio::time::sleep(rest).await;
        let Some(project) = project.upgrade() else { return };
        if project.activity.is_stopping() || project.is_poisoned().is_some() {
            return;
        }
        // An index that is about to be replaced is not worth reading.
        if project.scrub.is_due() && !project.is_being_replaced() {
            let mut round = project.scrub.turn.lock().await;
            project.scrub_slice(&mut round).await;
        }
    }
}

impl Project {
    /// Returns the progress of the scrub.
    pub fn scrubbed(&self) -> Progress {
        self.scrub.progress()
    }

    /// Runs a whole round now, without pauses between slices.
    pub async fn scrub_now(&self) {
        let mut round = self.scrub.turn.lock().await;
        *round = Round { after: Some(0), tables: None };
        while !self.activity.is_stopping() && !self.scrub_slice(&mut round).await {}
    }

    /// Reads the next slice; returns true when it was the last one of the round.
    async fn scrub_slice(&self, round: &mut Round) -> bool {
        let done = match round.after {
            Some(after) => self.scrub_texts(after).await.map(|next| round.after = next),
            None => self.scrub_table(&mut round.tables).await,
        };
        let is_over = match done {
            Ok(()) => {
                round.after.is_none() && round.tables.as_ref().is_some_and(VecDeque::is_empty)
            }
            Err(error) if error.trouble() == Trouble::Corrupt => {
                self.mend(error.to_string()).await;
                true
            }
            Err(error) => {
                // Not damage, such as a busy file: this round ends, the next one tries again.
                tracing::warn!(%error, "stored data could not be checked");
                true
            }
        };
        if is_over {
            *round = Round { after: Some(0), tables: None };
            self.scrub.lock().finished = Some(Timestamp::now());
        }
        // The largest row stands for "all documents read": after a restart, only tables are left.
        self.scrub.note(round.after.unwrap_or(i64::MAX));
        is_over
    }

    /// Compares some documents; returns the row of the last one if there may be more.
    async fn scrub_texts(&self, after: i64) -> Result<Option<i64>, StoreError> {
        let index = self.answers.load().path();
        let found = on_the_crew(move || scrub_documents(&index, after)).await?;
        let n_damaged = found.damaged.len() as u64;
        {
            let mut progress = self.scrub.lock();
            progress.n_documents = if after == 0 { 0 } else { progress.n_documents };
            progress.n_documents += found.n_documents;
            progress.n_damaged += n_damaged;
        }
        if let Some((_, first)) = found.damaged.first() {
            let what = format!(
                "{n_damaged} documents, the first of them `{first}`, are damaged; they are read again"
            );
            tracing::error!(what, "stored data is damaged");
            self.build.health.mended("text", what);
            let distrust = |reply| Command::Distrust(found.damaged, reply);
            if let Err(why) = self.command(distrust).await {
                tracing::warn!(why, "damaged documents could not be marked yet");
            }
        }
        Ok(found.last)
    }

    /// Checks the next table; lists the tables first if that was not done yet.
    async fn scrub_table(
        &self,
        tables: &mut Option<VecDeque<(PathBuf, String)>>,
    ) -> Result<(), StoreError> {
        let index = self.answers.load().path();
        let vectors = Spaces::path(&self.state_dir);
        let Some(left) = tables else {
            let all = on_the_crew(move || {
                let of = |path: &Path| {
                    let tables = tables_of(path)?.into_iter();
                    Ok::<_, StoreError>(
                        tables.map(|it| (path.to_path_buf(), it)).collect::<Vec<_>>(),
                    )
                };
                let mut all = of(&index)?;
                // Vectors are optional: an unreadable file of them does not stop the check of the index.
                if vectors.exists() {
                    all.extend(of(&vectors).unwrap_or_default());
                }
                Ok(all)
            });
            *tables = Some(all.await?.into());
            return Ok(());
        };
        let Some((path, table)) = left.pop_front() else { return Ok(()) };
        let of = path.clone();
        let damage = match on_the_crew(move || check_table(&of, &table)).await {
            Err(error) if error.trouble() == Trouble::Corrupt => Some(error.to_string()),
            other => other?,
        };
        if let Some(why) = damage {
            match path == vectors {
                true => self.begin_vectors_again(why),
                false => self.mend(why).await,
            }
            // The databases are about to be rebuilt, so the remaining tables need no check.
            left.clear();
        }
        if left.is_empty() {
            // The ledger is checked as at a start.
            self.check_ledger().await;
        }
        Ok(())
    }
}

/// Runs a slice on the threads of the lowest priority.
async fn on_the_crew<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    crew::scrubbing().run(work).await.unwrap_or(Err(StoreError::Gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_due_twice_a_day_also_over_restarts() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Timestamp::now();
        for (written, is_due) in [
            (None, true),
            (Some("never 7".to_string()), true),
            (Some(format!("{} 0", now - SignedDuration::from_hours(11))), false),
            (Some(format!("{} 0", now - SignedDuration::from_hours(13))), true),
            (Some(format!("{} 0", now + SignedDuration::from_hours(13))), true),
        ] {
            let file = folder.path().join(FILE);
            written.iter().for_each(|text| std::fs::write(&file, text).expect("written"));
            assert_eq!(Scrub::open(folder.path()).is_due(), is_due, "{written:?}");
        }
    }
}
