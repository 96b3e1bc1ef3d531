//! Index: one text index in memory, built with one of the compared tokenizers.

use anyhow::Result;
use index::words::{Indexer, TOKENIZER};
use query::text_terms;
use rusqlite::Connection;

use super::support;

/// A way to split a text into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    /// FTS5's own, without accents.
    Unicode,
    /// The same with Porter's stems, whatever the language.
    Porter,
    /// FTS5's own, every three characters.
    Trigram,
    /// `index::words`.
    Ours,
}

impl Tokenizer {
    pub(crate) const ALL: [Tokenizer; 4] =
        [Tokenizer::Unicode, Tokenizer::Porter, Tokenizer::Trigram, Tokenizer::Ours];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tokenizer::Unicode => "unicode61 remove_diacritics 2",
            Tokenizer::Porter => "porter unicode61 remove_diacritics 2",
            Tokenizer::Trigram => "trigram",
            Tokenizer::Ours => "ours: words made in Rust, stems in English text",
        }
    }

    fn sql(self) -> &'static str {
        match self {
            Tokenizer::Unicode => "unicode61 remove_diacritics 2",
            Tokenizer::Porter => "porter unicode61 remove_diacritics 2",
            Tokenizer::Trigram => "trigram remove_diacritics 1",
            Tokenizer::Ours => TOKENIZER,
        }
    }
}

pub(crate) struct Index {
    tokenizer: Tokenizer,
    db: Connection,
    ids: Vec<String>,
    /// CPU seconds of the inserts.
    pub(crate) cpu_s: f64,
}

impl Index {
    /// Indexes documents: id, Markdown or text, and whether it is English.
    pub(crate) fn build<'d>(
        tokenizer: Tokenizer,
        documents: impl Iterator<Item = (&'d str, &'d str, bool)>,
    ) -> Result<Index> {
        let db = Connection::open_in_memory()?;
        db.execute_batch(&format!(
            "CREATE VIRTUAL TABLE t USING fts5(title, body, content='', contentless_delete=1, tokenize=\"{}\"); BEGIN",
            tokenizer.sql()
        ))?;
        let mut ids = Vec::new();
        let mut indexer = Indexer::new();
        let started = support::cpu_of_thread()?;
        {
            let mut insert = db.prepare("INSERT INTO t(rowid, title, body) VALUES(?1, ?2, ?3)")?;
            for (id, text, is_english) in documents {
                ids.push(id.to_string());
                let (title, body) = text.split_once("\n\n").unwrap_or(("", text));
                if tokenizer != Tokenizer::Ours {
                    insert.execute((ids.len() as i64, title, body))?;
                    continue;
                }
                let (mut title_words, mut body_words) = (String::new(), String::new());
                indexer.index(title, is_english, &mut title_words);
                indexer.index(body, is_english, &mut body_words);
                insert.execute((ids.len() as i64, title_words, body_words))?;
            }
        }
        db.execute_batch("COMMIT; INSERT INTO t(t) VALUES('optimize')")?;
        let cpu_s = support::cpu_of_thread()? - started;
        Ok(Index { tokenizer, db, ids, cpu_s })
    }

    /// Returns the size of the index, bytes.
    pub(crate) fn n_bytes(&self) -> Result<usize> {
        let n: i64 =
            self.db.query_row("SELECT sum(length(block)) FROM t_data", [], |row| row.get(0))?;
        Ok(n as usize)
    }

    /// Returns the best documents for a question.
    pub(crate) fn ask(&self, question: &str, limit: usize) -> Result<Vec<&str>> {
        let query = match self.tokenizer {
            Tokenizer::Ours => text_terms(question).join(" OR "),
            other => plain_query(question, other == Tokenizer::Trigram),
        };
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = self.db.prepare_cached(
            "SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY bm25(t, 2.0, 1.0), rowid LIMIT ?2",
        )?;
        let rows = statement.query_map((&query, limit as i64), |row| row.get::<_, i64>(0))?;
        rows.map(|row| Ok(self.ids[row? as usize - 1].as_str())).collect()
    }
}

/// Builds the query that `kgd` used before: every meaningful word of the question, quoted, any of
/// which may match. To the trigram tokenizer a quoted word is a substring, and shorter ones find
/// nothing.
fn plain_query(question: &str, is_trigram: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    for run in question.split(|c: char| {
        c.is_whitespace() || matches!(c, '-' | '/' | '"' | ',' | ';' | '?' | '!' | '(' | ')')
    }) {
        let word = run.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_searchable =
            word.chars().any(char::is_alphanumeric) && (!is_trigram || word.chars().count() >= 3);
        if is_searchable && !query::is_stop_word(&word) && !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(64);
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
}
