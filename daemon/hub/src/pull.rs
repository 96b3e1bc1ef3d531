//! Pull: updates a replica to the current state of a project in the hub.
//!
//! In: a hub, a project, a replica. Out: the replica at the hub's tick.
//! Invariants: a replica always equals one whole transaction of the hub. It is updated only if the hub's log still has
//! its last transaction; otherwise it is stale and must be copied again.

use std::path::Path;

use index::store::published::{Cell, Origin, TABLES, Table};
use index::store::{Draft, Replica, SCHEMA_VERSION, Spaces, Verdict};
use index::vectors::VectorChange;
use model::terms::{ContentHash, Tick};
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;
use tokio_postgres::{IsolationLevel, Transaction};

use crate::HubError;
use crate::connect::Hub;
use crate::outline::Outline;
use crate::rows::{self, AT_ONCE, Part};
use crate::table::unpack;

/// The replica's note that holds the generation and transaction it equals.
const AT: &str = "hub";
/// The table with the static vectors, which are also held in memory.
const WINDOWS: &str = "windows";

/// What decides about answers beside the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// What a folder may set, as YAML.
    pub settings: String,
    /// The folder's own relations.
    pub predicates: Option<String>,
}

/// A project that the role may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// The key of its row.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// The visible generation of its index; 0 if none is complete yet.
    pub generation: i32,
    /// The number of its last transaction.
    pub serial: i64,
    mark: String,
    /// The tick that it shows.
    pub tick: i64,
    /// The schema version of its index.
    pub shape: i32,
    /// What decides about answers beside the rows.
    pub settled: Settled,
    /// When it was last published, in seconds since 1970.
    pub published: i64,
}

/// The result of [`copy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The replica is at this tick; the second number counts the rows that were fetched.
    At(u64, u64),
    /// The replica cannot be updated and must be copied again.
    Stale,
}

/// Returns the projects that the role may read, sorted by name.
///
/// # Errors
/// What the database said.
pub async fn visible(hub: &Hub) -> Result<Vec<Visible>, HubError> {
    let rows = hub.client.query(&format!("{SEEN} ORDER BY name"), &[]).await?;
    Ok(rows.iter().map(seen).collect())
}

const SEEN: &str = "SELECT id, name, generation, serial, coalesce(mark, ''), coalesce(tick, 0), coalesce(shape, 0),
                      coalesce(settings, ''), predicates,
                      coalesce(extract(epoch FROM published_at), 0)::bigint FROM kg.projects";

fn seen(row: &tokio_postgres::Row) -> Visible {
    Visible {
        id: row.get(0),
        name: row.get(1),
        generation: row.get(2),
        serial: row.get(3),
        mark: row.get(4),
        tick: row.get(5),
        shape: row.get(6),
        settled: Settled { settings: row.get(7), predicates: row.get(8) },
        published: row.get(9),
    }
}

/// Returns the outlines of some projects, each with the transaction it belongs to.
///
/// # Errors
/// What the database said.
pub async fn outlines(
    hub: &Hub,
    projects: &[i32],
) -> Result<Vec<(i32, String, Outline)>, HubError> {
    let sql = "SELECT p.id, format('%s %s %s', p.generation, p.serial, p.mark), o.row_key, o.block FROM kg.projects p
               LEFT JOIN kg.outline o ON o.project = p.id AND o.generation = p.generation
               WHERE p.id = any($1) ORDER BY p.id";
    let mut found: Vec<(i32, String, Outline)> = Vec::new();
    for row in hub.client.query(sql, &[&projects]).await? {
        let id: i32 = row.get(0);
        if found.last().is_none_or(|(last, ..)| *last != id) {
            found.push((id, row.get(1), Outline::default()));
        }
        let block: Option<&[u8]> = row.get(3);
        if let (Some((.., outline)), Some(block)) = (found.last_mut(), block) {
            outline.read(row.get(2), block)?;
        }
    }
    Ok(found)
}

impl Visible {
    /// Checks that this program knows the schema version of the project.
    ///
    /// # Errors
    /// [`HubError::Shape`].
    pub fn check(&self) -> Result<(), HubError> {
        let ours = SCHEMA_VERSION as i32;
        match self.shape {
            // Nothing is published yet.
            0 => Ok(()),
            found if found == ours => Ok(()),
            found => Err(HubError::Shape { name: self.name.clone(), found, ours }),
        }
    }

    /// Returns its last transaction in the form that replicas and outlines store.
    pub(crate) fn place(&self) -> String {
        format!("{} {} {}", self.generation, self.serial, self.mark)
    }
}

/// Updates a replica, whose state is in `folder`, from a project of the hub. Blocks, so it must not run on a thread of
/// the runtime.
///
/// # Errors
/// [`HubError`]; then the replica is unchanged.
pub fn copy(
    runtime: &Handle,
    hub: &mut Hub,
    project: i32,
    replica: &mut Replica,
    folder: &Path,
) -> Result<Copied, HubError> {
    let begun = hub.client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let tx = runtime.block_on(begun.read_only(true).start())?;
    let sql = format!("{SEEN} WHERE id = $1");
    let forbidden = || HubError::Forbidden(project.to_string(), "read", "");
    let it = seen(&runtime.block_on(tx.query_opt(&sql, &[&project]))?.ok_or_else(forbidden)?);
    it.check()?;
    let before = replica.note(AT)?;
    if before.as_ref() == Some(&it.place()) || it.generation == 0 {
        return Ok(Copied::At(replica.tick().0, 0));
    }
    let changed = match &before {
        None => None,
        Some(before) => match runtime.block_on(changed_since(&tx, &it, before))? {
            Some(changed) => Some(changed),
            None => return Ok(Copied::Stale),
        },
    };
    let part = Part { project, generation: it.generation };
    let mut fetched = Fetched::default();
    let notes = [(AT, it.place())];
    replica.commit(Tick(it.tick.max(0) as u64), &notes, |draft| {
        let keeps_vectors = changed.is_some();
        let into = &mut fetched;
        let mut fetch = Fetch { runtime, tx: &tx, part, folder, draft, into, keeps_vectors };
        match &changed {
            None => copied().try_for_each(|table| fetch.fetch_all(table))?,
            Some(changed) => {
                // Delete first: a unique value may have moved to another row.
                for table in copied() {
                    table.delete(draft, changed.get(table.hub).map_or(&[][..], Vec::as_slice))?;
                }
                for table in copied() {
                    fetch
                        .fetch_keys(table, changed.get(table.hub).map_or(&[][..], Vec::as_slice))?;
                }
            }
        }
        Ok::<_, HubError>(keeps_vectors.then(|| std::mem::take(&mut fetched.vectors)))
    })?;
    if fetched.has_decisions {
        replica.decide(&fetched.decisions, 0)?;
    }
    Ok(Copied::At(replica.tick().0, fetched.n_rows))
}

fn copied() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().filter(|table| table.is_copied())
}

/// Returns the changed keys of each table since a transaction; `None` if the log no longer has it.
async fn changed_since(
    tx: &Transaction<'_>,
    it: &Visible,
    before: &str,
) -> Result<Option<FxHashMap<String, Vec<i64>>>, HubError> {
    let words: Vec<&str> = before.split(' ').collect();
    let [generation, serial, mark] = words.as_slice() else { return Ok(None) };
    if generation.parse() != Ok(it.generation) {
        return Ok(None);
    }
    let Ok(serial) = serial.parse::<i64>() else { return Ok(None) };
    let sql = "SELECT 1 FROM kg.log WHERE project = $1 AND generation = $2 AND serial = $3 AND mark = $4 AND part = ''";
    if tx.query_opt(sql, &[&it.id, &it.generation, &serial, mark]).await?.is_none() {
        return Ok(None);
    }
    let sql = "SELECT part, keys FROM kg.log WHERE project = $1 AND generation = $2 AND serial > $3 ORDER BY serial";
    let mut changed: FxHashMap<String, Vec<i64>> = FxHashMap::default();
    for row in tx.query(sql, &[&it.id, &it.generation, &serial]).await? {
        changed.entry(row.get(0)).or_default().extend(row.get::<_, Vec<i64>>(1));
    }
    for keys in changed.values_mut() {
        keys.sort_unstable();
        keys.dedup();
    }
    Ok(Some(changed))
}

/// What else must be updated after the rows are written.
#[derive(Default)]
struct Fetched {
    n_rows: u64,
    vectors: VectorChange,
    has_decisions: bool,
    decisions: Vec<(String, Verdict)>,
}

struct Fetch<'a> {
    runtime: &'a Handle,
    tx: &'a Transaction<'a>,
    part: Part,
    folder: &'a Path,
    draft: &'a Draft<'a>,
    into: &'a mut Fetched,
    /// Whether the vectors in memory are updated too, instead of being read again.
    keeps_vectors: bool,
}

impl Fetch<'_> {
    /// Fetches every row of a table.
    fn fetch_all(&mut self, table: &'static Table) -> Result<(), HubError> {
        if table.hub.starts_with("posting") {
            // Even an empty text index has rows.
            table.clear(self.draft)?;
        }
        let mut after = Some(i64::MIN);
        while let Some(last) = after {
            let (found, next) =
                self.runtime.block_on(rows::page(self.tx, table, self.part, last))?;
            self.write(table, found)?;
            after = next;
        }
        self.into.has_decisions |= table.hub == "decisions";
        Ok(())
    }

    /// Fetches the rows with these keys that still exist.
    fn fetch_keys(&mut self, table: &'static Table, keys: &[i64]) -> Result<(), HubError> {
        for keys in keys.chunks(AT_ONCE) {
            let found = self.runtime.block_on(rows::with_keys(self.tx, table, self.part, keys))?;
            self.write(table, found)?;
        }
        if table.hub == WINDOWS {
            self.into.vectors.gone.extend(keys);
        }
        self.into.has_decisions |= table.hub == "decisions" && !keys.is_empty();
        Ok(())
    }

    fn write(
        &mut self,
        table: &'static Table,
        found: Vec<(i64, Vec<Cell>)>,
    ) -> Result<(), HubError> {
        self.into.n_rows += found.len() as u64;
        if table.from == Origin::Better {
            return keep_better(self.folder, &found);
        }
        for (key, cells) in found {
            let rows = unpack(table, cells)?;
            if table.hub == "decisions" {
                self.into.decisions.extend(rows.iter().filter_map(verdict));
                continue;
            }
            table.insert(self.draft, key, &rows)?;
            if !self.keeps_vectors || table.hub != WINDOWS {
                continue;
            }
            for row in rows {
                // The last columns are `is_aside`, `hash` and `vector`.
                match row.as_slice() {
                    [.., Cell::Int(0), _, Cell::Blob(vector)] => {
                        self.into.vectors.born.push((key, vector.clone()));
                    }
                    [.., Cell::Int(0), _, _] => self.into.vectors.n_bare += 1,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn verdict(row: &Vec<Cell>) -> Option<(String, Verdict)> {
    match row.as_slice() {
        [Cell::Text(key), Cell::Int(number), ..] => {
            let verdict = if *number > 0 { Verdict::Accepted } else { Verdict::Rejected };
            Some((key.clone(), verdict))
        }
        _ => None,
    }
}

/// Stores better vectors by the hash of their text, where the backfill looks before it runs a model.
fn keep_better(folder: &Path, found: &[(i64, Vec<Cell>)]) -> Result<(), HubError> {
    let Some(_) = found.first() else { return Ok(()) };
    let spaces = Spaces::open(folder)?;
    for (_, cells) in found {
        let [Cell::Text(space), Cell::Text(model), Cell::Blob(hash), int8, floats] =
            cells.as_slice()
        else {
            return Err(HubError::Torn("better"));
        };
        let Ok(hash) = hash.as_slice().try_into() else { return Err(HubError::Torn("better")) };
        let bytes = match (int8, floats) {
            (Cell::Blob(bytes), _) | (_, Cell::Blob(bytes)) => bytes.as_slice(),
            _ => &[],
        };
        let space = spaces.space(space, model)?;
        spaces.put(space.id, ContentHash(u128::from_le_bytes(hash)), bytes)?;
    }
    Ok(())
}
