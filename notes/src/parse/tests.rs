//! Tests of parsing: the cases of S0 §13.1 and S3 by their own names, then notes as people write them.

use expect_test::{Expect, expect};

use super::{LinkKind, Note, RelationKind, parse};
use crate::slug::path_slug;

mod hostile;

/// Returns everything that a note states, one item per line.
fn describe(text: &str) -> String {
    let note = parse(text);
    let mut out = String::new();
    let mut line = |what: &str, line: usize, words: String| {
        out += format!("{line} {what} {}", words).trim_end();
        out += "\n";
    };
    let or_none = |it: &Option<String>| it.clone().unwrap_or_default();
    for it in &note.headings {
        let id = it.id.as_ref().map_or(String::new(), |id| format!("#{id} "));
        let section = text[it.section.clone()].escape_debug().to_string();
        line("heading", it.place.line, format!("{} {:?} {id}{section}", it.level, it.text));
    }
    for it in &note.observations {
        let id = it.block_id.as_ref().map_or(String::new(), |id| format!(" ^{id}"));
        let context = it.context.as_ref().map_or(String::new(), |it| format!(" ({it})"));
        let words = format!("[{}] {:?} {:?}{context}{id}", it.category, it.content, it.tags);
        line("observation", it.place.line, words);
    }
    for it in &note.relations {
        let link = &note.links[it.link];
        let id = it.block_id.as_ref().map_or(String::new(), |id| format!(" ^{id}"));
        let context = it.context.as_ref().map_or(String::new(), |it| format!(" ({it})"));
        let kind = if it.kind == RelationKind::Typed { "relation" } else { "implicit" };
        line(kind, it.place.line, format!("{} {:?}{context}{id}", it.relation_type, link.target));
    }
    for it in &note.links {
        let parts = [("#", &it.heading), ("^", &it.block), ("|", &it.display)];
        let parts =
            parts.iter().filter_map(|(sign, part)| Some(format!(" {sign}{}", part.as_ref()?)));
        let written = &text[it.target_span.clone()];
        let words = format!("{:?}{} <{written}>", it.target, parts.collect::<String>());
        line(&format!("{:?}", it.kind).to_lowercase(), it.place.line, words);
    }
    for it in &note.fields {
        line(
            if it.is_inline { "inline" } else { "field" },
            it.place.line,
            format!("{}={:?}", it.key, it.value),
        );
    }
    for it in &note.inline_tags {
        line("tag", it.place.line, it.name.clone());
    }
    for it in &note.block_ids {
        line("block", it.place.line, format!("{} {:?}", it.id, &text[it.block.clone()]));
    }
    for it in &note.footnotes {
        line("footnote", it.place.line, it.label.clone());
    }
    for it in &note.callouts {
        line(
            "callout",
            it.place.line,
            format!("{} {:?} {:?}", it.kind, or_none(&it.title), it.fold),
        );
    }
    for it in note.items.iter().filter(|it| it.task.is_some()) {
        line(
            "task",
            it.place.line,
            format!("{:?} {}", it.task.unwrap_or_default(), &text[it.content.clone()]),
        );
    }
    out
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&describe(text));
}

fn observations(text: &str) -> Vec<(String, String)> {
    parse(text).observations.into_iter().map(|it| (it.category, it.content)).collect()
}

/// Type and target of each relation, the target as S0 §3.4 has it: `entity-name` for `Entity Name`.
fn relations(text: &str) -> Vec<(String, String)> {
    let note: Note = parse(text);
    let of =
        |it: &super::Relation| (it.relation_type.clone(), path_slug(&note.links[it.link].target));
    note.relations.iter().map(of).collect()
}

fn pair(a: &str, b: &str) -> Vec<(String, String)> {
    vec![(a.to_string(), b.to_string())]
}

#[test]
fn missing_title_uses_filename() {
    assert_eq!(parse("---\ntype: note\n---\nBody").title_or("my-note"), "my-note");
    assert_eq!(parse("---\ntitle: 42\n---\nBody").title_or("my-note"), "42");
    assert_eq!(parse("").title_or("my-note"), "my-note");
}

#[test]
fn extract_observations_with_categories() {
    let found = observations("- [definition] AI is intelligence exhibited by machines");
    assert_eq!(found, pair("definition", "AI is intelligence exhibited by machines"));
}

#[test]
fn extract_observation_tags() {
    let note = parse("- [technique] Gradient descent #ml #optimization");
    assert_eq!(note.observations[0].tags, ["ml", "optimization"]);
    assert_eq!(note.observations[0].content, "Gradient descent");
}

#[test]
fn extract_observation_context() {
    let note = parse("- [fact] Water boils at 100°C (at sea level)");
    assert_eq!(note.observations[0].context.as_deref(), Some("at sea level"));
    assert_eq!(note.observations[0].content, "Water boils at 100°C");
}

#[test]
fn exclude_checkboxes_from_observations() {
    let note = parse("- [x] Completed task\n- [ ] Pending task\n- [-] Gone\n- [?] Open\n- [b] Any");
    assert_eq!(note.observations, []);
    let boxes: Vec<char> = note.items.iter().filter_map(|it| it.task).collect();
    assert_eq!(boxes, ['x', ' ', '-', '?', 'b']);
}

#[test]
fn exclude_markdown_links_from_observations() {
    assert_eq!(observations("- [click here](https://example.com)"), []);
}

#[test]
fn exclude_wiki_links_from_observations() {
    assert_eq!(observations("- [[wiki-link]] and more\n- [[a|b]]"), []);
}

#[test]
fn extract_explicit_relation() {
    assert_eq!(
        relations("- implements [[Machine Learning]]"),
        pair("implements", "machine-learning")
    );
}

#[test]
fn extract_implicit_link_relation() {
    let found = relations("This relates to [[Statistics]] in many ways");
    assert_eq!(found, pair("links_to", "statistics"));
}

#[test]
fn handle_nested_wiki_links() {
    let text = "- uses [[React [[Hooks]]]]";
    assert_eq!(relations(text), pair("uses", "react-hooks"));
    assert_eq!(parse(text).links[0].target, "React [[Hooks]]");
}

/// S3: `[[target|display text]]` or `[[target#heading^block|display]]`.
#[test]
fn wikilink_parsing() {
    check(
        "[[target]] [[target|display text]] [[target#heading]] [[target#heading^block|display]] [[target#^block]] \
         [[#here]] [[a/b.md#A#B]] ![[image.png|300]] ![[note#part]]",
        expect![[r#"
            1 implicit links_to "target"
            1 implicit links_to "target"
            1 implicit links_to "target"
            1 implicit links_to "target"
            1 implicit links_to "target"
            1 implicit links_to "a/b.md"
            1 wiki "target" <target>
            1 wiki "target" |display text <target>
            1 wiki "target" #heading <target#heading>
            1 wiki "target" #heading ^block |display <target#heading^block>
            1 wiki "target" ^block <target#^block>
            1 wiki "" #here <#here>
            1 wiki "a/b.md" #A#B <a/b.md#A#B>
            1 embed "image.png" |300 <image.png>
            1 embed "note" #part <note#part>
        "#]],
    );
}

/// S3: `#tag`, `#tag/subtag`, but not in code blocks.
#[test]
fn tag_extraction() {
    check(
        "---\ntags: [one]\n---\n#two and #three/sub `#code` x#y #1\n\n```\n#no\n```\n\n    #no\n\n[[a#b|#c]] <b id=\"#d\"> \
         %% #e %% $#f$ \\#g",
        expect![[r#"
            12 implicit links_to "a"
            12 wiki "a" #b |#c <a#b>
            4 tag two
            4 tag three/sub
        "#]],
    );
    assert_eq!(parse("---\ntags: [one]\n---\n#two #one #two").tags, ["one", "two"]);
}

/// S3: aliases come from the front matter, not from the text of a link.
#[test]
fn alias_extraction() {
    assert_eq!(
        parse("---\naliases: [MCP, Model Context Protocol]\n---\n[[a|b]]").aliases,
        ["MCP", "Model Context Protocol"]
    );
    assert_eq!(parse("---\nalias: One\n---\n").aliases, ["One"]);
}

/// The complete file of S0 §3.1.
#[test]
fn the_example_of_the_format_is_read_in_full() {
    check(
        "---\ntitle: Machine Learning Basics\ntype: concept\ntags:\n  - ai\n  - fundamentals\ncreated: 2025-01-15T10:30:00\n\
         custom_field: any_value\n---\n\n# Machine Learning Basics\n\nFree-form markdown content goes here. You can include \
         [[wiki-links]]\nto reference other entities.\n\n## Observations\n\n- [definition] Machine learning is a subset of AI \
         that learns from data\n- [technique] Supervised learning uses labeled training data #ml #supervised\n- [limitation] \
         Requires large datasets for good performance (especially deep learning)\n\n## Relations\n\n- implements [[Artificial \
         Intelligence]]\n- requires [[Training Data]] (for model fitting)\n- related_to [[Statistics]] (shared mathematical \
         foundations)\n",
        expect![[r#"
            11 heading 1 "Machine Learning Basics" # Machine Learning Basics\n\nFree-form markdown content goes here. You can include [[wiki-links]]\nto reference other entities.\n\n## Observations\n\n- [definition] Machine learning is a subset of AI that learns from data\n- [technique] Supervised learning uses labeled training data #ml #supervised\n- [limitation] Requires large datasets for good performance (especially deep learning)\n\n## Relations\n\n- implements [[Artificial Intelligence]]\n- requires [[Training Data]] (for model fitting)\n- related_to [[Statistics]] (shared mathematical foundations)\n
            16 heading 2 "Observations" ## Observations\n\n- [definition] Machine learning is a subset of AI that learns from data\n- [technique] Supervised learning uses labeled training data #ml #supervised\n- [limitation] Requires large datasets for good performance (especially deep learning)\n\n
            22 heading 2 "Relations" ## Relations\n\n- implements [[Artificial Intelligence]]\n- requires [[Training Data]] (for model fitting)\n- related_to [[Statistics]] (shared mathematical foundations)\n
            18 observation [definition] "Machine learning is a subset of AI that learns from data" []
            19 observation [technique] "Supervised learning uses labeled training data" ["ml", "supervised"]
            20 observation [limitation] "Requires large datasets for good performance" [] (especially deep learning)
            13 implicit links_to "wiki-links"
            24 relation implements "Artificial Intelligence"
            25 relation requires "Training Data" (for model fitting)
            26 relation related_to "Statistics" (shared mathematical foundations)
            13 wiki "wiki-links" <wiki-links>
            24 wiki "Artificial Intelligence" <Artificial Intelligence>
            25 wiki "Training Data" <Training Data>
            26 wiki "Statistics" <Statistics>
            19 tag ml
            19 tag supervised
        "#]],
    );
}

#[test]
fn an_observation_looks_like_one() {
    check(
        "* [Ada Lovelace] said so\n- [Ada] One word may be any\n- [open question] small words\n- [2024-05-01] a date\n\
         - [a very long thing here] four words\n- [42] number\n- [note]: no blank\n- [note]no blank\n- [note]\n- [note] \n\
         - [!note] callout\n- [^1] footnote\n- [ref][r] link\n- [r] link by reference\n- `[code]` x\n- [f(x)] call\n\
         1. [step] of a numbered list\n- text [note] inside\n- [#a] tag\n- \\[note] escaped\n\n[r]: https://x.org\n[^1]: x\n",
        expect![[r#"
            2 observation [Ada] "One word may be any" []
            3 observation [open question] "small words" []
            23 footnote 1
        "#]],
    );
}

#[test]
fn a_name_a_key_or_a_reference_in_brackets_states_nothing() {
    check(
        "- [Smith2020] A paper\n- [sic] is used here\n- [see docs] for more\n\
         - [Ctrl+C] copies\n- [Tip] write it down\n- [TODO] mend it\n- [Method] Depth first\n",
        expect![[r#"
            5 observation [Tip] "write it down" []
            7 observation [Method] "Depth first" []
        "#]],
    );
    for mark in [
        "US",
        "EN",
        "en",
        "int",
        "string",
        "options",
        "Note",
        "NOTE",
        "Important",
        "optional",
        "Required",
        "Monday",
        "monday",
        "Tue",
        "Jan",
        "May",
        "WARN",
        "TODO",
        "ii",
        "IV",
    ] {
        assert_eq!(observations(&format!("- [{mark}] Wrote The Thing")), [], "{mark}");
    }
    // These are categories of facts, although they are short, lowercase or calls for attention.
    for category in [
        "note",
        "important",
        "IT",
        "qa",
        "US law".to_lowercase().as_str(),
        "type",
        "todo",
        "Todo",
        "warning",
        "may",
        "sun",
        "requirement",
        "DECISION",
        "Ada",
        "Bob",
        "Architecture",
    ] {
        let found = observations(&format!("- [{category}] Wrote The Thing"));
        assert_eq!(found, pair(category, "Wrote The Thing"), "{category}");
    }
}

#[test]
fn who_speaks_in_a_file_is_no_category() {
    let categories = |text: &str| -> Vec<String> {
        observations(text).into_iter().map(|(category, _)| category).collect()
    };
    for (text, expected) in [
        // A dialogue: somebody speaks again.
        ("- [Ann] We ship.\n- [Ben] Why?\n- [Ann] It is done.\n", &[][..]),
        ("- [Ann] We ship. #now\n- [Ben] Why?\n- [Ann] It is done.\n", &["Ann", "Ben", "Ann"]),
        (
            "- [Storage] Files\n- [Search] Words\n- [Network] None\n",
            &["Storage", "Search", "Network"],
        ),
        ("- [Decision] A\n- [Action] B\n- [Decision] C\n", &["Decision", "Action", "Decision"]),
        ("- [tech] A\n- [design] B\n- [tech] C\n", &["tech", "design", "tech"]),
        // The file's roll.
        (
            "## Present\n\n- Ann Lee (@ann)\n\n## Notes\n\n- [Ann] We ship.\n- [Design] Small\n",
            &["Design"],
        ),
        ("Attendees: Ann, Ben Lee\n\n- [Ben] We ship.\n- [Cleo] No.\n", &["Cleo"]),
        ("- [Ann] We ship.\n", &["Ann"]),
    ] {
        assert_eq!(categories(text), expected, "{text}");
    }
}

#[test]
fn what_heads_a_line_relates_nothing_and_a_quoted_type_does() {
    check(
        "- Example: [[A]]\n- Next: [[B]]\n- next: [[C]]\n- \"works with\" [[D]]\n- “Built on”: [[E]]\n- \"quoted [[F]]\n\n\
         Example: [[G]]\n",
        expect![[r#"
            1 implicit links_to "A"
            2 implicit links_to "B"
            3 relation next "C"
            4 relation works with "D"
            5 relation Built on "E"
            6 implicit links_to "F"
            8 implicit links_to "G"
            1 wiki "A" <A>
            2 wiki "B" <B>
            3 wiki "C" <C>
            4 wiki "D" <D>
            5 wiki "E" <E>
            6 wiki "F" <F>
            8 wiki "G" <G>
        "#]],
    );
}

#[test]
fn a_preposition_or_a_number_relates_nothing() {
    check(
        "- by [[A]]\n- Chapter 1 [[B]]\n- inspired by [[C]]\n- see [[D]]\n- see also [[E]]\n",
        expect![[r#"
            1 implicit links_to "A"
            2 implicit links_to "B"
            3 relation inspired by "C"
            4 relation see "D"
            5 relation see also "E"
            1 wiki "A" <A>
            2 wiki "B" <B>
            3 wiki "C" <C>
            4 wiki "D" <D>
            5 wiki "E" <E>
        "#]],
    );
}

#[test]
fn a_chapter_a_verdict_and_a_negation_relate_nothing() {
    for text in
        ["Chapter 1:", "v2", "not", "Good:", "Lesson 3:", "Tuesday:", "Version v2:", "Worst:"]
    {
        let found = relations(&format!("- {text} [[a]]"));
        assert_eq!(found, pair("links_to", "a"), "{text}");
    }
    for text in ["not related to", "good", "good for:", "lesson:", "May replace:"] {
        let found = relations(&format!("- {text} [[a]]"));
        assert_eq!(found, pair(text.trim_end_matches(':'), "a"), "{text}");
    }
}

#[test]
fn an_observation_is_taken_apart() {
    check(
        "- [idea] Use #rust for `#this` and more #b/c (see [[Note]] (today)) ^o1\n- [fact] Call foo() (x)\n\
         - [fact] Call foo()\n- [fact] (all of it)\n- [fact] two\n  lines #t (here)\n  - [nested] one\n\n    text\n\
         > - [quoted] one\n>   goes on\n",
        expect![[r#"
            1 observation [idea] "Use for `#this` and more" ["rust", "b/c"] (see [[Note]] (today)) ^o1
            2 observation [fact] "Call foo()" [] (x)
            3 observation [fact] "Call foo()" []
            4 observation [fact] "(all of it)" []
            5 observation [fact] "two lines" ["t"] (here)
            7 observation [nested] "one" []
            10 observation [quoted] "one goes on" []
            1 implicit links_to "Note"
            1 wiki "Note" <Note>
            1 tag rust
            1 tag b/c
            6 tag t
            1 block o1 "- [idea] Use #rust for `#this` and more #b/c (see [[Note]] (today))"
        "#]],
    );
}

#[test]
fn a_typed_relation_is_nothing_but_type_and_targets() {
    check(
        "- **part of**: [[A]], [[B#x|b]] and [[C]] (why) ^r1\n- see [[D]] for more\n- [[E]]\n- four words are many [[F]]\n\
         - up:: [[G]]\n- ![[H]]\n- [ ] call [[I]]\n1. open [[J]]\n- calls [[K]] and then [[K]]\n- has [L](l.md)\n- (see) [[M]]\n\
         - type [[N]] (a) (b)\n- Create [[Q]]\n- the [[R]]\n- Depends on [[S]]\n- Useful reading: [[T]]\n- above: [[#U]]\n\nrelates:: [[O]]\n\nfollows [[P]]\n",
        expect![[r#"
            1 relation part of "A" (why) ^r1
            1 relation part of "B" (why) ^r1
            1 relation part of "C" (why) ^r1
            2 implicit links_to "D"
            3 implicit links_to "E"
            4 implicit links_to "F"
            5 relation up "G"
            7 implicit links_to "I"
            8 implicit links_to "J"
            9 implicit links_to "K"
            9 implicit links_to "K"
            10 implicit links_to "l.md"
            11 implicit links_to "M"
            12 implicit links_to "N"
            13 implicit links_to "Q"
            14 implicit links_to "R"
            15 relation Depends on "S"
            16 relation Useful reading "T"
            19 relation relates "O"
            21 implicit links_to "P"
            1 wiki "A" <A>
            1 wiki "B" #x |b <B#x>
            1 wiki "C" <C>
            2 wiki "D" <D>
            3 wiki "E" <E>
            4 wiki "F" <F>
            5 wiki "G" <G>
            6 embed "H" <H>
            7 wiki "I" <I>
            8 wiki "J" <J>
            9 wiki "K" <K>
            9 wiki "K" <K>
            10 markdown "l.md" |L <l.md>
            11 wiki "M" <M>
            12 wiki "N" <N>
            13 wiki "Q" <Q>
            14 wiki "R" <R>
            15 wiki "S" <S>
            16 wiki "T" <T>
            17 wiki "" #U <#U>
            19 wiki "O" <O>
            21 wiki "P" <P>
            5 field up="[[G]]"
            19 field relates="[[O]]"
            1 block r1 "- **part of**: [[A]], [[B#x|b]] and [[C]] (why)"
            7 task ' ' call [[I]]
        "#]],
    );
}

#[test]
fn the_context_of_a_relation_may_hold_parentheses_and_links() {
    check(
        "- requires [[A b]] (ctx with (nested) parens)\n- likes [[Foo]], [[Baz]] (because [[Bar]])\n- has [[C (d)]]\n\
         - is [[E]] (a) b)\n- is [[F (g]] h)\n- is [[I]] ()\n\nowner:: [[J]] (since (early) [[K]])\n",
        expect![[r#"
            1 relation requires "A b" (ctx with (nested) parens)
            2 relation likes "Foo" (because [[Bar]])
            2 relation likes "Baz" (because [[Bar]])
            2 implicit links_to "Bar"
            3 relation has "C (d)"
            4 implicit links_to "E"
            5 implicit links_to "F (g"
            6 implicit links_to "I"
            8 relation owner "J" (since (early) [[K]])
            8 implicit links_to "K"
            1 wiki "A b" <A b>
            2 wiki "Foo" <Foo>
            2 wiki "Baz" <Baz>
            2 wiki "Bar" <Bar>
            3 wiki "C (d)" <C (d)>
            4 wiki "E" <E>
            5 wiki "F (g" <F (g>
            6 wiki "I" <I>
            8 wiki "J" <J>
            8 wiki "K" <K>
            8 field owner="[[J]] (since (early) [[K]])"
        "#]],
    );
}

#[test]
fn an_item_of_a_numbered_list_relates_where_it_is_no_step() {
    for text in ["requires", "depends on", "part_of", "see:", "owner"] {
        let found = relations(&format!("1. {text} [[a]]"));
        assert_eq!(found, pair(text.trim_end_matches(':'), "a"), "{text}");
    }
    for text in ["open", "read", "Chapter 1:", "Install"] {
        assert_eq!(relations(&format!("2. {text} [[a]]")), pair("links_to", "a"), "{text}");
    }
    assert_eq!(observations("1. [fact] one"), []);
}

#[test]
fn links_of_every_kind_are_found() {
    check(
        "[a](x.md) [b](../b%20c.md#H%20h \"T\") [c][ref] [ref] ![i](i.png) <https://x.org> [w](https://x.org) [m](mailto:a@b.c)\n\
         [h](#here) [t [n]](<a b.md>) [p](a(1).md) [![in](in.png)](out.md) \\[[no]] `[[code]]` [[`c`]] [[a|b `c`]]\n\
         <!-- [[html]] --> %% [[comment]] %%\n\n| a | b |\n|---|---|\n| [[x\\|y]] | ![[z]] |\n\n<div>\n[[raw]]\n</div>\n\n%%\n\n\
         [[hidden]]\n\n%%\n[[end]] [[ ]] [[two\nlines]]\n\n[ref]: ref.md 'title'\n",
        expect![[r#"
            1 implicit links_to "x.md"
            1 implicit links_to "../b c.md"
            1 implicit links_to "ref.md"
            1 implicit links_to "ref.md"
            2 implicit links_to "a b.md"
            2 implicit links_to "a(1).md"
            2 implicit links_to "out.md"
            2 implicit links_to "a"
            7 implicit links_to "x"
            18 implicit links_to "end"
            1 markdown "x.md" |a <x.md>
            1 markdown "../b c.md" #H h |b <../b%20c.md#H%20h>
            1 markdown "ref.md" |c <ref.md>
            1 markdown "ref.md" |ref <ref.md>
            1 image "i.png" |i <i.png>
            2 markdown "" #here |h <#here>
            2 markdown "a b.md" |t [n] <a b.md>
            2 markdown "a(1).md" |p <a(1).md>
            2 markdown "out.md" |![in](in.png) <out.md>
            2 image "in.png" |in <in.png>
            2 wiki "a" |b `c` <a>
            7 wiki "x" |y <x>
            7 embed "z" <z>
            18 wiki "end" <end>
        "#]],
    );
}

#[test]
fn links_in_properties_are_relations_of_their_key() {
    check(
        "---\nup: \"[[Index]]\"\nrelated:\n  - \"[[A|a]]\"\n  - '[[B#h]]'\ntitle: \"[[C]]\"\nmatrix: [[1, 2]]\n# [[D]]\n---\n",
        expect![[r#"
            2 relation up "Index"
            4 relation related "A"
            5 relation related "B"
            6 implicit links_to "C"
            2 property "Index" <Index>
            4 property "A" |a <A>
            5 property "B" #h <B#h>
            6 property "C" <C>
        "#]],
    );
}

#[test]
fn sections_end_at_the_next_heading_of_their_level() {
    check(
        "# A\na\n## B *b* `c` {#bee}\nb\n\nSet\next\n---\n> # Q\n\n```\n# no\n```\n# C #\r\nc\r\n",
        expect![[r#"
            1 heading 1 "A" # A\na\n## B *b* `c` {#bee}\nb\n\nSet\next\n---\n> # Q\n\n```\n# no\n```\n
            3 heading 2 "B b c" #bee ## B *b* `c` {#bee}\nb\n\n
            6 heading 2 "Set ext" Set\next\n---\n> # Q\n\n```\n# no\n```\n
            9 heading 1 "Q" # Q\n\n```\n# no\n```\n
            14 heading 1 "C" # C #\r\nc\r\n
        "#]],
    );
}

#[test]
fn block_ids_name_what_they_stand_behind() {
    check(
        "Text\nof two lines. ^p1\n\n- item ^i1\n  - nested ^i2\n- other\n\n^list\n\n| a |\n|---|\n| b |\n^tab\n\n> quote\n\n^q\n\n\
         x^2 and `y ^no`\n\nlast line\n^p2\n",
        expect![[r#"
            2 block p1 "Text\nof two lines."
            4 block i1 "- item"
            5 block i2 "- nested"
            8 block list "- item ^i1\n  - nested ^i2\n- other"
            13 block tab "| a |\n|---|\n| b |"
            17 block q "> quote"
            22 block p2 "last line"
        "#]],
    );
}

#[test]
fn calls_of_a_sites_template_are_addresses() {
    let text =
        "See [a]({% page \"/b/\" %}#d) and [e]({{< relref 'f.md' >}}).\n\n    [g]({% x %})\n";
    let mut code = String::new();
    let note = super::Head::of(text).parse(|event, _| {
        if let pulldown_cmark::Event::Text(it) = event {
            code = it.to_string();
        }
    });
    let links: Vec<_> = note.links.iter().map(|it| (&*it.target, it.heading.as_deref())).collect();
    assert_eq!(links, [("/b/", Some("d")), ("f.md", None)]);
    assert_eq!(code, "[g]({% x %})\n");
}

#[test]
fn callouts_footnotes_and_fields_are_found() {
    check(
        "> [!Warning]- Mind **this**\n> text [k:: v]\n> > [!tip]\n\n> plain\n\nstatus:: done\nA [^1] (due:: 2024).\n\n[^1]: Note \
         [[F]].\n\n- rating:: 5\n- std::fmt\n",
        expect![[r#"
            10 implicit links_to "F"
            10 wiki "F" <F>
            2 inline k="v"
            7 field status="done"
            8 inline due="2024"
            12 field rating="5"
            10 footnote 1
            1 callout warning "Mind **this**" Some('-')
            3 callout tip "" None
        "#]],
    );
}

#[test]
fn ordinary_prose_states_nothing() {
    for text in [
        "* [ENHANCEMENT](https://x.org) y\n* See [[1]] for more.\n",
        "- `[a-z]` matches\n- [a-z] matches\n- [0, 1) interval\n- [sic]\n- [Tom Wilkie, CEO] spoke\n- [...] gap\n",
    ] {
        let note = parse(text);
        let facts: Vec<_> = note.observations.iter().map(|it| &it.content).collect();
        assert!(facts.is_empty(), "{facts:?}");
        assert!(note.relations.iter().all(|it| it.kind == RelationKind::Implicit));
    }
}

#[test]
fn embeds_are_links_and_no_relations() {
    let note = parse("![[a]] ![x](b.png)");
    assert_eq!(
        note.links.iter().map(|it| it.kind).collect::<Vec<_>>(),
        [LinkKind::Embed, LinkKind::Image]
    );
    assert_eq!(note.relations, []);
}
