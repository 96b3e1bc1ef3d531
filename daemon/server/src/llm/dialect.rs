//! Dialect: the request and reply format of each interface.
//!
//! In: settings and a prompt; the bytes of a reply. Out: path, headers and body; the text.
//! Invariants: pure; the result is a text that is not empty, or a description of what is wrong with the reply.

use std::fmt::Write;

use config::settings::{LlmApi, LlmSlot};
use serde_json::{Value, json};

use super::Prompt;

/// Longest text taken from a reply, characters.
const MAX_CHARS: usize = 200_000;

/// The version of Anthropic's interface that is used.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A request.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// The path, relative to the server's address.
    pub(super) path: String,
    /// Names and values.
    pub(super) headers: Vec<(&'static str, String)>,
    /// JSON.
    pub(super) body: Value,
}

/// The name of the parameter that limits the tokens of a reply. OpenAI renamed it: its newer models refuse the old
/// name, and older servers of others do not know the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Old,
    New,
}

/// Returns the request for a prompt.
pub(super) fn request(
    settings: &LlmSlot,
    prompt: &Prompt,
    key: Option<&str>,
    limit: Limit,
    max_tokens: u32,
) -> Request {
    let LlmSlot { api, model, .. } = settings;
    let Prompt { system, text } = prompt;
    let bearer = || key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect();
    match api {
        LlmApi::Anthropic => {
            let mut headers = vec![("anthropic-version", ANTHROPIC_VERSION.to_string())];
            headers.extend(key.map(|key| ("x-api-key", key.to_string())));
            let body = json!({
                "model": model, "max_tokens": max_tokens, "system": system,
                "messages": [{ "role": "user", "content": text }],
            });
            Request { path: "/v1/messages".to_string(), headers, body }
        }
        LlmApi::Bedrock => {
            let body = json!({
                "system": [{ "text": system }],
                "messages": [{ "role": "user", "content": [{ "text": text }] }],
                "inferenceConfig": { "maxTokens": max_tokens },
            });
            Request { path: format!("/model/{}/converse", escaped(model)), headers: bearer(), body }
        }
        LlmApi::Ollama => {
            let options = json!({ "num_predict": max_tokens, "temperature": 0 });
            let body = json!({
                "model": model, "system": system, "prompt": text, "stream": false, "options": options,
            });
            Request { path: "/api/generate".to_string(), headers: bearer(), body }
        }
        LlmApi::Openai | LlmApi::Off | LlmApi::Sampling => {
            let messages = json!([
                { "role": "system", "content": system }, { "role": "user", "content": text },
            ]);
            // Models that require the new name also refuse a temperature.
            let body = match limit {
                Limit::Old => json!({
                    "model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": false,
                }),
                Limit::New => json!({
                    "model": model, "messages": messages, "max_completion_tokens": max_tokens, "stream": false,
                }),
            };
            Request { path: "/v1/chat/completions".to_string(), headers: bearer(), body }
        }
    }
}

/// Returns the full address of a request.
pub(super) fn address(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    // Instructions for servers often include `/v1` in the address.
    match path.strip_prefix("/v1") {
        Some(rest) if base.ends_with("/v1") => format!("{base}{rest}"),
        _ => format!("{base}{path}"),
    }
}

/// Returns true when a refusal asks for the new name of the limit.
pub(super) fn wants_new_limit(message: &str) -> bool {
    message.contains("max_completion_tokens")
}

/// Returns the text of a reply.
///
/// # Errors
/// A description of what is wrong with it.
pub(super) fn text(api: LlmApi, bytes: &[u8]) -> Result<String, String> {
    let reply: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let found = match api {
        LlmApi::Anthropic => joined(&reply["content"]),
        LlmApi::Bedrock => joined(&reply["output"]["message"]["content"]),
        LlmApi::Ollama => joined(&reply["response"]),
        LlmApi::Openai | LlmApi::Off | LlmApi::Sampling => {
            joined(&reply["choices"][0]["message"]["content"])
        }
    };
    spoken(&found).ok_or_else(|| "it has no text".to_string())
}

/// Returns the answer of a model without its reasoning; none if nothing is left.
pub(super) fn spoken(text: &str) -> Option<String> {
    let mut text = text.trim();
    if let Some(thought) = text.strip_prefix("<think>") {
        // Reasoning that never ends leaves no answer.
        text = thought.split_once("</think>").map_or("", |(_, rest)| rest).trim();
    }
    let text: String = text.chars().take(MAX_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns a text, the text of a block, or the concatenated texts of a list of blocks.
pub(super) fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Object(block) => {
            block.get("text").and_then(Value::as_str).unwrap_or_default().to_string()
        }
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().concat()
        }
        _ => String::new(),
    }
}

/// Percent-encodes one part of a path: everything except letters, digits and `-._~`.
fn escaped(part: &str) -> String {
    let mut out = String::new();
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const APIS: [LlmApi; 4] = [LlmApi::Openai, LlmApi::Anthropic, LlmApi::Bedrock, LlmApi::Ollama];

    #[test]
    fn each_interface_is_asked_in_its_own_way() {
        let prompt = Prompt { system: "S".into(), text: "T".into() };
        let asked = |api| {
            let settings = LlmSlot { api, model: "a.b:1".into(), ..LlmSlot::default() };
            let Request { path, headers, body } =
                request(&settings, &prompt, Some("k"), Limit::Old, 9);
            format!("{path} {headers:?} {body}\n")
        };
        expect_test::expect![[r#"
            /v1/chat/completions [("authorization", "Bearer k")] {"model":"a.b:1","messages":[{"role":"system","content":"S"},{"role":"user","content":"T"}],"max_tokens":9,"temperature":0,"stream":false}
            /v1/messages [("anthropic-version", "2023-06-01"), ("x-api-key", "k")] {"model":"a.b:1","max_tokens":9,"system":"S","messages":[{"role":"user","content":"T"}]}
            /model/a.b%3A1/converse [("authorization", "Bearer k")] {"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"T"}]}],"inferenceConfig":{"maxTokens":9}}
            /api/generate [("authorization", "Bearer k")] {"model":"a.b:1","system":"S","prompt":"T","stream":false,"options":{"num_predict":9,"temperature":0}}
        "#]]
        .assert_eq(&APIS.map(asked).concat());
    }

    #[test]
    fn addresses_by_eye() {
        let chat = "/v1/chat/completions";
        assert_eq!(address("http://h:1", chat), "http://h:1/v1/chat/completions");
        assert_eq!(address("http://h:1/v1/", chat), "http://h:1/v1/chat/completions");
        assert_eq!(address("http://h:1/x/", "/api/generate"), "http://h:1/x/api/generate");
    }

    #[test]
    fn replies_by_eye() {
        let rows = [
            (LlmApi::Openai, r#"{"choices": [{"message": {"content": " hi "}}]}"#),
            (LlmApi::Openai, r#"{"choices": [{"message": {"content": [{"text": "hi"}]}}]}"#),
            (LlmApi::Openai, r#"{"choices": [{"message": {"content": "<think>so</think>\nhi"}}]}"#),
            (LlmApi::Anthropic, r#"{"content": [{"type": "text", "text": "h"}, {"text": "i"}]}"#),
            (LlmApi::Bedrock, r#"{"output": {"message": {"content": [{"text": "hi"}]}}}"#),
            (LlmApi::Ollama, r#"{"response": "hi", "done": true}"#),
        ];
        for (api, reply) in rows {
            assert_eq!(text(api, reply.as_bytes()), Ok("hi".to_string()), "{reply}");
        }
        for api in APIS {
            for garbage in [
                "",
                "null",
                "<html>",
                "{}",
                "[]",
                r#"{"choices": []}"#,
                r#"{"choices": [{"message": {"content": null}}]}"#,
                r#"{"content": [{"type": "tool_use"}], "response": 7}"#,
                r#"{"response": "  ", "content": "<think>for ever"}"#,
            ] {
                assert!(text(api, garbage.as_bytes()).is_err(), "{api:?} {garbage}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for api in APIS {
                let _ = text(api, &bytes);
            }
        }
    }
}
