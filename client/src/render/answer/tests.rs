use expect_test::expect;
use serde_json::{Value, from_value, json};

use super::*;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    from_value(value).expect("a reply")
}

fn evidence_json() -> Value {
    json!({
        "path": "services/a.md", "line": 14, "text": "A uses B.", "span": [1, 9], "pattern": "uses",
        "confidence": 0.8
    })
}

#[test]
fn hits_show_place_score_and_reason() {
    let reply: HybridReply = read(json!({
        "chunks": [{
            "id": 3, "doc_id": 1, "path": "services/a.md", "lines": [12, 19], "section": "A › Dependencies",
            "snippet": "A uses B.\n\nIt \u{1b}[31mneeds C.", "score": 0.8123, "components": { "text": 0.5 }
        }],
        "entities": [
            { "id": 1, "name": "A", "type": "Service" }, { "id": 2, "name": "B", "type": "Product" }
        ],
        "edges": [], "explanations": ["words and meaning"], "truncated": "2 more hits did not fit",
        "project": "notes", "tick": 4, "building": "indexed 3 of 9"
    }));
    expect![[r#"
        services/a.md:12  A › Dependencies  0.812
          A uses B.
          It \u{1b}[31mneeds C.
          words and meaning

        entities: A (Service), B (Product)
        2 more hits did not fit
        still building: indexed 3 of 9
    "#]]
    .assert_eq(&query(&reply, Style::plain(), false));
    let none = HybridReply::default();
    expect![[r#"
        nothing found
    "#]]
    .assert_eq(&query(&none, Style::plain(), true));
    assert!(
        query(&reply, Style { color: true, width: 80 }, false)
            .contains("\x1b[36mservices/a.md:12\x1b[0m")
    );
}

#[test]
fn a_score_is_shown_as_the_sum_it_is() {
    let reply: HybridReply = read(json!({
        "chunks": [{
            "id": 3, "doc_id": 1, "path": "a.md", "snippet": "A uses B.", "score": 0.75,
            "components": { "same_document": -0.05, "text": 0.41, "vector": 0.39, "graph": 0.0 }
        }, { "id": 4, "doc_id": 1, "path": "b.md", "snippet": "B.", "score": 0.0, "components": {} }],
        "entities": [], "edges": [], "explanations": ["text + vector", ""], "project": "notes", "tick": 4
    }));
    expect![[r#"
        a.md  0.750
          A uses B.
          text + vector
          text 0.410 + vector 0.390 - same_document 0.050 = 0.750

        b.md  0.000
          B.
          not scored

    "#]]
    .assert_eq(&query(&reply, Style::plain(), true));
}

#[test]
fn entities_are_a_table() {
    let reply: EntityReply = read(json!({
        "entities": [
            { "id": 7, "name": "Signing Service", "type": "Service", "score": 1.0,
                "aliases": ["signer", "sign-svc"] },
            { "id": 12, "name": "Signing API", "type": "API" }
        ],
        "project": "notes", "tick": 4
    }));
    expect![[r#"
        NAME             TYPE     SCORE  ID  ALIASES
        Signing Service  Service  1.00   7   signer, sign-svc
        Signing API      API             12
    "#]]
    .assert_eq(&entities(&reply, Style::plain()));
    expect![[r#"
        nothing found
    "#]]
    .assert_eq(&entities(&EntityReply::default(), Style::plain()));
}

#[test]
fn an_explanation_reads_from_definition_to_reasons() {
    let reply: ExplainReply = read(json!({
        "entity": { "id": 7, "name": "A", "type": "Service", "aliases": ["a-service"] },
        "definition": { "path": "services/a.md", "line": 9, "text": "A seals documents.",
            "by": "own note" },
        "home": "services/a.md",
        "relations": [
            { "subject": "A", "predicate": "uses", "object": "B", "confidence": 0.81, "hop": 1,
                "evidence": [evidence_json()] },
            { "subject": "B", "predicate": "part_of", "object": "C", "confidence": 0.5, "hop": 2,
                "evidence": [] },
            { "subject": "D", "predicate": "uses", "object": "A", "confidence": 0.4, "hop": 1, "evidence": [] }
        ],
        "same_name": [{ "id": 7, "name": "A", "type": "Note", "path": "web/a.md" }, { "id": 8, "name": "A", "type": "Person" }],
        "sources": [{ "path": "services/a.md", "line": 9, "text": "words".repeat(60), "n_mentions": 3,
            "confidence": 1.0 }],
        "n_mentions": 5, "n_documents": 1,
        "timeline": {
            "first": { "day": "2024-11-02", "path": "log.md", "line": 3 },
            "last": { "day": "2025-02-11", "path": "report.pdf", "page": 2 },
            "per": "month", "n_earlier": 7, "counts": [
                { "period": "2024-11", "n_mentions": 40, "n_documents": 2 },
                { "period": "2025-02", "n_mentions": 1, "n_documents": 1 }]
        },
        "why": [{ "surface": "a-service", "decision": "alias", "score": 0.9,
            "features": { "string": 1.0, "type": 0.5 } }],
        "project": "notes", "tick": 4
    }));
    expect![[r#"
        A (Service)
          A seals documents.
          services/a.md:9 (own note)
          also: a-service
          also has this name: A (Note, web/a.md): kgctl explain '#7'
          also has this name: A (Person): kgctl explain '#8'
          note: services/a.md

        uses
          A → B  0.81
            services/a.md:14  “A uses B.”  [uses]
          D → A  0.40

        part_of
          B → C  0.50, hop 2

        Sources 5 mentions in 1 document
          services/a.md:9  3 × 1.00
            “wordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswordswords…”

        Timeline
          first 2024-11-02  log.md:3
          last 2025-02-11  report.pdf p. 2
          7 mentions before
          2024-11  ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪ 40 mentions in 2 documents
          2025-02  ▪ 1 mention in 1 document

        Why these names
        NAME       DECISION  SCORE  FEATURES
        a-service  alias     0.90   string 1.00, type 0.50
    "#]]
    .assert_eq(&explain(&reply, &ProjectFlags::default(), Style::plain()));
}

#[test]
fn what_writing_tools_did() {
    let reply: IngestReply = read(json!({
        "ingested": 3, "skipped": 1, "project": "notes", "tick": 4,
        "errors": [{ "path": "b.md", "stage": "normalize", "reason": "not UTF-8" }]
    }));
    expect![[r#"
        3 ingested, 1 skipped
        failed b.md (normalize): not UTF-8
    "#]]
    .assert_eq(&ingest(&reply, Style::plain()));
    let changed =
        ExtractReply { mentions: -2, entities_new: 1, relations: 3, ..ExtractReply::default() };
    expect![[r#"
        mentions -2, new entities 1, relations +3
        nothing changed
    "#]]
    .assert_eq(&(extract(&changed) + &extract(&ExtractReply::default())));
}

#[test]
fn doubts_show_the_key_that_decides_them() {
    let reply: ReviewReply = read(json!({
        "items": [
            { "key": "r:a|uses|b", "kind": "relation", "claim": "A uses B", "confidence": 0.42,
                "evidence": evidence_json() },
            { "key": "l:x", "kind": "link", "claim": "`X` is Y", "confidence": 0.5 }
        ],
        "decided": 1, "project": "notes", "tick": 4
    }));
    expect![[r#"
        1 decision written
        0.42  A uses B  relation
              services/a.md:14  “A uses B.”  [uses]
              r:a|uses|b
        0.50  `X` is Y  link
              l:x
    "#]]
    .assert_eq(&review(&reply, Style::plain()));
    expect![[r#"
        nothing doubtful
    "#]]
    .assert_eq(&review(&ReviewReply::default(), Style::plain()));
}
