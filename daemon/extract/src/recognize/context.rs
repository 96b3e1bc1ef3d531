//! Context: what kind of thing a name is, from the words beside it: `Zephyr is a message broker`, `the editor Quill`,
//! `Dr Moreno`, `written in Oberon`, `Zephyr 2.1`.
//!
//! In: a document's mentions. Out: the same mentions, some with another type.
//! Invariants: a type changes only if it says little or a model guessed it. A definition
//! (`is a fruit`) is the exception: no rule that sees only the name can contradict it. A type found
//! here is no longer marked as a guess, so it outweighs guesses in other documents. Reads a bounded
//! number of bytes on each side.

use std::sync::LazyLock;

use super::lexicon;
use super::words::{WordSet, word_set};
use model::document::{Document, Mention, RecognizerKind};
use model::terms::{EntityType, Kind};

/// Bytes read on each side.
const REACH: usize = 80;
/// Most words between `is a` and the noun that follows.
const MAX_MODIFIERS: usize = 4;

/// Words before which a noun phrase ends.
static BOUNDARIES: WordSet = LazyLock::new(|| {
    word_set(
        "that which who for of in on at by with to from and or used written built made designed \
         developed based running whose where when",
    )
});
/// Nouns after a name that give its type. Only those that usually follow names of software, places and groups count.
static KINDS_AFTER: WordSet = LazyLock::new(|| {
    word_set(
        "browser library framework language editor compiler package plugin crate module toolkit \
         operator exporter client API company team foundation university city river county",
    )
});
/// Nouns before a name that give its type.
static KINDS_BEFORE: WordSet = LazyLock::new(|| {
    word_set(
        "browser library framework language editor compiler package plugin crate tool database \
         company professor engineer mathematician physicist author founder city river town \
         village",
    )
});
/// Words that precede a person's name.
static TITLES: WordSet = LazyLock::new(|| {
    word_set(
        "Mr Mrs Ms Dr Prof Professor Sir Captain President Senator Judge Sergeant Mr. Mrs. Ms. \
         Dr. Prof.",
    )
});
/// Verbs whose subject is a person.
static SPEAKING: WordSet = LazyLock::new(|| {
    word_set(
        "said says wrote writes joined asked replied agreed thinks believes explained argued \
         suggested proposed told noted reviewed approved",
    )
});
/// Two-word phrases that precede a place.
const PLACED: &str =
    "|located in|based in|situated in|lives in|born in|moved to|travelled to|traveled to|";
/// Words that precede the name of software.
static USING: WordSet = LazyLock::new(|| {
    word_set("using via install installed installing import upgrade upgraded deploy uninstall")
});
/// Two-word phrases that precede the name of software.
const BUILT: &str =
    " |written in|built with|built on|powered by|runs on|implemented in|ported to|based on|";

/// Nouns for roles. A person has different roles in different places, so a role defines nobody.
const ROLES: [&str; 20] = [
    "member",
    "lead",
    "leader",
    "manager",
    "friend",
    "person",
    "man",
    "woman",
    "guy",
    "student",
    "colleague",
    "neighbor",
    "fan",
    "user",
    "owner",
    "expert",
    "boss",
    "contact",
    "bit",
    "lot",
];

/// Words between a name and its definition.
const DEFINING: [&str; 22] = [
    " is a ",
    " is an ",
    " is the ",
    " is our ",
    " is my ",
    " is his ",
    " is her ",
    " is their ",
    " was a ",
    " was an ",
    " was the ",
    ", a ",
    ", an ",
    ", the ",
    ", our ",
    ", my ",
    ", his ",
    ", her ",
    ", their ",
    " (a ",
    " (an ",
    " (the ",
];

/// Corrects the types of the mentions.
pub(super) fn correct(doc: &Document, mentions: &mut [Mention]) {
    for idx in 0..mentions.len() {
        let Some(mention) = mentions.get_mut(idx) else { break };
        let (start, end) = (mention.span.start(), mention.span.end());
        let after = head(doc.text.get(end..).unwrap_or(""), REACH);
        define(mention, after);
        if mention.place.is_defined || !is_open(mention) {
            continue;
        }
        let before = tail(doc.text.get(..start).unwrap_or(""), REACH);
        let next = mentions.get(idx + 1).filter(|m| m.span.start() == end + 1);
        let has_version = next.is_some_and(|m| m.entity_type == EntityType::Version);
        let found = by_noun_after(after)
            .or_else(|| by_words_before(before))
            .or_else(|| has_version.then_some(EntityType::Technology))
            .or_else(|| SPEAKING.contains(first_word(after)).then_some(EntityType::Person));
        if let (Some(found), Some(mention)) = (found, mentions.get_mut(idx)) {
            mention.entity_type = found;
            mention.place.is_type_guessed = false;
        }
    }
}

/// Reads a definition that follows a name.
fn define(mention: &mut Mention, after: &str) {
    let is_fixed = matches!(mention.entity_type, EntityType::Step | EntityType::Identifier)
        || mention.place.in_code
        || mention.place.is_entity_given;
    let Some(noun) = defined_as(after).filter(|_| !is_fixed) else { return };
    let found = match lexicon::type_of_noun(noun) {
        // Nothing manufactured is a fruit, whatever the name alone suggests.
        None if lexicon::is_nature(noun) => Some(EntityType::Concept),
        // A sentence about its subject outweighs the usual meaning of such a name and a page's
        // title. That a technology is a system adds nothing.
        found => found.filter(|found| {
            let (known, found) = (Kind::of(mention.entity_type), Kind::of(*found));
            is_open(mention)
                || mention.entity_type == EntityType::Document
                || found.is_some()
                    && known.is_some()
                    && found != known
                    && !may_share_a_name(found, known)
        }),
    };
    let is_role = mention.entity_type != EntityType::Person || ROLES.contains(&noun);
    mention.place.is_defined = match found {
        Some(found) => {
            mention.entity_type = found;
            mention.place.is_type_guessed = false;
            true
        }
        // The type is already known, or the noun is a profession, too many to list.
        None => lexicon::type_of_noun(noun) == Some(mention.entity_type) || !is_role,
    };
}

/// Returns whether the two kinds may share a name: products are often called by their maker's name,
/// and makers by their product's.
fn may_share_a_name(one: Option<Kind>, other: Option<Kind>) -> bool {
    let is_either = |it| matches!(it, Some(Kind::Organization | Kind::Thing));
    is_either(one) && is_either(other)
}

/// Returns whether the words around the mention may change its type.
fn is_open(mention: &Mention) -> bool {
    let is_exact = matches!(mention.entity_type, EntityType::Step | EntityType::Identifier);
    // `using patients` says nothing about a general term.
    let is_general = mention.recognizer == RecognizerKind::Pattern
        && mention.entity_type == EntityType::Concept
        && !mention.name.contains(char::is_uppercase);
    !is_exact
        && !is_general
        && !mention.place.in_code
        && (mention.entity_type == EntityType::Concept || mention.place.is_type_guessed)
}

/// Returns the head noun of a definition that follows a name: `broker` in
/// ` is a fast message broker`, `editor` in `, an open-source editor for …`.
pub fn defined_as(after: &str) -> Option<&str> {
    let rest = DEFINING.iter().find_map(|lead| after.strip_prefix(lead))?;
    let clause = rest.split([',', '.', ';', ':', '(', ')', '\n']).next().unwrap_or("");
    let mut noun = None;
    for word in clause.split(' ').take(MAX_MODIFIERS + 1) {
        let word = word.rsplit('-').next().unwrap_or(word);
        if is_boundary(word) {
            break;
        }
        // The last noun before the phrase ends is its head: `a database migration tool` is a tool.
        noun = Some(word).filter(|word| word.chars().all(char::is_alphabetic) && !word.is_empty());
    }
    noun
}

/// Returns whether a noun phrase ends before this word.
fn is_boundary(word: &str) -> bool {
    BOUNDARIES.contains(word)
}

/// Returns the type that the next word gives (` browser`, ` library`). Only nouns that usually
/// follow names of software, places and groups count.
fn by_noun_after(after: &str) -> Option<EntityType> {
    let word = first_word(after.strip_prefix(' ')?);
    let names_kind = KINDS_AFTER.contains(word);
    names_kind.then(|| lexicon::type_of_noun(&word.to_lowercase())).flatten()
}

fn by_words_before(before: &str) -> Option<EntityType> {
    let mut words = before.strip_suffix(' ')?.rsplit(' ');
    let last = words.next().unwrap_or("");
    let two = format!("|{} {last}|", words.next().unwrap_or("").to_lowercase());
    if TITLES.contains(last) {
        return Some(EntityType::Person);
    }
    if PLACED.contains(&two) {
        return Some(EntityType::Location);
    }
    if USING.contains(last.to_lowercase().as_str()) || BUILT.contains(&two) {
        return Some(EntityType::Technology);
    }
    let names_kind = KINDS_BEFORE.contains(last);
    names_kind.then(|| lexicon::type_of_noun(last)).flatten()
}

fn first_word(text: &str) -> &str {
    text.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("")
}

/// Returns at most `n` bytes from the start, at a character boundary.
pub(super) fn head(text: &str, n: usize) -> &str {
    text.get(..text.floor_char_boundary(n)).unwrap_or("")
}

/// Returns at most `n` bytes from the end, at a character boundary.
pub(super) fn tail(text: &str, n: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(n))..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::testing;
    use proptest::prelude::*;

    fn typed(text: &str, name: &str, entity_type: EntityType, is_guess: bool) -> EntityType {
        let doc = testing::doc(text);
        let mut mentions = [testing::mention(&doc, name, entity_type)];
        mentions[0].place.is_type_guessed = is_guess;
        correct(&doc, &mut mentions);
        mentions[0].entity_type
    }

    #[test]
    fn the_words_beside_a_name_tell_its_kind() {
        use EntityType::{Concept, Location, Organization, Person, Product, Technology};
        let rows = [
            ("Zephyr is a fast message broker for Go.", Person, true, EntityType::Service),
            ("Zephyr, an open-source text editor, opens it.", Person, true, Product),
            ("We open it in the Zephyr browser.", Person, true, Product),
            ("We wrote it in the programming language Zephyr.", Location, true, Technology),
            ("It was written in Zephyr.", Location, true, Technology),
            ("We asked Dr Zephyr.", Concept, false, Person),
            ("Then Zephyr said no.", Concept, false, Person),
            ("The company Zephyr sells it.", Person, true, Organization),
            ("Zephyr is a city that nobody knows.", Person, true, Location),
            ("Zephyr is a plumber who came late.", Location, false, Person),
            ("Zephyr, our accountant, said so.", Location, true, Person),
            ("Zephyr is an island of Indonesia.", Technology, false, Location),
            ("Zephyr is a system for queues.", Technology, false, Technology),
            ("Zephyr is a fruit.", Organization, false, Concept),
            ("The mill is located in Zephyr.", Person, true, Location),
            ("Zephyr is a person of few words.", Organization, true, Organization),
            ("Zephyr is a database of editors.", Organization, false, Organization),
            ("We met Zephyr.", Organization, true, Organization),
        ];
        for (text, entity_type, is_guess, found) in rows {
            assert_eq!(typed(text, "Zephyr", entity_type, is_guess), found, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_surroundings_are_read_without_harm(before in "\\PC{0,100}", after in "\\PC{0,100}") {
            typed(&format!("{before} Zephyr{after}"), "Zephyr", EntityType::Concept, true);
        }
    }
}
