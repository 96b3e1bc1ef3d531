//! The whole stage, and what the tests of every format share: a printer and the invariants.

use super::format::{Format, FormatLimits};
use super::light::PLAIN;
use super::markdown::Markdown;
use super::{MAX_NESTING, Normalizer};
use expect_test::{Expect, expect};
use model::Stage;
use model::document::{Block, BlockKind, Document, InlineKind, Parsed, SourceDoc};
use model::terms::{ContentHash, RelPath, SpanMap};
use proptest::prelude::*;
use std::fmt::Write as _;

/// Limits that no test reaches by accident.
pub(super) const LIMITS: FormatLimits =
    FormatLimits { max_output_bytes: 1 << 20, max_nesting: MAX_NESTING };

/// The outline as a table: kind, section, text; then marks; then links.
pub(super) fn printed(parsed: &Parsed) -> String {
    let mut out = String::new();
    for block in &parsed.blocks {
        let section = block.section.map_or("-".to_string(), |section| section.to_string());
        let text = block.span.of(&parsed.text);
        let _ = writeln!(out, "{} §{section} {text:?}", kind_of(block));
    }
    for inline in &parsed.inlines {
        let kind = match inline.kind {
            InlineKind::Bold => "bold",
            InlineKind::Emphasis => "emphasis",
            InlineKind::Code => "code",
        };
        let _ = writeln!(out, "{kind} = {:?}", inline.span.of(&parsed.text));
    }
    for link in &parsed.links {
        let fragment = link.fragment.as_ref().map_or(String::new(), |f| format!(" # {f}"));
        let shown = link.span.of(&parsed.text);
        let _ = writeln!(out, "{:?} {:?}{fragment} = {shown:?}", link.kind, link.target);
    }
    if !parsed.meta.tags.is_empty() {
        let _ = writeln!(out, "tags {:?}", parsed.meta.tags);
    }
    for warning in &parsed.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out
}

fn kind_of(block: &Block) -> String {
    match &block.kind {
        BlockKind::Heading(level) => format!("h{level}"),
        BlockKind::Paragraph => "p".to_string(),
        BlockKind::ListItem { list, depth, ordinal: None } => format!("li{list}.{depth}"),
        BlockKind::ListItem { list, depth, ordinal: Some(n) } => format!("li{list}.{depth}/{n}"),
        BlockKind::TableRow { table, is_header: true } => format!("th{table}"),
        BlockKind::TableRow { table, is_header: false } => format!("tr{table}"),
        BlockKind::Code { language } => format!("code({language})"),
        BlockKind::Quote => "quote".to_string(),
    }
}

/// Panics unless the outline and the map keep their invariants.
pub(super) fn check_invariants(source: &str, parsed: &Parsed) {
    let text = &parsed.text;
    let mut last = 0;
    for (index, block) in parsed.blocks.iter().enumerate() {
        let span = block.span;
        assert!(
            last <= span.start() && span.start() < span.end() && span.end() <= text.len(),
            "{block:?}"
        );
        assert!(text.get(span.range()).is_some(), "{block:?} cuts a character");
        let between = text.get(last..span.start()).unwrap_or("?");
        assert!(matches!(between, "" | "\n" | "\n\n"), "{between:?} before {block:?}");
        assert_eq!(between.is_empty(), index == 0);
        assert!(block.section.is_none_or(|section| (section as usize) < index));
        last = span.end();
    }
    assert_eq!(last, text.len(), "blocks cover the text");
    let inside = |place: usize| {
        parsed.blocks.iter().any(|b| b.span.start() <= place && place <= b.span.end())
    };
    for inline in &parsed.inlines {
        let span = inline.span;
        assert!(!span.is_empty() && text.get(span.range()).is_some());
        assert!(parsed.blocks.iter().any(|block| block.span.contains(span)), "{inline:?}");
    }
    for link in &parsed.links {
        assert!(text.get(link.span.range()).is_some());
        assert!(link.span.is_empty() || inside(link.span.start()), "{link:?}");
    }
    assert!(parsed.inlines.is_sorted_by_key(|inline| inline.span.start()));
    assert!(parsed.links.is_sorted_by_key(|link| link.span.start()));
    check_map(source, text, &parsed.map);
    crate::sandbox::assert_passes(parsed, Some(source.len()));
}

fn check_map(source: &str, text: &str, map: &SpanMap) {
    let mut last = 0;
    for segment in map.segments() {
        let (to, to_len) = (segment.to as usize, segment.to_len as usize);
        let (from, from_len) = (segment.from as usize, segment.from_len as usize);
        assert!(last <= to && from + from_len <= source.len(), "{segment:?}");
        last = to + to_len;
        if to_len == from_len {
            let (a, b) =
                (&text.as_bytes()[to..to + to_len], &source.as_bytes()[from..from + from_len]);
            let is_same = |(a, b): (&u8, &u8)| a == b || (*a == b' ' && b.is_ascii_whitespace());
            assert!(a.iter().zip(b).all(is_same), "{segment:?} is not verbatim");
        }
    }
    assert!(last <= text.len());
}

/// Runs a document through the whole stage.
pub(super) fn normalized(path: &str, bytes: &[u8]) -> Document {
    let source = SourceDoc {
        path: RelPath::new(path),
        bytes: bytes.into(),
        hash: ContentHash::of(bytes),
        mtime_ms: 0,
        pass: Default::default(),
    };
    Normalizer::new(&Default::default(), &Default::default())
        .run(source)
        .expect("a readable document")
}

fn check_doc(path: &str, bytes: &[u8], expected: Expect) {
    let doc = normalized(path, bytes);
    let mut out = format!("title {:?} {:?}\n", doc.title, doc.meta.aliases);
    for block in &doc.blocks {
        let raw = doc.map.to_raw(block.span);
        let _ = writeln!(out, "{} {raw:?} {:?}", kind_of(block), block.span.of(&doc.text));
    }
    for link in &doc.links {
        let _ = writeln!(out, "{:?} {}", link.kind, link.target);
    }
    let _ = writeln!(out, "lines {:?}", doc.line_starts);
    if !doc.findings.is_empty() {
        let _ = writeln!(out, "redacted {:?}", doc.findings.redacted);
    }
    doc.warnings.iter().for_each(|warning| {
        let _ = writeln!(out, "warning: {warning}");
    });
    expected.assert_eq(&out);
}

#[test]
fn a_note_goes_all_the_way() {
    check_doc(
        "notes/sub/My Note.md",
        b"---\ntitle: The Note\n---\r\n# Heading\r\n\r\nSee [a](../x%20y.md) and ![](/i.png),\r\n\
          key AKIAABCDEFGHIJKLMNOP.\r\n",
        expect![[r#"
            title "The Note" ["Heading"]
            h1 27..34 "Heading"
            p 38..102 "See a and , key [redacted:aws-access-key]."
            Path ../x y.md
            Embed /i.png
            lines [0, 4, 20, 25, 36, 38, 77, 104]
            redacted {"aws-access-key": 1}
        "#]],
    );
}

#[test]
fn titles_fall_back() {
    let rows = [
        ("a/My Note.md", "# Other Name\n", "My Note", false, "Other Name"),
        ("a/my-note.md", "# My Note\n", "my-note", false, ""),
        ("a/x.md", "## Overview\n\n# Late\n", "x", false, ""),
        ("a/x.md", "---\ntitle: T\naliases: [U]\n---\n# U\n", "T", true, "U"),
        ("a/x.txt", "Big Title\n=========\n\ntext", "Big Title", false, ""),
        ("a/x.txt", "text", "x", false, ""),
        ("a/.md", "", ".md", false, ""),
        ("a/x.md", "---\ntitle: \"  \"\n---\n", "x", false, ""),
    ];
    for (path, text, title, is_stated, aliases) in rows {
        let doc = normalized(path, text.as_bytes());
        assert_eq!((doc.title.as_str(), doc.meta.has_stated_title), (title, is_stated), "{text:?}");
        assert_eq!(doc.meta.aliases.join(","), aliases, "{text:?}");
    }
}

#[test]
fn an_empty_file_is_a_document_without_text() {
    for bytes in [&b""[..], b"\n\n", b"\xef\xbb\xbf", b"\xff\xfe", b"---\na: 1\n---\n"] {
        let doc = normalized("e.md", bytes);
        assert_eq!((doc.text.as_str(), doc.blocks.len(), doc.map.segments().len()), ("", 0, 0));
    }
}

#[test]
fn utf16_lines_and_places_count_bytes_of_the_file() {
    let bytes: Vec<u8> =
        "\u{feff}# Tïtle\r\n\r\nÜ😀 end\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_doc(
        "u.md",
        &bytes,
        expect![[r#"
        title "u" ["Tïtle"]
        h1 6..16 "Tïtle"
        p 24..38 "Ü😀 end"
        lines [0, 20, 24, 40]
        warning: not UTF-8: read as UTF-16LE
    "#]],
    );
}

#[test]
fn what_nobody_sees_is_in_no_text_and_the_map_leads_over_it() {
    let source = "---\ntitle: So\u{ad}ft\naliases: [z\u{200b}w]\ntags: [a\u{2060}b]\n---\n\
                  x so\u{ad}ft\u{200b}ware \u{2060} y\n\n\u{200b}\n\nz\n";
    let doc = normalized("a.md", source.as_bytes());
    assert_eq!(
        (doc.title.as_str(), &doc.meta.aliases, &doc.meta.tags),
        ("Soft", &vec!["zw".to_string()], &vec!["ab".to_string()])
    );
    let blocks: Vec<&str> = doc.blocks.iter().map(|it| it.span.of(&doc.text)).collect();
    assert_eq!(blocks, ["x software y", "z"]);
    let at = doc.text.find("software").expect("a word");
    let place = doc.map.source_range(at, at + "software".len());
    assert_eq!(source.get(place), Some("so\u{ad}ft\u{200b}ware"));
}

#[test]
fn secrets_are_gone_before_markdown_is_read() {
    let doc = normalized(
        "s.md",
        concat!(
            "---\ntoken: gh",
            "p_abcdefghijklmnopqrstuvwxyz0123456789\n---\n",
            "`postgres://u:hunter22@db/x`\n"
        )
        .as_bytes(),
    );
    assert_eq!(doc.text, "postgres://u:[redacted:url-password]@db/x");
    assert_eq!(format!("{:?}", doc.findings.redacted), r#"{"github-token": 1, "url-password": 1}"#);
    assert!(!format!("{doc:?}").contains("ghp_") && !format!("{doc:?}").contains("hunter22"));
}

#[test]
fn a_text_that_is_too_long_is_cut_with_a_warning() {
    let limits = FormatLimits { max_output_bytes: 40, ..LIMITS };
    let text = "- one two\n".repeat(20);
    let parsed = Markdown.read(&text, &limits).expect("Markdown is never refused");
    assert!(parsed.text.len() <= 40, "{}", parsed.text.len());
    assert_eq!(parsed.warnings.len(), 1);
    check_invariants(&text, &parsed);
}

/// Text in which markup is likely.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z é]{1,6}",
        Just("\n".to_string()),
        Just("\n\n".to_string()),
        "[-#>*_`~|\\[\\]()!<&;:=.%$+\\\\ ]{1,4}",
        "(\\[\\[|\\]\\]|%%|\\*\\*|```\n|~~|\\$\\$|<b>|</b>|<!--|-->|&amp;|- |1\\. |> |\\| |\n\
         ---\n|    |\t|#t|\\[!a\\]|<div>\n|<h1>|!\\[|\\]\\(a b\\)|\\[\\^1\\]|\\{#x\\}|\u{3000}|😀)",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn markdown_keeps_its_invariants(text in markup()) {
        let parsed = Markdown.read(&text, &LIMITS).expect("Markdown is never refused");
        check_invariants(&text, &parsed);
    }

    #[test]
    fn plain_text_keeps_its_invariants(text in markup()) {
        let parsed = PLAIN.read(&text, &LIMITS).expect("plain text is never refused");
        check_invariants(&text, &parsed);
    }

    #[test]
    fn any_text_goes_through(text in "\\PC{0,60}", is_markdown in any::<bool>()) {
        let doc = normalized(if is_markdown { "a.md" } else { "a.txt" }, text.as_bytes());
        for block in &doc.blocks {
            let raw = doc.map.to_raw(block.span);
            prop_assert!(raw.end() <= text.len());
        }
    }

    #[test]
    fn any_bytes_are_text_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let source = SourceDoc {
            path: RelPath::new("a.md"),
            hash: ContentHash::of(&bytes),
            mtime_ms: 0,
            pass: Default::default(),
            bytes: bytes.clone().into(),
        };
        if let Ok(doc) = Normalizer::new(&Default::default(), &Default::default()).run(source) {
            let raw = doc.map.source_range(0, doc.text.len());
            prop_assert!(raw.end <= bytes.len());
        }
    }
}

#[test]
fn a_note_is_parsed_once() {
    let text = "---\ntitle: A\n---\n# B\n\n- [fact] It rains. #weather\n- part_of [[C]]\n";
    let bytes: std::sync::Arc<[u8]> = text.as_bytes().into();
    let source = SourceDoc {
        path: RelPath::new("a.md"),
        hash: ContentHash::of(&bytes),
        bytes,
        mtime_ms: 0,
        pass: model::document::Pass::Swift,
    };
    let n_parses = || notes::parse::testing::N_PARSES.with(std::cell::Cell::get);
    let before = n_parses();
    let mut stage = Normalizer::new(&Default::default(), &Default::default());
    let normal = stage.run(source).expect("read");
    assert_eq!(n_parses() - before, 1);
    assert_eq!(normal.note.expect("a note").note.relations.len(), 1);
}
