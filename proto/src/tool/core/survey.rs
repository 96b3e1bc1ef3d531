//! What `status` says of a folder's files: which are read, and which are not and why.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::Sheet;

/// What is read of a folder and what is not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyView {
    /// Files that are read, by extension.
    pub to_read: BTreeMap<String, u64>,
    /// What is not, what a person may miss first.
    pub not_read: Vec<NotReadView>,
}

/// Files and folders that are not read for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotReadView {
    /// The reason, as in `skipped`; `failed` for what is in `quarantine`.
    pub reason: String,
    /// What decided it: an ignore file, an extension, the name of a folder, the system's error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// How many; a folder counts as one, whatever it holds.
    pub count: u64,
    /// Some of them, the first by name; folders end in a slash.
    pub paths: Vec<String>,
    /// What would have them read, where something would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl NotReadView {
    /// Returns the paths on one line, each as `shown` writes it.
    pub fn named(&self, shown: impl Fn(&str) -> String) -> String {
        let mut named: Vec<String> = self.paths.iter().map(|path| shown(path)).collect();
        let n_more = self.count.saturating_sub(self.paths.len() as u64);
        if n_more > 0 {
            named.push(format!("{n_more} more"));
        }
        named.join(", ")
    }

    /// Returns the reason, with what decided it.
    pub fn why(&self) -> String {
        if self.by.is_empty() {
            self.reason.clone()
        } else {
            format!("{}: {}", self.reason, self.by)
        }
    }
}

impl SurveyView {
    /// Writes what is not read, with as many names as there is room for, and a count of what has none.
    pub fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.reserve("not read: 9999999 more, for 9999 other reasons");
        let (mut n_left_out, mut n_rows) = (0, 0);
        for it in &self.not_read {
            let mut shown = it.clone();
            loop {
                let named = shown.named(|path| style.safe(path).into_owned());
                let line = format!("not read: {} ({}): {named}", it.count, style.safe(&it.why()));
                if n_rows == 0 && sheet.line(&line) {
                    break;
                }
                if n_rows > 0 || shown.paths.is_empty() {
                    (n_left_out, n_rows) = (n_left_out + it.count, n_rows + 1);
                    break;
                }
                shown.paths.truncate(shown.paths.len() / 2);
            }
        }
        if n_rows > 0 {
            sheet.reserved(&format!("not read: {n_left_out} more, for {n_rows} other reasons"));
        }
        if !self.not_read.is_empty() {
            sheet.line(
                &style.hint("hint: `not_read: true` names all, and what would have each read"),
            );
        }
    }
}
