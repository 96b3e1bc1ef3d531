//! The text of replies for agents, in full; `terminal.rs`: for people.

mod terminal;

use std::collections::BTreeMap;

use crate::shape::{
    AssociationView, EntityView, EvidenceView, Freshness, OriginView, RelationView, SourceView,
};
use crate::tool::admin;
use crate::tool::core::*;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// A style without anything to remove.
fn agent(max_chars: usize) -> Style {
    Style::agent(max_chars, |text| text.into())
}

fn check(reply: &impl View, max_chars: usize, expected: Expect) {
    let text = reply.text(agent(max_chars));
    assert!(text.chars().count() <= max_chars, "{} characters", text.chars().count());
    expected.assert_eq(&format!("{text}\n"));
}

fn fresh() -> Freshness {
    Freshness { project: "notes".into(), tick: 41, building: None }
}

fn hit(n: u32, snippet: &str) -> HitView {
    let components = [("text", 0.41), ("vector", 0.39), ("graph", 0.03)];
    HitView {
        handle: "0011aabbccdd".into(),
        relevance: 0.9,
        weak: false,
        id: n.into(),
        doc_id: n.into(),
        path: format!("runbooks/deploy-{n}.md"),
        lines: [n, n + 6],
        pages: None,
        section: "Deploy › Rollback".into(),
        snippet: snippet.into(),
        origin: OriginView::default(),
        score: 0.83,
        components: components.map(|(name, part)| (name.to_string(), part)).into_iter().collect(),
        also_in: None,
    }
}

fn named(id: i64, name: &str) -> EntityView {
    EntityView { id, name: name.into(), entity_type: "Service".into(), ..EntityView::default() }
}

fn hybrid(chunks: Vec<HitView>) -> HybridReply {
    let entities = vec![named(3, "Key Store"), named(4, "Auth API")];
    HybridReply { chunks, entities, freshness: fresh(), ..HybridReply::default() }
}

/// A timeline of eight months.
fn timeline() -> TimelineView {
    let day = |month: u32| DatedPlace { day: format!("2024-0{month}-05"), ..DatedPlace::default() };
    let period =
        |month| PeriodView { period: format!("2024-0{month}"), n_mentions: 2, n_documents: 1 };
    TimelineView {
        first: day(1),
        last: day(8),
        per: "month".into(),
        counts: (1..=8).map(period).collect(),
        n_earlier: 0,
    }
}

#[test]
fn places_are_lines_pages_or_headings() {
    let paged =
        HitView { path: "report.pdf".into(), lines: [0, 0], pages: Some([3, 4]), ..hit(1, "…") };
    let bare = HitView { path: "letter.docx".into(), lines: [0, 0], ..hit(2, "…") };
    let mut reply = hybrid(vec![paged, bare]);
    reply.entities.clear();
    check(
        &reply,
        2000,
        expect![[r#"
            1. report.pdf p. 3-4 § Deploy › Rollback (score .83)
               …
            2. letter.docx § Deploy › Rollback (score .83)
               …
            (notes, tick 41)
        "#]],
    );
    let place = |path: &str, line, page, section: &str| {
        let (path, section) = (path.to_string(), section.to_string());
        SourceView { path, line, page, section, text: String::new() }.place()
    };
    assert_eq!(place("a.md", 7, None, ""), "a.md:7");
    assert_eq!(place("a.html", 7, None, "Terms"), "a.html:7");
    assert_eq!(place("a.pdf", 0, Some(2), "Terms"), "a.pdf p. 2");
    assert_eq!(place("a.docx", 0, None, "Terms › Payment"), "a.docx § Terms › Payment");
}

#[test]
fn hits_one_line_and_a_snippet_each() {
    let mut second = hit(2, "A \u{1b}[31mred\u{1b}[0m word.");
    (second.lines, second.section, second.components) = ([9, 9], String::new(), BTreeMap::new());
    let mut first = hit(1, "Roll back first.\n\n  Then ask.");
    first.components.insert("same_document".into(), -0.05);
    first.score = 0.78;
    check(
        &hybrid(vec![first, second]),
        2000,
        expect![[r#"
            1. runbooks/deploy-1.md:1-7 § Deploy › Rollback (score .78)
               Roll back first.
                 Then ask.
            2. runbooks/deploy-2.md:9 (score .83)
               A \u{1b}[31mred\u{1b}[0m word.
            entities: Key Store (Service), Auth API (Service)
            (notes, tick 41)
        "#]],
    );
    let mut nothing = hybrid(vec![]);
    nothing.entities.clear();
    nothing.freshness.building = Some("indexed 3,120 of 9,800".into());
    check(
        &nothing,
        2000,
        expect![[r#"
        nothing found
        (notes, tick 41; indexed 3,120 of 9,800)
    "#]],
    );
}

#[test]
fn ten_hits_fit_two_thousand_characters() {
    let snippet =
        "The key store keeps every secret of the gateway, sealed by the master key of its region.";
    let reply = hybrid((1..=10).map(|n| hit(n, snippet)).collect());
    let text = reply.text(agent(2000));
    assert!(text.chars().count() <= 2000 && text.contains("10. runbooks"), "{text}");
}

#[test]
fn what_does_not_fit_is_counted() {
    let reply = hybrid((1..=9).map(|n| hit(n, "Some words of this hit.")).collect());
    check(
        &reply,
        300,
        expect![[r#"
            1. runbooks/deploy-1.md:1-7 § Deploy › Rollback (score .83)
               Some words of this hit.
            2. runbooks/deploy-2.md:2-8 § Deploy › Rollback (score .83)
               Some words of this hit.
            3. runbooks/deploy-3.md:3-9 § Deploy › Rollback (score .83)
               Some words of this hit.
            … 6 more
            (notes, tick 41)
        "#]],
    );
    check(
        &hybrid(vec![hit(1, &"ä".repeat(5000))]),
        200,
        expect![[r#"
            1. runbooks/deploy-1.md:1-7 § Deploy › Rollback (score .83)
               äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…
            (notes, tick 41)
        "#]],
    );
}

#[test]
fn entities_one_a_line() {
    let mut found = named(12, "Key Store");
    (found.aliases, found.score) = (vec!["keystore".into(), "KS".into()], Some(0.93));
    let mut ring = named(13, "Key\nring");
    ring.path = Some("b/ring.md".into());
    let reply = EntityReply { entities: vec![found, ring], hint: None, freshness: fresh() };
    check(
        &reply,
        2000,
        expect![[r#"
        1. Key Store (Service, id 12) also: keystore, KS  .93
        2. Key ring (Service, id 13, b/ring.md)
        (notes, tick 41)
    "#]],
    );
}

fn relation(subject: &str, predicate: &str, object: &str) -> RelationView {
    let source = SourceView {
        path: "runbooks/x.md".into(),
        line: 12,
        text: "…".into(),
        ..SourceView::default()
    };
    let (pattern, date) = ("stated".into(), Some("2024-03-01".into()));
    let evidence = vec![EvidenceView { source, span: [0, 9], pattern, confidence: 0.81, date }];
    let (subject, predicate, object) = (subject.into(), predicate.into(), object.into());
    let rest = RelationView::default();
    RelationView { subject, predicate, object, confidence: 0.81, hop: 1, evidence, ..rest }
}

#[test]
fn an_explanation() {
    let place = |line, text: &str| SourceView {
        path: "store.md".into(),
        line,
        text: text.into(),
        ..SourceView::default()
    };
    let why = LinkView {
        surface: "keystore".into(),
        decision: "alias".into(),
        score: 0.7,
        features: [("cosine".to_string(), 0.61), ("string".to_string(), 1.0)].into(),
    };
    let reply = ExplainReply {
        entity: named(12, "Key Store"),
        definition: Some(DefinitionView {
            source: place(3, "Key Store keeps secrets."),
            by: "own note".into(),
        }),
        home: Some("store.md".into()),
        facts: vec![place(5, "[port] Listens on 8443")],
        timeline: Some(timeline()),
        relations: vec![
            relation("Key Store", "depends_on", "Vault"),
            relation("Gateway", "uses", "Key Store"),
            relation("Vault", "part_of", "Platform"),
            RelationView {
                subject_id: Some(12),
                object_id: Some(15),
                object_path: Some("b/store.md".into()),
                object_shares_name: true,
                ..relation("Key Store", "like", "Key Store")
            },
        ],
        goes_with: vec![
            AssociationView {
                entity: named(15, "Vault Team"),
                n_together: 4,
                ratio: 31.5,
                units: vec![place(9, "The Vault Team runs the Key Store.")],
            },
            AssociationView {
                entity: named(16, "HSM"),
                n_together: 2,
                ratio: 12.0,
                units: Vec::new(),
            },
        ],
        sources: vec![MentioningSource {
            source: place(7, "the Key Store"),
            n_mentions: 6,
            confidence: 0.95,
        }],
        n_mentions: 14,
        n_documents: 1,
        same_name: Vec::new(),
        why: vec![why],
        freshness: fresh(),
    };
    check(
        &reply,
        2000,
        expect![[r#"
            Key Store (Service, id 12)
              “Key Store keeps secrets.” (store.md:3)
              home: store.md
            facts:
              [port] Listens on 8443 (store.md:5)
            relations:
              → depends_on Vault  (.81, runbooks/x.md:12, 2024-03-01)
              ← uses Gateway  (.81, runbooks/x.md:12, 2024-03-01)
              Vault → part_of Platform  (.81, runbooks/x.md:12, 2024-03-01)
              → like Key Store (b/store.md)  (.81, runbooks/x.md:12, 2024-03-01)
            goes with: Vault Team × 4, HSM × 2
            sources (14 mentions in 1 document):
              store.md:7  the Key Store  (6 × .95)
            mentioned 2024-01-05 to 2024-08-05: … 2024-03 × 2, 2024-04 × 2, 2024-05 × 2, 2024-06 × 2, 2024-07 × 2, 2024-08 × 2
            why:
              keystore: alias, score .70 (cosine .61 string 1.00)
            (notes, tick 41)
        "#]],
    );
}

#[test]
fn upkeep_is_compact() {
    let error = |path: &str| IngestError {
        path: path.into(),
        stage: "normalize".into(),
        reason: "not text".into(),
    };
    let reply =
        IngestReply { ingested: 3, skipped: 1, errors: vec![error("a.bin")], freshness: fresh() };
    check(
        &reply,
        2000,
        expect![[r#"
        ingested 3, skipped 1, failed 1
          a.bin: not text (normalize)
        (notes, tick 41)
    "#]],
    );
    let reply = ExtractReply { mentions: 4, entities_new: 0, relations: -2, freshness: fresh() };
    check(
        &reply,
        2000,
        expect![[r#"
        mentions +4, entities +0, relations -2
        (notes, tick 41)
    "#]],
    );
    let item = ReviewItem {
        key: "r:7f3a".into(),
        kind: "relation".into(),
        claim: "Gateway uses Key Store".into(),
        confidence: 0.42,
        evidence: relation("", "", "").evidence.pop(),
        features: BTreeMap::new(),
    };
    check(
        &ReviewReply { items: vec![item], decided: 1, freshness: fresh() },
        2000,
        expect![[r#"
        1 decision written
        r:7f3a  relation .42  Gateway uses Key Store (runbooks/x.md:12)
        (notes, tick 41)
    "#]],
    );
    let wait = admin::WaitReply { reached: false, freshness: fresh() };
    check(
        &wait,
        2000,
        expect![[r#"
        the deadline came first
        (notes, tick 41)
    "#]],
    );
    let dump =
        admin::DumpReply { rows: vec![json!({})], cursor: Some("d:9".into()), freshness: fresh() };
    check(
        &dump,
        2000,
        expect![[r#"
        1 row; next cursor `d:9`
        (notes, tick 41)
    "#]],
    );
    check(
        &admin::ShutdownReply { draining: 2, freshness: fresh() },
        2000,
        expect![[r#"
        stopping; 2 documents still on the belt
        (notes, tick 41)
    "#]],
    );
}

#[test]
fn what_looks_after_index_and_ledger() {
    let part = |part: &str, differing| admin::VerifiedPart {
        part: part.into(),
        live: 4,
        rebuilt: 5,
        differing,
    };
    let difference = admin::Difference {
        part: "chunk".into(),
        side: "rebuilt".into(),
        row: "a.md\n[0,9]".into(),
    };
    check(
        &admin::VerifyReply {
            n_rows: 8,
            parts: vec![part("doc", 0), part("chunk", 1)],
            differences: vec![difference],
            seconds: 0.52,
            freshness: fresh(),
            ..admin::VerifyReply::default()
        },
        2000,
        expect![[r#"
            notes  differs: 8 rows compared in 0.5 s

            PART   LIVE  REBUILT  DIFFERING
            doc    4     5        0
            chunk  4     5        1

            + rebuilt chunk: a.md [0,9]
            hint: `kgctl verify --repair` replaces it with the rebuilt index
            (notes, tick 41)
        "#]],
    );
    let reply = admin::RescanReply { files: 1, commits: 2, seconds: 0.04, freshness: fresh() };
    check(
        &reply,
        2000,
        expect![[r#"
            notes: 1 file compared in 0.0 s, changes were indexed in 2 commits
            (notes, tick 41)
        "#]],
    );
    let retried = admin::Retried {
        path: "a.md".into(),
        outcome: "failed".into(),
        stage: Some("normalize".into()),
        reason: Some("too deep".into()),
    };
    let reply = admin::RetryReply { files: vec![retried], embedding: None, freshness: fresh() };
    check(
        &reply,
        2000,
        expect![[r#"
            failed a.md (normalize): too deep
            (notes, tick 41)
        "#]],
    );
    let failed = admin::FailedFile {
        path: "a.md".into(),
        stage: "normalize".into(),
        reason: "too deep".into(),
        failures: 3,
        skipped: true,
        hint: "correct the file".into(),
    };
    let reply = admin::CheckupReply {
        index: "ok".into(),
        ledger: "ok".into(),
        ledger_version: 3,
        newest_backup: None,
        failed: vec![failed],
        n_failed: 1,
        freshness: fresh(),
    };
    check(
        &reply,
        2000,
        expect![[r#"
        index: ok; ledger (version 3): ok
        newest backup: none; 1 file failed
          a.md: too deep (normalize, failures 3, skipped)
        (notes, tick 41)
    "#]],
    );
    let rows = [("documents".to_string(), 3), ("decisions".to_string(), 1)].into();
    let reply = admin::BackupReply {
        path: "/b/ledger.sqlite".into(),
        bytes: 4096,
        version: 3,
        rows,
        freshness: fresh(),
    };
    check(
        &reply,
        2000,
        expect![[r#"
            /b/ledger.sqlite: 4,096 bytes, checked; 1 decisions, 3 documents
            (notes, tick 41)
        "#]],
    );
}

#[test]
fn what_is_not_read_is_cut_with_a_count() {
    let row = |by: &str, n: u64| NotReadView {
        reason: "extension".into(),
        by: by.into(),
        count: n,
        paths: (0..n).map(|at| format!("data/file{at}.{by}")).collect(),
        hint: None,
    };
    let mut not_read = vec![row("xyz", 300), row("abc", 2)];
    not_read.extend((0..40).map(|at| row(&format!("e{at}"), 1)));
    let survey = Some(SurveyView { not_read, ..SurveyView::default() });
    let reply = StatusReply { survey, freshness: fresh(), ..StatusReply::default() };
    let text = reply.text(agent(2000));
    assert!(text.contains("not read: 300 (extension: xyz): data/file0.xyz, "), "{text}");
    let n: u64 = text
        .lines()
        .filter_map(|it| it.strip_prefix("not read: ")?.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert!(n == 342 && text.contains(" more, for "), "{n} {text}");
}

#[test]
fn a_status() {
    let queue = |stage: &str, bulk| QueueView { stage: stage.into(), interactive: 0, bulk };
    let reply = StatusReply {
        root: "/home/kim/notes".into(),
        pid: 77,
        version: "0.1.0".into(),
        progress: Progress { known: 9800, indexed: 3120 },
        counts: [("document".to_string(), 3120), ("entity".to_string(), 811)].into(),
        queues: vec![queue("chunk", 8), queue("write", 0)],
        survey: Some(SurveyView {
            not_read: vec![NotReadView {
                reason: "ignored".into(),
                by: "docs/.gitignore".into(),
                count: 5,
                paths: vec!["docs/a\n.md".into(), "docs/out/".into()],
                hint: None,
            }],
            ..SurveyView::default()
        }),
        quarantine: vec![QuarantineView {
            path: "a.md".into(),
            stage: "chunk".into(),
            reason: "deep".into(),
        }],
        warnings: vec![WarningView {
            path: "b.md".into(),
            warning: "frontmatter is not YAML".into(),
        }],
        watcher: "events".into(),
        clients: 1,
        freshness: fresh(),
        ..StatusReply::default()
    };
    check(
        &reply,
        2000,
        expect![[r#"
            notes  working, 3,120 of 9,800 files; not yet: searchable, resolved, vectors, deep
            folder     /home/kim/notes
            index      3,120 document, 811 entity
            formats    none
            last file
            speed      0.0 documents a second, 0.0 ms a transaction, tick 41
            daemon     pid 77, version 0.1.0, since , 0 errors, 1 client, watching by events

            QUEUE  INTERACTIVE  BULK
            chunk  0            8
            not read: 5 (ignored: docs/.gitignore): docs/a .md, docs/out/, 3 more
            hint: `not_read: true` names all, and what would have each read

            FAILED  STAGE  REASON
            a.md    chunk  deep

            WARNED  WARNING
            b.md    frontmatter is not YAML
            (notes, tick 41)
        "#]],
    );
}
