//! Taggers that the test makes itself, sound and unsound.

use std::path::PathBuf;
use std::sync::LazyLock;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::sample::{Attribute, Graph, write_tagger};

const PIECES: &[(&str, &str)] = &[
    ("Ada", "B-PER"),
    ("Love", "I-PER"),
    ("##lace", "O"),
    ("Porto", "B-LOC"),
    ("Kern", "B-ORG"),
    ("##el", "B-LOC"),
    ("the", "O"),
    ("é", "B-MISC"),
];

fn folder() -> (TempDir, PathBuf) {
    let keep = tempfile::tempdir().expect("a folder");
    let path = keep.path().join("model");
    write_tagger(&path, PIECES).expect("written");
    (keep, path)
}

fn check(text: &str, expected: Expect) {
    let (_keep, folder) = folder();
    let tagger = Tagger::load(&folder).expect("a model");
    let mut out = String::new();
    for name in tagger.tag(text).expect("names") {
        let class = &tagger.classes()[name.class];
        out += &format!(
            "{:?} {class} {} {:.3}\n",
            name.span,
            &text[name.span.clone()],
            name.probability
        );
    }
    expected.assert_eq(&out);
}

#[test]
fn names_have_place_label_and_probability() {
    // The table gives 5 against 0 for five other labels: e⁵ / (e⁵ + 5) = .967.
    check(
        "the Ada Lovelace was in Porto, the city",
        expect![[r#"
            4..16 PER Ada Lovelace 0.967
            24..29 LOC Porto 0.967
        "#]],
    );
}

#[test]
fn the_first_piece_of_a_word_decides() {
    check(
        "Kernel Porto",
        expect![[r#"
            0..6 ORG Kernel 0.967
            7..12 LOC Porto 0.967
        "#]],
    );
}

#[test]
fn places_hold_after_letters_of_several_bytes() {
    check(
        "ſ é — Porto",
        expect![[r#"
            3..5 MISC é 0.967
            10..15 LOC Porto 0.967
        "#]],
    );
}

#[test]
fn a_text_without_words_names_nothing() {
    check("", expect![""]);
    check(" \n\t ", expect![""]);
}

#[test]
fn a_text_of_many_windows_is_read_to_its_end() {
    let (_keep, folder) = folder();
    let tagger = Tagger::load(&folder).expect("a model");
    let text = "the Ada Lovelace, ".repeat(200);
    let names = tagger.tag(&text).expect("names");
    assert_eq!(names.len(), 200);
    assert!(names.iter().all(|name| &text[name.span.clone()] == "Ada Lovelace"));
    tagger.try_out().expect("a long text");
}

#[test]
fn equal_texts_get_equal_names_on_every_thread() {
    let (_keep, folder) = folder();
    let tagger = Tagger::load(&folder).expect("a model");
    let text = "Ada in Porto ".repeat(30);
    let first = tagger.tag(&text).expect("names");
    std::thread::scope(|scope| {
        let others = [0; 4].map(|_| scope.spawn(|| tagger.tag(&text).expect("names")));
        others.into_iter().for_each(|other| assert_eq!(other.join().expect("no panic"), first));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn places_fit_any_text(text in "(\\PC|Ada |Porto|[ \n\t,])*") {
        static SHARED: LazyLock<(TempDir, Tagger)> = LazyLock::new(|| {
            let (keep, folder) = folder();
            (keep, Tagger::load(&folder).expect("a model"))
        });
        let names = SHARED.1.tag(&text).expect("names");
        prop_assert!(names.iter().all(|name| text.get(name.span.clone()).is_some_and(|it| !it.is_empty())));
        prop_assert!(names.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
        prop_assert!(names.iter().all(|name| (0.0..=1.0).contains(&name.probability)));
    }
}

/// What loading says after one file was replaced.
fn refused(file: &str, bytes: &[u8]) -> String {
    let (_keep, folder) = folder();
    std::fs::write(folder.join(file), bytes).expect("written");
    let error = Tagger::load(&folder).err().expect("a refusal").to_string();
    error.replace(&folder.display().to_string(), "DIR")
}

#[test]
fn missing_files_are_named() {
    for file in ["model.onnx", "tokenizer.json", "config.json"] {
        let (_keep, folder) = folder();
        std::fs::remove_file(folder.join(file)).expect("removed");
        let error = Tagger::load(&folder).err().expect("a refusal");
        assert_eq!(error.path, folder.join(file));
        assert!(error.to_string().contains("\nhint: the folder needs"), "{error}");
    }
    let error = Tagger::load(std::path::Path::new("/dev")).err().expect("a refusal");
    assert!(error.why.contains("cannot be read"), "{error}");
}

#[test]
fn malformed_files_are_refused_with_a_hint() {
    for file in ["model.onnx", "tokenizer.json", "config.json"] {
        for bytes in [&b""[..], b"{}", b"[1", &[0xff; 64], b"\x08\x08\x3a\xff\xff\xff\xff\x7f"] {
            let message = refused(file, bytes);
            assert!(message.starts_with(&format!("model file `DIR/{file}` ")), "{message}");
            assert!(message.contains("\nhint: "), "{message}");
        }
    }
}

#[test]
fn every_cut_of_a_model_is_refused_or_runs_but_never_panics() {
    let (_keep, folder) = folder();
    let whole = std::fs::read(folder.join("model.onnx")).expect("read");
    for n_kept in (0..whole.len()).step_by(97) {
        std::fs::write(folder.join("model.onnx"), &whole[..n_kept]).expect("written");
        let _ = Tagger::load(&folder).map(|tagger| tagger.tag("Ada"));
    }
}

#[test]
fn a_tensor_that_says_it_is_larger_than_its_file_is_refused() {
    for sizes in [[1 << 40, 4], [i64::MAX, i64::MAX], [-1, 4]] {
        let mut graph = Graph::default();
        let table = graph.floats(&sizes, &[0.0; 8]);
        let out = graph.node("Gather", &[&table, "input_ids"], &[]);
        let message = refused("model.onnx", &graph.finish(&out, "logits"));
        assert!(message.contains("is no ONNX model that kgd can run"), "{message}");
    }
}

#[test]
fn a_graph_of_another_kind_is_refused() {
    let mut graph = Graph::default();
    let table = graph.floats(&[200, 3], &[0.0; 600]);
    let looked_up = graph.node("Gather", &[&table, "input_ids"], &[]);
    let message = refused("model.onnx", &graph.finish(&looked_up, "logits"));
    assert!(message.contains("gives [1, 13, 3] numbers for 13 tokens and 6 labels"), "{message}");

    let mut graph = Graph::default();
    let out = graph.node("NoSuchOperator", &["input_ids"], &[Attribute::Int("axis", 0)]);
    let message = refused("model.onnx", &graph.finish(&out, "logits"));
    assert!(message.contains("NoSuchOperator"), "{message}");

    let mut graph = Graph::default();
    let out = graph.node("Identity", &["input_ids"], &[]);
    let message = refused("model.onnx", &graph.finish(&out, "logits"));
    assert!(message.contains("\nhint: kgd runs models that take"), "{message}");
}

#[test]
fn labels_without_names_are_refused() {
    let message = refused("config.json", br#"{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}"#);
    assert!(message.contains("must name in `id2label` the label `O`"), "{message}");
    let message = refused("config.json", br#"{"id2label": {"0": "O", "1": "B-PER"}}"#);
    assert!(message.contains("and 2 labels"), "{message}");
}
