//! Anaphors: `it`, `its`, `she`, `they`, `the service`, each with the earlier mention that it refers to.
//!
//! In: a document, its sentences and mentions. Out: [`Anaphor`]s in order of place.
//! Invariants: an antecedent precedes its anaphor, in the same section, at most [`MAX_SENTENCES`] sentences back; `it`
//! that announces a clause (`it is clear that`) refers to nothing. Precision goes before recall: a thing is picked up
//! only where it was the subject and the pronoun begins the next sentence; objects are left alone.

use crate::recognize::lexicon;
use model::parcel::{Anaphor, BlockKind, Mention, NormalDoc, Party};
use model::terms::{Confidence, EntityType, Norm, Span};

/// Sentences looked back over, the anaphor's own included.
const MAX_SENTENCES: usize = 4;
const PRONOUN_SCORE: f32 = 0.7;
const DESCRIPTION_SCORE: f32 = 0.8;
/// Score of the document's own name as the antecedent of `it` before anything was mentioned.
const OWN_SCORE: f32 = 0.6;

/// Factor for one more step back.
const CARRIED: f32 = 0.9;

/// Words after `it is` that announce a clause.
const ANNOUNCING: &str = " important possible impossible necessary clear likely unlikely hard easy difficult best \
    better good recommended useful helpful worth time common rare true false safe not also often usually always \
    never obvious customary enough ";
/// Verbs after `it` that announce a clause, or the weather.
const IMPERSONAL: &str =
    " seems appears turns takes took follows happens rains depends makes helps means matters ";

/// The kind of thing that a word may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Person,
    Thing,
    Group,
    Type(EntityType),
}

/// The words of a sentence that may refer back.
struct Found<'a> {
    span: Span<Norm>,
    wants: Wants,
    /// The noun of a description: `service`.
    noun: Option<&'a str>,
    is_first: bool,
}

/// Finds the anaphors.
pub(in crate::recognize) fn find(
    doc: &NormalDoc,
    sentences: &[Span<Norm>],
    mentions: &[Mention],
) -> Vec<Anaphor> {
    let mut out = Vec::new();
    let mut block = 0;
    for (idx, sentence) in sentences.iter().enumerate() {
        while doc.blocks.get(block).is_some_and(|b| b.span.end() <= sentence.start()) {
            block += 1;
        }
        let is_heading =
            doc.blocks.get(block).is_some_and(|b| matches!(b.kind, BlockKind::Heading(_)));
        if is_heading || !doc.is_english_at(sentence.start()) {
            continue;
        }
        for found in words_of(doc, *sentence) {
            let claims = |m: &Mention| {
                m.span.start() < found.span.end() && found.span.start() < m.span.end()
            };
            let at = mentions.partition_point(|m| m.span.end() <= found.span.start());
            if mentions.get(at).is_some_and(|m| claims(m) && m.entity_type != EntityType::Step) {
                continue;
            }
            let scope = Scope { doc, sentences, mentions, block, sentence: idx };
            let carried = || carried(&found, idx, sentences, &out, mentions);
            if let Some((antecedent, score)) = scope.antecedent(&found).or_else(carried) {
                out.push(Anaphor { span: found.span, antecedent, score: Confidence::new(score) });
            }
        }
    }
    out
}

/// Returns the antecedent of the previous sentence's subject, if that is itself an anaphor: `It signs. It also
/// verifies.`
fn carried(
    found: &Found<'_>,
    idx: usize,
    sentences: &[Span<Norm>],
    earlier: &[Anaphor],
    mentions: &[Mention],
) -> Option<(Party, f32)> {
    let own = sentences.get(idx)?;
    let start =
        if found.is_first { sentences.get(idx.checked_sub(1)?)?.start() } else { own.start() };
    let last = earlier.iter().rev().find(|a| a.span.start() == start)?;
    let fits = match last.antecedent {
        Party::Mention(mention) => mentions.get(mention as usize).is_some_and(|m| fits(m, found)),
        Party::Document => found.wants == Wants::Thing,
    };
    fits.then_some((last.antecedent, last.score.get() * CARRIED))
}

/// Where an antecedent is searched.
struct Scope<'a> {
    doc: &'a NormalDoc,
    sentences: &'a [Span<Norm>],
    mentions: &'a [Mention],
    block: usize,
    sentence: usize,
}

impl Scope<'_> {
    /// True for `Ada and Jonas`: either may be meant.
    fn is_joined(&self, fitting: &[(usize, &Mention)]) -> bool {
        let [(_, first), (_, second), ..] = fitting else { return false };
        let between = self.doc.text.get(first.span.end()..second.span.start()).unwrap_or("");
        between.len() <= 10 && between.trim_start().starts_with("and")
    }

    fn antecedent(&self, found: &Found<'_>) -> Option<(Party, f32)> {
        let section = self.doc.blocks.get(self.block).and_then(|b| b.section);
        for back in 0..MAX_SENTENCES {
            let Some(at) = self.sentence.checked_sub(back) else { break };
            let sentence = self.sentences.get(at)?;
            if !self.is_in_section(*sentence, section) {
                break;
            }
            // The first word of a sentence refers to another sentence.
            if back == 0 && found.is_first {
                continue;
            }
            // Things are picked up from the previous sentence, people from further back.
            let is_near = back <= usize::from(found.is_first);
            if !is_near && !matches!(found.wants, Wants::Person | Wants::Type(_)) {
                break;
            }
            if let Some(mention) = self.best_of(*sentence, found) {
                let score = if found.noun.is_some() { DESCRIPTION_SCORE } else { PRONOUN_SCORE };
                return Some((Party::Mention(mention), score - 0.05 * back as f32));
            }
        }
        let is_opening = section.is_none_or(|idx| self.is_title(idx));
        let before = self.mentions.iter().take_while(|m| m.span.end() <= found.span.start());
        let is_opening = is_opening && before.filter(|m| !m.place.in_heading).count() == 0;
        let is_own = is_opening && matches!(found.wants, Wants::Thing) && found.is_first;
        is_own.then_some((Party::Document, OWN_SCORE))
    }

    fn is_in_section(&self, sentence: Span<Norm>, section: Option<u32>) -> bool {
        let at = self.doc.blocks.partition_point(|b| b.span.end() <= sentence.start());
        self.doc.blocks.get(at).is_some_and(|b| b.section == section || section == Some(at as u32))
    }

    fn is_title(&self, heading: u32) -> bool {
        let block = self.doc.blocks.get(heading as usize);
        block.is_some_and(|b| matches!(b.kind, BlockKind::Heading(1)))
    }

    /// Returns the mention of a sentence that an anaphor refers to: for a description the nearest whose name ends in
    /// the noun, else the first that fits, which is most often the subject. `None` where several people fit.
    fn best_of(&self, sentence: Span<Norm>, found: &Found<'_>) -> Option<u32> {
        let from = self.mentions.partition_point(|m| m.span.start() < sentence.start());
        let until = sentence.end().min(found.span.start());
        let before =
            self.mentions.iter().enumerate().skip(from).take_while(|(_, m)| m.span.end() <= until);
        let fitting: Vec<(usize, &Mention)> = before.filter(|(_, m)| fits(m, found)).collect();
        if let Some(noun) = found.noun {
            let ends_so = |m: &Mention| {
                m.name.rsplit([' ', '-']).next().is_some_and(|last| last.eq_ignore_ascii_case(noun))
            };
            let by_name = fitting.iter().rev().find(|(_, m)| ends_so(m));
            let is_typed = matches!(found.wants, Wants::Type(wanted) if is_countable(wanted));
            let by_type = || only(&fitting).filter(|_| is_typed);
            return by_name.or_else(by_type).map(|(idx, _)| *idx as u32);
        }
        let first = fitting.first()?;
        let is_alone = fitting.iter().all(|(_, m)| m.name == first.1.name);
        let is_subject = is_subject(self.doc, sentence, first.1) && !self.is_joined(&fitting);
        let is_person = found.wants == Wants::Person;
        (is_subject || (is_person && is_alone)).then_some(first.0 as u32)
    }
}

/// False for kinds of which a text seldom has more than one: `the team`, `the city`.
fn is_countable(entity_type: EntityType) -> bool {
    use EntityType::{Location, Organization, Project, Service};
    matches!(entity_type, Organization | Service | Project | Location)
}

/// Returns the one name among several mentions.
fn only<'a, 'm>(fitting: &'a [(usize, &'m Mention)]) -> Option<&'a (usize, &'m Mention)> {
    let last = fitting.last()?;
    fitting.iter().all(|(_, m)| m.name == last.1.name).then_some(last)
}

/// True for a name at the beginning of its sentence, an article aside.
fn is_subject(doc: &NormalDoc, sentence: Span<Norm>, mention: &Mention) -> bool {
    let before = doc.text.get(sentence.start()..mention.span.start()).unwrap_or("");
    let mut words = before.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => true,
        (Some(word), None) => matches!(word, "The" | "A" | "An" | "Our" | "This" | "the"),
        _ => false,
    }
}

fn fits(mention: &Mention, found: &Found<'_>) -> bool {
    use EntityType::{Concept, Date, Document, Organization, Person, Step, Version};
    let entity_type = mention.entity_type;
    match found.wants {
        Wants::Person => entity_type == Person,
        Wants::Group => matches!(entity_type, Organization),
        Wants::Thing => !matches!(entity_type, Person | Date | Step | Version),
        Wants::Type(wanted) => {
            let ends_so = found.noun.is_some_and(|noun| {
                mention.name.rsplit([' ', '-']).next().is_some_and(|w| w.eq_ignore_ascii_case(noun))
            });
            ends_so || entity_type == wanted || (wanted == Concept && entity_type == Document)
        }
    }
}

fn words_of<'a>(doc: &'a NormalDoc, sentence: Span<Norm>) -> Vec<Found<'a>> {
    let text = sentence.of(&doc.text);
    let mut out = Vec::new();
    let mut words = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|w| !w.is_empty())
        .peekable();
    let mut is_first = true;
    while let Some(word) = words.next() {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let next = words.peek().copied().unwrap_or("");
        let wants = match lower_of(word).as_str() {
            "he" | "she" | "his" | "him" | "her" => Some(Wants::Person),
            "their" => Some(Wants::Group),
            "they" if is_first => Some(Wants::Group),
            "its" => Some(Wants::Thing),
            "it" if is_first && !is_impersonal(text, start + word.len()) => Some(Wants::Thing),
            _ => None,
        };
        let span =
            |from: usize, to: usize| Span::new(sentence.start() + from, sentence.start() + to);
        if let Some(wants) = wants {
            out.push(Found { span: span(start, start + word.len()), wants, noun: None, is_first });
        } else if matches!(word, "the" | "The" | "this" | "This")
            && next.starts_with(char::is_lowercase)
            && let Some(wants) = lexicon::type_of_noun(next)
        {
            let end = next.as_ptr() as usize - text.as_ptr() as usize + next.len();
            if ends_phrase(text.get(end..).unwrap_or("")) {
                out.push(Found {
                    span: span(start, end),
                    wants: Wants::Type(wants),
                    noun: Some(next),
                    is_first,
                });
            }
        }
        is_first = false;
    }
    out
}

/// Returns a word in small letters if it may be a pronoun, else nothing: most words need no copy.
fn lower_of(word: &str) -> String {
    let begins_so = word.starts_with(['i', 'I', 'h', 'H', 't', 'T', 's', 'S']);
    if word.len() <= 5 && begins_so { word.to_lowercase() } else { String::new() }
}

/// True when the phrase ends with the noun: `the service mesh` is not a service.
fn ends_phrase(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(' ') else { return !rest.starts_with(['-', '_', '/']) };
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_lowercase();
    const GOES_ON_AS_VERB: &str = " is was are were has had have does did do can could will would may might must \
        should uses used runs ran reads writes stores keeps sends calls needs requires depends belongs lives supports \
        provides handles owns creates returns then also still now only itself and or but to in on at \
        for with by from as when while which that until before after ";
    word.is_empty() || word.ends_with("ed") || GOES_ON_AS_VERB.contains(&format!(" {word} "))
}

/// True for an `it` that announces something: `it is important to`, `it seems`.
fn is_impersonal(text: &str, end: usize) -> bool {
    let rest = text.get(end..).unwrap_or("").to_lowercase();
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let first = words.next().unwrap_or("");
    let is_listed = |list: &str, word: &str| list.contains(&format!(" {word} "));
    match first {
        "is" | "was" | "s" | "be" | "would" | "will" | "may" | "might" => {
            let next = words.next().unwrap_or("");
            let next = if next == "be" { words.next().unwrap_or("") } else { next };
            is_listed(ANNOUNCING, next)
        }
        word => is_listed(IMPERSONAL, word),
    }
}
