//! Refused: the refusals of requests.
//!
//! In: the reason. Out: a refusal with its status, and a hint.

use std::time::Duration;

use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};
use proto::error::Code;

use crate::access::Denied;
use crate::reply::{Refusal, brief};
use crate::{MCP_PATH, SSE_PATH};

pub(crate) fn unknown_session() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, "no session has this id")
        .hint("it ended, or was idle for too long: begin another one with `initialize`")
}

pub(crate) fn stopping() -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, "the server is stopping")
        .hint("begin another session with `initialize` once it runs again")
}

pub(crate) fn nothing_at(path: &str) -> Refusal {
    let message = format!("no page at `{}`", brief(path));
    Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message)
        .hint(format!("MCP is at `{MCP_PATH}`, for older clients at `{SSE_PATH}`"))
}

pub(crate) fn not_allowed(method: &Method, allowed: &'static str) -> Refusal {
    let message = format!("method `{method}` is not supported here");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidParams, message)
        .header(ALLOW, HeaderValue::from_static(allowed))
}

pub(crate) fn too_large(max: usize) -> Refusal {
    let message = format!("the body is longer than {max} bytes");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidParams, message)
        .hint("give paths of files instead of their text")
}

pub(crate) fn too_many(what: &str) -> Refusal {
    let message = format!("too many {what} are open");
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
        .hint("end some, or try again later")
        .header(RETRY_AFTER, HeaderValue::from_static("10"))
}

pub(crate) fn too_often(wait: Duration) -> Refusal {
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, Code::Unavailable, "too many requests")
        .hint(format!("wait {seconds} s"))
        .header(RETRY_AFTER, HeaderValue::from(seconds))
}

pub(crate) fn refusal_of(denied: &Denied) -> Refusal {
    let refuse = |status, message| Refusal::new(status, Code::Refused, message);
    match denied {
        Denied::Host(host) => {
            let message = format!("`{}` is not a name of this server", brief(host));
            refuse(StatusCode::FORBIDDEN, message)
                .hint("if it is yours, list it under `http.hosts` in your own `config.yaml`")
        }
        Denied::Origin(origin) => {
            let message = format!("pages of `{}` may not ask here", brief(origin));
            refuse(StatusCode::FORBIDDEN, message)
                .hint("if it is yours, list it under `http.origins` in your own `config.yaml`")
        }
        Denied::NoToken | Denied::WrongToken => {
            let message = match denied {
                Denied::NoToken => "a token is needed",
                _ => "the token is wrong",
            };
            refuse(StatusCode::UNAUTHORIZED, message.to_string())
                .hint("send `Authorization: Bearer …`; `kgctl http clients` prints what to paste")
                .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
    }
}
