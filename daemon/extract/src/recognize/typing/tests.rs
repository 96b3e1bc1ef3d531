//! The committed weights, and the mentions they leave alone.

use super::*;
use model::document::testing;
use model::terms::{Confidence, Span};

/// A mention about which only its form is known.
fn mention(doc: &Document, name: &str, entity_type: EntityType) -> Mention {
    let start = doc.text.find(name).expect("the name stands there");
    Mention {
        span: Span::new(start, start + name.len()),
        name: name.to_string(),
        entity_type,
        recognizer: RecognizerKind::Pattern,
        score: Confidence::new(0.75),
        place: PlaceFeatures::default(),
    }
}

fn judged(text: &str, name: &str, entity_type: EntityType) -> EntityType {
    let doc = testing::doc(text);
    let mut mentions = [mention(&doc, name, entity_type)];
    judge(&doc, &mut mentions);
    mentions[0].entity_type
}

#[test]
fn letters_and_the_words_around_a_name_tell_its_kind() {
    use EntityType::{
        Concept, Document, Event, Identifier, Location, Organization, Person, Technology,
    };
    let rows = [
        (
            "Reads were aligned using TopMapper version 2.1 (Zork Inc).",
            "TopMapper",
            Concept,
            Technology,
        ),
        ("Cells were stained for EphB7 and kept at low levels.", "EphB7", Technology, Concept),
        ("The expression of EphB7 in mice was low.", "EphB7", Concept, Concept),
        ("We render it with Zandoc and convert the page.", "Zandoc", Organization, Technology),
        ("Then Bjarne Holm said that he would leave.", "Bjarne Holm", Person, Person),
        ("She was born in Oldenstadt, a town in Germany.", "Oldenstadt", Concept, Location),
        ("She joined Zorvik in May.", "Zorvik", Organization, Organization),
        // Names that readers know, and names that say what they are, keep their type.
        ("The expression of Postgres in mice was low.", "Postgres", Technology, Technology),
        ("The Signing Service was kept at low levels.", "Signing Service", Technology, Technology),
        ("The Frontier Summit was short.", "Frontier Summit", Event, Event),
        ("The dueDate is set in the form.", "dueDate", Identifier, Identifier),
        // A page's file name in small letters is no code.
        ("Every page has several back-links at its end.", "back-links", Document, Concept),
        (
            "Reads were aligned using topmapper version 2.1 (Zork Inc).",
            "topmapper",
            Concept,
            Technology,
        ),
    ];
    for (text, name, before, after) in rows {
        assert_eq!(judged(text, name, before), after, "{text}");
    }
}

#[test]
fn what_documents_state_or_define_is_left_alone() {
    let doc = testing::doc("Reads were aligned using TopMapper version 2.1 (Zork Inc).");
    let open = mention(&doc, "TopMapper", EntityType::Concept);
    let rows = [
        Mention { recognizer: RecognizerKind::Stated, ..open.clone() },
        Mention { recognizer: RecognizerKind::Given, ..open.clone() },
        Mention { entity_type: EntityType::Step, ..open.clone() },
        Mention { place: PlaceFeatures { is_defined: true, ..open.place }, ..open.clone() },
        Mention { place: PlaceFeatures { is_entity_given: true, ..open.place }, ..open.clone() },
    ];
    for row in rows {
        let mut mentions = [row.clone()];
        judge(&doc, &mut mentions);
        assert_eq!(mentions[0], row);
    }
}

#[test]
fn a_finer_type_of_the_same_kind_stays_and_each_judgement_says_how_sure_it_is() {
    let doc = testing::doc("Reads were aligned using TopMapper version 2.1 (Zork Inc).");
    let mut mentions = [mention(&doc, "TopMapper", EntityType::Product)];
    judge(&doc, &mut mentions);
    let [mention] = mentions;
    assert_eq!(mention.entity_type, EntityType::Product);
    assert!((1..=PlaceFeatures::CERTAIN).contains(&mention.place.certainty));
}

#[test]
fn any_place_is_read_without_harm() {
    let doc = testing::doc("Ünï EphB7");
    for (start, end) in [(0, 0), (0, 3), (6, 11), (11, 11)] {
        let mut mentions = [Mention {
            span: Span::new(start, end),
            ..mention(&doc, "EphB7", EntityType::Concept)
        }];
        judge(&doc, &mut mentions);
    }
}
