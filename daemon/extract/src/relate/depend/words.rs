//! Words: stems, and the few closed classes of English words that reading grammar needs.
//!
//! In: one word. Out: its stem, or whether it is in a class.
//! Invariants: `written`, `writes` and `write` have one stem.

use std::cell::LazyCell;

use rust_stemmers::{Algorithm, Stemmer};

/// Longest word that is stemmed, in bytes.
const MAX_STEMMED_BYTES: usize = 40;

/// Irregular forms with their stems.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("built", "build"), ("made", "make"), ("making", "make"), ("written", "write"), ("wrote", "write"),
    ("known", "know"), ("knew", "know"), ("ran", "run"), ("running", "run"), ("led", "lead"),
    ("held", "hold"), ("kept", "keep"),
    ("sat", "sit"), ("sits", "sit"), ("sitting", "sit"), ("stood", "stand"), ("came", "come"), ("spoke", "speak"),
    ("spoken", "speak"), ("sent", "send"), ("began", "begin"), ("begun", "begin"), ("got", "get"),
    ("gotten", "get"), ("took", "take"), ("taken", "take"), ("gave", "give"), ("given", "give"), ("drew", "draw"),
    ("drawn", "draw"), ("bought", "buy"), ("sold", "sell"), ("taught", "teach"), ("won", "win"), ("fed", "feed"),
    ("read", "read"), ("bound", "bind"), ("ground", "grind"), ("lay", "lie"), ("lain", "lie"), ("lying", "lie"),
    ("chosen", "choose"), ("chose", "choose"), ("driven", "drive"), ("drove", "drive"), ("grew", "grow"),
    ("grown", "grow"), ("said", "say"), ("meant", "mean"), ("shown", "show"), ("seen", "see"), ("saw", "see"),
    ("told", "tell"), ("thought", "think"), ("understood", "understand"), ("left", "leave"), ("lent", "lend"),
    ("did", "do"), ("does", "do"), ("done", "do"), ("had", "have"), ("has", "have"),
    ("is", "be"), ("are", "be"), ("was", "be"), ("were", "be"), ("been", "be"), ("being", "be"), ("am", "be"),
    ("'s", "be"), ("’s", "be"), ("'re", "be"), ("’re", "be"), ("using", "use"), ("used", "use"), ("uses", "use"),
];

thread_local! {
    static STEMMER: LazyCell<Stemmer> = LazyCell::new(|| Stemmer::create(Algorithm::English));
}

/// Returns the stem of a word, lowercase. Irregular forms come first; words of up to three letters are not stemmed.
pub(super) fn stem_of(word: &str) -> String {
    let lower = word.to_lowercase();
    if let Some((_, verb)) = IRREGULAR.iter().find(|(form, _)| *form == lower) {
        return (*verb).to_string();
    }
    let may_have = (4..=MAX_STEMMED_BYTES).contains(&lower.len())
        && lower.bytes().all(|byte| byte.is_ascii_lowercase());
    if may_have { STEMMER.with(|stemmer| stemmer.stem(&lower).into_owned()) } else { lower }
}

/// True for a participle as it occurs in a cue: `owned`, `built`.
pub(super) fn is_participle(word: &str) -> bool {
    const IRREGULAR_ONES: &str = " built made written known run led held kept sent found taken given drawn bound \
         driven grown shown seen told left chosen read fed taught sold bought understood ";
    (word.ends_with("ed") && word.len() > 3)
        || IRREGULAR_ONES.split_ascii_whitespace().any(|one| one == word)
}

/// Nouns that add nothing to the name before them: `the Kafka cluster` is Kafka.
pub(in crate::relate) fn is_class_noun(word: &str) -> bool {
    const NOUNS: &str = " cluster clusters service services server servers database databases library libraries \
         framework frameworks language languages protocol protocols project projects tool tools team teams system \
         systems platform platforms package packages crate crates engine engines broker brokers daemon app \
         application applications product software program stack runtime operator group company corporation \
         organization organisation foundation department component components module modules format standard \
         specification instance instances backend ";
    is_in(NOUNS, word)
}

/// True when the word, lowercased, is in a list of words separated by blanks.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    let lower = word.to_lowercase();
    !lower.is_empty() && list.split_ascii_whitespace().any(|listed| listed == lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_verb_have_one_stem() {
        for forms in [
            ["use", "uses", "used", "using"],
            ["build", "builds", "built", "building"],
            ["depend", "depends", "depended", "depending"],
            ["require", "requires", "required", "requiring"],
            ["write", "writes", "written", "wrote"],
            ["own", "owns", "owned", "owning"],
            ["rely", "relies", "relied", "relies"],
            ["specify", "specifies", "specified", "specifying"],
        ] {
            let stems = forms.map(stem_of);
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
    }
}
