//! Thin: keeps a dump of identifiers from flooding the graph.
//!
//! In: the mentions of one document. Out: the same, but where it holds many distinct identifiers, those it
//! writes only once are gone.
//! Invariants: a document with few identifiers is left alone; what stays does not depend on the order of
//! mentions.

use rustc_hash::FxHashMap;

use model::parcel::Mention;
use model::terms::EntityType;

/// Distinct identifiers of one document that a reader may still care about one by one. A service's page
/// names a dozen, a reference of flags or metrics hundreds.
const MAX_SINGLE_IDENTIFIERS: usize = 60;

/// Drops the single uses of too many identifiers.
pub(super) fn identifiers(mentions: &mut Vec<Mention>) {
    let is_code = |m: &Mention| matches!(m.entity_type, EntityType::Identifier | EntityType::Api);
    let mut uses: FxHashMap<&str, u32> = FxHashMap::default();
    for mention in mentions.iter().filter(|m| is_code(m)) {
        *uses.entry(mention.name.as_str()).or_default() += 1;
    }
    if uses.len() <= MAX_SINGLE_IDENTIFIERS {
        return;
    }
    let single: Vec<bool> =
        mentions.iter().map(|m| is_code(m) && uses.get(m.name.as_str()) == Some(&1)).collect();
    let mut single = single.into_iter();
    mentions.retain(|_| single.next() != Some(true));
}
