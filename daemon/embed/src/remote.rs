//! Remote: vectors from a server that the user configured (`embed.remote`), through OpenAI's or Ollama's interface.
//!
//! In: the settings; texts. Out: unit vectors.
//! Invariants: nothing is sent unless the user's own configuration names a server, and only to that address; texts
//! are sent without secrets, questions included; the key is in no message and no log. After a failure that may pass
//! by itself (no connection, 429, 5xx, a malformed reply) the server is asked again after a pause that doubles, or is
//! as long as the server asks for; until then questions fail at once. A vector of another length is a permanent error:
//! it would belong to another space.

mod pause;
mod reply;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use config::settings::{Embed, Remote, RemoteApi};
use serde_json::json;
use web::{Patience, Reply, Web, WebError};

use self::pause::Pause;
use super::better::BetterError;
use super::transformer::quiet;
use super::{EmbedError, Embedder, unit_vector};
use crate::servers::{KeyPlace, complaint};
use model::document::UnitVector;
use redact::clean;

/// Longest wait for the vector of a question: a person is waiting, and the static vector is available.
const QUESTION: Duration = Duration::from_secs(5);

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Largest reply read, bytes: 2,048 vectors of 4,096 numbers as text are shorter.
const MAX_REPLY_BYTES: u64 = 200_000_000;

/// A text that every model can embed.
const PROBE: &str = "a";

const INCOMPLETE: &str = "set `embed.remote.url`, `embed.remote.model` and `embed.remote.dimensions` in your own \
     configuration";

/// A model on a server.
pub struct RemoteModel {
    settings: Remote,
    url: String,
    /// The value of the header `Authorization`; read again after a refusal, because the file may have changed.
    authorization: Mutex<Option<String>>,
    query_prompt: String,
    document_prompt: String,
    space: String,
    n_dimensions: usize,
    for_documents: OnceLock<Result<Web, EmbedError>>,
    for_questions: OnceLock<Result<Web, EmbedError>>,
    patience: [Patience; 2],
    /// Most texts of one request, as far as is known: a server may accept fewer than configured.
    n_at_once: AtomicUsize,
    pause: Mutex<Pause>,
}

impl RemoteModel {
    /// Opens the server that the settings name. Nothing is sent yet.
    ///
    /// # Errors
    /// When settings are missing, or the key cannot be read.
    pub fn new(settings: &Embed) -> Result<Self, BetterError> {
        let remote = &settings.remote;
        let wrong = |why: String| BetterError {
            key: "embed.model",
            name: settings.model.clone(),
            why,
            hint: INCOMPLETE,
        };
        let missing = [
            ("url", remote.url.is_empty()),
            ("model", remote.model.is_empty()),
            ("dimensions", remote.dimensions == 0),
        ];
        if let Some((key, _)) = missing.into_iter().find(|(_, is_missing)| *is_missing) {
            return Err(wrong(format!("`embed.remote.{key}` is not set")));
        }
        let n_all = remote.dimensions as usize;
        let n_dimensions = Some(settings.dimensions as usize).filter(|&n| n > 0).unwrap_or(n_all);
        if n_dimensions > n_all {
            return Err(wrong(
                "`embed.dimensions` is more than `embed.remote.dimensions`".to_string(),
            ));
        }
        let url = address(remote);
        // Part of the space's name: another server may have another model of the same name, and another prompt gives
        // other vectors.
        let named = format!("{url}\n{}", settings.document_prompt);
        let named = xxhash_rust::xxh3::xxh3_64(named.as_bytes());
        let whole = Duration::from_secs(u64::from(remote.timeout_seconds));
        let patience = |whole: Duration| Patience {
            connect: CONNECT.min(whole),
            read: whole,
            whole: Some(whole),
        };
        Ok(RemoteModel {
            authorization: Mutex::new(authorization(remote).map_err(wrong)?),
            query_prompt: settings.query_prompt.clone(),
            document_prompt: settings.document_prompt.clone(),
            space: format!("{}@{named:016x}/{n_dimensions}/i8x254", remote.model),
            n_dimensions,
            for_documents: OnceLock::new(),
            for_questions: OnceLock::new(),
            patience: [patience(whole), patience(whole.min(QUESTION))],
            n_at_once: AtomicUsize::new((remote.batch as usize).max(1)),
            pause: Mutex::default(),
            settings: remote.clone(),
            url,
        })
    }

    /// Returns vectors of texts, in one request or in several if the server accepts fewer texts at once.
    fn ask_or_halve(&self, web: &Web, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self.ask(web, texts) {
            Err(EmbedError::Text { .. }) if texts.len() > 1 => {
                let (first, rest) = texts.split_at(texts.len().div_ceil(2));
                let mut made = self.ask_or_halve(web, first)?;
                made.extend(self.ask_or_halve(web, rest)?);
                // Each half was accepted, so the request had too many texts.
                self.n_at_once.fetch_min(first.len(), Ordering::Relaxed);
                Ok(made)
            }
            other => other,
        }
    }

    /// Returns vectors of texts in one request. During a pause, fails without a request.
    fn ask(&self, web: &Web, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let pause = {
            let pause = self.pause();
            pause.left(Instant::now()).map(|left| (left, pause.why().to_string()))
        };
        // The lock is released before the request, which may take long.
        if let Some((left, why)) = pause {
            return Err(EmbedError::Later { why, after: Some(left) });
        }
        let asked = self.ask_once(web, texts);
        match &asked {
            Err(EmbedError::Later { why, after }) => {
                let after = self.pause().failed(Instant::now(), *after, why);
                Err(EmbedError::Later { why: why.clone(), after: Some(after) })
            }
            Err(EmbedError::Text { why }) if texts.len() == 1 && texts != [PROBE.to_string()] => {
                // If the server refuses this text, too, the fault is not in the text.
                match self.ask_once(web, &[PROBE.to_string()]) {
                    Err(EmbedError::Text { .. }) => Err(EmbedError::Model { why: why.clone() }),
                    Err(other) => Err(other),
                    Ok(_) => asked,
                }
            }
            _ => {
                self.pause().went_well();
                asked
            }
        }
    }

    fn ask_once(&self, web: &Web, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let body = json!({ "model": self.settings.model, "input": texts }).to_string();
        let authorization = self.authorization().clone();
        let headers: Vec<(&str, &str)> =
            authorization.iter().map(|it| ("authorization", it.as_str())).collect();
        let reply =
            web.post_json(&self.url, &headers, body.as_bytes()).map_err(|error| trouble(&error))?;
        let (status, after) = (reply.status, reply.retry_after());
        let bytes = self.body(reply)?;
        if status != 200 {
            let message = self.without_key(&complaint(&bytes));
            // The user may have replaced the key since it was read.
            if let (401 | 403, Ok(now)) = (status, self::authorization(&self.settings))
                && now != authorization
            {
                *self.authorization() = now;
                return self.ask_once(web, texts);
            }
            return Err(refusal(&self.url, status, after, &message));
        }
        let vectors = reply::vectors(self.settings.api, &bytes, texts.len()).map_err(|why| {
            let why = format!("`{}` did not answer with vectors: {why}", self.url);
            EmbedError::Later { why, after: None }
        })?;
        // Of the full length: shorter vectors are cut from these.
        let wanted = self.settings.dimensions as usize;
        match vectors.iter().map(Vec::len).find(|&n| n != wanted) {
            Some(n) => Err(EmbedError::Model {
                why: format!(
                    "`{}` gives {n} numbers, and `embed.remote.dimensions` is {wanted}",
                    self.url
                ),
            }),
            None => Ok(vectors),
        }
    }

    fn body(&self, reply: Reply) -> Result<Vec<u8>, EmbedError> {
        reply.into_bytes(&self.url, MAX_REPLY_BYTES).map_err(|error| trouble(&error))
    }

    /// Removes the key from a server's message, which may quote it.
    fn without_key(&self, message: &str) -> String {
        let authorization = self.authorization();
        let key = authorization.as_deref().and_then(|it| it.strip_prefix("Bearer "));
        key.map_or_else(|| message.to_string(), |key| message.replace(key, "[key]"))
    }

    fn web<'a>(
        &self,
        cell: &'a OnceLock<Result<Web, EmbedError>>,
        patience: Patience,
    ) -> Result<&'a Web, EmbedError> {
        let open = || {
            Web::new(&self.url, patience)
                .map_err(|error| EmbedError::Model { why: error.to_string() })
        };
        cell.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    fn authorization(&self) -> MutexGuard<'_, Option<String>> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first components, scaled to length 1.
    fn cut(&self, vector: &[f32]) -> Vec<f32> {
        let mut kept = vector.get(..self.n_dimensions).unwrap_or(vector).to_vec();
        let length = kept.iter().map(|it| it * it).sum::<f32>().sqrt();
        let factor = if length.is_finite() && length > 0.0 { 1.0 / length } else { 0.0 };
        kept.iter_mut().for_each(|it| *it *= factor);
        kept
    }
}

impl Embedder for RemoteModel {
    fn ask_again(&self) {
        self.pause().went_well();
    }

    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.n_dimensions
    }

    fn batch(&self) -> usize {
        self.settings.batch as usize
    }

    fn may_recover(&self) -> bool {
        true
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        Ok(self.try_floats(texts)?.iter().map(|vector| unit_vector(vector)).collect())
    }

    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        Ok(unit_vector(&self.try_question_floats(question)?))
    }

    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let [patience, _] = self.patience;
        let web = self.web(&self.for_documents, patience)?;
        let mut out = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.n_at_once.load(Ordering::Relaxed)) {
            // Servers refuse empty texts; their vectors are zeros.
            let sent = batch.iter().filter(|text| !text.trim().is_empty());
            let sent: Vec<String> =
                sent.map(|text| format!("{}{}", self.document_prompt, clean(text))).collect();
            let made = if sent.is_empty() { Vec::new() } else { self.ask_or_halve(web, &sent)? };
            let mut made = made.iter();
            out.extend(batch.iter().map(|text| match text.trim().is_empty() {
                true => vec![0.0; self.n_dimensions],
                false => self.cut(made.next().map(Vec::as_slice).unwrap_or_default()),
            }));
        }
        Ok(out)
    }

    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        let [_, patience] = self.patience;
        let web = self.web(&self.for_questions, patience)?;
        let made = self.ask(web, &[format!("{}{}", self.query_prompt, clean(question))])?;
        Ok(self.cut(made.first().map(Vec::as_slice).unwrap_or_default()))
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        quiet(self, texts)
    }
}

/// Returns the URL of the endpoint for vectors.
fn address(remote: &Remote) -> String {
    let base = remote.url.trim_end_matches('/');
    match remote.api {
        RemoteApi::Ollama => format!("{base}/api/embed"),
        RemoteApi::Openai if base.ends_with("/v1") => format!("{base}/embeddings"),
        RemoteApi::Openai => format!("{base}/v1/embeddings"),
    }
}

/// Returns the value of the header `Authorization`.
fn authorization(remote: &Remote) -> Result<Option<String>, String> {
    let place = KeyPlace {
        section: "embed.remote",
        variable: &remote.key_variable,
        file: &remote.key_file,
    };
    Ok(place.read()?.map(|key| format!("Bearer {key}")))
}

fn trouble(error: &WebError) -> EmbedError {
    match error {
        WebError::Address { .. } | WebError::TooLong { .. } => {
            EmbedError::Model { why: error.to_string() }
        }
        _ => EmbedError::Later { why: error.to_string(), after: None },
    }
}

/// Returns the error of a status other than 200.
fn refusal(url: &str, status: u16, after: Option<Duration>, message: &str) -> EmbedError {
    let why =
        format!("`{url}` answered {status}{}{message}", if message.is_empty() { "" } else { ": " });
    match status {
        400 | 413 | 422 => EmbedError::Text { why },
        401 | 403 => {
            EmbedError::Model { why: format!("{why}\nhint: check the key of `embed.remote`") }
        }
        300..=399 => EmbedError::Model {
            why: format!(
                "{why}\nhint: the endpoint moved; set the new address as `embed.remote.url`"
            ),
        },
        408 | 425 | 429 | 500.. => EmbedError::Later { why, after },
        _ => EmbedError::Model {
            why: format!("{why}\nhint: check `embed.remote`: its `api`, `url` and `model`"),
        },
    }
}

#[cfg(test)]
mod tests;
