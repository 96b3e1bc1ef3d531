//! Title: `Getting Started with Foo SDK` says that the document uses Foo SDK.
//!
//! In: the title. Out: one statement about the first mention of what the title names after its cue.
//! Invariants: the name must be mentioned in the text, too; the longest name wins, and of several mentions the first.

use super::cues::CueKind;
use super::page::{Page, plain_words};
use super::{Statement, Statements};
use model::document::Party;
use model::terms::norm_of;

/// First words of titles that name somebody met, not something used.
const MEETINGS: [&str; 8] =
    ["interview", "meeting", "call", "conversation", "comparison", "talk", "chat", "sync"];
/// Cues of a lower weight need the name to be all that follows them.
const LOOSE_WEIGHT: f32 = 0.65;

/// Longest name taken from a title, in words.
const MAX_WORDS: usize = 4;

/// Adds what the title states.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let title = &page.doc.title;
    // `ch17-05-traits-for-async` is a file name; its words are not a sentence.
    if !title.contains(' ') {
        return;
    }
    let lower = format!(" {} ", plain_words(title));
    if lower.split_whitespace().next().is_some_and(|first| MEETINGS.contains(&first)) {
        return;
    }
    let cues = page.cues().of_kind(CueKind::Title);
    let found = cues.filter_map(|cue| {
        let at = lower
            .find(&format!(" {} ", cue.words))
            .filter(|at| *at > 0 || cue.words.contains(' '))?;
        lower.get(at + cue.words.len() + 1..).map(|rest| (cue, rest))
    });
    // The cue of the highest weight; of equal ones, the one that leaves the shorter name.
    let best = found.max_by(|(a, rest_a), (b, rest_b)| {
        a.weight.total_cmp(&b.weight).then_with(|| rest_b.len().cmp(&rest_a.len()))
    });
    let Some((cue, rest)) = best else { return };
    let words: Vec<&str> =
        rest.split_whitespace().skip_while(|w| matches!(*w, "the" | "a" | "an")).collect();
    let shortest = if cue.weight < LOOSE_WEIGHT { words.len().max(1) } else { 1 };
    for n_words in (shortest..=MAX_WORDS.min(words.len())).rev() {
        let wanted = norm_of(&words.get(..n_words).unwrap_or(&[]).join(" "));
        let things = (0..page.doc.found.mentions.len() as u32).filter(|idx| page.is_thing(*idx));
        let first = things.into_iter().find(|idx| page.norm_of(*idx) == wanted);
        if let Some((idx, mention)) = first.and_then(|idx| Some((idx, page.mention(idx)?))) {
            let (subject, object) = (Party::Document, Party::Mention(idx));
            let (predicate, pattern, confidence) = (cue.predicate, cue.pattern, cue.weight);
            return out
                .add(mention.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}
