//! Given names from the file to the mentions: where they occur, and what stays of the recognized
//! ones.

use std::fmt::Write;
use std::sync::Arc;

use arc_swap::ArcSwap;
use config::settings::{Privacy, Watch};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::recognize::{Gazetteer, RecognizeStage};
use formats::{GivenNames, Normalizer};
use model::Stage;
use model::document::{Document, Pass, SourceDoc};
use model::terms::{ContentHash, RelPath};

fn normal(path: &str, bytes: &[u8], rows: &str) -> Document {
    let table = format!("path\tsurface\tnth\ttype\tentity\n{rows}");
    let names = GivenNames::of(&table).expect("a sound table");
    let source = SourceDoc {
        path: RelPath::new(path),
        hash: ContentHash::of(bytes),
        bytes: bytes.into(),
        mtime_ms: 0,
        pass: Pass::Deep,
    };
    let normalizer = Normalizer::new(&Watch::default(), &Privacy::default());
    normalizer.with_given(Some(Arc::new(names))).run(source).expect("it can be read")
}

fn recognized(doc: Document) -> Document {
    let mined = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, [].into_iter())));
    let mut stage = RecognizeStage::new(&config::settings::Recognize::default(), mined);
    stage.run(doc).expect("recognize has no faults")
}

/// Prints each mention with its place in the file, and the warnings.
fn check(path: &str, text: &str, rows: &str, expect: Expect) {
    let doc = recognized(normal(path, text.as_bytes(), rows));
    let mut out = String::new();
    for m in &doc.found.mentions {
        let raw = doc.map.to_raw(m.span);
        let (surface, kind) = (m.span.of(&doc.text), m.recognizer);
        let is_stated = if m.place.is_entity_given { ", stated" } else { "" };
        writeln!(out, "{raw:?} {surface} = {} {:?} ({kind:?}{is_stated})", m.name, m.entity_type)
            .expect("a string takes writes");
    }
    doc.warnings.iter().for_each(|it| writeln!(out, "! {it}").expect("likewise"));
    expect.assert_eq(&out);
}

#[test]
fn appearances_are_counted_in_the_file_as_it_is() {
    check(
        "a.md",
        "---\nx: frob\n---\n# Frob & frob\n\n`frob` and **frob** [zib](frob.html).\n",
        "a.md\tfrob\t2\tService\t\na.md\tfrob\t4\tService\t\na.md\tfrob\t1\tService\t\na.md\tfrob\t5\tService\t\n",
        expect![[r#"
            25..29 frob = frob Service (Given)
            44..48 frob = frob Service (Given)
            ! recognize.given: 2 of 4 names are not in the text, such as `frob` number 1
        "#]],
    );
    check(
        "a.html",
        "<html><body><article><h1>Nuts</h1><p>The Nuts &amp; <b>Bolts</b> Ltd sells nuts and bolts to all \
         the people who want them.</p></article></body></html>",
        "a.html\tNuts &amp; <b>Bolts</b> Ltd\t1\tOrganization\t\n",
        expect![[r#"
            41..68 Nuts & Bolts Ltd = Nuts & Bolts Ltd Organization (Given)
        "#]],
    );
    check(
        "a.txt",
        "One\r\ntwo \u{e9}t\u{e9} two\r\n",
        "a.txt\ttwo\t2\tConcept\t\n",
        expect![[r#"
        15..18 two = two Concept (Given)
    "#]],
    );
}

#[test]
fn what_is_read_at_the_same_words_is_the_name_unless_an_entity_is_stated() {
    let text = "# Notes\n\nAda met [the boss](people/sam.md) on 20 January 2026 in Porto.\n";
    check(
        "a.md",
        text,
        "a.md\tthe boss\t1\tPerson\t\na.md\t20 January 2026\t1\tEvent\t\na.md\tmet\t1\tConcept\t\n",
        expect![[r#"
            13..16 met = met Concept (Given)
            18..26 the boss = the boss Person (Given)
            46..61 20 January 2026 = 2026-01-20 Event (Pattern)
        "#]],
    );
    check(
        "a.md",
        text,
        "a.md\tthe boss\t1\tPerson\tSamuel\n",
        expect![[r#"
            18..26 the boss = Samuel Person (Given, stated)
        "#]],
    );
}

#[test]
fn short_forms_are_linking_and_steps_are_no_names() {
    check(
        "a.md",
        "# Shutdown\n\nCharles Babbage came. Babbage sat, and Charles left.\n\n1. Stop the pump.\n2. Clean it.\n",
        "a.md\tCharles Babbage\t1\tPerson\t\na.md\tBabbage\t2\tPerson\t\na.md\tpump\t1\tProduct\t\n",
        expect![[r#"
            12..27 Charles Babbage = Charles Babbage Person (Pattern)
            34..41 Babbage = Charles Babbage Person (Given)
            69..82 Stop the pump = Stop the pump Step (Pattern)
            78..82 pump = pump Product (Given)
            87..95 Clean it = Clean it Step (Pattern)
        "#]],
    );
    check(
        "a.md",
        "# Notes\n\nCharles Babbage came. Babbage sat.\n",
        "a.md\tCharles Babbage\t1\tPerson\tCharles Babbage\na.md\tBabbage\t2\tPerson\tBabbage\n",
        expect![[r#"
            9..24 Charles Babbage = Charles Babbage Person (Pattern, stated)
            31..38 Babbage = Babbage Person (Given, stated)
        "#]],
    );
}

#[test]
fn of_names_that_overlap_the_longest_stays() {
    check(
        "a.md",
        "Ask Ada Moreno now.\n",
        "a.md\tAda Moreno\t1\tPerson\t\na.md\tAda Moreno now\t1\tConcept\t\n",
        expect![[r#"
            4..18 Ada Moreno now = Ada Moreno now Concept (Given)
        "#]],
    );
}

#[test]
fn a_document_that_the_table_does_not_name_is_read_as_ever() {
    check(
        "b.md",
        "Dr Ada Moreno came.\n",
        "a.md\tfrob\t1\tService\t\n",
        expect![[r#"
            0..13 Dr Ada Moreno = Dr Ada Moreno Person (Pattern)
        "#]],
    );
}

proptest! {
    #[test]
    fn every_appearance_in_a_plain_text_is_where_it_stands(
        words in proptest::collection::vec("[ab]{1,2}|\u{e4}b", 1..40), pick in any::<prop::sample::Index>(),
    ) {
        let text = words.join(" ");
        let surface = pick.get(&words);
        for (before, (at, _)) in text.match_indices(surface.as_str()).enumerate() {
            let rows = format!("a.txt\t{surface}\t{}\tConcept\t\n", before + 1);
            let doc = normal("a.txt", text.as_bytes(), &rows);
            let given = doc.given.expect("the table names it");
            prop_assert_eq!(given.len(), 1);
            prop_assert_eq!(given[0].span.of(&doc.text), surface.as_str());
            prop_assert_eq!(doc.map.to_raw(given[0].span).start(), at);
        }
    }
}
