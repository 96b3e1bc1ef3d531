//! The belt: stations joined by bounded channels, with two lanes.
//!
//! ractor carries life (start, supervise, restart, stop); bounded tokio channels carry documents. The supervisor
//! owns the channels, so a queue survives the restart of its station.
//! Invariants: an item that was sent leaves the belt exactly once, as a document, a deletion or a fault; the
//! interactive lane is always served first; a full lane slows its source, nothing is dropped.

mod budget;
mod inlet;
mod lanes;
mod station;
mod supervise;
pub use budget::Budget;
pub use inlet::{Depth, Gauge, Inlet, Queue};
pub use lanes::Lanes;
pub use station::{Station, StationArgs};
pub use supervise::{Plan, Starting, Supervisor};
