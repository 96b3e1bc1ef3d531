//! File names: the name of a new note's file, made from its title.
//!
//! In: any title. Out: a name that is valid on every file system, that no program interprets in another way, and that
//! the watcher does not take for hidden or temporary.
//! Invariants: `title.lower().replace(" ", "-") + ".md"` for ordinary titles (S0); at most 255 bytes; never empty;
//! the same title always gives the same name.

use unicode_normalization::UnicodeNormalization;

/// Longest name on common file systems, in bytes.
const MAX_BYTES: usize = 255;

/// The extension of notes.
const EXTENSION: &str = ".md";

/// Name for a title without any usable character.
const UNTITLED: &str = "untitled";

/// Names of devices on Windows, also with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns the file name for a note with this title.
pub fn file_name(title: &str) -> String {
    let title = title.trim();
    let title = title.strip_suffix(".md").or_else(|| title.strip_suffix(".MD")).unwrap_or(title);
    let lower: String = title.nfc().collect::<String>().to_lowercase();
    // Two names must not look the same, so what nobody sees is dropped.
    let plain: String = names::seen(&lower).chars().map(plain).collect();
    // Leading dots hide a file, a leading `~` marks a temporary one, and Windows drops trailing dots and blanks.
    let stem = plain.trim_start_matches(['.', '~']).trim_end_matches('.');
    let stem = if stem.chars().any(|c| c != '-' && c != '.') { stem } else { UNTITLED };
    let stem = match stem.split_once('.') {
        _ if !is_device(stem) => stem.to_string(),
        // An extension does not make it another name, so the mark goes before it.
        Some((first, rest)) => format!("{first}_.{rest}"),
        None => format!("{stem}_"),
    };
    format!("{}{EXTENSION}", shortened(&stem))
}

/// Replaces blanks, and characters with a meaning in file names, links or shells, with hyphens.
fn plain(c: char) -> char {
    match c {
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '#' | '^' | '[' | ']' | '`' => '-',
        c if c.is_whitespace() || c.is_control() => '-',
        c => c,
    }
}

/// True for a lowercase stem that is a device on Windows.
pub fn is_device(stem: &str) -> bool {
    let first = stem.split('.').next().unwrap_or(stem).trim_end_matches('-');
    let is_numbered = |name: &str| {
        let rest = first.strip_prefix(name);
        rest.is_some_and(|rest| {
            matches!(
                rest,
                "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
            )
        })
    };
    // Windows does not treat a hyphen as a blank, so only the bare word is a device.
    first.len() == stem.split('.').next().unwrap_or(stem).len()
        && (DEVICES.contains(&first) || is_numbered("com") || is_numbered("lpt"))
}

/// Cuts a name to the longest allowed. A hash of the whole keeps long titles with a common beginning distinct.
fn shortened(stem: &str) -> String {
    let room = MAX_BYTES - EXTENSION.len();
    if stem.len() <= room {
        return stem.to_string();
    }
    let hash = fnv(stem.as_bytes());
    let end = (0..=room - 9).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or(0);
    // Do not end in the middle of a composed character.
    let kept = stem.get(..end).unwrap_or("").trim_end_matches(['\u{200d}', '\u{fe0f}', '-', '.']);
    format!("{kept}-{hash:08x}")
}

/// FNV-1a, folded to 32 bits. Implemented here, since names must not change with a library.
fn fnv(bytes: &[u8]) -> u32 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_title_becomes_a_name() {
        for (title, wanted) in [
            ("Machine Learning Basics", "machine-learning-basics.md"),
            ("Straße nach Ñandú", "straße-nach-ñandú.md"),
            ("AC/DC: Back in Black?", "ac-dc--back-in-black-.md"),
            (r#"a\b*c"d<e>f|g"#, "a-b-c-d-e-f-g.md"),
            ("C#", "c-.md"),
            ("C++", "c++.md"),
            ("C", "c.md"),
            ("[[Link]] ^id", "--link----id.md"),
            ("`run()`", "-run()-.md"),
            ("tab\tand\nline", "tab-and-line.md"),
            ("bell\u{7}", "bell-.md"),
            ("  blanks around  ", "blanks-around.md"),
            ("ends with dots...", "ends-with-dots.md"),
            (".hidden", "hidden.md"),
            ("..", "untitled.md"),
            ("../../etc/passwd", "-..-etc-passwd.md"),
            ("", "untitled.md"),
            ("///", "untitled.md"),
            ("CON", "con_.md"),
            ("nul.txt", "nul_.txt.md"),
            ("com1", "com1_.md"),
            ("LPT²", "lpt²_.md"),
            ("com10", "com10.md"),
            ("Console", "console.md"),
            ("~$100 a day", "$100-a-day.md"),
            ("README.md", "readme.md"),
            ("v1.2", "v1.2.md"),
            ("👩‍👩‍👧 family", "👩‍👩‍👧-family.md"),
            ("e\u{301}te\u{301}", "été.md"),
            ("gpj\u{202e}.exe", "gpj.exe.md"),
            ("日本 語", "日本-語.md"),
            ("İstanbul", "i̇stanbul.md"),
        ] {
            assert_eq!(file_name(title), wanted, "{title:?}");
        }
    }

    #[test]
    fn long_titles_are_cut_and_stay_apart() {
        let long = "x".repeat(300);
        let (one, other) = (file_name(&format!("{long}a")), file_name(&format!("{long}b")));
        assert_eq!((one.len(), other.len()), (MAX_BYTES, MAX_BYTES));
        assert_ne!(one, other);
        assert_eq!(file_name(&"y".repeat(252)), format!("{}.md", "y".repeat(252)));
        let signs = file_name(&"👩‍👧".repeat(100));
        assert!(signs.len() <= MAX_BYTES && !signs.contains("\u{200d}-"), "{signs}");
    }

    proptest! {
        #[test]
        fn any_title_gives_a_sound_name(title in "\\PC{0,80}|[\\x00-\\x7f]{0,400}") {
            let name = file_name(&title);
            let stem = name.strip_suffix(".md").unwrap_or("");
            prop_assert!(!stem.is_empty() && name.len() <= MAX_BYTES);
            prop_assert!(!name.starts_with(['.', '~']) && !stem.ends_with('.'));
            prop_assert!(!name.contains(['/', '\\', ':', '\0', '#', '|']) && !name.contains(char::is_control));
            prop_assert!(!is_device(stem));
            prop_assert_eq!(file_name(&title), name);
        }
    }
}
