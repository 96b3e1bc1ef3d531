//! Tables of the text read from pages, and properties of any text.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::super::format::Format;
use super::super::tests::{LIMITS, check_invariants, printed};
use super::Html;
use super::article::Selection;
use super::tree::NodeId;
use model::document::Parsed;

mod boilerplate;

fn read(source: &str) -> Parsed {
    Html.read(source, &LIMITS).expect("HTML has no faults")
}

fn check(source: &str, expected: Expect) {
    let parsed = read(source);
    check_invariants(source, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn structure_is_kept() {
    check(
        "<h1>Ports</h1><p>Big <b>ships</b> and\n  <code>small</code> ones.<p>Two<br>lines.\
         <ol start=3><li>Three<ul><li>Inner</ul><li><p>Four</p></ol><blockquote><p>Said.</blockquote>\
         <dl><dt>Pier</dt><dd>A walk.</dd></dl>",
        expect![[r#"
            h1 §- "Ports"
            p §0 "Big ships and small ones."
            p §0 "Two lines."
            li0.0/3 §0 "Three"
            li1.1 §0 "Inner"
            li0.0/4 §0 "Four"
            quote §0 "Said."
            li2.0 §0 "Pier"
            li3.1 §0 "A walk."
            bold = "ships"
            code = "small"
        "#]],
    );
}

#[test]
fn tables_become_rows() {
    check(
        "<table><caption>Sizes</caption><tr><th>Name<th>Length<tr><td>Ada<td>9&nbsp;m<tr><td><td>7 m</table>",
        expect![[r#"
            p §- "Sizes"
            th0 §- "Name | Length"
            tr0 §- "Ada | 9 m"
            tr0 §- " | 7 m"
        "#]],
    );
}

#[test]
fn tables_that_lay_out_a_page_do_not() {
    check(
        "<table><tr><td><h2>News</h2><p>It rained.</p></td><td><p>All day.</p></td></tr></table>",
        expect![[r#"
            h2 §- "News"
            p §0 "It rained."
            p §0 "All day."
        "#]],
    );
}

#[test]
fn code_keeps_its_lines() {
    check(
        "<pre>\
        <code class=\"language-Rust hl\">\nfn main() {\n    if a &lt; b &amp;&amp;\n\n\
         \t<span>c</span> {}\n}\n</code></pre>\
         <pre>one<br>two<div>&lt;three</div><div>four</div></pre>",
        expect![[r#"
            code(rust) §- "fn main() {\n    if a < b &&\n\n\tc {}\n}"
            code() §- "one\ntwo\n<three\nfour"
        "#]],
    );
}

#[test]
fn links_are_kept_by_kind() {
    check(
        "<p><a href='../a%20b.html#top'>A</a> <a href=https://x.org/>B</a> <a href='mailto:a@b.c'>C</a> \
         <a href='javascript:x()'>D</a> <a href='#e'>E</a> <img src=ship.png alt='A ship'> <a>F</a>",
        expect![[r#"
            p §- "A B C D E A ship F"
            Path "../a b.html" # top = "A"
            Url "https://x.org/" = "B"
            Embed "ship.png" = ""
        "#]],
    );
}

#[test]
fn references_are_decoded() {
    check(
        "<p>Calder &amp; Pike &#169;2024 &copyright caf&eacute; &notit; &unknown; R&D \
         &&#x26;&lt;b&gt; soft&shy;ly \
         New&nbsp;York &NotEqualTilde;",
        expect![[r#"
            p §- "Calder & Pike ©2024 ©right café ¬it; &unknown; R&D &&<b> softly New York ≂\u{338}"
        "#]],
    );
}

#[test]
fn places_lead_to_the_source() {
    let source = "<!-- <p>no --><p title='a > b'>One</p>text<script>if (a<b) 'text'</script><![CDATA[x]]></>\
                  <table>late<tr><td>cell &amp; co</table>";
    let parsed = read(source);
    let mut out = String::new();
    for piece in parsed.map.segments() {
        let to = &parsed.text[piece.to as usize..(piece.to + piece.to_len) as usize];
        let from = &source[piece.from as usize..(piece.from + piece.from_len) as usize];
        out += &format!("{to:?} is {from:?} at {}\n", piece.from);
    }
    expect![[r#"
        "One" is "One" at 31
        "text" is "text" at 38
        "late" is "late" at 97
        "cell " is "cell " at 109
        "&" is "&amp;" at 114
        " co" is " co" at 119
    "#]]
    .assert_eq(&out);
}

#[test]
fn the_head_is_read() {
    let parsed = read(
        "<html lang=en><head><title>Seals &amp; keys | Example</title>\
        <meta name=Description content=' How. '>\
         <meta name=author content='A. Nonymous'><meta name=keywords content='seal, key,seal'>\
         <meta property=article:published_time content=2024-05-01>\
         <link rel=canonical href=https://x.org/seals>\
         </head><body><h1>Seals &amp; keys</h1><p>Text.<time datetime=2023-01-01>then</time>",
    );
    assert_eq!(parsed.title.as_deref(), Some("Seals & keys"));
    let meta = parsed.meta;
    assert!(meta.has_stated_title);
    assert_eq!(meta.tags, ["seal", "key"]);
    assert_eq!(meta.date.as_deref(), Some("2024-05-01"));
    assert_eq!(meta.source_url.as_deref(), Some("https://x.org/seals"));
    let extra: Vec<String> = meta.extra.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(extra, ["description=\"How.\""]);
    assert_eq!(
        (meta.author.as_deref(), meta.language.as_deref()),
        (Some("A. Nonymous"), Some("en"))
    );
}

#[test]
fn titles_keep_what_no_heading_confirms() {
    let rows = [
        ("<title>A - B</title><h1>A</h1>", Some("A")),
        ("<title>A - B</title><h1>C</h1>", Some("A - B")),
        ("<title>A - B - C</title><h1>a - b</h1>", Some("A - B")),
        ("<title> </title><h1>A</h1>", None),
        ("<p>x</p><svg><title>Drawing</title></svg>", None),
    ];
    for (source, title) in rows {
        assert_eq!(read(source).title.as_deref(), title, "{source}");
    }
}

#[test]
fn malformed_pages_are_read() {
    let rows = [
        ("", ""),
        ("plain text", "plain text"),
        ("<p>a<!-- never closed", "a"),
        ("<frameset><frame src=a>", ""),
        ("<b><p>x</b>y</p>z", "xy z"),
        ("<td>cell</td>", "cell"),
        ("a\0b<p>c\0", "ab c"),
        ("<ul>loose<li>item</ul>", "loose item"),
        ("<p>x</p></body></html>after", "x after"),
        ("\u{feff}<p>marked", "marked"),
        ("<a href", ""),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("<textarea>typed</textarea><p>x<button>Go</button>", "x"),
        ("<body style='display:none'><p>shown by script", "shown by script"),
        ("<p hidden>a<p style='display: none'>b<p aria-hidden=true>c<p>d", "d"),
    ];
    for (source, expected) in rows {
        let parsed = read(source);
        check_invariants(source, &parsed);
        let words: Vec<&str> = parsed.text.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{source}");
    }
}

#[test]
fn hostile_pages_cost_linear_time() {
    // Each of these takes minutes if every lookup scans all the text before it.
    let many = |unit: &str| unit.repeat(30_000);
    let numbered = |unit: fn(usize) -> String| (0..30_000).map(unit).collect::<String>();
    let pages = [
        many("<div>"),
        many("<ul><li>x"),
        many("<blockquote>x"),
        many("<table><tr><td>"),
        numbered(|n| format!("<b x={n}>")),
        numbered(|n| format!("<p><i x={n}>y")),
        numbered(|n| format!("<b id={n}><object></b></object>")),
        format!("<a{}>x", numbered(|n| format!(" a{n}=1"))),
        format!("<!--{}", many("--")),
        format!("<p title='{}'>x", many("long ")),
        many("&amp"),
        many("<"),
        many("<svg><p>"),
    ];
    for page in &pages {
        check_invariants(page, &read(page));
    }
}

#[test]
fn text_of_pages_nested_too_deep_is_kept() {
    let source =
        format!("{}<h2>Deep</h2>down &amp; out<br>there<pre>a\n b</pre>", "<div>".repeat(50_000));
    let parsed = read(&source);
    check_invariants(&source, &parsed);
    assert_eq!(parsed.warnings.len(), 1);
    expect![[r#"
        h2 §- "Deep"
        p §0 "down & out there"
        code() §0 "a\n b"
        warning: elements nest too deep; read without lists, tables and links
    "#]]
    .assert_eq(&printed(&parsed));
}

/// Pieces of tag soup, separated by `|`.
const PIECES: &str = "\
    <p>|</p>|<div class=nav>|</div>|<table>|<tr>|<td>|</td>|</table>|<b>|</b>|<a href=x>|</a>|<ul>|<li>|\
    </ul>|<dl><dt>|<dd>|</dl>|<pre>|</pre>|<code>|</code>|<h1>|</h1>|<br>|<img alt='a b' src=c>|\
    <script>|</script>|<title>|</title>|<svg>|</svg>|<math>|<mi>|<select>|<option>|<template>|\
    </template>|<main>|</main>|<article>|<nav>|</nav>|<blockquote>|</blockquote>|<!--|-->|<!x>|<?x>|</>|\
    <|&amp;|&lt|&notit;|&nbsp;|&#38;|&#x|&|\0|\r\n|\n| |text |naïve|日本|\u{a0}|\"|'|=|>|<frameset>|\
    </body>|<noscript>|<form>|<body>|<textarea>|<![CDATA[|]]>|<p hidden>|<th>|<caption>|<tbody>|\
    <plaintext>|<nobr>|<marquee>";

/// Soup of tags, references and text.
fn soup() -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = PIECES.split('|').collect();
    prop::collection::vec(prop::sample::select(pieces), 0..60).prop_map(|soup| soup.concat())
}

proptest! {
    #[test]
    fn any_text_is_read(source in "\\PC{0,200}") {
        check_invariants(&source, &read(&source));
    }

    #[test]
    fn any_soup_is_read(source in soup()) {
        check_invariants(&source, &read(&source));
    }

    #[test]
    fn what_is_selected_is_written(words in "[a-z]{1,8}( [a-z]{1,8}){0,9}", soup in soup()) {
        let source = format!("<p>{words}</p>{soup}");
        let (tree, _) = super::parse::parse(&source);
        let is_dropped = vec![false; tree.n_nodes()];
        let all = Selection { root: NodeId::ROOT, lead: None, author: None, is_press: false, is_dropped };
        let parsed = super::render::render(&tree, &source, &all, &LIMITS).parsed;
        check_invariants(&source, &parsed);
        prop_assert!(parsed.text.starts_with(&words), "{}", parsed.text);
        prop_assert_eq!(parsed.map.source_range(0, words.len()), 3..3 + words.len());
    }

    #[test]
    fn flat_reading_keeps_the_invariants(source in soup()) {
        let tree = super::flat::parse(&source);
        let selection = super::article::select(&tree, &source);
        let parsed = super::render::render(&tree, &source, &selection, &LIMITS).parsed;
        check_invariants(&source, &parsed);
    }
}
