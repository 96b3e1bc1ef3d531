//! What moves between stations: a document, a deletion or a fault, each with its ticket.

use crate::terms::{FileVersion, Generation, Lane, RelPath};
use crate::{DocFault, Weight};

/// Travels with a parcel from the watcher to the writer; no stage looks inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Which file.
    pub path: RelPath,
    /// When the watcher settled the change; the writer drops a parcel older than what is committed.
    pub generation: Generation,
    /// Which lane it rides in.
    pub lane: Lane,
    /// The path it was before: both halves of a rename were seen, or the content says so.
    pub moved_from: Option<RelPath>,
    /// True when what was at `path` is at `moved_from` now: two documents changed places.
    pub is_exchange: bool,
    /// True to index again although the content is unchanged.
    pub is_forced: bool,
    /// The file as the watcher saw it; failures are counted by it.
    pub version: FileVersion,
    /// How many files of one submission come behind it: the writer waits for them, to commit them together.
    pub n_behind: usize,
    /// What it holds of the budget until it is committed or dropped.
    pub weight: Weight,
}

/// One thing on the belt. Deletions and faults ride the same belt as documents, so the writer sees one stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<T> {
    /// A document, as far as it has come.
    Document(Ticket, T),
    /// The file is gone.
    Removed(Ticket),
    /// The document cannot be taken further.
    Faulted(Ticket, DocFault),
}

impl<T> Item<T> {
    /// The ticket of any item.
    pub fn ticket(&self) -> &Ticket {
        match self {
            Item::Document(ticket, _) | Item::Removed(ticket) | Item::Faulted(ticket, _) => ticket,
        }
    }

    /// The same, to be changed.
    pub fn ticket_mut(&mut self) -> &mut Ticket {
        match self {
            Item::Document(ticket, _) | Item::Removed(ticket) | Item::Faulted(ticket, _) => ticket,
        }
    }
}
