//! Floor: cost of inserting an index's chunks into a bare FTS5 table.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};

use super::{cpu_of_thread, median};

/// Number of measurements; the median counts.
const RUNS: usize = 5;

/// Returns the CPU seconds of inserting the chunks of the index into a bare FTS5 table in one
/// transaction, with title and headings or without; `scratch` is a folder for the tables.
pub(crate) fn bare_fts5(index: &Path, scratch: &Path, with_headings: bool) -> Result<f64> {
    let db = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let columns =
        if with_headings { "d.title || char(10) || c.section || char(10) ||" } else { "" };
    let sql = format!(
        "SELECT {columns} coalesce(CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT), '')
         FROM chunks c JOIN docs d ON d.id = c.doc_id ORDER BY c.id"
    );
    let mut statement = db.prepare(&sql)?;
    let bodies: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut costs = Vec::new();
    for run in 0..RUNS {
        let path = scratch.join(format!("floor-{with_headings}-{run}.sqlite"));
        let before = cpu_of_thread()?;
        let mut bare = Connection::open(path)?;
        bare.execute_batch("CREATE VIRTUAL TABLE t USING fts5(body)")?;
        let tx = bare.transaction()?;
        let mut insert = tx.prepare("INSERT INTO t(body) VALUES(?1)")?;
        for body in &bodies {
            insert.execute([body])?;
        }
        drop(insert);
        tx.commit()?;
        costs.push(cpu_of_thread()? - before);
    }
    Ok(median(&costs))
}
