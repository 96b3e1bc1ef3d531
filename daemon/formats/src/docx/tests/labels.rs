//! Labels that Word makes, and the comments of reviewers.

use expect_test::{Expect, expect};

use super::{OFFICE, WORD, item, p, part, zipped};
use crate::docx::Docx;
use crate::format::Format;
use crate::tests::{LIMITS, check_invariants, printed};

/// Checks a document with lists, one per row: number format and pattern of its level; and with comments.
fn check(levels: &[(&str, &str)], comments: &str, body: &str, expected: Expect) {
    let relations = ["numbering", "comments"].map(|kind| {
        format!("<Relationship Id=\"{kind}\" Type=\"{OFFICE}/relationships/{kind}\" Target=\"{kind}.xml\"/>")
    });
    let lists = levels.iter().zip(1..).map(|((format, pattern), id)| {
        // Each list has the numbers of the first one above it, as chapters have.
        let (first, _) = levels.first().copied().unwrap_or_default();
        format!(
            "<w:abstractNum w:abstractNumId=\"{id}\"><w:lvl w:ilvl=\"0\"><w:start w:val=\"2\"/>\
             <w:numFmt w:val=\"{format}\"/><w:lvlText w:val=\"{pattern}\"/></w:lvl><w:lvl w:ilvl=\"1\">\
             <w:start w:val=\"1\"/><w:numFmt w:val=\"{first}\"/><w:isLgl/><w:lvlText w:val=\"Section %1.%2\"/>\
             </w:lvl></w:abstractNum><w:num w:numId=\"{id}\"><w:abstractNumId w:val=\"{id}\"/></w:num>"
        )
    });
    let bytes = zipped(&[
        ("word/_rels/document.xml.rels", format!("<R>{}</R>", relations.concat()).as_bytes()),
        ("word/document.xml", &part("document", WORD, &format!("<w:body>{body}</w:body>"))),
        ("word/numbering.xml", &part("numbering", WORD, &lists.collect::<String>())),
        ("word/comments.xml", &part("comments", WORD, comments)),
    ]);
    let parsed = Docx.read(&bytes, &LIMITS).expect("a readable document");
    check_invariants(&parsed.text, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn a_label_that_says_more_than_a_number_is_text() {
    let levels = [
        ("upperRoman", "Article %1."),
        ("decimal", "§ %1"),
        ("lowerLetter", "(%1)"),
        ("decimal", "%1)"),
        ("lowerLetter", "%1."),
        ("bullet", "o"),
    ];
    let in_table = format!("<w:tbl><w:tr><w:tc>{}</w:tc></w:tr></w:tbl>", item(2, 0, "Row"));
    let body: String = (1..7).map(|list| item(list, 0, "Clause")).collect();
    let under = item(1, 1, "Under") + &item(1, 0, "") + &item(1, 0, "Next") + &in_table;
    let row = "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr><w:tr>".to_string();
    let table = format!(
        "{row}<w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>",
        item(4, 0, "Cell"),
        p("", "x")
    );
    check(
        &levels,
        "",
        &(body + &under + &table),
        expect![[r#"
            li0.0/2 §- "Article II. Clause"
            li1.0/2 §- "§ 2 Clause"
            li2.0/2 §- "(b) Clause"
            li3.0/2 §- "Clause"
            li4.0/2 §- "b. Clause"
            li5.0 §- "Clause"
            li6.1/1 §- "Section 2.1 Under"
            li7.0/4 §- "Article IV. Next"
            li8.0/3 §- "§ 3 Row"
            tr0 §- "3) Cell | x"
        "#]],
    );
}

#[test]
fn comments_are_quoted_beside_their_paragraph() {
    let comment = |id: u8, author: &str, text: &str| {
        format!("<w:comment w:id=\"{id}\" w:author=\"{author}\"><w:p/>{}</w:comment>", p("", text))
    };
    let comments = comment(0, "Bea Ruder", "Is the depth right?")
        + &comment(1, "", "Yes.")
        + &comment(2, "Bo", "On what was deleted.");
    let on = |id: u8| {
        format!(
            "<w:p><w:commentRangeStart w:id=\"{id}\"/><w:r><w:t>Depth {id}.</w:t></w:r>\
             <w:commentRangeEnd w:id=\"{id}\"/><w:r><w:commentReference w:id=\"{id}\"/></w:r></w:p>"
        )
    };
    check(
        &[],
        &comments,
        &format!("{}{}<w:del>{}</w:del>{}", on(0), on(1), on(2), p("", "End.")),
        expect![[r#"
            p §- "Depth 0."
            quote §- "Bea Ruder: Is the depth right?"
            p §- "Depth 1."
            quote §- "Yes."
            p §- "End."
            quote §- "Bo: On what was deleted."
        "#]],
    );
}
