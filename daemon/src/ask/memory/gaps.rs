//! Gaps: nodes whose facts speak of others to which they state no relation.
//!
//! In: the names that the linker found on the lines of facts. Out: who speaks of whom, and in how many facts.
//! Invariant: a name counts for what it denotes, so two people of one name are two, and an alias is the same.

use super::{AskError, Web};
use crate::store::Snapshot;

/// Who speaks of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The name of the node that speaks.
    pub node: String,
    /// The name of the other.
    pub other: String,
    /// Facts in which it does.
    pub n_facts: u64,
}

/// All gaps, the most spoken of first.
pub fn gaps(snapshot: &Snapshot) -> Result<Vec<Gap>, AskError> {
    let web = Web::read(snapshot)?;
    let mut statement = snapshot.prepare_cached(
        "SELECT f.doc_id, t.doc_id, s.name, t.name, count(DISTINCT f.seq) AS n
         FROM memory_facts f JOIN memory_nodes s ON s.doc_id = f.doc_id AND s.is_node
         JOIN mentions m ON m.doc_id = f.doc_id AND m.line BETWEEN f.line_start AND f.line_end
         JOIN names e ON e.id = m.name_id JOIN docs d ON d.entity_id = e.entity_id
         JOIN memory_nodes t ON t.doc_id = d.id AND t.is_node
         WHERE t.doc_id <> f.doc_id GROUP BY f.doc_id, t.doc_id ORDER BY n DESC, s.key, t.key",
    )?;
    let mut rows = statement.query([])?;
    let mut gaps = Vec::new();
    while let Some(row) = rows.next()? {
        if !web.relates(row.get(0)?, row.get(1)?) {
            let n_facts: i64 = row.get(4)?;
            gaps.push(Gap {
                node: row.get(2)?,
                other: row.get(3)?,
                n_facts: n_facts.max(0) as u64,
            });
        }
    }
    Ok(gaps)
}
