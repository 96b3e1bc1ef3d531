//! Anchors: the visible texts of links between notes, read in the notes without their links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use model::terms::{EntityType, norm_of};

use super::linker::{Denoted, Given, Linker};

struct Anchor {
    source: String,
    phrase: String,
    target: String,
    at: Option<usize>,
}

#[derive(Default)]
struct Tally {
    n_right: usize,
    n_wrong: usize,
    n_none: usize,
    n_unsure: usize,
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    let root = folder.join("vault_nolinks");
    let notes = notes(&root)?;
    let mut linker = Linker::new()?;
    let mut anchors = read(folder)?;
    let mut given: BTreeMap<&str, Vec<Given>> = BTreeMap::new();
    for (path, text) in &notes {
        let normal = linker.normal(path, text)?;
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for anchor in anchors.iter_mut().filter(|it| it.source == *path) {
            let phrase = anchor.phrase.as_str();
            let bounded = |at: &usize| is_bounded(&normal.text, *at, *at + phrase.len());
            let mut found = normal.text.match_indices(phrase).map(|(at, _)| at).filter(bounded);
            let Some(at) = found.find(|at| !overlaps(&taken, *at, phrase.len())) else { continue };
            taken.extend(at..at + phrase.len());
            anchor.at = Some(at);
            let end = at + phrase.len();
            let entity_type = EntityType::Document;
            given.entry(path).or_default().push(Given { start: at, end, entity_type });
        }
    }
    for (path, text) in &notes {
        linker.add_found(path, text, given.get(path.as_str()).cloned().unwrap_or_default());
    }
    linker.settle(&BTreeMap::new())?;
    let titles = titles(&notes);
    let (mut linked, mut equal) = (Tally::default(), Tally::default());
    let (mut n_distinct, mut seen) = (Tally::default(), BTreeSet::new());
    let n_lost = anchors.iter().filter(|it| it.at.is_none()).count();
    for anchor in anchors.iter().filter(|it| it.at.is_some()) {
        let at = anchor.at.unwrap_or_default();
        let denoted = linker.denoted(&anchor.source, at, at + anchor.phrase.len())?;
        count(&mut linked, &denoted, &anchor.target);
        if seen.insert((&anchor.phrase, &anchor.target)) {
            count(&mut n_distinct, &denoted, &anchor.target);
        }
        match titles.get(&norm_of(&anchor.phrase)).map(|it| it.iter().collect::<Vec<_>>()) {
            Some(homes) if homes.len() > 1 => equal.n_unsure += 1,
            Some(homes) if homes.first().is_some_and(|it| **it == anchor.target) => {
                equal.n_right += 1
            }
            Some(_) => equal.n_wrong += 1,
            None => equal.n_none += 1,
        }
        if std::env::var_os("KG_SHOW").is_some() {
            let right = Denoted::Entity(0, Some(anchor.target.clone()));
            let is_right = matches!((&denoted, &right),
                (Some(Denoted::Entity(_, a)), Denoted::Entity(_, b)) if a == b);
            if !is_right {
                println!("      {} -> {} : {denoted:?}", anchor.phrase, anchor.target);
            }
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "  {name}: {} notes, {} anchors, {n_lost} not in the text",
        notes.len(),
        anchors.len()
    );
    println!("    {}", linker.states()?);
    println!("    equal names       {}", line(&equal));
    println!("    linked            {}", line(&linked));
    println!("    linked, distinct  {}", line(&n_distinct));
    Ok(())
}

fn overlaps(taken: &BTreeSet<usize>, at: usize, len: usize) -> bool {
    taken.range(at..at + len).next().is_some()
}

fn is_bounded(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|it| it.chars().next_back());
    let after = text.get(end..).and_then(|it| it.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

fn count(tally: &mut Tally, denoted: &Option<Denoted>, target: &str) {
    match denoted {
        Some(Denoted::Entity(_, Some(home))) if home == target => tally.n_right += 1,
        Some(Denoted::Entity(_, Some(_))) => tally.n_wrong += 1,
        Some(Denoted::Entity(_, None)) => tally.n_none += 1,
        Some(Denoted::Unsure) | None => tally.n_unsure += 1,
    }
}

fn line(tally: &Tally) -> String {
    let n = tally.n_right + tally.n_wrong + tally.n_none + tally.n_unsure;
    let accuracy = tally.n_right as f64 / n.max(1) as f64;
    let precision = tally.n_right as f64 / (tally.n_right + tally.n_wrong).max(1) as f64;
    format!(
        "accuracy {accuracy:.3}, precision {precision:.3}: {} right, {} wrong, {} no note, {} unsure of {n}",
        tally.n_right, tally.n_wrong, tally.n_none, tally.n_unsure
    )
}

fn read(folder: &Path) -> Result<Vec<Anchor>> {
    let text = std::fs::read_to_string(folder.join("anchors.tsv"))?;
    let mut anchors = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split('\t').map(String::from);
        if let (Some(source), Some(phrase), Some(target)) =
            (fields.next(), fields.next(), fields.next())
        {
            anchors.push(Anchor { source, phrase, target, at: None });
        }
    }
    Ok(anchors)
}

/// Returns the notes by the norm of their titles and file names.
fn titles(notes: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in notes {
        let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(String::from);
        for name in [Some(stem), heading].into_iter().flatten() {
            out.entry(norm_of(&name)).or_default().insert(path.clone());
        }
    }
    out
}

fn notes(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                let inside = path.strip_prefix(root)?.to_string_lossy().into_owned();
                out.insert(inside, std::fs::read_to_string(&path)?);
            }
        }
    }
    Ok(out)
}
