//! Projections: caches the projection of the last requested commit.
//!
//! In: snapshots. Out: the [`Projection`] of each, read on the first request after a commit.
//! Invariants: a projection matches its snapshot; a second caller waits while the first one reads
//! it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::projection::{FurtherRelation, Projection};
use crate::{AskError, QueryContext};
use model::terms::Tick;

/// A projection, its commit, and the number of model readings of entries at that time.
type Kept = (Tick, u64, Arc<Projection>);

/// The projection of the last requested commit.
#[derive(Debug, Default)]
pub struct Projections(Mutex<Option<Kept>>);

impl Projections {
    /// Returns the projection of a snapshot. `further` returns the relations without evidence;
    /// `n_readings` is the version of what they depend on besides the commit.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn at<E: From<AskError>>(
        &self,
        ctx: &QueryContext<'_>,
        n_readings: u64,
        further: impl FnOnce() -> Result<Vec<FurtherRelation>, E>,
    ) -> Result<Arc<Projection>, E> {
        let tick = ctx.snapshot.tick();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, readings, kept)) = &*last
            && (*at, *readings) == (tick, n_readings)
        {
            return Ok(kept.clone());
        }
        let further = further()?;
        let begun = Instant::now();
        let read = Arc::new(Projection::read(ctx, &further)?);
        let (n_entities, n_relations) = read.size();
        let elapsed_us = begun.elapsed().as_micros() as u64;
        tracing::debug!(n_entities, n_relations, elapsed_us, "the graph was read");
        // A caller with an older snapshot must not replace the newer projection.
        if last.as_ref().is_none_or(|kept| kept.0 <= tick) {
            *last = Some((tick, n_readings, read.clone()));
        }
        Ok(read)
    }
}
