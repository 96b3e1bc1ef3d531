//! Schema: the hub's tables by version, and the rights of roles.
//!
//! In: a connection of the tables' owner. Out: tables, grants.
//! Invariants: a migration is applied whole, in order, once, and only when somebody says so; a project comes to be by a
//! grant, never by a publisher.
//! Not here: reading and writing rows.

use crate::{Hub, HubError};

/// Every migration, oldest first. They are only ever added.
const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
];

/// The version this program works with.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// A right of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The project.
    pub project: String,
    /// The role, usually a group; it exists.
    pub role: String,
    /// To write it, too.
    pub publish: bool,
}

/// The version of the tables; 0 when there are none.
pub(crate) async fn version(hub: &Hub) -> Result<i32, HubError> {
    let sql = "SELECT to_regclass('kg.version') IS NOT NULL";
    if !hub.client.query_one(sql, &[]).await?.get::<_, bool>(0) {
        return Ok(0);
    }
    let sql = "SELECT coalesce(max(version), 0) FROM kg.version";
    Ok(hub.client.query_one(sql, &[]).await?.get(0))
}

/// Brings the tables to the present version; returns that, and the one before.
///
/// # Errors
/// When the role may not, or the tables are newer.
pub async fn migrate(hub: &mut Hub) -> Result<(i32, i32), HubError> {
    // Two at once: one waits for the other.
    hub.client.batch_execute("SELECT pg_advisory_lock(hashtext('kg.migrate'))").await?;
    let before = version(hub).await?;
    if before > VERSION {
        return Err(HubError::Version { found: before, needed: VERSION });
    }
    hub.client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await?;
    for (sql, number) in MIGRATIONS.iter().zip(1..).skip(before as usize) {
        let tx = hub.client.transaction().await?;
        tx.batch_execute(sql).await?;
        tx.execute("INSERT INTO kg.version VALUES($1)", &[&number]).await?;
        tx.commit().await?;
    }
    hub.client.batch_execute("SELECT pg_advisory_unlock(hashtext('kg.migrate'))").await?;
    Ok((before, VERSION))
}

/// Gives a role a right to a project, which is made if it is new.
///
/// # Errors
/// When the role does not exist, or the caller does not own the tables.
pub async fn grant(hub: &mut Hub, grant: &Grant) -> Result<(), HubError> {
    let group = if grant.publish { "kg_publisher" } else { "kg_reader" };
    let tx = hub.client.transaction().await?;
    let sql = "SELECT format('GRANT %I TO %I', $1::text, $2::text)";
    let member: String = tx.query_one(sql, &[&group, &grant.role]).await?.get(0);
    tx.batch_execute(&member).await?;
    tx.execute(
        "INSERT INTO kg.projects(name) VALUES($1) ON CONFLICT(name) DO NOTHING",
        &[&grant.project],
    )
    .await?;
    tx.execute(
        "INSERT INTO kg.grants SELECT id, ($2::text)::name, $3 FROM kg.projects WHERE name = $1
         ON CONFLICT(project, role) DO UPDATE SET publish = excluded.publish",
        &[&grant.project, &grant.role, &grant.publish],
    )
    .await?;
    Ok(tx.commit().await?)
}

/// Takes all rights of a role to a project; returns whether it had any.
///
/// # Errors
/// When the caller does not own the tables.
pub async fn revoke(hub: &mut Hub, project: &str, role: &str) -> Result<bool, HubError> {
    let sql = "DELETE FROM kg.grants WHERE role = ($2::text)::name
               AND project = (SELECT id FROM kg.projects WHERE name = $1)";
    Ok(hub.client.execute(sql, &[&project, &role]).await? > 0)
}
