//! Language: detects the main language of a document, and the blocks that are in another language.
//!
//! In: text, outline, and the language that the document states. Out: an ISO 639 code, empty when there is too little
//! running text or too much doubt; and the blocks in other languages.
//! Invariants: a certain detection outranks the stated language (templates state `en` whatever they hold), unless the
//! two languages are easily confused; the stated language outranks a guess.

use std::collections::BTreeMap;

use whatlang::{Lang, Script, detect};

use model::bytes::count;
use model::document::{Block, BlockKind};
use model::terms::is_latin;
use model::terms::{Norm, Span};

/// Size of the sample of running text, in bytes; more does not make the answer more certain.
const MAX_SAMPLE_BYTES: usize = 2_000;
/// Shortest text whose language is detected by its words, in characters (measured: `tests/benches/languages.rs`).
const MIN_SAMPLE_CHARS: usize = 40;
/// Shortest text whose language is detected at all, in characters; enough where the script decides.
const MIN_SCRIPT_CHARS: usize = 8;
/// Frequent English words that neighboring languages do not use.
const ENGLISH_WORDS: &[&str] =
    &["the", "and", "that", "this", "with", "are", "you", "from", "which", "have", "will", "your"];
/// More frequent English words, typical of questions.
const ENGLISH_QUESTION_WORDS: &[&str] = &[
    "of", "is", "to", "for", "how", "what", "does", "who", "when", "where", "why", "can", "by",
    "has", "was",
];
/// Frequent words of other languages in Latin script that English does not use.
const FOREIGN_WORDS: &[&str] = &[
    "der", "das", "und", "ist", "nicht", "ein", "eine", "wird", "für", "mit", "wie", "von", "le",
    "la", "les", "des", "est", "une", "et", "pour", "dans", "que", "el", "los", "las", "por",
    "para", "con", "una", "di", "che", "della", "il", "gli", "per", "het", "een", "van", "niet",
    "voor", "och", "att", "som", "är", "og", "det", "til", "av", "på", "ei", "ja", "nie", "się",
    "jest", "na", "ve", "bir", "için", "của", "và", "không", "um", "uma", "não", "os", "dos",
    "yang", "dan", "dengan", "az", "egy", "és", "nem", "je", "sa", "pro", "ne",
];
/// Shortest block in Latin script that is checked, in bytes; on shorter ones, the detector is wrong too often.
const MIN_BLOCK_BYTES: usize = 100;
/// Share of [`ENGLISH_WORDS`] from which a text counts as English, in percent. Running English has 10 to 16.
const MIN_ENGLISH_PERCENT: usize = 7;
/// Fewest words for that shortcut.
const MIN_ENGLISH_WORDS: usize = 20;
/// Languages so similar that the stated language decides between them.
const ALIKE: &[&[&str]] = &[
    &["nb", "nn", "no", "da", "sv"],
    &["hr", "sr", "bs", "sl", "mk", "bg"],
    &["cs", "sk", "pl"],
    &["es", "pt", "gl", "ca", "it"],
    &["id", "ms", "jv", "tl"],
    &["ru", "uk", "be"],
    &["fa", "ar", "ur"],
    &["hi", "mr", "ne"],
    &["nl", "af", "de"],
    &["tr", "az", "tk", "uz"],
    &["et", "fi"],
    &["lt", "lv"],
];

/// The ISO 639-1 code for each ISO 639-3 code that the detector knows.
const CODES: &str = "\
    eng=en rus=ru cmn=zh spa=es por=pt ita=it ben=bn fra=fr deu=de ukr=uk kat=ka ara=ar hin=hi \
    jpn=ja heb=he yid=yi pol=pl amh=am jav=jv kor=ko nob=nb dan=da swe=sv fin=fi tur=tr nld=nl \
    hun=hu ces=cs ell=el bul=bg bel=be mar=mr kan=kn ron=ro slv=sl hrv=hr srp=sr mkd=mk lit=lt \
    lav=lv est=et tam=ta vie=vi urd=ur tha=th guj=gu uzb=uz pan=pa aze=az ind=id tel=te pes=fa \
    mal=ml ori=or mya=my nep=ne sin=si khm=km tuk=tk aka=ak zul=zu sna=sn afr=af lat=la slk=sk \
    cat=ca tgl=tl hye=hy cym=cy epo=eo";

/// The languages of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Languages {
    /// The main language; empty when unknown.
    pub(super) main: String,
    /// The blocks in other languages, in order.
    pub(super) others: Vec<(Span<Norm>, &'static str)>,
}

/// Returns the languages of a text. `stated` is a BCP 47 tag such as `en-GB`.
pub(super) fn languages_of(text: &str, blocks: &[Block], stated: Option<&str>) -> Languages {
    let stated = stated.and_then(primary).unwrap_or_default();
    let detected = detected(&sample(text, blocks));
    let are_alike =
        ALIKE.iter().any(|group| group.contains(&detected) && group.contains(&stated.as_str()));
    let main = if detected.is_empty() || are_alike { stated } else { detected.to_string() };
    let main = if main.is_empty() { detected.to_string() } else { main };
    let others = others_than(&main, text, blocks);
    match outweighing(&others, blocks) {
        // The sample mixed several languages and the detector chose a rare one.
        Some(other) => {
            Languages { main: other.to_string(), others: others_than(other, text, blocks) }
        }
        None => Languages { main, others },
    }
}

/// Returns the blocks that are in another language than `main`.
fn others_than(main: &str, text: &str, blocks: &[Block]) -> Vec<(Span<Norm>, &'static str)> {
    let others = blocks.iter().filter_map(|block| {
        let own = language_of_block(block, text, main)?;
        (own != main).then_some((block.span, own))
    });
    others.collect()
}

/// Returns the language of more than half of the running text, if `others` show one.
fn outweighing(others: &[(Span<Norm>, &'static str)], blocks: &[Block]) -> Option<&'static str> {
    let is_running = |block: &&Block| {
        matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote)
    };
    let n_all: usize = blocks.iter().filter(is_running).map(|block| block.span.len()).sum();
    let mut n_bytes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (span, code) in others {
        *n_bytes.entry(code).or_default() += span.len();
    }
    let (code, n) = n_bytes.into_iter().max_by_key(|(_, n)| *n)?;
    (n * 2 > n_all).then_some(code)
}

/// Returns the language of a short text such as a question; empty when in doubt.
pub fn detected(text: &str) -> &'static str {
    let n_chars = text.chars().take(MIN_SAMPLE_CHARS).count();
    if n_chars < MIN_SCRIPT_CHARS || (n_chars < MIN_SAMPLE_CHARS && is_mostly_latin(text)) {
        return "";
    }
    // A cheap test that is enough for most texts; see `is_plainly_english`.
    if is_plainly_english(text) {
        return "en";
    }
    detect(text)
        .filter(|info| info.is_reliable() || has_one_language(info.script()))
        .map_or("", |info| code(info.lang()))
}

/// Returns the language of a block of running text, where it may differ from `main`.
fn language_of_block(block: &Block, text: &str, main: &str) -> Option<&'static str> {
    if !matches!(block.kind, BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote) {
        return None;
    }
    let body = start_of(block.span.of(text), MAX_SAMPLE_BYTES);
    let is_latin = is_mostly_latin(body);
    // The detector costs as much as all other work on a document, so it only runs where the cheap signs disagree with
    // `main`.
    let is_as_expected = match main {
        "en" => {
            is_latin
                && (body.len() < MIN_BLOCK_BYTES
                    || english_signs(body).any(|is_english| is_english)
                    || !has_foreign_signs(body))
        }
        "" => true,
        _ => is_latin == is_written_in_latin(main) && !(is_latin && is_plainly_english(body)),
    };
    let own = if is_as_expected { "" } else { detected(body) };
    let are_alike = ALIKE.iter().any(|group| group.contains(&own) && group.contains(&main));
    (!own.is_empty() && !are_alike).then_some(own)
}

/// True for a question that is certainly not English. An English question may consist of little but names.
pub fn is_foreign(question: &str) -> bool {
    let is_latin = is_mostly_latin(question);
    let has_english =
        has_word_of(question, ENGLISH_WORDS) || has_word_of(question, ENGLISH_QUESTION_WORDS);
    match detected(question) {
        "" | "en" => !is_latin,
        // Latin letters alone prove nothing: `dexamethasone` is a word in many languages.
        _ => !is_latin || (!has_english && has_word_of(question, FOREIGN_WORDS)),
    }
}

fn has_word_of(text: &str, known: &[&str]) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.any(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// True when an English text of this length is unlikely to look like this: letters or words that English does not
/// use.
fn has_foreign_signs(text: &str) -> bool {
    (!text.is_ascii() && text.chars().any(|c| !c.is_ascii() && c.is_alphabetic()))
        || has_word_of(text, FOREIGN_WORDS)
}

/// Returns the language of a tag, lowercase: `de` for `de-AT`; `None` for an invalid tag.
fn primary(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    let is_code =
        (2..=3).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_lowercase());
    // `deu` becomes `de`.
    let long = CODES
        .split_ascii_whitespace()
        .find_map(|pair| pair.strip_prefix(primary.as_str())?.strip_prefix('='));
    (is_code && primary != "und").then(|| long.map_or(primary, str::to_string))
}

/// Returns the start of the running text: paragraphs; if they are too short, list items and quotations too.
fn sample(text: &str, blocks: &[Block]) -> String {
    let of_kind = |is_taken: fn(&BlockKind) -> bool| {
        let mut out = String::with_capacity(MAX_SAMPLE_BYTES);
        for block in blocks.iter().filter(|block| is_taken(&block.kind)) {
            out.push_str(start_of(block.span.of(text), MAX_SAMPLE_BYTES - out.len()));
            // A character has up to 4 bytes, so the next block may not add one.
            if out.len() + 4 >= MAX_SAMPLE_BYTES {
                break;
            }
            out.push(' ');
        }
        out
    };
    let paragraphs = of_kind(|kind| matches!(kind, BlockKind::Paragraph));
    if paragraphs.len() >= MIN_SAMPLE_CHARS {
        return paragraphs;
    }
    of_kind(|kind| {
        matches!(kind, BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote)
    })
}

/// Returns at most `n_bytes` of a text, cut between characters.
fn start_of(text: &str, n_bytes: usize) -> &str {
    let mut end = n_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// A shortcut, because the full detector costs as much as the rest of normalization.
fn is_plainly_english(sample: &str) -> bool {
    let (n_words, n_english) = n_english_words(sample);
    n_words >= MIN_ENGLISH_WORDS && n_english * 100 >= n_words * MIN_ENGLISH_PERCENT
}

/// Returns the number of words, and the number of those in [`ENGLISH_WORDS`].
fn n_english_words(sample: &str) -> (usize, usize) {
    english_signs(sample).fold((0, 0), |(n_words, n_english), is_english| {
        (n_words + 1, n_english + usize::from(is_english))
    })
}

/// Returns for each word whether it is one of [`ENGLISH_WORDS`]. A non-ASCII letter ends a word, so a word with such
/// letters counts as several foreign ones: every block of every document is checked, and bytes are faster than
/// characters.
fn english_signs(text: &str) -> impl Iterator<Item = bool> {
    let words = text.as_bytes().split(|byte| !byte.is_ascii_alphabetic());
    words.filter(|word| !word.is_empty()).map(|word| {
        // All of `ENGLISH_WORDS` have 3 to 5 letters.
        (3..=5).contains(&word.len())
            && ENGLISH_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
    })
}

/// True when most letters are Latin.
fn is_mostly_latin(text: &str) -> bool {
    if text.is_ascii() {
        return true;
    }
    let n_ascii = count(text.as_bytes(), |byte| byte.is_ascii_alphabetic());
    let n_beyond = count(text.as_bytes(), |byte| !byte.is_ascii());
    // Letters of other scripts have at least two bytes, so these are fewer than the ASCII letters.
    if n_ascii * 2 >= n_beyond {
        return true;
    }
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (n_latin, n_all) =
        letters.fold((0, 0), |(latin, all), c| (latin + usize::from(is_latin(c)), all + 1));
    n_latin * 2 >= n_all
}

fn is_written_in_latin(code: &str) -> bool {
    let other = "ru zh bn uk ka ar hi ja he yi am ko el bg be mr kn mk ta ur th gu te fa ml or my ne si km pa hy";
    !other.split(' ').any(|known| known == code)
}

/// True for scripts of which the detector knows only one language, so that words are not needed.
fn has_one_language(script: Script) -> bool {
    !matches!(
        script,
        Script::Latin | Script::Cyrillic | Script::Arabic | Script::Devanagari | Script::Hebrew
    )
}

/// Returns the two-letter code of a language; empty for one without a code here.
fn code(lang: Lang) -> &'static str {
    let of_lang = |pair: &'static str| pair.strip_prefix(lang.code())?.strip_prefix('=');
    CODES.split_ascii_whitespace().find_map(of_lang).unwrap_or("")
}

#[cfg(test)]
mod tests;
