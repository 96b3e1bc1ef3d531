//! File: relations and cues from a TOML file.
//!
//! In: a path, a text. Out: rows added to those of the previous files; or the first wrong line, with its key.
//! Invariants: an unknown key is an error; a relative path never leads out of the project's folder, and no more than
//! `MAX_FILE_BYTES` are read, because a folder may come from a stranger.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use confine::{Content, Error, Root, below};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MAX_FILE_BYTES, Predicate, intern};
use crate::relate::cues::{Cue, CueKind, Types};
use model::terms::EntityType;

/// Longest name of a relation and longest cue, in bytes.
const MAX_NAME_BYTES: usize = 40;
const MAX_CUE_BYTES: usize = 60;
/// Most cues that all files may have together.
const MAX_CUES: usize = 2_000;
/// Weight of a cue without one.
const DEFAULT_WEIGHT: f64 = 0.8;
const KINDS: [(&str, CueKind); 5] = [
    ("sentence", CueKind::Sentence),
    ("definition", CueKind::Definition),
    ("section", CueKind::Section),
    ("list", CueKind::List),
    ("title", CueKind::Title),
];

/// Why a file of relations cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VocabularyError {
    /// It cannot be read.
    #[error("cannot read the relations in `{}`: {why}\nhint: `relate.predicates` names this file", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A line has an unknown or forbidden key or value.
    #[error("`{}`, line {line}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong, with the key.
        why: String,
    },
}

/// Returns the text of a file; `None` when it is missing and optional.
pub(super) fn text_of(
    root: &Path,
    path: &Path,
    is_optional: bool,
) -> Result<Option<String>, VocabularyError> {
    let whole = root.join(path);
    let fail = |why: &str| VocabularyError::Unreadable { path: whole.clone(), why: why.into() };
    // An absolute path comes from the user's own configuration, and its links may lead anywhere; a path from the
    // folder must stay inside it.
    let read = match path.is_absolute() {
        true => read_anywhere(path),
        false => read_inside(root, path),
    };
    let file = match read {
        Ok(Some(file)) => file,
        Ok(None) => return Err(fail("it is not a file")),
        Err(error) if is_optional && error.is_missing() => return Ok(None),
        Err(error) if error.leads_out() => return Err(fail("it lies outside the folder")),
        Err(error) => return Err(fail(&error.to_string())),
    };
    if file.is_cut {
        return Err(fail(&format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    String::from_utf8(file.bytes).map(Some).map_err(|_| fail("it is not UTF-8"))
}

fn read_anywhere(path: &Path) -> Result<Option<Content>, Error> {
    let real = path.canonicalize()?;
    read_inside(real.parent().unwrap_or(&real), &real)
}

fn read_inside(root: &Path, path: &Path) -> Result<Option<Content>, Error> {
    let name = below(root, &path.to_string_lossy()).map_err(|_| Error::Outside)?;
    Root::open_canonical(root)?.read(&name, MAX_FILE_BYTES)
}

/// The rows of the files read so far.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) predicates: BTreeMap<&'static str, Predicate>,
    pub(super) cues: Vec<Cue>,
}

/// A wrong part of a text: byte range and reason.
type Fault = (Range<usize>, String);
type Value<'i> = Spanned<DeValue<'i>>;

impl Rows {
    /// Adds the rows of a file.
    ///
    /// # Errors
    /// [`VocabularyError::Wrong`], for the first wrong line.
    pub(super) fn read(&mut self, path: &Path, text: &str) -> Result<(), VocabularyError> {
        let wrong = |(span, why): Fault| {
            let before = text.get(..span.start.min(text.len())).unwrap_or(text);
            let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
            VocabularyError::Wrong { path: path.to_path_buf(), line, why }
        };
        let table = DeTable::parse(text)
            .map_err(|error| wrong((error.span().unwrap_or(0..0), error.message().to_string())))?;
        // In the order of the file, so that the first wrong line is the one reported.
        let mut relations: Vec<_> = table.get_ref().iter().collect();
        relations.sort_by_key(|(name, _)| name.span().start);
        relations.into_iter().try_for_each(|(name, value)| {
            self.relation((name.span(), name.get_ref()), value).map_err(wrong)
        })
    }

    fn relation(&mut self, name: (Range<usize>, &str), value: &Value<'_>) -> Result<(), Fault> {
        let (span, name) = name;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
            return Err((
                span,
                format!(
                    "`{name}` is not a valid relation name: lowercase letters, digits and `_`, \
                 at most {MAX_NAME_BYTES}"
                ),
            ));
        }
        let DeValue::Table(keys) = value.get_ref() else {
            return Err((span, format!("`{name}` is not a table; write `[{name}]`")));
        };
        let name = intern(name);
        self.predicates.entry(name).or_insert_with(|| Predicate::named(name));
        let mut keys: Vec<_> = keys.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in keys {
            let shown = format!("{name}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                // A separate `match`, since `cues_of` needs `self` and the entry borrows it.
                "cues" => self.cues_of(name, value)?,
                other => {
                    let predicate = self.predicates.entry(name);
                    let predicate = predicate.or_insert_with(|| Predicate::named(name));
                    match other {
                        "inverse" => predicate.inverse = Some(intern(name_in(value, &shown)?)),
                        "one_way" => predicate.is_one_way = flag(value, &shown)?,
                        "functional" => predicate.is_functional = flag(value, &shown)?,
                        "subject" => predicate.subjects = types(value, &shown)?,
                        "object" => predicate.objects = types(value, &shown)?,
                        _ => {
                            return Err((
                                key.span(),
                                unknown(
                                    &shown,
                                    "inverse, one_way, functional, subject, object, cues",
                                ),
                            ));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn cues_of(&mut self, name: &'static str, value: &Value<'_>) -> Result<(), Fault> {
        for row in array(value, &format!("{name}.cues"))? {
            let cue = cue_of(name, row)?;
            // A later row with the same words replaces the earlier one, also from another file.
            self.cues.retain(|old| (old.kind, old.words) != (cue.kind, cue.words));
            self.cues.push(cue);
            if self.cues.len() > MAX_CUES {
                return Err((
                    row.span(),
                    format!("`{name}.cues`: more than {MAX_CUES} cues in all"),
                ));
            }
        }
        Ok(())
    }
}

fn cue_of(name: &'static str, row: &Value<'_>) -> Result<Cue, Fault> {
    let DeValue::Table(keys) = row.get_ref() else {
        let hint = format!("a row of `{name}.cues` is not `{{ words = \"…\", weight = … }}`");
        return Err((row.span(), hint));
    };
    let (mut words, mut weight, mut is_backward) = (None, DEFAULT_WEIGHT, false);
    let (mut kind, mut allowed) = (CueKind::Sentence, Types::default());
    for (key, value) in keys {
        let shown = format!("{name}.cues.{}", key.get_ref());
        match key.get_ref().as_ref() {
            "words" => words = Some(cue_words(value, &shown)?),
            "weight" => weight = share(value, &shown)?,
            "backward" => is_backward = flag(value, &shown)?,
            "subject" => allowed.0 = types(value, &shown)?,
            "object" => allowed.1 = types(value, &shown)?,
            "in" => {
                let given = string(value, &shown)?;
                let known = KINDS.iter().find(|(name, _)| *name == given);
                let kinds = KINDS.map(|(name, _)| name).join(", ");
                kind = known.ok_or_else(|| (value.span(), unknown_value(&shown, given, &kinds)))?.1;
            }
            _ => {
                return Err((
                    key.span(),
                    unknown(&shown, "words, weight, backward, in, subject, object"),
                ));
            }
        }
    }
    let words =
        words.ok_or_else(|| (row.span(), format!("a row of `{name}.cues` has no `words`")))?;
    let cue = Cue::new(name, intern(words), kind, is_backward, weight as f32);
    Ok(Cue { types: allowed, ..cue })
}

fn unknown(shown: &str, keys: &str) -> String {
    format!("`{shown}` is not known; keys are {keys}")
}

fn unknown_value(shown: &str, given: &str, values: &str) -> String {
    format!("`{shown}` is `{given}`; it must be one of {values}")
}

fn array<'v, 'i>(value: &'v Value<'i>, shown: &str) -> Result<Vec<&'v Value<'i>>, Fault> {
    match value.get_ref() {
        DeValue::Array(items) => Ok(items.iter().collect()),
        _ => Err((value.span(), format!("`{shown}` is not a list"))),
    }
}

fn string<'v>(value: &'v Value<'_>, shown: &str) -> Result<&'v str, Fault> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err((value.span(), format!("`{shown}` is not a text"))),
    }
}

fn flag(value: &Value<'_>, shown: &str) -> Result<bool, Fault> {
    match value.get_ref() {
        DeValue::Boolean(is_set) => Ok(*is_set),
        _ => Err((value.span(), format!("`{shown}` is neither `true` nor `false`"))),
    }
}

fn share(value: &Value<'_>, shown: &str) -> Result<f64, Fault> {
    let number = match value.get_ref() {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    };
    let within = number.filter(|number: &f64| (0.0..=1.0).contains(number));
    within.ok_or_else(|| (value.span(), format!("`{shown}` is not a number from 0 to 1")))
}

fn name_in<'v>(value: &'v Value<'_>, shown: &str) -> Result<&'v str, Fault> {
    let name = string(value, shown)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
        return Err((value.span(), format!("`{shown}` is not a valid relation name")));
    }
    Ok(name)
}

fn cue_words<'v>(value: &'v Value<'_>, shown: &str) -> Result<&'v str, Fault> {
    let words = string(value, shown)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c == ' ';
    let is_spaced = words.split(' ').all(|word| !word.is_empty());
    if !is_spaced || words.len() > MAX_CUE_BYTES || !words.chars().all(is_plain) {
        let why = format!(
            "`{shown}` must be lowercase words parted by single blanks, at most {MAX_CUE_BYTES} bytes"
        );
        return Err((value.span(), why));
    }
    Ok(words)
}

fn types(value: &Value<'_>, shown: &str) -> Result<Vec<EntityType>, Fault> {
    let mut out = Vec::new();
    for item in array(value, shown)? {
        let name = string(item, shown)?;
        let known = EntityType::ALL.into_iter().find(|it| it.as_str() == name);
        let all = EntityType::ALL.map(EntityType::as_str).join(", ");
        out.push(known.ok_or_else(|| (item.span(), unknown_value(shown, name, &all)))?);
    }
    Ok(out)
}
