//! Tables of what matches and what does not, and the independence from the order of rows.

use super::*;
use expect_test::{Expect, expect};
use model::document::testing;
use proptest::prelude::*;
use std::fmt::Write;

fn gazetteer(names: &[&str]) -> Gazetteer {
    let row = |name: &&str| GazetteerTerm {
        surface: name.to_string(),
        norm: norm_of(name),
        entity_type: EntityType::Concept,
    };
    Gazetteer::build(1, names.iter().map(row))
}

fn matches(gazetteer: &Gazetteer, lines: &str) -> String {
    let doc = testing::doc(lines);
    let sentences = testing::sentences_of(&doc);
    let mut mentions = Vec::new();
    gazetteer.recognize(&doc, &sentences, &mut mentions);
    let mut out = String::new();
    for m in &mentions {
        let (span, surface) = (m.span, m.span.of(&doc.text));
        writeln!(out, "{span:?} {surface} = {}", m.name).expect("a string takes writes");
    }
    out
}

fn check(names: &[&str], lines: &str, expect: Expect) {
    expect.assert_eq(&matches(&gazetteer(names), lines));
}

#[test]
fn variants_of_a_name_match() {
    check(
        &["Signing Service", "KeyRotationJob"],
        "The signing service, SigningService, signing-service and signing_service. A key-rotation job.",
        expect![[r#"
            4..19 signing service = Signing Service
            21..35 SigningService = Signing Service
            37..52 signing-service = Signing Service
            57..72 signing_service = Signing Service
            76..92 key-rotation job = KeyRotationJob
        "#]],
    );
}

#[test]
fn the_longest_name_wins_and_a_plural_counts() {
    check(
        &[
            "Key",
            "signing key",
            "signing key epoch",
            "Calder & Pike",
            "bearer_token",
            "file",
            "webhook",
        ],
        "Two signing keys in one signing key epoch of Calder & Pike. No bearer tokens, no files. webhooks",
        expect![[r#"
            4..16 signing keys = signing key
            24..41 signing key epoch = signing key epoch
            45..58 Calder & Pike = Calder & Pike
            88..96 webhooks = webhook
        "#]],
    );
}

#[test]
fn ordinary_and_short_words_need_their_capital_or_a_mark() {
    check(
        &["Go", "Overview", "REST", "Getting Started"],
        "Go on. We go with Go, `go` and **Overview**; the rest of an overview. A REST call. getting started",
        expect![[r#"
            18..20 Go = Go
            22..24 go = Go
            29..37 Overview = Overview
            66..70 REST = REST
        "#]],
    );
}

#[test]
fn names_end_where_their_words_end() {
    check(
        &["C", "C++", "Node.js", "Zürich", "Kafka"],
        "C++ and Node.js in zürich; kafkaesque node.jsx. kafka-exporter, Kafka-based kafka_lag Kafka's",
        expect![[r#"
            0..3 C++ = C++
            8..15 Node.js = Node.js
            19..26 zürich = Zürich
            65..70 Kafka = Kafka
            87..92 Kafka = Kafka
        "#]],
    );
}

#[test]
fn urls_paths_and_code_hold_no_names() {
    check(
        &["Kafka", "rotate_keys", "Prometheus"],
        "https://kafka.example.com/kafka and ada@kafka.example, /etc/kafka, src/kafka/x.rs, Kafka/Redis\n\
         ~ kafka run rotate_keys(Prometheus) kafka\n\
         Run `kafka topics`, not `prometheus`.",
        expect![[r#"
            83..88 Kafka = Kafka
            106..117 rotate_keys = rotate_keys
            159..169 prometheus = Prometheus
        "#]],
    );
}

#[test]
fn an_empty_gazetteer_matches_nothing() {
    check(&["", "—"], "Anything at all.", expect![""]);
}

proptest! {
    #[test]
    fn any_text_is_scanned_without_harm(text in "\\PC{0,60}", name in "\\PC{1,12}") {
        let gazetteer = gazetteer(&[&name, "Kafka", "C++"]);
        let doc = testing::doc(&text);
        let mut mentions = Vec::new();
        gazetteer.recognize(&doc, &testing::sentences_of(&doc), &mut mentions);
        for pair in mentions.windows(2) {
            prop_assert!(pair[0].span.end() <= pair[1].span.start());
        }
        for mention in &mentions {
            prop_assert!(!mention.span.of(&doc.text).is_empty());
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter(
        names in proptest::collection::vec("[a-cA-C]{1,2}[ -]?[a-c]{0,2}", 1..12)
    ) {
        let forward: Vec<&str> = names.iter().map(String::as_str).collect();
        let backward: Vec<&str> = forward.iter().rev().copied().collect();
        let text = forward.join(" then ");
        prop_assert_eq!(matches(&gazetteer(&forward), &text), matches(&gazetteer(&backward), &text));
    }
}
