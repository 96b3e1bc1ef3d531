//! Same: statements by people that two entities in different projects are the same thing.
//!
//! In: an entity in each of two projects. Out: the statements about projects that the role may read.
//! Invariants: stating it requires the right to publish both projects; nothing is merged, and no project's rows change.

use crate::{Hub, HubError};

/// An entity of a project, given by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The project.
    pub project: String,
    /// The entity's name there.
    pub name: String,
}

impl Named {
    /// Reads `PROJECT:ENTITY`.
    ///
    /// # Errors
    /// [`HubError::Address`].
    pub fn parse(text: &str) -> Result<Self, HubError> {
        let parts = text.split_once(':').map(|(project, name)| (project.trim(), name.trim()));
        match parts.filter(|(project, name)| !project.is_empty() && !name.is_empty()) {
            Some((project, name)) => Ok(Named { project: project.into(), name: name.into() }),
            None => {
                let message = format!("`{text}` is no entity of a project\nhint: `PROJECT:ENTITY`");
                Err(HubError::Address(message))
            }
        }
    }
}

/// Stores the statement that two entities are the same thing, or deletes it. Returns whether anything changed.
///
/// # Errors
/// If the role may not publish both projects, or one of them has no entity with that name.
pub async fn state_same(hub: &Hub, pair: [&Named; 2], is_undone: bool) -> Result<bool, HubError> {
    let [mut one, mut other] = [found(hub, pair[0]).await?, found(hub, pair[1]).await?];
    if one.0 == other.0 {
        let message = format!("both entities are of `{}`", pair[0].project);
        let hint = "within a project, one note states the other's name under `aliases`";
        return Err(HubError::Address(format!("{message}\nhint: {hint}")));
    }
    if one.0 > other.0 {
        std::mem::swap(&mut one, &mut other);
    }
    let sql = match is_undone {
        false => {
            "INSERT INTO kg.same_as(project, name, other, other_name) VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING"
        }
        true => {
            "DELETE FROM kg.same_as WHERE project = $1 AND name = $2 AND other = $3 AND other_name = $4"
        }
    };
    let n = hub.client.execute(sql, &[&one.0, &one.1, &other.0, &other.1]).await?;
    Ok(n > 0)
}

/// Returns the key of the project and the entity's name, after checking that the project has the entity.
async fn found(hub: &Hub, it: &Named) -> Result<(i32, String), HubError> {
    let forbidden = || HubError::Forbidden(it.project.clone(), "publish", " --publish");
    let sql = "SELECT p.id, p.generation FROM kg.projects p JOIN kg.grants g ON g.project = p.id AND g.publish
               WHERE p.name = $1 LIMIT 1";
    let row = hub.client.query_opt(sql, &[&it.project]).await?.ok_or_else(forbidden)?;
    let (id, generation): (i32, i32) = (row.get(0), row.get(1));
    let sql = "SELECT 1 FROM kg.entities WHERE project = $1 AND generation = $2 AND lower(name) = lower($3)
               UNION ALL SELECT 1 FROM kg.names WHERE project = $1 AND generation = $2 AND entity_id IS NOT NULL
               AND lower(surface) = lower($3) LIMIT 1";
    let row = hub.client.query_opt(sql, &[&id, &generation, &it.name]).await?;
    row.ok_or_else(|| HubError::NoEntity(it.project.clone(), it.name.clone()))?;
    Ok((id, it.name.clone()))
}

/// Returns every statement that the role may read.
///
/// # Errors
/// The database's error.
pub async fn same(hub: &Hub) -> Result<Vec<[Named; 2]>, HubError> {
    let sql = "SELECT a.name, s.name, b.name, s.other_name FROM kg.same_as s
               JOIN kg.projects a ON a.id = s.project JOIN kg.projects b ON b.id = s.other ORDER BY 1, 2, 3, 4";
    let named = |row: &tokio_postgres::Row, at: usize| Named {
        project: row.get(at),
        name: row.get(at + 1),
    };
    let rows = hub.client.query(sql, &[]).await?;
    Ok(rows.iter().map(|row| [named(row, 0), named(row, 2)]).collect())
}
