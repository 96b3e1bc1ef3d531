//! Printed: every command of `kgctl` that a message holds is one that this program understands.
//!
//! In: the sources of all programs. Out: the commands between backticks in their texts, typed into a shell.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::config::command::{OF_NO_PROJECT, ProjectFlags, word};
use ::config::{Project, Registry};
use clap::CommandFactory;

/// What stands for a name, a path or a folder that a message fills in.
const FILLED_IN: &str = "My Notes/it's.md";

/// Returns the commands in the texts of one file, without tests and comments, with blanks filled in.
fn commands_in(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    // A text goes on behind a backslash at the end of a line.
    while let Some(at) = text.find("\\\n") {
        let end = text[at + 2..].find(|c: char| c != ' ').map_or(text.len(), |n| at + 2 + n);
        text.replace_range(at..end, "");
    }
    let between = |line: &str, mark: char| {
        let parts: Vec<&str> = line.split(mark).collect();
        // A part that no mark closes is code.
        let closed = parts.get(1..parts.len() - 1).unwrap_or_default().iter().step_by(2);
        closed
            .filter(|it| it.len() > 6 && it.starts_with("kgctl "))
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    // A command that is a text of its own becomes part of a message elsewhere.
    let whole = |line: &str| between(line, '"').into_iter().filter(|it| !it.contains(['{', '[']));
    let all = text.lines().flat_map(|line| between(line, '`').into_iter().chain(whole(line)));
    all.map(|command| filled_in(&command)).collect()
}

fn filled_in(command: &str) -> String {
    let mut out = String::new();
    let mut rest = command;
    while let Some((before, behind)) = rest.split_once('{') {
        let (_, after) = behind.split_once('}').unwrap_or_default();
        // An id is the only thing that stands in quotes already, and `setup` takes one of a few names.
        let value = match before {
            _ if before.ends_with('#') => "7".into(),
            "kgctl setup " => "cursor".into(),
            _ => word(FILLED_IN),
        };
        out += &format!("{before}{value}");
        rest = after;
    }
    (out + rest).replace("\\\"", "\"")
}

fn sources() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> =
        ["client", "config", "daemon", "notes", "proto"].map(|it| top.join(it)).to_vec();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "tests"].contains(&&*name) {
                folders.push(path);
            } else if name.ends_with(".rs") && !["tests.rs", "reference.rs"].contains(&&*name) {
                found.push(path);
            }
        }
    }
    found
}

/// Takes `--help` for understood, though clap reports it as an error.
fn is_help(error: clap::Error) -> Result<(), clap::Error> {
    if error.kind() == clap::error::ErrorKind::DisplayHelp { Ok(()) } else { Err(error) }
}

#[test]
fn every_command_in_a_message_is_understood_as_it_stands() {
    let project = Project { root: "/My Notes".into(), name: "My Notes".into() };
    let flags = ProjectFlags::of(&Registry::default(), &project, None, Path::new("/"));
    let mut commands = BTreeSet::new();
    for path in sources() {
        commands.extend(commands_in(&std::fs::read_to_string(path).expect("a source")));
    }
    assert!(commands.len() > 50, "{commands:?}");
    let mut wrong = String::new();
    for command in &commands {
        let named = flags.command(command);
        let script = format!("for it in {named}; do printf '%s\\0' \"$it\"; done");
        let typed = Command::new("sh").args(["-c", &script]).output().expect("a shell").stdout;
        let typed = String::from_utf8_lossy(&typed).into_owned();
        let words = typed.split_terminator('\0');
        let parsed = super::Arguments::command().try_get_matches_from(words);
        if let Err(error) = parsed.map(drop).or_else(is_help) {
            wrong += &format!("{named}: {error}\n");
        }
        let is_named = typed.contains("\0--project\0/My Notes\0") || *named == *command;
        wrong += if is_named { "" } else { command };
    }
    assert_eq!(wrong, "");
}

#[test]
fn commands_about_no_project_exist() {
    let known = super::Arguments::command();
    for name in OF_NO_PROJECT {
        assert!(known.find_subcommand(name).is_some(), "{name}");
    }
}
