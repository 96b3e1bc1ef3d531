//! Made: what kgd added to an agent's file besides entries, so that removing the last entry can
//! undo it.
//!
//! In: a path, and the texts before and after. Out: after the last entry is removed, the text to
//! keep, or that the file is removed.
//! Invariants: a list or file that existed before stays, however empty; without a record everything
//! stays.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::edit::{EditError, Place};
use super::file;

/// The file below the state directory that holds the records.
const RECORDS: &str = "agents.json";

/// What did not exist before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The file.
    #[serde(default)]
    file: bool,
    /// Its folder.
    #[serde(default)]
    folder: bool,
    /// The list of servers.
    #[serde(default)]
    list: bool,
    /// The whole text of the file, if it was blank.
    #[serde(default)]
    blank: Option<String>,
}

/// What remains of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// This text.
    Text(String),
    /// Nothing: the file is removed, and its folder with it if kgd created that and it is empty.
    Nothing,
}

impl Made {
    /// Examines a file with the text `before`, ahead of the first entry.
    ///
    /// # Errors
    /// If the text cannot be parsed.
    pub fn of(path: &Path, before: &str, place: &Place<'_>) -> Result<Made, EditError> {
        Ok(Made {
            file: !path.exists(),
            folder: path.parent().is_some_and(|it| !it.exists()),
            list: !place.has_list(before)?,
            blank: before.trim().is_empty().then(|| before.to_string()),
        })
    }

    /// Returns what remains of a text from which an entry was removed.
    ///
    /// # Errors
    /// If the text cannot be parsed.
    pub fn taken_from(&self, text: String, place: &Place<'_>) -> Result<Left, EditError> {
        let is_used = !place.entries(&text)?.is_empty();
        let text = if is_used || !self.list { text } else { place.without_list(&text)? };
        match &self.blank {
            Some(blank) if place.is_empty_text(&text) => match self.file {
                true => Ok(Left::Nothing),
                false => Ok(Left::Text(blank.clone())),
            },
            _ => Ok(Left::Text(text)),
        }
    }

    /// Removes a file whose text is still `before`.
    ///
    /// # Errors
    /// The system's error, or that the file has changed.
    pub fn remove(&self, path: &Path, before: &str) -> io::Result<()> {
        if file::read(path)? != before {
            return Err(io::Error::other("it was changed meanwhile"));
        }
        fs::remove_file(path)?;
        if let Some(folder) = path.parent().filter(|_| self.folder) {
            // Fails if the folder has other files, which is intended.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// The records of all files.
#[derive(Debug, Default)]
pub struct Records {
    path: PathBuf,
    text: String,
    of: BTreeMap<PathBuf, Made>,
}

impl Records {
    /// Reads the records; there are none if they cannot be read.
    pub fn load(state: &Path) -> Records {
        let path = state.join(RECORDS);
        let text = file::read(&path).unwrap_or_default();
        let of = serde_json::from_str(&text).unwrap_or_default();
        Records { path, text, of }
    }

    /// Returns what kgd added for a file; nothing without a record.
    pub fn of(&self, path: &Path) -> Made {
        self.of.get(path).cloned().unwrap_or_default()
    }

    /// Records a file before its first entry, or drops the record after its last.
    ///
    /// # Errors
    /// The system's error.
    pub fn note(&mut self, path: &Path, made: Option<Made>) -> io::Result<()> {
        match made {
            Some(made) => _ = self.of.entry(path.to_path_buf()).or_insert(made),
            None => _ = self.of.remove(path),
        }
        let text = serde_json::to_string_pretty(&self.of).map_err(io::Error::other)? + "\n";
        file::replace(&self.path, &self.text, &text)?;
        self.text = text;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::edit::Format;
    use super::*;

    #[test]
    fn what_was_made_goes_and_what_was_there_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let fields = json!({"command": "kg-mcp"}).as_object().cloned().expect("an object");
        let gone = |format, list, before: Option<&str>| {
            let place = Place { format, list, name: "kgd-notes" };
            let path = dir.path().join("sub/x.json");
            let _ = fs::remove_dir_all(dir.path().join("sub"));
            if let Some(text) = before {
                fs::create_dir_all(dir.path().join("sub")).expect("made");
                fs::write(&path, text).expect("written");
            }
            let before = before.unwrap_or_default();
            let made = Made::of(&path, before, &place).expect("understood");
            let after = place.put(before, &fields).expect("changed");
            let without = place.remove(&after).expect("understood").expect("there");
            made.taken_from(without, &place).expect("understood")
        };
        let json = |before| gone(Format::Json, "mcpServers", before);
        let toml = |before| gone(Format::Toml, "mcp_servers", before);
        assert_eq!(json(None), Left::Nothing);
        assert_eq!(toml(None), Left::Nothing);
        for text in
            ["", "{}\n", "{\"mcpServers\": {}}\n", "{\n  \"a\": 1, // kept\n  \"b\": [2]\n}\n"]
        {
            assert_eq!(json(Some(text)), Left::Text(text.into()));
        }
        for text in ["", "model = \"x\"\n", "[mcp_servers.other]\ncommand = \"y\"\n"] {
            assert_eq!(toml(Some(text)), Left::Text(text.into()));
        }
    }
}
