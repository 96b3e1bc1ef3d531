//! Charset: the bytes of a part of a message, or of a header, as text.
//!
//! In: bytes, and the charset that the message declares for them. Out: text with `\n` as its only line end.
//! Invariant: what is not valid in the charset declared is read as what it is: UTF-8, else what the page itself
//! declares, else the likeliest, as files without a charset are.

use encoding_rs::Encoding;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::parsers::MessageStream;
use mail_parser::{HeaderValue, Message, MessagePart, MimeHeaders};

use crate::decode::{Decoded, decode};
use model::DocFault;

/// Names of ASCII, which the parser takes for an encoding in which all bytes are valid.
const ASCII: [&str; 3] = ["us-ascii", "ascii", "ansi_x3.4-1968"];
/// Where a page may declare its charset, in bytes from its beginning.
const MAX_META_BYTES: usize = 4_096;

/// Decodes the text of a part or header.
pub(super) fn text_of(bytes: &[u8], declared: Option<&str>) -> Result<Decoded, DocFault> {
    let is_utf8 = std::str::from_utf8(bytes).is_ok();
    let read_as = |label: &str| {
        // All bytes are valid where one byte is a character, but text is UTF-8 by accident in none of these.
        let takes_all = Encoding::for_label(label.as_bytes()).is_some_and(Encoding::is_single_byte);
        let is_ascii = ASCII.iter().any(|it| it.eq_ignore_ascii_case(label));
        let decoder = charset_decoder(label.as_bytes())?;
        (!(is_ascii || takes_all && is_utf8))
            .then(|| decoder(bytes))
            .filter(|text| !text.contains(char::REPLACEMENT_CHARACTER))
    };
    let of_page = || meta_charset(bytes).filter(|_| !is_utf8).and_then(|label| read_as(&label));
    let text = declared.and_then(read_as).or_else(of_page);
    decode(text.as_ref().map_or(bytes, |text| text.as_bytes()))
}

/// Returns the charset that a page declares in a `<meta>` element.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(MAX_META_BYTES))?;
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let values = head.split("<meta").skip(1).filter_map(|rest| rest.split('>').next());
    let values = values.filter_map(|tag| {
        let value = tag.split_once("charset")?.1.trim_start().strip_prefix('=')?;
        let value = value.trim_start_matches([' ', '"', '\'']);
        value.split(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).next()
    });
    values.map(String::from).find(|label| !label.is_empty())
}

/// Returns the charset that a part declares.
pub(super) fn declared<'m>(part: &'m MessagePart<'_>) -> Option<&'m str> {
    part.content_type()?.attribute("charset")
}

/// Reads the headers again that have bytes of a charset other than UTF-8, which no standard allows, as those of the
/// message's text.
pub(super) fn mend_headers(message: &mut Message<'_>) {
    let charset = message.parts.iter().find_map(declared).map(String::from);
    let Message { parts, raw_message, .. } = message;
    for header in parts.iter_mut().flat_map(|part| &mut part.headers) {
        let place = header.offset_start as usize..header.offset_end as usize;
        let Some(raw) = raw_message.get(place).filter(|raw| std::str::from_utf8(raw).is_err())
        else {
            continue;
        };
        let Ok(mut value) = text_of(raw, charset.as_deref()) else { continue };
        // The parser looks for the line end.
        value.text.push('\n');
        let mut stream = MessageStream::new(value.text.as_bytes());
        let value = match header.value {
            HeaderValue::Address(_) => stream.parse_address(),
            HeaderValue::ContentType(_) => stream.parse_content_type(),
            HeaderValue::Text(_) => stream.parse_unstructured(),
            _ => continue,
        };
        header.value = value.into_owned();
    }
}
