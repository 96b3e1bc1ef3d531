//! Labels: a model's names for its classes, and how labeled words form names.
//!
//! In: `id2label`; for each word the number of its best label. Out: spans with the label's name.
//! Invariants: spans are in order of place, never overlap, and never span a line break.

use std::collections::BTreeMap;
use std::ops::Range;

/// Most labels of a model; the largest sets have some hundreds.
const MAX_LABELS: usize = 4096;

/// The labels of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// By number.
    tags: Vec<Tag>,
    /// Names without prefix, by class.
    classes: Vec<String>,
}

/// The meaning of one label for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// Not part of a name.
    Outside,
    /// Part of a name of this class.
    Inside(Position, usize),
}

/// The position of the word in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// `B-`: a new name begins.
    Begin,
    /// `I-`, `M-`, or no prefix at all: continues a name, or begins one if none of this class is open.
    Inside,
    /// `L-`, `E-`: continues and ends a name.
    Last,
    /// `U-`, `S-`: a name of one word.
    Unit,
}

/// A word and its best label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabeledWord {
    /// Its place, bytes.
    pub span: Range<usize>,
    /// Number of the label.
    pub label: usize,
    /// The label's probability, 0 to 1.
    pub probability: f32,
}

/// A name in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// Its place in the text, bytes, at character boundaries; never empty.
    pub span: Range<usize>,
    /// Number of its class in [`Labels::classes`].
    pub class: usize,
    /// Mean probability of the labels of its words, 0 to 1.
    pub probability: f32,
}

/// A name that may still grow.
struct Open {
    span: Range<usize>,
    class: usize,
    probabilities: f32,
    n_words: u16,
}

impl Labels {
    /// Reads `id2label` of a `config.json`.
    ///
    /// # Errors
    /// What is missing, as the rest of a sentence that begins with the file's name.
    pub fn read(id2label: &BTreeMap<String, String>) -> Result<Self, String> {
        if id2label.len() > MAX_LABELS {
            return Err(format!("names {} labels; at most {MAX_LABELS} are read", id2label.len()));
        }
        let mut labels = Labels { tags: Vec::new(), classes: Vec::new() };
        for number in 0..id2label.len() {
            let name = id2label
                .get(&number.to_string())
                .ok_or(format!("names no label {number} in `id2label`"))?;
            let tag = labels.tag_of(name);
            labels.tags.push(tag);
        }
        match labels.tags.contains(&Tag::Outside) && !labels.classes.is_empty() {
            true => Ok(labels),
            false => {
                Err("must name in `id2label` the label `O` and at least one other".to_string())
            }
        }
    }

    /// Returns the number of labels, with their prefixes.
    #[allow(clippy::len_without_is_empty)] // There are always some.
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// Returns the names of the classes, without prefixes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Joins labeled words, in order of place, into names.
    pub fn names(&self, text: &str, words: &[LabeledWord]) -> Vec<Tagged> {
        let mut out = Vec::new();
        let mut open: Option<Open> = None;
        let mut close = |open: &mut Option<Open>| {
            if let Some(Open { span, class, probabilities, n_words }) = open.take() {
                out.push(Tagged { span, class, probability: probabilities / f32::from(n_words) });
            }
        };
        for word in words {
            // `Outside`, and labels that do not exist, end a name.
            let Some(&Tag::Inside(place, class)) = self.tags.get(word.label) else {
                close(&mut open);
                continue;
            };
            let goes_on = |name: &&mut Open| {
                // Overlapping words have no text between them; treat that as a break.
                let gap = text.get(name.span.end..word.span.start).unwrap_or("\n");
                let may_follow = matches!(place, Position::Inside | Position::Last);
                may_follow && name.class == class && name.n_words < u16::MAX && !gap.contains('\n')
            };
            match open.as_mut().filter(goes_on) {
                Some(name) => {
                    name.span.end = word.span.end;
                    name.probabilities += word.probability;
                    name.n_words += 1;
                }
                None => {
                    close(&mut open);
                    let (span, probabilities) = (word.span.clone(), word.probability);
                    open = Some(Open { span, class, probabilities, n_words: 1 });
                }
            }
            if matches!(place, Position::Last | Position::Unit) {
                close(&mut open);
            }
        }
        close(&mut open);
        out.retain(|name: &Tagged| !name.span.is_empty());
        out
    }

    fn tag_of(&mut self, label: &str) -> Tag {
        if label == "O" {
            return Tag::Outside;
        }
        let (place, name) = match label.split_once(['-', '_']) {
            Some(("B", name)) => (Position::Begin, name),
            Some(("I" | "M", name)) => (Position::Inside, name),
            Some(("L" | "E", name)) => (Position::Last, name),
            Some(("U" | "S", name)) => (Position::Unit, name),
            _ => (Position::Inside, label),
        };
        let known = self.classes.iter().position(|class| class == name);
        let class = known.unwrap_or_else(|| {
            self.classes.push(name.to_string());
            self.classes.len() - 1
        });
        Tag::Inside(place, class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// Words are separated by spaces (or line breaks), each with its label behind a slash.
    fn check(tagged: &str, expected: Expect) {
        let names: Vec<&str> =
            tagged.split_whitespace().filter_map(|it| Some(it.split_once('/')?.1)).collect();
        let mut distinct = vec!["O"];
        names.iter().for_each(|name| {
            if !distinct.contains(name) {
                distinct.push(name)
            }
        });
        let id2label =
            distinct.iter().enumerate().map(|(i, it)| (i.to_string(), it.to_string())).collect();
        let labels = Labels::read(&id2label).expect("labels");
        let (mut text, mut words) = (String::new(), Vec::new());
        for piece in tagged.split_inclusive([' ', '\n']) {
            let (surface, label) = piece.trim_end().split_once('/').expect("a label");
            let start = text.len();
            text += surface;
            let number = distinct.iter().position(|it| *it == label).expect("known");
            let probability = if label.ends_with("?") { 0.5 } else { 1.0 };
            words.push(LabeledWord { span: start..text.len(), label: number, probability });
            text.extend(piece.chars().last().filter(|c| c.is_whitespace()));
        }
        let mut out = String::new();
        for Tagged { span, class, probability } in labels.names(&text, &words) {
            out += &format!("{} {:?} {probability}\n", labels.classes()[class], &text[span]);
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn begin_and_inside() {
        check(
            "Ada/B-PER Lovelace/I-PER met/O Charles/B-PER Babbage/I-PER Mary/B-PER in/O London/B-LOC",
            expect![[r#"
                PER "Ada Lovelace" 1
                PER "Charles Babbage" 1
                PER "Mary" 1
                LOC "London" 1
            "#]],
        );
    }

    #[test]
    fn inside_alone_begins_a_name_and_another_class_ends_it() {
        check(
            "Ada/I-PER Lovelace/I-PER Porto/I-LOC x/O Oslo/I-LOC",
            expect![[r#"
                PER "Ada Lovelace" 1
                LOC "Porto" 1
                LOC "Oslo" 1
            "#]],
        );
    }

    #[test]
    fn last_and_unit_end_names() {
        check(
            "New/B-LOC York/L-LOC Times/I-LOC Oslo/U-LOC Rome/U-LOC a/S-X b/B-X c/M-X d/E-X e/E-X",
            expect![[r#"
                LOC "New York" 1
                LOC "Times" 1
                LOC "Oslo" 1
                LOC "Rome" 1
                X "a" 1
                X "b c d" 1
                X "e" 1
            "#]],
        );
    }

    #[test]
    fn labels_without_prefix_join_what_stands_together() {
        check(
            "Ada/PER Lovelace/PER of/O New/LOC York/LOC",
            expect![[r#"
                PER "Ada Lovelace" 1
                LOC "New York" 1
            "#]],
        );
    }

    #[test]
    fn a_line_break_ends_a_name() {
        check(
            "Porto/I-LOC\nLisbon/I-LOC Faro/I-LOC",
            expect![[r#"
                LOC "Porto" 1
                LOC "Lisbon Faro" 1
            "#]],
        );
    }

    #[test]
    fn the_score_is_the_mean_of_the_words() {
        let id2label = [("0", "O"), ("1", "B-X"), ("2", "I-X")].map(|(k, v)| (k.into(), v.into()));
        let labels = Labels::read(&id2label.into()).expect("labels");
        let word = |span, label, probability| LabeledWord { span, label, probability };
        let names = labels.names("ab cd", &[word(0..2, 1, 1.0), word(3..5, 2, 0.5)]);
        assert_eq!(names, [Tagged { span: 0..5, class: 0, probability: 0.75 }]);
    }

    #[test]
    fn labels_that_cannot_be_names_are_refused() {
        let read = |rows: &[(&str, &str)]| {
            Labels::read(&rows.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
        };
        assert_eq!(
            read(&[]),
            Err("must name in `id2label` the label `O` and at least one other".to_string())
        );
        assert_eq!(read(&[("1", "O")]), Err("names no label 0 in `id2label`".to_string()));
        assert!(read(&[("0", "LABEL_0"), ("1", "LABEL_1")]).is_err());
        assert!(read(&[("0", "O"), ("1", "B-PER")]).is_ok());
    }

    proptest! {
        #[test]
        fn names_are_in_order_and_never_overlap(labels in prop::collection::vec(0usize..9, 0..60)) {
            let names = ["O", "B-A", "I-A", "L-A", "U-A", "B-B", "I-B", "C", "S-B"];
            let id2label = names.iter().enumerate().map(|(i, it)| (i.to_string(), it.to_string())).collect();
            let read = Labels::read(&id2label).expect("labels");
            let text = "x ".repeat(labels.len());
            let words: Vec<_> = labels
                .iter()
                .enumerate()
                .map(|(i, &label)| LabeledWord { span: 2 * i..2 * i + 1, label, probability: 0.5 })
                .collect();
            let found = read.names(&text, &words);
            prop_assert!(found.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
            let n_covered: usize = found.iter().map(|name| name.span.len() / 2 + 1).sum();
            prop_assert_eq!(n_covered, labels.iter().filter(|label| **label != 0).count());
        }
    }
}
