//! Notes: renders kept versions of notes.
//!
//! In: the output of `kgd --kept` and `kgd --bring-back`. Out: text.
//! Invariant: control characters of names do not reach the terminal.

use serde_json::Value;

use super::{Style, clean, table, thousands};

/// Renders kept versions, each with how to restore it.
pub fn kept(reply: &Value, style: Style) -> String {
    // A name is shown on one line.
    let text = |row: &Value, field: &str| {
        clean(row[field].as_str().unwrap_or_default()).replace(['\n', '\t'], " ")
    };
    let row = |row: &Value| {
        let number = |field: &str| row[field].as_u64().map(thousands);
        let lines = number("n_added").zip(number("n_removed"));
        let lines = lines.map(|(came, went)| format!("+{came} -{went}")).unwrap_or_default();
        let bytes = number("bytes").unwrap_or_default();
        vec![text(row, "path"), text(row, "at"), text(row, "why"), text(row, "by"), lines, bytes]
    };
    let rows: Vec<_> = reply["versions"].as_array().into_iter().flatten().map(row).collect();
    let listed = table(style, &["note", "time", "why kept", "by", "lines since", "bytes"], rows);
    format!("{listed}`kgctl restore NOTE --at TIME` restores one\n")
}

/// Renders the result of a restore.
pub fn restored(reply: &Value) -> String {
    let path = clean(reply["path"].as_str().unwrap_or_default()).into_owned();
    match (reply["changed"].as_bool(), reply["checksum_before"].is_string()) {
        (Some(false), _) => format!("{path} already is as it was then\n"),
        (_, true) => format!("{path} was restored; the replaced version is kept\n"),
        (_, false) => format!("{path} was restored\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn versions_are_a_table() {
        let row = json!({
            "path": "a/b\u{1b}.md", "at": "20260131T093000.123456Z", "why": "removed", "by": "delete_note@codex",
            "n_added": 0, "n_removed": 12, "bytes": 1234,
        });
        let text = kept(&json!({ "versions": [row] }), Style::terminal(false));
        expect![[r#"
            note          time                     why kept  by                 lines since  bytes
            a/b\u{1b}.md  20260131T093000.123456Z  removed   delete_note@codex  +0 -12       1,234
            `kgctl restore NOTE --at TIME` restores one
        "#]]
        .assert_eq(&text);
        assert_eq!(restored(&json!({"path": "a.md", "changed": true})), "a.md was restored\n");
    }
}
