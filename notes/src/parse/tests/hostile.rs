//! Hostile and arbitrary input: nothing panics, spans are valid, time is linear.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::parse::{Note, parse};

/// Returns every span of a note, with its kind.
fn spans(note: &Note) -> Vec<(&'static str, Range<usize>)> {
    let mut out = Vec::new();
    let mut add = |what: &'static str, span: &Range<usize>| out.push((what, span.clone()));
    note.headings.iter().for_each(|it| add("heading", &it.place.span));
    note.headings.iter().for_each(|it| add("section", &it.section));
    note.blocks.iter().for_each(|it| add("block", &it.place.span));
    note.items.iter().for_each(|it| add("item", &it.place.span));
    note.items.iter().for_each(|it| add("content", &it.content));
    note.observations.iter().for_each(|it| add("observation", &it.place.span));
    note.links.iter().for_each(|it| add("link", &it.place.span));
    note.links.iter().for_each(|it| add("target", &it.target_span));
    note.relations.iter().for_each(|it| add("relation", &it.place.span));
    note.fields.iter().for_each(|it| add("field", &it.place.span));
    note.fields.iter().for_each(|it| add("value", &it.value_span));
    note.inline_tags.iter().for_each(|it| add("tag", &it.place.span));
    note.block_ids.iter().for_each(|it| add("id", &it.place.span));
    note.block_ids.iter().for_each(|it| add("named", &it.block));
    note.footnotes.iter().for_each(|it| add("footnote", &it.place.span));
    note.callouts.iter().for_each(|it| add("callout", &it.place.span));
    note.verbatim.iter().for_each(|it| add("verbatim", it));
    out
}

fn is_sound(text: &str) -> Result<(), String> {
    let note = parse(text);
    for (what, span) in spans(&note) {
        if text.get(span.clone()).is_none() {
            return Err(format!("{what} {span:?} of {text:?}"));
        }
    }
    let parted = note.verbatim.windows(2).all(|pair| pair[0].end <= pair[1].start);
    let in_order =
        note.links.windows(2).all(|pair| pair[0].place.span.start <= pair[1].place.span.start);
    let at = |line: usize| text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
    let lines = note.links.iter().all(|it| {
        let start = at(it.place.line);
        start <= it.place.span.start && !text[start..it.place.span.start].contains('\n')
    });
    let ids = note.block_ids.iter().all(|it| text[it.place.span.clone()] == format!("^{}", it.id));
    let tags =
        note.inline_tags.iter().all(|it| text[it.place.span.clone()] == format!("#{}", it.name));
    match (parted, in_order, lines, ids && tags) {
        (true, true, true, true) => Ok(()),
        found => Err(format!("{found:?} of {text:?}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn arbitrary_notes_are_read_with_sound_spans(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("[["), Just("]]"), Just("["), Just("]"), Just("![["), Just("|"), Just("#"), Just("^a1"), Just("("),
                Just(")"), Just("](x.md)"), Just("- "), Just("  "), Just("\n"), Just("\r\n"), Just("\n\n"), Just("> "),
                Just("[!n] "), Just("::"), Just(" "), Just("`"), Just("```\n"), Just("%%"), Just("$"), Just("é"),
                Just("a"), Just("B c"), Just("[^1]: "), Just("[r]: /x\n"), Just("[r]"), Just("# "), Just("---\n"),
                Just("\\"), Just("*"), Just("| a |\n|--|\n| "), Just("<b>"), Just("1. "), Just("[x] "), Just("\t"),
                Just("\u{feff}"), Just("k: v\n"), Just("{#i}"),
            ],
            0..40,
        )
    ) {
        let text = pieces.concat();
        let sound = is_sound(&text);
        prop_assert_eq!(sound, Ok(()));
    }
}

#[test]
fn hostile_notes_cost_linear_time() {
    let n = 300_000;
    let texts = [
        "[".repeat(n),
        "[[".repeat(n),
        format!("{}{}", "[".repeat(n), "]".repeat(n)),
        "[[a]]".repeat(n / 5),
        "(k:: ".repeat(n / 5),
        "k:: [[a]]\n".repeat(n / 10),
        "a:: ".repeat(n / 4),
        "*".repeat(n / 2) + &" a:: ".repeat(n / 10),
        format!("---\n{}---\n", (0..n / 50).map(|i| format!("k{i}: [[a]]\n")).collect::<String>()),
        "- ![[a]] x:: y [b](c) ".repeat(n / 22),
        "[k:: ".repeat(n / 5),
        "- [a".repeat(n / 4),
        "%% ".repeat(n / 3),
        "%%\n\n".repeat(n / 4),
        "> ".repeat(n),
        "- ".repeat(n),
        "x ^a ".repeat(n / 5),
        "x ^a\n\n".repeat(n / 6),
        "#a ".repeat(n / 3),
        "![](".repeat(n / 4),
        "[^a]".repeat(n / 4),
        "- [n] a (".repeat(n / 9) + &")".repeat(n / 9),
        "# a\n".repeat(n / 4),
        "`a` ".repeat(n / 4),
        "- [n] x\n".repeat(n / 8),
        "- t [[a]] [[b]]\n".repeat(n / 16),
        "- t ".to_string() + &"[[a]], ".repeat(n / 7),
        "a\n".repeat(n / 2),
        format!("- [n] {}", "#a b\n  ".repeat(n / 7)),
        "| a ".repeat(n / 4) + "\n" + &"|-".repeat(n / 4) + "\n" + &"| b ".repeat(n / 4),
    ];
    for text in texts {
        let started = Instant::now();
        let sound = if text.len() > 1_000 { parse(&text).verbatim.len() } else { 0 };
        let took = started.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?} {sound} {:.20}", text);
    }
}

/// Every Markdown file below a folder.
fn texts_below(folder: &Path, out: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts_below(&path, out);
        } else if path.extension().is_some_and(|it| it == "md")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            out.push((path, text));
        }
    }
}

#[test]
fn every_note_of_the_corpus_and_the_vaults_is_read_with_sound_spans() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    texts_below(&root.join("corpus"), &mut texts);
    assert!(texts.len() > 20, "{}", texts.len());
    let vaults = root.join("../shared/data");
    for vault in ["vault_foam/vault", "vault_obsidian_tasks/vault"] {
        let n = texts.len();
        texts_below(&vaults.join(vault), &mut texts);
        if texts.len() == n {
            eprintln!("skipped: no `{vault}` in `{}`", vaults.display());
        }
    }
    for (path, text) in texts {
        let crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
        for text in [&text, &crlf] {
            let sound = is_sound(text);
            assert_eq!(sound, Ok(()), "{}", path.display());
        }
        let (one, other) = (parse(&text), parse(&crlf));
        let parts_of = |note: &Note| {
            let targets: Vec<_> = note.links.iter().map(|it| it.target.clone()).collect();
            let facts: Vec<_> = note.observations.iter().map(|it| it.content.clone()).collect();
            (targets, facts, note.relations.len(), note.headings.len(), note.tags.clone())
        };
        assert_eq!(parts_of(&one), parts_of(&other), "{}: line ends", path.display());
    }
}
