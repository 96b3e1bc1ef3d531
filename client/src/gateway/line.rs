//! Line: messages of JSON-RPC as lines.
//!
//! In: ids, methods, results. Out: one line each, without its end.
//! Invariants: a client's id goes back as it came, not by way of a number type that might change it.

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

/// The answer to request `id`, which is JSON.
pub(super) fn result(id: &str, result: &Value) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

/// The error that answers request `id`, which is JSON.
pub(super) fn error(id: &str, error: &Value) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// The parameters of a request; an empty object where it has none.
pub(super) fn params(line: &[u8]) -> Value {
    let message: Value = serde_json::from_slice(line).unwrap_or_default();
    message.get("params").filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({}))
}
