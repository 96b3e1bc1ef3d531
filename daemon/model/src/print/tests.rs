//! When two stretches of text are the same, and when they are alike.

use proptest::prelude::*;

use super::*;
use crate::document::testing;

const PLAIN: &str = "All services of the platform write their logs to standard output, from where the collector takes \
    them, adds the name of the host, and keeps them for thirty days in the archive of the region.";

fn prints(lines: &str) -> Vec<Print> {
    prints_of(&testing::doc(lines), &Dedup::default())
}

fn text_of(paragraph: &str) -> i64 {
    let mut words = Words::default();
    words.read(paragraph);
    words.text_hash()
}

#[test]
fn words_decide_and_signs_do_not() {
    let loud = PLAIN.to_uppercase().replace(", ", " -- ").replace(' ', "\n");
    assert_eq!(text_of(PLAIN), text_of(&loud));
    assert_ne!(text_of(PLAIN), text_of(&PLAIN.replace("thirty", "forty")));
    assert_ne!(text_of("one two three"), text_of("onetwo three"));
}

#[test]
fn short_lines_headings_rows_and_code_have_no_print() {
    let long = "one two three four five six seven eight nine ten eleven twelve";
    let doc = format!("# {long}\n{long}\nshort line");
    assert_eq!(prints(&doc).len(), 1);
    let off = Dedup { enabled: false, ..Dedup::default() };
    assert!(prints_of(&testing::doc(&doc), &off).is_empty());
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
            let keys = |text: &str| {
                let mut words = Words::default();
                words.read(text);
                keys_of(&words.hashes)
            };
            let shared = keys(PLAIN).iter().zip(keys(&other)).filter(|(a, b)| **a == *b).count();
            assert!(shared > 0, "{other}");
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
