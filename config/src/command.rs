//! Command: the commands of `kgctl` in messages, so that they do what they say when they are typed.
//!
//! In: messages with commands between backticks. Out: the same with commands that name the project, and words that a
//! shell takes as one.
//! Invariants: a command that names its project already, or is about none, stays as it is; where a command without
//! `--project` means the same project, none is added.

use std::borrow::Cow;
use std::path::Path;

use crate::place::{Places, Project};
use crate::registry::Registry;

/// Commands about no project, or about one that they name themselves.
pub const OF_NO_PROJECT: [&str; 10] = [
    "init",
    "list",
    "project",
    "remove",
    "model",
    "hub",
    "completions",
    "update",
    "man",
    "mcp-config",
];

/// Returns a word as a POSIX shell must read it to take it as one word.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// Returns a path as [`word`] does.
pub fn path_word(path: &Path) -> String {
    word(&path.to_string_lossy()).into_owned()
}

/// Returns the last words of a command, which are no flags, whatever they begin with.
pub fn operand(text: &str) -> String {
    format!("{}{}", if text.starts_with('-') { "-- " } else { "" }, word(text))
}

/// Returns the flag that names a project, whatever its name begins with.
pub fn project_flag(name: &str) -> String {
    format!("--project{}{}", if name.starts_with('-') { "=" } else { " " }, word(name))
}

/// Returns the length of a command up to the backtick that closes it; one within quotes does not.
fn command_len(text: &str) -> Option<usize> {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', None | Some('"')) => is_escaped = true,
            ('`', None) => return Some(at),
            ('\'' | '"', None) => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            _ => {}
        }
    }
    None
}

/// How a command must name a project to mean it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFlags(String);

impl ProjectFlags {
    /// Returns how commands that are typed in a folder name a project; `env` is `KG_PROJECT` there.
    pub fn of(registry: &Registry, project: &Project, env: Option<&str>, cwd: &Path) -> Self {
        if registry.which(None, env, cwd).is_ok_and(|it| it.root == project.root) {
            return ProjectFlags::default();
        }
        // A folder that is served without being registered has no name.
        let registered = registry.at(&project.root).map(|it| it.name.clone());
        ProjectFlags::named(&registered.unwrap_or_else(|| project.root.display().to_string()))
    }

    /// Returns how commands name a registered project, whichever is meant otherwise.
    pub fn named(name: &str) -> Self {
        ProjectFlags(format!(" {}", project_flag(name)))
    }

    /// The same for commands that are typed where this process runs.
    pub fn here(places: &Places, project: &Project) -> Self {
        let registry = Registry::load(&places.config).unwrap_or_default();
        let env = std::env::var("KG_PROJECT").ok();
        let cwd = std::env::current_dir().unwrap_or_default();
        ProjectFlags::of(&registry, project, env.as_deref(), &cwd)
    }

    /// The same for commands that are typed anywhere: for readers whose folder is unknown.
    pub fn anywhere(places: &Places, project: &Project) -> Self {
        let registry = Registry::load(&places.config).unwrap_or_default();
        ProjectFlags::of(&registry, project, None, Path::new("/"))
    }

    /// Returns how commands name projects of a hub.
    pub fn of_hub(url: &str, projects: Option<&str>) -> Self {
        let named = projects.map(|it| format!(" {}", project_flag(it))).unwrap_or_default();
        ProjectFlags(format!(" --hub {}{named}", word(url)))
    }

    /// Returns a command, such as `kgctl status`, that names the project.
    pub fn command<'c>(&self, command: &'c str) -> Cow<'c, str> {
        let name = command.strip_prefix("kgctl ").and_then(|it| it.split_whitespace().next());
        let is_named =
            ["--project", "--all-projects", "--hub"].iter().any(|it| command.contains(it));
        match name {
            Some(name) if !is_named && !OF_NO_PROJECT.contains(&name) => {
                // Behind `--` there are no flags.
                let (before, behind) =
                    command.split_at(command.find(" -- ").unwrap_or(command.len()));
                Cow::Owned(format!("{before}{}{behind}", self.0))
            }
            _ => Cow::Borrowed(command),
        }
    }

    /// Returns a message whose commands, between backticks, name the project.
    pub fn in_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() || !text.contains("`kgctl ") {
            return Cow::Borrowed(text);
        }
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("`kgctl ") {
            let (before, behind) = rest.split_at(at + 1);
            let Some(len) = command_len(behind) else { break };
            let (command, after) = behind.split_at(len);
            out += before;
            out += &self.command(command);
            // The closing backtick begins no command.
            out.push('`');
            rest = after.strip_prefix('`').unwrap_or(after);
        }
        Cow::Owned(out + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word_for_a_shell() {
        let words = [
            "notes", "a b", "it's", "", "$HOME", "`x`", "a;b", "ü/ö.md", "#12", "~/x", "-rf",
            "a\nb", "*",
        ];
        for text in words {
            let script = format!("printf %s {}", word(text));
            let printed = std::process::Command::new("sh").args(["-c", &script]).output();
            assert_eq!(String::from_utf8_lossy(&printed.expect("a shell").stdout), text);
        }
    }

    #[test]
    fn commands_name_the_project_where_they_must() {
        let flags = ProjectFlags(" --project 'My Notes'".to_string());
        let rows = [
            ("`kgctl restart` runs it", "`kgctl restart --project 'My Notes'` runs it"),
            (
                "see `kgctl logs`; or `kgctl doctor`",
                "see `kgctl logs --project 'My Notes'`; or `kgctl doctor --project 'My Notes'`",
            ),
            ("`kgctl init DIR`, `kgctl list`", "`kgctl init DIR`, `kgctl list`"),
            (r"`kgctl read 'it'\''s.md'`", r"`kgctl read 'it'\''s.md' --project 'My Notes'`"),
            ("`kgctl start --project B`", "`kgctl start --project B`"),
            ("`kgctl http token --all-projects`", "`kgctl http token --all-projects`"),
            (
                "`kgctl restore 'a`b' --at last`, `kgctl stop`",
                "`kgctl restore 'a`b' --at last --project 'My Notes'`, `kgctl stop --project 'My Notes'`",
            ),
            ("`kgctl retry -- -a.pdf`", "`kgctl retry --project 'My Notes' -- -a.pdf`"),
            ("it's `kgctl stop`, isn't it", "it's `kgctl stop --project 'My Notes'`, isn't it"),
            ("kgctl and `kgctl` and `kgd`", "kgctl and `kgctl` and `kgd`"),
        ];
        for (text, expected) in rows {
            assert_eq!(flags.in_text(text), expected);
            assert_eq!(ProjectFlags::default().in_text(text), text);
        }
    }

    #[test]
    fn what_begins_with_a_dash_is_no_flag() {
        assert_eq!(ProjectFlags::named("-a").command("kgctl stop"), "kgctl stop --project=-a");
        assert_eq!(operand("-a b.pdf"), "-- '-a b.pdf'");
        assert_eq!(operand("a-b.pdf"), "a-b.pdf");
    }

    #[test]
    fn a_project_is_named_only_where_another_one_would_be_meant() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let path = scratch.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            path.canonicalize().expect("a path")
        };
        let (a, b, other) = (folder("a"), folder("My Notes"), folder("other"));
        let mut registry = Registry::default();
        let first = registry.add(&a, None, 0).expect("added").project();
        let flags = |registry: &Registry, project: &Project, env, cwd: &Path| {
            ProjectFlags::of(registry, project, env, cwd).0
        };
        assert_eq!(flags(&registry, &first, None, &other), "", "the only project");
        let second = registry.add(&b, None, 0).expect("added").project();
        assert_eq!(flags(&registry, &first, None, &other), " --project a");
        assert_eq!(flags(&registry, &second, None, &other), " --project 'My Notes'");
        assert_eq!(flags(&registry, &second, None, &b), "", "in its folder");
        assert_eq!(flags(&registry, &second, None, &a), " --project 'My Notes'");
        assert_eq!(flags(&registry, &second, Some("My Notes"), &a), "");
        let unknown = Project { root: other.clone(), name: "other".into() };
        assert_eq!(flags(&registry, &unknown, None, &a), format!(" --project {}", other.display()));
    }
}
