//! Expression: the operators of a question: quotation marks, `AND`, `OR`, `NOT`, `-word`, `word*`,
//! `title:`, `tag:` and `path:`.
//!
//! In: a question as typed. Out: the conditions on a chunk and its document; the question without
//! its operators; `None` if it has no operators or is not a valid expression: such a question is
//! just its words.
//! Adjacent words mean `AND` (S0 §5.2); `NOT` and `-` need another, wanted word. Words without
//! meaning (`the`, `how`) are not demanded. `tag:x` or `path:x` alone demands no words.
//! Invariants: every index word is quoted, so no question is an error; linear in the question;
//! nesting is bounded.

use super::condition::Under;
use super::demand::{Demand, joined};
use super::question::is_stop_word;
use index::words::{beginnings, folded, terms_of};
use model::terms::is_word_char;

/// Deepest nesting of parentheses, and most words.
const MAX_DEPTH: usize = 8;
const MAX_WORDS: usize = 64;

/// Fewest letters of a word that `-` excludes: shorter ones are command-line options (`ls -la`).
const MIN_EXCLUDED: usize = 4;

/// The demands of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Expression {
    /// Conditions on a chunk, besides tags and paths.
    pub demand: Option<Demand>,
    /// Tags that its document must have.
    pub tags: Vec<String>,
    /// Paths that its document must have.
    pub paths: Vec<Under>,
    /// The wanted words, without operators.
    pub plain: String,
    /// The wanted phrases, as FTS5 expressions.
    pub phrases: Vec<String>,
    /// Wanted prefixes, with their FTS5 expressions.
    pub beginnings: Vec<(String, String)>,
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

/// An operand. `None` if it demands nothing.
type Operand = Option<Demand>;

/// Parses a question; `None` if it has no operators or is not a valid expression.
pub(crate) fn expression(text: &str) -> Option<Expression> {
    let tokens = tokens(text)?;
    if !has_operators(&tokens) || tokens.len() > MAX_WORDS {
        return None;
    }
    let mut reader =
        Reader { tokens: &tokens, found: Expression::default(), depth: 0, is_out: false };
    let demand = reader.any()?;
    if !reader.tokens.is_empty() {
        return None;
    }
    let mut found = reader.found;
    found.demand = demand?.without_conditions(&mut found.tags, &mut found.paths);
    Some(found)
}

fn has_operators(tokens: &[Token<'_>]) -> bool {
    let is_plain = |token: &Token<'_>| matches!(token, Token::Word(_) | Token::Open | Token::Close);
    !tokens.iter().all(is_plain)
}

/// Returns whether a question only excludes words, and so asks for nothing.
pub(crate) fn only_excludes(text: &str) -> bool {
    let tokens = tokens(text).unwrap_or_default();
    let is_excluded = |at: usize| {
        let is_not = |at: usize| tokens.get(at) == Some(&Token::Not);
        is_not(at) || at.checked_sub(1).is_some_and(is_not)
    };
    !tokens.is_empty() && (0..tokens.len()).all(is_excluded)
}

/// Splits a text into words and operators; `None` if a quotation mark is not closed.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    // In a text in capitals, `AND` and `OR` are ordinary words.
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

/// Parses one word with its operators; returns the text after it.
fn word<'q>(text: &'q str, has_small: bool, found: &mut Vec<Token<'q>>) -> Option<&'q str> {
    let end =
        text.find(|c: char| c.is_whitespace() || matches!(c, '"' | ')')).unwrap_or(text.len());
    let (word, behind) = text.split_at_checked(end.max(1))?;
    if let Some(excluded) = word.strip_prefix('-') {
        if let Some((token, behind)) = field(excluded, behind) {
            found.extend([Token::Not, token]);
            return Some(behind);
        }
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
            if let Some((token, behind)) = field(word, behind) {
                found.push(token);
                return Some(behind);
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

/// Fields in which a word can be searched; case is ignored.
pub(crate) const FIELDS: [&str; 3] = ["title", "tag", "path"];

/// Parses `title:x`, `tag:x` or `path:x`, whose value may be quoted after the colon; returns the
/// text after it. Anything else before a colon is a word.
fn field<'q>(word: &'q str, behind: &'q str) -> Option<(Token<'q>, &'q str)> {
    let (name, value) = word.split_once(':')?;
    let field = FIELDS.into_iter().find(|it| it.eq_ignore_ascii_case(name))?;
    let quoted = behind.strip_prefix('"').filter(|_| value.is_empty());
    if let Some((value, behind)) = quoted.and_then(|it| it.split_once('"')) {
        return (!value.trim().is_empty()).then_some((Token::Field(field, value), behind));
    }
    let begins =
        |c: char| is_word_char(c) || matches!(c, '/' | '#' | '.' | '*' | '_') || !c.is_ascii();
    // `path:*` alone is not a condition.
    let is_value =
        value.starts_with(begins) && value.contains(|c| !matches!(c, '*' | '#' | '/' | '.'));
    is_value.then_some((Token::Field(field, value), behind))
}

fn plain<'q>(word: &'q str, behind: &'q str, found: &mut Vec<Token<'q>>) -> Option<&'q str> {
    if word.contains(is_word_char) {
        found.push(Token::Word(word));
    }
    Some(behind)
}

/// Parses tokens by precedence: `OR` is weaker than `AND` or juxtaposition.
struct Reader<'t, 'q> {
    tokens: &'t [Token<'q>],
    found: Expression,
    depth: usize,
    /// Whether it is within an operand of `NOT`.
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

    /// Parses operands of `OR`. `None` if it is not an expression.
    fn any(&mut self) -> Option<Operand> {
        let mut parts = vec![self.all()?];
        while self.next_is(Token::Or) {
            parts.push(self.all()?);
        }
        // An operand that demands nothing (`the OR key`) is skipped.
        Some(Demand::any(parts.into_iter().flatten().collect()))
    }

    /// Parses operands of `AND` or juxtaposition, and those that `NOT` excludes.
    fn all(&mut self) -> Option<Operand> {
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
        // Everything except something is not a question.
        let is_question = !wanted.is_empty() || excluded.is_empty();
        is_question.then(|| Demand::all(wanted, excluded))
    }

    fn one(&mut self) -> Option<Operand> {
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
                phrase.map(Demand::Words)
            }
            Token::Beginning(start) => {
                let fts = joined(&beginnings(start), " OR ");
                if !self.is_out {
                    self.found.beginnings.extend(fts.clone().map(|fts| (folded(start), fts)));
                }
                fts.map(Demand::Words)
            }
            Token::Field("title", words) => {
                phrase(words).map(|words| Demand::Words(format!("title : {words}")))
            }
            Token::Field("tag", tag) => Some(Demand::Tag((*tag).into())),
            Token::Field(_, path) => Some(Demand::Path((*path).into())),
        })
    }
}

/// Returns the terms of one word, all of which must match: a compound is one phrase; in scripts
/// without spaces, each pair of characters is a term.
fn all_terms(word: &str) -> Operand {
    let terms: Vec<String> = terms_of(word).into_iter().map(|term| term.fts).collect();
    joined(&terms, " AND ").map(Demand::Words)
}

/// Returns the words of a quotation as a phrase.
fn phrase(words: &str) -> Option<String> {
    index::words::quoted_phrase(words).filter(|_| !folded(words).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(demand: &Demand) -> String {
        let list = |parts: &[Demand], sign: &str| {
            joined(&parts.iter().map(shown).collect::<Vec<_>>(), sign).unwrap_or_default()
        };
        match demand {
            Demand::Words(fts) => fts.clone(),
            Demand::Tag(tag) => format!("#{tag}"),
            Demand::Path(path) => format!("{path:?}"),
            Demand::Any(parts) => list(parts, " OR "),
            Demand::All { wanted, excluded } if excluded.is_empty() => list(wanted, " AND "),
            Demand::All { wanted, excluded } => {
                format!("({} NOT {})", list(wanted, " AND "), list(excluded, " OR "))
            }
        }
    }

    fn read(text: &str) -> String {
        match expression(text) {
            None => "words".into(),
            Some(Expression { demand, tags, paths, plain, .. }) => {
                let mut out = format!(
                    "{} | {}",
                    demand.as_ref().map(shown).unwrap_or_default(),
                    plain.trim()
                );
                tags.iter().for_each(|tag| out.push_str(&format!(" | #{tag}")));
                paths.iter().for_each(|path| out.push_str(&format!(" | {path:?}")));
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
            ("alpha tag:ops path:./docs/x", r#""alpha" | alpha | #ops | Begins("docs/x")"#),
            ("tag:ops", " |  | #ops"),
            ("TAG:ops", " |  | #ops"),
            ("tag:#ops/night path:docs/", r#" |  | ##ops/night | Begins("docs/")"#),
            ("tag:ops -draft", r#"( NOT "draft") |  | #ops"#),
            ("alpha -tag:ops", r#"("alpha" NOT #ops) | alpha"#),
            ("(tag:a OR tag:b) alpha", r#"("alpha" AND (#a OR #b)) | alpha"#),
            ("alpha OR tag:b", r#"("alpha" OR #b) | alpha"#),
            ("error:upstream AND host", r#"("error upstream" AND "host") | error:upstream host"#),
            (
                "title:\"alpha beta\" gamma",
                r#"(title : "alpha beta" AND "gamma") | alpha beta gamma"#,
            ),
            ("vaul*", r#"("vaul"* OR "vaul") | vaul"#),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn anything_else_is_words() {
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
            "error:upstream host:port std::fs title:? path:*",
        ] {
            assert_eq!(read(text), "words", "{text}");
        }
    }

    #[test]
    fn a_question_that_only_excludes_is_recognized() {
        for (text, expected) in [
            ("-excluded", true),
            ("NOT beta", true),
            ("-\"a b\" NOT c", true),
            ("alpha -beta", false),
            ("-la", false),
            ("", false),
        ] {
            assert_eq!(only_excludes(text), expected, "{text}");
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
            let demand = expression(&text).and_then(|it| it.demand);
            let Some(fts) = demand.and_then(|it| it.fts()) else { return Ok(()) };
            proptest::prop_assert!(index::store::testing::is_fts5(&fts), "{text}: {fts}");
        }
    }
}
