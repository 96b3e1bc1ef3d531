//! The stage as a whole: trust, places, and a swap of the gazetteer.

use super::*;
use expect_test::expect;
use model::Stage;
use model::terms::{EntityType, norm_of};
use std::fmt::Write;

fn gazetteer(version: u64, names: &[&str]) -> Gazetteer {
    let row = |name: &&str| GazetteerTerm {
        surface: name.to_string(),
        norm: norm_of(name),
        entity_type: EntityType::Service,
    };
    Gazetteer::build(version, names.iter().map(row))
}

fn run(stage: &mut RecognizeStage, lines: &str) -> Document {
    stage.run(testing::doc(lines)).expect("recognize has no faults")
}

fn print(doc: &Document) -> String {
    let mut out = String::new();
    for m in &doc.found.mentions {
        let p = m.place;
        let places = [(p.in_heading, 'h'), (p.in_bold, 'b'), (p.in_code, 'c'), (p.in_link, 'l')];
        let place: String = places.iter().filter(|(is, _)| *is).map(|(_, c)| *c).collect();
        let (surface, kind) = (m.span.of(&doc.text), m.recognizer);
        writeln!(out, "{kind:?} {surface} = {} {place}", m.name).expect("a string takes writes");
    }
    out
}

#[test]
fn the_most_trusted_wins_and_places_are_known() {
    let shared = Arc::new(ArcSwap::from_pointee(gazetteer(7, &["Signing Service", "Kafka"])));
    let mut stage = RecognizeStage::new(&config::settings::Recognize::default(), shared.clone());
    let lines = "# Signing Service\nThe **signing-service** of [[Edge|the Kafka page]] runs \
    `KeyRotationJob` on Kafka \
                 v2.3.1.\n~ kafka Kafka";
    let doc = run(&mut stage, lines);
    assert_eq!(doc.found.gazetteer_version, 7);
    expect![[r#"
        Gazetteer Signing Service = Signing Service h
        Gazetteer signing-service = Signing Service b
        Stated the Kafka page = Edge l
        Pattern KeyRotationJob = KeyRotationJob c
        Gazetteer Kafka = Kafka 
        Pattern v2.3.1 = v2.3.1 
    "#]]
    .assert_eq(&print(&doc));
    shared.store(Arc::new(gazetteer(8, &[])));
    assert_eq!(run(&mut stage, lines).found.gazetteer_version, 8);
}

#[test]
fn an_empty_document_has_no_mentions() {
    let shared = Arc::new(ArcSwap::from_pointee(Gazetteer::default()));
    let mut stage = RecognizeStage::new(&config::settings::Recognize::default(), shared);
    let doc = run(&mut stage, "");
    assert!(doc.found.mentions.is_empty() && doc.found.sentences.is_empty());
    assert_eq!(doc.found.stated.len(), 1);
}
