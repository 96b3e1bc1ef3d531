//! A model made by the test, run by the stage.

use arc_swap::ArcSwap;
use expect_test::{Expect, expect};

use super::*;
use crate::recognize::{Gazetteer, GazetteerTerm, RecognizeStage};
use model::Stage;
use model::document::testing;
use model::terms::norm_of;

const PIECES: &[(&str, &str)] = &[
    ("ada", "B-PER"),
    ("lovelace", "I-PER"),
    ("Zorvik", "B-LOC"),
    ("Zebra", "B-ANIMAL"),
    ("nine", "B-CARDINAL"),
    ("Kernel", "B-SOFTWARE"),
];

fn model() -> (tempfile::TempDir, Arc<TaggerRecognizer>) {
    let folder = tempfile::tempdir().expect("a folder");
    onnx::sample::write_tagger(folder.path(), PIECES).expect("written");
    let settings = settings_of(folder.path());
    let model = TaggerRecognizer::open(&settings).expect("a model").expect("one is named");
    (folder, model)
}

fn settings_of(folder: &Path) -> config::settings::Recognize {
    config::settings::Recognize { model: folder.display().to_string(), ..Default::default() }
}

/// Checks the mentions of a document after the whole stage, with one known name, `Signing Service`.
fn check(lines: &str, pass: Pass, expected: Expect) {
    let (_keep, model) = model();
    let term = GazetteerTerm {
        surface: "Signing Service".to_string(),
        norm: norm_of("Signing Service"),
        entity_type: EntityType::Service,
    };
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, [term].into_iter())));
    let settings = config::settings::Recognize::default();
    let mut stage = RecognizeStage::new(&settings, gazetteer).with_model(Some(model));
    let mut doc = testing::doc(lines);
    doc.head.pass = pass;
    let read = stage.run(doc).expect("no fault");
    let mut out = String::new();
    for mention in &read.found.mentions {
        let (name, score) = (&mention.name, mention.score.get());
        out += &format!(
            "{:?} {} {name} {score:.2}\n",
            mention.recognizer,
            mention.entity_type.as_str()
        );
    }
    expected.assert_eq(&out);
}

#[test]
fn names_of_the_model_join_the_others_and_yield_to_them() {
    check(
        "# Zebra\nada lovelace moved the Signing Service to Zorvik. The Kernel saw nine.\n- ada\n- Zorvik",
        Pass::Deep,
        expect![[r#"
            Statistical Concept Zebra 0.96
            Statistical Person ada lovelace 0.96
            Gazetteer Service Signing Service 0.90
            Statistical Location Zorvik 0.96
            Statistical Technology Kernel 0.96
            Statistical Person ada 0.96
            Statistical Location Zorvik 0.96
        "#]],
    );
}

#[test]
fn the_swift_pass_leaves_the_model_alone() {
    check("ada lovelace moved to Zorvik.", Pass::Swift, expect![[""]]);
}

#[test]
fn what_the_built_in_model_says_of_the_same_words_goes() {
    let (_keep, model) = model();
    let mut doc = testing::doc("ada lovelace saw the Zorvik at Sunday.");
    doc.head.pass = Pass::Deep;
    let mention = |span: Range<usize>, recognizer| Mention {
        span: Span::new(span.start, span.end),
        name: doc.text[span].to_string(),
        entity_type: EntityType::Event,
        recognizer,
        score: Confidence::STATED,
        place: PlaceFeatures::default(),
    };
    let built_in = RecognizerKind::Statistical;
    let mut found = vec![
        mention(4..16, built_in),
        mention(17..27, built_in),
        mention(21..27, RecognizerKind::Pattern),
        mention(31..37, built_in),
    ];
    model.overrule(&doc, &testing::sentences_of(&doc), &mut found);
    let row = |it: &Mention| format!("{} {:?} {}", it.name, it.recognizer, it.entity_type.as_str());
    let rows: Vec<String> = found.iter().map(row).collect();
    let expected = [
        "Zorvik Pattern Event",
        "Sunday Statistical Event",
        "ada lovelace Statistical Person",
        "Zorvik Statistical Location",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn code_is_not_read() {
    check("~ ada lovelace = Zorvik", Pass::Deep, expect![[""]]);
}

#[test]
fn runs_end_at_what_is_no_sentence_and_at_their_longest() {
    let text = "One. Two.\n\nThree. x = 1; Four.";
    let spans = [(0, 4), (5, 9), (11, 17), (25, 30)].map(|(start, end)| Span::new(start, end));
    assert_eq!(runs_of(text, &spans), [0..17, 25..30]);

    let long = "x".repeat(MAX_RUN_BYTES / 2);
    let text = format!("{long} {long} {long}{long}{long}");
    let n = long.len();
    let spans = [(0, n), (n + 1, 2 * n + 1), (2 * n + 2, 5 * n + 2)];
    let runs = runs_of(&text, &spans.map(|(start, end)| Span::new(start, end)));
    assert_eq!(
        runs,
        [0..n, n + 1..2 * n + 1],
        "two would be too long together, the third is by itself"
    );
}

#[test]
fn no_model_is_loaded_when_none_is_named() {
    assert!(TaggerRecognizer::open(&Default::default()).expect("no error").is_none());
}

#[test]
fn a_folder_that_is_no_model_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().expect("a folder");
    let error =
        TaggerRecognizer::open(&settings_of(folder.path())).err().expect("a refusal").to_string();
    assert!(error.starts_with("`recognize.model` cannot be used: model file `"), "{error}");
    assert!(error.contains("\nhint: the folder needs"), "{error}");
    let nowhere = folder.path().join("nowhere");
    let error =
        TaggerRecognizer::open(&settings_of(&nowhere)).err().expect("a refusal").to_string();
    assert!(error.contains("nowhere` cannot be read") && error.contains("\nhint: give"), "{error}");
}

#[test]
fn another_model_has_another_digest() {
    let (folder, model) = model();
    let open = || {
        TaggerRecognizer::open(&settings_of(folder.path()))
            .expect("a model")
            .expect("one")
            .digest
            .clone()
    };
    assert_eq!(open(), model.digest());
    onnx::sample::write_tagger(folder.path(), &[("Ada", "B-LOC")]).expect("written");
    assert_ne!(open(), model.digest());
}

#[test]
fn classes_of_the_usual_sets_have_their_types() {
    let table = [
        ("PER", Some(EntityType::Person)),
        ("person", Some(EntityType::Person)),
        ("ORG", Some(EntityType::Organization)),
        ("GPE", Some(EntityType::Location)),
        ("MISC", Some(EntityType::Concept)),
        ("WORK_OF_ART", Some(EntityType::Concept)),
        ("creative-work", Some(EntityType::Concept)),
        ("Operating_System", Some(EntityType::Technology)),
        ("Library_Function", Some(EntityType::Api)),
        ("CARDINAL", None),
        ("DATE", None),
        ("something new", Some(EntityType::Concept)),
    ];
    for (class, expected) in table {
        assert_eq!(type_of(class), expected, "{class}");
    }
}
