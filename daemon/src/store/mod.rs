//! The databases: the derived index, and the ledger of what files cannot hold.
//!
//! One connection writes each; everything else reads snapshots. `Connection::open` is called here and nowhere else.
//! Not here: what to write (the stages decided that), or how to rank (`ask/`).

mod commit;
mod dump;
mod error;
mod facts;
mod gazetteer;
mod ledger;
mod likeness;
pub mod lines;
mod names;
mod open;
mod schema;
mod snapshot;
mod writer;

pub use dump::dump_page;
pub use error::StoreError;
pub use ledger::{
    Backup, Breakers, Checkup, Decisions, IngestRecord, Ledger, LedgerError, Restored, Trouble,
    Verdict, back_up, check_backup, check_up, link_key, relation_key, restore,
};
pub use likeness::Likeness;
pub use schema::SCHEMA_VERSION;
pub use snapshot::{Readers, Snapshot};
pub use writer::{Committed, IndexWriter, RippleStep};
