//! Slot: one configured language model, with its budget and its pauses.
//!
//! In: prompts. Out: texts, or why there is none; its state.
//! Invariants: everything that is sent passes [`Slot::cleaned`], and replies are cleaned of secrets, too; a call ends
//! by its deadline; at most [`MAX_AT_ONCE`] run at once; passing failures are retried at most `max_retries` times, each
//! try counted against the budget.
//! The model of a client differs from client to client, so its failures cause no pause.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use config::settings::{LlmApi, LlmSlot};
use proto::tool::core::LlmView;

use super::budget::Budget;
use super::circuit::Circuit;
use super::server::Server;
use super::{Asker, Completion, Limits, LlmError, Prompt, Provider, Trouble};
use redact::{Redactor, clean};

/// Most calls of one slot at once; further ones fail. Local models answer one at a time.
const MAX_AT_ONCE: usize = 4;

/// Wait before the first retry; doubled each time.
const BACK_OFF: Duration = Duration::from_millis(250);

/// Least time left for another try to be worthwhile.
const LEAST: Duration = Duration::from_millis(20);

/// Marks the end of a text that was cut.
const CUT: &str = "\n[cut]";

/// One configured language model.
pub struct Slot {
    name: &'static str,
    settings: LlmSlot,
    /// None if the client's own model is asked.
    server: Option<Result<Server, String>>,
    redactor: Redactor,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    budget: Budget,
    circuit: Circuit,
    n_running: usize,
    n_calls: u64,
    n_failures: u64,
    /// The result of the last call.
    last: Option<Result<(), String>>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Slot {
    /// Creates a slot from the settings. Nothing is sent yet.
    pub fn new(
        name: &'static str,
        settings: &LlmSlot,
        privacy: &config::settings::Privacy,
    ) -> Self {
        let is_server = settings.api != LlmApi::Sampling;
        let server = is_server.then(|| Server::new(format!("llm.{name}"), settings));
        if let Some(Err(why)) = &server {
            tracing::warn!(slot = name, why, "continuing without this model");
        }
        let state = State {
            budget: Budget::new(settings.max_calls_per_hour),
            circuit: Circuit::default(),
            n_running: 0,
            n_calls: 0,
            n_failures: 0,
            last: None,
        };
        let (settings, state) = (settings.clone(), Mutex::new(state));
        Slot { name, settings, server, redactor: Redactor::new(privacy), state }
    }

    /// Returns true when the slot can be asked without a client.
    pub fn is_server(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the most characters of a prompt, and the most tokens of a reply.
    pub fn room(&self) -> (usize, u32) {
        (self.settings.max_input_chars as usize, self.settings.max_output_tokens)
    }

    /// Asks the model. Blocks until it answers, at most until the deadline of `asker`.
    ///
    /// # Errors
    /// Why there is no text.
    pub fn generate(&self, prompt: &Prompt, asker: &Asker) -> Result<Completion, LlmError> {
        let provider: &dyn Provider = match (&self.server, &asker.client) {
            (Some(Ok(server)), _) => server,
            (Some(Err(why)), _) => return Err(LlmError::Settings { why: why.clone() }),
            (None, Some(client)) => client.as_ref(),
            (None, None) => return Err(LlmError::NoClient),
        };
        let prompt = self.cleaned(prompt);
        // Counted as running until this returns, also when it fails.
        let _running = self.enter()?;
        let until =
            asker.until.min(Instant::now() + Duration::from_millis(self.settings.timeout_ms));
        let asked = self.ask(provider, &prompt, until);
        let (now, mut state) = (Instant::now(), self.state());
        match asked {
            Ok(completion) => {
                state.circuit.went_well();
                state.last = Some(Ok(()));
                // A model may know or make up a secret that nobody sent: it is neither returned nor stored.
                Ok(Completion { text: clean(&completion.text).into_owned(), ..completion })
            }
            // The client calls again with the text: nothing has failed.
            Err(Failure::Of(Trouble::Asked)) => Err(LlmError::Asked),
            Err(Failure::Spent(again)) => {
                Err(LlmError::Spent { per_hour: self.settings.max_calls_per_hour, again })
            }
            Err(Failure::Of(trouble)) => {
                let why = trouble.to_string();
                tracing::debug!(slot = self.name, why, "a model gave no text");
                // Only a server is paused: see the head of this file.
                if self.server.is_some() {
                    let (lasts, after) = match trouble {
                        Trouble::Lasting { .. } => (true, None),
                        Trouble::Passing { after, .. } => (false, after),
                        Trouble::Request { .. } | Trouble::Asked => (false, None),
                    };
                    state.circuit.failed(now, lasts, after);
                }
                state.n_failures += 1;
                state.last = Some(Err(why.clone()));
                Err(LlmError::Failed { why })
            }
        }
    }

    /// Tries until the model answers, the failure is not worth a retry, or time runs out.
    fn ask(
        &self,
        provider: &dyn Provider,
        prompt: &Prompt,
        until: Instant,
    ) -> Result<Completion, Failure> {
        let mut n_tries = 0;
        let mut last = None;
        loop {
            let now = Instant::now();
            let within = until.saturating_duration_since(now);
            if within < LEAST {
                return Err(Failure::Of(last.unwrap_or_else(no_time)));
            }
            // An answer that the provider already has costs nothing.
            if !provider.has_answer(prompt)
                && let Err(again) = self.state().take(now)
            {
                // The failure is more informative than the spent budget.
                return Err(last.map_or(Failure::Spent(again), Failure::Of));
            }
            let LlmSlot { max_output_tokens: max_tokens, model, .. } = &self.settings;
            let limits = Limits { within, max_tokens: *max_tokens, model };
            let trouble = match provider.generate(prompt, limits) {
                Ok(completion) => return Ok(completion),
                Err(trouble) => trouble,
            };
            let wait = match &trouble {
                Trouble::Passing { after, .. } if n_tries < self.settings.max_retries => {
                    after.unwrap_or(BACK_OFF * 2u32.pow(n_tries.min(8)))
                }
                _ => return Err(Failure::Of(trouble)),
            };
            // Waiting past the deadline would only delay the same error.
            if Instant::now() + wait + LEAST >= until {
                return Err(Failure::Of(trouble));
            }
            std::thread::sleep(wait);
            (n_tries, last) = (n_tries + 1, Some(trouble));
        }
    }

    /// Returns the prompt as it may be sent: without secrets and without personal data that is to be removed, cut to
    /// the limit.
    fn cleaned(&self, prompt: &Prompt) -> Prompt {
        // The empty path belongs to no file, so no allowed path applies; `clean` also removes what a line's mark would
        // allow.
        let one = |text: &str| clean(&self.redactor.shown("", text, vec![])).into_owned();
        let mut text = one(&prompt.text);
        let most = self.settings.max_input_chars as usize;
        if let Some((end, _)) = text.char_indices().nth(most) {
            text.truncate(end);
            text.push_str(CUT);
        }
        Prompt { system: one(&prompt.system), text }
    }

    fn enter(&self) -> Result<Running<'_>, LlmError> {
        let mut state = self.state();
        if self.server.is_some()
            && let Some(again) = state.circuit.left(Instant::now())
        {
            let why = match &state.last {
                Some(Err(why)) => why.clone(),
                _ => "it failed".to_string(),
            };
            return Err(LlmError::Paused { why, again });
        }
        if state.n_running >= MAX_AT_ONCE {
            return Err(LlmError::Busy);
        }
        state.n_running += 1;
        Ok(Running(self))
    }

    /// Returns the state for `status`, at `now`.
    pub fn view(&self, now: Instant) -> LlmView {
        let mut state = self.state();
        let (paused, spent) = (state.circuit.left(now), state.budget.left(now));
        let unset = match &self.server {
            Some(Err(why)) => Some(why.clone()),
            _ => None,
        };
        let word = match &state.last {
            _ if unset.is_some() => "failed",
            _ if paused.is_some() => "waiting",
            _ if spent.is_some() => "spent",
            None => "untried",
            Some(Ok(())) => "ready",
            Some(Err(_)) => "failing",
        };
        let last = state.last.as_ref().and_then(|last| last.as_ref().err()).cloned();
        let again = paused.or(spent).map(|left| left.as_secs().max(1));
        LlmView {
            slot: self.name.to_string(),
            api: self.settings.api.as_str().to_string(),
            model: self.settings.model.clone(),
            state: word.to_string(),
            calls: state.n_calls,
            failures: state.n_failures,
            calls_last_hour: state.budget.n_used() as u64,
            max_calls_per_hour: u64::from(self.settings.max_calls_per_hour),
            again_seconds: again.filter(|_| unset.is_none()),
            trouble: unset.or(last),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.budget.take(now)?;
        self.n_calls += 1;
        Ok(())
    }
}

/// Why a call returned no text.
enum Failure {
    Of(Trouble),
    Spent(Duration),
}

fn no_time() -> Trouble {
    Trouble::Request { why: "no time left to ask it".to_string() }
}

/// A running call; counted until it is dropped.
struct Running<'a>(&'a Slot);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().n_running -= 1;
    }
}
