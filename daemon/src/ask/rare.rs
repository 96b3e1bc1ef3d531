//! Rare: the words of a question that choose which chunks are scored.
//!
//! FTS5 scores every chunk that holds any word of a question, and of a long question one word or another stands in most
//! of them. What stands in many chunks adds little to a score, so a chunk that holds none of the rare words is hardly
//! ever among the best. Here those are told apart; the score itself is still that of all words.
//! In: a question's terms. Out: an expression of some of them, or none where all chunks may as well be scored.
//! Invariants: it follows from the question and the commit alone; identifiers and phrases count as one term each, by
//! how often they stand as a whole; in a folder of few chunks nothing is left out.
//! Not here: searching (`recall.rs`), words that never count (`question.rs`).

use rusqlite::Connection;

use super::AskError;

/// Chunks that hold a rare word and are scored, about: some microseconds each.
const SCORED: i64 = 10_000;

/// Chunks that must be scored at least, whatever that takes: more than any question asks for.
const AT_LEAST: i64 = 1_000;

/// Terms that are always among the rare ones. With two, a question of nothing but common words finds the same first
/// ten chunks of 100,000 as if all were scored; with one, 1.3 % of them are others.
const TERMS_AT_LEAST: usize = 2;

/// Chunks counted of one term; those that stand in more are equally common.
const COUNTED: i64 = 50_000;

/// The expression that a chunk must match to be scored; none when that is every chunk with any of the terms.
pub(super) fn rare(db: &Connection, terms: &[String]) -> Result<Option<String>, AskError> {
    if terms.len() <= TERMS_AT_LEAST {
        return Ok(None);
    }
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ?1 LIMIT ?2)",
    )?;
    let mut counted: Vec<(i64, &str)> = Vec::with_capacity(terms.len());
    for term in terms {
        let n: i64 = count.query_row((term, COUNTED), |row| row.get(0))?;
        counted.push((n, term.as_str()));
    }
    Ok(rarest(counted))
}

fn rarest(mut counted: Vec<(i64, &str)>) -> Option<String> {
    // Equally frequent ones stay in the question's order.
    counted.sort_by_key(|(n, _)| *n);
    let mut total = 0;
    let mut rare: Vec<&str> = Vec::new();
    for (n, term) in &counted {
        if rare.len() >= TERMS_AT_LEAST && total >= AT_LEAST && total + n > SCORED {
            break;
        }
        rare.push(term);
        total += n;
    }
    (rare.len() < counted.len()).then(|| rare.join(" OR "))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{rare, rarest};

    #[test]
    fn common_words_choose_nothing_where_rarer_ones_do() {
        type Counted<'a> = &'a [(i64, &'a str)];
        let rows: [(Counted<'_>, Option<&str>); 7] = [
            (&[(900, "a"), (40, "b"), (9_500, "c")], None),
            (&[(30_000, "a"), (1_400, "b"), (50, "c"), (20_000, "d")], Some("c OR b")),
            // Two at least, however common, in the question's order.
            (&[(40_000, "a"), (30_000, "b"), (50_000, "c"), (50_000, "d")], Some("b OR a")),
            (&[(50_000, "x"), (50_000, "y"), (50_000, "z")], Some("x OR y")),
            // Words that nobody wrote, or hardly anybody, do not choose alone.
            (&[(0, "a"), (3, "b"), (20_000, "c"), (30_000, "d")], Some("a OR b OR c")),
            (&[(0, "a"), (0, "b"), (20_000, "c")], None),
            (&[(0, "a"), (0, "b")], None),
        ];
        for (counted, expected) in rows {
            assert_eq!(rarest(counted.to_vec()).as_deref(), expected, "{counted:?}");
        }
    }

    /// Chunks of which every one holds `common`, each second `also`, each twentieth the phrase `key store`.
    #[test]
    fn a_phrase_counts_by_how_often_it_stands_as_a_whole() {
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(
            "CREATE VIRTUAL TABLE chunk_fts USING fts5(title, headings, body, content='');
             INSERT INTO chunk_fts(rowid, title, headings, body)
               WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24000)
               SELECT i, 'key', 'store', 'common' || iif(i % 2, ' also', '') || iif(i % 20, '', ' key store') FROM n",
        )
        .expect("filled");
        let terms = |terms: &[&str]| terms.iter().map(|term| term.to_string()).collect::<Vec<_>>();
        let question = terms(&["common", "\"also\"", "\"key store\"", "(\"nobody\" OR \"no\")"]);
        let chosen = rare(&db, &question).expect("counted").expect("some are left out");
        assert_eq!(chosen, "(\"nobody\" OR \"no\") OR \"key store\"");
        assert_eq!(rare(&db, &terms(&["common", "also"])).expect("counted"), None);
        let found = |sql: &str| -> Vec<i64> {
            let mut statement = db.prepare(sql).expect("prepared");
            let rows = statement.query_map([], |row| row.get(0)).expect("asked");
            rows.map(|row| row.expect("a row")).collect()
        };
        let best =
            "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH 'common OR also OR \"key store\"'";
        let order = "ORDER BY bm25(chunk_fts), rowid LIMIT 40";
        let among =
            "AND +rowid IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH '\"key store\"')";
        assert_eq!(found(&format!("{best} {among} {order}")), found(&format!("{best} {order}")));
    }
}
