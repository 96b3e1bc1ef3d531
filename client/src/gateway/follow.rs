//! Follow: a session whose projects change while it runs.
//!
//! In: what is served now. Out: messages for the client, and the projects that are not served any more.
//! Invariant: a request to a project that is gone is answered as one to a project that never was, whenever it was made.

use std::time::Instant;

use config::Project;
use proto::tool::ToolSet;
use serde_json::json;

use super::backend::Backend;
use super::job::Part;
use super::served::Served;
use super::trouble::Trouble;
use super::{Gateway, Out, line};

impl Gateway {
    /// Serves what `now` serves, from here on. Returns the projects that are not served any more, and what to send:
    /// requests to them are answered as those to an unknown project.
    pub fn follow(&mut self, now: &Served, at: Instant) -> (Vec<usize>, Vec<Out>) {
        let before = self.served.clone();
        let gone = self.served.become_like(now);
        if self.served == before {
            return (gone, Vec::new());
        }
        self.backends.resize_with(self.served.n_ever(), Backend::default);
        let is_lost = |part: &Part| part.answer.is_none() && gone.contains(&part.project);
        let lost = self.jobs.iter().flat_map(|(number, job)| {
            let parts = job.parts.iter().enumerate().filter(|(_, part)| is_lost(part));
            parts.map(|(idx, part)| (*number, idx, part.project, part.id))
        });
        let mut lost: Vec<_> = lost.collect();
        lost.sort_unstable();
        for (number, idx, project, id) in lost {
            self.parts.remove(&id);
            self.settle(number, idx, Err(self.gone(project)), at);
        }
        // Newer revisions have no handshake, and send this to subscribers alone.
        if self.hello.is_some() {
            let params = json!({});
            self.send_to_client(line::notification("notifications/tools/list_changed", &params));
        }
        (gone, std::mem::take(&mut self.out))
    }

    /// Returns the answer of a project that is not served any more.
    pub(super) fn gone(&self, project: usize) -> Trouble {
        Trouble::gone(self.served.unknown(self.served.name(project)))
    }

    /// Returns a project, unless it is not served any more.
    pub fn project(&self, project: usize) -> Option<&Project> {
        self.served.get(project)
    }

    /// Sets the tool sets to offer while there is no project that could say what it offers.
    pub fn offering(self, sets: &[String]) -> Self {
        let sets = sets.iter().filter_map(|it| ToolSet::parse(it)).collect();
        Gateway { sets, ..self }
    }
}
