//! Line: formats JSON-RPC messages as lines.
//!
//! In: ids, methods, results. Out: one line each, without the line break.
//! Invariants: a client's id is returned verbatim; converting it to a number type might change it.

use serde_json::{Value, json};

pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        .to_string()
        .into_bytes()
}

pub(super) fn notification(method: &str, params: &Value) -> Vec<u8> {
    let message = match params.as_object().is_some_and(|it| it.is_empty()) {
        true => json!({ "jsonrpc": "2.0", "method": method }),
        false => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    };
    message.to_string().into_bytes()
}

/// Returns the answer to request `id`, which is JSON.
pub(super) fn result(id: &str, result: &Value) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// Returns the error that answers request `id`, which is JSON.
pub(super) fn error(id: &str, error: &Value) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// Returns the parameters of a request; an empty object if it has none.
pub(super) fn params(line: &[u8]) -> Value {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    message.get("params").filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({}))
}
