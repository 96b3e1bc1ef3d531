//! Lingua: finds translated pages with questions in each of their languages; and measures the scale
//! that the vectors of several models share.
//!
//! `cargo bench -p tests --bench lingua -- pages FOLDER en-US LANGUAGE...`: FOLDER has a folder per
//! language, with pages of the same names (`*.html`), as in documentation packages. Each page
//! becomes a note with its first characters, without its title and with a number as its name; all
//! languages are in one folder. The question is the title; the wanted answer is the page in the
//! same language, or the English one. Prints how often it is the first of its language, with 95 %
//! bootstrap intervals, by vectors alone and by all signals: without better vectors, with those for
//! English alone, with the defaults, and with e5 for everything.
//! `… -- scale DATA SET...` (`scifact`, `cranfield`, …): cosines of equal rank of MiniLM and e5,
//! over all pairs of some questions and documents, and the difference between the two for documents
//! that answer.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use config::limits::{DEFAULT_MODEL, OTHER_MODEL};
use config::settings::Formula;
use config::{Places, Settings};
use embed::{Builtin, Embedder, cosine};
use proto::tool::core::HybridQuery;
use query::answer;
use serde_json::Value;
use server::project::Project;

/// Characters read per page: about one window; scripts whose letters are syllables or words need
/// fewer.
const N_CHARS: [(&str, usize); 3] = [("ja", 350), ("zh", 300), ("", 800)];

/// Fewest characters of a page.
const MIN_CHARS: usize = 120;

/// Compared configurations: name and settings.
const TIERS: [(&str, &[&str]); 4] = [
    ("static", &["embed.model=none"]),
    ("MiniLM alone", &["embed.other_languages=none"]),
    ("default", &[]),
    ("e5 for all", &["embed.model=e5-small"]),
];

/// Questions and documents per set for measuring the scale.
const N_QUESTIONS: usize = 60;
const N_DOCUMENTS: usize = 200;

/// Characters read per document for it.
const N_CHARS_OF_SCALE: usize = 500;

/// Shares of nearer pairs whose cosines are printed.
const RANKS: [f64; 9] = [0.9999, 0.99, 0.9, 0.5, 0.1, 0.01, 0.001, 0.0003, 0.0];

struct Page {
    title: String,
    text: String,
}

fn main() -> Result<()> {
    let arguments = support::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["pages", folder, languages @ ..] if languages.len() > 1 => {
            pages(Path::new(folder), languages)
        }
        ["scale", data, sets @ ..] if !sets.is_empty() => scale(Path::new(data), sets),
        _ => bail!("what? hint: -- pages FOLDER en-US de-DE..., or -- scale DATA SET..."),
    }
}

fn pages(folder: &Path, languages: &[&str]) -> Result<()> {
    let pages = read(folder, languages)?;
    println!("{} pages in {}", pages.len(), languages.join(", "));
    let scratch = tempfile::tempdir()?;
    let notes = scratch.path().join("notes");
    for (n, page) in pages.iter().enumerate() {
        for (language, page) in languages.iter().zip(page) {
            std::fs::create_dir_all(notes.join(language))?;
            std::fs::write(notes.join(language).join(format!("{n:03}.md")), &page.text)?;
        }
    }
    let runtime = support::runtime()?;
    let mut outcomes: BTreeMap<(&str, &str, &str, bool), Vec<bool>> = BTreeMap::new();
    let state = scratch.path().join("state");
    for (tier, changes) in TIERS {
        let mut settings = settings(scratch.path(), changes)?;
        settings.retrieval.k = 100;
        let before = support::cpu_of_process(std::process::id())?;
        let project = runtime.block_on(open(&notes, &state, &settings))?;
        let cpu = support::cpu_of_process(std::process::id())? - before;
        let stand = project.backfilled();
        let n_windows: u64 =
            stand.iter().flat_map(|it| it.others.iter().chain([it])).map(|it| it.n_windows).sum();
        println!("{tier}: {n_windows} vectors of better models, all in all {cpu:.1} CPU-s");
        for (of, formula) in
            [("vectors", Formula::Vector), ("all signals", settings.retrieval.formula)]
        {
            let mut asked = settings.clone();
            asked.retrieval.formula = formula;
            for (at, language) in languages.iter().enumerate() {
                for (n, page) in pages.iter().enumerate() {
                    let found = found(&project, &asked, &page[at].title)?;
                    let wanted = format!("{n:03}.md");
                    for is_across in [false, true] {
                        let within = if is_across { languages[0] } else { language };
                        let first =
                            found.iter().find_map(|path| path.strip_prefix(&format!("{within}/")));
                        let key = (of, *language, tier, is_across);
                        outcomes.entry(key).or_default().push(first == Some(wanted.as_str()));
                    }
                }
            }
        }
        runtime.block_on(project.drain(support::SETTLE_LIMIT));
    }
    for of in ["vectors", "all signals"] {
        for is_across in [false, true] {
            let within =
                if is_across { "the English page" } else { "the page in the same language" };
            println!("\n{of}, {within} comes first, of all in its language (95 % interval)");
            for language in languages.iter().skip(usize::from(is_across)) {
                let of_tier = |tier: &str| {
                    let hits = &outcomes[&(of, *language, tier, is_across)];
                    let (low, high) = interval(hits);
                    format!("{tier} {:.3} [{low:.3}, {high:.3}]", share(hits))
                };
                println!("{language}: {}", TIERS.map(|(tier, _)| of_tier(tier)).join("  "));
            }
        }
    }
    Ok(())
}

fn settings(scratch: &Path, changes: &[&str]) -> Result<Settings> {
    let at = |name: &str| scratch.join(name);
    let places = Places { state: at("all"), runtime: at("runtime"), config: at("config") };
    let fixed = ["embed.background=on", "recognize.deep=false"];
    let changes: Vec<String> = fixed.iter().chain(changes).map(ToString::to_string).collect();
    Ok(config::load::load(&places, None, &changes)?.settings)
}

/// Opens a project with all vectors of its models.
async fn open(notes: &Path, state: &Path, settings: &Settings) -> Result<std::sync::Arc<Project>> {
    std::fs::create_dir_all(state)?;
    let project = support::open_settled(notes, state, settings.clone()).await?;
    let is_full = |project: &Project| {
        let stand = project.backfilled();
        stand.is_none_or(|it| it.others.iter().chain([&it]).all(|it| it.is_full))
    };
    match project.wait_until(std::time::Duration::from_secs(3_600), is_full).await {
        true => Ok(project),
        false => bail!("the better vectors are not there: {:?}", project.backfilled()),
    }
}

/// Returns the paths of the hits, best first.
fn found(project: &Project, settings: &Settings, question: &str) -> Result<Vec<String>> {
    let snapshot = project.snapshot()?;
    let mut context = project.context(&snapshot);
    context.settings = settings;
    let request =
        HybridQuery { q: question.into(), max_chars: Some(100_000), ..HybridQuery::default() };
    let reply =
        answer(&context, &request).map_err(|error| anyhow!("{question}: {}", error.message))?;
    Ok(reply.chunks.into_iter().map(|hit| hit.path).collect())
}

/// Reads the pages that all languages have: with distinct titles, enough text, and none left in
/// English.
fn read(folder: &Path, languages: &[&str]) -> Result<Vec<Vec<Page>>> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder.join(languages[0]))?
        .map(|entry| entry.map(|it| PathBuf::from(it.file_name())))
        .collect::<std::io::Result<_>>()?;
    names.retain(|name| name.extension().is_some_and(|it| it == "html"));
    names.sort();
    let mut pages: Vec<Vec<Page>> = Vec::new();
    let mut known: Vec<BTreeSet<String>> = vec![BTreeSet::new(); languages.len()];
    for name in names {
        let of = |language: &&str| {
            let html = std::fs::read_to_string(folder.join(language).join(&name)).ok()?;
            page(&html, language)
        };
        let Some(all) = languages.iter().map(of).collect::<Option<Vec<Page>>>() else { continue };
        let is_new = all.iter().zip(&known).all(|(page, known)| !known.contains(&page.title));
        let is_translated =
            all.iter().skip(1).all(|page| page.text != all[0].text && page.title != all[0].title);
        if is_new && is_translated {
            all.iter().zip(&mut known).for_each(|(page, known)| {
                known.insert(page.title.clone());
            });
            pages.push(all);
        }
    }
    Ok(pages)
}

/// Returns the title and first characters of a page, from the text of its paragraphs.
fn page(html: &str, language: &str) -> Option<Page> {
    let title = html.split_once("<title")?.1.split_once('>')?.1.split_once("</title>")?.0;
    let title = plain(title);
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace();
    let title = title.trim_start_matches(is_number).to_string();
    let n_chars = N_CHARS.iter().find(|(prefix, _)| language.starts_with(prefix))?.1;
    let mut text = String::new();
    for part in html.split("<div class=\"para\">").skip(1) {
        let part = part.split_once("</div>").map_or(part, |(part, _)| part);
        text.push_str(plain(part).trim());
        text.push_str("\n\n");
        if text.chars().count() >= n_chars {
            break;
        }
    }
    let text: String = text.chars().take(n_chars).collect();
    (!title.is_empty() && text.chars().count() >= MIN_CHARS).then_some(Page { title, text })
}

/// Strips tags and puts the text on one line.
fn plain(html: &str) -> String {
    let mut parts = html.split('<');
    let first = parts.next().unwrap_or_default().to_string();
    let text = first + &parts.filter_map(|part| Some(part.split_once('>')?.1)).collect::<String>();
    let text = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn share(hits: &[bool]) -> f64 {
    hits.iter().filter(|hit| **hit).count() as f64 / hits.len().max(1) as f64
}

/// Returns the interval with 95 % of the shares of bootstrap samples.
fn interval(hits: &[bool]) -> (f64, f64) {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % hits.len().max(1)
    };
    let shares: Vec<f64> = (0..2_000)
        .map(|_| share(&(0..hits.len()).map(|_| hits[next()]).collect::<Vec<_>>()))
        .collect();
    (support::percentile(&shares, 0.025), support::percentile(&shares, 0.975))
}

fn scale(data: &Path, sets: &[&str]) -> Result<()> {
    let models =
        [DEFAULT_MODEL, OTHER_MODEL].map(|name| Builtin::named(name, None).expect("built in"));
    let (mut all, mut answers) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for set in sets {
        let (questions, documents, wanted) = judged(&data.join(set))?;
        for (n, model) in models.iter().enumerate() {
            let before = support::cpu_of_thread()?;
            let texts: Vec<&str> = documents.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = model.try_embed(&texts)?;
            let cpu = support::cpu_of_thread()? - before;
            println!(
                "{set}, {}: {:.1} ms of CPU a document",
                model.space(),
                cpu * 1e3 / texts.len() as f64
            );
            let start = (all[n].len(), answers[n].len());
            for (id, text) in &questions {
                let question = model.try_question(text)?;
                for ((document, _), vector) in documents.iter().zip(&vectors) {
                    let cosine = f64::from(cosine(&question, vector));
                    all[n].push(cosine);
                    if wanted.contains(&(id.clone(), document.clone())) {
                        answers[n].push(cosine);
                    }
                }
            }
            let ranks = |values: &[f64], shares: &[f64]| {
                let at = |share: &f64| format!("{:.3}", support::percentile(values, 1.0 - share));
                shares.iter().map(at).collect::<Vec<_>>().join(" ")
            };
            println!("  all {}: {}", all[n].len() - start.0, ranks(&all[n][start.0..], &RANKS));
            let quarters = [0.9, 0.75, 0.5, 0.25, 0.1];
            println!(
                "  answers {}: {}",
                answers[n].len() - start.1,
                ranks(&answers[n][start.1..], &quarters)
            );
        }
    }
    println!("together, cosines of equal rank (e5, MiniLM):");
    for share in RANKS {
        let [minilm, e5] = all.each_ref().map(|values| support::percentile(values, 1.0 - share));
        println!("  ({e5:.3}, {minilm:.3}),");
    }
    let pairs = answers[1].iter().zip(&answers[0]);
    let apart: Vec<f64> =
        pairs.map(|(e5, minilm)| f64::from(models[1].nearness(*e5 as f32)) - minilm).collect();
    let mean = apart.iter().sum::<f64>() / apart.len().max(1) as f64;
    println!(
        "answers, e5 on the common scale minus MiniLM: mean {mean:.3}, {}",
        support::spread(&apart)
    );
    Ok(())
}

type Texts = Vec<(String, String)>;

/// Pairs of a question and a text that answers it, by id.
type Answers = BTreeSet<(String, String)>;

/// Reads questions and documents by id, both judged and others, and which document answers which
/// question.
fn judged(set: &Path) -> Result<(Texts, Texts, Answers)> {
    let part = ["train", "dev"].iter().find(|part| set.join(format!("qrels.{part}.tsv")).exists());
    let part = part.with_context(|| format!("no judgments in {}", set.display()))?;
    let texts = |file: &str| -> Result<Texts> {
        let lines = std::fs::read_to_string(set.join(file))?;
        let read = |line: &str| -> Result<(String, String)> {
            let value: Value = serde_json::from_str(line)?;
            let field = |name: &str| value[name].as_str().unwrap_or_default().to_string();
            let text = [field("title"), field("text")].join("\n").trim().to_string();
            Ok((field("_id"), text))
        };
        lines.lines().map(read).collect()
    };
    let judgments = std::fs::read_to_string(set.join(format!("qrels.{part}.tsv")))?;
    let of = |line: &str| -> Option<(String, String)> {
        let fields: Vec<&str> = line.split('\t').collect();
        (*fields.get(2)? != "0").then(|| (fields[0].to_string(), fields[1].to_string()))
    };
    let wanted: BTreeSet<(String, String)> = judgments.lines().skip(1).filter_map(of).collect();
    let mut questions = texts(&format!("queries.{part}.jsonl"))?;
    questions.retain(|(id, _)| wanted.iter().any(|(question, _)| question == id));
    let step = (questions.len() / N_QUESTIONS).max(1);
    let questions: Texts = questions.into_iter().step_by(step).take(N_QUESTIONS).collect();
    let asked: BTreeSet<&String> = questions.iter().map(|(id, _)| id).collect();
    let answers: BTreeSet<&String> =
        wanted.iter().filter(|(id, _)| asked.contains(id)).map(|(_, document)| document).collect();
    let all: HashMap<String, String> = texts("corpus.jsonl")?.into_iter().collect();
    let mut ids: Vec<&String> = all.keys().collect();
    ids.sort_by_key(|id| (!answers.contains(id), model::terms::ContentHash::of(id.as_bytes()).0));
    let start = |text: &str| text.chars().take(N_CHARS_OF_SCALE).collect::<String>();
    let documents =
        ids.into_iter().take(N_DOCUMENTS).map(|id| (id.clone(), start(&all[id]))).collect();
    Ok((questions, documents, wanted))
}
