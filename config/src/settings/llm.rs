//! Settings of the two slots for language models.

use serde::{Deserialize, Serialize};

use super::word::{Word as _, words};

/// Language models of other providers, each off until you configure it: kgd works without them. Text leaves this
/// machine, without its secrets, unless the address is on it. User only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// The model that reads stored text: relations of entries, facts of a file. A small and fast one is enough.
    pub extraction: LlmSlot,
    /// The model for questions: plans, answers with citations, draft summaries of memory.
    pub query: LlmSlot,
}

/// One slot for a language model. User only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlmSlot {
    /// Its API: `off`; `openai` (`POST /v1/chat/completions`, also llama.cpp, vLLM, LM Studio, Ollama and others);
    /// `anthropic` (`POST /v1/messages`); `bedrock` (Converse, with a bearer token); `ollama` (`POST /api/generate`);
    /// or `sampling`: the model of the client that asks, if it offers that (MCP sampling).
    pub api: LlmApi,
    /// Its address without that path, such as `http://localhost:11434`; empty: `https://api.anthropic.com` for
    /// `anthropic`, `http://localhost:11434` for `ollama`, and none for the others.
    pub url: String,
    /// The server's name of the model; for `sampling` only a wish, which may be empty.
    pub model: String,
    /// The variable of the daemon's environment with the key; empty means none.
    pub key_variable: String,
    /// The file with the key, an absolute path; empty means none.
    pub key_file: String,
    /// Longest wait for one reply, including retries, milliseconds. A request that a caller waits for ends sooner
    /// (`serve.request_deadline_ms`).
    pub timeout_ms: u64,
    /// Most tokens of a reply.
    pub max_output_tokens: u32,
    /// Most characters per request; the rest is cut off.
    pub max_input_chars: u32,
    /// Most requests to the server in any 60 minutes, including retries; beyond that, kgd works as without the model.
    /// The count restarts with the daemon.
    pub max_calls_per_hour: u32,
    /// Retries of a request after a temporary failure (429, 5xx, no connection).
    pub max_retries: u32,
}

impl Default for LlmSlot {
    fn default() -> Self {
        LlmSlot {
            api: LlmApi::Off,
            url: String::new(),
            model: String::new(),
            key_variable: String::new(),
            key_file: String::new(),
            timeout_ms: 60_000,
            max_output_tokens: 1_024,
            max_input_chars: 100_000,
            max_calls_per_hour: 120,
            max_retries: 2,
        }
    }
}

/// The API of a language model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmApi {
    /// No model.
    Off,
    /// `POST /v1/chat/completions`.
    Openai,
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /model/MODEL/converse`.
    Bedrock,
    /// `POST /api/generate`.
    Ollama,
    /// `sampling/createMessage`, to the client that asks.
    Sampling,
}

words!(
    LlmApi,
    "off" => LlmApi::Off,
    "openai" => LlmApi::Openai,
    "anthropic" => LlmApi::Anthropic,
    "bedrock" => LlmApi::Bedrock,
    "ollama" => LlmApi::Ollama,
    "sampling" => LlmApi::Sampling,
);

impl LlmApi {
    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_is_read_with_and_without_quotes() {
        let read = |text: &str| serde_saphyr::from_str::<LlmSlot>(text).map(|it| it.api);
        let table = [
            ("api: off", LlmApi::Off),
            ("api: \"off\"", LlmApi::Off),
            ("api: false", LlmApi::Off),
            ("api: openai", LlmApi::Openai),
            ("api: sampling", LlmApi::Sampling),
            ("model: m", LlmApi::Off),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).expect(text), expected, "{text}");
        }
        for wrong in ["api: on", "api: gemini"] {
            let error = read(wrong).expect_err("no such word").to_string();
            assert!(error.contains("`bedrock`, `ollama` or `sampling`"), "{error}");
        }
    }
}
