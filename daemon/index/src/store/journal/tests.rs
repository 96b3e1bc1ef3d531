//! The journal's entries for batches, each written once.

use std::path::Path;

use expect_test::{Expect, expect};

use crate::store::testing::Bench;
use crate::store::{ChangeLedger, IndexWriter};
use config::Settings;
use model::document::Document;
use model::terms::{RelPath, Tick};
use model::{Item, Ticket};

/// Creates a complete index of two notes.
fn whole() -> Bench {
    let mut bench = Bench::new();
    bench.put("a.md", "# Alpha\n\n- [fact] One\n");
    bench.put("b.md", "# Beta\n\nSome words.\n");
    bench.settle_all();
    bench.writer.mark_vanished(5).expect("marked");
    bench
}

/// Opens the same folder again.
fn opened_again(bench: Bench) -> Bench {
    let Bench { writer, tokens, embedder, generation, folder } = bench;
    drop(writer);
    let writer = IndexWriter::open(folder.path(), "test", &Settings::default(), embedder.clone());
    Bench { writer: writer.expect("opens"), tokens, embedder, generation, folder }
}

fn rows(folder: &Path, until: Tick) -> String {
    let ledger = ChangeLedger::open(folder).expect("opens");
    let mut changes = ledger.between(Tick(0), until).expect("read");
    // Changes of one tick are ordered by uid, which is random.
    let from = |it: &super::DocVersion| it.path.clone();
    changes.sort_by_key(|it| (it.tick, it.before.as_ref().map(from), it.after.as_ref().map(from)));
    let mut out = String::new();
    for it in changes {
        let path =
            |it: &Option<super::DocVersion>| it.as_ref().map_or("-".into(), |it| it.path.clone());
        let unseen = if it.is_unseen { " unseen" } else { "" };
        out += &format!("{} > {}{unseen}\n", path(&it.before), path(&it.after));
        for line in &it.lines {
            let sign = if line.gone { '-' } else { '+' };
            out += &format!("  {sign} {} {}\n", line.line, line.text);
        }
    }
    out
}

fn check(bench: &Bench, expected: Expect) {
    expected.assert_eq(&rows(bench.folder.path(), bench.writer.tick()));
}

fn moved(bench: &mut Bench, from: &str, to: &str, text: &str, is_exchange: bool) -> Item<Document> {
    let Item::Document(ticket, doc) = bench.item(to, text) else { panic!("a document") };
    let moved_from = Some(RelPath::new(from));
    Item::Document(Ticket { moved_from, is_exchange, ..ticket }, doc)
}

fn gone(bench: &mut Bench, path: &str) -> Item<Document> {
    Item::Removed(bench.item(path, "").ticket().clone())
}

#[test]
fn a_first_index_is_no_change_and_neither_is_a_second_reading() {
    let mut bench = whole();
    bench.put("a.md", "# Alpha\n\n- [fact] One\n");
    bench.settle_all();
    check(&bench, expect![""]);
}

#[test]
fn what_comes_changes_moves_and_goes_is_a_row_each() {
    let mut bench = whole();
    bench.put("c.md", "# Gamma\n\n- [idea] New #x\n- uses [[Alpha]]\n");
    bench.put("a.md", "# Alpha\n\n- [fact] Two\n\nAnd text.\n");
    let item = moved(&mut bench, "b.md", "d/b.md", "# Beta\n\nSome words.\n", false);
    let left = gone(&mut bench, "b.md");
    bench.commit(&[item, left]);
    bench.drop_file("c.md");
    check(
        &bench,
        expect![[r#"
            - > c.md
            a.md > a.md
              - 3 - [fact] One
              + 3 - [fact] Two
              + 5 And text.
            b.md > d/b.md
            c.md > -
        "#]],
    );
}

#[test]
fn a_batch_is_told_by_its_end() {
    let mut bench = whole();
    let items = [
        bench.item("new.md", "Here.\n"),
        gone(&mut bench, "new.md"),
        bench.item("a.md", "# Alpha\n\n- [fact] Two\n"),
        bench.item("a.md", "# Alpha\n\n- [fact] One\n"),
        moved(&mut bench, "b.md", "z.md", "# Beta\n\nSome words. More.\n", false),
        gone(&mut bench, "b.md"),
    ];
    bench.commit(&items);
    check(
        &bench,
        expect![[r#"
            b.md > z.md
              + 3 More.
        "#]],
    );
}

#[test]
fn documents_that_change_places_or_replace_another_are_told_so() {
    let mut bench = whole();
    let first = moved(&mut bench, "a.md", "b.md", "# Alpha\n\n- [fact] One\n", true);
    bench.commit(&[first]);
    let second = bench.item("a.md", "# Beta\n\nSome words.\n");
    bench.commit(&[second]);
    check(
        &bench,
        expect![[r#"
            a.md > b.md
            b.md > a.md
        "#]],
    );
    let over = moved(&mut bench, "a.md", "b.md", "# Beta\n\nSome words.\n", false);
    let left = gone(&mut bench, "a.md");
    bench.commit(&[over, left]);
    check(
        &bench,
        expect![[r#"
            a.md > b.md
            b.md > a.md
            a.md > -
            b.md > b.md
              - 1 Alpha
              + 1 Beta
              - 3 - [fact] One
              + 3 Some words.
        "#]],
    );
}

#[test]
fn a_commit_that_fails_leaves_no_row() {
    let mut bench = whole();
    let item = bench.item("a.md", "# Alpha\n\n- [fact] Two\n");
    let until = Tick(bench.writer.tick().0 + 9);
    // Like a crash between the commits of ledger and index.
    let tick = bench.writer.next_tick().expect("a tick");
    bench.writer.write_ledger(&[&item], tick, 7).expect("written");
    assert_ne!(rows(bench.folder.path(), until), "");
    let mut bench = opened_again(bench);
    assert_eq!(rows(bench.folder.path(), until), "");
    bench.commit(&[item]);
    check(
        &bench,
        expect![[r#"
            a.md > a.md
              - 3 - [fact] One
              + 3 - [fact] Two
        "#]],
    );
}

#[test]
fn an_index_that_is_built_again_has_new_ticks_and_only_what_nobody_saw() {
    let mut bench = whole();
    bench.put("c.md", "# Gamma\n");
    let before = bench.writer.tick();
    let Bench { writer, tokens, embedder, generation, folder } = bench;
    drop(writer);
    for file in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    let writer = IndexWriter::open(folder.path(), "test", &Settings::default(), embedder.clone());
    let mut bench = Bench { writer: writer.expect("opens"), tokens, embedder, generation, folder };
    assert!(bench.writer.tick() >= before, "no tick is given twice");
    bench.put("a.md", "# Alpha\n\n- [fact] One\n");
    bench.put("b.md", "# Beta\n\nOther words.\n");
    bench.put("d.md", "# Delta\n\n- [fact] Came\n");
    // Like a repetition after a crash between ledger and index: not a second change.
    let item = bench.item("d.md", "# Delta\n\n- [fact] Came\n");
    bench.commit(&[item]);
    bench.settle_all();
    bench.writer.mark_vanished(9).expect("marked");
    bench.put("b.md", "# Beta\n\nThird words.\n");
    check(
        &bench,
        expect![[r#"
            - > c.md
            b.md > b.md unseen
            - > d.md
              + 1 Delta
              + 3 - [fact] Came
            c.md > - unseen
            b.md > b.md
              - 3 Other words.
              + 3 Third words.
        "#]],
    );
}

#[test]
fn old_rows_go_and_the_journal_says_from_when_on_it_is_complete() {
    let mut bench = whole();
    let day = 24 * 3600 * 1000;
    let item = bench.item("a.md", "Old.\n");
    bench.writer.commit(&[item], day, false).expect("commits");
    let tick = bench.writer.tick();
    bench.writer.ledger().count_days(95 * day, Some(95 * day)).expect("counted");
    let item = bench.item("a.md", "New.\n");
    bench.writer.commit(&[item], 95 * day, false).expect("commits");
    check(
        &bench,
        expect![[r#"
        a.md > a.md
          - 1 Old.
          + 1 New.
    "#]],
    );
    let start = ChangeLedger::open(bench.folder.path()).expect("opens").start().expect("read");
    assert_eq!(start.map(|it| (it.tick, it.at_ms)), Some((tick, day)));
}
