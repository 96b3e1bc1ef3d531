//! Reference: generates `docs/src/reference/commands.md` from clap's definitions.
//!
//! In: the definition of the command line. Out: Markdown, one heading per command, in groups.
//! Invariant: a test fails if the committed page is not current.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use super::help::groups;

const OPENING: &str = "\
# Commands

`kgctl` is the command line of kgd. `kgctl COMMAND --help` prints what stands here. For the exit codes see
[Exit codes](exit-codes.md); for `kgd` and `kg-mcp` see [Programs](programs.md).

This page is generated from the definitions in `client/src/bin/kgctl/`; do not edit it.
";

/// Renders the whole page.
fn commands_markdown() -> String {
    let mut root = super::Arguments::command();
    root.build();
    let mut text = format!("{OPENING}\n## Options of every command\n\n");
    write_arguments(&mut text, root.get_arguments().filter(|it| it.is_global_set()));
    for (title, commands) in groups(&root) {
        let _ = write!(text, "\n## {title}\n");
        for command in commands {
            write_command(&mut text, command, "kgctl", 3);
        }
    }
    text
}

fn write_command(text: &mut String, command: &Command, parent: &str, level: usize) {
    let name = format!("{parent} {}", command.get_name());
    let _ = write!(text, "\n{} `{name}`\n\n", "#".repeat(level));
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "{}", sentence(&about));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    // Below the root, clap prints only the last part of the program's name.
    let usage = usage.find(command.get_name()).map_or(usage, |at| &usage[at..]);
    let _ = write!(text, "\n```text\n{parent} {usage}\n```\n");
    let own = command.get_arguments().filter(|it| !it.is_global_set() && it.get_id() != "help");
    let own: Vec<&Arg> = own.collect();
    if !own.is_empty() {
        text.push('\n');
        write_arguments(text, own.into_iter());
    }
    for inner in command.get_subcommands().filter(|it| it.get_name() != "help") {
        write_command(text, inner, &name, level + 1);
    }
}

/// Writes one list item for each argument.
fn write_arguments<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    for argument in arguments.filter(|it| !it.is_hide_set()) {
        let values: Vec<&str> =
            argument.get_value_names().unwrap_or_default().iter().map(|it| it.as_str()).collect();
        let takes = argument.get_action().takes_values() && !values.is_empty();
        let value = if takes { format!("<{}>", values.join("> <")) } else { String::new() };
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        let flags: Vec<String> = short.into_iter().chain(long).collect();
        let shown = match argument.is_require_equals_set() {
            true => format!("{}[={value}]", flags.join(", ")),
            false => format!("{} {value}", flags.join(", ")),
        };
        let help = argument.get_long_help().or(argument.get_help());
        let help = sentence(&help.map(ToString::to_string).unwrap_or_default());
        let default: Vec<_> =
            argument.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
        let default = match default.join(", ") {
            value if takes && !value.is_empty() => format!(" Default: `{value}`."),
            _ => String::new(),
        };
        let _ = writeln!(text, "- `{}`: {}{default}", shown.trim(), help.replace('\n', " "));
    }
}

/// Restores the last full stop of a doc comment, which clap drops.
fn sentence(words: &str) -> String {
    let words = words.trim();
    if words.is_empty() || words.ends_with(['.', '!', '?']) {
        words.into()
    } else {
        format!("{words}.")
    }
}

#[test]
fn the_reference_of_commands_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/commands.md");
    let wanted = commands_markdown();
    if std::env::var_os("KG_REGENERATE").is_some() {
        std::fs::write(&path, &wanted).expect("a file");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "`{}` is not current; `KG_REGENERATE=1` rewrites it", path.display());
}
