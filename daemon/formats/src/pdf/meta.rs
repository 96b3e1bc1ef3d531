//! Metadata: what a document states about itself.
//!
//! In: the catalog, the Info dictionary as read by the library, XMP. Out: title, author, date, language, keywords.
//! Invariants: values are short and without control characters; a title that only names a file or a program is
//! dropped.

use hayro_syntax::Pdf;
use hayro_syntax::metadata::Metadata;
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{DateTime, Dict, Stream, String as PdfString};
use notes::parse::add_tag;
use quick_xml::escape::unescape;
use serde_json::Value;

use super::bound;
use model::document::DocMeta;

/// Longest value, in bytes; longer ones are dropped.
const MAX_VALUE_BYTES: usize = 1_000;
/// Most bytes of XMP that are read.
const MAX_XMP_BYTES: usize = 1 << 18;
/// Titles that programs write when nobody gave one.
const NO_TITLES: &[&str] = &[
    "untitled",
    "title",
    "document",
    "unknown",
    "(anonymous)",
    "no title",
    "slide 1",
    "none",
    "null",
];
/// File extensions.
const FILE_ENDINGS: &[&str] = &[
    ".doc", ".docx", ".tex", ".dvi", ".pdf", ".indd", ".ps", ".odt", ".rtf", ".ppt", ".pptx",
    ".xls", ".xlsx", ".qxd", ".fm", ".p65", ".html", ".htm", ".txt", ".md", ".ai", ".cdr", ".pub",
    ".pages",
];

/// The characters of PDFDocEncoding that differ from Latin-1: from 0x18 and from 0x80 on (ISO 32000-1, annex D).
const ACCENTS: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
const SIGNS: [char; 33] = [
    '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™',
    'ﬁ', 'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{fffd}', '€',
];

/// Decodes a text string: UTF-16 or UTF-8 with a byte order mark, else PDFDocEncoding.
pub(super) fn text_of(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match std::str::from_utf8(bytes) {
            // UTF-8 without a mark is not allowed but occurs; text in PDFDocEncoding is hardly ever valid UTF-8.
            Ok(text) => text.to_string(),
            Err(_) => bytes.iter().map(|byte| doc_char(*byte)).collect(),
        },
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut out = String::new();
    let mut is_escape = false;
    for char in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match char.unwrap_or('\u{fffd}') {
            // A pair of escape characters encloses the name of a language.
            '\u{1b}' => is_escape = !is_escape,
            char if !is_escape => out.push(char),
            _ => {}
        }
    }
    out
}

fn doc_char(byte: u8) -> char {
    let known = match byte {
        0x18..=0x1f => ACCENTS.get(usize::from(byte - 0x18)),
        0x80..=0xa0 => SIGNS.get(usize::from(byte - 0x80)),
        _ => None,
    };
    known.copied().unwrap_or(char::from(byte))
}

/// Returns title and metadata.
pub(super) fn read(pdf: &Pdf) -> (Option<String>, DocMeta) {
    let info = pdf.metadata();
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()).unwrap_or_default();
    let xmp = catalog.get::<Stream<'_>>(keys::METADATA).and_then(|stream| bound::content(&stream));
    let xmp = xmp
        .map(|xmp| String::from_utf8_lossy(xmp.get(..MAX_XMP_BYTES).unwrap_or(&xmp)).into_owned());
    let xmp = xmp.unwrap_or_default();
    // The Info dictionary comes first, XMP is the fallback.
    let value = |bytes: &Option<Box<[u8]>>| bytes.as_ref().and_then(|bytes| tidy(&text_of(bytes)));
    let title = value(&info.title).filter(|title| is_title(title));
    let title = title.or_else(|| property(&xmp, "dc:title").filter(|title| is_title(title)));
    let mut meta = DocMeta {
        author: value(&info.author).or_else(|| property(&xmp, "dc:creator")),
        date: date(info, &xmp),
        language: catalog
            .get::<PdfString<'_>>("Lang")
            .and_then(|lang| language(&text_of(lang.as_bytes()))),
        ..DocMeta::default()
    };
    for tag in value(&info.keywords).iter().flat_map(|words| words.split([',', ';'])) {
        add_tag(&mut meta.tags, tag);
    }
    let subject = value(&info.subject).or_else(|| property(&xmp, "dc:description"));
    let extra = [
        ("description", subject),
        ("creator", value(&info.creator)),
        ("producer", value(&info.producer)),
    ];
    for (name, value) in extra {
        if let Some(value) = value {
            meta.extra.insert(name.to_string(), Value::String(value));
        }
    }
    (title, meta)
}

/// Returns the text as one line without control characters; `None` if it is empty or too long.
fn tidy(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    (!text.is_empty() && text.len() <= MAX_VALUE_BYTES).then_some(text)
}

/// True for what a person would call a title.
fn is_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let is_file = FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || lower.starts_with("microsoft word - ")
        || lower.starts_with("microsoft powerpoint - ")
        || lower.starts_with("file:")
        || lower.contains('\\');
    !is_file && !NO_TITLES.contains(&lower.as_str()) && title.chars().any(char::is_alphabetic)
}

/// Returns a language tag such as `en-US` unchanged; `None` for anything else.
fn language(tag: &str) -> Option<String> {
    let tag = tag.trim();
    let is_tag = tag.len() <= 35
        && tag.split('-').next().is_some_and(|first| (2..=3).contains(&first.len()))
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_tag.then(|| tag.to_string())
}

/// Returns the creation date, else the modification date: `2022-04-03T18:05:42+02:00`.
fn date(info: &Metadata, xmp: &str) -> Option<String> {
    let written = info.creation_date.or(info.modification_date).map(|date| written(&date));
    written.or_else(|| property(xmp, "xmp:CreateDate")).or_else(|| property(xmp, "xmp:ModifyDate"))
}

fn written(date: &DateTime) -> String {
    let DateTime { year, month, day, hour, minute, second, .. } = date;
    let sign = if date.utc_offset_hour < 0 { '-' } else { '+' };
    let (zone_hour, zone_minute) = (date.utc_offset_hour.unsigned_abs(), date.utc_offset_minute);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{zone_hour:02}:{zone_minute:02}"
    )
}

/// Returns the value of an XMP property: the text of its element, or its attribute. Programs write XMP in few shapes,
/// so an XML parser would find little more.
fn property(xmp: &str, name: &str) -> Option<String> {
    let (_, rest) = xmp.split_once(name)?;
    if let Some(value) = rest.strip_prefix("=\"") {
        let value = value.split_once('"')?.0;
        return tidy(&unescape(value).unwrap_or(value.into()));
    }
    let (inside, _) = rest.split_once(&format!("</{name}>"))?;
    let (_, inside) = inside.split_once('>')?;
    // Only the text outside of tags, and only of the first item.
    let inside = inside.split("</rdf:li>").next().unwrap_or(inside);
    let text: String = inside
        .split('<')
        .filter_map(|piece| {
            piece
                .rsplit_once('>')
                .map_or((!piece.contains('>')).then_some(piece), |(_, text)| Some(text))
        })
        .collect();
    tidy(&unescape(&text).unwrap_or(text.as_str().into()))
}

#[cfg(test)]
mod tests {
    use super::{is_title, property, text_of};

    #[test]
    fn strings_for_people_are_decoded_by_their_mark() {
        let rows: [(&[u8], &str); 5] = [
            (b"plain", "plain"),
            (b"\xfe\xff\0G\0r\0\xfc\0n", "Grün"),
            (b"\xff\xfeG\0r\0\xfc\0n\0", "Grün"),
            (b"\xef\xbb\xbfGr\xc3\xbcn", "Grün"),
            (b"Gr\xfcn \x84 \xa0", "Grün — €"),
        ];
        for (bytes, text) in rows {
            assert_eq!(text_of(bytes), text);
        }
    }

    #[test]
    fn names_of_files_are_no_titles() {
        let rows = [
            ("Rotating keys", true),
            ("Microsoft Word - report.doc", false),
            ("untitled", false),
            ("paper.tex", false),
            ("2023", false),
        ];
        for (title, expected) in rows {
            assert_eq!(is_title(title), expected, "{title}");
        }
    }

    #[test]
    fn xmp_is_read_as_element_and_as_attribute() {
        let xmp = "<rdf:Description xmp:CreateDate=\"2020-01-02\"><dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">\
                   Keys &amp; locks</rdf:li></rdf:Alt></dc:title></rdf:Description>";
        assert_eq!(property(xmp, "dc:title").as_deref(), Some("Keys & locks"));
        assert_eq!(property(xmp, "xmp:CreateDate").as_deref(), Some("2020-01-02"));
        assert_eq!(property(xmp, "dc:creator"), None);
    }
}
