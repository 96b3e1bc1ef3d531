//! Relations: the relation types that may be asked for: built-in ones, and those that a user added
//! and some document states.

use crate::error::invalid;
use crate::{AskError, QueryContext};
use extract::relate::Vocabulary;
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
    let mut stated = ctx
        .snapshot
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM evidence WHERE predicate = ?1)")?;
    let (mut unknown, known) = (Vec::new(), vocabulary());
    for rel in rels.iter().filter(|rel| !known.contains(&rel.as_str())) {
        if !stated.query_row([rel], |row| row.get::<_, bool>(0))? {
            unknown.push(rel.as_str());
        }
    }
    Ok(unknown)
}

fn known_relations(ctx: &QueryContext<'_>) -> Result<Vec<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT DISTINCT predicate FROM evidence WHERE predicate NOT LIKE 'not %' ORDER BY predicate",
    )?;
    let stated = statement.query_map([], |row| row.get::<_, String>(0))?;
    let stated: Vec<String> = stated.collect::<Result<_, _>>()?;
    let mut known: Vec<String> = vocabulary().into_iter().map(String::from).collect();
    let own: Vec<String> = stated.into_iter().filter(|it| !known.contains(it)).collect();
    known.extend(own);
    Ok(known)
}
