//! Cursor: where the next page of hits starts.
//!
//! In: a request, the hits shown so far. Out: a short text that the caller passes back for the next
//! page.
//! Invariants: the daemon keeps no state; a cursor identifies passages by document and content, and
//! repeated texts by content alone, so that the next page neither repeats nor skips any, whatever
//! was indexed, moved, copied or ranked again in the meantime; the cursor of another question is
//! refused.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proto::error::ErrorView;
use proto::tool::core::HybridQuery;
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::invalid;
use crate::plan::MAX_RECALL;

/// Bytes of a number in a cursor.
const NUMBER: usize = 4;

/// The hits of earlier pages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cursor {
    /// Hash of the question and its conditions.
    asked: u32,
    seen: FxHashSet<u32>,
}

impl Cursor {
    /// Returns the cursor before the first page.
    pub(crate) fn first(request: &HybridQuery) -> Cursor {
        Cursor { asked: asked(request), seen: FxHashSet::default() }
    }

    /// Parses the cursor that an answer to this request returned.
    ///
    /// # Errors
    /// When the text is not a cursor, or belongs to another question.
    pub(crate) fn parse(text: &str, request: &HybridQuery) -> Result<Cursor, ErrorView> {
        let hint = "pass the `next_cursor` of an answer to the same question, or omit it for the first page";
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim()).unwrap_or_default();
        let (numbers, rest) = bytes.as_chunks::<NUMBER>();
        let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let Some(of) =
            numbers.next().filter(|_| rest.is_empty() && bytes.len() <= NUMBER * MAX_RECALL)
        else {
            return Err(invalid("invalid `cursor`: no answer returned it".into(), hint));
        };
        if of != asked(request) {
            return Err(invalid(
                "`cursor` belongs to another question or other conditions".into(),
                hint,
            ));
        }
        Ok(Cursor { asked: of, seen: numbers.collect() })
    }

    /// The number of passages on earlier pages.
    pub(crate) fn n_seen(&self) -> usize {
        self.seen.len()
    }

    /// Returns whether an earlier page had this passage.
    pub(crate) fn has_seen(&self, mark: u32) -> bool {
        self.seen.contains(&mark)
    }

    /// Returns the cursor after these passages; `None` if even the deepest search cannot have more
    /// candidates.
    pub(crate) fn after(&self, marks: &[u32]) -> Option<String> {
        let mut seen: Vec<u32> = self.seen.iter().chain(marks).copied().collect();
        seen.sort_unstable();
        seen.dedup();
        let numbers = std::iter::once(self.asked).chain(seen.iter().copied());
        let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        (seen.len() + 1 < MAX_RECALL).then(|| BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Hashes everything that determines the hits and their order, but neither their number nor their
/// length.
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

/// Identifies a passage by its document, even after a rename, and its words. The chunk's own hash
/// would not work: it includes the title, which may be the file name.
pub(crate) fn mark(uid: &str, words: &str) -> u32 {
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
    fn a_cursor_belongs_to_one_question_and_its_conditions() {
        let text = Cursor::first(&request("who owns it")).after(&[7, 9]).expect("a cursor");
        let again = HybridQuery { k: Some(3), max_chars: Some(300), ..request(" who owns it ") };
        let cursor = Cursor::parse(&text, &again).expect("the same question");
        assert_eq!((cursor.n_seen(), cursor.has_seen(9), cursor.has_seen(8)), (2, true, false));
        let within = HybridQuery { path: Some("docs/".into()), ..request("who owns it") };
        for (text, request, message) in [
            (text.as_str(), &within, "`cursor` belongs to another question or other conditions"),
            (
                text.as_str(),
                &request("who?"),
                "`cursor` belongs to another question or other conditions",
            ),
            ("", &again, "invalid `cursor`: no answer returned it"),
            ("?", &again, "invalid `cursor`: no answer returned it"),
            ("AAAAAAA", &again, "invalid `cursor`: no answer returned it"),
        ] {
            assert_eq!(Cursor::parse(text, request).expect_err("refused").message, message);
        }
    }

    #[test]
    fn a_cursor_ends_where_the_deepest_search_ends() {
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
        fn marks_are_read_back(marks in proptest::collection::hash_set(any::<u32>(), 0..60)) {
            let all: Vec<u32> = marks.iter().copied().collect();
            let text = Cursor::first(&request("x")).after(&all).expect("a cursor");
            let cursor = Cursor::parse(&text, &request("x")).expect("the same");
            prop_assert_eq!(cursor.seen.into_iter().collect::<std::collections::HashSet<_>>(), marks);
        }
    }
}
