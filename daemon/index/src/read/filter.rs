//! Filter: the documents that may answer, as conditions on them, and the documents that meet these.
//!
//! A path `docs/` means paths with that prefix, as written if there are any, else folded. In `docs/*.md`, `*` and `?`
//! stay within a folder and `**` does not; a pattern without a folder matches names in any folder. A tag includes those
//! below it, as in Obsidian: documents with `baking/bread` also have `baking`.

use notes::resolve::{By, fold};
use rusqlite::params_from_iter;
use rustc_hash::FxHashSet;

use super::{Documents, Read};

/// From this `**/` of a pattern on, `**/` may match within a name, too.
const MAX_ANY_FOLDERS: usize = 4;

/// When a document was last changed, by its front matter (in the time zone of this machine unless it names one), else
/// by its file. Not `date`, which is the day of what a note is about, or of its first publication.
macro_rules! changed_ms {
    () => {
        "coalesce(1000 * CAST(coalesce( \
         strftime('%s', json_extract(d.meta, '$.extra.modified'), 'utc'), \
         strftime('%s', json_extract(d.meta, '$.extra.updated'), 'utc')) \
         AS INTEGER), d.mtime_ms)"
    };
}

/// Which documents may answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// It has all of these paths.
    pub paths: Vec<Under>,
    /// It has all of these tags, or tags below them.
    pub tags: Vec<String>,
    /// Its type or format.
    pub doc_type: Option<String>,
    /// Label in the front matter.
    pub security: Option<String>,
    /// Its main language.
    pub language: Option<String>,
    /// It mentions this entity, or is about it.
    pub entity: Option<i64>,
    /// Of this day or later.
    pub after: Option<String>,
    /// Before this day.
    pub before: Option<String>,
    /// Conditions that only note searches have.
    pub of_notes: OfNotes,
}

/// Conditions that only note searches have (S0 §5.5).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfNotes {
    /// One of these types or formats, folded.
    pub types: Vec<String>,
    /// Modified later than this, milliseconds since 1970.
    pub modified_after: Option<i64>,
    /// Words in the title, folded.
    pub title: Option<String>,
    /// Its permalink.
    pub permalink: Option<String>,
    /// A prefix of a permalink, or a pattern with `*`.
    pub permalink_match: Option<String>,
    /// Notes only, no other documents.
    pub only_notes: bool,
    /// If given, only these documents may answer, as ascending row ids.
    pub docs: Option<Vec<i64>>,
}

/// The paths that a document must have.
#[derive(Debug, Clone, PartialEq)]
pub enum Under {
    /// Its path starts with this.
    Begins(String),
    /// Its path matches one of these globs of SQLite and, if given, has this number of slashes.
    Fits {
        /// The globs.
        globs: Vec<String>,
        /// The number of slashes.
        n_slashes: Option<usize>,
    },
    /// Its folded path is under this, folded.
    Folded(Box<Under>),
}

/// The order of documents; ties go to the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By path.
    Path,
    /// By day, latest first.
    Day,
    /// By the time of the last change, latest first.
    Changed,
}

record! {
    /// A document in brief, as lists show it.
    pub struct Brief {
        /// Row id.
        pub id: i64 = "d.id",
        /// Title.
        pub title: String = "d.title",
        /// Path below the project's folder.
        pub path: String = "d.path",
        /// Permalink, if it is a note.
        pub permalink: Option<String> = "n.permalink",
        /// Type that its author stated, else its format.
        pub doc_type: String = "coalesce(d.doc_type, d.format)",
        /// The entity that it is about.
        pub entity: Option<i64> = "d.entity_id",
        /// When it was last changed, by its front matter, else by its file; milliseconds since 1970.
        pub changed_ms: i64 = changed_ms!(),
        /// Size of the file.
        pub n_bytes: u64 = "d.n_bytes",
        /// Where it was fetched from.
        pub source_url: Option<String> = "d.source_url",
        /// Label of its front matter.
        pub security: Option<String> = "json_extract(d.meta, '$.security')",
    }
}

impl Documents<'_> {
    /// Returns the documents that pass a filter; `None` if every document does.
    pub fn matching(self, filter: &Filter) -> Read<Option<FxHashSet<i64>>> {
        let Some((condition, values)) = filter.sql_beside_docs() else {
            return Ok(filter.of_notes.docs.as_ref().map(|docs| docs.iter().copied().collect()));
        };
        let mut found = FxHashSet::default();
        let sql = format!("SELECT d.id FROM docs d WHERE {condition}");
        self.0.every(&sql, params_from_iter(values), |doc: i64| {
            found.extend(Some(doc).filter(|doc| filter.of_notes.means(*doc)));
        })?;
        Ok(Some(found))
    }

    /// Returns whether a document passes a filter.
    pub fn any(self, filter: &Filter) -> Read<bool> {
        let (condition, values) = filter.condition();
        let sql = format!("SELECT 1 FROM docs d WHERE {condition} LIMIT 1");
        self.0.has_row(&sql, params_from_iter(values))
    }

    /// Returns the number of documents that pass a filter.
    pub fn n_matching(self, filter: &Filter) -> Read<u64> {
        let (condition, values) = filter.condition();
        let sql = format!("SELECT count(*) FROM docs d WHERE {condition}");
        self.0.only(&sql, params_from_iter(values))
    }

    /// Returns the documents that pass a filter, in an order: at most `size`, after the first `skip`.
    pub fn page(self, filter: &Filter, order: Order, skip: usize, size: usize) -> Read<Vec<Brief>> {
        let (condition, mut values) = filter.condition();
        let order = match order {
            Order::Path => "d.path",
            Order::Day => "d.day DESC, d.path",
            Order::Changed => concat!(changed_ms!(), " DESC, d.path"),
        };
        let from = format!(
            "FROM docs d LEFT JOIN notes n ON n.doc_id = d.id WHERE {condition} ORDER BY {order}
             LIMIT CAST(? AS INTEGER) OFFSET CAST(? AS INTEGER)"
        );
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX).to_string();
        values.extend([number(size), number(skip)]);
        self.0.select(&from, params_from_iter(values))
    }

    /// Returns a document in brief.
    pub fn brief(self, doc: i64) -> Read<Option<Brief>> {
        self.0.select_one("FROM docs d LEFT JOIN notes n ON n.doc_id = d.id WHERE d.id = ?1", [doc])
    }

    /// Returns paths in the spelling of the index: as they are if a document is under them, else folded.
    pub fn spelled(self, under: Under) -> Read<Under> {
        let is_met = self.any(&Filter { paths: vec![under.clone()], ..Filter::default() })?;
        Ok(if is_met { under } else { Under::Folded(Box::new(under)) })
    }

    /// Returns the paths, out of some, that are under one; they need not be in the index.
    pub fn fitting(self, paths: &[&str], under: &Under) -> Read<FxHashSet<String>> {
        let mut values = vec![serde_json::to_string(paths).unwrap_or_default()];
        let condition = under.sql(&mut values);
        let sql = format!(
            "SELECT d.path FROM (SELECT value AS path FROM json_each(?)) d WHERE {condition}"
        );
        self.0.rows(&sql, params_from_iter(values))
    }
}

impl Filter {
    /// Returns the condition on `docs d` as SQL with its parameters.
    fn condition(&self) -> (String, Vec<String>) {
        let (beside, mut values) = self.sql_beside_docs().unwrap_or_else(|| ("1".into(), vec![]));
        let Some(docs) = &self.of_notes.docs else { return (beside, values) };
        values.push(serde_json::to_string(docs).unwrap_or_default());
        (format!("{beside} AND d.id IN (SELECT value FROM json_each(?))"), values)
    }

    /// As [`Filter::condition`], without [`OfNotes::docs`], for which SQLite would scan a list per row; `None` if every
    /// document passes.
    fn sql_beside_docs(&self) -> Option<(String, Vec<String>)> {
        let mut all = Clauses::default();
        if let Some(entity) = self.entity {
            let mentions = "(d.entity_id = CAST(? AS INTEGER) OR EXISTS
                  (SELECT 1 FROM names n JOIN mentions m ON m.name_id = n.id
                   WHERE n.entity_id = CAST(? AS INTEGER) AND m.doc_id = d.id))";
            all.add(mentions, [entity.to_string(), entity.to_string()]);
        }
        for path in &self.paths {
            let clause = path.sql(&mut all.values);
            all.add(clause, []);
        }
        for tag in &self.tags {
            let tag = plain_tag(tag);
            let has = "EXISTS (SELECT 1 FROM doc_tags t
                  WHERE t.doc_id = d.id AND (t.tag = ? OR (t.tag >= ? AND t.tag < ?)))";
            // `0` is the character after `/`.
            all.add(has, [tag.clone(), format!("{tag}/"), format!("{tag}0")]);
        }
        let doc_type = self.doc_type.as_ref().map(|it| it.trim().to_string());
        let conditions = [
            ("folded(?) IN (folded(d.doc_type), folded(d.format))", &doc_type),
            ("folded(json_extract(d.meta, '$.security')) = folded(?)", &self.security),
            ("folded(d.language) = folded(?)", &self.language),
            ("d.day >= ?", &self.after),
            ("d.day < ?", &self.before),
        ];
        for (condition, value) in conditions {
            if let Some(value) = value {
                all.add(condition, [value.clone()]);
            }
        }
        self.of_notes.add(&mut all);
        (!all.clauses.is_empty()).then(|| (all.clauses.join(" AND "), all.values))
    }
}

impl OfNotes {
    /// Returns whether `docs` accepts a document.
    pub fn means(&self, doc: i64) -> bool {
        self.docs.as_ref().is_none_or(|docs| docs.binary_search(&doc).is_ok())
    }

    fn add(&self, all: &mut Clauses) {
        if !self.types.is_empty() {
            let types = serde_json::to_string(&self.types).unwrap_or_default();
            let any = "(SELECT value FROM json_each(?))";
            let has = format!("(folded(d.doc_type) IN {any} OR folded(d.format) IN {any})");
            all.add(has, [types.clone(), types]);
        }
        if let Some(ms) = self.modified_after {
            all.add(concat!(changed_ms!(), " > CAST(? AS INTEGER)"), [ms.to_string()]);
        }
        if let Some(title) = &self.title {
            let titled = "EXISTS (SELECT 1 FROM doc_names n WHERE n.doc_id = d.id AND n.kind = CAST(? AS INTEGER) \
                          AND instr(n.key, ?) > 0)";
            all.add(titled, [(By::Title as i64).to_string(), title.clone()]);
        }
        if let Some(permalink) = &self.permalink {
            let has = "EXISTS (SELECT 1 FROM notes n WHERE n.doc_id = d.id AND n.permalink = ?)";
            all.add(has, [permalink.clone()]);
        }
        if let Some(pattern) = &self.permalink_match {
            let fits = if pattern.contains('*') { "GLOB ?" } else { "GLOB ? || '*'" };
            let given = pattern.replace('[', "[[]").replace('?', "[?]");
            let has = format!(
                "EXISTS (SELECT 1 FROM notes n LEFT JOIN doc_names m ON m.doc_id = n.doc_id \
                 AND m.kind = CAST(? AS INTEGER) WHERE n.doc_id = d.id AND (n.permalink {fits} OR m.key {fits}))"
            );
            all.add(has, [(By::PathSlug as i64).to_string(), given.clone(), given]);
        }
        if self.only_notes {
            all.add("EXISTS (SELECT 1 FROM notes n WHERE n.doc_id = d.id)", []);
        }
    }
}

/// Conditions on `docs d`, all of which must hold, and their parameters, in order.
#[derive(Default)]
struct Clauses {
    clauses: Vec<String>,
    values: Vec<String>,
}

impl Clauses {
    fn add<const N: usize>(&mut self, clause: impl Into<String>, values: [String; N]) {
        self.clauses.push(clause.into());
        self.values.extend(values);
    }
}

/// Returns a tag as it is stored.
pub fn plain_tag(tag: &str) -> String {
    fold(tag.trim().trim_start_matches('#').trim_end_matches('/'))
}

impl From<&str> for Under {
    fn from(asked: &str) -> Self {
        let path = asked.trim().trim_start_matches("./").trim_start_matches('/');
        if !path.contains(['*', '?']) {
            return Under::Begins(path.into());
        }
        let whole = if path.ends_with('/') { format!("{path}**") } else { path.into() };
        // Brackets occur in names and have no meaning in our patterns.
        let mut globs = any_folders(&whole.replace('[', "[[]"));
        if !whole.contains('/') {
            globs.extend(globs.clone().into_iter().map(|glob| format!("*/{glob}")));
            return Under::Fits { globs, n_slashes: None };
        }
        let n_slashes = (!whole.contains("**")).then(|| whole.matches('/').count());
        Under::Fits { globs, n_slashes }
    }
}

/// Converts a pattern to globs of SQLite: `**/` matches zero or more folders, which takes two globs
/// each.
fn any_folders(pattern: &str) -> Vec<String> {
    let mut globs = vec![String::new()];
    for (at, part) in pattern.split("**/").enumerate() {
        let part = part.replace("**", "*");
        let begun = std::mem::take(&mut globs);
        for glob in begun {
            match at {
                0 => globs.push(part.clone()),
                // Beyond the limit it may also match within a name.
                MAX_ANY_FOLDERS.. => globs.push(format!("{glob}*{part}")),
                _ => globs.extend([format!("{glob}{part}"), format!("{glob}*/{part}")]),
            }
        }
    }
    globs
}

impl Under {
    /// Matches the documents directly in this folder, the one at this path, or those that match a
    /// pattern.
    pub fn folder(asked: &str) -> Under {
        match Under::from(asked) {
            Under::Begins(path) if path == "." => Under::Begins(String::new()),
            Under::Begins(path) => {
                let name = path.trim_end_matches('/').replace('[', "[[]");
                let globs = match name.as_str() {
                    "" => vec!["*".to_string()],
                    _ => vec![format!("{name}/*"), name],
                };
                Under::Fits { globs, n_slashes: None }
            }
            pattern => pattern,
        }
    }

    /// Returns whether it matches every document.
    pub fn is_everywhere(&self) -> bool {
        matches!(self, Under::Begins(path) if path.is_empty())
    }

    /// Returns the condition on `docs d` and adds its parameters.
    fn sql(&self, values: &mut Vec<String>) -> String {
        match self {
            Under::Folded(under) => under.sql_on("folded(d.path)", fold, values),
            under => under.sql_on("d.path", str::to_string, values),
        }
    }

    fn sql_on(&self, path: &str, form: fn(&str) -> String, values: &mut Vec<String>) -> String {
        match self {
            Under::Begins(start) => {
                values.extend([form(start), form(start)]);
                format!("substr({path}, 1, length(?)) = ?")
            }
            Under::Fits { globs, n_slashes } => {
                values.extend(globs.iter().map(|glob| form(glob)));
                let any = vec![format!("{path} GLOB ?"); globs.len()].join(" OR ");
                let n_slashes = n_slashes.map(|n| {
                    format!(" AND length(d.path) - length(replace(d.path, '/', '')) = {n}")
                });
                format!("({any}){}", n_slashes.unwrap_or_default())
            }
            Under::Folded(under) => under.sql_on(path, form, values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(under: Under, path: &str) -> bool {
        let mut values = Vec::new();
        let condition = under.sql(&mut values);
        let db = rusqlite::Connection::open_in_memory().expect("opens");
        crate::store::open::add_folded(&db).expect("added");
        values.insert(0, path.into());
        let sql = format!("SELECT {condition} FROM (SELECT ? AS path) d");
        // In this SQL the row follows its condition, but its parameter comes first.
        let sql = sql.replacen("SELECT ?", "SELECT ?1", 1);
        let mut numbered = String::new();
        let mut n = 1;
        let mut signs = sql.chars().peekable();
        while let Some(c) = signs.next() {
            numbered.push(c);
            if c == '?' && signs.peek() != Some(&'1') {
                n += 1;
                numbered += &n.to_string();
            }
        }
        db.query_row(&numbered, rusqlite::params_from_iter(values), |row| row.get(0))
            .expect("asked")
    }

    #[test]
    fn a_path_is_a_beginning_or_a_pattern() {
        for (asked, fitting, others) in [
            ("docs/", &["docs/a.md", "docs/x/b.md"][..], &["Docs/a.md", "a/docs/b.md"][..]),
            ("/docs/a", &["docs/a.md", "docs/ab/c.md"], &["docs/b.md"]),
            ("docs/*.md", &["docs/a.md"], &["docs/x/b.md", "docs/a.txt", "a.md"]),
            ("docs/**/*.md", &["docs/a.md", "docs/x/y/b.md"], &["docs/x/b.txt"]),
            ("*/ops/", &["a/ops/b.md", "a/ops/c/d.md"], &["a/b.md"]),
            (
                "docs/**/README.md",
                &["docs/README.md", "docs/a/b/README.md"],
                &["docs/OLDREADME.md"],
            ),
            ("**/1.md", &["1.md", "g/1.md"], &["g/11.md", "11.md"]),
            ("*.pdf", &["a.pdf", "x/y/a.pdf"], &["a.md"]),
            ("no?e.md", &["note.md", "x/node.md"], &["noe.md"]),
            ("[2024]/*.md", &["[2024]/a.md"], &["2/a.md"]),
        ] {
            let fits = |path: &str| fits(Under::from(asked), path);
            fitting.iter().for_each(|path| assert!(fits(path), "{asked} {path}"));
            others.iter().for_each(|path| assert!(!fits(path), "{asked} {path}"));
        }
    }

    #[test]
    fn a_folded_path_is_found_in_any_spelling() {
        for (asked, path) in [
            ("Büro/", "Bu\u{308}ro/a.md"),
            ("büro/*.md", "BU\u{308}RO/a.md"),
            ("**/Größe*.md", "x/gro\u{308}ß\u{ad}e 1.md"),
            ("ISPARTA/", "ısparta/a.md"),
        ] {
            assert!(!fits(Under::from(asked), path), "{asked}");
            assert!(fits(Under::Folded(Box::new(asked.into())), path), "{asked}");
            assert!(!fits(Under::Folded(Box::new(asked.into())), "a.md"), "{asked}");
        }
    }

    #[test]
    fn a_folder_is_a_whole_name() {
        for (asked, fitting, others) in [
            ("n", &["n/a.md", "n/x/b.md"][..], &["notes/a.md", "x/n/a.md", "n.md"][..]),
            ("./n/", &["n/a.md"], &["notes/a.md"]),
            ("n.md", &["n.md"], &["n.md.md"]),
            ("[n]", &["[n]/a.md"], &["n/a.md"]),
            ("n/*", &["n/a.md"], &["n/x/a.md"]),
            (".", &["a.md", "n/a.md"], &[]),
            ("", &["a.md", "n/a.md"], &[]),
        ] {
            let fits = |path: &str| fits(Under::folder(asked), path);
            fitting.iter().for_each(|path| assert!(fits(path), "{asked} {path}"));
            others.iter().for_each(|path| assert!(!fits(path), "{asked} {path}"));
        }
    }

    #[test]
    fn patterns_have_as_many_parameters_as_placeholders() {
        for asked in ["docs/", "*.md", "a/?/b", "**", "a/**/b/"] {
            let mut values = Vec::new();
            let sql = Under::from(asked).sql(&mut values);
            assert_eq!(sql.matches('?').count(), values.len(), "{asked}");
        }
    }

    #[test]
    fn filters_become_conditions() {
        let filter = Filter {
            paths: vec!["/docs/".into()],
            tags: vec!["#Ops".into()],
            doc_type: Some("runbook".into()),
            language: Some("de".into()),
            after: Some("2024-01-01".into()),
            ..Filter::default()
        };
        let (sql, values) = filter.condition();
        assert_eq!(sql.matches('?').count(), values.len());
        assert_eq!(
            values,
            ["docs/", "docs/", "ops", "ops/", "ops0", "runbook", "de", "2024-01-01"]
        );
        assert_eq!(Filter::default().sql_beside_docs(), None);
    }
}
