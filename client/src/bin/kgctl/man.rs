//! `kgctl man`: manual pages of the three programs.
//!
//! In: clap's definition of `kgctl`, and the output of the other two for `--help`. Out: files in
//! roff.

use std::fmt::Write;
use std::path::PathBuf;

use clap::CommandFactory;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Programs whose definition is not linked into this one.
const OTHERS: [(&str, &str); 2] = [
    ("kgd", include_str!("../../../../docs/src/reference/kgd.txt")),
    ("kg-mcp", include_str!("../../../../docs/src/reference/kg-mcp.txt")),
];

/// Write manual pages of the three programs into a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder, such as `~/.local/share/man/man1`; it is made where it is missing.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(super::Arguments::command(), folder)?;
    for (name, help) in OTHERS {
        std::fs::write(folder.join(format!("{name}.1")), page(name, help))?;
    }
    ctx.print(&format!("manual pages are in `{}`\n", folder.display()))?;
    Ok(Exit::Done)
}

/// Writes the help of a program as a page: its first paragraph gives the name's line, lines that
/// begin with a flag are items, and further indented lines belong to the line above.
fn page(name: &str, help: &str) -> String {
    let (about, rest) = help.split_once("\n\n").unwrap_or((help, ""));
    let about = about.replace('\n', " ");
    let mut page = format!(
        ".TH {name} 1 \"\" \"{name} {}\"\n.SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n",
        proto::version(),
        escaped(&about)
    );
    let mut is_synopsis = true;
    for line in rest.lines() {
        let words = line.trim();
        if words.is_empty() || words == "Options:" {
            if is_synopsis {
                page.push_str(".SH OPTIONS\n");
            }
            is_synopsis = false;
        } else if !is_synopsis && words.starts_with('-') {
            let (flags, text) = words.split_once("  ").unwrap_or((words, ""));
            let _ = writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(flags), escaped(text.trim()));
        } else {
            let _ = writeln!(page, "{}", escaped(words.trim_start_matches("Usage: ")));
        }
    }
    page
}

/// Returns a line of text that roff reads literally.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn help_becomes_a_page() {
        let help = "Does it.\n\nUsage: it [--all]\n          [--out FILE]\n\n\
                    \x20 --all       all of\n              them\n\
                    \x20 --out FILE  where to; .\\x is a file\n";
        let text = page("it", help).replace(proto::version(), "1.0");
        expect![[r#"
            .TH it 1 "" "it 1.0"
            .SH NAME
            it \- Does it.
            .SH SYNOPSIS
            it [\-\-all]
            [\-\-out FILE]
            .SH OPTIONS
            .TP
            \fB\-\-all\fR
            all of
            them
            .TP
            \fB\-\-out FILE\fR
            where to; .\ex is a file
        "#]]
        .assert_eq(&text);
    }
}
