//! Names of people, as far as their form shows: after a title, after an introduction, or a common first name before a
//! surname. Many are missed: there is no statistical model here.

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::{Pattern, matches, pattern};

/// A word of a name, and particles between them.
const WORD: &str = r"\p{Lu}[\p{L}'’]{1,20}(?:-\p{Lu}[\p{L}'’]{1,20})?";
const MORE: &str = concat!(
    r"(?: (?:\p{Lu}\.|(?:van|von|de|da|di|del|della|la|le|bin|al|d",
    r"er|den|ter|af|dos|el) ?){0,3} ?\p{Lu}[\p{L}'’\-]{1,24}){0,3}",
);

static TITLED: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    pattern(&format!(
        concat!(
            r"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Madam|Dame|Lord|Lady|Rev|Reverend|Father|Sister|",
            r"Capt|Captain|Sgt|Sergeant|Lt|Lieutenant|Colonel|General|Judge|Senator|Herr|Frau|Monsieur|Madame|",
            r"Mme|Mlle|Señor|Señora|Signor|Signora)\.? (?<name>{WORD}{MORE})",
        ),
        WORD = WORD,
        MORE = MORE
    ))
});
static INTRODUCED: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i:\b(?:my name is|name is|i am called|this is|i'm|sincerely,?|regards,?|signed,?|attn:?|",
        r"name:|full name:|contact:|author:|patient:|employee:)) ?\n?(?<name>\p{Lu}[\p{L}'’\-]{1,20}(?: \p{Lu}",
        r"\.)?(?: \p{Lu}[\p{L}'’\-]{1,24}){0,2})",
    ))
});
static FULL: Pattern = LazyLock::new(|| {
    pattern(&format!(
        r"{WORD}(?: \p{{Lu}}\.){{0,2}}(?: (?:van|von|de|da|di|del|la|bin|al|der|den|dos)){{0,2}} {WORD}"
    ))
});

/// Common first names of Europe and the Americas, a space between them.
const FIRST_NAMES: &str = "\
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark \
    donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary \
    nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander raymond patrick \
    jack dennis jerry tyler aaron jose adam henry nathan douglas zachary peter kyle walter ethan jeremy harold keith \
    christian roger noah gerald carl terry sean austin arthur lawrence jesse dylan bryan joe jordan billy bruce albert \
    willie gabriel logan alan juan wayne roy ralph randy eugene vincent russell elijah louis bobby philip johnny mary \
    patricia jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa betty margaret sandra ashley \
    kimberly emily donna michelle carol amanda dorothy melissa deborah stephanie rebecca sharon laura cynthia kathleen \
    amy angela shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn janet \
    catherine maria heather diane ruth julie olivia joyce virginia victoria kelly lauren christina joan evelyn judith \
    megan andrea cheryl hannah jacqueline martha gloria teresa ann sara madison frances kathryn janice jean abigail \
    alice julia judy sophia grace denise amber doris marilyn danielle beverly isabella theresa diana natalie brittany \
    charlotte marie kayla alexis lori hans peter klaus jürgen wolfgang stefan andreas michael thomas markus sebastian \
    florian lukas jonas felix maximilian ursula monika petra sabine claudia katrin anja heike birgit jens uwe dieter \
    pierre jean michel philippe alain nicolas laurent julien antoine guillaume françois isabelle sophie nathalie \
    céline camille chloé manon léa giuseppe giovanni antonio mario luigi marco francesco alessandro matteo luca giulia \
    chiara francesca paolo stefano elena valentina carlos josé luis manuel javier miguel alejandro pedro pablo sergio \
    carmen ana isabel lucía marta cristina pilar joão paulo pedro rui ana beatriz mariana jan piotr krzysztof andrzej \
    tomasz paweł marcin michał agnieszka małgorzata katarzyna magdalena ivan dmitri dmitry sergei alexei vladimir \
    nikolai mikhail igor oleg olga tatiana natalia svetlana irina ekaterina anastasia erik lars anders johan karl \
    nils sven magnus henrik mats per ole kari ingrid astrid sigrid freja mikko juha antti matti timo päivi lászló \
    istván zoltán józsef ferenc ahmed mohamed mohammed muhammad ali hassan hussein omar fatima aisha ibrahim yusuf \
    mehmet mustafa ayşe wei li ming hiroshi takashi kenji yuki akira raj rahul amit priya anil sanjay deepak sunita";

static FIRST: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| FIRST_NAMES.split_whitespace().collect());

/// Returns the places of names.
pub(super) fn names(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for pattern in [&TITLED, &INTRODUCED] {
        let Some(pattern) = pattern.as_ref() else { continue };
        let names = pattern.captures_iter(text).filter_map(|it| it.name("name"));
        out.extend(names.map(|it| it.range()));
    }
    out.extend(matches(text, &FULL, |text, range| {
        let shown = text.get(range.clone()).unwrap_or("");
        let first = shown.split([' ', '-']).next().unwrap_or("").to_lowercase();
        FIRST.contains(first.as_str())
    }));
    out
}
