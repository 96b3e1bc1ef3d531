//! Planted: made-up secrets of many kinds in the places where people leave them, and lines that
//! only look like secrets.
//!
//! In: a seed. Out: [`Planted`] texts with the secrets that must be removed ([`kinds`]), and files
//! that contain them in eight formats ([`formats`]).
//! Invariants: the same seed returns the same texts; the shapes follow the issuers' documentation,
//! not the detector's table; no secret is real, and none is written in this source in a form that a
//! scanner would report.

pub mod evasions;
pub mod formats;
pub mod kinds;
pub mod people;
pub mod places;

use sha2::{Digest, Sha256};

/// A text that contains secrets of one kind.
#[derive(Debug, Clone)]
pub struct Planted {
    /// Their name in the table.
    pub kind: &'static str,
    /// The text: lines, or a table.
    pub body: Body,
    /// The secrets.
    pub secrets: Vec<String>,
}

/// The layout of a text.
#[derive(Debug, Clone)]
pub enum Body {
    /// Lines.
    Lines(String),
    /// Rows of cells; the first is the header.
    Table(Vec<Vec<String>>),
}

/// A pseudo-random number generator (splitmix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator with a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of(&mut self, letters: &str, n: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..n).map(|_| letters[self.below(letters.len())]).collect()
    }

    /// Fills the runs of a pattern: `{a36}` is 36 letters and digits, h hexadecimal, u URL-safe, b
    /// base64, U capitals and 2 to 7, C capitals and digits, d digits, l small letters and digits,
    /// s letters, digits, `.` and `/`; `{uuid}`; `{pass}` is a password as people and generators
    /// make them, `{strong}` one with symbols, `{phrase}` twelve words of a wallet. A `|` splits a
    /// prefix, so that no scanner takes this source for a leak.
    pub fn fill(&mut self, pattern: &str) -> String {
        let mut out = String::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('{') {
            out += &before.replace('|', "");
            let (spec, tail) = after.split_once('}').unwrap_or((after, ""));
            out += &self.run(spec);
            rest = tail;
        }
        out + &rest.replace('|', "")
    }

    fn run(&mut self, spec: &str) -> String {
        match spec {
            "uuid" => return self.fill("{h8}-{h4}-4{h3}-{h4}-{h12}"),
            "pass" => return self.password(),
            "strong" => {
                return self.password_of(
                    "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!*+.#",
                    14,
                );
            }
            "phrase" => return self.phrase(),
            _ => {}
        }
        let Some((letters, n)) =
            spec.split_at_checked(1).and_then(|(set, n)| Some((set_of(set)?, n.parse().ok()?)))
        else {
            return format!("{{{spec}}}");
        };
        let mut made = self.of(letters, n);
        // A symbol at the end would be read as punctuation, and no issuer's tokens always end with
        // one.
        while made.ends_with(['-', '_', '.', '/']) {
            made.pop();
            made += &self.of(ALNUM, 1);
        }
        made
    }

    fn password(&mut self) -> String {
        match self.below(5) {
            0 => self.password_of(ALNUM, 10),
            1 => self
                .password_of("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!*+.#", 12),
            2 => {
                let word = WORDS[self.below(WORDS.len())];
                let season = WORDS[self.below(WORDS.len())];
                self.fill(&format!("{word}{{d2}}{season}!"))
            }
            3 => {
                let word = WORDS[self.below(WORDS.len())];
                self.fill(&format!("{}{}{{d4}}", word[..1].to_uppercase(), &word[1..]))
            }
            _ => self.password_of(ALNUM, 20),
        }
    }

    /// Returns a password with a digit and a letter, as generators ensure, that begins and ends
    /// with one of them.
    fn password_of(&mut self, letters: &str, n: usize) -> String {
        loop {
            let made = self.of(letters, n);
            let is_plain = |c: char| c.is_ascii_alphanumeric();
            let is_mixed =
                made.contains(|c: char| c.is_ascii_digit()) && made.contains(char::is_alphabetic);
            if is_mixed && made.ends_with(is_plain) && made.starts_with(is_plain) {
                return made;
            }
        }
    }

    /// Returns twelve words with a valid checksum.
    fn phrase(&mut self) -> String {
        let words: Vec<&str> =
            include_str!("../config/bip39_english.txt").lines().skip(1).collect();
        let data = [self.next().to_be_bytes(), self.next().to_be_bytes()].concat();
        let bits = u128::from_be_bytes(data.clone().try_into().expect("16 bytes"));
        let check = u16::from(Sha256::digest(&data)[0] >> 4);
        let number = |i: usize| match i {
            11 => (bits << 4) as u16 & 0x7ff | check,
            _ => (bits >> (117 - 11 * i)) as u16 & 0x7ff,
        };
        let chosen: Vec<&str> = (0..12).map(|i| words[usize::from(number(i))]).collect();
        chosen.join(" ")
    }
}

fn set_of(letter: &str) -> Option<&'static str> {
    Some(match letter {
        "h" => "0123456789abcdef",
        "H" => "0123456789ABCDEF",
        "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "U" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "C" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "d" => "0123456789",
        "l" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "s" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./",
        "a" => ALNUM,
        _ => return None,
    })
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Words that people make passwords of.
const WORDS: [&str; 16] = [
    "summer", "winter", "dragon", "monkey", "hunter", "falcon", "purple", "rocket", "silver",
    "coffee", "tiger", "marble", "shadow", "pepper", "orange", "castle",
];

/// Returns what is left of a secret, if it is more than a reader could guess: ten letters and
/// digits in a row.
pub fn left_of(secret: &str, text: &str) -> Option<String> {
    let bare = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let (secret, text) = (bare(secret), bare(text));
    let letters: Vec<char> = secret.chars().collect();
    let n = letters.len().min(10);
    // The prefix that all secrets of a kind share may be left.
    let skipped = letters.len().saturating_sub(n).min(8);
    let parts = letters.windows(n).skip(skipped).map(|part| part.iter().collect::<String>());
    parts.into_iter().find(|part| text.contains(part.as_str()))
}

/// Returns lines that only look as if they contained a secret.
pub fn decoys() -> Vec<String> {
    const LINES: [&str; 44] = [
        "commit {h40}",
        "Merge: {h7} {h7}",
        "sha256:{h64}",
        "{h64}  file-1.2.tar.gz",
        "{h32}  md5sum.txt",
        "checksum = \"{h64}\"",
        "\"integrity\": \"sha512-{b86}==\",",
        "integrity sha384-{b64}",
        "digest: sha256:{h64}",
        "image: app@sha256:{h64}",
        "id: {h8}-{h4}-{h4}-{h4}-{h12}",
        "uuid = \"{h8}-{h4}-{h4}-{h4}-{h12}\"",
        "request {h8}-{h4}-{h4}-{h4}-{h12} took 12 ms",
        "etag: \"{h32}\"",
        "source = \"git+https://example.net/x?rev={h40}#{h40}\"",
        "![x](data:image/png;base64,{b200}==)",
        "ssh-rsa AAAAB3NzaC1yc2E{b300} user@host",
        "-----BEGIN CERTIFICATE-----",
        "fingerprint SHA256:{b43}",
        "password: must be {d2} characters",
        "password = get_password(user{d2})",
        "password: ${DB_PASSWORD}",
        "API_KEY=your-api-key-here",
        "token: <TOKEN>",
        "secret: xxxxxxxxxxxxxxxx",
        "password=changeme",
        "Authorization: Bearer <token>",
        "password: required,string,min:{d1}",
        "max_tokens: {d4}",
        "token_count = {d6}",
        "password_file: /run/secrets/db{d2}",
        "secretName: my-app-tls-{d2}",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "the password is required in version {d1}.{d2}",
        "api_key = os.environ['API_KEY_{d1}']",
        "token = tokens[{d2}].text",
        "https://example.net/{h40}/raw/file.txt",
        "build {h12} of 2026-01-{d1}",
        "class {a12}TokenProviderFactory",
        "var passwordField{d1} = document.querySelector('#password');",
        "primary_key: user_id_{d3}",
        "public_key: {b43}=",
        "https://user:password@example.net/",
        "postgres://user:<password>@localhost:5432/db{d1}",
    ];
    let mut dice = Dice::new(7);
    LINES.iter().flat_map(|line| (0..20).map(|_| dice.fill(line)).collect::<Vec<_>>()).collect()
}
