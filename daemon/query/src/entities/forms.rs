//! Forms: recognizes how a line of a document describes something that it names: `Custom statuses
//! are …`, `Ryū, an algorithm for …`, `a pattern known as a stream`, `jobs: the number of …`, a row
//! of a table.
//!
//! In: a line (a paragraph, heading, list item or row) and a name in it. Out: the wording, and the
//! sentence or item that uses it.
//! Invariants: what was done to a thing (`was added in`), questions and remarks (`is a lot of`) are
//! no descriptions; linear in the line.

use extract::chunk::sentences;

/// A wording that describes what something is or does; the most informative first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// `X is a …`.
    Kind,
    /// `X: …`, `X - …` as a block of its own; a row that begins with X.
    Entry,
    /// `a pattern called X`, `known as X`.
    Named,
    /// `X, a …`, `X (an …)`, `X: A …`.
    Apposition,
    /// `Xs represent …`, `The X type keeps …`, `X is used to …`.
    Does,
    /// `X, in which …`.
    Relative,
    /// `X are …`; `…, X is a …`.
    Are,
    /// `X is the …`, which is as often a remark.
    Remark,
    /// `Calling X stops …`, `The call to X …`.
    Call,
    /// `X to read proxies`, `X for tests` as a block of its own; another cell of a row.
    Purpose,
    /// `Framework: X`.
    Label,
    /// `the X function that …`; `a template such as X`; `the first conference: X`.
    Role,
    /// `X can …`, `X will …`.
    May,
    /// `the X function …`, `with X to …`.
    Use,
}

impl Form {
    /// Returns how informative the wording is, 0 to 100.
    pub(super) fn points(self) -> i32 {
        match self {
            Form::Kind => 90,
            Form::Entry => 84,
            Form::Named => 80,
            Form::Apposition => 74,
            Form::Does => 70,
            Form::Relative => 68,
            Form::Are => 66,
            Form::Remark => 56,
            Form::Call => 60,
            Form::Purpose => 58,
            Form::Label | Form::Role => 54,
            Form::May => 52,
            Form::Use => 44,
        }
    }
}

/// Words that may precede a name at the start of a sentence.
const ARTICLES: [&str; 9] = ["", "the", "a", "an", "our", "this", "each", "every", "rust's"];

/// Nouns next to a name that state its kind.
const NOUNS: &str = " \
    api app application attribute block button class command conference constant crate directive extension \
    feature field file filter flag format framework function handler header key keyword label language \
    library macro method metric mode module operator option package page panel parameter plugin port \
    procedure process program property protocol server service setting statement struct syntax system table \
    tag team template theme tool trait type utility value variable view ";

/// Base forms of verbs that describe what something does; with an `s` they follow a singular.
const VERBS: &str = " \
    accept act add adjust affect allow answer apply automate build bundle change check coerce collect combine \
    compare compile configure connect contain control convert copy count cover create decide define describe \
    determine disable discover display do embed enable ensure exist expand export expose extend find follow \
    force format generate get give group handle have help hide hold identify ignore implement include \
    increment indicate keep let limit link list live load look make manage map mark match mean measure \
    monitor move need offer open organize override parse point prefer prevent print process produce protect \
    provide pull query read receive record refer reference register remove render replace represent require \
    resolve respond return run save scrape search select send serve set show sit sort specify stand start \
    stay stop store supply support take tell test track transform translate turn use wait work wrap write \
    yield ";

/// Participles and other words that, after `is`, describe what something does.
const USED: &str = " \
    called made meant used for how where what designed intended responsible based built defined written known \
    short similar like equivalent capable able ";

/// Words that, after `is a` or `are`, make a remark rather than a definition.
const REMARKS: &str = " \
    mix fine core second third more less only same best first last most case reason default right way next \
    good bad better great lot bit must little few not no now also still already always never often available \
    here there done ready free new old part able going both all too very ";

/// Adverbs before a verb, and after `is`, that change nothing.
const ADVERBS: &str = " only also simply just then automatically currently always ";
const HEDGES: &str = " only simply just basically essentially typically usually ";

/// Ends of the text before a name that is being introduced.
const NAMED: [&str; 10] = [
    " called ",
    " named ",
    " known as ",
    " termed ",
    " dubbed ",
    " referred to as ",
    " call this ",
    " call it ",
    " abbreviated ",
    " calls this ",
];

/// Beginnings of the text after a name that is described in passing.
const APPOSED: [&str; 12] = [
    ", a ",
    ", an ",
    ", one of ",
    " (a ",
    " (an ",
    " (the ",
    ": a ",
    ": an ",
    ": A ",
    ": An ",
    " — a ",
    " — an ",
];
const RELATIVE: [&str; 4] = [", which ", ", in which ", ", by which ", ", where "];

/// First words of a clause that ends before the comma after a name: `With X, the …` does not
/// describe X.
const OPENERS: &str = " \
    after although as at because before by during every for from if in like on once since to unlike until \
    using when whenever while with without ";

/// Words that follow a verb in the third person, but not a plural noun.
const DETERMINERS: &str = " \
    a all an another any both each every how its more no not one only some that the these this those to two \
    up what when where whether which you your ";

/// Separators between a name and its meaning in a list.
const SIGNS: [&str; 6] = [": ", " - ", " – ", " — ", " -- ", " = "];

/// Fewest words of a meaning.
const MIN_WORDS: usize = 3;

/// Most words of a label before a name.
const MAX_LABEL_WORDS: usize = 3;

/// Returns how a line describes the name at `at`, and where in the line.
pub(super) fn form_of(line: &str, at: usize, surface: &str) -> Option<(Form, (usize, usize))> {
    let end = at + surface.len();
    if line.contains(" | ") {
        return row(line, at, end).map(|form| (form, (0, line.len())));
    }
    let sentence = sentences(line).find(|it| it.contains(&at))?;
    let before = line.get(sentence.start..at)?;
    let after = line.get(end..sentence.end)?;
    if after.ends_with('?') {
        return None;
    }
    let span = (sentence.start, sentence.end);
    let is_lead = sentence.start == 0 && before.is_empty();
    if let Some(form) = lead(after, is_lead).or_else(|| label(line, at, end)) {
        return Some((form, span));
    }
    in_sentence(before, after, surface).map(|form| (form, span))
}

/// A row of a table: its first cell names what the other cells explain.
fn row(line: &str, at: usize, end: usize) -> Option<Form> {
    let mut cells = Vec::new();
    let mut start = 0;
    for cell in line.split(" | ") {
        cells.push((start, start + cell.len()));
        start += cell.len() + " | ".len();
    }
    let own = cells.iter().position(|(start, stop)| *start <= at && end <= *stop)?;
    let (start, stop) = *cells.get(own)?;
    let is_whole = line.get(start..stop)?.trim().len() <= end - at + " <value>".len() + 4;
    let explains = |(idx, (start, stop)): (usize, &(usize, usize))| {
        idx != own && line.get(*start..*stop).is_some_and(|cell| has_words(cell, MIN_WORDS))
    };
    let is_explained = is_whole && cells.iter().enumerate().any(explains);
    is_explained.then_some(if own == 0 { Form::Entry } else { Form::Purpose })
}

/// A block that begins with the name, followed by its meaning.
fn lead(after: &str, is_lead: bool) -> Option<Form> {
    if !is_lead {
        return None;
    }
    // `--path <path>: …`, `clone(x) - …`.
    let sign = SIGNS.iter().filter_map(|sign| Some((after.find(sign)?, sign.len()))).min()?;
    let gap = after.get(..sign.0)?;
    // `nodejs/undici: …` names something else.
    let is_whole = gap.is_empty() || gap.starts_with([' ', '(', '<', '=', '[', '`']);
    let is_near = is_whole && (gap.split_whitespace().count() <= 1 || gap.ends_with(')'));
    let meaning = after.get(sign.0 + sign.1..)?;
    (is_near && has_words(meaning, MIN_WORDS)).then_some(Form::Entry)
}

/// `Framework: Astro`.
fn label(line: &str, at: usize, end: usize) -> Option<Form> {
    let before = line.get(..at)?.strip_suffix(": ")?;
    let is_short = !before.is_empty() && !has_words(before, MAX_LABEL_WORDS + 1);
    let rest = line.get(end..)?.trim_matches(|c: char| !c.is_alphanumeric());
    (is_short && rest.is_empty()).then_some(Form::Label)
}

fn in_sentence(before: &str, after: &str, surface: &str) -> Option<Form> {
    let subject = subject(before);
    let after_sign = past_parenthesis(after);
    let (predicate, is_plural, has_noun) = past_noun(after_sign, surface.ends_with('s'));
    let (predicate, is_plural, has_noun) = match past_other(predicate) {
        Some(rest) => {
            let (rest, _, has_other_noun) = past_noun(rest, true);
            (rest, true, has_noun || has_other_noun)
        }
        None => (predicate, is_plural, has_noun),
    };
    match subject.and_then(|place| Some((place, predicate_form(predicate, is_plural)?))) {
        // `The closure uses v` is about one particular closure.
        Some((Subject::Whole, Form::Does | Form::May))
            if !has_noun && is_one_of_many(before, surface) =>
        {
            return Some(Form::Use);
        }
        Some((Subject::Whole, form)) => return Some(form),
        Some((Subject::Clause, Form::Kind)) => return Some(Form::Are),
        _ => {}
    }
    let lower = format!(" {}", before.to_lowercase());
    let opener = lower.split_whitespace().next().unwrap_or("");
    let is_opened = is_listed(OPENERS, opener) && !before.contains(',');
    let goes_on = |words: &[&str]| words.iter().any(|it| predicate.starts_with(it));
    if !is_opened {
        let apposed = APPOSED.iter().find_map(|it| after.strip_prefix(it));
        let apposed = apposed.or_else(|| after.strip_prefix(", the ").filter(|it| is_closed(it)));
        if apposed.is_some_and(|rest| has_words(rest, 2)) {
            return Some(Form::Apposition);
        }
        if goes_on(&RELATIVE) {
            return Some(Form::Relative);
        }
    }
    let named = lower.strip_suffix(" a ").or_else(|| lower.strip_suffix(" an "));
    let named = named.or_else(|| lower.strip_suffix(" the ")).map(|it| format!("{it} "));
    let named = named.as_ref().unwrap_or(&lower);
    if NAMED.iter().any(|it| named.ends_with(it)) {
        return Some(Form::Named);
    }
    let calls = [" calling ", " the call to ", " the calls to ", " a call to "];
    if calls.contains(&lower.as_str()) {
        return Some(Form::Call);
    }
    if subject == Some(Subject::Whole) && (after.starts_with(" to ") || after.starts_with(" for "))
    {
        return Some(Form::Purpose);
    }
    let is_answer = lower.ends_with(": ") && has_words(&lower, 2) && !has_words(after, 1);
    let is_role = has_noun && goes_on(&[" that ", " which ", " defined ", " provided ", " for "]);
    // `A Rust library for …` is about the library.
    let is_of_name = has_noun && !matches!(before.trim(), "A" | "An");
    let is_about = after.strip_prefix(": ").is_some_and(|it| has_words(it, MIN_WORDS));
    if is_example(&lower) || is_answer || is_about || (is_role && is_of_name) {
        return Some(Form::Role);
    }
    (is_of_name || (!has_noun && goes_on(&[" to ", " for "]))).then_some(Form::Use)
}

/// Returns whether a phrase ends before another member of a list: `the stable Rust, the latest nightly
/// and the one of last year` goes on.
fn is_closed(phrase: &str) -> bool {
    let phrase = phrase.split([',', ';', '.', ')']).next().unwrap_or(phrase);
    ![" and ", " or "].iter().any(|it| phrase.contains(it))
}

/// `The closure`, `this thread`: one instance of a kind; the name is in lowercase.
fn is_one_of_many(before: &str, surface: &str) -> bool {
    let is_definite = ["The", "This", "Our", "Its"].contains(&before.trim());
    is_definite && surface.chars().all(|c| c.is_lowercase() || c == ' ' || c == '-')
}

/// Skips ` (stdout)`, unless it describes the name before it.
fn past_parenthesis(after: &str) -> &str {
    let Some(inside) = after.strip_prefix(" (") else { return after };
    let is_short = |end: &usize| inside.get(..*end).is_some_and(|it| !has_words(it, MIN_WORDS));
    inside.find(')').filter(is_short).and_then(|end| inside.get(end + 1..)).unwrap_or(after)
}

/// Skips ` and Send`, another name of the same subject.
fn past_other(after: &str) -> Option<&str> {
    let rest = after.strip_prefix(" and ").or_else(|| after.strip_prefix(" or "))?;
    let end = rest.find(' ')?;
    rest.get(end..)
}

/// Where a name is the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Of the sentence.
    Whole,
    /// Of a later clause.
    Clause,
}

/// Returns whether a name after these words is a subject: `The`, `The function`, `Short for
/// extension,`.
fn subject(before: &str) -> Option<Subject> {
    let lower = before.trim_end().to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let is_article =
        |word: &str| ARTICLES.contains(&word) || word.ends_with("’s") || word.ends_with("'s");
    let is_noun = |word: &&str| NOUNS.contains(&format!(" {word} "));
    let rest = match words.split_last() {
        None => return Some(Subject::Whole),
        Some((last, rest)) if is_noun(last) => rest,
        Some(_) => words.as_slice(),
    };
    let is_whole = match rest {
        [] => true,
        [word] => is_article(word),
        [word, _] => is_article(word) && rest.len() < words.len(),
        _ => false,
    };
    let is_clause = lower.ends_with(',') || lower.ends_with(':') || lower.ends_with(", the");
    match (is_whole, is_clause) {
        (true, _) => Some(Subject::Whole),
        (false, true) => Some(Subject::Clause),
        _ => None,
    }
}

/// Skips the noun for the kind after a name, and returns whether it is a plural; `The println!
/// macro` continues after `macro`.
fn past_noun(after: &str, is_plural: bool) -> (&str, bool, bool) {
    let word = after.strip_prefix(' ').map(|it| it.split(' ').next().unwrap_or(it)).unwrap_or("");
    let word = word.trim_end_matches([',', '.', ';', ':', ')']);
    let singular = word.strip_suffix("es").filter(|it| it.ends_with("ss"));
    let singular = singular.or_else(|| word.strip_suffix('s')).unwrap_or(word);
    let is_noun = [word, singular].iter().any(|it| NOUNS.contains(&format!(" {it} ")));
    if word.is_empty() || !is_noun {
        return (after, is_plural, false);
    }
    let rest = after.get(1 + word.len()..).unwrap_or("");
    (rest, word.ends_with('s') && !word.ends_with("ss"), true)
}

/// Returns what a predicate says about its subject.
fn predicate_form(predicate: &str, is_plural: bool) -> Option<Form> {
    let mut words = predicate.strip_prefix(' ')?.split_whitespace();
    let word = words.find(|it| !is_listed(ADVERBS, it))?;
    let plain = |word: &'_ str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    match word {
        "is" | "are" => {
            let next = words.find(|it| !is_listed(HEDGES, it))?;
            let then = words.next().map(plain).unwrap_or_default();
            let is_remark = is_listed(REMARKS, &then);
            match next {
                "a" | "an" | "any" | "another" => (!is_remark).then_some(Form::Kind),
                "one" | "short" => Some(Form::Kind),
                "the" => (!is_remark && !then.is_empty()).then_some(Form::Remark),
                _ if is_listed(USED, next) => Some(Form::Does),
                _ if is_listed(REMARKS, next) => None,
                // `are attached`, `are being read` describe what is done to them.
                _ => (word == "are" && !next.ends_with("ed") && !next.ends_with("ing"))
                    .then_some(Form::Are),
            }
        }
        "means" | "denotes" | "refers" | "stands" => Some(Form::Kind),
        "can" | "will" | "may" | "must" | "cannot" => Some(Form::May),
        _ => {
            let base = if is_plural { Some(word) } else { base_of(word) };
            let is_known = base.is_some_and(|base| {
                is_listed(VERBS, base) || is_listed(VERBS, base.trim_end_matches('e'))
            });
            // `supplies a …` must be a verb, even an unlisted one.
            let next = words.next().unwrap_or("");
            let is_verb = !is_plural
                && word.ends_with('s')
                && !word.ends_with("ss")
                && is_listed(DETERMINERS, next);
            (is_known || is_verb && word.chars().all(char::is_lowercase)).then_some(Form::Does)
        }
    }
}

/// Returns the base form of a verb in the third person.
fn base_of(word: &str) -> Option<&str> {
    match word {
        "has" => Some("have"),
        "does" => Some("do"),
        "matches" | "searches" | "fetches" | "processes" | "accesses" => word.strip_suffix("es"),
        _ => word.strip_suffix('s'),
    }
}

/// Recognizes `a template such as X`, also after other examples: `tools like A (Linux), B, or X`.
fn is_example(before: &str) -> bool {
    let like = before.rsplit_once("s like ").or_else(|| before.rsplit_once("s including "));
    let Some((kind, examples)) = before.rsplit_once(" such as ").or(like) else { return false };
    let is_listing = examples.split([',', '(', ')']).all(|it| !has_words(it, MIN_WORDS));
    is_listing && has_words(kind, 1)
}

fn is_listed(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {word} "))
}

fn has_words(text: &str, n: usize) -> bool {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
    words.take(n).count() == n
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_says_what_the_thing_is_that_it_names() {
        let rows = [
            ("The println! macro prints to the output.", "println!", Some(Form::Does)),
            ("Native histograms are a metric type.", "Native histograms", Some(Form::Kind)),
            ("Closures are anonymous functions.", "Closures", Some(Form::Are)),
            ("Labels are attached to metrics.", "Labels", None),
            ("Ryū, an algorithm for numbers.", "Ryū", Some(Form::Apposition)),
            ("Short for extension, Ext is a common pattern.", "Ext", Some(Form::Are)),
            (
                "Filters can limit. Custom statuses represent tasks.",
                "Custom statuses",
                Some(Form::Does),
            ),
            ("Custom Statuses were introduced in 1.23.", "Custom Statuses", None),
            ("We call Rc often.", "Rc", None),
            ("Rc matters.", "Rc", None),
            ("The gate is the first one.", "gate", None),
            ("The gate is the door of the yard.", "gate", Some(Form::Remark)),
            ("A much more general pattern known as a stream.", "stream", Some(Form::Named)),
            ("The fn type is called a function pointer.", "function pointer", Some(Form::Named)),
            ("card - Display it in a box", "card", Some(Form::Entry)),
            ("--path <path>: the path of a note", "--path", Some(Form::Entry)),
            ("Framework: Astro", "Astro", Some(Form::Label)),
            ("no_proxy to exclude addresses", "no_proxy", Some(Form::Purpose)),
            ("--path | The path of a note", "--path", Some(Form::Entry)),
            ("cmd+b | toggleBold | Make selection bold", "toggleBold", Some(Form::Purpose)),
            ("cmd+b | toggleBold | -", "toggleBold", None),
            ("A distribution such as TeXLive (Linux), or MikTeX", "MikTeX", Some(Form::Role)),
            ("The calls to sleep force a thread to stop.", "sleep", Some(Form::Call)),
            ("We use the spawn function to make a thread.", "spawn", Some(Form::Use)),
            ("What is a gate?", "gate", None),
            (
                "Parallel programming, in which parts run at once, pays.",
                "Parallel programming",
                Some(Form::Relative),
            ),
            ("When we call Rc, the count goes up.", "Rc", None),
            ("Closures and iterators are features.", "Closures", Some(Form::Are)),
            ("Unlike closures, fn is a type.", "fn", Some(Form::Are)),
            ("The closure uses v.", "closure", Some(Form::Use)),
            ("StreamExt supplies a set of methods.", "StreamExt", Some(Form::Does)),
            (
                "It has two kinds: standard output (stdout) for results.",
                "standard output",
                Some(Form::Use),
            ),
            ("A tool is only capable of printing.", "tool", Some(Form::Does)),
            ("We use tools like Icinga, Thruk or Zabbix.", "Thruk", Some(Form::Role)),
            ("nodejs/undici: a client for HTTP", "nodejs", None),
            ("A Rust library for scripts.", "Rust", None),
            ("The spawn function for tasks is safe.", "spawn", Some(Form::Role)),
            ("Prometheus, the server of metrics, starts.", "Prometheus", Some(Form::Apposition)),
            ("It supports stable Rust, the latest nightly and the oldest.", "Rust", None),
        ];
        for (line, name, expected) in rows {
            let at = line.find(name).expect("it is there");
            assert_eq!(form_of(line, at, name).map(|it| it.0), expected, "{line}");
        }
        let line = "One. The Rc type keeps track.";
        let (_, span) = form_of(line, 9, "Rc").expect("a sentence");
        assert_eq!(&line[span.0..span.1], "The Rc type keeps track.");
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_harm(before in "\\PC{0,60}", name in "\\PC{1,9}", after in "\\PC{0,60}") {
            let line = format!("{before}{name}{after}");
            if let Some((_, (start, end))) = form_of(&line, before.len(), &name) {
                prop_assert!(line.get(start..end).is_some());
            }
        }
    }
}
