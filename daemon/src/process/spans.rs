//! Spans: exports the durations of requests and indexing to an OpenTelemetry collector.
//!
//! In: spans of the target `config::limits::SPANS`. Out: OTLP over HTTP, as JSON, to the address in `telemetry.otlp`.
//! Invariants: a span has names of tools and passes, times, numbers and outcomes, but nothing that was asked, answered
//! or indexed; nobody waits for the collector: when it is slow or away, spans are dropped.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use config::limits::SPANS;
use serde_json::{Map, Value, json};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use web::{Patience, Web};

use super::log::Fields;

/// Most spans waiting to be sent; a busy daemon answers some hundred requests per second.
const CAPACITY: usize = 2_048;

/// Most spans in one request.
const BATCH: usize = 256;

/// Longest time that a span waits for others in its batch.
const TOGETHER: Duration = Duration::from_secs(1);

/// Longest wait for the last spans when the daemon exits.
const LAST: Duration = Duration::from_secs(1);

/// Timeouts: a collector is close by, or not worth waiting for.
const PATIENCE: Patience = Patience {
    connect: Duration::from_secs(2),
    read: Duration::from_secs(5),
    whole: Some(Duration::from_secs(10)),
};

/// Status codes of OTLP.
const OK: u8 = 1;
const ERROR: u8 = 2;

enum Message {
    Span(Value),
    /// Send what is queued, and confirm.
    Finish(SyncSender<()>),
}

/// The layer that receives the spans of this process.
pub(super) struct Exporter {
    queue: SyncSender<Message>,
}

/// A handle to flush the spans.
#[derive(Clone)]
pub(super) struct Collector {
    queue: SyncSender<Message>,
}

/// A span that has not ended.
struct Open {
    began: SystemTime,
    fields: Fields,
}

impl Exporter {
    /// Starts exporting to a collector, which need not be running.
    ///
    /// # Errors
    /// Why no address of this kind can be reached, or no thread can start.
    pub(super) fn start(otlp: &str) -> anyhow::Result<(Exporter, Collector)> {
        let url = format!("{}/v1/traces", otlp.trim_end_matches('/'));
        let web = Web::new(&url, PATIENCE)?;
        let (queue, spans) = sync_channel(CAPACITY);
        std::thread::Builder::new().name("spans".into()).spawn(move || send(&web, &url, &spans))?;
        Ok((Exporter { queue: queue.clone() }, Collector { queue }))
    }

    /// Returns this as a layer that receives only our spans.
    pub(super) fn filtered<S: Subscriber + for<'a> LookupSpan<'a>>(self) -> impl Layer<S> {
        let is_ours: FilterFn<fn(&Metadata<'_>) -> bool> =
            filter_fn(|it| it.is_span() && it.target() == SPANS);
        self.with_filter(is_ours)
    }
}

impl Collector {
    /// Sends the remaining spans; returns when that is done or takes more than [`LAST`].
    pub(super) fn finish(&self) {
        let (done, finished) = sync_channel(1);
        if self.queue.try_send(Message::Finish(done)).is_ok() {
            let _ = finished.recv_timeout(LAST);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Exporter {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open { began: SystemTime::now(), fields });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<Open>() else { return };
        // A full queue drops the span: a daemon does not wait for a collector.
        let _ = self.queue.try_send(Message::Span(view(span.name(), open, SystemTime::now())));
    }
}

/// Returns a span in OTLP. Each is a trace of its own.
fn view(name: &str, open: Open, ended: SystemTime) -> Value {
    let nanos =
        |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
    let fields = open.fields.0;
    let tool = fields.get("tool").and_then(Value::as_str);
    // Kinds of spans: 2 is a server's, for requests; 1 is internal.
    let kind = if tool.is_some() { 2 } else { 1 };
    let has_failed = fields.get("outcome").is_some_and(|it| it != "ok");
    json!({
        "traceId": random::<16>(), "spanId": random::<8>(), "name": tool.unwrap_or(name), "kind": kind,
        "startTimeUnixNano": nanos(open.began), "endTimeUnixNano": nanos(ended),
        "attributes": attributes(&fields), "status": { "code": if has_failed { ERROR } else { OK } },
    })
}

fn attributes(fields: &Map<String, Value>) -> Vec<Value> {
    let attribute = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Bool(it) => json!({ "boolValue": it }),
            // OTLP's JSON writes 64-bit integers as strings.
            Value::Number(it) if it.is_f64() => json!({ "doubleValue": it }),
            Value::Number(it) => json!({ "intValue": it.to_string() }),
            Value::String(it) => json!({ "stringValue": it }),
            other => json!({ "stringValue": other.to_string() }),
        };
        json!({ "key": key, "value": value })
    };
    fields.iter().map(attribute).collect()
}

/// Returns random bytes as hexadecimal digits.
fn random<const N: usize>() -> String {
    let mut bytes = [0_u8; N];
    // Without randomness the id is all zeros, which is invalid: a collector drops the span.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends spans in batches until all senders are gone.
fn send(web: &Web, url: &str, spans: &Receiver<Message>) {
    let mut batch = Vec::new();
    let (mut is_away, mut due) = (false, Instant::now());
    loop {
        // The clock starts with the first span of a batch; an empty batch just waits.
        if batch.is_empty() {
            due = Instant::now() + TOGETHER;
        }
        let flushed = match spans.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Message::Span(span)) => {
                batch.push(span);
                if batch.len() < BATCH {
                    continue;
                }
                None
            }
            Ok(Message::Finish(done)) => Some(done),
            Err(RecvTimeoutError::Timeout) => None,
            // Only at exit, after the last `Finish`: spans of a batch that is not full are lost then.
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if !batch.is_empty() {
            let sent = post(web, url, std::mem::take(&mut batch));
            // Logged once per outage.
            if let (Err(why), false) = (&sent, is_away) {
                tracing::warn!(why, "`telemetry.otlp` does not accept spans; they are dropped");
            }
            is_away = sent.is_err();
        }
        if let Some(done) = flushed {
            let _ = done.try_send(());
        }
    }
}

fn post(web: &Web, url: &str, spans: Vec<Value>) -> Result<(), String> {
    let of_service = json!({ "service.name": "kgd", "service.version": proto::version(),
        "service.instance.id": std::process::id().to_string() });
    let resource = attributes(of_service.as_object().unwrap_or(&Map::new()));
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": resource }, "scopeSpans": [{ "scope": { "name": "kgd" }, "spans": spans }],
    }] });
    let reply = web.post_json(url, &[], body.to_string().as_bytes());
    let reply = reply.map_err(|error| error.to_string())?;
    if reply.status / 100 == 2 { Ok(()) } else { Err(format!("`{url}` answers {}", reply.status)) }
}
