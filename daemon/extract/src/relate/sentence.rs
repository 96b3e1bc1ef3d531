//! Sentence: `A uses B, C and D`, `A and B depend on C`, `A is owned by B and runs in C`, `Owned by B.`
//!
//! In: the sentences of a document with their mentions. Out: statements, confidence = weight × proximity.
//! Invariants: only cues between neighboring names count; objects joined by `and` share the cue, and so do subjects;
//! a clause that continues after `and` keeps its subject; questions, negations, conditions and modals state
//! nothing. Linear in mentions.

use super::cues::Form;
use super::gap::{CueBetween, Gap, GapReader, Lead};
use super::page::Page;
use super::{Statement, Statements};
use crate::recognize::words;
use model::document::Party;
use model::terms::{EntityType, Norm, Span};

/// Most subjects of one cue; longer rows are usually lists, and pairs of two long rows would be quadratic.
const MAX_SUBJECTS: usize = 8;
/// Factors for a subject taken from an earlier clause, and for each further object of a list.
const CARRIED: f32 = 0.9;
const SHARED: f32 = 0.95;
/// Most words between the participle or verb that begins such a sentence and the name.
const MAX_ELIDED: usize = 1;
/// First words of a sentence whose first comma ends a clause.
const OPENERS: [&str; 9] =
    ["to", "when", "if", "after", "before", "while", "unless", "because", "once"];
/// Relations that a sentence may state of its section by beginning with a participle: `Owned by …`, `Part of …`.
const LONE_STARTS: [&str; 4] = ["owned_by", "part_of", "located_in", "uses"];
const PREPOSITIONS: [&str; 12] =
    ["of", "for", "in", "on", "with", "from", "to", "by", "at", "via", "into", "inside"];
const ABBREVIATION: &str = "sentence:abbreviation";
const ABBREVIATION_CONFIDENCE: f32 = 0.95;

/// Adds the statements of the sentences.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let mut reader = GapReader::new(page.cues());
    page.for_each_sentence(|sentence, parties, block_idx| {
        let first_word = sentence.of(page.text).split_whitespace().next().unwrap_or("");
        if !matches!(first_word, "If" | "Whether" | "Suppose" | "Unless") {
            let clause =
                Clause { page, sentence, parties, group_start: 0, last: None, out: &mut *out };
            clause.read(&mut reader, page.about(block_idx));
        }
    });
}

/// The last statement: its subjects and cue, and the position of its last object.
struct Last<'v> {
    subjects: Vec<Party>,
    found: CueBetween<'v>,
    confidence: f32,
    object_pos: Option<usize>,
}

/// The state of reading one sentence.
struct Clause<'p, 's, 'o> {
    page: &'p Page<'p>,
    sentence: Span<Norm>,
    parties: &'s [u32],
    /// Where the current list of joint subjects begins.
    group_start: usize,
    last: Option<Last<'p>>,
    out: &'o mut Statements,
}

impl<'p, 's, 'o> Clause<'p, 's, 'o> {
    fn read(mut self, reader: &mut GapReader<'p>, about: Party) {
        self.elided(reader, about);
        // Pairs of neighbors from left to right. A gap may extend the last statement, make a new one, or end it.
        let mut gap = self.gap(0, reader);
        for i in 1..self.parties.len() {
            let next = self.gap(i, reader);
            match gap {
                Gap::CueBetween(found) => self.cued(i - 1, found),
                Gap::Joined { has_and } => self.joined(i - 1, has_and, next),
                Gap::Other => {
                    self.abbreviated(i - 1);
                    self.group_start = i;
                    if let Some(last) = &mut self.last {
                        last.object_pos = None;
                    }
                }
            }
            gap = next;
        }
    }

    /// Returns the meaning of the text between name `i` and the next one.
    fn gap(&self, i: usize, reader: &mut GapReader<'p>) -> Gap<'p> {
        let ends = self.parties.get(i).zip(self.parties.get(i + 1));
        let spans = ends
            .and_then(|(a, b)| Some((self.page.mention(*a)?.span, self.page.mention(*b)?.span)));
        let text = spans.and_then(|(a, b)| self.page.text.get(a.end()..b.start()));
        text.map_or(Gap::Other, |text| reader.read(text))
    }

    /// `Owned by the Trust Team.`: the subject is what the section is about.
    fn elided(&mut self, reader: &mut GapReader<'p>, about: Party) {
        let first = self.parties.first().and_then(|idx| self.page.mention(*idx));
        let head = first.and_then(|m| self.page.text.get(self.sentence.start()..m.span.start()));
        let Some(Gap::CueBetween(found)) = head.map(|text| reader.read(text)) else { return };
        // `Lives in London` says it of the page's subject; whose list `Uses Kafka` stands in is less sure.
        let of_somebody = first.is_some_and(|m| {
            use EntityType::{Location, Organization, Person};
            matches!(m.entity_type, Location | Organization | Person)
        });
        let is_clause = match found.cue.form {
            Form::Base => false,
            Form::Finite => of_somebody && found.cue.predicate != "precedes",
            Form::Leaning => {
                LONE_STARTS.contains(&found.cue.predicate) || found.cue.words == "led by"
            }
        };
        let is_bare = head.is_some_and(|text| {
            let first_word = text.split_whitespace().next().unwrap_or("").to_lowercase();
            text.starts_with(char::is_uppercase)
                && found.cue.words.split(' ').next() == Some(first_word.as_str())
        });
        // `Based on Kafka, we decided …` has another subject, after the comma.
        let after =
            first.and_then(|m| self.page.text.get(m.span.end()..self.sentence.end())).unwrap_or("");
        let is_adjunct = found.cue.form == Form::Leaning
            && after.starts_with(", ")
            && !matches!(self.gap(0, reader), Gap::Joined { .. });
        // In `Replaces references within Markdown`, the object is another noun.
        let is_near = found.n_words <= MAX_ELIDED;
        if is_clause && is_bare && !is_adjunct && is_near && found.lead == Lead::Direct {
            let confidence = confidence_of(&found) * CARRIED;
            self.state(vec![about], found, confidence, 0);
        }
    }

    fn cued(&mut self, i: usize, found: CueBetween<'p>) {
        let is_object = self.last.as_ref().is_some_and(|last| last.object_pos == Some(i));
        let group_start =
            if is_object { i } else { self.group_start.max((i + 1).saturating_sub(MAX_SUBJECTS)) };
        let near = || {
            self.parties.get(group_start..=i).unwrap_or(&[]).iter().map(|idx| Party::Mention(*idx))
        };
        let carries_on = match found.lead {
            Lead::Direct | Lead::Relative => false,
            Lead::And => true,
            Lead::Comma => found.cue.form != Form::Leaning,
        };
        let mut confidence = confidence_of(&found);
        // Which names are the subjects: those of the last statement when the clause continues it (`…, and uses B`),
        // the nearest name after `which`, otherwise all names joined before the cue.
        let subjects: Vec<Party> = match (&self.last, found.lead) {
            (Some(last), _) if carries_on => {
                confidence *= CARRIED;
                last.subjects.clone()
            }
            (None, Lead::And) => Vec::new(),
            (None, Lead::Comma) if carries_on && !self.is_head(group_start) => Vec::new(),
            (_, Lead::Relative) => near().next_back().into_iter().collect(),
            _ => near().collect(),
        };
        // `use` without `s` needs several subjects or a plural before it.
        let is_grammatical = found.cue.form != Form::Base
            || subjects.len() > 1
            || (found.lead != Lead::Comma && self.is_plural(i));
        let is_leaning = found.cue.form == Form::Leaning;
        let is_near = found.lead == Lead::Direct || (found.lead == Lead::Comma && is_leaning);
        let is_inner = is_near && !is_object && self.is_inner(group_start);
        // `a TLS library written in Rust` is about the library, `the Kafka cluster owned by us` about Kafka; in
        // `To begin with X, part of Y …` the comma ends a clause.
        let is_other = found.has_noun && !self.is_definite(group_start)
            || (found.lead == Lead::Comma && is_leaning && self.is_opened(group_start));
        let is_meant = is_grammatical && !is_inner && !is_other;
        if subjects.is_empty() || !is_meant || self.is_denied(i) {
            self.group_start = i + 1;
            return;
        }
        self.state(subjects, found, confidence, i + 1);
    }

    /// `and C` after `A uses B`: A uses C as well, unless C begins a clause of its own.
    fn joined(&mut self, i: usize, has_and: bool, next: Gap<'p>) {
        let Some(last) = self.last.as_ref().filter(|last| last.object_pos == Some(i)) else {
            // `In Alpha, Beta uses Gamma`: a comma before the subject does not join it to the name before.
            if !has_and && matches!(next, Gap::CueBetween(_)) {
                self.group_start = i + 1;
            }
            return;
        };
        let begins_clause = match next {
            Gap::CueBetween(found) => found.lead == Lead::Direct,
            Gap::Joined { .. } | Gap::Other => false,
        };
        if begins_clause {
            self.group_start = i + 1;
            return;
        }
        let (subjects, found, confidence) =
            (last.subjects.clone(), last.found, last.confidence * SHARED);
        self.state(subjects, found, confidence, i + 1);
    }

    /// `Key Management Service (KMS)`: two names of one thing.
    fn abbreviated(&mut self, i: usize) {
        let pair = self.parties.get(i).zip(self.parties.get(i + 1));
        let mentions =
            pair.and_then(|(a, b)| Some((self.page.mention(*a)?, self.page.mention(*b)?)));
        let (Some((a, b)), Some((from, to))) = (mentions, pair) else { return };
        let between = self.page.text.get(a.span.end()..b.span.start()).unwrap_or("");
        let after = self.page.text.get(b.span.end()..).unwrap_or("");
        let is_enclosed = between.trim() == "(" && after.starts_with([')', ',', ';']);
        if is_enclosed && (is_short_for(&b.name, &a.name) || is_short_for(&a.name, &b.name)) {
            let (subject, object) = (Party::Mention(*from), Party::Mention(*to));
            let (pattern, confidence) = (ABBREVIATION, ABBREVIATION_CONFIDENCE);
            self.out.add(
                self.sentence,
                Statement { subject, predicate: "same_as", object, pattern, confidence },
            );
        }
    }

    /// Adds a statement about the name at `object_pos` for each subject.
    fn state(
        &mut self,
        subjects: Vec<Party>,
        found: CueBetween<'p>,
        confidence: f32,
        object_pos: usize,
    ) {
        let Some(object) = self.parties.get(object_pos).map(|idx| Party::Mention(*idx)) else {
            return;
        };
        for subject in &subjects {
            if !self.is_same_name(*subject, object) {
                let (subject, object) =
                    if found.cue.is_backward { (object, *subject) } else { (*subject, object) };
                let (predicate, pattern) = (found.cue.predicate, found.cue.pattern);
                self.out.add(
                    self.sentence,
                    Statement { subject, predicate, object, pattern, confidence },
                );
            }
        }
        // Even if every pair was skipped: names joined to this object still belong to the same statement.
        self.last = Some(Last { subjects, found, confidence, object_pos: Some(object_pos) });
        self.group_start = object_pos + 1;
    }

    /// True when subject and object are the same name.
    fn is_same_name(&self, subject: Party, object: Party) -> bool {
        let name_of = |party: Party| match party {
            Party::Mention(idx) => self.page.name_of(idx),
            Party::Document | Party::Link(_) => None,
        };
        name_of(subject).is_some() && name_of(subject) == name_of(object)
    }

    fn is_plural(&self, i: usize) -> bool {
        let mention = self.parties.get(i).and_then(|idx| self.page.mention(*idx));
        mention.is_some_and(|m| m.span.of(self.page.text).ends_with('s'))
    }

    /// True when the word just before name `i` negates it: `no Redis node uses …`, `unlike Redis`.
    fn is_denied(&self, i: usize) -> bool {
        let mut words = self.words_before(i);
        words.next().is_some_and(|word| {
            is_one_of(&["no", "not", "neither", "nor", "without", "unlike"], word)
        })
    }

    /// True for a name in a prepositional phrase: in `the driver of Alpha uses …`, Alpha is not the subject.
    fn is_inner(&self, i: usize) -> bool {
        let mut words = self.words_before(i).filter(|word| !is_one_of(&["the", "a", "an"], word));
        words.next().is_some_and(|word| is_one_of(&PREPOSITIONS, word))
    }

    /// True for a name after `the`.
    fn is_definite(&self, i: usize) -> bool {
        self.words_before(i).next().is_some_and(|word| word.eq_ignore_ascii_case("the"))
    }

    /// True for a name in a clause before the main one: `To use X, …`.
    fn is_opened(&self, i: usize) -> bool {
        let first = self.words_before(i).last();
        first.is_some_and(|word| is_one_of(&OPENERS, word))
            && !self.words_before(i).any(|word| word.ends_with(','))
    }

    /// True when at most an article and one more word precede name `i` in its sentence.
    fn is_head(&self, i: usize) -> bool {
        self.words_before(i).take(3).count() <= 2
    }

    /// Returns the words before name `i`, the nearest first.
    fn words_before(&self, i: usize) -> impl Iterator<Item = &'p str> {
        let mention = self.parties.get(i).and_then(|idx| self.page.mention(*idx));
        let before =
            mention.and_then(|m| self.page.text.get(self.sentence.start()..m.span.start()));
        before.unwrap_or("").split_whitespace().rev()
    }
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

/// Returns weight × proximity: 1 up to three words between the names, falling to 0.5 at twelve.
fn confidence_of(found: &CueBetween<'_>) -> f32 {
    let n_far = found.n_words.saturating_sub(3).min(9) as f32;
    found.cue.weight * (1.0 - n_far * 0.5 / 9.0)
}

/// True when the capitals of `short` are the initials of `long`'s words without function words.
fn is_short_for(short: &str, long: &str) -> bool {
    let is_caps = (2..=6).contains(&short.len()) && short.bytes().all(|b| b.is_ascii_uppercase());
    let is_word = |word: &&str| !word.is_empty() && !words::is_function_word(word);
    let initials = long.split([' ', '-']).filter(is_word).filter_map(|word| word.chars().next());
    is_caps && initials.flat_map(char::to_uppercase).eq(short.chars())
}
