//! Stage: a daemon of its own for each kind of reading, with what is given to it.
//!
//! In: a corpus and its gold. Out: daemons that read it with nothing given, with the mentions of the gold given, and
//! with mentions and links given (`recognize.given`).
//! Invariants: all that these daemons keep lies in one scratch folder, which goes in the end; the corpus is only read;
//! entities are handed in only where the stage says so.
//! Not here: comparing.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ::config::{Places, Project};
use client::launch::Target;

use super::gold::Gold;
use super::{Exit, Failure};

/// The variable that would overrule what a stage is given.
const OWN_TABLE: &str = "KG_RECOGNIZE__GIVEN";

/// What is handed in instead of being found.
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
    /// The three readings, none begun.
    pub(super) fn all(
        (scratch, models): (&Scratch, &Path),
        corpus: &Path,
        gold: &Gold,
    ) -> Result<[Self; 3], Failure> {
        if std::env::var_os(OWN_TABLE).is_some() {
            let failure = Failure::new(Exit::Refused, format!("`{OWN_TABLE}` is set"));
            return Err(failure.hint("unset it: the annotations of the corpus are given here"));
        }
        let stage = |given| {
            let places = scratch.places(given);
            write_settings((&places, given), gold)?;
            scratch.lend(models, &format!("{}/state", given as u8))?;
            let target = Target::new(&places, Project::at(&corpus.join("docs"))?)?;
            Ok::<_, Failure>(Stage { given, target })
        };
        Ok([stage(Given::Nothing)?, stage(Given::Mentions)?, stage(Given::MentionsAndLinks)?])
    }
}

fn write_settings((places, given): (&Places, Given), gold: &Gold) -> Result<(), Failure> {
    if given == Given::Nothing {
        return Ok(());
    }
    ::config::place::create_private_dir(&places.config)?;
    let table = places.config.join("mentions.tsv");
    std::fs::write(&table, table_of(gold, given == Given::MentionsAndLinks))?;
    // A string of JSON is one of YAML.
    let path = serde_json::to_string(&table.display().to_string())?;
    std::fs::write(places.user_settings(), format!("recognize:\n  given: {path}\n"))?;
    Ok(())
}

/// The gold as `recognize.given` wants it. Every row stands in the line that it has in the corpus, so that a complaint
/// about it leads there.
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
    // Whoever annotated a page without a name said that it has none.
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
        // Short, for a socket's path must fit; unique, for two may run at once.
        let dir = std::env::temp_dir().join(format!("kgctl-eval-{}", std::process::id()));
        let scratch = Scratch { dir };
        ::config::place::create_private_dir(&scratch.dir)?;
        Ok(scratch)
    }

    /// A folder inside it, not made yet.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Has a daemon whose state lies there find the models that the user added; they are only read.
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
