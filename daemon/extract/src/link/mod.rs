//! Link, first step: the names that one document uses.
//!
//! In: a document with its mentions and stated names. Out: [`Linked`]: their norms, each once, and the names that the
//! document uses for others. The second step, [`resolve`], decides what the names of all documents denote; the writer
//! runs it for the names whose facts a commit changed.

pub mod alias;
pub mod blocking;
pub mod features;
mod form;
pub mod resolve;
pub mod split;
pub mod vote;

use std::collections::BTreeMap;

use model::document::{Document, Linked, Mention, NameUse, Recognized, RecognizerKind};
use model::terms::{EntityType, norm_of};
use model::{DocFault, PartStage};

/// The link stage.
pub struct LinkStage;

impl PartStage for LinkStage {
    const NAME: &'static str = "link";
    const IS_LIGHT: bool = true;
    type Part = Linked;

    fn part_of(&mut self, doc: &Document) -> Result<Linked, DocFault> {
        let Recognized { mentions, stated, .. } = &doc.found;
        let mention_norms: Vec<String> = mentions.iter().map(|m| norm_of(&m.name)).collect();
        let stated_norms: Vec<String> = stated.iter().map(|s| norm_of(&s.surface)).collect();

        // A norm may be linked inexactly if any of its mentions may, or if the document states it.
        let mut fuzzy: BTreeMap<&str, bool> = BTreeMap::new();
        for (mention, norm) in mentions.iter().zip(&mention_norms) {
            *fuzzy.entry(norm).or_default() |= may_link_inexactly(mention);
        }
        for norm in &stated_norms {
            fuzzy.insert(norm, true);
        }
        let names: Vec<NameUse> = fuzzy
            .iter()
            .map(|(norm, is_fuzzy)| NameUse { norm: norm.to_string(), is_fuzzy: *is_fuzzy })
            .collect();
        let place = |norm: &String| {
            // `names` is sorted, since it comes from a `BTreeMap`, and holds every norm: the search never fails.
            names.binary_search_by(|name| name.norm.as_str().cmp(norm)).unwrap_or(0) as u32
        };
        let mention_names = mention_norms.iter().map(place).collect();
        let stated_names = stated_norms.iter().map(place).collect();
        let aliases = alias::aliases_of(doc, &mention_norms);
        Ok(Linked { names, mention_names, stated_names, aliases })
    }

    fn place(doc: &mut Document) -> &mut Linked {
        &mut doc.linked
    }
}

/// False for versions, dates, identifiers and steps: they name one exact thing, and a near miss is another thing.
fn may_link_inexactly(mention: &Mention) -> bool {
    let is_exact_kind = matches!(
        mention.entity_type,
        EntityType::Version
            | EntityType::Date
            | EntityType::Identifier
            | EntityType::Standard
            | EntityType::Event
            | EntityType::Step
    );
    let is_exact_kind = is_exact_kind || mention.place.is_entity_given;
    !(is_exact_kind || mention.recognizer == RecognizerKind::Pattern && mention.place.in_code)
}
