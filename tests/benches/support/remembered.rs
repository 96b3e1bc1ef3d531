//! Remembered: entities like those of agents, with a given number of observations. Deterministic.
//!
//! An entity is a note in `memory/` in the form that tools write: type, tags, numbered observations
//! of common words, and three relations. Every fourth has a summary.

use std::path::Path;

use anyhow::Result;

use super::linked::{ADJECTIVES, Dice, NOUNS, RELATIONS, sentence};

/// Relations per entity.
const N_RELATIONS: usize = 3;

/// Generated entities.
pub(crate) struct Remembered {
    n_entities: usize,
    n_observations: usize,
}

impl Remembered {
    /// Describes this many entities with this many observations in total.
    pub(crate) fn new(n_entities: usize, n_observations: usize) -> Self {
        Remembered { n_entities, n_observations }
    }

    /// Writes the entities below `root`.
    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        let folder = root.join("memory");
        std::fs::create_dir_all(&folder)?;
        for n in 0..self.n_entities {
            let file = name(n).to_lowercase().replace(' ', "-");
            std::fs::write(folder.join(file).with_extension("md"), self.text(n))?;
        }
        Ok(())
    }

    /// Returns the names of some entities, evenly spread.
    pub(crate) fn sample(&self, n: usize) -> Vec<String> {
        let step = (self.n_entities / n).max(1);
        (0..self.n_entities).step_by(step).take(n).map(name).collect()
    }

    /// Returns possible questions.
    pub(crate) fn questions(n: usize) -> Vec<String> {
        (0..n).map(|n| sentence(&mut Dice::of(n * 7_919), None)).collect()
    }

    /// Returns the same content in the format of server-memory: one JSON object per line.
    pub(crate) fn json_lines(&self) -> String {
        let line = |n: usize| {
            let observations = self.observations(n);
            let entity = serde_json::json!({
                "type": "entity", "name": name(n), "entityType": kind(n), "observations": observations
            });
            format!("{entity}\n")
        };
        (0..self.n_entities).map(line).collect()
    }

    fn observations(&self, n: usize) -> Vec<String> {
        let whole = self.n_observations / self.n_entities;
        let mut dice = Dice::of(n + 1_000_003);
        (0..whole).map(|_| sentence(&mut dice, None).trim().to_string()).collect()
    }

    fn text(&self, n: usize) -> String {
        let (name, mut dice) = (name(n), Dice::of(n * 17));
        let mut text =
            format!("---\ntitle: {name}\ntype: {}\ntags:\n  - {}\n", kind(n), dice.word(NOUNS));
        if n.is_multiple_of(4) {
            text += &format!("summary: {}\n", sentence(&mut dice, None).trim());
        }
        text += &format!("---\n\n# {name}\n\n");
        for (idx, observation) in self.observations(n).iter().enumerate() {
            text += &format!("- {observation} ^o{}\n", idx + 1);
        }
        text += "\n";
        for _ in 0..N_RELATIONS {
            let target = self::name(dice.below(self.n_entities));
            text += &format!("- {} [[{target}]]\n", dice.word(RELATIONS).replace(' ', "_"));
        }
        text
    }
}

fn kind(n: usize) -> &'static str {
    Dice::of(n * 5).word(&["person", "project", "service", "place", "decision"])
}

fn name(n: usize) -> String {
    let mut dice = Dice::of(n * 31);
    let mut name = format!("{} {} {n}", dice.word(ADJECTIVES), dice.word(NOUNS));
    name[..1].make_ascii_uppercase();
    name
}
