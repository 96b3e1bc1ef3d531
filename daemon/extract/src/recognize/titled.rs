//! Titled: the capitals in `[Monitoring System and Time Series Database Suited for Containers](…)`
//! prove nothing.
//!
//! In: what the recognizers found. Out: the same without runs of words that look like a name only
//! because a link's title capitalizes them.
//! Invariants: single words, and names that the document also has elsewhere, stay; a title has at
//! least [`MIN_WORDS`] words. Linear, except for sorting.

use rustc_hash::FxHashSet;

use super::words;
use model::document::{Document, Mention, RecognizerKind};
use model::terms::{Norm, Span};

const MIN_WORDS: usize = 4;

/// Drops names that only a title's capitals suggest.
pub(super) fn drop_unproved(doc: &Document, found: &mut Vec<Mention>) {
    let mut titles: Vec<Span<Norm>> =
        doc.links.iter().map(|it| it.span).filter(|it| is_title(it.of(&doc.text))).collect();
    if titles.is_empty() {
        return;
    }
    titles.sort_unstable();
    let is_in_title = |m: &Mention| {
        let next = titles.partition_point(|it| it.start() <= m.span.start());
        let title = next.checked_sub(1).and_then(|i| titles.get(i));
        title.is_some_and(|it| it.contains(m.span) && *it != m.span)
    };
    let elsewhere: FxHashSet<String> =
        found.iter().filter(|m| !is_in_title(m)).map(|m| m.name.clone()).collect();
    found.retain(|m| {
        let is_run = matches!(m.recognizer, RecognizerKind::Pattern | RecognizerKind::Statistical)
            && m.name.contains(' ');
        !is_run || !is_in_title(m) || elsewhere.contains(&m.name)
    });
}

/// Returns whether the first word and three of four words are capitalized, function words not
/// counted.
fn is_title(text: &str) -> bool {
    if !text.starts_with(char::is_uppercase) {
        return false;
    }
    let words = text.split(|c: char| c.is_whitespace() || c == '-').filter(|word| !word.is_empty());
    let (mut n, mut n_large) = (0, 0);
    for word in words.filter(|word| !words::is_function_word(word)) {
        n += 1;
        n_large += usize::from(word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()));
    }
    n >= MIN_WORDS && n_large * 4 >= n * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_capitals_throughout() {
        for (text, expected) in [
            ("A Monitoring System and Time Series Database Suited for Containers", true),
            ("Monitoring Mesos tasks with Prometheus", true),
            ("Docker", false),
            ("Apache Software Foundation", false),
            ("how to use Kafka with the Signing Service", false),
        ] {
            assert_eq!(is_title(text), expected, "{text}");
        }
    }
}
