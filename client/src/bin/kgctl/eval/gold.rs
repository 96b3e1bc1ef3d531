//! What a person found: the annotations of a corpus.
//!
//! In: `gold/*.tsv` and `questions/questions.tsv`. Out: mentions with their spans, names, relations,
//! questions.
//! Invariants: an annotation that does not fit its document is an error that names file and line.
//! Not here: comparing.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use client::score::{MentionMark, RelationMark, norm, nth_span};

use super::{Exit, Failure, read_file};

/// The annotations of a corpus.
#[derive(Debug)]
pub(super) struct Gold {
    /// Paths that are annotated exhaustively; only these count.
    pub(super) documents: BTreeSet<String>,
    pub(super) mentions: Vec<MentionMark>,
    pub(super) relations: Vec<RelationMark>,
    /// Each with the documents that answer it.
    pub(super) questions: Vec<(String, BTreeSet<String>)>,
    /// From the norm of a name to the norm of its entity's.
    aliases: HashMap<String, String>,
}

/// One row of a table, and where it stands.
struct Row<const N: usize> {
    place: String,
    cells: [String; N],
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
        let aliases = rows::<2>(&gold.join("links.tsv"))?.into_iter().map(|row| {
            let [entity, surface] = row.cells;
            (norm(&surface), norm(&entity))
        });
        let relations =
            rows::<4>(&gold.join("relations.tsv"))?.into_iter().map(|row| row.cells).map(relation);
        let questions =
            rows::<3>(&corpus.join("questions/questions.tsv"))?.into_iter().map(|row| {
                let [_, question, paths] = row.cells;
                (question, paths.split(',').map(|path| path.trim().to_string()).collect())
            });
        Ok(Gold {
            mentions: mentions(corpus, &documents)?,
            relations: relations.filter(|it| documents.contains(&it.path)).collect(),
            questions: questions.collect(),
            aliases: aliases.collect(),
            documents,
        })
    }

    /// The norm of the entity that goes by this name; the name's own norm when it is none's.
    pub(super) fn canonical(&self, name: &str) -> String {
        let own = norm(name);
        self.aliases.get(&own).cloned().unwrap_or(own)
    }
}

fn relation([path, subject, predicate, object]: [String; 4]) -> RelationMark {
    RelationMark { path, subject, predicate, object }
}

fn mentions(corpus: &Path, documents: &BTreeSet<String>) -> Result<Vec<MentionMark>, Failure> {
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut marks = Vec::new();
    for Row { place, cells: [path, surface, nth, kind, entity] } in
        rows::<5>(&corpus.join("gold/mentions.tsv"))?
    {
        if !documents.contains(&path) {
            continue;
        }
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
        marks.push(MentionMark { path, start, end, kind, entity: Some(entity) });
    }
    Ok(marks)
}

/// The rows of a table without its header.
fn rows<const N: usize>(path: &Path) -> Result<Vec<Row<N>>, Failure> {
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
            Ok(Row { place, cells })
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
            [gold.canonical("kms"), gold.canonical("Other!")],
            ["keymanagementservice", "other"]
        );
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
