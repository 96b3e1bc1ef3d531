//! Body: converts a message to Markdown that stays within its section.
//!
//! Invariants: a message has no heading at the level of turns or above, or of the document; the text after a message is
//! parsed as if the message were not there, whatever it leaves open (code, HTML, a comment). Words are kept; headings
//! change their level, and as a last resort the message is quoted, or becomes code.

use notes::parse::{BlockKind, parse};

/// By how many levels headings of a message are lowered: turns are of the second level.
const LOWERED_BY: usize = 2;

/// Returns a form of the message that stays within its section.
pub(super) fn contained(message: &str) -> String {
    let text = message.replace("\r\n", "\n").replace('\r', "\n");
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text: String = text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect();
    let text = text.trim_matches('\n').trim_end();
    if text.trim().is_empty() {
        return String::new();
    }
    // From the mildest form to the strongest: the first one that stays within its section is used.
    let lowered = unfiled(&lowered(text));
    if is_contained(&lowered) {
        return lowered;
    }
    let closed = closed(&lowered);
    if is_contained(&closed) {
        return closed;
    }
    let quoted = unfiled(&quoted(text));
    if is_contained(&quoted) { quoted } else { super::code("text", text) }
}

/// Returns true if a section with this text contains only this text, and the next one begins after it.
fn is_contained(text: &str) -> bool {
    // Sections around the message show whether it swallows the next one or ends its own.
    const BEFORE: &str = "## Before\n\n";
    const AFTER: &str = "\n\n## After\n\nLast words\n";
    let source = format!("{BEFORE}{text}{AFTER}");
    let note = parse(&source);
    let outer = note.headings.iter().filter(|it| it.is_outer && it.level <= 2);
    let outer: Vec<(usize, &str)> =
        outer.map(|it| (it.place.span.start, it.text.as_str())).collect();
    // The two line ends before `## After` belong to the section of the message.
    let after = BEFORE.len() + text.len() + 2;
    let is_last = note.blocks.last().is_some_and(|block| {
        block.kind == BlockKind::Paragraph
            && source.get(block.place.span.clone()) == Some("Last words")
    });
    // Front matter or a comment that is open at the end would reach into the next section.
    let is_read = note.verbatim.last().is_none_or(|range| range.end <= after);
    !note.is_too_deep && outer == [(0, "Before"), (after, "After")] && is_last && is_read
}

/// Lowers headings below those of turns.
fn lowered(text: &str) -> String {
    // After a line end, nothing is front matter.
    let source = format!("\n{text}");
    let note = parse(&source);
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 1;
    for heading in note.headings.iter().filter(|it| it.is_outer) {
        let span = heading.place.span.clone();
        // A heading that begins within the one before it is part of that one.
        let Some(written) = source.get(span.clone()).filter(|_| span.start >= at) else { continue };
        out.push_str(source.get(at..span.start).unwrap_or(""));
        // Markdown has six levels.
        let marks = "#".repeat((usize::from(heading.level) + LOWERED_BY).min(6));
        let words = match written.strip_prefix('#') {
            Some(_) => written.trim_start_matches('#').trim_start().to_string(),
            None => {
                // An underlined heading of several lines.
                let words = written.rsplit_once('\n').map_or(written, |(words, _)| words);
                words.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        };
        out.push_str(format!("{marks} {words}").trim_end());
        at = span.end;
    }
    out.push_str(source.get(at..).unwrap_or(""));
    out
}

/// Removes facts: words of a conversation are not statements of its note (`- [fact] so`).
fn unfiled(text: &str) -> String {
    let mut out = text.to_string();
    // From the end, so that earlier positions stay valid.
    for observation in parse(text).observations.iter().rev() {
        let span = observation.place.span.clone();
        // `\[` is text: no observation, and rendered alike.
        let bracket = text.get(span.clone()).and_then(|it| it.find('['));
        if let Some(bracket) = bracket {
            out.insert(span.start + bracket, '\\');
        }
    }
    out
}

/// Closes the last block of code, which truncated answers leave open.
fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        // The marks are ASCII, so lengths in bytes are counts.
        let Some(mark) = bare.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let n = bare.len() - bare.trim_start_matches(mark).len();
        match open {
            None if n >= 3 => open = Some((mark, n)),
            // CommonMark: the closing fence is at least as long as the opening one and has nothing behind it.
            Some((by, least)) if by == mark && n >= least => {
                let is_end = bare.trim_start_matches(mark).trim().is_empty();
                open = open.filter(|_| !is_end);
            }
            _ => {}
        }
    }
    match open {
        Some((mark, n)) => format!("{text}\n{}", mark.to_string().repeat(n)),
        None => text.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| format!("> {line}"));
    lines.map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headings_stand_below_those_of_turns() {
        let rows = [
            ("# One\ntext\n## Two", "### One\ntext\n#### Two"),
            ("##### Five\n###### Six", "###### Five\n###### Six"),
            ("Title\n=====\n\nof two\nlines\n---\nx", "### Title\n\n#### of two lines\nx"),
            ("> # quoted\n\n- # in a list", "> # quoted\n\n- # in a list"),
            ("```sh\n# comment\n```", "```sh\n# comment\n```"),
            ("---\ntitle: x\n---\nbody", "---\n#### title: x\nbody"),
            ("plain", "plain"),
            ("#hashtag", "#hashtag"),
            ("\r\n# a\r\nb\r\n", "### a\nb"),
            ("#", "### "),
            (
                "- [fact] so\n- [x] done\n  - [idea] and so",
                "- \\[fact] so\n- [x] done\n  - \\[idea] and so",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(contained(text), expected.trim_end(), "{text:?}");
        }
    }

    #[test]
    fn what_is_left_open_ends_with_the_message() {
        let rows = [
            ("cut\n```rust\nfn main() {", "cut\n```rust\nfn main() {\n```"),
            ("~~~~\n~~~\ncode", "~~~~\n~~~\ncode\n~~~~"),
            ("<!-- open\n\ncomment", "> <!-- open\n>\n> comment"),
            ("<script>\n\nx", "> <script>\n>\n> x"),
            ("%%\nhidden", "%%\nhidden"),
            ("- item\n  ```\n  code", "- item\n  ```\n  code"),
        ];
        for (text, expected) in rows {
            assert_eq!(contained(text), expected, "{text:?}");
        }
        let deep = ">".repeat(300) + " x";
        assert_eq!(contained(&deep), format!("```text\n{deep}\n```"));
        assert_eq!(contained("a\u{0}b\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
        assert_eq!(contained(" \n \r\n"), "");
    }

    proptest! {
        #[test]
        fn any_message_stays_in_its_section(
            text in prop_oneof![
                r"[#`~<!\->\n %=a*\[\]|$:^]{0,40}",
                r"\PC{0,30}|[\x00-\x7f]{0,40}",
                r"(```|~~~|<!--|%%|# |---|\n|x| |> |- |\$\$|<pre>){0,12}",
            ]
        ) {
            let out = contained(&text);
            prop_assert!(out.is_empty() || is_contained(&out), "{out:?}");
        }
    }
}
