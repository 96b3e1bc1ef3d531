//! Help: the commands in groups, for `kgctl --help` and the reference.
//!
//! In: the definition of the command line. Out: the same with grouped help; the groups.

use std::fmt::Write;

use clap::Command;

/// Headings with their commands, in the order in which a user meets them; ungrouped commands come last.
const GROUPS: [(&str, &str); 8] = [
    ("Projects and daemons", "init project list start stop restart reload remove status wait logs"),
    ("Agents", "setup mcp-config http"),
    ("Asking", "query ask read explain connect changes lookup links graph open"),
    ("Memory and entries", "remember memory kb"),
    ("Files, import and export", "ingest import export dump"),
    ("Correcting", "review extract restore forget"),
    ("Hub", "publish hub"),
    (
        "Operation",
        "doctor retry rescan deep verify backup config model update eval completions man",
    ),
];

/// Returns the visible commands by group.
pub(crate) fn groups(root: &Command) -> Vec<(&'static str, Vec<&Command>)> {
    let mut left: Vec<&Command> =
        root.get_subcommands().filter(|it| it.get_name() != "help" && !it.is_hide_set()).collect();
    let mut groups = Vec::new();
    for (i, (title, names)) in GROUPS.into_iter().enumerate() {
        let is_last = i + 1 == GROUPS.len();
        let names: Vec<&str> = names.split(' ').collect();
        let (mut here, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|it| is_last || names.contains(&it.get_name()));
        left = rest;
        here.sort_by_key(|it| {
            names.iter().position(|name| *name == it.get_name()).unwrap_or(usize::MAX)
        });
        groups.push((title, here));
    }
    groups
}

/// Lists the commands of the root in groups; clap knows only one list.
pub(crate) fn grouped(root: Command) -> Command {
    let width = root.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or_default();
    let mut list = String::new();
    for (title, commands) in groups(&root) {
        let _ = writeln!(list, "{title}:");
        for command in commands {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            // The rest is in the help of the command.
            let first = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let _ = writeln!(list, "  {:width$}  {first}", command.get_name());
        }
        list.push('\n');
    }
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_a_group_and_every_name_a_command() {
        let root = crate::Arguments::command();
        for (title, commands) in groups(&root) {
            let names: Vec<_> = commands.iter().map(|it| it.get_name()).collect();
            let listed = GROUPS.iter().find(|it| it.0 == title).expect("a group").1;
            assert_eq!(names.join(" "), listed, "{title}");
        }
    }
}
