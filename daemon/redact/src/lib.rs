//! Redact: the layer that keeps secrets out. It depends on `model`; `formats` calls it before and after a format reads,
//! the engine and the server for logs and answers.
//!
//! Redaction: removes secrets, and personal data where the settings say so, before anything else sees the text.
//!
//! In: decoded text, then the output of a format. Out: [`Redacted`]: each secret replaced by `[redacted:KIND]`, the
//! map back, counts by kind. There are two passes: the first over the file's text, so that no format sees a secret;
//! the second over the output of a format, because markup may have split a secret (`AKIA<b>…</b>`), and because
//! formats that read bytes have no first pass.
//! Invariants: each pass is linear; replaced text is never replaced again; a secret never appears in a warning, a count
//! or a log.
//!
//! A new kind is a row of a table. It changes what is stored, so raise [`DETECTORS`] with it. For texts other than
//! documents, call [`clean`], or [`places_of_secrets`] for places and kinds.

mod allow;
mod assign;
mod column;
mod command;
mod find;
mod key;
mod label;
mod likely;
mod note;
mod operator;
mod parsed;
mod personal;
mod phrase;
mod seen;
mod shape;
mod special;
mod token;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use config::settings::{PiiMode, Privacy};

use allow::AllowedLines;
use find::{Found, secrets_in};
use model::document::Findings;
use model::terms::SpanMap;

pub use allow::AllowedPaths;
pub use personal::{Kind, personal_data_in};

/// Raised whenever results change: it is part of the index's fingerprint, so that indexes are rebuilt.
pub const DETECTORS: u32 = 8;

/// The place and the kind of a secret or of personal data.
pub type Place = (Range<usize>, &'static str);

/// What is removed from documents.
#[derive(Debug, Clone)]
pub struct Redactor {
    allowed: AllowedPaths,
    /// True when a mark in a line may exempt it.
    allows_marks: bool,
    /// What to do with each kind of personal data; ignored kinds are missing.
    personal: BTreeMap<Kind, PiiMode>,
}

/// A text without its secrets.
#[derive(Debug)]
pub struct Redacted {
    /// The text.
    pub text: String,
    /// From this text to the original; `None` when nothing was replaced.
    pub map: Option<SpanMap>,
    /// What was found.
    pub findings: Findings,
    /// Secrets on exempt lines. The second pass needs them: it may not see the mark, since comments are gone.
    pub allowed: Vec<String>,
}

impl Redactor {
    /// Makes a redactor from the user's settings.
    pub fn new(settings: &Privacy) -> Self {
        let all = Kind::ALL.into_iter().map(|kind| (kind, settings.mode_of(kind.as_str())));
        Redactor {
            allowed: AllowedPaths::new(&settings.allow_paths),
            allows_marks: settings.allow_marks,
            personal: all.filter(|(_, mode)| *mode != PiiMode::Off).collect(),
        }
    }

    /// Returns whether documents at `path` are shown with marks in place of secrets.
    pub fn shows_marks_in(&self, path: &str) -> bool {
        !self.allowed.hold(path)
    }

    /// Returns the parts of a file's text that are never shown: secrets, personal data to be removed, and `more`.
    pub fn hidden_in(&self, text: &str, more: Vec<Place>) -> Vec<Place> {
        let mut found = self.found_in(text);
        let wanted = |kind: Kind| self.personal.get(&kind) == Some(&PiiMode::Redact);
        if !self.personal.is_empty() {
            let personal = personal_data_in(text, wanted).into_iter();
            found.extend(personal.map(|(range, kind)| Found::personal(range, kind.as_str())));
        }
        found.extend(more.into_iter().map(|(range, kind)| Found::personal(range, kind)));
        find::joined(found).into_iter().map(|it| (it.range, it.kind)).collect()
    }

    /// Returns the text of the file at `path` with marks in place of what is hidden, and of `more`.
    pub fn shown(&self, path: &str, text: &str, more: Vec<Place>) -> String {
        let Some(redactor) = self.for_path(path) else { return text.to_string() };
        let hidden = redactor.hidden_in(text, more).into_iter();
        let found: Vec<Found> = hidden.map(|(range, kind)| Found::personal(range, kind)).collect();
        replace(text.to_string(), &found).0
    }

    /// Returns the secrets of a text but for those on exempt lines.
    fn found_in(&self, text: &str) -> Vec<Found> {
        let mut found = secrets_in(text);
        self.take_allowed(text, &mut found);
        found
    }

    /// Removes finds on exempt lines from `found` and returns them, if the user permits marks.
    fn take_allowed(&self, text: &str, found: &mut Vec<Found>) -> Vec<Found> {
        if found.is_empty() || !self.allows_marks {
            return Vec::new();
        }
        let lines = AllowedLines::of(text);
        let (allowed, rest) =
            std::mem::take(found).into_iter().partition(|it| lines.hold(it.range.start));
        *found = rest;
        allowed
    }

    /// Returns the redactor for the document at `path`; `None` when the user has allowed everything there.
    pub fn for_path(&self, path: &str) -> Option<&Self> {
        (!self.allowed.hold(path)).then_some(self)
    }

    /// Replaces every secret in the text of a file.
    pub fn redact(&self, text: String) -> Redacted {
        let mut found = secrets_in(&text);
        let allowed = self.take_allowed(&text, &mut found);
        let allowed = allowed.iter().filter_map(|it| text.get(it.range.clone()));
        let allowed = allowed.map(str::to_string).collect();
        let mut findings = Findings::default();
        count(&mut findings.redacted, &found);
        let (text, map) = replace(text, &found);
        Redacted { text, map, findings, allowed }
    }

    /// Replaces secrets and personal data to be removed in the output of a format, except those `allowed`.
    fn redact_again(
        &self,
        text: String,
        allowed: &[String],
    ) -> (String, Option<SpanMap>, Findings) {
        let mut found = secrets_in(&text);
        found.extend(find::wrapped_in(&text));
        let mut found = find::joined(found);
        found.retain(|it| {
            text.get(it.range.clone()).is_some_and(|secret| !allowed.iter().any(|it| it == secret))
        });
        let mut findings = Findings::default();
        if !self.personal.is_empty() {
            self.add_personal_data(&text, &mut found, &mut findings);
        }
        self.take_allowed(&text, &mut found);
        count(&mut findings.redacted, &found);
        // Not counted: these are parts of secrets that the first pass replaced.
        found.extend(find::cut_off(&text));
        let found = find::joined(found);
        let (text, map) = replace(text, &found);
        (text, map, findings)
    }

    /// Counts personal data that is flagged, and adds data to be removed to the secrets.
    fn add_personal_data(&self, text: &str, found: &mut Vec<Found>, findings: &mut Findings) {
        let wanted = |kind: Kind| self.personal.contains_key(&kind);
        let mut data = personal_data_in(text, wanted);
        // A secret wins over overlapping personal data.
        let overlaps = |range: &Range<usize>| {
            let first = found.partition_point(|it| it.range.end <= range.start);
            found.get(first).is_some_and(|it| it.range.start < range.end)
        };
        data.retain(|(range, _)| !overlaps(range));
        for (range, kind) in data {
            match self.personal.get(&kind) {
                Some(PiiMode::Redact) => found.push(Found::personal(range, kind.as_str())),
                Some(PiiMode::Flag) => *findings.flagged.entry(kind.as_str()).or_insert(0) += 1,
                _ => {}
            }
        }
        found.sort_by_key(|it| it.range.start);
    }
}

/// Returns a text other than a document (a log line, a message, a name) without its secrets.
pub fn clean(text: &str) -> Cow<'_, str> {
    let found = secrets_in(text);
    if found.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(replace(text.to_string(), &found).0)
    }
}

/// True when a text holds a secret.
pub fn holds_secret(text: &str) -> bool {
    !secrets_in(text).is_empty()
}

/// Returns places and kinds of the secrets of a text, in order, without overlap; including exempt lines.
pub fn places_of_secrets(text: &str) -> Vec<Place> {
    secrets_in(text).into_iter().map(|it| (it.range, it.kind)).collect()
}

fn count(counts: &mut BTreeMap<&'static str, u32>, found: &[Found]) {
    for it in found {
        *counts.entry(it.kind).or_insert(0) += 1;
    }
}

/// Replaces each find with a mark; the map leads from the new text to the old.
fn replace(text: String, found: &[Found]) -> (String, Option<SpanMap>) {
    if found.is_empty() {
        return (text, None);
    }
    let marks = found.iter().map(|it| (it.range.clone(), format!("[redacted:{}]", it.kind)));
    let (text, map) = SpanMap::replacing(&text, marks);
    (text, Some(map))
}

#[cfg(test)]
mod tests;
