//! Links before and after.

use super::*;
use crate::edit::{Op, apply, edit};
use crate::parse::parse;

#[track_caller]
fn check(text: &str, at: (&str, &str), from: &str, to: &str, is_unique: bool, wanted: &str) {
    let note = parse(text);
    let moved = Move { from, to, is_unique };
    let name = from.rsplit('/').next().unwrap_or(from).trim_end_matches(".md");
    let leads_there = |link: &Link| {
        let target = link.target.trim_start_matches('/').trim_end_matches(".md");
        target == name || target == from.trim_end_matches(".md")
    };
    let links = retarget(text, &note, at, moved, leads_there);
    let changes = edit(text, &Op::Retarget(links)).expect("sound");
    assert_eq!(apply(text, &changes), wanted);
}

#[test]
fn links_keep_their_manner() {
    let at = ("docs/index.md", "docs/index.md");
    let text = "---\nup: \"[[Old]]\"\n---\n[[Old]] ![[Old#Part^b1|shown]] [[old.md]] [[docs/Old]] [[/docs/Old.md#A]] [[./Old]]\n\
                [a](Old.md) [b](<Old.md#part> \"t\") [c](./Old.md) [d](/docs/Old.md) [e](../docs/Old.md?x=1)\n\
                [[The Title]] [[Other]] [x](other.md) `[[Old]]` [r][ref]\n\n[ref]: Old.md#part 'T'\n";
    let wanted = "---\nup: \"[[My New]]\"\n---\n[[My New]] ![[My New#Part^b1|shown]] [[old.md]] [[sub/My New]] [[/sub/My \
                  New.md#A]] [[../sub/My New]]\n\
                  [a](../sub/My%20New.md) [b](<../sub/My New.md#part> \"t\") [c](../sub/My%20New.md) [d](/sub/My%20New.md) \
                  [e](../sub/My%20New.md?x=1)\n\
                  [[The Title]] [[Other]] [x](other.md) `[[Old]]` [r][ref]\n\n[ref]: ../sub/My%20New.md#part 'T'\n";
    check(text, at, "docs/Old.md", "sub/My New.md", true, wanted);
}

#[test]
fn a_name_that_is_not_the_only_one_becomes_a_path() {
    let at = ("index.md", "index.md");
    check("[[Old]] [[Old|x]]\n", at, "Old.md", "a/New.md", false, "[[a/New]] [[a/New|x]]\n");
    // Only moved: the name still resolves to it.
    check("[[Old]]\n", at, "Old.md", "a/Old.md", true, "[[Old]]\n");
    check("[[Old]]\n", at, "Old.md", "a/Old.md", false, "[[a/Old]]\n");
}

#[test]
fn a_note_that_moves_takes_its_own_links_along() {
    let text = "[x](img/a.png) [y](../top.md) [z](/top.md) [[./near]] [self](old.md#a) [w](https://a.b) [[far]] [h](#here)\n";
    let wanted = "[x](../a/img/a.png) [y](../top.md) [z](/top.md) [[../a/near]] [self](new.md#a) [w](https://a.b) [[far]] [h](#here)\n";
    check(text, ("a/old.md", "b/new.md"), "a/old.md", "b/new.md", true, wanted);
}

#[test]
fn a_link_whose_name_another_file_takes_leads_on_by_path() {
    let text = "[[uniq]] ![[Uniq.md#A^b|it]] [u](uniq.md?x#a) [v](<uniq>) [[./uniq]] [w](/uniq.md) [[far]]\n";
    let wanted = "[[my dir/uniq]] ![[my dir/uniq.md#A^b|it]] [u](../my%20dir/uniq.md?x#a) [v](<../my dir/uniq>) \
                  [[./uniq]] [w](/uniq.md) [[far]]\n";
    let leads_to = |link: &Link| {
        let is_taken = link.target.to_lowercase().contains("uniq");
        is_taken.then(|| "my dir/uniq.md".to_string())
    };
    let links = by_path(text, &parse(text), "x/src.md", leads_to);
    let changes = edit(text, &Op::Retarget(links)).expect("sound");
    assert_eq!(apply(text, &changes), wanted);
}

#[test]
fn what_is_no_link_is_not_touched() {
    let span = |start, end| Op::Retarget(vec![Retarget { span: start..end, target: "x".into() }]);
    assert!(edit("text", &span(2, 9)).is_err());
    let bad = Op::Retarget(vec![Retarget { span: 2..3, target: "a#b".into() }]);
    assert!(edit("[[a]]", &bad).is_err());
}
