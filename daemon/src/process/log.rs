//! Log: writes to standard error, and sends spans to an OpenTelemetry collector.
//!
//! In: the settings `log` and `telemetry`. Out: lines of text, or of JSON; a level that can be changed.
//! Invariants: secrets are removed before anything is logged, whatever the source: a path, a panic,
//! a client's name; a log file that was removed is created again.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Stderr, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use config::settings::{Log, LogFormat, Settings};
use jiff::Timestamp;
use redact::clean;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use super::spans::{Collector, Exporter};

/// The crates of the daemon.
const CRATES: [&str; 13] = [
    "daemon", "embed", "engine", "extract", "formats", "hub", "index", "language", "model",
    "query", "redact", "server", "sys",
];

/// Changes the level, and sends the remaining spans.
#[derive(Clone)]
pub(super) struct Logging {
    level: reload::Handle<EnvFilter, Registry>,
    collector: Option<Collector>,
}

impl Logging {
    /// Starts the log of this process, and the export of its spans.
    ///
    /// # Errors
    /// If `log.level` is invalid, or a log was started before.
    pub(super) fn start(settings: &Settings) -> anyhow::Result<Logging> {
        let filter = filter_of(&settings.log).map_err(anyhow::Error::msg)?;
        let (filter, level) = reload::Layer::new(filter);
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match settings.log.format {
            LogFormat::Json => JsonLines.boxed(),
            LogFormat::Text => {
                let text = fmt::layer()
                    .with_writer(|| Cleaned(std::io::stderr()))
                    .with_ansi(std::io::stderr().is_terminal());
                // The journal adds its own times.
                match std::env::var_os("JOURNAL_STREAM") {
                    Some(_) => text.without_time().boxed(),
                    None => text.boxed(),
                }
            }
        };
        let otlp = &settings.telemetry.otlp;
        let (exporter, collector) = match otlp.is_empty() {
            true => (None, None),
            false => {
                let (exporter, collector) = Exporter::start(otlp)?;
                (Some(exporter.filtered()), Some(collector))
            }
        };
        // Panics go through the log, too, so that secrets are removed from their messages.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            let message = panic.payload_as_str().unwrap_or("no message");
            tracing::error!(place, message, "panic");
        }));
        let layers = tracing_subscriber::registry().with(lines.with_filter(filter)).with(exporter);
        let started = layers.try_init();
        started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))?;
        Ok(Logging { level, collector })
    }

    /// Applies these settings from now on.
    pub(super) fn set_level(&self, log: &Log) {
        // The filter was validated when the settings were read; reloading fails only if the log is gone.
        if let Ok(filter) = filter_of(log) {
            let _ = self.level.reload(filter);
        }
    }

    /// Sends the remaining spans.
    pub(super) fn finish(&self) {
        self.collector.iter().for_each(Collector::finish);
    }
}

/// The log file, which the client that started the daemon opened as its standard error.
#[derive(Debug)]
pub(super) struct LogFile(PathBuf);

impl LogFile {
    /// Returns the log at `path`; `None` if standard error is something else, such as the journal.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let log = LogFile(path.to_path_buf());
        log.is_there().then_some(log)
    }

    /// Recreates the file if it was removed or replaced, and returns whether it did.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn tend(&self) -> io::Result<bool> {
        if self.is_there() {
            return Ok(false);
        }
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.0)?;
        // The launcher gives standard output the same file.
        rustix::stdio::dup2_stdout(&log)?;
        rustix::stdio::dup2_stderr(&log)?;
        Ok(true)
    }

    fn is_there(&self) -> bool {
        let there = self.0.metadata();
        // A duplicate, since a `File` closes what it owns.
        let own =
            io::stderr().as_fd().try_clone_to_owned().and_then(|it| File::from(it).metadata());
        own.is_ok_and(|own| there.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino())))
    }
}

/// Parses `log.level`.
///
/// # Errors
/// If it is invalid.
pub(super) fn filter_of(log: &Log) -> Result<EnvFilter, String> {
    let wanted = &log.level;
    // `rmcp` logs whole messages below `warn`, before any secrets are removed. Its errors are about clients that left
    // with requests in flight: not our errors, and any number of lines.
    let filter = format!("{},rmcp=off", of_all_crates(wanted));
    EnvFilter::try_new(filter).map_err(|error| {
        format!(
            "`log.level` is `{wanted}`, which is not understood: {error}\nhint: `info` or `debug`"
        )
    })
}

/// Expands `daemon` in a filter to all crates of the daemon.
fn of_all_crates(wanted: &str) -> String {
    let all = |part: &str| match part.trim().strip_prefix("daemon") {
        Some(rest) if rest.is_empty() || rest.starts_with(['=', '[']) => {
            CRATES.map(|name| format!("{name}{rest}")).join(",")
        }
        _ => part.to_string(),
    };
    wanted.split(',').map(all).collect::<Vec<_>>().join(",")
}

/// Lines of JSON, one per event.
struct JsonLines;

impl<S: Subscriber> Layer<S> for JsonLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // One write per line: other threads write, too.
        let line = format!("{}\n", json_line(event));
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn json_line(event: &Event<'_>) -> Value {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let message = fields.0.remove("message").unwrap_or_default();
    json!({
        "time": Timestamp::now().to_string(), "level": event.metadata().level().as_str(),
        "target": event.metadata().target(), "message": message, "fields": fields.0,
    })
}

/// The fields of an event or a span, without secrets.
#[derive(Default)]
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_string(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field, clean(&format!("{value:?}")).into_owned());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, clean(value).into_owned());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
}

/// Standard error without secrets.
struct Cleaned(Stderr);

impl Write for Cleaned {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let shown = String::from_utf8_lossy(line);
        // The caller counts the bytes of its own line, whatever was removed from it.
        self.0.write_all(clean(&shown).as_bytes()).map(|()| line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemon_in_a_log_filter_means_every_crate_of_it() {
        assert_eq!(of_all_crates("info"), "info");
        assert_eq!(of_all_crates("query=trace,daemons=off"), "query=trace,daemons=off");
        let all = of_all_crates("warn, daemon=debug");
        assert!(all.starts_with("warn,daemon=debug,embed=debug,engine=debug,"), "{all}");
        assert!(all.ends_with(",server=debug,sys=debug"), "{all}");
    }

    #[test]
    fn a_level_that_is_not_understood_is_named() {
        let log = |level: &str| Log { level: level.into(), ..Log::default() };
        assert!(filter_of(&log("warn,daemon=debug")).is_ok());
        let error = filter_of(&log("daemon=loud")).map(|_| ()).expect_err("no such level");
        assert!(error.starts_with("`log.level` is `daemon=loud`"), "{error}");
    }
}
