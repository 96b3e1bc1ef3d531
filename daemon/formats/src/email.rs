//! E-mail: `.eml`, one message.
//!
//! In: the bytes of a file. Out: subject as title, sender as author, date; the text of the message, or its HTML if it
//! has no text; names of attachments.
//! Invariants: encodings are decoded by a maintained parser; messages inside messages are named, not read, so that
//! nesting costs nothing.

use mail_parser::{Address, MessageParser, MessagePart, MimeHeaders, PartType};

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use super::html::Html;
use super::plain::Plain;
use model::document::{Block, BlockKind, Inline, Link, Parsed};
use model::terms::{Norm, Span, SpanMap};

/// Most parts that are read.
const MAX_PARTS: usize = 50;
/// Most attachments whose names are listed.
const MAX_ATTACHMENTS: usize = 50;
/// Longest name of an attachment or person, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Reads messages.
pub(crate) struct Email;

impl Format<[u8]> for Email {
    fn read(&self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        let message = MessageParser::default()
            .parse(source)
            .filter(|message| message.from().is_some() || message.subject().is_some())
            .ok_or("not an e-mail: it has neither sender nor subject")?;
        let mut parsed = TextBuilder::new("", limits).finish();
        let is_written =
            |part: &&MessagePart<'_>| matches!(&part.body, PartType::Text(_) | PartType::Html(_));
        // Of alternative parts, the parser returns one: the text if there is one.
        for part in message.text_bodies().filter(is_written).take(MAX_PARTS) {
            // Each part may use what the previous ones left; 2 bytes are for the separator.
            let room = limits.max_output_bytes.saturating_sub(parsed.text.len() + 2);
            let limits = FormatLimits { max_output_bytes: room, ..*limits };
            let next = match &part.body {
                PartType::Html(html) => Html.read(&html.replace("\r\n", "\n"), &limits)?,
                PartType::Text(text) => Plain.read(&text.replace("\r\n", "\n"), &limits)?,
                _ => continue,
            };
            append(&mut parsed, next);
        }
        parsed.title = message.subject().map(String::from);
        parsed.meta.author = message.from().and_then(name_of);
        parsed.meta.date = message.date().map(|date| date.to_rfc3339());
        let names: Vec<String> = message
            .attachments()
            .take(MAX_ATTACHMENTS)
            .filter_map(|part| short(part.attachment_name()?))
            .collect();
        for name in names {
            add_line(&mut parsed, &format!("Attached: {name}"), limits);
        }
        // The map leads to the extracted text, as in other formats that read bytes.
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        Ok(parsed)
    }
}

/// Returns the first person of an address line, by name if there is one.
fn name_of(address: &Address<'_>) -> Option<String> {
    let first = address.first()?;
    short(first.name().or(first.address())?)
}

fn short(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

/// Appends a part: its places are shifted by the text before it, its sections by the blocks.
fn append(parsed: &mut Parsed, mut next: Parsed) {
    if next.text.is_empty() {
        return parsed.warnings.append(&mut next.warnings);
    }
    if !parsed.text.is_empty() {
        parsed.text.push_str("\n\n");
    }
    let (n_bytes, n_blocks) = (parsed.text.len(), parsed.blocks.len() as u32);
    let moved = |span: Span<Norm>| Span::new(span.start() + n_bytes, span.end() + n_bytes);
    parsed.text.push_str(&next.text);
    parsed.blocks.extend(next.blocks.into_iter().map(|block| Block {
        span: moved(block.span),
        section: block.section.map(|section| section + n_blocks),
        ..block
    }));
    let inlines = next.inlines.into_iter();
    parsed.inlines.extend(inlines.map(|it| Inline { span: moved(it.span), ..it }));
    parsed.links.extend(next.links.into_iter().map(|it| Link { span: moved(it.span), ..it }));
    parsed.warnings.append(&mut next.warnings);
}

/// Appends a paragraph in the section of the last block.
fn add_line(parsed: &mut Parsed, line: &str, limits: &FormatLimits) {
    if parsed.text.len() + line.len() + 2 > limits.max_output_bytes {
        return;
    }
    if !parsed.text.is_empty() {
        parsed.text.push_str("\n\n");
    }
    let start = parsed.text.len();
    parsed.text.push_str(line);
    let section = parsed.blocks.last().and_then(|block| match block.kind {
        BlockKind::Heading(_) => u32::try_from(parsed.blocks.len() - 1).ok(),
        _ => block.section,
    });
    let span = Span::new(start, parsed.text.len());
    parsed.blocks.push(Block { kind: BlockKind::Paragraph, span, section });
}

#[cfg(test)]
mod tests {
    use super::Email;
    use crate::format::Format;
    use crate::tests::{LIMITS, check_invariants, printed};
    use expect_test::expect;
    use proptest::prelude::*;

    const HEAD: &str = "From: =?utf-8?q?Ad=C3=A9la?= <a@x.org>\r\nSubject: Quay\r\n repairs\r\n\
        Date: Mon, 2 Mar 2026 10:00:00 +0100\r\nMIME-Version: 1.0\r\n";

    #[test]
    fn a_message_gives_its_text_and_names_what_is_attached() {
        let text = format!(
            "{HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=iso\
            -8859-1\r\n\
             Content-Transfer-Encoding: quoted-printable\r\n\r\nThe cr=E8me crane=\r\n stands.\r\n\r\n- one\r\n-\
             -b\r\n\
             Content-Type: application/pdf; name=plan.pdf\r\nContent-Disposition: attachment; filename=plan.pdf\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--b--\r\n"
        );
        let parsed = Email.read(text.as_bytes(), &LIMITS).expect("a message");
        expect![[r#"
            p §- "The crème crane stands."
            li0.0 §- "one"
            p §- "Attached: plan.pdf"
        "#]]
        .assert_eq(&printed(&parsed));
        check_invariants(&parsed.text, &parsed);
        assert_eq!(parsed.title.as_deref(), Some("Quay repairs"));
        assert_eq!(parsed.meta.author.as_deref(), Some("Adéla"));
        assert_eq!(parsed.meta.date.as_deref(), Some("2026-03-02T10:00:00+01:00"));
    }

    #[test]
    fn a_mail_in_a_mail_in_a_part_that_is_not_closed_is_read_as_far_as_it_goes() {
        // Found by fuzzing: with assertions enabled, the parser asserts that this cannot happen.
        let bytes = include_bytes!("../../../corpus/hostile/eml/unclosed.eml");
        let parsed = Email.read(bytes, &LIMITS).expect("it has a sender");
        check_invariants(&parsed.text, &parsed);
    }

    #[test]
    fn every_part_that_is_text_is_read_and_of_alternatives_one() {
        let text = format!(
            "{HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n\
             --b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n\
             --c\r\nContent-Type: text/plain\r\n\r\nThe tapir.\r\n\
             --c\r\nContent-Type: text/html\r\n\r\n<p>The tapir.</p>\r\n--c--\r\n\
             --b\r\nContent-Type: image/png\r\nContent-Disposition: inline\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n\
             --b\r\nContent-Type: text/plain\r\n\r\nThe capybara.\r\n\
             --b\r\nContent-Type: text/html\r\n\r\n<h2>River</h2><p>The <b>otter</b>.</p>\r\n--b--\r\n"
        );
        let parsed = Email.read(text.as_bytes(), &LIMITS).expect("a message");
        check_invariants(&parsed.text, &parsed);
        assert_eq!(parsed.text, "The tapir.\n\nThe capybara.\n\nRiver\n\nThe otter.");
    }

    #[test]
    fn html_is_read_where_there_is_no_text() {
        let text =
            format!("{HEAD}Content-Type: text/html\r\n\r\n<h1>Quay</h1><p>It <b>stands</b>.</p>");
        let parsed = Email.read(text.as_bytes(), &LIMITS).expect("a message");
        assert!(parsed.text.contains("Quay\n\nIt stands."), "{}", parsed.text);
        assert!(Email.read(b"\x00\x01nothing", &LIMITS).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = [HEAD.as_bytes(), &bytes].concat();
            if let Ok(parsed) = Email.read(&text, &LIMITS) {
                check_invariants(&parsed.text, &parsed);
            }
        }
    }
}
