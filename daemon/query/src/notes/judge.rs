//! Judge: scores the single statements of notes for a question.
//!
//! In: a plan, what was recalled, a note. Out: its observations and relations that answer, as results.
//! An observation is as near as its passage, by whichever model knows its language: it is a passage of
//! its own (`extract/chunk`), or nested in one. Relations are embedded here.

use std::ops::RangeInclusive;

use embed::cosine;
use index::words::Indexer;
use proto::tool::notes::{ItemType, NoteView, ResultView, SearchType};
use rustc_hash::FxHashMap;

use super::search::rounded;
use super::stated;
use crate::plan::Plan;
use crate::rank::S0_HALF;
use crate::rank::question_words::QuestionWords;
use crate::recall::Recalled;
use crate::recall::nearness::{self, Near, QuestionVectors};
use crate::relevance::{Signals, relevance};
use crate::{AskError, QueryContext};
use index::read::Observation;

/// Scores statements.
pub(super) struct Judge<'a> {
    plan: &'a Plan,
    asked: QuestionWords,
    vectors: Option<&'a QuestionVectors>,
    /// `None` lists all statements.
    by: Option<SearchType>,
    min_similarity: Option<f32>,
    lacks_name: bool,
    /// Whether statements are also compared by meaning, which costs more.
    pub may_compare: bool,
    indexer: Indexer,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        recalled: &'a Recalled,
        by: Option<SearchType>,
        min_similarity: Option<f32>,
    ) -> Judge<'a> {
        let vectors = recalled.question.as_ref().filter(|_| by != Some(SearchType::Fts));
        Judge {
            plan,
            asked: QuestionWords::of(plan, recalled),
            vectors,
            by,
            min_similarity,
            lacks_name: recalled.lacking(&plan.question) != 0,
            may_compare: true,
            indexer: Indexer::new(),
        }
    }

    /// Returns the observations of a note that answer.
    pub(super) fn observations(
        &mut self,
        ctx: &QueryContext<'_>,
        doc: i64,
        note: &NoteView,
    ) -> Result<Vec<ResultView>, AskError> {
        let rows = stated::accepted(ctx, doc)?;
        let passages = self.near_passages(ctx, doc, &rows)?;
        let mut found = Vec::new();
        for it in rows {
            let context = it.context.as_deref().unwrap_or_default();
            let text = format!("{} {} {} {context}", it.category, it.content, it.tags.join(" "));
            let of_it = passages.iter().filter(|(lines, _)| lines.contains(&it.line));
            let near = of_it.map(|(_, near)| *near).max_by(f32::total_cmp);
            let Some(scored) = self.score(ctx, &text, near) else { continue };
            found.push(ResultView {
                item: ItemType::Observation,
                note: note.clone(),
                line: it.line,
                snippet: it.content,
                category: Some(it.category),
                ..scored
            });
        }
        Ok(found)
    }

    /// Returns the relations and links of a note that answer.
    pub(super) fn relations(
        &mut self,
        ctx: &QueryContext<'_>,
        doc: i64,
        note: &NoteView,
    ) -> Result<Vec<ResultView>, AskError> {
        let mut found = Vec::new();
        for it in stated::relations(ctx, doc)? {
            let relation = it.relation.unwrap_or_else(|| super::EMBEDS.into());
            let text = format!("{relation} {} {}", it.target, it.line_text);
            let Some(scored) = self.score(ctx, &text, None) else { continue };
            found.push(ResultView {
                item: ItemType::Relation,
                note: note.clone(),
                line: it.line,
                snippet: it.line_text,
                relation: Some(relation),
                target: Some(it.to_path.unwrap_or(it.target)),
                ..scored
            });
        }
        Ok(found)
    }

    /// Returns the lines of the passages that hold these observations of a note, each with its
    /// nearness.
    fn near_passages(
        &self,
        ctx: &QueryContext<'_>,
        doc: i64,
        rows: &[Observation],
    ) -> Result<Vec<(RangeInclusive<u32>, f32)>, AskError> {
        let can_compare = self.may_compare && !rows.is_empty();
        let Some(vectors) = self.vectors.filter(|_| can_compare) else { return Ok(vec![]) };
        let lines = ctx.snapshot.chunks().of(doc)?;
        let lines = lines.into_iter().map(|it| (it.id, it.line_start..=it.line_end));
        let mut lines: FxHashMap<i64, RangeInclusive<u32>> = lines.collect();
        lines.retain(|_, lines| rows.iter().any(|row| lines.contains(&row.line)));
        let chunks: Vec<i64> = lines.keys().copied().collect();
        let near = nearness::of_chunks(ctx, &chunks, vectors)?;
        let with_lines = |it: Near| Some((lines.remove(&it.chunk)?, it.nearness));
        Ok(near.into_iter().filter_map(with_lines).collect())
    }

    /// Returns text, nearness, score and relevance of a statement; `None` when it does not answer.
    fn score(
        &mut self,
        ctx: &QueryContext<'_>,
        statement: &str,
        known: Option<f32>,
    ) -> Option<ResultView> {
        let Some(by) = self.by else { return Some(ResultView::default()) };
        let mut words = String::new();
        self.indexer.index(statement, true, &mut words);
        let words = self.asked.share_with_others(&words);
        let embedded = || {
            let question = self.vectors.filter(|_| self.may_compare)?.plain()?;
            Some(ctx.embedder.nearness(cosine(&ctx.embedder.embed(&[statement]).pop()?, question)))
        };
        let nearness = known.or_else(embedded);
        let least = self.min_similarity.unwrap_or(self.plan.floor.similar);
        let near = nearness.filter(|it| *it >= least);
        let text = match by {
            SearchType::Vector if self.vectors.is_some() => None,
            _ => Some(words).filter(|it| *it > 0.0),
        };
        let score = match by {
            SearchType::Hybrid => S0_HALF * (text.unwrap_or(0.0) + near.unwrap_or(0.0)),
            _ => text.or(near).unwrap_or(0.0),
        };
        let signals = Signals { words, near: nearness, lacks_name: self.lacks_name };
        (text.is_some() || near.is_some()).then(|| ResultView {
            text: text.map(rounded),
            similarity: near.map(rounded),
            score: rounded(score),
            relevance: Some(rounded(relevance(&self.plan.floor, signals))),
            ..ResultView::default()
        })
    }
}
