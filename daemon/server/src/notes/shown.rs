//! Shown: texts that come back as a note was shown.
//!
//! In: what a caller wants written, and the note as it is. Out: the same, with what was written out meant again.
//! Invariants: a note that is read and written back keeps every byte, and a text about such characters stays a text.
//! Not here: what is written out (`proto::visible`).

use std::borrow::Cow;

use notes::edit::Op;
use proto::visible::restore_from;

/// An edit as it was meant, of a note that says `original`.
pub(super) fn meant(op: &Op, original: &str) -> Op {
    let mut op = op.clone();
    let texts: Vec<&mut String> = match &mut op {
        Op::Append(text) | Op::Prepend(text) => vec![text],
        Op::ReplaceSection { section, content }
        | Op::AppendToSection { section, content }
        | Op::InsertBefore { section, content }
        | Op::InsertAfter { section, content } => vec![section, content],
        Op::Replace { find, with, .. } => vec![find, with],
        _ => vec![],
    };
    for text in texts {
        if let Cow::Owned(restored) = restore_from(text, original) {
            *text = restored;
        }
    }
    op
}
