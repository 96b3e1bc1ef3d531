//! E-mail: `.eml`, one message.
//!
//! In: the bytes of a file. Out: subject as title, sender as author, date; senders and recipients as fields, then the
//! text of the message, the names of attachments, and the text of those that have any, each under a heading: files
//! of text, and messages.
//! Invariants: encodings are decoded by a maintained parser; every part is visited once, and their number and depth
//! are bounded, with a warning; of alternatives, the one that says most is read.

mod charset;

use std::collections::HashSet;

use mail_parser::parsers::MessageStream;
use mail_parser::{
    Address, Encoding, HeaderName, Message, MessageParser, MessagePart, MimeHeaders, PartType,
};

use super::builder::TextBuilder;
use super::decode::Decoded;
use super::format::{Format, FormatLimits, Reader, reader_for};
use super::html::Html;
use super::light::PLAIN;
use model::document::Parsed;
use model::terms::SpanMap;

/// Most parts that are read, of the message and of those in it.
const MAX_PARTS: usize = 200;
/// Deepest nesting of parts and messages.
const MAX_DEPTH: usize = 16;
/// Most addresses of one field.
const MAX_ADDRESSES: usize = 100;
/// Longest name of an attachment or person, in characters.
const MAX_NAME_CHARS: usize = 200;
/// Level of the heading of what is attached. Headings in it are as many levels deeper.
const ATTACHED_LEVEL: u8 = 2;
/// Share of the words of a page, in tenths, that its plain text must have to be read in its place.
const MIN_HELD_TENTHS: usize = 9;

/// The fields that name people.
const PEOPLE: [(HeaderName<'static>, &str); 4] = [
    (HeaderName::From, "From"),
    (HeaderName::To, "To"),
    (HeaderName::Cc, "Cc"),
    (HeaderName::Bcc, "Bcc"),
];

/// Reads messages.
pub(crate) struct Email;

impl Format<[u8]> for Email {
    fn read(&self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
        let unix: Vec<u8>;
        let source = match source.contains(&b'\n') {
            true => source,
            // Line ends of old programs.
            false => {
                unix = source.iter().map(|it| if *it == b'\r' { b'\n' } else { *it }).collect();
                unix.as_slice()
            }
        };
        let mut message = MessageParser::default()
            .parse(source)
            .filter(|message| {
                let mut fields = PEOPLE.iter().map(|(name, _)| name);
                let has = |name: &HeaderName<'static>| message.header(name.clone()).is_some();
                has(&HeaderName::Subject) || has(&HeaderName::Date) || fields.any(has)
            })
            .ok_or("not an e-mail: it has no sender, recipient, subject or date")?;
        charset::mend_headers(&mut message);
        let mut reading = Reading { limits: *limits, n_parts: 0 };
        let title = message.subject().map(String::from);
        let author = message.from().and_then(name_of);
        let date = message.date().map(|date| date.to_rfc3339());
        let mut parsed = reading.message(message, 0);
        parsed.title = title;
        parsed.meta.author = author;
        parsed.meta.date = date;
        // The map leads to the extracted text, as in other formats that read bytes.
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        Ok(parsed)
    }
}

/// Reads the parts of a message.
struct Reading {
    limits: FormatLimits,
    n_parts: usize,
}

impl Reading {
    /// Reads a message whose headers are mended: its fields, its text, and what is attached.
    fn message(&mut self, mut message: Message<'_>, depth: usize) -> Parsed {
        let mut out = self.builder();
        fields(&message, depth, &mut out);
        let mut attached = Vec::new();
        self.body(&mut out, &message, 0, depth, &mut attached);
        // What is only named comes before what begins a section.
        let mut sections = Vec::new();
        for id in attached {
            let Some(part) = message.parts.get_mut(id as usize) else { continue };
            let name = part.attachment_name().and_then(short);
            if let Some(inner) = message_in(part) {
                sections.push(self.attached_message(inner, name, depth + 1));
            } else if let Some(reader) = reader_of(part) {
                let title = name.unwrap_or_else(|| type_of(part));
                sections.push((title, self.text(&message.raw_message, part, reader)));
            } else if let Some(name) = name.or_else(|| is_file(part).then(|| type_of(part))) {
                out.begin_text();
                out.replaced(&format!("Attached: {name}"), 0..0);
            }
        }
        for (title, text) in sections {
            out.end_sections();
            out.begin_heading(ATTACHED_LEVEL);
            out.replaced(&title, 0..0);
            out.append(text, ATTACHED_LEVEL);
        }
        out.finish()
    }

    /// Returns a builder of a text in parts, each with a source of its own.
    fn builder(&self) -> TextBuilder<'static> {
        TextBuilder::new("", &self.limits)
    }

    fn attached_message(
        &mut self,
        mut message: Message<'_>,
        name: Option<String>,
        depth: usize,
    ) -> (String, Parsed) {
        charset::mend_headers(&mut message);
        let subject = message.subject().and_then(short);
        let title = subject.or(name).unwrap_or_else(|| "message/rfc822".to_string());
        (title, self.message(message, depth))
    }

    /// Reads the parts that are the text of a message, and collects those that are attached.
    fn body(
        &mut self,
        out: &mut TextBuilder<'_>,
        message: &Message<'_>,
        id: u32,
        depth: usize,
        attached: &mut Vec<u32>,
    ) {
        self.n_parts += 1;
        if self.n_parts > MAX_PARTS || depth > MAX_DEPTH {
            return out.warn("too many or too deep parts; some are not indexed".to_string());
        }
        let Some(part) = message.parts.get(id as usize) else { return };
        let text = match &part.body {
            PartType::Multipart(ids) if part.is_content_type("multipart", "alternative") => {
                let mut best = Parsed::default();
                for id in ids {
                    let mut next = self.builder();
                    self.body(&mut next, message, *id, depth + 1, attached);
                    best = self.richer(best, next.finish());
                }
                best
            }
            PartType::Multipart(ids) => {
                return ids.iter().for_each(|id| self.body(out, message, *id, depth + 1, attached));
            }
            PartType::Text(_) | PartType::Html(_) if id == 0 || is_body(part) => {
                let reader = reader_of(part).unwrap_or(Reader::Text(&PLAIN));
                self.text(&message.raw_message, part, reader)
            }
            _ => return attached.push(id),
        };
        // The headings of one part say nothing about the next.
        out.end_sections();
        out.append(text, 0);
    }

    /// Returns what two alternatives say: the first if it has the words of the second, else the second, and both if
    /// the first has more words of its own than the second has at all.
    fn richer(&self, first: Parsed, second: Parsed) -> Parsed {
        let (of_first, of_second) = (words_of(&first.text), words_of(&second.text));
        let n_held = of_second.intersection(&of_first).count();
        if 10 * n_held >= MIN_HELD_TENTHS * of_second.len() {
            return first;
        }
        if of_first.len() - n_held <= of_second.len() {
            return second;
        }
        let mut both = self.builder();
        both.append(first, 0);
        both.end_sections();
        both.append(second, 0);
        both.finish()
    }

    /// Reads the text of a part.
    fn text(&self, raw: &[u8], part: &MessagePart<'_>, reader: Reader) -> Parsed {
        let place = part.offset_body as usize..part.offset_end as usize;
        let raw = raw.get(place).unwrap_or_else(|| part.contents());
        let mut stream = MessageStream::new(raw);
        // The parser gives up on data that is followed by something else.
        let stated = part.content_transfer_encoding().unwrap_or("");
        let bytes = match part.encoding {
            Encoding::None if !stated.eq_ignore_ascii_case("base64") => raw.into(),
            Encoding::QuotedPrintable => stream.decode_quoted_printable_mime(b"").1,
            _ => base64_of(raw).into(),
        };
        let read = charset::text_of(&bytes, charset::declared(part))
            .map_err(|fault| fault.reason)
            .and_then(|Decoded { text, warnings, .. }| {
                let mut parsed = reader.read(text.as_bytes(), &self.limits)?;
                parsed.warnings.extend(warnings);
                Ok(parsed)
            });
        read.unwrap_or_else(|reason| Parsed {
            warnings: vec![format!("a part is not indexed: {reason}")],
            ..Parsed::default()
        })
    }
}

/// Writes the fields that name people, and of a message in another one its date; warns of fields too long.
fn fields(message: &Message<'_>, depth: usize, out: &mut TextBuilder<'_>) {
    let mut lines = Vec::new();
    for (name, label) in PEOPLE {
        let lists = message.header_values(name).filter_map(|value| value.as_address());
        let all: Vec<String> = lists.flat_map(|list| list.iter()).filter_map(person).collect();
        let shown = all.get(..MAX_ADDRESSES).unwrap_or(&all);
        if !shown.is_empty() {
            lines.push(format!("{label}: {}", shown.join(", ")));
        }
        if shown.len() < all.len() {
            let n_left = all.len() - shown.len();
            out.warn(format!("{label}: {n_left} addresses are not indexed"));
        }
    }
    let date = message.date().filter(|_| depth > 0);
    lines.extend(date.map(|date| format!("Date: {}", date.to_rfc3339().replace('T', " "))));
    out.begin_list(None);
    for line in lines {
        out.begin_item();
        out.replaced(&line, 0..0);
        out.end_item();
    }
    out.end_list();
}

/// Decodes base64 up to the first line that is none, such as the footer of a mailing list, which follows as it is.
fn base64_of(raw: &[u8]) -> Vec<u8> {
    let is_data = |byte: &u8| {
        byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=".contains(byte)
    };
    let n_data = raw.iter().take_while(|byte| is_data(byte)).count();
    let line = if n_data == raw.len() { None } else { memchr::memrchr(b'\n', &raw[..n_data]) };
    let (data, rest) = raw.split_at(line.unwrap_or(n_data));
    let mut data: Vec<u8> = data.iter().copied().filter(u8::is_ascii_graphic).collect();
    // Some programs leave out the padding.
    data.resize(data.len().next_multiple_of(4), b'=');
    let mut text = MessageStream::new(&data).decode_base64_mime(b"").1.into_owned();
    text.extend_from_slice(rest);
    text
}

/// True for a part that is shown as the message, not as a file beside it.
fn is_body(part: &MessagePart<'_>) -> bool {
    let is_shown = part.content_type().is_none_or(|it| {
        it.subtype().is_none_or(|it| it.eq_ignore_ascii_case("plain") || is_page(it))
    });
    is_shown && !is_file(part) && part.attachment_name().is_none()
}

fn is_file(part: &MessagePart<'_>) -> bool {
    part.content_disposition().is_some_and(|it| it.is_attachment())
}

/// True for `html` and its dialects (`x-amp-html`).
fn is_page(subtype: &str) -> bool {
    subtype.to_ascii_lowercase().ends_with("html")
}

/// Returns the reader of a part that has text: by its type, else by the name of its file.
fn reader_of(part: &MessagePart<'_>) -> Option<Reader> {
    let (kind, subtype) =
        part.content_type().map_or(("text", ""), |it| (it.ctype(), it.subtype().unwrap_or("")));
    let is_text = matches!(part.body, PartType::Text(_) | PartType::Html(_));
    let extension = part.attachment_name().and_then(|name| name.rsplit_once('.')).map(|it| it.1);
    let by_name = extension.map(str::to_lowercase).filter(|it| config::formats::of(it).is_some());
    if is_text && is_page(subtype) {
        return Some(Reader::Text(&Html));
    }
    match by_name.map(|it| reader_for(&it)) {
        Some(reader @ Reader::Text(_)) => Some(reader),
        _ if is_text || kind.eq_ignore_ascii_case("message") => Some(Reader::Text(&PLAIN)),
        _ => None,
    }
}

/// Takes the message that a part is, by its type or its name.
fn message_in<'m>(part: &mut MessagePart<'m>) -> Option<Message<'m>> {
    if let PartType::Message(_) = &part.body {
        let PartType::Message(inner) = std::mem::take(&mut part.body) else { return None };
        return Some(inner);
    }
    let is_named = part.attachment_name().is_some_and(|it| it.to_lowercase().ends_with(".eml"));
    let parsed = MessageParser::default().parse(part.contents()).filter(|_| is_named);
    parsed.map(Message::into_owned)
}

/// Returns the type of a part, as its title.
fn type_of(part: &MessagePart<'_>) -> String {
    part.content_type().map_or("text".to_string(), |it| {
        format!("{}/{}", it.ctype(), it.subtype().unwrap_or("plain")).to_lowercase()
    })
}

/// Returns the first person of an address line, by name if there is one.
fn name_of(address: &Address<'_>) -> Option<String> {
    let first = address.first()?;
    short(first.name().or(first.address())?).map(first_name_first)
}

/// Returns a person as headers show one: `Ann Ferry <ann@example.org>`.
fn person(one: &mail_parser::Addr<'_>) -> Option<String> {
    let name = one.name().and_then(short).map(first_name_first);
    match (name, one.address().and_then(short)) {
        (Some(name), Some(address)) if name != address => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address),
    }
}

/// Returns `Chidi Okafor` for `Okafor, Chidi (EXT)`, as address books write names.
fn first_name_first(name: String) -> String {
    // One capital, or an initial with its dot: `LLC`, `GmbH` and `Inc.` are no first names.
    let is_first = |part: &str| match part.strip_suffix('.') {
        Some(initial) => initial.chars().count() == 1,
        None => !part.chars().skip(1).any(char::is_uppercase),
    };
    let bare = name.split(" (").next().unwrap_or(&name);
    match bare.split_once(", ") {
        Some((last, first)) if first.split([' ', '-']).all(is_first) => format!("{first} {last}"),
        _ => name,
    }
}

fn short(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the words of a text, without the punctuation around them.
fn words_of(text: &str) -> HashSet<String> {
    let words = text.split_whitespace().map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
