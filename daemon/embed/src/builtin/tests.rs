//! Tests that run the real weights.

use proptest::prelude::*;

use super::*;
use crate::cosine;

fn minilm() -> Builtin {
    Builtin::named(DEFAULT_MODEL, None).expect("it is built in")
}

#[test]
fn what_means_the_same_is_near() {
    let model = minilm();
    let texts = [
        "How do I change the password of my account?",
        "Resetting your login credentials",
        "The harvest of olives begins in October.",
        "",
    ];
    let vectors = model.try_embed(&texts).expect("the committed model runs");
    assert!(vectors.iter().all(|vector| vector.0.len() == model.dimensions()));
    let near = cosine(&vectors[0], &vectors[1]);
    let far = cosine(&vectors[0], &vectors[2]);
    assert!(near > 0.4 && far < 0.15, "{near} {far}");
    let long = format!("{} {}", "olives ".repeat(600), texts[0]);
    let cut = "olives ".repeat(126);
    let vectors = model.try_embed(&[&long, &cut]).expect("a long text is cut");
    assert_eq!(vectors[0], vectors[1], "128 tokens are read, two of them special");
}

/// Token ids and vectors of the reference (`models/e5-small/reference.py`).
#[test]
fn vectors_in_many_languages_are_those_of_the_reference() {
    let unpacked = tempfile::tempdir().expect("a folder");
    let mapped = Builtin::named(OTHER_MODEL, Some(unpacked.path())).expect("it is built in");
    let held = Builtin::named(OTHER_MODEL, None).expect("it is built in");
    let mut n_texts = 0;
    for line in include_str!("reference.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[kind, text, _, vector] = fields.as_slice() else { panic!("four fields: {line}") };
        let numbers = |field: &str| -> Vec<f32> {
            field.split(' ').map(|number| number.parse().expect("a number")).collect()
        };
        let expected = numbers(vector);
        let of = |model: &Builtin| match kind {
            "query" => model.try_question_floats(text).expect("a vector"),
            _ => model.try_floats(&[text]).expect("a vector").remove(0),
        };
        let vector = of(&mapped);
        let length = expected.iter().map(|it| it * it).sum::<f32>().sqrt();
        let dot: f32 = vector.iter().zip(&expected).map(|(a, b)| a * b).sum();
        assert!(dot / length >= 0.99, "{text}: {}", dot / length);
        assert_eq!(vector, of(&held), "mapped or not, the numbers are the same");
        n_texts += 1;
    }
    assert!(n_texts >= 30, "{n_texts}");
}

#[test]
fn the_files_of_packed_weights_are_made_once_and_mended() {
    let state = tempfile::tempdir().expect("a folder");
    let folder = state.path().join("e5-small-100k-2");
    let embed = || {
        let model = Builtin::named(OTHER_MODEL, Some(state.path())).expect("it is built in");
        assert!(!folder.exists() || folder.join("model.onnx").exists(), "whole or not at all");
        model.try_embed(&["Schlüssel"]).expect("a vector").remove(0)
    };
    assert!(!folder.exists(), "nothing is unpacked before the first text");
    let first = embed();
    let made = || folder.metadata().and_then(|it| it.modified()).expect("made");
    let before = made();
    assert_eq!((embed(), made()), (first.clone(), before), "the second time they are there");
    std::fs::write(folder.join("model.onnx_data"), "cut").expect("written");
    assert_eq!(embed(), first, "damaged ones are made again");
    assert!(std::fs::read_dir(state.path()).expect("read").count() == 1, "nothing else is left");
}

proptest! {
    /// The common scale preserves the order of a space and stays within the bounds of a cosine.
    #[test]
    fn the_common_scale_keeps_ranks(a in -1.0f32..=1.0, b in -1.0f32..=1.0) {
        for row in ROWS {
            let (low, high) = (along(row.scale, a.min(b)), along(row.scale, a.max(b)));
            prop_assert!(low <= high && (-1.0..=1.0).contains(&low) && (-1.0..=1.0).contains(&high));
        }
        prop_assert_eq!(minilm().nearness(a), a);
    }
}
