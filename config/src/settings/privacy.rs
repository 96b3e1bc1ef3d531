//! Modes for personal data, and their syntax.

use super::word::{Word as _, words};
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

words!(PiiMode, "off" => PiiMode::Off, "flag" => PiiMode::Flag, "redact" => PiiMode::Redact);

impl PiiMode {
    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        self.word()
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

words!(
    PiiKind,
    "general" => PiiKind::General,
    "off" => PiiKind::Only(PiiMode::Off),
    "flag" => PiiKind::Only(PiiMode::Flag),
    "redact" => PiiKind::Only(PiiMode::Redact),
);
