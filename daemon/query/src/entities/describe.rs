//! Describe: a sentence that says what an entity is or does, where none defines it: `The println! macro prints to the
//! standard output`, `Ryū, an algorithm to convert numbers`, `Native histograms are a metric type`.
//!
//! In: an entity. Out: the place of a sentence that begins with its name.
//! Invariants: what the name is said to be comes before what it does, then the first by path and place; a bounded
//! number of mentions is read.
//! Not here: definitions (`definition.rs`).

use proto::shape::SourceView;
use rusqlite::{Row, params};

use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use extract::chunk::sentences;

/// Most mentions that are read; the first by path and place.
const MAX_MENTIONS: i64 = 24;

/// Words before a name at the beginning of a sentence.
const BEFORE: [&str; 6] = ["", "the ", "a ", "an ", "our ", "this "];

/// Nouns between a name and its verb.
const NOUNS: &str = " API app application attribute class command crate directive field file flag format function \
    keyword label language library macro method metric module option package parameter plugin procedure program \
    property service setting struct system team tool trait type utility variable ";

/// Verbs that say what something does, third person; without the `s` they follow a plural.
const VERBS: &str = " \
    accepts acts adds affects allows answers applies builds checks collects combines compares contains \
    controls converts counts creates decides defines describes determines displays enables ensures exists \
    exports exposes extends gives handles helps holds implements increments indicates keeps lets lists loads \
    makes manages maps marks matches means measures monitors offers opens organizes parses performs prevents \
    prints processes produces protects provides queries reads receives records refers removes replaces \
    represents requires returns runs scrapes searches sends serves sets shows sorts specifies starts stands \
    stops stores supplies supports takes tells tests tracks transforms translates turns uses wraps writes \
    yields ";

/// How much a sentence says about the name at its beginning; the better one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    /// `is a`, `, an`.
    What,
    /// A verb.
    Does,
}

/// Returns the best such sentence with its place.
pub(super) fn description(
    ctx: &QueryContext<'_>,
    entity: i64,
) -> Result<Option<SourceView>, AskError> {
    // The lowest bit of `place`: in a heading.
    let mut rows = ctx.snapshot.prepare_cached(
        "SELECT m.doc_id, m.at, m.surface FROM names n JOIN mentions m ON m.name_id = n.id
         JOIN docs d ON d.id = m.doc_id WHERE n.entity_id = ?1 AND NOT m.place & 1 ORDER BY d.path, m.at LIMIT ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)? as usize, row.get::<_, String>(2)?))
    };
    let mut source: Option<(i64, Source)> = None;
    let mut best: Option<(Says, i64, (usize, usize))> = None;
    for row in rows.query_map(params![entity, MAX_MENTIONS], read)? {
        let (doc, at, surface) = row?;
        if source.as_ref().is_none_or(|(loaded, _)| *loaded != doc) {
            source = Source::load(ctx, doc)?.map(|loaded| (doc, loaded));
        }
        let Some((_, loaded)) = &source else { continue };
        let Some((span, says)) = says_at(&loaded.text, at, &surface) else { continue };
        if best.as_ref().is_none_or(|(best, ..)| says < *best) {
            best = Some((says, doc, span));
        }
        if says == Says::What {
            break;
        }
    }
    let Some((_, doc, span)) = best else { return Ok(None) };
    let loaded = match source {
        Some((loaded, source)) if loaded == doc => Some(source),
        _ => Source::load(ctx, doc)?,
    };
    Ok(loaded.map(|source| source.quote(span)))
}

/// The sentence that a name begins, and what it says of it.
fn says_at(text: &str, at: usize, surface: &str) -> Option<((usize, usize), Says)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.split('\n').next()?;
    let sentence = sentences(line).find(|it| (it.start..it.end).contains(&(at - start)))?;
    let before = line.get(sentence.start..at - start)?.to_lowercase();
    if !BEFORE.contains(&before.as_str()) {
        return None;
    }
    let after = line.get(at - start..sentence.end)?.strip_prefix(surface)?;
    let says = says(after, surface.ends_with('s'))?;
    Some(((start + sentence.start, start + sentence.end), says))
}

/// What the words after a name say of it.
fn says(after: &str, is_plural: bool) -> Option<Says> {
    let is_apposition = [", a ", ", an ", " (a ", " (an "].iter().any(|it| after.starts_with(it));
    if is_apposition {
        return Some(Says::What);
    }
    let mut words = after.strip_prefix(' ')?.split_whitespace();
    let mut word = words.next()?;
    let mut is_plural = is_plural;
    if NOUNS.contains(&format!(" {} ", word.strip_suffix('s').unwrap_or(word))) {
        is_plural = word.ends_with('s');
        word = words.next()?;
    }
    // `only prints`, `also returns`.
    if matches!(word, "only" | "also" | "simply" | "just" | "then" | "can" | "will") {
        is_plural |= matches!(word, "can" | "will");
        word = words.next()?;
    }
    match word {
        "is" | "are" | "was" => {
            let next = words.next()?;
            let is_kind = matches!(next, "a" | "an" | "any" | "one" | "short" | "used" | "another");
            is_kind.then_some(Says::What)
        }
        _ => {
            let verb = if is_plural { format!(" {word}s ") } else { format!(" {word} ") };
            VERBS.contains(&verb).then_some(Says::Does)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_begins_with_a_name_says_what_it_is_or_does() {
        let rows = [
            ("The println! macro prints to the output.", "println!", Some(Says::Does)),
            ("Native histograms are a metric type.", "Native histograms", Some(Says::What)),
            ("Ryū, an algorithm for numbers.", "Ryū", Some(Says::What)),
            (
                "Resource filters can limit. Custom statuses represent tasks.",
                "Custom statuses",
                Some(Says::Does),
            ),
            ("Custom Statuses were introduced in 1.23.", "Custom Statuses", None),
            ("We call Rc often.", "Rc", None),
            ("Rc matters.", "Rc", None),
            ("Heading\nThe Rc type keeps track of owners.", "Rc", Some(Says::Does)),
            ("The gate is the first one.", "gate", None),
        ];
        for (text, name, expected) in rows {
            let at = text.find(name).expect("it is there");
            let found = says_at(text, at, name);
            assert_eq!(found.map(|it| it.1), expected, "{text}");
        }
        let text = "One. The Rc type keeps track.";
        let (span, _) = says_at(text, 9, "Rc").expect("a sentence");
        assert_eq!(&text[span.0..span.1], "The Rc type keeps track.");
    }
}
