//! Reasons: why a hit was chosen, in words.
//!
//! In: a hit, the recalled and the expanded candidates. Out: `text + vector + 1 hop by depends_on
//! to Key Store + Ada Moreno as in teams.md`.
//! If the project has a better model, `vector` names the model that gave the cosine, even while the
//! better one is not ready yet, as just after a start.

use crate::expand::Expanded;
use crate::graph::name_of;
use crate::quote::snippet::shorten;
use crate::rank::ScoredChunk;
use crate::rank::signals::SIGNALS;
use crate::recall::Recalled;
use crate::recall::nearness::{QuestionVectors, has_better_model};
use crate::{AskError, QueryContext};

/// Joins a name and the file whose passage mentions it.
pub(super) const AS_IN: &str = " as in ";

/// Joins the reasons for a hit.
pub(super) fn reasons(
    ctx: &QueryContext<'_>,
    recalled: &Recalled,
    expanded: &Expanded,
    hit: &ScoredChunk,
) -> Result<String, AskError> {
    let named = hit.components.keys().filter(|name| is_reason(name));
    let named = named.map(|name| match *name {
        "vector" | "semantic" => {
            by_model(ctx, recalled, expanded.candidates.better.contains(&hit.chunk), name)
        }
        name => name.to_string(),
    });
    let mut parts: Vec<String> = named.collect();
    let reached = hit.relation.entity.and_then(|e| Some((e, expanded.reached.get(&e)?)));
    if let Some((entity, reached)) = reached {
        let name = short_name(ctx, entity)?;
        parts.push(match &reached.by {
            None => format!("names {name}"),
            Some(by) => format!("{} hop by {} to {name}", reached.hop, by.predicate),
        });
    }
    let is_named_above =
        reached.is_some_and(|(entity, it)| it.hop == 0 && hit.named.entity == Some(entity));
    if let Some(entity) = hit.named.entity.filter(|_| !is_named_above) {
        parts.push(format!("names {}", short_name(ctx, entity)?));
    }
    if let (Some(entity), Some(from)) = (hit.bridge.entity, hit.bridge.from) {
        let name = short_name(ctx, entity)?;
        let doc = ctx.snapshot.chunks().doc(from)?;
        let path = doc.map(|doc| ctx.snapshot.documents().path(doc)).transpose()?;
        let path = path.flatten().unwrap_or_default();
        let file = shorten(path.rsplit('/').next().unwrap_or_default(), 30);
        parts.push(format!("{name}{AS_IN}{file}"));
    }
    Ok(parts.join(" + "))
}

/// Returns whether the name of a component is a reason by itself.
fn is_reason(name: &str) -> bool {
    let is_silent = matches!(name, "hop" | "relation" | "same_document" | "own_words");
    SIGNALS.iter().find(|it| it.name == name).map_or(!is_silent, |it| it.is_reason)
}

fn by_model(ctx: &QueryContext<'_>, recalled: &Recalled, is_better: bool, name: &str) -> String {
    if recalled.question.is_none() || !has_better_model(ctx) {
        return name.to_string();
    }
    let plain = ctx.embedder.space();
    let better = recalled.question.as_ref().map(QuestionVectors::better_spaces);
    // With two models, either may have embedded the text; the nearest vector counts.
    let better = better.filter(|spaces| is_better && !spaces.is_empty());
    let spaces = better.unwrap_or_else(|| vec![plain]);
    let names: Vec<&str> = spaces.iter().map(|it| it.split('@').next().unwrap_or(it)).collect();
    format!("{name} by {}", names.join(" or "))
}

fn short_name(ctx: &QueryContext<'_>, entity: i64) -> Result<String, AskError> {
    Ok(shorten(&name_of(ctx, entity)?.unwrap_or_default(), 40))
}
