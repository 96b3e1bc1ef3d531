//! Model: the types that all layers share. `terms` has places, names and spans; `parcel` a document at each stage, in
//! order; [`Stage`], [`Item`], [`Ticket`] and [`DocFault`] how it gets there; `print` what makes two paragraphs
//! equal.
//!
//! Every layer but `sys` and `language` depends on it.
//! Invariants: nothing here reads files, stores rows, starts threads or knows a wire format; every function is pure.

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
