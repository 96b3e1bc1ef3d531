//! Allow: the lines and paths in which nothing is replaced.
//!
//! If the user's own configuration says so (`privacy.allow_marks`), a line that contains `kg:allow`, in a comment or
//! elsewhere, is exempt; `kg:allow-next` also exempts the next line. Paths are globs of that configuration.

use std::ops::Range;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use memchr::{memchr, memmem, memrchr};

/// A line that contains this is exempt.
const ALLOW: &str = "kg:allow";
/// Suffix that extends it to the next line.
const NEXT: &str = "-next";

/// The exempt lines of a text.
pub(super) struct AllowedLines(Vec<Range<usize>>);

impl AllowedLines {
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let end_of = |from: usize| {
            bytes
                .get(from..)
                .and_then(|rest| memchr(b'\n', rest))
                .map_or(bytes.len(), |at| from + at)
        };
        let mut lines: Vec<Range<usize>> = Vec::new();
        let mut line_end = 0;
        for mark in memmem::find_iter(bytes, ALLOW.as_bytes()) {
            let after = mark + ALLOW.len();
            // Each line is added once, however many marks it has.
            if mark >= line_end {
                let start = memrchr(b'\n', bytes.get(..mark).unwrap_or(&[])).map_or(0, |at| at + 1);
                line_end = end_of(after);
                lines.push(start..line_end);
            }
            // The exemption grows by one line at most, even if a line has several marks.
            let is_next = bytes.get(after..).is_some_and(|rest| rest.starts_with(NEXT.as_bytes()));
            if let Some(line) = lines.last_mut().filter(|line| is_next && line.end == line_end) {
                line.end = end_of((line_end + 1).min(bytes.len()));
            }
        }
        AllowedLines(lines)
    }

    /// Returns whether a place is on one of these lines.
    pub(super) fn hold(&self, place: usize) -> bool {
        // An exempt line may begin inside the range of the one before, which covers two lines: check both.
        let n = self.0.partition_point(|line| line.start <= place);
        n.checked_sub(1).and_then(|i| self.0.get(i)).is_some_and(|line| place < line.end)
            || n.checked_sub(2).and_then(|i| self.0.get(i)).is_some_and(|line| place < line.end)
    }
}

/// The paths that the user allows, by the rules of a `.gitignore`: their names are not checked, and nothing in them
/// is replaced.
#[derive(Debug, Clone)]
pub struct AllowedPaths(Option<Gitignore>);

impl AllowedPaths {
    /// Makes a set of globs. Invalid ones are ignored; the settings were checked when they were loaded.
    pub fn new(globs: &[String]) -> Self {
        if globs.is_empty() {
            return AllowedPaths(None);
        }
        let mut builder = GitignoreBuilder::new("");
        for glob in globs {
            let _ = builder.add_line(None, glob);
        }
        AllowedPaths(builder.build().ok())
    }

    /// Returns whether a path, relative to the root, or one of its folders matches.
    pub fn hold(&self, path: &str) -> bool {
        let is_plain = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
        is_plain
            && self
                .0
                .as_ref()
                .is_some_and(|globs| globs.matched_path_or_any_parents(path, false).is_ignore())
    }
}
