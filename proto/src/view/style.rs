//! Style: for whom text is written.
//!
//! In: any text. Out: the same words on one line, with hidden characters escaped (`visible`), and colored if wanted.

use std::borrow::Cow;

use super::{Clean, words::joined};
use crate::visible::show;

/// For whom text is written: how long it may be, how it is cleaned, and whether it has colors.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    max_chars: usize,
    clean: Clean,
    is_colored: bool,
    is_terminal: bool,
}

impl Style {
    /// Returns the style for an agent, who gets at most `max_chars` characters.
    pub fn agent(max_chars: usize, clean: Clean) -> Self {
        Style { max_chars, clean, is_colored: false, is_terminal: false }
    }

    /// Returns the style for a person at a terminal: nothing is left out. What the daemon sent was cleaned there.
    pub fn terminal(is_colored: bool) -> Self {
        Style {
            max_chars: usize::MAX,
            clean: |it| Cow::Borrowed(it),
            is_colored,
            is_terminal: true,
        }
    }

    /// Most characters of the text.
    pub fn max_chars(self) -> usize {
        self.max_chars
    }

    /// Whether a person at a terminal reads it.
    pub fn is_terminal(self) -> bool {
        self.is_terminal
    }

    /// Returns `text` on one line, cleaned: for paths, reasons, and everything that may repeat a request.
    pub fn safe(self, text: &str) -> Cow<'_, str> {
        match (self.clean)(text) {
            Cow::Borrowed(text) => stored(text),
            // Something was removed, so the text is ours already.
            Cow::Owned(text) => Cow::Owned(stored(&text).into_owned()),
        }
    }

    /// Returns what may be there, made safe, after other words; nothing where it is not.
    pub fn after(self, before: &str, text: Option<&String>) -> String {
        text.map(|text| format!("{before}{}", self.safe(text))).unwrap_or_default()
    }

    /// Returns names, made safe, with commas between them.
    pub fn names<'a>(self, names: impl IntoIterator<Item = &'a String>) -> String {
        joined(names.into_iter().map(|it| self.safe(it)))
    }

    /// Returns a hint of ours as its reader can follow it: for a person, names of tools become commands.
    pub fn hint(self, text: &str) -> Cow<'_, str> {
        if self.is_terminal { Cow::Owned(for_shell(text)) } else { Cow::Borrowed(text) }
    }

    /// Returns a remark that changes how the rest is read.
    pub fn remark(self, text: &str) -> String {
        self.yellow(&format!("({})", self.safe(&self.hint(text))))
    }

    /// Returns a place, made safe.
    pub fn place(self, text: &str) -> String {
        self.cyan(&self.safe(text))
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.is_colored && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// Marks what to look at first.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Marks what can be skipped.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Marks what is in order.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Marks what deserves attention.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Marks what is wrong.
    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Marks a path.
    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// Returns stored text on one line: line ends and tabs become spaces.
pub fn stored(text: &str) -> Cow<'_, str> {
    let shown = show(text);
    let breaks = ['\n', '\r', '\t'];
    if shown.contains(breaks) { Cow::Owned(shown.replace(breaks, " ")) } else { shown }
}

/// Phrases of hints for agents, and their translations. Longer phrases come first.
const PHRASES: &[(&str, &str)] = &[
    ("call again with one of these as `entity_id`", "`kgctl explain '#ID'` with one of these ids"),
    (
        "take `doc_id` from a hybrid_query hit of this index",
        "take the id from `kgctl query TEXT --json`",
    ),
    ("call again with", "run it again with"),
    ("call again", "run it again"),
    ("`not_read: true`", "`kgctl status --not-read`"),
    ("`entity_id`", "`kgctl explain '#ID'`"),
    ("`max_chars`", "`--max-chars`"),
    ("`max_tokens`", "`--max-tokens`"),
    ("`next_cursor`", "`next_cursor` (of `--json`)"),
    ("`type`", "`--type`"),
    ("`rels`", "`--rel`"),
    ("`hops`", "`--hops`"),
    ("`limit`", "`--limit`"),
    ("`tags`", "`--tag`"),
    ("`since`", "`--since`"),
    ("entity_lookup", "kgctl lookup NAME"),
    ("explain_entity", "kgctl explain NAME"),
    ("hybrid_query", "kgctl query TEXT"),
    ("review_links", "kgctl review"),
    ("ingest_docs", "kgctl ingest PATH"),
    ("read_passage", "kgctl read PLACE"),
    ("extract_and_link", "kgctl extract"),
];

/// Translates a hint of the daemon: names of tools and parameters become commands and flags. A bare tool name gets the
/// quotes of a command.
pub fn for_shell(text: &str) -> String {
    let mut text = text.to_string();
    for (agent, shell) in PHRASES {
        // With its backticks first: the bare name would match inside them, too, and double them.
        if shell.starts_with("kgctl ") {
            text = text.replace(&format!("`{agent}`"), &format!("`{shell}`"));
            text = text.replace(agent, &format!("`{shell}`"));
        } else {
            text = text.replace(agent, shell);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_repeat_a_request_is_cleaned_and_stored_text_is_not() {
        let style = Style::agent(200, |text| text.replace("s3cret", "[redacted]").into());
        assert_eq!(style.safe("s3cret\n.md"), "[redacted] .md");
        assert_eq!(stored("s3cret"), "s3cret");
        assert_eq!(Style::terminal(true).place("a\u{1b}.md"), "\u{1b}[36ma\\u{1b}.md\u{1b}[0m");
    }

    #[test]
    fn documents_cannot_steer_the_terminal() {
        let table = [
            ("plain text — ünïcode", "plain text — ünïcode"),
            ("a\nb\tc", "a b c"),
            ("\x1b[31mred\x1b]0;title\x07", r"\u{1b}[31mred\u{1b}]0;title\u{7}"),
            ("txt.\u{202e}exe", r"txt.\u{202e}exe"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("a\u{1b}[2Jb\nc\u{202e}d\u{85}e", r"a\u{1b}[2Jb c\u{202e}d\u{85}e"),
        ];
        for (text, expected) in table {
            assert_eq!(stored(text), expected);
            assert_eq!(Style::terminal(true).safe(text), expected);
        }
    }

    #[test]
    fn tools_and_parameters_become_commands_and_flags() {
        let table = [
            (
                "call again with one of these as `entity_id`",
                "`kgctl explain '#ID'` with one of these ids",
            ),
            (
                "2 of 9 hits fit; raise `max_chars` for more",
                "2 of 9 hits fit; raise `--max-chars` for more",
            ),
            ("find it with `entity_lookup`", "find it with `kgctl lookup NAME`"),
            ("try `hybrid_query`", "try `kgctl query TEXT`"),
            ("see `kgctl logs`", "see `kgctl logs`"),
        ];
        for (agent, shell) in table {
            assert_eq!(for_shell(agent), shell);
        }
    }
}
