//! Gaps: nodes whose facts mention others without a relation to them.
//!
//! In: facts, the names and aliases of nodes, the targets of links. Out: which node mentions which,
//! and in how many facts. A name matches whole words; in scripts without spaces (日本) it matches
//! anywhere. Case matters only for a common word (`Vault`) and for names of at most two characters.
//! Invariants: aliases count as names; a name that several nodes share is ignored, a link counts as
//! its target; the result follows from the text of notes, not from what has been recognized in them
//! so far.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aho_corasick::AhoCorasick;
use notes::resolve::{By, fold};

use super::Web;
use crate::AskError;
use extract::recognize::words::is_ordinary;
use index::read::Listed;
use index::store::Snapshot;
use model::terms::{is_unspaced, is_word_char};

/// A mention without a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The name of the node with the facts.
    pub node: String,
    /// The name of the node that they mention.
    pub other: String,
    /// The number of those facts.
    pub n_facts: u64,
}

/// Returns all gaps, the most frequent first.
///
/// # Errors
/// When the index cannot be read.
pub fn gaps(snapshot: &Snapshot) -> Result<Vec<Gap>, AskError> {
    let web = Web::read(snapshot)?;
    let names = Names::read(snapshot)?;
    let mut spoken: BTreeMap<(i64, i64), BTreeSet<i64>> = BTreeMap::new();
    let mut count = |from: i64, to: i64, seq: i64| {
        if from != to && !web.relates(from, to) {
            spoken.entry((from, to)).or_default().insert(seq);
        }
    };
    snapshot.memory().each_fact(|it| {
        let mentioned = names.finder.mentioned_in(&it.content);
        mentioned.into_iter().for_each(|to| count(it.doc, to, it.seq));
    })?;
    for (from, to, seq) in snapshot.memory().links_in_facts()? {
        count(from, to, seq);
    }
    let name = |doc: &i64| names.of.get(doc).cloned().unwrap_or_default();
    let gap = |((from, to), facts): ((i64, i64), BTreeSet<i64>)| Gap {
        node: name(&from),
        other: name(&to),
        n_facts: facts.len() as u64,
    };
    let mut gaps: Vec<Gap> = spoken.into_iter().map(gap).collect();
    gaps.sort_by_cached_key(|it| (u64::MAX - it.n_facts, fold(&it.node), fold(&it.other)));
    Ok(gaps)
}

/// The names of nodes.
struct Names {
    of: HashMap<i64, String>,
    finder: Finder,
}

impl Names {
    fn read(snapshot: &Snapshot) -> Result<Names, AskError> {
        let nodes = snapshot.memory().list(&Listed { most: usize::MAX, ..Listed::default() })?;
        let mut all: Vec<(String, i64)> =
            nodes.iter().map(|it| (it.name.clone(), it.doc)).collect();
        let of: HashMap<i64, String> = nodes.into_iter().map(|it| (it.doc, it.name)).collect();
        let aliases = snapshot.documents().names(By::Alias)?;
        all.extend(aliases.into_iter().filter(|(_, doc)| of.contains_key(doc)));
        Ok(Names { of, finder: Finder::of(all) })
    }
}

/// A name that is searched for.
struct WantedName {
    doc: i64,
    /// The name as written, if its case matters.
    exact: Option<String>,
}

/// Finds names in texts.
struct Finder {
    wanted: Vec<WantedName>,
    automaton: Option<AhoCorasick>,
}

impl Finder {
    fn of(names: Vec<(String, i64)>) -> Finder {
        let mut bearers: BTreeMap<String, (String, BTreeSet<i64>)> = BTreeMap::new();
        for (name, doc) in names {
            let name = single_blanks(&name);
            let is_one_sign = name.chars().count() == 1 && name.chars().all(is_unspaced);
            if name.chars().any(is_word_char) && !is_one_sign {
                bearers.entry(fold(&name)).or_insert((name, BTreeSet::new())).1.insert(doc);
            }
        }
        let (mut keys, mut wanted) = (Vec::new(), Vec::new());
        for (key, (name, docs)) in bearers {
            let (Some(doc), 1) = (docs.first().copied(), docs.len()) else { continue };
            let is_shy = is_ordinary(&name) || name.chars().count() <= 2;
            // A lowercase name matches in any case.
            let exact = (is_shy && name != key).then_some(name);
            wanted.push(WantedName { doc, exact });
            keys.push(key);
        }
        // If there are too many names for an automaton, they are not searched.
        Finder { automaton: AhoCorasick::new(&keys).ok().filter(|_| !keys.is_empty()), wanted }
    }

    /// Returns the nodes that a text mentions; of nested names only the longest counts.
    fn mentioned_in(&self, text: &str) -> BTreeSet<i64> {
        let Some(automaton) = &self.automaton else { return BTreeSet::new() };
        let plain = single_blanks(text);
        let folded = fold(&plain);
        let mut found: Vec<(usize, usize, i64)> = Vec::new();
        for hit in automaton.find_overlapping_iter(&folded) {
            let Some(wanted) = self.wanted.get(hit.pattern().as_usize()) else { continue };
            let is_written_so = |name: &String| {
                plain
                    .match_indices(name.as_str())
                    .any(|(at, it)| is_apart(&plain, at, at + it.len()))
            };
            if is_apart(&folded, hit.start(), hit.end())
                && wanted.exact.as_ref().is_none_or(is_written_so)
            {
                found.push((hit.start(), hit.end(), wanted.doc));
            }
        }
        let is_inside = |one: &(usize, usize, i64)| {
            let holds = |it: &&(usize, usize, i64)| it.0 <= one.0 && one.1 <= it.1;
            found.iter().filter(holds).any(|it| it.1 - it.0 > one.1 - one.0)
        };
        found.iter().filter(|it| !is_inside(it)).map(|it| it.2).collect()
    }
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a part of a text is not inside a longer word. `C` is inside `C++`.
fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let goes_on = |before: Option<char>, after: Option<char>| match (before, after) {
        (Some(before), Some(after)) => {
            let are_letters = is_word_char(before) && (is_word_char(after) || after == '_')
                || before == '_' && is_word_char(after);
            are_letters && !is_unspaced(before) && !is_unspaced(after)
        }
        _ => false,
    };
    let (before, inside, after) = (
        text.get(..start).unwrap_or(""),
        text.get(start..end).unwrap_or(""),
        text.get(end..).unwrap_or(""),
    );
    let last = inside.chars().next_back();
    let is_longer = last.is_some_and(is_word_char) && after.starts_with(['+', '#']);
    !is_longer
        && !goes_on(before.chars().next_back(), inside.chars().next())
        && !goes_on(last, after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_words_of_their_own() {
        let names =
            ["Bob", "日本", "C", "C++", "Vault", "gateway", "New York", "New York Times", "Ann"];
        let mut all: Vec<(String, i64)> =
            names.iter().zip(1..).map(|(name, doc)| (name.to_string(), doc)).collect();
        all.push(("ann".into(), 99));
        let finder = Finder::of(all);
        for (text, expected) in [
            ("Works with Bob on it", vec![1]),
            ("Bob's idea, says BOB", vec![1]),
            ("ask [[Bob]], not bobby or Bob_2", vec![1]),
            ("旅行は日本へ", vec![2]),
            ("in 日本 now", vec![2]),
            ("日本", vec![2]),
            ("written in C++, not c", vec![4]),
            ("C is small", vec![3]),
            ("a vault of keys", vec![]),
            ("the Vault holds them", vec![5]),
            ("The Gateway", vec![6]),
            ("read the New  York\nTimes", vec![8]),
            ("in New York by day", vec![7]),
            ("Ann is two", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(
                finder.mentioned_in(text).into_iter().collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }
}
