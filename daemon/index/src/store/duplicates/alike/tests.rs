//! The outcome depends on the set of texts alone, not on the order of insertions and removals.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use proptest::prelude::*;

use super::{Known, decide};

/// Texts with few distinct keys, alike if the last digits of their numbers are close.
#[derive(Debug, Clone, Default)]
struct Model {
    texts: BTreeMap<i64, Vec<i64>>,
    roots: BTreeMap<i64, i64>,
    dirty: BTreeSet<i64>,
}

/// The last digit of a text's number; texts with close digits are alike.
fn likeness(text: i64) -> i64 {
    text % 10
}

impl Known for Model {
    type Error = Infallible;
    fn leader(&self, key: i64) -> Result<Option<i64>, Infallible> {
        Ok(self.texts.iter().find(|(_, keys)| keys.contains(&key)).map(|(text, _)| *text))
    }
    fn root(&self, text: i64) -> Result<Option<i64>, Infallible> {
        Ok(self.roots.get(&text).copied())
    }
    fn are_alike(&self, one: i64, other: i64) -> Result<bool, Infallible> {
        let both = self.texts.contains_key(&one) && self.texts.contains_key(&other);
        Ok(both && (likeness(one) - likeness(other)).abs() <= 2)
    }
}

impl Model {
    /// Decides every text once, in order: the result that all histories must lead to.
    fn settled(texts: &BTreeMap<i64, Vec<i64>>) -> BTreeMap<i64, i64> {
        let mut model = Model { texts: texts.clone(), ..Model::default() };
        for (text, keys) in texts {
            let Ok(root) = decide(&model, *text, keys);
            model.roots.extend(root.map(|root| (*text, root)));
        }
        model.roots
    }

    fn mark_key(&mut self, key: i64) {
        let having = self.texts.iter().filter(|(_, keys)| keys.contains(&key));
        self.dirty.extend(having.map(|(text, _)| *text));
    }

    fn leads(&self, key: i64) -> Option<i64> {
        let Ok(leader) = self.leader(key);
        leader
    }

    /// Mirrors `born`, which works on rows.
    fn add(&mut self, text: i64, keys: &[i64]) {
        if self.texts.contains_key(&text) {
            return;
        }
        for key in keys {
            match self.leads(*key) {
                Some(leader) if leader < text => {
                    self.dirty.insert(text);
                }
                Some(_) => self.mark_key(*key),
                None => {}
            }
        }
        self.texts.insert(text, keys.to_vec());
    }

    /// Mirrors `died`, which works on rows.
    fn take(&mut self, text: i64) {
        let Some(keys) = self.texts.get(&text).cloned() else { return };
        let led: Vec<i64> =
            keys.iter().copied().filter(|key| self.leads(*key) == Some(text)).collect();
        self.texts.remove(&text);
        led.into_iter().for_each(|key| self.mark_key(key));
        self.roots.remove(&text);
        let next = self.roots.iter().find(|(_, root)| **root == text).map(|(text, _)| *text);
        if let Some(next) = next {
            self.roots.remove(&next);
            self.dirty.insert(next);
            self.mark_followers(next);
        }
    }

    fn mark_followers(&mut self, text: i64) {
        for key in self.texts.get(&text).cloned().unwrap_or_default() {
            if self.leads(key) == Some(text) {
                let having = self.texts.iter().filter(|(_, keys)| keys.contains(&key));
                self.dirty.extend(having.map(|(other, _)| *other).filter(|other| *other > text));
            }
        }
    }

    /// Mirrors `settle`, which works on rows: one text per call, chosen by `pick`.
    fn step(&mut self, pick: usize) -> bool {
        let Some(text) = self.dirty.iter().nth(pick % self.dirty.len().max(1)).copied() else {
            return false;
        };
        self.dirty.remove(&text);
        let Some(keys) = self.texts.get(&text).cloned() else { return true };
        let Ok(new) = decide(self, text, &keys);
        let old = self.roots.get(&text).copied();
        if old != new {
            match new {
                Some(root) => self.roots.insert(text, root),
                None => self.roots.remove(&text),
            };
        }
        self.mark_followers(text);
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn roots_follow_from_the_texts_alone(
        acts in prop::collection::vec((0i64..60, 0u8..4, 0usize..100), 1..80)
    ) {
        let mut model = Model::default();
        for (text, act, pick) in &acts {
            match act {
                0 => model.take(*text),
                1 => { model.step(*pick); }
                // The keys are a function of the text.
                _ => model.add(*text, &[text % 5, 5 + text / 7 % 4, 9 + text * 31 % 3]),
            }
        }
        let mut n_steps = 0;
        while model.step(n_steps * 7) {
            n_steps += 1;
            prop_assert!(n_steps < 10_000, "it never ends");
        }
        prop_assert_eq!(&model.roots, &Model::settled(&model.texts));
        for (text, root) in &model.roots {
            prop_assert!(!model.roots.contains_key(root), "{root} stands for {text} and is a copy itself");
            prop_assert!(root < text);
        }
    }
}
