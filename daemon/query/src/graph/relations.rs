//! Relations: the relation types that may be asked for: built-in ones, and those that a user added
//! and some document states.

use crate::error::invalid;
use crate::{AskError, QueryContext};
use extract::relate::{DENIED, Vocabulary};
use proto::error::ErrorView;

/// Returns the relation types of kgd's own vocabulary (S4 §8 and more), plus that of links.
fn vocabulary() -> Vec<&'static str> {
    let mut names = Vocabulary::builtin().names();
    names.push("links_to");
    names
}

/// Rejects unknown relation types: a typo would silently find nothing.
pub(crate) fn check(ctx: &QueryContext<'_>, rels: &[String]) -> Result<(), ErrorView> {
    match unknown_relations(ctx, rels)?.first() {
        Some(rel) => {
            let hint = format!("use some of {}", known_relations(ctx)?.join(", "));
            Err(invalid(format!("no relation `{rel}`"), &hint))
        }
        None => Ok(()),
    }
}

/// Returns the relation types that are neither built in nor stated in any document.
///
/// # Errors
/// When the index cannot be read.
pub fn unknown_relations<'r>(
    ctx: &QueryContext<'_>,
    rels: &'r [String],
) -> Result<Vec<&'r str>, AskError> {
    let known = vocabulary();
    let mut unknown: Vec<&str> =
        rels.iter().map(String::as_str).filter(|rel| !known.contains(rel)).collect();
    if !unknown.is_empty() {
        let stated = ctx.snapshot.relations().predicates()?;
        unknown.retain(|rel| !stated.iter().any(|it| it == rel));
    }
    Ok(unknown)
}

fn known_relations(ctx: &QueryContext<'_>) -> Result<Vec<String>, AskError> {
    let stated = ctx.snapshot.relations().predicates()?.into_iter();
    let mut known: Vec<String> = vocabulary().into_iter().map(String::from).collect();
    let own: Vec<String> =
        stated.filter(|it| !it.starts_with(DENIED) && !known.contains(it)).collect();
    known.extend(own);
    Ok(known)
}
