//! Ids against the reference tokenizer, and words by eye.

use std::sync::LazyLock;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use tokenizers::Tokenizer;

use super::*;

static REFERENCE: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::from_bytes(BUILTIN_JSON).expect("the reference reads the file"));
static OURS: LazyLock<Arc<WordPiece>> = LazyLock::new(WordPiece::builtin);

fn reference_ids(text: &str) -> Vec<u32> {
    REFERENCE.encode_fast(text, false).expect("any text encodes").get_ids().to_vec()
}

fn agree(text: &str) {
    let expected = reference_ids(text);
    let (mut plain, mut cold, mut warm, mut words) = (vec![], vec![], vec![], vec![]);
    let mut cached = CachedWordPiece::new(Arc::clone(&OURS));
    OURS.ids(text, &mut plain);
    cached.ids(text, &mut cold);
    cached.ids(text, &mut warm);
    cached.words(text, &mut words);
    assert_eq!(plain, expected, "{text:?}");
    assert_eq!(cold, expected, "{text:?}, empty cache");
    assert_eq!(warm, expected, "{text:?}, filled cache");
    assert_eq!(OURS.count_tokens(text), expected.len());
    assert_eq!(cached.count_tokens(text), expected.len());
    assert_eq!(words.iter().map(|word| word.n_pieces as usize).sum::<usize>(), expected.len());
    assert!(words.iter().all(|word| text.get(word.start as usize..word.end as usize).is_some()));
    assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

#[test]
fn odd_words_agree() {
    let long_word = "abcdefghi ".trim().repeat(12);
    let rows = [
        "",
        " ",
        "\n\t\r",
        "a",
        "Hello, World!",
        "unaffable embeddings",
        "##x",
        "x##ing ##ing",
        "[MASK]",
        "[mask]",
        "a[MASK]b[UNK][PAD ][SEP]]",
        "[[CLS]]",
        "[CLS][CLS]",
        "[MASK]\u{301}x",
        "É\u{301}cole naïve Ångström",
        "e\u{301}e\u{0}\u{301}",
        "ﬁne ½ ² ™ ℃ Ⅷ",
        "İstanbul ſtraße ẞ Σίσυφος",
        "日本語テキスト。漢字",
        "中文abc中文",
        "한국어 텍스트",
        "ภาษาไทย",
        "हिन्दी।",
        "العربية؟",
        "עברית",
        "👩‍👩‍👧 🇩🇪 😀x",
        "a\u{200b}b\u{ad}c\u{feff}d",
        "a\u{85}b",
        "a\u{a0}b\u{2003}c\u{3000}d\u{2028}e",
        "a≠b ≮ ≯ \u{1fef}x",
        "it’s “so” — … • · ‹x›",
        "x\u{fffd}y",
        "\u{e000}x",
        "\u{1d165}\u{302e}\u{1d16d}a",
        "豈\u{2f800}x",
        "a_b-c.d/e\\f",
        "v1.2.3-rc.1",
        "\u{1}\u{2}",
        "\u{7f}a\u{b}b",
        "0123456789012345678901234567890123456789",
        &long_word,
        &"a".repeat(100),
        &"a".repeat(101),
        &"é".repeat(100),
        &"é".repeat(101),
        &"\u{301}".repeat(300),
        &"각".repeat(50),
        &"≠".repeat(300),
        &"x\u{0}".repeat(100),
    ];
    rows.iter().for_each(|row| agree(row));
}

#[test]
fn every_character_agrees() {
    let every: Vec<char> = (0..=0x10_ffff).filter_map(char::from_u32).collect();
    let mut cached = CachedWordPiece::new(Arc::clone(&OURS));
    // The planes between 3 and 13 are unassigned; a sample of them is enough.
    let worth_it = |c: &&char| {
        !(0x3_2000..0xe_0000).contains(&(**c as u32)) || (**c as u32).is_multiple_of(997)
    };
    let every: Vec<char> =
        every.iter().filter(worth_it).filter(|c| (**c as u32) < 0xf_0100).copied().collect();
    for batch in every.chunks(256) {
        let text: String = batch.iter().map(|c| format!("a{c}b {c}c d{c}\n")).collect();
        let mut ids = Vec::new();
        cached.ids(&text, &mut ids);
        if ids != reference_ids(&text) {
            batch.iter().for_each(|c| agree(&format!("a{c}b {c}c d{c}")));
        }
    }
}

/// Words, odd characters, separators, literal tokens and numbers, in any order.
const MIXED: &str = "([a-zA-Z]{1,12}|[éüñÅﬁ≠한日。’—\u{301}\u{302e}\u{200b}\u{85}\u{0}]\
    |[ .,#_\\[\\]\n]|\\[MASK\\]|[0-9]{1,9}){0,60}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_agrees(text in any::<String>()) {
        agree(&text);
    }

    #[test]
    fn mixed_text_agrees(text in MIXED) {
        agree(&text);
    }
}

fn check(text: &str, expected: Expect) {
    let mut words = Vec::new();
    CachedWordPiece::new(Arc::clone(&OURS)).words(text, &mut words);
    let rows = words.iter().map(|word| {
        let surface = &text[word.start as usize..word.end as usize];
        format!("{}..{} {} {surface:?}\n", word.start, word.end, word.n_pieces)
    });
    expected.assert_eq(&rows.collect::<String>());
}

#[test]
fn words_have_places() {
    check(
        "Tokenizers aren’t naïve: 中文!",
        expect![[r#"
            0..10 3 "Tokenizers"
            11..15 1 "aren"
            15..18 1 "’"
            18..19 1 "t"
            20..26 1 "naïve"
            26..27 1 ":"
            28..31 1 "中"
            31..34 1 "文"
            34..35 1 "!"
        "#]],
    );
}

#[test]
fn a_piece_may_be_written_with_escapes() {
    let json = br###"{"added_tokens":[],"normalizer":{"type":"BertNormalizer","lowercase":true},
        "model":{"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"##",
        "max_input_chars_per_word":9,"vocab":{"u":0,"\u0061":1,"##\u0062":2}}}"###;
    let mut ids = Vec::new();
    WordPiece::load(json).expect("it loads").ids("ab c", &mut ids);
    assert_eq!(ids, [1, 2, 0]);
}

#[test]
fn foreign_files_are_refused() {
    let other_prefix = r#"{"added_tokens":[],"normalizer":{"type":"BertNormalizer","lowercase":true},
        "model":{"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"@@",
        "max_input_chars_per_word":9,"vocab":{"u":0}}}"#;
    for json in ["", "{}", other_prefix] {
        assert!(WordPiece::load(json.as_bytes()).is_err(), "{json}");
    }
    let known = other_prefix.replace("@@", "##").leak();
    assert!(WordPiece::load(known.as_bytes()).is_ok());
}
