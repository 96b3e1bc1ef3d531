//! Shown: reverses the escaping of hidden characters in texts that callers send back.
//!
//! In: a text that a caller wants written, and the current note. Out: the text with escapes from
//! that note turned back.
//! Invariants: a note that is read and written back keeps every byte, and a text that merely
//! mentions such an escape is unchanged.

use std::borrow::Cow;

use notes::edit::Op;
use proto::visible::restore_from;

/// Returns an edit as the caller meant it, for a note whose text is `original`.
pub(super) fn meant(op: &Op, original: &str) -> Op {
    let mut op = op.clone();
    let texts: Vec<&mut String> = match &mut op {
        Op::Append(text) | Op::Prepend(text) => vec![text],
        Op::ReplaceSection { section, content }
        | Op::ReplaceOwnText { section, content }
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
