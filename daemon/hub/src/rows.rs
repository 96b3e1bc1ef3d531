//! Rows: reads and writes published rows in the hub's tables.
//!
//! In: rows with keys, or keys. Out: the same rows in PostgreSQL, one statement a batch.

use index::store::published::{Cell, Table};
use pgvector::HalfVector;
use postgres_types::ToSql;
use tokio_postgres::{GenericClient, Row};

use crate::HubError;
use crate::table::{Published, hub_columns};

/// Rows on one page.
const PAGE_ROWS: i64 = 256;
/// Approximate size of one statement in bytes. Not in rows, because documents are large and keys are not.
pub(crate) const MAX_BATCH_BYTES: usize = 2 << 20;
const PAGE_KEYS: i64 = 20_000;

/// One generation of one project's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub project: i32,
    pub generation: i32,
}

type Column = Box<dyn ToSql + Sync + Send>;

/// Inserts rows whose keys are not in the table.
pub(crate) async fn insert(
    client: &impl GenericClient,
    table: &Table,
    part: Part,
    rows: &[Published],
) -> Result<(), HubError> {
    let columns = hub_columns(table);
    let names: String = columns.iter().map(|(name, _)| format!(", \"{name}\"")).collect();
    let places: String =
        (5..).zip(&columns).map(|(n, (_, kind))| format!(", ${n}::{}[]", type_of(*kind))).collect();
    let sql = format!(
        "INSERT INTO kg.{}(project, generation, row_key, row_sum{names})
         SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[]{places})",
        table.hub
    );
    let mut values: Vec<Column> = vec![
        Box::new(part.project),
        Box::new(part.generation),
        Box::new(rows.iter().map(|row| row.key).collect::<Vec<_>>()),
        Box::new(rows.iter().map(|row| row.sum).collect::<Vec<_>>()),
    ];
    values.extend(columns.iter().enumerate().map(|(at, (_, kind))| column(rows, at, *kind)));
    let values: Vec<&(dyn ToSql + Sync)> =
        values.iter().map(|it| it.as_ref() as &(dyn ToSql + Sync)).collect();
    client.execute(&sql, &values).await?;
    Ok(())
}

/// Deletes rows.
pub(crate) async fn delete(
    client: &impl GenericClient,
    table: &Table,
    part: Part,
    keys: &[i64],
) -> Result<(), HubError> {
    let sql = format!(
        "DELETE FROM kg.{} WHERE project = $1 AND generation = $2 AND row_key = any($3)",
        table.hub
    );
    client.execute(&sql, &[&part.project, &part.generation, &keys]).await?;
    Ok(())
}

/// Calls `show` with the key and checksum of every row.
pub(crate) async fn sums(
    client: &impl GenericClient,
    table: &Table,
    part: Part,
    mut show: impl FnMut(i64, i64),
) -> Result<(), HubError> {
    let sql = format!(
        "SELECT row_key, row_sum FROM kg.{} WHERE project = $1 AND generation = $2 AND row_key > $3
         ORDER BY row_key LIMIT $4",
        table.hub
    );
    let mut after = i64::MIN;
    loop {
        let rows =
            client.query(&sql, &[&part.project, &part.generation, &after, &PAGE_KEYS]).await?;
        rows.iter().for_each(|row| show(row.get(0), row.get(1)));
        match rows.last() {
            Some(last) if rows.len() as i64 == PAGE_KEYS => after = last.get(0),
            _ => return Ok(()),
        }
    }
}

/// Returns the page of rows after a key, and the key to continue from.
pub(crate) async fn page(
    client: &impl GenericClient,
    table: &Table,
    part: Part,
    after: i64,
) -> Result<(Vec<(i64, Vec<Cell>)>, Option<i64>), HubError> {
    let condition = "row_key > $3 ORDER BY row_key LIMIT $4";
    let sql = select(table, condition);
    let rows = client.query(&sql, &[&part.project, &part.generation, &after, &PAGE_ROWS]).await?;
    let found = rows.iter().map(|row| cells(table, row)).collect::<Result<Vec<_>, _>>()?;
    let next = found.last().filter(|_| found.len() as i64 == PAGE_ROWS).map(|(key, _)| *key);
    Ok((found, next))
}

/// Returns the rows with these keys, at most [`AT_ONCE`]; missing ones are left out.
pub(crate) async fn with_keys(
    client: &impl GenericClient,
    table: &Table,
    part: Part,
    keys: &[i64],
) -> Result<Vec<(i64, Vec<Cell>)>, HubError> {
    let sql = select(table, "row_key = any($3)");
    let rows = client.query(&sql, &[&part.project, &part.generation, &keys]).await?;
    rows.iter().map(|row| cells(table, row)).collect()
}

/// Most keys in one call of [`with_keys`].
pub(crate) const AT_ONCE: usize = PAGE_ROWS as usize;

fn select(table: &Table, condition: &str) -> String {
    let names: String =
        hub_columns(table).iter().map(|(name, _)| format!(", \"{name}\"")).collect();
    format!(
        "SELECT row_key{names} FROM kg.{} WHERE project = $1 AND generation = $2 AND {condition}",
        table.hub
    )
}

fn type_of(kind: char) -> &'static str {
    match kind {
        'i' => "bigint",
        'r' => "double precision",
        't' => "text",
        'h' => "halfvec",
        _ => "bytea",
    }
}

fn column(rows: &[Published], at: usize, kind: char) -> Column {
    let cells = rows.iter().map(|row| row.cells.get(at).unwrap_or(&Cell::Null));
    match kind {
        'i' => Box::new(cells.map(int).collect::<Vec<_>>()),
        'r' => Box::new(cells.map(real).collect::<Vec<_>>()),
        't' => Box::new(cells.map(text).collect::<Vec<_>>()),
        'h' => Box::new(cells.map(vector).collect::<Vec<_>>()),
        _ => Box::new(cells.map(bytes).collect::<Vec<_>>()),
    }
}

fn int(cell: &Cell) -> Option<i64> {
    if let Cell::Int(number) = cell { Some(*number) } else { None }
}

fn real(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Real(number) => Some(*number),
        Cell::Int(number) => Some(*number as f64),
        _ => None,
    }
}

fn text(cell: &Cell) -> Option<String> {
    if let Cell::Text(text) = cell { Some(text.clone()) } else { None }
}

fn bytes(cell: &Cell) -> Option<Vec<u8>> {
    if let Cell::Blob(bytes) = cell { Some(bytes.clone()) } else { None }
}

/// Converts a vector; every int8 has an exact 16-bit float.
fn vector(cell: &Cell) -> Option<HalfVector> {
    let Cell::Blob(bytes) = cell else { return None };
    let numbers: Vec<f32> = bytes.iter().map(|it| f32::from(it.cast_signed())).collect();
    Some(HalfVector::from_f32_slice(&numbers))
}

fn cells(table: &Table, row: &Row) -> Result<(i64, Vec<Cell>), HubError> {
    let cell = |(at, (_, kind)): (usize, (&str, char))| -> Result<Cell, tokio_postgres::Error> {
        let at = at + 1;
        let found = match kind {
            'i' => row.try_get::<_, Option<i64>>(at)?.map(Cell::Int),
            'r' => row.try_get::<_, Option<f64>>(at)?.map(Cell::Real),
            't' => row.try_get::<_, Option<String>>(at)?.map(Cell::Text),
            'h' => row.try_get::<_, Option<HalfVector>>(at)?.map(|it| {
                let int8 = it.as_slice().iter().map(|it| (it.to_f32() as i8).cast_unsigned());
                Cell::Blob(int8.collect())
            }),
            _ => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Cell::Blob),
        };
        Ok(found.unwrap_or(Cell::Null))
    };
    let found = hub_columns(table).into_iter().enumerate().map(cell);
    Ok((row.try_get(0)?, found.collect::<Result<_, _>>()?))
}
