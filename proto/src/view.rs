//! View: the text form of replies, for agents and for people at a terminal. Each reply has one, beside its type.
//!
//! In: a typed reply, a style. Out: text.
//! Invariants: for an agent the text has at most the budget's characters (200 at least), what is left out is counted
//! (`… 3 more`), and it ends with the project and the tick; nothing from a document moves a terminal's cursor, breaks a
//! line or changes the reading direction; what may repeat a request is cleaned as the style says, while stored text
//! was cleaned when its document was read.

mod sheet;
mod style;
mod words;

use std::borrow::Cow;

pub use self::sheet::{Sheet, table};
pub use self::style::{Style, for_shell, stored};
pub(crate) use self::words::{
    MAX_CONTINUE_CHARS, around, as_written, entity, indented, joined, lines, paragraphs, place,
    score, tags,
};
pub use self::words::{count, counted, thousands};
use crate::shape::Freshness;

/// Removes what must not leave from a text that may repeat a request.
pub type Clean = fn(&str) -> Cow<'_, str>;

/// A reply that can be read as text.
pub trait View {
    /// The project and the tick that the reply saw.
    fn freshness(&self) -> &Freshness;

    /// Writes the reply.
    fn view(&self, sheet: &mut Sheet);

    /// Returns the reply as text.
    fn text(&self, style: Style) -> String {
        let mut sheet = Sheet::new(style, self.freshness());
        self.view(&mut sheet);
        sheet.finish()
    }
}

/// [`View::freshness`] of a reply with a field of that name: nearly all have it as their last.
macro_rules! fresh {
    () => {
        fn freshness(&self) -> &$crate::shape::Freshness {
            &self.freshness
        }
    };
}
pub(crate) use fresh;

#[cfg(test)]
mod tests;
