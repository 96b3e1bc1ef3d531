//! Word: settings whose value is one of a few words.
//!
//! In: a table of words and values for each type. Out: its `Serialize` and `Deserialize`.
//! Invariant: `on`, `off`, `true` and `false` are read with and without quotes, because many YAML parsers read them as
//! booleans without.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// A value that settings write as a word.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// Every word with its value, in the order in which messages list them.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the value's word.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// Gives a type its words, and what serde needs.
macro_rules! words {
    ($type:ty, $($word:literal => $value:expr),+ $(,)?) => {
        impl $crate::settings::word::Word for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::settings::word::serialize(*self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::settings::word::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use words;

pub(crate) fn serialize<T: Word, S: Serializer>(it: T, serializer: S) -> Result<S::Ok, S::Error> {
    match it.word() {
        "true" => serializer.serialize_bool(true),
        "false" => serializer.serialize_bool(false),
        word => serializer.serialize_str(word),
    }
}

pub(crate) fn deserialize<'de, T: Word, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(WordVisitor(PhantomData))
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Word> Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
        match words.split_last() {
            Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
            None => Ok(()),
        }
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<T, E> {
        let of_truth = if truth { ["on", "true"] } else { ["off", "false"] };
        let found = T::WORDS.iter().find(|(word, _)| of_truth.contains(word));
        found.map(|it| it.1).ok_or_else(|| E::invalid_value(Unexpected::Bool(truth), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|it| it.1).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
