//! Terms: the vocabulary that every module shares: places, names, identities, confidence.
//!
//! Nothing here reads files, stores rows or knows a wire format.

mod confidence;
mod ids;
mod kind;
mod name;
mod script;
mod similarity;
mod span;

pub use confidence::Confidence;
pub use ids::{ContentHash, FileVersion, Generation, Lane, RelPath, Tick};
pub use kind::Kind;
pub use name::{EntityType, Norm as NormKey, norm_of, tokens_of};
pub use script::{gram_length, is_latin, is_unspaced, is_word_char, run_length};
pub use similarity::{SAME_DOCUMENT, Sketch, overlap};
pub use span::{Norm, Raw, Segment, Span, SpanMap, line_of};
