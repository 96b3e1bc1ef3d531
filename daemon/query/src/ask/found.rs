//! Found: the hits of a question, and the statements in them that answer it.
//!
//! In: a question with its filters. Out: hits with their whole text, the things that the question names, statements.
//! A statement scores by the share of the question's words that it contains, its nearness in meaning, and the rank of
//! its passage; one of an entry whose place another took counts half, and what took its place is read, too.
//! Invariants: hits come in the order of `hybrid_query`; no statement of an entry precedes one of its successors.
//! Not here: which statements a plan shows (`mod.rs`).

use embed::cosine;
use notes::entry::number_of;
use proto::error::ErrorView;
use proto::shape::SourceView;
use proto::tool::core::{Ask, HybridQuery};
use rusqlite::OptionalExtension;

use crate::kb::search::behind_successors;
use crate::kb::{EntryRow, Library};
use crate::present::{self, ChunkText};
use crate::quote::source::Source;
use crate::quote::statement::{Statement, words_of};
use crate::{AskError, QueryContext, plan};

/// Weights of words, meaning and the rank of the passage.
const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Least score of a statement that answers.
const LEAST: f64 = 0.2;

/// Most statements that are compared with the question.
const MAX_STATEMENTS: usize = 300;

/// Factor for statements of an entry whose place another took.
const REPLACED: f64 = 0.5;

/// Budget in which each hit has its longest snippet, characters, and what a hit takes of it at least.
const ROOM: u32 = 20_000;
const LEAST_ROOM: u32 = 400;

/// A question with its filters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search<'a> {
    pub query: &'a str,
    pub path: Option<&'a str>,
    pub after: Option<&'a str>,
    pub before: Option<&'a str>,
    pub about: Option<i64>,
    /// The only documents that may answer, as ascending rows.
    pub among: Option<Vec<i64>>,
    /// Most hits.
    pub depth: usize,
}

impl<'a> Search<'a> {
    pub(super) fn of(request: &'a Ask) -> Self {
        Search {
            query: &request.query,
            path: request.path.as_deref(),
            after: request.after.as_deref(),
            before: request.before.as_deref(),
            ..Search::default()
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub hits: Vec<Hit>,
    /// What the question names, the surest first.
    pub named: Vec<i64>,
    pub nothing_relevant: bool,
    pub hint: Option<String>,
    /// How the question was read, where that differs from how it is written.
    pub readings: Vec<String>,
    pub query: String,
}

/// One hit.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// The chunk; 0 for a whole document that was added.
    pub chunk: i64,
    pub doc: i64,
    pub relevance: f32,
    /// Its best words, and where they begin.
    pub source: SourceView,
    /// Its place with all its lines.
    pub at: String,
    pub section: String,
    pub day: String,
    pub is_weak: bool,
    /// Whether it holds steps.
    pub is_procedure: bool,
    is_decision: bool,
}

/// A statement of a hit.
#[derive(Debug, Clone)]
pub(crate) struct Picked {
    pub chunk: i64,
    pub doc: i64,
    pub says: Statement,
    pub source: SourceView,
    /// Where other documents say the same: rows and places.
    pub also: Vec<(i64, SourceView)>,
    pub day: String,
    /// That of its passage.
    pub relevance: f32,
    /// Whether its document calls itself a decision.
    pub is_decision: bool,
    score: f64,
}

/// Searches as `hybrid_query` does.
pub(crate) fn search(ctx: &QueryContext<'_>, wanted: Search<'_>) -> Result<Found, ErrorView> {
    let request = HybridQuery {
        q: wanted.query.to_string(),
        k: Some(wanted.depth as u32),
        path: wanted.path.map(String::from),
        after: wanted.after.map(String::from),
        before: wanted.before.map(String::from),
        entity: wanted.about.map(|it| it.to_string()),
        max_chars: Some(ROOM.max(wanted.depth as u32 * LEAST_ROOM)),
        structured_chars: Some(0),
        ..HybridQuery::default()
    };
    let plan = plan::plan_among(ctx, &request, wanted.among)?;
    if plan.question.is_empty() {
        let reply = present::nothing_asked(&plan);
        return Ok(Found { hint: reply.hint, ..Found::default() });
    }
    let (recalled, expanded, ranked) = crate::found(ctx, &plan)?;
    let mut seeds = recalled.seeds.clone();
    seeds.sort_by(|a, b| b.link.total_cmp(&a.link).then(a.words.cmp(&b.words)));
    let reply = present::present(ctx, &plan, &recalled, &expanded, ranked)?;
    let mut found = Found {
        named: seeds.iter().map(|it| it.entity).collect(),
        nothing_relevant: reply.nothing_relevant,
        hint: reply.hint,
        readings: recalled.readings.clone(),
        query: wanted.query.to_string(),
        ..Found::default()
    };
    found.named.dedup();
    for hit in reply.chunks {
        let (day, is_decision) = dated(ctx, hit.doc_id)?;
        let sql = "SELECT profile = 'procedure' FROM chunks WHERE id = ?1";
        let mut statement = ctx.snapshot.prepare_cached(sql).map_err(AskError::from)?;
        let is_procedure =
            statement.query_row([hit.id], |row| row.get(0)).map_err(AskError::from)?;
        found.hits.push(Hit {
            chunk: hit.id,
            doc: hit.doc_id,
            relevance: hit.relevance,
            at: hit.place(),
            source: SourceView {
                line: hit.lines[0],
                page: hit.pages.map(|it| it[0]),
                text: hit.snippet,
                path: hit.path,
                section: String::new(),
            },
            section: hit.section,
            day,
            is_weak: hit.weak,
            is_procedure,
            is_decision,
        });
    }
    Ok(found)
}

/// The day of a document, and whether its type is `decision`.
fn dated(ctx: &QueryContext<'_>, doc: i64) -> Result<(String, bool), AskError> {
    let sql = "SELECT day, coalesce(doc_type, '') = 'decision' FROM docs WHERE id = ?1";
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    let row = statement.query_row([doc], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(row.unwrap_or_default())
}

impl Found {
    /// Adds the entries that took the places of those that were found, each behind the first that it supersedes.
    pub(crate) fn add_successors(
        &mut self,
        ctx: &QueryContext<'_>,
        library: &Library,
    ) -> Result<(), AskError> {
        let mut at = 0;
        while let Some(hit) = self.hits.get(at) {
            at += 1;
            let row = library.shelf.of_doc(hit.doc).filter(|_| !hit.is_weak);
            let newer = row.map(|row| library.superseded_by(row)).unwrap_or_default();
            for row in newer.iter().filter_map(|id| library.shelf.of_node(id)) {
                self.add_entry(ctx, row, at)?;
            }
        }
        Ok(())
    }

    /// Adds an entry as a hit at a place, unless it is there; then it is no longer weak.
    pub(crate) fn add_entry(
        &mut self,
        ctx: &QueryContext<'_>,
        row: &EntryRow,
        at: usize,
    ) -> Result<(), AskError> {
        if self.hits.iter().any(|hit| hit.doc == row.doc && !hit.is_weak) {
            return Ok(());
        }
        if let Some(hit) = self.hits.iter_mut().find(|hit| hit.doc == row.doc) {
            hit.is_weak = false;
            return Ok(());
        }
        let Some(source) = Source::load(ctx, row.doc)? else { return Ok(()) };
        let source = source.view(0, String::new());
        let (day, is_decision) = dated(ctx, row.doc)?;
        let hit = Hit {
            chunk: 0,
            doc: row.doc,
            relevance: 0.0,
            at: source.place(),
            source,
            section: String::new(),
            day,
            is_weak: false,
            is_procedure: false,
            is_decision,
        };
        self.hits.insert(at.min(self.hits.len()), hit);
        Ok(())
    }

    /// The statements of the first hits that answer, best first, each said once. `bonus` adds to a score.
    pub(crate) fn statements(
        &self,
        ctx: &QueryContext<'_>,
        library: &Library,
        n_hits: usize,
        bonus: fn(&Picked) -> f64,
    ) -> Result<Vec<Picked>, AskError> {
        let asked = words_of(&self.query);
        let mut picked: Vec<(f64, Picked)> = Vec::new();
        for (at, hit) in self.hits.iter().take(n_hits).filter(|it| !it.is_weak).enumerate() {
            let Some(source) = Source::load(ctx, hit.doc)? else { continue };
            let chunk = ChunkText::load(ctx, hit.chunk)?;
            // Why something was decided stands in another section than what was.
            let (start, words) = match (hit.is_decision, &chunk) {
                (true, _) if picked.iter().any(|(_, it)| it.doc == hit.doc) => continue,
                (false, Some(chunk)) => (chunk.start, chunk.words()),
                _ => (0, source.text.as_str()),
            };
            let place = 1.0 / (1.0 + at as f64);
            for says in Statement::all_of(words) {
                let source = source.view(start + says.range.start, says.text.clone());
                let it = Picked {
                    chunk: hit.chunk,
                    doc: hit.doc,
                    says,
                    source,
                    also: vec![],
                    day: hit.day.clone(),
                    relevance: hit.relevance,
                    is_decision: hit.is_decision,
                    score: 0.0,
                };
                picked.push((place, it));
            }
        }
        picked.truncate(MAX_STATEMENTS);
        let near = self.nearness(ctx, &picked);
        for (n, (place, it)) in picked.iter_mut().enumerate() {
            let held = asked.iter().filter(|word| it.says.words.contains(*word)).count();
            let share = held as f64 / asked.len().max(1) as f64;
            let near = near.get(n).copied().unwrap_or(0.0).max(0.0);
            let fits = WEIGHTS[0] * share + WEIGHTS[1] * near;
            // The rank of its passage alone does not make a sentence an answer, but in a decision a reason is one,
            // whatever its words.
            let bonus = bonus(it);
            let answers = fits >= LEAST * 0.5 || it.is_decision && bonus > 0.0;
            it.score = if answers { fits + WEIGHTS[2] * *place + bonus } else { 0.0 };
        }
        let mut picked: Vec<Picked> = picked.into_iter().map(|it| it.1).collect();
        weigh_successors(&mut picked, library);
        picked.retain(|it| it.score >= LEAST);
        picked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut said: Vec<Picked> = Vec::new();
        for it in picked {
            match said.iter_mut().find(|one| one.says.repeats(&it.says)) {
                // The best come first, so this one may only repeat an earlier one.
                Some(one)
                    if one.doc == it.doc || one.also.iter().any(|(doc, _)| *doc == it.doc) => {}
                Some(one) => one.also.push((it.doc, it.source)),
                None => said.push(it),
            }
        }
        let number = |it: &Picked| library.shelf.of_doc(it.doc).map_or(u64::MAX, |row| row.number);
        Ok(behind_successors(library, said, number))
    }

    /// The cosine of each statement with the question; empty where the model gives none.
    fn nearness(&self, ctx: &QueryContext<'_>, picked: &[(f64, Picked)]) -> Vec<f64> {
        let Ok(question) = ctx.embedder.try_question(&self.query) else { return vec![] };
        let texts: Vec<&str> = picked.iter().map(|it| it.1.says.text.as_str()).collect();
        let vectors = ctx.embedder.try_embed(&texts).unwrap_or_default();
        vectors.iter().map(|it| f64::from(cosine(&question, it))).collect()
    }
}

/// Halves what a superseded entry says. Where it answers all the same, its successor must appear, whatever its words:
/// the best statement of that gets the score that the other would have if it were not superseded.
fn weigh_successors(picked: &mut [Picked], library: &Library) {
    let best = |picked: &[Picked], doc: i64| {
        let own = picked.iter().enumerate().filter(|(_, it)| it.doc == doc);
        let best = own.max_by(|a, b| a.1.score.total_cmp(&b.1.score).then(b.0.cmp(&a.0)));
        best.map(|(at, it)| (at, it.score))
    };
    let mut docs: Vec<i64> = picked.iter().map(|it| it.doc).collect();
    docs.sort_unstable();
    docs.dedup();
    for doc in docs {
        let Some(row) = library.shelf.of_doc(doc) else { continue };
        let newer = library.superseded_by(row);
        if newer.is_empty() {
            continue;
        }
        picked.iter_mut().filter(|it| it.doc == doc).for_each(|it| it.score *= REPLACED);
        for newer in newer.iter().filter_map(|id| library.shelf.get(number_of(id)?)) {
            let (Some((at, own)), Some((_, score))) = (best(picked, newer.doc), best(picked, doc))
            else {
                continue;
            };
            if let Some(it) = picked.get_mut(at).filter(|_| own < LEAST && score >= LEAST) {
                it.score = score / REPLACED;
            }
        }
    }
}
