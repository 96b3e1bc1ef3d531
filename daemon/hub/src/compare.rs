//! Compare: one number for all rows of a project, in the hub and in an index here.
//!
//! In: a hub or an index. Out: a tick and a digest; equal digests mean equal rows.

use std::path::Path;
use std::sync::Arc;

use index::store::Readers;
use index::store::published::{Source, TABLES};

use crate::connect::Hub;
use crate::rows::{self, Part};
use crate::table::each;
use crate::{HubError, pull};

/// Returns the tick of a project in the hub, and one number for all its rows. The better vectors among them may be
/// computed after the commit.
///
/// # Errors
/// The database's error, or that the role may not read the project.
pub async fn digest(hub: &Hub, project: &str) -> Result<(i64, u64), HubError> {
    let all = pull::visible(hub).await?;
    let forbidden = || HubError::Forbidden(project.to_string(), "read", "");
    let it = all.iter().find(|it| it.name == project).ok_or_else(forbidden)?;
    let part = Part { project: it.id, generation: it.generation };
    let mut digest = 0_u64;
    for (table, number) in TABLES.iter().zip(0_u64..) {
        rows::sums(&hub.client, table, part, |key, sum| {
            digest = digest.wrapping_add(sum_of(number, key, sum));
        })
        .await?;
    }
    Ok((it.tick, digest))
}

/// Returns the same for an index here.
///
/// # Errors
/// If the index cannot be read.
pub fn digest_of(readers: &Arc<Readers>, state_dir: &Path) -> Result<(u64, u64), HubError> {
    let snapshot = readers.snapshot()?;
    let source = Source::open(&snapshot, state_dir)?;
    let mut digest = 0_u64;
    for (table, number) in TABLES.iter().zip(0_u64..) {
        each(table, &source, &mut |row| {
            digest = digest.wrapping_add(sum_of(number, row.key, row.sum));
            Ok(())
        })?;
    }
    Ok((snapshot.tick().0, digest))
}

fn sum_of(table: u64, key: i64, sum: i64) -> u64 {
    let bytes = [table.to_le_bytes(), key.to_le_bytes(), sum.to_le_bytes()].concat();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}
