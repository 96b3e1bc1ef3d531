//! Byline: the author's name in a byline.
//!
//! In: the line's text. Out: a name, if it looks like one. Invariant: bounded.

/// Longest name, or list of names, in bytes.
const MAX_NAME_BYTES: usize = 80;
/// Words before a name.
const BEFORE: &[&str] = &[
    "written by",
    "posted by",
    "by",
    "von",
    "par",
    "por",
    "di",
    "door",
    "av",
    "автор:",
    "автор",
    "author:",
    "autor:",
];
/// Characters that end a name, in addition to digits.
const AFTER: &[char] = &['|', '•', '·', '—', '–', '(', '\n', ':', ';', '/', '@', '»', '«'];

/// Returns the author in a line.
pub(super) fn author_of(line: &str) -> Option<String> {
    let line = line.trim();
    let before = BEFORE.iter().find_map(|word| {
        let start = line.get(..word.len())?;
        let rest = line.get(word.len()..)?;
        (start.to_lowercase() == *word && rest.starts_with(char::is_whitespace)).then_some(rest)
    });
    let name = before.unwrap_or(line).trim_start();
    let end = name.find(|c: char| c.is_ascii_digit() || AFTER.contains(&c)).unwrap_or(name.len());
    let name = name[..end].trim().trim_end_matches([',', '-', '.']);
    let n_words = name.split_whitespace().count();
    // The first letter may be of a script without case, so only lowercase excludes a name.
    let is_name = name.chars().next().is_some_and(|c| !c.is_lowercase());
    ((1..=8).contains(&n_words) && name.len() <= MAX_NAME_BYTES && is_name)
        .then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::author_of;

    #[test]
    fn names_are_taken_from_lines() {
        let rows = [
            ("By Ina Veld, 3 May 2024", Some("Ina Veld")),
            ("Ina Veld and Olm Radek", Some("Ina Veld and Olm Radek")),
            ("von Greta Sand | Hafenbote", Some("Greta Sand")),
            ("3 min read", None),
            ("posted on Monday by the harbor of the town of which nobody has heard", None),
        ];
        for (line, name) in rows {
            assert_eq!(author_of(line).as_deref(), name, "{line}");
        }
    }
}
