//! Vocabulary: the known relations, and the words that state them.
//!
//! In: `config/predicates.toml`, embedded, and the files of the same form that the settings name. Out: predicates
//! with their types and inverses, cues by kind, and frames (cues as the parser sees them).
//! Invariants: each kind has a cue once, and the row of the last file wins; names and words are interned, so that
//! evidence carries them as static text (memory is bounded: files are small and read when a project opens); the same
//! files give the same fingerprint.

mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use config::limits::DEFAULT_PREDICATES;
use config::settings::Relate;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cues::{Cue, CueKind, Cues, Types};
use super::depend::Frames;
use model::terms::EntityType;

pub use file::VocabularyError;

const BUILTIN: &str = include_str!("../../../../config/predicates.toml");
/// Largest file of relations, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 10;
/// Weight of a relation's name and inverse used as keys.
const NAME_WEIGHT: f32 = 0.85;
/// Precedes the predicate's name in a statement that is denied.
pub const DENIED: &str = "not ";

/// One relation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Predicate {
    pub(super) name: &'static str,
    /// `not NAME`, the predicate of evidence against it.
    pub(super) denied: &'static str,
    pub(super) inverse: Option<&'static str>,
    /// True when it cannot hold in both directions: stating both is a contradiction.
    pub(super) is_one_way: bool,
    /// True when a subject has one object: sources that name different ones contradict each other.
    pub(super) is_functional: bool,
    /// Types that may be subject; empty for any.
    pub(super) subjects: Vec<EntityType>,
    /// Types that may be object; empty for any.
    pub(super) objects: Vec<EntityType>,
}

impl Predicate {
    fn named(name: &'static str) -> Self {
        Predicate {
            name,
            denied: intern(&format!("{DENIED}{name}")),
            inverse: None,
            is_one_way: false,
            is_functional: false,
            subjects: Vec::new(),
            objects: Vec::new(),
        }
    }
}

/// Relations, cues and frames.
pub struct Vocabulary {
    predicates: FxHashMap<&'static str, Predicate>,
    pub(super) cues: Cues,
    pub(super) frames: Frames,
    /// Types that a single cue allows, by relation and pattern.
    types: FxHashMap<(&'static str, &'static str), Types>,
    fingerprint: String,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// Returns the built-in relations.
    pub fn builtin() -> Arc<Self> {
        static BUILTIN_VOCABULARY: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
            Arc::new(Vocabulary::read(&[]).expect("the embedded file is tested to be read"))
        });
        Arc::clone(&BUILTIN_VOCABULARY)
    }

    /// Returns the built-in relations and those of the files that the settings name; relative paths are below `root`.
    ///
    /// # Errors
    /// [`VocabularyError`] for a file that cannot be read, is outside the folder, is too large, or has a wrong line.
    pub fn load(root: &Path, settings: &Relate) -> Result<Arc<Self>, VocabularyError> {
        let mut texts = Vec::new();
        for name in &settings.predicates {
            let path = Path::new(name);
            if let Some(text) = file::text_of(root, path, name == DEFAULT_PREDICATES)? {
                texts.push((root.join(path), text));
            }
        }
        // Without files of the user, share the built-in one.
        if texts.is_empty() {
            return Ok(Vocabulary::builtin());
        }
        Ok(Arc::new(Vocabulary::read(&texts)?))
    }

    /// Returns the built-in relations and those of these texts; the paths are for errors.
    ///
    /// # Errors
    /// [`VocabularyError`], for the first wrong line.
    pub fn read(texts: &[(PathBuf, String)]) -> Result<Self, VocabularyError> {
        let mut rows = file::Rows::default();
        // Later rows replace earlier ones, so the user's files come last.
        rows.read(Path::new("predicates.toml"), BUILTIN)?;
        for (path, text) in texts {
            rows.read(path, text)?;
        }
        let file::Rows { mut predicates, mut cues } = rows;
        name_keys(&predicates, &mut cues);
        // A weight of 0 removes a cue of an earlier file; a definition's says that longer words define nothing.
        cues.retain(|cue| cue.weight > 0.0 || cue.kind == CueKind::Definition);
        // A cue may state a relation that no file declares.
        for cue in &cues {
            predicates.entry(cue.predicate).or_insert_with(|| Predicate::named(cue.predicate));
        }
        let mut hashed = BUILTIN.to_string();
        texts.iter().for_each(|(_, text)| {
            // A separator, so that moving text between files changes the hash.
            hashed.push('\0');
            hashed.push_str(text);
        });
        Ok(Vocabulary {
            types: types_of(&cues),
            frames: Frames::of(&cues),
            cues: Cues::new(cues),
            predicates: predicates.into_iter().collect(),
            fingerprint: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(hashed.as_bytes())),
        })
    }

    /// Returns a hash that changes when other relations could be found.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the relations' names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        self.names_of(|_| true)
    }

    /// Returns the relations that contradict themselves when stated both ways, sorted.
    pub fn one_way(&self) -> Vec<&'static str> {
        self.names_of(|predicate| predicate.is_one_way)
    }

    /// Returns the relations of which a subject has one object, sorted.
    pub fn functional(&self) -> Vec<&'static str> {
        self.names_of(|predicate| predicate.is_functional)
    }

    fn names_of(&self, wanted: fn(&Predicate) -> bool) -> Vec<&'static str> {
        let found = self.predicates.values().filter(|predicate| wanted(predicate));
        let mut names: Vec<_> = found.map(|predicate| predicate.name).collect();
        names.sort_unstable();
        names
    }

    /// Returns a relation by its name.
    pub(super) fn predicate(&self, name: &str) -> Option<&Predicate> {
        self.predicates.get(name)
    }

    /// True when things of these types (`None`: the document itself) may be subject and object of a relation that
    /// this pattern states.
    pub(super) fn allows(
        &self,
        predicate: &'static str,
        pattern: &'static str,
        subject: Option<EntityType>,
        object: Option<EntityType>,
    ) -> bool {
        let fits = |allowed: &[EntityType], it: Option<EntityType>| {
            allowed.is_empty() || it.is_none_or(|it| allowed.contains(&it))
        };
        // The types of the relation and those of the cue must both allow it.
        let relation = self.predicate(predicate).map(|it| (&it.subjects, &it.objects));
        let words = self.types.get(&(predicate, pattern)).map(|it| (&it.0, &it.1));
        relation
            .into_iter()
            .chain(words)
            .all(|(subjects, objects)| fits(subjects, subject) && fits(objects, object))
    }
}

/// Returns the types that single cues allow, by relation and by both of their patterns, as words and as grammar.
fn types_of(cues: &[Cue]) -> FxHashMap<(&'static str, &'static str), Types> {
    let typed = cues.iter().filter(|cue| cue.types != Types::default());
    let patterns = typed.flat_map(|cue| {
        let both = [Some(cue.pattern), Frames::pattern_of(cue)];
        both.into_iter().flatten().map(|it| ((cue.predicate, it), cue.types.clone()))
    });
    patterns.collect()
}

/// Adds relations' names and inverses (`depends on`, `dependency of`) as keys, unless a row has them.
fn name_keys(predicates: &BTreeMap<&'static str, Predicate>, cues: &mut Vec<Cue>) {
    let mut known: FxHashSet<&str> = cues
        .iter()
        .filter(|cue| matches!(cue.kind, CueKind::Section | CueKind::List))
        .map(|cue| cue.words)
        .collect();
    for predicate in predicates.values() {
        let inverse = predicate.inverse.map(|name| (name, true));
        for (name, is_backward) in [(predicate.name, false)].into_iter().chain(inverse) {
            let words = intern(&name.replace('_', " "));
            if known.insert(words) {
                let name = predicate.name;
                cues.push(Cue::new(name, words, CueKind::List, is_backward, NAME_WEIGHT));
            }
        }
    }
}

/// Returns one static copy of a text; the same copy for every call with that text.
pub(super) fn intern(text: &str) -> &'static str {
    static KNOWN: LazyLock<Mutex<FxHashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.to_string().into_boxed_str());
    known.insert(kept);
    kept
}

#[cfg(test)]
mod tests;
