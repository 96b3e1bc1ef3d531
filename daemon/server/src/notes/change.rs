//! Change: edits that are computed from the current text of a note, inside its turn.
//!
//! In: a path, and a function from the current text to changes of it. Out: what was written, and
//! what the function returned.
//! Invariants: no writer that takes turns writes between the read and the write; if another program
//! does (an editor), the function is called again, so neither change is lost.

use notes::edit::{Change, EditError, apply};

use super::{NoteError, Notes, Written};

/// Most attempts at a note that another program keeps changing.
const MAX_TRIES: usize = 8;

impl Notes {
    /// Changes a note as `plan` decides.
    ///
    /// # Errors
    /// As [`Notes::edit`], and the errors of `plan`; then nothing has changed.
    pub fn change<R>(
        &self,
        path: &str,
        plan: impl Fn(&str) -> Result<(Vec<Change>, R), EditError>,
    ) -> Result<(Written, R), NoteError> {
        let mut n_tries = 1;
        loop {
            let _turn = self.turn()?;
            let note = self.opened(path)?;
            let failed = |why| NoteError::Edit { path: note.path.clone(), why };
            let (changes, result) = plan(&note.text).map_err(failed)?;
            let after = apply(&note.text, &changes);
            self.check_content(&note.path, &note.text, &after)?;
            match self.replace(&note.path, &note.spot, Some(&note.found), &after, changes) {
                Err(NoteError::Conflict { .. }) if n_tries < MAX_TRIES => n_tries += 1,
                done => return done.map(|written| (written, result)),
            }
        }
    }
}
