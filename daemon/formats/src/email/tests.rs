//! Messages, part by part: what is read, in which charset, and what is only named.

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
         Content-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--b\r\nContent-Type: application/zip\r\n\
         Content-Disposition: attachment\r\n\r\nPK\r\n--b--\r\n"
    );
    let parsed = Email.read(text.as_bytes(), &LIMITS).expect("a message");
    expect![[r#"
        li0.0 §- "From: Adéla <a@x.org>"
        p §- "The crème crane stands."
        li1.0 §- "one"
        p §- "Attached: plan.pdf"
        p §- "Attached: application/zip"
    "#]]
    .assert_eq(&printed(&parsed));
    check_invariants(&parsed.text, &parsed);
    assert_eq!(parsed.title.as_deref(), Some("Quay repairs"));
    assert_eq!(parsed.meta.author.as_deref(), Some("Adéla"));
    assert_eq!(parsed.meta.date.as_deref(), Some("2026-03-02T10:00:00+01:00"));
}

#[test]
fn what_programs_do_to_mails_loses_no_text() {
    let head = "From: \"Okafor, Chidi (EXT)\" <c@x.org>\r\nTo: \"Acme, Inc.\" <i@x.org>\r\nSubject: Quay\r\n";
    let base64 = "Content-Transfer-Encoding: base64\r\n\r\n";
    // `The quay is here` without padding, then the footer of a mailing list.
    let footer =
        format!("{head}{base64}VGhlIHF1YXkgaXMgaGVyZQ\r\n____\r\nharbour mailing list\r\n");
    let forwarded = format!(
        "{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
         Content-Type: application/octet-stream; name=fwd.eml\r\n\r\n{head}\r\nThe pier.\r\n--b--\r\n"
    );
    for (mail, expected) in [
        (footer, "The quay is here"),
        (format!("\u{feff}{head}\r\nThe quay."), "The quay."),
        (format!("{head}\r\nThe quay.\r\n").replace("\r\n", "\r"), "The quay."),
        (forwarded, "The pier."),
    ] {
        let parsed = Email.read(mail.as_bytes(), &LIMITS).expect("a message");
        assert!(parsed.text.starts_with("From: Chidi Okafor <c@x.org>\nTo: Acme, Inc. <i@x.org>"));
        assert!(parsed.text.contains(expected), "{}", parsed.text);
    }
}

#[test]
fn people_have_their_first_name_first_and_companies_their_own_order() {
    for (written, shown) in [
        ("Okafor, Chidi (EXT)", "Chidi Okafor"),
        ("Smith, John A.", "John A. Smith"),
        ("Müller, Hans-Jörg", "Hans-Jörg Müller"),
        ("Acme, Inc.", "Acme, Inc."),
        ("Acme, LLC", "Acme, LLC"),
        ("Kran, GmbH", "Kran, GmbH"),
        ("Ada Moreno", "Ada Moreno"),
    ] {
        assert_eq!(super::first_name_first(written.to_string()), shown);
    }
}

#[test]
fn a_mail_in_a_mail_in_a_part_that_is_not_closed_is_read_as_far_as_it_goes() {
    // Found by fuzzing: with assertions enabled, the parser asserts that this cannot happen.
    let bytes = include_bytes!("../../../../corpus/hostile/eml/unclosed.eml");
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
    assert_eq!(
        parsed.text,
        "From: Adéla <a@x.org>\n\nThe tapir.\n\nThe capybara.\n\nRiver\n\nThe otter."
    );
}

#[test]
fn html_is_read_where_there_is_no_text() {
    let text =
        format!("{HEAD}Content-Type: text/html\r\n\r\n<h1>Quay</h1><p>It <b>stands</b>.</p>");
    let parsed = Email.read(text.as_bytes(), &LIMITS).expect("a message");
    assert!(parsed.text.contains("Quay\n\nIt stands."), "{}", parsed.text);
    assert!(Email.read(b"\x00\x01nothing", &LIMITS).is_err());
}

/// One message with a part of its own per row: the type and other headers of the part, and its bytes.
fn mail(kind: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = format!(
        "From: k@x.org\r\nSubject: K\r\nMIME-Version: 1.0\r\nContent-Type: multipart/{kind}; boundary=b\r\n"
    )
    .into_bytes();
    for (head, body) in parts {
        out.extend_from_slice(format!("\r\n--b\r\nContent-Type: {head}\r\n\r\n").as_bytes());
        out.extend_from_slice(body);
    }
    out.extend_from_slice(b"\r\n--b--\r\n");
    out
}

/// The text of a message without its first field, and its warnings.
fn said(bytes: &[u8]) -> (String, Vec<String>) {
    let parsed = Email.read(bytes, &LIMITS).expect("a message");
    check_invariants(&parsed.text, &parsed);
    let text = parsed.text.strip_prefix("From: k@x.org").expect("its sender").trim();
    (text.to_string(), parsed.warnings)
}

#[test]
fn of_alternatives_the_one_that_says_most_is_read() {
    let html = "<h1>Notice</h1><p>The <b>weir</b> is <a href=\"https://x.org/1\">repaired</a> in autumn.</p>";
    let page = "Notice\n\nThe weir is repaired in autumn.";
    let rows = [
        ("", page),
        (" \r\n\t\r\n", page),
        ("Please view this message as a page, with a program that shows pages.", page),
        ("Notice: The weir is repaired [1] in autumn.\r\n[1] https://x.org/1", ""),
        ("NOTICE\r\n\r\nThe *weir* is\r\nrepaired in autumn!", ""),
    ];
    for (plain, expected) in rows {
        let bytes = mail(
            "alternative",
            &[("text/plain", plain.as_bytes()), ("text/html", html.as_bytes())],
        );
        let (text, _) = said(&bytes);
        if expected.is_empty() {
            assert!(text != page && text.to_lowercase().contains("notice"), "{text}");
        } else {
            let is_stub = plain.starts_with("Please");
            assert!(text == expected || is_stub && text.ends_with(expected), "{plain:?}: {text}");
        }
    }
    // A picture of a page says nothing of what the plain text says: both are kept.
    let plain = b"The weir is repaired in autumn, and the ladder for the fish in spring.";
    let (text, _) =
        said(&mail("alternative", &[("text/plain", plain), ("text/html", b"<p>Our logo</p>")]));
    assert!(text.contains("ladder") && text.ends_with("Our logo"), "{text}");
}

#[test]
fn text_is_read_in_the_charset_that_it_is_in() {
    let rows: [(&str, &[u8], &str); 9] = [
        ("text/plain", b"Der Kr\xe4mer k\xfcrzt die Stra\xdfe.", "Der Krämer kürzt die Straße."),
        ("text/plain; charset=x-unknown", b"Der Kr\xe4mer k\xfcrzt.", "Der Krämer kürzt."),
        ("text/plain; charset=us-ascii", "Der Krämer".as_bytes(), "Der Krämer"),
        ("text/plain; charset=iso-8859-1", "Der Krämer".as_bytes(), "Der Krämer"),
        ("text/plain; charset=iso-8859-2", b"\xb3\xf3d\xbc", "łódź"),
        ("text/plain; charset=shift_jis", b"\x93\x8c\x8b\x9e", "東京"),
        ("text/html", b"<meta charset='koi8-r'><p>\xf0\xd2\xc9\xde\xc1\xcc", "Причал"),
        (
            "text/html; charset=us-ascii",
            b"<META content=\"text/html; charset = windows-1253\"><p>\xcb\xe9\xec\xdc\xed\xe9",
            "Λιμάνι",
        ),
        ("text/html; charset=utf-8", b"<meta charset=utf-8><p>Kr\xe4mer k\xfcrzt", "Krämer kürzt"),
    ];
    for (head, bytes, expected) in rows {
        assert_eq!(said(&mail("mixed", &[(head, bytes)])).0, expected, "{head}");
    }
    let (_, warnings) = said(&mail("mixed", &[("text/plain", b"Der Kr\xe4mer k\xfcrzt.")]));
    assert_eq!(warnings, ["not UTF-8: read as windows-1252"]);
}

#[test]
fn headers_of_another_charset_are_read_like_the_text() {
    let bytes = b"From: \"Zo\xeb Kr\xe4mer\" <z@x.org>\nTo: Bj\xf6rn <b@x.org>\nSubject: Die Stra\xdfe\n\
        Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=iso-8859-15\n\n\
        Es k\xf6mmt.\n--b\nContent-Type: application/pdf; name=\"Stra\xdfe.pdf\"\n\nx\n--b--\n";
    let parsed = Email.read(bytes, &LIMITS).expect("a message");
    assert_eq!(parsed.title.as_deref(), Some("Die Straße"));
    assert_eq!(parsed.meta.author.as_deref(), Some("Zoë Krämer"));
    expect![[r#"
        li0.0 §- "From: Zoë Krämer <z@x.org>"
        li0.0 §- "To: Björn <b@x.org>"
        p §- "Es kömmt."
        p §- "Attached: Straße.pdf"
    "#]]
    .assert_eq(&printed(&parsed));
}

#[test]
fn what_is_attached_and_has_text_is_read_under_a_heading() {
    let inner = b"From: Ida Weir <i@x.org>\r\nTo: Q <q@x.org>, r@x.org\r\nSubject: Sluice\r\n\
        Date: Mon, 2 Mar 2026 10:00:00 +0000\r\nContent-Type: text/html\r\n\r\n<h1>Gate</h1><ul><li>It sticks.</ul>";
    let bytes = mail(
        "mixed",
        &[
            ("text/plain", b"See below."),
            ("message/rfc822", inner),
            ("text/plain; name=a.txt\r\nContent-Disposition: attachment", b"- Copper\r\n- Tin"),
            ("application/octet-stream; name=b.md", b"# Head\n\n*So* it is."),
            ("text/calendar; method=REQUEST", b"SUMMARY:Tour"),
            ("image/png; name=c.png", b"AAAA"),
        ],
    );
    let parsed = Email.read(&bytes, &LIMITS).expect("a message");
    check_invariants(&parsed.text, &parsed);
    expect![[r#"
        li0.0 §- "From: k@x.org"
        p §- "See below."
        p §- "Attached: c.png"
        h2 §- "Sluice"
        li1.0 §3 "From: Ida Weir <i@x.org>"
        li1.0 §3 "To: Q <q@x.org>, r@x.org"
        li1.0 §3 "Date: 2026-03-02 10:00:00Z"
        h3 §3 "Gate"
        li2.0 §7 "It sticks."
        h2 §- "a.txt"
        li3.0 §9 "Copper"
        li3.0 §9 "Tin"
        h2 §- "b.md"
        h3 §12 "Head"
        p §13 "So it is."
        h2 §- "text/calendar"
        p §15 "SUMMARY:Tour"
        emphasis = "So"
    "#]]
    .assert_eq(&printed(&parsed));
}

#[test]
fn what_is_too_much_is_left_with_a_warning() {
    let people: Vec<String> = (0..130).map(|n| format!("p{n}@x.org")).collect();
    let text =
        format!("To: {}\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\n\r\nHello.", people.join(", "));
    let parsed = Email.read(text.as_bytes(), &LIMITS).expect("no sender, no subject");
    assert!(parsed.text.contains("p99@") && !parsed.text.contains("p100@"), "{}", parsed.text);
    assert_eq!(parsed.warnings, ["To: 30 addresses are not indexed"]);
    let parts: Vec<(&str, &[u8])> = vec![("text/plain", b"word"); 300];
    assert_eq!(said(&mail("mixed", &parts)).1.len(), 1);
    let deep = "From: k@x.org\r\nContent-Type: message/rfc822\r\n\r\n".repeat(60);
    let parsed = Email.read(deep.as_bytes(), &LIMITS).expect("a message");
    check_invariants(&parsed.text, &parsed);
    assert_eq!(parsed.warnings.len(), 1, "{:?}", parsed.warnings);
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
