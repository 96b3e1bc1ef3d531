//! Stage: one pure step of the belt.

use crate::DocFault;

/// A function from its input type to its output type, of that document alone.
///
/// It owns no channel, connection, clock or counter; what it needs comes in with the document or as a narrow trait
/// given at construction. The `Station` does the rest.
pub trait Stage: Send + 'static {
    /// The stage's name in `status`, logs and faults.
    const NAME: &'static str;
    /// True if the work takes microseconds: then it runs in place, since a trip to a worker thread costs more.
    const IS_LIGHT: bool = false;
    /// Its input.
    type In: Send + 'static;
    /// Its output.
    type Out: Send + 'static;

    /// Does the work. A fault affects this document only; so does a panic.
    fn run(&mut self, input: Self::In) -> Result<Self::Out, DocFault>;
}
