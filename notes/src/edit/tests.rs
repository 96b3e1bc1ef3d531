//! Edits as texts before and after; properties of edits of many texts.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns the text after an edit; checks the properties of all edits.
#[track_caller]
fn after(text: &str, op: Op) -> String {
    try_after(text, op).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn try_after(text: &str, op: Op) -> Result<String, EditError> {
    let changes = edit(text, &op)?;
    for pair in changes.windows(2) {
        assert!(pair[0].span.end <= pair[1].span.start, "{changes:?}");
    }
    Ok(apply(text, &changes))
}

/// Checks the edit, and the same with other line ends, with a byte order mark, and without a line end at the end.
#[track_caller]
fn check(text: &str, op: Op, wanted: &str) {
    assert_eq!(after(text, op.clone()), wanted);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(after(&crlf(text), op.clone()), crlf(wanted), "CRLF");
    let marked = |text: &str| format!("\u{feff}{text}");
    assert_eq!(after(&marked(text), op.clone()), marked(wanted), "BOM");
    if let (Some(text), Some(wanted)) = (text.strip_suffix('\n'), wanted.strip_suffix('\n'))
        && !text.ends_with('\n')
        && !text.is_empty()
    {
        assert_eq!(after(text, op), wanted, "no line end at the end");
    }
}

#[track_caller]
fn refused(text: &str, op: Op, wanted: &str) {
    let error = edit(text, &op).expect_err("an error");
    assert_eq!(error.to_string(), wanted);
}

fn section_op(section: &str, content: &str, make: fn(String, String) -> Op) -> Op {
    make(section.to_string(), content.to_string())
}

fn replace_section(section: &str, content: &str) -> Op {
    section_op(section, content, |section, content| Op::ReplaceSection { section, content })
}

fn append_to(section: &str, content: &str) -> Op {
    section_op(section, content, |section, content| Op::AppendToSection { section, content })
}

fn before(section: &str, content: &str) -> Op {
    section_op(section, content, |section, content| Op::InsertBefore { section, content })
}

fn below(section: &str, content: &str) -> Op {
    section_op(section, content, |section, content| Op::InsertAfter { section, content })
}

fn find(find: &str, with: &str, expected: usize) -> Op {
    Op::Replace { find: find.into(), with: with.into(), expected }
}

#[test]
fn appending_begins_a_paragraph_or_goes_on_with_a_list_or_table() {
    check("# A\n\none\n", Op::Append("two\n".into()), "# A\n\none\n\ntwo\n");
    check("one\n\n\n", Op::Append("two".into()), "one\n\ntwo\n\n\n");
    check("- one\n", Op::Append("- two\n- three".into()), "- one\n- two\n- three\n");
    check("1. one\n", Op::Append("2. two".into()), "1. one\n2. two\n");
    check("|a|\n|-|\n|1|\n", Op::Append("|2|".into()), "|a|\n|-|\n|1|\n|2|\n");
    check("---\na: b\n---\n", Op::Append("text".into()), "---\na: b\n---\n\ntext\n");
    assert_eq!(after("", Op::Append("\n\ntext\n\n".into())), "text\n");
    assert_eq!(after("\n\n", Op::Append("text".into())), "text\n\n");
    refused("x", Op::Append(" \n".into()), "the content is empty");
}

#[test]
fn prepending_stays_below_the_front_matter() {
    check("---\na: b\n---\n\n# T\n", Op::Prepend("new".into()), "---\na: b\n---\n\nnew\n\n# T\n");
    check("---\na: b\n---\n# T\n", Op::Prepend("new".into()), "---\na: b\n---\nnew\n\n# T\n");
    check("- one\n", Op::Prepend("- zero".into()), "- zero\n- one\n");
    check("---\na: [\n---\ntext\n", Op::Prepend("new".into()), "---\na: [\n---\nnew\n\ntext\n");
    check("---\na: b\n---\n", Op::Prepend("text".into()), "---\na: b\n---\n\ntext\n");
}

#[test]
fn a_section_goes_to_the_next_heading_of_its_level() {
    let text = "# T\n\n## A\n\nold\nold\n\n### A1\n\nold\n\n## B\n\nkept\n";
    check(text, replace_section("A", "new\n"), "# T\n\n## A\n\nnew\n\n## B\n\nkept\n");
    check(
        text,
        replace_section("A1", "new"),
        "# T\n\n## A\n\nold\nold\n\n### A1\n\nnew\n\n## B\n\nkept\n",
    );
    check(text, replace_section("## A", ""), "# T\n\n## A\n\n## B\n\nkept\n");
    check(
        text,
        replace_section("b", "new"),
        "# T\n\n## A\n\nold\nold\n\n### A1\n\nold\n\n## B\n\nnew\n",
    );
    check(text, replace_section("B", ""), "# T\n\n## A\n\nold\nold\n\n### A1\n\nold\n\n## B\n");
    // The number of blank lines is kept.
    check("## A\nold\n## B\n", replace_section("A", "new"), "## A\nnew\n## B\n");
    check("## A\n\n\nold\n\n\n## B\n", replace_section("A", "new"), "## A\n\n\nnew\n\n\n## B\n");
    // An empty section gets blank lines around its text.
    check("## A\n## B\n", replace_section("A", "new"), "## A\n\nnew\n\n## B\n");
    check("## A\n\n## B\n", replace_section("A", "new"), "## A\n\nnew\n\n## B\n");
    check("## A\n\n## B\n", replace_section("B", "new"), "## A\n\n## B\n\nnew\n");
    // If the new text repeats the heading, it is not added twice.
    check("## A\n\nold\n", replace_section("A", "## A\n\nnew"), "## A\n\nnew\n");
}

#[test]
fn headings_are_what_markdown_takes_for_one() {
    let text = "A\n===\n\none\n\n```\n# A\n```\n\n    # A\n\n> # A\n\nB **b**\n---\n\ntwo\n";
    check(
        text,
        append_to("B b", "new"),
        "A\n===\n\none\n\n```\n# A\n```\n\n    # A\n\n> # A\n\nB **b**\n---\n\ntwo\n\nnew\n",
    );
    check(
        text,
        before("B **b**", "new"),
        "A\n===\n\none\n\n```\n# A\n```\n\n    # A\n\n> # A\n\nnew\n\nB **b**\n---\n\ntwo\n",
    );
    check("# A #\n\none\n", below("A", "new"), "# A #\n\nnew\n\none\n");
}

#[test]
fn headings_of_one_name_are_told_apart_or_refused() {
    let text = "# T\n## A\none\n## B\n### A\ntwo\n## A\nthree\n## C#2\n";
    refused(text, append_to("A", "x"), "3 headings are called `A`, in lines 2, 5, 7");
    check(text, replace_section("A#3", "x"), "# T\n## A\none\n## B\n### A\ntwo\n## A\nx\n## C#2\n");
    check(
        text,
        replace_section("B > A", "x"),
        "# T\n## A\none\n## B\n### A\nx\n## A\nthree\n## C#2\n",
    );
    check(
        text,
        replace_section("### A", "x"),
        "# T\n## A\none\n## B\n### A\nx\n## A\nthree\n## C#2\n",
    );
    check(
        text,
        replace_section("C#2", "x"),
        "# T\n## A\none\n## B\n### A\ntwo\n## A\nthree\n## C#2\n\nx\n",
    );
    refused(text, append_to("A#4", "x"), "3 headings are called `A#4`, in lines 2, 5, 7");
    refused(
        "## Observations\n",
        append_to("Obsrvations", "x"),
        "no heading `Obsrvations`; nearest is `Observations`",
    );
    refused("text", append_to("##", "x"), "the heading is empty");
}

#[test]
fn blocks_are_added_around_and_below_headings() {
    let text = "# T\n\nintro\n\n## A\n\n- one\n\n### A1\n\nx\n\n## B\n";
    check(
        text,
        append_to("A", "- two"),
        "# T\n\nintro\n\n## A\n\n- one\n- two\n\n### A1\n\nx\n\n## B\n",
    );
    check(
        text,
        below("A", "- zero"),
        "# T\n\nintro\n\n## A\n\n- zero\n- one\n\n### A1\n\nx\n\n## B\n",
    );
    check(
        text,
        below("A", "zero"),
        "# T\n\nintro\n\n## A\n\nzero\n\n- one\n\n### A1\n\nx\n\n## B\n",
    );
    check(
        text,
        before("A", "zero"),
        "# T\n\nintro\n\nzero\n\n## A\n\n- one\n\n### A1\n\nx\n\n## B\n",
    );
    check(
        text,
        append_to("B", "- two"),
        "# T\n\nintro\n\n## A\n\n- one\n\n### A1\n\nx\n\n## B\n\n- two\n",
    );
    check("text\n# A\nmore\n", before("A", "new"), "text\n\nnew\n\n# A\nmore\n");
    check("text\n# A\nmore\n", below("A", "new"), "text\n# A\nnew\n\nmore\n");
    check("# A\n", before("A", "new"), "new\n\n# A\n");
}

#[test]
fn a_text_is_replaced_as_often_as_expected() {
    check("one two\ntwo\n", find("two", "2", 2), "one 2\n2\n");
    check("a\nb\nc\n", find("a\nb", "x\ny\nz", 1), "x\ny\nz\nc\n");
    check("a\r\nb\nc\n", find("b\nc", "x\ny", 1), "a\r\nx\ny\n");
    refused(
        "one two\ntwo\n",
        find("two", "2", 1),
        "the text occurs 2 times, in lines 1, 2; expected once",
    );
    refused("one two\n", find("two", "2", 3), "the text occurs once, in line 1; expected 3 times");
    refused("x", find("", "2", 1), "the text to find is empty");
    refused(
        "one\nThe quick brown fox\n",
        find("the quick brawn fox\njumps", "", 1),
        "the text is not there; nearest is line 2: `The quick brown fox`",
    );
    refused("one\n", find("zzz", "", 1), "the text is not there");
    // Mixed line ends: the search ignores the difference, the replacement uses those at its place.
    assert_eq!(after("a\r\nb\nc\r\n", find("a\nb\nc", "x\ny", 1)), "x\r\ny\r\n");
}

#[test]
fn an_edit_that_would_break_the_front_matter_is_refused() {
    let text = "---\ntitle: x\n---\nbody\n";
    let error = edit(text, &find("title: x", "title: [", 1)).expect_err("it would be broken");
    assert!(matches!(error, EditError::Frontmatter(_)), "{error}");
    let error = edit(text, &find("---\nbody", "body", 1)).expect_err("it would be gone");
    assert!(matches!(error, EditError::Frontmatter(_)), "{error}");
    // Front matter that is already broken may be repaired.
    check("---\na: [\n---\nb\n", find("a: [", "a: []", 1), "---\na: []\n---\nb\n");
}

#[test]
fn items_are_added_like_their_neighbors() {
    let add = |section: Option<&str>, text: &str, id: Option<&str>| Op::AddItem {
        section: section.map(str::to_string),
        text: text.into(),
        id: id.map(str::to_string),
    };
    let text = "# T\n\n## Facts\n\n* one ^o1\n  * nested\n\nend\n\n## Relations\n";
    check(
        text,
        add(Some("Facts"), "[x] two", Some("o2")),
        "# T\n\n## Facts\n\n* one ^o1\n  * nested\n* [x] two ^o2\n\nend\n\n## Relations\n",
    );
    check(
        text,
        add(Some("Relations"), "uses [[B]]", None),
        "# T\n\n## Facts\n\n* one ^o1\n  * nested\n\nend\n\n## Relations\n\n- uses [[B]]\n",
    );
    check("# T\n", add(Some("Facts"), "one", None), "# T\n\n## Facts\n\n- one\n");
    check("# T\n", add(Some("### Facts"), "one", None), "# T\n\n### Facts\n\n- one\n");
    check(
        "1) one\n2) two\n",
        add(None, "three\nlines", None),
        "1) one\n2) two\n3) three\n   lines\n",
    );
    check("> - one\n", add(None, "two", None), "> - one\n> - two\n");
    check("text\n", add(None, "one", None), "text\n\n- one\n");
    check("## A\n- one\n\n\n## B\n", add(Some("A"), "two", None), "## A\n- one\n- two\n\n\n## B\n");
    refused(
        "x",
        add(None, "one", Some("ö")),
        "`ö` cannot be a block id: it has only letters and digits of ASCII, and hyphens",
    );
    assert_eq!(next_block_id("- a ^o7\n- b ^o12\n- `^o99`\n- c ^x1\n", "o", 1), "o13");
    assert_eq!(next_block_id("text", "o", 4), "o4");
}

#[test]
fn items_are_replaced_and_removed_by_id_or_words() {
    let id = |id: &str| ItemRef::Id(id.into());
    let words = |text: &str| ItemRef::Text(text.into());
    let replace = |item: ItemRef, text: &str| Op::ReplaceItem { item, text: text.into() };
    let text = "## F\n\n- one ^o1\n- two\n  lines ^o2\n  - nested\n- [ ] task\n\nend\n";
    check(
        text,
        replace(id("o1"), "first"),
        "## F\n\n- first ^o1\n- two\n  lines ^o2\n  - nested\n- [ ] task\n\nend\n",
    );
    check(
        text,
        replace(id("^o2"), "2\n3"),
        "## F\n\n- one ^o1\n- 2\n  3 ^o2\n  - nested\n- [ ] task\n\nend\n",
    );
    check(
        text,
        replace(words("task"), "done ^t"),
        "## F\n\n- one ^o1\n- two\n  lines ^o2\n  - nested\n- [ ] done ^t\n\nend\n",
    );
    check(text, Op::RemoveItem(words("two lines")), "## F\n\n- one ^o1\n- [ ] task\n\nend\n");
    check(
        text,
        Op::RemoveItem(words("- one ^o1")),
        "## F\n\n- two\n  lines ^o2\n  - nested\n- [ ] task\n\nend\n",
    );
    check(
        text,
        Op::RemoveItem(words("nested")),
        "## F\n\n- one ^o1\n- two\n  lines ^o2\n- [ ] task\n\nend\n",
    );
    check("a\n\n- one\n\nb\n", Op::RemoveItem(words("one")), "a\n\nb\n");
    assert_eq!(after("a\n\n- one\n- two", Op::RemoveItem(words("two"))), "a\n\n- one");
    refused(text, Op::RemoveItem(id("o3")), "no list item `^o3`");
    refused("- a\n- b\n- a\n", Op::RemoveItem(words("a")), "2 list items are `a`, in lines 1, 3");
    refused("- a\n\n```\n- b\n```\n", Op::RemoveItem(words("b")), "no list item `b`");
}

#[test]
fn several_edits_are_one_after_the_other() {
    let text = "# T\n\none\n";
    let ops = [
        Op::SetKey { key: "type".into(), value: json!("note") },
        Op::Append("two".into()),
        find("two", "2", 1),
        Op::SetKey { key: "type".into(), value: json!("person") },
    ];
    let changes = edit_all(text, &ops).expect("sound");
    assert_eq!(apply(text, &changes), "---\ntype: person\n---\n\n# T\n\none\n\n2\n");
    assert_eq!(changes.len(), 2);
    let undone = [find("one", "x", 1), find("x", "one", 1)];
    assert_eq!(edit_all(text, &undone), Ok(vec![]));
    assert!(edit_all(text, &[find("one", "x", 1), find("one", "y", 1)]).is_err());
}

#[test]
fn a_new_note_is_front_matter_and_content() {
    let new = |content: &str| NewNote {
        title: "Ada: a life".into(),
        content: content.into(),
        ..NewNote::default()
    };
    let text = render_new(&new("# Ada\n\nText")).expect("sound");
    assert_eq!(text, "---\ntitle: \"Ada: a life\"\ntype: note\n---\n\n# Ada\n\nText\n");
    let full = NewNote {
        note_type: Some("person".into()),
        tags: vec!["a".into(), "#b/c".into()],
        metadata:
            json!({"born": "1815-12-10", "count": 3, "links": ["[[X]]"], "deep": {"a": null}})
                .as_object()
                .cloned()
                .expect("a map"),
        ..new("Text\n")
    };
    let wanted = "---\ntitle: \"Ada: a life\"\ntype: person\ntags:\n  - a\n  - b/c\nborn: \"1815-12-10\"\ncount: 3\nlinks:\n  - \
                  \"[[X]]\"\ndeep:\n  a:\n---\n\nText\n";
    assert_eq!(render_new(&full).as_deref(), Ok(wanted));
    // Front matter in the content is kept as written, except for the given values.
    let own = "---\n# mine\ntype: 'draft'\ntitle: other\ntags: [x]\nz: 1\n---\nText\n";
    let merged = NewNote { tags: vec!["w".into()], ..new(own) };
    let wanted =
        "---\n# mine\ntype: 'draft'\ntitle: \"Ada: a life\"\ntags: [x, w]\nz: 1\n---\nText\n";
    assert_eq!(render_new(&merged).as_deref(), Ok(wanted));
    assert!(matches!(render_new(&new("---\na: [\n---\n")), Err(EditError::Frontmatter(_))));
    assert_eq!(
        render_new(&new("")).as_deref(),
        Ok("---\ntitle: \"Ada: a life\"\ntype: note\n---\n\n")
    );
    let twice =
        NewNote { metadata: json!({"Title": "x"}).as_object().cloned().expect("a map"), ..new("") };
    assert!(render_new(&twice).is_err());
    let crlf = render_new(&new("one\r\ntwo\r\n")).expect("sound");
    assert!(!crlf.replace("\r\n", "").contains('\n'), "{crlf:?}");
}

/// Edits that every text allows, or rejects with a reason.
fn ops() -> impl Strategy<Value = Op> {
    let text = "[-#*|>a-c \\[\\]:\n]{1,12}|- item \\^o1|# A|```\nx";
    let name = "[ABab]{1,2}|A > B|A#2";
    let value = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        "[a-c#:\\[ ]{0,6}".prop_map(serde_json::Value::from),
        prop::collection::vec("[a-c#:, ]{0,4}", 0..3).prop_map(serde_json::Value::from),
        Just(json!({"a": {"b": [1, "x"]}})),
    ];
    prop_oneof![
        text.prop_map(Op::Append),
        text.prop_map(Op::Prepend),
        (name, text).prop_map(|(section, content)| Op::ReplaceSection { section, content }),
        (name, text).prop_map(|(section, content)| Op::ReplaceOwnText { section, content }),
        (name, text).prop_map(|(section, content)| Op::AppendToSection { section, content }),
        (name, text).prop_map(|(section, content)| Op::InsertBefore { section, content }),
        (name, text).prop_map(|(section, content)| Op::InsertAfter { section, content }),
        ("[ab\n]{1,2}", text).prop_map(|(find, with)| Op::Replace { find, with, expected: 1 }),
        ("title|tags|a|b", value).prop_map(|(key, value)| Op::SetKey { key, value }),
        "title|tags|a|b".prop_map(Op::RemoveKey),
        prop::collection::vec("[a-c]{1,2}", 1..3).prop_map(Op::AddTags),
        prop::collection::vec("[a-c]{1,2}", 1..3).prop_map(Op::RemoveTags),
        (prop::option::of(name), "[a-c]{1,3}").prop_map(|(section, text)| Op::AddItem {
            section,
            text,
            id: None
        }),
        ("[a-c]{1,2}", "[a-c]{1,3}")
            .prop_map(|(item, text)| Op::ReplaceItem { item: ItemRef::Text(item), text }),
        "[a-c]{1,2}".prop_map(|item| Op::RemoveItem(ItemRef::Text(item))),
    ]
}

fn texts() -> impl Strategy<Value = String> {
    let line = "(# |## |- |  - |> |\\| |```|    |title: |tags: |tags: \\[a, b\\]|a: |- a)?[a-c#:\\[\\]\"' ]{0,6}";
    let front = prop::collection::vec(
        "(title|tags|a|b|\"c\"): ?(x|'y' # z|\\[a, b\\]|\\|\n  t|\n  - a\n  - b|\n- c|\"q\")?|# c|",
        0..5,
    );
    let front =
        prop::option::of(front.prop_map(|lines| format!("---\n{}\n---\n", lines.join("\n"))));
    let body = prop::collection::vec(line, 0..10).prop_map(|lines| lines.join("\n"));
    ("\u{feff}?", front, body, any::<bool>(), any::<bool>()).prop_map(
        |(bom, front, body, is_crlf, ends)| {
            let text =
                format!("{bom}{}{body}{}", front.unwrap_or_default(), if ends { "\n" } else { "" });
            if is_crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// Checks the properties of every edit of every text.
fn sound(text: &str, op: &Op) -> Result<(), TestCaseError> {
    let Ok(changes) = edit(text, op) else { return Ok(()) };
    let after = apply(text, &changes);
    // Bytes outside the spans are kept, in order.
    let mut last = 0;
    let mut rest = after.as_str();
    for change in &changes {
        prop_assert!(last <= change.span.start && text.is_char_boundary(change.span.end));
        let kept = format!("{}{}", &text[last..change.span.start], change.replacement);
        prop_assert!(rest.starts_with(&kept));
        rest = &rest[kept.len()..];
        last = change.span.end;
    }
    prop_assert_eq!(rest, &text[last..]);
    let has_lone_newline = |text: &str| text.replace("\r\n", "").contains('\n');
    if text.contains("\r\n") && !has_lone_newline(text) {
        prop_assert!(!has_lone_newline(&after), "{:?}", after);
    }
    if !text.contains("\r\n") {
        prop_assert!(!after.contains("\r\n"), "{:?}", after);
    }
    prop_assert_eq!(text.starts_with('\u{feff}'), after.starts_with('\u{feff}'));
    let is_of_front_matter =
        matches!(op, Op::SetKey { .. } | Op::RemoveKey(_) | Op::AddTags(_) | Op::RemoveTags(_));
    if is_of_front_matter {
        let body = |text: &str| text[front::body_start(text)..].to_string();
        prop_assert!(body(&after).ends_with(&body(text)), "{:?}", after);
        prop_assert_eq!(edit(&after, op), Ok(vec![]), "done twice");
    } else if front::find(text).is_ok_and(|front| front.is_some())
        && !matches!(op, Op::Replace { .. })
    {
        let map = |text: &str| front::find(text).ok().flatten().map(|front| front.map);
        prop_assert_eq!(map(text), map(&after));
    }
    if let Op::Append(_) | Op::AddItem { .. } = op
        && !text.trim_start_matches('\u{feff}').is_empty()
    {
        prop_assert_eq!(text.ends_with('\n'), after.ends_with('\n'));
    }
    if let Op::SetKey { key, value } = op {
        let front = front::find(&after).expect("it can be read").expect("it is there");
        prop_assert_eq!(front.map.get(&front.name_of(key)), Some(value));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_edit_changes_its_own_bytes_only(text in texts(), op in ops()) {
        sound(&text, &op)?;
    }

    #[test]
    fn edits_in_a_row_are_edits_at_once(text in texts(), list in prop::collection::vec(ops(), 0..4)) {
        let one_by_one = list.iter().try_fold(text.clone(), |now, op| try_after(&now, op.clone()));
        let at_once = edit_all(&text, &list).map(|changes| apply(&text, &changes));
        prop_assert_eq!(one_by_one, at_once);
    }

    #[test]
    fn arbitrary_bytes_never_panic(text in "\\PC{0,40}|[-#:\\[\\]{}'\"|>&*!?,a\n\t ]{0,60}", op in ops()) {
        sound(&text, &op)?;
        sound(&format!("---\n{text}\n---\n{text}"), &op)?;
    }
}

/// Markdown files below a folder.
fn notes_below(folder: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            notes_below(&path, out);
        } else if path.components().all(|part| part.as_os_str() != "vault_nolinks")
            && path.extension().is_some_and(|it| it == "md")
        {
            out.push(path);
        }
    }
}

/// Every edit that fits a note, on every note of the corpus, and of the vaults if they are there.
#[test]
fn edits_of_real_notes_change_their_own_bytes_only() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut paths = vec![];
    notes_below(&workspace.join("corpus"), &mut paths);
    assert!(paths.len() > 20, "{}", paths.len());
    let data = std::env::var_os("KG_DATA").map_or(workspace.join("../shared/data"), Into::into);
    for vault in ["vault_foam", "vault_obsidian_tasks", "docs_prometheus", "docs_rustbook"] {
        let n = paths.len();
        notes_below(&data.join(vault), &mut paths);
        if paths.len() == n {
            eprintln!(
                "skipped: no notes in {}; `KG_DATA` names where test data lies",
                data.join(vault).display()
            );
        }
    }
    let mut n_refused = 0;
    for (n, path) in paths.iter().enumerate() {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let mut ops = vec![
            Op::Append("appended".into()),
            Op::Prepend("prepended".into()),
            Op::SetKey { key: "kg_test".into(), value: json!({"a": [1, "x: y"]}) },
            Op::SetKey { key: "title".into(), value: json!("A: title") },
            Op::AddTags(vec!["kg/test".into()]),
            Op::AddItem {
                section: Some("Kg test".into()),
                text: "item".into(),
                id: Some("o1".into()),
            },
        ];
        for (i, section) in headings::sections(&text)
            .iter()
            .enumerate()
            .filter(|(_, it)| !it.name().is_empty())
            .take(3)
        {
            let name = section_name(&text, section, i);
            ops.push(replace_section(&name, "new"));
            ops.push(append_to(&name, "- new"));
            ops.push(below(&name, "new"));
            ops.push(before(&name, "new"));
        }
        let note = crate::parse::parse(&text);
        let keys =
            note.frontmatter.iter().flat_map(|front| front.keys.iter().map(|key| key.name.clone()));
        for key in keys {
            ops.push(Op::SetKey { key: key.clone(), value: json!("a # b") });
            ops.push(Op::SetKey { key: key.clone(), value: json!(["a", 2]) });
            ops.push(Op::RemoveKey(key));
        }
        ops.extend(note.tags.iter().map(|tag| Op::RemoveTags(vec![tag.clone()])));
        for item in note.items.iter().take(3) {
            let words = text[item.content.clone()].trim().to_string();
            ops.push(Op::RemoveItem(ItemRef::Text(words.clone())));
            ops.push(Op::ReplaceItem { item: ItemRef::Text(words), text: "new".into() });
        }
        let links = note
            .links
            .iter()
            .map(|it| Retarget { span: it.target_span.clone(), target: "New".into() });
        ops.push(Op::Retarget(links.collect()));
        for op in &ops {
            sound(&text, op).unwrap_or_else(|error| panic!("{}: {op:?}: {error}", path.display()));
            match edit(&text, op) {
                Ok(_)
                | Err(
                    EditError::AmbiguousItem { .. } | EditError::NoItem(_) | EditError::Empty(_),
                ) => {}
                // Attacks on parsers are not read, so not edited either.
                Err(_) if path.components().any(|part| part.as_os_str() == "hostile") => {}
                Err(error) => {
                    n_refused += 1;
                    eprintln!("{}: {op:?}: {error}", path.display());
                }
            }
        }
        let crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
        for op in ops.iter().filter(|op| n % 3 == 0 && !matches!(op, Op::Retarget(_))) {
            sound(&crlf, op)
                .unwrap_or_else(|error| panic!("CRLF {}: {op:?}: {error}", path.display()));
        }
    }
    eprintln!("{} notes, {n_refused} edits refused", paths.len());
    assert!(n_refused * 50 <= paths.len(), "{n_refused} edits refused");
}

/// Returns a name of a heading that no other heading has.
fn section_name(text: &str, section: &headings::Section, i: usize) -> String {
    let name = section.name();
    let nth = headings::sections(text).iter().take(i + 1).filter(|it| it.name() == name).count();
    match headings::section(text, name) {
        Ok(found) if found.head == section.head => name.to_string(),
        _ => format!("{name}#{nth}"),
    }
}
