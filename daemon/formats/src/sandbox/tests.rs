//! Messages and their check: documents from formats pass unchanged, forged ones are rejected.

use proptest::prelude::*;

use super::check::{Bounds, sound};
use super::message::{HEAD_BYTES, Reply, TooLong, WireBlockKind, WireParsed, decode, encode};
use crate::{FormatLimits, reader_for};
use model::document::{BlockKind, Parsed};

const LIMITS: FormatLimits = FormatLimits { max_output_bytes: 1 << 20, max_nesting: 100 };

/// Panics unless a document passes through the protocol unchanged. Tests of formats call it with what they parsed.
pub(crate) fn assert_passes(parsed: &Parsed, source_bytes: Option<usize>) {
    let wire = WireParsed::from(parsed.clone());
    let framed = encode(&Reply::Parsed(Box::new(wire.clone())), usize::MAX).expect("it fits");
    let Some(Reply::Parsed(back)) = decode(&framed[HEAD_BYTES..]) else { panic!("another reply") };
    let bounds = Bounds { max_text_bytes: parsed.text.len(), source_bytes };
    let back = sound(*back, bounds).expect("what a format makes is sound");
    assert_eq!(format!("{back:?}"), format!("{parsed:?}"));
}

const PAGE: &str = "<html><head><title>Ti</title></head><body><h1>Höhe</h1><p>One <b>two</b> \
                    <a href='x.html#f'>three</a> \
                    &amp; <code>four</code>.</p><ul><li>five<ol><li>six</li></ol></li></ul><table><tr><th>a</th></tr>\
                    <tr><td>b</td></tr></table><pre>code</pre><blockquote>said</blockquote></body></html>";

fn page() -> Parsed {
    let mut parsed = reader_for("html").read(PAGE.as_bytes(), &LIMITS).expect("a page");
    parsed.pages = vec![0, 4];
    parsed.meta.extra.insert("key".into(), serde_json::json!({"deep": [1, 2.5, null]}));
    parsed.meta.author = Some("Ada".into());
    parsed
}

fn bounds(wire: &WireParsed) -> Bounds {
    Bounds { max_text_bytes: wire.text.len(), source_bytes: Some(PAGE.len()) }
}

#[test]
fn a_document_passes_unchanged() {
    assert_passes(&page(), Some(PAGE.len()));
    assert_passes(&Parsed::default(), None);
}

#[test]
fn a_frame_is_bounded_and_holds_one_message() {
    assert_eq!(encode(&"four letters", 5), Err(TooLong));
    let framed = encode(&"text", 5).expect("five bytes with the length of the text");
    assert_eq!(framed, b"\x05\0\0\0\x04text");
    assert_eq!(decode::<&str>(b"\x04text"), Some("text"));
    assert_eq!(decode::<&str>(b"\x04textmore"), None);
    assert_eq!(decode::<&str>(b"\x09text"), None);
}

type Spoil = fn(&mut WireParsed);

#[test]
fn each_unsound_reply_is_refused() {
    let rows: &[(&str, Spoil)] = &[
        ("text too long", |it| it.text.push('x')),
        ("a span past the end", |it| it.blocks[0].span.1 = 10_000),
        ("a span that ends before it begins", |it| it.blocks[0].span = (3, 1)),
        ("a span that cuts a character", |it| it.blocks[0].span = (0, 2)),
        ("blocks out of order", |it| it.blocks.swap(0, 1)),
        ("blocks that overlap", |it| it.blocks[1].span.0 = 0),
        ("a section that is no block", |it| it.blocks[1].section = Some(77)),
        ("a section that comes later", |it| it.blocks[0].section = Some(1)),
        ("a section that is no heading", |it| it.blocks[2].section = Some(1)),
        ("a heading of no level", |it| it.blocks[0].kind = WireBlockKind::Heading(7)),
        ("a mark outside", |it| it.inlines[0].span = (u32::MAX, u32::MAX)),
        ("marks out of order", |it| it.inlines.reverse()),
        ("a link outside", |it| it.links[0].span.1 = u32::MAX),
        ("a map that leads outside", |it| it.map[0][2] = u32::MAX),
        ("a map from outside", |it| it.map[0][1] = u32::MAX),
        ("a map that goes back", |it| it.map.push([0, 1, 0, 1])),
        ("pages out of order", |it| it.pages = vec![4, 0]),
        ("a page outside", |it| it.pages = vec![10_000]),
        ("metadata that is not JSON", |it| it.meta.extra = "{".into()),
        ("metadata that is deep", |it| it.meta.extra = format!("{{\"a\":{}", "[".repeat(100_000))),
        ("a warning without end", |it| it.warnings.push("x".repeat(2 << 20))),
    ];
    for (what, spoil) in rows {
        let mut wire = WireParsed::from(page());
        let bounds = bounds(&wire);
        assert!(sound(wire.clone(), bounds).is_ok());
        spoil(&mut wire);
        assert!(sound(wire, bounds).is_err(), "{what}");
    }
}

/// The guarantees that all code after the check relies on.
fn is_usable(parsed: &Parsed, source_bytes: usize) {
    let text = &parsed.text;
    let mut done = 0;
    for (index, block) in parsed.blocks.iter().enumerate() {
        assert!(text.get(block.span.range()).is_some() && block.span.start() >= done);
        done = block.span.end();
        let heading = block.section.map(|section| &parsed.blocks[..index][section as usize]);
        assert!(heading.is_none_or(|block| matches!(block.kind, BlockKind::Heading(1..=6))));
    }
    let marks =
        parsed.inlines.iter().map(|it| it.span).chain(parsed.links.iter().map(|it| it.span));
    assert!(marks.into_iter().all(|span| text.get(span.range()).is_some()));
    assert!(parsed.inlines.is_sorted_by_key(|it| it.span.start()));
    assert!(parsed.links.is_sorted_by_key(|it| it.span.start()));
    assert!(parsed.pages.is_sorted());
    assert!(parsed.pages.iter().all(|page| text.is_char_boundary(*page as usize)));
    for start in 0..=text.len() {
        assert!(parsed.map.source_range(start, text.len()).end <= source_bytes);
    }
}

/// Writes a number somewhere.
fn spoil(wire: &mut WireParsed, what: usize, (at, number): (usize, u32)) {
    fn one<T>(list: &mut [T], at: usize) -> &mut T {
        let n = list.len();
        &mut list[at % n]
    }
    match what {
        0 => one(&mut wire.blocks, at).span.0 = number,
        1 => one(&mut wire.blocks, at).span.1 = number,
        2 => one(&mut wire.blocks, at).section = Some(number),
        3 => one(&mut wire.inlines, at).span = (number, number + 1),
        4 => one(&mut wire.links, at).span = (number, number),
        5 => one(&mut wire.map, at)[at % 4] = number * 7,
        6 => wire.pages.push(number),
        7 => wire.blocks.swap(at % 2, 1),
        _ => *one(&mut wire.map, at) = [u32::MAX - number; 4],
    }
}

proptest! {
    /// Numbers of a valid document are replaced at random: whatever still passes is usable, and nothing panics.
    #[test]
    fn what_passes_is_usable(spoilt in proptest::collection::vec((0usize..9, 0usize..40, 0u32..80), 0..6),
                             text in "[aä€ ]{0,40}") {
        let mut wire = WireParsed::from(page());
        if !text.is_empty() && spoilt.len() > 3 {
            wire.text = text;
        }
        for (what, at, number) in spoilt {
            spoil(&mut wire, what, (at, number));
        }
        let bounds = Bounds { max_text_bytes: 1_000, source_bytes: Some(PAGE.len()) };
        if let Ok(parsed) = sound(wire, bounds) {
            is_usable(&parsed, PAGE.len());
        }
    }

    /// Arbitrary bytes are a reply or rejected; they never use more memory than their length, or panic.
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Some(Reply::Parsed(wire)) = decode(&bytes) {
            let bounds = Bounds { max_text_bytes: 1_000, source_bytes: None };
            if let Ok(parsed) = sound(*wire, bounds) {
                is_usable(&parsed, parsed.text.len());
            }
        }
    }

    /// A valid frame with one changed byte is decoded or rejected, too.
    #[test]
    fn a_changed_byte_is_decoded_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let reply = Reply::Parsed(Box::new(page().into()));
        let mut framed = encode(&reply, usize::MAX).expect("it fits");
        let place = HEAD_BYTES + at.index(framed.len() - HEAD_BYTES);
        framed[place] = byte;
        if let Some(Reply::Parsed(wire)) = decode(&framed[HEAD_BYTES..]) {
            let bounds = Bounds { max_text_bytes: 1_000, source_bytes: Some(PAGE.len()) };
            if let Ok(parsed) = sound(*wire, bounds) {
                is_usable(&parsed, PAGE.len());
            }
        }
    }
}
