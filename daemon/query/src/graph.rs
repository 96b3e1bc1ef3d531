//! The graph as a question sees it: neighbors of an entity, with the evidence that joins them.

use rusqlite::{OptionalExtension, Row, params};

use super::{AskError, Desk};
use index::store::{Verdict, note_party, relation_key};
use model::terms::norm_of;

/// Most statements read for one entity and direction; the surest ones.
const MAX_STATEMENTS: i64 = 200;

/// One statement that joins two entities.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
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

/// Statements with `entity` on either side, denials aside, surest first; ties by document and place.
pub(super) fn statements_about(
    desk: &Desk<'_>,
    entity: i64,
    rels: &[String],
) -> Result<Vec<Statement>, AskError> {
    let mut out = Vec::new();
    let is_note = desk
        .snapshot
        .prepare_cached("SELECT 1 FROM entities WHERE id = ?1 AND doc_id IS NOT NULL")?
        .exists([entity])?;
    for (party, link) in parties_of(desk, entity)? {
        for own_column in ["subject", "object"] {
            read_side(desk, (entity, party, link), (own_column, is_note), &mut out)?;
        }
    }
    out.retain(|s: &Statement| {
        s.subject != s.object && (rels.is_empty() || rels.contains(&s.predicate))
    });
    let mut told = out;
    if !desk.decisions.is_empty() {
        let all = std::mem::take(&mut told);
        for statement in all {
            if !is_rejected(desk, &statement)? {
                told.push(statement);
            }
        }
    }
    told.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then_with(|| (a.doc, a.span, &a.predicate).cmp(&(b.doc, b.span, &b.predicate)))
    });
    Ok(told)
}

/// The names and documents that denote an entity: party number and link confidence.
fn parties_of(desk: &Desk<'_>, entity: i64) -> Result<Vec<(i64, f32)>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT id, link FROM names WHERE entity_id = ?1 UNION ALL SELECT -id, 1.0 FROM docs WHERE entity_id = ?1",
    )?;
    let rows = statement.query_map([entity], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Statements with this party on one side. A link that leads nowhere is no relation of a note of that name.
fn read_side(
    desk: &Desk<'_>,
    (entity, party, link): (i64, i64, f32),
    (own_column, is_note): (&str, bool),
    out: &mut Vec<Statement>,
) -> Result<(), AskError> {
    let other_column = if own_column == "subject" { "object" } else { "subject" };
    let mut statement = desk.snapshot.prepare_cached(&format!(
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

pub(super) fn is_rejected(desk: &Desk<'_>, statement: &Statement) -> Result<bool, AskError> {
    let relation = (statement.subject, statement.predicate.as_str(), statement.object);
    let known = Known::of(desk, relation)?;
    Ok(known.and_then(|it| it.verdict(desk)) == Some(Verdict::Rejected))
}

/// A relation as people decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// The names of subject and object.
    names: [String; 2],
    /// The notes that they are.
    paths: [Option<String>; 2],
    /// The key of these very parties.
    pub key: String,
    /// The key of all that are called so; decisions of before have it.
    by_name: String,
}

impl Known {
    /// `None` when a party is gone.
    pub(super) fn of(
        desk: &Desk<'_>,
        (subject, predicate, object): (i64, &str, i64),
    ) -> Result<Option<Known>, AskError> {
        let mut statement = desk.snapshot.prepare_cached(
            "SELECT e.name, d.uid, d.path FROM entities e LEFT JOIN docs d ON d.id = e.doc_id WHERE e.id = ?1",
        )?;
        type Party = (String, Option<String>, Option<String>);
        let mut party = |id: i64| -> Result<Option<Party>, AskError> {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            Ok(statement.query_row([id], read).optional()?)
        };
        let (Some(subject), Some(object)) = (party(subject)?, party(object)?) else {
            return Ok(None);
        };
        let norms = [norm_of(&subject.0), norm_of(&object.0)];
        let own = |it: &Party, norm: &String| it.1.as_deref().map_or(norm.clone(), note_party);
        let [from, to] = &norms;
        Ok(Some(Known {
            key: relation_key(&own(&subject, from), predicate, &own(&object, to)),
            by_name: relation_key(from, predicate, to),
            names: [subject.0, object.0],
            paths: [subject.2, object.2],
        }))
    }

    /// What was decided about these parties, else about all that are called so.
    pub(super) fn verdict(&self, desk: &Desk<'_>) -> Option<Verdict> {
        desk.decisions.get(&self.key).or_else(|| desk.decisions.get(&self.by_name))
    }

    /// `README` (web/README.md) uses `Vault`: with the path where others are called so.
    pub(super) fn claim(&self, desk: &Desk<'_>, predicate: &str) -> Result<String, AskError> {
        let mut statement =
            desk.snapshot.prepare_cached("SELECT count(*) > 1 FROM entities WHERE norm = ?1")?;
        let mut end = |name: &str, path: &Option<String>| -> Result<String, AskError> {
            let is_shared = statement.query_row([norm_of(name)], |row| row.get(0))?;
            let path = path.as_ref().filter(|_| is_shared).map(|path| format!(" ({path})"));
            Ok(format!("`{name}`{}", path.unwrap_or_default()))
        };
        let ([subject, object], [from, to]) = (&self.names, &self.paths);
        Ok(format!("{} {predicate} {}", end(subject, from)?, end(object, to)?))
    }
}

/// An entity's canonical name.
pub(super) fn name_of(desk: &Desk<'_>, entity: i64) -> Result<Option<String>, AskError> {
    Ok(desk
        .snapshot
        .prepare_cached("SELECT name FROM entities WHERE id = ?1")?
        .query_row([entity], |row| row.get(0))
        .optional()?)
}
