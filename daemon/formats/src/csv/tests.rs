//! Tables as text, read: one check per way in which such files differ.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::Csv;
use crate::format::Format;
use crate::sheet::MAX_ROWS;
use crate::tests::{LIMITS, check_invariants, printed};

fn check(text: &str, expected: Expect) {
    let parsed = Csv.read(text, &LIMITS).expect("a table");
    check_invariants(text, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn rows_have_the_names_of_their_columns() {
    check(
        "Service,Owner,Days\nsigning,Ada Moreno,30\nvault,,90\n",
        expect![[r#"
            th0 §- "Service | Owner | Days"
            tr0 §- "signing | Ada Moreno | 30"
            tr0 §- "vault |  | 90"
        "#]],
    );
    // Words only.
    check(
        "name,role\nAda,engineer\nBob,cook\n",
        expect![[r#"
            th0 §- "name | role"
            tr0 §- "Ada | engineer"
            tr0 §- "Bob | cook"
        "#]],
    );
    // Years count up, amounts do not.
    check(
        "Region,2021,2022\nNorth,12,15\n",
        expect![[r#"
            th0 §- "Region | 2021 | 2022"
            tr0 §- "North | 12 | 15"
        "#]],
    );
}

#[test]
fn columns_without_names_have_letters() {
    check(
        "10,3.5,ok\n11,4.5,ok\n",
        expect![[r#"
            th0 §- "A | B | C"
            tr0 §- "10 | 3.5 | ok"
            tr0 §- "11 | 4.5 | ok"
        "#]],
    );
    check(
        ",x,y\na,1,2,9\n",
        expect![[r#"
            th0 §- "A | B | C | D"
            tr0 §- " | x | y | "
            tr0 §- "a | 1 | 2 | 9"
        "#]],
    );
}

#[test]
fn quotes_keep_separators_line_ends_and_quotes() {
    check(
        "Name;Note;Price\r\n\"Moreno; Ada\";\"says \"\"no\"\"\r\ntwice\";12,5\r\nBob;  ok ;3,0\r\n",
        expect![[r#"
            th0 §- "Name | Note | Price"
            tr0 §- "Moreno; Ada | says \"no\" twice | 12,5"
            tr0 §- "Bob | ok | 3,0"
        "#]],
    );
}

#[test]
fn the_header_decides_what_separates() {
    check(
        "Name\tWeight, kg\nBox\t12,5\n",
        expect![[r#"
            th0 §- "Name | Weight, kg"
            tr0 §- "Box | 12,5"
        "#]],
    );
    // A title above the table.
    check(
        "Harbor dues of May\n\nShip,Dues\nAlbatros,120\nPetrel,90\n",
        expect![[r#"
            p §- "Harbor dues of May"
            th0 §- "Ship | Dues"
            tr0 §- "Albatros | 120"
            tr0 §- "Petrel | 90"
        "#]],
    );
    // Declared for Excel.
    check(
        "sep=;\nName;Price\nBox;12,5\n",
        expect![[r#"
        th0 §- "Name | Price"
        tr0 §- "Box | 12,5"
    "#]],
    );
    // No table at all.
    check(
        "Remarks\nIt rained, again.\nAll is well.\n",
        expect![[r#"
            tr0 §- "Remarks"
            tr0 §- "It rained, again."
            tr0 §- "All is well."
        "#]],
    );
    check("", expect![[r#""#]]);
    check(
        "Remarks",
        expect![[r#"
        tr0 §- "Remarks"
    "#]],
    );
}

#[test]
fn a_quotation_that_does_not_end_swallows_nothing() {
    check(
        "Name\tNote\nAda\t\"so she said\nBob\tfine\n",
        expect![[r#"
        th0 §- "Name | Note"
        tr0 §- "Ada | \"so she said"
        tr0 §- "Bob | fine"
    "#]],
    );
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let rows: String = (0..MAX_ROWS + 7).map(|i| format!("item,{i}\n")).collect();
    let parsed = Csv.read(&format!("Name,No\n{rows}"), &LIMITS).expect("a table");
    assert_eq!(parsed.blocks.len(), MAX_ROWS);
    assert!(parsed.warnings[0].starts_with("8 rows are not indexed"), "{:?}", parsed.warnings);
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[a-c1-3\",;\t\n\r é]{0,60}") {
        let parsed = Csv.read(&text, &LIMITS).expect("never refused");
        check_invariants(&text, &parsed);
    }
}
