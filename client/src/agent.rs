//! Agents: the programs that kgd can connect to, where they keep their MCP servers, and what an
//! entry looks like.
//!
//! In: the name of an agent, a project. Out: a path, an entry, the environment in which the agent
//! starts it.
//! Invariants: the table follows each agent's documentation or source; `docs/src/how-to/connect.md`
//! cites it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use config::Places;
use serde_json::{Map, Value, json};

pub mod diff;
pub mod edit;
pub mod file;
pub mod handshake;
mod json;
pub mod made;
mod toml;

use edit::{Format, Place};

/// Reads a variable of the environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A folder in which the agent works.
    Folder,
    /// The user, for all folders.
    User,
}

impl Scope {
    /// Returns `folder` or `user`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Folder => "folder",
            Scope::User => "user",
        }
    }
}

/// An agent, and how it keeps its MCP servers.
#[derive(Debug)]
pub struct Agent {
    /// The name on the command line.
    pub name: &'static str,
    /// The name people know.
    pub title: &'static str,
    format: Format,
    /// The key of the list of servers.
    list: &'static str,
    /// Whether an entry states `"type": "stdio"`.
    is_typed: bool,
    /// The path of the file in a folder.
    folder: Option<&'static str>,
    user: UserFile,
    /// The scope that the agent's own command for adding a server uses, or that its documentation
    /// shows first.
    usual: Scope,
    /// Whether servers inherit the agent's environment; others get only [`PASSED`].
    inherits: bool,
    /// A sentence on how the agent reads its file again, without its full stop.
    pub reload: &'static str,
}

/// A `file` below the folder in `variable`, otherwise below `otherwise` in the home folder.
#[derive(Debug)]
struct UserFile {
    variable: Option<&'static str>,
    otherwise: &'static str,
    file: &'static str,
}

/// Where programs with a window keep their configuration, in the home folder.
#[cfg(not(target_os = "macos"))]
const CONFIG: (Option<&str>, &str) = (Some("XDG_CONFIG_HOME"), ".config");
#[cfg(target_os = "macos")]
const CONFIG: (Option<&str>, &str) = (None, "Library/Application Support");

/// Every agent, in the order of the command line.
pub const AGENTS: [Agent; 7] = [
    Agent {
        name: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        list: "mcpServers",
        is_typed: false,
        folder: Some(".mcp.json"),
        user: UserFile { variable: Some("CLAUDE_CONFIG_DIR"), otherwise: "", file: ".claude.json" },
        usual: Scope::Folder,
        inherits: true,
        reload: "Start Claude Code anew in that folder, and allow the server",
    },
    Agent {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        list: "mcpServers",
        is_typed: false,
        folder: None,
        user: UserFile {
            variable: CONFIG.0,
            otherwise: CONFIG.1,
            file: "Claude/claude_desktop_config.json",
        },
        usual: Scope::User,
        inherits: false,
        reload: "Quit Claude Desktop and start it again",
    },
    Agent {
        name: "codex",
        title: "Codex",
        format: Format::Toml,
        list: "mcp_servers",
        is_typed: false,
        folder: Some(".codex/config.toml"),
        user: UserFile { variable: Some("CODEX_HOME"), otherwise: ".codex", file: "config.toml" },
        usual: Scope::User,
        inherits: false,
        reload: "Start Codex anew",
    },
    Agent {
        name: "cursor",
        title: "Cursor",
        format: Format::Json,
        list: "mcpServers",
        is_typed: false,
        folder: Some(".cursor/mcp.json"),
        user: UserFile { variable: None, otherwise: ".cursor", file: "mcp.json" },
        usual: Scope::Folder,
        inherits: true,
        reload: "Restart Cursor, or reload its MCP servers",
    },
    Agent {
        name: "vscode",
        title: "VS Code",
        format: Format::Json,
        list: "servers",
        is_typed: true,
        folder: Some(".vscode/mcp.json"),
        user: UserFile { variable: CONFIG.0, otherwise: CONFIG.1, file: "Code/User/mcp.json" },
        usual: Scope::Folder,
        inherits: true,
        reload: "Run `MCP: List Servers` in VS Code, and start the server",
    },
    Agent {
        name: "zed",
        title: "Zed",
        format: Format::Json,
        list: "context_servers",
        is_typed: false,
        folder: None,
        user: UserFile {
            variable: if cfg!(target_os = "macos") { None } else { CONFIG.0 },
            otherwise: ".config",
            file: "zed/settings.json",
        },
        usual: Scope::User,
        inherits: true,
        reload: "Zed reads its settings when they change",
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        format: Format::Json,
        list: "mcpServers",
        is_typed: false,
        folder: Some(".gemini/settings.json"),
        user: UserFile { variable: None, otherwise: ".gemini", file: "settings.json" },
        usual: Scope::Folder,
        inherits: true,
        reload: "Start Gemini CLI anew in a folder that it trusts: elsewhere it starts no servers",
    },
];

/// The variables that Codex and the MCP SDKs pass on to a server (`DEFAULT_ENV_VARS` in Codex's `rmcp-client`,
/// `DEFAULT_INHERITED_ENV_VARS` in the SDKs, which pass fewer).
const PASSED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

impl Agent {
    /// Returns the agent with this name.
    pub fn of(name: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|it| it.name == name)
    }

    /// Returns the scope to use if none is given.
    pub fn usual_scope(&self) -> Scope {
        self.usual
    }

    /// Returns the file of a scope; `None` if the agent has none for folders, or the home folder is
    /// unknown.
    pub fn path(&self, scope: Scope, folder: &Path, env: Lookup<'_>) -> Option<PathBuf> {
        match scope {
            Scope::Folder => Some(folder.join(self.folder?)),
            Scope::User => {
                let set = |name| env(name).filter(|it| !it.is_empty()).map(PathBuf::from);
                let chosen = self.user.variable.and_then(set).filter(|it| it.is_absolute());
                let base = chosen.or_else(|| Some(set("HOME")?.join(self.user.otherwise)))?;
                Some(base.join(self.user.file))
            }
        }
    }

    /// Returns the place of a server's entry in the agent's files.
    pub fn place<'a>(&self, name: &'a str) -> Place<'a> {
        Place { format: self.format, list: self.list, name }
    }

    /// Returns the environment in which the agent starts a server.
    pub fn environment(&self, env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
        let is_passed = |name: &OsString| self.inherits || PASSED.iter().any(|it| name == *it);
        env.iter()
            .filter(|(name, _)| is_passed(name))
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect()
    }

    /// Returns the variables that an entry must set. Without them the server would look for kgd's
    /// files elsewhere than in `places`, and start a second daemon there.
    pub fn needed(&self, places: &Places, env: Lookup<'_>, uid: u32) -> BTreeMap<String, String> {
        needed(self.inherits, places, env, uid)
    }

    /// Returns the fields of an entry, in the order of the agent's documentation.
    pub fn fields(&self, server: &Server) -> Map<String, Value> {
        let mut fields = Map::new();
        if self.is_typed {
            fields.insert("type".into(), "stdio".into());
        }
        fields.insert("command".into(), server.command.as_str().into());
        fields.insert("args".into(), json!(server.args));
        if !server.env.is_empty() {
            fields.insert("env".into(), json!(server.env));
        }
        fields
    }

    /// Returns the text to paste into a file that has no servers yet.
    pub fn pasted(&self, name: &str, fields: &Map<String, Value>) -> String {
        self.place(name).put("", fields).unwrap_or_default().trim_end().to_string()
    }
}

/// A server over standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets in addition to those of its agent.
    pub env: BTreeMap<String, String>,
}

impl Server {
    /// Reads the entry of an agent's file; returns `None` if it starts no program.
    pub fn read(entry: &Value) -> Option<Self> {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let args = entry.get("args").and_then(Value::as_array);
        let env = entry.get("env").and_then(Value::as_object);
        Some(Server {
            command: entry.get("command")?.as_str()?.to_string(),
            args: args.into_iter().flatten().map(text).collect(),
            env: env
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        })
    }

    /// Returns whether it is a shim of kgd.
    pub fn is_ours(&self) -> bool {
        Path::new(&self.command).file_name().is_some_and(|it| it == "kg-mcp")
    }
}

/// Returns the variables that the entry must set, for an agent that inherits the environment, or
/// for one that passes on as little as any.
pub fn needed(
    inherits: bool,
    places: &Places,
    env: Lookup<'_>,
    uid: u32,
) -> BTreeMap<String, String> {
    // A place chosen by a variable of kgd is set even if agents inherit the variable: it may be
    // missing where they start.
    let seen = |name: &str| {
        let is_passed = PASSED.contains(&name) || (inherits && !name.starts_with("KG_"));
        if is_passed { env(name) } else { None }
    };
    let seen = Places::from_lookup(&seen, uid).ok();
    let part = |variable: &str, of: fn(&Places) -> &PathBuf| {
        let is_same = seen.as_ref().is_some_and(|seen| of(seen) == of(places));
        (!is_same).then(|| (variable.to_string(), of(places).display().to_string()))
    };
    let parts = [
        part("KG_STATE_DIR", |it| &it.state),
        part("KG_RUNTIME_DIR", |it| &it.runtime),
        part("KG_CONFIG_DIR", |it| &it.config),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<OsString> {
        let value = match name {
            "HOME" => "/home/ana",
            "XDG_RUNTIME_DIR" => "/run/user/7",
            "CODEX_HOME" => "/x/codex",
            "CLAUDE_CONFIG_DIR" => "relative",
            _ => return None,
        };
        Some(value.into())
    }

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn every_agent_has_its_files() {
        let path = |agent: &Agent, scope| {
            let path = agent.path(scope, Path::new("/p"), &env);
            path.map_or("-".into(), |it| it.display().to_string())
        };
        let rows = AGENTS.iter().map(|it| {
            let (folder, user) = (path(it, Scope::Folder), path(it, Scope::User));
            format!("{} {folder} {user} {}\n", it.name, it.usual.as_str())
        });
        expect_test::expect![[r#"
            claude-code /p/.mcp.json /home/ana/.claude.json folder
            claude-desktop - /home/ana/.config/Claude/claude_desktop_config.json user
            codex /p/.codex/config.toml /x/codex/config.toml user
            cursor /p/.cursor/mcp.json /home/ana/.cursor/mcp.json folder
            vscode /p/.vscode/mcp.json /home/ana/.config/Code/User/mcp.json folder
            zed - /home/ana/.config/zed/settings.json user
            gemini /p/.gemini/settings.json /home/ana/.gemini/settings.json folder
        "#]]
        .assert_eq(&rows.collect::<String>());
    }

    #[test]
    fn an_entry_sets_the_places_that_the_agent_would_not_find() {
        let places = Places::from_lookup(&env, 7).expect("a home");
        let needed = |name: &str, places: &Places| {
            let agent = Agent::of(name).expect("known");
            agent
                .needed(places, &env, 7)
                .into_iter()
                .map(|(a, b)| format!("{a}={b}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(needed("cursor", &places), Vec::<String>::new());
        // Codex passes no `XDG_RUNTIME_DIR`.
        assert_eq!(needed("codex", &places), ["KG_RUNTIME_DIR=/run/user/7/kgd"]);
        let chosen = Places { state: "/s".into(), ..places };
        assert_eq!(needed("cursor", &chosen), ["KG_STATE_DIR=/s"]);
        // An unknown agent is treated like the one that passes on least.
        let pasted = super::needed(false, &chosen, &env, 7).into_keys().collect::<Vec<_>>();
        assert_eq!(pasted, ["KG_RUNTIME_DIR", "KG_STATE_DIR"]);
    }

    #[test]
    fn an_entry_is_read_as_it_is_written() {
        let server = Server {
            command: "/bin/kg-mcp".into(),
            args: vec!["--project".into(), "notes".into()],
            env: BTreeMap::from([("A".to_string(), "b".to_string())]),
        };
        for agent in &AGENTS {
            let fields = agent.fields(&server);
            assert_eq!(fields.contains_key("type"), agent.name == "vscode");
            assert_eq!(Server::read(&fields.into()), Some(server.clone()), "{}", agent.name);
        }
        assert!(server.is_ours());
        assert_eq!(Server::read(&json!({ "url": "http://x" })), None);
    }
}
