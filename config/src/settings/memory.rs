//! Settings of what agents remember.

use serde::{Deserialize, Serialize};

use super::word::words;

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

words!(WeeklyReport, "weekly" => WeeklyReport::Weekly, "off" => WeeklyReport::Off);

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
