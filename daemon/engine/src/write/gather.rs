//! Gather: chooses which items are committed together with the first.
//!
//! In: an item, and the queue behind it. Out: items of one lane for one transaction.
//! Invariants: it waits only while something is on its way: for files that were submitted together with the last one
//! taken, and in the bulk lane for a full batch, as long as nobody else wants the writer. A file that is saved alone is
//! committed at once, together with what came before it.

use std::time::{Duration, Instant};

use super::WriterArgs;
use model::Item;
use model::document::Document;
use model::terms::Lane;

/// Documents and text bytes of one transaction: enough to share its cost, few enough that an interactive document
/// behind it waits only some tens of milliseconds.
const BATCH: (usize, usize) = (64, 800_000);

/// Longest wait for the next of several files that were submitted together. On a busy machine one takes tens of
/// milliseconds; a commit for each would write the pages they share as often.
const PATIENCE: Duration = Duration::from_millis(200);

/// Longest wait for a full batch of the bulk lane: a commit of a few documents writes nearly as many pages of the index
/// as one of many, and FTS5 merges what each commit adds.
const BULK_PATIENCE: Duration = Duration::from_millis(100);

/// How often to check whether anything is still on its way: the remaining files may be unchanged.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Returns the items to commit together, starting with `first`.
pub(super) async fn gather(first: Item<Document>, args: &WriterArgs) -> Vec<Item<Document>> {
    let lane = first.ticket().lane;
    let since = Instant::now();
    let mut n_bytes = 0;
    let mut items = Vec::new();
    let mut next = Some(first);
    while let Some(item) = next {
        n_bytes += text_len(&item);
        let is_followed = lane == Lane::Interactive && item.ticket().n_behind > 0;
        items.push(item);
        if items.len() >= BATCH.0 || n_bytes >= BATCH.1 {
            break;
        }
        // Items that wait already are taken without delay.
        next = args.inlet.try_next(lane);
        if next.is_none() && is_followed {
            next = following(args).await;
        }
        while next.is_none() && lane == Lane::Bulk && may_wait(args, since) {
            tokio::time::sleep(LOOK_AGAIN).await;
            next = args.inlet.try_next(lane);
        }
    }
    items
}

/// Waits for the next of several files that were submitted together.
async fn following(args: &WriterArgs) -> Option<Item<Document>> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE && args.traffic.is_more_coming() {
        if let Ok(item) = tokio::time::timeout(LOOK_AGAIN, args.inlet.next_interactive()).await {
            return Some(item);
        }
    }
    None
}

/// Returns whether a batch of the bulk lane, begun at `since`, may wait for more.
fn may_wait(args: &WriterArgs, since: Instant) -> bool {
    let is_wanted = args.inlet.has_interactive()
        || args.commands.try_lock().is_ok_and(|commands| !commands.is_empty());
    !is_wanted && since.elapsed() < BULK_PATIENCE && args.traffic.is_more_coming()
}

fn text_len(item: &Item<Document>) -> usize {
    match item {
        Item::Document(_, doc) => doc.text.len(),
        _ => 0,
    }
}
