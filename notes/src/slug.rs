//! Slugs: permalinks from titles and paths (S0 §14).
//!
//! In: any words. Out: lowercase letters and digits of any script, separated by single hyphens.
//! Invariants: never empty, no hyphen at either end; the same for every Unicode form of the same words, and for words
//! that [`fold`](names::fold) takes for the same; folding a slug changes nothing.
//! Why not the folded words: an address has no signs in it, and a compatibility form (`ﬁ`, `№`) is spelled out.

use unicode_normalization::UnicodeNormalization;

/// Slug of words without a letter or digit, followed by a hash.
const FALLBACK: &str = "note";
/// Most characters of an observation's content in its permalink.
const MAX_CONTENT_CHARS: usize = 200;

/// Returns the slug of a title: `machine-learning-basics` for `Machine Learning Basics!`. Words without a letter or
/// digit give `note-` and a hash of them.
pub fn slug(words: &str) -> String {
    let folded = names::fold(words);
    let slug = bare(&folded);
    if slug.is_empty() { format!("{FALLBACK}-{:08x}", fnv(&folded)) } else { slug }
}

/// Returns the slug of each part of a path, without the extension of a Markdown file: `specs/search-api` for
/// `Specs/Search API.md`.
pub fn path_slug(path: &str) -> String {
    let folded = names::fold(path);
    let path = without_extension(&folded);
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).map(slug);
    let slug = parts.collect::<Vec<_>>().join("/");
    if slug.is_empty() { self::slug(path) } else { slug }
}

/// Returns the permalink of an observation: `ml-basics/observations/definition/machine-learning-is`.
pub fn observation(note: &str, category: &str, content: &str) -> String {
    let head: String = content.chars().take(MAX_CONTENT_CHARS).collect();
    format!("{note}/observations/{}/{}", slug(category), slug(&head))
}

/// Returns the permalink of a relation: `ml-basics/requires/training-data`.
pub fn relation(note: &str, relation_type: &str, target: &str) -> String {
    format!("{note}/{}/{}", slug(relation_type), path_slug(target))
}

/// Returns a path without `.md` or `.markdown`.
pub fn without_extension(path: &str) -> &str {
    let ends = |ending: &str| {
        let at = path.len().checked_sub(ending.len())?;
        path.get(at..).filter(|it| it.eq_ignore_ascii_case(ending)).and_then(|_| path.get(..at))
    };
    ends(".md").or_else(|| ends(".markdown")).unwrap_or(path)
}

/// Returns the slug of folded words; empty if they have no letter or digit.
fn bare(folded: &str) -> String {
    let mut slug = String::new();
    let plain: String = folded.nfkc().collect();
    for c in names::fold(&plain).chars() {
        if c.is_alphanumeric() || is_mark(c) && !slug.is_empty() && !slug.ends_with('-') {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// True for combining marks, which are part of the letter before them.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// FNV-1a, 32 bits. Implemented here, since permalinks must never change.
fn fnv(words: &str) -> u32 {
    words.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::{observation, path_slug, relation, slug};

    /// S0 §14.1.
    #[test]
    fn permalink_generation() {
        let rows = [
            ("Machine Learning Basics!", "machine-learning-basics"),
            ("My Research", "my-research"),
            ("  --a__b  c--  ", "a-b-c"),
            ("React [[Hooks]]", "react-hooks"),
            ("Über Größe", "über-größe"),
            ("U\u{308}ber", "über"),
            ("日本語 ノート", "日本語-ノート"),
            ("हिन्दी", "हिन्दी"),
            ("ﬁne №5", "fine-no5"),
            ("Gesamt\u{ad}kon\u{200b}zept", "gesamtkonzept"),
            ("İĞNE ıı Οδός", "iğne-ii-οδόσ"),
            ("葛\u{e0100}城", "葛城"),
            ("C++", "c"),
            ("", "note-811c9dc5"),
            ("🎉", "note-70d77d09"),
        ];
        for (title, expected) in rows {
            assert_eq!(slug(title), expected, "{title:?}");
            assert_eq!(slug(expected), expected);
            assert_eq!(names::fold(expected), expected);
        }
    }

    #[test]
    fn paths_keep_their_folders() {
        let rows = [
            ("Specs/Search API.md", "specs/search-api"),
            ("a.markdown", "a"),
            ("notes/v1.2 draft", "notes/v1-2-draft"),
            ("/a//b/", "a/b"),
            ("../a/./b", "a/b"),
        ];
        for (path, expected) in rows {
            assert_eq!(path_slug(path), expected);
        }
    }

    /// S0 §14.2.
    #[test]
    fn synthetic_observation_permalink() {
        let content = "Machine learning is a subset of AI that enables systems to learn from data without explicit \
                       programming";
        assert_eq!(
            observation("ml-basics", "definition", content),
            "ml-basics/observations/definition/machine-learning-is-a-subset-of-ai-that-enables-systems-to-learn-from-\
             data-without-explicit-programming"
        );
        let long = observation("n", "fact", &"é ".repeat(300));
        assert_eq!(long, format!("n/observations/fact/{}", vec!["é"; 100].join("-")));
        assert_eq!(
            relation("a/b", "Depends on", "Folder/My Note"),
            "a/b/depends-on/folder/my-note"
        );
    }
}
