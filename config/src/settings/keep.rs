//! Settings of what keeps a daemon in operation: its log, its traces, newer versions.

use serde::{Deserialize, Serialize};

/// The daemon's log. User only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// What is logged: `error`, `warn`, `info`, `debug`, or a filter such as `daemon=debug`; as `kgd --log-level`.
    pub level: String,
    /// `text`, or `json`: one object a line, with `time`, `level`, `target`, `message` and `fields`.
    pub format: LogFormat,
}

/// The form of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Log { level: "info".to_string(), format: LogFormat::Text }
    }
}

/// Traces of requests and of indexing, for OpenTelemetry. User only, because they leave the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// A collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; empty: nothing is sent. Spans name
    /// tools, durations and outcomes, never what was asked, answered or indexed.
    pub otlp: String,
    /// Whether a collector on another machine may be reached without TLS.
    pub allow_plain: bool,
}

/// Where `kgctl update` looks for a newer version. User only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Update {
    /// JSON of the newest release, as GitHub, Forgejo and Gitea give it at `…/releases/latest`; empty: that of the
    /// repository that kgd is published in. It is asked only by `kgctl update`.
    pub url: String,
}
