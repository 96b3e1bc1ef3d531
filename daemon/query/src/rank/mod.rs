//! Rank, the fourth step: one score per candidate, the sum of weighted components, all of which are
//! kept.
//!
//! In: a plan, the recalled and expanded candidates. Out: [`Ranked`], best first.
//! `hybrid`, `rrf`, `minmax`: text, vectors and the signals of `signals.rs`, with a penalty for
//! further hits of the same document. `s0`: S0 §14.5's 0.5 · text, stretched, + 0.5 · cosine; below
//! the least similarity only the text counts. `s4`: S4 §14's 0.7 · semantic + 0.2 · hop + 0.1 ·
//! relation. `text`, `vector`: one signal alone.
//! [`adjust`] then corrects the order of the best hits: `thin.rs` (a short passage gives way to a
//! fuller one), `rerank.rs` (a cross-encoder), `cited.rs` (the file that the question names).
//! `listing.rs` replaces all of this if a question has no words.
//! Invariant: the components of a hit sum to its score.

mod candidate;
mod cited;
mod listing;
pub(crate) mod question_words;
mod rerank;
pub(crate) mod signals;
mod thin;

use std::collections::{BTreeMap, BTreeSet};

use config::settings::Formula;
use rustc_hash::{FxHashMap, FxHashSet};

use self::candidate::{Candidate, SignalInput};
pub(crate) use self::cited::COMPONENT as CITED;
use self::signals::SIGNALS;
use crate::expand::bridge::Reach;
use crate::expand::{Expanded, RelationSignal};
use crate::plan::{MAX_RECALL, Plan};
use crate::recall::Recalled;
use crate::recall::fuse::Values;
use crate::{AskError, QueryContext};

/// Weight of text and of vectors in S0's formula.
pub(crate) const S0_HALF: f32 = 0.5;

/// Share of text and vectors that a note without text keeps, unless the question is its name: a
/// title alone is short, so that each word it shares counts much, and there is nothing to read.
const BARE_TITLE: f32 = 0.5;

/// A chunk with its score.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScoredChunk {
    pub chunk: i64,
    pub score: f32,
    /// Weighted components, which sum to the score.
    pub components: BTreeMap<&'static str, f32>,
    /// The nearness of its best window.
    pub near: Option<f32>,
    /// How a relation leads to it.
    pub relation: RelationSignal,
    /// How a name of the question leads to it.
    pub named: Reach,
    /// How a name in a best candidate leads to it.
    pub bridge: Reach,
}

/// The hits, best first.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    pub hits: Vec<ScoredChunk>,
    /// Whether a deeper search may find more.
    pub is_cut: bool,
    /// Whether there may be more than the deepest search finds.
    pub is_ended: bool,
}

impl Ranked {
    /// Appends the hits of a deeper search.
    pub(crate) fn append(&mut self, deeper: Ranked) {
        let known: FxHashSet<i64> = self.hits.iter().map(|it| it.chunk).collect();
        self.hits.extend(deeper.hits.into_iter().filter(|it| !known.contains(&it.chunk)));
        self.is_ended = deeper.is_ended;
    }
}

/// Scores every candidate; for a question without words, lists its documents.
pub(crate) fn rank(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    expanded: &Expanded,
) -> Result<Ranked, AskError> {
    let is_ended = recalled.is_ended;
    if plan.question.is_of_documents() {
        let hits = listing::listed(ctx, plan, recalled)?;
        return Ok(Ranked { hits, is_cut: false, is_ended });
    }
    let read =
        |chunks: Vec<i64>| SignalInput::read(ctx, plan, recalled, expanded, chunks.into_iter());
    let candidates = expanded.candidates.chunks().chain(expanded.chunks());
    // The other formulas score what was recalled; of the passages, only equal ones are read, for their places.
    let mut input =
        read(candidates.filter(|_| plan.is_fused()).collect())?.with_turns()?.with_documents()?;
    let mut hits = scored(&input);
    if !plan.is_fused() {
        let equal = hits.chunk_by(|a, b| a.score == b.score).filter(|it| it.len() > 1);
        input = read(equal.flatten().map(|it| it.chunk).collect())?;
    }
    by_place_where_equal(&mut hits, |chunk| {
        let Candidate { passage, label, .. } = input.candidate(chunk);
        (label.map(|it| it.path.as_str()), passage.map(|it| it.idx))
    });
    if plan.is_fused() && plan.weights.same_document > 0.0 {
        // Turns of a dialogue are short, and one answers for no other.
        let whole = |chunk| input.candidate(chunk).passage.filter(|it| !it.is_turn());
        let doc = |chunk| whole(chunk).map_or(-chunk, |it| it.doc);
        hits = spread(hits, doc, plan.weights.same_document);
    }
    let is_cut = recalled.depth < MAX_RECALL && expanded.candidates.longest() >= recalled.depth;
    Ok(Ranked { hits, is_cut, is_ended })
}

/// Corrects the order of the best hits.
pub(crate) fn adjust(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    expanded: &Expanded,
    ranked: Ranked,
) -> Result<Ranked, AskError> {
    if plan.question.is_of_documents() {
        return Ok(ranked);
    }
    let n_reranked = ctx.reranker.map_or(0, |_| ctx.settings.retrieval.rerank.depth as usize);
    let n_read = if plan.is_fused() { thin::DEPTH.max(n_reranked) } else { 0 };
    let first = ranked.hits.iter().take(n_read).map(|it| it.chunk);
    let input = SignalInput::read(ctx, plan, recalled, expanded, first)?;
    let hits = stage!("thin", thin::exchange(&input, ranked.hits))?;
    let hits = stage!("rerank", rerank::rerank(&input, hits))?;
    let hits = cited::put_first(ctx, plan, hits)?;
    Ok(Ranked { hits, ..ranked })
}

/// Returns every candidate with its components, sorted by score; equal ones by row.
fn scored(input: &SignalInput<'_>) -> Vec<ScoredChunk> {
    let SignalInput { plan, recalled, expanded, .. } = *input;
    let (text, vector) = input.values();
    let mut chunks: BTreeSet<i64> = text.keys().chain(vector.keys()).copied().collect();
    chunks.extend(expanded.chunks());
    // Before `spread`: a filtered-out chunk must not lower the other chunks of its document.
    chunks.retain(|chunk| recalled.allows(*chunk));
    let near: Values = expanded.candidates.vector.iter().copied().collect();
    // S0 keeps the last match by words, whose stretched score is 0. A question about an entity also
    // keeps passages that only mention it.
    let keeps_all = plan.formula == Formula::S0 || plan.filter.entity.is_some();
    let mut hits = Vec::new();
    for chunk in chunks {
        let of = |values: &Values| values.get(&chunk).copied().unwrap_or(0.0);
        let all = components(&input.candidate(chunk), of(text), of(vector));
        let components: BTreeMap<&'static str, f32> =
            all.into_iter().filter(|(_, value)| *value > 0.0).collect();
        let hit = ScoredChunk {
            chunk,
            score: components.values().sum(),
            components,
            near: near.get(&chunk).copied(),
            relation: expanded.relations.get(&chunk).cloned().unwrap_or_default(),
            named: expanded.names.get(&chunk).cloned().unwrap_or_default(),
            bridge: expanded.bridges.get(&chunk).cloned().unwrap_or_default(),
        };
        hits.extend(Some(hit).filter(|it| it.score > 0.0 || keeps_all));
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    hits
}

/// Returns the weighted components of a candidate by the plan's formula, given its values of text
/// and vector.
fn components(candidate: &Candidate<'_>, text: f32, vector: f32) -> Vec<(&'static str, f32)> {
    let input = candidate.input;
    let (mut weights, trust) = (input.plan.weights, &input.recalled.trust);
    match input.plan.formula {
        Formula::Text => vec![("text", text)],
        Formula::Vector => vec![("vector", vector)],
        Formula::S0 => vec![("text", S0_HALF * text), ("vector", S0_HALF * vector)],
        Formula::S4 => {
            let relation =
                input.expanded.relations.get(&candidate.chunk).cloned().unwrap_or_default();
            vec![
                ("semantic", weights.semantic * vector),
                ("hop", weights.hop * relation.hop),
                ("relation", weights.relation * relation.relation),
            ]
        }
        Formula::Hybrid | Formula::Rrf | Formula::MinMax => {
            let kept = if candidate.is_bare_title() { BARE_TITLE } else { 1.0 };
            let mut all =
                vec![("text", kept * trust.text * text), ("vector", kept * trust.vector * vector)];
            for signal in SIGNALS {
                let kept = if signal.is_by_words { trust.words } else { 1.0 };
                let weight = *(signal.weight)(&mut weights) * kept;
                if weight > 0.0 {
                    all.push((signal.name, weight * (signal.value)(candidate)));
                }
            }
            all
        }
    }
}

/// Sorts hits with equal scores, which are adjacent, by path and place. Row ids depend on the order of
/// indexing.
fn by_place_where_equal<P: Ord>(hits: &mut [ScoredChunk], place: impl Fn(i64) -> P) {
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
        equal.sort_by_key(|hit| place(hit.chunk));
    }
}

/// Moves further hits of a document back: each loses `weight` for each better one, as a component
/// of its own.
fn spread(hits: Vec<ScoredChunk>, doc: impl Fn(i64) -> i64, weight: f32) -> Vec<ScoredChunk> {
    let waiting = hits.into_iter().map(|hit| Some((doc(hit.chunk), hit)));
    let mut waiting: Vec<Option<(i64, ScoredChunk)>> = waiting.collect();
    let mut n_taken: FxHashMap<i64, f32> = FxHashMap::default();
    let mut out = Vec::with_capacity(waiting.len());
    loop {
        let mut best: Option<(usize, f32)> = None;
        for (at, one) in waiting.iter().enumerate() {
            let Some((doc, one)) = one else { continue };
            let score = one.score - weight * n_taken.get(doc).copied().unwrap_or(0.0);
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((at, score));
            }
        }
        let Some((doc, mut next)) = best.and_then(|(at, _)| waiting.get_mut(at)?.take()) else {
            return out;
        };
        let n = n_taken.entry(doc).or_default();
        if *n > 0.0 {
            next.components.insert("same_document", -weight * *n);
            next.score -= weight * *n;
        }
        *n += 1.0;
        out.push(next);
    }
}

#[cfg(test)]
mod tests {
    use config::settings::Retrieval;
    use embed::{StaticModel, WordPiece};
    use index::store::Decisions;
    use index::store::testing::Bench;
    use proto::tool::core::HybridQuery;

    use super::*;
    use crate::recall::{Candidates, recall};

    fn candidates() -> Candidates {
        Candidates {
            text: vec![(1, 8.0), (2, 4.0)],
            vector: vec![(2, 0.6), (3, 0.3)],
            ..Candidates::default()
        }
    }

    fn expanded(candidates: Candidates) -> Expanded {
        let mut expanded = Expanded { candidates, ..Expanded::default() };
        let signal = RelationSignal { hop: 0.7, relation: 0.8, entity: Some(9) };
        expanded.relations.insert(3, signal);
        expanded
    }

    fn asked<T>(
        bench: &Bench,
        request: &HybridQuery,
        then: impl Fn(&QueryContext<'_>, &Plan) -> T,
    ) -> T {
        let plan = Plan::draft(request, &Retrieval::default()).expect("planned");
        let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
        let (settings, decisions) = (config::Settings::default(), Decisions::default());
        let ctx = QueryContext {
            snapshot: &snapshot,
            settings: &settings,
            embedder: &StaticModel::builtin(WordPiece::builtin()),
            reranker: None,
            one_way: &[],
            functional: &[],
            associations: &Default::default(),
            means: &Default::default(),
            decisions: decisions.at(snapshot.tick()),
        };
        then(&ctx, &plan)
    }

    fn read<'a>(
        ctx: &'a QueryContext<'a>,
        plan: &'a Plan,
        recalled: &'a Recalled,
        expanded: &'a Expanded,
        chunks: &[i64],
    ) -> SignalInput<'a> {
        let chunks = chunks.iter().copied();
        SignalInput::read(ctx, plan, recalled, expanded, chunks).expect("read")
    }

    fn ranked(formula: &str, recalled: &Recalled, expanded: &Expanded) -> Vec<ScoredChunk> {
        let request =
            HybridQuery { q: "x".into(), formula: Some(formula.into()), ..HybridQuery::default() };
        asked(&Bench::new(), &request, |ctx, plan| {
            rank(ctx, plan, recalled, expanded).expect("ranked").hits
        })
    }

    #[test]
    fn a_candidate_is_read_and_compared_with_the_question() {
        let mut bench = Bench::new();
        bench.put("keys.md", "# Signing keys\n\n## Rotating\n\nThe service rotates them yearly.\n");
        let chunk = bench.count("SELECT max(id) FROM chunks");
        let request =
            HybridQuery { q: "rotating keys yearly doors".into(), ..HybridQuery::default() };
        asked(&bench, &request, |ctx, plan| {
            let (recalled, expanded) = (Recalled::default(), Expanded::default());
            let input = read(ctx, plan, &recalled, &expanded, &[chunk, 99]);
            let candidate = input.candidate(chunk);
            let (passage, label) =
                (candidate.passage.expect("there"), candidate.label.expect("there"));
            let text = ctx.snapshot.chunks().text(passage).expect("read");
            let shares = [&passage.section, &text, &label.path].map(|it| candidate.share_of(it));
            assert_eq!((label.path.as_str(), shares), ("keys.md", [0.5, 0.75, 0.25]));
            assert_eq!(candidate.share_of(""), 0.0);
            let gone = input.candidate(99);
            assert_eq!((gone.passage, gone.title()), (None, ""), "no such chunk");
        });
    }

    #[test]
    fn a_turn_counts_the_words_of_its_neighbors_and_is_not_put_back() {
        let mut bench = Bench::new();
        let said = [
            "Maya: Which server stalled on Friday evening?",
            "Tom: The old one in the cellar, its disk was full.",
            "Maya: And who is going to clean it up now?",
            "Tom: I am, tomorrow after the meeting.",
        ];
        bench.put("chat.md", &said.join("\n\n"));
        let request =
            HybridQuery { q: "server stalled on friday".into(), ..HybridQuery::default() };
        let hits = asked(&bench, &request, |ctx, plan| {
            let recalled = recall(ctx, plan, 40).expect("recalled");
            let expanded = crate::expand::expand(ctx, plan, &recalled).expect("expanded");
            rank(ctx, plan, &recalled, &expanded).expect("ranked").hits
        });
        let first = bench.count("SELECT min(id) FROM chunks");
        let beside = |turn: i64| {
            let hit = hits.iter().find(|it| it.chunk == first + turn)?;
            assert!(!hit.components.contains_key("same_document"), "{turn}");
            hit.components.get("beside").copied()
        };
        assert_eq!([0, 1, 2, 3].map(|turn| beside(turn).is_some()), [false, true, false, false]);
        // A question is shown with its answer, and an answer with its question.
        for (q, shown) in
            [("which server stalled", 0..2), ("a full disk", 0..2), ("clean it up", 2..4)]
        {
            let request = HybridQuery { q: q.into(), ..HybridQuery::default() };
            let reply = asked(&bench, &request, |ctx, _| crate::answer(ctx, &request));
            let reply = reply.expect("answered");
            let snippet = reply.chunks.first().map_or("", |hit| hit.snippet.as_str());
            let seen = said.map(|turn| snippet.contains(turn));
            assert_eq!(seen, [0, 1, 2, 3].map(|turn| shown.contains(&turn)), "{q}: {snippet}");
        }
    }

    #[test]
    fn a_document_counts_as_a_whole_and_follows_its_changes() {
        let mut bench = Bench::new();
        let pets =
            "## Food\n\nPuppies eat meat twice a day.\n\n## Walks\n\nA hound needs a long walk.\n";
        let money = "## Loans\n\nThe bank lends at four percent.\n";
        let put = |bench: &mut Bench, texts: [&str; 2]| {
            bench.put("first.md", &format!("# First\n\n{}", texts[0]));
            bench.put("second.md", &format!("# Second\n\n{}", texts[1]));
        };
        put(&mut bench, [pets, money]);
        let means = crate::MeanCache::default();
        let values = |bench: &Bench| {
            let request = HybridQuery { q: "how do I keep a dog".into(), ..HybridQuery::default() };
            let chunks: Vec<i64> = (1..=bench.count("SELECT max(id) FROM chunks")).collect();
            asked(bench, &request, |ctx, plan| {
                let ctx = &QueryContext { means: &means, ..*ctx };
                let recalled = recall(ctx, plan, 40).expect("recalled");
                let expanded = Expanded::default();
                let input = read(ctx, plan, &recalled, &expanded, &chunks);
                let input = input.with_documents().expect("read");
                let value = |it: &i64| {
                    let label = input.candidate(*it).label?;
                    Some((label.path.clone(), input.documents[it]))
                };
                chunks.iter().filter_map(value).collect::<BTreeMap<String, f32>>()
            })
        };
        let found = values(&bench);
        assert!(found["first.md"] == 1.0 && found["second.md"] < 0.5, "{found:?}");
        assert_eq!(values(&bench), found, "from the cache");
        put(&mut bench, [money, pets]);
        let found = values(&bench);
        assert!(found["first.md"] < 0.5 && found["second.md"] == 1.0, "{found:?}");
    }

    #[test]
    fn a_name_counts_where_its_words_are_those_of_the_question() {
        let mut bench = Bench::new();
        let text = "# Signing keys\n\nThe service rotates them yearly, and keeps each for as long as it is used.\n";
        bench.put("keys.md", text);
        let chunk = bench.count("SELECT max(id) FROM chunks");
        let named_by = |q: &str, name: &str| {
            let request = HybridQuery { q: q.into(), ..HybridQuery::default() };
            asked(&bench, &request, |ctx, plan| {
                let (recalled, expanded) = (Recalled::default(), Expanded::default());
                let input = read(ctx, plan, &recalled, &expanded, &[chunk]);
                input.candidate(chunk).is_named_by(name)
            })
        };
        for (question, name, expected) in [
            ("signing keys", "Signing keys", 1.0),
            ("how do I sign with a key?", "Signing the keys", 1.0),
            ("signing keys", "Keys", 0.5),
            ("keys", "Signing keys", 0.5),
            ("rotating keys yearly doors", "Signing keys", 0.125),
            ("signing keys", "ch04-01-signing_keys", 1.0),
            ("signing keys", "2024-06-07", 0.0),
            ("2024", "2024-06-07", 1.0 / 3.0),
            ("what is it about", "About", 1.0 / 4.0),
            ("signing keys", "", 0.0),
        ] {
            let found = named_by(question, name);
            assert!((found - expected).abs() < 1e-5, "{question} | {name}: {found}");
        }
    }

    #[test]
    fn a_name_is_the_question_as_a_whole_or_without_numbers_in_front() {
        let bench = Bench::new();
        for (question, name, expected) in [
            ("signing keys", "Signing Keys", true),
            ("signing keys", "ch04-01-signing_keys", true),
            ("2024-05-06 standup", "2024-05-06 standup", true),
            ("2024-05-06 standup", "2024-05-07 standup", false),
            ("3D printing", "2D printing", false),
            ("signing the keys", "signing keys", false),
            ("C", "C++", false),
            ("c++", "C++", true),
        ] {
            let request = HybridQuery { q: question.into(), ..HybridQuery::default() };
            asked(&bench, &request, |ctx, plan| {
                let (recalled, expanded) = (Recalled::default(), Expanded::default());
                let input = read(ctx, plan, &recalled, &expanded, &[]);
                assert_eq!(input.is_name(name), expected, "{question} | {name}");
            });
        }
    }

    #[test]
    fn a_note_without_text_counts_half_unless_the_question_is_its_name() {
        let mut bench = Bench::new();
        bench.put("empty.md", "---\ntitle: Signing keys\n---\n");
        let chunk = bench.count("SELECT max(id) FROM chunks");
        let text_and_vector = |q: &str| {
            let request = HybridQuery { q: q.into(), ..HybridQuery::default() };
            asked(&bench, &request, |ctx, plan| {
                let (recalled, expanded) = (Recalled::default(), Expanded::default());
                let input = read(ctx, plan, &recalled, &expanded, &[chunk]);
                let all = components(&input.candidate(chunk), 1.0, 1.0);
                [all[0], all[1]].map(|(_, value)| value)
            })
        };
        let named = text_and_vector("signing keys");
        assert_eq!(text_and_vector("keys of the office"), named.map(|value| value / 2.0));
    }

    #[test]
    fn s4_is_as_written_there() {
        let expanded = expanded(Candidates { text: vec![], ..candidates() });
        let ranked = ranked("s4", &Recalled::default(), &expanded);
        let third = ranked.iter().find(|r| r.chunk == 3).expect("ranked");
        assert!((third.score - (0.7 * 0.3 + 0.2 * 0.7 + 0.1 * 0.8)).abs() < 1e-6);
    }

    #[test]
    fn a_chunk_that_both_signals_find_comes_first_and_components_sum_to_the_score() {
        let ranked = ranked("hybrid", &Recalled::default(), &expanded(candidates()));
        assert_eq!(ranked[0].chunk, 2);
        for r in &ranked {
            assert!((r.components.values().sum::<f32>() - r.score).abs() < 1e-6);
        }
    }

    #[test]
    fn a_single_hit_by_words_keeps_its_signal() {
        let candidates = Candidates { text: vec![(1, 8.0)], ..candidates() };
        let expanded = Expanded { candidates, ..Expanded::default() };
        let ranked = ranked("minmax", &Recalled::default(), &expanded);
        let first = ranked.iter().find(|it| it.chunk == 1).expect("found by words");
        assert!(first.components.contains_key("text"));
    }

    #[test]
    fn one_signal_alone_keeps_its_order() {
        let expanded = Expanded { candidates: candidates(), ..Expanded::default() };
        let order = |formula| -> Vec<i64> {
            ranked(formula, &Recalled::default(), &expanded).iter().map(|r| r.chunk).collect()
        };
        assert_eq!(order("text"), [1, 2]);
        assert_eq!(order("vector"), [2, 3]);
    }

    #[test]
    fn a_chunk_that_does_not_meet_a_demand_costs_its_document_nothing() {
        let formula = Some("hybrid".into());
        let request = HybridQuery { q: "x".into(), formula, ..HybridQuery::default() };
        let expanded = expanded(candidates());
        let of_one_document = |recalled: &Recalled| {
            asked(&Bench::new(), &request, |ctx, plan| {
                let hits = scored(&read(ctx, plan, recalled, &expanded, &[]));
                spread(hits, |_| 7, plan.weights.same_document)
            })
        };
        let all = of_one_document(&Recalled::default());
        assert!(all.iter().any(|it| it.components.contains_key("same_document")));
        let matching = Some([3].into_iter().collect());
        let ranked = of_one_document(&Recalled { matching, ..Recalled::default() });
        assert_eq!(ranked.iter().map(|it| it.chunk).collect::<Vec<_>>(), [3]);
        assert!(!ranked[0].components.contains_key("same_document"), "{ranked:?}");
    }

    #[test]
    fn equal_scores_are_in_the_order_of_their_places() {
        let scores = [(5, 8.0), (1, 4.0), (2, 4.0), (3, 4.0), (4, 2.0)];
        let hit = |(chunk, score)| ScoredChunk { chunk, score, ..ScoredChunk::default() };
        let mut hits: Vec<ScoredChunk> = scores.into_iter().map(hit).collect();
        // Later rows are in earlier files.
        by_place_where_equal(&mut hits, |chunk| (format!("{}.md", 9 - chunk), 0));
        assert_eq!(hits.iter().map(|it| it.chunk).collect::<Vec<_>>(), [5, 3, 2, 1, 4]);
    }
}
