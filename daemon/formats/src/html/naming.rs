//! Naming: what a class or id says about its element, by its words.
//!
//! In: one class or id. Out: a [`Hint`]. The words are used by themes and content systems of many makers; none is
//! specific to one site.
//! Invariant: a name is read alone; `hints.rs` decides between several.

use std::sync::LazyLock;

use notes::lists::WordLists;

use super::hints::Hint;

static WORDS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("names.tsv")));

/// Longest name that is read, in bytes; longer ones are generated.
const MAX_NAME_BYTES: usize = 60;
/// Most words of a name that are read.
const MAX_WORDS: usize = 8;

/// Returns the hint of one word. The lists that stand for a hint come first in the table.
fn of_word(word: &str) -> Hint {
    match WORDS.of(word).first() {
        Some(&"callout") => Hint::Callout,
        Some(&"comments") => Hint::Comments,
        Some(&"suspect") => Hint::Suspect,
        Some(&"byline") => Hint::Byline,
        Some(&"caption") => Hint::Caption,
        Some(&"body") => Hint::Body,
        Some(&"content") => Hint::Content,
        Some(&("frame" | "promotion")) => Hint::Boilerplate,
        _ => Hint::None,
    }
}

/// Returns the hint of one class or id. The last word has the most weight: `article-share` is for sharing,
/// `sidebar-layout` is not a sidebar.
pub(super) fn of_name(name: &str) -> Hint {
    if name.len() > MAX_NAME_BYTES {
        return Hint::None;
    }
    let lowered = with_words_apart(name);
    let all = lowered.split(|letter: char| !letter.is_ascii_alphabetic());
    let mut words = [""; MAX_WORDS];
    let mut n_words = 0;
    for (place, word) in words.iter_mut().zip(all.filter(|word| !word.is_empty())) {
        *place = word;
        n_words += 1;
    }
    let mut words = &words[..n_words];
    // `sidebar-wrapper` is a sidebar; a name of neutral words alone keeps one.
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && WORDS.has("neutral", last)
    {
        words = rest;
    }
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return Hint::None };
    // Blogs put a post's subjects into its classes: `category-news`.
    if words.len() > 1 && matches!(*first, "category" | "tag") {
        return Hint::None;
    }
    let (of_first, of_last) = (of_word(first), of_word(last));
    let has = |list: &str| words.iter().any(|word| WORDS.has(list, word));
    // `has-sidebar`, `nav-open`: about the page, not a name of the element.
    if words.len() > 1 && (WORDS.has("with", first) || WORDS.has("state", last)) {
        return Hint::None;
    }
    if words.contains(&"table") && words.contains(&"contents") {
        return Hint::Boilerplate;
    }
    if words.contains(&"caption") {
        return Hint::Caption;
    }
    if words.iter().any(|word| word.starts_with("author")) && has("box") {
        return Hint::Boilerplate;
    }
    match (of_first, of_last) {
        // `comment-body`, `sidebar-content`: the first word says what it is part of.
        (
            Hint::Boilerplate | Hint::Comments,
            Hint::Content | Hint::None | Hint::Byline | Hint::Body,
        ) => of_first,
        // `story__related-links`: a word in the middle decides if the last one says little.
        (_, Hint::None | Hint::Content | Hint::Suspect) if has("frame") || has("promotion") => {
            Hint::Boilerplate
        }
        // `post-content`: the body of an article.
        (_, Hint::Content | Hint::Body) if has("article") && has("text") => Hint::Body,
        // `entry-meta`, `post-info`, `article-date`: the line below a headline.
        (Hint::Content | Hint::None, Hint::Suspect | Hint::None | Hint::Callout)
            if has("article") && matches!(*last, "meta" | "date" | "info" | "details" | "time") =>
        {
            Hint::Byline
        }
        (_, hint) => hint,
    }
}

/// Returns a name in lowercase, with a `-` where `camelCase` begins a word.
fn with_words_apart(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
        before = letter;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Hint, of_name};

    #[test]
    fn names_are_read_by_their_words() {
        let rows = [
            ("article-share", Hint::Boilerplate),
            ("sidebar", Hint::Boilerplate),
            ("sidebar-layout", Hint::None),
            ("has-sidebar", Hint::None),
            ("addtoany_share_save_container", Hint::Boilerplate),
            ("right-sidebar", Hint::Boilerplate),
            ("nav-open", Hint::None),
            ("content-wrapper", Hint::Content),
            ("comment-body", Hint::Comments),
            ("siteFooter", Hint::Boilerplate),
            ("post-content", Hint::Body),
            ("main-content", Hint::Content),
            ("main-menu", Hint::Suspect),
            ("admonition-note", Hint::Callout),
            ("story__related-links", Hint::Boilerplate),
            ("author-bio", Hint::Boilerplate),
            ("entry-meta", Hint::Byline),
            ("wp-caption-text", Hint::Caption),
            ("css-1x2y3z", Hint::None),
            ("", Hint::None),
        ];
        for (name, hint) in rows {
            assert_eq!(of_name(name), hint, "{name}");
        }
    }
}
