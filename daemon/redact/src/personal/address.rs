//! Streets with house numbers, boxes and postal codes, as several countries write them.

use std::ops::Range;
use std::sync::LazyLock;

use super::{Pattern, matches, pattern, stands_alone};

/// A capitalized word, or a number such as `5th`.
const NAME: &str = r"(?:\p{Lu}[\p{L}'’.\-]{0,24}|[0-9]{1,3}(?:st|nd|rd|th))";
/// Rooms after a street.
const ROOM: &str =
    r"(?:,? {0,2}\n? ?(?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Room)\.? ?#?[0-9A-Za-z\-]{1,6})?";
/// A town, a state of the United States and its code after a street.
const TOWN: &str =
    r"(?:,? ?\n? ?(?:\p{Lu}[\p{L}.'\-]{1,20} ?){1,3},? (?:[A-Z]{2}) [0-9]{5}(?:-[0-9]{4})?)?";

/// Number first: English, Irish, American; French with the kind of street before the name.
static NUMBER_FIRST: Pattern = LazyLock::new(|| {
    pattern(&format!(
        concat!(
            r"[0-9]{{1,5}}[A-Za-z]?(?:-[0-9]{{1,4}})?,? (?:(?:[NSEW]|North|South|East|West|N\.|S\.|E\.|W\.) )?(?:{",
            r"NAME} ){{1,4}}(?:Street|Str|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Drive|Dr|Lane|Ln|Court|Ct|",
            r"Circle|Cir|Place|Pl|Square|Sq|Terrace|Ter|Trail|Trl|Parkway|Pkwy|Way|Highway|Hwy|Crescent|",
            r"Close|Grove|Row|Mews|Gardens|Hill|Rise|Quay|Alley|Loop|Walk|Path|Plaza|Ridge|View|Run|Point|",
            r"Crossing)\b\.?{ROOM}{TOWN}",
        ),
        NAME = NAME,
        ROOM = ROOM,
        TOWN = TOWN
    ))
});
static FRENCH: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)[0-9]{1,4}(?: ?(?:bis|ter|quater))?,? ?(?:rue|avenue|av\.|boulevard|bd|chemin|quai|impasse|",
        r"allée|allee|cours|route|faubourg|place|square|passage|sentier)\b (?:(?:de|du|des|la|le|les|",
        r"d'|l'|à|aux|et) ?){0,3}(?:[\p{L}'’\-]{2,24} ?){1,4}",
    ))
});
/// Kind of street first, number last: Romance and Slavic languages, Turkish.
static KIND_FIRST: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?:Via|Viale|Piazza|Piazzale|Corso|Largo|Vicolo|Calle|C/|Avenida|Avda\.?|Paseo|Plaza|Carrer|",
        r"Camino|Ronda|Rua|Travessa|Praça|Estrada|Alameda|R\.|ul\.|Ul\.|al\.|pl\.|ulica|Ulica|ulice|",
        r"Strada|Str\.|Bulevardul|bul\.|Calea|улица|ул\.|Улица|проспект|пр\.) (?:(?:de|del|della|delle|",
        r"dei|di|da|do|dos|das|la|las|el|los|degli|san|Św\.|św\.) ?){0,3}(?:[\p{Lu}0-9][\p{L}0-9'’.\-]{0,24},?",
        r" ?){1,5}(?:,? ?(?:n[.°º]? ?|nº ?|No\.? ?)?[0-9]{1,5}(?:[A-Za-z]\b|/[0-9A-Za-z]{1,4})?)",
    ))
});
/// One word with its kind at the end, number last: Germanic and Nordic languages, Hungarian.
static KIND_LAST: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?:\p{Lu}[\p{L}.'’\-]{1,30}[ \-]){0,3}(?:\p{L}{2,30}(?:straße|strasse|str\.|gasse|weg|platz|",
        r"allee|ufer|damm|ring|steig|chaussee|straat|laan|plein|gracht|dijk|kade|singel|dreef|gatan|",
        r"vägen|gränd|stigen|gata|veien|vegen|vei|gade|vej|allé|stræde|katu|tie|kuja|polku|götu|gata|",
        r"stígur|vegur)|(?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Ufer|utca|út|útja|u\.|tér|",
        r"tere|körút|krt\.|sor|köz|Cad\.|Caddesi|Sok\.|Sokak)) ?,? ?(?:n[ro]\.? ?)?[0-9]{1,4} ?[A-Za-z]?\b\.?(",
        r"?:[-–/][0-9]{1,4})?",
    ))
});
/// Post office boxes and military mail of the United States.
static BOX: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?i:P\.? ?O\.? ?Box|Post Office Box|Postfach|Boîte postale|B\.?P\.?|Casella postale|Apartado(?: post",
        r"al)?|Apdo\.?|Caixa postal|Skr\. poczt\.) [0-9]{1,6}|(?:PSC|Unit|CMR) [0-9]{1,5},? Box [0-9]{1,5}(?:,",
        r"?\s(?:APO|FPO|DPO),? (?:AA|AE|AP) [0-9]{5})?|(?:USNV|USS|USCGC|USNS) [\p{L} .\-]{2,30}\s(?:APO|",
        r"FPO|DPO),? (?:AA|AE|AP) [0-9]{5}",
    ))
});
/// A code after a word for it.
static ZIP: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:zip(?: ?code)?|postal ?code|post ?code|postcode|plz|postleitzahl|cap|cep|code postal|",
        r"código postal|codigo postal|kod pocztowy|postnummer)(?: is)?\s?[:#=]?\s{0,2}(?<code>[A-Z]{0,2}-?[0-9",
        r"][0-9A-Z]{1,6}(?:[ \-][0-9A-Z]{2,4})?)\b",
    ))
});

/// Returns the places of streets and boxes.
pub(super) fn streets(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for pattern in [&NUMBER_FIRST, &FRENCH, &KIND_FIRST, &KIND_LAST, &BOX] {
        let is_street = |text: &str, range: &Range<usize>| {
            let before = text.get(..range.start).and_then(|it| it.chars().next_back());
            !before.is_some_and(|c| c.is_alphanumeric() || c == '.' || c == '_')
        };
        out.extend(matches(text, pattern, is_street).map(|range| trimmed(text, range)));
    }
    out
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let shown = text.get(range.clone()).unwrap_or("");
    range.start..range.start + shown.trim_end_matches([' ', ',', '\n']).len()
}

/// Returns the places of postal codes with a word for them.
pub(super) fn postal_codes(text: &str) -> Vec<Range<usize>> {
    let Some(pattern) = ZIP.as_ref() else { return Vec::new() };
    let codes = pattern.captures_iter(text).filter_map(|it| it.name("code"));
    let ranges = codes.map(|it| it.range());
    ranges.filter(|range| stands_alone(text, range, b"") && range.len() >= 3).collect()
}
