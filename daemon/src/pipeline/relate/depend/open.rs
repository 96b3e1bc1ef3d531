//! Open: two proper names that a verb or a noun joins, where the vocabulary has no word for how.
//!
//! In: a name, the phrases that lead up from it, a sentence's grammar. Out: `related_to`; the evidence tells the words.
//! Invariants: only what is stated, never what is denied; only proper names; two mentions that anything else relates
//! get none; verbs and nouns that say next to nothing join nothing.
//! Not here: phrases that state a relation of the vocabulary (`mod.rs`).

use rustc_hash::FxHashSet;

use super::frames::{Frame, Voice};
use super::object::Phrase;
use super::truth::Truth;
use super::words::is_in;
use super::{Reader, Statements};
use crate::pipeline::parcel::{Evidence, Party};
use crate::pipeline::recognize::words::is_ordinary;

/// What a joining word states that no row of the vocabulary has.
const FRAME: Frame =
    Frame { predicate: "related_to", is_backward: false, weight: 0.5, pattern: "depend:open" };

/// Longest phrase from the joining word to the name, stems; `sends the keys of` has three.
const MAX_STEMS: usize = 3;

/// Verbs that join nothing of themselves.
const LIGHT_VERBS: &str = "be have do let becom seem appear remain mean want need like think know see say get go come \
     take consid look happen tri start stop continu begin help allow";

/// Nouns that count, sort or point instead of joining.
const LIGHT_NOUNS: &str = "one kind type sort form number set list lot exampl version varieti seri case instanc way \
     copi bit half most some all many each rest amount rang pair group name part end top side use result time day \
     year month week";

/// Words after which the second name is compared, left out, or only resembles.
const PARTING: &str =
    "as like unlik than without except instead versus vs despit besid regardless about";

/// Adds to `out` what joins the name at token `i` to others.
pub(super) fn relate(reader: &Reader<'_>, (i, phrases): (usize, &[Phrase]), out: &mut Statements) {
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
                    reader.state((subject, i), &FRAME, (phrase, truth), out);
                }
            }
        }
        return;
    }
}

/// Leaves out pairs that `known` relates in more telling words.
pub(super) fn without_known(open: Statements, known: &[Evidence]) -> Vec<Evidence> {
    let pair = |e: &Evidence| (e.subject.min(e.object), e.subject.max(e.object));
    let is_mention = |party: Party| matches!(party, Party::Mention(_));
    let told = known.iter().filter(|e| is_mention(e.subject) && is_mention(e.object));
    let told: FxHashSet<(Party, Party)> = told.map(pair).collect();
    open.all.into_iter().filter(|e| !told.contains(&pair(e))).collect()
}

fn may_join(reader: &Reader<'_>, phrase: &Phrase) -> bool {
    let first = phrase.stems.split(' ').next().unwrap_or("");
    let light = if phrase.voice == Voice::Nominal { LIGHT_NOUNS } else { LIGHT_VERBS };
    let is_short = phrase.stems.split(' ').count() <= MAX_STEMS;
    let is_word = reader.tree.word(phrase.anchor).chars().all(char::is_alphabetic);
    is_short && is_word && !phrase.is_denied && !is_in(light, first)
}

/// True for a name that is written as one; of a pronoun, the name it stands for.
fn is_proper(reader: &Reader<'_>, mention: Option<u32>) -> bool {
    let Some((idx, found)) = mention.and_then(|idx| Some((idx, reader.page.mention(idx)?))) else {
        return false;
    };
    let is_own = (idx as usize) < reader.page.doc.mentions.len();
    let name = if is_own { found.span.of(reader.page.text) } else { found.name.as_str() };
    name.contains(char::is_uppercase) && !is_ordinary(name)
}
