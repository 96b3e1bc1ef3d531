//! Edits of a note: spans of its bytes and what stands there instead.
