//! Open: two proper names that a verb or a noun joins in words that the vocabulary lacks.
//!
//! In: a name, the phrases that lead up from it, a sentence's grammar. Out: `located_in`, `part_of`, `owned_by` or
//! `uses`, where the types on both sides and the preposition decide; else `related_to`. The evidence holds the words.
//! Invariants: only what is stated, never what is denied; only proper names; two mentions that have another relation
//! get none here; verbs and nouns that say next to nothing join nothing.
//! Not here: phrases that state a relation of the vocabulary (`mod.rs`).

use rustc_hash::FxHashSet;

use super::frames::{Frame, Voice};
use super::object::Phrase;
use super::truth::Truth;
use super::words::is_in;
use super::{Reader, Statement, Statements};
use crate::recognize::words::is_ordinary;
use model::parcel::{Evidence, Mention, Party};
use model::terms::{EntityType, Span};

/// The relation where no row of the vocabulary matches and types decide nothing.
const RELATED: Frame = frame("related_to", 0.5);
const LOCATED: Frame = frame("located_in", 0.6);
const MEMBER: Frame = frame("part_of", 0.55);
const OWNED: Frame = frame("owned_by", 0.55);
const USED: Frame = frame("uses", 0.55);

const fn frame(predicate: &'static str, weight: f32) -> Frame {
    Frame { predicate, is_backward: false, weight, pattern: "depend:open" }
}

/// Longest phrase from the joining word to the name, stems; `sends the keys of` has three.
const MAX_STEMS: usize = 3;

/// Verbs that join nothing by themselves.
const LIGHT_VERBS: &str = "be have do let becom seem appear remain mean want need like think know see say get go come \
     take consid look happen tri start stop continu begin help allow";

/// Nouns that count, sort or point instead of joining.
const LIGHT_NOUNS: &str = "one kind type sort form number set list lot exampl version varieti seri case instanc way \
     copi bit half most some all many each rest amount rang pair group name part end top side use result time day \
     year month week";

/// Verbs that place a person; other verbs say what happened there.
const STAYS: &str = "work live sit resid stay teach servi base locat";

/// Verbs that put something into what they use: `keeps its rows in Postgres`.
const KEEPS: &str = "keep store hold save record cach index persist log write wrap encod implement";

/// Words after which the second name is compared, left out, or only resembles.
const PARTING: &str =
    "as like unlik than without except instead versus vs despit besid regardless about";

/// Adds to `out` what joins the name at token `i` to others.
pub(super) fn relate(reader: &Reader<'_>, i: usize, phrases: &[Phrase], out: &mut Statements) {
    if !is_proper(reader, reader.tree.mention(i)) {
        return;
    }
    for phrase in phrases.iter().filter(|phrase| may_join(reader, phrase)) {
        let (mut subjects, truth) = reader.clause_of(phrase);
        subjects.retain(|it| !it.is_denied && is_proper(reader, Some(it.mention)));
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
        return;
    }
}

/// Drops pairs that `known` relates more specifically.
pub(super) fn without_known(open: Statements, known: &[Evidence]) -> Vec<Evidence> {
    let pair = |e: &Evidence| (e.subject.min(e.object), e.subject.max(e.object));
    let is_mention = |party: Party| matches!(party, Party::Mention(_));
    let told = known.iter().filter(|e| is_mention(e.subject) && is_mention(e.object));
    let told: FxHashSet<(Party, Party)> = told.map(pair).collect();
    open.all.into_iter().filter(|e| !told.contains(&pair(e))).collect()
}

/// Returns the relation of a phrase, by the types on its two sides and the word before the second name.
fn frame_of(reader: &Reader<'_>, phrase: &Phrase, subject: u32, object: usize) -> Frame {
    use EntityType::{Location, Organization, Person};
    let type_of = |idx: u32| reader.page.mention(idx).map(|m| m.entity_type);
    let object = reader.tree.mention(object).and_then(type_of);
    let (Some(subject), Some(object)) = (type_of(subject), object) else { return RELATED };
    let mut stems = phrase.stems.split(' ');
    let (first, last) = (stems.next().unwrap_or(""), stems.next_back().unwrap_or(""));
    let is_noun = phrase.voice == Voice::Nominal;
    let is_put = matches!(last, "with" | "via" | "over" | "through" | "on") && !is_noun;
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

/// Adds that a place lies in the one that follows it after a comma: `Grenoble, France`. Rows of places state nothing.
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

/// True for a name that is written like one; for a pronoun, the same of its antecedent.
fn is_proper(reader: &Reader<'_>, mention: Option<u32>) -> bool {
    let Some((idx, found)) = mention.and_then(|idx| Some((idx, reader.page.mention(idx)?))) else {
        return false;
    };
    let is_own = (idx as usize) < reader.page.doc.mentions.len();
    let name = if is_own { found.span.of(reader.page.text) } else { found.name.as_str() };
    name.contains(char::is_uppercase) && !is_ordinary(name)
}
