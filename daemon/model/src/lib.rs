//! Model: the words that all layers share. `terms` has places, names and spans; `parcel` what a document is on its way,
//! in order; [`Stage`], [`Item`], [`Ticket`] and [`DocFault`] how it gets there; `print` what makes two paragraphs the
//! same.
//!
//! Every layer but `sys` and `language` lies above it.
//! Invariants: nothing here reads files, keeps rows, starts threads or knows a wire format; every function is pure.
//! Not here: what a stage does, and the belt that carries items.

pub mod bytes;
mod fault;
mod item;
pub mod parcel;
pub mod print;
mod stage;
pub mod terms;
mod weight;

pub use fault::DocFault;
pub use item::{Item, Ticket};
pub use stage::Stage;
pub use weight::Weight;
