//! Numbers that states assign to people. Where the form alone is ambiguous, a word must precede the number.

use std::ops::Range;
use std::sync::LazyLock;

use super::check::{
    chinese_id, codice_fiscale, cpf, dni, german_tax, luhn, number, verhoeff, weighted,
};
use super::{Pattern, digits_of, is_announced, matches, pattern, stands_alone};

/// One kind of number: its pattern, words of which one must precede it (none if the form is enough), its check.
struct Id {
    pattern: Pattern,
    words: &'static [&'static str],
    check: fn(&str) -> bool,
}

/// Words before a German tax number.
const TAX_WORDS: [&str; 8] = [
    "tax",
    "tin",
    "steuer",
    "steuer-id",
    "idnr",
    "steuernummer",
    "identifikationsnummer",
    "steueridentifikationsnummer",
];

/// Words before the number of a passport or licence.
const PAPER_WORDS: [&str; 9] = [
    "passport",
    "passport number",
    "passport no",
    "driver's license",
    "drivers license",
    "driver license",
    "driving licence",
    "license number",
    "licence number",
];

macro_rules! id {
    ($pattern:expr, $words:expr, $check:expr) => {
        Id { pattern: LazyLock::new(|| pattern($pattern)), words: $words, check: $check }
    };
}

#[rustfmt::skip]
static IDS: [Id; 24] = [
    // United States: social security and individual taxpayer numbers.
    id!(r"[0-9]{3}-[0-9]{2}-[0-9]{4}", &[], us_ssn),
    id!(r"[0-9]{3} ?[0-9]{2} ?[0-9]{4}", &["ssn", "social security", "social security number", "itin"], us_ssn),
    // United Kingdom: national insurance, health service.
    id!(r"(?i)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]", &[], uk_nino),
    id!(r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}", &["nhs", "nhs number"], uk_nhs),
    // Germany: tax number.
    id!(r"[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", &TAX_WORDS, |it| german_tax(&digits_of(it))),
    // France: social security.
    id!(r"[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]|[2-9][0-9]) ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", &[], fr_nir),
    // Spain: DNI and NIE.
    id!(r"(?i)[0-9]{8}[- ]?[A-HJ-NP-TV-Z]", &[], es_dni),
    id!(r"(?i)[XYZ][- ]?[0-9]{7}[- ]?[A-HJ-NP-TV-Z]", &[], es_dni),
    // Italy: codice fiscale.
    id!(r"(?i)[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", &[], |it| codice_fiscale(it.as_bytes())),
    // Netherlands: BSN.
    id!(r"[0-9]{4}[ .]?[0-9]{2}[ .]?[0-9]{3}|[0-9]{9}", &["bsn", "burgerservicenummer", "sofinummer"], nl_bsn),
    // Brazil: CPF.
    id!(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", &[], |it| cpf(&digits_of(it))),
    id!(r"[0-9]{11}", &["cpf"], |it| cpf(&digits_of(it))),
    // India: Aadhaar, PAN.
    id!(r"[2-9][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}", &[], |it| verhoeff(&digits_of(it))),
    id!(r"[2-9][0-9]{11}", &["aadhaar", "aadhar", "uid", "uidai"], |it| verhoeff(&digits_of(it))),
    id!(r"[A-Z]{3}[ABCFGHLJPT][A-Z][0-9]{4}[A-Z]", &["pan", "permanent account number", "pan card"], |_| true),
    // Poland: PESEL.
    id!(r"[0-9]{11}", &["pesel"], pl_pesel),
    // Sweden, Finland.
    id!(r"(?:19|20)?[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9][-+][0-9]{4}", &[], se_personal),
    id!(r"(?i)[0-3][0-9](?:0[1-9]|1[0-2])[0-9]{2}[-+ABCDEFYXWVU][0-9]{3}[0-9A-FHJ-NPR-Y]", &[], fi_personal),
    // Switzerland, Belgium.
    id!(r"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}", &[], ch_ahv),
    id!(r"[0-9]{2}\.[01][0-9]\.[0-3][0-9]-[0-9]{3}\.[0-9]{2}", &[], be_national),
    // China, Canada, Australia.
    id!(
        r"[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9][0-9]{3}[0-9Xx]",
        &[],
        |it| chinese_id(it.as_bytes())
    ),
    id!(
        r"[0-9]{3}[- ]?[0-9]{3}[- ]?[0-9]{3}",
        &["sin", "social insurance", "social insurance number"],
        |it| luhn(&digits_of(it))
    ),
    id!(r"[0-9]{3} ?[0-9]{3} ?[0-9]{3}", &["tfn", "tax file number"], au_tfn),
    // Documents whose numbers have no common form.
    id!(r"[A-Z]{0,3}[0-9][A-Z0-9]{4,13}(?:-[0-9]{2,6}){0,3}", &PAPER_WORDS, |it| digits_of(it).len() >= 5),
];

/// Returns the places of valid numbers.
pub(super) fn ids(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for id in &IDS {
        let is_id = |text: &str, range: &Range<usize>| {
            stands_alone(text, range, b"-./")
                && text.get(range.clone()).is_some_and(id.check)
                && (id.words.is_empty() || is_announced(text, range.start, id.words))
        };
        out.extend(matches(text, &id.pattern, is_id));
    }
    out
}

fn us_ssn(text: &str) -> bool {
    let digits = digits_of(text);
    let part = |range: Range<usize>| digits.get(range).map_or(0, number);
    digits.len() == 9 && !matches!(part(0..3), 0 | 666) && part(3..5) != 0 && part(5..9) != 0
}

fn uk_nino(text: &str) -> bool {
    let prefix = text.get(..2).unwrap_or("").to_ascii_uppercase();
    !["BG", "GB", "NK", "KN", "TN", "NT", "ZZ"].contains(&prefix.as_str())
}

fn uk_nhs(text: &str) -> bool {
    let digits = digits_of(text);
    let rest = 11 - weighted(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits.get(9).is_some_and(|last| i64::from(*last) == rest % 11 && rest != 10)
}

fn fr_nir(text: &str) -> bool {
    let compact: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    // Corsica's departments 2A and 2B count as 19 and 18.
    let numeric = compact.replace("2A", "19").replace("2B", "18");
    let digits = digits_of(&numeric);
    digits.len() == 15
        && digits
            .get(..13)
            .is_some_and(|head| 97 - number(head) % 97 == digits.get(13..).map_or(0, number))
}

fn es_dni(text: &str) -> bool {
    let lead = match text.bytes().next().map(|byte| byte.to_ascii_uppercase()) {
        Some(b'Y') => 10_000_000,
        Some(b'Z') => 20_000_000,
        _ => 0,
    };
    text.bytes().next_back().is_some_and(|letter| dni(lead + number(&digits_of(text)), letter))
}

fn nl_bsn(text: &str) -> bool {
    weighted(&digits_of(text), &[9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 == 0
}

fn pl_pesel(text: &str) -> bool {
    weighted(&digits_of(text), &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 == 0
}

fn se_personal(text: &str) -> bool {
    let digits = digits_of(text);
    digits.len().checked_sub(10).and_then(|from| digits.get(from..)).is_some_and(luhn)
}

fn fi_personal(text: &str) -> bool {
    let digits: Vec<u8> = digits_of(text.get(..6).unwrap_or(""))
        .into_iter()
        .chain(digits_of(text.get(7..10).unwrap_or("")))
        .collect();
    let check = b"0123456789ABCDEFHJKLMNPRSTUVWXY".get((number(&digits) % 31) as usize);
    digits.len() == 9
        && text.bytes().next_back().map(|byte| byte.to_ascii_uppercase()).as_ref() == check
}

fn ch_ahv(text: &str) -> bool {
    let digits = digits_of(text);
    weighted(&digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 == 0
}

fn be_national(text: &str) -> bool {
    let digits = digits_of(text);
    let (head, check) = (digits.get(..9).map_or(0, number), digits.get(9..).map_or(0, number));
    // People born from 2000 on have a 2 before the nine digits.
    check == 97 - head % 97 || check == 97 - (2_000_000_000 + head) % 97
}

fn au_tfn(text: &str) -> bool {
    weighted(&digits_of(text), &[1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 == 0
}
