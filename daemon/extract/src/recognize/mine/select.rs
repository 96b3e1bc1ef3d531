//! Select: which terms enter the gazetteer.
//!
//! In: the counts of each norm over all documents. Out: the terms, best first by C-value.
//! Invariants: pure; a term is judged by its own counts, except that a plural yields to its
//! singular and a part that occurs only inside a longer term yields to that term; the cap follows a
//! total order, so neither the order of the input nor weaker terms change the result.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::recognize::{GazetteerTerm, lexicon};
use model::terms::{EntityType, NormKey, norm_of};

/// The counts of one term over all documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermCount {
    /// Its norm.
    pub norm: NormKey,
    /// Its surface in most documents, the smaller of equals.
    pub surface: String,
    /// Documents that contain it.
    pub n_documents: u32,
    /// Sum over documents of its weight there.
    pub weight_sum: u64,
    /// Its largest weight in any document.
    pub max_weight: u8,
}

/// Weight that a single word needs in some document: bold, code, heading or title.
const MARKED: u8 = 2;

/// Returns the terms that enter, ordered by C-value, then documents, then norm.
pub fn select(
    counts: impl Iterator<Item = TermCount>,
    settings: &config::settings::Gazetteer,
) -> Vec<GazetteerTerm> {
    let mut entering: Vec<TermCount> = counts.filter(|count| enters(count, settings)).collect();
    let nests = nests_of(&entering);
    entering.retain(|count| {
        let most = nests.get(&count.norm).map_or(0, |nest| nest.most_documents);
        count.n_documents > most || count.max_weight >= super::DEFINED_WEIGHT
    });
    let mut ranked: Vec<(u64, TermCount)> = entering
        .into_iter()
        .map(|count| (c_value(&count, nests.get(&count.norm)), count))
        .collect();
    ranked.sort_unstable_by(|(a_value, a), (b_value, b)| {
        (b_value, b.n_documents).cmp(&(a_value, a.n_documents)).then_with(|| a.norm.cmp(&b.norm))
    });
    let mut entering: Vec<TermCount> = ranked.into_iter().map(|(_, count)| count).collect();
    // The gazetteer finds `signing keys` through `signing key`; two entries would split one name.
    let norms: FxHashSet<NormKey> = entering.iter().map(|count| count.norm.clone()).collect();
    entering.retain(|count| count.norm.strip_suffix('s').is_none_or(|norm| !norms.contains(norm)));
    entering.truncate(settings.top_k);
    entering.into_iter().map(term).collect()
}

/// Sums over the longer terms that contain a term.
#[derive(Debug, Default)]
struct Nest {
    n: u64,
    weight_sum: u64,
    most_documents: u32,
}

/// Returns these sums for each norm inside a longer entering term.
fn nests_of(entering: &[TermCount]) -> FxHashMap<NormKey, Nest> {
    let mut nests: FxHashMap<NormKey, Nest> = FxHashMap::default();
    for longer in entering {
        let words: Vec<&str> =
            longer.surface.split([' ', '-']).filter(|word| !word.is_empty()).collect();
        for from in 0..words.len() {
            for to in from..words.len() {
                let is_part = to + 1 - from < words.len();
                let Some(part) = words.get(from..=to).filter(|_| is_part) else { continue };
                let nest = nests.entry(norm_of(&part.join(" "))).or_default();
                nest.n += 1;
                nest.weight_sum += longer.weight_sum;
                nest.most_documents = nest.most_documents.max(longer.n_documents);
            }
        }
    }
    nests
}

/// Returns the C-value (Frantzi, Ananiadou, Mima 2000) in thousandths: the term's weight over all
/// documents, less the mean weight of the longer terms that contain it, times 1 + log₂ of its
/// words. The 1 gives single words a value above zero.
fn c_value(count: &TermCount, nest: Option<&Nest>) -> u64 {
    let n_words = count.surface.split([' ', '-']).filter(|word| !word.is_empty()).count().max(1);
    let inside = nest.map_or(0.0, |nest| nest.weight_sum as f64 / nest.n.max(1) as f64);
    let own = (count.weight_sum as f64 - inside).max(0.0);
    ((1.0 + (n_words as f64).log2()) * own * 1_000.0) as u64
}

fn enters(count: &TermCount, settings: &config::settings::Gazetteer) -> bool {
    let n_words = count.surface.split([' ', '-']).filter(|word| !word.is_empty()).count();
    (count.n_documents >= settings.min_documents || count.max_weight >= super::DEFINED_WEIGHT)
        && n_words <= settings.max_words
        && (n_words > 1 || count.max_weight >= MARKED)
}

fn term(count: TermCount) -> GazetteerTerm {
    let entity_type = match lexicon::type_of(&count.surface) {
        EntityType::Concept if count.surface.contains(['_', ':']) => EntityType::Identifier,
        entity_type => entity_type,
    };
    GazetteerTerm { surface: count.surface, norm: count.norm, entity_type }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::settings::Gazetteer;

    fn count(surface: &str, n_documents: u32, weight_sum: u64, max_weight: u8) -> TermCount {
        let norm = model::terms::norm_of(surface);
        TermCount { norm, surface: surface.to_string(), n_documents, weight_sum, max_weight }
    }

    #[test]
    fn terms_enter_by_their_own_counts() {
        let counts = [
            count("Kafka", 3, 5, 2),
            count("rare", 2, 6, 3),
            count("plain", 9, 9, 1),
            count("Edge Teams", 9, 9, 1),
            count("Edge Team", 3, 3, 1),
            count("Zeta Team", 3, 3, 1),
            count("a b c d e", 5, 15, 3),
        ];
        let names = |top_k: usize, rows: &[TermCount]| -> Vec<String> {
            let settings = Gazetteer { top_k, ..Gazetteer::default() };
            select(rows.iter().cloned(), &settings).into_iter().map(|t| t.surface).collect()
        };
        assert_eq!(names(10, &counts), ["Edge Team", "Zeta Team", "Kafka"]);
        assert_eq!(names(2, &counts), ["Edge Team", "Zeta Team"]);
        let mut reversed = counts.to_vec();
        reversed.reverse();
        assert_eq!(names(10, &reversed), names(10, &counts));
    }

    #[test]
    fn a_part_that_stands_only_in_longer_terms_does_not_enter() {
        let counts = [
            count("Computational Linguistics", 4, 4, 1),
            count("Association for Computational Linguistics", 4, 4, 1),
            count("Edge Gateway", 9, 20, 3),
            count("Edge Gateway Cache", 3, 6, 3),
            count("grace window", 3, 12, 4),
            count("grace window policy", 3, 3, 2),
        ];
        let selected = select(counts.into_iter(), &Gazetteer::default());
        let names: Vec<&str> = selected.iter().map(|term| term.surface.as_str()).collect();
        assert_eq!(
            names,
            [
                "Edge Gateway",
                "grace window",
                "Edge Gateway Cache",
                "Association for Computational Linguistics",
                "grace window policy",
            ]
        );
    }

    #[test]
    fn one_document_more_moves_no_other_term_in_or_out() {
        let counts = |n: u32| {
            vec![
                count("Kafka", n, u64::from(n) * 2, 2),
                count("Edge Team", 3, 3, 1),
                count("Edge Team Lead", 3, 3, 1),
                count("Zeta Team", 5, 5, 1),
            ]
        };
        let names = |n: u32| {
            let mut names: Vec<String> = select(counts(n).into_iter(), &Gazetteer::default())
                .into_iter()
                .map(|term| term.surface)
                .filter(|name| name != "Kafka")
                .collect();
            names.sort_unstable();
            names
        };
        assert!((2..9).all(|n| names(n) == names(4)));
    }
}
