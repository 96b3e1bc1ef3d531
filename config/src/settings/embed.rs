//! Settings of how text becomes vectors.

use serde::{Deserialize, Serialize};

use super::word::words;

/// How text becomes vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embed {
    /// Most tokens of one embedding window; a chunk is scored by its best window. MiniLM reads 128 tokens of a window
    /// including its title and headings, as many as it was trained on, e5 512; the rest is cut off.
    pub window_tokens: u32,
    /// The better model, whose vectors are used in addition to those of the built-in table once they are computed:
    /// `minilm-l6` (built in, English), `e5-small` (built in, many languages), a name from `kgctl model list`, the
    /// absolute path of a model's folder, `remote` (see there) or `none`. User only.
    pub model: String,
    /// The model for text in languages that `embed.model` does not know, which is all but English with `minilm-l6`: a
    /// name as there, or `none`. It is loaded only where a folder has such text. Models that know several languages
    /// compute everything themselves. User only.
    pub other_languages: String,
    /// Keep only the first so many components of its vectors, such as 768, 512, 384, 256 or 128 with EmbeddingGemma.
    /// Only models trained for it (Matryoshka) stay good. 0: all. User only.
    pub dimensions: u32,
    /// Prefix of a question, instead of the model's own; empty: the model's own. User only.
    pub query_prompt: String,
    /// Prefix of a document, likewise. User only.
    pub document_prompt: String,
    /// When the better model's vectors are computed: `idle` (at the lowest priority, while there are no questions or
    /// documents to process), `on` (also beside them) or `off`. MiniLM computes about 15 to 25 a second on one core:
    /// 1,000 notes take minutes, 100,000 hours; `kgctl status` shows the remaining time.
    pub background: Background,
    /// The source of `kgctl model pull`: a hub, or a mirror of one. User only.
    pub hub: String,
    /// A server that computes the vectors, for `model: remote`: every text of the folder is sent to it. User only.
    pub remote: Remote,
}

impl Default for Embed {
    fn default() -> Self {
        Embed {
            window_tokens: 200,
            model: crate::limits::DEFAULT_MODEL.to_string(),
            other_languages: crate::limits::OTHER_MODEL.to_string(),
            dimensions: 0,
            query_prompt: String::new(),
            document_prompt: String::new(),
            background: Background::Idle,
            hub: "https://huggingface.co".to_string(),
            remote: Remote::default(),
        }
    }
}

/// A server that computes vectors. User only: text leaves this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remote {
    /// Its API: `openai` (`POST /v1/embeddings`, also llama.cpp, vLLM, LM Studio, TEI and others) or `ollama` (`POST
    /// /api/embed`).
    pub api: RemoteApi,
    /// Its address without that path, such as `http://localhost:11434`; empty means none.
    pub url: String,
    /// The server's name of the model.
    pub model: String,
    /// The variable of the daemon's environment with the key; empty means none.
    pub key_variable: String,
    /// The file with the key, an absolute path; empty means none.
    pub key_file: String,
    /// Components of the server's vectors; others are refused.
    pub dimensions: u32,
    /// Texts per request.
    pub batch: u32,
    /// Longest wait for a reply, seconds; for a question at most 5.
    pub timeout_seconds: u32,
}

impl Default for Remote {
    fn default() -> Self {
        Remote {
            api: RemoteApi::Openai,
            url: String::new(),
            model: String::new(),
            key_variable: String::new(),
            key_file: String::new(),
            dimensions: 0,
            batch: 32,
            timeout_seconds: 60,
        }
    }
}

/// The API of a server of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteApi {
    /// `POST /v1/embeddings`.
    Openai,
    /// `POST /api/embed`.
    Ollama,
}

/// When the better model's vectors are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// While there is nothing else to do.
    Idle,
    /// Beside other work.
    On,
    /// Never.
    Off,
}

words!(Background, "idle" => Background::Idle, "on" => Background::On, "off" => Background::Off);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_and_off_are_read_with_and_without_quotes() {
        let read = |text: &str| serde_saphyr::from_str::<Embed>(text).map(|it| it.background);
        let table = [
            ("background: idle", Background::Idle),
            ("background: on", Background::On),
            ("background: 'on'", Background::On),
            ("background: off", Background::Off),
            ("background: \"off\"", Background::Off),
            ("window_tokens: 100", Background::Idle),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).expect(text), expected, "{text}");
        }
        let error = read("background: sometimes").expect_err("no such word").to_string();
        assert!(error.contains("`idle`, `on` or `off`"), "{error}");
    }
}
