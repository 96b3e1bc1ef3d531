//! Identities: which documents a path or a name means, and whose a thing is that was kept under a path.
//!
//! In: the ledger and its copies, the newest first; versions of notes that carry a uid. Out: uids.
//! A document was at several paths, and a path had several documents. A path means those that are or were last there;
//! only if there are none, those that had left it before. Likewise for names of entities.
//! Invariant: what was kept under a path at some time belongs to one document: the first that changed there afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use notes::resolve::name_key;
use rusqlite::Connection;

use super::has_table;
use crate::store::ledger::read_copy;

/// A document was at a path, before or after a change. The oldest sorts first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stay {
    at_ms: i64,
    is_after: bool,
    hash: Vec<u8>,
    uid: String,
}

/// What the ledger and its copies know of documents.
#[derive(Debug, Default)]
pub struct Identities {
    /// The last path of each document.
    last: BTreeMap<String, String>,
    stays: BTreeMap<String, BTreeSet<Stay>>,
    /// The last name of each entity, by the uid of its note; and all names.
    named: BTreeMap<String, String>,
    names: BTreeSet<(String, String)>,
}

impl Identities {
    /// Adds what a ledger, or a copy of one, knows; one that cannot be read adds nothing. Of two that differ, the first
    /// one is right.
    pub fn read(&mut self, ledger: &Path) {
        let _ = read_copy(ledger, |db| self.read_from(db));
    }

    pub(in crate::store) fn read_from(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let mut newest: HashMap<String, (i64, String)> = HashMap::new();
        if has_table(db, "changes")? {
            let sql = "SELECT uid, was_path, at_ms, was_hash, 0 FROM changes WHERE was_path IS NOT NULL
                       UNION ALL SELECT uid, path, at_ms, hash, 1 FROM changes WHERE path IS NOT NULL ORDER BY 3, 5";
            let mut statement = db.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (uid, path): (String, String) = (row.get(0)?, row.get(1)?);
                self.add(&path, &uid, row.get(2)?, row.get(3)?, row.get(4)?);
                newest.insert(uid, (row.get(2)?, path));
            }
        }
        let mut statement = db.prepare("SELECT uid, path, hash, gone_ms FROM documents")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (uid, path, gone_ms): (String, String, Option<i64>) =
                (row.get(0)?, row.get(1)?, row.get(3)?);
            if self.last.contains_key(&uid) {
                continue;
            }
            // A vanished document may wait at a path that it never had, see `ledger/identity.rs`.
            let (path, at_ms) = match (gone_ms, newest.remove(&uid)) {
                (Some(_), Some((at_ms, path))) => (path, at_ms),
                (gone_ms, _) => (path, gone_ms.unwrap_or(i64::MAX)),
            };
            self.add(&path, &uid, at_ms, row.get(2)?, true);
            self.last.insert(uid, path);
        }
        if has_table(db, "memory_events")? {
            let sql = "SELECT uid, node FROM memory_events WHERE uid <> '' ORDER BY id DESC";
            let mut statement = db.prepare(sql)?;
            for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                let (uid, node): (String, String) = row?;
                self.names.insert((name_key(&node), uid.clone()));
                self.named.entry(uid).or_insert(name_key(&node));
            }
        }
        Ok(())
    }

    /// Adds that a document was at a path with some content. Unknown uids are ignored: the ledger that gave them is
    /// lost.
    pub fn saw(&mut self, uid: &str, path: &str, at_ms: i64, hash: &[u8]) {
        if self.last.contains_key(uid) {
            self.add(path, uid, at_ms, hash.to_vec(), false);
        }
    }

    fn add(&mut self, path: &str, uid: &str, at_ms: i64, hash: Vec<u8>, is_after: bool) {
        let stay = Stay { at_ms, is_after, hash, uid: uid.to_string() };
        self.stays.entry(path.to_string()).or_default().insert(stay);
    }

    /// Returns every path at which a document ever was.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.stays.keys().map(String::as_str)
    }

    /// Returns the documents that are or were last at a path or below it.
    pub fn at(&self, named: &str) -> BTreeSet<String> {
        let last = self.last.iter().filter(|(_, path)| is_within(path, named));
        last.map(|(uid, _)| uid.clone()).collect()
    }

    /// Returns the documents that ever were at a path or below it, and changed or left it after this time.
    pub fn ever_at(&self, named: &str, after_ms: i64) -> BTreeSet<String> {
        // `0` is the character after `/`.
        let below = self.stays.range(format!("{named}/")..format!("{named}0"));
        let stays = self.stays.get(named).into_iter().chain(below.map(|(_, it)| it)).flatten();
        stays.filter(|it| it.at_ms > after_ms).map(|it| it.uid.clone()).collect()
    }

    /// Returns the documents that ever were below a folder, with their paths there, the earliest first.
    pub fn stays_below(&self, folder: &str) -> Vec<(&str, &str)> {
        let within = self.stays.iter().filter(|(path, _)| is_within(path, folder));
        let mut found: Vec<(&Stay, &str)> =
            within.flat_map(|(path, stays)| stays.iter().map(|it| (it, path.as_str()))).collect();
        found.sort();
        found.into_iter().map(|(stay, path)| (path, stay.uid.as_str())).collect()
    }

    /// Returns the notes of the entities whose last name is this; with `or_before`, if there are none, of those that
    /// had it before.
    pub fn called(&self, name: &str, or_before: bool) -> BTreeSet<String> {
        let key = name_key(name);
        let last = self.named.iter().filter(|(_, it)| **it == key);
        let found: BTreeSet<String> = last.map(|(uid, _)| uid.clone()).collect();
        if !found.is_empty() || !or_before {
            return found;
        }
        self.names.iter().filter(|(it, _)| *it == key).map(|(_, uid)| uid.clone()).collect()
    }

    /// Returns whose the thing is that was kept under a path at this time; `hash` decides where several documents
    /// changed there at once.
    pub fn owner(&self, path: &str, at_ms: i64, hash: &[u8]) -> Option<&str> {
        let later = || self.stays.get(path).into_iter().flatten().filter(|it| it.at_ms >= at_ms);
        let same = later().find(|it| it.hash == hash);
        same.or_else(|| later().next()).map(|it| it.uid.as_str())
    }

    /// Returns the last path of a document; `None` if no ledger knows it.
    pub fn path_of(&self, uid: &str) -> Option<&str> {
        self.last.get(uid).map(String::as_str)
    }

    /// Returns every path that these documents had, and the hash of each of their contents.
    pub fn traces_of(&self, uids: &BTreeSet<String>) -> (BTreeSet<String>, BTreeSet<Vec<u8>>) {
        let (mut paths, mut hashes) = (BTreeSet::new(), BTreeSet::new());
        for (path, stays) in &self.stays {
            let own = stays.iter().filter(|it| uids.contains(&it.uid));
            for stay in own {
                paths.insert(path.clone());
                hashes.insert(stay.hash.clone());
            }
        }
        (paths, hashes)
    }
}

/// Returns whether a path is `named` or below it.
pub fn is_within(path: &str, named: &str) -> bool {
    path.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Ledger;
    use crate::store::{DocChange, DocVersion};
    use model::terms::{ContentHash, RelPath, Tick};

    /// A ledger with documents of these steps: path before, path after, at which second; each has its own content.
    fn ledger(folder: &std::path::Path, steps: &[(&str, &str, i64)]) -> Ledger {
        let ledger = Ledger::open(&folder.join("ledger.sqlite")).expect("opens");
        for (n, (from, to, at_ms)) in steps.iter().enumerate() {
            let version = |path: &str| {
                (!path.is_empty()).then(|| DocVersion { path: path.into(), hash: vec![0; 16] })
            };
            let uid = if from.is_empty() || to.is_empty() {
                let path = RelPath::new(if to.is_empty() { *from } else { *to });
                let hash = ContentHash(at_ms.unsigned_abs().into());
                ledger.uid_for(&path, hash, None, *at_ms).expect("a uid")
            } else {
                let (from, to) = (RelPath::new(*from), RelPath::new(*to));
                ledger.uid_for(&to, ContentHash(n as u128), Some(&from), *at_ms).expect("a uid")
            };
            if to.is_empty() {
                ledger.mark_gone(&RelPath::new(*from), *at_ms).expect("marked");
            }
            ledger
                .keep_change(&DocChange {
                    tick: Tick(n as u64 + 1),
                    uid,
                    at_ms: *at_ms,
                    before: version(from),
                    after: version(to),
                    is_unseen: false,
                    lines: vec![],
                    n_more: 0,
                })
                .expect("kept");
        }
        ledger
    }

    #[test]
    fn a_path_means_its_last_documents_and_a_time_whose_version_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        // The first document leaves `a`, the second comes there; the third is deleted where it was.
        let steps = [
            ("", "d/a", 10),
            ("d/a", "b", 20),
            ("", "d/a", 30),
            ("", "c", 40),
            ("c", "", 50),
            ("", "e", 60),
            ("e", "f/e", 70),
        ];
        let ledger = ledger(folder.path(), &steps);
        let mut known = Identities::default();
        known.read_from(ledger.db()).expect("read");
        let only = |found: BTreeSet<String>| {
            assert!(found.len() <= 1, "{found:?}");
            found.into_iter().next()
        };
        let uid = |path: &str| only(known.at(path));
        let (first, second) = (uid("b").expect("known"), uid("d/a").expect("known"));
        assert_eq!((uid("d"), known.ever_at("d", i64::MIN).len()), (Some(second.clone()), 2));
        assert_eq!((uid("c").is_some(), uid("e"), uid("x")), (true, None, None));
        assert_eq!(only(known.ever_at("e", i64::MIN)), uid("f"));
        let owner = |path: &str, at_ms| known.owner(path, at_ms, &[]).map(str::to_string);
        assert_eq!(owner("d/a", 15), Some(first.clone()));
        assert_eq!(owner("d/a", 25), Some(second));
        assert_eq!(owner("c", 99), None, "it was gone");
        let (paths, _) = known.traces_of(&[first].into());
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["b", "d/a"]);
    }
}
