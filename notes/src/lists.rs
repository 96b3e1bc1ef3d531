//! Lists: words of natural language that rules ask for, kept as a table of text beside the rules.
//!
//! In: the table: a list a line, its name first, then its words or phrases, separated by tabs; `#` begins a comment.
//! Out: which lists contain a word. Invariant: a list that the table lacks contains nothing.

use std::collections::HashMap;

/// The lists of one table.
#[derive(Debug)]
pub struct WordLists {
    /// The lists that contain a word, in the order of the table.
    of_word: HashMap<&'static str, Vec<&'static str>>,
    words: HashMap<&'static str, Vec<&'static str>>,
}

impl WordLists {
    /// Parses a table.
    pub fn parse(table: &'static str) -> WordLists {
        let mut lists = WordLists { of_word: HashMap::new(), words: HashMap::new() };
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split('\t').filter(|field| !field.is_empty());
            let Some(name) = fields.next() else { continue };
            for word in fields {
                lists.of_word.entry(word).or_default().push(name);
                lists.words.entry(name).or_default().push(word);
            }
        }
        lists
    }

    /// Returns the names of the lists that contain a word, in the order of the table.
    pub fn of(&self, word: &str) -> &[&'static str] {
        self.of_word.get(word).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a list contains a word.
    pub fn has(&self, list: &str, word: &str) -> bool {
        self.of(word).contains(&list)
    }

    /// Returns the words of a list, in the order of the table.
    pub fn words(&self, list: &str) -> &[&'static str] {
        self.words.get(list).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::WordLists;

    #[test]
    fn a_word_is_found_in_each_of_its_lists() {
        let lists = WordLists::parse("# Comment.\nfirst\tby \tnote\t\nsecond\tnote\n");
        assert_eq!(lists.of("note"), ["first", "second"]);
        assert_eq!(lists.words("first"), ["by ", "note"]);
        assert!(!lists.has("second", "by ") && !lists.has("third", "note"));
    }
}
