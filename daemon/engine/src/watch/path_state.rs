//! Path state: what the index will hold of one path once everything on the belt is committed, and how a check of the
//! path changes that.
//!
//! In: the state, which `sent.rs` keeps, and what a check found (`intake.rs`). Out: the next state and what to send.
//! [`PathState::after`] is the whole decision:
//!
//! | found       | Unknown            | Present            | Absent             | Faulted            |
//! |-------------|--------------------|--------------------|--------------------|--------------------|
//! | Untouched   | keep → Unknown     | keep → Present     | keep → Absent      | keep → Faulted     |
//! | SameContent | document → Present | renew → Present    | document → Present | document → Present |
//! | NewContent  | document → Present | document → Present | document → Present | document → Present |
//! | Unreadable  | fault → Faulted    | fault → Faulted    | fault → Faulted    | fault → Faulted    |
//! | Gone        | skip → Unknown     | removal → Absent   | skip → Absent      | removal → Absent   |
//! | OutOfSight  | skip → Unknown     | hold → Present     | skip → Absent      | hold → Faulted     |
//!
//! Invariant: nothing that merely cannot be seen is removed (`OutOfSight`).

use super::read::Stat;
use super::sent::{KnownFile, stat_of};

/// What the index will hold of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathState {
    /// Nothing, and nothing was ever sent.
    Unknown,
    /// This content.
    Present(KnownFile),
    /// Nothing: a removal was sent.
    Absent,
    /// A fault in reading; an older document may still be there.
    Faulted(Stat),
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Size and time are those of the state, or the file is skipped until it changes.
    Untouched,
    /// The same content as the state, on the same day, with no request to send it again.
    SameContent(KnownFile),
    /// Other content, or content that is to be sent again.
    NewContent(KnownFile),
    /// A file that cannot be read.
    Unreadable(Stat),
    /// No file, or one that is not to be indexed.
    Gone,
    /// No file, but the root is missing or another folder, so nothing follows for the file.
    OutOfSight,
}

/// What to do about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing.
    Keep,
    /// Records the file's new time; nothing is sent.
    Renew,
    /// Sends the document.
    SendDocument,
    /// Sends a fault.
    SendFault,
    /// Sends a removal.
    SendRemoval,
    /// Reports that the path is not indexed.
    Skip,
    /// Waits until the root is back.
    Hold,
}

impl PathState {
    /// Returns whether the index holds something of the path, which a removal would remove.
    pub(super) fn is_held(self) -> bool {
        matches!(self, PathState::Present(_) | PathState::Faulted(_))
    }

    /// Returns whether a file of this size and time, or the lack of one, is what the index will hold. A second change
    /// may have the same size and time, so the path must be checked all the same.
    pub(super) fn looks_like(self, stat: Option<Stat>) -> bool {
        match (self, stat) {
            (PathState::Present(file), Some(stat)) => stat_of(&file) == stat,
            (PathState::Absent, None) => true,
            _ => false,
        }
    }

    /// Returns the next state and what to do about a finding.
    pub(super) fn after(self, finding: Finding) -> (PathState, Action) {
        match (self, finding) {
            (state, Finding::Untouched) => (state, Action::Keep),
            (PathState::Present(_), Finding::SameContent(file)) => {
                (PathState::Present(file), Action::Renew)
            }
            (_, Finding::SameContent(file) | Finding::NewContent(file)) => {
                (PathState::Present(file), Action::SendDocument)
            }
            (_, Finding::Unreadable(stat)) => (PathState::Faulted(stat), Action::SendFault),
            (state, Finding::Gone) if state.is_held() => (PathState::Absent, Action::SendRemoval),
            (state, Finding::OutOfSight) if state.is_held() => (state, Action::Hold),
            (state, Finding::Gone | Finding::OutOfSight) => (state, Action::Skip),
        }
    }
}

/// Parses the table in a module's doc comment: for each row the first cell, and the others.
#[cfg(test)]
pub(super) fn table_of(source: &str) -> Vec<(&str, Vec<&str>)> {
    let rows = source.lines().filter_map(|line| line.strip_prefix("//! |"));
    let rows = rows.filter(|row| !row.starts_with('-'));
    rows.map(|row| {
        let mut cells = row.trim_end_matches('|').split('|').map(str::trim);
        (cells.next().unwrap_or_default(), cells.collect())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::terms::ContentHash;

    fn name_of(state: PathState) -> &'static str {
        match state {
            PathState::Unknown => "Unknown",
            PathState::Present(_) => "Present",
            PathState::Absent => "Absent",
            PathState::Faulted(_) => "Faulted",
        }
    }

    #[test]
    fn every_state_and_finding_leads_where_the_table_says() {
        let old = KnownFile { hash: ContentHash(1), mtime_ms: 1, n_bytes: 1 };
        let new = KnownFile { hash: ContentHash(2), mtime_ms: 2, n_bytes: 2 };
        let stat = Stat { n_bytes: 2, mtime_ms: 2 };
        let states = [
            PathState::Unknown,
            PathState::Present(old),
            PathState::Absent,
            PathState::Faulted(Stat { n_bytes: 1, mtime_ms: 1 }),
        ];
        let findings = [
            ("Untouched", Finding::Untouched),
            ("SameContent", Finding::SameContent(new)),
            ("NewContent", Finding::NewContent(new)),
            ("Unreadable", Finding::Unreadable(stat)),
            ("Gone", Finding::Gone),
            ("OutOfSight", Finding::OutOfSight),
        ];
        let table = table_of(include_str!("path_state.rs"));
        assert_eq!(table[0].1, states.map(name_of));
        assert_eq!(table.len(), 1 + findings.len());
        for ((name, finding), (row, cells)) in findings.into_iter().zip(&table[1..]) {
            assert_eq!(name, *row);
            for (state, cell) in states.into_iter().zip(cells) {
                let (next, action) = state.after(finding);
                let action = match action {
                    Action::Keep => "keep",
                    Action::Renew => "renew",
                    Action::SendDocument => "document",
                    Action::SendFault => "fault",
                    Action::SendRemoval => "removal",
                    Action::Skip => "skip",
                    Action::Hold => "hold",
                };
                let shown = format!("{action} → {}", name_of(next));
                assert_eq!(shown, *cell, "{name} in {}", name_of(state));
                match next {
                    PathState::Present(file) if state != next => assert_eq!(file, new),
                    PathState::Faulted(found) if state != next => assert_eq!(found, stat),
                    _ => {}
                }
            }
        }
    }
}
