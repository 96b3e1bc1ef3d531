//! Settings of how text becomes vectors.

use serde::{Deserialize, Serialize};

/// How text becomes vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embed {
    /// Most tokens of one embedding window; a chunk is scored by its best window.
    pub window_tokens: u32,
    /// The better model, whose vectors join those of the built-in table as they are made: `minilm-l6` (built in) or
    /// `none`. User only.
    pub model: String,
    /// When the better model's vectors are made: `idle` (at the lowest priority, while no question is being answered
    /// and no document waits), `on` (also beside them) or `off`. MiniLM makes about 15 to 25 a second on one core:
    /// 1,000 notes take minutes, 100,000 hours; `kgctl status` tells how long.
    pub background: Background,
}

impl Default for Embed {
    fn default() -> Self {
        Embed {
            window_tokens: 200,
            model: crate::limits::DEFAULT_MODEL.to_string(),
            background: Background::Idle,
        }
    }
}

/// When the better model's vectors are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// While nothing else is to be done.
    Idle,
    /// Beside whatever else is done.
    On,
    /// Never.
    Off,
}
