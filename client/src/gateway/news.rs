//! News: what projects send on their own, and the client's answers to it.
//!
//! In: requests and notifications of projects. Out: the same for the client, under ids of ours, with the project in
//! addresses.

use serde_json::Value;

use super::{Gateway, Out, listen, naming};

impl Gateway {
    /// Passes a project's request to the client, under an id that is unique among projects.
    pub(super) fn on_question(&mut self, project: usize, line: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(line) else { return };
        let id = Value::from(format!("kgd-{}", self.fresh_id()));
        let own = std::mem::replace(&mut message["id"], id.clone());
        self.asked.insert(id.to_string(), (project, own));
        self.send_to_client(message.to_string().into_bytes());
    }

    pub(super) fn on_question_cancelled(&mut self, project: usize, id: &str, line: &[u8]) {
        let own: Value = serde_json::from_str(id).unwrap_or_default();
        let is_meant = |asked: &(usize, Value)| asked.0 == project && asked.1 == own;
        let Some(key) = self.asked.iter().find(|(_, it)| is_meant(it)).map(|(key, _)| key.clone())
        else {
            return;
        };
        self.asked.remove(&key);
        if let Ok(mut message) = serde_json::from_slice::<Value>(line) {
            message["params"]["requestId"] = serde_json::from_str(&key).unwrap_or_default();
            self.send_to_client(message.to_string().into_bytes());
        }
    }

    pub(super) fn on_client_answer(&mut self, id: &str, line: &[u8]) {
        let Some((project, own)) = self.asked.remove(id) else { return };
        if let Ok(mut message) = serde_json::from_slice::<Value>(line) {
            message["id"] = own;
            self.out.push(Out::Project(project, message.to_string().into_bytes()));
        }
    }

    /// Handles a project's notification: passes on progress and changed lists, with the project in addresses.
    pub(super) fn on_news(&mut self, project: usize, line: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(line) else { return };
        let address = message.pointer_mut("/params/uri").filter(|it| it.is_string());
        let has_address = address.is_some();
        if let Some(uri) = address {
            let own = uri.as_str().unwrap_or_default();
            *uri = naming::outward(own, self.served.permalink(project)).into();
        }
        match listen::subscription(&message) {
            Some(own) => self.on_subscription_event(project, own, message),
            None if has_address => self.send_to_client(message.to_string().into_bytes()),
            None => self.send_to_client(line.to_vec()),
        }
    }
}
