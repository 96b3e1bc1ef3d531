//! Workbooks made here, read back.

use expect_test::{Expect, expect};

use super::Xlsx;
use crate::docx::tests::zipped;
use crate::format::{Format, FormatLimits};
use crate::tests::{LIMITS, check_invariants, printed};

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
/// Number formats by style: 0 general, 1 date, 2 percent, 3 euros, 4 time, 5 duration, 6 date and time.
const STYLES: &str = r##"<numFmts><numFmt numFmtId="164" formatCode="#,##0.00\ [$€-407]"/>
    <numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>
    <xf numFmtId="9"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="46"/><xf numFmtId="165"/></cellXfs>"##;

/// A workbook of sheets: name, attributes, and the content of its `worksheet`.
fn workbook(sheets: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut listed = String::new();
    let mut relations =
        format!(r#"<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/>"#);
    let mut parts = Vec::new();
    for (i, (name, attributes, content)) in sheets.iter().enumerate() {
        listed +=
            &format!(r#"<sheet name="{name}" sheetId="{}" r:id="r{i}" {attributes}/>"#, i + 1);
        relations += &format!(
            r#"<Relationship Id="r{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>"#
        );
        let sheet = format!(r#"<worksheet xmlns="{MAIN}">{content}</worksheet>"#);
        parts.push((format!("xl/worksheets/sheet{i}.xml"), sheet));
    }
    let top = format!(
        r#"<Relationship Id="a" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>
           <Relationship Id="b" Type="x/core-properties" Target="docProps/core.xml"/>"#
    );
    let relations_of =
        |inner: &str| format!(r#"<Relationships xmlns="{PACKAGE}">{inner}</Relationships>"#);
    let book = format!(
        r#"<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>"#
    );
    parts.extend([
        ("_rels/.rels".to_string(), relations_of(&top)),
        ("xl/workbook.xml".to_string(), book),
        ("xl/_rels/workbook.xml.rels".to_string(), relations_of(&relations)),
        (
            "xl/styles.xml".to_string(),
            format!(r#"<styleSheet xmlns="{MAIN}">{STYLES}</styleSheet>"#),
        ),
        (
            "docProps/core.xml".to_string(),
            "<coreProperties><title>Harbor dues</title><creator>Ada</creator></coreProperties>"
                .to_string(),
        ),
    ]);
    let parts: Vec<(&str, &[u8])> =
        parts.iter().map(|(name, it)| (name.as_str(), it.as_bytes())).collect();
    zipped(&parts)
}

/// The rows of a sheet from cells such as `A1 words`, `B1 =12`, `C1 =0.5 s2`: `=` begins a value, `s` a style.
fn rows(lines: &[&[&str]]) -> String {
    let mut out = String::new();
    for line in lines {
        out += "<row>";
        for cell in *line {
            let (at, value) = cell.split_once(' ').expect("a place and a value");
            out += &match value.strip_prefix('=') {
                Some(number) => {
                    let (number, style) = number.split_once(" s").unwrap_or((number, "0"));
                    format!(r#"<c r="{at}" s="{style}"><v>{number}</v></c>"#)
                }
                None => format!(r#"<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>"#),
            };
        }
        out += "</row>";
    }
    format!("<sheetData>{out}</sheetData>")
}

fn check(bytes: &[u8], expected: Expect) {
    let parsed = Xlsx.read(bytes, &LIMITS).expect("a workbook");
    check_invariants(&parsed.text, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn sheets_are_sections_and_cells_have_the_values_that_people_see() {
    let dues = rows(&[
        &["A1 Dues of May"],
        &["A3 Ship", "B3 Paid on", "C3 Dues", "D3 Share", "E3 At", "F3 Stay", "G3 Seen"],
        &[
            "A4 Albatros",
            "B4 =45778 s1",
            "C4 =120 s3",
            "D4 =0.15 s2",
            "E4 =0.75 s4",
            "F4 =1.5 s5",
            "G4 =45778.5 s6",
        ],
        &["A5 Petrel", "C5 =90.5 s3", "D5 =7"],
    ]);
    let other = r#"<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Berth</t></is></c>
        <c r="C1" t="inlineStr"><is><t>Free</t></is></c></row>
        <row r="2"><c r="A2"><v>1.0</v></c><c r="C2" t="b"><v>1</v></c></row>
        <row r="3"><c r="A3"><f>A2+1</f><v>2</v></c><c r="C3" t="e"><v>#DIV/0!</v></c></row>
        <row r="4"><c r="A4" t="str"><f>"x"&amp;A2</f><v>x1</v></c><c r="C4"><f>NOW()</f></c></row>
        <row r="5"><c r="A5" t="e"><v>#SPILL!</v></c><c r="C5" t="b"><v>0</v></c></row></sheetData>"#;
    check(
        &workbook(&[("Dues", "", &dues), ("Berths", r#"state="hidden""#, other)]),
        expect![[r#"
            h2 §- "Dues"
            p §0 "Dues of May"
            th0 §0 "Ship | Paid on | Dues | Share | At | Stay | Seen"
            tr0 §0 "Albatros | 2025-05-01 | 120.00 € | 15% | 18:00 | 36:00:00 | 2025-05-01 12:00"
            tr0 §0 "Petrel |  | 90.50 € | 7 |  |  | "
            h2 §- "Berths"
            th1 §5 "Berth | Free"
            tr1 §5 "1 | TRUE"
            tr1 §5 "2 | #DIV/0!"
            tr1 §5 "x1 | "
            tr1 §5 " | FALSE"
            warning: 1 cells could not be read
            warning: 1 cells have a formula without a result; hint: open and save it in a spreadsheet program
        "#]],
    );
    let parsed = Xlsx.read(&workbook(&[("Dues", "", &dues)]), &LIMITS).expect("a workbook");
    assert_eq!(
        (parsed.title.as_deref(), parsed.meta.author.as_deref()),
        (Some("Harbor dues"), Some("Ada"))
    );
}

#[test]
fn merged_cells_stand_in_all_rows_and_columns_but_titles_do_not() {
    let sheet = rows(&[
        &["A1 Harbor"],
        &["A2 Region", "B2 Ship", "C2 Dues"],
        &["A3 North", "B3 Albatros", "C3 =1"],
        &["B4 Petrel", "C4 =2"],
        &["A5 closed", "C5 =3"],
    ]) + r#"<mergeCells><mergeCell ref="A1:C1"/><mergeCell ref="A3:A4"/><mergeCell ref="A5:B5"/></mergeCells>"#;
    check(
        &workbook(&[("S", "", &sheet)]),
        expect![[r#"
        h2 §- "S"
        p §0 "Harbor"
        th0 §0 "Region | Ship | Dues"
        tr0 §0 "North | Albatros | 1"
        tr0 §0 "North | Petrel | 2"
        tr0 §0 "closed | closed | 3"
    "#]],
    );
}

#[test]
fn merged_cells_above_columns_name_them_together() {
    let sheet = rows(&[
        &["A1 Region", "B1 =2024", "D1 =2025"],
        &["B2 Dues", "C2 Fines", "D2 Dues", "E2 Fines"],
        &["A3 North", "B3 =1", "C3 =2", "D3 =3", "E3 =4"],
    ]) + r#"<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/></mergeCells>"#;
    check(
        &workbook(&[("S", "", &sheet)]),
        expect![[r#"
        h2 §- "S"
        th0 §0 "Region | 2024 Dues | 2024 Fines | 2025 Dues | 2025 Fines"
        tr0 §0 "North | 1 | 2 | 3 | 4"
    "#]],
    );
}

#[test]
fn far_cells_cost_nothing() {
    let sheet = rows(&[&["A1 Name", "XFD1 No"], &["A1048576 last", "XFD1048576 =1"]])
        + r#"<mergeCells><mergeCell ref="A1:XFD1048576"/><mergeCell ref="B9:A1"/></mergeCells>"#;
    let parsed = Xlsx
        .read(&workbook(&[("S", "", &sheet)]), &FormatLimits { max_output_bytes: 9_000, ..LIMITS });
    assert!(parsed.expect("a workbook").text.len() <= 9_000);
}

#[test]
fn damage_is_told() {
    let broken =
        rows(&[&["A1 Name", "B1 No"], &["A2 Ada", "B2 =1"]]).replace("</sheetData>", "<row><c r=");
    check(
        &workbook(&[("S", "", &broken), ("T", "", &rows(&[&["A1 x", "B1 =2"]]))]),
        expect![[r#"
            h2 §- "S"
            th0 §0 "Name | No"
            tr0 §0 "Ada | 1"
            h2 §- "T"
            th1 §3 "A | B"
            tr1 §3 "x | 2"
            warning: sheet `S` is damaged, what follows in it is not indexed: Unexpected end of xml, expecting '</sheetData>'
            warning: 1 cells could not be read
        "#]],
    );
    let none = Xlsx.read(&zipped(&[("a.txt", b"x")]), &LIMITS).expect_err("no workbook");
    assert!(none.starts_with("damaged:"), "{none}");
    assert!(Xlsx.read(b"Name,No", &LIMITS).expect_err("no zip").contains("no zip container"));
}

#[test]
fn a_bomb_is_refused() {
    let zeros = vec![b' '; 64 << 20];
    let bomb = zipped(&[("xl/sharedStrings.xml", &zeros)]);
    let limits = FormatLimits { max_output_bytes: 1 << 20, ..LIMITS };
    assert!(bomb.len() < 1 << 20);
    assert!(Xlsx.read(&bomb, &limits).expect_err("too large").contains("unpacks to more than"));
}
