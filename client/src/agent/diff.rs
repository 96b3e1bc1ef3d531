//! Diff: shows how one edit changes a text.
//!
//! In: two texts. Out: their lines that differ, `-` before lines of the old text and `+` before
//! lines of the new one.

use crate::render::{Style, clean};

/// Renders the changes between two texts.
pub fn changes(before: &str, after: &str, style: Style) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let shorter = old.len().min(new.len());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let ends = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let end = ends.min(shorter - start);
    let gone = old[start..old.len() - end].iter().map(|it| style.red(&format!("- {}", clean(it))));
    let come =
        new[start..new.len() - end].iter().map(|it| style.green(&format!("+ {}", clean(it))));
    gone.chain(come).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let shown = |before, after| changes(before, after, Style::terminal(false));
        assert_eq!(shown("a\nb\n", "a\nx\nb\n"), "+ x\n");
        assert_eq!(shown("a\nx\nb\n", "a\nb\n"), "- x\n");
        assert_eq!(shown("a\nb\n", "a\nB\n"), "- b\n+ B\n");
        assert_eq!(shown("", "a\n"), "+ a\n");
        assert_eq!(shown("a\na\n", "a\na\na\n"), "+ a\n");
        assert_eq!(shown("a\n", "a\n"), "");
    }
}
