//! Abbreviation: short forms that people write for words of software, and the words.
//!
//! In: a word that stands nowhere in the folder. Out: the other form of it, which may.
//! Invariant: a word that stands somewhere is never read as another, so a folder's own use of it (`fn` in code) wins.
//! Not here: short forms that a document defines itself, which are names (`extract/link/alias.rs`), and beginnings of
//! words.

/// The short form and the word.
const FORMS: [(&str, &str); 40] = [
    ("admin", "administrator"),
    ("app", "application"),
    ("arg", "argument"),
    ("async", "asynchronous"),
    ("attr", "attribute"),
    ("auth", "authentication"),
    ("bool", "boolean"),
    ("char", "character"),
    ("cmd", "command"),
    ("config", "configuration"),
    ("ctx", "context"),
    ("db", "database"),
    ("deps", "dependencies"),
    ("dev", "development"),
    ("dir", "directory"),
    ("docs", "documentation"),
    ("env", "environment"),
    ("err", "error"),
    ("exec", "execute"),
    ("fn", "function"),
    ("func", "function"),
    ("impl", "implementation"),
    ("info", "information"),
    ("init", "initialization"),
    ("int", "integer"),
    ("lib", "library"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("msg", "message"),
    ("num", "number"),
    ("param", "parameter"),
    ("pkg", "package"),
    ("prod", "production"),
    ("ref", "reference"),
    ("repo", "repository"),
    ("spec", "specification"),
    ("stats", "statistics"),
    ("str", "string"),
    ("sync", "synchronous"),
    ("var", "variable"),
];

/// The other forms of a word, folded.
pub(crate) fn other_forms(word: &str) -> impl Iterator<Item = &'static str> {
    FORMS.iter().filter_map(move |(short, long)| match word {
        _ if word == *short => Some(*long),
        _ if word == *long => Some(*short),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_both_ways() {
        assert_eq!(other_forms("fn").collect::<Vec<_>>(), ["function"]);
        assert_eq!(other_forms("function").collect::<Vec<_>>(), ["fn", "func"]);
        assert_eq!(other_forms("lantern").count(), 0);
        assert!(FORMS.is_sorted());
    }
}
