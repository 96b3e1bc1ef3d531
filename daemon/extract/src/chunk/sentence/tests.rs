//! Sentences checked against expected output, and properties of any text.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::sentences;

fn check(text: &str, expected: Expect) {
    let rows = sentences(text).map(|range| format!("{}\n", text[range].replace('\n', "⏎")));
    expected.assert_eq(&rows.collect::<String>());
}

#[test]
fn plain_sentences() {
    check(
        "One. Two! Three? Four",
        expect![[r#"
            One.
            Two!
            Three?
            Four
        "#]],
    );
    check(
        "Really?! Yes... Maybe… then. ok... go on",
        expect![[r#"
            Really?!
            Yes...
            Maybe… then.
            ok... go on
        "#]],
    );
    check(
        "A line\nbreak is a space. Next.\n\nA blank line ends\n \none.",
        expect![[r#"
            A line⏎break is a space.
            Next.
            A blank line ends
            one.
        "#]],
    );
    check(
        "Run it. cargo builds the crate. 3 files remain.",
        expect![[r#"
            Run it.
            cargo builds the crate.
            3 files remain.
        "#]],
    );
}

#[test]
fn abbreviations_do_not_end() {
    check(
        "Use e.g. TLS, i.e. the usual. Ask Dr. Who vs. Mr. Bean, St. Ives.",
        expect![[r#"
            Use e.g. TLS, i.e. the usual.
            Ask Dr. Who vs. Mr. Bean, St. Ives.
        "#]],
    );
    check(
        "See No. 5 and Fig. 3. Is it? No. It is not. On Jan. 5 we met.",
        expect![[r#"
            See No. 5 and Fig. 3.
            Is it?
            No.
            It is not.
            On Jan. 5 we met.
        "#]],
    );
    check(
        "Acme Inc. sells it. It was Acme Inc. They sold keys, etc. and more, etc. Then.",
        expect![[r#"
            Acme Inc. sells it.
            It was Acme Inc.
            They sold keys, etc. and more, etc.
            Then.
        "#]],
    );
    check(
        "Smith et al. found (approx. 5) of them.",
        expect![[r#"
            Smith et al. found (approx. 5) of them.
        "#]],
    );
}

#[test]
fn initials_do_not_end() {
    check(
        "J. R. R. Tolkien and Donald E. Knuth. Plan B. Then the U.S. Army at 5 p.m. in D.C. The end.",
        expect![[r#"
            J. R. R. Tolkien and Donald E. Knuth.
            Plan B.
            Then the U.S. Army at 5 p.m. in D.C.
            The end.
        "#]],
    );
}

#[test]
fn dots_inside_words() {
    check(
        "Pi is 3.14. Use v1.2.3. Open main.rs. See https://a.b/c.html. Then .gitignore. Done",
        expect![[r#"
            Pi is 3.14.
            Use v1.2.3.
            Open main.rs.
            See https://a.b/c.html.
            Then .gitignore.
            Done
        "#]],
    );
    check(
        "1. First item. 2. Second item. Steps: 1. Do it. a. Do that. In 2019. It began",
        expect![[r#"
            1. First item.
            2. Second item.
            Steps: 1. Do it.
            a. Do that.
            In 2019.
            It began
        "#]],
    );
}

#[test]
fn quotes_and_brackets() {
    check(
        r#"He said "Stop." Then he left. "Why?" she asked. (See there.) [Or here.] End."#,
        expect![[r#"
            He said "Stop."
            Then he left.
            "Why?" she asked.
            (See there.)
            [Or here.]
            End.
        "#]],
    );
    check(
        "“Go.” ‘Now.’ She went. Yahoo! is old. (It works.), he said.",
        expect![[r#"
            “Go.”
            ‘Now.’
            She went.
            Yahoo! is old.
            (It works.), he said.
        "#]],
    );
}

#[test]
fn other_scripts() {
    check(
        "これは文です。次の文！「はい。」終わり？そう｡",
        expect![[r#"
            これは文です。
            次の文！
            「はい。」
            終わり？
            そう｡
        "#]],
    );
    check(
        "पहला वाक्य। दूसरा वाक्य। هل هذا؟ نعم. Ça va. Été.",
        expect![[r#"
            पहला वाक्य।
            दूसरा वाक्य।
            هل هذا؟
            نعم.
            Ça va.
            Été.
        "#]],
    );
}

fn covers(text: &str) {
    let mut last = 0;
    for range in sentences(text) {
        assert!(range.start >= last && range.end > range.start, "{range:?} of {text:?}");
        assert!(text[last..range.start].trim().is_empty());
        assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
        last = range.end;
    }
    assert!(text[last..].trim().is_empty());
}

#[test]
fn hostile_runs_are_linear() {
    for unit in
        [".", ". ", "\n", "\n \u{2003}", "!)", ".\u{2003}\u{2003}", "a.", "…", "。", "A. ", ".\"'"]
    {
        covers(&unit.repeat(200_000));
    }
}

proptest! {
    #[test]
    fn sentences_cover_any_text(text in any::<String>()) {
        covers(&text);
    }

    #[test]
    fn sentences_cover_stops(text in "[A-Ca-c1-3.!?…。\"')(\\[\\] \n\u{a0}é]{0,80}") {
        covers(&text);
    }
}
