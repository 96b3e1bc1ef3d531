//! Label: what the first words of an element announce, in the languages of most pages.
//!
//! In: the beginning of a run of text. Out: a [`Label`]. Invariant: a label alone drops nothing; the element must
//! also look like what it announces (`surround.rs`).

use std::sync::LazyLock;

use notes::lists::WordLists;

static LABELS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("labels.tsv")));

/// What an element's first words announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// Nothing in particular.
    None,
    /// Links to other pages.
    Related,
    /// Comments of readers, or a form for them.
    Comments,
    /// Buttons, tags, advertisements.
    Furniture,
    /// A copyright line.
    Rights,
    /// The author.
    Byline,
    /// A question about cookies.
    Consent,
}

/// How much of a run is read, in characters.
const START_CHARS: usize = 60;
/// Longest run that may announce other pages or furniture, in bytes; longer ones are content.
const MAX_LABEL_BYTES: usize = 70;

/// Returns the label of a run, given its beginning and its total length in bytes.
pub(super) fn label_of(start: &str, n_bytes: usize) -> Label {
    let start = start.trim_start_matches(|c: char| !c.is_alphanumeric() && !"©(-".contains(c));
    let mut lowered: String =
        start.chars().take(START_CHARS).flat_map(char::to_lowercase).collect();
    if lowered.contains('’') {
        lowered = lowered.replace('’', "'");
    }
    let is_any = |text: &str, label| LABELS.words(label).iter().any(|it| is_phrase(text, it));
    if is_any(&lowered, "rights") {
        return Label::Rights;
    }
    // The word `cookie` is used in most languages.
    if lowered.contains("cookie") {
        return Label::Consent;
    }
    if n_bytes > MAX_LABEL_BYTES {
        // `Read also: a long headline` is a label together with the headline.
        let announced =
            LABELS.words("related").iter().find_map(|phrase| lowered.strip_prefix(phrase));
        let is_announced = announced.is_some_and(|rest| rest.trim_start().starts_with(':'));
        return if is_announced { Label::Related } else { Label::None };
    }
    // `12 comments`
    let counted = lowered.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    match () {
        () if is_any(&lowered, "related") => Label::Related,
        () if is_any(counted, "comments") => Label::Comments,
        () if counted.len() < lowered.len() && is_phrase(counted, "comment") => Label::Comments,
        () if is_any(&lowered, "furniture") => Label::Furniture,
        () if is_any(&lowered, "byline") => Label::Byline,
        () => Label::None,
    }
}

/// True when a text begins with a phrase and not with a longer word.
fn is_phrase(text: &str, phrase: &str) -> bool {
    let Some(rest) = text.strip_prefix(phrase) else { return false };
    // Phrases that end so may be stems of longer words, such as `relacionad`.
    let is_open = phrase.ends_with([' ', 'd', 'i']) || !phrase.ends_with(char::is_alphabetic);
    is_open || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::{Label, label_of};

    #[test]
    fn first_words_are_read() {
        let rows = [
            ("Related articles", Label::Related),
            ("» LIRE AUSSI : Le port", Label::Related),
            ("12 Comments", Label::Comments),
            ("1 comment", Label::Comments),
            ("Commentary on the gate", Label::None),
            ("Share this:", Label::Furniture),
            ("Shared memory is fast", Label::None),
            ("© 2020 The authors", Label::Rights),
            ("This site uses cookies to ensure the best", Label::Consent),
            ("Von Ina Veld, Ostrel", Label::Byline),
            ("Installation", Label::None),
        ];
        for (text, label) in rows {
            assert_eq!(label_of(text, text.len()), label, "{text}");
        }
    }
}
