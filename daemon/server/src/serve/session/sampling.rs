//! Sampling: the model of the calling client, if it offers one.
//!
//! In: the client's capabilities; prompts. Out: the texts of its model.
//! There are two ways, depending on the protocol revision of the call. Before 2026-07-28 the daemon
//! sends `sampling/createMessage` while the tool runs, and waits. From then on no request goes to a
//! client: the tool runs without the model, and its result is withheld and replaced by a list of
//! prompts (`input_required`); the client calls again with the answers, and the tool runs once
//! more. So only tools that read may ask there: tools that write would write twice.
//! Invariants: a client that does not declare the capability is never asked; a client that does not
//! answer a prompt is not asked again; the `requestState` that it echoes contains its own words and
//! nothing more.
//! MCP plans to remove sampling (SEP-2577); nothing else depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use proto::tool::Effect;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::llm::{Completion, Limits, Prompt, Provider, Trouble, sampled};

/// Most texts that one call of a tool may ask for.
const MAX_ASKED: usize = 16;

/// The model of a client, for one call of a tool.
pub(super) enum ClientModel {
    Live(Arc<Live>),
    Rounds(Arc<Rounds>),
}

impl ClientModel {
    /// Returns the model as a provider.
    pub(super) fn provider(&self) -> Arc<dyn Provider> {
        match self {
            ClientModel::Live(live) => live.clone(),
            ClientModel::Rounds(rounds) => rounds.clone(),
        }
    }

    /// Returns the prompts that the client has to answer before it calls again.
    pub(super) fn needed(&self) -> Option<InputRequiredResult> {
        match self {
            ClientModel::Live(_) => None,
            ClientModel::Rounds(rounds) => rounds.needed(),
        }
    }
}

/// Returns the model that the caller of a tool offers, if it does.
pub(super) fn model_of(
    context: &RequestContext<RoleServer>,
    effect: Effect,
    responses: Option<InputResponses>,
    state: Option<String>,
) -> Option<ClientModel> {
    context.client_capabilities()?.sampling?;
    let is_newest =
        context.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28);
    match (is_newest, effect) {
        (false, _) => {
            let live = Live { peer: context.peer.clone(), runtime: Handle::current() };
            Some(ClientModel::Live(Arc::new(live)))
        }
        (true, Effect::Reads) => {
            Some(ClientModel::Rounds(Arc::new(Rounds::new(responses, state.as_deref()))))
        }
        (true, Effect::Writes) => None,
    }
}

/// Builds the parameters of `sampling/createMessage`.
fn message(prompt: &Prompt, limits: Limits<'_>) -> Value {
    let mut params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt.text } }],
        "systemPrompt": prompt.system,
        "maxTokens": limits.max_tokens,
    });
    if let (false, Some(params)) = (limits.model.is_empty(), params.as_object_mut()) {
        params.insert("modelPreferences".into(), json!({ "hints": [{ "name": limits.model }] }));
    }
    json!({ "method": "sampling/createMessage", "params": params })
}

/// A client that is asked while the tool runs.
pub(super) struct Live {
    peer: Peer<RoleServer>,
    runtime: Handle,
}

impl Provider for Live {
    fn generate(&self, prompt: &Prompt, limits: Limits<'_>) -> Result<Completion, Trouble> {
        let request: ServerRequest =
            serde_json::from_value(message(prompt, limits)).map_err(|error| refused(&error))?;
        let options = PeerRequestOptions::with_timeout(limits.within);
        let asking = async {
            self.peer.send_request_with_option(request, options).await?.await_response().await
        };
        // Tools that ask run off the async threads, so blocking is fine.
        let result: ClientResult =
            self.runtime.block_on(asking).map_err(|error| declined(&error))?;
        sampled(&serde_json::to_value(result).map_err(|error| refused(&error))?)
    }
}

fn refused(error: &serde_json::Error) -> Trouble {
    Trouble::Request { why: error.to_string() }
}

fn declined(error: &ServiceError) -> Trouble {
    Trouble::Request { why: format!("the client's model gave no text: {error}") }
}

/// A client that is asked between two calls of the same tool.
pub(super) struct Rounds {
    /// Its answers so far, by the key of the prompt.
    answers: BTreeMap<String, Completion>,
    /// The prompts sent so far, by key.
    asked: BTreeSet<String>,
    wanted: Mutex<InputRequests>,
}

/// The state that the client keeps for us between its calls.
#[derive(Default, Serialize, Deserialize)]
struct State {
    asked: BTreeSet<String>,
    /// Texts and models.
    said: BTreeMap<String, (String, String)>,
}

impl Rounds {
    fn new(responses: Option<InputResponses>, state: Option<&str>) -> Self {
        let state: State =
            state.and_then(|state| serde_json::from_str(state).ok()).unwrap_or_default();
        let before = state.said.into_iter();
        let mut answers: BTreeMap<String, Completion> =
            before.map(|(key, (text, model))| (key, Completion { text, model })).collect();
        for (key, result) in responses.unwrap_or_default() {
            if let Ok(it) = sampled(&result) {
                answers.insert(key, it);
            }
        }
        answers.retain(|key, _| state.asked.contains(key));
        Rounds { answers, asked: state.asked, wanted: Mutex::default() }
    }

    fn needed(&self) -> Option<InputRequiredResult> {
        let wanted =
            std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        if wanted.is_empty() {
            return None;
        }
        let answers = self.answers.iter();
        let state = State {
            asked: self.asked.iter().chain(wanted.keys()).cloned().collect(),
            said: answers
                .map(|(key, it)| (key.clone(), (it.text.clone(), it.model.clone())))
                .collect(),
        };
        let state = serde_json::to_string(&state).ok()?;
        Some(InputRequiredResult::new(Some(wanted), Some(state)))
    }
}

/// Returns a key that is the same for the same prompt in the next call.
fn key_of(prompt: &Prompt) -> String {
    let text = format!("{}\0{}", prompt.system, prompt.text);
    format!("llm-{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

impl Provider for Rounds {
    fn generate(&self, prompt: &Prompt, limits: Limits<'_>) -> Result<Completion, Trouble> {
        let key = key_of(prompt);
        if let Some(given) = self.answers.get(&key) {
            return Ok(given.clone());
        }
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if self.asked.contains(&key) || self.asked.len() + wanted.len() >= MAX_ASKED {
            return Err(Trouble::Request { why: "the client's model gave no text".to_string() });
        }
        let request: InputRequest =
            serde_json::from_value(message(prompt, limits)).map_err(|error| refused(&error))?;
        wanted.insert(key, request);
        Err(Trouble::Asked)
    }

    fn has_answer(&self, prompt: &Prompt) -> bool {
        self.answers.contains_key(&key_of(prompt))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn prompt(text: &str) -> Prompt {
        Prompt { system: "S".into(), text: text.into() }
    }

    fn ask(rounds: &Rounds, text: &str) -> Result<Completion, Trouble> {
        let limits = Limits { within: Duration::from_secs(1), max_tokens: 9, model: "" };
        rounds.generate(&prompt(text), limits)
    }

    fn sampled_reply(text: &str) -> Value {
        json!({"role": "assistant", "model": "theirs", "content": {"type": "text", "text": text}})
    }

    #[test]
    fn what_is_wanted_comes_with_the_next_call() {
        let first = Rounds::new(None, None);
        assert_eq!(ask(&first, "a"), Err(Trouble::Asked));
        assert_eq!(ask(&first, "b"), Err(Trouble::Asked));
        let needed = first.needed().expect("two texts");
        let requests = needed.input_requests.expect("requests");
        assert_eq!(requests.len(), 2);
        assert!(first.needed().is_none(), "asked once only");

        // It answers one of them, and adds something that was not asked.
        let mut responses = InputResponses::new();
        responses.insert(key_of(&prompt("a")), sampled_reply("A"));
        responses.insert("llm-other".into(), sampled_reply("B"));
        let second = Rounds::new(Some(responses), needed.request_state.as_deref());
        assert!(second.has_answer(&prompt("a")) && second.answers.len() == 1);
        assert_eq!(ask(&second, "a").expect("a text").text, "A");
        assert!(matches!(ask(&second, "b"), Err(Trouble::Request { .. })), "not asked again");
        assert_eq!(ask(&second, "c"), Err(Trouble::Asked));

        // Its earlier answer is in the state.
        let state = second.needed().expect("one text").request_state;
        let third = Rounds::new(None, state.as_deref());
        assert_eq!(ask(&third, "a").expect("a text").model, "theirs");
        assert!(third.needed().is_none());
    }

    #[test]
    fn no_state_and_no_answer_is_trusted_or_feared() {
        for state in
            ["", "null", "{\"asked\": 7}", "{\"asked\": [], \"said\": {\"x\": [\"a\", \"b\"]}}"]
        {
            let rounds = Rounds::new(None, Some(state));
            assert!(rounds.answers.is_empty(), "{state}");
            assert_eq!(ask(&rounds, "a"), Err(Trouble::Asked), "{state}");
        }
        let first = Rounds::new(None, None);
        let _ = ask(&first, "a");
        let state = first.needed().and_then(|it| it.request_state);
        for answer in [
            json!(null),
            json!({}),
            json!({"content": []}),
            json!({"content": {"type": "image"}}),
            json!(7),
        ] {
            let mut responses = InputResponses::new();
            responses.insert(key_of(&prompt("a")), answer);
            let rounds = Rounds::new(Some(responses), state.as_deref());
            assert!(matches!(ask(&rounds, "a"), Err(Trouble::Request { .. })));
        }
        let many = Rounds::new(None, None);
        let n_asked = (0..99).filter(|i| ask(&many, &i.to_string()) == Err(Trouble::Asked)).count();
        assert_eq!(n_asked, MAX_ASKED);
    }

    #[test]
    fn both_ways_ask_in_the_words_of_mcp() {
        let limits = Limits { within: Duration::from_secs(1), max_tokens: 9, model: "small" };
        let request = message(&prompt("T"), limits);
        let live: ServerRequest = serde_json::from_value(request.clone()).expect("a request");
        assert!(matches!(live, ServerRequest::CreateMessageRequest(_)));
        assert_eq!(serde_json::to_value(live).expect("JSON"), request);
        let round: InputRequest = serde_json::from_value(request).expect("a request");
        assert!(matches!(round, InputRequest::CreateMessage(_)));
    }
}
