use super::*;
use model::document::testing;
use proptest::prelude::*;

fn found(lines: &str, pass: Pass) -> Vec<String> {
    let mut doc = testing::doc(lines);
    doc.head.pass = pass;
    let mut out = Vec::new();
    StatisticalRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut out);
    out.iter().map(|m| format!("{} {}", m.entity_type.as_str(), m.span.of(&doc.text))).collect()
}

const TEXT: &str = "Ada Lovelace moved to London in 1835 and wrote to the Royal Society.";

#[test]
fn people_organizations_and_places_of_running_text_are_found() {
    assert_eq!(
        found(TEXT, Pass::Deep),
        ["Person Ada Lovelace", "Location London", "Organization Royal Society"]
    );
}

#[test]
fn only_the_words_around_capitals_are_read() {
    let read = |lines: &str| {
        let doc = testing::doc(lines);
        let run = Span::new(0, doc.text.len());
        let tokens = Pipeline::shared().tokens(&doc.text);
        let ranges = ranges_near_capitals(&doc, run, &tokens);
        let text = |range: Range<usize>| {
            let (first, last) = (tokens[range.start].start, tokens[range.end - 1].end);
            doc.text[first as usize..last as usize].to_string()
        };
        ranges.into_iter().map(text).collect::<Vec<_>>()
    };
    let far = "and so it went on for a very long time until";
    assert_eq!(read("The first step is the same as the last one."), [""; 0]);
    assert_eq!(
        read(&format!("It was Kafka {far} the Bank of England said no to it {far} night.")),
        ["It was Kafka and so it went on", "time until the Bank of England said no to it and"]
    );
}

#[test]
fn a_swift_reading_asks_no_model() {
    assert!(found(TEXT, Pass::Swift).is_empty());
}

#[test]
fn code_tables_and_headings_are_not_read() {
    assert!(found(&format!("# {TEXT}\n~ {TEXT}\n| {TEXT}"), Pass::Deep).is_empty());
}

#[test]
fn numbers_and_amounts_name_nothing() {
    assert!(
        found("It cost five dollars, 30 percent more than the first one.", Pass::Deep).is_empty()
    );
}

#[test]
fn a_name_loses_article_possessive_and_signs() {
    let rows = [
        ("the Royal Society", "Royal Society"),
        ("Ada Lovelace's", "Ada Lovelace"),
        ("\"London\".", "London"),
        ("Berlin\n\nParis", "Berlin"),
        ("C++", "C++"),
        ("Senders SHOULD NOT", "Senders"),
        ("The Client MUST", "Client"),
    ];
    for (text, kept) in rows {
        let (start, end) = trimmed(text, 0, text.len()).expect("something is left");
        assert_eq!(&text[start..end], kept);
    }
    assert_eq!(trimmed("--", 0, 2), None);
}

#[test]
fn what_only_begins_large_is_no_name() {
    for (surface, expected) in [
        ("Ada Lovelace", true),
        ("Open Data Institute", true),
        ("UNESCO", true),
        ("Zürich", true),
        ("DANGEROUS", false),
        ("Go言語で書かれた", false),
        ("promcon2016 pic.twitter.com/irJ", false),
        ("Listing 15-12", false),
    ] {
        assert_eq!(is_name(surface), expected, "{surface}");
    }
}

#[test]
fn ordinary_words_are_a_name_where_the_place_proves_it() {
    for (text, surface, expected) in [
        ("We opened Live Preview today.", "Live Preview", true),
        ("Live Preview is open.", "Live Preview", false),
        ("We work at the Open Data Institute.", "Open Data Institute", true),
        ("Add Request builders.", "Add Request", false),
        ("It is Minimal, Complete and good.", "Minimal, Complete", false),
        ("We saw Chart there.", "Chart", true),
        ("We saw Change there.", "Change", false),
    ] {
        let doc = testing::doc(text);
        let start = doc.text.find(surface).expect("it is there");
        assert_eq!(is_proved(&doc, Span::new(start, start + surface.len())), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_mention_lies_in_the_text(text in "[A-Z][a-z]{2,8} (\\PC{0,40}) [A-Z][a-z]{2,6}") {
        let mut doc = testing::doc(&text);
        doc.head.pass = Pass::Deep;
        let mut out = Vec::new();
        StatisticalRecognizer.recognize(&doc, &[], &mut out);
        for mention in out {
            prop_assert_eq!(doc.text.get(mention.span.start()..mention.span.end()), Some(mention.name.as_str()));
        }
    }
}
