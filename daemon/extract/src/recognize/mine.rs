//! Mine: which terms of a document may enter the gazetteer, and which terms of all documents do.
//!
//! In (`terms_of`): a document. Out: one `MinedTerm` a norm, ordered by norm: whole titles,
//! headings, bold and code spans of few words; the inner n-grams of titles and headings;
//! capitalized runs of running text; terms that the document introduces. A phrase it only repeats
//! (`total number`) is a term of that document at most.
//! In (`select`): counts over all documents. Out: the terms that enter, best first, in a total
//! order.
//! Invariants: reads only the text, never links or mentions, so mining cannot feed on its own
//! results; ordinary single words, numbers, versions, paths, URLs and commands with flags are not
//! terms; both functions are pure and ignore the order of their input.

mod collect;
pub mod select;

pub use select::{TermCount, select};

use super::token::{Shape, View, Words, words_in};
use super::{lexicon, runs, words};
use collect::Terms;
use model::document::{BlockKind, Document, InlineKind, MinedTerm};
use model::terms::{Norm, Span};

/// Weight of a title or heading.
const HEADING_WEIGHT: u8 = 3;
/// Weight of bold text and code spans.
const MARKED_WEIGHT: u8 = 2;
/// Weight of a term that the document defines. One definition makes it known in all documents.
pub(crate) const DEFINED_WEIGHT: u8 = 4;
/// Weight of a capitalized run in running text.
const PLAIN_WEIGHT: u8 = 1;

/// Longer headings, in words, are sentences: only their capitalized runs are taken.
const MAX_HEADING_WORDS: usize = 12;

/// Returns the candidate terms of one document, each of at most `max_words` words.
pub(super) fn terms_of(
    doc: &Document,
    sentences: &[Span<Norm>],
    max_words: usize,
) -> Vec<MinedTerm> {
    let words = Words::of(doc, sentences);
    let title = words_in(&doc.title);
    let mut terms = Terms::new(max_words);
    let view = View { text: &doc.title, words: &title };
    terms.add_phrase(&doc.title, HEADING_WEIGHT);
    n_grams(view, max_words, &mut terms);
    for (block_idx, block) in doc.blocks.iter().enumerate() {
        let view = words.of_block(block_idx);
        match block.kind {
            BlockKind::Heading(_) => n_grams(view, max_words, &mut terms),
            BlockKind::Code { .. } | BlockKind::TableRow { is_header: true, .. } => {}
            _ => capitalised(view, max_words, &mut terms),
        }
    }
    for inline in &doc.inlines {
        let marked = inline.span.of(&doc.text);
        match inline.kind {
            InlineKind::Bold => terms.add_phrase(marked, MARKED_WEIGHT),
            InlineKind::Code => terms.add_code(marked, MARKED_WEIGHT),
            InlineKind::Emphasis => {}
        }
    }
    for defined in super::pattern::defined_terms(doc) {
        terms.add_defined(defined.of(&doc.text), DEFINED_WEIGHT);
    }
    for introduced in super::pattern::introduced(doc) {
        terms.add_defined(super::pattern::singular(introduced.of(&doc.text)), DEFINED_WEIGHT);
    }
    terms.finish()
}

/// Adds the n-grams of a heading that have a non-ordinary word, or end in the kind of a name, and
/// no function word at either end. Except for the whole heading, a lowercase n-gram weighs as
/// running text, and so does one whose only capital starts the heading.
fn n_grams<'a>(view: View<'a>, max_words: usize, terms: &mut Terms<'a>) {
    if view.words.len() > MAX_HEADING_WORDS {
        return capitalised(view, max_words, terms);
    }
    for from in 0..view.words.len() {
        if words::is_function_word(view.word(from)) {
            continue;
        }
        let mut is_own = false;
        for to in from..(from + max_words).min(view.words.len()) {
            let is_joined = to == from
                || matches!(view.gap(to - 1), Some(" " | "-" | "_"))
                    && !view.shape(to).has(Shape::PARTED);
            if !is_joined || matches!(view.word(to), "and" | "or") {
                break;
            }
            is_own |= !words::is_ordinary(view.word(to))
                && view.shape(to).has(Shape::UPPER.or(Shape::LOWER));
            let is_known_kind = to > from
                && lexicon::is_suffix(view.word(to))
                && view.shape(to).has(Shape::CAPITAL);
            if (is_own || is_known_kind)
                && !words::is_function_word(view.word(to))
                && !view.is_glued(from, to)
            {
                let is_whole = to + 1 - from == view.words.len();
                let has_capital = (from.max(1)..=to).any(|i| view.shape(i).has(Shape::UPPER));
                let weight = if is_whole || has_capital { HEADING_WEIGHT } else { PLAIN_WEIGHT };
                terms.add(view.run(from, to), weight);
            }
        }
    }
}

/// Adds the capitalized runs of running text. A run that begins a sentence is only recorded: it
/// needs another place.
fn capitalised<'a>(view: View<'a>, max_words: usize, terms: &mut Terms<'a>) {
    let mut i = 0;
    while i < view.words.len() {
        let (run, next) = runs::run_at(view, i);
        i = next;
        let Some(run) = run.filter(|run| run.n_words() <= max_words) else { continue };
        let surface = view.run(run.from, run.to);
        let is_known_kind = run.n_words() > 1 && lexicon::is_suffix(view.word(run.to));
        if view.is_glued(run.from, run.to) || (words::all_ordinary(surface) && !is_known_kind) {
            continue;
        }
        if run.is_first {
            terms.note(surface);
        } else {
            terms.add(surface, PLAIN_WEIGHT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use model::document::testing;
    use proptest::prelude::*;
    use std::fmt::Write;

    fn check(title: &str, lines: &str, expect: Expect) {
        let doc = testing::titled(title, lines);
        let mut out = String::new();
        for term in terms_of(&doc, &testing::sentences_of(&doc), 4) {
            writeln!(out, "{} {} ({})", term.weight, term.surface, term.norm)
                .expect("a string takes writes");
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn headings_give_their_n_grams() {
        check(
            "Kafka",
            "# Overview\n## Deploying Kafka on the Edge Gateway",
            expect![[r#"
                3 Deploying Kafka (deployingkafka)
                3 Edge Gateway (edgegateway)
                3 Gateway (gateway)
                3 Kafka (kafka)
                3 Kafka on the Edge (kafkaontheedge)
            "#]],
        );
    }

    #[test]
    fn marks_give_whole_phrases_and_code_gives_tokens() {
        check(
            "Notes",
            "The **signing key** and **Note:** with `KeyRotationJob`, `rotate_keys()`, `cargo build \
            --release`, \
             `true`, `/etc/kafka`, `v1.2.3`, `--flag` and **this is far too long for a term**.",
            expect![[r#"
                2 KeyRotationJob (keyrotationjob)
                2 rotate_keys (rotatekeys)
                2 signing key (signingkey)
            "#]],
        );
    }

    #[test]
    fn running_text_gives_capitalised_runs() {
        check(
            "Notes",
            "We met Ada Moreno at Quillgate. Ada Moreno left. Redwood is a place. Redwood Corner is too. \
             Redwood Corner again. In the Edge Team.",
            expect![[r#"
                1 Ada Moreno (adamoreno)
                1 Edge Team (edgeteam)
                1 Quillgate (quillgate)
                1 Redwood Corner (redwoodcorner)
            "#]],
        );
    }

    proptest! {
        #[test]
        fn any_text_is_mined_without_harm(title in "\\PC{0,20}", text in "\\PC{0,80}") {
            let doc = testing::titled(&title, &text);
            let terms = terms_of(&doc, &testing::sentences_of(&doc), 4);
            for pair in terms.windows(2) {
                prop_assert!(pair[0].norm < pair[1].norm);
            }
        }
    }
}
