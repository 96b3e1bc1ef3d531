//! `kgctl forget`: removes something from everything that kgd stores.

use std::io::Read;
use std::path::Path;

use proto::tool::admin::Forget;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress;

/// Remove a document, an entity or a string from everything that kgd stores: index, vectors, ledger, kept versions,
/// backups, logs and pages. Your own files are not changed; those that still contain it are listed.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("named").required(true))]
pub(crate) struct Arguments {
    /// A document, or a folder with everything below it, that you have deleted or listed in `.kgignore`; or the id of
    /// an entry.
    #[arg(group = "named")]
    path: Option<String>,
    /// An entity, by its name.
    #[arg(long, value_name = "NAME", group = "named")]
    entity: Option<String>,
    /// A string of at least 6 characters; `-` reads it from standard input, so that your shell does not keep it.
    #[arg(long, value_name = "STRING", group = "named")]
    text: Option<String>,
    /// Then read every byte of the state folder; exit with 1 if it is still there or in your files.
    #[arg(long)]
    prove: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let cwd = std::env::current_dir()?;
    let text = match arguments.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            Some(text)
        }
        _ => arguments.text,
    };
    let path = arguments.path.map(|path| within(&path, &cwd, &target.project.root));
    let request =
        Forget { path, entity: arguments.entity, text, prove: arguments.prove.then_some(true) };
    let session = ctx.session_with(&target).await?;
    let reply = progress::call(session, &request).await?;
    ctx.show_advice(&reply)?;
    if reply.unknown {
        return Ok(Exit::NothingFound);
    }
    let is_left = reply.proof.as_ref().is_some_and(|proof| !proof.gone);
    Ok(if is_left { Exit::Failed } else { Exit::Done })
}

/// Returns a path as the daemon expects it. Inside the project it is relative to the current
/// folder. Elsewhere it is relative to the project if its parent folder exists there, otherwise to
/// the current folder. The file itself is usually deleted.
fn within(path: &str, cwd: &Path, root: &Path) -> String {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    let typed = cwd.join(path);
    let has_folder =
        |file: &Path| file.parent().is_some_and(|it| !it.as_os_str().is_empty() && it.is_dir());
    let is_meant_here = cwd.starts_with(root) || Path::new(path).is_absolute();
    if let (true, Ok(below)) = (is_meant_here, typed.strip_prefix(root)) {
        return below.display().to_string();
    }
    if has_folder(&root.join(path)) {
        return path.to_string();
    }
    let folder = typed.parent().and_then(|it| it.canonicalize().ok());
    let real = folder.zip(typed.file_name()).map(|(folder, name)| folder.join(name));
    match real.as_deref().map(|it| it.strip_prefix(root)) {
        Some(Ok(below)) => below.display().to_string(),
        _ => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_from_inside_and_outside() {
        let dir = tempfile::tempdir().expect("a folder");
        let scratch = dir.path().canonicalize().expect("there");
        let root = scratch.join("notes");
        std::fs::create_dir_all(root.join("notes")).expect("made");
        std::fs::create_dir_all(root.join("sub")).expect("made");
        for (cwd, path, expected) in [
            ("notes/sub", "gone.md", "sub/gone.md"),
            ("", "gone.md", "gone.md"),
            ("", "notes/sub/gone.md", "sub/gone.md"),
            // Both readings are possible: the project's own folder wins.
            ("", "notes/gone.md", "notes/gone.md"),
            ("", "lost/gone.md", "lost/gone.md"),
        ] {
            assert_eq!(within(path, &scratch.join(cwd), &root), expected, "{cwd} {path}");
        }
    }
}
