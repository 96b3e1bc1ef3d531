//! Code: source files, scripts and configuration, with their comments as prose.
//!
//! In: decoded, redacted text. Out: code blocks that are cut where a new item begins, never within a line; comments
//! on lines of their own that read like sentences, as paragraphs. Comments of configuration files stay in the code.
//! Invariant: one pass over the lines; every piece maps back to its lines.

use std::ops::Range;

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use model::document::Parsed;

/// Fewest words of a comment that is taken for prose.
const MIN_WORDS: usize = 4;
/// Least share of letters in prose, in percent.
const MIN_LETTERS_PERCENT: usize = 75;

/// One language and its syntax of comments.
pub(crate) struct Code {
    name: &'static str,
    pub(crate) extensions: &'static [&'static str],
    /// Beginnings of comments up to the end of the line; longer ones first.
    line: &'static [&'static str],
    /// Beginnings and ends of comments over several lines.
    block: &'static [(&'static str, &'static str)],
}

const C_LINE: &[&str] = &["///", "//!", "//"];
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];
const HASH: &[&str] = &["#"];
const DOCSTRING: &[(&str, &str)] = &[("\"\"\"", "\"\"\""), ("'''", "'''")];

/// Makes a [`Code`].
macro_rules! language {
    ($name:literal, $extensions:expr, $line:expr, $block:expr) => {
        Code { name: $name, extensions: &$extensions, line: $line, block: $block }
    };
}

/// Every known language.
pub(crate) static LANGUAGES: &[Code] = &[
    language!("python", ["py", "pyi"], HASH, DOCSTRING),
    language!("javascript", ["js", "mjs", "cjs", "jsx"], C_LINE, C_BLOCK),
    language!("typescript", ["ts", "tsx"], C_LINE, C_BLOCK),
    language!("vue", ["vue", "svelte"], C_LINE, &[("/*", "*/"), ("<!--", "-->")]),
    language!("go", ["go"], C_LINE, C_BLOCK),
    language!("rust", ["rs"], C_LINE, C_BLOCK),
    language!("java", ["java"], C_LINE, C_BLOCK),
    language!("kotlin", ["kt", "kts"], C_LINE, C_BLOCK),
    language!("scala", ["scala"], C_LINE, C_BLOCK),
    language!("groovy", ["groovy", "gradle"], C_LINE, C_BLOCK),
    language!("c", ["c", "h"], C_LINE, C_BLOCK),
    language!("cpp", ["cc", "cpp", "cxx", "hpp", "hh"], C_LINE, C_BLOCK),
    language!("csharp", ["cs"], C_LINE, C_BLOCK),
    language!("fsharp", ["fs"], C_LINE, &[("(*", "*)")]),
    language!("swift", ["swift"], C_LINE, C_BLOCK),
    language!("dart", ["dart"], C_LINE, C_BLOCK),
    language!("zig", ["zig"], C_LINE, &[]),
    language!("proto", ["proto"], C_LINE, C_BLOCK),
    language!("css", ["css", "scss"], C_LINE, C_BLOCK),
    language!("php", ["php"], &["//", "#"], C_BLOCK),
    language!("ruby", ["rb"], HASH, &[("=begin", "=end")]),
    language!("perl", ["pl", "pm"], HASH, &[]),
    language!("r", ["r"], &["#'", "#"], &[]),
    language!("julia", ["jl"], HASH, DOCSTRING),
    language!("elixir", ["ex", "exs"], HASH, DOCSTRING),
    language!("nim", ["nim"], &["##", "#"], &[]),
    language!("graphql", ["graphql"], HASH, DOCSTRING),
    language!("nix", ["nix"], HASH, C_BLOCK),
    language!("terraform", ["tf"], &["#", "//"], C_BLOCK),
    language!("cmake", ["cmake"], HASH, &[]),
    language!("shell", ["sh", "bash", "zsh", "fish"], HASH, &[]),
    language!("powershell", ["ps1"], HASH, &[("<#", "#>")]),
    language!("dockerfile", ["dockerfile"], HASH, &[]),
    language!("makefile", ["makefile", "mk"], HASH, &[]),
    language!("lua", ["lua"], &["---", "--"], &[]),
    language!("sql", ["sql"], &["--"], C_BLOCK),
    language!("haskell", ["hs"], &["-- |", "--"], &[("{-", "-}")]),
    language!("ocaml", ["ml"], &[], &[("(*", "*)")]),
    language!("erlang", ["erl"], &["%%", "%"], &[]),
    language!("clojure", ["clj"], &[";;", ";"], &[]),
    language!("elisp", ["el"], &[";;;", ";;", ";"], &[]),
    language!("vim", ["vim"], &["\""], &[]),
    language!("yaml", ["yaml", "yml"], &[], &[]),
    language!("toml", ["toml"], &[], &[]),
    language!("json", ["json", "jsonc"], &[], &[]),
    language!("ini", ["ini", "cfg", "conf", "properties"], &[], &[]),
    language!("xml", ["xml", "config"], &[], &[]),
];

impl Format<str> for Code {
    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let mut walk =
            CodeWalk { language: self, source: text, out: TextBuilder::new(text, limits) };
        let (mut at, mut code, mut after_blank) = (0, 0, false);
        while at < text.len() {
            let line = walk.line(at);
            let next = (line.end + 1).min(text.len());
            let comment_end = walk.comment_end(at);
            // Write the code so far, then the comment as prose.
            if comment_end > at && walk.is_prose(at..comment_end) {
                walk.code(code..at);
                walk.prose(at..comment_end);
                (at, code, after_blank) = (comment_end, comment_end, false);
                continue;
            }
            let shown = text.get(line.clone()).unwrap_or("");
            // A new item: a line without indentation after a blank one, unless it only closes something.
            let begins_item = after_blank && !shown.starts_with([' ', '\t', '}', ')', ']']);
            if begins_item && !shown.is_empty() {
                walk.code(code..at);
                code = at;
            }
            after_blank = shown.trim_ascii().is_empty();
            // A comment that is not prose is passed as a whole, since a blank line in it begins no item.
            at = next.max(if comment_end > at { comment_end } else { next });
        }
        walk.code(code..text.len());
        Ok(walk.out.finish())
    }
}

struct CodeWalk<'a> {
    language: &'a Code,
    source: &'a str,
    out: TextBuilder<'a>,
}

impl CodeWalk<'_> {
    /// Returns the line that begins at a place, without its line end.
    fn line(&self, at: usize) -> Range<usize> {
        let rest = self.source.as_bytes().get(at..).unwrap_or(&[]);
        at..at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
    }

    /// Returns the end of a comment that takes whole lines from `at` on; `at` if there is none.
    fn comment_end(&self, at: usize) -> usize {
        let line = self.source.get(self.line(at)).unwrap_or("");
        let text = line.trim_ascii();
        for (open, close) in self.language.block {
            let Some(inner) = text.strip_prefix(open) else { continue };
            let start = at + (line.len() - line.trim_ascii_start().len()) + open.len();
            let rest = self.source.get(start..).unwrap_or("");
            let end = rest.find(close).map_or(self.source.len(), |end| start + end + close.len());
            let line_end = self.line(end).end;
            let follows = self.source.get(end..line_end).unwrap_or("").trim_ascii();
            // `/* a */ code` is a line of code.
            let is_alone = follows.is_empty() || follows == ";" || inner.is_empty();
            return if is_alone { (line_end + 1).min(self.source.len()) } else { at };
        }
        let mut end = at;
        while end < self.source.len() {
            let line = self.line(end);
            let text = self.source.get(line.clone()).unwrap_or("").trim_ascii();
            // `#!` at the start of a script is not a comment.
            let is_comment = !text.starts_with("#!")
                && self.language.line.iter().any(|marker| text.starts_with(marker));
            if !is_comment {
                break;
            }
            end = (line.end + 1).min(self.source.len());
        }
        end
    }

    /// True for a comment that reads like sentences, not like disabled code.
    fn is_prose(&self, range: Range<usize>) -> bool {
        let text = self.source.get(range).unwrap_or("");
        let (mut n_words, mut n_letters, mut n_all) = (0, 0, 0);
        for word in text.split_ascii_whitespace() {
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            n_words += usize::from(letters > 1);
            // A word of signs alone, such as `*` or `//`, does not count.
            let is_marker = letters == 0;
            n_all += if is_marker { 0 } else { word.chars().count() };
            n_letters += letters;
        }
        let ends_like_code = text.trim_ascii_end().ends_with(['{', ';', '}']);
        n_words >= MIN_WORDS && !ends_like_code && n_letters * 100 >= n_all * MIN_LETTERS_PERCENT
    }

    fn code(&mut self, range: Range<usize>) {
        if self.source.get(range.clone()).is_none_or(|text| text.trim_ascii().is_empty()) {
            return;
        }
        self.out.begin_code(self.language.name);
        self.out.code(range);
        self.out.end_block();
    }

    /// Writes the lines of a comment without comment signs; an empty line separates paragraphs.
    fn prose(&mut self, range: Range<usize>) {
        let mut at = range.start;
        self.out.begin_text();
        while at < range.end {
            let line = self.line(at);
            let text = self.source.get(line.clone()).unwrap_or("");
            let inner = self.without_marks(text);
            if inner.is_empty() {
                self.out.end_block();
                self.out.begin_text();
            } else {
                self.out.flow(at + inner.start..at + inner.end);
                self.out.space_inserted();
            }
            at = line.end + 1;
        }
        self.out.end_block();
    }

    /// Returns the text of a comment's line without comment signs.
    fn without_marks(&self, line: &str) -> Range<usize> {
        let mut inner = line.trim_ascii();
        for (open, close) in self.language.block {
            inner = inner.strip_prefix(open).unwrap_or(inner);
            inner = inner.strip_suffix(close).unwrap_or(inner);
        }
        let marker = self.language.line.iter().find_map(|marker| inner.strip_prefix(marker));
        inner = marker.unwrap_or(inner).trim_start_matches(['*', '!', '#', '/']).trim_ascii();
        // `inner` is a slice of `line`, so this is its offset.
        let start = inner.as_ptr() as usize - line.as_ptr() as usize;
        start..start + inner.len()
    }
}

#[cfg(test)]
mod tests {
    use super::LANGUAGES;
    use crate::format::Format;
    use crate::tests::{LIMITS, check_invariants, printed};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(extension: &str, text: &str, expected: Expect) {
        let language = LANGUAGES.iter().find(|l| l.extensions.contains(&extension)).expect("known");
        let parsed = language.read(text, &LIMITS).expect("code is never refused");
        check_invariants(text, &parsed);
        expected.assert_eq(&printed(&parsed));
    }

    #[test]
    fn comments_are_prose_and_items_are_blocks() {
        check(
            "rs",
            "#!/x\n//! Reads the ledger, line by line.\n//!\n//! Never writes.\n\nuse a;\n\n/// Opens a file o\
            f entries.\n\
             fn open() {\n    // let x = old();\n    go();\n\n    stop();\n}\n\nfn two() {}\n/* A block commen\
             t in\n * two lines. */\n",
            expect![[r##"
                code(rust) §- "#!/x"
                p §- "Reads the ledger, line by line."
                p §- "Never writes."
                code(rust) §- "use a;"
                p §- "Opens a file of entries."
                code(rust) §- "fn open() {\n    // let x = old();\n    go();\n\n    stop();\n}"
                code(rust) §- "fn two() {}"
                p §- "A block comment in two lines."
            "##]],
        );
    }

    #[test]
    fn docstrings_and_configuration() {
        check(
            "py",
            "def f(x):\n    \"\"\"Gives back what it was given, twice.\n\n    More about it in words.\
            \n    \"\"\"\n    return x # no\n",
            expect![[r#"
                code(python) §- "def f(x):"
                p §- "Gives back what it was given, twice."
                p §- "More about it in words."
                code(python) §- "    return x # no"
            "#]],
        );
        check(
            "yaml",
            "# A comment that reads like words.\na: 1\n\nb:\n  c: 2\n",
            expect![[r##"
            code(yaml) §- "# A comment that reads like words.\na: 1"
            code(yaml) §- "b:\n  c: 2"
        "##]],
        );
    }

    proptest! {
        #[test]
        fn any_code_keeps_the_invariants(lines in proptest::collection::vec(
            "(    |\t)?(//|#|/\\*|\\*/|\"\"\"|'''|fn a|\\}|;)?[ a-zé]{0,12}", 0..30), which in 0..LANGUAGES.len()) {
            let text = lines.join("\n");
            let parsed = LANGUAGES[which].read(&text, &LIMITS).expect("code is never refused");
            check_invariants(&text, &parsed);
        }
    }
}
