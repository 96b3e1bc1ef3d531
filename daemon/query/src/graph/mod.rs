//! Graph: entities and the statements that join them, as stored in the index.
//!
//! `entity.rs` returns what is known about one entity, `relations.rs` which relation types exist,
//! `lookup.rs` resolves names, `projection.rs` is the whole graph in memory, `communities.rs`
//! groups a graph. Here: the statements about an entity, with the review decisions applied.
//! Not here: following them for a question (`expand`), or for a drawing
//! (`entities/neighborhood.rs`).

pub(crate) mod communities;
pub(crate) mod confidence;
pub(crate) mod entity;
pub(crate) mod lookup;
pub(crate) mod projection;
pub(crate) mod projections;
pub(crate) mod relations;

use rusqlite::{OptionalExtension, Row, params};

use crate::{AskError, QueryContext};
use extract::relate::learned::is_shown;
use index::store::{Verdict, note_party, relation_key};
use model::terms::norm_of;

/// Most statements read for one entity and direction, surest first.
const MAX_STATEMENTS: i64 = 200;

/// One statement that joins two entities.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub subject: i64,
    pub predicate: String,
    pub object: i64,
    pub confidence: f32,
    pub doc: i64,
    /// Span in `docs.text`.
    pub span: (usize, usize),
    /// Span in the file.
    pub raw: (u64, u64),
    pub pattern: String,
}

/// Returns the statements with `entity` on either side, without denials, surest first; ties by document and place.
pub(crate) fn statements_about(
    ctx: &QueryContext<'_>,
    entity: i64,
    rels: &[String],
) -> Result<Vec<Statement>, AskError> {
    let mut out = Vec::new();
    let is_note = ctx
        .snapshot
        .prepare_cached("SELECT 1 FROM entities WHERE id = ?1 AND doc_id IS NOT NULL")?
        .exists([entity])?;
    for (party, link) in parties_of(ctx, entity)? {
        for own_column in ["subject", "object"] {
            let side = Side { entity, party, link, own_column, is_note };
            read_side(ctx, side, &mut out)?;
        }
    }
    out.retain(|s: &Statement| {
        s.subject != s.object && (rels.is_empty() || rels.contains(&s.predicate))
    });
    let mut accepted = Vec::with_capacity(out.len());
    for statement in out {
        if ctx.decisions.is_empty() || !is_rejected(ctx, &statement)? {
            accepted.push(statement);
        }
    }
    accepted.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then_with(|| (a.doc, a.span, &a.predicate).cmp(&(b.doc, b.span, &b.predicate)))
    });
    Ok(accepted)
}

/// Returns the statements about an entity that answers show, in the order of [`statements_about`].
pub(crate) fn shown_about(
    ctx: &QueryContext<'_>,
    entity: i64,
    rels: &[String],
) -> Result<Vec<Statement>, AskError> {
    let mut statements = statements_about(ctx, entity, rels)?;
    statements.retain(|it| is_shown(&it.pattern, it.confidence));
    Ok(statements)
}

/// Returns the names and documents that denote an entity: party number and link confidence.
fn parties_of(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<(i64, f32)>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT id, link FROM names WHERE entity_id = ?1 UNION ALL SELECT -id, 1.0 FROM docs WHERE entity_id = ?1",
    )?;
    let rows = statement.query_map([entity], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// One side of the statements about an entity.
struct Side<'a> {
    entity: i64,
    /// A name of the entity, or the negated row id of its note.
    party: i64,
    /// Confidence of the link from that name to the entity.
    link: f32,
    /// `subject` or `object`.
    own_column: &'a str,
    /// Whether the entity has a note.
    is_note: bool,
}

/// Reads the statements with a party on one side. An unresolved link states no relation of a note
/// that happens to have that name.
fn read_side(
    ctx: &QueryContext<'_>,
    side: Side<'_>,
    out: &mut Vec<Statement>,
) -> Result<(), AskError> {
    let Side { entity, party, link, own_column, is_note } = side;
    let other_column = if own_column == "subject" { "object" } else { "subject" };
    let mut statement = ctx.snapshot.prepare_cached(&format!(
        "SELECT coalesce(n.entity_id, d.entity_id), coalesce(n.link, 1.0), e.predicate, e.confidence, e.doc_id,
                e.start, e.end, e.raw_start, e.raw_end, e.pattern
         FROM evidence e LEFT JOIN names n ON n.id = e.{other_column} LEFT JOIN docs d ON d.id = -e.{other_column}
           LEFT JOIN entities o ON e.{other_column}_link IS NOT NULL AND o.id = n.entity_id
         WHERE e.{own_column} = ?1 AND e.predicate NOT LIKE 'not %' AND o.doc_id IS NULL
           AND NOT (?1 > 0 AND e.{own_column}_link IS NOT NULL AND ?3)
         ORDER BY e.confidence DESC, e.doc_id, e.seq LIMIT ?2"
    ))?;
    let read = |row: &Row<'_>| {
        let other: Option<i64> = row.get(0)?;
        let (other_link, confidence): (f32, f32) = (row.get(1)?, row.get(3)?);
        let number = |i: usize| row.get::<_, i64>(i);
        Ok(other.map(|other| {
            let (subject, object) =
                if own_column == "subject" { (entity, other) } else { (other, entity) };
            (subject, object, confidence * other_link * link)
        }))
        .and_then(|ends: Option<(i64, i64, f32)>| {
            let Some((subject, object, confidence)) = ends else { return Ok(None) };
            Ok(Some(Statement {
                subject,
                predicate: row.get(2)?,
                object,
                confidence,
                doc: number(4)?,
                span: (number(5)? as usize, number(6)? as usize),
                raw: (number(7)? as u64, number(8)? as u64),
                pattern: row.get(9)?,
            }))
        })
    };
    for row in statement.query_map(params![party, MAX_STATEMENTS, is_note], read)? {
        out.extend(row?);
    }
    Ok(())
}

/// Returns whether a person rejected the relation.
pub(crate) fn is_rejected(ctx: &QueryContext<'_>, statement: &Statement) -> Result<bool, AskError> {
    let known = KnownRelation::of(ctx, statement.subject, &statement.predicate, statement.object)?;
    Ok(known.and_then(|it| it.verdict(ctx)) == Some(Verdict::Rejected))
}

/// A relation in the form that review decisions use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownRelation {
    /// The names of subject and object.
    names: [String; 2],
    /// The paths of their notes.
    paths: [Option<String>; 2],
    /// The key of exactly these parties.
    pub key: String,
    /// The key of all parties with these names; older decisions use it.
    by_name: String,
}

impl KnownRelation {
    /// Returns `None` if a party is gone.
    pub(crate) fn of(
        ctx: &QueryContext<'_>,
        subject: i64,
        predicate: &str,
        object: i64,
    ) -> Result<Option<KnownRelation>, AskError> {
        let mut statement = ctx.snapshot.prepare_cached(
            "SELECT e.name, d.uid, d.path, e.norm FROM entities e LEFT JOIN docs d ON d.id = e.doc_id WHERE e.id = ?1",
        )?;
        type Party = (String, Option<String>, Option<String>, String);
        let mut party = |id: i64| -> Result<Option<Party>, AskError> {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            Ok(statement.query_row([id], read).optional()?)
        };
        let (Some(subject), Some(object)) = (party(subject)?, party(object)?) else {
            return Ok(None);
        };
        // Displayed names may change with the rest of the folder; the key of a decision must not.
        let norms = [subject.3.clone(), object.3.clone()];
        let own = |it: &Party, norm: &String| it.1.as_deref().map_or(norm.clone(), note_party);
        let [from, to] = &norms;
        Ok(Some(KnownRelation {
            key: relation_key(&own(&subject, from), predicate, &own(&object, to)),
            by_name: relation_key(from, predicate, to),
            names: [subject.0, object.0],
            paths: [subject.2, object.2],
        }))
    }

    /// Returns the decision about exactly these parties, else about all with their names.
    pub(crate) fn verdict(&self, ctx: &QueryContext<'_>) -> Option<Verdict> {
        ctx.decisions.get(&self.key).or_else(|| ctx.decisions.get(&self.by_name))
    }

    /// Returns the relation in words, such as `README` (web/README.md) uses `Vault`; the path is
    /// added if the name is shared.
    pub(crate) fn claim(
        &self,
        ctx: &QueryContext<'_>,
        predicate: &str,
    ) -> Result<String, AskError> {
        let mut statement =
            ctx.snapshot.prepare_cached("SELECT count(*) > 1 FROM entities WHERE norm = ?1")?;
        let mut end = |name: &str, path: &Option<String>| -> Result<String, AskError> {
            let is_shared = statement.query_row([norm_of(name)], |row| row.get(0))?;
            let path = path.as_ref().filter(|_| is_shared).map(|path| format!(" ({path})"));
            Ok(format!("`{name}`{}", path.unwrap_or_default()))
        };
        let ([subject, object], [from, to]) = (&self.names, &self.paths);
        Ok(format!("{} {predicate} {}", end(subject, from)?, end(object, to)?))
    }
}

/// Returns an entity's canonical name.
pub(crate) fn name_of(ctx: &QueryContext<'_>, entity: i64) -> Result<Option<String>, AskError> {
    Ok(ctx
        .snapshot
        .prepare_cached("SELECT name FROM entities WHERE id = ?1")?
        .query_row([entity], |row| row.get(0))
        .optional()?)
}
