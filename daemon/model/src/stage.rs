//! A stage: one pure step of the belt.

use crate::DocFault;

/// A function from its input type to its output type, of that document alone.
///
/// It owns no channel, connection, clock or counter; whatever it needs comes in with the document or as a narrow
/// trait given at construction. The `Station` does the rest.
pub trait Stage: Send + 'static {
    /// The stage's name in `status`, logs and faults.
    const NAME: &'static str;
    /// True when the work takes microseconds: then it is done where it is, since a trip to a worker thread costs more.
    const IS_LIGHT: bool = false;
    /// What it takes.
    type In: Send + 'static;
    /// What it gives.
    type Out: Send + 'static;

    /// Does the work. A fault costs this document only; so does a panic.
    fn run(&mut self, input: Self::In) -> Result<Self::Out, DocFault>;
}
