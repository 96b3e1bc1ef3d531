//! Server: a language model behind an address that the user configured.
//!
//! In: the settings; a prompt. Out: the model's text.
//! Invariants: redirects are not followed; the key appears in no message and no log, and is read again for each
//! request, so that a corrected one takes effect.

use std::sync::OnceLock;
use std::time::Duration;

use config::settings::{LlmApi, LlmSlot};
use web::{Patience, Web, WebError};

use super::dialect::{self, Limit};
use super::{Completion, Limits, Prompt, Provider, Trouble};
use embed::servers::{KeyPlace, complaint};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Largest reply read, in bytes: a text of 100,000 tokens is smaller.
const MAX_REPLY_BYTES: u64 = 4_000_000;

/// A server and the model there.
pub(super) struct Server {
    /// The section of these settings, such as `llm.query`.
    section: String,
    settings: LlmSlot,
    base: String,
    web: OnceLock<Result<Web, WebError>>,
    /// The name of the limit that this server accepts, once known.
    limit: OnceLock<Limit>,
}

impl Server {
    /// Creates the server that the settings name. Nothing is sent yet.
    ///
    /// # Errors
    /// What is missing in the settings.
    pub(super) fn new(section: String, settings: &LlmSlot) -> Result<Self, String> {
        let base = match settings.api {
            _ if !settings.url.is_empty() => settings.url.clone(),
            LlmApi::Anthropic => "https://api.anthropic.com".to_string(),
            LlmApi::Ollama => "http://localhost:11434".to_string(),
            _ => return Err(format!("`{section}.url` is not set")),
        };
        if settings.model.is_empty() {
            return Err(format!("`{section}.model` is not set"));
        }
        let (settings, web, limit) = (settings.clone(), OnceLock::new(), OnceLock::new());
        Ok(Server { section, settings, base, web, limit })
    }

    fn web(&self) -> Result<&Web, Trouble> {
        let whole = Duration::from_millis(self.settings.timeout_ms);
        let patience = Patience { connect: CONNECT.min(whole), read: whole, whole: Some(whole) };
        let opened = self.web.get_or_init(|| Web::new(&self.base, patience));
        opened.as_ref().map_err(|error| Trouble::Lasting { why: error.to_string() })
    }

    fn ask(&self, prompt: &Prompt, limits: Limits<'_>, limit: Limit) -> Result<String, Trouble> {
        let place = KeyPlace {
            section: &self.section,
            variable: &self.settings.key_variable,
            file: &self.settings.key_file,
        };
        let key = place.read().map_err(|why| Trouble::Lasting { why })?;
        let dialect::Request { path, headers, body } =
            dialect::request(&self.settings, prompt, key.as_deref(), limit, limits.max_tokens);
        let url = dialect::address(&self.base, &path);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = body.to_string();
        let reply = self
            .web()?
            .post_json_within(&url, &headers, body.as_bytes(), limits.within)
            .map_err(trouble)?;
        let (status, after) = (reply.status, reply.retry_after());
        let bytes = reply.into_bytes(&url, MAX_REPLY_BYTES).map_err(trouble)?;
        if status != 200 {
            // A server may quote the request's headers in its error.
            let message = complaint(&bytes);
            let message = key.map_or(message.clone(), |key| message.replace(&key, "[key]"));
            return Err(self.refusal(&url, status, after, &message));
        }
        dialect::text(self.settings.api, &bytes).map_err(|why| Trouble::Passing {
            why: format!("`{url}` did not answer with text: {why}"),
            after: None,
        })
    }

    /// Classifies a status other than 200: `Passing` may be retried, `Lasting` may not, `Request` is this prompt's
    /// fault.
    fn refusal(&self, url: &str, status: u16, after: Option<Duration>, message: &str) -> Trouble {
        let why = format!(
            "`{url}` answered {status}{}{message}",
            if message.is_empty() { "" } else { ": " }
        );
        let section = &self.section;
        match status {
            400 | 413 | 422 => Trouble::Request { why },
            401 | 403 => {
                // 3xx: redirects are never followed, because the prompt would go to an address that the user did not
                // choose.
                Trouble::Lasting { why: format!("{why}\nhint: check the key of `{section}`") }
            }
            300..=399 => Trouble::Lasting {
                why: format!(
                    "{why}\nhint: the endpoint moved; set the new address as `{section}.url`"
                ),
            },
            408 | 425 | 429 | 500.. => Trouble::Passing { why, after },
            _ => Trouble::Lasting {
                why: format!("{why}\nhint: check `{section}`: its `api`, `url` and `model`"),
            },
        }
    }
}

impl Provider for Server {
    fn generate(&self, prompt: &Prompt, limits: Limits<'_>) -> Result<Completion, Trouble> {
        // Servers that know only the old name are many; one that refuses it says so, and is asked again once.
        let limit = self.limit.get().copied().unwrap_or(Limit::Old);
        let text = match self.ask(prompt, limits, limit) {
            Err(Trouble::Request { why })
                if limit == Limit::Old && dialect::wants_new_limit(&why) =>
            {
                let text = self.ask(prompt, limits, Limit::New)?;
                let _ = self.limit.set(Limit::New);
                text
            }
            other => other?,
        };
        Ok(Completion { text, model: self.settings.model.clone() })
    }
}

fn trouble(error: WebError) -> Trouble {
    let why = error.to_string();
    match error {
        WebError::Address { .. } => Trouble::Lasting { why },
        WebError::TooLong { .. } => Trouble::Request { why },
        _ => Trouble::Passing { why, after: None },
    }
}
