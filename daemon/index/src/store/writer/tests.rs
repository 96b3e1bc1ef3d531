//! Batches of all kinds, and the rows they must leave.

use super::*;
use crate::store::testing::Bench;
use model::document::Document;

#[test]
fn several_versions_of_a_document_in_one_batch_leave_the_last_one() {
    let mut bench = Bench::new();
    let versions = [
        bench.item("a.md", "# Alpha\n\nThe first version speaks of apples."),
        bench.item("a.md", "# Alpha\n\nThe second version speaks of pears."),
        bench.item("a.md", "# Alpha\n\nThe third version speaks of plums."),
    ];
    bench.commit(&versions);
    bench.check(1);
    let other = bench.item("b.md", "# Beta\n\nAnother document.");
    bench.commit(&[other]);
    bench.check(2);
    let found = |word: &str| {
        let fts = crate::words::phrase_of(word).expect("a word");
        bench.count(&format!("SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH '{fts}'"))
    };
    assert_eq!([found("apples"), found("pears"), found("plums")], [0, 0, 1]);
}

#[test]
fn an_overtaken_version_behind_the_newer_one_is_dropped() {
    let mut bench = Bench::new();
    let older = bench.item("a.md", "# Alpha\n\nThe first version speaks of apples.");
    let newer = bench.item("a.md", "# Alpha\n\nThe second version speaks of pears.");
    bench.commit(&[newer, older]);
    bench.check(1);
    let sql = "SELECT count(*) FROM docs WHERE text LIKE '%pears%'";
    assert_eq!(bench.count(sql), 1);
}

#[test]
fn a_document_written_and_removed_in_one_batch_leaves_nothing() {
    let mut bench = Bench::new();
    let written = bench.item("a.md", "# Alpha\n\nHere and gone.");
    bench.generation += 1;
    let ticket = Ticket { generation: Generation(bench.generation), ..written.ticket().clone() };
    bench.commit(&[written, Item::Removed(ticket)]);
    bench.check(0);
    assert_eq!(bench.count("SELECT count(*) FROM entities"), 0);
}

#[test]
fn an_interrupted_batch_leaves_nothing_and_can_be_committed_again() {
    let mut bench = Bench::new();
    let batch: Vec<_> = (0..8)
        .map(|n| bench.item(&format!("{n}.md"), &format!("# Note {n}\n\nIt says {n}.")))
        .collect();
    let tick = bench.writer.tick();
    bench.writer.interruption().store(true, Ordering::SeqCst);
    let error = bench.writer.commit(&batch, 0, false).expect_err("it is interrupted");
    assert!(error.is_interruption(), "{error}");
    assert_eq!(bench.writer.tick(), tick);
    bench.check(0);
    bench.writer.interruption().store(false, Ordering::SeqCst);
    bench.commit(&batch);
    bench.check(8);
}

#[test]
fn a_document_on_its_way_while_a_name_becomes_known_is_read_again() {
    let mut bench = Bench::new();
    let first = bench.item("first.md", "# Alpha\n\nThe first note.");
    bench.commit(&[first]);
    let step = bench.writer.ripple(true).expect("mined");
    assert_eq!(step, RippleStep::Requeue(vec![1]));
    let again = bench.again(1);
    let on_its_way = bench.item("writes.md", "# Deferred\n\nAsk the Billing Portal.");
    let names_it = bench.item("portal.md", "# Billing Portal\n\nIt bills.");
    bench.commit(&[again, names_it]);
    bench.writer.ripple(true).expect("the gazetteer learns the title");
    bench.commit(&[on_its_way]);
    let RippleStep::Requeue(rows) = bench.writer.ripple(true).expect("a step") else {
        panic!("nothing is read again")
    };
    let writes = bench.count("SELECT id FROM docs WHERE path = 'writes.md'");
    assert!(rows.contains(&writes), "{rows:?}");
}

#[test]
fn what_is_read_again_for_its_names_keeps_its_other_rows_or_is_dropped() {
    let mut bench = Bench::new();
    let text = "---\naliases: [First]\n---\n# Alpha\n\n- uses [[Beta]]\n\n\
        The **Tide Clock** was built by Ada Lindqvist.";
    bench.put("a.md", text);
    bench.writer.ripple(true).expect("mined");
    let from_file = bench.item("a.md", text);
    let from_index = bench.again(1);
    let (Item::Document(_, one), Item::Document(_, other)) = (&from_file, &from_index) else {
        panic!("no documents")
    };
    assert!(!one.found.mentions.is_empty() && !one.evidence.is_empty());
    let found =
        |doc: &Document| format!("{:?}{:?}{:?}", doc.found.mentions, doc.linked, doc.evidence);
    assert_eq!(found(one), found(other), "as if it was read from its file");
    assert_eq!((&one.map, &one.line_starts), (&other.map, &other.line_starts));
    let rows = |bench: &Bench| bench.count("SELECT count(*) + sum(length(text)) FROM docs, terms");
    let n_rows = rows(&bench);
    bench.commit(std::slice::from_ref(&from_index));
    bench.check(1);
    assert_eq!(rows(&bench), n_rows);
    let mentions = "SELECT count(*) FROM mentions";
    assert!(bench.count(mentions) > 0, "now it has mentions");
    bench.put("a.md", "# Alpha\n\nIt was sold.");
    let n_mentions = bench.count(mentions);
    bench.commit(&[from_index]);
    assert_eq!(bench.count(mentions), n_mentions, "it is of another version");
    bench.check(1);
}

#[test]
fn documents_that_cannot_be_read_again_are_not_asked_for_without_end() {
    let mut bench = Bench::new();
    let note = bench.item("a.md", "# Alpha\n\nThe only note.");
    bench.commit(&[note]);
    let steps: Vec<RippleStep> =
        (0..6).map(|_| bench.writer.ripple(true).expect("a step")).collect();
    let n_asked = steps.iter().filter(|step| matches!(step, RippleStep::Requeue(_))).count();
    assert_eq!(n_asked, 2, "once, and once more: {steps:?}");
    assert_eq!(steps.last(), Some(&RippleStep::Settled));
}

#[test]
fn a_damaged_ledger_is_not_taken_for_a_damaged_index() {
    let mut bench = Bench::new();
    let items: Vec<_> =
        (0..40).map(|n| bench.item(&format!("{n}.md"), "# Note\n\nText.\n")).collect();
    bench.commit(&items);
    assert!(bench.writer.check_ledger().is_ok());
    let ledger = bench.folder.path().join("ledger.sqlite");
    for file in [ledger.clone(), ledger.with_file_name("ledger.sqlite-wal")] {
        let n_bytes = file.metadata().map_or(0, |it| it.len()) as usize;
        std::fs::write(&file, vec![0xA5; n_bytes]).expect("damaged");
    }
    let error = bench.writer.check_ledger().expect_err("it is damaged");
    assert!(
        matches!(error, StoreError::Ledger(_)) && error.trouble() == crate::store::Trouble::Lasting
    );
    assert!(error.to_string().contains("the ledger `"), "{error}");
}

mod crowded;
mod damage;
mod duplicates;
mod linking;
mod vectors;
