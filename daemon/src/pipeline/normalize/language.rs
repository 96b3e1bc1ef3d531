//! Language: which one a document is mainly written in.
//!
//! In: text and outline. Out: an ISO 639-1 code, empty when there is too little running text or too much
//! doubt.
//! Not here: languages of single sentences.

use whatlang::{Lang, detect};

use crate::pipeline::parcel::{Block, BlockKind};

/// Running text looked at, bytes; more does not make the answer surer.
const MAX_SAMPLE_BYTES: usize = 2_000;
/// Less text than this is no ground for an answer, characters.
const MIN_SAMPLE_CHARS: usize = 60;
/// Words that English uses all the time and its neighbors do not.
const ENGLISH_WORDS: &[&str] =
    &["the", "and", "that", "this", "with", "are", "you", "from", "which", "have", "will", "your"];
/// Share of such words from which a text is English, percent. Running English has 10 to 16.
const MIN_ENGLISH_PERCENT: usize = 7;
/// Fewest words for that shortcut.
const MIN_ENGLISH_WORDS: usize = 20;

/// ISO 639-1 for each ISO 639-3 code that the detector knows.
const CODES: &str = "\
    eng=en rus=ru cmn=zh spa=es por=pt ita=it ben=bn fra=fr deu=de ukr=uk kat=ka ara=ar hin=hi \
    jpn=ja heb=he yid=yi pol=pl amh=am jav=jv kor=ko nob=nb dan=da swe=sv fin=fi tur=tr nld=nl \
    hun=hu ces=cs ell=el bul=bg bel=be mar=mr kan=kn ron=ro slv=sl hrv=hr srp=sr mkd=mk lit=lt \
    lav=lv est=et tam=ta vie=vi urd=ur tha=th guj=gu uzb=uz pan=pa aze=az ind=id tel=te pes=fa \
    mal=ml ori=or mya=my nep=ne sin=si khm=km tuk=tk aka=ak zul=zu sna=sn afr=af lat=la slk=sk \
    cat=ca tgl=tl hye=hy cym=cy epo=eo";

/// The main language of a document.
pub(super) fn language_of(text: &str, blocks: &[Block]) -> &'static str {
    let sample = sample(text, blocks);
    if sample.chars().count() < MIN_SAMPLE_CHARS {
        return "";
    }
    if is_plainly_english(&sample) {
        return "en";
    }
    detect(&sample).filter(|info| info.is_reliable()).map_or("", |info| code(info.lang()))
}

/// The start of the running text: paragraphs, and list items and quotations where these are all there is.
fn sample(text: &str, blocks: &[Block]) -> String {
    let of_kind = |is_taken: fn(&BlockKind) -> bool| {
        let mut out = String::with_capacity(MAX_SAMPLE_BYTES);
        for block in blocks.iter().filter(|block| is_taken(&block.kind)) {
            let room = MAX_SAMPLE_BYTES - out.len();
            let piece = block.span.of(text);
            let end = (0..=room.min(piece.len())).rev().find(|end| piece.is_char_boundary(*end));
            out.push_str(piece.get(..end.unwrap_or(0)).unwrap_or(""));
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

/// A shortcut: the full detector costs as much as the rest of normalization.
fn is_plainly_english(sample: &str) -> bool {
    let (mut n_words, mut n_english) = (0, 0);
    for word in sample.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        n_words += 1;
        n_english +=
            usize::from(ENGLISH_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)));
    }
    n_words >= MIN_ENGLISH_WORDS && n_english * 100 >= n_words * MIN_ENGLISH_PERCENT
}

/// The two-letter code of a language; empty for one that has none here.
fn code(lang: Lang) -> &'static str {
    let of_lang = |pair: &'static str| pair.strip_prefix(lang.code())?.strip_prefix('=');
    CODES.split_ascii_whitespace().find_map(of_lang).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::language_of;
    use crate::pipeline::parcel::{Block, BlockKind};
    use crate::terms::Span;

    #[test]
    fn every_language_has_a_code() {
        for lang in whatlang::Lang::all() {
            assert_eq!(super::code(*lang).len(), 2, "{lang:?}");
        }
    }

    #[test]
    fn languages_are_told_apart() {
        let rows = [
            (
                "en",
                "The daemon reads every file in the folder and builds a graph from what it finds there. \
                 You can ask it questions about this graph, and it will answer with evidence.",
            ),
            (
                "de",
                "Der Dienst liest jede Datei im Ordner und baut daraus einen Graphen auf. Danach kann \
                 man ihm Fragen stellen, und er antwortet mit Belegen aus den Dokumenten.",
            ),
            (
                "fr",
                "Le service lit tous les fichiers du dossier et construit un graphe à partir de leur \
                 contenu. Ensuite on peut lui poser des questions sur ce graphe.",
            ),
            (
                "ru",
                "Служба читает каждый файл в папке и строит граф из того, что в нём написано. Потом ей \
                 можно задавать вопросы, и она отвечает с доказательствами.",
            ),
            ("", "Too short to tell."),
            (
                "",
                "x1 y2 z3 0x7f 10.0.0.1 :: foo() -> bar; 42 % 7 == 0 && 1 << 3 | 0b1010 ~ {} [] <> // \
                 \\\\ 99",
            ),
        ];
        for (code, text) in rows {
            let block =
                Block { kind: BlockKind::Paragraph, span: Span::new(0, text.len()), section: None };
            assert_eq!(language_of(text, &[block]), code, "{text}");
        }
    }
}
