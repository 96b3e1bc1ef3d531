//! Select: which terms enter the gazetteer.
//!
//! In: for each norm its counts over all documents. Out: the terms, best first.
//! Invariants: pure; each term passes or fails by its own counts (but a plural gives way to its singular),
//! and the cap follows a total order, so neither the order of the input nor the presence of weaker terms
//! changes what enters.

use rustc_hash::FxHashSet;

use crate::pipeline::recognize::{GazetteerTerm, lexicon};
use crate::terms::{EntityType, NormKey};

/// What all documents say of one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermCount {
    /// Its norm.
    pub norm: NormKey,
    /// Its surface in most documents, ties to the smaller.
    pub surface: String,
    /// Documents that hold it.
    pub n_documents: u32,
    /// Sum over documents of its weight there.
    pub weight_sum: u64,
    /// Its largest weight in any document.
    pub max_weight: u8,
}

/// Weight that a single word must reach somewhere: bold, code, heading or title.
const MARKED: u8 = 2;

/// The terms that enter, best first: by summed weight, then by documents, then by norm.
pub fn select(
    counts: impl Iterator<Item = TermCount>,
    settings: &config::settings::Gazetteer,
) -> Vec<GazetteerTerm> {
    let mut entering: Vec<TermCount> = counts.filter(|count| enters(count, settings)).collect();
    entering.sort_unstable_by(|a, b| {
        let strength = |count: &TermCount| (count.weight_sum, count.n_documents);
        strength(b).cmp(&strength(a)).then_with(|| a.norm.cmp(&b.norm))
    });
    // The gazetteer finds `signing keys` by `signing key`; two entries would split one name.
    let norms: FxHashSet<NormKey> = entering.iter().map(|count| count.norm.clone()).collect();
    entering.retain(|count| count.norm.strip_suffix('s').is_none_or(|norm| !norms.contains(norm)));
    entering.truncate(settings.top_k);
    entering.into_iter().map(term).collect()
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
        let norm = crate::terms::norm_of(surface);
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
        assert_eq!(names(10, &counts), ["Kafka", "Edge Team", "Zeta Team"]);
        assert_eq!(names(2, &counts), ["Kafka", "Edge Team"]);
        let mut reversed = counts.to_vec();
        reversed.reverse();
        assert_eq!(names(10, &reversed), names(10, &counts));
    }
}
