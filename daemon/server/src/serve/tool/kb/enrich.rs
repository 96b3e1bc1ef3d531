//! Model readings of entries: forgetting, repeating and counting them.

use std::sync::Arc;

use notes::entry::id_text;
use proto::error::{Code, ErrorView};
use proto::tool::kb::{Enrichment, KbMaintainReply};

use super::{blocking, entry_named, library, unavailable, unreadable};
use crate::llm::Slot;
use crate::project::Project;
use index::store::{Enriched, Reading};
use query::kb::{EntryRow, Library};

fn has_model(project: &Project) -> bool {
    project.llms().extraction().is_some_and(Slot::is_server)
}

/// Schedules entries to be read again.
pub(super) async fn again(
    project: &Arc<Project>,
    id: Option<&str>,
) -> Result<KbMaintainReply, ErrorView> {
    if !has_model(project) {
        return Err(ErrorView::hinted(
            Code::Refused,
            "no model reads entries",
            "name one in your `config.yaml`, under `llm.extraction`; `sampling` cannot, for no client asks",
        ));
    }
    let number = match id {
        Some(id) => Some(entry_named(project, id).await?.number),
        None => None,
    };
    project.change_readings(vec![Reading::Again(number)]).await.map_err(unavailable)?;
    let message = match number {
        Some(number) => format!("{} is read again in the background", id_text(number)),
        None => "all entries are read again in the background".to_string(),
    };
    Ok(KbMaintainReply { message, ..KbMaintainReply::default() })
}

/// Forgets model readings.
pub(super) async fn forget(
    project: &Arc<Project>,
    id: Option<&str>,
) -> Result<KbMaintainReply, ErrorView> {
    // An entry whose reading is forgotten is stored as read with an empty result; otherwise it
    // would be read again at once.
    let nothing = |row: &EntryRow| {
        let (entry, hash) = (row.number, row.text_hash);
        Reading::Done(Enriched { entry, hash, ..Enriched::default() })
    };
    let (readings, what) = match id {
        Some(id) => {
            let row = entry_named(project, id).await?;
            (vec![nothing(&row)], id_text(row.number))
        }
        None => {
            let worker = project.clone();
            let readings = blocking(move || {
                let snapshot = worker.snapshot().map_err(unreadable)?;
                let library = library(&worker, &snapshot)?;
                let rows = library.entry_index.entries().map(nothing);
                Ok([Reading::Forgotten].into_iter().chain(rows).collect())
            })
            .await?;
            (readings, "entries".to_string())
        }
    };
    project.change_readings(readings).await.map_err(unavailable)?;
    let message = format!("what a model read in {what} is forgotten");
    Ok(KbMaintainReply { message, ..KbMaintainReply::default() })
}

/// Returns the counts, if there are any.
pub(super) fn counts(project: &Project, library: &Library) -> Option<Enrichment> {
    let has_model = has_model(project);
    let active = || library.entry_index.entries().filter(|row| row.entry.is_active);
    let readings = || active().filter_map(|row| library.entry_index.reading(row));
    let counts = Enrichment {
        relations: library.entry_index.graph.n_by_llm(),
        read: readings().filter(|it| it.trouble.is_none() && !it.model.is_empty()).count() as u64,
        waiting: if has_model { library.entry_index.unread().count() as u64 } else { 0 },
        unreadable: readings().filter(|it| it.trouble.is_some()).count() as u64,
    };
    (has_model || counts.read > 0).then_some(counts)
}
