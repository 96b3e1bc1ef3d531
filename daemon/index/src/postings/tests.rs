use std::collections::BTreeMap;

use proptest::prelude::*;
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::*;
use crate::words::phrases_in;

/// Creates a text index with pages so small that every list spans several.
fn index(n_page_bytes: u32) -> Connection {
    let db = Connection::open_in_memory().expect("opens");
    db.execute_batch(&format!(
        "CREATE VIRTUAL TABLE chunk_fts USING fts5(
           title, headings, body, content='', contentless_delete=1, tokenize=\"{}\");
         INSERT INTO chunk_fts(chunk_fts, rank) VALUES('pgsz', {n_page_bytes});",
        crate::words::TOKENIZER
    ))
    .expect("made");
    db
}

fn put(db: &Connection, id: i64, [title, headings, body]: [&str; 3]) {
    db.prepare_cached("INSERT INTO chunk_fts(rowid, title, headings, body) VALUES(?1, ?2, ?3, ?4)")
        .and_then(|mut insert| insert.execute(params![id, title, headings, body]))
        .expect("written");
}

/// Returns the hits of FTS5.
fn by_fts5(db: &Connection, expression: &str, wanted: usize) -> Vec<(i64, f32)> {
    let [title, headings, body] = FIELDS;
    let sql = format!(
        "SELECT rowid, -bm25(chunk_fts, {title:?}, {headings:?}, {body:?}) AS score FROM chunk_fts
         WHERE chunk_fts MATCH ?1 ORDER BY score DESC, rowid LIMIT ?2"
    );
    let mut statement = db.prepare(&sql).expect("prepared");
    let rows = statement
        .query_map(params![expression, wanted as i64], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("asked");
    rows.map(|row| row.expect("a row")).collect()
}

fn ours(db: &Connection, expression: &str, wanted: usize) -> Vec<(i64, f32)> {
    let postings = Postings::open(db).expect("opened");
    let mut scorer = Scorer::new(&postings);
    scorer.add_all(&postings, &phrases_in(expression), 1).expect("read");
    scorer.best(db, wanted, None).expect("scored")
}

/// Checks that both return the same hits and scores.
fn agree(db: &Connection, expression: &str) {
    for wanted in [1, 3, 1_000] {
        let (theirs, ours) = (by_fts5(db, expression, wanted), ours(db, expression, wanted));
        assert_eq!(theirs, ours, "{expression}, {wanted}");
    }
}

/// Every word and how many chunks hold it.
fn all_words(db: &Connection) -> BTreeMap<String, u32> {
    let postings = Postings::open(db).expect("opened");
    let mut all = BTreeMap::new();
    let mut add = |word: &[u8], n: u32| {
        *all.entry(String::from_utf8_lossy(word).into_owned()).or_insert(0) += n;
    };
    postings.each_word(&mut add).expect("read");
    all
}

fn words_by_fts5(db: &Connection) -> BTreeMap<String, u32> {
    db.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, chunk_fts, row)",
    )
    .expect("made");
    let mut statement = db.prepare("SELECT term, doc FROM temp.words").expect("prepared");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("asked");
    rows.map(|row| row.expect("a row")).collect()
}

const EXPRESSIONS: [&str; 12] = [
    r#""a""#,
    r#""b" OR "c""#,
    r#"("a" OR "ab") OR "long" OR "none""#,
    r#""a b""#,
    r#""a b c" OR "c""#,
    r#""a a""#,
    r#""a"* OR "lo"*"#,
    r#""longe"* OR "z""#,
    r#""none""#,
    r#""c++" OR "é""#,
    r#""a" OR "a""#,
    r#""zzzz" OR "0""#,
];

#[test]
fn lists_over_many_pages_and_rows_that_were_deleted_are_read_as_fts5_reads_them() {
    let db = index(64);
    for id in 1..400i64 {
        let body =
            format!("{} a b c long longer word{} é c++ a b", "a ".repeat(id as usize % 90), id);
        put(
            &db,
            id * 7 + (1 << 20) * (id % 5),
            [if id % 3 == 0 { "a title" } else { "" }, "ab b", &body],
        );
        if id % 11 == 0 {
            db.execute("DELETE FROM chunk_fts WHERE rowid = ?1", [id * 7 + (1 << 20) * (id % 5)])
                .expect("deleted");
        }
    }
    EXPRESSIONS.iter().for_each(|expression| agree(&db, expression));
    // Halfway through a merge a row's words are in two segments.
    for _ in 0..40 {
        db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES('merge', 3)", [])
            .expect("merged");
        EXPRESSIONS.iter().for_each(|expression| agree(&db, expression));
        assert_eq!(all_words(&db), words_by_fts5(&db));
    }
    db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES('optimize')", []).expect("merged");
    EXPRESSIONS.iter().for_each(|expression| agree(&db, expression));
}

#[test]
fn an_empty_index_and_no_words_find_nothing() {
    let db = index(1_000);
    assert_eq!(ours(&db, r#""a""#, 10), []);
    put(&db, 1, ["", "", "a"]);
    assert_eq!(ours(&db, "", 10), []);
    assert_eq!(ours(&db, r#""""#, 10), []);
    assert_eq!(ours(&db, r#""a""#, 0), []);
}

#[test]
fn of_some_rows_only_the_best_of_these_are_found_and_any_row_has_a_score() {
    let db = index(1_000);
    for id in 1..50 {
        put(&db, id, ["", "", &"a b ".repeat(id as usize)]);
    }
    put(&db, 50, ["", "", "c"]);
    let postings = Postings::open(&db).expect("opened");
    let mut scorer = Scorer::new(&postings);
    scorer.add_all(&postings, &phrases_in(r#""a" OR "c""#), 1).expect("read");
    let among: FxHashSet<i64> = [3, 40, 70].into_iter().collect();
    let all: Vec<(i64, f32)> = scorer.best(&db, 100, None).expect("scored");
    let expected: Vec<(i64, f32)> =
        all.iter().copied().filter(|it| among.contains(&it.0)).collect();
    assert_eq!(scorer.best(&db, 5, Some(&among)).expect("scored"), expected);
    let scores = scorer.scores(&db, vec![50, 7, 99]).expect("scored");
    let of = |id| all.iter().find(|it| it.0 == id).map_or(0.0, |it| it.1);
    assert_eq!(
        scores.iter().map(|(id, score)| (*id, *score as f32)).collect::<Vec<_>>(),
        [(7, of(7)), (50, of(50)), (99, 0.0)]
    );
}

#[test]
fn words_are_listed_by_their_beginning() {
    let db = index(64);
    for id in 1..200i64 {
        put(&db, id, ["", "", &format!("{} word{id} wort other", "word1 ".repeat(40))]);
    }
    let postings = Postings::open(&db).expect("opened");
    assert_eq!(postings.words_with("word19", 100).expect("read").len(), 11);
    assert_eq!(postings.words_with("word19", 2).expect("read").len(), 2);
    assert_eq!(postings.words_with("wor", 1_000).expect("read").len(), 200);
    assert_eq!(postings.words_with("x", 10).expect("read"), Vec::<String>::new());
}

#[test]
fn an_index_that_notes_deletions_otherwise_is_left_to_fts5() {
    let db = Connection::open_in_memory().expect("opens");
    db.execute_batch(
        "CREATE VIRTUAL TABLE chunk_fts USING fts5(title, headings, body, content='');
         INSERT INTO chunk_fts(rowid, body) VALUES(1, 'a')",
    )
    .expect("made");
    assert!(matches!(Postings::open(&db), Err(Unread::Shape(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn scores_and_order_are_those_of_fts5(
        steps in prop::collection::vec((0i64..40, "([abc]|ab|long|longer|é|c\\+\\+| ){0,30}", 0u8..8), 1..60),
        n_page_bytes in prop::sample::select(vec![40u32, 100, 4_050]),
        spread in prop::sample::select(vec![1i64, 1_000, 1 << 33]),
    ) {
        let db = index(n_page_bytes);
        for (id, body, what) in &steps {
            let id = id * spread;
            // As the writer does: a rewritten row is deleted first.
            db.execute("DELETE FROM chunk_fts WHERE rowid = ?1", [id]).expect("deleted");
            match what {
                0 => {}
                1 => put(&db, id, [body, "a", ""]),
                2 => {
                    db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES('merge', 2)", []).expect("merged");
                }
                _ => put(&db, id, ["", body, body]),
            }
        }
        EXPRESSIONS.iter().for_each(|expression| agree(&db, expression));
        assert_eq!(all_words(&db), words_by_fts5(&db));
    }

    #[test]
    fn any_bytes_end_as_a_list_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), key in "[a-c]{0,2}") {
        let mut leaves = vec![bytes].into_iter();
        let mut next = |leaf: &mut Leaf| match leaves.next() {
            Some(bytes) => leaf.load(&bytes).map(|()| true),
            None => Ok(false),
        };
        let _ = leaf::walk(&mut next,key.as_bytes(), true, &mut |_, row| {
            row.is_none_or(|(_, places)| summed(places).is_some())
        });
    }
}
