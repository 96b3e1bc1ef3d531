//! At least: a call may name the tick that its answer must include.
//!
//! In: the argument `at_least` of a call. Out: waits until the tick is here, or returns why the
//! answer would be too old.
//! Invariants: waits no longer than [`PATIENCE`], and stops when the caller cancels.

use std::path::Path;
use std::time::Duration;

use notes::slug::slug;
use proto::error::{Code, ErrorView};
use serde_json::{Map, Value, json};

use super::Session;
use crate::project::Project;

/// The argument of a call, whether or not its schema lists it.
pub(super) const NAME: &str = "at_least";

/// Longest wait for a tick. The gateway gives a project 10 seconds to answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Adds the argument to the schema of a tool in a hub's front end, because only an index that
/// follows another one lags.
pub(super) fn add_to(schema: &mut Map<String, Value>) {
    let what = format!(
        "Ticks that the answer must show, by project, as earlier replies named them; it waits up to {} seconds.",
        PATIENCE.as_secs()
    );
    schema.entry("properties").or_insert_with(|| json!({}))[NAME] =
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "description": what});
}

fn refused(message: String, hint: &str) -> ErrorView {
    ErrorView::hinted(Code::InvalidParams, message, hint.to_string())
}

impl Session {
    /// Returns whether a name denotes our project.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let Project { name: ours, root, .. } = &*self.project;
        name == ours
            || name.trim().is_empty()
            || slug(name) == slug(ours)
            || Path::new(name) == root
    }

    /// Waits until the tick that a call names is here; returns at once if it names none.
    pub(super) async fn reach(
        &self,
        wanted: Option<Value>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(), ErrorView> {
        let Some(tick) = wanted.map(|it| self.tick_of(&it)).transpose()?.flatten() else {
            return Ok(());
        };
        let now = || self.project.snapshot().map_or(0, |snapshot| snapshot.tick().0);
        let reached = self.project.wait_until(PATIENCE, |_| now() >= tick);
        tokio::select! {
            is_reached = reached => if is_reached { return Ok(()) },
            // The cancelled call reports that itself.
            () = cancelled => return Ok(()),
        }
        Err(ErrorView::hinted(Code::DeadlineExceeded, format!(
                "`{}` is at tick {}, not yet at {tick}, after {} seconds",
                self.project.name,
                now(),
                PATIENCE.as_secs()
            ), "leave `at_least` out for an answer as of now; `status` says whether it is still published"
                    .to_string()))
    }

    fn tick_of(&self, wanted: &Value) -> Result<Option<u64>, ErrorView> {
        const HINT: &str = "give `at_least` as `{\"PROJECT\": TICK}`, or a tick";
        let number = |value: &Value| {
            let text = || value.as_str()?.trim().parse().ok();
            let wrong = || refused(format!("`at_least` has no tick in `{value}`"), HINT);
            value.as_u64().or_else(text).ok_or_else(wrong)
        };
        let fields: Map<String, Value> = match wanted {
            Value::Null => return Ok(None),
            Value::Object(fields) => fields.clone(),
            // Some clients send objects as text.
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => fields,
                _ => return number(wanted).map(Some),
            },
            _ => return number(wanted).map(Some),
        };
        let Some(other) = fields.keys().find(|name| !self.is_ours(name)) else {
            return fields.values().next().map(number).transpose();
        };
        let other: String = other.chars().filter(|c| !c.is_control()).take(60).collect();
        let ours = &self.project.name;
        let message = format!("`at_least` names `{other}`; this session is about `{ours}`");
        Err(refused(message, HINT))
    }
}
