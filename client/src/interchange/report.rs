//! Report: what an import found, did, and could not do.
//!
//! Invariant: nothing is left out silently: what is not in a note is a remark or a problem, and those beyond the listed
//! ones are counted.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::render::{clean, thousands};

/// Most remarks and problems that are listed, each; further ones are counted.
const MAX_LISTED: usize = 200;

/// A problem or a remark about one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// File, and line where there is one.
    pub at: String,
    /// The problem, or the decision.
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What an import found and did.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The format that was read.
    pub format: String,
    /// What was read.
    pub source: String,
    /// The folder that the notes are in.
    pub into: String,
    /// Nothing was written.
    pub dry_run: bool,
    /// Counts by what was counted.
    pub counts: BTreeMap<String, u64>,
    /// Notes that were written, or would be.
    pub notes: Vec<String>,
    /// Notes beyond those that are listed.
    pub n_more_notes: u64,
    /// Decisions, and what already exists.
    pub remarks: Vec<Trouble>,
    /// Remarks beyond those that are listed.
    pub n_more_remarks: u64,
    /// What could not be read or written.
    pub troubles: Vec<Trouble>,
    /// Problems beyond those that are listed.
    pub n_more_troubles: u64,
}

impl Report {
    /// Increments a count.
    pub fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// Adds to a count.
    pub fn add(&mut self, what: &str, n: u64) {
        *self.counts.entry(what.to_string()).or_default() += n;
    }

    /// Adds a note that was written, or would be.
    pub fn note(&mut self, path: String) {
        self.count("notes written");
        if self.notes.len() < MAX_LISTED {
            self.notes.push(path);
        } else {
            self.n_more_notes += 1;
        }
    }

    /// Adds a remark, which is not a failure.
    pub fn remark(&mut self, at: impl Into<String>, what: impl Into<String>) {
        if self.remarks.len() < MAX_LISTED {
            self.remarks.push(Trouble { at: at.into(), what: what.into(), hint: None });
        } else {
            self.n_more_remarks += 1;
        }
    }

    /// Adds something that could not be read or written.
    pub fn trouble(&mut self, at: impl Into<String>, what: impl Into<String>, hint: &str) {
        if self.troubles.len() < MAX_LISTED {
            let hint = (!hint.is_empty()).then(|| hint.to_string());
            self.troubles.push(Trouble { at: at.into(), what: what.into(), hint });
        } else {
            self.n_more_troubles += 1;
        }
    }

    /// Renders the report for people.
    pub fn text(&self) -> String {
        let mut out = format!("{}: {}\n", self.format, clean(&self.source));
        let _ = writeln!(out, "into {}", clean(&self.into));
        if self.dry_run {
            out += "nothing was written: a dry run\n";
        }
        for (what, n) in &self.counts {
            let _ = writeln!(out, "  {:>9}  {what}", thousands(*n));
        }
        let listed = |out: &mut String, title: &str, rows: &[Trouble], n_more: u64| {
            if rows.is_empty() {
                return;
            }
            let _ = writeln!(out, "{title}:");
            for it in rows {
                let _ = writeln!(out, "  {}: {}", clean(&it.at), clean(&it.what));
                if let Some(hint) = &it.hint {
                    let _ = writeln!(out, "    hint: {}", clean(hint));
                }
            }
            if n_more > 0 {
                let _ = writeln!(out, "  and {} more", thousands(n_more));
            }
        };
        listed(&mut out, "remarks", &self.remarks, self.n_more_remarks);
        listed(&mut out, "not read", &self.troubles, self.n_more_troubles);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_to_list_is_counted() {
        let mut report = Report { format: "claude".into(), ..Report::default() };
        for i in 0..MAX_LISTED + 3 {
            report.trouble(format!("a:{i}"), "b", "c");
            report.note(i.to_string());
        }
        assert_eq!((report.troubles.len(), report.n_more_troubles), (MAX_LISTED, 3));
        assert_eq!((report.notes.len(), report.n_more_notes), (MAX_LISTED, 3));
        assert!(report.text().contains("and 3 more"));
        assert_eq!(report.counts["notes written"], MAX_LISTED as u64 + 3);
    }

    #[test]
    fn documents_cannot_steer_the_terminal() {
        let mut report = Report::default();
        report.remark("a\u{1b}[31m", "b\u{7}");
        assert!(!report.text().contains(['\u{1b}', '\u{7}']));
    }
}
