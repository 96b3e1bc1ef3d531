//! Settings of how text becomes vectors.

use serde::{Deserialize, Serialize};

/// How text becomes vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embed {
    /// Most tokens of one embedding window; a chunk is scored by its best window. MiniLM reads 256 tokens of a window
    /// with its title and headings before it; what is beyond is cut.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// While nothing else is to be done.
    Idle,
    /// Beside whatever else is done.
    On,
    /// Never.
    Off,
}

impl Serialize for Background {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Background::Idle => "idle",
            Background::On => "on",
            Background::Off => "off",
        })
    }
}

impl<'de> Deserialize<'de> for Background {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BackgroundVisitor)
    }
}

struct BackgroundVisitor;

impl serde::de::Visitor<'_> for BackgroundVisitor {
    type Value = Background;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("`idle`, `on` or `off`")
    }

    // `on` and `off` without quotes are truth values to many readers of YAML.
    fn visit_bool<E>(self, is_on: bool) -> Result<Background, E> {
        Ok(if is_on { Background::On } else { Background::Off })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Background, E> {
        match text {
            "idle" => Ok(Background::Idle),
            "on" => Ok(Background::On),
            "off" => Ok(Background::Off),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}

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
