//! Sets: annotated texts, converted to the form that training reads.
//!
//! In: the files of `DATA`. Out: [`Sample`]s with byte spans.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::labels::label_of;

/// A text with annotated things and the relations between them.
pub(crate) struct Sample {
    pub(crate) text: String,
    /// The byte spans of each thing's mentions.
    pub(crate) things: Vec<Vec<(usize, usize)>>,
    /// Subject, object, and the number of the predicate.
    pub(crate) relations: Vec<(usize, usize, usize)>,
    /// Whether all relations are annotated; otherwise pairs that are not in `relations` are unknown.
    pub(crate) is_complete: bool,
    /// Weight of a pair without a relation: lower if annotators left out many.
    pub(crate) negative_weight: f32,
    /// Weight of the sample.
    pub(crate) weight: f32,
}

impl Sample {
    /// Creates a sample of which only one pair is annotated.
    fn of_pair(text: String, things: [Vec<(usize, usize)>; 2], label: &str) -> Sample {
        let (things, relations) = (things.into(), Vec::new());
        let (is_complete, negative_weight, weight) = (false, 1.0, 1.0);
        let mut sample = Sample { text, things, relations, is_complete, negative_weight, weight };
        sample.relate(0, 1, label);
        sample
    }

    fn relate(&mut self, head: usize, tail: usize, property: &str) {
        if let Some((label, is_reversed)) = label_of(property) {
            let (s, o) = if is_reversed { (tail, head) } else { (head, tail) };
            self.relations.push((s, o, label));
        }
    }
}

pub(crate) fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = unpacked(path)?;
    text.lines().filter(|l| !l.is_empty()).map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub(crate) fn unpacked(path: &Path) -> Result<String> {
    if path.extension().is_none_or(|it| it != "xz") {
        return std::fs::read_to_string(path).with_context(|| path.display().to_string());
    }
    output_of(Command::new("xz").arg("-dc").arg(path))
}

/// Returns the files of an archive that match a pattern, concatenated.
pub(crate) fn unpacked_tar(path: &Path, pattern: &str) -> Result<String> {
    output_of(Command::new("tar").arg("-xJOf").arg(path).arg("--wildcards").arg(pattern))
}

fn output_of(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| what.clone())?;
    let mut text = String::new();
    child.stdout.take().context("a pipe")?.read_to_string(&mut text)?;
    ensure!(child.wait()?.success(), "{what} failed");
    Ok(text)
}

/// Reads Re-DocRED: every relation between all things of a text.
pub(crate) fn redocred(path: &Path) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for row in lines(path)? {
        let text = row["text"].as_str().context("no `text`")?.to_string();
        let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = |v: &Value| v.as_u64().and_then(|n| bytes.get(n as usize)).copied().unwrap_or(0);
        let spans = |thing: &Value| {
            let spans = thing.as_array().into_iter().flatten();
            spans.map(|span| (at(&span[0]), at(&span[1]))).collect()
        };
        let things = row["spans"].as_array().into_iter().flatten().map(spans).collect();
        let (is_complete, negative_weight, weight) = (true, 1.0, 1.0);
        let mut sample =
            Sample { text, things, relations: Vec::new(), is_complete, negative_weight, weight };
        for relation in row["relations"].as_array().into_iter().flatten() {
            let end = |i: usize| relation[i].as_u64().unwrap_or(0) as usize;
            sample.relate(end(0), end(1), relation[2].as_str().unwrap_or(""));
        }
        samples.push(sample);
    }
    Ok(samples)
}

/// Joins tokens with blanks; returns the text and the span of each token.
pub(crate) fn joined<'a>(tokens: impl Iterator<Item = &'a str>) -> (String, Vec<(usize, usize)>) {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for token in tokens {
        if !text.is_empty() {
            text.push(' ');
        }
        spans.push((text.len(), text.len() + token.len()));
        text.push_str(token);
    }
    (text, spans)
}

/// Reads DocRED: the same as Re-DocRED, but about half of the relations are missing.
pub(crate) fn docred(path: &Path) -> Result<Vec<Sample>> {
    let rows: Value = serde_json::from_str(&unpacked(path)?)?;
    let mut samples = Vec::new();
    for row in rows.as_array().into_iter().flatten() {
        let sentences: Vec<Vec<&str>> = row["sents"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|s| s.as_array().into_iter().flatten().filter_map(Value::as_str).collect())
            .collect();
        let starts: Vec<usize> = sentences
            .iter()
            .scan(0, |n, s| {
                let at = *n;
                *n += s.len();
                Some(at)
            })
            .collect();
        let (text, spans) = joined(sentences.iter().flatten().copied());
        let place = |mention: &Value| {
            let sentence = *starts.get(mention["sent_id"].as_u64()? as usize)?;
            let from = sentence + mention["pos"][0].as_u64()? as usize;
            let to = sentence + mention["pos"][1].as_u64()? as usize;
            Some((spans.get(from)?.0, spans.get(to.checked_sub(1)?)?.1))
        };
        let things = row["vertexSet"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|thing| thing.as_array().into_iter().flatten().filter_map(place).collect())
            .collect();
        let mut sample = Sample {
            text,
            things,
            relations: Vec::new(),
            is_complete: true,
            negative_weight: 0.3,
            weight: 1.0,
        };
        for label in row["labels"].as_array().into_iter().flatten() {
            let end = |key: &str| label[key].as_u64().unwrap_or(0) as usize;
            sample.relate(end("h"), end("t"), label["r"].as_str().unwrap_or(""));
        }
        samples.push(sample);
    }
    Ok(samples)
}

/// Reads FewRel: one relation a sentence.
pub(crate) fn fewrel(path: &Path) -> Result<Vec<Sample>> {
    let rows: Value = serde_json::from_str(&unpacked(path)?)?;
    let mut samples = Vec::new();
    for (property, rows) in rows.as_object().into_iter().flatten() {
        for row in rows.as_array().into_iter().flatten() {
            let tokens = row["tokens"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let (text, spans) = joined(tokens);
            let place = |end: &Value| -> Option<Vec<(usize, usize)>> {
                end[2]
                    .as_array()?
                    .iter()
                    .map(|tokens| {
                        let tokens = tokens.as_array()?;
                        let from = spans.get(tokens.first()?.as_u64()? as usize)?.0;
                        Some((from, spans.get(tokens.last()?.as_u64()? as usize)?.1))
                    })
                    .collect()
            };
            let (Some(h), Some(t)) = (place(&row["h"]), place(&row["t"])) else { continue };
            samples.push(Sample::of_pair(text, [h, t], property));
        }
    }
    Ok(samples)
}

/// Reads KnowledgeNet: some relations of a passage.
pub(crate) fn knowledgenet(path: &Path) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for row in lines(path)? {
        let text = row["text"].as_str().context("no `text`")?.to_string();
        let Some(passage) = row["passage"][0].as_u64() else { continue };
        let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let place = |end: &Value| {
            let at = |i: usize| chars.get(end[i].as_u64()?.checked_sub(passage)? as usize).copied();
            Some(vec![(at(0)?, at(1)?)])
        };
        let (Some(h), Some(t)) = (place(&row["subj"]), place(&row["obj"])) else { continue };
        samples.push(Sample::of_pair(text, [h, t], row["relation"].as_str().unwrap_or("")));
    }
    Ok(samples)
}

/// Reads Text2KGBench: a sentence and the labels of its relations.
pub(crate) fn text2kg(path: &Path) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for row in lines(path)? {
        let text = row["sent"].as_str().context("no `sent`")?.to_string();
        let place = |key: &str| {
            let label = row[key].as_str().filter(|it| !it.is_empty())?;
            let at = text.find(label)?;
            Some(vec![(at, at + label.len())])
        };
        let (Some(h), Some(t)) = (place("sub_label"), place("obj_label")) else { continue };
        samples.push(Sample::of_pair(text, [h, t], row["rel"].as_str().unwrap_or("")));
    }
    Ok(samples)
}

/// Creates a sample of technical prose as a negative example: it has no relation between people, places and companies,
/// whatever names of these kinds kgd finds in it.
fn without_relations(text: String) -> Sample {
    let (things, relations) = (Vec::new(), Vec::new());
    Sample { text, things, relations, is_complete: true, negative_weight: 0.5, weight: 1.0 }
}

/// Reads posts of programmers.
pub(crate) fn stackoverflow(path: &Path) -> Result<Vec<Sample>> {
    let (mut samples, mut post) = (Vec::new(), String::new());
    for line in unpacked(path)?.lines() {
        let token = line.split('\t').next().unwrap_or("");
        if matches!(token, "Question_ID" | "Answer_to_Question_ID") {
            samples.push(without_relations(std::mem::take(&mut post)));
        } else if !token.trim().is_empty() {
            post.push_str(token);
            post.push(' ');
        }
    }
    Ok(samples)
}

/// Reads the beginnings of papers.
pub(crate) fn scirex(path: &Path) -> Result<Vec<Sample>> {
    const WORDS: usize = 1_500;
    let mut samples = Vec::new();
    for row in lines(path)? {
        let words = row["words"].as_array().into_iter().flatten().filter_map(Value::as_str);
        samples.push(without_relations(joined(words.take(WORDS)).0));
    }
    Ok(samples)
}

/// Reads the pages of the tuning half of `corpus/real`, with the relations between the annotated things of a page.
pub(crate) fn real(corpus: &Path) -> Result<Vec<Sample>> {
    let rows = |name: &str| -> Result<Vec<Vec<String>>> {
        let path = corpus.join("gold").join(name);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let cells = |line: &str| line.split('\t').map(String::from).collect();
        Ok(text.lines().skip(1).map(cells).collect())
    };
    let (pages, entities, relations) =
        (rows("pages.tsv")?, rows("entities.tsv")?, rows("relations.tsv")?);
    let mut samples = Vec::new();
    for page in &pages {
        let [path, half, ..] = page.as_slice() else { continue };
        if half != "tuning" {
            continue;
        }
        let text = std::fs::read_to_string(corpus.join("docs").join(path))?;
        let of_page = |row: &&Vec<String>| row.first() == Some(path);
        let named: Vec<&Vec<String>> = entities.iter().filter(of_page).collect();
        let things = named.iter().map(|row| places_of(&text, row.get(3))).collect();
        let mut sample = Sample {
            text,
            things,
            relations: Vec::new(),
            is_complete: true,
            negative_weight: 2.0,
            weight: 1.0,
        };
        for row in relations.iter().filter(of_page) {
            let [_, subject, predicate, object, ..] = row.as_slice() else { continue };
            let of = |name: &String| named.iter().position(|row| row.get(1) == Some(name));
            if let (Some(head), Some(tail)) = (of(subject), of(object)) {
                sample.relate(head, tail, predicate);
            }
        }
        samples.push(sample);
    }
    Ok(samples)
}

/// Returns where the surfaces of a cell, separated by `|`, occur as whole words.
pub(crate) fn places_of(text: &str, surfaces: Option<&String>) -> Vec<(usize, usize)> {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut places = Vec::new();
    for surface in surfaces.into_iter().flat_map(|it| it.split('|')).filter(|it| !it.is_empty()) {
        for (at, _) in text.match_indices(surface) {
            let end = at + surface.len();
            let before = text.get(..at).and_then(|it| it.chars().next_back());
            let after = text.get(end..).and_then(|it| it.chars().next());
            if !is_part(before) && !is_part(after) {
                places.push((at, end));
            }
        }
    }
    places
}
