//! Modes for personal data, and their syntax.
//!
//! Not here: the settings themselves, from which `kg.yaml` is generated (`settings.rs`).

use serde::{Deserialize, Serialize};

use super::{PiiKinds, Privacy};

impl Default for PiiKinds {
    fn default() -> Self {
        let (general, off) = (PiiKind::General, PiiKind::Only(PiiMode::Off));
        PiiKinds {
            email: general,
            phone: general,
            card: general,
            iban: general,
            national_id: general,
            ip: general,
            address: general,
            zip: general,
            domain: off,
            person: off,
        }
    }
}

impl PiiKinds {
    /// Returns every kind by its key.
    pub fn all(&self) -> [(&'static str, PiiKind); 10] {
        [
            ("email", self.email),
            ("phone", self.phone),
            ("card", self.card),
            ("iban", self.iban),
            ("national_id", self.national_id),
            ("ip", self.ip),
            ("address", self.address),
            ("zip", self.zip),
            ("domain", self.domain),
            ("person", self.person),
        ]
    }
}

impl Privacy {
    /// Returns the mode for a kind of personal data; off for an unknown kind.
    pub fn mode_of(&self, kind: &str) -> PiiMode {
        let own = self.pii_kinds.all().into_iter().find(|(name, _)| *name == kind);
        match own.map(|(_, own)| own) {
            Some(PiiKind::General) => self.pii,
            Some(PiiKind::Only(mode)) => mode,
            None => PiiMode::Off,
        }
    }
}

/// What to do with personal data, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PiiMode {
    /// Keep it.
    #[default]
    Off,
    /// Keep it and report counts by kind.
    Flag,
    /// Remove it.
    Redact,
}

impl PiiMode {
    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            PiiMode::Off => "off",
            PiiMode::Flag => "flag",
            PiiMode::Redact => "redact",
        }
    }
}

/// What to do with one kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiiKind {
    /// The same as with all.
    General,
    /// Its own mode.
    Only(PiiMode),
}

impl Serialize for PiiMode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for PiiKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PiiKind::General => serializer.serialize_str("general"),
            PiiKind::Only(mode) => mode.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PiiMode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(PiiVisitor { takes_general: false })? {
            PiiKind::Only(mode) => Ok(mode),
            PiiKind::General => Ok(PiiMode::Off),
        }
    }
}

impl<'de> Deserialize<'de> for PiiKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PiiVisitor { takes_general: true })
    }
}

struct PiiVisitor {
    takes_general: bool,
}

impl serde::de::Visitor<'_> for PiiVisitor {
    type Value = PiiKind;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.takes_general {
            "`general`, `off`, `flag` or `redact`"
        } else {
            "`off`, `flag` or `redact`"
        })
    }

    // Many YAML parsers read an unquoted `off` as a boolean.
    fn visit_bool<E: serde::de::Error>(self, truth: bool) -> Result<PiiKind, E> {
        match truth {
            false => Ok(PiiKind::Only(PiiMode::Off)),
            true => Err(E::invalid_value(serde::de::Unexpected::Bool(true), &self)),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<PiiKind, E> {
        match text {
            "off" => Ok(PiiKind::Only(PiiMode::Off)),
            "flag" => Ok(PiiKind::Only(PiiMode::Flag)),
            "redact" => Ok(PiiKind::Only(PiiMode::Redact)),
            "general" if self.takes_general => Ok(PiiKind::General),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}
