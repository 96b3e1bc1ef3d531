//! Search: notes and their statements, by words, by meaning or by both, with S0's filters (S0 §5).
//!
//! In: a query and filters. Out: one page of notes, each with its best passage, and of single observations and
//! relations. `fts` demands all words, the last one as a prefix (S0 §5.2), and falls back to any of them if no note has
//! all; `vector` keeps what is similar enough; `hybrid` is S0 §14.5's formula (`rank`). A question without a vector is
//! searched by words, and the answer says so. Without a query, the filters select notes, newest first.
//! Invariants: pages of one index do not overlap; every result passes the filters, a statement through its note.

use config::settings::Formula;
use notes::resolve::{fold, name_key, permalink_key};
use proto::error::ErrorView;
use proto::tool::core::HybridQuery;
use proto::tool::notes::{ItemType, ResultView, SearchNotes, SearchReply, SearchType};
use rustc_hash::{FxHashMap, FxHashSet};

use super::browse;
use super::eligible::{fitting, is_of_statements, stating};
use super::judge::Judge;
use super::metadata::Conditions;
use crate::error::{in_range, invalid};
use crate::expand::expand;
use crate::plan::{Filter, MAX_RECALL, OfNotes, Plan, expression::FIELDS, question::Question};
use crate::present::best_words;
use crate::present::floor::{Strength, Verdict, WeakFloor, descending, weak, weak_last};
use crate::rank::{S0_HALF, ScoredChunk, rank};
use crate::recall::{Recalled, recall};
use crate::{AskError, QueryContext};

/// Results per page: default and maximum.
const PAGE: u32 = 10;
const MAX_PAGE: u32 = 100;

/// How much nearer in meaning than any other document the one is that the question means.
const APART: f32 = 1.25;

/// Number of best notes whose statements are compared by meaning.
const MAX_STATING: usize = 200;

/// Searches notes. `after`: only notes modified later than this, milliseconds since 1970.
///
/// # Errors
/// `invalid_params` for an invalid request; when the index cannot be read.
pub fn search_notes(
    ctx: &QueryContext<'_>,
    request: &SearchNotes,
    after: Option<i64>,
) -> Result<SearchReply, ErrorView> {
    let (skip, size) = page(request)?;
    let is_listing = request.query.trim().is_empty();
    if skip + size > MAX_RECALL && !(is_listing && is_of_statements(request)) {
        let hint = "narrow the search by filters; `list_notes` lists all";
        return Err(invalid(format!("only the first {MAX_RECALL} results are ranked"), hint));
    }
    let wanted = request.search_type.unwrap_or_default();
    if let Some(least) = request.min_similarity.filter(|it| !(0.0..=1.0).contains(it)) {
        return Err(invalid(format!("`min_similarity` is {least}"), "give a number from 0 to 1"));
    }
    let mut of_notes = filters(ctx, request, after)?;
    if is_listing
        && of_notes == OfNotes::default()
        && no_tags(request)
        && request.search_item_types.as_ref().is_none_or(Vec::is_empty)
    {
        let hint = "give words to search for, or a filter such as `tags` or `note_types`";
        return Err(invalid("`query` is empty, and there is no filter".into(), hint));
    }
    if is_of_statements(request) {
        // Otherwise notes without statements would use up the search depth.
        of_notes.docs = Some(stating(ctx, request, of_notes.docs.take())?);
    }
    let mut search = Search::plan(ctx, request, wanted, of_notes, size)?;
    let mut found = search.run(ctx)?;
    let mut used = wanted;
    let has_words = !search.is_listing && !search.plan.question.is_of_documents();
    if wanted != SearchType::Fts && found.recalled.question.is_none() && has_words {
        // S0 §5: fall back to words without vectors.
        used = SearchType::Fts;
        search = Search { plan: Plan { formula: Formula::Text, ..search.plan }, ..search };
        found = search.run(ctx)?;
        search.hints.push("the question has no vector: searched by words alone".into());
    }
    search.hints.extend(found.recalled.readings.iter().cloned());
    if found.recalled.is_relaxed && !found.hits.is_empty() {
        search.hints.push("no note has all the words: these have some of them".into());
    }
    let candidates = search.candidates(ctx, request, &found, skip + size)?;
    let has_more = candidates.len() > skip + size;
    let page = candidates.into_iter().skip(skip).take(size);
    let floor = WeakFloor::of(&search.plan, &found.recalled);
    let mut views = Vec::new();
    for it in page {
        views.push(search.view(ctx, &floor, found.alone, it)?);
    }
    let (mut results, strengths): (Vec<ResultView>, Vec<Strength>) = views.into_iter().unzip();
    let (weak, mut nothing_relevant) = weak(&strengths);
    if search.is_listing {
        nothing_relevant = false;
    } else {
        results.iter_mut().zip(weak).for_each(|(it, weak)| it.weak = weak);
        // What has little to do with the question comes last, in the order of its relevance.
        weak_last(&mut results, |it| (it.weak, it.relevance.unwrap_or_default()));
        descending(results.iter_mut().map(|it| &mut it.score));
    }
    if results.is_empty() && search.hints.is_empty() {
        search.hints.push(nothing(skip, used).into());
    }
    Ok(SearchReply {
        results,
        page: (skip / size) as u32 + 1,
        page_size: size as u32,
        has_more,
        search_type: used,
        nothing_relevant,
        hint: (!search.hints.is_empty()).then(|| search.hints.join("; ")),
        ..SearchReply::default()
    })
}

fn nothing(skip: usize, used: SearchType) -> &'static str {
    match (skip, used) {
        (1.., _) => "there are no further results",
        (_, SearchType::Fts) => "no note has these words: try fewer, other ones, or `hybrid`",
        (_, SearchType::Vector) => {
            "nothing is near enough in meaning: try other words, a lower `min_similarity`, or `hybrid`"
        }
        (_, _) => "nothing found: try fewer or other words, or fewer filters",
    }
}

/// Returns the number of results to skip, and the size of a page.
fn page(request: &SearchNotes) -> Result<(usize, usize), ErrorView> {
    let size = in_range("page_size", request.page_size.unwrap_or(PAGE), 1, MAX_PAGE)?;
    let page = request.page.unwrap_or(1);
    if page == 0 {
        return Err(invalid("`page` is 0".into(), "pages are counted from 1"));
    }
    let skip = match request.offset {
        Some(_) if request.page.is_some() => {
            return Err(invalid("both `page` and `offset` are given".into(), "give one of them"));
        }
        Some(offset) => offset as usize,
        None => (page as usize - 1) * size as usize,
    };
    Ok((skip, size as usize))
}

fn no_tags(request: &SearchNotes) -> bool {
    request.tags.as_ref().is_none_or(Vec::is_empty)
}

/// Converts the filters of S0 §5.5.
fn filters(
    ctx: &QueryContext<'_>,
    request: &SearchNotes,
    after: Option<i64>,
) -> Result<OfNotes, ErrorView> {
    let given = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(fold)
    };
    let bare =
        |text: String| text.trim_start_matches(notes::uri::SCHEME).trim_matches('/').to_string();
    let mut of_notes = OfNotes {
        types: request.note_types.iter().flatten().map(|it| fold(it.trim())).collect(),
        modified_after: after,
        title: given(&request.title).map(|title| name_key(&title)),
        permalink: given(&request.permalink).map(|it| permalink_key(&bare(it))),
        permalink_match: given(&request.permalink_match).map(bare),
        ..OfNotes::default()
    };
    if let Some(filters) = request.metadata_filters.as_ref().filter(|it| !it.is_empty()) {
        let conditions = Conditions::parse(filters)?;
        of_notes.docs = Some(fitting(ctx, &conditions)?);
    }
    Ok(of_notes)
}

/// Prepares a query as in S0 §5.2: words with punctuation are quoted, the last word becomes a
/// prefix, operators are unchanged. Adjacent words mean `AND`.
pub(crate) fn prepared(query: &str) -> String {
    let tokens: Vec<&str> = query.split_whitespace().collect();
    if tokens.len() > 1 && tokens.iter().any(|it| matches!(*it, "AND" | "OR" | "NOT"))
        || query.contains(['"', '*', '('])
    {
        return query.trim().to_string();
    }
    let n = tokens.len();
    let token = |(at, token): (usize, &str)| {
        let is_plain = token.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_field = token.split_once(':').is_some_and(|(field, rest)| {
            !rest.is_empty() && FIELDS.iter().any(|it| it.eq_ignore_ascii_case(field))
        });
        match (is_plain, is_field, at + 1 == n) {
            (_, true, _) => token.to_string(),
            (true, _, true) => format!("{token}*"),
            (true, ..) => token.to_string(),
            (false, ..) => format!("\"{token}\""),
        }
    };
    tokens.iter().copied().enumerate().map(token).collect::<Vec<_>>().join(" ")
}

/// One search.
struct Search {
    plan: Plan,
    wanted: SearchType,
    /// Whether there is no query, only filters.
    is_listing: bool,
    hints: Vec<String>,
}

/// The results of a search.
struct FoundNotes {
    recalled: Recalled,
    hits: Vec<ScoredChunk>,
    /// The document that alone is near in meaning.
    alone: Option<i64>,
}

impl Search {
    fn plan(
        ctx: &QueryContext<'_>,
        request: &SearchNotes,
        wanted: SearchType,
        of_notes: OfNotes,
        size: usize,
    ) -> Result<Search, ErrorView> {
        let is_listing = request.query.trim().is_empty();
        let max_listed = if is_of_statements(request) { usize::MAX } else { MAX_RECALL };
        let (q, formula) = match wanted {
            // A draft needs a question; this one is replaced below.
            _ if is_listing => ("*".to_string(), Formula::Text),
            SearchType::Fts => (prepared(&request.query), Formula::Text),
            SearchType::Vector => (request.query.clone(), Formula::Vector),
            _ => (request.query.clone(), Formula::S0),
        };
        let question = HybridQuery { q, tags: request.tags.clone(), ..HybridQuery::default() };
        let draft = Plan::draft(&question, &ctx.settings.retrieval)?;
        let min_similarity = match formula {
            Formula::Vector => Some(request.min_similarity.unwrap_or(draft.floor.similar)),
            _ => request.min_similarity,
        };
        let question = if is_listing { Question::of_documents() } else { draft.question };
        let filter = Filter { of_notes, ..draft.filter };
        let (k, depth, max_chars) = (size, MAX_RECALL, 100_000);
        let plan = Plan {
            question,
            filter,
            formula,
            k,
            depth,
            max_chars,
            structured_chars: Some(0),
            max_listed,
            min_similarity,
            ..draft
        };
        let plan = plan.resolve(ctx)?;
        Ok(Search { hints: plan.hints.clone(), plan, wanted, is_listing })
    }

    /// Runs the first four steps of the read path; a note is presented as a whole, not by passages.
    fn run(&self, ctx: &QueryContext<'_>) -> Result<FoundNotes, ErrorView> {
        let recalled = recall(ctx, &self.plan, self.plan.depth)?;
        let expanded = expand(ctx, &self.plan, &recalled)?;
        let hits = rank(ctx, &self.plan, &recalled, &expanded)?.hits;
        let alone = match recalled.lacking(&self.plan.question) {
            0 => self.alone(ctx, &expanded.candidates.vector)?,
            _ => None,
        };
        Ok(FoundNotes { recalled, hits, alone })
    }

    /// Returns the document that is near enough in meaning, and much nearer than any other: where all others are far,
    /// it is what the question means, however few words they share.
    fn alone(&self, ctx: &QueryContext<'_>, near: &[(i64, f32)]) -> Result<Option<i64>, AskError> {
        let docs = ctx.snapshot.chunks().docs(near.iter().map(|it| it.0))?;
        let mut best: FxHashMap<i64, f32> = FxHashMap::default();
        for (chunk, near) in near {
            let Some(doc) = docs.get(chunk) else { continue };
            let of = best.entry(*doc).or_default();
            *of = of.max(*near);
        }
        let Some((doc, nearest)) = best.iter().max_by(|a, b| a.1.total_cmp(b.1)) else {
            return Ok(None);
        };
        let others = best.iter().filter(|it| it.0 != doc).map(|it| *it.1);
        let is_alone = others.fold(0.0, f32::max) * APART <= *nearest;
        Ok(Some(*doc).filter(|_| is_alone && *nearest >= self.plan.floor.similar))
    }

    /// Returns all candidates, best first; for a list, just enough to know whether it exceeds
    /// `enough`.
    fn candidates(
        &mut self,
        ctx: &QueryContext<'_>,
        request: &SearchNotes,
        found: &FoundNotes,
        enough: usize,
    ) -> Result<Vec<NoteHit>, ErrorView> {
        let wanted = request.search_item_types.clone().unwrap_or_default();
        let wants =
            |item| wanted.contains(&item) || (wanted.is_empty() && item == ItemType::Entity);
        let by_doc = best_of_documents(ctx, &found.hits)?;
        let mut candidates = Vec::new();
        let mut n_stating = 0;
        if wants(ItemType::Observation) || wants(ItemType::Relation) {
            n_stating = by_doc.len();
            let by = Some(self.wanted).filter(|_| !self.is_listing);
            let mut judge = Judge::new(&self.plan, &found.recalled, by, request.min_similarity);
            for (at, (doc, _)) in by_doc.iter().enumerate() {
                if self.is_listing && candidates.len() > enough {
                    break;
                }
                judge.may_compare = at < MAX_STATING;
                let note = browse::brief(ctx.snapshot, *doc)?;
                if wants(ItemType::Observation) {
                    let stated = judge.observations(ctx, *doc, &note)?.into_iter();
                    candidates.extend(stated.filter(|it| is_filed(request, it)));
                }
                if wants(ItemType::Relation) {
                    candidates.extend(judge.relations(ctx, *doc, &note)?);
                }
            }
        }
        if self.wanted != SearchType::Fts && !self.is_listing && n_stating > MAX_STATING {
            self.hints.push(format!(
                "of {n_stating} notes only the statements of the best {MAX_STATING} were compared by meaning"
            ));
        }
        let mut candidates: Vec<NoteHit> =
            candidates.into_iter().map(|it| NoteHit::Stated(Box::new(it))).collect();
        if wants(ItemType::Entity) {
            let notes = by_doc.into_iter().map(|(doc, ranked)| NoteHit::Note(doc, ranked));
            candidates.splice(0..0, notes);
        }
        // A list keeps the order of its notes.
        if !self.is_listing {
            candidates.sort_by(|a, b| b.score().total_cmp(&a.score()));
        }
        Ok(candidates)
    }

    /// Converts a result; a note gets its best passage.
    fn view(
        &self,
        ctx: &QueryContext<'_>,
        floor: &WeakFloor<'_>,
        alone: Option<i64>,
        candidate: NoteHit,
    ) -> Result<(ResultView, Strength), AskError> {
        let (doc, ranked) = match candidate {
            NoteHit::Stated(view) => {
                let is_strong = view.relevance >= Some(self.plan.floor.relevance);
                return Ok((*view, if is_strong { Strength::Strong } else { Strength::Weak }));
            }
            NoteHit::Note(doc, ranked) => (doc, ranked),
        };
        let halved = if self.plan.formula == Formula::S0 { S0_HALF } else { 1.0 };
        let of = |name: &str| ranked.components.get(name).map(|part| rounded(part / halved));
        let best = best_words(ctx, &self.plan, floor, &ranked)?;
        let gone = Verdict { relevance: 0.0, strength: Strength::Weak };
        let (line, snippet, mut verdict) = best.unwrap_or((0, String::new(), gone));
        if alone == Some(doc) && verdict.strength != Strength::Strong && of("vector").is_some() {
            let relevance = verdict.relevance.max(self.plan.floor.relevance);
            verdict = Verdict { relevance, strength: Strength::Strong };
        }
        let view = ResultView {
            note: browse::brief(ctx.snapshot, doc)?,
            score: rounded(ranked.score),
            text: of("text"),
            similarity: of("vector"),
            line,
            snippet,
            relevance: (!self.is_listing).then(|| rounded(verdict.relevance)),
            ..ResultView::default()
        };
        Ok((view, verdict.strength))
    }
}

/// Returns whether an observation is of a category that was asked for.
fn is_filed(request: &SearchNotes, stated: &ResultView) -> bool {
    let category = fold(stated.category.as_deref().unwrap_or_default());
    let wanted = request.categories.as_deref().unwrap_or_default();
    wanted.is_empty() || wanted.iter().any(|it| fold(it.trim()) == category)
}

/// A possible result.
enum NoteHit {
    /// A document with its best passage.
    Note(i64, ScoredChunk),
    /// A statement of a note.
    Stated(Box<ResultView>),
}

impl NoteHit {
    fn score(&self) -> f32 {
        match self {
            NoteHit::Note(_, ranked) => ranked.score,
            NoteHit::Stated(view) => view.score,
        }
    }
}

/// Returns the best passage of each document, best first.
fn best_of_documents(
    ctx: &QueryContext<'_>,
    ranked: &[ScoredChunk],
) -> Result<Vec<(i64, ScoredChunk)>, AskError> {
    let docs = ctx.snapshot.chunks().docs(ranked.iter().map(|it| it.chunk))?;
    let mut seen = FxHashSet::default();
    let hits = ranked.iter().filter_map(|it| Some((*docs.get(&it.chunk)?, it)));
    Ok(hits.filter(|(doc, _)| seen.insert(*doc)).map(|(doc, it)| (doc, it.clone())).collect())
}

/// Rounds to three digits, enough to compare.
pub(super) fn rounded(value: f32) -> f32 {
    (value * 1000.0).round() / 1000.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::prepared;

    #[test]
    fn fts_query_preparation_quotes_signs_and_ends_with_a_beginning() {
        let rows = [
            // S0 §14.3, §5.2.
            ("machine-learning basics", "\"machine-learning\" basics*"),
            ("node-js", "\"node-js\""),
            ("a.b c:d e", "\"a.b\" \"c:d\" e*"),
            ("project planning ideas", "project planning ideas*"),
            ("cats AND dogs", "cats AND dogs"),
            ("cats NOT dogs", "cats NOT dogs"),
            ("AND", "AND*"),
            ("\"a phrase\" more", "\"a phrase\" more"),
            ("begin* of", "begin* of"),
            ("tag:ops key", "tag:ops key*"),
        ];
        for (query, expected) in rows {
            assert_eq!(prepared(query), expected, "{query}");
        }
    }
}
