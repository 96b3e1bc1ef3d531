//! Recognition: how well the names of texts are found that others have annotated, by each recognizer and by all together.
//!
//! `cargo bench -p tests --bench recognition -- DATA [--dump DIR] [SET…]`: DATA holds a folder a set with `dev.jsonl`, one
//! text a line with `text` and `entities` (`start`, `end` in characters, `label`). A set is read as a folder is: the
//! gazetteer is mined over all of its texts. Prints span F1 in percent: exact spans without and with types, and
//! overlapping spans (`partial`) without and with types. What counts are the labels of [`SETS`]; a found span that
//! overlaps a gold span of another label is left out, and so is one of a type that the set does not annotate. `--dump` writes what was found as JSON lines.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arc_swap::ArcSwap;
use config::Settings;
use daemon::belt::Stage as _;
use daemon::pipeline::chunk::Chunker;
use daemon::pipeline::link::vote::Votes;
use daemon::pipeline::normalize::Normalizer;
use daemon::pipeline::parcel::{ChunkedDoc, Mention, NormalDoc, Pass, SourceDoc};
use daemon::pipeline::recognize::{
    Gazetteer, RecognizeStage, TermCount, select, statistical::StatisticalRecognizer,
};
use daemon::pipeline::recognize::{Recognizer, known::KnownRecognizer, pattern::PatternRecognizer};
use daemon::terms::{ContentHash, EntityType, RelPath, norm_of};
use serde_json::{Value, json};

/// A set, and what its labels are called here; what is not listed is not judged.
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
        &[
            ("organization", "Developer"),
            ("version", "Version"),
            (
                "technology",
                "Application_Usage Application_Mention Application_Creation Application_Deposition \
                 PlugIn_Usage PlugIn_Mention PlugIn_Creation PlugIn_Deposition \
                 ProgrammingEnvironment_Usage ProgrammingEnvironment_Mention OperatingSystem_Usage \
                 OperatingSystem_Mention",
            ),
        ],
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

/// What our types are called where sets are compared: software of any kind is one.
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

type Labels = BTreeMap<&'static str, &'static str>;
type Found = (usize, usize, &'static str);

/// One annotated text.
struct Text {
    id: String,
    text: String,
    /// Spans in bytes.
    entities: Vec<(usize, usize, String)>,
}

fn main() -> Result<()> {
    let arguments = support::arguments();
    let mut wanted: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let data =
        wanted.first().copied().context("which data? hint: … --bench recognition -- DATA")?;
    wanted.remove(0);
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

fn run_set(set: &str, texts: &[Text], labels: &Labels, dump: Option<&str>) -> Result<()> {
    let docs: Vec<ChunkedDoc> = chunked(texts)?;
    let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(0, std::iter::empty())));
    let settings = Settings::default();
    let mut stage = RecognizeStage::new(&settings.recognize, gazetteer.clone());
    let mut counts: BTreeMap<String, Counted> = BTreeMap::new();
    for doc in &docs {
        for term in stage.run(doc.clone()).map_err(|fault| anyhow::anyhow!("{fault:?}"))?.terms {
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
        let find = |doc: &ChunkedDoc| {
            let (mut out, sentences) =
                (Vec::new(), daemon::pipeline::chunk::sentences_of(&doc.doc));
            recognizer.recognize(&doc.doc, &sentences, &mut out);
            out
        };
        docs.iter().map(find).collect()
    };
    let mut together = Vec::new();
    for doc in &docs {
        together
            .push(stage.run(doc.clone()).map_err(|fault| anyhow::anyhow!("{fault:?}"))?.mentions);
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
            mentions.iter().zip(&docs).map(|(m, doc)| spans(m, &doc.doc, &types)).collect();
        let score = Score::of(texts, &found, labels);
        println!("{set} | {name} | {score}");
        if let Some(dump) = dump {
            write(&Path::new(dump).join(format!("{set}.{name}.jsonl")), texts, &found)?;
        }
    }
    Ok(())
}

/// The type of each name over all texts, as the index votes it.
fn voted(mentions: &[Vec<Mention>]) -> BTreeMap<String, EntityType> {
    let mut votes: BTreeMap<String, Votes> = BTreeMap::new();
    for mention in mentions.iter().flatten() {
        votes
            .entry(norm_of(&mention.name))
            .or_default()
            .add(mention.entity_type, mention.place.is_type_guessed);
    }
    votes.into_iter().map(|(norm, votes)| (norm, votes.winner())).collect()
}

fn spans(
    mentions: &[Mention],
    doc: &NormalDoc,
    types: &BTreeMap<String, EntityType>,
) -> Vec<Found> {
    let found = mentions.iter().filter(|m| m.entity_type != EntityType::Step).map(|m| {
        let raw = doc.map.source_range(m.span.start(), m.span.end());
        let entity_type = types.get(&norm_of(&m.name)).copied().unwrap_or(m.entity_type);
        (raw.start, raw.end, coarse(entity_type))
    });
    found.collect()
}

/// Surfaces of one norm, as the store counts them.
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

fn chunked(texts: &[Text]) -> Result<Vec<ChunkedDoc>> {
    let settings = Settings::default();
    let mut normalizer = Normalizer::new(&settings.watch, &settings.privacy);
    let tokens = daemon::embedder::WordPiece::builtin();
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
            .map(|(start, end, label)| json!({"start": char_at(*start), "end": char_at(*end), "label": label, "text": text.text.get(*start..*end)}))
            .collect();
        out.push_str(&json!({"id": text.id, "text": text.text, "entities": entities}).to_string());
        out.push('\n');
    }
    Ok(std::fs::write(path, out)?)
}

/// True positives, found, gold of: exact untyped, exact typed, partial untyped, partial typed.
#[derive(Default)]
struct Score {
    exact: [usize; 3],
    typed: [usize; 3],
    partial: usize,
    partial_typed: usize,
}

impl Score {
    fn of(texts: &[Text], found: &[Vec<Found>], labels: &Labels) -> Score {
        let mut score = Score::default();
        let judged: BTreeSet<&str> = labels.values().copied().collect();
        for (text, found) in texts.iter().zip(found) {
            let (gold, other): (Vec<_>, Vec<_>) =
                text.entities.iter().partition(|(_, _, label)| labels.contains_key(label.as_str()));
            let gold: BTreeSet<Found> = gold
                .iter()
                .filter_map(|(start, end, label)| {
                    Some((*start, *end, *labels.get(label.as_str())?))
                })
                .collect();
            let is_outside = |f: &Found| other.iter().any(|o| f.0 < o.1 && o.0 < f.1);
            let is_gold = |f: &Found| gold.iter().any(|g| (g.0, g.1) == (f.0, f.1));
            let found: BTreeSet<Found> = found
                .iter()
                .filter(|f| judged.contains(f.2) && (is_gold(f) || !is_outside(f)))
                .copied()
                .collect();
            let bare = |set: &BTreeSet<Found>| -> BTreeSet<(usize, usize)> {
                set.iter().map(|f| (f.0, f.1)).collect()
            };
            let (bare_gold, bare_found) = (bare(&gold), bare(&found));
            add(
                &mut score.exact,
                bare_gold.intersection(&bare_found).count(),
                &bare_found,
                &bare_gold,
            );
            add(&mut score.typed, gold.intersection(&found).count(), &found, &gold);
            score.partial += overlapping(&gold, &found, false);
            score.partial_typed += overlapping(&gold, &found, true);
        }
        score
    }
}

fn add<T>(counts: &mut [usize; 3], n: usize, found: &BTreeSet<T>, gold: &BTreeSet<T>) {
    counts[0] += n;
    counts[1] += found.len();
    counts[2] += gold.len();
}

/// Pairs of overlapping spans, one to one, the best overlap (intersection over union) first.
fn overlapping(gold: &BTreeSet<Found>, found: &BTreeSet<Found>, is_typed: bool) -> usize {
    let mut pairs = Vec::new();
    for g in gold {
        for f in found {
            let shared = g.1.min(f.1) as f64 - g.0.max(f.0) as f64;
            if shared > 0.0 && (!is_typed || g.2 == f.2) {
                let all = g.1.max(f.1) as f64 - g.0.min(f.0) as f64;
                pairs.push((-shared / all, *g, *f));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used_gold, mut used_found) = (BTreeSet::new(), BTreeSet::new());
    let mut n = 0;
    for (_, g, f) in pairs {
        if !used_gold.contains(&g) && !used_found.contains(&f) {
            used_gold.insert(g);
            used_found.insert(f);
            n += 1;
        }
    }
    n
}

/// Precision, recall and F1 in percent.
fn prf(right: usize, found: usize, gold: usize) -> [f64; 3] {
    let share = |n: usize| if n == 0 { 0.0 } else { 100.0 * right as f64 / n as f64 };
    let (p, r) = (share(found), share(gold));
    [p, r, if p + r == 0.0 { 0.0 } else { 2.0 * p * r / (p + r) }]
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p, r, f1] = prf(self.exact[0], self.exact[1], self.exact[2]);
        let typed = prf(self.typed[0], self.typed[1], self.typed[2])[2];
        let partial = prf(self.partial, self.typed[1], self.typed[2])[2];
        let partial_typed = prf(self.partial_typed, self.typed[1], self.typed[2])[2];
        write!(
            f,
            "{} | {p:.1} {r:.1} {f1:.1} | {typed:.1} | {partial:.1} | {partial_typed:.1}",
            self.exact[1]
        )
    }
}
