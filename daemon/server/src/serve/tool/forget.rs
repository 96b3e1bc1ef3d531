//! Forget: removes what a person names from everything that is stored.
//!
//! In: a path, a name or a string. Out: a receipt that does not repeat it.
//! Invariants: once started it runs to its end, even if nobody waits for it any more.

use std::sync::Arc;

use config::command::word;
use proto::error::{Code, ErrorView};
use proto::tool::admin::{Forget, ForgetReply, Left, Proof, Removed};

use super::ingest::inside;
use super::{invalid, unreadable};
use crate::project::Project;
use crate::project::forget::{ForgetError, Named, Receipt};
use crate::serve::Progress;
use index::erase::{Hit, MIN_CHARS, Scan};
use index::store::stays_with_file;

/// Longest string, bytes.
const MAX_BYTES: usize = 64 << 10;

/// Most files of the project, and most others, that are listed.
const MAX_LISTED: usize = 1_000;

/// Removes what is named from everything that is stored.
pub async fn forget(
    project: Arc<Project>,
    request: Forget,
    progress: Progress,
) -> Result<ForgetReply, ErrorView> {
    let named = named(&project, &request)?;
    let proves = request.prove == Some(true);
    let report = move |what: &str| progress.report(0, None, what.to_string());
    // A task of its own: if it were cut off between two stores, something would be left until the
    // next run.
    let run = tokio::spawn(project.clone().erase(named, proves, report));
    let receipt = run.await.map_err(|lost| ForgetError::Unsettled(lost.to_string()));
    let receipt = receipt.and_then(|it| it).map_err(unfinished)?;
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(ForgetReply { freshness, ..reply(receipt) })
}

fn named(project: &Project, request: &Forget) -> Result<Named, ErrorView> {
    let one = "give exactly one of `path`, `entity` and `text`";
    match (&request.path, &request.entity, &request.text) {
        (Some(path), None, None) => match inside(project, path)? {
            path if path.is_empty() => Err(invalid(
                "that is the whole project".into(),
                &format!("`kgctl remove {} --purge` forgets all of it", word(&project.name)),
            )),
            path => Ok(Named::Path(path)),
        },
        (None, Some(name), None) if name.trim().is_empty() => {
            Err(invalid("`entity` is empty".into(), "give the name of an entity"))
        }
        (None, Some(name), None) => Ok(Named::Entity(name.trim().to_string())),
        (None, None, Some(text)) if text.trim().chars().count() < MIN_CHARS => {
            let why = format!("`text` has fewer than {MIN_CHARS} characters");
            Err(invalid(why, "so short a string occurs in many files by chance; give more of it"))
        }
        (None, None, Some(text)) if text.len() > MAX_BYTES => {
            Err(invalid(format!("`text` has more than {MAX_BYTES} bytes"), "give it in parts"))
        }
        (None, None, Some(text)) => Ok(Named::Text(text.trim().to_string())),
        _ => Err(invalid("nothing is named, or more than one thing".into(), one)),
    }
}

fn reply(receipt: Receipt) -> ForgetReply {
    let removed = receipt.removed.into_iter();
    let removed = removed.map(|((store, what), n)| Removed { store: store.into(), what, n });
    let n_in_folder = receipt.in_folder.len() as u64;
    let proof = receipt.scan.map(|scan| proof(scan, n_in_folder));
    ForgetReply {
        removed: removed.collect(),
        unknown: receipt.is_unknown,
        looked_for: receipt.looked_for,
        in_folder: receipt.in_folder.into_iter().take(MAX_LISTED).collect(),
        n_in_folder,
        n_also_in: receipt.also_in.len() as u32,
        also_in: receipt.also_in.into_iter().take(MAX_LISTED).collect(),
        proof,
        ..ForgetReply::default()
    }
}

fn proof(scan: Scan, n_in_folder: u64) -> Proof {
    let is_expected = |it: &Hit| n_in_folder > 0 && is_of_files(it, &scan.hits);
    let left = scan.hits.iter().map(|it| Left {
        file: it.file.clone(),
        place: it.place.clone(),
        n: it.n,
        of_files: is_expected(it),
    });
    let left: Vec<Left> = left.collect();
    let gone = left.is_empty() && n_in_folder == 0;
    Proof { gone, files: scan.n_files, bytes: scan.n_bytes, left }
}

/// Returns whether files of the project that still contain it explain a hit: the index is made of
/// them, and the ledger identifies them by name.
fn is_of_files(hit: &Hit, all: &[Hit]) -> bool {
    let database = |file: &str| file.split_inclusive(".sqlite").next().unwrap_or(file).to_string();
    let own = database(&hit.file);
    // The bytes of a database contain its rows.
    let mut rows = all.iter().filter(|it| it.place != "bytes" && database(&it.file) == own);
    own == "index.sqlite" || (rows.clone().count() > 0 && rows.all(|it| stays_with_file(&it.place)))
}

fn unfinished(error: ForgetError) -> ErrorView {
    let (code, hint) = match &error {
        ForgetError::TooLong(_) => (Code::InvalidParams, "give it in parts"),
        ForgetError::Several(..) => (Code::Ambiguous, "forget the one that you mean by its path"),
        _ => (Code::Unavailable, "what went is gone; run it again to finish, see `kgctl status`"),
    };
    ErrorView::hinted(code, format!("not all is forgotten: {error}"), hint)
}
