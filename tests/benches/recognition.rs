//! Recognition: how well the annotated names of texts are found, by each recognizer and by all.
//!
//! `cargo bench -p tests --bench recognition -- DATA [--dump DIR] [SET…]`: DATA has a folder per
//! set with `dev.jsonl`, one text per line with `text` and `entities` (`start`, `end` in
//! characters, `label`). A set is read like a folder: the gazetteer is mined over all its texts.
//! Prints span F1 in percent: exact spans without and with types, and overlapping spans (`partial`)
//! without and with types. Only the labels of [`SETS`] count; a found span is ignored if it
//! overlaps a gold span with another label, or has a type that the set does not annotate. `--dump`
//! writes the found spans as JSON lines.
//!
//! `… -- anaphora CORPUS` prints how many of the corpus's pronouns and descriptions (`gold/anaphora.tsv`) are
//! resolved, and to the right name. `… -- read FILE…` prints what is recognized in files.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "recognition/score.rs"]
mod score;
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arc_swap::ArcSwap;
use config::Settings;
use extract::chunk::Chunker;
use extract::link::vote::{Ground, Votes};
use extract::recognize::Recognizer;
use extract::recognize::known::KnownRecognizer;
use extract::recognize::pattern::PatternRecognizer;
use extract::recognize::statistical::StatisticalRecognizer;
use extract::recognize::{Gazetteer, RecognizeStage, TermCount, select};
use formats::Normalizer;
use model::document::{Document, Mention, Party, Pass, SourceDoc};
use model::terms::{ContentHash, EntityType, RelPath, norm_of};
use model::{PartStage as _, Stage as _};
use score::{Found, Labels, Score, Text};
use serde_json::{Value, json};

/// Sets, with the names that their labels have here; other labels are not judged.
const SETS: [(&str, &[(&str, &str)]); 4] = [
    (
        "crossner_ai",
        &[
            ("person", "person researcher"),
            ("organization", "organisation university"),
            ("location", "country location"),
            ("event", "conference"),
            ("technology", "product programlang"),
            ("concept", "algorithm field metrics task misc"),
        ],
    ),
    (
        "stackoverflow_ner",
        &[
            ("person", "User_Name"),
            ("organization", "Organization"),
            ("version", "Version"),
            (
                "technology",
                "Library Application Language Operating_System Website File_Type Algorithm Device \
                 Data_Structure",
            ),
        ],
    ),
    (
        "somesci",
        &[(
            "technology",
            "Application_Usage Application_Mention Application_Creation Application_Deposition \
                 PlugIn_Usage PlugIn_Mention PlugIn_Creation PlugIn_Deposition \
                 ProgrammingEnvironment_Usage ProgrammingEnvironment_Mention OperatingSystem_Usage \
                 OperatingSystem_Mention",
        )],
    ),
    (
        "wnut17",
        &[
            ("person", "person"),
            ("organization", "group corporation"),
            ("location", "location"),
            ("technology", "product"),
            ("concept", "creative-work"),
        ],
    ),
];

/// Returns the common name of our types for comparing sets: software of any kind is one.
fn coarse(entity_type: EntityType) -> &'static str {
    match entity_type {
        EntityType::Person => "person",
        EntityType::Organization => "organization",
        EntityType::Location => "location",
        EntityType::Event => "event",
        EntityType::Version => "version",
        EntityType::Date => "date",
        EntityType::Step => "step",
        EntityType::Product
        | EntityType::Service
        | EntityType::Technology
        | EntityType::Api
        | EntityType::Project
        | EntityType::Identifier => "technology",
        EntityType::Concept | EntityType::Standard | EntityType::Document => "concept",
    }
}

fn main() -> Result<()> {
    let arguments = support::arguments();
    let mut wanted: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["anaphora", corpus] = wanted[..] {
        return anaphora(Path::new(corpus));
    }
    let data =
        wanted.first().copied().context("which data? hint: … --bench recognition -- DATA")?;
    wanted.remove(0);
    if data == "read" {
        return wanted.iter().try_for_each(|path| show(path));
    }
    let dump = wanted.iter().position(|it| *it == "--dump").map(|at| {
        wanted.remove(at);
        wanted.remove(at)
    });
    println!(
        "set | recognizer | n | exact, no types: P R F1 | typed F1 | partial, no types F1 | typed F1"
    );
    for (set, rows) in SETS {
        if !wanted.is_empty() && !wanted.contains(&set) {
            continue;
        }
        let labels: Labels = rows
            .iter()
            .flat_map(|(ours, theirs)| theirs.split_whitespace().map(move |label| (label, *ours)))
            .collect();
        let texts = read(&Path::new(data).join(set).join("dev.jsonl"))?;
        run_set(set, &texts, &labels, dump)?;
    }
    Ok(())
}

/// Scores the resolved pronouns and descriptions in the annotated pages of the corpus.
fn anaphora(corpus: &Path) -> Result<()> {
    let gold = std::fs::read_to_string(corpus.join("gold/anaphora.tsv"))?;
    let mut of_pages: BTreeMap<&str, Vec<[&str; 3]>> = BTreeMap::new();
    for line in gold.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [path, surface, nth, entity] = cells[..] else { continue };
        of_pages.entry(path).or_default().push([surface, nth, entity]);
    }
    let (mut n_gold, mut n_found, mut n_right) = (0, 0, 0);
    for (path, rows) in &of_pages {
        let bytes = std::fs::read(corpus.join("docs").join(path))?;
        let doc = recognized(path, &bytes)?;
        let name_of = |party: Party| match party {
            Party::Document | Party::Link(_) => doc.title.clone(),
            Party::Mention(idx) => {
                doc.found.mentions.get(idx as usize).map_or(String::new(), |m| m.name.clone())
            }
        };
        n_gold += rows.len();
        for [surface, nth, entity] in rows {
            let Some(at) = nth_word(&doc.text, surface, nth.parse()?) else { continue };
            if let Some(found) = doc.found.anaphors.iter().find(|a| a.span.start() == at) {
                n_found += 1;
                let name = name_of(found.antecedent);
                n_right += usize::from(norm_of(&name) == norm_of(entity));
            }
        }
    }
    println!("anaphora: {n_gold} annotated, {n_found} resolved, {n_right} to the annotated name");
    Ok(())
}

/// Prints the mentions and anaphors of a file.
fn show(path: &str) -> Result<()> {
    let doc = recognized(path, &std::fs::read(path)?)?;
    let text = &doc.text;
    let flat = |from: usize, to: usize| {
        let from = (0..=from).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let to = (to.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at));
        text.get(from..to.unwrap_or(text.len())).unwrap_or("").replace('\n', " ")
    };
    for mention in &doc.found.mentions {
        let guess = if mention.place.is_type_guessed { "?" } else { "" };
        println!(
            "{path} {:?} {}{guess} `{}` = {}",
            mention.recognizer,
            mention.entity_type.as_str(),
            flat(mention.span.start(), mention.span.end()),
            mention.name
        );
    }
    for anaphor in &doc.found.anaphors {
        let name = match anaphor.antecedent {
            Party::Document | Party::Link(_) => "(document)",
            Party::Mention(idx) => doc.found.mentions.get(idx as usize).map_or("", |m| &m.name),
        };
        let (start, end) = (anaphor.span.start(), anaphor.span.end());
        println!(
            "{path} anaphor `{}` = {name}: …{}[{}]{}…",
            flat(start, end),
            flat(start.saturating_sub(160), start),
            flat(start, end),
            flat(end, end + 40)
        );
    }
    Ok(())
}

/// Returns where a word occurs for the n-th time; whole words, case-sensitive.
fn nth_word(text: &str, word: &str, nth: usize) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: &usize| {
        let before = text.get(..*at).and_then(|head| head.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|tail| tail.chars().next());
        !is_part(before) && !is_part(after)
    };
    text.match_indices(word).map(|(at, _)| at).filter(whole).nth(nth.checked_sub(1)?)
}

/// Reads one document with the first stages, deeply, without mined terms.
fn recognized(path: &str, bytes: &[u8]) -> Result<Document> {
    let settings = Settings::default();
    let source = SourceDoc {
        path: RelPath::new(path),
        bytes: Arc::from(bytes),
        hash: ContentHash::of(bytes),
        mtime_ms: 0,
        pass: Pass::Deep,
    };
    let fault = |fault| anyhow::anyhow!("{fault:?}");
    let doc = Normalizer::new(&settings.watch, &settings.privacy).run(source).map_err(fault)?;
    let tokens = embed::WordPiece::builtin();
    let doc = Chunker::new(&settings.chunk, &settings.embed, tokens).run(doc).map_err(fault)?;
    let known = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, std::iter::empty())));
    RecognizeStage::new(&settings.recognize, known).run(doc).map_err(fault)
}

fn run_set(set: &str, texts: &[Text], labels: &Labels, dump: Option<&str>) -> Result<()> {
    let docs: Vec<Document> = chunked(texts)?;
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(0, std::iter::empty())));
    let settings = Settings::default();
    let mut stage = RecognizeStage::new(&settings.recognize, gazetteer.clone());
    let mut counts: BTreeMap<String, Counted> = BTreeMap::new();
    for doc in &docs {
        for term in stage.part_of(doc).map_err(|fault| anyhow::anyhow!("{fault:?}"))?.terms {
            counts.entry(term.norm.clone()).or_default().add(&term.surface, term.weight);
        }
    }
    let counts = counts.into_iter().map(|(norm, counted)| counted.finish(norm));
    let mined = select(counts, &settings.recognize.gazetteer);
    println!(
        "{set} | {} texts, {} mined terms: {}",
        texts.len(),
        mined.len(),
        mined.iter().take(12).map(|term| term.surface.as_str()).collect::<Vec<_>>().join(", ")
    );
    gazetteer.store(Arc::new(Gazetteer::build(1, mined.into_iter())));

    let known = gazetteer.load_full();
    let alone = |recognizer: &dyn Recognizer| -> Vec<Vec<Mention>> {
        let find = |doc: &Document| {
            let (mut out, sentences) = (Vec::new(), extract::chunk::sentences_of(doc));
            recognizer.recognize(doc, &sentences, &mut out);
            out
        };
        docs.iter().map(find).collect()
    };
    let mut together = Vec::new();
    for doc in &docs {
        together.push(stage.part_of(doc).map_err(|fault| anyhow::anyhow!("{fault:?}"))?.mentions);
    }
    let rows = [
        ("gazetteer", alone(known.as_ref())),
        ("pattern", alone(&PatternRecognizer)),
        ("known", alone(&KnownRecognizer)),
        ("statistical", alone(&StatisticalRecognizer)),
        ("together", together),
    ];
    for (name, mentions) in rows {
        let types = voted(&mentions);
        let found: Vec<Vec<Found>> =
            mentions.iter().zip(&docs).map(|(m, doc)| spans(m, doc, &types)).collect();
        let score = Score::of(texts, &found, labels);
        println!("{set} | {name} | {score}");
        if let Some(dump) = dump {
            write(&Path::new(dump).join(format!("{set}.{name}.jsonl")), texts, &found)?;
        }
    }
    Ok(())
}

/// Returns the type of each name over all texts, by the index's vote.
fn voted(mentions: &[Vec<Mention>]) -> BTreeMap<String, EntityType> {
    let mut votes: BTreeMap<String, Votes> = BTreeMap::new();
    for mention in mentions.iter().flatten() {
        let all = votes.entry(norm_of(&mention.name)).or_default();
        let ground = match mention.place {
            place if place.is_defined => Ground::Definition,
            place if place.certainty > 0 => Ground::Judgement(place.certainty),
            place if place.is_type_guessed => Ground::Guess,
            _ => Ground::Statement,
        };
        all.add(mention.entity_type, ground, &mention.name);
    }
    votes.into_iter().map(|(norm, votes)| (norm, votes.winner().0)).collect()
}

fn spans(mentions: &[Mention], doc: &Document, types: &BTreeMap<String, EntityType>) -> Vec<Found> {
    let found = mentions.iter().filter(|m| m.entity_type != EntityType::Step).map(|m| {
        let raw = doc.map.source_range(m.span.start(), m.span.end());
        let entity_type = types.get(&norm_of(&m.name)).copied().unwrap_or(m.entity_type);
        (raw.start, raw.end, coarse(entity_type))
    });
    found.collect()
}

/// Surfaces of one norm, counted as in the store.
#[derive(Default)]
struct Counted {
    surfaces: BTreeMap<String, u32>,
    n_documents: u32,
    weight_sum: u64,
    max_weight: u8,
}

impl Counted {
    fn add(&mut self, surface: &str, weight: u8) {
        *self.surfaces.entry(surface.to_string()).or_default() += 1;
        self.n_documents += 1;
        self.weight_sum += u64::from(weight);
        self.max_weight = self.max_weight.max(weight);
    }

    fn finish(self, norm: String) -> TermCount {
        let most = self.surfaces.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
        let surface = most.map(|(surface, _)| surface.clone()).unwrap_or_default();
        let Counted { n_documents, weight_sum, max_weight, .. } = self;
        TermCount { norm, surface, n_documents, weight_sum, max_weight }
    }
}

fn chunked(texts: &[Text]) -> Result<Vec<Document>> {
    let settings = Settings::default();
    let mut normalizer = Normalizer::new(&settings.watch, &settings.privacy);
    let tokens = embed::WordPiece::builtin();
    let mut chunker = Chunker::new(&settings.chunk, &settings.embed, tokens);
    let mut out = Vec::with_capacity(texts.len());
    for (n, text) in texts.iter().enumerate() {
        let source = SourceDoc {
            path: RelPath::new(format!("{n}.txt")),
            bytes: Arc::from(text.text.as_bytes()),
            hash: ContentHash::of(text.text.as_bytes()),
            mtime_ms: 0,
            pass: Pass::Deep,
        };
        let doc = normalizer.run(source).map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
        out.push(chunker.run(doc).map_err(|fault| anyhow::anyhow!("{fault:?}"))?);
    }
    Ok(out)
}

fn read(path: &Path) -> Result<Vec<Text>> {
    let lines = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let line: Value = serde_json::from_str(line)?;
            let text = line["text"].as_str().context("a text without `text`")?.to_string();
            let bytes: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let at = |value: &Value| {
                bytes.get(value.as_u64().unwrap_or(0) as usize).copied().unwrap_or(text.len())
            };
            let entities = line["entities"].as_array().context("a text without `entities`")?;
            let entities = entities
                .iter()
                .map(|e| {
                    (at(&e["start"]), at(&e["end"]), e["label"].as_str().unwrap_or("").to_string())
                })
                .collect();
            let id = line["id"].as_str().unwrap_or("").to_string();
            Ok(Text { id, entities, text })
        })
        .collect()
}

fn write(path: &Path, texts: &[Text], found: &[Vec<Found>]) -> Result<()> {
    let mut out = String::new();
    for (text, found) in texts.iter().zip(found) {
        let char_at = |byte: usize| text.text.get(..byte).map_or(0, |head| head.chars().count());
        let entities: Vec<Value> = found
            .iter()
            .map(|(start, end, label)| {
                let surface = text.text.get(*start..*end);
                json!({"start": char_at(*start), "end": char_at(*end), "label": label, "text": surface})
            })
            .collect();
        out.push_str(&json!({"id": text.id, "text": text.text, "entities": entities}).to_string());
        out.push('\n');
    }
    Ok(std::fs::write(path, out)?)
}
