//! Mode: how the watcher notices changes.
//!
//! In: what the last walk could watch. Out: the next mode, and whether `status` reports the change as trouble.
//! [`WatchMode::after`] follows this table; "report" adds an error, "quiet" does not:
//!
//! | event         | Stopped         | Events          | Mixed           | Poll            |
//! |---------------|-----------------|-----------------|-----------------|-----------------|
//! | AllWatched    | quiet → Events  | quiet → Events  | quiet → Events  | quiet → Events  |
//! | SomeUnwatched | report → Mixed  | report → Mixed  | quiet → Mixed   | report → Mixed  |
//! | NoneWatched   | report → Poll   | report → Poll   | report → Poll   | report → Poll   |
//! | PollWanted    | quiet → Poll    | quiet → Poll    | quiet → Poll    | quiet → Poll    |
//! | Stop          | quiet → Stopped | quiet → Stopped | quiet → Stopped | quiet → Stopped |
//!
//! `NoneWatched` for the same reason as before is quiet. A crawl causes one of the first four, a walk of one folder
//! one of the first two.

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WatchMode {
    /// Nothing runs.
    #[default]
    Stopped,
    /// The system reports each change.
    Events,
    /// The system reports changes in some folders; the others are polled.
    Mixed {
        /// Folders whose changes the system reports.
        n_watched: usize,
        /// Folders that are polled.
        n_polled: usize,
        /// Why not.
        why: String,
    },
    /// Everything is polled, because the setting says so (`None`) or because events fail (the reason).
    Poll(Option<String>),
}

/// An event that may change the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModeEvent {
    /// Every folder has a watch.
    AllWatched,
    /// Some folders have none.
    SomeUnwatched { n_watched: usize, n_polled: usize, why: String },
    /// There are no events at all, and why.
    NoneWatched(String),
    /// The setting asks for polling.
    PollWanted,
    /// The watcher stops.
    Stop,
}

impl WatchMode {
    /// Returns the next mode and, if a person should see it, a message.
    pub(super) fn after(&self, event: ModeEvent) -> (WatchMode, Option<String>) {
        match event {
            ModeEvent::AllWatched => (WatchMode::Events, None),
            ModeEvent::SomeUnwatched { n_watched, n_polled, why } => {
                // The numbers change with each walk; only the first time is news.
                let is_new = !matches!(self, WatchMode::Mixed { .. });
                let message = is_new.then(|| format!("some folders are polled instead: {why}"));
                (WatchMode::Mixed { n_watched, n_polled, why }, message)
            }
            ModeEvent::NoneWatched(why) => {
                let message = format!("all folders are polled instead: {why}");
                let next = WatchMode::Poll(Some(why));
                let is_new = *self != next;
                (next, is_new.then_some(message))
            }
            ModeEvent::PollWanted => (WatchMode::Poll(None), None),
            ModeEvent::Stop => (WatchMode::Stopped, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::path_state::table_of;
    use super::*;

    fn name_of(mode: &WatchMode) -> &'static str {
        match mode {
            WatchMode::Stopped => "Stopped",
            WatchMode::Events => "Events",
            WatchMode::Mixed { .. } => "Mixed",
            WatchMode::Poll(_) => "Poll",
        }
    }

    #[test]
    fn every_mode_and_event_leads_where_the_table_says() {
        let why = || "a limit".to_string();
        let modes = [
            WatchMode::Stopped,
            WatchMode::Events,
            WatchMode::Mixed { n_watched: 2, n_polled: 1, why: why() },
            WatchMode::Poll(None),
        ];
        let events = [
            ("AllWatched", ModeEvent::AllWatched),
            ("SomeUnwatched", ModeEvent::SomeUnwatched { n_watched: 1, n_polled: 2, why: why() }),
            ("NoneWatched", ModeEvent::NoneWatched(why())),
            ("PollWanted", ModeEvent::PollWanted),
            ("Stop", ModeEvent::Stop),
        ];
        let table = table_of(include_str!("mode.rs"));
        assert_eq!(table[0].1, modes.each_ref().map(name_of));
        assert_eq!(table.len(), 1 + events.len());
        for ((name, event), (row, cells)) in events.into_iter().zip(&table[1..]) {
            assert_eq!(name, *row);
            for (mode, cell) in modes.iter().zip(cells) {
                let (next, message) = mode.after(event.clone());
                let report = if message.is_some() { "report" } else { "quiet" };
                let shown = format!("{report} → {}", name_of(&next));
                assert_eq!(shown, *cell, "{name} in {}", name_of(mode));
                assert_eq!(next.after(event.clone()), (next.clone(), None), "it is news once");
            }
        }
    }
}
