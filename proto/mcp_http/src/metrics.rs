//! Metrics: the numbers of `status` in the format of Prometheus.
//!
//! In: a reply of `status`, and the schema of such a reply. Out: its numbers and flags in the text format, version
//! 0.0.4; a table of all of them.
//! Invariants: names, help and types follow from the reply's fields (`progress.indexed` is `kgd_progress_indexed`), so
//! a new number needs no code here; keys of maps and names of a list's items are labels, since they may be any text; of
//! lists of files only the length is reported: paths are not labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proto::tool::core::StatusReply;
use serde_json::Value;

/// The media type of the text format.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Fields by which the items of a list are labeled.
const LABELS: [&str; 2] = ["stage", "slot"];

/// The label for the keys of a map.
const KEY: &str = "kind";

/// Numbers that only grow while the daemon runs, by field. Their names end in `_total`.
const COUNTERS: [&str; 6] = [
    "llm.calls",
    "llm.failures",
    "n_written",
    "scrub.damaged",
    "workers.failed",
    "workers.started",
];

/// One number of the reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Metric {
    help: String,
    is_counter: bool,
    /// The label of its samples, if it has several.
    label: Option<&'static str>,
}

/// Returns every number that a reply may have, by name.
fn metrics() -> BTreeMap<String, Metric> {
    let schema = schemars::schema_for!(StatusReply).to_value();
    let mut found = BTreeMap::new();
    Walk { schema: &schema, found: &mut found }.field("", &schema, None);
    found
}

/// Collects the metrics of a schema.
struct Walk<'a> {
    schema: &'a Value,
    found: &'a mut BTreeMap<String, Metric>,
}

impl<'a> Walk<'a> {
    /// Follows references, and the form of several that is not null.
    fn resolved(&self, of: &'a Value) -> &'a Value {
        let forms = of.get("anyOf").and_then(Value::as_array);
        let whole = |it: &&Value| it.get("type").and_then(Value::as_str) != Some("null");
        if let Some(form) = forms.and_then(|forms| forms.iter().find(whole)) {
            return self.resolved(form);
        }
        let place = of.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        place.and_then(|it| self.schema.pointer(it)).map_or(of, |it| self.resolved(it))
    }

    fn field(&mut self, path: &str, declared: &'a Value, label: Option<&'static str>) {
        let it = self.resolved(declared);
        let is_a = |kind: &str| match &it["type"] {
            Value::Array(kinds) => kinds.iter().any(|it| it == kind),
            one => one == kind,
        };
        if is_a("array") {
            let items = self.resolved(&it["items"]);
            let has = |name: &str| items["properties"].get(name).is_some();
            // Lists of files have paths: their items would be labels without bound.
            let named = LABELS.into_iter().find(|name| has(name) && !has("path"));
            match named {
                Some(name) => self.field(path, items, Some(name)),
                None => self.put(path, declared, label),
            }
        } else if let Some(fields) = it.get("properties").and_then(Value::as_object) {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                self.field(&path, field, label);
            }
        } else if it.get("additionalProperties").is_some_and(Value::is_object) {
            self.put(path, declared, Some(KEY));
        } else if is_a("integer") || is_a("number") || is_a("boolean") {
            self.put(path, declared, label);
        }
    }

    fn put(&mut self, path: &str, declared: &Value, label: Option<&'static str>) {
        let text = declared.get("description").and_then(Value::as_str).unwrap_or_default();
        // The first paragraph of a description is enough, and must be one line.
        let help = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let is_counter = COUNTERS.contains(&path);
        self.found.insert(name_of(path), Metric { help, is_counter, label });
    }
}

fn name_of(path: &str) -> String {
    let name = path.replace('.', "_");
    match (COUNTERS.contains(&path), name.strip_suffix("_total")) {
        (true, _) => format!("kgd_{name}_total"),
        // The suffix would mark it as a counter.
        (false, Some(rest)) => format!("kgd_{rest}_all"),
        (false, None) => format!("kgd_{name}"),
    }
}

/// Renders the numbers of a reply.
pub(crate) fn text(reply: &Value) -> String {
    let mut samples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let metrics = metrics();
    gather("", "", reply, &metrics, &mut samples);
    let mut out = String::new();
    for (name, lines) in samples {
        // Numbers without a metric, such as ids, are not exported.
        let Some(metric) = metrics.get(&name) else { continue };
        let kind = if metric.is_counter { "counter" } else { "gauge" };
        let _ = writeln!(out, "# HELP {name} {}", metric.help.replace('\\', "\\\\"));
        let _ = writeln!(out, "# TYPE {name} {kind}");
        lines.iter().for_each(|line| _ = writeln!(out, "{name}{line}"));
    }
    out
}

/// Formats a label with its value escaped.
fn labeled(label: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{{label}=\"{value}\"}}")
}

fn gather(
    path: &str,
    label: &str,
    value: &Value,
    metrics: &BTreeMap<String, Metric>,
    samples: &mut BTreeMap<String, Vec<String>>,
) {
    let mut sample = |number: String| {
        samples.entry(name_of(path)).or_default().push(format!("{label} {number}"));
    };
    let metric = metrics.get(&name_of(path));
    match value {
        Value::Number(number) => sample(number.to_string()),
        Value::Bool(flag) => sample(u8::from(*flag).to_string()),
        Value::Object(fields) => {
            let is_map = metric.is_some_and(|it| it.label == Some(KEY));
            for (field, value) in fields {
                if is_map {
                    gather(path, &labeled(KEY, field), value, metrics, samples);
                    continue;
                }
                let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
                gather(&path, label, value, metrics, samples);
            }
        }
        // A list that is a number itself gives its length.
        Value::Array(items) if metric.is_some() => sample(items.len().to_string()),
        Value::Array(items) => {
            for item in items {
                let named = LABELS.into_iter().find_map(|it| Some((it, item.get(it)?.as_str()?)));
                let Some((name, value)) = named else { continue };
                gather(path, &labeled(name, value), item, metrics, samples);
            }
        }
        Value::String(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_become_samples() {
        let reply = json!({
            "settled": true, "version": "1.0", "progress": { "known": 4, "indexed": 3 }, "ingest_rate": 0.5,
            "counts": { "repeated passages": 2, "a \"b\"\\": 1 }, "quarantine": [{ "path": "a.md", "stage": "x" }],
            "queues": [{ "stage": "chunk", "bulk": 1 }, { "stage": "link", "bulk": 0 }], "warnings": [],
            "n_written": 7, "unheard_of": 1
        });
        expect![[r##"
            # HELP kgd_counts Rows a table.
            # TYPE kgd_counts gauge
            kgd_counts{kind="repeated passages"} 2
            kgd_counts{kind="a \"b\"\\"} 1
            # HELP kgd_ingest_rate Documents a second over the last minute.
            # TYPE kgd_ingest_rate gauge
            kgd_ingest_rate 0.5
            # HELP kgd_n_written_total Changes of files written since the daemon started; rereads because of new names are not counted.
            # TYPE kgd_n_written_total counter
            kgd_n_written_total 7
            # HELP kgd_progress_indexed Documents that are.
            # TYPE kgd_progress_indexed gauge
            kgd_progress_indexed 3
            # HELP kgd_progress_known Files that should be indexed.
            # TYPE kgd_progress_known gauge
            kgd_progress_known 4
            # HELP kgd_quarantine Files that failed, newest first, at most 50.
            # TYPE kgd_quarantine gauge
            kgd_quarantine 1
            # HELP kgd_queues_bulk Documents waiting in the bulk lane.
            # TYPE kgd_queues_bulk gauge
            kgd_queues_bulk{stage="chunk"} 1
            kgd_queues_bulk{stage="link"} 0
            # HELP kgd_settled True when nothing is queued, in work, or waiting to be resolved.
            # TYPE kgd_settled gauge
            kgd_settled 1
            # HELP kgd_warnings Documents indexed with a warning (such as frontmatter that is not YAML), at most 50.
            # TYPE kgd_warnings gauge
            kgd_warnings 0
        "##]].assert_eq(&text(&reply));
    }

    #[test]
    fn every_counter_is_a_number_of_the_reply() {
        let metrics = metrics();
        let missing: Vec<_> =
            COUNTERS.iter().filter(|it| !metrics.contains_key(&name_of(it))).collect();
        assert!(missing.is_empty(), "{missing:?} of {:?}", metrics.keys());
        for (name, metric) in &metrics {
            assert!(!metric.help.is_empty(), "{name}");
            assert!(name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_'), "{name}");
        }
    }

    #[test]
    fn the_reference_of_metrics_is_current() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/metrics.md");
        let mut table = "| metric | type | label | meaning |\n|---|---|---|---|\n".to_string();
        for (name, it) in metrics() {
            let kind = if it.is_counter { "counter" } else { "gauge" };
            let label = it.label.map(|it| format!("`{it}`")).unwrap_or_default();
            let _ = writeln!(
                table,
                "| `{name}` | {kind} | {label} | {} |",
                it.help.replace('|', "\\|")
            );
        }
        let page = std::fs::read_to_string(&path).expect("the page");
        let (head, committed) = page.split_at(page.find("| metric |").expect("a table"));
        if std::env::var_os("KG_REGENERATE").is_some() {
            return std::fs::write(&path, format!("{head}{table}")).expect("written");
        }
        assert!(
            committed == table,
            "`docs/src/reference/metrics.md` is old\nhint: run the tests with `KG_REGENERATE=1`"
        );
    }
}
