//! Any bytes as a `.docx` file, or as the XML of one of its parts inside a whole container: what begins with `<` is
//! a body; `s`, `n`, `f`, `c`, `r` and `p` before it make it the styles, lists, notes, a chart, relationships or
//! properties.
#![no_main]

use std::io::Write as _;

const ROOT: &str = "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
    xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\" \
    xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\" \
    xmlns:wp=\"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing\" \
    xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\" \
    xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">";
const BODY: &str = "<w:body><w:p><w:pPr><w:pStyle w:val=\"a\"/><w:numPr><w:ilvl w:val=\"1\"/><w:numId w:val=\"1\
    \"/></w:numPr>\
    </w:pPr><w:r><w:t>One</w:t><w:footnoteReference w:id=\"1\"/></w:r></w:p><w:p><w:r><c:chart r:id=\"c\"/></w:r\
    ></w:p>\
    <w:p><w:pPr><w:pStyle w:val=\"b\"/></w:pPr><w:hyperlink r:id=\"h\"><w:r><w:t>Two</w:t></w:r></w:hyperlink></\
    w:p></w:body>";
const RELATIONSHIPS: &str = "<Relationships><Relationship Id=\"s\" Type=\"/styles\" Target=\"styles.xml\"/>\
    <Relationship Id=\"n\" Type=\"/numbering\" Target=\"numbering.xml\"/>\
    <Relationship Id=\"f\" Type=\"/footnotes\" Target=\"footnotes.xml\"/>\
    <Relationship Id=\"c\" Type=\"/chart\" Target=\"chart.xml\"/>\
    <Relationship Id=\"h\" Type=\"/hyperlink\" Target=\"../x.md#y\" TargetMode=\"External\"/></Relationships>";
const TOP: &str = "<Relationships><Relationship Id=\"a\" Type=\"/officeDocument\" Target=\"word/document.xml\"/>\
    <Relationship Id=\"b\" Type=\"/core-properties\" Target=\"core.xml\"/></Relationships>";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let parts: Vec<(&str, Vec<u8>)> = match first {
        b'<' => vec![("word/document.xml", [ROOT.as_bytes(), bytes].concat())],
        b's' => vec![("word/styles.xml", [ROOT.as_bytes(), rest].concat())],
        b'n' => vec![("word/numbering.xml", [ROOT.as_bytes(), rest].concat())],
        b'f' => vec![("word/footnotes.xml", [ROOT.as_bytes(), rest].concat())],
        b'c' => vec![("word/chart.xml", [ROOT.as_bytes(), rest].concat())],
        b'r' => vec![("word/_rels/document.xml.rels", rest.to_vec())],
        b'p' => vec![("core.xml", rest.to_vec())],
        _ => return fuzz::read("docx", bytes),
    };
    fuzz::read("docx", &container(parts));
});

/// A whole document in which some parts are given.
fn container(mut parts: Vec<(&str, Vec<u8>)>) -> Vec<u8> {
    let whole = [
        ("_rels/.rels", TOP.as_bytes().to_vec()),
        ("word/document.xml", [ROOT, BODY, "</w:document>"].concat().into_bytes()),
        ("word/_rels/document.xml.rels", RELATIONSHIPS.as_bytes().to_vec()),
    ];
    for (name, bytes) in whole {
        if parts.iter().all(|(given, _)| *given != name) {
            parts.push((name, bytes));
        }
    }
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, bytes) in &parts {
        let Ok((mut entry, config)) = archive.new_file(*name).start() else { return Vec::new() };
        let mut writer = config.wrap(&mut entry);
        if writer.write_all(bytes).is_err() {
            return Vec::new();
        }
        let Ok((_, descriptor)) = writer.finish() else { return Vec::new() };
        if entry.finish(descriptor).is_err() {
            return Vec::new();
        }
    }
    if archive.finish().is_err() { Vec::new() } else { out }
}
