//! Condition: brings the conditions of a question to the spelling of the index; for one that no document meets, names
//! the nearest that exist.

use std::collections::BTreeSet;

use notes::resolve::fold;

use super::demand::Demand;
use super::expression::Expression;
use super::unmet;
use crate::{AskError, QueryContext};
pub(crate) use index::read::Under;
use index::read::{Filter, plain_tag};

/// Most names that a hint suggests, and most paths compared for it.
const MAX_NEAREST: usize = 3;
const MAX_COMPARED: usize = 20_000;

/// Least similarity of a name that a hint offers.
const MIN_LIKENESS: f64 = 0.8;

/// Brings paths to the spelling of the index; returns a hint for each tag, path,
/// type, language and day that no document has.
pub(super) fn resolve(
    ctx: &QueryContext<'_>,
    filter: &mut Filter,
    expression: Option<&mut Expression>,
) -> Result<Vec<String>, AskError> {
    let documents = ctx.snapshot.documents();
    let mut hints = Vec::new();
    let mut tags: Vec<String> = filter.tags.clone();
    let demand = expression.and_then(|it| it.demand.as_mut());
    let mut paths = Vec::new();
    if let Some(demand) = demand {
        demand.visit(&mut |part| match part {
            Demand::Tag(tag) => tags.push(tag.clone()),
            Demand::Path(path) => paths.push(path),
            _ => {}
        });
    }
    for path in filter.paths.iter_mut().chain(paths) {
        hints.extend(resolve_path(ctx, path)?);
    }
    for tag in tags {
        if !documents.any(&Filter { tags: vec![tag.clone()], ..Filter::default() })? {
            let tag = plain_tag(&tag);
            let near = nearest(&tag, documents.all_tags()?);
            hints.push(missing(&format!("no document has the tag `{tag}`"), &near));
        }
    }
    hints.extend(unmet::alone(ctx, filter)?);
    Ok(hints)
}

fn resolve_path(ctx: &QueryContext<'_>, path: &mut Under) -> Result<Option<String>, AskError> {
    *path = ctx.snapshot.documents().spelled(path.clone())?;
    if ctx.snapshot.documents().any(&Filter { paths: vec![path.clone()], ..Filter::default() })? {
        return Ok(None);
    }
    let near = match path {
        Under::Folded(under) => match &**under {
            Under::Begins(asked) => nearest_paths(ctx, asked)?,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    Ok(Some(missing(&format!("no document {}", words(path)), &near)))
}

/// Returns paths in words, to follow `no document`.
pub(super) fn words(path: &Under) -> String {
    match path {
        Under::Begins(path) => format!("is in `{path}`"),
        Under::Fits { .. } => "matches the path's pattern".into(),
        Under::Folded(under) => words(under),
    }
}

fn missing(what: &str, near: &[String]) -> String {
    let near: Vec<String> = near.iter().map(|it| format!("`{it}`")).collect();
    if near.is_empty() { what.into() } else { format!("{what}; nearest: {}", near.join(", ")) }
}

fn nearest_paths(ctx: &QueryContext<'_>, asked: &str) -> Result<Vec<String>, AskError> {
    let mut all = BTreeSet::new();
    for (_, path) in ctx.snapshot.documents().by_path()? {
        all.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..=at)).map(String::from));
        all.insert(path);
    }
    Ok(nearest(asked, all.into_iter().collect()))
}

/// Returns the nearest of some names: those that contain `asked`, shortest first, then similar
/// spellings.
fn nearest(asked: &str, all: Vec<String>) -> Vec<String> {
    let asked = fold(asked.trim_end_matches('/'));
    let likeness = |other: &str| {
        let other = fold(other.trim_end_matches('/'));
        let last = other.rsplit('/').next().unwrap_or("");
        let written = strsim::jaro_winkler(&asked, &other).max(strsim::jaro_winkler(&asked, last));
        if other.contains(&asked) { 2.0 - other.len() as f64 / 10_000.0 } else { written }
    };
    let scored = all.into_iter().take(MAX_COMPARED).map(|it| (likeness(&it), it));
    let mut scored: Vec<(f64, String)> = scored.filter(|it| it.0 >= MIN_LIKENESS).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(MAX_NEAREST).map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_contain_the_given_one_or_are_similar() {
        let all = ["baking", "baking/bread", "boats", "bread", "garden"].map(String::from).to_vec();
        assert_eq!(nearest("bakign", all.clone()), ["baking", "baking/bread"]);
        assert_eq!(nearest("bread", all.clone()), ["bread", "baking/bread"]);
        assert_eq!(nearest("zebra", all), [""; 0]);
    }
}
