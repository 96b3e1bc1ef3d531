use super::Markdown;
use crate::format::Format;
use crate::tests::{LIMITS, check_invariants, printed};
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let parsed = Markdown.read(text, &LIMITS).expect("Markdown is never refused");
    check_invariants(text, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn headings_and_paragraphs() {
    check(
        "Title\n=====\n\nOne *line*\nand  \nmore\\\nhere.\n\n## Sub {#id} ##\n\ntext\n\n***\n\n\
         ## Sub {#id}\n",
        expect![[r#"
            h1 §- "Title"
            p §0 "One line and more here."
            h2 §0 "Sub"
            p §2 "text"
            h2 §0 "Sub"
            emphasis = "line"
        "#]],
    );
}

#[test]
fn links_and_images() {
    check(
        "[a *b*](../x%20y.md#Part) <https://x.org/q?a=1> <me@x.org> [ref] \
         ![alt](i.png \"t\") [![b](c.png)](d.md)\n\n\
         [ref]: /r.md 'R'\n[t](#here) [e]()\n",
        expect![[r#"
            p §- "a b https://x.org/q?a=1 me@x.org ref alt b"
            p §- "t e"
            emphasis = "b"
            Path "../x y.md" # Part = "a b"
            Url "https://x.org/q?a=1" = "https://x.org/q?a=1"
            Url "mailto:me@x.org" = "me@x.org"
            Path "/r.md" = "ref"
            Embed "i.png" = ""
            Embed "c.png" = ""
            Path "d.md" = "b"
        "#]],
    );
}

#[test]
fn badges_are_no_part_of_a_heading() {
    check(
        "# crc [![Build Status](b.svg)](ci.md) ![Docs](d.svg)\n\n# ![Logo](l.png)\n\n![A figure](f.png)\n",
        expect![[r#"
            h1 §- "crc"
            h1 §- "Logo"
            p §1 "A figure"
            Embed "b.svg" = ""
            Path "ci.md" = ""
            Embed "d.svg" = ""
            Embed "l.png" = ""
            Embed "f.png" = ""
        "#]],
    );
}

#[test]
fn wikilinks_and_embeds() {
    check(
        "[[Note]] [[dir/Note#Head|shown **b**]] ![[Pic.png|100]] [[#Own]] \
         [[x [y] z]] [[ [[in]] ]] [[my_old_note]] `[[code]]`\n\n\
         | a |\n|-|\n| [[T\\|x]] |\n",
        expect![[r#"
            p §- "Note shown b #Own x [y] z [[ in ]] my_old_note [[code]]"
            th0 §- "a"
            tr0 §- "x"
            bold = "b"
            code = "[[code]]"
            Wiki "Note" = "Note"
            Wiki "dir/Note" # Head = "shown b"
            Embed "Pic.png" = ""
            Wiki "x [y] z" = "x [y] z"
            Wiki "in" = "in"
            Wiki "my_old_note" = "my_old_note"
            Wiki "T" = "x"
        "#]],
    );
}

#[test]
fn lists_nest_and_are_numbered() {
    check(
        "- a\n  - b\n\n    more b\n  - c\n\n  more a\n- [x] done **now**\n\n3. x\n\
         4. y\n   1. z\n\nnot a list\n\n* other\n",
        expect![[r#"
            li0.0 §- "a"
            li1.1 §- "b"
            li1.1 §- "more b"
            li1.1 §- "c"
            li0.0 §- "more a"
            li0.0 §- "done now"
            li2.0/3 §- "x"
            li2.0/4 §- "y"
            li3.1/1 §- "z"
            p §- "not a list"
            li4.0 §- "other"
            bold = "now"
        "#]],
    );
}

#[test]
fn tables_keep_their_columns() {
    check(
        "| h `1` | |\n|---|---|\n| a\\|b | &amp; |\n| | c<br>d |\n\nafter\n",
        expect![[r#"
        th0 §- "h 1 | "
        tr0 §- "a|b | &"
        tr0 §- " | c d"
        p §- "after"
        code = "1"
    "#]],
    );
}

#[test]
fn code_is_kept() {
    check(
        "```Rust,ignore\n\n  fn main() {\n\n  }\n\n```\n\n    indented\n      more\n\n\
         > ```{.py #id}\n> x = 1\n>\n> y\n> ```\n\n- ```\n  in item\n  ```\n\n``` \n```\n\n\
         -\t\ttabs\n\nuse `` a ` b `` and ` x `\n",
        expect![[r#"
            code(rust) §- "  fn main() {\n\n  }"
            code() §- "indented\n  more"
            code(py) §- "x = 1\n\ny"
            code() §- "in item"
            code() §- "tabs"
            p §- "use a ` b and x"
            code = "a ` b"
            code = "x"
        "#]],
    );
}

#[test]
fn quotes_and_callouts() {
    check(
        "> plain\n> text\n\n> [!note] The **title**\n> body\n\n> [!tip]-\n> - item\n> > deep\n\n\
         > # head\n> [!no\n",
        expect![[r#"
            quote §- "plain text"
            quote §- "The title"
            quote §- "body"
            li0.0 §- "item"
            quote §- "deep"
            quote §- "head"
            quote §- "[!no"
            bold = "title"
        "#]],
    );
}

#[test]
fn html_shows_only_its_text() {
    check(
        "<h1 align=\"a>b\">Big <em>T</em></h1>\n<p>x &lt; y &#65;&bogus; <!-- no\n\
         no --> z<br>w</p>\n<script>\nno()\n</script>\n\n\
         in <kbd>line</kbd> <!-- no --> a<br/>b\n\n<style>\n.no {}\n\n.no {}\n</style>\n\n\
         <div>\n\n*md*\n\n</div>\n",
        expect![[r#"
            h1 §- "Big T"
            p §0 "x < y A&bogus; z w"
            p §0 "in line a b"
            p §0 "md"
            emphasis = "md"
        "#]],
    );
}

#[test]
fn comments_are_hidden() {
    check(
        "a %%no [[no]] #no%% b 100%% c\n\n%%\nno\n\n- no\n\n`no`\n%%\n\nd `%%` e\n\n%% open\n\nf\n",
        expect![[r#"
            p §- "a b 100%% c"
            p §- "d %% e"
            p §- "%% open"
            p §- "f"
            code = "%%"
        "#]],
    );
}

#[test]
fn block_ids_are_hidden_where_they_end_a_block() {
    check(
        "- owner: Bob ^o1\n- knows [[Ada]] ^o2\n  - nested ^o3\n\nA line ^not-an-end\ngoes on. ^37066d\n\n\
         2 ^ 3, x ^n and `code ^c`\n\n| a |\n|-|\n| b |\n\n^table\n",
        expect![[r#"
            li0.0 §- "owner: Bob"
            li0.0 §- "knows Ada"
            li1.1 §- "nested"
            p §- "A line ^not-an-end goes on."
            p §- "2 ^ 3, x ^n and code ^c"
            th0 §- "a"
            tr0 §- "b"
            code = "code ^c"
            Wiki "Ada" = "Ada"
        "#]],
    );
}

#[test]
fn tags_are_found_outside_code() {
    check(
        "---\ntags: [front]\n---\n# Head #one\n\n\
         #two/sub_x, (#three) `#no` C# [#no](a.md) #front &#35;no\n\n```\n#no\n```\n",
        expect![[r##"
            h1 §- "Head #one"
            p §0 "#two/sub_x, (#three) #no C# #no #front #no"
            code() §0 "#no"
            code = "#no"
            Path "a.md" = "#no"
            tags ["front", "one", "two/sub_x", "three"]
        "##]],
    );
}

#[test]
fn footnotes_strikethrough_and_math() {
    check(
        "a[^1] ~~b~~ $x_1 * y_1$ costs $5 and $6 [^none]\n\n$$\nE = m\n$$\n\n[^1]: The *note*.\n",
        expect![[r#"
            p §- "a b $x_1 * y_1$ costs $5 and $6 [^none]"
            p §- "$$ E = m $$"
            p §- "The note."
            emphasis = "note"
        "#]],
    );
}

#[test]
fn broken_frontmatter_is_a_warning() {
    check(
        "---\na: b: c\n---\n\nBody\n",
        expect![[r#"
            p §- "Body"
            warning: front matter is not YAML: line 2: mapping values are not allowed in this context
        "#]],
    );
}

#[test]
fn a_table_drawn_with_signs_nests_nothing() {
    let row = format!("{}\n{}\n", "+------".repeat(20), "| cell ".repeat(20));
    for text in [format!("```\n{row}{row}```\n\nBehind.\n"), format!("{row}{row}\nBehind.\n")] {
        let parsed = Markdown.read(&text, &LIMITS).expect("Markdown is never refused");
        check_invariants(&text, &parsed);
        assert_eq!(parsed.warnings, Vec::<String>::new());
    }
}

#[test]
fn fenced_code_nests_nothing() {
    let rule = format!("{}\n", "- ".repeat(110));
    let quoted = format!("{}a\n", ">".repeat(110));
    let columns = format!("{}+ b\n", " ".repeat(410));
    for text in [
        format!("# Title\n\n```text\n{rule}{quoted}{columns}```\n\nBehind.\n"),
        format!("~~~\r\n{rule}\r\n~~~\r\n"),
        // A lone carriage return does not end a line of code.
        format!("```\n{}\r```\r{rule}", "- ".repeat(110)),
        format!("> ```\n> {rule}> {quoted}> ```\n"),
        format!("- item\n\n  ```\n  {rule}  ```\n- ```\n  {rule}"),
    ] {
        let parsed = Markdown.read(&text, &LIMITS).expect("Markdown is never refused");
        check_invariants(&text, &parsed);
        assert_eq!(parsed.warnings, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_only_looks_like_a_fence_hides_no_nesting() {
    let deep = "- ".repeat(110);
    for text in [
        format!("```\n```\n{deep}a\n"),
        format!("<pre>\n```\n</pre>\n\n{deep}a\n"),
        format!("    ```\n{deep}a\n"),
        format!("``` a ` b\n{deep}a\n"),
        format!("> ```\n{deep}a\n"),
        format!("- ```\n{deep}a\n"),
        format!("> ```\r\n> {deep}\r\n> ```\r\n> {deep}a\n"),
    ] {
        let parsed = Markdown.read(&text, &LIMITS).expect("Markdown is never refused");
        assert_eq!(parsed.warnings.len(), 1, "{text:?}");
    }
}

#[test]
fn absurd_nesting_is_read_as_plain_text() {
    let by_markers = format!("{}a\n", "- ".repeat(110));
    let by_indentation = format!("{}- a\n", " ".repeat(410));
    for text in [by_markers, by_indentation] {
        let parsed = Markdown.read(&text, &LIMITS).expect("Markdown is never refused");
        check_invariants(&text, &parsed);
        assert_eq!(
            parsed.warnings,
            ["a line nests more than 100 lists or quotations; the document is read as plain text"]
        );
    }
}
