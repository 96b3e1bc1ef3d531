//! People: passwords as managers of passwords generate them and as people think them up, in the places where they write
//! them down.
//!
//! In: [`Dice`]. Out: passwords, and texts that contain one.
//! Invariant: the generators follow the algorithms that their makers publish, not the detector's rules; the words are
//! those of BIP-39, which no rule for passwords knows.

use super::Dice;

/// Names and makers of passwords.
pub type Maker = (&'static str, fn(&mut Dice) -> String);

/// What managers generate.
pub const GENERATORS: [Maker; 8] = [
    ("apple", apple),
    ("bitwarden", bitwarden),
    ("1password", memorable),
    ("diceware", |dice| phrase(dice, "-")),
    ("diceware with blanks", |dice| phrase(dice, " ")),
    ("16 printable", |dice| printable(dice, 16)),
    ("24 printable", |dice| printable(dice, 24)),
    ("20 alphanumeric", |dice| dice.fill("{a20}")),
];

/// Six places; `json` and `table` are escaped as their formats ask.
pub const PLACES: [&str; 6] = ["line", "variable", "table", "json", "prose", "code span"];

/// Sixteen places in which people write down a password.
pub const HUMAN_PLACES: [&str; 16] = [
    "Password: {}",
    "password = {}",
    "- Password: {}",
    "**Password:** {}",
    "DB_PASSWORD={}",
    "export ADMIN_PASSWORD=\"{}\"",
    "| Password | {} |",
    "user: ann\npassword: {}\n",
    "{\"password\": \"{}\"}",
    "my password is {}",
    "The password for the router is {}.",
    "Passwort: {}",
    "Mot de passe : {}",
    "Password: `{}`",
    "Login: ann, Password: {}",
    "pwd={}",
];

/// Returns the share of passwords that are gone from what `clean` leaves of them: by generator and place, then by place
/// for those of people. Of a phrase with blanks only a delimited one can be told from a sentence, so prose has none.
pub fn shares(seed: u64, n: usize, clean: impl Fn(&str) -> String) -> Vec<(String, f64)> {
    let mut dice = Dice::new(seed);
    let mut share = |name: String, make: &mut dyn FnMut(&mut Dice) -> (String, String)| {
        let is_gone = |_: &usize| {
            let (password, text) = make(&mut dice);
            let left = clean(&text);
            super::left_of(&password, &left).is_none() && !left.contains(&password)
        };
        (name, (0..n).filter(is_gone).count() as f64 / n as f64)
    };
    let mut out = Vec::new();
    for (name, maker) in GENERATORS {
        for place in PLACES.iter().filter(|it| !(name.ends_with("blanks") && **it == "prose")) {
            out.push(share(format!("{name}, {place}"), &mut |dice| {
                let password = maker(dice);
                let text = placed(place, &password);
                (password, text)
            }));
        }
    }
    for place in HUMAN_PLACES {
        out.push(share(format!("human, {place}"), &mut |dice| {
            let password = human(dice);
            let text = place.replace("{}", &password);
            (password, text)
        }));
    }
    out
}

/// Returns a text with a password in one of [`PLACES`].
pub fn placed(place: &str, password: &str) -> String {
    match place {
        "line" => format!("Password: {password}"),
        "variable" => format!("DB_PASSWORD={password}"),
        "table" => {
            let cell = password.replace('|', "\\|");
            format!("| user | password |\n|---|---|\n| ann | {cell} |")
        }
        "json" => serde_json::json!({"user": "ann", "password": password}).to_string(),
        "prose" => format!("The password for the wifi is {password}."),
        _ => format!("Password: `{password}`"),
    }
}

fn word(dice: &mut Dice) -> String {
    let words: Vec<&str> = include_str!("../../config/bip39_english.txt").lines().skip(1).collect();
    words[dice.below(words.len())].to_string()
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// Six syllables in three groups; one letter is a digit at the edge of a group, another a capital.
fn apple(dice: &mut Dice) -> String {
    let syllables: Vec<String> = (0..6)
        .map(|_| {
            let [first, last] = [0; 2].map(|_| dice.of("bcdfghjkmnpqrstvwxz", 1));
            first + &dice.of("aeiouy", 1) + &last
        })
        .collect();
    let mut letters: Vec<char> =
        syllables.chunks(2).map(|it| it.concat()).collect::<Vec<_>>().join("-").chars().collect();
    let edge = [5, 7, 12, 14, 19][dice.below(5)];
    letters[edge] = dice.of("0123456789", 1).remove(0);
    let small = loop {
        let at = dice.below(letters.len());
        if letters[at].is_ascii_lowercase() {
            break at;
        }
    };
    letters[small] = letters[small].to_ascii_uppercase();
    letters.into_iter().collect()
}

/// Words with capitals and a number after one of them, joined by dashes.
fn bitwarden(dice: &mut Dice) -> String {
    let mut words: Vec<String> = (0..3 + dice.below(3)).map(|_| capital(&word(dice))).collect();
    let at = dice.below(words.len());
    words[at] += &dice.of("0123456789", 1);
    words.join("-")
}

/// Words with dashes, one of which may be a digit, or with digits between them.
fn memorable(dice: &mut Dice) -> String {
    let mut words: Vec<String> = (0..4).map(|_| word(dice)).collect();
    if dice.below(2) == 0 {
        words[2] = dice.of("0123456789", 1);
        return words.join("-");
    }
    words.iter().map(|it| it.clone() + &dice.of("0123456789", 1)).collect()
}

fn phrase(dice: &mut Dice, separator: &str) -> String {
    let n = 4 + dice.below(4);
    (0..n).map(|_| word(dice)).collect::<Vec<_>>().join(separator)
}

fn printable(dice: &mut Dice, n: usize) -> String {
    (0..n).map(|_| char::from(33 + dice.below(94) as u8)).collect()
}

/// A password that a person thinks up.
pub fn human(dice: &mut Dice) -> String {
    let (one, two) = (word(dice), word(dice));
    let number = dice.below(1_000);
    let year = 1960 + dice.below(65);
    match dice.below(16) {
        0 => format!("{}{year}", capital(&one)),
        1 => format!("{}{year}!", capital(&one)),
        2 => format!("{one}{number}"),
        3 => format!("{}{number}#", capital(&one)),
        4 => one.replace('a', "@").replace('o', "0").replace('e', "3") + &number.to_string(),
        5 => format!("{one}{two}"),
        6 => format!("i<3{one}"),
        7 => format!("{one}&{two}"),
        8 => format!("{}!{}", capital(&one), dice.below(10)),
        9 => format!("my{one}{number}"),
        10 => format!("{}.{}.{year}", 10 + dice.below(18), 10 + dice.below(3)),
        11 => format!("{}{}!", capital(&one), capital(&two)),
        12 => format!("qwerty{number}"),
        13 => format!("{one}-{two}{number}"),
        14 => format!("#{}{number}", capital(&one)),
        _ => format!("${one}${}", dice.below(10)),
    }
}
