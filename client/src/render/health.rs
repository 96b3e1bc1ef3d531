//! Health: renders the surroundings of the daemon.
//!
//! In: what is not read, settings, rows of the registry, the findings of `doctor`. Out: text.

use std::fmt::Write;

use config::Loaded;
use proto::tool::core::{HubView, SurveyView};

use super::{Style, clean, table, thousands};

/// Renders every path that is not read, each on a line with the reason, and what would have it read.
pub fn all_not_read(survey: &SurveyView) -> String {
    let mut text = String::new();
    for it in &survey.not_read {
        let n_more = it.count.saturating_sub(it.paths.len() as u64);
        let more = (n_more > 0).then(|| format!("… {} more", thousands(n_more)));
        for path in it.paths.iter().chain(&more) {
            let hint = it.hint.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}\t{}\t{}", clean(path), clean(&it.why()), clean(hint));
        }
    }
    text
}

/// A registered project, as `kgctl list` shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ProjectRow {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub root: String,
    /// Whether it is the default.
    pub default: bool,
    /// `running`, `stopped`, or `folder missing`.
    pub state: String,
    /// The hub that it is published to, as its daemon says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubView>,
    /// The day on which it was registered.
    pub added: String,
    /// Whether the user forbids tools to write in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Renders the registered projects.
pub fn projects(rows: &[ProjectRow], style: Style) -> String {
    if rows.is_empty() {
        return "no project is registered\nhint: register a folder with `kgctl init DIR`\n"
            .to_string();
    }
    let row = |it: &ProjectRow| {
        let name = if it.default { format!("{} *", it.name) } else { it.name.clone() };
        let read_only = if it.read_only { ", read-only" } else { "" };
        let hub = it.hub.as_ref().map(|it| format!(", hub {}", it.describe())).unwrap_or_default();
        [name, format!("{}{read_only}{hub}", it.state), it.added.clone(), it.root.clone()]
            .map(|cell| clean(&cell).into_owned())
            .to_vec()
    };
    table(style, &["NAME", "STATE", "ADDED", "FOLDER"], rows.iter().map(row).collect())
}

/// Renders every setting with its value and origin.
pub fn settings(loaded: &Loaded, style: Style) -> String {
    let row = |(key, value, origin): (&str, &serde_json::Value, &config::Origin)| {
        vec![
            key.to_string(),
            clean(&value.to_string()).into_owned(),
            clean(&origin.to_string()).into_owned(),
            if config::live::is_reread(key) { "reload" } else { "restart" }.to_string(),
        ]
    };
    table(style, &["KEY", "VALUE", "FROM", "CHANGED BY"], loaded.rows().map(row).collect())
}

/// The result of one check of `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No problem.
    Good,
    /// It works, but deserves attention.
    Warning,
    /// It does not work.
    Bad,
}

/// One finding of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What was checked.
    pub subject: String,
    /// The result.
    pub verdict: Verdict,
    /// The observation.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Renders the findings of `doctor`.
pub fn findings(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for it in findings {
        let mark = match it.verdict {
            Verdict::Good => style.green("ok"),
            Verdict::Warning => style.yellow("warning"),
            Verdict::Bad => style.red("bad"),
        };
        let _ = writeln!(text, "{mark} {}: {}", style.bold(&it.subject), clean(&it.detail));
        if let Some(hint) = &it.hint {
            let _ = writeln!(text, "   hint: {}", clean(hint));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn projects_and_findings() {
        let row = |name: &str, default| ProjectRow {
            name: name.into(),
            root: format!("/srv/{name}"),
            default,
            state: "stopped".into(),
            hub: (!default).then(|| HubView {
                address: "pub@db.example/kg".into(),
                project: "work".into(),
                lag: 7,
                trouble: Some("it is fenced\nhint: take it back".into()),
                ..HubView::default()
            }),
            added: "2026-03-01".into(),
            read_only: !default,
        };
        expect![[r#"
            NAME     STATE                                                                                          ADDED       FOLDER
            notes *  stopped                                                                                        2026-03-01  /srv/notes
            work     stopped, read-only, hub pub@db.example/kg as work, 7 ticks behind: it is fenced; take it back  2026-03-01  /srv/work
        "#]]
        .assert_eq(&projects(&[row("notes", true), row("work", false)], Style::terminal(false)));
        expect![[r#"
            no project is registered
            hint: register a folder with `kgctl init DIR`
        "#]]
        .assert_eq(&projects(&[], Style::terminal(false)));
        let finding = |verdict, hint: Option<&str>| Finding {
            subject: "kgd".into(),
            verdict,
            detail: "found".into(),
            hint: hint.map(str::to_string),
        };
        let found = [finding(Verdict::Good, None), finding(Verdict::Bad, Some("install it"))];
        expect![[r#"
            ok kgd: found
            bad kgd: found
               hint: install it
        "#]]
        .assert_eq(&findings(&found, Style::terminal(false)));
    }
}
