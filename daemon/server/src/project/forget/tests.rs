//! Notes that share lines are moved, renamed, edited, stored and forgotten at random: what is forgotten is gone from
//! every byte, and whatever is kept of others is what it was.
//!
//! The model takes a document's identity from the ledger after each step, and keeps its own account of where each was
//! and whose each kept version is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Settings;
use engine::write::Command;
use index::erase::{Needle, Needles, files_in};
use index::store::testing::{Connection, Value};
use index::store::{KbRecord, NewVersion, back_up, is_within};
use model::terms::ContentHash;
use notes::edit::Op;
use proptest::prelude::*;

use super::Named;
use crate::project::{OpenProject, Project};

/// Folders of the notes; entries are stored in `kb`.
const FOLDERS: [&str; 4] = ["a", "b", "c/d", "kb"];

/// What happens in one step; the numbers choose among what is there.
#[derive(Debug, Clone)]
enum Step {
    Write(u16),
    /// With `true`, somebody else saved the note a moment before.
    Edit(u16, bool),
    Move(u16),
    Rename(u16),
    RenameFolder(u16),
    RenameWhileDown(u16),
    Delete(u16),
    Remove(u16),
    Store,
    BackUp,
    Forget(u16),
    ForgetFolder(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let n = any::<u16>;
    prop_oneof![
        4 => n().prop_map(Step::Write),
        8 => (n(), any::<bool>()).prop_map(|(n, is_saved)| Step::Edit(n, is_saved)),
        4 => n().prop_map(Step::Move),
        4 => n().prop_map(Step::Rename),
        1 => n().prop_map(Step::RenameFolder),
        1 => n().prop_map(Step::RenameWhileDown),
        3 => n().prop_map(Step::Delete),
        3 => n().prop_map(Step::Remove),
        4 => Just(Step::Store),
        2 => Just(Step::BackUp),
        6 => n().prop_map(Step::Forget),
        1 => n().prop_map(Step::ForgetFolder),
    ]
}

/// What the model knows of a document.
#[derive(Debug, Clone, Default)]
struct Known {
    last: String,
    /// Every path it had, with the step in which it was last there.
    ever: BTreeMap<String, usize>,
    is_there: bool,
    entry: Option<u64>,
    /// Words that only its texts have.
    words: BTreeSet<String>,
}

struct World {
    dir: tempfile::TempDir,
    project: Arc<Project>,
    documents: BTreeMap<String, Known>,
    /// The document of each kept version.
    kept: BTreeMap<String, String>,
    /// What was forgotten, with the step of it.
    forgotten: BTreeMap<String, usize>,
    n_steps: usize,
    n_words: usize,
    n_entries: u64,
    /// What may move to another path or be written anew.
    n_paths: usize,
}

async fn open(dir: &Path) -> Arc<Project> {
    let mut settings = Settings::default();
    settings.watch.debounce_ms = 10;
    let place = OpenProject {
        root: dir.join("notes").canonicalize().expect("it is there"),
        name: "notes".into(),
        state_dir: dir.join("state"),
        settings,
        parsing: Default::default(),
    };
    Project::open(place).await.expect("opens")
}

impl World {
    async fn new(n_notes: usize) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for folder in ["notes", "state"] {
            fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        for folder in FOLDERS {
            fs::create_dir_all(dir.path().join("notes").join(folder)).expect("a folder");
        }
        let (documents, kept, forgotten) = Default::default();
        let project = open(dir.path()).await;
        let mut world = World {
            dir,
            project,
            documents,
            kept,
            forgotten,
            n_steps: 0,
            n_words: 0,
            n_entries: 0,
            n_paths: 0,
        };
        world.settle().await;
        for _ in 0..n_notes {
            let path = world.new_path();
            world.write(&path);
        }
        world.settle().await;
        world
    }

    fn file(&self, path: &str) -> PathBuf {
        self.dir.path().join("notes").join(path)
    }

    fn new_path(&mut self) -> String {
        self.n_paths += 1;
        format!("{}/n{}.md", FOLDERS[self.n_paths % 3], self.n_paths)
    }

    fn word(&mut self) -> String {
        self.n_words += 1;
        format!("zqword{}x", self.n_words)
    }

    /// Writes a note that shares its front matter and a task with all others, and says one thing of its own.
    fn write(&mut self, path: &str) {
        let word = self.word();
        let text = format!(
            "---\nauthor: Somebody Else\nstatus: being written\n---\n# Note\n\nOnly here is the {word} kept.\n\n\
             - [ ] shared task for every note\n"
        );
        let file = self.file(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("written");
    }

    fn texts(&self) -> BTreeMap<String, PathBuf> {
        files_in(&self.dir.path().join("state/kept")).unwrap_or_default().into_iter().collect()
    }

    /// Follows the folder, and notes which documents are where, and which words they have.
    async fn settle(&mut self) {
        self.project.follow_folder().await.expect("it settles");
        let db = Connection::open(self.dir.path().join("state/ledger.sqlite")).expect("opens");
        let mut statement =
            db.prepare("SELECT path, uid FROM documents WHERE gone_ms IS NULL").expect("sound");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        let there: Vec<(String, String)> = rows.collect::<Result<_, _>>().expect("rows");
        self.documents.values_mut().for_each(|it| it.is_there = false);
        for (path, uid) in there {
            let text = fs::read_to_string(self.file(&path)).expect("it is there");
            let it = self.documents.entry(uid).or_default();
            (it.last, it.is_there) = (path.clone(), true);
            it.ever.insert(path, self.n_steps);
            let words =
                text.split(|c: char| !c.is_alphanumeric()).filter(|it| it.starts_with("zqword"));
            it.words.extend(words.map(str::to_string));
        }
    }

    /// Records whose the versions are that were kept in the last step.
    fn credit(&mut self, uid: &str) {
        for name in self.texts().into_keys() {
            self.kept.entry(name).or_insert_with(|| uid.to_string());
        }
    }

    fn there(&self, n: u16) -> Option<(String, Known)> {
        let there: Vec<_> = self.documents.iter().filter(|(_, it)| it.is_there).collect();
        let (uid, it) = there.get(usize::from(n) % there.len().max(1))?;
        Some((uid.to_string(), (*it).clone()))
    }

    async fn record_version(&self, number: u64, path: &str) {
        let text = fs::read_to_string(self.file(path)).expect("a text");
        let hash = ContentHash::of(text.as_bytes()).0.to_le_bytes();
        let title = format!("Entry {number}");
        let version = NewVersion { entry: number, title, hash, text, ..NewVersion::default() };
        let records = vec![KbRecord::Version(version)];
        self.project.command(|reply| Command::RecordKb(records, reply)).await.expect("recorded");
    }

    async fn take(&mut self, step: &Step) {
        self.n_steps += 1;
        let notes = self.project.clone();
        let notes = notes.notes();
        match step {
            Step::Write(n) => {
                // Half of them where a note was before.
                let free = |it: &String| !it.starts_with("kb/") && !self.file(it).exists();
                let ever =
                    self.documents.values().flat_map(|it| it.ever.keys()).filter(|it| free(it));
                let ever: Vec<String> = ever.cloned().collect();
                let path = match ever.get(usize::from(*n / 2) % ever.len().max(1)) {
                    Some(path) if n % 2 == 0 => path.clone(),
                    _ => self.new_path(),
                };
                self.write(&path);
            }
            Step::Edit(n, is_saved) => {
                let Some((uid, it)) = self.there(*n) else { return };
                let word = self.word();
                if *is_saved {
                    let text = fs::read_to_string(self.file(&it.last)).expect("a text");
                    fs::write(self.file(&it.last), format!("{text}\nSaved by hand: {word}s.\n"))
                        .expect("written");
                }
                let op = Op::Append(format!("\nThen came the {word} as well.\n"));
                notes.edit(&it.last, &[op], None).expect("edited");
                self.credit(&uid);
                self.settle().await;
                if let Some(number) = it.entry {
                    self.record_version(number, &it.last).await;
                }
            }
            Step::Move(n) => {
                let Some((uid, it)) = self.there(*n) else { return };
                let to = self.new_path();
                notes.rename(&it.last, &to, None, &[], &[], Some(&|_| {})).expect("moved");
                self.credit(&uid);
            }
            Step::Rename(n) | Step::RenameWhileDown(n) => {
                let Some((_, it)) = self.there(*n) else { return };
                let to = self.new_path();
                let is_down = matches!(step, Step::RenameWhileDown(_));
                if is_down {
                    self.project.drain(super::PATIENCE).await;
                }
                fs::create_dir_all(self.file(&to).parent().expect("a folder")).expect("a folder");
                fs::rename(self.file(&it.last), self.file(&to)).expect("renamed");
                if is_down {
                    self.project = open(self.dir.path()).await;
                }
            }
            Step::RenameFolder(n) => {
                let folder = FOLDERS[usize::from(*n) % 3];
                self.n_paths += 1;
                let to = self.file(&format!("moved{}", self.n_paths));
                let _ = fs::rename(self.file(folder), to);
            }
            Step::Delete(n) => {
                let Some((uid, it)) = self.there(*n) else { return };
                notes.remove(&it.last, None).expect("removed");
                self.credit(&uid);
            }
            Step::Remove(n) => {
                let Some((_, it)) = self.there(*n) else { return };
                fs::remove_file(self.file(&it.last)).expect("removed");
            }
            Step::Store => {
                self.n_entries += 1;
                let (number, word) = (self.n_entries, self.word());
                let path = format!("kb/kb-{number:05}-entry.md");
                let text = format!(
                    "---\nid: kb-{number:05}\ntitle: Entry {number}\nentry_type: factual_reference\n---\n\n\
                     The {word} of the harbor.\n"
                );
                fs::create_dir_all(self.file("kb")).expect("a folder");
                fs::write(self.file(&path), text).expect("written");
                self.settle().await;
                let it = self.documents.values_mut().find(|it| it.is_there && it.last == path);
                it.expect("indexed").entry = Some(number);
                self.record_version(number, &path).await;
            }
            Step::BackUp => {
                back_up(&self.dir.path().join("state"), None, false).expect("copied");
            }
            Step::Forget(n) => {
                let all: Vec<_> = self.documents.values().cloned().collect();
                let Some(it) = all.get(usize::from(*n / 3) % all.len().max(1)) else { return };
                if it.is_there && n % 3 > 0 {
                    fs::remove_file(self.file(&it.last)).expect("removed");
                }
                // Also by a path that it had before.
                let former = it.ever.keys().next().filter(|_| n % 5 == 0);
                self.forget(former.unwrap_or(&it.last).clone()).await;
            }
            Step::ForgetFolder(n) => {
                let folder = FOLDERS[usize::from(*n) % 3];
                let _ = fs::remove_dir_all(self.file(folder));
                self.forget(folder.to_string()).await;
            }
        }
        self.settle().await;
    }

    /// Returns all that is kept, as text, with its document or entry.
    fn kept_things(&self) -> BTreeMap<String, (Option<String>, Option<u64>)> {
        let state = self.dir.path().join("state");
        let mut found = BTreeMap::new();
        for (name, file) in self.texts() {
            let bytes = fs::read(file).expect("a version");
            let uid = self.kept.get(&name).cloned();
            assert!(uid.is_some(), "nobody's version: {name}");
            found.insert(format!("{name}: {}", String::from_utf8_lossy(&bytes)), (uid, None));
        }
        for (name, file) in files_in(&state).expect("listed") {
            if !(name == "ledger.sqlite" || name.starts_with("backups/")) {
                continue;
            }
            let db = Connection::open(file).expect("opens");
            for (table, column) in [
                ("documents", "uid"),
                ("changes", "uid"),
                ("ingested", "uid"),
                ("memory_events", "uid"),
                ("kb_versions", "entry"),
                ("kb_accesses", "entry"),
            ] {
                let sql = format!("SELECT {column}, * FROM {table}");
                let mut statement = db.prepare(&sql).expect("sound");
                let n_columns = statement.column_count();
                let mut rows = statement.query([]).expect("rows");
                while let Some(row) = rows.next().expect("a row") {
                    let values: Vec<Value> =
                        (1..n_columns).map(|at| row.get(at).expect("a value")).collect();
                    let whose = match row.get(0).expect("a value") {
                        Value::Text(uid) => (Some(uid), None),
                        Value::Integer(entry) => (None, Some(entry.unsigned_abs())),
                        other => panic!("{other:?}"),
                    };
                    found.insert(format!("{name} {table} {values:?}"), whose);
                }
            }
        }
        found
    }

    /// Forgets a path, and compares all that is kept with what it was.
    async fn forget(&mut self, path: String) {
        self.settle().await;
        let within = |it: &Known| is_within(&it.last, &path);
        let now = self.documents.iter().filter(|(_, it)| within(it));
        let mut meant: BTreeSet<String> = now.map(|(uid, _)| uid.clone()).collect();
        if meant.is_empty() {
            // Not those that had left the path when it was forgotten before.
            let since = self.forgotten.get(&path).copied().unwrap_or_default();
            let is_meant = |(it, at): (&String, &usize)| is_within(it, &path) && *at >= since;
            let was_within = |it: &Known| it.ever.iter().any(is_meant);
            let before = self.documents.iter().filter(|(_, it)| was_within(it));
            meant = before.map(|(uid, _)| uid.clone()).collect();
        }
        let of_meant = |uid: &String| self.documents.get(uid).filter(|_| meant.contains(uid));
        let entries: BTreeSet<u64> = meant.iter().filter_map(|it| of_meant(it)?.entry).collect();
        let is_gone = |thing: &str, (uid, entry): &(Option<String>, Option<u64>)| {
            let is_there = uid.as_ref().and_then(of_meant).is_some_and(|it| it.is_there);
            let stays = is_there && thing.contains(" documents [");
            entry.is_some_and(|it| entries.contains(&it))
                || (uid.as_ref().is_some_and(|it| meant.contains(it)) && !stays)
        };
        let before = self.kept_things();
        let named = Named::Path(path.clone());
        let receipt = self.project.clone().erase(named, false, |_| {}).await.expect("erased");
        let after = self.kept_things();
        for (thing, whose) in &before {
            let (is_gone, is_left) = (is_gone(thing, whose), after.contains_key(thing));
            assert_eq!(is_left, !is_gone, "after {path} was forgotten ({meant:?}): {thing}");
        }
        for thing in after.keys() {
            assert!(before.contains_key(thing), "new after {path} was forgotten: {thing}");
        }
        let there = meant.iter().filter_map(of_meant).filter(|it| it.is_there);
        let there: Vec<String> =
            there.map(|it| it.last.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(receipt.in_folder, there, "after {path} was forgotten");
        let gone = meant.iter().filter_map(of_meant).filter(|it| !it.is_there);
        let needle = |text: &String| Needle { text: text.clone(), is_name: false };
        let words: Vec<Needle> = gone.flat_map(|it| &it.words).map(needle).collect();
        let words = Needles::new(&words).expect("a finder");
        for (name, file) in files_in(&self.dir.path().join("state")).expect("listed") {
            let bytes = fs::read(&file).unwrap_or_default();
            assert!(!words.are_in(&bytes), "{name} after {path} was forgotten");
        }
        for uid in &meant {
            let it = self.documents.get_mut(uid).expect("known");
            if it.is_there {
                it.ever = [(it.last.clone(), self.n_steps)].into();
            } else {
                self.documents.remove(uid);
            }
        }
        self.kept.retain(|_, uid| !meant.contains(uid));
        // What was never there is not recorded as forgotten.
        if !receipt.is_unknown {
            self.forgotten.insert(path, self.n_steps);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_forgotten_is_gone_and_nothing_else_changes(steps in prop::collection::vec(step(), 60)) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let mut world = World::new(50).await;
            for step in &steps {
                world.take(step).await;
            }
            world.project.drain(super::PATIENCE).await;
        });
    }
}
