//! At least: the ticks that an answer of several projects must show.
//!
//! In: the argument `at_least` of a call, `{project: tick}`. Out: each project's own tick.
//! Invariants: a name that selects no served project is refused, never ignored.

use proto::error::{Code, ErrorView};
use serde_json::{Map, Value};

use super::served::Served;

const NAME: &str = "at_least";

/// Refuses ticks of projects that are not served, and a bare tick, which could belong to any
/// project where there are several.
pub(super) fn check(arguments: &Map<String, Value>, served: &Served) -> Result<(), ErrorView> {
    match arguments.get(NAME) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Number(_)) if served.len() == 1 => Ok(()),
        Some(Value::Object(ticks)) => {
            ticks.keys().try_for_each(|name| served.named(name).map(|_| ()))
        }
        Some(_) => Err(ErrorView::hinted(
            Code::InvalidParams,
            format!("`{NAME}` does not say whose tick it is"),
            format!("give `{NAME}` as `{{\"PROJECT\": TICK}}`, with some of {}", served.listing()),
        )),
    }
}

/// Returns the parameters of a call for one project, with only its own tick.
pub(super) fn of(mut params: Value, project: usize, served: &Served) -> Value {
    let Some(arguments) = params.get_mut("arguments").and_then(Value::as_object_mut) else {
        return params;
    };
    let own = match arguments.shift_remove(NAME) {
        Some(Value::Object(ticks)) => {
            let own = ticks.into_iter().find(|(name, _)| served.find(name) == Some(project));
            own.map(|(_, tick)| tick)
        }
        bare => bare,
    };
    if let Some(tick) = own {
        arguments.insert(NAME.to_string(), tick);
    }
    params
}
