//! Relations: the relation types that may be asked for: built-in ones, and those that a user added
//! and some document states.

use crate::error::invalid;
use crate::{AskError, QueryContext};
use extract::relate::{DENIED, Vocabulary};
use proto::error::ErrorView;

/// Returns the relation types of kgd's own vocabulary (S4 §8 and more), plus that of links.
fn vocabulary<'a>() -> Vec<&'a str> {
    let mut names = Vocabulary::builtin().names();
    names.push("links_to");
    names
}

/// Rejects unknown relation types: a typo would silently find nothing.
pub(crate) fn check(ctx: &QueryContext<'_>, rels: &[String]) -> Result<(), ErrorView> {
    let unknown = unknown_relations(ctx, rels)?;
    let Some(rel) = unknown.first() else { return Ok(()) };
    let mut known = vocabulary();
    let stated = ctx.snapshot.relations().predicates().map_err(AskError::from)?;
    let stated = stated.iter().map(String::as_str).filter(|it| !it.starts_with(DENIED));
    let own: Vec<&str> = stated.filter(|it| !known.contains(it)).collect();
    known.extend(own);
    Err(invalid(format!("no relation `{rel}`"), &format!("use some of {}", known.join(", "))))
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
