//! Documents: one row a file: what it is, its text, and where the parts of its text lie in the file.

use notes::parse::LinkKind;
use notes::resolve::{By, Keys};
use rusqlite::{Row, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FromRow, Read};
use crate::store::Snapshot;
use crate::store::lines::{HeadingMap, LineMap, PageMap};
use crate::store::{permalinks, resolve};

/// Reads documents.
#[derive(Clone, Copy)]
pub struct Documents<'s>(pub(super) &'s Snapshot);

record! {
    /// A document without its text.
    pub struct Document {
        /// Row id.
        pub id: i64 = "d.id",
        /// Identity, which a move keeps.
        pub uid: String = "d.uid",
        /// Path below the project's folder.
        pub path: String = "d.path",
        /// Title.
        pub title: String = "d.title",
        /// Whether it is a Markdown note.
        pub is_note: bool = "d.is_note",
        /// Format, such as `markdown`.
        pub format: String = "d.format",
        /// Type that its author stated.
        pub doc_type: Option<String> = "d.doc_type",
        /// Main language; empty if unknown.
        pub language: String = "d.language",
        /// The day that it states, else the one on which its file changed; ISO form.
        pub day: String = "d.day",
        /// Hash of the file.
        pub hash: Vec<u8> = "d.hash",
        /// When the file changed, milliseconds since 1970.
        pub mtime_ms: i64 = "d.mtime_ms",
        /// Size of the file.
        pub n_bytes: i64 = "d.n_bytes",
        /// Where it was fetched from.
        pub source_url: Option<String> = "d.source_url",
        /// Label of its front matter.
        pub security: Option<String> = "json_extract(d.meta, '$.security')",
        /// The entity that it is about.
        pub entity: Option<i64> = "d.entity_id",
    }
}

record! {
    /// What a document is called and when it is from.
    pub struct Label {
        /// Identity, which a move keeps.
        pub uid: String = "d.uid",
        /// Path below the project's folder.
        pub path: String = "d.path",
        /// Title.
        pub title: String = "d.title",
        /// The day that it states, else the one on which its file changed; ISO form.
        pub day: String = "d.day",
    }
}

/// A document with its text.
pub struct Whole {
    /// The document.
    pub document: Document,
    /// Its normalized text.
    pub text: String,
    /// Where the parts of the text lie.
    pub places: Places,
}

record! {
    /// What a document says about its time.
    pub struct Dates {
        /// Path below the project's folder.
        pub path: String = "d.path",
        /// The day that it states, else the one on which its file changed; ISO form.
        pub day: String = "d.day",
        /// The date that its front matter states, as written.
        pub stated: Option<String> = "CAST(json_extract(d.meta, '$.date') AS TEXT)",
        /// The properties of its front matter that mean nothing else, as a JSON object.
        pub extra: String = "coalesce(json_extract(d.meta, '$.extra'), '{}')",
    }
}

/// Where the parts of a document's text lie.
pub struct Places {
    /// Lines of the file.
    pub lines: LineMap,
    /// Pages.
    pub pages: PageMap,
    /// Headings; `None` if they were not stored.
    pub headings: Option<HeadingMap>,
}

impl FromRow for Places {
    const WIDTH: usize = 3;
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        type Encoded = Option<Vec<u8>>;
        let (lines, pages, headings): (Vec<u8>, Encoded, Encoded) = FromRow::from_row(row, at)?;
        Ok(Places {
            lines: LineMap::decode(&lines),
            pages: PageMap::decode(pages.as_deref()),
            headings: HeadingMap::decode(headings.as_deref()),
        })
    }
}

impl Documents<'_> {
    /// Returns a document.
    pub fn get(self, doc: i64) -> Read<Option<Document>> {
        self.0.select_one("FROM docs d WHERE d.id = ?1", [doc])
    }

    /// Returns the id of the document at exactly this path.
    pub fn at(self, path: &str) -> Read<Option<i64>> {
        self.0.row("SELECT id FROM docs WHERE path = ?1", [path])
    }

    /// Returns the path of a document.
    pub fn path(self, doc: i64) -> Read<Option<String>> {
        self.0.row("SELECT path FROM docs WHERE id = ?1", [doc])
    }

    /// Returns the identity of a document, which a move keeps.
    pub fn uid(self, doc: i64) -> Read<Option<String>> {
        self.0.row("SELECT uid FROM docs WHERE id = ?1", [doc])
    }

    /// Returns the normalized text of a document.
    pub fn text(self, doc: i64) -> Read<Option<String>> {
        self.0.row("SELECT text FROM docs WHERE id = ?1", [doc])
    }

    /// Returns the first characters of the texts of documents by id; those that are gone are left out.
    pub fn heads(
        self,
        docs: impl IntoIterator<Item = i64>,
        n_chars: usize,
    ) -> Read<FxHashMap<i64, String>> {
        let sql = format!("SELECT id, substr(text, 1, {n_chars}) FROM docs WHERE id = ?1");
        self.0.rows_of_each(&sql, docs)
    }

    /// Returns where the parts of a document's text lie.
    pub fn places(self, doc: i64) -> Read<Option<Places>> {
        self.0.row("SELECT lines, pages, headings FROM docs WHERE id = ?1", [doc])
    }

    /// Returns the document with this identity.
    pub fn with_uid(self, uid: &str) -> Read<Option<i64>> {
        self.0.row("SELECT id FROM docs WHERE uid = ?1", [uid])
    }

    /// Returns the documents about an entity, by id.
    pub fn about(self, entity: i64) -> Read<Vec<i64>> {
        self.0.rows("SELECT id FROM docs WHERE entity_id = ?1 ORDER BY id", [entity])
    }

    /// Returns the tags of a document, sorted.
    pub fn tags(self, doc: i64) -> Read<Vec<String>> {
        self.0.rows("SELECT tag FROM doc_tags WHERE doc_id = ?1 ORDER BY tag", [doc])
    }

    /// Returns the number of documents.
    pub fn count(self) -> Read<u64> {
        self.0.only("SELECT count(*) FROM docs", [])
    }

    /// Returns the entity that a document is about.
    pub fn entity(self, doc: i64) -> Read<Option<i64>> {
        let sql = "SELECT entity_id FROM docs WHERE id = ?1 AND entity_id IS NOT NULL";
        self.0.row(sql, [doc])
    }

    /// Returns a document with its text.
    pub fn whole(self, doc: i64) -> Read<Option<Whole>> {
        let sql = format!(
            "SELECT {}, d.text, d.lines, d.pages, d.headings FROM docs d WHERE d.id = ?1",
            Document::COLUMNS
        );
        let whole = |(document, text, places)| Whole { document, text, places };
        Ok(self.0.row(&sql, [doc])?.map(whole))
    }

    /// Returns the labels of documents by id; those that are gone are left out.
    pub fn labels(self, docs: impl IntoIterator<Item = i64>) -> Read<FxHashMap<i64, Label>> {
        let sql = format!("SELECT d.id, {} FROM docs d WHERE d.id = ?1", Label::COLUMNS);
        self.0.rows_of_each(&sql, docs)
    }

    /// Returns every document with its path, by path. Reads an index only.
    pub fn by_path(self) -> Read<Vec<(i64, String)>> {
        self.0.rows("SELECT id, path FROM docs ORDER BY path", [])
    }

    /// Returns the documents, latest day first, those of a day by path.
    pub fn latest_first(self) -> Read<Vec<i64>> {
        self.0.rows("SELECT id FROM docs ORDER BY day DESC, path", [])
    }

    /// Returns the documents whose identity begins with these hexadecimal digits, by identity.
    pub fn with_uid_digits(self, digits: &str) -> Read<Vec<i64>> {
        // `g` sorts after every digit.
        self.0
            .rows("SELECT id FROM docs WHERE uid >= ?1 AND uid < ?1 || 'g' ORDER BY uid", [digits])
    }

    /// Returns the documents that state a name, by norm, as theirs, or begin with such a heading where they state no
    /// title.
    pub fn called(self, norm: &str) -> Read<FxHashSet<i64>> {
        let sql = "SELECT s.doc_id FROM names n JOIN stated s ON s.name_id = n.id WHERE n.norm = ?1
                   UNION SELECT doc_id FROM headings WHERE norm = ?1";
        self.0.rows(sql, [norm])
    }

    /// Returns what a document says about its time.
    pub fn dates(self, doc: i64) -> Read<Option<Dates>> {
        self.0.select_one("FROM docs d WHERE d.id = ?1", [doc])
    }

    /// Returns the first and the last day of the documents; `None` if there are none.
    pub fn days(self) -> Read<Option<(String, String)>> {
        self.0.only("SELECT min(day), max(day) FROM docs", [])
    }

    /// Returns the main languages of the documents, sorted.
    pub fn languages(self) -> Read<Vec<String>> {
        self.0.rows("SELECT language FROM docs WHERE language <> '' GROUP BY 1", [])
    }

    /// Returns the formats and stated types of the documents, sorted.
    pub fn types(self) -> Read<Vec<String>> {
        let sql = "SELECT format FROM docs UNION SELECT doc_type FROM docs WHERE doc_type <> ''";
        self.0.rows(sql, [])
    }

    /// Returns the tags of all documents, sorted.
    pub fn all_tags(self) -> Read<Vec<String>> {
        self.0.rows("SELECT DISTINCT tag FROM doc_tags ORDER BY tag", [])
    }

    /// Calls `see` with each document, its path and its stated type (empty: none).
    pub fn each(self, see: impl FnMut((i64, String, String))) -> Read<()> {
        self.0.every("SELECT id, path, coalesce(doc_type, '') FROM docs", [], see)
    }

    /// Returns the documents whose text or day contains one of some words, latest first: at most `most`.
    pub fn containing(self, words: &[String], most: usize) -> Read<Vec<i64>> {
        let sql = "SELECT d.id FROM docs d WHERE EXISTS
                     (SELECT 1 FROM json_each(?1) w WHERE instr(d.text, w.value) OR instr(d.day, w.value))
                   ORDER BY d.day DESC, d.path LIMIT ?2";
        let words = serde_json::to_string(words).unwrap_or_default();
        self.0.rows(sql, params![words, most as i64])
    }

    /// Returns the documents that have a name of one kind, as [`resolve::named`].
    pub fn named(self, by: By, name: &str) -> Read<Vec<i64>> {
        resolve::named(self.0.db(), by, name)
    }

    /// Returns the keys of the names of one kind, each with its document.
    pub fn names(self, kind: By) -> Read<Vec<(String, i64)>> {
        self.0.rows("SELECT key, doc_id FROM doc_names WHERE kind = ?1", [kind as i64])
    }

    /// Returns the document to which a link from the note at `from` leads.
    pub fn linked(self, from: &str, kind: LinkKind, target: &str) -> Read<Option<i64>> {
        let Some(keys) = Keys::of(from, kind, target) else { return Ok(None) };
        resolve::resolve_link(self.0.db(), from, kind, target, &keys)
    }

    /// Returns the description in a document's front matter.
    pub fn description(self, doc: i64) -> Read<Option<String>> {
        let sql = "SELECT json_extract(meta, '$.extra.description') FROM docs
                   WHERE id = ?1 AND json_type(meta, '$.extra.description') = 'text'";
        self.0.row(sql, [doc])
    }

    /// Returns the documents that a name means, and the first kind of name that finds some, as [`resolve::resolve`].
    pub fn meant(self, name: &str, is_uri: bool) -> Read<Option<(By, Vec<i64>)>> {
        resolve::resolve(self.0.db(), name, is_uri)
    }

    /// Returns the path of another file that has a permalink, or to which it belongs, as [`permalinks::bearer`].
    pub fn bearer(self, permalink: &str, path: &str, title: &str) -> Read<Option<String>> {
        permalinks::bearer(self.0.db(), permalink, path, title)
    }

    /// Returns whether there are documents in a folder.
    pub fn are_below(self, folder: &str) -> Read<bool> {
        // `0` is the character after `/`.
        self.0.has_row("SELECT 1 FROM docs WHERE path >= ?1 || '/' AND path < ?1 || '0'", [folder])
    }

    /// Returns whether a file that is gone had one of two addresses.
    pub fn had(self, addresses: [&str; 2]) -> Read<bool> {
        self.0.has_row("SELECT 1 FROM gone_names WHERE key IN (?1, ?2)", addresses)
    }

    /// Returns the keys of names, the tags, and the paths of files that are gone, that contain a text.
    pub fn names_with(self, text: &str) -> Read<Vec<String>> {
        let sql = "SELECT key FROM doc_names WHERE instr(key, ?1) UNION SELECT tag FROM doc_tags WHERE instr(tag, ?1)
                   UNION SELECT path FROM gone_names WHERE instr(path, ?1)";
        self.0.rows(sql, [text])
    }

    /// Calls `see` with the keys of names, each with the path of its document, by path: at most `most`.
    pub fn each_name(self, most: usize, see: impl FnMut((String, String))) -> Read<()> {
        let sql = "SELECT n.key, d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id ORDER BY d.path LIMIT ?1";
        self.0.every(sql, [most as i64], see)
    }

    /// Returns the Markdown files with this file name or title, by the forms that are compared, or with another file
    /// name: path and title, by path.
    pub fn namesakes(self, name: &str, file_name: &str) -> Read<Vec<(String, String)>> {
        let sql = "SELECT d.path, d.title FROM doc_names n JOIN docs d ON d.id = n.doc_id
                   WHERE (n.kind = ?1 AND n.key IN (?3, ?4) OR n.kind = ?2 AND n.key = ?3) AND d.path LIKE '%.md'
                   ORDER BY d.path";
        let (file, title) = (By::FileName as i64, By::Title as i64);
        self.0.rows(sql, params![file, title, name, file_name])
    }
}
