//! Fetch: downloads one file, resuming after interruptions.
//!
//! In: an address, a path. Out: the file.
//! Invariants: received bytes are kept beside the file (`.part`), and a later attempt, even by
//! another command, continues there if the server confirms that the file is the same; a file gets
//! its name when it is complete and its hash is right; every wait, and the number of attempts
//! without progress, is bounded.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use web::{Patience, Reply, Web, WebError, broken};

use super::{ModelError, hash, io};

/// Most attempts in a row without progress.
const MAX_VAIN: u32 = 5;

/// Most attempts for a file: a connection that breaks after every few bytes is useless.
const MAX_TRIES: u32 = 200;

/// Most redirects in a row.
const MAX_REDIRECTS: u32 = 5;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 20_000_000_000;

/// Longest pause that a server may request.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Timeouts. A connection takes a second, and a server that is silent for a minute is dead.
const PATIENCE: Patience =
    Patience { connect: Duration::from_secs(15), read: Duration::from_secs(60), whole: None };

/// Called with a file's name, its bytes so far, and its size if known.
pub type Progress<'a> = &'a dyn Fn(&str, u64, Option<u64>);

/// Downloads files.
pub struct Fetcher<'a> {
    patience: Patience,
    pause: &'a dyn Fn(Duration),
    progress: Progress<'a>,
}

/// A reply, and information from redirects before it.
struct Opened {
    reply: Reply,
    url: String,
    /// SHA-256 that the hub sends for large files.
    sha256: Option<String>,
}

/// The result of an attempt.
enum Outcome {
    Whole,
    /// A temporary failure; the pause that the server requested, if any.
    Again(String, Option<Duration>),
}

impl<'a> Fetcher<'a> {
    /// Creates a fetcher with a function to sleep and one to report progress.
    pub fn new(pause: &'a dyn Fn(Duration), progress: Progress<'a>) -> Self {
        Fetcher { patience: PATIENCE, pause, progress }
    }

    /// Downloads a file unless it exists, and verifies its hash: `expected` if given, otherwise the
    /// one sent by the hub, if any.
    ///
    /// # Errors
    /// [`ModelError::NotThere`], [`ModelError::Refused`], [`ModelError::WrongHash`], or [`ModelError::Failed`] after
    /// the last attempt.
    pub fn fetch(&self, url: &str, to: &Path, expected: Option<&str>) -> Result<(), ModelError> {
        if to.exists() {
            return Ok(());
        }
        let (mut n_vain, mut last) = (0, String::new());
        for _ in 0..MAX_TRIES {
            let before = length(&part_of(to));
            let mut announced = None;
            match self.attempt(url, to, &mut announced)? {
                Outcome::Whole => return finish(url, to, expected.or(announced.as_deref())),
                Outcome::Again(why, wait) => {
                    n_vain = if length(&part_of(to)) > before { 0 } else { n_vain + 1 };
                    last = why;
                    if n_vain >= MAX_VAIN {
                        break;
                    }
                    if n_vain > 0 {
                        let doubled = Duration::from_secs(1 << n_vain.min(6));
                        (self.pause)(wait.unwrap_or(doubled).min(LONGEST_PAUSE));
                    }
                }
            }
        }
        Err(ModelError::Failed { why: last })
    }

    fn attempt(
        &self,
        url: &str,
        to: &Path,
        announced: &mut Option<String>,
    ) -> Result<Outcome, ModelError> {
        let (part, etag_file) = (part_of(to), etag_of(to));
        let etag = std::fs::read_to_string(&etag_file).unwrap_or_default();
        // Without an ETag, the earlier bytes may belong to another version.
        let from = if etag.is_empty() { 0 } else { length(&part) };
        let range = format!("bytes={from}-");
        let headers = [("range", range.as_str()), ("if-range", etag.as_str())];
        let headers = if from > 0 { &headers[..] } else { &[] };
        let opened = match self.open(url, headers) {
            Ok(opened) => opened,
            Err(error @ WebError::Address { .. }) => {
                return Err(ModelError::Failed { why: error.to_string() });
            }
            Err(error) => return Ok(Outcome::Again(error.to_string(), None)),
        };
        *announced = opened.sha256;
        let (url, reply) = (opened.url, opened.reply);
        let start = match reply.status {
            200 => 0,
            206 if begins_at(&reply, from) => from,
            206 | 416 => {
                drop((std::fs::remove_file(&part), std::fs::remove_file(&etag_file)));
                return Ok(Outcome::Again(
                    format!("`{url}` sent another range than requested"),
                    None,
                ));
            }
            404 => return Err(ModelError::NotThere { url }),
            408 | 425 | 429 | 500.. => {
                let why = format!("`{url}` answered {}", reply.status);
                return Ok(Outcome::Again(why, reply.retry_after()));
            }
            status => return Err(ModelError::Refused { url, status }),
        };
        if start == 0 {
            let etag =
                reply.header("etag").filter(|etag| !etag.starts_with("W/")).unwrap_or_default();
            std::fs::write(&etag_file, etag).map_err(io(&etag_file))?;
        }
        self.write(&url, to, reply, start)
    }

    /// Writes a body after the first `start` bytes of the part.
    fn write(&self, url: &str, to: &Path, reply: Reply, start: u64) -> Result<Outcome, ModelError> {
        let part = part_of(to);
        let rest: Option<u64> = reply.header("content-length").and_then(|it| it.parse().ok());
        let total = rest.map(|rest| start.saturating_add(rest));
        let opened = File::options().create(true).truncate(false).write(true).open(&part);
        let mut file = opened.map_err(io(&part))?;
        file.set_len(start).map_err(io(&part))?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(start)).map_err(io(&part))?;
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (mut reader, mut n_bytes) = (reply.into_reader(), start);
        let mut buffer = vec![0; 1 << 16];
        loop {
            (self.progress)(&name, n_bytes, total);
            let n_read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(error) => return Ok(Outcome::Again(broken(url, &error).to_string(), None)),
            };
            n_bytes += n_read as u64;
            if n_bytes > MAX_BYTES {
                return Err(ModelError::Failed {
                    why: format!("`{url}` has more than {MAX_BYTES} bytes"),
                });
            }
            file.write_all(buffer.get(..n_read).unwrap_or_default()).map_err(io(&part))?;
        }
        if total.is_some_and(|total| n_bytes < total) {
            return Ok(Outcome::Again(format!("the reply from `{url}` broke off"), None));
        }
        file.sync_all().map_err(io(&part))?;
        Ok(Outcome::Whole)
    }

    /// Follows redirects, which `web` does not, and keeps the hash that the hub sends before it
    /// redirects to the file.
    fn open(&self, url: &str, headers: &[(&str, &str)]) -> Result<Opened, WebError> {
        let (mut url, mut sha256) = (url.to_string(), None);
        for _ in 0..=MAX_REDIRECTS {
            let reply = Web::new(&url, self.patience)?.get(&url, headers)?;
            let etag = reply.header("x-linked-etag").map(|it| it.trim_matches('"').to_string());
            sha256 = sha256.or(etag.filter(|it| hash::is_one(it)));
            let location = reply.header("location").filter(|_| (301..=308).contains(&reply.status));
            match location.map(|location| joined(&url, location)) {
                Some(next) => url = next,
                None => return Ok(Opened { reply, url, sha256 }),
            }
        }
        Err(WebError::Broken { url, why: "it redirects in circles".to_string() })
    }
}

/// Resolves an address relative to another one.
fn joined(base: &str, location: &str) -> String {
    if location.contains("://") {
        return location.to_string();
    }
    let after_scheme = base.find("://").map_or(0, |at| at + 3);
    let host_ends =
        base.get(after_scheme..).and_then(|rest| rest.find('/')).map(|at| at + after_scheme);
    match location.starts_with('/') {
        true => {
            format!("{}{location}", base.get(..host_ends.unwrap_or(base.len())).unwrap_or(base))
        }
        false => {
            let folder = base.rfind('/').filter(|&at| at >= after_scheme);
            format!("{}/{location}", base.get(..folder.unwrap_or(base.len())).unwrap_or(base))
        }
    }
}

fn begins_at(reply: &Reply, from: u64) -> bool {
    let range = reply.header("content-range").and_then(|it| it.strip_prefix("bytes "));
    range.and_then(|it| it.split('-').next()?.trim().parse().ok()) == Some(from)
}

/// Verifies the hash of a download, and gives it its name.
fn finish(url: &str, to: &Path, expected: Option<&str>) -> Result<(), ModelError> {
    let part = part_of(to);
    let found = hash::of_file(&part).map_err(io(&part))?;
    let _ = std::fs::remove_file(etag_of(to));
    if let Some(expected) = expected.filter(|it| *it != found) {
        let _ = std::fs::remove_file(&part);
        let (url, expected) = (url.to_string(), expected.to_string());
        return Err(ModelError::WrongHash { url, expected, found, recorded: false });
    }
    std::fs::rename(&part, to).map_err(io(to))
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |it| it.len())
}

fn part_of(to: &Path) -> PathBuf {
    beside(to, ".part")
}

fn etag_of(to: &Path) -> PathBuf {
    beside(to, ".etag")
}

fn beside(to: &Path, extension: &str) -> PathBuf {
    let mut name = to.as_os_str().to_os_string();
    name.push(extension);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
