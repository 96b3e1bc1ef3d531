//! `kgctl completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut super::Arguments::command(), "kgctl", &mut script);
    ctx.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
