//! Schema: migrations of the hub's tables, and the rights of roles.
//!
//! In: a connection as the owner of the tables. Out: tables, grants.
//! Invariants: each migration is applied once, in order, in one transaction, and only on request. A project is created
//! by a grant, never by a publisher.

use crate::{Hub, HubError};

/// All migrations, oldest first. New ones are appended; old ones never change.
const MIGRATIONS: [&str; 6] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
];

/// The version that this program needs.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// A role's right to a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The project.
    pub project: String,
    /// An existing role, usually a group.
    pub role: String,
    /// Whether it may also publish.
    pub publish: bool,
}

/// Returns the version of the tables; 0 if there are none.
pub(crate) async fn version(hub: &Hub) -> Result<i32, HubError> {
    let sql = "SELECT to_regclass('kg.version') IS NOT NULL";
    if !hub.client.query_one(sql, &[]).await?.get::<_, bool>(0) {
        return Ok(0);
    }
    let sql = "SELECT coalesce(max(version), 0) FROM kg.version";
    Ok(hub.client.query_one(sql, &[]).await?.get(0))
}

/// Migrates the tables to the current version. Returns the version before and after.
///
/// # Errors
/// If the role may not, or the tables are newer than this program.
pub async fn migrate(hub: &mut Hub) -> Result<(i32, i32), HubError> {
    // Of two concurrent migrations, one waits for the other.
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

/// Grants a role a right to a project, which is created if it is new.
///
/// # Errors
/// If the role does not exist, or the caller does not own the tables.
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

/// Revokes all rights of a role to a project. Returns whether it had any.
///
/// # Errors
/// If the caller does not own the tables.
pub async fn revoke(hub: &mut Hub, project: &str, role: &str) -> Result<bool, HubError> {
    let sql = "DELETE FROM kg.grants WHERE role = ($2::text)::name
               AND project = (SELECT id FROM kg.projects WHERE name = $1)";
    Ok(hub.client.execute(sql, &[&project, &role]).await? > 0)
}
