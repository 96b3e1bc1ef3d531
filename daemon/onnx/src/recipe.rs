//! Recipe: how the vectors of tokens become the vector of a text, from the files of sentence-transformers.
//!
//! In: `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`, `config_sentence_transformers.json`, the
//! folders of dense layers; each may be missing. Out: pooling, dense layers, longest input, prompts.
//! Invariants: an unknown step is an error and never skipped: the result would still look like a vector.

mod dense;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use dense::Dense;

use crate::ModelError;
use crate::folder::Folder;

/// Most layers after the pooling; real models have two.
const MAX_DENSE: usize = 8;

const UNSUPPORTED: &str = "kgd pools by the mean, the largest, the first or the last token, and knows dense layers; a \
     model with an output `sentence_embedding` computes everything else itself";

/// How to combine the vectors of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean over all tokens, special ones included.
    #[default]
    Mean,
    /// The largest number of each component.
    Max,
    /// The first token, `[CLS]`.
    First,
    /// The last token.
    Last,
}

/// Texts put before questions and documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Before a question.
    pub query: String,
    /// Before a document.
    pub document: String,
}

/// The contents of the folder's files.
#[derive(Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) pooling: Pooling,
    pub(crate) dense: Vec<Dense>,
    /// Longest input, tokens, if stated.
    pub(crate) max_tokens: Option<usize>,
    pub(crate) prompts: Prompts,
}

/// One entry of `modules.json`.
#[derive(Debug, Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// The used part of `sentence_bert_config.json`.
#[derive(Debug, Default, Deserialize)]
struct Limits {
    max_seq_length: Option<usize>,
}

/// The used part of `config_sentence_transformers.json`.
#[derive(Debug, Default, Deserialize)]
struct Wording {
    #[serde(default)]
    prompts: BTreeMap<String, Option<String>>,
    default_prompt_name: Option<String>,
}

impl Recipe {
    pub(crate) fn read(folder: &Folder<'_>) -> Result<Self, ModelError> {
        let limits: Option<(_, Limits)> = folder.optional("sentence_bert_config.json")?;
        let wording: Option<(_, Wording)> = folder.optional("config_sentence_transformers.json")?;
        let mut recipe = Recipe {
            pooling: Pooling::Mean,
            dense: Vec::new(),
            max_tokens: limits.and_then(|(_, limits)| limits.max_seq_length),
            prompts: wording.map(|(_, wording)| wording.prompts()).unwrap_or_default(),
        };
        match folder.optional::<Vec<Module>>("modules.json")? {
            Some((path, modules)) => {
                for module in &modules {
                    recipe.add(folder, &path, module)?;
                }
            }
            None => recipe.pooling = pooling(folder, "1_Pooling")?,
        }
        Ok(recipe)
    }

    fn add(
        &mut self,
        folder: &Folder<'_>,
        listed_in: &Path,
        module: &Module,
    ) -> Result<(), ModelError> {
        // The type is a Python path, which differs between versions; its last part does not.
        let kind = module.kind.rsplit('.').next().unwrap_or_default();
        match kind {
            "Transformer" | "Normalize" => {}
            "Pooling" => self.pooling = pooling(folder, inside(listed_in, &module.path)?)?,
            "Dense" if self.dense.len() < MAX_DENSE => {
                self.dense.push(Dense::read(folder, inside(listed_in, &module.path)?)?);
            }
            _ => {
                let why = format!("wants a step that kgd does not know, `{}`", module.kind);
                return Err(ModelError::new(listed_in, why, UNSUPPORTED));
            }
        }
        Ok(())
    }
}

/// Returns the path of a module, which must not lead out of the folder.
fn inside<'a>(listed_in: &Path, path: &'a str) -> Result<&'a str, ModelError> {
    match !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => Ok(path),
        false => {
            let why = format!("has `{path}` where the name of a folder should be");
            Err(ModelError::new(listed_in, why, UNSUPPORTED))
        }
    }
}

/// Reads `config.json` of a pooling folder; the mean if there is none.
fn pooling(folder: &Folder<'_>, name: &str) -> Result<Pooling, ModelError> {
    let file = format!("{name}/config.json");
    let Some((path, config)) = folder.optional::<BTreeMap<String, Value>>(&file)? else {
        return Ok(Pooling::Mean);
    };
    let wrong = |why: String| Err(ModelError::new(&path, why, UNSUPPORTED));
    if config.get("include_prompt") == Some(&Value::Bool(false)) {
        return wrong("wants prompts left out of the mean".to_string());
    }
    // Old versions have a switch for each mode, new ones a name.
    let switched = config.iter().filter(|(_, value)| **value == Value::Bool(true));
    let mut modes: Vec<&str> =
        switched.filter_map(|(key, _)| key.strip_prefix("pooling_mode_")).collect();
    modes.extend(config.get("pooling_mode").and_then(Value::as_str));
    match modes.as_slice() {
        // The sum divided by the root of the number of tokens has the direction of the mean, and every vector is scaled
        // anyway.
        [] | ["mean_tokens" | "mean" | "mean_sqrt_len_tokens" | "mean_sqrt_len"] => {
            Ok(Pooling::Mean)
        }
        ["cls_token" | "cls"] => Ok(Pooling::First),
        ["max_tokens" | "max"] => Ok(Pooling::Max),
        ["lasttoken"] => Ok(Pooling::Last),
        modes => wrong(format!("wants the pooling `{}`", modes.join("` with `"))),
    }
}

impl Wording {
    /// Returns the prompts for questions and documents by their usual names, else the default one for both.
    fn prompts(&self) -> Prompts {
        let by_name = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| self.prompts.get(*name)?.clone())
                .filter(|it| !it.is_empty())
        };
        let default = self.default_prompt_name.as_deref().and_then(|name| by_name(&[name]));
        let of = |names: &[&str]| by_name(names).or_else(|| default.clone()).unwrap_or_default();
        // Questions and passages have prompts of various names; an empty prompt counts as none.
        Prompts {
            query: of(&["query", "search_query", "s2p_query", "retrieval_query"]),
            document: of(&["document", "passage", "search_document", "retrieval_document"]),
        }
    }
}

impl Pooling {
    /// Combines the tokens' vectors, of `n` components each, into one.
    pub(crate) fn pool(self, numbers: &[f32], n: usize) -> Vec<f32> {
        let mut rows = numbers.chunks_exact(n.max(1));
        let fold =
            |rows: std::slice::ChunksExact<'_, f32>, first: f32, join: fn(f32, f32) -> f32| {
                rows.fold(vec![first; n], |mut sum, row| {
                    sum.iter_mut().zip(row).for_each(|(sum, number)| *sum = join(*sum, *number));
                    sum
                })
            };
        match self {
            Pooling::Mean => {
                let n_rows = rows.len().max(1) as f32;
                let sum = fold(rows, 0.0, |sum, number| sum + number);
                sum.into_iter().map(|number| number / n_rows).collect()
            }
            Pooling::Max => fold(rows, f32::NEG_INFINITY, f32::max),
            Pooling::First => rows.next().map(<[f32]>::to_vec).unwrap_or_default(),
            Pooling::Last => rows.next_back().map(<[f32]>::to_vec).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
