//! Settings of what agents remember.

use serde::{Deserialize, Serialize};

/// What agents remember, stored as notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Folder of the notes that the memory tools create. Every top-level list item of a note in it is an observation,
    /// unless it states a relation.
    pub folder: String,
    /// `weekly`: once a week, a report of what needs attention is written into the subfolder `reports`, such as
    /// `memory/reports/2026-W48.md`; it is a note, but not an entity. `off`: no reports.
    pub report: WeeklyReport,
}

/// Whether reports are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeeklyReport {
    /// None.
    Off,
    /// One a week.
    Weekly,
}

impl Serialize for WeeklyReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            WeeklyReport::Off => "off",
            WeeklyReport::Weekly => "weekly",
        })
    }
}

impl<'de> Deserialize<'de> for WeeklyReport {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReportVisitor)
    }
}

struct ReportVisitor;

impl serde::de::Visitor<'_> for ReportVisitor {
    type Value = WeeklyReport;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("`weekly` or `off`")
    }

    // Many YAML parsers read an unquoted `off` as a boolean.
    fn visit_bool<E: serde::de::Error>(self, is_on: bool) -> Result<WeeklyReport, E> {
        match is_on {
            false => Ok(WeeklyReport::Off),
            true => Err(E::invalid_value(serde::de::Unexpected::Bool(true), &self)),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WeeklyReport, E> {
        match text {
            "weekly" => Ok(WeeklyReport::Weekly),
            "off" => Ok(WeeklyReport::Off),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory { folder: "memory".into(), report: WeeklyReport::Off }
    }
}

impl Memory {
    /// Returns true for a path in that folder that is not a report.
    pub fn holds(&self, path: &str) -> bool {
        let folder = self.folder.trim_matches('/');
        let rest = match folder {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        rest.is_some_and(|rest| !rest.starts_with("reports/"))
    }
}
