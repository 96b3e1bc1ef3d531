//! The memory tools that list what needs attention.

use jiff::{Timestamp, Zoned};
use proto::error::ErrorView;
use proto::tool::memory::{
    ClusterView, ConsolidationReply, EventSummary, FindSimilarNodes, GapsReply,
    GetConsolidationReport, GetPendingConsolidation, GetRelationGaps, GetStats, PendingNode,
    PendingReply, RelationCandidate, RelationGap, SimilarPair, SimilarReply, StaleSummary,
    StatsReply,
};

use super::graph::{limit_of, page_of};
use super::{ledger, node_view};
use crate::llm::{Asker, LlmError, draft};
use crate::project::Project;
use crate::serve::tool::notes::when;
use crate::serve::tool::{invalid, unreadable};
use index::read::{Listed, Node};
use index::store::{DecisionsAt, MemoryLedger, Snapshot, Verdict, relation_key};
use model::terms::norm_of;
use query::browse::rfc3339;
use query::memory::Web;
use query::memory::alike;
use query::memory::alike::{Means, Pair};
use query::memory::gaps::gaps;

/// Rows per page.
const PAGE: usize = 200;

/// Least cosine of nodes that may be related (S1).
const ALIKE: f32 = 0.75;

/// Most rows in each part of a report, most candidates considered, and most names in a cluster.
const MAX_ROWS: usize = 50;
const MAX_CANDIDATES: usize = 20;
const MAX_NAMES: usize = 50;

/// Pairs considered, as a multiple of those returned: some are rejected.
const MAX_REJECTED: usize = 5;

/// The relation type of a decision if nobody names another one.
const RELATED: &str = "related_to";

/// A file whose modification is later than a tool's last write by more than this was edited by
/// hand, milliseconds.
const BY_HAND_MS: i64 = 2_000;

const USUAL_SINCE: &str = "7d";

/// Most drafts per report that a model is asked for.
const MAX_DRAFTS: usize = 5;

/// Author of a draft that quotes facts word for word.
const EXTRACT: &str = "extract";

/// Lists entities that are mentioned without a relation.
pub fn get_relation_gaps(
    project: &Project,
    snapshot: &Snapshot,
    request: GetRelationGaps,
) -> Result<GapsReply, ErrorView> {
    let page = page_of(request.page)?;
    let decisions = project.context(snapshot).decisions;
    let mut all = gaps(snapshot)?;
    all.retain(|it| !is_rejected(decisions, &it.node, &it.other));
    let (rows, next_page) = paged(all, page);
    let view = |it: query::memory::gaps::Gap| RelationGap {
        key: Some(key_of(&it.node, &it.other)),
        node: it.node,
        referenced_name: it.other,
        reference_count: it.n_facts,
    };
    let freshness = project.freshness(snapshot);
    Ok(GapsReply { gaps: rows.into_iter().map(view).collect(), next_page, freshness })
}

/// Returns the key with which a person decides that two entities are not related.
fn key_of(one: &str, other: &str) -> String {
    relation_key(&norm_of(one), RELATED, &norm_of(other))
}

fn is_rejected(decisions: DecisionsAt<'_>, one: &str, other: &str) -> bool {
    let keys = [key_of(one, other), key_of(other, one)];
    keys.iter().any(|key| decisions.get(key) == Some(Verdict::Rejected))
}

fn paged<T>(all: Vec<T>, page: usize) -> (Vec<T>, Option<u32>) {
    let skip = (page - 1).saturating_mul(PAGE);
    let has_more = all.len() > skip.saturating_add(PAGE);
    let next = has_more.then(|| u32::try_from(page + 1).unwrap_or(u32::MAX));
    (all.into_iter().skip(skip).take(PAGE).collect(), next)
}

/// Finds pairs that are similar but not related.
pub fn find_similar_nodes(
    project: &Project,
    snapshot: &Snapshot,
    request: FindSimilarNodes,
) -> Result<SimilarReply, ErrorView> {
    let limit = limit_of(request.limit, 20, 500)?;
    let min_score = request.min_score.unwrap_or(ALIKE);
    if !(-1.0..=1.0).contains(&min_score) {
        return Err(invalid(format!("`min_score` is {min_score}"), "give a number from -1 to 1"));
    }
    let (means, web) = (Means::read(snapshot)?, Web::read(snapshot)?);
    let pairs = means.pairs(min_score, limit, |one, other| !web.relates(one, other));
    let mut views = Vec::new();
    for (one, other, score) in named_pairs(snapshot, &means, &pairs)? {
        views.push(SimilarPair {
            node_a: one.name,
            node_b: other.name,
            similarity: score,
            node_a_type: one.entity_type,
            node_b_type: other.entity_type,
        });
    }
    Ok(SimilarReply { pairs: views, freshness: project.freshness(snapshot) })
}

fn named_pairs(
    snapshot: &Snapshot,
    means: &Means,
    pairs: &[Pair],
) -> Result<Vec<(Node, Node, f32)>, ErrorView> {
    let mut out = Vec::new();
    for pair in pairs {
        let ends = [pair.one, pair.other].map(|at| means.doc(at));
        let ends = snapshot.memory().many(ends).map_err(unreadable)?;
        out.extend(<[Node; 2]>::try_from(ends).ok().map(|[one, other]| (one, other, pair.score)));
    }
    Ok(out)
}

/// An entity that needs a summary.
struct Pending {
    node: Node,
    observed_ms: i64,
    summarized_ms: Option<i64>,
}

/// Returns entities with facts that have no summary, or whose facts are newer than it.
fn pending(snapshot: &Snapshot, ledger: &MemoryLedger) -> Result<Vec<Pending>, ErrorView> {
    let writes = ledger.last_writes().map_err(unreadable)?;
    let all = Listed { most: usize::MAX, ..Listed::default() };
    let nodes = snapshot.memory().list(&all).map_err(unreadable)?;
    let mut out = Vec::new();
    for node in nodes.into_iter().filter(|it| it.n_facts > 0) {
        let last = writes.get(&node.path).copied().unwrap_or_default();
        // An edit by hand counts as a new fact, because its content is unknown.
        let by_hand = last.any_ms.is_none_or(|any| node.modified_ms > any + BY_HAND_MS);
        let observed_ms = if by_hand { Some(node.modified_ms) } else { last.observed_ms };
        let is_newer = match last.summarized_ms {
            Some(summarized) => observed_ms.is_some_and(|it| it > summarized),
            // The time of a summary written by hand is unknown, but it is earlier than a fact that
            // was a tool's last write.
            None => !by_hand && last.observed_ms.is_some() && last.observed_ms == last.any_ms,
        };
        let observed_ms = observed_ms.unwrap_or(node.modified_ms);
        if node.summary.is_none() || is_newer {
            out.push(Pending { node, observed_ms, summarized_ms: last.summarized_ms });
        }
    }
    Ok(out)
}

/// Lists entities that need a summary.
pub fn get_pending_consolidation(
    project: &Project,
    snapshot: &Snapshot,
    request: GetPendingConsolidation,
) -> Result<PendingReply, ErrorView> {
    let page = page_of(request.page)?;
    let (rows, next_page) = paged(pending(snapshot, &ledger(project)?)?, page);
    let view = |it: Pending| PendingNode {
        name: it.node.name,
        entity_type: it.node.entity_type,
        observation_count: it.node.n_facts,
        last_observation_at: rfc3339(it.observed_ms),
        summary_updated_at: it.summarized_ms.map(rfc3339),
    };
    let freshness = project.freshness(snapshot);
    Ok(PendingReply { nodes: rows.into_iter().map(view).collect(), next_page, freshness })
}

/// A report, and the entities whose summaries a model may draft.
pub struct Report {
    pub(super) reply: ConsolidationReply,
    /// Positions among the stale summaries, with all observations.
    open: Vec<(usize, Vec<String>)>,
}

/// Lets the model of questions, if there is one, write drafts; the others stay as they are.
pub fn with_drafts(
    project: &Project,
    report: Report,
    asker: &Asker,
) -> Result<ConsolidationReply, ErrorView> {
    let Report { mut reply, open } = report;
    let Some(slot) = project.llms().query() else { return Ok(reply) };
    let mut trouble = None;
    for (at, facts) in open {
        let Some(stale) = reply.stale_summaries.get_mut(at) else { continue };
        let prompt = draft::prompt(&stale.name, &stale.entity_type, &facts);
        match slot.generate(&prompt, asker) {
            Ok(completion) => match draft::parse(&completion.text) {
                Some(summary) => {
                    stale.draft_summary = Some(summary);
                    stale.draft_by = Some(format!("llm:{}", completion.model));
                }
                None => trouble = Some("the model's answer is not a summary".to_string()),
            },
            // The client answers all prompts at once.
            Err(LlmError::Asked) => {}
            // The next prompt would fail, too.
            Err(error) => {
                trouble = Some(error.to_string());
                break;
            }
        }
    }
    reply.llm = trouble.map(|why| format!("drafts without `llm.query`: {why}"));
    Ok(reply)
}

/// Returns what needs attention in memory.
pub fn get_consolidation_report(
    project: &Project,
    snapshot: &Snapshot,
    request: GetConsolidationReport,
) -> Result<Report, ErrorView> {
    let since = request.since.as_deref().unwrap_or(USUAL_SINCE);
    let since: Timestamp = when::since("since", since, &Zoned::now())?;
    let ledger = ledger(project)?;
    let (means, web) = (Means::read(snapshot)?, Web::read(snapshot)?);
    let mut cut = Vec::new();

    let stale = pending(snapshot, &ledger)?;
    if stale.len() > MAX_ROWS {
        cut.push(format!("{} stale summaries", stale.len() - MAX_ROWS));
    }
    let (mut stale_summaries, mut open) = (Vec::new(), Vec::new());
    for it in stale.into_iter().take(MAX_ROWS) {
        if project.llms().query().is_some() && open.len() < MAX_DRAFTS {
            open.push((stale_summaries.len(), alike::contents(snapshot, it.node.doc)?));
        }
        let draft_summary = alike::draft(snapshot, it.node.doc)?;
        stale_summaries.push(StaleSummary {
            draft_by: draft_summary.is_some().then(|| EXTRACT.to_string()),
            draft_summary,
            name: it.node.name,
            entity_type: it.node.entity_type,
            last_modified: rfc3339(it.node.modified_ms),
            observation_count: it.node.n_facts,
        });
    }

    let decisions = project.context(snapshot).decisions;
    let most = MAX_CANDIDATES * MAX_REJECTED;
    let is_open = |one, other| !web.relates(one, other);
    let (pairs, mut groups) = means.pairs_and_clusters(ALIKE, most, &web, is_open);
    let named = named_pairs(snapshot, &means, &pairs)?.into_iter();
    let named = named.filter(|(a, b, _)| !is_rejected(decisions, &a.name, &b.name));
    let relation_candidates =
        named.take(MAX_CANDIDATES).map(|(one, other, score)| RelationCandidate {
            key: Some(key_of(&one.name, &other.name)),
            rationale: Some(match one.entity_type == other.entity_type {
                true => {
                    format!("both are of type {} and have similar observations", one.entity_type)
                }
                false => "they have similar observations".to_string(),
            }),
            node_a: one.name,
            node_b: other.name,
            similarity_score: score,
        });
    let relation_candidates = relation_candidates.collect();

    let orphans = Listed { is_orphan: true, most: MAX_ROWS + 1, ..Listed::default() };
    let mut orphans = snapshot.memory().list(&orphans).map_err(unreadable)?;
    if orphans.len() > MAX_ROWS {
        cut.push("orphans (`get_orphans` lists all)".to_string());
        orphans.truncate(MAX_ROWS);
    }

    if groups.len() > MAX_ROWS {
        cut.push(format!("{} clusters", groups.len() - MAX_ROWS));
        groups.truncate(MAX_ROWS);
    }
    let counts = ledger.counts_since(since.as_millisecond()).map_err(unreadable)?;
    let reply = ConsolidationReply {
        stale_summaries,
        relation_candidates,
        orphaned_nodes: orphans.iter().map(node_view).collect(),
        cluster_summary: cluster_views(snapshot, &means, &groups)?,
        event_summary: EventSummary {
            since: rfc3339(since.as_millisecond()),
            creates: counts.creates,
            updates: counts.updates,
            deletes: counts.deletes,
        },
        truncated: (!cut.is_empty()).then(|| format!("left out: {}", cut.join(", "))),
        llm: None,
        freshness: project.freshness(snapshot),
    };
    Ok(Report { reply, open })
}

fn cluster_views(
    snapshot: &Snapshot,
    means: &Means,
    groups: &[Vec<usize>],
) -> Result<Vec<ClusterView>, ErrorView> {
    let docs: Vec<Vec<i64>> =
        groups.iter().map(|group| group.iter().map(|at| means.doc(*at)).collect()).collect();
    let labels = alike::labels(snapshot, &docs)?;
    let mut views = Vec::new();
    for (idx, (group, label)) in docs.iter().zip(labels).enumerate() {
        let shown = group.get(..group.len().min(MAX_NAMES)).unwrap_or_default();
        let nodes = snapshot.memory().many(shown.iter().copied()).map_err(unreadable)?;
        let node_names = nodes.into_iter().map(|node| node.name).collect();
        let cluster_id = idx as u64 + 1;
        views.push(ClusterView { cluster_id, node_names, centroid_label: label });
    }
    Ok(views)
}

/// Returns counts of nodes, facts and relations.
pub fn get_stats(
    project: &Project,
    snapshot: &Snapshot,
    _: GetStats,
) -> Result<StatsReply, ErrorView> {
    let counts = snapshot.memory().counts().map_err(unreadable)?;
    let embedding_coverage = match counts.n_facts {
        0 => 1.0,
        n => counts.n_vectors as f32 / n as f32,
    };
    Ok(StatsReply {
        node_count: counts.n_nodes,
        observation_count: counts.n_facts,
        relation_count: counts.n_relations,
        embedding_coverage,
        workspace: project.name.clone(),
        freshness: project.freshness(snapshot),
    })
}
