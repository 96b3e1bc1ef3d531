use super::TextBuilder;
use crate::format::{Format, FormatLimits};
use crate::markdown::Markdown;
use crate::target::Target;
use crate::tests::{LIMITS, check_invariants, printed};
use expect_test::{Expect, expect};
use model::document::{InlineKind, Parsed};

/// Builds over a source of words; `word` gives the range of one.
fn check(source: &str, build: impl Fn(&mut TextBuilder<'_>), expected: Expect) {
    let mut builder = TextBuilder::new(source, &LIMITS);
    build(&mut builder);
    let parsed = builder.finish();
    check_invariants(source, &parsed);
    expected.assert_eq(&printed(&parsed));
}

#[test]
fn white_space_is_one_space_inside_and_none_at_the_ends() {
    check(
        "  a \t\n b  ",
        |b| b.flow(0..10),
        expect![[r#"
        p §- "a b"
    "#]],
    );
}

#[test]
fn marks_hug_their_text_and_stay_in_their_block() {
    check(
        "one two three",
        |b| {
            b.begin_inline(InlineKind::Bold);
            b.flow(0..4);
            b.begin_link(Target::of_address("x.md"));
            b.flow(4..8);
            b.end_block();
            b.flow(8..13);
            b.end_mark();
            b.end_mark();
        },
        expect![[r#"
            p §- "one two"
            p §- "three"
            bold = "one two"
            bold = "three"
            Path "x.md" = "two"
        "#]],
    );
}

#[test]
fn an_item_that_a_nested_list_parts_is_numbered_once() {
    check(
        "a b c d",
        |b| {
            b.begin_list(Some(3));
            b.begin_item();
            b.flow(0..1);
            b.begin_list(None);
            b.begin_item();
            b.flow(2..3);
            b.end_item();
            b.end_list();
            b.flow(4..5);
            b.end_item();
            b.begin_item();
            b.flow(6..7);
            b.end_item();
            b.end_list();
        },
        expect![[r#"
            li0.0/3 §- "a"
            li1.1 §- "b"
            li0.0 §- "c"
            li0.0/4 §- "d"
        "#]],
    );
}

#[test]
fn blocks_inside_a_row_are_text_of_the_row() {
    check(
        "a b c d",
        |b| {
            b.begin_table();
            b.begin_row(true);
            b.begin_cell();
            b.begin_cell();
            b.begin_text();
            b.flow(0..1);
            b.end_block();
            b.begin_table();
            b.begin_row(false);
            b.begin_cell();
            b.flow(2..3);
            b.end_row();
            b.end_table();
            b.flow(4..5);
            b.begin_cell();
            b.end_row();
            b.begin_row(false);
            b.begin_cell();
            b.end_row();
            b.begin_row(false);
            b.begin_cell();
            b.flow(6..7);
            b.end_row();
            b.end_table();
        },
        expect![[r#"
            th0 §- " | a b c | "
            tr0 §- "d"
        "#]],
    );
}

#[test]
fn sections_follow_heading_levels() {
    check(
        "a b c d e f",
        |b| {
            for (place, level) in [(0, 2), (2, 3), (6, 3), (8, 1)] {
                b.begin_heading(level);
                b.flow(place..place + 1);
                b.end_block();
                if place == 2 {
                    b.flow(4..5);
                    b.end_block();
                }
            }
            b.flow(10..11);
        },
        expect![[r#"
            h2 §- "a"
            h3 §0 "b"
            p §1 "c"
            h3 §0 "d"
            h1 §- "e"
            p §4 "f"
        "#]],
    );
}

#[test]
fn replaced_text_maps_to_all_of_its_source() {
    let mut builder = TextBuilder::new("a &amp;b &xy;", &LIMITS);
    builder.flow(0..2);
    builder.replaced("&", 2..7);
    builder.flow(7..9);
    builder.replaced("wxyz", 9..13);
    let parsed = builder.finish();
    assert_eq!(parsed.text, "a &b wxyz");
    assert_eq!(parsed.map.source_range(2, 3), 2..7);
    // The lengths are equal, but the text is not, so no place inside it may count as verbatim.
    assert_eq!(parsed.map.source_range(6, 7), 9..13);
}

#[test]
fn texts_read_by_themselves_are_appended_one_after_the_other() {
    let source = "# A\n\n- b *c* [d](d.md)\n\n| e |\n|---|\n| f |\n\n![](g.png)\n";
    let read = || Markdown.read(source, &LIMITS).expect("Markdown is never refused");
    check(
        source,
        |b| {
            b.begin_heading(1);
            b.flow(2..3);
            b.append(read(), 2);
            b.end_sections();
            b.append(Parsed { warnings: vec!["w".to_string(); 2], ..read() }, 6);
            b.flow(2..3);
            b.append(Parsed::default(), 0);
        },
        expect![[r#"
            h1 §- "A"
            h3 §0 "A"
            li0.0 §1 "b c d"
            th0 §1 "e"
            tr0 §1 "f"
            h6 §- "A"
            li1.0 §5 "b c d"
            th1 §5 "e"
            tr1 §5 "f"
            p §5 "A"
            emphasis = "c"
            emphasis = "c"
            Path "d.md" = "d"
            Embed "g.png" = ""
            Path "d.md" = "d"
            Embed "g.png" = ""
            warning: w
        "#]],
    );
}

#[test]
fn blocks_of_an_appended_text_that_do_not_fit_are_left_out() {
    let source = "one *two*\n\nthree [four](4.md)\n";
    let limits = FormatLimits { max_output_bytes: 24, ..LIMITS };
    let mut builder = TextBuilder::new(source, &limits);
    for _ in 0..3 {
        builder.append(Markdown.read(source, &limits).expect("Markdown is never refused"), 0);
    }
    builder.flow(0..3);
    let parsed = builder.finish();
    check_invariants(source, &parsed);
    expect![[r#"
        p §- "one two"
        p §- "three four"
        emphasis = "two"
        Path "4.md" = "four"
        warning: text cut at 24 bytes; the rest of the document is not indexed
    "#]]
    .assert_eq(&printed(&parsed));
}
