//! Forget: one run that deletes what a person names, or secrets that older detectors missed, from everything kgd keeps.
//!
//! In: a path, an entity or a string; or detectors newer than those that checked the kept data. Out: counts of what was
//! deleted, the files of the project that still hold it, and on request a scan that finds nothing.
//! How: the index first catches up with the folder, so that it contains nothing that no file has.
//! The run then deletes, in this order, from the ledger, its copies, kept versions, logs and pages,
//! vectors, and last the index, which is rewritten without deleted rows. Each step is idempotent,
//! and a file lists what is to be deleted until all is done: the next start, or the next run,
//! finishes a run that was cut short.
//! Invariants: no file of the project is written; nothing replaces or verifies the index during the
//! run; queries keep working; only that list contains the forgotten strings.
//! Not here: finding it in bytes (`erase/`) and in rows (`store/erase.rs`), who may ask (`serve/`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notes::entry::number_of;
use notes::resolve::name_key;
use serde::{Deserialize, Serialize};

use super::Project;
use engine::write::Command;
use index::erase;
use index::erase::{Needle, Needles, OwnLines, Rewrite, Role, Scan, Wanted, parts_of, scan_apart};
use index::store::{
    Counts, Gone, IndexWriter, LedgerError, Removal, StoreError, forget_unused, read_copy,
    rewrite_copy, was_removed,
};
use index::words::Indexer;
use model::terms::RelPath;

mod folder;
mod unasked;

pub(super) use unasked::begin;

/// Longest wait for the index to catch up with the folder.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

/// Shortest index word that is searched for; shorter ones occur everywhere.
const MIN_WORD_BYTES: usize = 4;

/// What a person wants forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Named {
    /// A document, or all below a folder.
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
    /// Files of the project that hold it, by path.
    pub in_folder: Vec<String>,
    /// True when nothing is or ever was kept of the named document or entity: most likely a typing error.
    pub is_unknown: bool,
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
}

/// A run that is not finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pending {
    named: Named,
    gone: Gone,
    /// The strings to search for.
    needles: BTreeSet<Needle>,
}

impl Pending {
    fn new(named: Named) -> Self {
        Pending { named, gone: Gone::default(), needles: BTreeSet::new() }
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
            let needles = Needles::new(&pending.needles)?;
            let mut holding = project.files_holding(&pending.gone, &needles)?;
            // A name without traces in the state folder is still known if a file of the project holds it.
            receipt.is_unknown &= holding.is_empty();
            if proves && matches!(pending.named, Named::Text(_)) {
                project.add_unindexed(&needles, &mut holding)?;
            }
            receipt.in_folder = holding.into_iter().collect();
            if proves {
                let words = index_words(&pending.needles);
                let wanted = Wanted { needles: pending.needles, words };
                receipt.scan = Some(scan_apart(&project.state_dir, &wanted)?);
            }
            Ok(receipt)
        })
        .await
    }

    /// Deletes everything that is pending.
    async fn finish(self: Arc<Self>, pending: &Pending) -> Result<Receipt, ForgetError> {
        sys::fail::point("forget.begun");
        let rewrite = Arc::new(Needles::new(&pending.needles)?);
        let job = Arc::new(Job { gone: pending.gone.clone(), rewrite });
        // The ledger first: the index copies from it, and is compacted last.
        let counts = self.erase_in_ledger(job.clone()).await?;
        let mut receipt = self.clone().take_out_of_files(job).await?;
        receipt.add_all("ledger", &counts);
        let n_before = self.index_bytes();
        let readers = self.build.readers.clone();
        self.with_writer(move |writer| writer.compact(&readers)).await?;
        receipt.add("index", "bytes of deleted rows", n_before.saturating_sub(self.index_bytes()));
        let (kind, named) = pending.named.kind();
        receipt.is_unknown = !matches!(pending.named, Named::Text(_))
            && !receipt.has_removed()
            && pending.gone.present.is_empty()
            && !was_removed(&self.state_dir, kind, named)?;
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
        let is_still = || !self.is_being_replaced() && build.settled().resolved;
        let is_over = || is_still() || build.health.stalled().is_some();
        let is_compared = build.watcher.rescan().await;
        if is_compared && build.wait_until(PATIENCE, is_over).await && is_still() {
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
        let given = self.build.readers.look(|db| {
            let sql = "SELECT path, source_url FROM docs WHERE source_url IS NOT NULL
                       UNION SELECT d.path, t.tag FROM doc_tags t JOIN docs d ON d.id = t.doc_id";
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<(String, String)>>>()
        })?;
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

    /// Deletes from everything besides the index and the ledger, in order.
    async fn take_out_of_files(self: Arc<Self>, job: Arc<Job>) -> Result<Receipt, ForgetError> {
        self.off_thread(move |project| {
            let mut receipt = Receipt::default();
            let (state_dir, rewrite) = (&project.state_dir, job.rewrite.as_ref());
            for copy in copies(project)? {
                match rewrite_copy(&copy, &job.gone, rewrite) {
                    Err(StoreError::Ledger(LedgerError::NotALedger { .. })) => {
                        receipt.add("backups", "damaged copies", remove_damaged(&copy, rewrite)?);
                    }
                    counts => receipt.add_all("backups", &counts?),
                }
            }
            let kept = project.notes.forget_kept(&|path| job.gone.holds_path(path), rewrite)?;
            receipt.add("kept", "versions", kept.n_removed);
            receipt.add("kept", "spans of versions", kept.n_rewritten);
            sys::fail::point("forget.kept");
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

    /// Collects all names of the target, and the strings to search for, together with those of a
    /// run that was cut short. Writes the list before it returns.
    fn gather(&self, named: Named) -> Result<Pending, ForgetError> {
        let mut pending = self.pending().unwrap_or_else(|| Pending::new(named.clone()));
        let Pending { gone, needles, .. } = &mut pending;
        match &named {
            Named::Text(text) => {
                let all = std::iter::once(text.as_str()).chain(parts_of(text));
                needles.extend(all.map(|it| Needle { text: it.to_string(), is_name: false }));
            }
            Named::Path(path) => {
                gone.paths.insert(path.clone());
            }
            Named::Entity(name) => {
                gone.names.insert(name_key(name));
                needles.insert(Needle { text: name.clone(), is_name: true });
            }
        }
        // A string refers to no documents; an unfinished run that is merged into this one may.
        if !matches!(named, Named::Text(_)) || !gone.paths.is_empty() {
            self.resolve(gone)?;
            needles.extend(self.needles_of(gone)?);
        }
        pending.named = named;
        self.keep_pending(&pending)?;
        Ok(pending)
    }

    /// Adds the names that the index, the ledger and its copies have for the documents that are meant.
    fn resolve(&self, gone: &mut Gone) -> Result<(), ForgetError> {
        let snapshot = self.snapshot()?;
        let sql = "SELECT d.path FROM memory_nodes m JOIN docs d ON d.id = m.doc_id WHERE m.key = ?1 AND m.is_node";
        let mut statement = snapshot.prepare(sql).map_err(StoreError::from)?;
        for name in gone.names.clone() {
            let paths = statement.query_map([name], |row| row.get::<_, String>(0));
            let paths = paths.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>);
            gone.paths.extend(paths.map_err(StoreError::from)?);
        }
        let ledgers = ledgers(self)?;
        // Twice: one ledger may know a path only by a uid that another one resolves.
        for ledger in ledgers.iter().chain(&ledgers) {
            let known = read_copy(ledger, |db| {
                let mut known = gone.clone();
                known.resolve(db).map(|()| known)
            });
            // A copy that cannot be read adds nothing; `remove_damaged` deals with it.
            *gone = known.unwrap_or_else(|| gone.clone());
        }
        let folder = format!("{}/", self.settings.kb.folder.trim_matches('/'));
        let entries = gone.paths.iter().filter(|it| it.starts_with(&folder));
        gone.entries = entries.filter_map(|it| number_of(it)).collect();
        Ok(())
    }

    /// Returns the paths of the documents that are meant, and the lines that only they have; also notes which of these
    /// documents still exist.
    fn needles_of(&self, gone: &mut Gone) -> Result<Vec<Needle>, ForgetError> {
        let mut texts = Vec::new();
        gone.present.clear();
        let snapshot = self.snapshot()?;
        let each_document = |see: &mut dyn FnMut(String, String, String)| {
            let mut statement = snapshot.prepare("SELECT path, uid, text FROM docs")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                see(row.get(0)?, row.get(1)?, row.get(2)?);
            }
            Ok::<_, StoreError>(())
        };
        each_document(&mut |path, uid, text| {
            if gone.holds_path(&path) {
                gone.paths.insert(path.clone());
                gone.present.extend([path, uid]);
                texts.push(text);
            }
        })?;
        for ledger in ledgers(self)? {
            texts.extend(read_copy(&ledger, |db| gone.texts(db)).unwrap_or_default());
        }
        for version in self.notes.kept(None).unwrap_or_default() {
            if gone.holds_path(&version.path) {
                texts.push(String::from_utf8_lossy(&std::fs::read(&version.file)?).into_owned());
            }
        }
        // Only lines that no other document has: the rest is not theirs alone, and may stay.
        let mut own = OwnLines::of(texts.iter().map(String::as_str))?;
        each_document(&mut |path, _, text| {
            if !gone.holds_path(&path) {
                own.leave_out(&text);
            }
        })?;
        let lines = own.into_lines().map(|text| Needle { text, is_name: false });
        // A folder's name alone may be any word.
        let paths = gone.paths.iter().filter(|it| it.contains(['.', '/']));
        let whole = |path: &String| [path.clone(), self.root.join(path).display().to_string()];
        let names = paths.flat_map(whole).map(|text| Needle { text, is_name: true });
        Ok(lines.chain(names).collect())
    }
}

/// Returns the copies of the ledger: backups, and files left by migrations and restores.
fn copies(project: &Project) -> Result<Vec<PathBuf>, ForgetError> {
    let files = erase::files_in(&project.state_dir)?;
    let is_log = |path: &str| ["-wal", "-shm", "-journal"].iter().any(|it| path.ends_with(it));
    let copies = files.into_iter().filter(|(path, _)| erase::role_of(path) == Role::Copy);
    Ok(copies.filter(|(path, _)| !is_log(path)).map(|(_, file)| file).collect())
}

fn ledgers(project: &Project) -> Result<Vec<PathBuf>, ForgetError> {
    let mut found = copies(project)?;
    found.insert(0, project.state_dir.join("ledger.sqlite"));
    Ok(found)
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
