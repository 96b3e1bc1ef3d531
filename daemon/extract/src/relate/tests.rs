//! One table per source: the relations stated by a few lines, and lines that state none.

use super::cues::CueKind;
use super::*;
use crate::link::LinkStage;
use crate::recognize::{Gazetteer, GazetteerTerm, RecognizeStage};
use arc_swap::ArcSwap;
use expect_test::{Expect, expect};
use model::Stage;
use model::document::{Document, testing};
use model::terms::{EntityType, norm_of};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

/// Names that every test knows.
const NAMES: [&str; 13] = [
    "Alpha",
    "Beta",
    "Gamma",
    "Delta",
    "Trust Team",
    "Porto",
    "Kafka",
    "Redis",
    "Key Service",
    "Foo SDK",
    "Ledger",
    "seal",
    "storage engines",
];

fn related(doc: Document) -> Document {
    let row = |name: &&str| GazetteerTerm {
        surface: name.to_string(),
        norm: norm_of(name),
        entity_type: EntityType::Service,
    };
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, NAMES.iter().map(row))));
    let settings = config::settings::Recognize::default();
    let mut recognize = RecognizeStage::new(&settings, gazetteer);
    let doc = recognize.run(doc).expect("recognize has no faults");
    let doc = LinkStage.run(doc).expect("link has no faults");
    RelateStage::default().run(doc).expect("relate has no faults")
}

fn print(related: &Document) -> String {
    let mentions = &related.found.mentions;
    let name = |party: Party| match party {
        Party::Document => "(document)".to_string(),
        Party::Mention(idx) => mentions[idx as usize].name.clone(),
        Party::Link(idx) => format!("→ {}", related.links[idx as usize].target),
    };
    let mut out = String::new();
    for e in &related.evidence {
        let (subject, object) = (name(e.subject), name(e.object));
        let confidence = e.confidence.get();
        writeln!(out, "{confidence:.2} {subject} {} {object} [{}]", e.predicate, e.source())
            .expect("a string takes writes");
    }
    out
}

fn check(lines: &str, expect: Expect) {
    expect.assert_eq(&print(&related(testing::doc(lines))));
}

#[test]
fn every_cue_of_the_table_relates_in_its_direction() {
    let vocabulary = Vocabulary::builtin();
    for cue in vocabulary.cues.of_kind(CueKind::Sentence) {
        // A base form needs joint subjects.
        let subject = if cue.form == super::cues::Form::Base { "Gamma and Alpha" } else { "Alpha" };
        let doc = related(testing::doc(&format!("{subject} {} Beta.", cue.words)));
        let (from, to) = if cue.is_backward { ("Beta", "Alpha") } else { ("Alpha", "Beta") };
        let wanted = format!("{:.2} {from} {} {to} [{}]\n", cue.weight, cue.predicate, cue.pattern);
        // All names here are services, which some words and relations do not allow.
        let service = Some(EntityType::Service);
        let is_allowed = vocabulary.allows(cue.predicate, cue.pattern, service, service);
        assert_eq!(print(&doc).contains(&wanted), is_allowed, "{}: {}", cue.words, print(&doc));
    }
    for cue in vocabulary.cues.of_kind(CueKind::Definition) {
        let doc = related(testing::doc(&format!("Alpha {} small part of all.", cue.words)));
        let wanted = format!("(document) defines Alpha [{}]\n", cue.pattern);
        let is_remark = cue.weight == 0.0;
        assert_eq!(print(&doc).contains(&wanted), !is_remark, "{}: {}", cue.words, print(&doc));
        assert!(!is_remark || !print(&doc).contains("defines"), "{}", cue.words);
    }
    for kind in [CueKind::Section, CueKind::List] {
        for cue in vocabulary.cues.of_kind(kind) {
            let doc = related(testing::doc(&format!("{}: Beta", cue.words)));
            let (service, document) = (Some(EntityType::Service), None);
            let (subject, object) =
                if cue.is_backward { (service, document) } else { (document, service) };
            let is_allowed = vocabulary.allows(cue.predicate, cue.pattern, subject, object);
            let (from, to) =
                if cue.is_backward { ("Beta", "(document)") } else { ("(document)", "Beta") };
            let wanted = format!("{from} {} {to} [{}]\n", cue.predicate, cue.pattern);
            assert_eq!(print(&doc).contains(&wanted), is_allowed, "{}: {}", cue.words, print(&doc));
        }
    }
}

#[test]
fn what_is_said_of_the_words_of_a_link_to_a_path_is_not_said_of_the_document() {
    check(
        "The [Histogram](spec.md#histogram) uses Kafka. The [Histogram](spec.md) uses Kafka.",
        expect![[r#"
            0.90 Histogram uses Kafka [sentence:uses]
            1.00 (document) links_to → spec.md [link:path]
            0.75 Histogram documented_in → spec.md [link:words]
            0.90 Histogram uses Kafka [sentence:uses]
            1.00 (document) links_to → spec.md [link:path]
            0.75 Histogram documented_in → spec.md [link:words]
        "#]],
    );
}

#[test]
fn parts_of_an_overview_are_parts_of_something_else() {
    let lines = "## Components\n- Alpha\n- Beta";
    expect![[""]].assert_eq(&print(&related(testing::titled("Overview", lines))));
    expect![[r#"
        0.85 Alpha part_of (document) [section:components]
        0.85 Beta part_of (document) [section:components]
    "#]]
    .assert_eq(&print(&related(testing::titled("Gamma", lines))));
}

#[test]
fn subjects_and_objects_are_shared() {
    check(
        "Alpha uses Beta, Gamma and the Delta. Alpha and Beta depend on Kafka. Alpha uses Beta and \
        Gamma needs Kafka.",
        expect![[r#"
            0.90 Alpha uses Beta [sentence:uses]
            0.85 Alpha uses Gamma [sentence:uses]
            0.81 Alpha uses Delta [sentence:uses]
            0.80 Alpha depends_on Kafka [sentence:depend on]
            0.80 Beta depends_on Kafka [sentence:depend on]
            0.90 Alpha uses Beta [sentence:uses]
            0.85 Gamma depends_on Kafka [sentence:needs]
        "#]],
    );
}

#[test]
fn a_clause_keeps_its_subject() {
    check(
        "Alpha is owned by the Trust Team and runs in Porto. Alpha, which uses Beta, depends on Gamma. \
         Alpha uses Beta, which needs Kafka. Alpha, built on Redis, uses Kafka. Alpha is a tool that \
         uses Beta.",
        expect![[r#"
            0.95 Alpha owned_by Trust Team [sentence:is owned by]
            0.67 Alpha located_in Porto [sentence:runs in]
            0.90 Alpha uses Beta [sentence:uses]
            0.85 Alpha depends_on Gamma [sentence:depends on]
            0.90 Alpha uses Beta [sentence:uses]
            0.85 Beta depends_on Kafka [sentence:needs]
            0.85 Alpha uses Redis [sentence:built on]
            0.81 Alpha uses Kafka [sentence:uses]
            0.58 (document) defines Alpha [definition:is a]
            0.90 Alpha uses Beta [sentence:uses]
        "#]],
    );
}

#[test]
fn doubt_distance_and_denial() {
    check(
        "Alpha may use Beta. Alpha does not use Redis. Alpha never needs Kafka or Redis. Does Alpha \
        use Beta? \
         Alpha uses a very small and old Beta. Alpha uses one of two very old Beta nodes. Unlike \
         Alpha, Beta uses Kafka. \
         Alpha uses a cache to talk to Beta. Alpha's driver uses Beta. If Alpha uses Beta, fine. \
         Alpha isn't part of Beta.",
        expect![[r#"
            0.90 Beta uses Kafka [sentence:uses]
        "#]],
    );
}

#[test]
fn a_sentence_without_subject_is_about_its_section() {
    check(
        "Owned by the Trust Team.\n## Alpha\nUses Beta and Gamma. Use Kafka. Based in Porto.",
        expect![[r#"
            0.81 (document) owned_by Trust Team [sentence:owned by]
            0.75 Alpha documented_in (document) [title:heading]
            0.72 Alpha located_in Porto [sentence:based in]
        "#]],
    );
}

#[test]
fn an_abbreviation_is_the_same_thing() {
    check(
        "The Key Service (KS) is here. The KS runs in Porto.",
        expect![[r#"
        0.95 Key Service same_as KS [sentence:abbreviation]
        0.75 KS located_in Porto [sentence:runs in]
    "#]],
    );
}

#[test]
fn dates_and_versions_are_no_parties() {
    check(
        "Alpha v1.2.3 uses Beta since 12 March 2024. Alpha uses v1.2.3.",
        expect![[r#"
        0.90 Alpha uses Beta [sentence:uses]
    "#]],
    );
}

#[test]
fn sections_relate_their_items() {
    check(
        "## Dependencies\n- [[Beta]]\n- the Kafka cluster\n- a thing that nobody needs but \
        Redis\n\n## See also\n\
         - [Gamma](gamma.md)\n\n## Used by\n- Delta\n\n## Components\n1. Ledger\n2. Redis",
        expect![[r#"
            0.90 (document) depends_on → Beta [section:dependencies]
            1.00 (document) links_to → Beta [link:wiki]
            0.90 (document) depends_on Kafka [section:dependencies]
            0.90 (document) cites → gamma.md [section:see also]
            0.75 Gamma documented_in → gamma.md [link:words]
            0.90 Delta uses (document) [section:used by]
            0.85 Ledger part_of (document) [section:components]
            0.85 Redis part_of (document) [section:components]
        "#]],
    );
}

#[test]
fn several_sections_are_about_their_own_things() {
    check(
        "# Overview\n## Alpha\n### Requirements\n- Kafka\n## Beta\n### Requirements\n- Redis",
        expect![[r#"
            0.75 Alpha documented_in (document) [title:heading]
            0.85 Alpha depends_on Kafka [section:requirements]
            0.75 Beta documented_in (document) [title:heading]
            0.85 Beta depends_on Redis [section:requirements]
        "#]],
    );
}

#[test]
fn fields_and_tables() {
    check(
        "Owner: Trust Team\n- **Depends on**: Beta, Gamma and (see) Delta\n- Not an owner: Kafka\n\
         - **Dependencies**: No Redis modules\n\n\
         | Service | Owner | Language |\n| Alpha | Trust Team | Rust\n| Beta | - | Rust\n\n| Owner | \
         Trust Team",
        expect![[r#"
            0.95 (document) owned_by Trust Team [section:owner]
            0.95 (document) depends_on Beta [section:depends on]
            0.95 (document) depends_on Gamma [section:depends on]
            0.95 Alpha owned_by Trust Team [section:owner]
            0.75 Alpha uses Rust [list:language]
            0.75 Beta uses Rust [list:language]
            0.95 (document) owned_by Trust Team [section:owner]
        "#]],
    );
}

#[test]
fn steps_follow_each_other() {
    check(
        "1. Pause the sweep.\n2. Alpha\n3. Resume the sweep of Beta.\n\nText.\n\n1. Open one more.\n2. Close \
        the end.\n\n\nText.\n\n1. Fun experiments.\n2. Coverage of the range.\n\
         ## Step 1: Begin\n## Step 2: End",
        expect![[r#"
            0.90 Pause the sweep precedes Alpha [list:step]
            0.90 Alpha precedes Resume the sweep of Beta [list:step]
            0.90 Open one more precedes Close the end [list:step]
            0.90 Begin precedes End [list:step]
        "#]],
    );
}

#[test]
fn links_relate_the_document() {
    check(
        "See [[Beta]] and [Gamma](../x/gamma.md), [web](https://x.org).",
        expect![[r#"
            1.00 (document) links_to → Beta [link:wiki]
            1.00 (document) links_to → ../x/gamma.md [link:path]
            0.75 Gamma documented_in → ../x/gamma.md [link:words]
        "#]],
    );
}

#[test]
fn a_link_relates_by_the_type_that_its_author_gives() {
    check(
        "- implements [[Beta]] (in part)\n- Part of [[x/gamma|the gamma]]\n- see the [[Beta]] of it\n\n\
         depends on:: [[Delta]]",
        expect![[r#"
            1.00 (document) links_to → Beta [link:wiki]
            0.76 (document) part_of x/gamma [sentence:part of]
            1.00 (document) links_to → x/gamma [link:wiki]
            1.00 (document) links_to → Beta [link:wiki]
            0.95 (document) depends_on Delta [section:depends on]
            1.00 (document) links_to → Delta [link:wiki]
        "#]],
    );
}

#[test]
fn titles_state_what_a_document_uses() {
    let doc = testing::titled("Getting Started with the Foo SDK", "Install Foo SDK first.");
    expect![[r#"
        0.80 (document) uses Foo SDK [title:getting started with]
    "#]]
    .assert_eq(&print(&related(doc)));
}

#[test]
fn the_name_of_a_file_and_what_a_page_is_for_state_no_use() {
    for title in ["ch17-05-working-with-Kafka", "Alerts for Kafka"] {
        assert_eq!(print(&related(testing::titled(title, "Kafka keeps rows."))), "", "{title}");
    }
}

#[test]
fn neither_of_two_does_what_both_do_not() {
    check("Neither Alpha nor Beta uses Kafka.", expect![[""]]);
}

#[test]
fn definitions() {
    let lines = "Alpha is a small service for seals. A seal is the mark of a document. Beta is the \
    only one left. \
                 Gamma means good luck here. Is Delta a good thing for you?\n\
                 - **Kafka**: a log of messages\n- Redis: a store of values\n## Glossary\n- Ledger: a \
                 book of entries\n\
                 | Term | Meaning |\n| Grace window | hours after the change";
    expect![[r#"
        0.95 (document) defines Alpha [definition:is a]
        0.49 (document) defines seal [definition:is the]
        0.78 (document) defines Gamma [definition:means]
        0.70 (document) defines Kafka [definition:list]
        0.70 (document) defines Redis [definition:list]
        0.90 (document) defines Ledger [definition:glossary]
        0.90 (document) defines Grace window [definition:glossary]
    "#]]
    .assert_eq(&print(&related(testing::titled("Alpha", lines))));
}

#[test]
fn a_definition_is_stated_as_one() {
    for (line, expected) in [
        ("Alpha (A) is the edge proxy of all.", "Alpha [definition:is the]"),
        ("Alpha, also known as Beta, is a storage engine.", "Alpha [definition:is a]"),
        ("The `Kafka` block is a part of it.", "Kafka [definition:is a]"),
        ("Storage engines are programs that keep rows.", "storage engines [definition:are]"),
        ("Storage engines are attached to disks.", ""),
        ("Alpha is a good thing for you.", ""),
        ("Alpha uses Beta.", ""),
        ("Is Alpha a small service?", ""),
        ("We run Alpha, a small service for seals.", "Alpha [definition:apposition]"),
        ("In Alpha, a user signs tokens.", ""),
        ("We run Alpha, a proxy, or a cache.", ""),
        ("## Alpha\nAlpha signs all tokens.", ""),
        ("## Beta\nAlpha signs all tokens.", ""),
        ("## Alpha\nAlpha deployments are slow.", ""),
    ] {
        let mut doc = testing::doc(line);
        doc.head.pass = Pass::Deep;
        let related = print(&related(doc));
        let found: Vec<&str> =
            related.lines().filter_map(|it| it.split(" defines ").nth(1)).collect();
        assert_eq!(found.join(", "), expected, "{line}");
    }
}

#[test]
fn a_block_is_a_glossary_as_a_whole_or_not_at_all() {
    for (lines, expected) in [
        ("- Kafka: a log of messages\n- Redis: it keeps values", "Kafka, Redis"),
        ("- Kafka: a log of messages\n- Redis: Wednesday at noon\n- Beta: Ann", ""),
        ("Kafka: a log of messages\n\nRedis: Redis keeps values.", "Kafka, Redis"),
        ("Kafka: a log of messages", ""),
        ("- Kafka: a log\n- Redis: a store\n\nText.\n\n- Kafka: a mess\n- Redis: a must", ""),
        ("| Name | Description |\n| Kafka | A log of messages\n| Redis | A store", "Kafka, Redis"),
        ("| Name | Description |\n| Kafka | Slow at noon\n| Redis | A store", ""),
        ("| Name | Owner |\n| Kafka | A team of two\n| Redis | A team", ""),
        ("## Glossary\n\n- Kafka: messages in order", "Kafka"),
    ] {
        let related = print(&related(testing::doc(lines)));
        let of = |it: &'_ str| Some(it.split(" defines ").nth(1)?.split(" [").next()?.to_string());
        let found: Vec<String> = related.lines().filter_map(of).collect();
        assert_eq!(found.join(", "), expected, "{lines}");
    }
}

proptest! {
    #[test]
    fn any_mixture_of_words_is_read_without_harm(
        pieces in proptest::collection::vec(
            prop::sample::select(vec!["Alpha ", "Beta ", "uses ", "and ", ", ", "which ", "(", ") ", ". ",
                "not ", "is a ",                 "\n", "- ", "1. ", "## ", "Owner: ", "| ", "is owned
                by ", "é", "then ", "Step 1: "]), 0..60)
    ) {
        let doc = related(testing::doc(&pieces.concat()));
        let n_mentions = doc.found.mentions.len() as u32;
        for e in &doc.evidence {
            for party in [e.subject, e.object] {
                prop_assert!(!matches!(party, Party::Mention(idx) if idx >= n_mentions));
            }
            prop_assert!(e.subject != e.object);
        }
    }
}

#[test]
fn what_is_said_of_a_pronoun_is_said_of_what_it_stands_for() {
    let doc = testing::doc(
        "Alpha signs tokens. It uses Kafka. We met Beta here. It uses Redis.\n\nThe Key Service is new. The service \
         depends on Gamma and keeps its log on disk.",
    );
    let found = print(&related(doc));
    expect![[r#"
        0.59 Alpha uses Kafka [sentence:uses+coref]
        0.59 Key Service depends_on Gamma [sentence:depends on+coref]
    "#]]
    .assert_eq(&found);
}

#[test]
fn forms_of_sentences_say_kinds_and_members() {
    check(
        "Alpha supports storage engines such as Kafka and Redis.\n\nKafka, Redis and other storage engines keep rows. \
         If Kafka is a storage engine, good.",
        expect![[r#"
            0.85 Kafka is_a storage engines [kind:such as]
            0.85 Redis is_a storage engines [kind:such as]
            0.80 Kafka is_a storage engines [kind:and other]
            0.80 Redis is_a storage engines [kind:and other]
        "#]],
    );
    check(
        "`Alpha` holds `Alpha::seal` and `Alpha.open()`, and `main.rs` not.",
        expect![[r#"
        0.80 Alpha.open part_of Alpha [kind:qualified]
    "#]],
    );
}

#[test]
fn a_participle_is_about_the_noun_before_it() {
    for (line, is_stated) in [
        ("Alpha, built on Beta, runs.", true),
        ("The Alpha cluster built on Beta runs.", true),
        ("It is an Alpha library built on Beta.", false),
        ("There are more Alpha libraries built on Beta.", false),
        ("It is a parser for Alpha, built on Beta.", false),
        ("To start with Alpha, part of Beta is read.", false),
        ("Uses the old Beta.", false),
        ("Built on the old Beta.", true),
        ("Uses all words of text inside Beta.", false),
    ] {
        let found = print(&related(testing::doc(line)));
        assert_eq!(found.contains("[sentence:"), is_stated, "{line}\n{found}");
    }
}

#[test]
fn a_heading_in_lowercase_between_others_is_a_field() {
    for (heading, is_stated) in [("Dependencies", true), ("dependencies", false)] {
        let lines = format!("## Other\n\nText.\n\n## {heading}\n\n- Kafka, for events");
        let found = print(&related(testing::doc(&lines)));
        assert_eq!(found.contains("[section:dependencies]"), is_stated, "{found}");
    }
}

#[test]
fn an_item_is_part_of_the_nearest_thing_that_has_a_name_of_its_own() {
    let lines = "# alpha.core\n\n## `retry_policy`\n\n- `max_wait`: how long it waits\n- `max_runs`: how often it tries\n  \
                 - `run_cost`: what one costs\n\n## `client`\n\n- `proxy_url`: where it calls\n- `proxy_port`: with which port";
    let doc = testing::titled("alpha.core", lines);
    expect![[r#"
        0.75 retry_policy documented_in (document) [title:heading]
        0.70 max_wait part_of retry_policy [list:item]
        0.70 max_runs part_of retry_policy [list:item]
        0.70 proxy_url part_of (document) [list:item]
        0.70 proxy_port part_of (document) [list:item]
    "#]]
    .assert_eq(&print(&related(doc)));
}

#[test]
fn a_kind_says_more_than_an_ordinary_word() {
    let found = print(&related(testing::doc("Alpha has services such as Kafka and Redis.")));
    assert_eq!(found, "");
}

#[test]
fn a_section_is_of_the_heading_around_it_and_an_item_of_the_item_around_it() {
    for (lines, expected) in [
        ("# Alpha\n\n## Beta\n\n### Dependencies\n\n- Kafka", "Beta depends_on Kafka"),
        ("# Alpha\n\n## nginx\n\n### Dependencies\n\n- Kafka", ""),
        ("# Alpha\n\n## Overview\n\n### Dependencies\n\n- Kafka", "(document) depends_on Kafka"),
        ("# Alpha\n\n## Dependencies\n\n- Kafka\n  - Redis", "(document) depends_on Kafka"),
        ("# Alpha\n\n## Dependencies\n\n- at run time\n  - Redis", "(document) depends_on Redis"),
    ] {
        let found = print(&related(testing::doc(lines)));
        let found = found.lines().filter(|it| it.contains("depends_on"));
        let found: Vec<&str> =
            found.map(|it| it[5..].split(" [").next().expect("a statement")).collect();
        assert_eq!(found.join(", "), expected, "{lines}");
    }
}
