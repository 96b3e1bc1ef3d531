//! What goes on in the background, as `status` and other replies tell it: better vectors, language models, the closer
//! reading, the comparison with checksums.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Progress of the comparison of stored data with its checksums. A round starts every 12 hours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubView {
    /// When the last round was over, RFC 3339; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Documents compared in this round, or in the last one when none goes on.
    pub compared: u64,
    /// Damaged documents since the daemon started; they were read again from their files.
    pub damaged: u64,
}

impl ScrubView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let last = match &self.finished_at {
            Some(at) => format!("last round over at {at}"),
            None => "no round is over yet".to_string(),
        };
        format!("{last}, {} documents compared, {} damaged", self.compared, self.damaged)
    }
}

/// How far the better model's vectors are. Questions are answered by those that are there, and by static vectors where
/// none is yet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddingView {
    /// The model, as `embed.model` names it.
    pub model: String,
    /// Model, revision and quantization: vectors of different spaces are never compared.
    pub space: String,
    /// The space of a model before, which answers until this one is done.
    pub answers: Option<String>,
    /// Windows of chunks that have a vector, or whose text the model refused.
    pub done: u64,
    /// Windows of chunks.
    pub total: u64,
    /// Windows, and facts of memory, whose text the model refused: they are found by words and by static vectors.
    #[serde(default, skip_serializing_if = "is_none_refused")]
    pub refused: u64,
    /// `done`; `working`; `waiting`, for documents to be read, questions to be answered, other programs, another daemon
    /// that makes vectors, or a model that is asked again by itself; `off`, by `embed.background`; `failed`: it is not
    /// asked again by itself.
    pub state: String,
    /// Texts a second that the model embeds while it works; absent before it has.
    pub texts_a_second: Option<f32>,
    /// How long the rest takes at the pace so far, seconds, if nothing else is to be done.
    pub eta_seconds: Option<u64>,
    /// When a model that gave no vectors is asked again by itself, in seconds.
    pub again_seconds: Option<u64>,
    /// The last error of the model, and what to do.
    pub trouble: Option<String>,
    /// The models for languages that this one does not know, as far as the folder has text in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SpaceView>,
}

/// How far the vectors of one more model are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceView {
    /// The model, as settings name it.
    pub model: String,
    /// Model, revision and quantization.
    pub space: String,
    /// Windows that have a vector, or whose text the model refused.
    pub done: u64,
    /// Windows that it embeds: those in languages that the first model does not know, and in a folder of several
    /// languages all.
    pub total: u64,
}

fn is_none_refused(n: &u64) -> bool {
    *n == 0
}

impl EmbeddingView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let mut text = format!("{} of {} vectors by {}", self.done, self.total, self.model);
        if self.refused > 0 {
            text.push_str(&format!(", {} of them refused", self.refused));
            // A local model would refuse the same text again, so only a server is worth a retry.
            if self.model == "remote" {
                text.push_str(" (`kgctl retry --all` asks for these again)");
            }
        }
        for other in &self.others {
            text.push_str(&format!(" and {} of {} by {}", other.done, other.total, other.model));
        }
        if self.state != "done" {
            text.push_str(&format!(", {}", self.state));
        }
        // While a server is to be asked again later, nothing is computed, so there is no rate.
        let is_going = self.again_seconds.is_none();
        if let (Some(rate), true, "working" | "waiting") =
            (self.texts_a_second, is_going, self.state.as_str())
        {
            text.push_str(&match rate {
                ..10.0 => format!(", {rate:.1} a second"),
                _ => format!(", {rate:.0} a second"),
            });
        }
        if let (Some(seconds), "working" | "waiting") = (self.eta_seconds, self.state.as_str()) {
            text.push_str(&about(seconds));
        }
        if let Some(seconds) = self.again_seconds {
            text.push_str(&format!(", asked again in{}", about(seconds).trim_start_matches(',')));
        }
        if let Some(trouble) = &self.trouble {
            text.push_str(&format!("; {}", trouble.replace("\nhint: ", "; hint: ")));
        }
        text
    }
}

/// How a slot for a language model is. Whatever it is, all goes on without it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LlmView {
    /// `extraction` or `query`.
    pub slot: String,
    /// What it is asked by: `openai`, `anthropic`, `bedrock`, `ollama` or `sampling`.
    pub api: String,
    /// The model, as the settings name it.
    pub model: String,
    /// `untried`; `ready`: the last call gave a text; `failing`: it did not, and the next one is made; `waiting`: it
    /// failed repeatedly and is left alone for a while; `spent`: the calls of this hour are used up; `failed`: its
    /// settings are not whole.
    pub state: String,
    /// Requests since the daemon started.
    pub calls: u64,
    /// Calls of tools that got no text.
    pub failures: u64,
    /// Requests of the last 60 minutes.
    pub calls_last_hour: u64,
    /// Most of them.
    pub max_calls_per_hour: u64,
    /// When it is asked again, in seconds.
    pub again_seconds: Option<u64>,
    /// Why the last call returned no text, and what to do.
    pub trouble: Option<String>,
}

impl LlmView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let of = if self.model.is_empty() { "the client's model" } else { &self.model };
        let mut text = format!("{}: {of} by {}, {}", self.slot, self.api, self.state);
        if self.calls > 0 {
            text.push_str(&format!(
                ", {} of {} calls this hour",
                self.calls_last_hour, self.max_calls_per_hour
            ));
        }
        if let Some(seconds) = self.again_seconds {
            text.push_str(&format!(", asked again in{}", about(seconds).trim_start_matches(',')));
        }
        if let Some(trouble) = &self.trouble {
            text.push_str(&format!("; {}", trouble.replace("\nhint: ", "; hint: ")));
        }
        text
    }
}

/// Renders a duration like `, about 5 min`.
fn about(seconds: u64) -> String {
    match seconds {
        0..=89 => format!(", about {} s", seconds.max(1)),
        90..=5_399 => format!(", about {} min", (seconds + 30) / 60),
        _ => format!(", about {} h", (seconds + 1_800) / 3_600),
    }
}

/// How far the deep pass is: statistical names and dependencies, read in the background at the lowest priority.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeepView {
    /// Documents that wait for it, as far as that is known.
    pub left: u64,
    /// True before it begins, while not everything is searchable and linked; what is left is unknown until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Documents that it could not read; they wait for a change.
    #[serde(default)]
    pub stuck: u64,
    /// True when a person has stopped it (`kgctl deep --pause`).
    pub paused: bool,
    /// Why it rests now, such as `the machine runs on battery`; it goes on while somebody waits for work, as
    /// `kgctl wait` does.
    pub rests_for: Option<String>,
    /// How long the rest takes at the pace so far, seconds; absent before the pace is known and when nothing is left.
    pub eta_seconds: Option<u64>,
}

impl DeepView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let n = |n: u64| if n == 1 { "1 document".to_string() } else { format!("{n} documents") };
        let mut text = match (self.left, self.paused) {
            (0, _) if self.waits => "begins when everything is searchable and linked".to_string(),
            (0, false) => "every document has been read closely".to_string(),
            (0, true) => "paused; every document so far has been read closely".to_string(),
            (left, false) => format!("{} left to read closely", n(left)),
            (left, true) => format!("paused, {} left to read closely", n(left)),
        };
        if let Some(why) = &self.rests_for {
            text.push_str(&format!("; rests while {why}"));
        } else if let Some(seconds) = self.eta_seconds.filter(|_| !self.paused) {
            text.push_str(&about(seconds));
        }
        if self.stuck > 0 {
            text.push_str(&format!("; {} could not be read again", n(self.stuck)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{DeepView, EmbeddingView, LlmView, SpaceView};

    #[test]
    fn slots_are_told_with_what_is_left_and_what_is_wrong() {
        let mut view = LlmView {
            slot: "query".into(),
            api: "ollama".into(),
            model: "qwen3:4b".into(),
            state: "untried".into(),
            max_calls_per_hour: 120,
            ..LlmView::default()
        };
        assert_eq!(view.describe(), "query: qwen3:4b by ollama, untried");
        (view.calls, view.calls_last_hour, view.state) = (9, 3, "ready".into());
        assert_eq!(view.describe(), "query: qwen3:4b by ollama, ready, 3 of 120 calls this hour");
        (view.state, view.again_seconds) = ("waiting".into(), Some(30));
        view.trouble = Some("it answered 401\nhint: check the key".into());
        assert_eq!(
            view.describe(),
            "query: qwen3:4b by ollama, waiting, 3 of 120 calls this hour, asked again in about 30 s; it answered 401; \
             hint: check the key"
        );
        let sampled =
            LlmView { model: String::new(), api: "sampling".into(), ..LlmView::default() };
        assert_eq!(sampled.describe(), ": the client's model by sampling, ");
    }

    #[test]
    fn better_vectors_are_told_with_pace_and_rest() {
        let mut view = EmbeddingView {
            model: "minilm-l6".into(),
            done: 120,
            total: 9_720,
            state: "working".into(),
            texts_a_second: Some(16.2),
            eta_seconds: Some(600),
            ..EmbeddingView::default()
        };
        assert_eq!(
            view.describe(),
            "120 of 9720 vectors by minilm-l6, working, 16 a second, about 10 min"
        );
        (view.done, view.state) = (9_720, "done".into());
        assert_eq!(view.describe(), "9720 of 9720 vectors by minilm-l6");
        let (model, space) = ("e5-small".to_string(), "multilingual-e5-small".to_string());
        let others = vec![SpaceView { model, space, done: 4, total: 6 }];
        let two = EmbeddingView { others, ..view.clone() };
        assert_eq!(two.describe(), "9720 of 9720 vectors by minilm-l6 and 4 of 6 by e5-small");
        let refused = EmbeddingView { refused: 2, ..view };
        assert_eq!(refused.describe(), "9720 of 9720 vectors by minilm-l6, 2 of them refused");
        let waiting = EmbeddingView {
            model: "remote".into(),
            total: 9,
            state: "waiting".into(),
            again_seconds: Some(7),
            texts_a_second: Some(434.0),
            trouble: Some("it answered 429".into()),
            ..EmbeddingView::default()
        };
        let expected =
            "0 of 9 vectors by remote, waiting, asked again in about 7 s; it answered 429";
        assert_eq!(waiting.describe(), expected);
        let trouble = Some("it answered 401\nhint: check the key".into());
        let failed =
            EmbeddingView { state: "failed".into(), again_seconds: None, trouble, ..waiting };
        let expected = "0 of 9 vectors by remote, failed; it answered 401; hint: check the key";
        assert_eq!(failed.describe(), expected);
    }

    #[test]
    fn what_has_not_begun_is_not_called_done() {
        let rests_for = Some("the machine runs on battery".to_string());
        let deep = DeepView { left: 2, rests_for, eta_seconds: Some(90), ..DeepView::default() };
        assert_eq!(
            deep.describe(),
            "2 documents left to read closely; rests while the machine runs on battery"
        );
        let deep = DeepView { waits: true, ..DeepView::default() };
        assert_eq!(deep.describe(), "begins when everything is searchable and linked");
        let deep = DeepView::default();
        assert_eq!(deep.describe(), "every document has been read closely");
    }
}
