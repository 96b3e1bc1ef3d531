//! Small PDF and DOCX documents, built here so that a test shows their content.

use crate::hostile::{Entry, pdf, zip};

/// Builds a PDF with these lines on its pages; lines must not contain parentheses.
pub fn paged(pages: &[&[&str]]) -> Vec<u8> {
    let n_pages = pages.len();
    let kids: Vec<String> = (0..n_pages).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_string(),
        format!("<< /Type /Pages /Count {n_pages} /Kids [{}] >>", kids.join(" ")),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_string(),
    ];
    for (page, lines) in pages.iter().enumerate() {
        let shown: String = lines.iter().map(|line| format!("({line}) Tj 0 -14 Td ")).collect();
        let content = format!("BT /F1 11 Tf 72 700 Td {shown}ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> \
             /Contents {} 0 R >>",
            5 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    pdf(&objects.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Builds a DOCX of these paragraphs: the level of a heading, or 0, and the text.
pub fn letter(paragraphs: &[(u8, &str)]) -> Vec<u8> {
    let body: String = paragraphs
        .iter()
        .map(|(level, text)| {
            let style = match level {
                0 => String::new(),
                _ => format!("<w:pPr><w:pStyle w:val=\"Heading{level}\"/></w:pPr>"),
            };
            format!("<w:p>{style}<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
        })
        .collect();
    word(&body)
}

/// Builds a DOCX with this body, in WordprocessingML.
pub fn word(body: &str) -> Vec<u8> {
    let space = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";
    let styles: String = (1..=3)
        .map(|level| {
            format!(
                "<w:style w:type=\"paragraph\" w:styleId=\"Heading{level}\"><w:name w:val=\"heading {level}\"/>\
                 </w:style>"
            )
        })
        .collect();
    let stored = |text: String| Entry::Stored(text.into_bytes());
    zip(&[
        (
            "[Content_Types].xml",
            stored(
                "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Override \
                 PartName=\"/word/document.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.\
                 wordprocessingml.document.main+xml\"/></Types>"
                    .into(),
            ),
        ),
        (
            "_rels/.rels",
            stored(
                "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship \
                 Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" \
                 Target=\"word/document.xml\"/></Relationships>"
                    .into(),
            ),
        ),
        (
            "word/_rels/document.xml.rels",
            stored(
                "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship \
                 Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles\" \
                 Target=\"styles.xml\"/></Relationships>"
                    .into(),
            ),
        ),
        ("word/styles.xml", stored(format!("<w:styles {space}>{styles}</w:styles>"))),
        ("word/document.xml", stored(format!("<w:document {space}><w:body>{body}</w:body></w:document>"))),
    ])
}
