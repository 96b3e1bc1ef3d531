//! `kgctl retry`: retries failed files.

use std::path::{Component, Path, PathBuf};

use proto::tool::admin::Retry;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress;

/// Retry failed files at once and report the outcome of each. `kgctl doctor` lists them. `--all` also retries an
/// embedding server that had refused (`embed.remote`).
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Files that failed, or folders with such files.
    #[arg(value_name = "PATH", required_unless_present = "all", conflicts_with = "all")]
    paths: Vec<String>,
    /// Everything that failed.
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let cwd = std::env::current_dir()?;
    let named = arguments.paths.iter().map(|path| within(path, &cwd, &target.project.root));
    let request = Retry { paths: (!arguments.all).then(|| named.collect()) };
    let session = ctx.session_with(&target).await?;
    let reply = progress::call(session, &request).await?;
    ctx.show_advice(&reply)?;
    let has_vectors = reply.embedding.as_ref().is_none_or(|it| it.state != "failed");
    let is_clear = has_vectors && reply.files.iter().all(|it| it.outcome != "failed");
    Ok(if is_clear { Exit::Done } else { Exit::Failed })
}

/// Returns a path relative to the project. A typed path is relative to the current folder if that
/// is inside the project, otherwise to the project. The file may no longer exist.
fn within(path: &str, cwd: &Path, root: &Path) -> String {
    let mut full = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::ParentDir => {
                full.pop();
            }
            Component::CurDir => {}
            part => full.push(part),
        }
    }
    full.strip_prefix(root).map_or_else(|_| path.to_string(), |inside| inside.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_where_one_stands() {
        let table = [
            ("a.md", "/p", "a.md"),
            ("a.md", "/p/docs", "docs/a.md"),
            ("../a.md", "/p/docs", "a.md"),
            (".", "/p", ""),
            ("/p/b.md", "/elsewhere", "b.md"),
            ("b.md", "/elsewhere", "b.md"),
        ];
        for (path, cwd, expected) in table {
            assert_eq!(
                within(path, Path::new(cwd), Path::new("/p")),
                expected,
                "{path} from {cwd}"
            );
        }
    }
}
