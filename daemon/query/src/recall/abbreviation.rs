//! Abbreviation: common short forms of software words.
//!
//! In: a word that no document has. Out: its other form, which some document may have.
//! Invariant: a word that some document has is never replaced, so a folder's own use of it (`fn` in
//! code) wins.

/// Short forms, each followed by its word.
const FORMS: &str = "admin administrator, app application, arg argument, async asynchronous, attr attribute, auth \
    authentication, bool boolean, char character, cmd command, config configuration, ctx context, db \
    database, deps dependencies, dev development, dir directory, docs documentation, env environment, err \
    error, exec execute, fn function, func function, impl implementation, info information, init \
    initialization, int integer, lib library, max maximum, min minimum, msg message, num number, param \
    parameter, pkg package, prod production, ref reference, repo repository, spec specification, stats \
    statistics, str string, sync synchronous, var variable";

fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS.split(", ").filter_map(|pair| pair.split_once(' '))
}

/// Returns the other forms of a word, folded.
pub(crate) fn other_forms(word: &str) -> impl Iterator<Item = &'static str> {
    forms().filter_map(move |(short, long)| match word {
        _ if word == short => Some(long),
        _ if word == long => Some(short),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_in_both_directions() {
        assert_eq!(other_forms("fn").collect::<Vec<_>>(), ["function"]);
        assert_eq!(other_forms("function").collect::<Vec<_>>(), ["fn", "func"]);
        assert_eq!(other_forms("lantern").count(), 0);
        assert!(forms().is_sorted());
        assert_eq!(forms().count(), 40);
    }
}
