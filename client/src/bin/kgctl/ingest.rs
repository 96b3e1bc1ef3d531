//! `kgctl ingest`: indexes files now, ahead of any backlog.

use std::path::Path;

use proto::tool::core::IngestDocs;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress;

/// Index files now, ahead of any backlog, and wait until they are searchable.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Files, folders or globs inside the project.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Tag to keep with these documents; may be given several times.
    #[arg(long)]
    tag: Vec<String>,
    /// Where the documents came from.
    #[arg(long, value_name = "URL")]
    source_url: Option<String>,
    /// Index files again that have not changed.
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let cwd = std::env::current_dir()?;
    let paths =
        arguments.paths.iter().map(|path| within(path, &cwd, &target.project.root)).collect();
    let request = IngestDocs {
        paths,
        tags: (!arguments.tag.is_empty()).then_some(arguments.tag),
        source_url: arguments.source_url,
        skip_if_seen: arguments.force.then_some(false),
    };
    let session = ctx.session_with(&target).await?;
    let reply = progress::call(session, &request).await?;
    ctx.show(&reply)?;
    Ok(if reply.errors.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Returns a path or glob as the daemon expects it, relative to the project. A path that the user
/// typed is relative to the current folder if it exists there or that folder is inside the project,
/// otherwise to the project. A folder stands for everything in it.
fn within(path: &str, cwd: &Path, root: &Path) -> String {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    let from_here = cwd.starts_with(root) || cwd.join(path).exists();
    let whole = if from_here { cwd.join(path) } else { root.join(path) };
    let is_dir = whole.is_dir();
    // Resolves `..` and links if the path exists. A glob stays unchanged.
    let whole = whole.canonicalize().unwrap_or(whole);
    let inside = whole.strip_prefix(root).unwrap_or(&whole).to_string_lossy().into_owned();
    match (is_dir, inside.is_empty()) {
        (true, true) => "**/*".to_string(),
        (true, false) => format!("{inside}/**/*"),
        (false, _) => inside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_where_one_stands() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let root = scratch.path().canonicalize().expect("there").join("project");
        std::fs::create_dir_all(root.join("docs/deep")).expect("made");
        std::fs::write(root.join("docs/a.md"), "").expect("written");
        let table = [
            ("a.md", "docs", "docs/a.md"),
            ("../docs/a.md", "docs", "docs/a.md"),
            ("*.md", "docs", "docs/*.md"),
            ("deep", "docs", "docs/deep/**/*"),
            (".", "", "**/*"),
            ("docs/**/*.md", "..", "docs/**/*.md"),
            ("project/docs", "..", "docs/**/*"),
        ];
        for (path, cwd, expected) in table {
            assert_eq!(within(path, &root.join(cwd), &root), expected, "{path} from {cwd}");
        }
        let absolute = root.join("docs/a.md").display().to_string();
        assert_eq!(within(&absolute, Path::new("/"), &root), "docs/a.md");
    }
}
