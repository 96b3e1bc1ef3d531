//! Call: calls one tool with typed parameters and a typed reply.
//!
//! In: a tool's parameters. Out: its reply, or why there is none.

use proto::error::{Code, ErrorView};
use proto::tool::Tool;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorData};
use serde::Deserialize;
use serde_json::Value;

use crate::connect::Session;

/// Why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The daemon refused, with a code and usually a hint.
    #[error(transparent)]
    Refused(#[from] ErrorView),
    /// The connection broke before the reply came.
    #[error("the connection to the daemon broke during `{tool}`: {why}")]
    Broken {
        /// The tool that was called.
        tool: &'static str,
        /// The error of the transport.
        why: String,
    },
    /// The reply does not have the expected form.
    #[error("unexpected reply to `{tool}`: {why}\nhint: `kgctl restart` runs the installed daemon")]
    Strange {
        /// The tool that was called.
        tool: &'static str,
        /// What does not match.
        why: String,
    },
}

impl CallError {
    /// Returns the stable error code, if the daemon gave one.
    pub fn code(&self) -> Option<Code> {
        match self {
            CallError::Refused(view) => Some(view.code),
            CallError::Broken { .. } | CallError::Strange { .. } => None,
        }
    }
}

impl Session {
    /// Calls a tool and waits for its reply.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call<T: Tool>(&self, parameters: &T) -> Result<T::Reply, CallError> {
        read::<T>(self.result(parameters).await?)
    }

    /// Calls a tool of a gateway: the text of its answer, and the same as data, which name the projects.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call_gateway<T: Tool>(
        &self,
        parameters: &T,
    ) -> Result<(String, Value), CallError> {
        let mut result = checked(self.result(parameters).await?)?;
        let data = result.structured_content.take();
        let strange = || CallError::Strange { tool: T::NAME, why: "it has no data".to_string() };
        Ok((text(&result).unwrap_or_default(), data.ok_or_else(strange)?))
    }

    async fn result<T: Tool>(&self, parameters: &T) -> Result<CallToolResult, CallError> {
        let strange = |why: String| CallError::Strange { tool: T::NAME, why };
        let arguments = match serde_json::to_value(parameters) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(other) => return Err(strange(format!("parameters are not an object: {other}"))),
            Err(error) => return Err(strange(error.to_string())),
        };
        let request = CallToolRequestParams::new(T::NAME).with_arguments(arguments);
        self.peer().call_tool(request).await.map_err(|error| refused(T::NAME, error))
    }
}

fn text(result: &CallToolResult) -> Option<String> {
    result.content.first().and_then(|it| it.as_text()).map(|it| it.text.clone())
}

/// Returns a result that is no refusal.
fn checked(result: CallToolResult) -> Result<CallToolResult, CallError> {
    if result.is_error != Some(true) {
        return Ok(result);
    }
    let content = result.structured_content.as_ref();
    let view = content.and_then(|content| ErrorView::deserialize(content).ok());
    let view = view.or_else(|| serde_json::from_str(&text(&result)?).ok());
    let message = || text(&result).unwrap_or_else(|| "the daemon gave no reason".to_string());
    Err(view.unwrap_or_else(|| without_code(message())).into())
}

fn read<T: Tool>(result: CallToolResult) -> Result<T::Reply, CallError> {
    let mut result = checked(result)?;
    let reply = match result.structured_content.take() {
        Some(content) => serde_json::from_value(content),
        None => serde_json::from_str(&text(&result).unwrap_or_default()),
    };
    reply.map_err(|error| CallError::Strange { tool: T::NAME, why: error.to_string() })
}

fn without_code(message: String) -> ErrorView {
    ErrorView { code: Code::Internal, message, hint: None, conflict: None }
}

fn refused(tool: &'static str, error: ServiceError) -> CallError {
    match error {
        ServiceError::McpError(data) => CallError::Refused(view_of(data)),
        ServiceError::UnexpectedResponse => {
            CallError::Strange { tool, why: "it is not a tool result".to_string() }
        }
        other => CallError::Broken { tool, why: other.to_string() },
    }
}

/// Converts a JSON-RPC error; the daemon puts code and hint into its data.
fn view_of(error: ErrorData) -> ErrorView {
    #[derive(Deserialize)]
    struct Data {
        code: Code,
        hint: Option<String>,
    }
    let data = error.data.and_then(|data| Data::deserialize(data).ok());
    let message = error.message.into_owned();
    match data {
        Some(Data { code, hint }) => ErrorView { code, message, hint, conflict: None },
        None => without_code(message),
    }
}

#[cfg(test)]
mod tests {
    use proto::tool::admin::{Wait, WaitReply};
    use serde_json::json;

    use super::*;

    fn result(value: Value) -> CallToolResult {
        serde_json::from_value(value).expect("a tool result")
    }

    #[test]
    fn replies_come_from_structured_content_else_from_text() {
        let reply = json!({ "reached": true, "project": "notes", "tick": 7, "unknown": 1 });
        let structured = read::<Wait>(result(json!({ "content": [], "structuredContent": reply })));
        let text = read::<Wait>(result(
            json!({ "content": [{ "type": "text", "text": reply.to_string() }] }),
        ));
        for read in [structured, text] {
            let WaitReply { reached, freshness } = read.expect("a reply");
            assert_eq!((reached, freshness.tick), (true, 7));
        }
        let strange =
            read::<Wait>(result(json!({ "content": [{ "type": "text", "text": "hello" }] })));
        assert!(matches!(strange, Err(CallError::Strange { tool: "wait", .. })));
    }

    #[test]
    fn errors_keep_their_code_and_hint() {
        let view = json!({ "code": "not_found", "message": "no entity `x`", "hint": "look it up" });
        let error = read::<Wait>(result(
            json!({ "content": [], "isError": true, "structuredContent": view }),
        ));
        let error = error.expect_err("an error");
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (Some(Code::NotFound), "no entity `x`\nhint: look it up")
        );

        let plain = json!({ "content": [{ "type": "text", "text": "it broke" }], "isError": true });
        let error = read::<Wait>(result(plain)).expect_err("an error");
        assert_eq!((error.code(), error.to_string().as_str()), (Some(Code::Internal), "it broke"));

        let data = json!({ "code": "unavailable", "hint": "later" });
        let error =
            view_of(ErrorData::new(rmcp::model::ErrorCode(-32_000), "stopping", Some(data)));
        assert_eq!((error.code, error.hint.as_deref()), (Code::Unavailable, Some("later")));
    }
}
