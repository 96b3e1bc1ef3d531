//! The text of replies for a person at a terminal, in full.

use serde_json::json;

use super::*;
use crate::tool::kb::{EntryView, KbHit, KbSearchReply};

fn terminal() -> Style {
    Style::terminal(false)
}

fn status(settled: bool) -> StatusReply {
    serde_json::from_value(json!({
        "root": "/home/ada/notes", "pid": 4711, "version": "0.1.0", "protocol": 1, "schema": 1,
        "settled": settled,
        "stages_settled": { "searchable": true, "resolved": settled, "vectors": settled },
        "progress": { "known": 9_800, "indexed": 3_120 },
        "counts": { "documents": 3_120, "entities": 812 }, "formats": { "md": 3_100, "html": 20 },
        "queues": [
            { "stage": "chunk", "interactive": 1, "bulk": 1_000 },
            { "stage": "write", "interactive": 0, "bulk": 0 }
        ],
        "last_file": "a.md", "ingest_rate": 321.07, "average_transaction_ms": 1.24,
        "orphaned_entities": 0,
        "skipped": {}, "quarantine": [], "warnings": [], "watcher": "events", "clients": 1,
        "project": "notes", "tick": 77
    }))
    .expect("a reply")
}

#[test]
fn a_busy_daemon_shows_its_queues() {
    expect![[r#"
        notes  working, 3,120 of 9,800 files; not yet: resolved, vectors, deep
        folder     /home/ada/notes
        index      3,120 documents, 812 entities
        formats    20 html, 3,100 md
        last file  a.md
        speed      321.1 documents a second, 1.2 ms a transaction, tick 77
        daemon     pid 4711, version 0.1.0, since , 0 errors, 1 client, watching by events

        QUEUE  INTERACTIVE  BULK
        chunk  1            1,000
    "#]]
    .assert_eq(&status(false).text(terminal()));
}

#[test]
fn trouble_comes_after_the_facts() {
    let mut reply = status(true);
    reply.queues.clear();
    let failed = json!({ "path": "bad\u{1b}.md", "stage": "normalize", "reason": "too deep" });
    reply.quarantine.push(serde_json::from_value(failed).expect("a row"));
    let warned = json!({ "path": "odd.md", "warning": "frontmatter is not YAML: line 2" });
    reply.warnings.push(serde_json::from_value(warned).expect("a row"));
    reply.last_error = Some("disk full".to_string());
    reply.orphaned_entities = 1;
    expect![[r#"
        notes  settled, 3,120 of 9,800 files
        folder     /home/ada/notes
        index      3,120 documents, 812 entities
        formats    20 html, 3,100 md
        last file  a.md
        speed      321.1 documents a second, 1.2 ms a transaction, tick 77
        daemon     pid 4711, version 0.1.0, since , 0 errors, 1 client, watching by events
        orphans    entities without a mention: 1; report this

        last error: disk full

        FAILED        STAGE      REASON
        bad\u{1b}.md  normalize  too deep

        WARNED  WARNING
        odd.md  frontmatter is not YAML: line 2
    "#]]
    .assert_eq(&reply.text(terminal()));
}

fn verified(same: bool, repaired: bool) -> admin::VerifyReply {
    let differing = u64::from(!same) * 3;
    let differences = json!([
        { "part": "mentions", "side": "live", "row": "a.md 3..9\u{1b} \"Ada\"" },
        { "part": "mentions", "side": "rebuilt", "row": "a.md 3..9 \"Ada L.\"" }
    ]);
    serde_json::from_value(json!({
        "same": same, "repaired": repaired, "n_rows": 8_230, "seconds": 1.26,
        "parts": [
            { "part": "documents", "live": 120, "rebuilt": 120, "differing": 0 },
            { "part": "mentions", "live": 3_002, "rebuilt": 3_001, "differing": differing }
        ],
        "differences": if same { json!([]) } else { differences },
        "project": "notes", "tick": 7
    }))
    .expect("a reply")
}

#[test]
fn an_index_that_is_what_the_files_say() {
    expect![[r#"
        notes  same: 8,230 rows compared in 1.3 s

        PART       LIVE   REBUILT  DIFFERING
        documents  120    120      0
        mentions   3,002  3,001    0
    "#]]
    .assert_eq(&verified(true, false).text(terminal()));
}

#[test]
fn an_index_that_differs() {
    expect![[r#"
        notes  differs: 8,230 rows compared in 1.3 s

        PART       LIVE   REBUILT  DIFFERING
        documents  120    120      0
        mentions   3,002  3,001    3

        - live    mentions: a.md 3..9\u{1b} "Ada"
        + rebuilt mentions: a.md 3..9 "Ada L."
        1 more; `--limit` prints more of them
        hint: `kgctl verify --repair` replaces it with the rebuilt index
    "#]]
    .assert_eq(&verified(false, false).text(terminal()));
    let repaired = verified(false, true).text(terminal());
    let wanted = "notes  differed; the rebuilt index is in use now: ";
    assert!(repaired.starts_with(wanted) && !repaired.contains("hint: "), "{repaired}");
}

#[test]
fn what_became_of_files_that_failed() {
    let reply: admin::RetryReply = serde_json::from_value(json!({
        "files": [
            { "path": "a.md", "outcome": "indexed" },
            { "path": "b.md", "outcome": "failed", "stage": "normalize", "reason": "too deep" },
            { "path": "c.md", "outcome": "gone" }
        ],
        "project": "notes", "tick": 7
    }))
    .expect("a reply");
    expect![[r#"
        indexed a.md
        failed b.md (normalize): too deep
        gone c.md
    "#]]
    .assert_eq(&reply.text(terminal()));
    assert_eq!(admin::RetryReply::default().text(terminal()), "nothing has failed\n");
}

#[test]
fn copies_and_comparisons_say_what_to_do_next() {
    let reply: admin::BackupReply = serde_json::from_value(json!({
        "path": "/s/backups/ledger-1.sqlite", "bytes": 40_960, "version": 3,
        "rows": { "decisions": 2, "documents": 1_204 }, "project": "notes", "tick": 7
    }))
    .expect("a reply");
    expect![[r#"
        /s/backups/ledger-1.sqlite: 40,960 bytes, checked; 2 decisions, 1,204 documents
    "#]]
    .assert_eq(&reply.text(terminal()));
    let rescan =
        |commits| admin::RescanReply { files: 9_800, commits, seconds: 0.42, freshness: fresh() };
    expect![[r#"
        notes: 9,800 files compared in 0.4 s, nothing had changed
        notes: 9,800 files compared in 0.4 s, changes were indexed in 1 commit
    "#]]
    .assert_eq(&(rescan(0).text(terminal()) + &rescan(1).text(terminal())));
}

#[test]
fn what_is_forgotten_is_told_with_what_is_left() {
    let removed = admin::Removed { store: "ledger".into(), what: "documents".into(), n: 1_200 };
    let left = |of_files| admin::Left {
        file: "index.sqlite".into(),
        place: "chunks\u{1b}".into(),
        n: 2,
        of_files,
    };
    let proof =
        admin::Proof { gone: false, files: 12, bytes: 40_960, left: vec![left(true), left(false)] };
    let reply = admin::ForgetReply {
        removed: vec![removed],
        in_folder: vec!["a\nb.md".into()],
        n_in_folder: 3,
        also_in: vec!["c.md".into()],
        n_also_in: 1,
        proof: Some(proof),
        ..admin::ForgetReply::default()
    };
    expect![[r#"
        STORE   WHAT       REMOVED
        ledger  documents  1,200
        still in a b.md
        and in 2 more files
        hint: these files are yours, and are indexed as they are: edit or delete them, or list them in `.kgignore`, then again
        also in c.md
        these share lines with it or mention it; what they say is theirs, and was not changed
        the index, and the ledger for their names, hold it as long as these files do
        left in index.sqlite: 2 (chunks\u{1b})
        not gone: 12 files of the state folder read, 40,960 bytes
    "#]].assert_eq(&reply.text(terminal()));
    let looked_for = vec!["gone.md in the ledger".into()];
    let reply = admin::ForgetReply { unknown: true, looked_for, ..admin::ForgetReply::default() };
    expect![[r#"
        not found: nothing was ever stored for it
        looked for gone.md in the ledger
        hint: a path is relative to the project; `kgctl forget --text -` forgets a string, wherever it stands
    "#]].assert_eq(&reply.text(terminal()));
}

#[test]
fn broken_links_are_a_table() {
    let link = admin::BrokenLinkView {
        path: "a\u{1b}.md".into(),
        line: 3,
        target: "Plan#Later".into(),
        missing: "heading".into(),
        to_path: Some("plan.md".into()),
    };
    let reply = admin::BrokenLinksReply {
        links: vec![link],
        has_more: true,
        ..admin::BrokenLinksReply::default()
    };
    expect![[r#"
        place         target      missing
        a\u{1b}.md:3  Plan#Later  heading in plan.md
        there are more: raise `--limit`
    "#]]
    .assert_eq(&reply.text(terminal()));
    let none = admin::BrokenLinksReply::default();
    assert_eq!(none.text(terminal()), "there are no broken links\n");
}

#[test]
fn settings_that_changed_are_listed_by_when_they_count() {
    let change =
        |key: &str| admin::SettingChange { key: key.into(), before: "1".into(), after: "2".into() };
    let reply = admin::ReloadReply {
        changed: vec![change("retrieval.k")],
        restart: vec![change("watch.mode")],
        warnings: vec!["`x` is unknown".into()],
        freshness: fresh(),
    };
    expect![[r#"
        notes: changed
          retrieval.k: 1 → 2
        notes: after `kgctl restart`
          watch.mode: 1 → 2
        warning: `x` is unknown
    "#]]
    .assert_eq(&reply.text(terminal()));
    let none = admin::ReloadReply { freshness: fresh(), ..admin::ReloadReply::default() };
    assert_eq!(none.text(terminal()), "notes: no setting has changed\n");
}

#[test]
fn a_person_sees_why_a_hit_was_found_and_how_far_the_index_is() {
    let mut reply = hybrid(vec![hit(1, "A \u{1b}[31mred\u{1b}[0m word.")]);
    reply.explanations = vec!["names Key Store".into()];
    reply.truncated = Some("1 of 9 hits fit; raise `max_chars` for more".into());
    reply.freshness.building = Some("indexed 3 of 9".into());
    expect![[r#"
        1. runbooks/deploy-1.md:1-7 § Deploy › Rollback (score .83)
           A \u{1b}[31mred\u{1b}[0m word.
           names Key Store
        entities: Key Store (Service), Auth API (Service)
        (1 of 9 hits fit; raise `--max-chars` for more)
        still building: indexed 3 of 9
    "#]]
    .assert_eq(&reply.text(terminal()));
    let colored = reply.text(Style::terminal(true));
    for part in [
        "\x1b[36mrunbooks/deploy-1.md:1-7\x1b[0m",
        "\x1b[1m § Deploy › Rollback\x1b[0m",
        "\x1b[2m (score .83)\x1b[0m",
        "\x1b[33mstill building: indexed 3 of 9\x1b[0m",
        "A \\u{1b}[31mred",
    ] {
        assert!(colored.contains(part), "{part:?} {colored:?}");
    }
}

#[test]
fn added_and_removed_lines_are_told_apart() {
    let line = |gone: bool, line: Option<u32>, text: &str| {
        let kind = "text".to_string();
        ChangedLineView { gone, kind, line, text: text.into() }
    };
    let changed = ChangeView {
        kind: "changed".into(),
        path: "new/a.md".into(),
        was_path: Some("a.md".into()),
        tick: 7,
        at: "2026-11-25T14:02:11Z".into(),
        lines: vec![line(true, Some(3), "One"), line(false, None, "Two\u{1b}[31m")],
        n_more_lines: 2,
        unwatched: true,
    };
    let reply = ChangesReply {
        since: "tick 5".into(),
        n_changed: 1,
        changes: vec![changed],
        n_left: 1,
        next_cursor: Some("abc".into()),
        ..ChangesReply::default()
    };
    expect![[r#"
        Changes since tick 5 (after tick 0, to tick 0): 1 changed
        ~ a.md → new/a.md (tick 7, 2026-11-25T14:02:11Z, while nobody watched)
          − 3: One
          + Two\u{1b}[31m
          and 2 lines more
        … 1 more: `--cursor abc`
    "#]]
    .assert_eq(&reply.text(terminal()));
    let colored = reply.text(Style::terminal(true));
    assert!(
        colored.contains("\x1b[31m− 3: One\x1b[0m") && colored.contains("\x1b[32m+ Two"),
        "{colored:?}"
    );
}

#[test]
fn entries_are_told_in_brief_and_without_control_characters() {
    let entry = EntryView {
        id: "kb-00042".into(),
        short_title: "WAL\u{1b} mode".into(),
        long_title: Some("SQLite runs in WAL mode".into()),
        tags: vec!["db".into()],
        project_ref: Some("kgd".into()),
        confidence: 0.45,
        warning: Some("may be out of date".into()),
        ..EntryView::default()
    };
    let hit = KbHit { entry, ..KbHit::default() };
    let hints = vec!["See also: [kb-00001] X (via tag:db)".to_string()];
    let reply = KbSearchReply { results: vec![hit], hints, ..KbSearchReply::default() };
    expect![[r#"
        1 entry
        [kb-00042] factual_reference: WAL\u{1b} mode (45 %)
           SQLite runs in WAL mode
           #db project kgd
           warning: may be out of date
        See also: [kb-00001] X (via tag:db)
    "#]]
    .assert_eq(&reply.text(terminal()));
}

#[test]
fn columns_are_aligned_by_what_a_terminal_shows() {
    let rows = [["watch.debounce_ms", "300"], ["漢字", "a cell as long as it likes, on one line"]];
    let rows = rows.map(|row| row.map(String::from).to_vec()).to_vec();
    expect![[r#"
        KEY                VALUE
        watch.debounce_ms  300
        漢字               a cell as long as it likes, on one line
    "#]]
    .assert_eq(&table(terminal(), &["KEY", "VALUE"], rows.clone()));
    let colored = table(Style::terminal(true), &["KEY", "VALUE"], rows);
    assert!(colored.starts_with("\x1b[1mKEY                VALUE\x1b[0m\n"), "{colored:?}");
    assert_eq!(table(Style::terminal(false), &["KEY"], Vec::new()), "");
}

#[test]
fn a_person_sees_the_words_that_state_a_relation_and_the_rule_that_read_them() {
    let mut reply: ExplainReply = serde_json::from_value(json!({
        "entity": { "id": 12, "name": "Key Store", "type": "Service" }, "sources": [], "facts": [],
        "relations": [], "n_mentions": 0, "n_documents": 0, "project": "notes", "tick": 41
    }))
    .expect("a reply");
    reply.relations.push(relation("Key Store", "depends_on", "Vault"));
    expect![[r#"
        Key Store (Service, id 12)
        relations:
          → depends_on Vault  (.81, runbooks/x.md:12, 2024-03-01)
              “…” [stated]
    "#]]
    .assert_eq(&reply.text(terminal()));
}
