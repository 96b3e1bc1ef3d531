//! Spaces: the better models' vectors, in a database of their own beside the index.
//!
//! In: vectors by the hash of the embedded text. Out: the same, whatever happened to the index meanwhile.
//! This is a cache that takes hours to fill: a rebuilt index, a file that is saved again and a copy of a text find
//! their vectors here. The index says which texts there are; nothing here is searched by itself.
//! Invariants: one process writes it; a stored vector survives a kill; a file that is damaged or has another version
//! is started over, since vectors can be computed again.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;

use super::held::Holding;
use super::{Held, Part, StoreError, open};
use model::terms::ContentHash;

/// The file, in the project's state folder.
const FILE: &str = "vectors.sqlite";

/// Raised with every change of the tables.
const VERSION: i64 = 1;

/// An empty vector marks a text that its model cannot embed.
const TABLES: &str = "
CREATE TABLE spaces(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL);
CREATE TABLE vectors(space INTEGER NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY(space, hash))
  WITHOUT ROWID;";

/// Rows deleted in one transaction.
const AT_ONCE: usize = 1_000;

/// A vector space: all vectors of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Its row.
    pub id: i64,
    /// The embedder's name for it.
    pub name: String,
    /// Value of `embed.model` at the time.
    pub model: String,
}

/// The open file.
pub struct Spaces {
    /// Before the connection, since fields are dropped in order.
    holding: Option<Holding>,
    db: Connection,
}

impl Spaces {
    /// Opens the file of a project; creates it if it is missing, and starts it over if it is damaged or of another
    /// version.
    ///
    /// # Errors
    /// When it cannot be opened now, as with a lock or a full disk: then the file is left as it is. When it cannot be
    /// created.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        let path = Self::path(state_dir);
        match Self::look(&path) {
            Ok(db) => return Ok(Spaces { holding: None, db }),
            // Hours of work lie in this file, so it is only removed if its content is unusable.
            Err(error) if !open::is_damage(&error) => return Err(open::open_error(&path, error)),
            Err(_) => open::remove(&path)?,
        }
        let db = Self::look(&path).map_err(|error| open::open_error(&path, error))?;
        Ok(Spaces { holding: None, db })
    }

    /// Has the files of a project remembered by `held` until they are closed.
    pub fn hold_in(&mut self, held: &Held, state_dir: &Path) {
        self.holding = Some(held.hold_while(Part::Vectors, &Self::path(state_dir)));
    }

    /// Removes the file of a project, which is damaged; it is created again.
    pub fn give_up(state_dir: &Path) -> Result<(), StoreError> {
        open::remove(&Self::path(state_dir))
    }

    /// Returns the path of a project's file.
    pub fn path(state_dir: &Path) -> PathBuf {
        state_dir.join(FILE)
    }

    fn look(path: &Path) -> rusqlite::Result<Connection> {
        let mut db = open::connect(path)?;
        db.execute_batch("PRAGMA secure_delete = ON")?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            VERSION => {
                // Preparing a statement fails if a table or column is missing.
                db.prepare("SELECT id, name, model FROM spaces")?;
                db.prepare("SELECT space, hash, vector FROM vectors")?;
            }
            // An empty database.
            0 => {
                let tx = db.transaction()?;
                tx.execute_batch(TABLES)?;
                tx.pragma_update(None, "user_version", VERSION)?;
                tx.commit()?;
            }
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
        Ok(db)
    }

    /// Returns the spaces that have a row.
    pub fn list(&self) -> Result<Vec<Space>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT id, name, model FROM spaces ORDER BY id")?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Space { id: row.get(0)?, name: row.get(1)?, model: row.get(2)? })
        };
        Ok(statement.query_map([], read)?.collect::<Result<_, _>>()?)
    }

    /// Returns the number of texts in a space, those without a vector included.
    pub fn n_vectors(&self, space: i64) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM vectors WHERE space = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([space], |row| row.get(0))?)
    }

    /// Returns the space of a name; creates it if it is missing.
    pub fn space(&self, name: &str, model: &str) -> Result<Space, StoreError> {
        let id = self.db.query_row(
            "INSERT INTO spaces(name, model) VALUES(?1, ?2)
             ON CONFLICT(name) DO UPDATE SET model = excluded.model RETURNING id",
            [name, model],
            |row| row.get(0),
        )?;
        Ok(Space { id, name: name.to_string(), model: model.to_string() })
    }

    /// Begins a transaction for many reads, each of which would lock the file otherwise.
    pub fn reading(&self) -> Result<rusqlite::Transaction<'_>, StoreError> {
        Ok(self.db.unchecked_transaction()?)
    }

    /// Returns the vector of a text; an empty one if the model cannot embed it; `None` if that was never tried.
    pub fn get(&self, space: i64, hash: ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT vector FROM vectors WHERE space = ?1 AND hash = ?2")?;
        let found = statement.query_row(params![space, hash.0.to_le_bytes()], |row| row.get(0));
        Ok(found.optional()?)
    }

    /// Stores the vector of a text durably.
    pub fn put(&self, space: i64, hash: ContentHash, vector: &[u8]) -> Result<(), StoreError> {
        self.db
            .prepare_cached("INSERT OR REPLACE INTO vectors VALUES(?1, ?2, ?3)")?
            .execute(params![space, hash.0.to_le_bytes(), vector])?;
        Ok(())
    }

    /// Forgets which texts of a space cannot be embedded, so that they are retried.
    pub fn forget_refused(&self, space: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM vectors WHERE space = ?1 AND length(vector) = 0";
        self.db.prepare_cached(sql)?.execute([space])?;
        Ok(())
    }

    /// Deletes the texts of these spaces that are not in `kept`, and all other spaces; returns the number of vectors
    /// deleted.
    pub fn sweep(
        &mut self,
        wanted: &[i64],
        kept: &FxHashSet<ContentHash>,
    ) -> Result<usize, StoreError> {
        let mut n_gone = 0;
        for space in self.list()? {
            if wanted.contains(&space.id) {
                n_gone += self.retain(space.id, kept)?;
            } else {
                n_gone += self.db.execute("DELETE FROM vectors WHERE space = ?1", [space.id])?;
                self.db.execute("DELETE FROM spaces WHERE id = ?1", [space.id])?;
            }
        }
        if n_gone > 0 {
            self.db.execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")?;
        }
        Ok(n_gone)
    }

    /// Deletes the texts of a space that are not in `kept`; returns how many.
    fn retain(&mut self, space: i64, kept: &FxHashSet<ContentHash>) -> Result<usize, StoreError> {
        let is_left = |hash: &Vec<u8>| {
            let bytes = hash.as_slice().try_into();
            bytes.is_ok_and(|bytes| kept.contains(&ContentHash(u128::from_le_bytes(bytes))))
        };
        let all: Vec<Vec<u8>> = self
            .db
            .prepare("SELECT hash FROM vectors WHERE space = ?1")?
            .query_map([space], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let gone: Vec<Vec<u8>> = all.into_iter().filter(|hash| !is_left(hash)).collect();
        // Short transactions: the backfill writes the same file meanwhile.
        for some in gone.chunks(AT_ONCE) {
            let tx = self.db.transaction()?;
            for hash in some {
                tx.prepare_cached("DELETE FROM vectors WHERE space = ?1 AND hash = ?2")?
                    .execute(params![space, hash])?;
            }
            tx.commit()?;
        }
        Ok(gone.len())
    }
}

/// Deletes the vectors of texts that the index does not have, in all spaces, and their remains in the file; returns
/// how many.
pub fn forget_unused(state_dir: &Path) -> Result<u64, StoreError> {
    let path = state_dir.join(FILE);
    if !path.exists() {
        return Ok(0);
    }
    let index = open::reader(&state_dir.join(open::LIVE))?;
    let hashes = "SELECT hash FROM windows";
    let mut statement = index.prepare(hashes)?;
    let kept = statement.query_map([], |row| row.get::<_, [u8; 16]>(0))?;
    let kept = kept.map(|it| it.map(|hash| ContentHash(u128::from_le_bytes(hash))));
    let kept: FxHashSet<ContentHash> = kept.collect::<rusqlite::Result<_>>()?;
    let mut spaces = Spaces::open(state_dir)?;
    let mut n_gone = 0;
    for space in spaces.list()? {
        n_gone += spaces.retain(space.id, &kept)? as u64;
    }
    // `VACUUM` copies the database to a temporary file, which should not be in memory.
    spaces.db.execute_batch("PRAGMA temp_store = FILE")?;
    open::vacuum(&spaces.db)?;
    Ok(n_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> ContentHash {
        ContentHash::of(text.as_bytes())
    }

    #[test]
    fn what_was_put_is_there_the_next_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Spaces::open(folder.path()).expect("opened");
        let space = first.space("tiny/1", "tiny").expect("a space");
        first.put(space.id, hash("a"), &[1, 2]).expect("put");
        drop(first);
        let mut second = Spaces::open(folder.path()).expect("opened");
        assert_eq!(second.space("tiny/1", "tiny").expect("a space"), space);
        assert_eq!(second.get(space.id, hash("a")).expect("read"), Some(vec![1, 2]));
        assert_eq!(second.get(space.id, hash("b")).expect("read"), None);
        let other = second.space("tiny/2", "tiny").expect("another space");
        assert_eq!(second.get(other.id, hash("a")).expect("read"), None, "spaces are apart");
        second.put(other.id, hash("b"), &[3]).expect("put");
        second.put(other.id, hash("c"), &[4]).expect("put");
        second.put(other.id, hash("d"), &[]).expect("put");
        assert_eq!(second.get(other.id, hash("d")).expect("read"), Some(vec![]), "refused");
        second.forget_refused(other.id).expect("forgotten");
        assert_eq!(second.get(other.id, hash("d")).expect("read"), None);
        assert_eq!(second.list().expect("read"), [space.clone(), other.clone()]);
        let kept = FxHashSet::from_iter([hash("b")]);
        assert_eq!(
            second.sweep(&[other.id], &kept).expect("swept"),
            2,
            "`a` of the one, `c` of the other"
        );
        assert_eq!(second.list().expect("read"), std::slice::from_ref(&other));
        assert_eq!(second.get(other.id, hash("b")).expect("read"), Some(vec![3]));
    }

    #[test]
    fn a_file_that_another_process_holds_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let spaces = Spaces::open(folder.path()).expect("opened");
        let space = spaces.space("tiny/1", "tiny").expect("a space");
        spaces.put(space.id, hash("a"), &[1, 2]).expect("put");
        drop(spaces);
        let holder = Connection::open(Spaces::path(folder.path())).expect("opened");
        let hold = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO spaces VALUES(9, 'b', 'b')";
        holder.execute_batch(hold).expect("held");
        assert!(Spaces::open(folder.path()).is_err());
        drop(holder);
        let again = Spaces::open(folder.path()).expect("opened");
        assert_eq!(again.get(space.id, hash("a")).expect("read"), Some(vec![1, 2]));
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), "no database at all").expect("written");
        let spaces = Spaces::open(folder.path()).expect("opened");
        assert_eq!(spaces.list().expect("read"), []);
        drop(spaces);
        let db = Connection::open(folder.path().join(FILE)).expect("opened");
        db.pragma_update(None, "user_version", 99).expect("written");
        drop(db);
        let spaces = Spaces::open(folder.path()).expect("opened");
        spaces.space("tiny/1", "tiny").expect("it can be written");
    }
}
