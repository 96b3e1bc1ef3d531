//! One table for each pattern: what it finds and what it ignores.

use super::*;
use crate::recognize::overlap;
use expect_test::{Expect, expect};
use model::document::testing;
use proptest::prelude::*;
use std::fmt::Write;

fn check(lines: &str, expect: Expect) {
    let doc = testing::doc(lines);
    let mut found = Vec::new();
    PatternRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut found);
    let mut out = String::new();
    for m in overlap::resolve(&doc.text, found) {
        let surface = m.span.of(&doc.text);
        let name = if m.name == surface { String::new() } else { format!(" = {}", m.name) };
        writeln!(out, "{} {surface}{name}", m.entity_type.as_str()).expect("a string takes writes");
    }
    expect.assert_eq(&out);
}

#[test]
fn dates() {
    check(
        "On 2024-03-12, 12 March 2024, March 12, 2024, 3rd May 2021, Jan 5, 2020, March 2024, Q3 2024 \
         and 2024-03-12T10:00. Not 2024-13-01, 1234-5678, May be, may 2024 or 10:30.",
        expect![[r#"
            Date 2024-03-12
            Date 12 March 2024 = 2024-03-12
            Date March 12, 2024 = 2024-03-12
            Date 3rd May 2021 = 2021-05-03
            Date Jan 5, 2020 = 2020-01-05
            Date March 2024 = 2024-03
            Date Q3 2024 = 2024-Q3
            Date 2024-03-12T10 = 2024-03-12
        "#]],
    );
}

#[test]
fn versions() {
    check(
        "Use v2.3, 2.3.1, v1.2.3-rc.1 and version 0.5. Not 3.14, 0.5, 10.0.0.1, 1.2.3.4:80, a-1.2.3, 1.5%.",
        expect![[r#"
            Version v2.3
            Version 2.3.1 = v2.3.1
            Version v1.2.3-rc.1
            Version 0.5 = v0.5
        "#]],
    );
}

#[test]
fn ids_and_algorithms() {
    check(
        "INC-2031, ADR-0007, CVE-2024-1234, SHA-256, AES-256-GCM. Not #123, A-1, x-INC-1 or RFC.",
        expect![[r#"
            Identifier INC-2031
            Identifier ADR-0007
            Identifier CVE-2024-1234
            Technology SHA-256
            Technology AES-256-GCM
        "#]],
    );
}

#[test]
fn identifiers_in_running_text() {
    check(
        "# The HeadingOnly\nThe rotate_keys call sets MAX_KEYS in KeyRotationJob on GitHub. Not \
        my_file, foo_bar, \
         a/some_path/x, github.com, MyClass, __x or HeadingNever().",
        expect![[r#"
            Identifier rotate_keys
            Identifier MAX_KEYS
            Identifier KeyRotationJob
            Technology GitHub
        "#]],
    );
}

#[test]
fn code_spans_that_are_one_name() {
    check(
        "Run `rotate_keys`, `KeyRotationJob`, `std::fs::read`, `Vec<String>`, `HashMap`, `job.run()`, \
        `rotate()`, \
         `println!`, `GET /v1/seals`, `http.Handler`, `Send`, `__name__`, `--watch`, \
         `cargo build`, `full-card`, `i32`, `&Vec`, the `spawn` function, `move` and `move`. Not \
         `cargo build --release`, `true`, `guess`, `-f`, `main.rs`, `x1`, `T`, `my-card`, `&x`, \
         `/etc/passwd`, `self.run()`, `PATH`, `\"text\"`.",
        expect![[r#"
            Identifier rotate_keys
            Identifier KeyRotationJob
            API std::fs::read
            Identifier Vec<String> = Vec
            Identifier HashMap
            API job.run() = job.run
            API rotate() = rotate
            API println! = println
            API GET /v1/seals
            API http.Handler
            Identifier Send
            Identifier __name__
            Identifier --watch
            API cargo build
            Identifier full-card
            API i32
            Identifier &Vec = Vec
            API spawn
            API move
            API move
        "#]],
    );
}

#[test]
fn acronyms_defined_or_repeated() {
    check(
        "A hardware security module (HSM) and the Key Management Service (KMS). The SLO is an SLO. SLI once. \
         The MTTR (mean time to repair) is low. DO NOT use HTTP or APIs; TODO.",
        expect![[r#"
            Concept hardware security module
            Concept HSM
            Service Key Management Service
            Service KMS
            Concept SLO
            Concept SLO
            Concept MTTR
            Concept mean time to repair
            Technology HTTP
        "#]],
    );
}

#[test]
fn capitalised_names() {
    check(
        "The Signing Service calls Edge Gateway. Edge Gateway is fast. Ada Moreno met the Support \
        Desk in Redwood \
         and left Redwood. Getting Started is a page. We follow the Next Steps. Using Docker Compose helps.\n\
         # All About Capital Letters",
        expect![[r#"
            Service Signing Service
            Service Edge Gateway
            Service Edge Gateway
            Concept Ada Moreno
            Organization Support Desk
            Concept Redwood
            Concept Redwood
            Concept Docker Compose
        "#]],
    );
}

#[test]
fn people_after_a_cue() {
    check(
        "**Owner**: Ada Moreno and Jonas Pikkar\nReviewed by Lena Korvan.\nAuthor: Ada\nOwner: Trust Team\n\
         Ask @lena-k, not a@b.org, @scope/pkg or @Test(x).\nTo: Bo Tern <bo@x.org>, Trust Team <t@x.org>, \
         Fay Gull <fay@x.org>",
        expect![[r#"
            Person Ada Moreno
            Person Jonas Pikkar
            Person Lena Korvan
            Person Ada
            Organization Trust Team
            Person lena-k = @lena-k
            Person Bo Tern
            Organization Trust Team
            Person Fay Gull
        "#]],
    );
}

#[test]
fn steps_of_a_procedure() {
    check(
        "# Prerequisites\nText.\n# Procedure\n1. Pause the sweep. Wait.\n2. Run `rotate_keys` now: it \
        is quick\n\
         # Consequences\n1. One thing\n2. Another thing\n# Step 3: Resume",
        expect![[r#"
            Step Prerequisites = Test Page prerequisites
            Step Pause the sweep
            Step Run rotate_keys now
            Identifier rotate_keys
            Step Resume
        "#]],
    );
}

#[test]
fn numbered_items_that_instruct_nobody_are_no_steps() {
    check(
        "# Labels\nLabels come from four places:\n1. Global labels, for every target\n2. The job label, a default\n\
         3. Labels of a group\n# Options\nYou can do one of these:\n1. Run it again\n2. Stop it",
        expect![""],
    );
}

#[test]
fn terms_of_a_glossary() {
    check(
        "# Glossary\n- **Signing key**: a private key.\n- Seal: a signature.\n## Error codes\n- Not \
        this: one\n\
         # Data\n| Term | Meaning |\n| Grace window | the hours after\n\n| Code | Text |\n| E1 | nothing",
        expect![[r#"
            Concept Signing key
            Concept Seal
            Concept Grace window
        "#]],
    );
}

#[test]
fn a_dump_of_identifiers_is_thinned() {
    let dump: String = (0..100).map(|i| format!("- `metric_number_{i}_total`\n")).collect();
    let doc = testing::doc(&format!("{dump}\nWatch `metric_number_7_total`."));
    let mut found = Vec::new();
    PatternRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut found);
    assert!(found.iter().all(|m| m.name == "metric_number_7_total"));
    assert_eq!(found.len(), 2);
}

#[test]
fn what_a_sentence_says_something_about_is_not_thinned() {
    let dump: String =
        (0..100).map(|i| format!("- Adds `metric_number_{i}_total` for you.\n")).collect();
    let doc = testing::doc(&dump);
    let mut found = Vec::new();
    PatternRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut found);
    assert_eq!(found.len(), 100);
}

#[test]
fn terms_that_a_document_introduces_or_keeps_using() {
    check(
        "The type is called a *function pointer*. Pass the function pointers on. This is *very important*. \
         Each is called a *job*; a job runs. Join the spawned thread; each spawned thread has a name. The first case of \
         the first case. We use a closure and the closures. Say `a job`.",
        expect![[r#"
            Concept function pointer
            Concept function pointers = function pointer
            Concept job
            Concept job
            Concept spawned thread
            Concept spawned thread
            Concept closure
            Concept closures = closure
        "#]],
    );
}

#[test]
fn links_to_other_sites_are_names_where_they_are_written_like_one() {
    check(
        "See [PromLens](https://a.example), [rc-zip](https://b.example), \
         [Monitoring of Batch Jobs](https://c.example), [a post](https://d.example), [Getting Started](https://e.example), [Read it.](https://f.example).",
        expect![[r#"
            Product PromLens
            Product rc-zip
            Document Monitoring of Batch Jobs
        "#]],
    );
    check(
        "1. [Settings](https://a.example)\n2. [Getting Started](https://b.example): read it first\n\n\
         - [Usage](https://c.example)",
        expect![[r#"
            Document Settings
            Document Getting Started
        "#]],
    );
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "\\PC{0,100}") {
        let doc = testing::doc(&text);
        let mut found = Vec::new();
        PatternRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut found);
        for mention in &found {
            prop_assert!(doc.text.get(mention.span.range()).is_some());
        }
    }

    #[test]
    fn any_mixture_of_forms_is_read_without_harm(
        pieces in proptest::collection::vec(
            prop::sample::select(vec!["RFC", "ISO", "/", "-", " ", ".", ":", "(", ")", "v1", "2",
            "2024", "March",
                "KMS", "Key", "Ada", "@", "_", "`", "Step 1:", "1. ", "\n", "by",
                "Owner: ", "é", "“"]), 0..40)
    ) {
        let doc = testing::doc(&pieces.concat());
        let mut found = Vec::new();
        PatternRecognizer.recognize(&doc, &testing::sentences_of(&doc), &mut found);
        for mention in &found {
            prop_assert!(doc.text.get(mention.span.range()).is_some());
        }
    }
}
