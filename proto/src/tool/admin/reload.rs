//! The tool that reads settings again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh};

/// Parameters of `reload`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reload {}

/// A setting that the files, variables and flags give another value than the daemon has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingChange {
    /// Its dotted key.
    pub key: String,
    /// The value before, as JSON; `null` if there was none.
    pub before: String,
    /// The value now, as JSON; `null` if there is none.
    pub after: String,
}

/// Reply of `reload`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadReply {
    /// What counts from now on.
    pub changed: Vec<SettingChange>,
    /// What counts after a restart.
    pub restart: Vec<SettingChange>,
    /// Settings that were ignored, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Reload {
    const NAME: &'static str = "reload";
    const SUMMARY: &'static str =
        "Read the settings anew; say what changed, and what needs a restart.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = ReloadReply;
}

impl View for ReloadReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let name = style.safe(&self.freshness.project);
        let parts = [("changed", &self.changed), ("after `kgctl restart`", &self.restart)];
        if parts.iter().all(|(_, changes)| changes.is_empty()) {
            sheet.line(&format!("{name}: no setting has changed"));
        }
        for (when, changes) in parts.into_iter().filter(|(_, changes)| !changes.is_empty()) {
            sheet.line(&format!("{name}: {when}"));
            sheet.items(changes.iter().map(|SettingChange { key, before, after }| {
                let [key, before, after] = [key, before, after].map(|it| style.safe(it));
                format!("  {key}: {before} → {after}")
            }));
        }
        sheet.items(self.warnings.iter().map(|it| format!("warning: {}", style.safe(it))));
    }
}
