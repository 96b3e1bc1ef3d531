use super::{Kind, personal_data_in};
use expect_test::{Expect, expect};

fn check(lines: &[&str], expected: Expect) {
    let mut out = String::new();
    for line in lines {
        let found = personal_data_in(line, |_| true);
        let shown =
            found.iter().map(|(range, kind)| format!("{}={}", kind.as_str(), &line[range.clone()]));
        out += &format!("{}\n", shown.collect::<Vec<_>>().join(" "));
    }
    expected.assert_eq(&out);
}

fn nothing_in(lines: &[&str]) {
    for line in lines {
        let found = personal_data_in(line, |kind| !matches!(kind, Kind::Domain | Kind::Person));
        assert!(found.is_empty(), "{line}: {found:?}");
    }
}

#[test]
fn kinds() {
    check(
        &[
            "write to jane.doe+x@mail.example.co.uk, please",
            "card 4111 1111 1111 1111 or 378282246310005",
            "DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432.",
            "my SSN is 536-90-4399; NINO AB 12 34 56 C",
            "Steuer-ID 86 095 742 719, DNI 12345678Z, X1234567L",
            "RSSMRA85T10A562S CPF 529.982.247-25 Aadhaar 2341 2341 2346",
            "from 203.0.113.9 and 2001:db8:85a3::8a2e:370:7334",
            "call +49 30 901820 or (555) 123-4567 or 020 7946 0958",
            "221B Baker Street, Musterstraße 12, 10 rue de la Paix",
            "ZIP: 90210",
        ],
        expect![[r#"
            email=jane.doe+x@mail.example.co.uk
            card=4111 1111 1111 1111 card=378282246310005
            iban=DE89 3704 0044 0532 0130 00 iban=GB82WEST12345698765432
            national_id=536-90-4399 national_id=AB 12 34 56 C
            national_id=86 095 742 719 national_id=12345678Z national_id=X1234567L
            national_id=RSSMRA85T10A562S national_id=529.982.247-25 national_id=2341 2341 2346
            ip=203.0.113.9 ip=2001:db8:85a3::8a2e:370:7334
            phone=+49 30 901820 phone=(555) 123-4567 phone=020 7946 0958
            address=221B Baker Street address=Musterstraße 12 address=10 rue de la Paix
            zip=90210
        "#]],
    );
}

#[test]
fn digits_that_only_look_alike_stay() {
    nothing_in(&[
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 of 2024-01-31",
        "4111 1111 1111 1112 fails its check, so does DE89 3704 0044 0532 0130 01",
        "version 1.2.3.4.5, 127.0.0.1, 0.0.0.0, 255.255.255.0 and std::net::Ipv4Addr",
        "550e8400-e29b-41d4-a716-446655440000 at 12:34:56",
        "1763788800000 ms, 12,345,678 bytes, pages 1234-1245, ISBN 978-3-16-148410-0",
        "git@github.com:a/b.git, @user, a@b",
        "section 3 Street view, 2020 was a Way forward",
    ]);
}
