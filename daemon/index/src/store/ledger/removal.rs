//! Removal: erases forgotten strings from the ledger, and records that it did.
//!
//! In: what to forget. Out: a ledger without it, free pages and log included; a record of it as a salted hash, which
//! does not reveal it; and which detectors of secrets have checked the stored texts.

use std::io::Read as _;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::Ledger;
use crate::store::Rewrite;
use crate::store::erase::{Counts, Gone, erase};
use crate::store::{StoreError, open};
use redact::DETECTORS;

/// Length of a salt, bytes.
const SALT_BYTES: usize = 16;

/// An erasure to record.
#[derive(Debug, Clone)]
pub struct Removal {
    /// `path`, `entity` or `text`; `secrets` if the detectors requested it.
    pub kind: &'static str,
    /// The path, name or text; only its hash is written.
    pub named: String,
    /// Number of erased rows and texts, by store.
    pub counts: Counts,
}

impl Ledger {
    /// Deletes what is to be forgotten, and its remains in the file; returns how much, by table.
    pub(in crate::store) fn erase(
        &self,
        gone: &Gone,
        rewrite: &dyn Rewrite,
    ) -> Result<Counts, StoreError> {
        self.db.execute_batch("PRAGMA synchronous = FULL")?;
        let counts = erase(&self.db, gone, rewrite);
        self.db.execute_batch("PRAGMA synchronous = NORMAL")?;
        let counts = counts?;
        // Deleted rows are still in free pages and in the log until now.
        sys::fail::point("forget.ledger");
        open::vacuum(&self.db)?;
        Ok(counts)
    }

    /// Returns the keys of the decisions to delete.
    pub(in crate::store) fn decisions_meant(
        &self,
        gone: &Gone,
        rewrite: &dyn Rewrite,
    ) -> Vec<String> {
        let named = |key: &str| rewrite.takes_names() && rewrite.text(key).is_some();
        let is_meant = |key: &String| named(key) || gone.decided(key);
        self.decisions.keys().into_iter().filter(is_meant).collect()
    }

    /// Records an erasure.
    pub(in crate::store) fn record_removal(
        &self,
        removal: &Removal,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let salt = salt().map_err(|error| StoreError::Open {
            path: "/dev/urandom".into(),
            why: error.to_string(),
        })?;
        let hash = Sha256::new().chain_update(salt).chain_update(&removal.named).finalize();
        let counts = serde_json::to_string(&removal.counts).unwrap_or_default();
        self.durably(|tx| {
            let sql =
                "INSERT INTO removals(at_ms, kind, salt, hash, counts) VALUES(?1, ?2, ?3, ?4, ?5)";
            let hash: &[u8] = &hash;
            tx.execute(sql, params![now_ms, removal.kind, salt, hash, counts]).map(drop)
        })
    }

    /// Records that the current detectors have checked all stored texts.
    pub(in crate::store) fn mark_scrubbed(&self) -> Result<(), StoreError> {
        self.durably(|tx| mark_scrubbed(tx, &detectors()))
    }
}

fn salt() -> std::io::Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut salt)?;
    Ok(salt)
}

/// Returns when this was forgotten last, milliseconds since 1970.
///
/// # Errors
/// When the ledger cannot be read.
pub fn removed_ms(state_dir: &Path, kind: &str, named: &str) -> Result<Option<i64>, StoreError> {
    let db = open::plain_reader(&state_dir.join(open::LEDGER_FILE))?;
    let mut statement =
        db.prepare("SELECT salt, hash, at_ms FROM removals WHERE kind = ?1 ORDER BY at_ms DESC")?;
    let mut rows = statement.query([kind])?;
    // Each record has a salt of its own, so all of them are tried.
    while let Some(row) = rows.next()? {
        let (salt, hash): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let same = Sha256::new().chain_update(salt).chain_update(named).finalize();
        if same[..] == hash[..] {
            return Ok(Some(row.get(2)?));
        }
    }
    Ok(None)
}

/// Returns the version of the current detectors.
pub fn detectors() -> String {
    DETECTORS.to_string()
}

pub(super) fn mark_scrubbed(db: &Connection, detectors: &str) -> rusqlite::Result<()> {
    db.execute("INSERT OR REPLACE INTO scrubbed VALUES(1, ?1)", [detectors]).map(drop)
}

/// Returns the version of the detectors that last checked all stored texts.
pub fn scrubbed_by(state_dir: &Path) -> Result<Option<String>, StoreError> {
    let db = open::plain_reader(&state_dir.join(open::LEDGER_FILE))?;
    let sql = "SELECT detectors FROM scrubbed WHERE id = 1";
    Ok(db.query_row(sql, [], |row| row.get(0)).optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erase::{Needle, Needles};
    use crate::store::{KbRecord, NewVersion, Verdict};
    use model::terms::{ContentHash, RelPath, Tick};

    const SECRET: &str = "Quixotic-4711 \"plan\"";

    fn needles() -> Needles {
        Needles::new(&[Needle { text: SECRET.into(), is_name: false }]).expect("a finder")
    }

    /// Creates a ledger that holds the string in a version, a list, a key and a free page.
    fn planted() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        let version = |entry, text: &str| {
            let (title, text) = (format!("of {SECRET}"), text.to_string());
            KbRecord::Version(NewVersion { entry, title, text, ..NewVersion::default() })
        };
        let long = format!("{}\nIt is the {SECRET}. The rest stays.\n", "Words. ".repeat(2_000));
        ledger.record_kb(&[version(7, &long), version(8, SECRET)], 1).expect("kept");
        ledger.record_kb(&[KbRecord::Purged(8)], 2).expect("kept");
        let uid = ledger.uid_for(&RelPath::new("a.md"), ContentHash(1), None, 1).expect("a uid");
        let record = crate::store::IngestRecord { tags: vec![SECRET.into()], source_url: None };
        ledger.record_ingest(&[RelPath::new("a.md")], &record).expect("kept");
        let key = "link:quixotic4711plan>b".to_string();
        let other = format!("observation:@{uid}>fact>00");
        let decided = [key, other].map(|key| (key, Some(Verdict::Rejected)));
        ledger.decide(&decided, 1, Tick(1)).expect("kept");
        (folder, ledger)
    }

    fn holds(folder: &Path) -> bool {
        let needles = [Needle { text: SECRET.into(), is_name: false }].into();
        let wanted = crate::erase::Wanted { needles, ..Default::default() };
        let found = crate::erase::scan(folder, &wanted);
        !found.expect("read").hits.is_empty()
    }

    #[test]
    fn a_string_goes_from_rows_keys_and_free_pages_and_the_rest_stays() {
        let (folder, ledger) = planted();
        assert!(holds(folder.path()));
        let counts = ledger.erase(&Gone::default(), &needles()).expect("erased");
        assert_eq!(format!("{counts:?}"), r#"{"decisions": 1, "ingested": 1, "kb_versions": 1}"#);
        assert!(!holds(folder.path()));
        let read =
            |sql: &str| ledger.db.query_row(sql, [], |row| row.get::<_, String>(0)).expect("a row");
        let text = read("SELECT text FROM kb_versions");
        assert!(text.ends_with("It is the [forgotten]. The rest stays.\n"), "{text}");
        assert_eq!(read("SELECT tags FROM ingested"), r#"["[forgotten]"]"#);
        let keys = ledger.decisions_meant(&Gone::default(), &needles());
        assert_eq!(keys, ["link:quixotic4711plan>b"]);
    }

    #[test]
    fn a_document_goes_with_all_that_is_kept_of_it() {
        let (_folder, ledger) = planted();
        let ingested = |path: &str, entries: &[&str]| {
            let entries = entries.iter().map(|it| it.to_string()).collect();
            KbRecord::Ingested(crate::store::IngestedFile {
                path: path.into(),
                entries,
                ..Default::default()
            })
        };
        let files = [ingested("a.md", &["kb-00001"]), ingested("b.md", &["kb-00007", "kb-00008"])];
        ledger.record_kb(&files, 3).expect("kept");
        let mut known = crate::store::Identities::default();
        known.read_from(&ledger.db).expect("read");
        let uids = known.at("a.md");
        let mut gone = Gone { uids, entries: [7].into(), ..Gone::default() };
        gone.resolve_in(&ledger.db, &known, &Default::default()).expect("read");
        let none = Needles::new(&[]).expect("a finder");
        let counts = ledger.erase(&gone, &none).expect("erased");
        let wanted = r#"{"decisions": 1, "documents": 1, "ingested": 1, "kb_ingested": 2, "kb_versions": 1}"#;
        assert_eq!(format!("{counts:?}"), wanted);
        // The record of another file only loses the id of the entry.
        let sql = "SELECT path || ' ' || entries FROM kb_ingested";
        let left = ledger.db.query_row(sql, [], |row| row.get::<_, String>(0));
        assert_eq!(left.expect("a row"), r#"b.md ["kb-00008"]"#);
    }

    #[test]
    fn the_record_says_nothing_of_what_it_was() {
        let (folder, ledger) = planted();
        ledger.erase(&Gone::default(), &needles()).expect("erased");
        let removal = Removal { kind: "text", named: SECRET.into(), counts: Counts::new() };
        ledger.record_removal(&removal, 5).expect("kept");
        assert!(!holds(folder.path()));
        let n: i64 = ledger
            .db
            .query_row("SELECT count(*) FROM removals WHERE length(hash) = 32", [], |row| {
                row.get(0)
            })
            .expect("a row");
        assert_eq!(n, 1);
    }
}
