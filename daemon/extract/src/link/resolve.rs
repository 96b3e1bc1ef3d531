//! Resolve: decides which entity a name denotes, given the facts of its block.
//!
//! In: the facts of a name and of the names that share a blocking key with it. Out: one [`Decision`].
//! Invariants: the same facts give the same decision, in whatever order they came; a name is only linked to one of
//! higher authority, or of more words, so chains end; a note's title or alias is never merged away; where two
//! candidates are equally good, the name is unsure and denotes nothing.

use std::borrow::Borrow;
use std::rc::Rc;

use config::settings::Link;

use super::blocking::{MIN_EDIT_CHARS, MIN_JACCARD};
use super::features::{
    Features, Words, are_inflections, digits_agree, edit_distance_is_one, jaccard,
    one_specifies_the_other, popularity, series_agree, share_a_model_number, string_similarity,
    type_agreement,
};
use super::form::are_one_form;
use model::document::StatedSource;
use model::terms::{EntityType, tokens_of};

/// The facts about one name, over all documents.
#[derive(Debug, Clone, PartialEq)]
pub struct NameFacts {
    /// Row of the name; a handle, never compared.
    pub id: i64,
    /// The norm.
    pub norm: String,
    /// The most frequent surface; ties go to the smaller.
    pub surface: String,
    /// The type most mentions give it.
    pub entity_type: EntityType,
    /// Whether that is sure enough to be shown.
    pub is_type_sure: bool,
    /// Whether it is a name, rather than words of general meaning.
    pub names_a_thing: bool,
    /// Documents that mention it.
    pub n_docs: u32,
    /// Notes that state it as their own name by the strongest kind of statement that any of them makes; without notes,
    /// pages (HTML, text) that have it beside their title.
    pub homes: Vec<i64>,
    /// That kind of statement; without homes, a page has it as its title.
    pub home_source: Option<StatedSource>,
    /// False for names that may only be linked by an exact match.
    pub is_fuzzy: bool,
    /// True when documents use it for several things (`split.rs`).
    pub is_split: bool,
}

/// The other names that documents use a name for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// The one name that it is an alias of in every document.
    pub everywhere: Option<i64>,
    /// Names that it may be an alias of in documents that do not say which; empty when it denotes itself there.
    pub elsewhere: Vec<i64>,
    /// Document and name, where a document states it; ordered by document.
    pub by_doc: Vec<(i64, i64)>,
}

/// A name that may denote the same entity as another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its row.
    pub name: i64,
    /// The weighted sum of the features.
    pub score: f32,
}

/// The decision about a name, and the runners-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// The best candidates that were not chosen, best first. For an unsure name: what it could denote. For a name of
    /// its own: candidates from the lower threshold on, which score too little or may differ in more than their form.
    pub proposals: Vec<Candidate>,
}

impl NameFacts {
    /// The number stored for its type.
    pub fn type_code(&self) -> i64 {
        self.entity_type.voted_code(self.is_type_sure, self.names_a_thing)
    }

    /// Orders names by authority: stated names before mined ones, widely used before rare, then by norm. The norm
    /// decides ties, never a row id: a rebuild must choose the same.
    pub fn authority(&self) -> (u8, u32, &str) {
        let stated = match self.home_source {
            // Several homes give no authority: a link to the name would be a link to one of them, unknown which.
            Some(source) if self.homes.len() == 1 => source as u8,
            _ => u8::MAX,
        };
        (stated, u32::MAX - self.n_docs, &self.norm)
    }

    fn outranks(&self, other: &NameFacts) -> bool {
        self.authority() < other.authority()
    }
}

/// What a name denotes.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The document that states it.
    Home(i64),
    /// Several documents state it: each mention is decided separately (`vote.rs`).
    Ambiguous(Vec<i64>),
    /// Denotes the same as another name, which was chosen by score.
    Via {
        /// That name's row.
        name: i64,
        /// The weighted sum of the features.
        score: f32,
    },
    /// May be one of several things; denotes nothing until a person decides.
    Unsure,
    /// An entity of its own.
    Own,
}

/// Facts that `decide` looks up on demand, since they cost a query.
pub trait Surroundings {
    /// Cosine of two names' vectors.
    fn cosine(&self, a: &NameFacts, b: &NameFacts) -> f32;
    /// Overlap of the titles and tags of the documents that mention the two.
    fn context(&self, a: &NameFacts, b: &NameFacts) -> f32;
    /// Returns what documents use the name for.
    fn usage(&self, name: &NameFacts) -> Rc<Usage>;
    /// Returns a person's decision on whether `a` and `b` are one: true accepts, false rejects.
    fn verdict(&self, a: &NameFacts, b: &NameFacts) -> Option<bool>;
}

/// Most candidates kept for review.
const MAX_PROPOSALS: usize = 3;

/// Score of a name that documents show to be an alias of another.
pub const USED_SCORE: f32 = 0.95;

/// Decides one name. `candidates` are the names that share a key with it, in any order.
pub fn decide<Facts: Borrow<NameFacts>>(
    name: &NameFacts,
    candidates: &[Facts],
    weights: &Link,
    around: &dyn Surroundings,
) -> Decided {
    let plain = |decision| Decided { decision, proposals: Vec::new() };
    match name.homes.as_slice() {
        [] => {}
        [home] => return plain(Decision::Home(*home)),
        homes => return plain(Decision::Ambiguous(homes.to_vec())),
    }
    // The title of a page (HTML, text) stays its own.
    if name.home_source.is_some() {
        return plain(Decision::Own);
    }
    let usage = around.usage(name);
    if let Some(target) = usage.everywhere {
        return plain(Decision::Via { name: target, score: USED_SCORE });
    }
    if !usage.elsewhere.is_empty() {
        let proposed =
            usage.elsewhere.iter().map(|name| Candidate { name: *name, score: USED_SCORE });
        return Decided { decision: Decision::Unsure, proposals: proposed.collect() };
    }
    if name.is_split {
        return plain(Decision::Unsure);
    }
    if !name.is_fuzzy {
        return plain(Decision::Own);
    }
    let candidates: Vec<&NameFacts> = candidates.iter().map(Borrow::borrow).collect();
    if let Some(decided) = by_whole_names(name, &candidates, weights, around) {
        return decided;
    }
    by_score(name, &candidates, weights, around)
}

/// Decides a given name or surname that no document explains, when people of that name are known: the one whom it may
/// mean; with several, the name is unsure. Returns `None` when there are none.
fn by_whole_names(
    name: &NameFacts,
    candidates: &[&NameFacts],
    weights: &Link,
    around: &dyn Surroundings,
) -> Option<Decided> {
    let is_part = name.entity_type == EntityType::Person && tokens_of(&name.surface).len() == 1;
    let is_whole = |it: &&NameFacts| {
        let words = tokens_of(&it.surface);
        let ends = [words.first(), words.last()];
        it.entity_type == EntityType::Person
            && words.len() > 1
            && ends.into_iter().flatten().any(|word| *word == name.norm)
    };
    let mut wholes: Vec<&NameFacts> =
        candidates.iter().copied().filter(|_| is_part).filter(is_whole).collect();
    // Candidates come in any order; sort them, so that the first proposals are the same after a rebuild.
    wholes.sort_by(|a, b| a.authority().cmp(&b.authority()));
    let verdict = |it: &&NameFacts| around.verdict(name, it);
    if let Some(whole) = wholes.iter().find(|it| verdict(it) == Some(true)) {
        let decision = Decision::Via { name: whole.id, score: 1.0 };
        return Some(Decided { decision, proposals: Vec::new() });
    }
    wholes.retain(|it| verdict(it).is_none());
    let decision = match wholes.as_slice() {
        [] => return None,
        [whole] => Decision::Via { name: whole.id, score: weights.tau2 },
        _ => Decision::Unsure,
    };
    let is_open = decision == Decision::Unsure;
    let proposed = wholes
        .iter()
        .filter(|_| is_open)
        .map(|it| Candidate { name: it.id, score: weights.propose });
    Some(Decided { decision, proposals: proposed.take(MAX_PROPOSALS).collect() })
}

/// Decides by score: links to the best candidate with at least τ₂ that is the name in another form, unless a different
/// thing scores nearly as high. Candidates that differ in what may distinguish things are only proposed.
fn by_score(
    name: &NameFacts,
    candidates: &[&NameFacts],
    weights: &Link,
    around: &dyn Surroundings,
) -> Decided {
    let side = Side::of(name);
    let mut scored: Vec<(f32, &NameFacts)> = candidates
        .iter()
        .copied()
        // Aliases of other names and names of several things are not targets. `outranks` makes every link go up in
        // authority, so no two names link to each other.
        .filter(|c| c.is_fuzzy && (!c.is_split || c.homes.len() == 1) && c.outranks(name))
        .filter(|c| around.usage(c).stands_for_itself())
        .filter_map(|candidate| {
            Some((score_of(&side, &Side::of(candidate), weights, around)?, candidate))
        })
        .filter(|(score, _)| *score >= weights.propose)
        .collect();
    scored.sort_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| one.authority().cmp(&other.authority()))
    });
    let as_candidate =
        |(score, name): &(f32, &NameFacts)| Candidate { name: name.id, score: *score };
    let proposals = || scored.iter().take(MAX_PROPOSALS).map(as_candidate).collect();
    let mut linkable = scored.iter().filter(|(score, candidate)| {
        *score >= weights.tau2 && is_one_name(name, candidate, around)
    });
    let Some((top, best)) = linkable.next().copied() else {
        return Decided { decision: Decision::Own, proposals: proposals() };
    };
    let has_rival = linkable.any(|(score, other)| {
        *score >= top - weights.margin && !are_one(best, other, weights, around)
    });
    if has_rival {
        return Decided { decision: Decision::Unsure, proposals: proposals() };
    }
    let decision = Decision::Via { name: best.id, score: top };
    Decided { decision, proposals: Vec::new() }
}

/// True when two names are one in two forms, products of one model number, or one by a person's verdict. A common noun
/// is no form of what somebody calls by it: `exports` in a text are not the block `export`.
fn is_one_name(name: &NameFacts, candidate: &NameFacts, around: &dyn Surroundings) -> bool {
    name.names_a_thing == candidate.names_a_thing && are_one_form(&name.surface, &candidate.surface)
        || are_one_model(name, candidate)
        || around.verdict(name, candidate) == Some(true)
}

/// True when the weaker of two candidates would itself be linked to the stronger. Uses only facts about the two, so
/// the result changes only when one of them does.
fn are_one(a: &NameFacts, b: &NameFacts, weights: &Link, around: &dyn Surroundings) -> bool {
    let (higher, lower) = if a.outranks(b) { (a, b) } else { (b, a) };
    let is_movable = lower.homes.is_empty() && lower.home_source.is_none();
    let score = || score_of(&Side::of(lower), &Side::of(higher), weights, around);
    is_movable && score().is_some_and(|score| score >= weights.tau2)
}

impl Usage {
    /// True when it denotes itself in documents that do not say otherwise.
    pub fn stands_for_itself(&self) -> bool {
        self.everywhere.is_none() && self.elsewhere.is_empty()
    }
}

/// One of two names that are compared.
struct Side<'a> {
    facts: &'a NameFacts,
    words: Words,
}

impl<'a> Side<'a> {
    fn of(facts: &'a NameFacts) -> Self {
        Side { facts, words: Words::of(&facts.surface) }
    }
}

/// Returns the score of a candidate; `None` when the two are not compared. A person's verdict sets it to 1 or `None`.
fn score_of(
    name: &Side<'_>,
    candidate: &Side<'_>,
    weights: &Link,
    around: &dyn Surroundings,
) -> Option<f32> {
    let (one, other) = (name.facts, candidate.facts);
    match around.verdict(one, other) {
        Some(true) => return Some(1.0),
        Some(false) => return None,
        None => {}
    }
    if other.homes.len() > 1 || are_different(name, candidate) {
        return None;
    }
    // The same conditions as those under which the two share a key (`blocking.rs`).
    let is_near = edit_is_tolerated(&one.norm, &other.norm)
        || jaccard(&name.words, &candidate.words) >= MIN_JACCARD
        || are_inflections(&name.words, &candidate.words)
        || are_one_model(one, other);
    if !is_near && around.cosine(one, other) < weights.tau1 {
        return None;
    }
    let without_context = features_of(name, candidate, around, 0.0).score(weights);
    // The context costs a query, so it is computed only where it can change the decision.
    if without_context >= weights.tau2 || without_context + weights.context < weights.propose {
        return Some(without_context);
    }
    Some(features_of(name, candidate, around, around.context(one, other)).score(weights))
}

/// True when the names show that they are different things, however similar they are.
fn are_different(name: &Side<'_>, candidate: &Side<'_>) -> bool {
    let (one, other) = (name.facts, candidate.facts);
    let (a, b) = (&name.words, &candidate.words);
    if are_one_model(one, other) {
        // First: numbers and words around a model number may differ.
        return false;
    }
    // A country and its people: `Germany` and `German`.
    let is_derived = || {
        [one, other].map(|it| it.entity_type) == [EntityType::Location; 2]
            && (one.norm.starts_with(&other.norm) || other.norm.starts_with(&one.norm))
            && !are_inflections(a, b)
            && jaccard(a, b) < 1.0
    };
    !digits_agree(&one.norm, &other.norm)
        || !series_agree(a, b)
        || one_specifies_the_other(a, b) && !are_inflections(a, b)
        || is_derived()
}

/// True when both are products of one model number: the other words about them may differ.
fn are_one_model(name: &NameFacts, candidate: &NameFacts) -> bool {
    [name, candidate].map(|it| it.entity_type) == [EntityType::Product; 2]
        && share_a_model_number(&name.surface, &candidate.surface)
}

/// Returns the similarity of the letters. Names that differ only in inflection, or share a model number, get 1.
fn string_feature(name: &Side<'_>, candidate: &Side<'_>) -> f32 {
    let (one, other) = (name.facts, candidate.facts);
    if are_one_model(one, other) || are_inflections(&name.words, &candidate.words) {
        return 1.0;
    }
    string_similarity(&one.norm, &other.norm)
}

/// Returns all five features of a candidate, given its context.
pub fn features(
    name: &NameFacts,
    candidate: &NameFacts,
    around: &dyn Surroundings,
    context: f32,
) -> Features {
    features_of(&Side::of(name), &Side::of(candidate), around, context)
}

fn features_of(
    name: &Side<'_>,
    candidate: &Side<'_>,
    around: &dyn Surroundings,
    context: f32,
) -> Features {
    let (one, other) = (name.facts, candidate.facts);
    Features {
        cosine: around.cosine(one, other).max(0.0),
        string: string_feature(name, candidate),
        entity_type: type_agreement(one.entity_type, other.entity_type),
        context,
        popularity: popularity(other.n_docs),
    }
}

fn edit_is_tolerated(a: &str, b: &str) -> bool {
    a.chars().count().min(b.chars().count()) >= MIN_EDIT_CHARS && edit_distance_is_one(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::terms::norm_of;

    struct Table {
        cosine: f32,
        context: f32,
        verdict: Option<bool>,
    }
    impl Surroundings for Table {
        fn cosine(&self, _: &NameFacts, _: &NameFacts) -> f32 {
            self.cosine
        }
        fn context(&self, _: &NameFacts, _: &NameFacts) -> f32 {
            self.context
        }
        fn usage(&self, _: &NameFacts) -> Rc<Usage> {
            Rc::default()
        }
        fn verdict(&self, _: &NameFacts, _: &NameFacts) -> Option<bool> {
            self.verdict
        }
    }

    fn facts(id: i64, surface: &str, n_docs: u32, homes: &[i64]) -> NameFacts {
        NameFacts {
            id,
            norm: norm_of(surface),
            surface: surface.into(),
            entity_type: EntityType::Service,
            is_type_sure: true,
            names_a_thing: true,
            n_docs,
            homes: homes.to_vec(),
            home_source: (!homes.is_empty()).then_some(StatedSource::Title),
            is_fuzzy: true,
            is_split: false,
        }
    }

    fn decide_with(name: &NameFacts, candidates: &[NameFacts], table: Table) -> Decision {
        decide(name, candidates, &Link::default(), &table).decision
    }

    const NEAR: Table = Table { cosine: 0.9, context: 0.0, verdict: None };

    #[test]
    fn a_stated_name_denotes_its_note() {
        assert_eq!(
            decide_with(&facts(1, "Signing Service", 3, &[7]), &[], NEAR),
            Decision::Home(7)
        );
    }

    #[test]
    fn a_name_of_two_notes_waits_for_its_place() {
        let name = facts(1, "Overview", 3, &[7, 9]);
        assert_eq!(decide_with(&name, &[], NEAR), Decision::Ambiguous(vec![7, 9]));
    }

    #[test]
    fn a_near_name_links_to_the_one_of_higher_authority() {
        let (plural, home) =
            (facts(1, "Signing Services", 9, &[]), facts(2, "Signing Service", 1, &[7]));
        assert!(matches!(decide_with(&plural, std::slice::from_ref(&home), NEAR),
            Decision::Via { name: 2, score } if score >= 0.72));
        assert_eq!(decide_with(&home, &[plural], NEAR), Decision::Home(7));
    }

    #[test]
    fn a_common_noun_is_no_form_of_a_name() {
        let home = facts(2, "Export", 9, &[7]);
        let noun = NameFacts { names_a_thing: false, ..facts(1, "exports", 3, &[]) };
        assert_eq!(decide_with(&noun, std::slice::from_ref(&home), NEAR), Decision::Own);
        let name = NameFacts { names_a_thing: true, ..noun };
        assert!(matches!(decide_with(&name, &[home], NEAR), Decision::Via { name: 2, .. }));
    }

    #[test]
    fn numbers_that_differ_never_merge() {
        let (a, b) = (facts(1, "Cluster node 11", 1, &[]), facts(2, "Cluster node 12", 5, &[]));
        assert_eq!(decide_with(&a, &[b], NEAR), Decision::Own);
    }

    #[test]
    fn a_more_specific_name_is_another_thing() {
        let rows = [
            ("Foam", "Using Foam", false),
            ("Key Service", "Key Management Service", false),
            ("the Key Service", "Key Service", true),
        ];
        for (a, b, links) in rows {
            let decision = decide_with(&facts(1, a, 1, &[]), &[facts(2, b, 5, &[])], NEAR);
            assert_eq!(matches!(decision, Decision::Via { .. }), links, "{a} / {b}");
        }
    }

    #[test]
    fn context_decides_what_the_letters_leave_open() {
        let a = facts(1, "Customer Data Exports", 1, &[]);
        let b = facts(2, "Customer Data Export", 5, &[]);
        let far = Table { cosine: 0.62, context: 0.0, verdict: None };
        let same_place = Table { cosine: 0.62, context: 1.0, verdict: None };
        assert_eq!(decide_with(&a, std::slice::from_ref(&b), far), Decision::Own);
        assert!(matches!(decide_with(&a, &[b], same_place), Decision::Via { name: 2, .. }));
    }

    #[test]
    fn a_word_that_differs_is_proposed_however_near_the_names_are() {
        let a = facts(1, "Customer Data Export Job", 1, &[]);
        let b = facts(2, "Customer Data Export Run", 5, &[]);
        let near = Table { cosine: 0.9, context: 1.0, verdict: None };
        let decided = decide(&a, std::slice::from_ref(&b), &Link::default(), &near);
        assert_eq!(decided.decision, Decision::Own);
        assert_eq!(decided.proposals.first().map(|it| it.name), Some(2));
        let accepted = Table { verdict: Some(true), ..near };
        assert_eq!(decide_with(&a, &[b], accepted), Decision::Via { name: 2, score: 1.0 });
    }

    #[test]
    fn a_persons_verdict_stands_above_the_score() {
        let (a, b) = (facts(1, "Signing Services", 1, &[]), facts(2, "Signing Service", 5, &[]));
        let rejected = Table { verdict: Some(false), ..NEAR };
        assert_eq!(decide_with(&a, std::slice::from_ref(&b), rejected), Decision::Own);
        let accepted = Table { cosine: 0.0, context: 0.0, verdict: Some(true) };
        assert_eq!(decide_with(&a, &[b], accepted), Decision::Via { name: 2, score: 1.0 });
    }

    #[test]
    fn two_candidates_as_good_as_each_other_are_no_decision() {
        let name = facts(1, "Signing Servicex", 1, &[]);
        let rivals = [facts(2, "Signing Servicem", 4, &[8]), facts(3, "Signing Servicen", 4, &[9])];
        let decided = decide(&name, &rivals, &Link::default(), &NEAR);
        assert_eq!(decided.decision, Decision::Unsure);
        assert_eq!(decided.proposals.iter().map(|it| it.name).collect::<Vec<_>>(), [2, 3]);
        // Variants of the same thing are not rivals.
        let variants = [facts(2, "Signing Servicem", 4, &[]), facts(3, "Signing Servicen", 4, &[])];
        assert!(matches!(decide_with(&name, &variants, NEAR), Decision::Via { name: 2, .. }));
    }

    #[test]
    fn a_first_name_of_several_known_people_is_unsure_and_of_one_is_that_person() {
        let person = |id, surface| NameFacts {
            entity_type: EntityType::Person,
            ..facts(id, surface, 2, &[])
        };
        let ruth = person(1, "Ruth");
        let known = [person(2, "Ruth Adler"), person(3, "Ruth Bianchi"), person(4, "Ada Moreno")];
        let by = |verdict, known: &[NameFacts]| {
            let table = Table { cosine: 0.2, context: 0.0, verdict };
            let decided = decide(&ruth, known, &Link::default(), &table);
            (decided.decision, decided.proposals.iter().map(|it| it.name).collect::<Vec<_>>())
        };
        assert_eq!(by(None, &known), (Decision::Unsure, vec![2, 3]));
        let bianchi = Decision::Via { name: 3, score: Link::default().tau2 };
        assert_eq!(by(None, &known[1..]), (bianchi, vec![]));
        assert_eq!(by(None, &known[2..]), (Decision::Own, vec![]));
        assert_eq!(by(Some(false), &known), (Decision::Own, vec![]), "a person said no to all");
        assert_eq!(by(Some(true), &known[..1]).0, Decision::Via { name: 2, score: 1.0 });
        let service = NameFacts { entity_type: EntityType::Service, ..ruth.clone() };
        assert_eq!(decide_with(&service, &known, Table { cosine: 0.2, ..NEAR }), Decision::Own);
    }

    #[test]
    fn what_lies_between_the_thresholds_is_proposed_and_not_done() {
        let a = facts(1, "Customer Data Export Job", 1, &[]);
        let b = facts(2, "Customer Data Export Run", 5, &[]);
        let far = Table { cosine: 0.72, context: 0.0, verdict: None };
        let decided = decide(&a, std::slice::from_ref(&b), &Link::default(), &far);
        assert_eq!(decided.decision, Decision::Own);
        assert_eq!(decided.proposals.first().map(|it| it.name), Some(2));
        let no = Table { verdict: Some(false), ..far };
        assert_eq!(decide(&a, &[b], &Link::default(), &no).proposals, []);
    }

    #[test]
    fn the_order_of_candidates_does_not_matter() {
        let name = facts(1, "Signing Servicez", 1, &[]);
        let mut candidates = vec![
            facts(2, "Signing Service", 4, &[]),
            facts(3, "Signing Services", 4, &[]),
            facts(4, "Signing Server", 4, &[]),
        ];
        let first = decide_with(&name, &candidates, NEAR);
        candidates.reverse();
        assert_eq!(decide_with(&name, &candidates, NEAR), first);
    }
}
