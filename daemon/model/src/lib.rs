//! Model: the types that all layers share. `terms` has places, names and spans; `document` what is known of a file;
//! [`Stage`], [`Item`], [`Ticket`] and [`DocFault`] how it becomes known; `print` what makes two paragraphs equal.
//!
//! Every layer but `sys` and `language` depends on it.
//! Invariants: nothing here reads files, stores rows, starts threads or knows a wire format; every function is pure.

pub mod bytes;
pub mod document;
mod fault;
mod item;
pub mod print;
mod stage;
pub mod terms;
mod weight;

pub use fault::DocFault;
pub use item::{Item, Ticket};
pub use stage::{PartStage, Stage};
pub use weight::Weight;
