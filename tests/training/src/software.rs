//! Software: trains what tells names of programs (`daemon/extract/src/recognize/software.rs`).
//!
//! In: texts in which somebody marked software: Softcite, StackOverflowNER, AnnoCTR, CrossNER's AI part. Out: the
//! weights. A logistic regression by steps of Adagrad; the same data give the same file. Papers of Softcite that share
//! a run of ten words with SoMeSci, which is measured on, are left out.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};
use extract::recognize::software::{N_FEATURES, features_of, is_open};

use crate::net::Random;
use crate::pairs::Reader;
use crate::sets::unpacked;

const EPOCHS: usize = 12;
const STEP: f32 = 0.1;
/// Weight of the sum of all weights' squares, halved, beside the sum of all examples' losses.
const RIDGE: f32 = 3.0;
/// Words in a run that two texts share only if one is a copy.
const RUN: usize = 10;

/// A text and the byte spans of what is marked in it, with its label.
struct Marked {
    text: String,
    spans: Vec<(usize, usize, String)>,
}

struct Example {
    features: Vec<u32>,
    is_software: bool,
}

/// Trains, and writes the weights to `out`.
pub(crate) fn train(data: &Path, out: &Path) -> Result<()> {
    let folder = data.join("train");
    let known = runs_of_somesci(&data.join("somesci/dev.jsonl"))?;
    let mut examples = Vec::new();
    let mut reader = Reader::unjudged();
    let sets: [(&str, Vec<Marked>, &[&str]); 4] = [
        (
            "softcite",
            softcite(&folder.join("softcite/softcite.tei.xml.xz"), &known)?,
            &["software"],
        ),
        (
            "stackoverflow",
            conll(&[folder.join("stackoverflow_ner_train/train.txt.xz").as_path()], 1, |token| {
                matches!(token, "Question_ID" | "Answer_to_Question_ID")
            })?,
            &["Library", "Application", "Language", "Operating_System", "Website"],
        ),
        (
            "annoctr",
            conll(
                &["train", "dev", "test"].map(|it| folder.join(format!("annoctr/{it}.bio.xz"))),
                6,
                |token| token == "<DOCSTART>",
            )?,
            &["TOOL", "MALWARE"],
        ),
        (
            "crossner",
            conll(&[folder.join("crossner_ai_train/train.txt")], 1, str::is_empty)?,
            &["product", "programlang"],
        ),
    ];
    for (name, texts, labels) in sets {
        let before = examples.len();
        for marked in &texts {
            read(&mut reader, marked, labels, &mut examples)?;
        }
        let new = examples.get(before..).unwrap_or_default();
        let n_software = new.iter().filter(|it| it.is_software).count();
        println!("{name}: {} texts, {} names, {n_software} of software", texts.len(), new.len());
    }
    let (weights, bias) = learn(&mut examples);
    std::fs::write(out, file_of(&weights, bias)).with_context(|| out.display().to_string())
}

/// Adds the names that kgd finds in a text; those that overlap a marked span without being it are no example.
fn read(
    reader: &mut Reader,
    marked: &Marked,
    labels: &[&str],
    out: &mut Vec<Example>,
) -> Result<()> {
    let doc = reader.mentioned(&marked.text)?;
    for mention in doc.mentions.iter().filter(|it| is_open(it)) {
        let raw = doc.doc.map.source_range(mention.span.start(), mention.span.end());
        let over =
            marked.spans.iter().filter(|(start, end, _)| *start < raw.end && raw.start < *end);
        let mut over = over.peekable();
        let is_software = match over.peek() {
            None => false,
            Some(_) => match over.find(|(start, end, _)| (*start, *end) == (raw.start, raw.end)) {
                // Classes of a library are code, in form and context like the library itself.
                Some((_, _, label)) if label == "Library_Class" => continue,
                Some((_, _, label)) => labels.contains(&label.as_str()),
                None => continue,
            },
        };
        let mut features = Vec::new();
        features_of(&doc.doc.text, mention, &mut features);
        out.push(Example { features, is_software });
    }
    Ok(())
}

fn learn(examples: &mut [Example]) -> (Vec<f32>, f32) {
    let (mut weights, mut bias) = (vec![0.0f32; N_FEATURES], -2.0f32);
    let (mut squares, mut bias_square) = (vec![1e-4f32; N_FEATURES], 1e-4f32);
    let mut counts = vec![0.0f32; N_FEATURES];
    for feature in examples.iter().flat_map(|it| &it.features) {
        if let Some(count) = counts.get_mut(*feature as usize) {
            *count += 1.0;
        }
    }
    let mut random = Random(17);
    for epoch in 1..=EPOCHS {
        random.shuffle(examples);
        let mut loss = 0.0;
        for example in examples.iter() {
            let at = |feature: &u32| weights.get(*feature as usize).copied().unwrap_or(0.0);
            let sum = bias + example.features.iter().map(at).sum::<f32>();
            let probability = 1.0 / (1.0 + (-sum).exp());
            let error = probability - f32::from(u8::from(example.is_software));
            loss -= (1.0 - error.abs()).max(1e-6).ln();
            for feature in &example.features {
                let at = *feature as usize;
                let count = counts.get(at).copied().unwrap_or(1.0);
                if let (Some(weight), Some(square)) = (weights.get_mut(at), squares.get_mut(at)) {
                    // Its share of the ridge: a feature is met `count` times an epoch.
                    let gradient = error + RIDGE / count * *weight;
                    *square += gradient * gradient;
                    *weight -= STEP * gradient / square.sqrt();
                }
            }
            bias_square += error * error;
            bias -= STEP * error / bias_square.sqrt();
        }
        println!("epoch {epoch}: loss {:.4}", loss / examples.len() as f32);
    }
    (weights, bias)
}

/// Scale, bias and one byte a weight.
fn file_of(weights: &[f32], bias: f32) -> Vec<u8> {
    let most = weights.iter().fold(0.0f32, |most, it| most.max(it.abs()));
    let scale = most.max(f32::MIN_POSITIVE) / 127.0;
    let mut file = [scale.to_le_bytes(), bias.to_le_bytes()].concat();
    file.extend(weights.iter().map(|it| (it / scale).round() as i8 as u8));
    file
}

/// Hashes of all runs of words in SoMeSci's texts.
fn runs_of_somesci(path: &Path) -> Result<HashSet<u64>> {
    let mut runs = HashSet::new();
    for line in unpacked(path)?.lines() {
        let row: serde_json::Value = serde_json::from_str(line)?;
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

/// Softcite: one text a paper, of the paragraphs with marks.
fn softcite(path: &Path, known: &HashSet<u64>) -> Result<Vec<Marked>> {
    let whole = unpacked(path)?;
    let mut texts = Vec::new();
    for paper in whole.split("<body>").skip(1) {
        let mut marked = Marked { text: String::new(), spans: Vec::new() };
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

/// Adds a paragraph of TEI; other elements than `rs` are only text.
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

/// One token a line with a BIO tag in column `tag`; a text ends before a token that `begins` one.
fn conll(
    paths: &[impl AsRef<Path>],
    tag: usize,
    begins: impl Fn(&str) -> bool,
) -> Result<Vec<Marked>> {
    let mut texts = vec![Marked { text: String::new(), spans: Vec::new() }];
    for path in paths {
        let mut is_open = false;
        for line in unpacked(path.as_ref())?.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let token = cells.first().map_or("", |it| it.trim());
            if begins(token) {
                texts.push(Marked { text: String::new(), spans: Vec::new() });
            }
            let Some(marked) = texts.last_mut() else { continue };
            if token.is_empty() || token == "<DOCSTART>" {
                if !marked.text.is_empty() && !marked.text.ends_with('\n') {
                    marked.text.push('\n');
                }
                is_open = false;
                continue;
            }
            let is_joined = marked.text.is_empty()
                || marked.text.ends_with(['\n', '(', '[', '{'])
                || token.starts_with(['.', ',', ';', ':', '?', '!', ')', ']', '}', '%', '\'']);
            if !is_joined {
                marked.text.push(' ');
            }
            let start = marked.text.len();
            marked.text.push_str(token);
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
