//! Stage: one pure step of the belt. The first one makes a document of a file; each later one reads the document and
//! returns its own part of it.

use crate::DocFault;
use crate::document::Document;

/// A function from its input type to its output type, of one document alone.
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

/// A stage that adds one part to a document. It cannot change any other.
pub trait PartStage: Send + 'static {
    /// See [`Stage::NAME`].
    const NAME: &'static str;
    /// See [`Stage::IS_LIGHT`].
    const IS_LIGHT: bool = false;
    /// Its part of a document.
    type Part;

    /// Makes the part. A fault affects this document only; so does a panic.
    fn part_of(&mut self, doc: &Document) -> Result<Self::Part, DocFault>;

    /// Returns the place of the part in a document.
    fn place(doc: &mut Document) -> &mut Self::Part;
}

impl<S: PartStage> Stage for S {
    const NAME: &'static str = S::NAME;
    const IS_LIGHT: bool = S::IS_LIGHT;
    type In = Document;
    type Out = Document;

    fn run(&mut self, mut doc: Document) -> Result<Document, DocFault> {
        *S::place(&mut doc) = self.part_of(&doc)?;
        Ok(doc)
    }
}
