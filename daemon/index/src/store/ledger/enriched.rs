//! Enriched: what a language model extracted from entries, by entry number and hash of its input.
//!
//! In: extracted relations, requests to repeat, requests to forget. Out: the same.
//! Invariants: only the last reading of an entry is kept; a forgotten one stays forgotten until its text changes or
//! somebody asks for it again.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::KbLedger;
use crate::store::StoreError;

/// What a model extracted from one entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enriched {
    /// The entry's number.
    pub entry: u64,
    /// Hash of the text that was read.
    pub hash: [u8; 16],
    /// Relations, each with the id of its node.
    pub relations: Vec<(String, String)>,
    /// The model; empty if the reading was forgotten.
    pub model: String,
    /// Why there is nothing, if the model's answer was unusable.
    pub trouble: Option<String>,
    /// True when it must be repeated; the old reading is valid until then.
    pub is_due: bool,
}

/// A change of the readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// Something was read.
    Done(Enriched),
    /// Repeat the reading of this entry, or of all.
    Again(Option<u64>),
    /// Delete all readings.
    Forgotten,
}

pub(super) fn keep(tx: &Connection, reading: &Reading, now_ms: i64) -> rusqlite::Result<()> {
    match reading {
        Reading::Done(it) => {
            let relations = serde_json::to_string(&it.relations).unwrap_or_default();
            tx.prepare_cached(
                "INSERT OR REPLACE INTO kb_enriched VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                it.entry as i64,
                it.hash,
                relations,
                it.model,
                it.trouble,
                it.is_due,
                now_ms
            ])?;
        }
        Reading::Again(entry) => {
            // `None` means all entries.
            let sql = "UPDATE kb_enriched SET is_due = 1 WHERE entry = coalesce(?1, entry)";
            tx.execute(sql, [entry.map(|it| it as i64)])?;
        }
        Reading::Forgotten => {
            tx.execute("DELETE FROM kb_enriched", [])?;
        }
    }
    Ok(())
}

impl KbLedger {
    /// Returns the last reading of each entry.
    pub fn enriched(&self) -> Result<HashMap<u64, Enriched>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT entry, hash, relations, model, trouble, is_due FROM kb_enriched",
        )?;
        let rows = statement.query_map([], |row| {
            let relations: String = row.get(2)?;
            Ok(Enriched {
                entry: row.get::<_, i64>(0)?.max(0) as u64,
                hash: row.get(1)?,
                relations: serde_json::from_str(&relations).unwrap_or_default(),
                model: row.get(3)?,
                trouble: row.get(4)?,
                is_due: row.get(5)?,
            })
        })?;
        let rows = rows.map(|row| row.map(|it| (it.entry, it)));
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KbRecord, Ledger};
    use super::*;

    fn read(entry: u64, hash: u8, node: &str) -> Reading {
        let relations = vec![("uses".to_string(), node.to_string())];
        let model = "small".to_string();
        Reading::Done(Enriched { entry, hash: [hash; 16], relations, model, ..Enriched::default() })
    }

    #[test]
    fn the_last_reading_is_kept_until_it_is_forgotten_or_the_entry_purged() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        let reader = KbLedger::open(folder.path()).expect("opens");
        let keep = |readings: Vec<Reading>| {
            let records: Vec<KbRecord> = readings.into_iter().map(KbRecord::Read).collect();
            ledger.record_kb(&records, 7).expect("kept");
        };
        let shown = || {
            let mut all: Vec<Enriched> = reader.enriched().expect("read").into_values().collect();
            all.sort_by_key(|it| it.entry);
            let one = |it: &Enriched| {
                let nodes: Vec<&str> = it.relations.iter().map(|it| it.1.as_str()).collect();
                format!("{} {} {} {}", it.entry, it.hash[0], nodes.join(","), it.is_due)
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        keep(vec![read(1, 1, "tool:a"), read(2, 1, "tool:b"), read(1, 2, "tool:c")]);
        assert_eq!(shown(), ["1 2 tool:c false", "2 1 tool:b false"]);
        keep(vec![Reading::Again(Some(2))]);
        assert_eq!(shown(), ["1 2 tool:c false", "2 1 tool:b true"]);
        keep(vec![read(2, 1, "tool:d"), Reading::Again(None)]);
        assert_eq!(shown(), ["1 2 tool:c true", "2 1 tool:d true"]);
        ledger.record_kb(&[KbRecord::Purged(1)], 8).expect("kept");
        assert_eq!(shown(), ["2 1 tool:d true"]);
        keep(vec![Reading::Forgotten]);
        assert!(shown().is_empty());
    }
}
