//! Stage: one daemon for each kind of reading, with the annotations that it is given.
//!
//! In: a corpus and its gold. Out: daemons that read it given nothing, given the annotated mentions, and given mentions
//! and links (`recognize.given`).
//! Invariants: everything these daemons store is in one scratch folder, which is deleted at the
//! end; the corpus is only read; annotated entities are used only in the stage that is given links.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ::config::{Places, Project};
use client::launch::Target;

use super::gold::Gold;
use super::{Exit, Failure};

/// The variable that would override the annotations of a stage.
const OWN_TABLE: &str = "KG_RECOGNIZE__GIVEN";

/// The annotations that a stage gets instead of finding them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Nothing,
    Mentions,
    MentionsAndLinks,
}

/// One reading of the corpus.
pub(super) struct Stage {
    pub(super) given: Given,
    pub(super) target: Target,
}

impl Stage {
    /// Returns the three readings, none of them started.
    pub(super) fn all(
        scratch: &Scratch,
        models: &Path,
        corpus: &Path,
        gold: &Gold,
    ) -> Result<[Self; 3], Failure> {
        if std::env::var_os(OWN_TABLE).is_some() {
            let failure = Failure::new(Exit::Refused, format!("`{OWN_TABLE}` is set"));
            return Err(failure.hint("unset it: `eval` sets it to the annotations of the corpus"));
        }
        let stage = |given| Self::of(given, scratch, models, corpus, gold);
        Ok([stage(Given::Nothing)?, stage(Given::Mentions)?, stage(Given::MentionsAndLinks)?])
    }

    /// Returns a reading with nothing given, not started.
    pub(super) fn plain(scratch: &Scratch, models: &Path, corpus: &Path) -> Result<Self, Failure> {
        Self::of(Given::Nothing, scratch, models, corpus, &Gold::default())
    }

    fn of(
        given: Given,
        scratch: &Scratch,
        models: &Path,
        corpus: &Path,
        gold: &Gold,
    ) -> Result<Self, Failure> {
        let places = scratch.places(given);
        write_settings(&places, given, gold)?;
        scratch.lend(models, &format!("{}/state", given as u8))?;
        let target = Target::new(&places, Project::at(&corpus.join("docs"))?)?;
        Ok(Stage { given, target })
    }
}

fn write_settings(places: &Places, given: Given, gold: &Gold) -> Result<(), Failure> {
    if given == Given::Nothing {
        return Ok(());
    }
    ::config::place::create_private_dir(&places.config)?;
    let table = places.config.join("mentions.tsv");
    std::fs::write(&table, table_of(gold, given == Given::MentionsAndLinks))?;
    // A JSON string is a YAML string.
    let path = serde_json::to_string(&table.display().to_string())?;
    std::fs::write(places.user_settings(), format!("recognize:\n  given: {path}\n"))?;
    Ok(())
}

/// Renders the gold for `recognize.given`. Each row keeps its line number in the corpus, so that
/// errors point there.
fn table_of(gold: &Gold, with_links: bool) -> String {
    let mut text = String::new();
    for (idx, row) in gold.table.iter().enumerate() {
        match row {
            _ if idx == 0 => text.push_str("path\tsurface\tnth\ttype\tentity"),
            Some([path, surface, nth, kind, entity]) => {
                let entity = if with_links { entity } else { "" };
                let _ = write!(text, "{path}\t{surface}\t{nth}\t{kind}\t{entity}");
            }
            None => {}
        }
        text.push('\n');
    }
    if gold.table.is_empty() {
        text.push_str("path\tsurface\tnth\ttype\tentity\n");
    }
    // A page annotated without any name has no names.
    gold.documents.iter().for_each(|path| {
        let _ = writeln!(text, "{path}");
    });
    text
}

/// A folder for the daemons' state, deleted at the end.
pub(super) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    pub(super) fn make() -> Result<Self, Failure> {
        Scratch::named("eval")
    }

    /// Creates another one, for questions and the folder they are about.
    pub(super) fn of_questions() -> Result<Self, Failure> {
        Scratch::named("self")
    }

    fn named(name: &str) -> Result<Self, Failure> {
        // Short, because a socket's path must fit; unique, because two may run at once.
        let dir = std::env::temp_dir().join(format!("kgctl-{name}-{}", std::process::id()));
        let scratch = Scratch { dir };
        ::config::place::create_private_dir(&scratch.dir)?;
        Ok(scratch)
    }

    /// Returns the path of a folder inside it, which is not created yet.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Links the user's added models into a daemon's state; they are only read.
    pub(super) fn lend(&self, models: &Path, state: &str) -> Result<(), Failure> {
        if models.is_dir() {
            let places =
                Places { state: self.at(state), runtime: self.at(""), config: self.at("") };
            ::config::place::create_private_dir(&places.state)?;
            std::os::unix::fs::symlink(models, places.models())?;
        }
        Ok(())
    }

    fn places(&self, given: Given) -> Places {
        let at = |name: &str| self.dir.join((given as u8).to_string()).join(name);
        Places { state: at("state"), runtime: at("run"), config: at("config") }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
