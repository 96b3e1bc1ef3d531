//! Item: what moves between stations: a document, a deletion or a fault, each with its ticket.

use crate::terms::{FileVersion, Generation, Lane, RelPath};
use crate::{DocFault, Weight};

/// Travels with an item from the watcher to the writer; no stage reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The file.
    pub path: RelPath,
    /// When the watcher read the file; the writer drops an item that is older than what is committed.
    pub generation: Generation,
    /// The lane it takes.
    pub lane: Lane,
    /// The file's previous path, from both halves of a rename or from its content.
    pub moved_from: Option<RelPath>,
    /// True if what was at `path` is at `moved_from` now: two documents changed places.
    pub is_exchange: bool,
    /// True to index again although the content is unchanged.
    pub is_forced: bool,
    /// The file as the watcher saw it; failures are counted by it.
    pub version: FileVersion,
    /// Number of files of the same submission behind it: the writer waits for them, to commit them together.
    pub n_behind: usize,
    /// Its bytes of the budget, until it is committed or dropped.
    pub weight: Weight,
}

/// One thing on the belt. Deletions and faults go down the same belt as documents, so the writer sees one stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<T> {
    /// A document at some stage.
    Document(Ticket, T),
    /// The file was deleted.
    Removed(Ticket),
    /// The document cannot be processed further.
    Faulted(Ticket, DocFault),
}

impl<T> Item<T> {
    /// Returns the ticket of any item.
    pub fn ticket(&self) -> &Ticket {
        match self {
            Item::Document(ticket, _) | Item::Removed(ticket) | Item::Faulted(ticket, _) => ticket,
        }
    }

    /// The same, mutable.
    pub fn ticket_mut(&mut self) -> &mut Ticket {
        match self {
            Item::Document(ticket, _) | Item::Removed(ticket) | Item::Faulted(ticket, _) => ticket,
        }
    }
}
