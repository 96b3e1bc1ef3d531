//! Ids: public ids of entities, derived from what an entity is, so that a rebuilt index assigns the same ones.
//!
//! A note's id is derived from its document's uid, which the ledger keeps through renames; any other entity's from
//! its norm. Ids have 52 bits, because JSON readers lose integers above 2^53. If two entities hash to the same id (a
//! chance of one in 9,000 among a million), the later one takes the next free number and keeps it while its row
//! exists.

use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;

/// Ids are less than this.
const END: u64 = 1 << 52;

fn hashed(kind: &str, key: &str) -> i64 {
    let hash = xxhash_rust::xxh3::xxh3_64(format!("{kind}\0{key}").as_bytes());
    // Never 0, which an agent may read as "none".
    (hash % (END - 1) + 1) as i64
}

/// Inserts or updates the entity of a norm; returns its id.
pub(super) fn write_own(
    db: &Connection,
    norm: &str,
    name: &str,
    type_code: i64,
) -> Result<i64, StoreError> {
    let old: Option<(i64, bool)> = db
        .prepare_cached(
            "SELECT id, name = ?2 AND type = ?3 FROM entities WHERE norm = ?1 AND doc_id IS NULL",
        )?
        .query_row(params![norm, name, type_code], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((id, is_same)) = old {
        // An equal row is not written again: each write journals a page.
        if !is_same {
            db.prepare_cached("UPDATE entities SET name = ?2, type = ?3 WHERE id = ?1")?
                .execute(params![id, name, type_code])?;
        }
        return Ok(id);
    }
    let mut insert = db.prepare_cached(
        "INSERT OR IGNORE INTO entities(id, norm, doc_id, name, type) VALUES(?1, ?2, NULL, ?3, ?4)",
    )?;
    let mut id = hashed("norm", norm);
    // Ignored when another entity has the id.
    while insert.execute(params![id, norm, name, type_code])? == 0 {
        id = next(id);
    }
    Ok(id)
}

/// Inserts or updates a note's entity; returns its id. `type_code` is used only when the entity is new.
pub(super) fn write_note(
    db: &Connection,
    doc: i64,
    uid: &str,
    norm: &str,
    name: &str,
    type_code: i64,
) -> Result<i64, StoreError> {
    let old: Option<i64> = db
        .prepare_cached("SELECT id FROM entities WHERE doc_id = ?1")?
        .query_row([doc], |row| row.get(0))
        .optional()?;
    let mut id = hashed("note", uid);
    loop {
        let written: Option<i64> = db
            .prepare_cached(
                "INSERT INTO entities(id, norm, doc_id, name, type) VALUES(?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT(id) DO UPDATE SET norm = excluded.norm, name = excluded.name
                   WHERE doc_id = excluded.doc_id
                 ON CONFLICT(doc_id) DO UPDATE SET id = excluded.id, norm = excluded.norm, name = excluded.name
                 RETURNING id",
            )?
            .query_row(params![id, norm, doc, name, type_code], |row| row.get(0))
            .optional()?;
        let Some(new) = written else {
            id = next(id);
            continue;
        };
        // The document got another uid, and so another id.
        if let Some(old) = old.filter(|old| *old != new) {
            db.prepare_cached("UPDATE names SET entity_id = ?2 WHERE entity_id = ?1")?
                .execute([old, new])?;
        }
        return Ok(new);
    }
}

fn next(id: i64) -> i64 {
    if id as u64 + 1 >= END { 1 } else { id + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Connection {
        sys::register_sqlite_vec();
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(crate::store::schema::INDEX).expect("made");
        db
    }

    #[test]
    fn an_entity_has_the_same_id_in_every_index() {
        let ids = |db: &Connection| {
            let own = write_own(db, "tideclock", "Tide Clock", 1).expect("written");
            let note = write_note(db, 7, "uid", "tideclock", "Tide Clock", 1).expect("written");
            [own, note]
        };
        let (one, other) = (index(), index());
        write_own(&other, "something", "Something", 1).expect("written");
        assert_eq!(ids(&one), ids(&other));
        assert_eq!(ids(&one), ids(&one), "and when it is written again");
        expect_test::expect!["[3870189778753120, 833860867466272]"]
            .assert_eq(&format!("{:?}", ids(&one)));
    }

    #[test]
    fn two_that_hash_alike_get_two_ids_and_keep_them() {
        let db = index();
        let id = hashed("norm", "a");
        db.execute(
            "INSERT INTO entities(id, norm, name, type) VALUES(?1, 'taken', 'Taken', 1)",
            [id],
        )
        .expect("written");
        assert_eq!(write_own(&db, "a", "A", 1).expect("written"), id + 1);
        assert_eq!(write_own(&db, "a", "A!", 2).expect("written"), id + 1);
        assert_eq!(next(END as i64 - 1), 1);
    }

    #[test]
    fn a_note_of_another_uid_takes_its_names_along() {
        let db = index();
        let old = write_note(&db, 7, "one", "a", "A", 1).expect("written");
        db.execute(
            "INSERT INTO names VALUES(1, 'a', 0, ?1, 1.0, 1, NULL, 'A', 1, 1, 1, NULL, NULL, 0, 0, NULL)",
            [old],
        )
        .expect("written");
        let new = write_note(&db, 7, "two", "a", "A", 1).expect("written");
        assert_ne!(old, new);
        let named: i64 =
            db.query_row("SELECT entity_id FROM names", [], |row| row.get(0)).expect("a name");
        assert_eq!(named, new);
    }
}
