//! Maintain: renders what `kgd --restore` put back.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{clean, thousands};

/// Renders the output of `kgd --restore`.
pub fn restored(project: &str, reply: &Value, is_running: bool) -> String {
    let text = |field: &str| reply[field].as_str().map(|text| clean(text).into_owned());
    let counts: BTreeMap<String, u64> = reply["rows"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(table, n)| (table.clone(), n.as_u64().unwrap_or(0)))
        .collect();
    let kept = text("kept").map(|kept| format!("the replaced ledger is kept as {kept}\n"));
    let (name, rows, kept) = (clean(project), rows(&counts), kept.unwrap_or_default());
    let from = text("restored").unwrap_or_default();
    let index = if is_running { "is being rebuilt" } else { "will be rebuilt at the next start" };
    format!("{name}: {from} was restored; {rows}\n{kept}the index {index} from the files\n")
}

fn rows(counts: &BTreeMap<String, u64>) -> String {
    let cells: Vec<_> =
        counts.iter().map(|(table, n)| format!("{} {}", thousands(*n), clean(table))).collect();
    cells.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_put_back_is_told_with_what_follows() {
        let output =
            json!({ "restored": "/b", "version": 3, "rows": { "documents": 4 }, "kept": "/s/old" });
        expect![[r#"
            notes: /b was restored; 4 documents
            the replaced ledger is kept as /s/old
            the index is being rebuilt from the files
        "#]]
        .assert_eq(&restored("notes", &output, true));
    }
}
