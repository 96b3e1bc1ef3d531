//! Marked: texts with annotated names, and the kinds that the labels of each set correspond to.
//!
//! In: the sets of [`SETS`], among them the tuning half of `corpus/real`. Out: [`Marked`] texts with the byte spans of
//! names and their labels.
//! Papers of Softcite that share a run of ten words with SoMeSci are left out, because SoMeSci is used for
//! measurements.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::sets::{joined, lines, places_of, unpacked};

/// Length of a run in words; two texts share one only if one is a copy.
const RUN: usize = 10;
/// Words that are read of a paper, and documents of Re-DocRED that may be used for training.
const PAPER: usize = 1_500;
const KNOWN: usize = 400;

/// A text and the byte spans of its annotations, each with its label.
#[derive(Default)]
pub(crate) struct Marked {
    pub(crate) text: String,
    pub(crate) spans: Vec<(usize, usize, String)>,
}

/// A set of kinds, one bit each in the order of `typing::KINDS`; the last bit means no name. Tables have a letter for
/// each.
pub(crate) type Kinds = u16;
const LETTERS: &str = "POLTACSEDN";

pub(crate) fn kinds_of(letters: &str) -> Kinds {
    letters.chars().filter_map(|it| LETTERS.find(it)).map(|at| 1 << at).sum()
}

/// A set of texts: the possible kinds of each label, and of names without a label.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) weight: f32,
    labels: &'static [(&'static str, &'static str)],
    /// The possible kinds of names without a label; empty if unknown.
    pub(crate) rest: &'static str,
    read: fn(&Path) -> Result<Vec<Marked>>,
}

impl Set {
    /// Returns the possible kinds of a label; `None` if the label does not decide it.
    pub(crate) fn kinds(&self, label: &str) -> Option<Kinds> {
        let is_it = |(labels, _): &&(&str, &str)| labels.split(' ').any(|it| it == label);
        self.labels.iter().find(is_it).map(|(_, letters)| kinds_of(letters))
    }

    pub(crate) fn texts(&self, data: &Path) -> Result<Vec<Marked>> {
        (self.read)(data)
    }
}

pub(crate) const SETS: [Set; 9] = [
    Set {
        name: "softcite",
        weight: 0.5,
        labels: &[("software", "T"), ("publisher", "OP")],
        rest: "POLACSEDN",
        read: softcite,
    },
    Set {
        name: "stackoverflow",
        weight: 1.0,
        labels: &[
            ("Library Application Language Operating_System Website", "T"),
            (
                "Library_Class Library_Function Library_Variable Class_Name Function_Name Variable_Name \
                 Data_Type Error_Name HTML_XML_Tag",
                "A",
            ),
            ("Data_Structure Algorithm", "CAT"),
            ("User_Interface_Element", "CAN"),
            ("File_Type", "TS"),
            ("Device", "T"),
            ("File_Name", "AD"),
            ("User_Name", "P"),
            ("Organization", "O"),
            ("Licence", "SD"),
            ("Keyboard_IP", "NA"),
        ],
        rest: "NC",
        read: stackoverflow,
    },
    Set {
        name: "annoctr",
        weight: 1.0,
        labels: &[
            ("ORG GROUP", "O"),
            ("LOC", "L"),
            ("MALWARE TOOL", "T"),
            ("CON", "CTS"),
            ("TACTIC TECHNIQUE SECTOR", "C"),
            ("CLICommand/CodeSnippet", "A"),
        ],
        rest: "NPDE",
        read: annoctr,
    },
    Set {
        name: "crossner",
        weight: 2.0,
        labels: &[
            ("product programlang", "T"),
            ("researcher person", "P"),
            ("university organisation", "O"),
            ("country location", "L"),
            ("conference", "E"),
            ("algorithm field task metrics", "C"),
            ("misc", "CDSA"),
        ],
        rest: "N",
        read: crossner,
    },
    Set {
        name: "docred",
        weight: 0.7,
        labels: &[("PER", "P"), ("ORG", "O"), ("LOC", "L"), ("MISC", "TEDCS")],
        rest: "NC",
        read: docred,
    },
    Set {
        name: "redocred",
        weight: 0.7,
        labels: &[("PER", "P"), ("ORG", "O"), ("LOC", "L"), ("MISC", "TEDCS")],
        rest: "NC",
        read: redocred,
    },
    Set {
        name: "scirex",
        weight: 0.1,
        labels: &[("Method Task Metric", "C"), ("Material", "CTD")],
        rest: "",
        read: scirex,
    },
    Set {
        name: "gum",
        weight: 0.7,
        labels: &[
            ("person!", "P"),
            ("organization!", "O"),
            ("place!", "L"),
            ("event!", "E"),
            ("abstract! object! substance! animal! plant!", "TCSEDA"),
            ("person organization place event abstract object substance animal plant", "NC"),
        ],
        rest: "N",
        read: gum,
    },
    Set {
        name: "real",
        weight: 2.0,
        labels: &[
            ("Person", "P"),
            ("Organization", "O"),
            ("Location", "L"),
            ("Product Technology Service Project", "T"),
            ("API Identifier", "A"),
            ("Concept", "C"),
            ("Standard", "S"),
            ("Event", "E"),
            ("Document", "D"),
        ],
        rest: "N",
        read: real,
    },
];

fn stackoverflow(data: &Path) -> Result<Vec<Marked>> {
    let path = data.join("train/stackoverflow_ner_train/train.txt.xz");
    conll(&[path], 1, |token| matches!(token, "Question_ID" | "Answer_to_Question_ID"))
}

fn annoctr(data: &Path) -> Result<Vec<Marked>> {
    let paths = ["train", "dev", "test"].map(|it| data.join(format!("train/annoctr/{it}.bio.xz")));
    conll(&paths, 6, |token| token == "<DOCSTART>")
}

fn crossner(data: &Path) -> Result<Vec<Marked>> {
    conll(&[data.join("train/crossner_ai_train/train.txt")], 1, str::is_empty)
}

/// Returns the hashes of all runs of words in SoMeSci's texts.
fn runs_of_somesci(path: &Path) -> Result<HashSet<u64>> {
    let mut runs = HashSet::new();
    for row in lines(path)? {
        runs.extend(runs_of(row["text"].as_str().unwrap_or("")));
    }
    Ok(runs)
}

fn runs_of(text: &str) -> Vec<u64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let hash = |run: &[&str]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    words.windows(RUN).map(hash).collect()
}

/// Reads Softcite: one text a paper, made of the annotated paragraphs.
fn softcite(data: &Path) -> Result<Vec<Marked>> {
    let known = runs_of_somesci(&data.join("somesci/dev.jsonl"))?;
    let whole = unpacked(&data.join("train/softcite/softcite.tei.xml.xz"))?;
    let mut texts = Vec::new();
    for paper in whole.split("<body>").skip(1) {
        let mut marked = Marked::default();
        for paragraph in paper.split("<p>").skip(1) {
            let paragraph = paragraph.split("</p>").next().unwrap_or("");
            if paragraph.contains("<rs ") {
                read_marked(paragraph, &mut marked);
                marked.text.push_str("\n\n");
            }
        }
        let is_copy = runs_of(&marked.text).iter().any(|it| known.contains(it));
        if !is_copy && !marked.spans.is_empty() {
            texts.push(marked);
        }
    }
    Ok(texts)
}

/// Adds a paragraph of TEI. Elements other than `rs` contribute only their text.
fn read_marked(paragraph: &str, out: &mut Marked) {
    let mut open: Option<(usize, String)> = None;
    let mut pieces = paragraph.split('<');
    out.text.push_str(&decoded(pieces.next().unwrap_or("")));
    for piece in pieces {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        if let Some(attributes) = tag.strip_prefix("rs ") {
            let label = attributes.split("type=\"").nth(1).and_then(|it| it.split('"').next());
            open = label.map(|label| (out.text.len(), label.to_string()));
        } else if tag == "/rs"
            && let Some((start, label)) = open.take()
        {
            out.spans.push((start, out.text.len(), label));
        }
        out.text.push_str(&decoded(text));
    }
}

fn decoded(text: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    signs.iter().fold(text.to_string(), |text, (code, sign)| text.replace(code, sign))
}

/// Adds a token, with a blank before it where English has one. Returns where it begins.
fn push_token(text: &mut String, token: &str) -> usize {
    let is_joined = text.is_empty()
        || text.ends_with(['\n', '(', '[', '{'])
        || token.starts_with(['.', ',', ';', ':', '?', '!', ')', ']', '}', '%', '\'']);
    if !is_joined {
        text.push(' ');
    }
    let start = text.len();
    text.push_str(token);
    start
}

/// Reads files with one token a line and a BIO tag in column `tag`; a token that `begins` accepts starts a new text.
fn conll(
    paths: &[impl AsRef<Path>],
    tag: usize,
    begins: impl Fn(&str) -> bool,
) -> Result<Vec<Marked>> {
    let mut texts = vec![Marked::default()];
    for path in paths {
        let mut is_open = false;
        for line in unpacked(path.as_ref())?.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let token = cells.first().map_or("", |it| it.trim());
            if begins(token) {
                texts.push(Marked::default());
            }
            let Some(marked) = texts.last_mut() else { continue };
            if token.is_empty() || token == "<DOCSTART>" {
                if !marked.text.is_empty() && !marked.text.ends_with('\n') {
                    marked.text.push('\n');
                }
                is_open = false;
                continue;
            }
            let start = push_token(&mut marked.text, token);
            let end = marked.text.len();
            match cells.get(tag).and_then(|it| it.split_once('-')) {
                Some(("I", label))
                    if is_open && marked.spans.last().is_some_and(|last| last.2 == label) =>
                {
                    if let Some(last) = marked.spans.last_mut() {
                        last.1 = end;
                    }
                }
                Some((_, label)) => {
                    marked.spans.push((start, end, label.to_string()));
                    is_open = true;
                }
                None => is_open = false,
            }
        }
    }
    texts.retain(|it| it.text.len() > 20);
    Ok(texts)
}

/// Reads DocRED: the type of each thing at all its mentions.
fn docred(data: &Path) -> Result<Vec<Marked>> {
    let path = data.join("train/docred_train_part/train_part.json.xz");
    let rows: Value = serde_json::from_str(&unpacked(&path)?)?;
    let mut texts = Vec::new();
    for row in rows.as_array().into_iter().flatten() {
        let mut marked = Marked::default();
        let mut places: Vec<Vec<(usize, usize)>> = Vec::new();
        for sentence in row["sents"].as_array().into_iter().flatten() {
            let tokens = sentence.as_array().into_iter().flatten().filter_map(Value::as_str);
            let place = |token| (push_token(&mut marked.text, token), marked.text.len());
            places.push(tokens.map(place).collect());
        }
        for mention in row["vertexSet"].as_array().into_iter().flatten() {
            for mention in mention.as_array().into_iter().flatten() {
                let at = |value: &Value| value.as_u64().unwrap_or(0) as usize;
                let tokens = places.get(at(&mention["sent_id"]));
                let from = tokens.and_then(|it| it.get(at(&mention["pos"][0])));
                let to = tokens.and_then(|it| it.get(at(&mention["pos"][1]).checked_sub(1)?));
                if let (Some((from, _)), Some((_, to))) = (from, to) {
                    let label = mention["type"].as_str().unwrap_or("").to_string();
                    marked.spans.push((*from, *to, label));
                }
            }
        }
        texts.push(marked);
    }
    Ok(texts)
}

/// Reads Re-DocRED: the documents that may be used for training.
fn redocred(data: &Path) -> Result<Vec<Marked>> {
    let mut texts = Vec::new();
    for row in lines(&data.join("redocred/dev.jsonl"))?.into_iter().take(KNOWN) {
        let text = row["text"].as_str().context("no `text`")?.to_string();
        let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = |v: &Value| v.as_u64().and_then(|n| bytes.get(n as usize)).copied().unwrap_or(0);
        let mut marked = Marked { text, spans: Vec::new() };
        for (thing, spans) in row["spans"].as_array().into_iter().flatten().enumerate() {
            let label = row["types"][thing].as_str().unwrap_or("");
            let spans = spans.as_array().into_iter().flatten();
            marked.spans.extend(spans.map(|it| (at(&it[0]), at(&it[1]), label.to_string())));
        }
        texts.push(marked);
    }
    Ok(texts)
}

/// Reads SciREX: the beginnings of papers.
fn scirex(data: &Path) -> Result<Vec<Marked>> {
    let mut texts = Vec::new();
    for row in lines(&data.join("train/scirex_train/train.jsonl.xz"))? {
        let words = row["words"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let (text, places) = joined(words.take(PAPER));
        let mut marked = Marked { text, spans: Vec::new() };
        for span in row["ner"].as_array().into_iter().flatten() {
            let at = |i: usize| span[i].as_u64().unwrap_or(0) as usize;
            let (from, to) = (places.get(at(0)), places.get(at(1).saturating_sub(1)));
            if let (Some((from, _)), Some((_, to))) = (from, to) {
                marked.spans.push((*from, *to, span[2].as_str().unwrap_or("").to_string()));
            }
        }
        texts.push(marked);
    }
    Ok(texts)
}

/// Reads GUM: every noun phrase without its article; the label of a named one, which has an identity, gets a `!`.
fn gum(data: &Path) -> Result<Vec<Marked>> {
    let archive = data.join("train/gum_open_genres/gum.tar.xz");
    let mut texts = Vec::new();
    let mut open: Vec<(String, usize, String)> = Vec::new();
    let mut is_article = false;
    for line in crate::sets::unpacked_tar(&archive, "*.conllu")?.lines() {
        if line.starts_with("# newdoc") {
            texts.push(Marked::default());
            open.clear();
        }
        let Some(marked) = texts.last_mut() else { continue };
        if line.starts_with("# newpar") {
            marked.text.push_str("\n\n");
        }
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, token, _, tag, .., misc] = cells.as_slice() else { continue };
        if !id.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let start = push_token(&mut marked.text, token);
        let end = marked.text.len();
        if is_article {
            open.iter_mut().filter(|it| it.1 == usize::MAX).for_each(|it| it.1 = start);
        }
        is_article = *tag == "DET";
        let entity = misc.split('|').find_map(|it| it.strip_prefix("Entity=")).unwrap_or("");
        let mut rest = entity;
        while let Some(first) = rest.chars().next() {
            let to =
                rest.get(1..).and_then(|it| it.find(['(', ')'])).map_or(rest.len(), |at| at + 1);
            let is_closed = rest.get(to..).is_some_and(|it| it.starts_with(')'));
            let (piece, after) = rest.split_at(to + usize::from(is_closed));
            rest = after;
            let piece = piece.trim_matches(['(', ')']);
            let number = piece.split('-').next().unwrap_or("").to_string();
            if first == '(' {
                let cells: Vec<&str> = piece.splitn(8, '-').collect();
                let mark = if cells.len() == 8 { "!" } else { "" };
                let label = format!("{}{mark}", cells.get(1).unwrap_or(&""));
                let from = if *tag == "DET" { usize::MAX } else { start };
                open.push((number.clone(), from, label));
            }
            if is_closed && let Some(at) = open.iter().rposition(|it| it.0 == number) {
                let (_, from, label) = open.remove(at);
                if from < end {
                    marked.spans.push((from, end, label));
                }
            }
        }
    }
    Ok(texts)
}

/// Reads the pages of the tuning half of `corpus/real`.
fn real(corpus: &Path) -> Result<Vec<Marked>> {
    let rows = |name: &str| -> Result<Vec<Vec<String>>> {
        let text = std::fs::read_to_string(corpus.join("gold").join(name))?;
        let cells = |line: &str| line.split('\t').map(String::from).collect();
        Ok(text.lines().skip(1).map(cells).collect())
    };
    let mut texts: BTreeMap<String, Marked> = BTreeMap::new();
    for row in rows("pages.tsv")? {
        if let [path, half, ..] = row.as_slice()
            && half == "tuning"
        {
            let text = std::fs::read_to_string(corpus.join("docs").join(path))?;
            texts.insert(path.clone(), Marked { text, spans: Vec::new() });
        }
    }
    for row in rows("entities.tsv")? {
        let [path, _, kind, ..] = row.as_slice() else { continue };
        if let Some(marked) = texts.get_mut(path) {
            let places = places_of(&marked.text, row.get(3));
            marked.spans.extend(places.into_iter().map(|(from, to)| (from, to, kind.clone())));
        }
    }
    Ok(texts.into_values().collect())
}
