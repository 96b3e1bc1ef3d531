//! Expression: what a question says with quotation marks, `AND`, `OR`, `NOT`, `-word`, `word*`, `title:`, `tag:` and
//! `path:`.
//!
//! In: a question as typed. Out: what a chunk must match, as an FTS5 expression and conditions on its document; the
//! question without its operators. None where there is no operator, or where what is written is no expression: then
//! its words are asked for as they are.
//! Side by side means `AND`, as S0 §5.2 has it; `NOT` and `-` need something beside them that is wanted. Words that say
//! nothing about the topic (`the`, `how`) need not stand in a chunk.
//! Invariants: every index word is quoted, so no question is an error; linear in the question; nesting is bounded.
//! Not here: what is done where nothing matches (`recall.rs`), ranking.

use super::question::is_stop_word;
use crate::words::{beginnings, folded, is_word_char, terms_of};

/// Deepest nesting of brackets, and most words.
const MAX_DEPTH: usize = 8;
const MAX_WORDS: usize = 64;

/// Fewest letters of a word that `-` excludes: shorter ones are options of commands (`ls -la`).
const MIN_EXCLUDED: usize = 4;

/// What a question demands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Expression {
    /// What a chunk must match; empty when only its document is asked for.
    pub fts: String,
    /// Tags that its document must have.
    pub tags: Vec<String>,
    /// What its document's path begins with.
    pub path: Option<String>,
    /// What is wanted, without operators.
    pub plain: String,
    /// The quoted phrases that are wanted, as FTS5 expressions.
    pub phrases: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'q> {
    And,
    Or,
    Not,
    Open,
    Close,
    Word(&'q str),
    Phrase(&'q str),
    Beginning(&'q str),
    Field(&'q str, &'q str),
}

/// What stands between operators, as FTS5 has it. None when it demands nothing.
type Part = Option<String>;

/// Reads a question; none when it is none of operators, or no sound expression.
pub(super) fn expression(text: &str) -> Option<Expression> {
    let tokens = tokens(text)?;
    let is_plain = |token: &Token<'_>| matches!(token, Token::Word(_) | Token::Open | Token::Close);
    if tokens.iter().all(is_plain) || tokens.len() > MAX_WORDS {
        return None;
    }
    let mut reader =
        Reader { tokens: &tokens, found: Expression::default(), depth: 0, is_out: false };
    let fts = reader.any()?;
    if !reader.tokens.is_empty() {
        return None;
    }
    let mut found = reader.found;
    found.fts = fts.unwrap_or_default();
    let demands = !found.fts.is_empty() || !found.tags.is_empty() || found.path.is_some();
    (demands && !found.plain.trim().is_empty()).then_some(found)
}

/// The words and operators; none when a quotation mark has no partner.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    // Where everything is written large, so are `AND` and `OR`.
    let has_small = text.chars().any(char::is_lowercase);
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        match first {
            '"' => {
                let (phrase, behind) = rest.get(1..)?.split_once('"')?;
                found.push(Token::Phrase(phrase));
                rest = behind;
            }
            '(' | ')' => {
                found.push(if first == '(' { Token::Open } else { Token::Close });
                rest = rest.get(1..)?;
            }
            _ => rest = word(rest, has_small, &mut found)?,
        }
        rest = rest.trim_start();
    }
    Some(found)
}

/// Reads one word with what belongs to it; the text behind it.
fn word<'q>(text: &'q str, has_small: bool, found: &mut Vec<Token<'q>>) -> Option<&'q str> {
    let end =
        text.find(|c: char| c.is_whitespace() || matches!(c, '"' | ')')).unwrap_or(text.len());
    let (word, behind) = text.split_at_checked(end.max(1))?;
    if let Some(excluded) = word.strip_prefix('-') {
        let begins_phrase = excluded.is_empty() && behind.starts_with('"');
        let is_word =
            excluded.chars().count() >= MIN_EXCLUDED && excluded.chars().all(is_word_char);
        if begins_phrase || is_word {
            found.push(Token::Not);
        }
        if is_word {
            found.push(Token::Word(excluded));
        }
        return if begins_phrase || is_word { Some(behind) } else { plain(word, behind, found) };
    }
    match word {
        "AND" if has_small => found.push(Token::And),
        "OR" if has_small => found.push(Token::Or),
        "NOT" if has_small => found.push(Token::Not),
        _ => {
            if let Some((field @ ("title" | "tag" | "path"), value)) = word.split_once(':') {
                // A quoted value goes on behind the colon.
                let quoted = behind.strip_prefix('"').filter(|_| value.is_empty());
                if let Some((value, behind)) = quoted.and_then(|it| it.split_once('"')) {
                    found.push(Token::Field(field, value));
                    return Some(behind);
                }
                if value
                    .chars()
                    .next()
                    .is_some_and(|c| is_word_char(c) || matches!(c, '/' | '#' | '.'))
                {
                    found.push(Token::Field(field, value));
                    return Some(behind);
                }
            }
            match word.strip_suffix('*') {
                Some(start) if start.chars().count() >= 2 && start.chars().all(is_word_char) => {
                    found.push(Token::Beginning(start));
                }
                _ => return plain(word, behind, found),
            }
        }
    }
    Some(behind)
}

fn plain<'q>(word: &'q str, behind: &'q str, found: &mut Vec<Token<'q>>) -> Option<&'q str> {
    if word.contains(is_word_char) {
        found.push(Token::Word(word));
    }
    Some(behind)
}

/// Reads tokens by rank: `OR` joins what `AND` or nothing joins.
struct Reader<'t, 'q> {
    tokens: &'t [Token<'q>],
    found: Expression,
    depth: usize,
    /// True within what `NOT` excludes.
    is_out: bool,
}

impl<'q> Reader<'_, 'q> {
    fn next_is(&mut self, wanted: Token<'_>) -> bool {
        let is_it = self.tokens.first() == Some(&wanted);
        if is_it {
            self.tokens = self.tokens.get(1..).unwrap_or_default();
        }
        is_it
    }

    /// Parts that `OR` joins. None when it is no expression.
    fn any(&mut self) -> Option<Part> {
        let mut parts = vec![self.all()?];
        while self.next_is(Token::Or) {
            parts.push(self.all()?);
        }
        // A side that demands nothing (`the OR key`) leaves the others.
        Some(joined(parts.into_iter().flatten().collect(), " OR "))
    }

    /// Parts that `AND` or nothing joins, without those that `NOT` excludes.
    fn all(&mut self) -> Option<Part> {
        let (mut wanted, mut excluded, mut n) = (Vec::new(), Vec::new(), 0);
        loop {
            let is_not = self.next_is(Token::Not);
            let was_out = self.is_out;
            self.is_out |= is_not;
            let part = self.one()?;
            self.is_out = was_out;
            n += usize::from(!is_not);
            if is_not { &mut excluded } else { &mut wanted }.extend(part);
            if matches!(self.tokens.first(), None | Some(Token::Or | Token::Close)) && n > 0 {
                break;
            }
            self.next_is(Token::And);
        }
        let wanted = joined(wanted, " AND ");
        match (wanted, joined(excluded, " OR ")) {
            (Some(wanted), Some(excluded)) => Some(Some(format!("({wanted} NOT {excluded})"))),
            // Everything but something is no question.
            (None, Some(_)) => None,
            (wanted, None) => Some(wanted),
        }
    }

    fn one(&mut self) -> Option<Part> {
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        if !self.is_out
            && let Token::Word(words)
            | Token::Phrase(words)
            | Token::Beginning(words)
            | Token::Field("title", words) = token
        {
            self.found.plain.push_str(words);
            self.found.plain.push(' ');
        }
        Some(match token {
            Token::And | Token::Or | Token::Not | Token::Close => return None,
            Token::Open => {
                self.depth += 1;
                let part = self.any().filter(|_| self.depth <= MAX_DEPTH)?;
                self.depth -= 1;
                return self.next_is(Token::Close).then_some(part);
            }
            Token::Word(word) if is_stop_word(&word.to_lowercase()) => None,
            Token::Word(word) => all_terms(word),
            Token::Phrase(words) => {
                let phrase = phrase(words);
                if !self.is_out {
                    self.found.phrases.extend(phrase.clone());
                }
                phrase
            }
            Token::Beginning(start) => joined(beginnings(start), " OR "),
            Token::Field("title", words) => phrase(words).map(|words| format!("title : {words}")),
            Token::Field(..) if self.is_out => return None,
            Token::Field("tag", tag) => {
                self.found.tags.push((*tag).into());
                None
            }
            Token::Field(_, path) => {
                self.found.path =
                    Some(path.trim_start_matches("./").trim_start_matches('/').into());
                None
            }
        })
    }
}

fn joined(parts: Vec<String>, sign: &str) -> Part {
    match parts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("({})", several.join(sign))),
    }
}

/// All that one word asks for: a compound is one phrase, of scripts without blanks each pair of signs.
fn all_terms(word: &str) -> Part {
    joined(terms_of(word).into_iter().map(|term| term.fts).collect(), " AND ")
}

/// The words of a quotation, side by side.
fn phrase(words: &str) -> Part {
    crate::words::quoted_phrase(words).filter(|_| !folded(words).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match expression(text) {
            None => "words".into(),
            Some(Expression { fts, tags, path, plain, .. }) => {
                let mut out = format!("{fts} | {}", plain.trim());
                tags.iter().for_each(|tag| out.push_str(&format!(" | #{tag}")));
                path.iter().for_each(|path| out.push_str(&format!(" | {path}")));
                out
            }
        }
    }

    #[test]
    fn operators_become_what_a_chunk_must_match() {
        let rows = [
            ("store AND vault", r#"("store" AND "vault") | store vault"#),
            ("alpha OR beta gamma", r#"("alpha" OR ("beta" AND "gamma")) | alpha beta gamma"#),
            (
                "(alpha OR beta) AND gamma",
                r#"(("alpha" OR "beta") AND "gamma") | alpha beta gamma"#,
            ),
            ("alpha -gamma", r#"("alpha" NOT "gamma") | alpha"#),
            ("alpha NOT (beta OR gamma)", r#"("alpha" NOT ("beta" OR "gamma")) | alpha"#),
            ("NOT beta AND alpha", r#"("alpha" NOT "beta") | alpha"#),
            (
                "how does the \"alpha beta\" work",
                r#"("alpha beta" AND "work") | how does the alpha beta work"#,
            ),
            ("alpha tag:ops path:./docs/x", r#""alpha" | alpha | #ops | docs/x"#),
            (
                "title:\"alpha beta\" gamma",
                r#"(title : "alpha beta" AND "gamma") | alpha beta gamma"#,
            ),
            ("vaul*", r#""vaul"* | vaul"#),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_words() {
        for text in [
            "how do we rotate the signing keys?",
            "what does ls -la do, and rm -rf",
            "a (small) note",
            "5\" disks",
            "alpha AND",
            "OR beta",
            "-excluded",
            "NOT beta",
            "(alpha OR beta",
            "alpha) OR beta",
            "WHAT AND WHY",
            "x: tag: path: title: *",
            "well-known state-of-the-art",
            "\"\"",
            "a * b",
            "()",
        ] {
            assert_eq!(read(text), "words", "{text}");
        }
    }

    #[test]
    fn deep_nesting_and_long_lists_end() {
        assert_eq!(read(&format!("{}a OR b{}", "(".repeat(400), ")".repeat(400))), "words");
        assert_eq!(read(&"a OR ".repeat(200)), "words");
    }

    proptest::proptest! {
        #[test]
        fn every_expression_is_one_to_fts5(text in "([a-c]{1,3}|[-\"()*:]|AND|OR|NOT|title:|tag:|path:| ){0,24}") {
            let Some(found) = expression(&text) else { return Ok(()) };
            if found.fts.is_empty() {
                return Ok(());
            }
            let db = rusqlite::Connection::open_in_memory().expect("opens");
            db.execute_batch("CREATE VIRTUAL TABLE chunk_fts USING fts5(title, headings, body)").expect("made");
            let n: rusqlite::Result<i64> = db.query_row(
                "SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ?1", [&found.fts], |row| row.get(0));
            proptest::prop_assert!(n.is_ok(), "{text}: {}", found.fts);
        }
    }
}
