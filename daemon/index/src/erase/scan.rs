//! Scan: proves that a string occurs nowhere in the state folder, or reports where it does.
//!
//! In: the folder, the strings (uids among them), numbers of entries, and index words that no document contains. Out:
//! every file that contains one.
//! How: the bytes of every file, including logs, journals and free pages of databases, and its name; then each value
//! of each row, because SQLite splits long values at page ends; then the words of the text index, because it stores
//! only the part of a word that differs from the word before.
//! Runs in a process of its own: when a process closes a file, the system releases all locks that the same process
//! holds on that file, those of its open databases included.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};

use super::{MIN_CHARS, Needle, Needles, files_in};
use crate::store::{StoreError, each_row, entry_rows, index_words_without_rows};

/// Bytes read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// A file that still contains a forgotten string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Its path in the state folder.
    pub file: String,
    /// Where in it: `name`, `bytes`, `index words`, or the name of a table.
    pub place: String,
    /// Number of matches.
    pub n: u64,
}

/// The outcome of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// Files read.
    pub n_files: u64,
    /// Bytes read.
    pub n_bytes: u64,
    /// Files that still contain something, by file and place.
    pub hits: Vec<Hit>,
}

/// What a scan searches for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Wanted {
    /// Strings.
    pub needles: BTreeSet<Needle>,
    /// Words of the text index that no row may contain.
    pub words: Vec<String>,
    /// Numbers of entries, of which no ledger may have a row.
    pub entries: BTreeSet<u64>,
}

/// Scans a state folder in another process.
///
/// # Errors
/// As [`scan`], or when the process cannot be started.
pub fn scan_apart(state_dir: &Path, wanted: &Wanted) -> io::Result<Scan> {
    let mut command = Command::new(sys::own_program()?);
    command.arg("--read-through").arg(state_dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(wanted)?)?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout)?);
    }
    Err(io::Error::other("the state folder could not be read through; the log says why"))
}

/// The scanning process: reads a [`Wanted`] from standard input and writes a [`Scan`] to standard output, both as
/// JSON.
pub fn read_through(state_dir: &Path) -> ExitCode {
    let done = || {
        let wanted: Wanted = serde_json::from_reader(io::stdin())?;
        let seen = scan(state_dir, &wanted)?;
        io::stdout().write_all(&serde_json::to_vec(&seen)?)?;
        Ok::<_, anyhow::Error>(())
    };
    match done() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "kgd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Scans a state folder.
///
/// # Errors
/// When a file cannot be read: then nothing is proved.
pub(crate) fn scan(state_dir: &Path, wanted: &Wanted) -> Result<Scan, anyhow::Error> {
    let needles = &Needles::new(&wanted.needles)?;
    let mut found = Scan::default();
    let failed =
        |path: &Path, why: io::Error| StoreError::Open { path: path.into(), why: why.to_string() };
    for (path, file) in files_in(state_dir).map_err(|why| failed(state_dir, why))? {
        // A few letters occur by chance among the numbers and vectors of a database.
        let shortest = if path.contains(".sqlite") { MIN_CHARS } else { 0 };
        let bytes = match File::open(&file).and_then(|it| in_bytes(it, needles, shortest)) {
            // SQLite has just removed a journal, or the lock of a note was released.
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            bytes => bytes.map_err(|why| failed(&file, why))?,
        };
        found.n_files += 1;
        found.n_bytes += bytes.0;
        let n_in_name = needles.places(path.as_bytes()).count() as u64;
        let mut places = vec![("name".to_string(), n_in_name), ("bytes".to_string(), bytes.1)];
        // Raw bytes miss values that span two pages, so databases are read row by row as well.
        if is_database(&path) {
            places.extend(in_rows(&file, needles)?);
            places.extend(entry_rows(&file, &wanted.entries)?);
        }
        if path == "index.sqlite" {
            let left = index_words_without_rows(&file, &wanted.words)?;
            places.push(("index words".to_string(), left));
        }
        let hits = places.into_iter().filter(|(_, n)| *n > 0);
        found.hits.extend(hits.map(|(place, n)| Hit { file: path.clone(), place, n }));
    }
    Ok(found)
}

/// Returns whether a file is read row by row: databases in use and copies of the ledger. For others the bytes
/// suffice.
fn is_database(path: &str) -> bool {
    path.ends_with(".sqlite") || path.starts_with("ledger.sqlite.")
}

/// Returns whether any of the strings occurs in a file.
pub fn stands_in(file: impl Read, needles: &Needles) -> io::Result<bool> {
    Ok(in_bytes(file, needles, 0)?.1 > 0)
}

/// The size of a file, and how many matches of at least `shortest` bytes it contains.
fn in_bytes(mut reader: impl Read, needles: &Needles, shortest: usize) -> io::Result<(u64, u64)> {
    let (mut n_bytes, mut n_found, mut n_searched) = (0, 0, 0);
    let mut window: Vec<u8> = Vec::new();
    let mut fresh = vec![0; BLOCK_BYTES];
    loop {
        let n = reader.read(&mut fresh)?;
        n_bytes += n as u64;
        window.extend_from_slice(fresh.get(..n).unwrap_or_default());
        let is_last = n == 0;
        // A match that starts in the last bytes may continue in the next block; it is counted there.
        let kept = if is_last { 0 } else { needles.overlap().min(window.len()) };
        let end = window.len() - kept;
        let places = needles.places(&window).take_while(|(range, _)| range.start < end);
        let is_new = |range: &Range<usize>| range.start >= n_searched && range.len() >= shortest;
        n_found += places.filter(|(range, _)| is_new(range)).count() as u64;
        if is_last {
            return Ok((n_bytes, n_found));
        }
        // One byte before stays, so that the end of a longer word is not taken for a name.
        n_searched = end.min(1);
        window.drain(..end - n_searched);
    }
}

/// Counts the matches in the rows of a database, by table.
fn in_rows(file: &Path, needles: &Needles) -> Result<Vec<(String, u64)>, StoreError> {
    let mut found: Vec<(String, u64)> = Vec::new();
    each_row(file, &mut |table, row| {
        let mut n = 0;
        for at in 0..row.as_ref().column_count() {
            let (bytes, shortest) = match row.get_ref(at)? {
                ValueRef::Text(bytes) => (bytes, 0),
                ValueRef::Blob(bytes) => (bytes, MIN_CHARS),
                _ => continue,
            };
            let places = needles.places(bytes).filter(|(range, _)| range.len() >= shortest);
            n += places.count() as u64;
        }
        // Rows come table by table, so only the last entry can be of this table.
        match found.last_mut() {
            Some((last, total)) if last == table => *total += n,
            _ if n == 0 => {}
            _ => found.push((table.to_string(), n)),
        }
        Ok(())
    })?;
    Ok(found)
}
