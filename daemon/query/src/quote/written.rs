//! Written: passages as written in their file, with list numbers, headings, fences, tables and link
//! targets.
//!
//! In: lines of a document. Out: the same lines of its file, extended to whole lists and fences if
//! there is room. The index holds normalized text, which has less markup; a reader who follows
//! steps or copies code needs the markup.
//! Invariants: if the file is not kept (it contains secrets, or cannot be shown verbatim), the
//! normalized text is shown; nothing beyond the passage is shown.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Lines of a file, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub text: String,
    /// The first and the last line, from 1.
    pub lines: [u32; 2],
}

/// How table rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    AsWritten,
    /// Without the spaces and dashes that only align columns.
    Unpadded,
}

/// Returns the lines `wanted` of a file, extended within `passage` to whole lists and fences, in at
/// most `room` characters; `None` if less than half of them fits.
pub(crate) fn written(
    text: &str,
    wanted: RangeInclusive<u32>,
    passage: RangeInclusive<u32>,
    room: usize,
    cells: Cells,
) -> Option<Written> {
    // Only these lines may be shown; a file may have many more.
    let start = (*wanted.start()).min(*passage.start()).max(1);
    let end = (*wanted.end()).max(*passage.end());
    let mut is_code = false;
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for (number, line) in (1..=end).zip(text.lines()) {
        is_code ^= is_fence(line);
        if number >= start {
            lines.push(match cells {
                Cells::Unpadded if !is_code && line.trim_start().starts_with('|') => unpadded(line),
                _ => Cow::Borrowed(line),
            });
        }
    }
    let at = |number: u32| lines.get(number.checked_sub(start)? as usize).map(AsRef::as_ref);
    let n_chars = |number: u32| at(number).map_or(0, |line| line.chars().count() + 1);
    let (mut first, mut last) = (*wanted.start(), *wanted.end().min(passage.end()));
    let mut n = (first..=last).map(n_chars).sum::<usize>();
    let n_wanted = n;
    while n > room && last > first {
        n -= n_chars(last);
        last -= 1;
    }
    if n > room || n < n_wanted / 2 || at(first).is_none() {
        return None;
    }
    let is_fence = |number: u32| at(number).is_some_and(self::is_fence);
    let n_fences = |numbers: RangeInclusive<u32>| numbers.filter(|it| is_fence(*it)).count();
    // An unclosed fence would turn the rest of an answer into code.
    let is_inside = |number: u32| n_fences(*passage.start()..=number.saturating_sub(1)) % 2 == 1;
    let has_list = (first..=last).any(|it| at(it).is_some_and(is_item));
    let belongs = |number: u32| at(number).is_some_and(|it| is_item(it) || is_continued(it));
    while first > *passage.start()
        && (is_inside(first) || has_list && belongs(first - 1))
        && n + n_chars(first - 1) <= room
    {
        first -= 1;
        n += n_chars(first);
    }
    while last < *passage.end()
        && (is_inside(last + 1) || has_list && belongs(last + 1))
        && n + n_chars(last + 1) <= room
    {
        last += 1;
        n += n_chars(last);
    }
    let is_blank = |number: u32| at(number).is_none_or(|line| line.trim().is_empty());
    while first < last && is_blank(first) {
        first += 1;
    }
    while last > first && is_blank(last) {
        last -= 1;
    }
    let mut shown: Vec<&str> = (first..=last).filter_map(at).collect();
    if is_inside(first) {
        shown.insert(0, "```");
    }
    if shown.iter().filter(|it| self::is_fence(it)).count() % 2 == 1 {
        shown.push("```");
    }
    let text = shown.join("\n").trim_end().to_string();
    (!text.trim().is_empty()).then_some(Written { text, lines: [first, last] })
}

/// Returns the beginning of lines that do not fit in `room` characters, cut after a word; `None` for code, which would
/// need its fence.
pub(crate) fn beginning(text: &str, wanted: RangeInclusive<u32>, room: usize) -> Option<Written> {
    let first = *wanted.start();
    let n_lines = wanted.count();
    let before = first.saturating_sub(1) as usize;
    let is_code = text.lines().take(before + n_lines).any(is_fence);
    let lines: Vec<&str> = text.lines().skip(before).take(n_lines).collect();
    let all = lines.join("\n");
    let end = all.char_indices().nth(room.saturating_sub(1)).map_or(all.len(), |(at, _)| at);
    let cut = all.get(..end)?;
    let cut = cut.get(..cut.rfind(char::is_whitespace)?)?.trim_end();
    let last = first + cut.matches('\n').count() as u32;
    (!is_code && !cut.is_empty())
        .then(|| Written { text: format!("{cut}…"), lines: [first, last] })
}

/// Shrinks runs in a table row to at most one space and three dashes.
fn unpadded(line: &str) -> Cow<'_, str> {
    let (mut row, mut last, mut n) = (String::new(), ' ', 0);
    for c in line.chars() {
        n = if c == last { n + 1 } else { 1 };
        last = c;
        let most = match c {
            ' ' => 1,
            '-' => 3,
            _ => usize::MAX,
        };
        if n <= most {
            row.push(c);
        }
    }
    Cow::Owned(row)
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns whether a line starts a list item or a table row.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    is_numbered(line)
        || line.starts_with("|")
        || ["- ", "* ", "+ "].iter().any(|it| line.starts_with(it))
}

/// Returns whether a line starts an item of a numbered list.
pub(crate) fn is_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=3).contains(&digits)
        && line.get(digits..).is_some_and(|it| it.starts_with(". ") || it.starts_with(") "))
}

/// Returns whether a line continues an item, or is a blank line between two.
fn is_continued(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with("  ") || line.starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Keys\n\nRotate them.\n\n## Procedure\n\n1. Announce it.\n2. Run:\n\n   ```sh\n   keys \
                        rotate\n   ```\n3. Record it.\n\nSee [the guide](guide.md).\n";

    #[test]
    fn what_does_not_fit_begins_as_written() {
        let text = "# Keys\n\n3. Create the `new` key and announce it.\n4. Wait for all nodes.\n";
        let cut = beginning(text, 3..=4, 50).expect("begins");
        assert_eq!(cut.text, "3. Create the `new` key and announce it.\n4. Wait…");
        assert_eq!(cut.lines, [3, 4]);
        assert_eq!(beginning(PAGE, 8..=11, 30), None, "code");
    }

    #[test]
    fn a_step_brings_its_list() {
        let all = written(PAGE, 7..=7, 1..=15, 400, Cells::AsWritten).expect("fits");
        assert_eq!(all.lines, [7, 13]);
        assert!(
            all.text.starts_with("1. Announce it.\n2. Run:") && all.text.ends_with("3. Record it.")
        );
        let middle = written(PAGE, 13..=13, 1..=15, 400, Cells::AsWritten).expect("fits");
        assert_eq!(middle.lines[0], 7);
        let within = written(PAGE, 13..=13, 7..=13, 400, Cells::AsWritten);
        assert_eq!(within, Some(middle), "lines count from the start of the file");
    }

    #[test]
    fn rows_of_tables_lose_their_padding() {
        let page = "| a    | b |\n| ---- | ------- |\n| 1  2 | x  |\n\n```\n| a    |\n```\n";
        let shown = |room, cells| written(page, 1..=7, 1..=7, room, cells).map(|it| it.text);
        assert_eq!(
            shown(60, Cells::Unpadded).expect("fits"),
            "| a | b |\n| --- | --- |\n| 1 2 | x |\n\n```\n| a    |\n```"
        );
        assert_eq!(shown(99, Cells::AsWritten).expect("fits"), page.trim_end());
    }

    #[test]
    fn code_keeps_both_of_its_fences() {
        let page = "Text.\n\n```sh\none\ntwo\nthree\n```\n\nMore.\n";
        assert_eq!(
            written(page, 5..=5, 1..=9, 100, Cells::AsWritten).expect("fits").text,
            "```sh\none\ntwo\nthree\n```"
        );
        // If the whole fence does not fit, the part gets a fence of its own.
        assert_eq!(
            written(page, 5..=5, 1..=9, 5, Cells::AsWritten).expect("fits").text,
            "```\ntwo\n```"
        );
    }

    #[test]
    fn a_plain_line_stays_alone_and_what_does_not_fit_is_left_to_the_normalized_text() {
        let link = written(PAGE, 15..=15, 1..=15, 100, Cells::AsWritten).expect("fits");
        assert_eq!(link, Written { text: "See [the guide](guide.md).".into(), lines: [15, 15] });
        assert_eq!(written(PAGE, 3..=3, 1..=15, 5, Cells::AsWritten), None);
        assert_eq!(written(PAGE, 99..=99, 1..=99, 100, Cells::AsWritten), None);
    }
}
