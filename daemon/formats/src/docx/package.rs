//! Package: the zip container of an Office document, its parts and their relationships.
//!
//! In: the bytes of a file. Out: parts as text, by name; relationships by id.
//! Invariants: sizes stated in a file are never trusted: every part is inflated through a counter, with one budget
//! for all of them; names are compared without case; linear time.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Read;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use super::xml::{Token, Xml};

/// Most entries of a container; Word writes some dozens, and one for each picture.
const MAX_ENTRIES: usize = 20_000;
/// Longest name of a part, in bytes.
const MAX_NAME_BYTES: usize = 300;
/// Most relationships of one part: enough for the links of a very long document.
const MAX_RELATIONSHIPS: usize = 100_000;
/// First bytes of OLE containers: the old binary formats, and encrypted documents of any format.
pub(super) const OLE_MAGIC: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// An opened container.
pub(crate) struct Package<'a> {
    archive: ZipSliceArchive<&'a [u8]>,
    entries: HashMap<String, Entry>,
    /// Bytes that may still be inflated.
    budget: Cell<usize>,
}

struct Entry {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
}

/// The target of a relationship.
pub(super) struct Relationship {
    /// The last segment of its type, such as `styles` or `hyperlink`; the same in both dialects.
    pub(super) kind: String,
    /// A part's name, or an address if it is external.
    pub(super) target: String,
    /// True when the target is outside the document.
    pub(super) is_external: bool,
}

impl<'a> Package<'a> {
    /// Opens a container, of which at most `budget` bytes may be inflated.
    pub(crate) fn open(bytes: &'a [u8], budget: usize) -> Result<Self, String> {
        if bytes.starts_with(OLE_MAGIC) {
            return Err(ole_reason(bytes));
        }
        let archive = ZipArchive::from_slice(bytes).map_err(|_| not_office(bytes))?;
        let mut entries = HashMap::new();
        let mut listed = archive.entries();
        let mut n_entries = 0;
        while let Ok(Some(entry)) = listed.next_entry() {
            n_entries += 1;
            if n_entries > MAX_ENTRIES {
                return Err(format!("the container has more than {MAX_ENTRIES} parts"));
            }
            let path = entry.file_path();
            let Some(name) = std::str::from_utf8(path.as_ref()).ok().and_then(part_name) else {
                continue;
            };
            if name.ends_with(".xml") || name.ends_with(".rels") {
                let is_encrypted = entry.flags().is_encrypted();
                let (place, method) = (entry.wayfinder(), entry.compression_method());
                // The first of two entries with the same name counts.
                entries.entry(name).or_insert(Entry { place, method, is_encrypted });
            }
        }
        Ok(Package { archive, entries, budget: Cell::new(budget) })
    }

    /// Returns the text of a part, by its name without leading `/`; `None` when there is no such part.
    pub(super) fn part(&self, name: &str) -> Result<Option<String>, String> {
        let Some(entry) = self.entries.get(&name.to_ascii_lowercase()) else { return Ok(None) };
        if entry.is_encrypted {
            return Err(encrypted());
        }
        let place = self.archive.get_entry(entry.place).map_err(|why| broken(name, &why))?;
        let data = place.data();
        let budget = self.budget.get();
        // A guess at the unpacked size, bounded so that a wrong one costs little.
        let mut bytes = Vec::with_capacity(data.len().saturating_mul(4).min(budget).min(1 << 24));
        let Some(unpacked) = unpacked(data, entry.method) else {
            return Err(format!("part `{name}` is packed in a way that is not read"));
        };
        // One byte more than allowed, to detect larger parts.
        let outcome = unpacked.take(budget as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() > budget {
            return Err(too_large(name, budget));
        }
        // A damaged part is kept up to the damage; the XML reader reports where it breaks.
        if let Err(why) = outcome
            && bytes.is_empty()
        {
            return Err(broken(name, &why));
        }
        self.budget.set(budget - bytes.len());
        Ok(Some(decoded(bytes)))
    }

    /// Checks that all entries together stay within the budget, for a reader that unpacks them by itself and trusts
    /// the file. Entries of one name count each, since readers differ in which of them they take.
    pub(crate) fn check_sizes(&self) -> Result<(), String> {
        let budget = self.budget.get();
        let mut left = budget as u64;
        let mut listed = self.archive.entries();
        while let Ok(Some(entry)) = listed.next_entry() {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            if entry.flags().is_encrypted() {
                return Err(encrypted());
            }
            let Ok(place) = self.archive.get_entry(entry.wayfinder()) else { continue };
            let Some(unpacked) = unpacked(place.data(), entry.compression_method()) else {
                continue;
            };
            let mut unpacked = unpacked.take(left + 1);
            // Damage is for the reader to report.
            let _ = std::io::copy(&mut unpacked, &mut std::io::sink());
            if unpacked.limit() == 0 {
                return Err(too_large(&name, budget));
            }
            left = unpacked.limit() - 1;
        }
        Ok(())
    }

    /// Returns the relationships of a part (those of the package for an empty name), by id.
    pub(super) fn relationships(
        &self,
        part: &str,
    ) -> Result<HashMap<String, Relationship>, String> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let slash = if folder.is_empty() { "" } else { "/" };
        let mut found = HashMap::new();
        let Some(text) = self.part(&format!("{folder}{slash}_rels/{file}.rels"))? else {
            return Ok(found);
        };
        let mut xml = Xml::new(&text);
        while let Some(token) = xml.next() {
            let Token::Open(tag) = token else { continue };
            if tag.local() != "Relationship" || found.len() >= MAX_RELATIONSHIPS {
                continue;
            }
            let (Some(id), Some(target)) = (tag.attr("Id"), tag.attr("Target")) else { continue };
            let is_external = tag.attr("TargetMode").is_some_and(|mode| &*mode == "External");
            let kind = tag.attr("Type").unwrap_or_default();
            let kind = kind.rsplit('/').next().unwrap_or("").to_string();
            let target = if is_external { target.into_owned() } else { joined(folder, &target) };
            found.insert(id.into_owned(), Relationship { kind, target, is_external });
        }
        Ok(found)
    }
}

/// Returns what an entry unpacks to; `None` where it is packed in a way that is not read.
fn unpacked<'d>(data: &'d [u8], method: CompressionMethod) -> Option<Box<dyn Read + 'd>> {
    match method {
        CompressionMethod::STORE => Some(Box::new(data)),
        CompressionMethod::DEFLATE => Some(Box::new(flate2::bufread::DeflateDecoder::new(data))),
        _ => None,
    }
}

fn too_large(name: &str, budget: usize) -> String {
    format!(
        "part `{name}` unpacks to more than {budget} bytes; hint: the file is damaged or made to exhaust memory"
    )
}

/// Returns a part's name in the form for comparison; `None` if it is too long.
fn part_name(raw: &str) -> Option<String> {
    let name = raw.trim_start_matches(['/', '\\']);
    (name.len() <= MAX_NAME_BYTES).then(|| name.replace('\\', "/").to_ascii_lowercase())
}

/// Resolves a target relative to a folder.
fn joined(folder: &str, target: &str) -> String {
    let base = if target.starts_with('/') { "" } else { folder };
    crate::target::joined(base, target)
}

/// Decodes a part: UTF-8 or UTF-16; invalid bytes become `U+FFFD`.
fn decoded(bytes: Vec<u8>) -> String {
    let encoding = match bytes.as_slice() {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => UTF_16LE,
        [0xfe, 0xff, ..] | [0, b'<', ..] => UTF_16BE,
        _ => UTF_8,
    };
    if encoding != UTF_8 || bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        return encoding.decode(&bytes).0.into_owned();
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
}

fn broken(name: &str, why: &dyn std::fmt::Display) -> String {
    format!("part `{name}` is damaged: {why}")
}

fn encrypted() -> String {
    "encrypted: the document is protected by a password; hint: save a copy without one".to_string()
}

/// Returns the error for an OLE container, by the names of its streams.
fn ole_reason(bytes: &[u8]) -> String {
    let holds = |name: &str| {
        let utf16: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memmem::find(bytes, &utf16).is_some()
    };
    if holds("EncryptedPackage") || holds("EncryptionInfo") {
        return encrypted();
    }
    if holds("WordDocument") {
        return "an old Word document (.doc) is not read; hint: save it as .docx".to_string();
    }
    if holds("Workbook") {
        return "an old Excel workbook (.xls) is not read; hint: save it as .xlsx".to_string();
    }
    "an old binary Office file is not read; hint: save it as .docx or .xlsx".to_string()
}

/// Returns the error for a file that is not a container, by its beginning.
fn not_office(bytes: &[u8]) -> String {
    let head = bytes.get(..bytes.len().min(512)).unwrap_or(bytes).trim_ascii_start();
    let is = |start: &[u8]| head.get(..start.len()).is_some_and(|h| h.eq_ignore_ascii_case(start));
    match () {
        () if bytes.is_empty() => "an empty file is no Office document".to_string(),
        () if is(b"{\\rtf") => {
            "RTF under the name of an Office document; hint: save it as .docx".to_string()
        }
        () if is(b"<!doctype html") || is(b"<html") => {
            "HTML under the name of an Office document; hint: rename it to .html".to_string()
        }
        () if is(b"PK") => {
            "a damaged container: its end is missing or its list is broken".to_string()
        }
        () => "not an Office document: it is no zip container".to_string(),
    }
}
