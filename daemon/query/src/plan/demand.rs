//! Demand: the conditions on a chunk, and the chunks that meet them.
//!
//! In: a parsed expression. Out: the chunks that meet it; if none does, the part that remains after
//! relaxing.
//! Invariant: relaxing drops only wanted words, never exclusions or conditions on documents.

use rustc_hash::FxHashSet;

use super::condition::Under;
use super::question::Question;
use super::within::{Among, both};
use crate::{AskError, QueryContext};
use index::read::Filter;

/// A condition on a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Demand {
    /// It matches this FTS5 expression.
    Words(String),
    /// Its document has this tag.
    Tag(String),
    /// Its document has such a path.
    Path(Under),
    /// All of the wanted, none of the excluded.
    All { wanted: Vec<Demand>, excluded: Vec<Demand> },
    /// One of these.
    Any(Vec<Demand>),
}

impl Demand {
    /// Joins parts of which one must hold; `None` without parts.
    pub(crate) fn any(parts: Vec<Demand>) -> Option<Demand> {
        one_or(merged(parts, " OR "), Demand::Any)
    }

    /// Joins parts that must hold and parts that must not; `None` without parts.
    pub(crate) fn all(wanted: Vec<Demand>, excluded: Vec<Demand>) -> Option<Demand> {
        let wanted = merged(wanted, " AND ");
        if excluded.is_empty() {
            return one_or(wanted, |wanted| Demand::All { wanted, excluded: Vec::new() });
        }
        Some(Demand::All { wanted, excluded: merged(excluded, " OR ") })
    }

    /// Returns the demand as one FTS5 expression; `None` when it has tags or paths.
    pub(crate) fn fts(&self) -> Option<String> {
        let several = |parts: &[Demand], sign: &str| {
            let parts: Option<Vec<String>> = parts.iter().map(Demand::fts).collect();
            joined(&parts?, sign)
        };
        match self {
            Demand::Words(fts) => Some(fts.clone()),
            Demand::Tag(_) | Demand::Path(_) => None,
            Demand::Any(parts) => several(parts, " OR "),
            Demand::All { wanted, excluded } if excluded.is_empty() => several(wanted, " AND "),
            Demand::All { wanted, excluded } => {
                Some(format!("({} NOT {})", several(wanted, " AND ")?, several(excluded, " OR ")?))
            }
        }
    }

    /// Moves the tags and paths that every document must meet to `tags` and `paths`.
    pub(crate) fn without_conditions(
        self,
        tags: &mut Vec<String>,
        paths: &mut Vec<Under>,
    ) -> Option<Demand> {
        match self {
            Demand::Tag(tag) => tags.push(tag),
            Demand::Path(path) => paths.push(path),
            Demand::All { wanted, excluded } => {
                let wanted = wanted.into_iter().filter_map(|it| it.without_conditions(tags, paths));
                return Demand::all(wanted.collect(), excluded);
            }
            other => return Some(other),
        }
        None
    }

    /// Returns the part that remains without its words, or `None`.
    fn relaxed(&self) -> Option<Demand> {
        match self {
            Demand::Words(_) => None,
            Demand::Tag(_) | Demand::Path(_) => Some(self.clone()),
            Demand::All { wanted, excluded } => {
                let wanted = wanted.iter().filter_map(Demand::relaxed).collect();
                Demand::all(wanted, excluded.clone())
            }
            Demand::Any(parts) => {
                let parts: Option<Vec<Demand>> = parts.iter().map(Demand::relaxed).collect();
                Demand::any(parts?)
            }
        }
    }

    /// Visits the tags and paths in it.
    pub(crate) fn visit<'d>(&'d mut self, see: &mut impl FnMut(&'d mut Demand)) {
        match self {
            Demand::Words(_) => {}
            Demand::Tag(_) | Demand::Path(_) => see(self),
            Demand::Any(parts) => parts.iter_mut().for_each(|it| it.visit(see)),
            Demand::All { wanted, excluded } => {
                wanted.iter_mut().chain(excluded).for_each(|it| it.visit(see));
            }
        }
    }

    /// Converts a tag or path to a filter.
    fn filter(&self) -> Filter {
        match self {
            Demand::Tag(tag) => Filter { tags: vec![tag.clone()], ..Filter::default() },
            Demand::Path(path) => Filter { paths: vec![path.clone()], ..Filter::default() },
            _ => Filter::default(),
        }
    }

    fn chunks(&self, ctx: &QueryContext<'_>) -> Result<FxHashSet<i64>, AskError> {
        if let Some(fts) = self.fts() {
            return Ok(ctx.snapshot.full_text().matches(&fts)?);
        }
        let mut found: Among = None;
        match self {
            Demand::Words(_) => {}
            Demand::Tag(_) | Demand::Path(_) => {
                let docs = ctx.snapshot.documents().matching(&self.filter())?;
                found = docs.map(|docs| ctx.snapshot.chunks().of_docs(&docs)).transpose()?;
            }
            Demand::Any(parts) => {
                let mut any = FxHashSet::default();
                for part in parts {
                    any.extend(part.chunks(ctx)?);
                }
                found = Some(any);
            }
            Demand::All { wanted, excluded } => {
                for part in wanted {
                    found = both(found, Some(part.chunks(ctx)?));
                }
                let mut left = found.map_or_else(|| ctx.snapshot.chunks().ids(), Ok)?;
                for part in excluded {
                    for chunk in part.chunks(ctx)? {
                        left.remove(&chunk);
                    }
                }
                found = Some(left);
            }
        }
        Ok(found.unwrap_or_default())
    }
}

/// Joins the words among some parts into one expression.
fn merged(parts: Vec<Demand>, sign: &str) -> Vec<Demand> {
    let (mut words, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Demand::Words(fts) => words.push(fts),
            other => others.push(other),
        }
    }
    joined(&words, sign).map(Demand::Words).into_iter().chain(others).collect()
}

fn one_or(mut parts: Vec<Demand>, several: impl FnOnce(Vec<Demand>) -> Demand) -> Option<Demand> {
    if parts.len() > 1 { Some(several(parts)) } else { parts.pop() }
}

/// Joins FTS5 expressions.
pub(crate) fn joined(parts: &[String], sign: &str) -> Option<String> {
    match parts {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("({})", several.join(sign))),
    }
}

/// Returns the chunks that meet the demand of a question, and whether words were dropped because no
/// chunk met all of it.
pub(crate) fn demanded(
    ctx: &QueryContext<'_>,
    question: &Question,
    allowed: &Among,
) -> Result<(Among, bool), AskError> {
    let demand = question.demand.as_ref().and_then(|it| it.demand.as_ref());
    let Some(demand) = demand else { return Ok((None, false)) };
    let found = demand.chunks(ctx)?;
    let is_met = match allowed {
        // If no chunk may answer at all, dropping words would not help.
        Some(allowed) => allowed.is_empty() || found.iter().any(|chunk| allowed.contains(chunk)),
        None => !found.is_empty(),
    };
    let kept = demand.relaxed();
    if is_met || kept.as_ref() == Some(demand) {
        return Ok((Some(found), false));
    }
    Ok((kept.map(|kept| kept.chunks(ctx)).transpose()?, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(fts: &str) -> Demand {
        Demand::Words(fts.into())
    }

    fn tag() -> Demand {
        Demand::Tag("ops".into())
    }

    fn all(wanted: &[Demand], excluded: &[Demand]) -> Demand {
        Demand::all(wanted.to_vec(), excluded.to_vec()).expect("something")
    }

    #[test]
    fn relaxing_drops_words_and_nothing_else() {
        let rows = [
            (words("a"), None),
            (all(&[words("a"), tag()], &[]), Some(tag())),
            (all(&[words("a")], &[words("b")]), Some(all(&[], &[words("b")]))),
            (all(&[words("a"), tag()], &[words("b")]), Some(all(&[tag()], &[words("b")]))),
            (Demand::Any(vec![tag(), words("a")]), None),
            (Demand::Any(vec![tag(), tag()]), Some(Demand::Any(vec![tag(), tag()]))),
        ];
        for (demand, kept) in rows {
            assert_eq!(demand.relaxed(), kept, "{demand:?}");
        }
    }

    #[test]
    fn conditions_on_every_document_are_taken_out() {
        let path = Demand::Path("docs/".into());
        let nested = Demand::Any(vec![tag(), path.clone()]);
        let rows = [
            (all(&[words("a"), tag(), path], &[]), (1, 1), Some(words("a"))),
            (tag(), (1, 0), None),
            (nested.clone(), (0, 0), Some(nested)),
            (all(&[tag()], &[words("b")]), (1, 0), Some(all(&[], &[words("b")]))),
        ];
        for (demand, n, left) in rows {
            let (mut tags, mut paths) = (Vec::new(), Vec::new());
            assert_eq!(demand.without_conditions(&mut tags, &mut paths), left);
            assert_eq!((tags.len(), paths.len()), n);
        }
    }
}
