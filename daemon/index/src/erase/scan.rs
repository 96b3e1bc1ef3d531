//! Scan: proves that a string stands nowhere in the state folder, or says where it does.
//!
//! In: the folder, what to look for, and index words that stand in no document. Out: every file that holds it.
//! How: the bytes of every file, also of logs, journals and free pages of databases, and its name; then each value of
//! each row, because SQLite parts long values where a page ends, and the words of the text index, because it stores of
//! a word only where it differs from the one before.
//! It runs in a process of its own: where one closes a file, the system gives up the locks of all databases that the
//! same process has open in that file.
//! Not here: the project's own files (`project/forget.rs`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use super::{MIN_CHARS, Needle, Needles, files_in};
use crate::store::{StoreError, each_value, index_words_without_rows};

/// This very program, also after another one was installed in its place.
const PROGRAM: &str = "/proc/self/exe";

/// Bytes read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// A file that still holds what was to be gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Its path in the state folder.
    pub file: String,
    /// Where in it: `name`, `bytes`, `index words`, or the name of a table.
    pub place: String,
    /// How often.
    pub n: u64,
}

/// The outcome of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// Files that were read.
    pub n_files: u64,
    /// Their bytes.
    pub n_bytes: u64,
    /// What was found.
    pub hits: Vec<Hit>,
}

/// What a scan looks for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// Strings.
    pub needles: BTreeSet<Needle>,
    /// Index words.
    pub words: Vec<String>,
}

/// Scans a state folder from another process.
///
/// # Errors
/// As [`scan`], or when there is no process for it.
pub fn scan_apart(state_dir: &Path, wanted: &Wanted) -> io::Result<Scan> {
    let mut command = Command::new(PROGRAM);
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

/// What that process does: reads what is wanted from standard input and writes what it saw.
pub fn read_through(state_dir: &Path) -> ExitCode {
    let done = || {
        let wanted: Wanted = serde_json::from_reader(io::stdin())?;
        let needles = Needles::new(&wanted.needles)?;
        let seen = scan(state_dir, &needles, &wanted.words)?;
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
pub(crate) fn scan(
    state_dir: &Path,
    needles: &Needles,
    words: &[String],
) -> Result<Scan, StoreError> {
    let mut found = Scan::default();
    let failed =
        |path: &Path, why: io::Error| StoreError::Open { path: path.into(), why: why.to_string() };
    for (path, file) in files_in(state_dir).map_err(|why| failed(state_dir, why))? {
        // In numbers and vectors a few letters stand by chance.
        let shortest = if path.contains(".sqlite") { MIN_CHARS } else { 0 };
        let bytes = match File::open(&file).and_then(|it| in_bytes(it, needles, shortest)) {
            // A log that SQLite has just removed, or a lock of a note that was just written.
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            bytes => bytes.map_err(|why| failed(&file, why))?,
        };
        found.n_files += 1;
        found.n_bytes += bytes.0;
        let n_in_name = needles.places(path.as_bytes()).count() as u64;
        let mut places = vec![("name".to_string(), n_in_name), ("bytes".to_string(), bytes.1)];
        if is_database(&path) {
            places.extend(in_rows(&file, needles)?);
        }
        if path == "index.sqlite" {
            let left = index_words_without_rows(&file, words)?;
            places.push(("index words".to_string(), left));
        }
        let hits = places.into_iter().filter(|(_, n)| *n > 0);
        found.hits.extend(hits.map(|(place, n)| Hit { file: path.clone(), place, n }));
    }
    Ok(found)
}

/// Databases in use and copies of them; of others the bytes must do.
fn is_database(path: &str) -> bool {
    path.ends_with(".sqlite") || path.starts_with("ledger.sqlite.")
}

/// Whether something stands in the bytes of a file.
pub fn stands_in(file: impl Read, needles: &Needles) -> io::Result<bool> {
    Ok(in_bytes(file, needles, 0)?.1 > 0)
}

/// The size of a file, and how often something stands in it.
fn in_bytes(mut reader: impl Read, needles: &Needles, shortest: usize) -> io::Result<(u64, u64)> {
    let (mut n_bytes, mut n_found) = (0, 0);
    let mut window: Vec<u8> = Vec::new();
    let mut fresh = vec![0; BLOCK_BYTES];
    loop {
        let n = reader.read(&mut fresh)?;
        n_bytes += n as u64;
        window.extend_from_slice(fresh.get(..n).unwrap_or_default());
        let is_last = n == 0;
        // What begins in the last bytes may go on in the next block, and is counted there.
        let kept = if is_last { 0 } else { needles.overlap().min(window.len()) };
        let end = window.len() - kept;
        let places = needles.places(&window).take_while(|(range, _)| range.start < end);
        n_found += places.filter(|(range, _)| range.len() >= shortest).count() as u64;
        if is_last {
            return Ok((n_bytes, n_found));
        }
        // One byte before, so that a name is not taken for the beginning of a word.
        window.drain(..end.saturating_sub(1));
    }
}

/// How often something stands in the rows of a database, by table.
fn in_rows(file: &Path, needles: &Needles) -> Result<Vec<(String, u64)>, StoreError> {
    let mut found: Vec<(String, u64)> = Vec::new();
    each_value(file, &mut |table, bytes, is_text| {
        let shortest = if is_text { 0 } else { MIN_CHARS };
        let places = needles.places(bytes).filter(|(range, _)| range.len() >= shortest);
        let n = places.count() as u64;
        match found.last_mut() {
            Some((last, total)) if last == table => *total += n,
            _ if n == 0 => {}
            _ => found.push((table.to_string(), n)),
        }
    })?;
    Ok(found)
}
