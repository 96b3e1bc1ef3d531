use super::PLAIN;
use crate::format::Format;
use crate::tests::{LIMITS, check_invariants, printed};
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let parsed = PLAIN.read(text, &LIMITS).expect("plain text is never refused");
    check_invariants(text, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn paragraphs_are_joined_and_headings_found() {
    check(
        "Big Title\n=========\n\nOne line\n  and more.\n\nSub\n---\ntext\n\nSECTION TWO\n\
         more text\n\nNASA AND ESA ARE AGENCIES.\n\n-----\n\nABC\nDEF\n",
        expect![[r#"
            h1 §- "Big Title"
            p §0 "One line and more."
            h2 §0 "Sub"
            p §2 "text"
            h2 §0 "SECTION TWO"
            p §4 "more text"
            p §4 "NASA AND ESA ARE AGENCIES."
            p §4 "ABC DEF"
        "#]],
    );
}

#[test]
fn lists_nest_by_indentation() {
    check(
        "Before:\n- a\n  goes on\n- b\n    * c\n    * d\n\n  more b\n- e\n\nafter 1990.\n1) x\n\
         2) y\n\nIn the year\n1990. it was\n - z\n",
        expect![[r#"
            p §- "Before:"
            li0.0 §- "a goes on"
            li0.0 §- "b"
            li1.1 §- "c"
            li1.1 §- "d"
            li0.0 §- "more b"
            li0.0 §- "e"
            p §- "after 1990."
            li2.0/1 §- "x"
            li2.0/2 §- "y"
            p §- "In the year 1990. it was"
            li3.0 §- "z"
        "#]],
    );
}

#[test]
fn indented_stretches_are_code() {
    check(
        "Run:\n\n    make\n\n      test\n\nthen\n\n    one line only\n\n\ttab\n\ttab 2\n",
        expect![[r#"
        p §- "Run:"
        code() §- "make\n\n  test"
        p §- "then"
        code() §- "one line only\n\ntab\ntab 2"
    "#]],
    );
}

#[test]
fn a_long_paragraph_above_a_rule_is_no_heading() {
    check(
        "This is a long paragraph that ends above a rule.\n---\nnext\n\n- item\n---\n",
        expect![[r#"
        p §- "This is a long paragraph that ends above a rule."
        p §- "next"
        li0.0 §- "item"
    "#]],
    );
}
