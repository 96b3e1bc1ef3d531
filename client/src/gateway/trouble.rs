//! Trouble: why a project gave no answer, in a common form.
//!
//! In: an error of JSON-RPC, a tool's error, silence. Out: code, message and hint.

use std::time::Duration;

use config::command::ProjectFlags;
use proto::error::{Code, ErrorView};
use serde_json::{Map, Value, json};

/// Longest message or hint of a project that is passed on, in characters.
const MAX_CHARS: usize = 300;

/// Why a project gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trouble {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The JSON-RPC error, if it was one.
    pub(super) error: Option<Box<Value>>,
}

impl Trouble {
    /// Converts a JSON-RPC error: the daemon's, or the shim's if there is no daemon.
    pub(super) fn of_error(error: Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_string);
        let data = error.get("data");
        let message = text(error.get("message")).unwrap_or_else(|| "it gave no reason".to_string());
        let (message, hint) = match message.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_string(), Some(hint.to_string())),
            None => (message, None),
        };
        Trouble {
            code: text(data.and_then(|it| it.get("code")))
                .unwrap_or_else(|| "internal".to_string()),
            message,
            hint: text(data.and_then(|it| it.get("hint"))).or(hint),
            error: Some(Box::new(error)),
        }
    }

    /// Converts a tool's error result; `None` for other results.
    pub(super) fn of_result(result: &Value) -> Option<Self> {
        if result.get("isError") != Some(&Value::Bool(true)) {
            return None;
        }
        let content = result.get("structuredContent");
        let field = |name: &str| content?.get(name)?.as_str().map(str::to_string);
        let text = || result.pointer("/content/0/text")?.as_str().map(str::to_string);
        Some(Trouble {
            code: field("code").unwrap_or_else(|| "internal".to_string()),
            message: field("message").or_else(text).unwrap_or_default(),
            hint: field("hint"),
            error: None,
        })
    }

    /// A project that is not served any more.
    pub(super) fn gone(view: ErrorView) -> Self {
        let code = serde_json::to_value(view.code).unwrap_or_default();
        let code = code.as_str().unwrap_or_default().to_string();
        Trouble { code, message: view.message, hint: view.hint, error: None }
    }

    /// A project that did not answer in time.
    pub(super) fn late(patience: Duration) -> Self {
        Trouble {
            code: "deadline_exceeded".to_string(),
            message: format!("no answer within {} s", patience.as_secs_f32()),
            hint: Some("ask again, or name the `project` to wait for it".to_string()),
            error: None,
        }
    }

    /// An answer that cannot be parsed.
    pub(super) fn strange() -> Self {
        Trouble {
            code: "internal".to_string(),
            message: "the answer has an unexpected form".to_string(),
            hint: Some("`kgctl restart` runs the installed daemon".to_string()),
            error: None,
        }
    }

    /// Returns the hint with commands that name the project: there are several.
    fn hint_about(&self, project: &str) -> Option<String> {
        let flags = ProjectFlags::named(project);
        self.hint.as_ref().map(|hint| flags.in_text(hint).into_owned())
    }

    /// Returns its row in `unavailable` of an answer.
    pub(super) fn row(&self, project: &str) -> Value {
        let mut row =
            json!({ "project": project, "code": self.code, "message": short(&self.message) });
        if let Some(hint) = self.hint_about(project) {
            row["hint"] = short(&hint).into();
        }
        row
    }

    /// Renders the trouble as a line below the hits of others.
    pub(super) fn line(&self, project: &str) -> String {
        let hint = self.hint_about(project).map(|hint| format!("; {}", short(&hint)));
        let hint = hint.unwrap_or_default();
        format!("({project} is not in this: {}{hint})", short(&self.message))
    }

    /// Converts it to the error of a whole call.
    pub(super) fn view(&self) -> ErrorView {
        let code = serde_json::from_value(self.code.as_str().into()).unwrap_or(Code::Unavailable);
        ErrorView { code, message: self.message.clone(), hint: self.hint.clone(), conflict: None }
    }
}

fn short(text: &str) -> String {
    let text = crate::render::clean(text);
    let cut: String = text.chars().take(MAX_CHARS).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}

/// Returns a tool's error result, with additional fields.
pub(super) fn error_result(view: &ErrorView, further: Map<String, Value>) -> Value {
    let mut content = serde_json::to_value(view).unwrap_or_default();
    if let Value::Object(fields) = &mut content {
        fields.extend(further);
    }
    json!({
        "content": [{ "type": "text", "text": view.to_string() }],
        "structuredContent": content,
        "isError": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_trouble_has_code_message_and_hint() {
        let of_shim =
            json!({"code": -32000, "message": "no", "data": {"code": "unavailable", "hint": "h"}});
        let of_rpc = json!({"code": -32602, "message": "no tool\nhint: others"});
        let content = json!({"code": "not_found", "message": "no x"});
        let of_tool = json!({"isError": true, "content": [], "structuredContent": content});
        let table = [
            (Trouble::of_error(of_shim), "unavailable", "no", Some("h")),
            (Trouble::of_error(of_rpc), "internal", "no tool", Some("others")),
            (Trouble::of_result(&of_tool).expect("an error"), "not_found", "no x", None),
        ];
        for (trouble, code, message, hint) in table {
            let found = (trouble.code.as_str(), trouble.message.as_str(), trouble.hint.as_deref());
            assert_eq!(found, (code, message, hint));
        }
        assert_eq!(Trouble::of_result(&json!({"content": []})), None);
        let late = Trouble::late(Duration::from_millis(1500)).line("b");
        assert!(late.starts_with("(b is not in this: no answer within 1.5 s; ask again"), "{late}");
    }
}
