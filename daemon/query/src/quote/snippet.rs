//! Snippet: the few words of a text that answer best.

use std::ops::Range;

use super::matched::word_hits;

/// Returns the byte range of a snippet of at most `max_chars` in `text`: the range whose distinct
/// question words are worth most (`worth`, in the order of `words`; equal if missing), starting at
/// a sentence; without any such word, starting at `otherwise`. The range starts at a word.
pub(crate) fn choose(
    text: &str,
    words: &[String],
    worth: &[f32],
    otherwise: usize,
    max_chars: usize,
) -> Range<usize> {
    let hits = word_hits(text, words);
    let start = best_start(text, &hits, worth, max_chars).unwrap_or(otherwise.min(text.len()));
    let start = next_boundary(text, start);
    start..end_of(text, start, max_chars)
}

/// Returns where a snippet of at most `max_chars` that starts at `start` ends.
fn end_of(text: &str, start: usize, max_chars: usize) -> usize {
    let mut chars = text.get(start..).unwrap_or("").char_indices();
    chars.nth(max_chars).map_or(text.len(), |(at, _)| word_end_before(text, start, start + at))
}

/// As [`choose`], from a text that contains a passage at `own`: the whole passage with the text
/// around it if there is room, else a part of the passage.
pub(crate) fn choose_around(
    text: &str,
    own: Range<usize>,
    words: &[String],
    worth: &[f32],
    max_chars: usize,
) -> Range<usize> {
    let passage = text.get(own.clone()).unwrap_or("");
    if passage.chars().count() > max_chars {
        let within = choose(passage, words, worth, 0, max_chars);
        let range = own.start + within.start..own.start + within.end;
        return filled(text, own.start, range, max_chars);
    }
    let hits = word_hits(text, words);
    let starts = own.end.saturating_sub(max_chars)..own.start;
    let sentences = hits.iter().map(|(at, _)| back_to_sentence(text, *at, max_chars / 3));
    let mut best = (worth_within(&hits, worth, own.start, max_chars), own.start);
    for start in sentences.filter(|start| starts.contains(start)) {
        let sum = worth_within(&hits, worth, start, max_chars);
        if sum > best.0 {
            best = (sum, start);
        }
    }
    let start = next_boundary(text, best.1);
    filled(text, 0, start..end_of(text, start, max_chars), max_chars)
}

/// Extends the range to lines before it, down to `first`, if it ends with its text and has room
/// left.
fn filled(text: &str, first: usize, range: Range<usize>, max_chars: usize) -> Range<usize> {
    let n_chars = text.get(range.clone()).unwrap_or("").chars().count();
    let before = text.get(first..range.start).unwrap_or("");
    let room = max_chars.saturating_sub(n_chars);
    let Some((at, _)) = before.char_indices().rev().take(room).last() else { return range };
    let start = match before.get(at..).and_then(|it| it.find('\n')) {
        _ if at == 0 => first,
        Some(line) => first + at + line + 1,
        None => range.start,
    };
    next_boundary(text, start)..range.end
}

/// Renders the snippet on one line, with marks where it was cut.
pub(crate) fn render(text: &str, range: Range<usize>) -> String {
    let words: Vec<&str> = text.get(range.clone()).unwrap_or("").split_whitespace().collect();
    marked(text, range, &words.join(" "))
}

/// Renders the snippet with its lines and indentation, with marks where it was cut.
pub(crate) fn render_lines(text: &str, range: Range<usize>) -> String {
    let lines = text.get(range.clone()).unwrap_or("").lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    marked(text, range, &lines.join("\n"))
}

fn marked(text: &str, range: Range<usize>, shown: &str) -> String {
    let (before, after) = (range.start > 0, range.end < text.trim_end().len());
    let mut out = String::new();
    if before {
        out.push('…');
    }
    out.push_str(shown);
    if after {
        out.push('…');
    }
    out
}

/// Returns the start of the sentence with a hit from which `max_chars` bytes contain the most
/// worth; the earliest on a tie. If the hit comes late in a long sentence, the snippet starts at
/// the hit.
fn best_start(
    text: &str,
    hits: &[(usize, usize)],
    worth: &[f32],
    max_chars: usize,
) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for (at, _) in hits {
        let start = back_to_sentence(text, *at, max_chars / 3);
        let sum = worth_within(hits, worth, start, max_chars);
        if best.map_or(sum > 0.0, |(most, _)| sum > most) {
            best = Some((sum, start));
        }
    }
    best.map(|(_, start)| start)
}

/// Returns the worth of the distinct words within `max_chars` bytes.
fn worth_within(hits: &[(usize, usize)], worth: &[f32], start: usize, max_chars: usize) -> f32 {
    let from = hits.partition_point(|(at, _)| *at < start);
    let within = hits.iter().skip(from).take_while(|(at, _)| at - start < max_chars);
    let mut seen: Vec<usize> = within.map(|(_, word)| *word).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.iter().map(|word| worth.get(*word).copied().unwrap_or(1.0)).sum()
}

/// Returns the start of the sentence that contains `at`, if it is at most `max_back` bytes before;
/// else a word start within that distance, or `at` itself.
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

/// Cuts a text to `max_chars`, with a mark where it was cut.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.into();
    }
    let mut out: String = text.chars().take(max_chars - 1).collect();
    out.push('…');
    out
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
        let range = choose(text, &words, &[], 0, 60);
        assert_eq!(
            render(text, range),
            "…The signing keys are rotated every ninety days by a job.…"
        );
    }

    #[test]
    fn rare_words_and_the_whole_length_decide() {
        let text = "A task has a task. Every task is a task in a list of tasks that the page of the day shows to \
            its readers. Limit a group by hand. More of it follows.";
        let words = ["task", "list", "limit", "group"].map(String::from);
        let shown = |worth: &[f32]| render(text, choose(text, &words, worth, 0, 60));
        assert!(shown(&[]).starts_with("A task has a task. Every"), "{}", shown(&[]));
        assert_eq!(shown(&[0.1, 0.2, 3.0, 2.0]), "…Limit a group by hand. More of it follows.");
    }

    #[test]
    fn a_passage_is_shown_whole_with_what_is_around_it() {
        let text = "Keys are secret.\nRotate them yearly.\nA job does it.\nLunch is at noon.";
        let own = text.find("A job").expect("a line");
        let own = own..own + "A job does it.".len();
        let words = ["rotate", "job"].map(String::from);
        let shown = |max| render(text, choose_around(text, own.clone(), &words, &[], max));
        assert_eq!(shown(9), "…A job…");
        assert_eq!(shown(18), "…A job does it.…");
        assert_eq!(shown(36), "…Rotate them yearly. A job does it.…");
        assert_eq!(shown(60), "…Rotate them yearly. A job does it. Lunch is at noon.");
        assert_eq!(shown(99), text.replace('\n', " "));
        let nothing = ["lamp".to_string()];
        let shown = |max| render(text, choose_around(text, own.clone(), &nothing, &[], max));
        assert_eq!(shown(33), "…A job does it. Lunch is at noon.");
        assert_eq!(shown(55), "…Rotate them yearly. A job does it. Lunch is at noon.");
    }

    #[test]
    fn a_number_is_shown_where_it_is_whole() {
        let text =
            "Since 2010 and 1 July 2011 there were 12 others, too. The version 1.2.3 is out.";
        let range = choose(text, &["1 2 3".to_string()], &[], 0, 40);
        assert!(render(text, range).contains("1.2.3"));
    }

    #[test]
    fn lines_keep_their_breaks_and_indentation() {
        let text = "A list.\n\nsteps:\n  1. stop it \n  2. start it\n\nMore.";
        assert_eq!(render_lines(text, 9..text.len() - 7), "…steps:\n  1. stop it\n  2. start it…");
        assert_eq!(render(text, 9..text.len() - 7), "…steps: 1. stop it 2. start it…");
    }

    #[test]
    fn without_a_word_it_starts_where_the_meaning_is() {
        let range = choose("alpha beta gamma delta", &[], &[], 6, 10);
        assert_eq!(render("alpha beta gamma delta", range), "…beta gamma…");
    }

    proptest! {
        #[test]
        fn any_text_gives_a_valid_range(text in "\\PC{0,200}", words in proptest::collection::vec("\\PC{0,8}", 0..4),
                                        otherwise in 0usize..300, max in 1usize..120) {
            let range = choose(&text, &words, &[], otherwise, max);
            prop_assert!(text.get(range.clone()).is_some());
            prop_assert!(text[range].chars().count() <= max);
            let at = |n: usize| text.char_indices().map(|it| it.0).nth(n).unwrap_or(text.len());
            let range = choose_around(&text, at(otherwise.min(max))..at(otherwise), &words, &[], max);
            prop_assert!(text.get(range.clone()).is_some());
            prop_assert!(text[range].chars().count() <= max);
        }
    }
}
