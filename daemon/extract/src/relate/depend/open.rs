//! Open: two proper names connected by a verb or noun that is not in the vocabulary.
//!
//! In: a name, the phrases that lead up from it, a sentence's grammar. Out: `located_in`, `part_of`, `owned_by` or
//! `uses`, if the types on both sides and the preposition decide; otherwise `related_to`. The evidence holds the
//! words.
//! Invariants: only what is stated, never what is denied; only proper names; nothing for two mentions that have
//! another relation; verbs and nouns without a meaning of their own are ignored.

use rustc_hash::FxHashSet;

use super::frames::{Frame, Voice};
use super::object::Phrase;
use super::truth::Truth;
use super::words::is_in;
use super::{Reader, Statement, Statements};
use crate::recognize::words::is_ordinary;
use crate::relate::page::Page;
use model::parcel::{Evidence, Mention, Party};
use model::terms::{EntityType, Span};

/// The relation where neither the vocabulary nor the types decide.
const RELATED: Frame = frame("related_to", 0.5);
const LOCATED: Frame = frame("located_in", 0.6);
const MEMBER: Frame = frame("part_of", 0.55);
const OWNED: Frame = frame("owned_by", 0.55);
const USED: Frame = frame("uses", 0.55);

const fn frame(predicate: &'static str, weight: f32) -> Frame {
    Frame { predicate, is_backward: false, weight, pattern: "depend:open" }
}

/// Longest phrase from the verb or noun to the name, in stems; `sends the keys of` has three.
const MAX_STEMS: usize = 3;

/// Stems of verbs that relate nothing by themselves.
const LIGHT_VERBS: &str = "be have do let becom seem appear remain mean want need like think know see say get go come \
     take consid look happen tri start stop continu begin help allow";

/// Stems of nouns that count, sort or point and relate nothing by themselves.
const LIGHT_NOUNS: &str = "one kind type sort form number set list lot exampl version varieti seri case instanc way \
     copi bit half most some all many each rest amount rang pair group name part end top side use result time day \
     year month week";

/// Stems of verbs that place a person; other verbs say what happened there.
const STAYS: &str = "work live sit resid stay teach servi base locat";

/// Stems of verbs whose subject uses the place it puts something in: `keeps its rows in Postgres`.
const KEEPS: &str = "keep store hold save record cach index persist log write wrap encod implement";

/// Words that make the second name a comparison, an exception, or only similar.
const PARTING: &str =
    "as like unlik than without except instead versus vs despit besid regardless about";

/// Adds to `out` the relations between the name at token `i` and the subjects of its phrases.
pub(super) fn relate(reader: &Reader<'_>, i: usize, phrases: &[Phrase], out: &mut Statements) {
    if !reader.tree.mention(i).is_some_and(|it| is_proper(reader.page, it)) {
        return;
    }
    for phrase in phrases.iter().filter(|phrase| may_join(reader, phrase)) {
        let (mut subjects, truth) = reader.clause_of(phrase);
        subjects.retain(|it| !it.is_denied && is_proper(reader.page, it.mention));
        if subjects.is_empty() {
            continue;
        }
        if matches!(truth, Truth::Stated(_)) {
            for subject in subjects {
                let mut between = subject.token.min(i) + 1..subject.token.max(i);
                if !between.any(|at| is_in(PARTING, reader.tree.word(at))) {
                    let frame = frame_of(reader, phrase, subject.mention, i);
                    reader.state(subject, i, &frame, phrase, truth, out);
                }
            }
        }
        // Only the shortest phrase that has subjects: longer ones would relate the same pair by other words.
        return;
    }
}

/// Drops pairs of mentions that `known` relates more specifically.
pub(super) fn without_known(open: Statements, known: &[Evidence]) -> Vec<Evidence> {
    let pair = |e: &Evidence| (e.subject.min(e.object), e.subject.max(e.object));
    let is_mention = |party: Party| matches!(party, Party::Mention(_));
    let pairs = known.iter().filter(|e| is_mention(e.subject) && is_mention(e.object));
    let pairs: FxHashSet<(Party, Party)> = pairs.map(pair).collect();
    open.all.into_iter().filter(|e| !pairs.contains(&pair(e))).collect()
}

/// Returns the relation of a phrase, by the types on its two sides and its last preposition.
fn frame_of(reader: &Reader<'_>, phrase: &Phrase, subject: u32, object: usize) -> Frame {
    use EntityType::{Location, Organization, Person};
    let type_of = |idx: u32| reader.page.mention(idx).map(|m| m.entity_type);
    let object = reader.tree.mention(object).and_then(type_of);
    let (Some(subject), Some(object)) = (type_of(subject), object) else { return RELATED };
    let mut stems = phrase.stems.split(' ');
    let (first, last) = (stems.next().unwrap_or(""), stems.next_back().unwrap_or(""));
    let is_noun = phrase.voice == Voice::Nominal;
    let is_put = matches!(last, "with" | "via" | "over" | "through" | "on") && !is_noun;
    // In order of precedence: a person who `met in` a city is not located there, so this comes first.
    match (subject, object) {
        (Person, Location) if !is_noun && !is_in(STAYS, first) => RELATED,
        (_, Location) if matches!(last, "in" | "at") => LOCATED,
        (Person, Organization) if matches!(last, "at" | "for") => MEMBER,
        (Person, _) => RELATED,
        (_, Organization) if last == "by" && is_noun => OWNED,
        _ if is_made(subject) && is_made(object) && is_put => USED,
        _ if is_made(subject) && is_made(object) && last == "in" && is_in(KEEPS, first) => USED,
        _ => RELATED,
    }
}

/// True for types of what people make and run.
fn is_made(entity_type: EntityType) -> bool {
    use EntityType::{Api, Product, Project, Service, Standard, Technology};
    matches!(entity_type, Product | Service | Technology | Api | Project | Standard)
}

/// Adds that a place is in the one that follows it after a comma: `Grenoble, France`. Lists of places state nothing.
pub(super) fn places(reader: &Reader<'_>, out: &mut Statements) {
    let things: Vec<(u32, &Mention)> = reader
        .line
        .things
        .iter()
        .filter_map(|idx| Some((*idx, reader.page.mention(*idx)?)))
        .collect();
    let gap = |i: usize| {
        let ((_, a), (_, b)) = (things.get(i)?, things.get(i + 1)?);
        reader.page.text.get(a.span.end()..b.span.start())
    };
    let is_place =
        |i: usize| things.get(i).is_some_and(|(_, m)| m.entity_type == EntityType::Location);
    let is_row =
        |i: usize| matches!(gap(i).map(str::trim), Some("," | "and" | "or" | ", and" | "&"));
    for i in 0..things.len().saturating_sub(1) {
        let follows_another = i > 0 && is_row(i - 1);
        if gap(i) != Some(", ")
            || follows_another
            || is_row(i + 1)
            || !(is_place(i) && is_place(i + 1))
        {
            continue;
        }
        let (Some((inner, a)), Some((outer, b))) = (things.get(i), things.get(i + 1)) else {
            continue;
        };
        let statement = Statement {
            subject: Party::Mention(*inner),
            predicate: LOCATED.predicate,
            object: Party::Mention(*outer),
            pattern: LOCATED.pattern,
            confidence: LOCATED.weight,
        };
        out.add(Span::new(a.span.start(), b.span.end()), statement);
    }
}

fn may_join(reader: &Reader<'_>, phrase: &Phrase) -> bool {
    let first = phrase.stems.split(' ').next().unwrap_or("");
    let light = if phrase.voice == Voice::Nominal { LIGHT_NOUNS } else { LIGHT_VERBS };
    let is_short = phrase.stems.split(' ').count() <= MAX_STEMS;
    let is_word = reader.tree.word(phrase.anchor).chars().all(char::is_alphabetic);
    is_short && is_word && !phrase.is_denied && !is_in(light, first)
}

/// True for a name that is capitalized and not an ordinary word; a pronoun is judged by its antecedent's name.
pub(super) fn is_proper(page: &Page<'_>, idx: u32) -> bool {
    let Some(found) = page.mention(idx) else { return false };
    let is_own = (idx as usize) < page.doc.mentions.len();
    let name = if is_own { found.span.of(page.text) } else { found.name.as_str() };
    name.contains(char::is_uppercase) && !is_ordinary(name)
}
