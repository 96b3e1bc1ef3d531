//! Lenient: repairs requests whose parameters `rmcp` does not understand.
//!
//! In: a request. Out: one that can be answered, or why it cannot. `rmcp` treats a known method
//! with unexpected parameters as an unknown method, and then reports missing metadata. A client
//! whose greeting is merely unusual (no version, its own form of capabilities) is accepted, because
//! we use none of it.
//! use none of it.

use rmcp::model::{ClientRequest, CustomRequest, InitializeRequestParams, Request};
use serde_json::{Value, json};

/// Makes the request answerable.
///
/// # Errors
/// If its parameters are wrong, with a hint.
pub(super) fn repair(request: &mut ClientRequest) -> Result<(), String> {
    let ClientRequest::CustomRequest(unknown) = &*request else { return Ok(()) };
    let hint = match unknown.method.as_str() {
        "initialize" => {
            if let Some(params) = greeting(unknown) {
                *request = ClientRequest::InitializeRequest(Request::new(params));
                return Ok(());
            }
            "it takes `protocolVersion`, `capabilities` and `clientInfo`"
        }
        "tools/call" => "it takes `name`, and an object `arguments`",
        "tools/list" => "it takes no parameters",
        _ => return Ok(()),
    };
    Err(format!("the parameters of `{}` are not understood\nhint: {hint}", unknown.method))
}

fn greeting(request: &CustomRequest) -> Option<InitializeRequestParams> {
    let params = request.params.as_ref()?;
    let version = params.get("protocolVersion")?.as_str()?;
    let of_client =
        |field| params.get("clientInfo").and_then(|info| info.get(field)).and_then(Value::as_str);
    let client = json!({
        "name": of_client("name").unwrap_or("unknown"),
        "version": of_client("version").unwrap_or("unknown"),
    });
    let usual = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    serde_json::from_value(usual).ok()
}
