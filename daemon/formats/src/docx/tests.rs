//! Documents made here, read back: the result of each construct, and the cost of hostile files.

mod labels;

use std::fmt::Write as _;
use std::io::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::Docx;
use crate::format::{Format, FormatLimits};
use crate::tests::{LIMITS, check_invariants, normalized, printed};
use model::document::Parsed;

const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const STRICT: &str = "http://purl.oclc.org/ooxml/wordprocessingml/main";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006";

/// A container of parts.
pub(crate) fn zipped(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, bytes) in parts {
        let file = archive.new_file(*name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().expect("a new part");
        let encoder =
            flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).expect("written to memory");
        let (encoder, descriptor) = writer.finish().expect("a whole part");
        encoder.finish().expect("a whole part");
        entry.finish(descriptor).expect("a whole part");
    }
    archive.finish().expect("a whole container");
    out
}

const STYLES: &str = r#"
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="Standard"/></w:style>
<w:style w:styleId="Sub"><w:name w:val="My Section"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="H2"><w:name w:val="Überschrift 2"/></w:style>
<w:style w:styleId="Out"><w:name w:val="Chapter"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Toc"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Pool"/></w:style>
<w:style w:styleId="Pool"><w:name w:val="Pool"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="Src"><w:name w:val="Source Code"/></w:style>
<w:style w:styleId="SrcRef"><w:name w:val="Source Reference"/></w:style>
<w:style w:styleId="Q"><w:name w:val="Intense Quote"/></w:style>
<w:style w:styleId="Cont"><w:name w:val="List Continue 2"/></w:style>
<w:style w:styleId="Bul"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="V"><w:name w:val="Verbatim Char"/></w:style>"#;

const NUMBERING: &str = r#"
<w:abstractNum w:abstractNumId="7">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
 <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2."/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="8">
 <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="9"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:pStyle w:val="berschrift1"/>
 <w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="7"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="8"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="9"/></w:num>"#;

const NOTES: &str = r#"
<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
<w:footnote w:id="1"><w:p><w:r><w:footnoteRef/></w:r>
<w:r><w:t xml:space="preserve"> Measured in spring.</w:t></w:r></w:p></w:footnote>
<w:footnote w:id="2"><w:p><w:r><w:t>Never referred to.</w:t></w:r></w:p></w:footnote>"#;

const CORE: &str = r#"<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Harbor plan</dc:title>
<dc:creator>Ada &amp; Bo</dc:creator><dcterms:created>2026-03-01T10:00:00Z</dcterms:created>
<dcterms:modified>2026-04-01T10:00:00Z</dcterms:modified><dc:language>en-GB</dc:language>
<cp:keywords>quay; crane, tide</cp:keywords></cp:coreProperties>"#;

fn part(root: &str, space: &str, inner: &str) -> Vec<u8> {
    let mut text = format!(
        "<?xml version=\"1.0\"?><w:{root} xmlns:w=\"{space}\" xmlns:r=\"{OFFICE}/relationships\""
    );
    let more = [
        ("m", "http://schemas.openxmlformats.org/officeDocument/2006/math"),
        ("mc", "http://schemas.openxmlformats.org/markup-compatibility/2006"),
        ("wp", "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"),
        ("c", "http://schemas.openxmlformats.org/drawingml/2006/chart"),
        ("a", "http://schemas.openxmlformats.org/drawingml/2006/main"),
        ("v", "urn:schemas-microsoft-com:vml"),
    ];
    for (prefix, space) in more {
        let _ = write!(text, " xmlns:{prefix}=\"{space}\"");
    }
    let _ = write!(text, ">{inner}</w:{root}>");
    text.into_bytes()
}

/// A whole document around a body.
fn document(body: &str, space: &str) -> Vec<u8> {
    let relation = |id: &str, kind: &str, target: &str| {
        format!(
            "<Relationship Id=\"{id}\" Type=\"{OFFICE}/relationships/{kind}\" Target=\"{target}\"/>"
        )
    };
    let top = format!(
        "<Relationships>{}{}</Relationships>",
        relation("a", "officeDocument", "/word/document.xml"),
        relation("b", "core-properties", "docProps/core.xml")
    );
    let inner = format!(
        "<Relationships>{}{}{}{}{}{}</Relationships>",
        relation("s", "styles", "styles.xml"),
        relation("n", "numbering", "numbering.xml"),
        relation("f", "footnotes", "footnotes.xml"),
        relation("c", "chart", "charts/chart1.xml"),
        "<Relationship Id=\"web\" Type=\"x/hyperlink\" Target=\"https://x.org/a?b=1\" TargetMode=\"External\"/>",
        "<Relationship Id=\"file\" Type=\"x/hyperlink\" Target=\"../plans/q3.docx\" TargetMode=\"External\"/>"
    );
    let chart = r#"<c:title><a:t>Ships</a:t></c:title><c:ser><c:tx><c:v>2025</c:v></c:tx><c:cat>
        <c:pt idx="0"><c:v>Berth
        </c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>4.4000000000000004</c:v></c:pt></c:val></c:ser>
        <c:valAx><c:title><c:tx><a:t>Axis</a:t></c:tx></c:title></c:valAx>"#;
    zipped(&[
        ("_rels/.rels", top.as_bytes()),
        ("word/_rels/document.xml.rels", inner.as_bytes()),
        ("word/document.xml", &part("document", space, &format!("<w:body>{body}</w:body>"))),
        ("word/styles.xml", &part("styles", space, STYLES)),
        ("word/numbering.xml", &part("numbering", space, NUMBERING)),
        ("word/footnotes.xml", &part("footnotes", space, NOTES)),
        ("word/charts/chart1.xml", &part("chart", space, chart)),
        ("docProps/core.xml", CORE.as_bytes()),
    ])
}

fn read(body: &str) -> Parsed {
    let parsed = Docx.read(&document(body, WORD), &LIMITS).expect("a readable document");
    check_invariants(&parsed.text, &parsed);
    parsed
}

fn check(body: &str, expected: Expect) {
    expected.assert_eq(&printed(&read(body)));
}

/// A paragraph with properties and text.
fn p(properties: &str, text: &str) -> String {
    format!(
        "<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>"
    )
}

fn styled(style: &str, text: &str) -> String {
    p(&format!("<w:pStyle w:val=\"{style}\"/>"), text)
}

fn item(list: u32, level: u32, text: &str) -> String {
    p(&format!("<w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{list}\"/></w:numPr>"), text)
}

#[test]
fn headings_come_from_styles_of_any_language_and_from_outline_levels() {
    let body = [
        styled("T", "Harbor"),
        styled("berschrift1", "Quays"),
        styled("Sub", "North quay"),
        p("", "Text."),
        styled("Out", "Cranes"),
        p("<w:outlineLvl w:val=\"0\"/>", "Tides"),
        p("<w:pStyle w:val=\"berschrift1\"/><w:outlineLvl w:val=\"9\"/>", "Only looks big."),
        styled("Toc", "Quays 3"),
        styled("Loop", "No way out."),
    ];
    check(
        &body.concat(),
        expect![[r#"
        h1 §- "Harbor"
        h1 §- "Quays"
        h2 §1 "North quay"
        p §2 "Text."
        h3 §2 "Cranes"
        h1 §- "Tides"
        p §5 "Only looks big."
        p §5 "No way out."
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn lists_nest_count_and_go_on() {
    let body = [
        item(1, 0, "One"),
        item(1, 1, "Deep"),
        item(1, 1, "Deeper"),
        styled("Cont", "Goes on."),
        item(1, 0, "Two"),
        p("", "Between."),
        item(1, 0, "Three"),
        item(2, 0, "Anew"),
        styled("Bul", "Dot"),
        item(3, 1, "Dash"),
        p("<w:numPr><w:numId w:val=\"0\"/></w:numPr>", "No item."),
        item(99, 0, "Of no list."),
        p("<w:pStyle w:val=\"berschrift1\"/><w:numPr><w:numId w:val=\"4\"/></w:numPr>", "Numbered"),
    ];
    check(
        &body.concat(),
        expect![[r#"
        li0.0/1 §- "One"
        li1.1/1 §- "1.a Deep"
        li1.1/2 §- "1.b Deeper"
        li1.1 §- "Goes on."
        li0.0/2 §- "Two"
        p §- "Between."
        li2.0/3 §- "Three"
        li3.0/5 §- "Anew"
        li4.0 §- "Dot"
        li5.1 §- "Dash"
        p §- "No item."
        p §- "Of no list."
        h1 §- "I Numbered"
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn tables_keep_rows_columns_and_what_is_merged() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", p("", text))
    };
    let row = |properties: &str, cells: &str| {
        format!("<w:tr><w:trPr>{properties}</w:trPr>{cells}</w:tr>")
    };
    let inner = format!("<w:tbl>{}</w:tbl>", row("", &(cell("", "x") + &cell("", "y"))));
    let rows = [
        row("", &(cell("", "Quay") + &cell("<w:gridSpan w:val=\"2\"/>", "Depth, width"))),
        row("", &(cell("<w:vMerge w:val=\"restart\"/>", "North") + &cell("", "9") + &cell("", ""))),
        row("", &(cell("<w:vMerge/>", "") + &cell("", "7") + &format!("<w:tc>{inner}</w:tc>"))),
        row("", &cell("<w:gridSpan w:val=\"3\"/>", "Whole width")),
        row("<w:del/>", &(cell("", "gone") + &cell("", "gone"))),
        row("<w:gridBefore w:val=\"1\"/>", &(cell("", "late") + &cell("", "z"))),
    ];
    let look = "<w:tblPr><w:tblLook w:val=\"04A0\"/></w:tblPr>";
    let boxed = format!("<w:tbl>{}</w:tbl>", row("", &cell("", "A box of text.")));
    check(
        &format!("<w:tbl>{look}{}</w:tbl>{boxed}", rows.concat()),
        expect![[r#"
        th0 §- "Quay | Depth, width | Depth, width"
        tr0 §- "North | 9 | "
        tr0 §- "North | 7 | x y"
        tr0 §- "Whole width |  | "
        tr0 §- " | late | z"
        p §- "A box of text."
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn code_is_known_by_style_or_by_a_font_and_its_signs() {
    let mono = |text: &str| {
        format!(
            "<w:p><w:r><w:rPr><w:rFonts w:ascii=\"Courier New\"/></w:rPr><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = [
        styled("Src", "fn main() {"),
        styled("Src", "    run();"),
        styled("Src", ""),
        styled("Src", "}"),
        p("", "Text."),
        mono("SELECT * FROM users WHERE id = 1;"),
        mono("go"),
        styled("SrcRef", "See the source."),
        mono("A memo set in a typewriter face."),
        "<w:p><w:r><w:t xml:space=\"preserve\">Call </w:t></w:r><w:r><w:rPr><w:rStyle w:val=\"V\"/></w:rPr>\
         <w:t>printf</w:t></w:r><w:r><w:t xml:space=\"preserve\"> now, </w:t></w:r>\
         <w:r><w:rPr><w:b/></w:rPr><w:t>please</w:t></w:r><w:r><w:t>.</w:t></w:r></w:p>"
            .to_string(),
    ];
    check(
        &body.concat(),
        expect![[r#"
        code() §- "fn main() {\n    run();\n\n}"
        p §- "Text."
        code() §- "SELECT * FROM users WHERE id = 1;\ngo"
        p §- "See the source."
        p §- "A memo set in a typewriter face."
        p §- "Call printf now, please."
        code = "A memo set in a typewriter face."
        code = "printf"
        bold = "please"
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn links_come_from_relationships_and_fields() {
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let mark = |kind: &str| format!("<w:r><w:fldChar w:fldCharType=\"{kind}\"/></w:r>");
    let instruction = "<w:r><w:instrText> HYPERLINK \"https://y.org\" </w:instrText></w:r>";
    let body = [
        "<w:p>".to_string(),
        run("See "),
        format!("<w:hyperlink r:id=\"web\">{}</w:hyperlink>", run("the page")),
        format!("<w:hyperlink r:id=\"file\" w:anchor=\"Costs\">{}</w:hyperlink>", run(" the plan")),
        format!("<w:hyperlink w:anchor=\"_Toc\">{}</w:hyperlink>", run(" below")),
        mark("begin"),
        instruction.to_string(),
        run("not shown"),
        mark("separate"),
        run(" a field"),
        mark("end"),
        format!(
            "<w:fldSimple w:instr=\"HYPERLINK &quot;https://z.org&quot;\">{}</w:fldSimple>",
            run(" simple")
        ),
        "</w:p><w:p>".to_string(),
        mark("begin"),
        run("Never ended."),
        "</w:p>".to_string(),
        p("", "Still there."),
    ];
    check(
        &body.concat(),
        expect![[r#"
        p §- "See the page the plan below a field simple"
        p §- "Still there."
        Url "https://x.org/a?b=1" = "the page"
        Path "../plans/q3.docx" # Costs = "the plan"
        Url "https://y.org" = "a field"
        Url "https://z.org" = "simple"
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn changes_notes_hidden_text_and_comments() {
    let body = "<w:p><w:r><w:t>Depth</w:t></w:r><w:r><w:footnoteReference w:id=\"1\"/></w:r>\
        <w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t xml:space=\"preserve\"> new</w:t></\
        w:r></w:ins>\
        <w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:commentRangeStart w:id=\"0\"/>\
        <w:r><w:tab/><w:t>tab</w:t><w:br/><w:t>br</w:t><w:noBreakHyphen/><w:t>eak</w:t><w:softHyphen/><w:t>s</w:t>\
        <w:sym w:font=\"Symbol\" w:char=\"F061\"/></w:r><w:r><w:footnoteReference w:id=\"1\"/></w:r></w:p>\
        <w:p><w:pPr><w:pStyle w:val=\"T\"/><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>Joined </w:t></w:r></w:p>\
        <w:p><w:r><w:t>to this.</w:t></w:r></w:p>\
        <w:p><w:pPr><w:pStyle w:val=\"Q\"/><w:pPrChange><w:pPr><w:pStyle w:val=\"T\"/></w:pPr></w:pPrChange></w:pPr>\
        <w:r><w:t>Quoted &amp; &#8212; &bomb;kept</w:t></w:r></w:p>\
        <w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>Last.</w:t></w:r></w:p>";
    check(
        body,
        expect![[r#"
        p §- "Depth new tab br-eaksα"
        p §- "Measured in spring."
        p §- "Joined to this."
        quote §- "Quoted & — kept"
        p §- "Last."
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn text_boxes_controls_and_pictures_are_read_once() {
    let boxed = |text: &str| format!("<w:txbxContent>{}</w:txbxContent>", p("", text));
    let body = [
        format!(
            "<w:p><w:r><w:t>Around.</w:t><mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback><w:pict>{}\
             </w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>",
            boxed("In a box."),
            boxed("In a box.")
        ),
        format!("<w:p><w:r><w:pict><v:textbox>{}</v:textbox></w:pict></w:r></w:p>", boxed("Old box.")),
        format!("<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", p("", "Controlled.")),
        format!(
            "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>",
            p("", "Click here.")
        ),
        format!(
            "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val=\"Table of Contents\"/></w:docPartObj></w:sdtPr>\
             <w:sdtContent>{}</w:sdtContent></w:sdt>",
            p("", "Quays 3")
        ),
        "<w:p><w:r><w:drawing><wp:docPr descr=\"A crane over water\"/></w:drawing></w:r></w:p>".to_string(),
        "<w:p><w:r><w:drawing><wp:docPr descr=\"image1.png\"/><c:chart r:id=\"c\"/></w:drawing></w:r></w:p>"
            .to_string(),
    ];
    check(
        &body.concat(),
        expect![[r#"
        p §- "Around."
        p §- "In a box."
        p §- "Old box."
        p §- "Controlled."
        p §- "A crane over water"
        p §- "Ships"
        th0 §- " | 2025"
        tr0 §- "Berth | 4.4"
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn equations_are_tex() {
    let r = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
    let e = |text: &str| format!("<m:e>{}</m:e>", r(text));
    let math = [
        r("x="),
        format!("<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>", r("-b"), r("2a")),
        format!("<m:rad><m:deg/>{}</m:rad>", e("y")),
        format!("<m:sSup>{}<m:sup>{}</m:sup></m:sSup>", e("z"), r("2")),
        format!(
            "<m:nary><m:naryPr><m:chr m:val=\"∑\"/></m:naryPr><m:sub>{}</m:sub><m:sup>{}</m:sup>{}</m:nary>",
            r("i"),
            r("n"),
            e("i")
        ),
        format!(
            "<m:d><m:dPr><m:begChr m:val=\"[\"/><m:endChr m:val=\"]\"/></m:dPr>{}{}</m:d>",
            e("a"),
            e("b")
        ),
        format!("<m:m><m:mr>{}{}</m:mr><m:mr>{}{}</m:mr></m:m>", e("1"), e("0"), e("0"), e("1")),
        format!("<m:acc><m:accPr><m:chr m:val=\"⃗\"/></m:accPr>{}</m:acc>", e("v")),
        format!("<m:func><m:fName>{}</m:fName>{}</m:func>", r("log"), e("x")),
        format!("<m:limLow>{}<m:lim>{}</m:lim></m:limLow>", e("lim"), r("x→0")),
    ];
    let body = format!(
        "<w:p><w:r><w:t xml:space=\"preserve\">So </w:t></w:r><m:oMath>{}</m:oMath><m:oMath>{}</m:oMath></w:p>",
        math.concat(),
        r("E")
    );
    check(
        &body,
        expect![[r#"
        p §- "So x=\\frac{-b}{2a}\\sqrt{y}z^{2}\\sum_{i}^{n} i[a|b]1 & 0 \\\\ 0 & 1\\vec{v}log xlim_{x→0} E"
        tags ["quay", "crane", "tide"]
    "#]],
    );
}

#[test]
fn properties_become_metadata() {
    let parsed = read(&p("", "Text."));
    let meta = &parsed.meta;
    assert_eq!(parsed.title.as_deref(), Some("Harbor plan"));
    assert_eq!(meta.author.as_deref(), Some("Ada & Bo"));
    assert_eq!(meta.date.as_deref(), Some("2026-03-01T10:00:00Z"));
    assert_eq!(meta.language.as_deref(), Some("en-GB"));
    assert_eq!(meta.tags, ["quay", "crane", "tide"]);
    assert!(meta.extra.contains_key("modified"));
    assert_eq!(read(&styled("T", "On the page")).title.as_deref(), Some("On the page"));
}

#[test]
fn strict_documents_and_other_prefixes_read_alike() {
    let body = styled("berschrift1", "Quays") + &p("", "Text.");
    let strict = Docx.read(&document(&body, STRICT), &LIMITS).expect("strict");
    assert_eq!(printed(&strict), printed(&read(&body)));
    let renamed = format!(
        "<ns0:document xmlns:ns0=\"{WORD}\"><ns0:body><ns0:p><ns0:r><ns0:t>Hi</ns0:t></ns0:r></ns0:p></ns0:body>\
        </ns0:document>"
    );
    let utf16: Vec<u8> =
        format!("\u{feff}{renamed}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [renamed.as_bytes(), &utf16] {
        let parsed =
            Docx.read(&zipped(&[("word/document.xml", bytes)]), &LIMITS).expect("no relationships");
        assert_eq!(parsed.text, "Hi");
    }
}

#[test]
fn what_is_no_word_document_says_why() {
    let ole = |stream: &str| {
        let mut bytes = super::package::OLE_MAGIC.to_vec();
        bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    };
    let encrypted = ole("EncryptedPackage");
    let old = ole("WordDocument");
    let empty = zipped(&[("a.xml", b"<a/>")]);
    let cut = document("", WORD);
    let rows: &[(&[u8], &str)] = &[
        (&encrypted, "encrypted: the document is protected by a password"),
        (&old, "an old Word document (.doc) is not read; hint: save it as .docx"),
        (b"{\\rtf1 hello}", "RTF under the name"),
        (b"<html>", "HTML under the name"),
        (b"", "an empty file"),
        (b"plain", "no zip container"),
        (&empty, "has no part `word/document.xml`"),
        (&cut[..cut.len() / 2], "a damaged container"),
    ];
    for (bytes, expected) in rows {
        let reason = Docx.read(bytes, &LIMITS).expect_err("no document");
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_part_that_breaks_off_is_read_up_to_there() {
    let broken = format!("<w:document xmlns:w=\"{WORD}\"><w:body>{}<w:p <<", p("", "Before."));
    let parsed = Docx
        .read(&zipped(&[("word/document.xml", broken.as_bytes())]), &LIMITS)
        .expect("some text");
    assert_eq!(parsed.text, "Before.");
    assert_eq!(parsed.warnings.len(), 1);
}

/// Bodies on which a careless reader runs out of time, memory or stack.
fn bombs() -> Vec<(&'static str, String)> {
    let deep =
        |open: &str, close: &str, n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
    let n = 200_000;
    vec![
        ("nested runs", deep("<w:r>", "</w:r>", n)),
        ("nested paragraphs", deep("<w:p>", "</w:p>", n)),
        ("nested tables", deep("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", n / 4)),
        ("nested boxes", deep("<w:p><w:r><w:txbxContent>", "</w:txbxContent></w:r></w:p>", n / 8)),
        (
            "nested equations",
            format!("<w:p><m:oMath>{}</m:oMath></w:p>", deep("<m:d><m:e>", "</m:e></m:d>", n)),
        ),
        ("nested controls", deep("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>", n / 4)),
        ("never closed", "<w:p><w:r><w:t>x".repeat(n / 4)),
        ("never opened", "</w:p>".repeat(n)),
        (
            "fields",
            format!(
                "<w:p>{}</w:p>",
                "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r>".repeat(n / 8)
            ),
        ),
        (
            "attributes",
            format!("<w:p {}/>", (0..n / 4).map(|i| format!("a{i}=\"\" ")).collect::<String>()),
        ),
        ("spaces", (0..n / 8).map(|i| format!("<n{i}:a xmlns:n{i}=\"{WORD}\">")).collect()),
        (
            "wide cells",
            format!(
                "<w:tbl><w:tr>{}</w:tr></w:tbl>",
                format!(
                    "<w:tc><w:tcPr><w:gridSpan w:val=\"4000000000\"/></w:tcPr>{}</w:tc>",
                    p("", "wide")
                )
                .repeat(2_000)
            ),
        ),
        (
            "joined",
            "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>"
                .repeat(n / 8),
        ),
        (
            "notes",
            format!("<w:p>{}</w:p>", "<w:r><w:footnoteReference w:id=\"1\"/></w:r>".repeat(n / 8)),
        ),
    ]
}

#[test]
fn hostile_structure_ends_and_keeps_its_promises() {
    for (name, body) in bombs() {
        let parsed = Docx.read(&document(&body, WORD), &LIMITS);
        let parsed = parsed.unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert!(parsed.text.len() <= LIMITS.max_output_bytes, "{name}");
        check_invariants(&parsed.text, &parsed);
    }
}

#[test]
fn a_bomb_is_not_unpacked() {
    let limits = FormatLimits { max_output_bytes: 1 << 16, ..LIMITS };
    let body = p("", &" ".repeat(48 << 20));
    let reason = Docx.read(&document(&body, WORD), &limits).expect_err("too large");
    assert!(reason.contains("unpacks to more than"), "{reason}");
    let declared = format!(
        "<!DOCTYPE w [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><w:document xmlns:w=\"{WORD}\"><w:body>\
        {}</w:body></w:document>",
        p("", "x&b;y")
    );
    let parsed =
        Docx.read(&zipped(&[("word/document.xml", declared.as_bytes())]), &LIMITS).expect("text");
    assert_eq!(parsed.text, "xy");
}

#[test]
fn a_text_that_is_too_long_is_cut_with_a_warning() {
    let limits = FormatLimits { max_output_bytes: 100, ..LIMITS };
    let parsed = Docx.read(&document(&p("", "word").repeat(100), WORD), &limits).expect("text");
    assert!(parsed.text.len() <= 100 && parsed.warnings.len() == 1, "{:?}", parsed.warnings);
    check_invariants(&parsed.text, &parsed);
}

/// Pieces of which bodies are made.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<w:p>"),
        Just("</w:p>"),
        Just("<w:r>"),
        Just("</w:r>"),
        Just("<w:t>"),
        Just("</w:t>"),
        Just("word "),
        Just("<w:tbl>"),
        Just("</w:tbl>"),
        Just("<w:tr>"),
        Just("</w:tr>"),
        Just("<w:tc>"),
        Just("</w:tc>"),
        Just("<w:pPr><w:pStyle w:val=\"Src\"/></w:pPr>"),
        Just("<w:pPr><w:pStyle w:val=\"berschrift1\"/></w:pPr>"),
        Just("<w:pPr><w:numPr><w:ilvl w:val=\"1\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr>"),
        Just("<w:tcPr><w:gridSpan w:val=\"2\"/><w:vMerge/></w:tcPr>"),
        Just("<w:r><w:footnoteReference w:id=\"1\"/></w:r>"),
        Just("<w:txbxContent>"),
        Just("</w:txbxContent>"),
        Just("<w:hyperlink r:id=\"web\">"),
        Just("</w:hyperlink>"),
        Just("<w:rPr><w:b/></w:rPr>"),
        Just("<m:oMath>"),
        Just("</m:oMath>"),
        Just("<m:d><m:e>"),
        Just("</m:e></m:d>"),
        Just("<m:t>"),
        Just("&amp;"),
        Just("<w:fldChar w:fldCharType=\"begin\"/>"),
        Just("<w:fldChar w:fldCharType=\"end\"/>"),
        Just("<"),
        Just("é"),
        Just("<c:chart r:id=\"c\"/>"),
        Just("<w:rPr><w:del/></w:rPr>"),
        Just("\n"),
        Just("<w:br/>"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_body_keeps_the_invariants(body in markup()) {
        let parsed = Docx.read(&document(&body, WORD), &LIMITS).expect("a whole container");
        check_invariants(&parsed.text, &parsed);
    }

    #[test]
    fn any_damage_is_a_text_or_a_reason(at in 0usize..4_000, byte in any::<u8>()) {
        let mut bytes = document(&p("", "Text."), WORD);
        let n = bytes.len();
        bytes[at % n] = byte;
        if let Ok(parsed) = Docx.read(&bytes, &LIMITS) {
            check_invariants(&parsed.text, &parsed);
        }
    }
}

#[test]
fn a_document_without_text_says_so() {
    let warnings_of = |body: &str| normalized("a.docx", &document(body, WORD)).warnings;
    assert_eq!(warnings_of("<w:p/>"), [crate::NO_TEXT]);
    assert_eq!(warnings_of("<w:p><w:r><w:t>Text.</w:t></w:r></w:p>"), [""; 0]);
}
