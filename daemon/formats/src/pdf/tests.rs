//! Tests of the PDF reader. Files are written by [`draft`], so that each test shows the content of its file.

mod draft;

use expect_test::{Expect, expect};

use super::super::format::{Format, FormatLimits};
use super::Pdf;
use draft::{Draft, Face, Sheet, stream};
use model::document::Parsed;

const LIMITS: FormatLimits = FormatLimits { max_output_bytes: 1 << 24, max_nesting: 100 };

fn read(bytes: &[u8]) -> Parsed {
    Pdf.read(bytes, &LIMITS).expect("a document")
}

/// Blocks with their pages, one a line.
fn check(draft: Draft, expected: Expect) {
    let parsed = read(&draft.finish());
    let mut out = String::new();
    for block in &parsed.blocks {
        let page = parsed.pages.partition_point(|start| *start as usize <= block.span.start());
        let text = block.span.of(&parsed.text).replace('\n', "\\n");
        out.push_str(&format!("p{page} {:?}: {text}\n", block.kind));
    }
    for link in &parsed.links {
        out.push_str(&format!("link {} -> {}\n", link.span.of(&parsed.text), link.target));
    }
    for warning in &parsed.warnings {
        out.push_str(&format!("warning: {warning}\n"));
    }
    expected.assert_eq(&out);
}

const LEFT: [&str; 5] = [
    "The daemon reads every file of a folder",
    "and builds a graph from what it finds in",
    "there. It answers questions about this",
    "graph with evidence, and every piece of",
    "evidence says in which file it stands.",
];
const RIGHT: [&str; 5] = [
    "A second column goes on beside it, on",
    "the same lines of the page. Nobody would",
    "read across both columns, and so the",
    "reader must not do this either, even if",
    "the lines stand at the same height.",
];

#[test]
fn columns_are_read_one_after_the_other() {
    let sheet = Sheet::default()
        .text((50, 700), Face::Bold, 18, "A title above both columns")
        .lines((50, 660), 10, &LEFT)
        .lines((310, 660), 10, &RIGHT);
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Heading(1): A title above both columns
        p1 Paragraph: The daemon reads every file of a folder and builds a graph from what it finds in there. It answers questions about this graph with evidence, and every piece of evidence says in which file it stands.
        p1 Paragraph: A second column goes on beside it, on the same lines of the page. Nobody would read across both columns, and so the reader must not do this either, even if the lines stand at the same height.
    "#]],
    );
}

#[test]
fn columns_of_two_lines_are_read_one_after_the_other() {
    let left = ["The keeper of the light wrote down", "each ship that went by and"];
    let right = ["sent the list to the harbor at the", "end of every single week."];
    // Drawn row by row, below a title and among text over the whole width.
    let full = "What follows was written by the people who lived on the rock for many years, and by nobody else at all.";
    let mut sheet = Sheet::default()
        .text((50, 740), Face::Bold, 18, "How the log of the lighthouse was kept in those days")
        .lines((50, 710), 10, &[full, full, full, "That is all."]);
    for (i, (a, b)) in left.iter().zip(right).enumerate() {
        let y = 640 - 12 * i as u32;
        sheet = sheet.text((50, y), Face::Plain, 10, a).text((310, y), Face::Plain, 10, b);
    }
    let sheet = sheet.lines((50, 590), 10, &[full, full]);
    // Three of them, drawn one after the other.
    let three = Sheet::default()
        .lines((50, 700), 10, &["The mast is made of", "larch, and the hull"])
        .lines((220, 700), 10, &["is made of oak that", "was cut in winter by"])
        .lines((390, 700), 10, &["people who know how", "wood works at sea."]);
    check(
        Draft::new().page(sheet).page(three),
        expect![[r#"
            p1 Heading(1): How the log of the lighthouse was kept in those days
            p1 Paragraph: What follows was written by the people who lived on the rock for many years, and by nobody else at all. What follows was written by the people who lived on the rock for many years, and by nobody else at all. What follows was written by the people who lived on the rock for many years, and by nobody else at all.
            p1 Paragraph: That is all.
            p1 Paragraph: The keeper of the light wrote down each ship that went by and sent the list to the harbor at the end of every single week.
            p1 Paragraph: What follows was written by the people who lived on the rock for many years, and by nobody else at all. What follows was written by the people who lived on the rock for many years, and by nobody else at all.
            p2 Paragraph: The mast is made of larch, and the hull is made of oak that was cut in winter by people who know how wood works at sea.
        "#]],
    );
}

#[test]
fn labels_and_values_in_two_rows_are_read_across() {
    let pairs = |rows: [(&str, &str); 2]| {
        rows.iter().zip(0..).fold(Sheet::default(), |sheet, ((label, value), i)| {
            let y = 700 - 14 * i;
            sheet.text((50, y), Face::Plain, 10, label).text((310, y), Face::Plain, 10, value)
        })
    };
    let draft = Draft::new()
        .page(pairs([
            ("Name of the vessel", "Albatros the Second"),
            ("Name of the owner", "Ada Moreno of Porto"),
        ]))
        .page(pairs([
            ("Greatest length in meters", "twelve and a half"),
            ("Greatest speed in knots", "nine, with the wind"),
        ]))
        .page(pairs([("maximum load", "3000"), ("minimum crew", "4")]));
    check(
        draft,
        expect![[r#"
        p1 Paragraph: Name of the vessel Albatros the Second Name of the owner Ada Moreno of Porto
        p2 Paragraph: Greatest length in meters twelve and a half Greatest speed in knots nine, with the wind maximum load 3000 minimum crew 4
    "#]],
    );
}

#[test]
fn hyphens_of_words_stay() {
    // The typesetter breaks no words: `friendly` had room.
    let sheet = Sheet::default().lines(
        (50, 700),
        10,
        &[
            "A kit for boats with sails was found, and all of it is self-",
            "made. The sheets that came with it are user-",
            "friendly. They were drawn by Anne-",
            "Marie Duval of the yard at the end of the quay in town.",
        ],
    );
    // This document breaks words, such as `harbor`, but has `ice` and `free` as words.
    let broken = Sheet::default().lines(
        (50, 700),
        10,
        &[
            "The sea was ice-cold. There was ice, and the har-",
            "bor was full. It is a free harbor, with the ice-",
            "free berths at its far end, which many of the sail-",
            "ors like, as they told us when we went there once.",
        ],
    );
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: A kit for boats with sails was found, and all of it is self-made. The sheets that came with it are user-friendly. They were drawn by Anne-Marie Duval of the yard at the end of the quay in town.
    "#]],
    );
    check(
        Draft::new().page(broken),
        expect![[r#"
            p1 Paragraph: The sea was ice-cold. There was ice, and the harbor was full. It is a free harbor, with the ice-free berths at its far end, which many of the sailors like, as they told us when we went there once.
        "#]],
    );
}

#[test]
fn headers_footers_and_page_numbers_are_not_read() {
    let page = |number: &str, text: &[&str]| {
        Sheet::default()
            .text((50, 770), Face::Plain, 9, "The handbook of keys")
            .lines((50, 600), 10, text)
            .text((290, 30), Face::Plain, 9, number)
    };
    let draft = Draft::new()
        .page(page("Page 1 of 3", &["The first page says this."]))
        .page(page("Page 2 of 3", &["The second page says that."]))
        .page(page("Page 3 of 3", &["The third page says no more."]));
    check(
        draft,
        expect![[r#"
        p1 Paragraph: The first page says this.
        p2 Paragraph: The second page says that.
        p3 Paragraph: The third page says no more.
    "#]],
    );
}

#[test]
fn what_the_document_calls_pagination_is_not_read() {
    let sheet = Sheet::default()
        .raw("/Artifact << /Type /Pagination /Subtype /Header >> BDC")
        .text((50, 770), Face::Plain, 9, "Confidential draft")
        .raw("EMC")
        .lines((50, 600), 10, &["This is the text."]);
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: This is the text.
    "#]],
    );
}

#[test]
fn broken_words_are_joined_across_lines_and_pages() {
    let first = Sheet::default().lines(
        (50, 600),
        10,
        &[
            "Nobody should have to find a word that the type-",
            "setter broke at the end of a line, be it a well-",
            "known one or not. Elsewhere it is well-known, and",
            "on the next page goes on what was broken: docu-",
        ],
    );
    let second = Sheet::default().lines((50, 700), 10, &["ments are read to the end."]);
    let parsed = read(&Draft::new().page(first.clone()).page(second.clone()).finish());
    assert_eq!(parsed.pages.first(), Some(&0));
    assert!(parsed.text[parsed.pages[1] as usize..].starts_with("ments are"), "{:?}", parsed.pages);
    check(
        Draft::new().page(first).page(second),
        expect![[r#"
        p1 Paragraph: Nobody should have to find a word that the typesetter broke at the end of a line, be it a well-known one or not. Elsewhere it is well-known, and on the next page goes on what was broken: documents are read to the end.
    "#]],
    );
}

#[test]
fn bookmarks_and_sizes_make_headings() {
    let sheet = Sheet::default()
        .text((50, 740), Face::Bold, 20, "Rotating keys")
        .text((50, 700), Face::Plain, 10, "Why we rotate")
        .lines((50, 680), 10, &["Keys get old, and what is old is known to too many."])
        .text((50, 640), Face::Bold, 10, "2.1 The schedule")
        .lines((50, 620), 10, &["Every month, on the first day, a new key is made."]);
    let draft = Draft::new().page(sheet).outline(&[(1, "Rotating keys"), (2, "Why we rotate")]);
    check(
        draft,
        expect![[r#"
        p1 Heading(1): Rotating keys
        p1 Heading(2): Why we rotate
        p1 Paragraph: Keys get old, and what is old is known to too many.
        p1 Heading(2): 2.1 The schedule
        p1 Paragraph: Every month, on the first day, a new key is made.
    "#]],
    );
}

#[test]
fn lists_tables_code_and_links_are_kept() {
    let sheet = Sheet::default()
        .lines((50, 740), 10, &["Before you start, look at the following points:"])
        .lines(
            (60, 715),
            10,
            &["• Is the old key still in use anywhere?", "• Who has the new one?"],
        )
        .lines((60, 680), 10, &["1. Make a key.", "2. Publish it.", "3. Revoke the old one."])
        .text((50, 620), Face::Bold, 10, "Service")
        .text((200, 620), Face::Bold, 10, "Owner")
        .text((350, 620), Face::Bold, 10, "Days")
        .text((50, 605), Face::Plain, 10, "Signing Service")
        .text((200, 605), Face::Plain, 10, "Ada")
        .text((350, 605), Face::Plain, 10, "30")
        .text((50, 590), Face::Plain, 10, "Vault")
        .text((350, 590), Face::Plain, 10, "90")
        .text((50, 540), Face::Mono, 10, "fn rotate() {")
        .text((74, 528), Face::Mono, 10, "let key = new();")
        .text((50, 516), Face::Mono, 10, "}")
        .lines((50, 480), 10, &["The full story is in the manual."])
        .link([130, 475, 200, 492], "https://example.org/manual#keys");
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: Before you start, look at the following points:
        p1 ListItem { list: 0, depth: 0, ordinal: None }: Is the old key still in use anywhere?
        p1 ListItem { list: 0, depth: 0, ordinal: None }: Who has the new one?
        p1 ListItem { list: 1, depth: 0, ordinal: Some(1) }: Make a key.
        p1 ListItem { list: 1, depth: 0, ordinal: Some(2) }: Publish it.
        p1 ListItem { list: 1, depth: 0, ordinal: Some(3) }: Revoke the old one.
        p1 TableRow { table: 0, is_header: true }: Service | Owner | Days
        p1 TableRow { table: 0, is_header: false }: Signing Service | Ada | 30
        p1 TableRow { table: 0, is_header: false }: Vault |  | 90
        p1 Code { language: "" }: fn rotate() {\n    let key = new();\n}
        p1 Paragraph: The full story is in the manual.
        link the manual. -> https://example.org/manual
    "#]],
    );
}

/// A form of labels with values at their side.
fn permit() -> Sheet {
    ["Surname", "Vessel", "Berth class", "Insured", "Remarks"].iter().zip(0..).fold(
        Sheet::default().text((72, 740), Face::Bold, 16, "Mooring permit"),
        |sheet, (label, i)| sheet.text((72, 700 - 30 * i), Face::Plain, 11, label),
    )
}

#[test]
fn values_of_forms_stand_by_their_labels() {
    let sheet = permit()
        .annotation([150, 698, 400, 714], "/Subtype /Widget /FT /Tx /V (Kestrel-Moore)")
        .annotation([150, 668, 400, 684], "/Subtype /Widget /FT /Tx /V <feff00530065006500fc> /F 4")
        .annotation([150, 638, 300, 654], "/Subtype /Widget /FT /Ch /V (b) /Opt [[(a) (Alpha)] [(b) (Beta Quay)]]")
        .annotation([150, 608, 164, 622], "/Subtype /Widget /FT /Btn /V /Yes /AS /Yes")
        .annotation([170, 608, 184, 622], "/Subtype /Widget /FT /Btn /AS /Off")
        .annotation([150, 550, 300, 592], "/Subtype /Widget /FT /Tx /Ff 4096 /V (Comes back late in the autumn every year\r again)")
        .annotation([450, 698, 500, 714], "/Subtype /Widget /FT /Tx /Ff 8192 /V (hunter2)")
        .annotation([450, 668, 500, 684], "/Subtype /Widget /FT /Tx /F 2 /V (hidden)");
    check(
        Draft::new().page(sheet),
        expect![[r#"
            p1 Heading(1): Mooring permit
            p1 TableRow { table: 0, is_header: false }: Surname | Kestrel-Moore
            p1 TableRow { table: 0, is_header: false }: Vessel | Seeü
            p1 TableRow { table: 0, is_header: false }: Berth class | Beta Quay
            p1 TableRow { table: 0, is_header: false }: Insured | Yes
            p1 TableRow { table: 0, is_header: false }: Remarks | Comes back late in the autumn every year again
        "#]],
    );
}

#[test]
fn what_annotations_draw_is_read_at_its_place() {
    let mut draft = Draft::new();
    let fonts = "/Resources << /Font << /F1 3 0 R >> >>";
    let drawn = |text: &str| format!("/Tx BMC q BT /F1 11 Tf 2 4 Td ({text}) Tj ET Q EMC");
    let form = format!("/Type /XObject /Subtype /Form {fonts}");
    let name =
        draft.object(stream(&format!("{form} /BBox [0 0 250 16]"), &drawn("Captain Fenwick")));
    let stamp = draft.object(stream(
        &format!("{form} /BBox [0 0 100 16] /Matrix [2 0 0 2 10 10]"),
        &drawn("Approved"),
    ));
    let empty = draft.object(stream(&format!("{form} /BBox [0 0 250 16]"), "/Tx BMC EMC"));
    let parent = draft.object("<< /FT /Tx /V (Salt and rope) >>".to_string());
    let sheet = Sheet::default()
        .lines((72, 700), 11, &["Order form for provisions"])
        .text((72, 670), Face::Plain, 11, "Customer")
        .text((72, 640), Face::Plain, 11, "Goods")
        .annotation(
            [150, 668, 400, 684],
            &format!("/Subtype /Widget /FT /Tx /V (stale) /AP << /N {name} 0 R >>"),
        )
        .annotation(
            [150, 638, 400, 654],
            &format!("/Subtype /Widget /Parent {parent} 0 R /AP << /N {empty} 0 R >>"),
        )
        .annotation(
            [150, 608, 400, 624],
            &format!("/Subtype /Widget /FT /Tx /Ff 8192 /AP << /N {name} 0 R >>"),
        )
        .annotation([300, 100, 400, 116], &format!("/Subtype /Stamp /AP << /N {stamp} 0 R >>"));
    check(
        draft.page(sheet),
        expect![[r#"
        p1 Paragraph: Order form for provisions
        p1 Paragraph: Customer Captain Fenwick
        p1 Paragraph: Goods Salt and rope
        p1 Paragraph: Approved
    "#]],
    );
}

#[test]
fn comments_and_text_boxes_are_read() {
    let sheet = Sheet::default()
        .lines((50, 700), 10, &["The hull is sound.", "The mast is not."])
        .annotation(
            [50, 600, 400, 616],
            "/Subtype /FreeText /Contents (Approved by the harbourmaster) /DA (/F1 11 Tf)",
        )
        .annotation([420, 700, 440, 720], "/Subtype /Text /Contents (Check the hull number)")
        .annotation([50, 700, 120, 710], "/Subtype /Highlight /Contents (Is it?)")
        .annotation([50, 700, 120, 710], "/Subtype /Popup /Contents (no)");
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: The hull is sound.
        p1 Paragraph: The mast is not.
        p1 Paragraph: Approved by the harbourmaster
        p1 Paragraph: Check the hull number
        p1 Paragraph: Is it?
    "#]],
    );
}

#[test]
fn right_to_left_text_is_read_from_the_right() {
    // Drawn in visual order: letters from left to right.
    let visual = |text: &str| text.chars().rev().collect::<String>();
    let sheet = Sheet::default().text((300, 700), Face::Wide, 12, &visual("המפתחות הישנים")).text(
        (300, 685),
        Face::Wide,
        12,
        &visual("נמחקים כל חודש"),
    );
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: המפתחות הישנים נמחקים כל חודש
    "#]],
    );
}

#[test]
fn ligatures_become_letters() {
    let sheet = Sheet::default().text((50, 700), Face::Wide, 12, "e\u{fb03}cient \u{fb01}les");
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: efficient files
    "#]],
    );
}

#[test]
fn letters_that_stand_apart_are_one_word() {
    let sheet = Sheet::default().raw(
        "BT /F1 10 Tf 50 700 Td [(K) -400 (E) -400 (Y) -400 (S) -1200 (O) -400 (L) -400 (D)] TJ ET",
    );
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: KEYS OLD
    "#]],
    );
}

#[test]
fn text_that_runs_upwards_comes_last() {
    let sheet = Sheet::default()
        .raw("BT /F1 10 Tf 0 1 -1 0 30 300 Tm (A stamp at the edge) Tj ET")
        .lines((50, 700), 10, &["The text of the page is read first."]);
    check(
        Draft::new().page(sheet),
        expect![[r#"
        p1 Paragraph: The text of the page is read first.
        p1 Paragraph: A stamp at the edge
    "#]],
    );
}

#[test]
fn metadata_is_taken_from_the_document() {
    let draft = Draft::new()
        .page(Sheet::default().lines((50, 700), 10, &["Text."]))
        .info("/Title <feff0047007200fc006e> /Author (Ada) /CreationDate (D:20220403180542+02'00') /Keywords (a, b)")
        .catalog("/Lang (en-GB)");
    let parsed = read(&draft.finish());
    assert_eq!(parsed.title.as_deref(), Some("Grün"));
    assert_eq!(parsed.meta.author.as_deref(), Some("Ada"));
    assert_eq!(parsed.meta.date.as_deref(), Some("2022-04-03T18:05:42+02:00"));
    assert_eq!(parsed.meta.language.as_deref(), Some("en-GB"));
    assert_eq!(parsed.meta.tags, ["a", "b"]);
}

#[test]
fn pages_without_a_text_layer_cause_a_warning() {
    let draft = Draft::new()
        .page(Sheet::default().image())
        .page(Sheet::default().lines((50, 700), 10, &["Text."]).image());
    check(
        draft,
        expect![[r#"
        p2 Paragraph: Text.
        warning: no text layer on 1 of 2 pages: they show pictures of text, if any; hint: make them searchable with an OCR program
    "#]],
    );
}

#[test]
fn a_document_that_needs_a_password_says_so() {
    let draft = Draft::new().page(Sheet::default()).trailer(&format!(
        "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<00> <00>]",
        "00".repeat(32)
    ));
    let error = Pdf.read(&draft.finish(), &LIMITS).expect_err("no document");
    assert!(error.starts_with("encrypted:") && error.contains("hint:"), "{error}");
}

#[test]
fn an_empty_password_is_tried() {
    // Made from a draft with `pypdf.PdfWriter.encrypt("", "owner", algorithm="RC4-128")`.
    let parsed = read(include_bytes!("tests/empty_password.pdf"));
    assert_eq!(parsed.text, "Nobody needs a password for this.");
}

#[test]
fn pages_that_are_all_alike_keep_their_text() {
    let sheet = Sheet::default().lines((50, 700), 10, &["The same on every page."]);
    let parsed = read(&Draft::new().page(sheet.clone()).page(sheet).finish());
    assert_eq!(parsed.text.matches("The same").count(), 2);
}

#[test]
fn a_power_above_an_index_stays_in_its_line() {
    let sheet = Sheet::default().raw(
        "BT /F1 10 Tf 50 700 Td (Let x) Tj /F1 7 Tf 0 4 Td 23.1 0 Td (2) Tj 0 -6 Td (0) Tj \
         /F1 10 Tf 8 2 Td (be known.) Tj ET",
    );
    let text = read(&Draft::new().page(sheet).finish()).text;
    assert!(
        text.starts_with("Let x") && text.ends_with("be known.") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn hostile_files_end_and_ask_for_no_more_than_is_allowed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hostile/pdf");
    let mut n_files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let bytes = std::fs::read(entry.path()).expect("a file");
        if let Err(reason) = Pdf.read(&bytes, &LIMITS) {
            let kinds = ["damaged:", "encrypted:", "too large:"];
            assert!(
                kinds.iter().any(|kind| reason.starts_with(kind)),
                "{:?}: {reason}",
                entry.path()
            );
        }
        n_files += 1;
    }
    assert!(n_files > 20, "{n_files}");
}

#[test]
fn what_is_no_pdf_is_an_error() {
    for bytes in [&b""[..], b"%PDF-1.7", b"hello", b"%PDF-1.7\ntrailer << /Root 1 0 R >>"] {
        let error = Pdf.read(bytes, &LIMITS).expect_err("no document");
        assert!(error.starts_with("damaged:"), "{error}");
    }
}

#[test]
fn a_page_tree_that_contains_itself_ends() {
    let mut draft = Draft::new().page(Sheet::default().lines((50, 700), 10, &["Text."]));
    let looped = draft.object("<< /Type /Pages /Kids [2 0 R] /Count 1 >>".to_string());
    let bytes = draft.finish();
    let text = String::from_utf8(bytes)
        .expect("text")
        .replace("/Kids [", &format!("/Kids [{looped} 0 R "));
    // The offsets in the table are wrong now; the library repairs them.
    assert_eq!(read(text.as_bytes()).text, "Text.");
}

#[test]
fn a_form_that_draws_itself_twice_ends() {
    let mut draft = Draft::new();
    let form = draft.objects_len() + 1;
    draft.object(stream(
        &format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /A {form} 0 R >> >>"),
        "/A Do /A Do",
    ));
    let page = format!("/Resources << /XObject << /Im {form} 0 R >>");
    let bytes = draft.page(Sheet::default().raw("/Im Do")).finish();
    let text = String::from_utf8(bytes)
        .expect("text")
        .replace("/Resources << /Font", &format!("{page} /Font"));
    assert_eq!(read(text.as_bytes()).text, "");
}
