//! The syntaxes of markup, each as a table, and properties of any text.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{ADOC, Light, ORG, PLAIN, RST};
use crate::format::Format;
use crate::tests::{LIMITS, check_invariants, printed};

fn check(syntax: &'static Light, text: &str, expected: Expect) {
    let parsed = syntax.read(text, &LIMITS).expect("text is never refused");
    check_invariants(text, &parsed);
    let head = format!(
        "title {:?} author {:?} date {:?}\n",
        parsed.title, parsed.meta.author, parsed.meta.date
    );
    let lists = [&parsed.meta.aliases, &parsed.meta.ids];
    let head = match lists.iter().all(|it| it.is_empty()) {
        true => head,
        false => format!("{head}aliases, ids {lists:?}\n"),
    };
    expected.assert_eq(&(head + &printed(&parsed)));
}

#[test]
fn footnotes_of_restructured_text_are_text() {
    let text = "Marsupials [1]_ are odd.\n\n.. [1] A footnote on wombats.\n.. [Ref] A citation.\n\n.. a comment\n";
    let parsed = RST.read(text, &LIMITS).expect("read");
    assert!(parsed.text.contains("A footnote on wombats."), "{}", parsed.text);
    assert!(
        parsed.text.contains("A citation.") && !parsed.text.contains("comment"),
        "{}",
        parsed.text
    );
}

#[test]
fn restructured_text() {
    check(
        &RST,
        "======\nHarbor\n======\n\n:Author: Ada\n:Date: 2026-03-01\n\n.. _top:\n\nQuays\n-----\n\nSee `the pla\
        n <plan.html>`_ and \
         :doc:`tides`, ``code``,\n**bold** words. Run::\n\n  make all\n\n  make more\n\n* one\n* two\n  goes on\
         \n\n  1. deep\n\n\
         .. note:: Mind the gap.\n\n.. code-block:: Rust\n   :linenos:\n\n   fn main() {}\n\n.. image:: crane.pn\
         g\n   :alt: x\n\n\
         .. a comment\n   of two lines\n\n.. toctree::\n\n   a\n\nCranes\n------\n\n=====  =====\nName   Load\n=\
         ====  =====\n\
         North  9 t\n=====  =====\n\n+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+\n",
        expect![[r#"
            title None author Some("Ada") date Some("2026-03-01")
            aliases, ids [[], ["ref:top"]]
            h1 §- "Harbor"
            h2 §0 "Quays"
            p §1 "See the plan and tides, code, bold words. Run::"
            code() §1 "make all\n\nmake more"
            li0.0 §1 "one"
            li0.0 §1 "two goes on"
            li1.1/1 §1 "deep"
            p §1 "Mind the gap."
            code(rust) §1 "fn main() {}"
            h2 §0 "Cranes"
            th0 §9 "Name | Load"
            tr0 §9 "North | 9 t"
            th1 §9 "a | b"
            tr1 §9 "c | d"
            code = "code"
            bold = "bold"
            Path "plan.html" = "the plan"
            Path "tides" = "tides"
            Embed "crane.png" = ""
            Path "a" = ""
        "#]],
    );
}

#[test]
fn org_mode() {
    check(
        &ORG,
        "#+TITLE: Harbor\n#+AUTHOR: Ada\n# comment\n* TODO Quays :work:\n:PROPERTIES:\n:ID: 1\n:END:\nSee [[file\
        :plan.org][the plan]], \
         =code=, *bold*\nand [[https://x.org]].\n- one\n  - deep\n- two\n1. first\n** Cranes\n| a | b |\n|---+--\
         -|\n| c | d |\n\n\
         #+BEGIN_SRC rust\nfn main() {}\n\n#+END_SRC\n: fixed\nSCHEDULED: <2026-01-01>\nEnd. a*b*c\n",
        expect![[r#"
            title Some("Harbor") author Some("Ada") date None
            aliases, ids [[], ["id:1"]]
            h1 §- "Quays"
            p §0 "See the plan, code, bold and https://x.org."
            li0.0 §0 "one"
            li1.1 §0 "deep"
            li0.0 §0 "two"
            li2.0/1 §0 "first"
            h2 §0 "Cranes"
            th0 §6 "a | b"
            tr0 §6 "c | d"
            code(rust) §6 "fn main() {}"
            code() §6 ": fixed"
            p §6 "End. a*b*c"
            code = "code"
            bold = "bold"
            Path "plan.org" = "the plan"
            Url "https://x.org" = "https://x.org"
            tags ["work"]
        "#]],
    );
}

#[test]
fn asciidoc() {
    check(
        &ADOC,
        "= Harbor\n:author: Ada\n:toc:\n\n// comment\n== Quays\n\nSee link:plan.adoc[the plan], https://x.org/a[\
        a page],\nxref:b.adoc#p[b], \
         `code`, *bold* and <<id,here>>.\n\n* one\n** deep\n* two\n\n. first\n. second\n\nNOTE: Mind the gap.\
         \n\n.A listing\n[source,Rust]\n\
         ----\nfn main() {}\n\n----\n\n====\nAn example.\n====\n\n|===\n|a |b\n\n|c |d\n|===\n\nimage::crane.png\
         [A crane]\n",
        expect![[r#"
            title None author Some("Ada") date None
            h1 §- "Harbor"
            h2 §0 "Quays"
            p §1 "See the plan, a page, b, code, bold and here."
            li0.0 §1 "one"
            li1.1 §1 "deep"
            li0.0 §1 "two"
            li2.0/1 §1 "first"
            li2.0/2 §1 "second"
            p §1 "NOTE: Mind the gap."
            p §1 "A listing"
            code(rust) §1 "fn main() {}"
            p §1 "An example."
            th0 §1 "a | b"
            tr0 §1 "c | d"
            code = "code"
            bold = "bold"
            Path "plan.adoc" = "the plan"
            Url "https://x.org/a" = "a page"
            Path "b.adoc" # p = "b"
            Embed "crane.png" = ""
        "#]],
    );
}

#[test]
fn documents_of_a_site_refer_to_each_other() {
    check(
        &RST,
        ".. _top-of it:\n\nHandbook\n========\n\n:tags: hose, pump\n\n.. toctree::\n   :maxdepth: 2\n\n   pumps\n   \
         Valves <sub/valves>\n\nSee :ref:`hose-care`, :ref:`the hose <hose-care>`, `named`_ and |firm|, |x| y.\n\n\
         .. _named: gauges.rst\n.. |firm| replace:: Reed & Sons\n",
        expect![[r#"
            title None author None date None
            aliases, ids [[], ["ref:top-of it"]]
            h1 §- "Handbook"
            p §0 "See hose-care, the hose, named and Reed & Sons, |x| y."
            Path "pumps" = ""
            Path "sub/valves" = ""
            Path "ref:hose-care" = "hose-care"
            Path "ref:hose-care" = "the hose"
            Path "gauges.rst" = "named"
            tags ["hose", "pump"]
        "#]],
    );
    check(
        &ORG,
        ":PROPERTIES:\n:ID: 7d31\n:ROAM_ALIASES: \"Space Echo\" Copicat\n:END:\n#+title: Tape\n#+filetags: \
         :audio:studio:\n#+date: [2024-05-01 Wed]\n\nSee [[id:9a][the desk]], [[Plate Reverb]], [[reverb.org]], \
         [[file:a.org::*Wiring][a]].\n* Care :hot:\n:LOGBOOK:\nCLOCK: x\n:END:\nDry it.\n",
        expect![[r#"
            title Some("Tape") author None date Some("2024-05-01")
            aliases, ids [["Space Echo", "Copicat"], ["id:7d31"]]
            p §- "See the desk, Plate Reverb, reverb.org, a."
            h1 §- "Care"
            p §1 "Dry it."
            Path "id:9a" = "the desk"
            Wiki "Plate Reverb" = "Plate Reverb"
            Path "reverb.org" = "reverb.org"
            Path "a.org" # Wiring = "a"
            tags ["audio", "studio", "hot"]
        "#]],
    );
    check(
        &ADOC,
        "= Field guide\nMina Reed <m@x.org>\nv1.0, 2024-05-01\n:keywords: tent, stove\n:firm: Reed & Sons\n\nBy {firm} \
         and {unknown}. <<stoves.adoc#fuel,Stoves>>, <<lamps#,Lamps>>, <<own>>.\n",
        expect![[r#"
            title None author Some("Mina Reed") date Some("2024-05-01")
            h1 §- "Field guide"
            p §0 "By Reed & Sons and {unknown}. Stoves, Lamps, own."
            Path "stoves.adoc" # fuel = "Stoves"
            Path "lamps" = "Lamps"
            tags ["tent", "stove"]
        "#]],
    );
}

#[test]
fn lists_of_every_syntax_go_on_after_a_nested_one_and_begin_with_one() {
    let text = "Since\n1990. it is\n\n- a\n\n  - b\n\n  more a\n\n10. x\n\nEnd\n";
    let check_one = |syntax| {
        check(
            syntax,
            text,
            expect![[r#"
        title None author None date None
        p §- "Since 1990. it is"
        li0.0 §- "a"
        li1.1 §- "b"
        li0.0 §- "more a"
        li2.0/10 §- "x"
        p §- "End"
    "#]],
        );
    };
    [&PLAIN, &RST, &ORG].into_iter().for_each(check_one);
}

#[test]
fn code_loses_the_indentation_that_its_lines_share() {
    let code = "\ta\n\t  b\n\n      c\n";
    for (syntax, text) in [
        (&PLAIN, format!("Run:\n\n{code}")),
        (&PLAIN, format!("     - item\n\n{code}")),
        (&RST, format!("Run::\n\n{code}")),
        (&ADOC, format!("----\n{code}----\n")),
        (&ORG, format!("#+begin_example\n{code}#+end_example\n")),
    ] {
        let parsed = syntax.read(&text, &LIMITS).expect("text is never refused");
        check_invariants(&text, &parsed);
        assert!(parsed.text.ends_with("a\n  b\n\n  c"), "{text:?}: {:?}", parsed.text);
    }
}

#[test]
fn what_only_begins_like_a_mark_is_text() {
    let rows = [
        (&ADOC, ":) she said", ":) she said"),
        (&ADOC, "It runs\nNOTE: now", "It runs NOTE: now"),
        (&ADOC, "\'\'\'quoted\'\'\'", "\'\'\'quoted\'\'\'"),
        (&ORG, "#+begin_quote\nIt runs.\n#+end_quote", "It runs."),
        (&ORG, "#hash", "#hash"),
        (&ORG, ":PROPERTIES:\nIt runs.", "It runs."),
        (&ORG, ":LOGBOOK:\nIt ran.\n:END:\nIt runs.", "It runs."),
        (&RST, ".. note::\n\n   .. note:: It\n      runs.", "It runs."),
        (&RST, "2**3**4 tag``y``", "2**3**4 tagy"),
    ];
    for (syntax, text, expected) in rows {
        let parsed = syntax.read(text, &LIMITS).expect("text is never refused");
        assert_eq!(parsed.text, expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_keeps_the_invariants(lines in proptest::collection::vec(
        "(  |    |\t)?(==|=====|-----|\\.\\. |::|\\* |\\*\\* |# |#\\+BEGIN_SRC|#\\+END_SRC|\\||\\|===|:a: |:ID: |:END:|\\{a\\}|- |1\
        \\. |\\. |\
         ----|\\[\\[|`|``|\\*|=|link:x\\[|:doc:`|<<|\\+--\\+)?[ a-zé`*=\\]|>_:]{0,10}", 0..30), which in 0usize..4) {
        let text = lines.join("\n");
        let syntax = [&RST, &ORG, &ADOC, &PLAIN][which];
        let parsed = syntax.read(&text, &LIMITS).expect("text is never refused");
        check_invariants(&text, &parsed);
    }
}
