//! `changes`: what was added, removed or changed since a time, a tick or the client's last call.

use jiff::{Timestamp, Zoned};
use proto::error::ErrorView;
use proto::tool::core::{Changes, ChangesReply};

use super::notes::when::since as moment_of;
use super::{folder_given, invalid, unreadable};
use crate::project::Project;
use index::store::{ChangeLedger, JournalStart, Snapshot};
use model::terms::Tick;
use query::changes::Since;

/// Default start for a client that never asked before.
const USUAL_SINCE: &str = "7d";

/// Returns changes, and the last commit that the client has seen completely.
pub fn changes(
    project: &Project,
    snapshot: &Snapshot,
    mut request: Changes,
    client: &str,
) -> Result<(ChangesReply, Option<Tick>), ErrorView> {
    request.path = folder_given(project, snapshot, request.path)?;
    let ledger = ChangeLedger::open(&project.state_dir).map_err(unreadable)?;
    let since = || since(&ledger, snapshot, request.since.as_deref(), client);
    let mut reply = query::changes::changes(&project.context(snapshot), &ledger, &request, since)?;
    reply.freshness = project.freshness(snapshot);
    // A further page, or a filtered list, does not cover all changes.
    let is_whole = request.cursor.is_none() && request.path.is_none() && request.entity.is_none();
    let keeps_marks = is_whole && !project.is_replica();
    Ok((reply, keeps_marks.then(|| snapshot.tick())))
}

fn since(
    ledger: &ChangeLedger,
    snapshot: &Snapshot,
    asked: Option<&str>,
    client: &str,
) -> Result<Since, ErrorView> {
    let start = ledger.start().map_err(unreadable)?;
    let mark = match asked {
        None => ledger.mark(client).map_err(unreadable)?,
        Some(_) => None,
    };
    let begun = start.unwrap_or(JournalStart { tick: snapshot.tick(), at_ms: i64::MAX });
    let (tick, shown, is_early) = match (mark, asked.and_then(tick_of)) {
        (Some((tick, at_ms)), _) => {
            (tick, format!("your last call, {}", time(at_ms)), tick < begun.tick)
        }
        (None, Some(tick)) if tick > snapshot.tick() => {
            let last = snapshot.tick().0;
            let message = format!("`since` is tick {}, the last one is {last}", tick.0);
            return Err(invalid(message, "give the `tick` of an answer, or a time such as `7d`"));
        }
        (None, Some(tick)) => (tick, format!("tick {}", tick.0), tick < begun.tick),
        (None, None) => {
            let asked = asked.unwrap_or(USUAL_SINCE);
            let at_ms = moment_of("since", asked, &Zoned::now())?.as_millisecond();
            let before = ledger.tick_before(at_ms).map_err(unreadable)?;
            let tick = before.unwrap_or(begun.tick).min(snapshot.tick());
            (tick, time(at_ms), at_ms < begun.at_ms)
        }
    };
    let hint = match start {
        None => Some("the first index is being built; changes are kept once it is whole".into()),
        Some(JournalStart { tick, at_ms }) => is_early.then(|| {
            format!("changes are known after tick {} ({}), not before", tick.0, time(at_ms))
        }),
    };
    Ok(Since { tick, shown, hint })
}

/// Parses `812` or `tick 812`. A bare year is a tick, too: a time needs a month.
fn tick_of(text: &str) -> Option<Tick> {
    let text = text.trim();
    let number = text.strip_prefix("tick").map_or(text, str::trim_start);
    number.parse().ok().map(Tick)
}

fn time(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.round(jiff::Unit::Second).unwrap_or(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_tick() {
        for (text, expected) in [
            ("812", Some(812)),
            (" tick 812", Some(812)),
            ("7d", None),
            ("2026-11", None),
            ("yesterday", None),
        ] {
            assert_eq!(tick_of(text), expected.map(Tick), "{text}");
        }
    }
}
