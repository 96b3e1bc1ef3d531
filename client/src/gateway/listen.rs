//! Listen: splits one subscription of the client (since revision 2026-07-28) into one per project.
//!
//! In: the client's filter; acknowledgements and notifications of projects. Out: each project's share of the filter;
//! one acknowledgement, then their notifications, with the client's id and the project in addresses.
//! Invariants: no notification precedes the acknowledgement. Projects that refuse are left out, unless all do; when one
//! ends later, the whole subscription ends, because the client must know that it misses something.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Gateway;
use super::asker::Asker;
use super::job::{Concluded, Part, Task, to_error};
use super::naming::{inward, outward};
use super::served::Served;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const ID: &str = "io.modelcontextprotocol/subscriptionId";
const ADDRESSES: &str = "resourceSubscriptions";

/// The state of a subscription.
#[derive(Debug)]
pub(super) struct Listening {
    /// The filter that the project of each part accepted.
    accepted: Vec<Option<Value>>,
    /// Notifications received before every project had answered.
    held: Vec<Value>,
    is_acknowledged: bool,
}

/// Returns each project's share of the client's filter, or an address that names no served project
/// as an error.
pub(super) fn shares(wanted: &Value, served: &Served) -> Result<Vec<(usize, Value)>, String> {
    let mut lists = wanted.as_object().cloned().unwrap_or_default();
    let addresses = lists.shift_remove(ADDRESSES).unwrap_or_default();
    let mut theirs: HashMap<usize, Vec<Value>> = HashMap::new();
    for uri in addresses.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let (project, uri) = inward(uri, served).ok_or_else(|| uri.to_string())?;
        theirs.entry(project).or_default().push(Value::from(uri));
    }
    let is_for_all = lists.values().any(|it| it == true);
    let share = |project: usize| {
        let addresses = theirs.remove(&project).unwrap_or_default();
        let mut share = lists.clone();
        if addresses.is_empty() && !is_for_all {
            return None;
        }
        if !addresses.is_empty() {
            share.insert(ADDRESSES.to_string(), addresses.into());
        }
        Some((project, Value::Object(share)))
    };
    let shares: Vec<_> = served.all().into_iter().filter_map(share).collect();
    // Any project can acknowledge an empty filter.
    let first = served.likeliest_first().into_iter().take(1).map(|it| (it, json!({})));
    Ok(if shares.is_empty() { first.collect() } else { shares })
}

impl Listening {
    /// Creates a subscription with `n_parts` parts.
    pub(super) fn of(n_parts: usize) -> Self {
        Listening { accepted: vec![None; n_parts], held: Vec::new(), is_acknowledged: false }
    }

    /// Returns whether the subscription is over.
    pub(super) fn is_done(&self, parts: &[Part]) -> bool {
        let mut accepted = parts.iter().zip(&self.accepted).filter(|(_, it)| it.is_some());
        parts.iter().all(|it| it.answer.is_some()) || accepted.any(|(it, _)| it.answer.is_some())
    }

    /// Returns what ends the subscription: if possible the answer of a project that had accepted
    /// it.
    pub(super) fn conclude(self, asker: &Asker, parts: Vec<Part>, served: &Served) -> Concluded {
        let answers = parts
            .into_iter()
            .zip(self.accepted)
            .filter_map(|(part, accepted)| Some((accepted.is_none(), part.project, part.answer?)));
        let Some((_, project, answer)) = answers.min_by_key(|(is_refusal, ..)| *is_refusal) else {
            return Err(Value::Null);
        };
        let mut result = answer.map_err(|trouble| to_error(trouble, project, served))?;
        result["_meta"][ID] = id_of(asker);
        Ok(result)
    }

    /// Returns the acknowledgement and the held notifications once every project has answered;
    /// otherwise nothing.
    fn acknowledge(&mut self, asker: &Asker, parts: &[Part]) -> Vec<Value> {
        let mut all = parts.iter().zip(&self.accepted);
        let is_answered = all.all(|(part, it)| it.is_some() || part.answer.is_some());
        if self.is_acknowledged || !is_answered || self.accepted.iter().all(Option::is_none) {
            return Vec::new();
        }
        self.is_acknowledged = true;
        let mut whole = Map::new();
        for (name, value) in self.accepted.iter().flatten().filter_map(Value::as_object).flatten() {
            match (whole.get_mut(name), value) {
                (Some(Value::Array(all)), Value::Array(more)) => all.extend(more.iter().cloned()),
                (Some(_), Value::Bool(false)) => {}
                _ => {
                    whole.insert(name.clone(), value.clone());
                }
            }
        }
        let params = json!({ "_meta": { ID: id_of(asker) }, "notifications": whole });
        let acknowledgement = json!({ "jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": params });
        std::iter::once(acknowledgement).chain(self.held.drain(..)).collect()
    }
}

fn id_of(asker: &Asker) -> Value {
    serde_json::from_str(&asker.id).unwrap_or_default()
}

/// Returns the id of our request for the subscription of a notification.
pub(super) fn subscription(message: &Value) -> Option<u64> {
    message.get("params")?.get("_meta")?.get(ID)?.as_u64()
}

impl Gateway {
    /// Handles a project's notification for a subscription. Addresses outside of filters already name their project.
    pub(super) fn on_subscription_event(&mut self, project: usize, own: u64, mut message: Value) {
        let Some((number, idx)) = self.parts.get(&own).copied() else { return };
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let Some(part) = job.parts.get_mut(idx).filter(|it| it.project == project) else { return };
        let Task::Listen(listening) = &mut job.task else { return };
        if message.get("method").is_some_and(|it| it == ACKNOWLEDGED) {
            part.deadline = None;
            let mut accepted = message["params"]["notifications"].take();
            for uri in
                accepted.get_mut(ADDRESSES).and_then(Value::as_array_mut).into_iter().flatten()
            {
                *uri = outward(uri.as_str().unwrap_or_default(), self.served.permalink(project))
                    .into();
            }
            if let Some(slot) = listening.accepted.get_mut(idx) {
                *slot = Some(accepted);
            }
            return self.acknowledge(number);
        }
        message["params"]["_meta"][ID] = id_of(&job.asker);
        if listening.is_acknowledged {
            self.send_to_client(message.to_string().into_bytes());
        } else {
            listening.held.push(message);
        }
    }

    /// Acknowledges a subscription once all of its projects have answered; does nothing for other jobs.
    pub(super) fn acknowledge(&mut self, number: u64) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let Task::Listen(listening) = &mut job.task else { return };
        for message in listening.acknowledge(&job.asker, &job.parts) {
            self.send_to_client(message.to_string().into_bytes());
        }
    }
}
