//! Vectors against a reference computed in another language from the same files, and cosines by eye.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// Text, tab, 256 components × 127, rounded: mean of dequantized rows of the reference tokenizer's ids.
const REFERENCE: &str = include_str!("reference.tsv");

fn model() -> StaticModel {
    StaticModel::builtin(WordPiece::builtin())
}

#[test]
fn vectors_equal_the_reference() {
    let model = model();
    for line in REFERENCE.lines() {
        let (text, numbers) = line.split_once('\t').expect("a row has two columns");
        let numbers = numbers.split(' ').map(|n| n.parse::<i8>().expect("a component is an int8"));
        let expected = UnitVector(numbers.collect());
        let vectors = model.embed(&[text]);
        assert!(cosine(&vectors[0], &expected) >= 0.998, "{text}");
        // The reference is rounded to half as many steps, and our components end at half of its range.
        let is_off = |(ours, theirs): &(&i8, &i8)| {
            let theirs = (2 * i16::from(**theirs)).clamp(-128, 127);
            i16::from(**ours).abs_diff(theirs) > 2
        };
        let off = vectors[0].0.iter().zip(&expected.0).filter(is_off).count();
        assert_eq!(off, 0, "{text}");
    }
}

#[test]
fn near_meanings_are_near() {
    let model = model();
    let rows = [
        ("The cat sat on the mat.", "A kitten rested on the rug."),
        ("The cat sat on the mat.", "Rotate the signing key every 90 days."),
        ("Rotate the signing key every 90 days.", "Signing keys are rotated quarterly."),
        ("same", "same"),
        ("", "same"),
    ];
    let table: String = rows
        .iter()
        .map(|(a, b)| {
            let vectors = model.embed(&[a, b]);
            format!("{:.2} {a} | {b}\n", cosine(&vectors[0], &vectors[1]))
        })
        .collect();
    expect![[r#"
        0.40 The cat sat on the mat. | A kitten rested on the rug.
        0.05 The cat sat on the mat. | Rotate the signing key every 90 days.
        0.63 Rotate the signing key every 90 days. | Signing keys are rotated quarterly.
        1.00 same | same
        0.00  | same
    "#]]
    .assert_eq(&table);
}

#[test]
fn the_space_has_a_name_and_a_size() {
    let model = model();
    assert_eq!((model.space(), model.dimensions()), ("potion-base-8M@bf8b056/i8x254", 256));
    assert_eq!(model.embed(&["x"])[0].0.len(), 256);
}

#[test]
fn unknown_words_count_for_nothing() {
    let model = model();
    let vectors = model.embed(&["key store", "key \u{1f9ff}\u{e000}ꙮ store", "ꙮ", ""]);
    assert_eq!(vectors[0], vectors[1]);
    assert_eq!(vectors[2].0, vectors[3].0);
    assert!(vectors[3].0.iter().all(|&component| component == 0));
}

#[test]
fn foreign_tables_are_refused() {
    assert!(StaticModel::load(b"", WordPiece::builtin()).is_err());
    assert!(StaticModel::load(b"\x02\0\0\0\0\0\0\0{}", WordPiece::builtin()).is_err());
}

proptest! {
    #[test]
    fn cosine_is_symmetric_and_bounded(
        a in proptest::collection::vec(any::<i8>(), 8),
        b in proptest::collection::vec(any::<i8>(), 8),
    ) {
        let (a, b) = (UnitVector(a.into()), UnitVector(b.into()));
        prop_assert_eq!(cosine(&a, &b), cosine(&b, &a));
        prop_assert!((-1.0..=1.0).contains(&cosine(&a, &b)));
    }
}
