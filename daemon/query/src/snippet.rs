//! Snippets: the few words of a chunk that answer best.

use rustc_hash::FxHashSet;

use index::words::{folded, humps};
use model::terms::{gram_length, is_word_char};

/// Where in `text` to cut a snippet of about `max_chars`: the stretch with most different question words, else
/// `otherwise`. Returns a byte range on word boundaries.
pub(super) fn choose(
    text: &str,
    words: &[String],
    otherwise: usize,
    max_chars: usize,
) -> std::ops::Range<usize> {
    let hits = word_hits(text, words);
    let start = match best_stretch(&hits, max_chars) {
        // A little before the first hit, so that the sentence can be understood.
        Some(first) => back_to_sentence(text, first, max_chars / 3),
        None => otherwise.min(text.len()),
    };
    let start = next_boundary(text, start);
    let end = text
        .get(start..)
        .unwrap_or("")
        .char_indices()
        .nth(max_chars)
        .map_or(text.len(), |(at, _)| word_end_before(text, start, start + at));
    start..end
}

/// The snippet on one line, with marks where it was cut.
pub(super) fn render(text: &str, range: std::ops::Range<usize>) -> String {
    let words: Vec<&str> = text.get(range.clone()).unwrap_or("").split_whitespace().collect();
    let (before, after) = (range.start > 0, range.end < text.trim_end().len());
    let mut out = String::new();
    if before {
        out.push('…');
    }
    out.push_str(&words.join(" "));
    if after {
        out.push('…');
    }
    out
}

/// Places where a question word begins, with the word's number. Words match by their first letters, so that
/// `rotation` answers `rotate`; parts of a CamelCase word as words do; of scripts without blanks, anywhere.
fn word_hits(text: &str, words: &[String]) -> Vec<(usize, usize)> {
    let asked: Vec<Asked> = words.iter().map(|word| Asked::of(word)).collect();
    let (mut hits, mut run, mut start) = (Vec::new(), Vec::new(), None);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_word_char(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let word = text.get(from..at).unwrap_or("");
                match gram_length(word) {
                    Some(_) => hits.extend(inner_hits(word, words).map(|(at, n)| (from + at, n))),
                    None => {
                        let parts: Vec<_> = humps(word).map(|part| (from, folded(part))).collect();
                        hits.extend(run_hits(&parts, &asked));
                        run.push((from, folded(word)));
                    }
                }
                start = None;
            }
            _ => {}
        }
    }
    hits.extend(run_hits(&run, &asked));
    // What stands nowhere as a whole is shown by its first word that says something.
    let found: FxHashSet<usize> = hits.iter().map(|(_, n)| *n).collect();
    for (n, one) in asked.iter().enumerate().filter(|(n, _)| !found.contains(n)) {
        let Some(first) = one.first_telling() else { continue };
        hits.extend(run.iter().filter(|(_, word)| word.starts_with(first)).map(|(at, _)| (*at, n)));
    }
    hits.sort_unstable();
    hits
}

/// A word or compound of the question.
struct Asked {
    whole: String,
    /// How its words begin; numbers are whole.
    parts: Vec<String>,
}

impl Asked {
    fn of(word: &str) -> Self {
        Asked { whole: word.into(), parts: word.split(' ').map(stem).collect() }
    }

    /// True when a text goes on with it: its words in order, or what they are when they are joined.
    fn begins(&self, text: &[(usize, String)]) -> bool {
        let mut words = text.iter();
        let mut fits = |part: &String| {
            words.next().is_some_and(|(_, word)| match is_number(part) {
                true => word == part,
                false => word.starts_with(part.as_str()),
            })
        };
        self.parts.iter().all(&mut fits) || self.is_joined_of(text)
    }

    /// `keyrotationjob` of `key-rotation job`.
    fn is_joined_of(&self, text: &[(usize, String)]) -> bool {
        let mut rest = self.whole.as_str();
        for (_, word) in text {
            match rest.strip_prefix(word.as_str()) {
                Some("") => return true,
                Some(left) => rest = left,
                None => return false,
            }
        }
        false
    }

    /// The beginning of a compound's first word that is no number and not short.
    fn first_telling(&self) -> Option<&str> {
        let parts = self.parts.get(..).filter(|parts| parts.len() > 1)?;
        let mut telling = parts.iter().filter(|part| part.len() >= 3 && !is_number(part));
        telling.next().map(String::as_str)
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where in consecutive words one of the question begins.
fn run_hits(run: &[(usize, String)], asked: &[Asked]) -> Vec<(usize, usize)> {
    let mut hits = Vec::new();
    for (i, (at, _)) in run.iter().enumerate() {
        let rest = run.get(i..).unwrap_or_default();
        hits.extend(asked.iter().position(|one| one.begins(rest)).map(|n| (*at, n)));
    }
    hits
}

/// Which of the question's words stand in a text, one bit each; the first 64.
pub(super) fn matched(text: &str, words: &[String]) -> u64 {
    word_hits(text, words)
        .iter()
        .fold(0, |found, (_, n)| found | 1_u64.checked_shl(*n as u32).unwrap_or(0))
}

/// Places inside a run without blanks where a question's gram stands.
fn inner_hits(run: &str, words: &[String]) -> impl Iterator<Item = (usize, usize)> {
    let grams = words.iter().enumerate().filter(|(_, word)| gram_length(word).is_some());
    grams.flat_map(move |(n, gram)| run.match_indices(gram.as_str()).map(move |(at, _)| (at, n)))
}

/// The first letters of a word.
fn stem(word: &str) -> String {
    let n = word.chars().count();
    let is_whole = n <= 5 || is_number(word);
    word.chars().take(if is_whole { n } else { n - 2 }).collect()
}

/// Start of the stretch of `max_chars` bytes with most different words; the earliest on a tie.
fn best_stretch(hits: &[(usize, usize)], max_chars: usize) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for (i, (from, _)) in hits.iter().enumerate() {
        let mut seen: Vec<usize> = hits
            .iter()
            .skip(i)
            .take_while(|(at, _)| at - from < max_chars * 2 / 3)
            .map(|h| h.1)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        if best.is_none_or(|(n, _)| seen.len() > n) {
            best = Some((seen.len(), *from));
        }
    }
    best.map(|(_, from)| from)
}

/// The start of the sentence that holds `at`, if it is at most `max_back` bytes before; else `at` itself.
fn back_to_sentence(text: &str, at: usize, max_back: usize) -> usize {
    let low = next_boundary(text, at.saturating_sub(max_back));
    let before = text.get(low..at).unwrap_or("");
    match before.rfind(['\n', '.', '?', '!']) {
        Some(stop) => low + stop + 1,
        None if low == 0 => 0,
        None => before.find(' ').map_or(at, |space| low + space + 1),
    }
}

fn next_boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    let rest = text.get(at..).unwrap_or("");
    at + (rest.len() - rest.trim_start().len())
}

fn word_end_before(text: &str, start: usize, end: usize) -> usize {
    match text.get(start..end).and_then(|cut| cut.rfind(char::is_whitespace)) {
        Some(space) if space > (end - start) / 2 => start + space,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_snippet_holds_the_reason() {
        let text = "Some history first, which nobody asked about at all and which is long. The signing keys \
            are rotated every ninety days by a job. More words follow after that.";
        let words = ["rotate", "signing", "keys"].map(String::from);
        let range = choose(text, &words, 0, 60);
        assert_eq!(
            render(text, range),
            "…The signing keys are rotated every ninety days by a job.…"
        );
    }

    #[test]
    fn a_word_is_held_as_typed_by_part_and_joined() {
        let rows: &[(&str, &str, u64)] = &[
            ("in 2013 came 1.2.3 out", "1 2 3", 1),
            ("in 2013 came 1.2 out", "1 2 3", 0),
            ("the KeyRotationJob runs", "rotation", 1),
            ("the KeyRotationJob runs", "key rotation", 1),
            ("a key-rotation job", "keyrotationjob", 1),
            ("key rotations", "keyrotationjob", 0),
            ("call getUserById", "user id", 0),
            ("a dose that rises", "dose dependent", 1),
            ("version 10", "1", 0),
        ];
        for (text, word, held) in rows {
            assert_eq!(matched(text, &[(*word).to_string()]), *held, "{word} in {text}");
        }
        let text =
            "Since 2010 and 1 July 2011 there were 12 others, too. The version 1.2.3 is out.";
        let range = choose(text, &["1 2 3".to_string()], 0, 40);
        assert!(render(text, range).contains("1.2.3"));
    }

    #[test]
    fn without_a_word_it_starts_where_the_meaning_is() {
        let range = choose("alpha beta gamma delta", &[], 6, 10);
        assert_eq!(render("alpha beta gamma delta", range), "…beta gamma…");
    }

    proptest! {
        #[test]
        fn any_text_gives_a_valid_range(text in "\\PC{0,200}", words in proptest::collection::vec("\\PC{0,8}", 0..4),
                                        otherwise in 0usize..300, max in 1usize..120) {
            let range = choose(&text, &words, otherwise, max);
            prop_assert!(text.get(range.clone()).is_some());
            prop_assert!(text[range].chars().count() <= max);
        }
    }
}
