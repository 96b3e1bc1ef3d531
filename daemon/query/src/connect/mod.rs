//! Connect: how two entities are related.
//!
//! In: two entities, the projection of their commit. Out: the best paths between them (`paths.rs`),
//! each step with its evidence; if no relations make one, associations join in; if there is no path
//! even so, the sentences, items and rows that mention both. `memory.rs` does the same for notes as
//! entities of memory.
//! Invariants: a relation that `explain_entity` shows is a path of one step; the same index gives
//! the same reply; the work is bounded, however large the folder.

pub mod memory;
mod paths;

use proto::error::ErrorView;
use proto::shape::{EntityView, EvidenceView, Freshness};
use proto::tool::core::{Connect, ConnectReply, PathView, TogetherView};

use self::paths::{Bounds, Path, best};
use crate::entities::steps::{relation_views, sentence};
use crate::error::invalid;
use crate::graph::entity::brief;
pub use crate::graph::lookup::given as entity_given;
use crate::graph::lookup::not_found;
use crate::graph::projection::Projection;
use crate::{AskError, QueryContext};

/// Longest path when the caller gives no limit, in steps.
const USUAL_HOPS: u32 = 4;

/// Longest path that may be asked for, in steps.
const MAX_HOPS: u32 = 6;

/// Longest path with associations: what goes with what goes with something explains little, and no more beyond that.
const HOPS_TOGETHER: usize = 2;

/// Most relations shown of one step: two things may be related in several ways.
const MAX_OF_STEP: usize = 5;

/// Relations shown for each end when no path joins them.
const MAX_OF_END: usize = 3;

/// Returns the best paths between two entities.
///
/// # Errors
/// `invalid_params`, and when the index cannot be read.
pub fn connect(
    ctx: &QueryContext<'_>,
    projection: &Projection,
    request: &Connect,
    ends: [i64; 2],
) -> Result<ConnectReply, ErrorView> {
    let max_hops = request.max_hops.unwrap_or(USUAL_HOPS);
    let limit = request.limit.unwrap_or(3);
    if !(1..=MAX_HOPS).contains(&max_hops) || !(1..=20).contains(&limit) {
        return Err(invalid(
            format!("`max_hops` is {max_hops}, `limit` is {limit}"),
            "give 1 to 6 hops and a limit of 1 to 20",
        ));
    }
    let [a, b] = ends;
    if a == b {
        let hint = "`explain_entity` shows what it is related to";
        return Err(invalid("`a` and `b` are the same thing".into(), hint));
    }
    let bounds = Bounds { max_hops: max_hops as usize, limit: limit as usize };
    let weights = &ctx.settings.retrieval.relation_weights;
    let mut found = best(projection, weights, ends, &bounds);
    let joined;
    let mut graph = projection;
    if found.paths.is_empty() {
        // Only where no relations lead from one to the other.
        joined = projection.with(ctx.associations.at(ctx.snapshot)?.all());
        graph = &joined;
        let bounds = Bounds { max_hops: bounds.max_hops.min(HOPS_TOGETHER), ..bounds };
        found = best(graph, weights, ends, &bounds);
    }
    let mut paths = Vec::new();
    for path in &found.paths {
        paths.push(path_view(ctx, graph, path)?);
    }
    let mut reply = ConnectReply {
        a: end_view(ctx, a)?,
        b: end_view(ctx, b)?,
        max_hops,
        paths,
        together: Vec::new(),
        near: Vec::new(),
        truncated: found.is_cut.then(|| {
            "the search was cut short at things with very many relations; there may be other paths"
                .to_string()
        }),
        freshness: Freshness::default(),
    };
    if reply.paths.is_empty() {
        let associations = ctx.associations.at(ctx.snapshot)?;
        for it in associations.statements(ctx, a, b, limit as usize)? {
            let view = sentence(ctx, &it)?;
            reply.together.extend(view.map(|EvidenceView { source, date, .. }| TogetherView {
                source,
                date: date.unwrap_or_default(),
            }));
        }
        for end in ends {
            let surest = projection.about(end).into_iter().take(MAX_OF_END);
            reply.near.extend(relation_views(ctx, surest.map(|it| (it, 1)))?);
        }
    }
    Ok(reply)
}

fn end_view(ctx: &QueryContext<'_>, end: i64) -> Result<EntityView, ErrorView> {
    let found = ctx.snapshot.entities().get(end).map_err(AskError::from)?;
    let found = found.ok_or_else(|| not_found(&format!("entity {end}"), &[]))?;
    Ok(EntityView { path: found.path.clone(), ..brief(&found) })
}

fn path_view(
    ctx: &QueryContext<'_>,
    projection: &Projection,
    path: &Path,
) -> Result<PathView, AskError> {
    let mut steps = Vec::new();
    for (ends, hop) in path.entities.windows(2).zip(1..) {
        let &[from, to] = ends else { continue };
        let relations = projection.between(from, to).into_iter().take(MAX_OF_STEP);
        steps.extend(relations.map(|it| (it, hop)));
    }
    Ok(PathView { score: path.score, steps: relation_views(ctx, steps)? })
}
