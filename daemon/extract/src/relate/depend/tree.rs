//! Tree: the parse of one sentence, with the mentions that its tokens are heads of.
//!
//! In: tokens, tags, heads and labels of a sentence, its things. Out: lookups by position in the sentence.
//! Invariants: a token whose head is outside the sentence is a root; every mention has at most one head; linear.

use std::ops::Range;

use super::words::{is_class_noun, is_in, stem_of};
use language::{Parse, Token};

/// A sentence's grammar.
pub(super) struct Tree<'p> {
    text: &'p str,
    tokens: &'p [Token],
    tags: &'p [&'static str],
    labels: &'p [&'static str],
    /// Head of each token, itself for a root.
    heads: Vec<usize>,
    /// Children of token `i` are `children[first[i]..first[i + 1]]`, in order.
    first: Vec<usize>,
    children: Vec<usize>,
    /// For each token, the mention that it is the head of.
    mentions: Vec<Option<u32>>,
    /// Where that mention starts, in the text that was parsed.
    starts: Vec<usize>,
}

impl<'p> Tree<'p> {
    /// Makes the tree of the tokens in `range`; `mentions` are ranges in `text` with their indexes, in order.
    pub(super) fn new(
        text: &'p str,
        tokens: &'p [Token],
        parse: &'p Parse,
        range: Range<usize>,
        mentions: &[(Range<usize>, u32)],
    ) -> Option<Self> {
        let heads = parse.heads.get(range.clone())?.iter().enumerate();
        let heads: Vec<usize> = heads
            .map(|(i, head)| {
                (*head as usize).checked_sub(range.start).filter(|h| *h < range.len()).unwrap_or(i)
            })
            .collect();
        let (first, children) = children_of(&heads);
        let mut tree = Tree {
            text,
            tokens: tokens.get(range.clone())?,
            tags: parse.tags.get(range.clone())?,
            labels: parse.labels.get(range)?,
            mentions: vec![None; heads.len()],
            starts: vec![0; heads.len()],
            heads,
            first,
            children,
        };
        for (span, mention) in mentions {
            let Some(head) = tree.head_of(span).filter(|head| tree.mention(*head).is_none()) else {
                continue;
            };
            if let (Some(slot), Some(start)) =
                (tree.mentions.get_mut(head), tree.starts.get_mut(head))
            {
                (*slot, *start) = (Some(*mention), span.start);
            }
        }
        Some(tree)
    }

    /// Returns the number of tokens.
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn head(&self, i: usize) -> usize {
        self.heads.get(i).copied().unwrap_or(i)
    }

    pub(super) fn label(&self, i: usize) -> &'static str {
        self.labels.get(i).copied().unwrap_or("")
    }

    pub(super) fn tag(&self, i: usize) -> &'static str {
        self.tags.get(i).copied().unwrap_or("")
    }

    pub(super) fn children(&self, i: usize) -> &[usize] {
        let range = self.first.get(i).zip(self.first.get(i + 1));
        range.and_then(|(from, to)| self.children.get(*from..*to)).unwrap_or(&[])
    }

    /// Returns the first child with one of these labels.
    pub(super) fn child(&self, i: usize, labels: &[&str]) -> Option<usize> {
        self.children(i).iter().copied().find(|child| labels.contains(&self.label(*child)))
    }

    pub(super) fn word(&self, i: usize) -> &'p str {
        self.tokens.get(i).map_or("", |token| token.surface(self.text))
    }

    pub(super) fn stem(&self, i: usize) -> String {
        stem_of(self.word(i))
    }

    pub(super) fn is_verb(&self, i: usize) -> bool {
        self.tag(i).starts_with("VB") || self.tag(i) == "MD"
    }

    pub(super) fn is_noun(&self, i: usize) -> bool {
        // Pronouns and determiners can stand for a noun; a name may be tagged as anything.
        let tag = self.tag(i);
        tag.starts_with("NN")
            || matches!(tag, "PRP" | "CD" | "FW" | "XX" | "ADD" | "DT" | "WDT" | "WP")
            || self.mentions.get(i).is_some_and(Option::is_some)
    }

    /// Returns the range of a token in the text that was parsed.
    pub(super) fn span(&self, i: usize) -> Range<usize> {
        self.tokens.get(i).map_or(0..0, |token| token.start as usize..token.end as usize)
    }

    /// Returns the mention that a token is the head of.
    pub(super) fn mention(&self, i: usize) -> Option<u32> {
        self.mentions.get(i).copied().flatten()
    }

    /// Returns the mention that a noun phrase is about: that of its head, or the name right before a class noun
    /// (`the Kafka cluster`).
    pub(super) fn named(&self, i: usize) -> Option<u32> {
        self.mention(i).or_else(|| {
            let before = i.checked_sub(1)?;
            let is_modifier = self.head(before) == i
                && matches!(self.label(before), "compound" | "nmod" | "amod" | "poss");
            let is_named = is_modifier && is_class_noun(self.word(i)) && !self.is_one_of_many(i);
            is_named.then(|| self.mention(before)).flatten()
        })
    }

    /// True for a noun that no single thing bears: `a Rust library` and `Rust libraries` are not Rust.
    pub(super) fn is_one_of_many(&self, noun: usize) -> bool {
        match self.child(noun, &["det"]).map(|det| self.word(det)) {
            Some(det) => is_in("a an another any each every some no", det),
            // Names that end in `s`, such as Redis, are tagged as plurals, too.
            None => self.tag(noun) == "NNS" && !is_name_like(self.word(noun)),
        }
    }

    /// True for a common noun that a noun before it narrows: in `the parser crate`, `crate` alone names nothing.
    /// Nouns that are part of the mention do not narrow it.
    pub(super) fn is_narrowed(&self, i: usize) -> bool {
        let is_common = !self.word(i).contains(|c: char| !c.is_lowercase());
        let start = self.starts.get(i).copied().unwrap_or(0);
        let narrows = |child: &usize| {
            self.span(*child).start < start && matches!(self.label(*child), "compound" | "nmod")
        };
        is_common && self.mention(i).is_some() && self.children(i).iter().any(narrows)
    }

    /// Returns the token of a span whose head is outside the span; the last one if there are several.
    fn head_of(&self, span: &Range<usize>) -> Option<usize> {
        let from = self.tokens.partition_point(|token| (token.end as usize) <= span.start);
        let to = self.tokens.partition_point(|token| (token.start as usize) < span.end);
        let is_outer = |i: &usize| {
            let head = self.head(*i);
            let is_word = self.label(*i) != "punct" && self.tag(*i) != "_SP";
            is_word && (head == *i || !(from..to).contains(&head))
        };
        (from..to).rev().find(is_outer)
    }
}

/// True for one capital with lowercase letters: `Redis`, not `libraries` or `APIs`.
fn is_name_like(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && !word.chars().skip(1).any(char::is_uppercase)
}

fn children_of(heads: &[usize]) -> (Vec<usize>, Vec<usize>) {
    // Counting sort by head: lengths, then their sums as offsets, then the children in order.
    let mut first = vec![0; heads.len() + 1];
    let is_child = |(i, head): &(usize, &usize)| i != *head;
    for (_, head) in heads.iter().enumerate().filter(is_child) {
        if let Some(n) = first.get_mut(head + 1) {
            *n += 1;
        }
    }
    for i in 1..first.len() {
        let before = first.get(i - 1).copied().unwrap_or(0);
        if let Some(n) = first.get_mut(i) {
            *n += before;
        }
    }
    let mut next = first.clone();
    let mut children = vec![0; first.last().copied().unwrap_or(0)];
    for (i, head) in heads.iter().enumerate().filter(is_child) {
        if let Some(at) = next.get_mut(*head) {
            if let Some(slot) = children.get_mut(*at) {
                *slot = i;
            }
            *at += 1;
        }
    }
    (first, children)
}
