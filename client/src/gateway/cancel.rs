//! Cancel: takes requests back, for the client or because their answer is no longer needed.
//!
//! In: a request. Out: notifications for the projects that have it.

use serde_json::json;

use super::job::{Job, Task};
use super::route::First;
use super::{Gateway, Out, line};

impl Gateway {
    /// Cancels a request to a project.
    pub(super) fn call_off(&mut self, project: usize, id: u64) {
        if self.parts.remove(&id).is_none() {
            return;
        }
        if self.backends.get_mut(project).is_some_and(|it| !it.forget(id)) {
            let params = json!({ "requestId": id });
            self.out.push(Out::Project(
                project,
                line::notification("notifications/cancelled", &params),
            ));
        }
    }

    /// Cancels a request for the client, which then gets no answer.
    pub(super) fn cancel(&mut self, client_id: &str) {
        let is_meant = |job: &Job| {
            // A handshake cannot be cancelled.
            let is_hello = matches!(job.task, Task::First { of: First::Hello, .. });
            job.asker.id == client_id && !is_hello
        };
        let numbers: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| is_meant(job)).map(|(number, _)| *number).collect();
        for job in
            numbers.into_iter().filter_map(|number| self.jobs.remove(&number)).collect::<Vec<_>>()
        {
            for part in job.parts.iter().filter(|part| part.answer.is_none()) {
                self.call_off(part.project, part.id);
            }
        }
    }
}
