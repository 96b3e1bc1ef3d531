//! Metrics: the numbers of `status` as Prometheus reads them.
//!
//! In: a reply of `status`. Out: its numbers and flags in the text format, version 0.0.4.
//! Invariants: names follow from the reply's fields (`progress.indexed` is `kgd_progress_indexed`), so a new number
//! needs nothing here; the name of a list's item is its label, and of lists of files only the length is given: paths
//! are no labels.
//! Not here: who may ask (`endpoint.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// The media type of the text format.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Fields that name the items of a list.
const LABELS: [&str; 2] = ["stage", "slot"];

/// Renders the numbers of a reply.
pub(crate) fn text(reply: &Value) -> String {
    let mut samples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    gather("kgd", "", reply, &mut samples);
    let mut out = String::new();
    for (name, lines) in samples {
        let _ = writeln!(out, "# TYPE {name} gauge");
        lines.iter().for_each(|line| _ = writeln!(out, "{name}{line}"));
    }
    out
}

fn gather(name: &str, label: &str, value: &Value, samples: &mut BTreeMap<String, Vec<String>>) {
    let mut sample = |number: String| {
        samples.entry(name.to_string()).or_default().push(format!("{label} {number}"));
    };
    match value {
        Value::Number(number) => sample(number.to_string()),
        Value::Bool(flag) => sample(u8::from(*flag).to_string()),
        Value::Object(fields) => {
            for (field, value) in fields {
                let field = field.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                gather(&format!("{name}_{field}"), label, value, samples);
            }
        }
        Value::Array(items) => {
            let called = |item: &Value| {
                if item.get("path").is_some() {
                    return None;
                }
                let found =
                    LABELS.into_iter().find_map(|key| Some((key, item.get(key)?.as_str()?)));
                found.map(|(key, value)| format!("{{{key}={value:?}}}"))
            };
            let labels: Vec<_> = items.iter().map(called).collect();
            if labels.iter().all(Option::is_none) {
                return sample(items.len().to_string());
            }
            for (item, label) in items.iter().zip(labels) {
                gather(name, &label.unwrap_or_default(), item, samples);
            }
        }
        Value::String(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_become_samples() {
        let reply = json!({
            "settled": true, "version": "1.0", "progress": { "known": 4, "indexed": 3 }, "ingest_rate": 0.5,
            "counts": { "repeated paragraphs": 2 }, "quarantine": [{ "path": "a.md", "stage": "x" }],
            "queues": [{ "stage": "chunk", "bulk": 1 }, { "stage": "link", "bulk": 0 }], "warnings": []
        });
        expect![[r#"
            # TYPE kgd_counts_repeated_paragraphs gauge
            kgd_counts_repeated_paragraphs 2
            # TYPE kgd_ingest_rate gauge
            kgd_ingest_rate 0.5
            # TYPE kgd_progress_indexed gauge
            kgd_progress_indexed 3
            # TYPE kgd_progress_known gauge
            kgd_progress_known 4
            # TYPE kgd_quarantine gauge
            kgd_quarantine 1
            # TYPE kgd_queues_bulk gauge
            kgd_queues_bulk{stage="chunk"} 1
            kgd_queues_bulk{stage="link"} 0
            # TYPE kgd_settled gauge
            kgd_settled 1
            # TYPE kgd_warnings gauge
            kgd_warnings 0
        "#]]
        .assert_eq(&text(&reply));
    }
}
