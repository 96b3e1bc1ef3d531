//! `kgctl deep`: shows, pauses or resumes the deep pass.

use proto::tool::admin::DeepPass;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Show the progress of the deep pass, which reads documents again for statistical names and grammar at the lowest
/// priority. `recognize.deep: false` switches it off for good.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Pause it until it is resumed or the daemon restarts. What was read stays.
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Resume it.
    #[arg(long)]
    resume: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let pause = (arguments.pause || arguments.resume).then_some(arguments.pause);
    let reply = ctx.call(&DeepPass { pause }).await?;
    ctx.show_advice(&reply)?;
    Ok(Exit::Done)
}
