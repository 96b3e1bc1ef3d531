use super::decode;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(bytes: &[u8], expected: Expect) {
    let out = match decode(bytes) {
        Ok(decoded) => {
            let places: Vec<String> = decoded
                .text
                .char_indices()
                .map(|(at, c)| {
                    let raw = decoded.map.source_range(at, at + c.len_utf8());
                    format!("{}..{}", raw.start, raw.end)
                })
                .collect();
            format!(
                "{:?} {}\nlines {:?} {:?}\n",
                decoded.text,
                places.join(" "),
                decoded.line_starts,
                decoded.warnings
            )
        }
        Err(fault) => format!("fault {fault}\n"),
    };
    expected.assert_eq(&out);
}

#[test]
fn utf8_with_and_without_its_mark() {
    check(
        "aé\n".as_bytes(),
        expect![[r#"
        "aé\n" 0..1 1..3 3..4
        lines [0, 4] []
    "#]],
    );
    check(
        b"\xef\xbb\xbfab",
        expect![[r#"
        "ab" 3..4 4..5
        lines [0] []
    "#]],
    );
}

#[test]
fn line_ends_become_one_byte() {
    check(
        b"a\r\nb\rc\n\r\nd\r",
        expect![[r#"
        "a\nb\nc\n\nd\n" 0..1 2..3 3..4 4..5 5..6 6..7 8..9 9..10 10..11
        lines [0, 3, 5, 7, 9, 11] []
    "#]],
    );
}

#[test]
fn utf16_in_both_orders() {
    check(
        b"\xff\xfea\0\r\0\n\0\x3d\xd8\x00\xde",
        expect![[r#"
        "a\n😀" 2..4 6..8 8..12
        lines [0, 8] ["not UTF-8: read as UTF-16LE"]
    "#]],
    );
    check(
        b"\xfe\xff\0a\0\xe9",
        expect![[r#"
        "aé" 2..4 4..6
        lines [0] ["not UTF-8: read as UTF-16BE"]
    "#]],
    );
    let unmarked: Vec<u8> = "no mark".encode_utf16().flat_map(u16::to_be_bytes).collect();
    check(
        &unmarked,
        expect![[r#"
        "no mark" 0..2 2..4 4..6 6..8 8..10 10..12 12..14
        lines [0] ["not UTF-8: read as UTF-16BE"]
    "#]],
    );
}

#[test]
fn legacy_encodings_are_guessed() {
    let french = b"Le caf\xe9 est ferm\xe9, l'\xe9t\xe9 est fini.";
    let decoded = decode(french).expect("text");
    assert_eq!(decoded.text, "Le café est fermé, l'été est fini.");
    assert_eq!(decoded.warnings, ["not UTF-8: read as windows-1252"]);
    let place = decoded.text.find("est").expect("in the text");
    assert_eq!(decoded.map.source_range(place, place + 3), 8..11);
    let (chinese, _, _) = encoding_rs::GBK.encode("这是一个用旧编码写成的中文文件。\r\n它有两行。");
    assert_eq!(
        decode(&chinese).expect("text").text,
        "这是一个用旧编码写成的中文文件。\n它有两行。"
    );
}

#[test]
fn utf8_with_one_broken_byte_stays_utf8() {
    let mut bytes = "Größe, Maße, Übergänge und Äpfel".as_bytes().to_vec();
    bytes.push(0xff);
    let decoded = decode(&bytes).expect("text");
    assert_eq!(decoded.text, "Größe, Maße, Übergänge und Äpfel\u{fffd}");
}

#[test]
fn strays_are_dropped_and_binaries_refused() {
    check(
        b"a\0b",
        expect![[r#"
        "ab" 0..1 2..3
        lines [0] ["1 NUL bytes were dropped"]
    "#]],
    );
    check(
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
        expect![[r#"
            fault normalize: binary content in a text file; hint: rename it or list it in `.kgignore`
        "#]],
    );
    check(
        b"ab\x01\x02\x03\x04",
        expect![[r#"
            fault normalize: binary content in a text file; hint: rename it or list it in `.kgignore`
        "#]],
    );
    check(
        b"\x1b[31mred\x1b[0m",
        expect![[r#"
        "\u{1b}[31mred\u{1b}[0m" 0..1 1..2 2..3 3..4 4..5 5..6 6..7 7..8 8..9 9..10 10..11 11..12
        lines [0] []
    "#]],
    );
}

proptest! {
    #[test]
    fn every_character_leads_back_to_its_bytes(text in "[a\r\né😀 ]{0,40}") {
        let decoded = decode(text.as_bytes()).expect("text");
        prop_assert_eq!(&decoded.text, &text.replace("\r\n", "\n").replace('\r', "\n"));
        for (at, c) in decoded.text.char_indices() {
            let raw = decoded.map.source_range(at, at + c.len_utf8());
            let piece = text.get(raw).expect("whole characters");
            prop_assert!(piece.starts_with(c) || (c == '\n' && piece.starts_with('\r')), "{:?}", piece);
        }
        let n_lines = decoded.text.matches('\n').count() + 1;
        prop_assert_eq!(decoded.line_starts.len(), n_lines);
    }
}
