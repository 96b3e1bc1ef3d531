use super::*;
use model::document::{Mention, Party, PlaceFeatures, RecognizerKind, testing};
use model::terms::{Confidence, EntityType, Span};
use proptest::prelude::*;

const TYPES: [(&str, EntityType); 12] = [
    ("Charles Babbage", EntityType::Person),
    ("Ada Moreno", EntityType::Person),
    ("Ada Lovelace", EntityType::Person),
    ("Jonas Pikkar", EntityType::Person),
    ("Signing Service", EntityType::Service),
    ("Billing Service", EntityType::Service),
    ("Quillgate Systems GmbH", EntityType::Organization),
    ("Edge Team", EntityType::Organization),
    ("Kafka", EntityType::Technology),
    ("Vault", EntityType::Product),
    ("Babbage", EntityType::Concept),
    ("Tide Clock", EntityType::Product),
];

/// Returns the listed names in a text, each place once; longer names win.
fn mentions_of(text: &str) -> Vec<Mention> {
    let mut out: Vec<Mention> = Vec::new();
    for (name, entity_type) in TYPES {
        for (start, _) in text.match_indices(name) {
            let span = Span::new(start, start + name.len());
            if out.iter().all(|m| m.span.end() <= span.start() || span.end() <= m.span.start()) {
                let (recognizer, score) = (RecognizerKind::Pattern, Confidence::new(0.6));
                let (name, place) = (name.to_string(), PlaceFeatures::default());
                out.push(Mention { span, name, entity_type, recognizer, score, place });
            }
        }
    }
    out.sort_unstable_by_key(|m| m.span);
    out
}

fn lengthened(text: &str) -> Vec<String> {
    let doc = testing::doc(text);
    let mut mentions = mentions_of(&doc.text);
    lengthen(&doc, &mut mentions);
    mentions.iter().map(|m| format!("{} = {}", m.span.of(&doc.text), m.name)).collect()
}

/// Prints `word@place = name` for each anaphor.
fn anaphors(lines: &str) -> String {
    let doc = testing::doc(lines);
    let mentions = mentions_of(&doc.text);
    let found = find(&doc, &testing::sentences_of(&doc), &mentions);
    let name = |party: Party| match party {
        Party::Document | Party::Link(_) => "(document)",
        Party::Mention(idx) => mentions[idx as usize].name.as_str(),
    };
    let pairs = found.iter().map(|a| format!("{} = {}", a.span.of(&doc.text), name(a.antecedent)));
    pairs.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_shortened_name_is_the_full_one_given_before() {
    let rows: [(&str, &[&str]); 6] = [
        (
            "Charles Babbage drew it. Babbage never built it, and Charles died.",
            &[
                "Charles Babbage = Charles Babbage",
                "Babbage = Charles Babbage",
                "Charles = Charles Babbage",
            ],
        ),
        (
            "Babbage came first. Then Charles Babbage.",
            &["Babbage = Babbage", "Charles Babbage = Charles Babbage"],
        ),
        (
            "Ada Moreno met Ada Lovelace. Ada left, Moreno stayed.",
            &["Ada Moreno = Ada Moreno", "Ada Lovelace = Ada Lovelace", "Moreno = Ada Moreno"],
        ),
        (
            "Quillgate Systems GmbH moved. Quillgate's office is empty.",
            &[
                "Quillgate Systems GmbH = Quillgate Systems GmbH",
                "Quillgate = Quillgate Systems GmbH",
            ],
        ),
        ("The Edge Team met at the Edge of town.", &["Edge Team = Edge Team"]),
        ("Jonas Pikkar wrote it.\n~ Pikkar()", &["Jonas Pikkar = Jonas Pikkar"]),
    ];
    for (text, expected) in rows {
        assert_eq!(lengthened(text), expected, "{text}");
    }
}

#[test]
fn a_pronoun_stands_for_what_was_named_before() {
    let rows = [
        ("The Signing Service signs tokens. It uses Kafka.", "It = Signing Service"),
        ("Kafka keeps its log on disk.", "its = Kafka"),
        ("Ada Moreno wrote it down. She likes Kafka.", "She = Ada Moreno"),
        ("Kafka is fast. She likes that.", ""),
        ("The Edge Team runs Kafka. They met Ada Moreno.", "They = Edge Team"),
        ("Kafka is here. It is important to know that.", ""),
        ("Kafka is here. It seems that all is well.", ""),
        ("A Jonas Pikkar and a Ada Moreno met. She left.", ""),
        ("Ada Moreno met Jonas Pikkar. She left.", "She = Ada Moreno"),
        (
            "The Signing Service is one. The Billing Service is two. The service is down.",
            "The service = Billing Service",
        ),
        (
            "The Signing Service and Kafka talk. The service uses the service mesh.",
            "The service = Signing Service",
        ),
        ("We send it to Kafka. It is down.", ""),
        (
            "The Signing Service signs. It uses Kafka. It is fast.",
            "It = Signing Service; It = Signing Service",
        ),
        ("The Signing Service uses Kafka and stops it.", ""),
        ("Kafka and Vault are here. It runs.", ""),
        ("Vault is here. Then the team left.", ""),
        ("The Edge Team came. Later the team moved.", "the team = Edge Team"),
    ];
    for (text, expected) in rows {
        assert_eq!(anaphors(text), expected, "{text}");
    }
}

#[test]
fn what_agrees_best_is_meant_and_nothing_where_two_names_agree_alike() {
    let rows = [
        // The subject of a clause refers back, an object does not.
        ("Kafka is fast because it writes in order.", "it = Kafka"),
        ("Kafka is fast. We like it because it writes.", ""),
        ("The team met at Kafka. It was late.", ""),
        ("The Signing Service talks to Kafka. They meet.", ""),
        // A noun refers to a name that ends in it, or to the only name of its kind.
        ("The Tide Clock hangs here. The clock is old.", "The clock = Tide Clock"),
        ("The Tide Clock hangs here. The wall is old.", ""),
        ("Kafka is here. The kafka is old.", ""),
        (
            "Quillgate Systems GmbH moved. The company is old.",
            "The company = Quillgate Systems GmbH",
        ),
        ("Quillgate Systems GmbH met the Edge Team. The company is old.", ""),
        ("The Tide Clock hangs here. The clock tower is old.", ""),
        // A person called `she` is never `he`.
        ("Ada Moreno came. She met Jonas Pikkar. He left.", "She = Ada Moreno"),
        ("Ada Moreno came. She met Jonas Pikkar. She left.", "She = Ada Moreno; She = Ada Moreno"),
        // Several people were named, none more prominently than the others.
        ("Ada Moreno, Jonas Pikkar and others came. She left.", ""),
        ("We met Ada Moreno. We met Jonas Pikkar. He left.", ""),
    ];
    for (text, expected) in rows {
        assert_eq!(anaphors(text), expected, "{text}");
    }
}

#[test]
fn an_anaphor_stays_in_its_section_and_looks_back_a_few_sentences() {
    assert_eq!(anaphors("## One\nKafka is here.\n## Two\nThis is it. It runs."), "");
    assert_eq!(anaphors("## Kafka\nIt runs."), "It = Kafka");
    let far = "Kafka is here. One. Two. Three. Four. It runs.";
    assert_eq!(anaphors(&format!("## Title\n{far}")), "");
}

#[test]
fn it_in_the_opening_of_a_document_is_the_document() {
    assert_eq!(anaphors("It signs tokens."), "It = (document)");
}

proptest! {
    #[test]
    fn anaphors_are_sorted_and_look_back(
        text in "((It|its|she|the service|Kafka|Ada Moreno|They|and)[ .]{1,2}){0,20}"
    ) {
        let doc = testing::doc(&text);
        let mentions = mentions_of(&doc.text);
        let found = find(&doc, &testing::sentences_of(&doc), &mentions);
        for pair in found.windows(2) {
            prop_assert!(pair[0].span.start() < pair[1].span.start());
        }
        for anaphor in found {
            if let Party::Mention(idx) = anaphor.antecedent {
                prop_assert!(mentions[idx as usize].span.end() <= anaphor.span.start());
            }
        }
    }
}
