//! Gold: the human annotations of a corpus.
//!
//! In: `gold/*.tsv` and `questions/questions.tsv`. Out: mentions with their spans, names,
//! relations, questions, and the halves of the corpus: one for development, one held out.
//! Invariants: an annotation that does not fit its document is an error with its file and line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use client::score::{MentionMark, RelationMark, norm, nth_span};

use super::{Exit, Failure, read_file};

/// The annotations of a corpus.
#[derive(Debug, Clone, Default)]
pub(super) struct Gold {
    /// Exhaustively annotated paths; only these count.
    pub(super) documents: BTreeSet<String>,
    pub(super) mentions: Vec<MentionMark>,
    pub(super) relations: Vec<RelationMark>,
    /// The table of mentions, line by line as in the file; `None` for a line about a document that
    /// does not count.
    pub(super) table: Vec<Option<[String; 5]>>,
    /// Questions, each with the documents that answer it.
    pub(super) questions: Vec<(String, BTreeSet<String>)>,
    /// Documents by half; empty if the corpus is not divided.
    pub(super) halves: BTreeMap<String, BTreeSet<String>>,
    /// Maps a page and the norm of a name on it to the norm of the entity.
    on_page: HashMap<(String, String), String>,
    /// Maps the norm of a name to the norms of the entities that have it.
    aliases: HashMap<String, BTreeSet<String>>,
}

/// One row of a table, with its place.
pub(super) struct Row<const N: usize> {
    pub(super) place: String,
    /// Line number, from 1.
    line: usize,
    pub(super) cells: [String; N],
}

impl Gold {
    /// Reads a corpus.
    pub(super) fn read(corpus: &Path) -> Result<Self, Failure> {
        let gold = corpus.join("gold");
        let list = read_file(&gold.join("pages.txt"))?;
        let documents: BTreeSet<_> = list
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_string)
            .collect();
        let mut aliases: HashMap<String, BTreeSet<String>> = HashMap::new();
        for Row { cells: [entity, surface], .. } in rows::<2>(&gold.join("links.tsv"))? {
            aliases.entry(norm(&surface)).or_default().insert(norm(&entity));
        }
        let relations =
            rows::<4>(&gold.join("relations.tsv"))?.into_iter().map(|row| row.cells).map(relation);
        let questions =
            rows::<3>(&corpus.join("questions/questions.tsv"))?.into_iter().map(|row| {
                let [_, question, paths] = row.cells;
                (question, paths.split(',').map(|path| path.trim().to_string()).collect())
            });
        let Marked { marks, on_page, table } = mentions(corpus, &documents)?;
        Ok(Gold {
            mentions: marks,
            on_page,
            table,
            halves: halves(&gold, &documents)?,
            relations: relations.filter(|it| documents.contains(&it.path)).collect(),
            questions: questions.collect(),
            aliases,
            documents,
        })
    }

    /// Returns the norm of the entity that has this name on this page, otherwise of the only entity
    /// that has it anywhere, otherwise the norm of the name itself.
    pub(super) fn canonical(&self, path: &str, name: &str) -> String {
        let own = norm(name);
        if let Some(entity) = self.on_page.get(&(path.to_string(), own.clone())) {
            return entity.clone();
        }
        let mut entities = self.aliases.get(&own).into_iter().flatten();
        match (entities.next(), entities.next()) {
            (Some(entity), None) => entity.clone(),
            _ => own,
        }
    }

    /// Returns whether an entity has this name anywhere.
    pub(super) fn is_name_of(&self, name: &str, entity: &str) -> bool {
        let (name, entity) = (norm(name), norm(entity));
        name == entity || self.aliases.get(&name).is_some_and(|it| it.contains(&entity))
    }

    /// Returns the annotations of some documents, and the questions that these documents alone
    /// answer.
    pub(super) fn part(&self, documents: &BTreeSet<String>) -> Gold {
        let mut part =
            Gold { halves: BTreeMap::new(), documents: documents.clone(), ..self.clone() };
        part.mentions.retain(|it| documents.contains(&it.path));
        part.relations.retain(|it| documents.contains(&it.path));
        part.questions.retain(|(_, paths)| paths.is_subset(documents));
        part
    }
}

/// Returns the documents of each half if the corpus is divided.
fn halves(
    gold: &Path,
    documents: &BTreeSet<String>,
) -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let mut halves: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let path = gold.join("halves.tsv");
    if path.exists() {
        for Row { cells: [path, half], .. } in rows::<2>(&path)? {
            if documents.contains(&path) {
                halves.entry(half).or_default().insert(path);
            }
        }
    }
    Ok(halves)
}

fn relation([path, subject, predicate, object]: [String; 4]) -> RelationMark {
    RelationMark { path, subject, predicate, object }
}

/// The parsed table of mentions.
struct Marked {
    marks: Vec<MentionMark>,
    /// The entities that names denote on their pages. A name that denotes several on one page is
    /// left out.
    on_page: HashMap<(String, String), String>,
    table: Vec<Option<[String; 5]>>,
}

fn mentions(corpus: &Path, documents: &BTreeSet<String>) -> Result<Marked, Failure> {
    let mut on_page: HashMap<(String, String), BTreeSet<String>> = HashMap::new();
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut marks = Vec::new();
    let mut table = Vec::new();
    for Row { place, line, cells } in rows::<5>(&corpus.join("gold/mentions.tsv"))? {
        if !documents.contains(&cells[0]) {
            continue;
        }
        table.resize(line.saturating_sub(1), None);
        table.push(Some(cells.clone()));
        let [path, surface, nth, kind, entity] = cells;
        if !texts.contains_key(&path) {
            texts.insert(path.clone(), read_file(&corpus.join("docs").join(&path))?);
        }
        let span = nth.parse().ok().and_then(|nth| nth_span(&texts[&path], &surface, nth));
        let (start, end) = span.ok_or_else(|| {
            Failure::new(
                Exit::Refused,
                format!("{place}: `{path}` has no `{surface}` number {nth}"),
            )
        })?;
        on_page.entry((path.clone(), norm(&surface))).or_default().insert(norm(&entity));
        marks.push(MentionMark { path, start, end, kind, entity: Some(entity) });
    }
    let single = |(name, entities): (_, BTreeSet<String>)| {
        (entities.len() == 1).then(|| entities.into_iter().next().map(|entity| (name, entity)))?
    };
    Ok(Marked { marks, on_page: on_page.into_iter().filter_map(single).collect(), table })
}

/// Returns the rows of a table without its header.
pub(super) fn rows<const N: usize>(path: &Path) -> Result<Vec<Row<N>>, Failure> {
    let text = read_file(path)?;
    let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(idx, line)| {
            let place = format!("{}:{}", path.display(), idx + 1);
            let cells: Vec<_> = line.split('\t').map(str::to_string).collect();
            let cells = cells.try_into().map_err(|cells: Vec<_>| {
                Failure::new(
                    Exit::Refused,
                    format!("{place}: {N} columns were expected, not {}", cells.len()),
                )
            })?;
            Ok(Row { place, line: idx + 1, cells })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(mentions: &str) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let write = |path: &str, text: &str| {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write("docs/a.md", "The KMS keeps keys. KMS!");
        write("docs/b.md", "KMS");
        write("gold/pages.txt", "a.md\n");
        write("gold/mentions.tsv", mentions);
        write("gold/links.tsv", "entity\tsurface\nKey Management Service\tKMS\n");
        write(
            "gold/relations.tsv",
            "path\tsubject\tpredicate\tobject\na.md\tKMS\tuses\tx\nb.md\ty\tuses\tx\n",
        );
        write("questions/questions.tsv", "id\tquestion\tpaths\nq1\twho?\ta.md, b.md\n");
        scratch
    }

    #[test]
    fn annotations_get_their_spans_and_only_listed_documents_count() {
        let header = "path\tsurface\tnth\ttype\tentity\n";
        let scratch = corpus(&format!(
            "{header}a.md\tKMS\t2\tService\tKey Management Service\nb.md\tKMS\t1\tService\tx\n"
        ));
        let gold = Gold::read(scratch.path()).unwrap_or_else(|failure| panic!("{failure:?}"));
        let spans: Vec<_> =
            gold.mentions.iter().map(|it| (it.path.as_str(), it.start, it.end)).collect();
        assert_eq!(spans, [("a.md", 20, 23)]);
        assert_eq!(gold.relations.len(), 1);
        assert_eq!(
            gold.questions,
            [("who?".to_string(), ["a.md".to_string(), "b.md".to_string()].into())]
        );
        assert_eq!(
            [gold.canonical("a.md", "kms"), gold.canonical("b.md", "Other!")],
            ["keymanagementservice", "other"]
        );
        assert!(gold.is_name_of("KMS", "Key Management Service") && !gold.is_name_of("KMS", "x"));
    }

    #[test]
    fn a_name_of_several_entities_is_told_by_its_page() {
        let header = "path\tsurface\tnth\ttype\tentity\n";
        let scratch = corpus(&format!(
            "{header}a.md\tKMS\t1\tService\tKey Management Service\nb.md\tKMS\t1\tProduct\tKiosk\n"
        ));
        let write = |path: &str, text: &str| std::fs::write(scratch.path().join(path), text);
        write("gold/pages.txt", "a.md\nb.md\n").expect("written");
        write("gold/halves.tsv", "path\thalf\na.md\ttuning\nb.md\treporting\n").expect("written");
        let links = "entity\tsurface\nKey Management Service\tKMS\nKiosk\tKMS\n";
        write("gold/links.tsv", links).expect("written");
        let gold = Gold::read(scratch.path()).unwrap_or_else(|failure| panic!("{failure:?}"));
        let named = ["a.md", "b.md", "c.md"].map(|path| gold.canonical(path, "KMS"));
        assert_eq!(named, ["keymanagementservice", "kiosk", "kms"]);
        let part = gold.part(&gold.halves["reporting"]);
        assert_eq!([part.mentions.len(), part.relations.len(), part.questions.len()], [1, 1, 0]);
    }

    #[test]
    fn an_annotation_that_does_not_fit_is_named() {
        for (rows, expected) in [
            ("h\na.md\tKMS\t3\tService\tx\n", "no `KMS` number 3"),
            ("h\na.md\tKMS\n", "5 columns"),
        ] {
            let failure = Gold::read(corpus(rows).path()).expect_err("wrong");
            let text = failure.text().unwrap_or_default();
            assert!(text.contains("mentions.tsv:2") && text.contains(expected), "{text}");
        }
    }
}
