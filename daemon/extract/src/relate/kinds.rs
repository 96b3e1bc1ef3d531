//! Kinds: what a sentence states by its form: `tools such as A and B`, `A is a tool that`; and what a qualified name
//! states by itself: `Rc::clone` is part of `Rc`.
//!
//! In: the sentences of a document with their mentions. Out: `is_a`, `part_of`.
//! Invariants: a kind is a term in lowercase letters; conditions, questions and denials state nothing; linear in
//! mentions.

use rustc_hash::{FxHashMap, FxHashSet};

use super::page::Page;
use super::{Statement, Statements};
use model::document::Party;
use model::terms::{Norm, Span};

/// Words between a plural kind and its examples, with their confidence.
const EXAMPLES: [(&str, f32); 8] = [
    ("such as", 0.85),
    ("such as the", 0.85),
    ("including", 0.75),
    ("including the", 0.75),
    ("e g", 0.8),
    ("for example", 0.75),
    ("for instance", 0.75),
    ("namely", 0.85),
];
/// Words between a thing and its kind.
const IS_A: [&str; 6] = ["is a", "is an", "is one of the", "was a", "was an", "are"];
/// Words that may follow a kind; after others, such as nouns, the kind is only the first part of a longer term.
const AFTER_KIND: &str = "that which who for of in on with to from and or where whose used provided written made built \
     designed developed by at as";
/// Words between the last example and its kind.
const OTHERS: [&str; 4] = ["and other", "or other", "and all other", "and similar"];
const IS_A_CONFIDENCE: f32 = 0.75;
const QUALIFIED: f32 = 0.8;

/// Adds what the forms state.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    page.for_each_sentence(|sentence, things, _| {
        let text = sentence.of(page.text);
        let first = text.split_whitespace().next().unwrap_or("").to_lowercase();
        if matches!(first.as_str(), "if" | "whether" | "suppose" | "when" | "unless") {
            return;
        }
        let row = Row { page, sentence, things };
        for at in 0..things.len().saturating_sub(1) {
            row.kind_before(at, out);
            row.kind_after(at, out);
            row.is_a(at, out);
        }
    });
    qualified(page, out);
}

/// The things of a sentence, with the sentence.
struct Row<'a> {
    page: &'a Page<'a>,
    sentence: Span<Norm>,
    things: &'a [u32],
}

impl Row<'_> {
    fn span(&self, at: usize) -> Option<Span<Norm>> {
        Some(self.page.mention(*self.things.get(at)?)?.span)
    }

    /// Returns the text between a thing and the next; `?`, which matches no form, after the last.
    fn gap(&self, at: usize) -> &str {
        let ends = self.span(at).zip(self.span(at + 1));
        ends.and_then(|(a, b)| self.page.text.get(a.end()..b.start())).unwrap_or("?")
    }

    /// Returns the index after the last of the things joined by `,`, `and` or `or`, from `at` on.
    fn end_of_list(&self, at: usize) -> usize {
        let is_joint = |gap: &str| {
            matches!(gap.trim(), "," | "and" | "or" | ", and" | ", or" | "&") && gap.len() < 8
        };
        (at..self.things.len())
            .find(|i| !is_joint(self.gap(*i)))
            .map_or(self.things.len(), |i| i + 1)
    }

    /// True when a thing is written in lowercase: a kind, not a name.
    fn is_kind(&self, at: usize) -> bool {
        let name = self.span(at).map_or("", |span| span.of(self.page.text));
        !name.is_empty() && name.chars().all(|c| c.is_lowercase() || c == ' ' || c == '-')
    }

    fn is_plural_kind(&self, at: usize) -> bool {
        let name = self.span(at).map_or("", |span| span.of(self.page.text));
        self.is_kind(at) && name.ends_with('s') && !name.ends_with("ss")
    }

    /// Returns the text after a thing, up to the end of its sentence.
    fn rest(&self, at: usize) -> &str {
        let end = self.span(at).map_or(usize::MAX, |span| span.end());
        self.page.text.get(end..self.sentence.end()).unwrap_or("")
    }

    fn state(
        &self,
        ends: (usize, usize),
        claim: (&'static str, &'static str, f32),
        out: &mut Statements,
    ) {
        let (subject, object) = ends;
        let (Some(a), Some(b)) = (self.span(subject), self.span(object)) else { return };
        let (predicate, pattern, confidence) = claim;
        let span = Span::new(a.start().min(b.start()), a.end().max(b.end()));
        let party = |at: usize| self.things.get(at).map(|it| Party::Mention(*it));
        if let (Some(subject), Some(object)) = (party(subject), party(object)) {
            out.add(span, Statement { subject, predicate, object, pattern, confidence });
        }
    }

    /// `tools such as A, B and C`.
    fn kind_before(&self, at: usize, out: &mut Statements) {
        if !self.is_plural_kind(at) {
            return;
        }
        let words = words_of(self.gap(at));
        let end = self.end_of_list(at + 1);
        let found = EXAMPLES.iter().find(|(form, _)| *form == words);
        let Some((_, confidence)) = found else { return };
        for item in at + 1..end {
            self.state((item, at), ("is_a", "kind:such as", *confidence), out);
        }
    }

    /// `A, B and other tools`.
    fn kind_after(&self, at: usize, out: &mut Statements) {
        let words = words_of(self.gap(at));
        if !OTHERS.contains(&words.as_str()) || !self.is_plural_kind(at + 1) {
            return;
        }
        let first = (0..=at).find(|from| self.end_of_list(*from) > at).unwrap_or(at);
        for item in first..=at {
            self.state((item, at + 1), ("is_a", "kind:and other", 0.8), out);
        }
    }

    /// `A is a tool that`.
    fn is_a(&self, at: usize, out: &mut Statements) {
        let words = words_of(self.gap(at));
        let kind = at + 1;
        // With `are`, both sides are plurals: `closures are values`.
        let is_form =
            IS_A.contains(&words.as_str()) && (words != "are" || self.is_plural_kind(kind));
        if !is_form || !self.is_kind(kind) {
            return;
        }
        let rest = self.rest(kind);
        let next = rest.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        let ends_here =
            !rest.starts_with(' ') && !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric());
        let goes_on = next.is_some_and(|it| AFTER_KIND.split_whitespace().any(|word| word == it));
        if ends_here || goes_on {
            self.state((at, kind), ("is_a", "kind:is a", IS_A_CONFIDENCE), out);
        }
    }
}

/// Returns the words of a gap in lowercase, without signs.
fn words_of(gap: &str) -> String {
    let words = gap.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Adds that `a::b` and `a.b` are part of `a`, if the document names `a`; each pair once.
fn qualified(page: &Page<'_>, out: &mut Statements) {
    let mentions = &page.doc.found.mentions;
    if !mentions.iter().any(|it| it.name.contains("::") || it.name.contains('.')) {
        return;
    }
    // An owner is capitalized or in code font: `thread` in prose is not a module.
    let mut owners: FxHashMap<&str, u32> = FxHashMap::default();
    for (idx, mention) in mentions.iter().enumerate() {
        if mention.place.in_code || mention.name.contains(char::is_uppercase) {
            owners.entry(&mention.name).or_insert(idx as u32);
        }
    }
    let mut seen = FxHashSet::default();
    for (idx, mention) in mentions.iter().enumerate() {
        let name = mention.name.trim_end_matches(['(', ')', '!']);
        let Some((owner, member)) = name.rsplit_once("::").or_else(|| name.rsplit_once('.')) else {
            continue;
        };
        let is_word = |text: &str| {
            let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            begins && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'))
        };
        // A dot may also join a kind and its label; on the page of the first it does not.
        let is_sure = name.contains("::") || page.surface(idx as u32).ends_with(')');
        let owner_idx = owners.get(owner).copied().filter(|it| is_sure || page.is_own(*it));
        if let Some(object) = owner_idx
            && is_word(owner)
            && is_word(member)
            && !is_file_name(name)
            && page.is_thing(object)
            && seen.insert((name, object))
        {
            let (subject, object) = (Party::Mention(idx as u32), Party::Mention(object));
            let (predicate, pattern, confidence) = ("part_of", "kind:qualified", QUALIFIED);
            out.add(mention.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}

/// True for names such as `main.rs`, `kg.yaml`, `example.com`, whose dot does not separate a member.
fn is_file_name(name: &str) -> bool {
    const ENDS: &str = "rs py go js ts c h cpp java rb sh md txt html css json yaml yml toml xml csv pdf docx lock \
         conf cfg ini log com org net io dev exe png jpg svg gz zip";
    let end = name.rsplit('.').next().unwrap_or("");
    name.contains('.') && ENDS.split_whitespace().any(|it| it == end)
}
