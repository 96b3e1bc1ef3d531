//! The whole pipeline: spaCy's answers on our own texts, and properties of any text.
//!
//! `tests/english/compare.py --fixtures` rewrites the answers after a change of `fixtures/texts.txt`.

use proptest::prelude::*;
use serde::Deserialize;

use super::characters::is_space;
use super::{Entity, Pipeline, Stretch, Token};

/// spaCy's analysis of a text.
#[derive(Debug, Deserialize)]
struct Answer {
    text: String,
    spans: Vec<(u32, u32)>,
    tags: Vec<String>,
    heads: Vec<u32>,
    labels: Vec<String>,
    starts: Vec<bool>,
    entities: Vec<(u32, u32, String)>,
    alone: Vec<(u32, u32, String)>,
}

fn answers() -> Vec<Answer> {
    let lines = include_str!("fixtures/answers.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("an answer")).collect()
}

fn spans(tokens: &[Token]) -> Vec<(u32, u32)> {
    tokens.iter().map(|token| (token.start, token.end)).collect()
}

/// Adds the number of differing items of two lists, and the number of all, to the counts.
fn count<A: PartialEq<B>, B>(ours: &[A], theirs: &[B], (differing, all): &mut (usize, usize)) {
    let n_equal = ours.iter().zip(theirs).filter(|(a, b)| a == b).count();
    *all += theirs.len().max(ours.len());
    *differing += theirs.len().max(ours.len()) - n_equal;
}

fn count_names(ours: &[Entity], theirs: &[(u32, u32, String)], counts: &mut (usize, usize)) {
    let ours: Vec<_> = ours.iter().map(|it| (it.start, it.end, it.label.to_owned())).collect();
    let n_equal = theirs.iter().filter(|it| ours.contains(it)).count();
    counts.1 += theirs.len().max(ours.len());
    counts.0 += theirs.len().max(ours.len()) - n_equal;
}

#[test]
fn tokens_are_cut_where_spacy_cuts_them() {
    let pipeline = Pipeline::shared();
    for answer in answers() {
        let tokens = pipeline.tokens(&answer.text);
        assert_eq!(spans(&tokens), answer.spans, "{:?}", answer.text);
    }
}

/// Scores that are almost equal may be ordered differently on another machine, whose kernel adds in another order, so
/// one difference in a thousand is allowed.
#[test]
fn tags_dependencies_sentences_and_names_are_spacy_s() {
    let pipeline = Pipeline::shared();
    let mut counts = [(0, 0); 6];
    let [tags, heads, labels, starts, names, alone] = &mut counts;
    for answer in answers() {
        let tokens = pipeline.tokens(&answer.text);
        let parse = pipeline.parse(&tokens);
        count(&parse.tags, &answer.tags, tags);
        count(&parse.heads, &answer.heads, heads);
        count(&parse.labels, &answer.labels, labels);
        count(&parse.starts, &answer.starts, starts);
        count_names(&pipeline.entities(&tokens, &parse.starts), &answer.entities, names);
        count_names(&pipeline.entities(&tokens, &[]), &answer.alone, alone);
    }
    assert!(counts[0].1 > 4000 && counts[4].1 > 300, "too few to say anything: {counts:?}");
    assert!(counts.iter().all(|(differing, all)| differing * 1000 <= *all), "{counts:?}");
}

#[test]
fn a_surface_is_what_the_span_holds() {
    let text = "Don't stop.";
    let tokens = Pipeline::shared().tokens(text);
    let surfaces: Vec<&str> = tokens.iter().map(|token| token.surface(text)).collect();
    assert_eq!(surfaces, ["Do", "n't", "stop", "."]);
    assert_eq!(tokens.last().map(|token| token.surface("")), Some(""));
}

#[test]
fn an_answer_does_not_depend_on_what_was_asked_before() {
    let pipeline = Pipeline::load().expect("the shipped model");
    let text = "Ada Moreno doesn't live in Lisbon. Jonas Pikkar, who does, wrote to the European Commission.";
    let answer = || {
        let tokens = pipeline.tokens(text);
        (pipeline.parse(&tokens), pipeline.entities(&tokens, &[]), tokens)
    };
    let first = answer();
    let others = "Paris in May, Berlin in June: Ada's words, not Lisbon's. ".repeat(5);
    let other_tokens = pipeline.tokens(&others);
    pipeline.parse(&other_tokens);
    pipeline.entities(&other_tokens, &[]);
    assert_eq!(answer(), first);
    pipeline.rest();
    assert_eq!(answer(), first);
}

#[test]
fn names_of_stretches_are_those_of_the_text_whatever_is_read_together() {
    let pipeline = Pipeline::shared();
    let filler = "They were late again, as they had been for a long time. ".repeat(60);
    let texts = [
        format!("{filler}Ada Moreno lives in Lisbon. {filler}"),
        "Jonas Pikkar wrote to the European Commission.".to_string(),
        String::new(),
    ];
    let tokens = texts.each_ref().map(|text| pipeline.tokens(text));
    let whole = tokens.each_ref().map(|tokens| pipeline.entities(tokens, &[]));
    let near = |of: usize, start: usize, end: usize| Stretch {
        tokens: &tokens[of],
        starts: &[],
        range: start..end,
    };
    let first = whole[0].first().expect("a name").start as usize;
    // All of a text, a part with both names, and one that ends within the first of them.
    let stretches = [
        near(0, 0, tokens[0].len()),
        near(2, 0, 0),
        near(1, 0, tokens[1].len()),
        near(0, first - 2, first + 8),
        near(0, first - 2, first + 1),
    ];
    let found = pipeline.entities_in(&stretches);
    assert_eq!(whole[0].len(), 2, "{whole:?}");
    assert_eq!(found, [whole[0].clone(), vec![], whole[1].clone(), whole[0].clone(), vec![]]);
}

/// Each of these takes very long if a rule scans the whole word again for each of its characters.
#[test]
fn words_that_never_end_take_no_more_than_their_length() {
    let pipeline = Pipeline::shared();
    let units = [
        "(", ")", ".", "-", "a.", "a@", "a-", "://", "1", "'", "a:", "1.1.1.1", "a://", "é.", "…",
        ",", "a,", "/", "n't", "\n", " ", "\u{1c}", "a/", "+1", "@", "<3", ":-)",
    ];
    for unit in units {
        let text = unit.repeat(60_000 / unit.len());
        check_cover(&text, &pipeline.tokens(&text));
    }
}

/// Tokens are in order, on character boundaries, and omit nothing but blanks after words.
fn check_cover(text: &str, tokens: &[Token]) {
    let mut at = 0;
    for token in tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        assert!(start < end, "{token:?}");
        assert!(matches!(text.get(at..start), Some("" | " ")), "{at}..{start}");
        assert!(text.get(start..end).is_some(), "{token:?}");
        let surface = token.surface(text);
        let n_spaces = surface.chars().filter(|c| is_space(*c)).count();
        assert!(n_spaces == 0 || n_spaces == surface.chars().count(), "{surface:?}");
        assert_eq!(token.lexeme.is_space(), n_spaces > 0);
        assert_eq!(
            token.has_blank_after,
            n_spaces == 0 && text[end..].starts_with(' '),
            "{token:?}"
        );
        at = end;
    }
    assert!(matches!(text.get(at..), Some("" | " ")), "{:?} is left", text.get(at..));
}

/// Text as people write it, and as they do not.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[A-Za-z]{1,8}",
        "[-a-z0-9.,:;!?'\"()/@#_+*]{1,12}",
        "\\PC{1,6}",
        Just("n't".to_owned()),
        Just(":-)".to_owned()),
        Just("http://a.example/b".to_owned()),
    ];
    let gap = prop_oneof![5 => Just(" ".to_owned()), 1 => "[ \n\t\u{a0}\u{1c}]{0,3}"];
    prop::collection::vec((word, gap), 0..40)
        .prop_map(|words| words.into_iter().flat_map(|(word, gap)| [word, gap]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tokens_cover_any_text(text in any_text()) {
        check_cover(&text, &Pipeline::shared().tokens(&text));
    }

    #[test]
    fn any_text_has_a_parse_and_names_that_hold_together(text in any_text()) {
        let pipeline = Pipeline::shared();
        let tokens = pipeline.tokens(&text);
        let parse = pipeline.parse(&tokens);
        let n = tokens.len();
        prop_assert_eq!([parse.tags.len(), parse.heads.len(), parse.labels.len(), parse.starts.len()], [n; 4]);
        prop_assert!(parse.heads.iter().all(|head| (*head as usize) < n));
        prop_assert!(n == 0 || parse.starts[0]);
        let mut at = 0;
        for name in pipeline.entities(&tokens, &parse.starts) {
            let (start, end) = (name.start as usize, name.end as usize);
            prop_assert!(at <= start && start < end && end <= n);
            prop_assert!(parse.starts[start + 1..end].iter().all(|start| !start));
            prop_assert!(!tokens[start].lexeme.is_space());
            at = end;
        }
    }
}
