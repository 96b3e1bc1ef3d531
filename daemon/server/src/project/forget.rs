//! Forget: one run that deletes what a person names, or secrets that older detectors missed, from everything kgd keeps.
//!
//! In: a path, an entity or a string; or detectors newer than those that checked the kept data. Out: counts of what was
//! deleted, the files of the project that still hold it, and on request a scan that finds nothing.
//! A path or an entity means documents and entries, by their ids (`forget/whose.rs`). All that is kept of them goes,
//! and nothing of others changes; only a string is taken out wherever it stands.
//! How: the index first catches up with the folder, so that it contains nothing that no file has.
//! The run then deletes, in this order, from the ledger, its copies, kept versions, logs and pages,
//! vectors, and last the index, which is rewritten without deleted rows. Each step is idempotent,
//! and a file lists what is to be deleted until all is done: the next start, or the next run,
//! finishes a run that was cut short.
//! Invariants: no file of the project is written; nothing replaces or verifies the index during the
//! run; queries keep working; only that list contains what was forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Project;
use crate::notes::Version;
use engine::write::Command;
use index::erase;
use index::erase::{Needle, Needles, Rewrite, Role, Scan, Wanted, parts_of, scan_apart};
use index::store::{
    Counts, Gone, IndexWriter, LedgerError, Removal, StoreError, forget_unused, is_sound,
    removed_ms, rewrite_copy,
};
use index::words::Indexer;
use model::terms::RelPath;

mod folder;
#[cfg(test)]
mod tests;
mod unasked;
mod whose;

pub(super) use unasked::begin;

/// Longest wait for the index to catch up with the folder.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

/// Shortest index word that is searched for; shorter ones occur everywhere.
const MIN_WORD_BYTES: usize = 4;

/// What a person wants forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Named {
    /// A document, or all below a folder; or an entry, by its id.
    Path(String),
    /// An entity, by its name.
    Entity(String),
    /// A string.
    Text(String),
}

impl Named {
    fn kind(&self) -> (&'static str, &str) {
        match self {
            Named::Path(path) => ("path", path),
            Named::Entity(name) => ("entity", name),
            Named::Text(text) => ("text", text),
        }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Receipt {
    /// Number of deleted things, by store and kind.
    pub removed: BTreeMap<(&'static str, String), u64>,
    /// Files of the project that hold it, by path: the documents themselves, or all with the string.
    pub in_folder: Vec<String>,
    /// Other documents, entries and records that say the same, or name it. They are left as they are.
    pub also_in: BTreeSet<String>,
    /// What was looked for, and where, if that is nothing that was ever kept.
    pub looked_for: Vec<String>,
    /// True when nothing is or ever was kept of the named document or entity: most likely a typing error.
    pub is_unknown: bool,
    /// Strings, lines, paths and names that nothing else has.
    own: BTreeSet<Needle>,
    /// Result of the scan of the state folder, if one was requested.
    pub(crate) scan: Option<Scan>,
}

impl Receipt {
    /// Returns true when data of a document or entity itself was deleted. The index does not count: every run compacts
    /// it.
    fn has_removed(&self) -> bool {
        let of_things = ["ledger", "backups", "kept", "log", "exports"];
        self.removed.keys().any(|(store, _)| of_things.contains(store))
    }

    fn add(&mut self, store: &'static str, what: &str, n: u64) {
        if n > 0 {
            *self.removed.entry((store, what.to_string())).or_default() += n;
        }
    }

    fn add_all(&mut self, store: &'static str, counts: &Counts) {
        counts.iter().for_each(|(table, n)| self.add(store, table, *n));
    }
}

/// Why a run could not be finished. The steps that were done stay done; another run continues.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The index does not catch up with the folder.
    #[error("{0}")]
    Unsettled(String),
    /// Several notes have the name of an entity.
    #[error("several notes are called `{0}`: {1}")]
    Several(String, String),
    /// There is too much to search for at once.
    #[error("too long to search for: {0}")]
    TooLong(#[from] aho_corasick::BuildError),
    /// A file of the state folder cannot be read or written.
    #[error("a file of the state folder: {0}")]
    Io(#[from] std::io::Error),
    /// A database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What one run deletes.
struct Job {
    gone: Gone,
    rewrite: Arc<dyn Rewrite>,
    /// True where nobody asked for it: kept versions exist to be restored, so that their bytes stay as they are.
    spares_versions: bool,
}

/// A run that is not finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pending {
    named: Named,
    gone: Gone,
    /// Strings that are taken out wherever they stand.
    #[serde(default)]
    strings: BTreeSet<Needle>,
    /// Lines, paths and names of the documents, which others may have, too.
    #[serde(default)]
    traces: BTreeSet<Needle>,
}

impl Pending {
    fn new(named: Named) -> Self {
        let (gone, strings, traces) = Default::default();
        Pending { named, gone, strings, traces }
    }
}

impl Project {
    /// Deletes what is named from all stored data. With `proves`, scans the state folder
    /// afterwards. `progress` receives the name of each step.
    ///
    /// # Errors
    /// See [`ForgetError`].
    pub async fn erase(
        self: Arc<Self>,
        named: Named,
        proves: bool,
        progress: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Receipt, ForgetError> {
        progress("waiting for the index to follow the folder");
        // Held to the end: neither an upgrade nor `verify` may replace the index during the run.
        let _alone = self.upkeep.clone().lock_owned().await;
        self.follow_folder().await?;
        progress("searching");
        let pending = self.clone().off_thread(move |project| project.gather(named)).await?;
        progress("removing");
        let mut receipt = self.clone().finish(&pending).await?;
        progress("checking that nothing is left");
        self.off_thread(move |project| {
            let strings = Needles::new(&pending.strings)?;
            let is_text = matches!(pending.named, Named::Text(_));
            let mut holding = project.files_meant(&pending.gone, is_text.then_some(&strings))?;
            // A name without traces in the state folder is still known if files of the project have it.
            receipt.is_unknown &= holding.is_empty();
            if receipt.is_unknown {
                receipt.looked_for = project.looked_for(&pending.named)?;
            }
            if proves && is_text {
                project.add_unindexed(&strings, &mut holding)?;
            }
            receipt.in_folder = holding.into_iter().collect();
            if proves {
                let mut needles = std::mem::take(&mut receipt.own);
                let words = index_words(&needles);
                needles.extend(pending.gone.uids.iter().map(|it| name(it)));
                let wanted = Wanted { needles, words, entries: pending.gone.entries };
                receipt.scan = Some(scan_apart(&project.state_dir, &wanted)?);
            }
            Ok(receipt)
        })
        .await
    }

    /// Deletes everything that is pending.
    async fn finish(self: Arc<Self>, pending: &Pending) -> Result<Receipt, ForgetError> {
        sys::fail::point("forget.begun");
        let rewrite = Arc::new(Needles::new(&pending.strings)?);
        let job = Arc::new(Job { gone: pending.gone.clone(), rewrite, spares_versions: false });
        // The ledger first: the index copies from it, and is compacted last.
        let counts = self.erase_in_ledger(job.clone()).await?;
        let mut receipt = self.clone().take_out_of_history(job).await?;
        receipt.add_all("ledger", &counts);
        let left = pending.clone();
        let (own, also_in) = self.clone().off_thread(move |it| it.own_traces(&left)).await?;
        (receipt.own, receipt.also_in) = (own, also_in);
        receipt.own.extend(pending.strings.iter().cloned());
        // Logs and pages are of no document: names go from them even if others have them, too.
        let names = pending.traces.iter().filter(|it| it.is_name);
        let rewrite = Arc::new(Needles::new(receipt.own.iter().chain(names))?);
        let mut receipt = self.clone().take_out_of_files(receipt, rewrite).await?;
        let n_before = self.index_bytes();
        let readers = self.build.readers.clone();
        self.with_writer(move |writer| writer.compact(&readers)).await?;
        receipt.add("index", "bytes of deleted rows", n_before.saturating_sub(self.index_bytes()));
        let (kind, named) = pending.named.kind();
        receipt.is_unknown = !matches!(pending.named, Named::Text(_))
            && !receipt.has_removed()
            && pending.gone.uids.is_empty()
            && removed_ms(&self.state_dir, kind, named)?.is_none();
        if !receipt.is_unknown {
            let removal = Removal { kind, named: named.to_string(), counts: by_store(&receipt) };
            self.with_writer(move |writer| writer.record_removal(&removal, now_ms())).await?;
        }
        // Last: a crash before this line makes the next start repeat the run.
        std::fs::remove_file(self.pending_file())?;
        sys::fail::point("forget.done");
        Ok(receipt)
    }

    /// Returns the path of the file that lists what is to be forgotten until the run is done; only
    /// the user can read it.
    fn pending_file(&self) -> PathBuf {
        self.state_dir.join("forget.pending")
    }

    /// Returns the run that was cut short, if any.
    fn pending(&self) -> Option<Pending> {
        let text = std::fs::read(self.pending_file()).ok()?;
        // A file that was cut short while it was written is no run: nothing had been deleted yet.
        serde_json::from_slice(&text).ok()
    }

    fn keep_pending(&self, pending: &Pending) -> Result<(), ForgetError> {
        let text = serde_json::to_vec(pending).map_err(std::io::Error::other)?;
        let path = self.pending_file();
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(&text)?;
        Ok(file.sync_all()?)
    }

    /// Waits until the index has caught up with the folder and is not being replaced.
    async fn follow_folder(&self) -> Result<(), ForgetError> {
        let build = &self.build;
        let is_settled = || !self.is_being_replaced() && build.settled().resolved;
        let is_over = || is_settled() || build.health.stalled().is_some();
        let is_compared = build.watcher.rescan().await;
        if is_compared && build.wait_until(PATIENCE, is_over).await && is_settled() {
            return Ok(());
        }
        let why = build.health.stalled().map(|(stall, _)| format!(": {}", stall.why));
        Err(ForgetError::Unsettled(format!("the index does not settle{}", why.unwrap_or_default())))
    }

    /// Runs blocking work on a thread of its own.
    async fn off_thread<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Project) -> Result<T, ForgetError> + Send + 'static,
    ) -> Result<T, ForgetError> {
        let done = tokio::task::spawn_blocking(move || work(&self)).await;
        done.unwrap_or_else(|lost| Err(ForgetError::Unsettled(format!("it failed inside: {lost}"))))
    }

    /// Runs `work` on the writer's thread, where it is the only user of the writer.
    async fn with_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut IndexWriter) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ForgetError> {
        // The command only replies whether it succeeded, so the result comes back through this slot.
        let slot = Arc::new(Mutex::new(None));
        let given = slot.clone();
        let work = move |writer: &mut IndexWriter| {
            let done = work(writer)?;
            *given.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            Ok(())
        };
        self.command(|reply| Command::Replace(Box::new(work), reply))
            .await
            .map_err(ForgetError::Unsettled)?;
        let done = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.ok_or(ForgetError::Store(StoreError::Gone))
    }

    async fn erase_in_ledger(&self, job: Arc<Job>) -> Result<Counts, ForgetError> {
        let erased = job.clone();
        let counts = self
            .with_writer(move |it| it.erase(&erased.gone, erased.rewrite.as_ref(), now_ms()))
            .await?;
        self.read_again(job.rewrite.as_ref()).await?;
        Ok(counts)
    }

    /// Indexes again the documents for which callers supplied something to be deleted: the index copied those words
    /// from the ledger.
    async fn read_again(&self, rewrite: &dyn Rewrite) -> Result<(), ForgetError> {
        let given = self.build.readers.look(|index| index.files().given())?;
        let meant = given.into_iter().filter(|(_, given)| rewrite.text(given).is_some());
        let paths: BTreeSet<RelPath> = meant.map(|(path, _)| RelPath::new(path)).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let paths: Vec<RelPath> = paths.into_iter().collect();
        let indexed = self.index_now(&paths, true, &|_| {}).await;
        indexed.map_err(|stall| ForgetError::Unsettled(stall.why))?;
        self.follow_folder().await
    }

    /// Deletes from the copies of the ledger and the kept versions of notes.
    async fn take_out_of_history(self: Arc<Self>, job: Arc<Job>) -> Result<Receipt, ForgetError> {
        self.off_thread(move |project| {
            let mut receipt = Receipt::default();
            let rewrite = job.rewrite.as_ref();
            for copy in copies(project)? {
                match rewrite_copy(&copy, &job.gone, rewrite) {
                    // It may hold anything: `take_out_of_files` looks at its bytes.
                    Err(StoreError::Ledger(LedgerError::NotALedger { .. })) => {}
                    counts => receipt.add_all("backups", &counts?),
                }
            }
            if !job.spares_versions {
                let has_uid =
                    |it: &Version| it.uid.as_ref().is_some_and(|it| job.gone.uids.contains(it));
                let is_meant = |it: &Version| has_uid(it) || job.gone.kept.contains(&it.name());
                let kept = project.notes.forget_kept(&is_meant, rewrite)?;
                receipt.add("kept", "versions", kept.n_removed);
                receipt.add("kept", "spans of versions", kept.n_rewritten);
            }
            sys::fail::point("forget.kept");
            Ok(receipt)
        })
        .await
    }

    /// Deletes from what is no document's: damaged copies, logs, pages, leftovers, vectors.
    async fn take_out_of_files(
        self: Arc<Self>,
        mut receipt: Receipt,
        rewrite: Arc<dyn Rewrite>,
    ) -> Result<Receipt, ForgetError> {
        self.off_thread(move |project| {
            let (state_dir, rewrite) = (&project.state_dir, rewrite.as_ref());
            for copy in copies(project)? {
                if !is_sound(&copy) {
                    receipt.add("backups", "damaged copies", remove_damaged(&copy, rewrite)?);
                }
            }
            receipt.add("log", "files rewritten", erase::clean_logs(state_dir, rewrite)?);
            receipt.add("exports", "pages", erase::remove_pages(state_dir, rewrite)?);
            receipt.add("leftovers", "files", erase::remove_leftovers(state_dir)?);
            sys::fail::point("forget.logs");
            receipt.add("vectors", "vectors", forget_unused(state_dir)?);
            sys::fail::point("forget.vectors");
            Ok(receipt)
        })
        .await
    }

    fn index_bytes(&self) -> u64 {
        let size = |name: &str| self.state_dir.join(name).metadata().map_or(0, |it| it.len());
        size("index.sqlite") + size("index.sqlite-wal")
    }

    /// Collects what is meant, together with what a run that was cut short left. Writes the list before it returns.
    fn gather(&self, named: Named) -> Result<Pending, ForgetError> {
        let known = self.identities()?;
        let named = self.as_known(named, &known)?;
        let unfinished = self.pending();
        // What it means was found out before anything was deleted; now the same name could mean others.
        let is_known = unfinished.as_ref().is_some_and(|it| it.named == named);
        let mut pending = unfinished.unwrap_or_else(|| Pending::new(named.clone()));
        match &named {
            Named::Text(text) => {
                let all = std::iter::once(text.as_str()).chain(parts_of(text));
                let needles = all.map(|it| Needle { text: it.to_string(), is_name: false });
                pending.strings.extend(needles);
            }
            Named::Path(_) | Named::Entity(_) => {
                if !is_known {
                    self.mean(&named, &known, &mut pending.gone)?;
                }
                self.resolve(&known, &mut pending)?;
            }
        }
        pending.named = named;
        self.keep_pending(&pending)?;
        Ok(pending)
    }
}

/// A name, or a uid, which is searched for as a whole word.
fn name(text: &str) -> Needle {
    Needle { text: text.to_string(), is_name: true }
}

/// Returns the copies of the ledger: backups, and files left by migrations and restores.
fn copies(project: &Project) -> Result<Vec<PathBuf>, ForgetError> {
    let files = erase::files_in(&project.state_dir)?;
    let is_log = |path: &str| ["-wal", "-shm", "-journal"].iter().any(|it| path.ends_with(it));
    let copies = files.into_iter().filter(|(path, _)| erase::role_of(path) == Role::Copy);
    Ok(copies.filter(|(path, _)| !is_log(path)).map(|(_, file)| file).collect())
}

/// Returns the ledger and its copies, the newest first.
fn ledgers(project: &Project) -> Result<Vec<PathBuf>, ForgetError> {
    let own = std::iter::once(project.state_dir.join("ledger.sqlite"));
    Ok(own.chain(copies(project)?.into_iter().rev()).collect())
}

/// Deletes a file that is named like a copy of the ledger, cannot be read as one, and contains a
/// forgotten string. Returns how many files were deleted.
fn remove_damaged(file: &std::path::Path, rewrite: &dyn Rewrite) -> Result<u64, ForgetError> {
    let is_ours = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ledger"));
    let mut n_removed = 0;
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        let path = PathBuf::from(path);
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if is_ours && rewrite.version("", &bytes).is_some() {
            std::fs::remove_file(&path)?;
            n_removed += 1;
        }
    }
    Ok(n_removed)
}

/// Returns the words under which the text index lists these strings.
fn index_words(needles: &BTreeSet<Needle>) -> Vec<String> {
    let mut indexer = Indexer::new();
    let mut words = String::new();
    for needle in needles {
        // As English and as any other language: the index lists a word by the language of its document.
        for is_english in [true, false] {
            indexer.index(&needle.text, is_english, &mut words);
            words.push(' ');
        }
    }
    let words: BTreeSet<&str> =
        words.split(' ').filter(|word| word.len() >= MIN_WORD_BYTES).collect();
    words.into_iter().map(str::to_string).collect()
}

fn by_store(receipt: &Receipt) -> Counts {
    let each = receipt.removed.iter().map(|((store, what), n)| (format!("{store}/{what}"), *n));
    each.collect()
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
