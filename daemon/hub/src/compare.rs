//! Compare: one number for all rows of a project, as the hub has them and as they are here.
//!
//! In: a hub or an index. Out: a tick and a digest; equal digests mean equal rows.
//! Not here: which rows differ (`publish.rs` finds and mends that).

use std::path::Path;
use std::sync::Arc;

use index::store::{Readers, Snapshot, Spaces, open_for_reading};

use crate::connect::Hub;
use crate::rows::{self, Part};
use crate::table::{From, Source, TABLES, Table};
use crate::{HubError, pull};

/// Every sum that the hub has of a project, for comparison: a number for all rows of all tables.
///
/// # Errors
/// What the database said.
pub async fn digest(hub: &Hub, project: &str) -> Result<(i64, u64), HubError> {
    let all = pull::visible(hub).await?;
    let forbidden = || HubError::Forbidden(project.to_string(), "read", "");
    let it = all.iter().find(|it| it.name == project).ok_or_else(forbidden)?;
    let part = Part { project: it.id, generation: it.generation };
    let mut digest = 0_u64;
    for (table, number) in compared() {
        rows::sums(&hub.client, table, part, |key, sum| {
            digest = digest.wrapping_add(sum_of(number, key, sum));
        })
        .await?;
    }
    Ok((it.tick, digest))
}

/// The same number of an index here.
///
/// # Errors
/// When it cannot be read.
pub fn digest_of(readers: &Arc<Readers>, state_dir: &Path) -> Result<(u64, u64), HubError> {
    let snapshot: Snapshot = readers.snapshot()?;
    let ledger = open_for_reading(&state_dir.join("ledger.sqlite"))?;
    let better = Some(Spaces::path(state_dir)).filter(|path| path.exists());
    let better = better.map(|path| open_for_reading(&path)).transpose()?;
    let tick = snapshot.tick().0;
    let source = Source { index: &snapshot, ledger: &ledger, better: better.as_ref(), tick };
    let mut digest = 0_u64;
    for (table, number) in compared() {
        table.each(&source, &mut |row| {
            digest = digest.wrapping_add(sum_of(number, row.key, row.sum));
            Ok(())
        })?;
    }
    Ok((tick, digest))
}

/// All but the better vectors, which may come later than the commit.
fn compared() -> impl Iterator<Item = (&'static Table, u64)> {
    TABLES.iter().zip(0_u64..).filter(|(table, _)| table.from != From::Better)
}

fn sum_of(table: u64, key: i64, sum: i64) -> u64 {
    let bytes = [table.to_le_bytes(), key.to_le_bytes(), sum.to_le_bytes()].concat();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}
