//! The committed weights, scenes, and relations across sentences.

use super::*;
use crate::link::LinkStage;
use crate::recognize::{Gazetteer, RecognizeStage};
use crate::relate::Vocabulary;
use arc_swap::ArcSwap;
use model::Stage as _;
use model::parcel::{ChunkedDoc, Pass, testing};
use proptest::prelude::*;
use std::sync::Arc;

fn linked(text: &str) -> LinkedDoc {
    let mut doc = testing::doc(text);
    doc.head.pass = Pass::Deep;
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, std::iter::empty())));
    let mentioned = RecognizeStage::new(&config::settings::Recognize::default(), gazetteer)
        .run(ChunkedDoc { doc, chunks: Vec::new() })
        .expect("recognize has no faults");
    LinkStage.run(mentioned).expect("link has no faults")
}

/// Returns the relations stated in a text, as `subject predicate object`.
fn stated(text: &str) -> Vec<String> {
    let doc = linked(text);
    let mut out = Statements::default();
    relate(&doc, &mut out);
    let name = |party: Party| match party {
        Party::Mention(idx) => doc.doc.mentions[idx as usize].name.clone(),
        Party::Document => "(document)".to_string(),
    };
    out.all
        .iter()
        .map(|it| format!("{} {} {}", name(it.subject), it.predicate, name(it.object)))
        .collect()
}

const LEAD: &str = "Marie Curie was a Polish physicist. She was born in Warsaw, Poland. In 1895 she married \
    Pierre Curie. Her work was published by the University of Paris.";

#[test]
fn the_committed_weights_load_and_name_relations_of_the_vocabulary() {
    let vocabulary = Vocabulary::builtin().names();
    let unknown: Vec<_> =
        Net::shared().predicates().iter().filter(|it| !vocabulary.contains(it)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_relation_is_seen_within_a_sentence_and_across_sentences() {
    let stated = stated(LEAD);
    assert!(stated.contains(&"Warsaw located_in Poland".to_string()), "{stated:?}");
    assert!(stated.contains(&"Marie Curie born_in Warsaw".to_string()), "{stated:?}");
}

#[test]
fn names_of_code_and_terms_alone_are_not_looked_at() {
    let text = "`Box` points to the heap. A `Vec` grows. The `HashMap` holds keys, and `Option` may be empty.";
    assert!(stated(text).is_empty());
    let doc = linked(text);
    let scenes = scenes_of(&doc);
    let kinds = scenes.iter().flat_map(|it| (1..it.n_things()).map(|b| kind_of(it, (0, b))));
    assert!(kinds.flatten().next().is_none());
}

#[test]
fn a_pronoun_and_a_short_name_are_the_same_thing() {
    let doc =
        linked("Marie Curie was born in Warsaw. Curie moved to Paris in 1891. She died in France.");
    let scenes = scenes_of(&doc);
    let scene = scenes.first().expect("one scene");
    let curie = scene.things.first().expect("the first name");
    let sentences: Vec<usize> = curie.places.iter().map(|it| it.sentence).collect();
    assert_eq!(sentences, [0, 1, 2]);
    assert_eq!(scene.mentions(0).count(), 2, "the pronoun is no mention");
}

#[test]
fn weights_that_are_cut_short_do_not_load() {
    let whole: &'static [u8] = include_bytes!("../../../../models/relations/relations.bin");
    for n in [0, 3, 4, 100, 1_000, whole.len() / 2, whole.len() - 1] {
        assert!(Net::read(&whole[..n]).is_none(), "{n} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_read_and_the_same_way_twice(text in "[A-Z][a-z]{1,8}( [A-Za-z]{1,8}|[.,\n] ?){0,60}") {
        let (first, second) = (stated(&text), stated(&text));
        prop_assert_eq!(first, second);
    }
}
