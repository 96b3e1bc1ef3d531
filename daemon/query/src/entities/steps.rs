//! Steps: a relation of the projection with its evidence: sentence, place, date, extractor.
//!
//! In: a relation. Out: [`RelationView`], or its best evidence alone.

use proto::shape::{EvidenceView, RelationView, SourceView};

use super::explain::{add_ends, relation_of};
use crate::graph::projection::{By, Relation};
use crate::graph::{Statement, name_of};
use crate::quote::source::Source;
use crate::{AskError, QueryContext};

/// Longest sentence that is shown whole, characters.
const MAX_SENTENCE: usize = 240;

/// Returns a relation with its evidence; `None` if one of its ends is gone.
pub(crate) fn relation_view(
    ctx: &QueryContext<'_>,
    relation: &Relation<'_>,
    hop: u32,
) -> Result<Option<RelationView>, AskError> {
    let Relation { subject, predicate, object, confidence, by } = *relation;
    let mut view = if by == By::Evidence {
        relation_of(ctx, [subject, object], predicate, hop, sentence)?
    } else {
        let names = (name_of(ctx, subject)?, name_of(ctx, object)?);
        let (Some(from), Some(to)) = names else { return Ok(None) };
        Some(RelationView {
            subject: from,
            predicate: predicate.to_string(),
            object: to,
            subject_id: Some(subject),
            object_id: Some(object),
            confidence,
            hop,
            evidence: stated_beside(ctx, relation)?.into_iter().collect(),
            ..RelationView::default()
        })
    };
    add_ends(ctx, view.as_mut_slice())?;
    Ok(view)
}

/// Returns the source of a relation that has no extracted evidence.
pub(super) fn stated_beside(
    ctx: &QueryContext<'_>,
    relation: &Relation<'_>,
) -> Result<Option<EvidenceView>, AskError> {
    match relation.by {
        By::Evidence => Ok(None),
        By::Link { doc, seq } => of_link(ctx, doc, seq, relation.confidence),
        By::Entry { doc } => of_entry(ctx, doc, relation.predicate, relation.confidence),
    }
}

/// Renders a statement as evidence, quoting its sentence.
fn sentence(
    ctx: &QueryContext<'_>,
    statement: &Statement,
) -> Result<Option<EvidenceView>, AskError> {
    let Some(source) = Source::load(ctx, statement.doc)? else { return Ok(None) };
    let mut view = source.evidence(statement);
    if let Some(sentence) = sentence_around(&source.text, statement.span) {
        view.source.text = sentence;
    }
    Ok(Some(view))
}

/// Returns the sentence, or the line, that contains a span; `None` if it is longer than
/// [`MAX_SENTENCE`].
fn sentence_around(text: &str, span: (usize, usize)) -> Option<String> {
    const ENDS: [&str; 3] = [". ", "! ", "? "];
    let (before, after) = (text.get(..span.0)?, text.get(span.1..)?);
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let stops =
        ENDS.iter().filter_map(|end| Some(before.get(line..)?.rfind(end)? + line + end.len()));
    let start = stops.max().unwrap_or(line);
    let line = after.find('\n').unwrap_or(after.len());
    // The span may already include the end of the sentence.
    let is_whole = text.get(start..span.1).is_some_and(|it| it.ends_with(['.', '!', '?']));
    let stops = ENDS.iter().filter_map(|end| Some(after.get(..line)?.find(end)? + 1));
    let end = if is_whole { 0 } else { stops.min().unwrap_or(line) };
    let sentence = text.get(start..span.1 + end)?.split_whitespace().collect::<Vec<_>>().join(" ");
    (sentence.chars().count() <= MAX_SENTENCE).then_some(sentence)
}

fn of_link(
    ctx: &QueryContext<'_>,
    doc: i64,
    seq: i64,
    confidence: f32,
) -> Result<Option<EvidenceView>, AskError> {
    let Some(document) = ctx.snapshot.documents().get(doc)? else { return Ok(None) };
    let link = ctx.snapshot.notes().links(doc)?.into_iter().nth(seq as usize);
    Ok(link.map(|link| EvidenceView {
        source: SourceView {
            path: link.from_path,
            line: link.line,
            text: link.line_text,
            ..SourceView::default()
        },
        span: [link.span.0 as u64, link.span.1 as u64],
        pattern: "link:note".into(),
        confidence,
        date: Some(document.day),
    }))
}

/// Renders what an entry states in its front matter or by naming another one.
fn of_entry(
    ctx: &QueryContext<'_>,
    doc: i64,
    predicate: &str,
    confidence: f32,
) -> Result<Option<EvidenceView>, AskError> {
    Ok(ctx.snapshot.documents().get(doc)?.map(|it| EvidenceView {
        source: SourceView { path: it.path, line: 1, text: it.title, ..SourceView::default() },
        span: [0, 0],
        pattern: format!("entry:{predicate}"),
        confidence,
        date: Some(it.day),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_quoted_by_its_sentence() {
        let text = "She was born in Warsaw. In 1895 she married Pierre. He taught.\nOwner: Ada";
        let of = |words: &str| {
            let at = text.find(words).expect("it is there");
            sentence_around(text, (at, at + words.len()))
        };
        assert_eq!(of("she married Pierre").as_deref(), Some("In 1895 she married Pierre."));
        assert_eq!(
            of("In 1895 she married Pierre.").as_deref(),
            Some("In 1895 she married Pierre.")
        );
        assert_eq!(of("Owner").as_deref(), Some("Owner: Ada"));
        assert_eq!(of("He").as_deref(), Some("He taught."));
        let long = "word ".repeat(100);
        assert_eq!(sentence_around(&long, (10, 14)), None);
    }
}
