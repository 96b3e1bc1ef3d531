//! Steps: a relation of the projection with its evidence: sentence, place, date, extractor.
//!
//! In: a relation. Out: [`RelationView`], or its best evidence alone.

use proto::shape::{EvidenceView, RelationView, SourceView};

use super::contradict::statements_behind;
use super::explain::{relation_view, with_ends};
use crate::graph::Statement;
use crate::graph::projection::{By, Relation};
use crate::quote::source::Source;
use crate::{AskError, QueryContext};

/// Longest sentence that is shown whole, characters.
const MAX_SENTENCE: usize = 240;

/// Returns relations, each given with its hop, with their evidence; those with an end that is gone are left out.
pub(crate) fn relation_views<'p>(
    ctx: &QueryContext<'_>,
    relations: impl IntoIterator<Item = (Relation<'p>, u32)>,
) -> Result<Vec<RelationView>, AskError> {
    let mut views = Vec::new();
    for (relation, hop) in relations {
        let Relation { subject, predicate, object, confidence, by } = relation;
        if matches!(by, By::Evidence | By::Together { .. }) {
            let stated = statements_behind(ctx, &relation)?;
            let view = relation_view(ctx, &stated, hop, sentence)?;
            views.extend(view.map(|it| RelationView { n_together: by.n_together(), ..it }));
            continue;
        }
        views.push(RelationView {
            predicate: predicate.to_string(),
            subject_id: Some(subject),
            object_id: Some(object),
            confidence,
            hop,
            evidence: stated_beside(ctx, &relation)?.into_iter().collect(),
            ..RelationView::default()
        });
    }
    with_ends(ctx, views)
}

/// Returns the source of a relation that has no extracted evidence: a link, or an entry that states it in its front
/// matter or by naming another one.
pub(super) fn stated_beside(
    ctx: &QueryContext<'_>,
    relation: &Relation<'_>,
) -> Result<Option<EvidenceView>, AskError> {
    let (doc, seq) = match relation.by {
        By::Evidence | By::Together { .. } => return Ok(None),
        By::Link { doc, seq } => (doc, Some(seq as usize)),
        By::Entry { doc } => (doc, None),
    };
    let Some(document) = ctx.snapshot.documents().get(doc)? else { return Ok(None) };
    let ((path, line, text), span, pattern) = match seq {
        None => {
            ((document.path, 1, document.title), (0, 0), format!("entry:{}", relation.predicate))
        }
        Some(seq) => {
            let links = ctx.snapshot.notes().links(doc)?;
            let Some(link) = links.into_iter().nth(seq) else { return Ok(None) };
            ((link.from_path, link.line, link.line_text), link.span, "link:note".to_string())
        }
    };
    Ok(Some(EvidenceView {
        source: SourceView { path, line, text, ..SourceView::default() },
        span: [span.0 as u64, span.1 as u64],
        pattern,
        confidence: relation.confidence,
        date: Some(document.day),
    }))
}

/// Renders a statement as evidence, quoting its sentence.
pub(crate) fn sentence(
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
