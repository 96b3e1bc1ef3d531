//! Cursor: where a list of hits goes on.
//!
//! In: a request, what was told so far. Out: a short text that the caller gives back for the next page.
//! Invariants: the daemon keeps nothing; a cursor tells passages by document and content, and what is held once for all
//! its places by content alone, so that the next page repeats none of them and leaves none out, whatever was indexed,
//! moved, copied or ranked anew in between; one of another question is refused.
//! Not here: what is ranked how (`rank.rs`).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proto::error::ErrorView;
use proto::tool::core::HybridQuery;
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::error::invalid;
use super::plan::MAX_RECALL;

/// Bytes of a number in a cursor.
const NUMBER: usize = 4;

/// What earlier answers to a question told.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cursor {
    /// The question and its conditions.
    asked: u32,
    told: FxHashSet<u32>,
}

impl Cursor {
    /// Before the first page.
    pub(super) fn first(request: &HybridQuery) -> Cursor {
        Cursor { asked: asked(request), told: FxHashSet::default() }
    }

    /// The one that an answer to this request gave.
    ///
    /// # Errors
    /// When the text is none, or of another question.
    pub(super) fn parse(text: &str, request: &HybridQuery) -> Result<Cursor, ErrorView> {
        let hint =
            "give the `next_cursor` of an answer to the same question, or none for the first page";
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim()).unwrap_or_default();
        let (numbers, rest) = bytes.as_chunks::<NUMBER>();
        let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let Some(of) =
            numbers.next().filter(|_| rest.is_empty() && bytes.len() <= NUMBER * MAX_RECALL)
        else {
            return Err(invalid("`cursor` is none that an answer gave".into(), hint));
        };
        if of != asked(request) {
            return Err(invalid(
                "`cursor` is of another question or other conditions".into(),
                hint,
            ));
        }
        Ok(Cursor { asked: of, told: numbers.collect() })
    }

    /// How many passages were told.
    pub(super) fn n_told(&self) -> usize {
        self.told.len()
    }

    pub(super) fn has_told(&self, mark: u32) -> bool {
        self.told.contains(&mark)
    }

    /// The text of the cursor after these; none where no more candidates are looked for.
    pub(super) fn after(&self, marks: &[u32]) -> Option<String> {
        let mut told: Vec<u32> = self.told.iter().chain(marks).copied().collect();
        told.sort_unstable();
        told.dedup();
        let numbers = std::iter::once(self.asked).chain(told.iter().copied());
        let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        (told.len() + 1 < MAX_RECALL).then(|| BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Whatever decides which hits come in which order; neither how many nor how long they are.
fn asked(request: &HybridQuery) -> u32 {
    let same = HybridQuery {
        q: request.q.trim().to_string(),
        k: None,
        max_chars: None,
        max_tokens: None,
        cursor: None,
        ..request.clone()
    };
    xxh3_64(serde_json::to_string(&same).unwrap_or_default().as_bytes()) as u32
}

/// What tells a passage from others: its document, also after a renaming, if it matters, and its words. Not the chunk's
/// hash: a file's title is in it, which may be its name.
pub(super) fn mark(uid: &str, words: &str) -> u32 {
    xxh3_64(&[uid.as_bytes(), words.as_bytes()].concat()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(q: &str) -> HybridQuery {
        HybridQuery { q: q.into(), ..HybridQuery::default() }
    }

    #[test]
    fn a_cursor_is_of_one_question_and_its_conditions() {
        let text = Cursor::first(&request("who owns it")).after(&[7, 9]).expect("a cursor");
        let again = HybridQuery { k: Some(3), max_chars: Some(300), ..request(" who owns it ") };
        let cursor = Cursor::parse(&text, &again).expect("of the same question");
        assert_eq!((cursor.n_told(), cursor.has_told(9), cursor.has_told(8)), (2, true, false));
        let within = HybridQuery { path: Some("docs/".into()), ..request("who owns it") };
        for (text, request, message) in [
            (text.as_str(), &within, "`cursor` is of another question or other conditions"),
            (
                text.as_str(),
                &request("who?"),
                "`cursor` is of another question or other conditions",
            ),
            ("", &again, "`cursor` is none that an answer gave"),
            ("?", &again, "`cursor` is none that an answer gave"),
            ("AAAAAAA", &again, "`cursor` is none that an answer gave"),
        ] {
            assert_eq!(Cursor::parse(text, request).expect_err("refused").message, message);
        }
    }

    #[test]
    fn a_cursor_ends_where_no_more_is_looked_for() {
        let marks: Vec<u32> = (0..MAX_RECALL as u32).collect();
        let first = Cursor::first(&request("x"));
        assert!(first.after(&marks[..MAX_RECALL - 2]).is_some());
        assert_eq!(first.after(&marks), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_cursor_or_refused(text in "\\PC{0,80}") {
            let _ = Cursor::parse(&text, &request("x"));
        }

        #[test]
        fn what_was_told_is_read_back(marks in proptest::collection::hash_set(any::<u32>(), 0..60)) {
            let all: Vec<u32> = marks.iter().copied().collect();
            let text = Cursor::first(&request("x")).after(&all).expect("a cursor");
            let cursor = Cursor::parse(&text, &request("x")).expect("the same");
            prop_assert_eq!(cursor.told.into_iter().collect::<std::collections::HashSet<_>>(), marks);
        }
    }
}
