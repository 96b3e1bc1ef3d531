//! The databases: the derived index, and the ledger of what files cannot hold.
//!
//! One connection writes each; everything else reads snapshots. `Connection::open` is called here and nowhere else.

pub mod canon;
mod changes;
pub mod commit;
mod deep;
mod dump;
mod duplicates;
mod erase;
mod error;
mod facts;
mod gazetteer;
mod held;
mod ids;
mod journal;
mod ledger;
mod ledger_sync;
mod likeness;
pub mod lines;
pub mod links;
mod names;
pub(crate) mod open;
pub mod permalinks;
pub(crate) mod positions;
pub mod published;
mod quarantine;
mod readings;
mod record;
mod replace;
mod replica;
pub mod resolve;
pub mod schema;
mod scrub;
mod senses;
mod snapshot;
mod spaces;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trouble;
mod work;
mod writer;
mod written;

pub use deep::NextDeep;
pub use dump::dump_page;
pub(crate) use erase::each_row;
pub use erase::{
    Counts, Gone, Identities, LedgerRow, Rewrite, each_text, entry_rows, holds_any,
    index_words_without_rows, is_within, stays_with_file,
};
pub use error::StoreError;
pub use held::{Held, Part, Seen};
pub(crate) use journal::lines_of;
pub use journal::{Line, first_lines};
pub use ledger::{
    Backup, Breakers, Checkup, Decisions, DecisionsAt, Enriched, EventCounts, Failing,
    IngestRecord, IngestedFile, KbFacts, KbLedger, KbRecord, KbVersion, LastWrites, Ledger,
    LedgerError, MemoryEvent, MemoryLedger, NewVersion, Operation, Reading, Restored, Verdict,
    back_up, bring_back, check_backup, check_up, link_key, note_party, observation_key,
    relation_key, restore, uid_of,
};
pub use ledger::{ChangeLedger, ChangedLine, DocChange, DocVersion, JournalStart, LineKind};
pub use ledger::{OBSERVED_EVERY, written_before};
pub use ledger::{Removal, detectors, is_sound, removed_ms, rewrite_copy, scrubbed_by};
pub use likeness::Likeness;
pub use record::stored;
pub use replace::copy_ledger;
pub use replica::{Draft, Replica};
pub use schema::SCHEMA_VERSION;
pub use scrub::{Scrubbed, check_table, scrub_documents, tables_of};
pub use snapshot::{Cancellation, Readers, Snapshot, damage_of, open_for_reading};
pub use spaces::forget_unused;
pub use spaces::{Space, Spaces};
pub use trouble::{Stall, Trouble};
pub use writer::{Committed, IndexWriter, RippleStep};
pub use written::written;
