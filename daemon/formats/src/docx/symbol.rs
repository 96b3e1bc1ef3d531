//! Symbols: characters given by their code in a symbol font.
//!
//! In: font and code. Out: the character that it shows, if it has a meaning.

/// Greek letters at the codes of `A` to `Z` and `a` to `z` in the font `Symbol`.
const GREEK_UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
const GREEK_LOWER: &str = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";

/// Returns the character of a code (hexadecimal) in a font.
pub(super) fn character(font: &str, code: &str) -> Option<char> {
    let code = u32::from_str_radix(code.trim(), 16).ok()?;
    // Symbol fonts use a range of the private area, or the same codes without its offset.
    let place = if (0xf000..=0xf0ff).contains(&code) { code - 0xf000 } else { code };
    let font = font.to_ascii_lowercase();
    if font == "symbol" {
        return symbol(place);
    }
    if font.starts_with("wingdings") || font == "webdings" {
        return if font == "wingdings" { wingdings(place) } else { None };
    }
    char::from_u32(place).filter(|c| !c.is_control() && !(0xe000..=0xf8ff).contains(&u32::from(*c)))
}

fn symbol(place: u32) -> Option<char> {
    let letter = |letters: &str, first: u32| letters.chars().nth((place - first) as usize);
    match place {
        0x41..=0x5a => letter(GREEK_UPPER, 0x41),
        0x61..=0x7a => letter(GREEK_LOWER, 0x61),
        0x20..=0x7e => char::from_u32(place),
        0xa3 => Some('≤'),
        0xa5 => Some('∞'),
        0xab => Some('↔'),
        0xac => Some('←'),
        0xad => Some('↑'),
        0xae => Some('→'),
        0xaf => Some('↓'),
        0xb0 => Some('°'),
        0xb1 => Some('±'),
        0xb3 => Some('≥'),
        0xb4 => Some('×'),
        0xb6 => Some('∂'),
        0xb7 => Some('•'),
        0xb8 => Some('÷'),
        0xb9 => Some('≠'),
        0xba => Some('≡'),
        0xbb => Some('≈'),
        0xc7 => Some('∩'),
        0xc8 => Some('∪'),
        0xce => Some('∈'),
        0xd1 => Some('∇'),
        0xd5 => Some('∏'),
        0xd6 => Some('√'),
        0xde => Some('⇒'),
        0xe5 => Some('∑'),
        0xf2 => Some('∫'),
        _ => None,
    }
}

/// Boxes, check marks and arrows; the other pictures of this font are not text.
fn wingdings(place: u32) -> Option<char> {
    match place {
        0x6f | 0x71 | 0xa8 => Some('☐'),
        0xfe => Some('☑'),
        0xfd | 0x78 => Some('☒'),
        0xfc => Some('✓'),
        0xfb => Some('✗'),
        0xe0 | 0xe8 => Some('→'),
        0xdf | 0xe7 => Some('←'),
        0xe1 | 0xe9 => Some('↑'),
        0xe2 | 0xea => Some('↓'),
        0x4a => Some('☺'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::character;

    #[test]
    fn symbols_become_the_characters_that_they_show() {
        let rows = [
            ("Symbol", "F061", Some('α')),
            ("Symbol", "57", Some('Ω')),
            ("Wingdings", "F0FE", Some('☑')),
            ("Wingdings 2", "F050", None),
            ("Segoe UI Symbol", "2713", Some('✓')),
            ("Arial", "F8E0", None),
            ("Arial", "zz", None),
        ];
        for (font, code, expected) in rows {
            assert_eq!(character(font, code), expected, "{font} {code}");
        }
    }
}
