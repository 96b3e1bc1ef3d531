//! When two stretches of text are the same, and when they are alike.

use proptest::prelude::*;

use super::*;
use crate::document::{Chunk, testing};
use crate::terms::{ContentHash, Span};

const PLAIN: &str = "All services of the platform write their logs to standard output, from where the collector takes \
    them, adds the name of the host, and keeps them for thirty days in the archive of the region.";

fn prints(text: &str, profile: Profile) -> Vec<Option<Print>> {
    let mut doc = testing::doc(text);
    doc.chunks = vec![Chunk {
        span: Span::new(0, doc.text.len()),
        headings: Vec::new(),
        n_tokens: 0,
        profile,
        language: "en".into(),
        windows: Vec::new(),
        hash: ContentHash::of(b""),
    }];
    prints_of(&doc, &Dedup::default())
}

fn print_of(text: &str) -> Print {
    prints(text, Profile::General).pop().flatten().expect("a print")
}

#[test]
fn words_decide_and_signs_do_not() {
    let loud = PLAIN.to_uppercase().replace(", ", " -- ");
    assert_eq!(print_of(PLAIN), print_of(&loud));
    assert_ne!(print_of(PLAIN).text, print_of(&PLAIN.replace("thirty", "forty")).text);
    let code = |text: &str| prints(text, Profile::Code).pop().flatten().expect("a print").text;
    assert_ne!(code(PLAIN), code(&loud), "signs of code count");
}

#[test]
fn short_passages_have_no_print() {
    assert_eq!(prints("short line", Profile::General), [None]);
    let off = Dedup { enabled: false, ..Dedup::default() };
    assert!(prints_of(&testing::doc(PLAIN), &off).is_empty());
}

#[test]
fn alike_texts_share_a_key_and_say_what_differs() {
    let rows = [
        (PLAIN.replace("thirty days", "90 days"), true, "90"),
        (PLAIN.replace("thirty days", "2024-05-02"), true, "2024-05-02"),
        (format!("{PLAIN} Ask Mira."), true, "Ask Mira"),
        ("Something wholly different stands here. ".repeat(5), false, ""),
    ];
    for (other, is_alike, differs) in rows {
        let (one, two) = (Compared::of(PLAIN), Compared::of(&other));
        assert_eq!(
            one.similarity(&two) >= f64::from(Dedup::default().similarity),
            is_alike,
            "{other}"
        );
        if is_alike {
            let missing: Vec<&str> =
                one.missing_from(&other).into_iter().map(|range| &other[range]).collect();
            assert_eq!(missing.join("|"), differs);
            let (one, two) = (print_of(PLAIN), print_of(&other));
            assert!(one.keys.iter().zip(&two.keys).any(|(a, b)| a == b), "{other}");
        }
    }
}

#[test]
fn scripts_without_spaces_have_words_too() {
    let text = "东京都的人口超过一千四百万人";
    assert_eq!(count_words(text), 14);
    let other = text.replace('四', "三");
    let missing = Compared::of(text).missing_from(&other);
    assert_eq!(missing.iter().map(|range| &other[range.clone()]).collect::<Vec<_>>(), ["千三百"]);
}

proptest! {
    #[test]
    fn any_two_texts_are_compared_both_ways_alike(a in "[a-d ]{0,60}", b in "\\PC{0,60}") {
        let (one, two) = (Compared::of(&a), Compared::of(&b));
        prop_assert_eq!(one.similarity(&two), two.similarity(&one));
        prop_assert!(one.similarity(&one) == 1.0 || count_words(&a) < 2);
        for range in one.missing_from(&b) {
            prop_assert!(b.get(range).is_some());
        }
        prop_assert!(one.missing_from(&a).is_empty());
    }
}
