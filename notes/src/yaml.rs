//! Reads YAML within limits, so that hostile front matter costs milliseconds.
//!
//! In: the text between the marks; how to treat duplicate keys. Out: a value, or the line (from 1) and the reason.

use serde_json::Value;
pub(crate) use serde_saphyr::options::DuplicateKeyPolicy;

/// Longest front matter that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Most parser events and nodes, including those that aliases repeat.
const MAX_EVENTS: usize = 20_000;
/// Deepest nesting.
const MAX_DEPTH: usize = 32;
/// Longest reason taken from the parser, in characters.
const MAX_REASON_CHARS: usize = 160;

/// Reads any value of at most [`MAX_BYTES`]; the caller checks the size.
pub(crate) fn read(
    yaml: &str,
    duplicates: DuplicateKeyPolicy,
) -> Result<Value, (Option<u64>, String)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MAX_EVENTS,
            max_nodes: MAX_EVENTS,
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_aliases: 200,
            max_anchors: 200,
            max_recorded_anchor_events: MAX_EVENTS,
            max_merge_keys: 100,
            max_documents: 1,
            max_total_scalar_bytes: 4 * MAX_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_EVENTS,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: duplicates,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options::<Value>(yaml, options).map_err(|error| {
        let message = error.to_string();
        let first = message.lines().next().unwrap_or("");
        // `error: line 1 column 5: why`: drop the parser's own line, which counts from the YAML's start, not the
        // file's.
        let why = first.split_once(" column ").and_then(|(_, rest)| rest.split_once(": "));
        let why = why.map_or(first, |(_, why)| why).chars().take(MAX_REASON_CHARS).collect();
        (error.location().map(|place| place.line()), why)
    })
}
