use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const FOLDER: Scope = Scope { in_folder: true, used: 0 };

fn ada() -> String {
    let new = NewEntity {
        name: "Ada Lovelace".into(),
        entity_type: "person".into(),
        observations: vec!["Wrote the first program".into(), "Lives in London".into()],
        summary: Some("A mathematician.".into()),
        tags: vec!["history".into()],
    };
    render_entity(&new).expect("a note")
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(text: &str, changes: &[Change], expected: Expect) -> String {
    let after = apply(text, changes);
    expected.assert_eq(&after);
    after
}

#[test]
fn a_life_of_an_entity() {
    let text = ada();
    let (changes, added) =
        add_facts(&text, FOLDER, &texts(&["Likes poetry", "Lives in London"])).expect("added");
    assert_eq!(added.added, [Numbered { ordinal: 3, content: "Likes poetry".into() }]);
    assert_eq!(added.existing, [Numbered { ordinal: 2, content: "Lives in London".into() }]);
    let text = apply(&text, &changes);
    let change = add_relation(&text, FOLDER, "works_with", "Charles Babbage").expect("stated");
    let text = apply(&text, &change);
    let change = add_relation(&text, FOLDER, "is a very good friend of", "Mary").expect("stated");
    let text = apply(&text, &change);
    let (change, old) =
        replace_fact(&text, FOLDER, 1, "Wrote programs\nand notes").expect("replaced");
    assert_eq!(old, "Wrote the first program");
    let text = check(
        &text,
        &change,
        expect![[r#"
            ---
            title: Ada Lovelace
            type: person
            tags:
              - history
            summary: A mathematician.
            ---

            # Ada Lovelace

            - Wrote programs
              and notes ^o1
            - Lives in London ^o2
            - Likes poetry ^o3

            - works_with [[Charles Babbage]]
            - related_to [[Mary]] (type: is a very good friend of)
        "#]],
    );
    let (change, Removed { missing, .. }) =
        remove_facts(&text, FOLDER, &[1, 3, 8]).expect("removed");
    assert_eq!(missing, [8]);
    let text = check(
        &text,
        &change,
        expect![[r#"
            ---
            title: Ada Lovelace
            type: person
            tags:
              - history
            summary: A mathematician.
            last_ordinal: 3
            ---

            # Ada Lovelace

            - Lives in London ^o2

            - works_with [[Charles Babbage]]
            - related_to [[Mary]] (type: is a very good friend of)
        "#]],
    );
    let (change, added) = add_facts(&text, FOLDER, &texts(&["New"])).expect("added");
    assert_eq!(added.added[0].ordinal, 4);
    let text = apply(&text, &change);
    let node = read(&text);
    let change = retype_relation(&text, FOLDER, &node.relations[1].link, "knows").expect("retyped");
    let text = apply(&text, &change);
    let change =
        retype_relation(&text, FOLDER, &read(&text).relations[0].link, "Is not quite the same as")
            .expect("retyped");
    let text = apply(&text, &change);
    assert!(text.ends_with(
        "- Lives in London ^o2\n- New ^o4\n\n- related_to [[Charles Babbage]] (type: Is not quite the same as)\n- knows [[Mary]]\n"
    ), "{text}");
    let links: Vec<_> = read(&text).relations.iter().map(|it| it.link.clone()).collect();
    let text = apply(&text, &remove_relations(&text, &links).expect("removed"));
    assert!(text.ends_with("- New ^o4\n\n"), "{text:?}");
}

#[test]
fn what_a_person_wrote_stays_but_for_the_lines_concerned() {
    let text = "# Ada\r\n\r\nShe is *here*.\r\n\r\n* by hand\r\n* twice ^o3\r\n* twice ^o3\r\n* linked ^mine\r\n\r\n## Later\r\n\r\n1. more\r\n";
    let scope = Scope { in_folder: true, used: 5 };
    let (changes, added) = add_facts(text, scope, &texts(&["new"])).expect("added");
    assert_eq!(added.added[0].ordinal, 10);
    let after = apply(text, &changes);
    assert_eq!(
        after,
        "# Ada\r\n\r\nShe is *here*.\r\n\r\n* by hand ^o6\r\n* twice ^o3\r\n* twice ^o7\r\n* linked ^o8 ^mine\r\n\r\n## Later\r\n\r\n1. more ^o9\r\n2. new ^o10\r\n"
    );
    // A fact that is there already causes no change.
    assert_eq!(add_facts(text, scope, &texts(&["by hand"])).expect("there").0, []);
}

#[test]
fn a_relation_of_several_targets_loses_one_of_them() {
    let text = "- knows [[A]], [[B]] and [[C]] (well)\n- x ^o1\n";
    let link = |text: &str, target: &str| {
        let node = read(text);
        node.relations.iter().find(|it| it.target == target).expect("there").link.clone()
    };
    let without = |targets: &[&str]| {
        let links: Vec<_> = targets.iter().map(|it| link(text, it)).collect();
        apply(text, &remove_relations(text, &links).expect("removed"))
    };
    assert_eq!(without(&["A"]), "- knows [[B]] and [[C]] (well)\n- x ^o1\n");
    assert_eq!(without(&["B"]), "- knows [[A]] and [[C]] (well)\n- x ^o1\n");
    assert_eq!(without(&["A", "C"]), "- knows [[B]] (well)\n- x ^o1\n");
    assert_eq!(without(&["A", "B", "C"]), "- x ^o1\n");
    let after =
        apply(text, &retype_relation(text, FOLDER, &link(text, "B"), "likes").expect("retyped"));
    assert_eq!(after, "- knows [[A]] and [[C]] (well)\n- likes [[B]]\n- x ^o1\n");
    let field = "knows:: [[A]]\n";
    let error = remove_relations(field, &[link(field, "A")]).expect_err("no item");
    assert!(error.to_string().contains("line 1"), "{error}");
}

#[test]
fn facts_of_notes_elsewhere_are_those_that_say_so() {
    let text = "# Plan\n\n- buy milk\n- [decision] use SQLite\n";
    let scope = Scope::default();
    assert_eq!(facts_of(text, scope).len(), 1);
    let (changes, _) = add_facts(text, scope, &texts(&["new"])).expect("added");
    assert_eq!(
        apply(text, &changes),
        "# Plan\n\n- buy milk\n- [decision] use SQLite ^o1\n- new ^o2\n"
    );
}

#[test]
fn ordinary_texts_are_written_as_they_are() {
    for text in [
        "use `cargo build` and **never** --release",
        "see [[Ada]] and https://x.org/a_b?c=1",
        "[decision] use SQLite #db (for now)",
        "two\nlines",
        "100 % of C++",
    ] {
        assert_eq!(form(text), text);
    }
    for (text, written) in [
        ("[x] done", "\\[x\\] done"),
        ("knows [[Ada]]", "knows \\[\\[Ada\\]\\]"),
        ("ends ^o7", "ends \\^o7"),
        ("# head", "\\# head"),
        ("[note] x", "\\[note\\] x"),
        ("a\n\nb", "a&#10;&#10;b"),
        ("- x", "[note] - x"),
        ("> x", "[note] > x"),
        ("1. is a number", "[note] 1. is a number"),
    ] {
        assert_eq!(form(text), written);
    }
}

fn anything() -> impl Strategy<Value = String> {
    r"[ -~]{0,40}|\PC{0,20}|[\x00-\x7f]{0,20}|[\[\]()#^&;:%`*_\\ \na1o!<>$~-]{0,24}"
        .prop_filter("facts say something", |it| !it.trim().is_empty())
}

proptest! {
    #[test]
    fn what_was_added_is_what_is_read(
        first in prop::collection::vec(anything(), 0..4),
        more in prop::collection::vec(anything(), 1..4),
        with in anything(),
        relation_type in r"[a-z_]{1,8}|[ -~]{1,20}|\PC{1,12}",
    ) {
        let new = NewEntity { name: "X".into(), entity_type: "t".into(), observations: first.clone(), ..NewEntity::default() };
        let text = render_entity(&new).expect("a note");
        let mut wanted: Vec<String> = Vec::new();
        for it in &first {
            if !wanted.contains(it) { wanted.push(it.clone()); }
        }
        let read_all = |text: &str| -> Vec<String> {
            facts_of(text, FOLDER).into_iter().map(|it| it.content).collect()
        };
        prop_assert_eq!(&read_all(&text), &wanted, "{}", text);
        let change = add_relation(&text, FOLDER,&relation_type, "Some name").expect("stated");
        let text = apply(&text, &change);
        let (changes, added) = add_facts(&text, FOLDER, &more).expect("added");
        let text = apply(&text, &changes);
        wanted.extend(added.added.iter().map(|it| it.content.clone()));
        prop_assert_eq!(&read_all(&text), &wanted, "{}", text);
        prop_assert_eq!(&read(&text).relations[0].relation_type, &relation_type);
        let (changes, old) = replace_fact(&text, FOLDER, 1, &with).expect("replaced");
        let text = apply(&text, &changes);
        prop_assert_eq!(&old, &wanted[0]);
        wanted[0] = with;
        prop_assert_eq!(&read_all(&text), &wanted, "{}", text);
        let (changes, Removed { missing, .. }) =
            remove_facts(&text, FOLDER, &[1]).expect("removed");
        prop_assert!(missing.is_empty());
        let text = apply(&text, &changes);
        prop_assert_eq!(&read_all(&text)[..], &wanted[1..], "{}", text);
    }

    /// Whatever a note contains, an added fact is read back, and all others are unchanged.
    #[test]
    fn any_note_takes_a_fact(
        text in r"([-*+] [ -~]{0,20}\n|1\. x\n|# [a-z]{1,4}\n|\n|  - y\n|- k [[b]]\n|- z \^o[0-9]\n|\PC{0,10}\n|```\n|  |> q\n){0,12}",
        content in anything(),
        in_folder in any::<bool>(),
    ) {
        let scope = Scope { in_folder, used: 3 };
        let before = facts_of(&text, scope);
        if let Ok((changes, added)) = add_facts(&text, scope, std::slice::from_ref(&content)) {
            let after = facts_of(&apply(&text, &changes), scope);
            let mut wanted = before;
            wanted.extend(added.added);
            let mut read = after;
            wanted.sort_by_key(|it| it.ordinal);
            read.sort_by_key(|it| it.ordinal);
            prop_assert_eq!(read, wanted);
        }
    }
}
