//! Profile: the kind of text in a section, judged by its structure, and the chunk sizes for it.
//!
//! In: a document and its tokens. Out: a profile for each block, the same for all blocks of a section. Rules, in this
//! order: three ordered steps that are half of a section make a procedure; code that is three fifths makes code;
//! table rows that are half, or a heading that is an identifier, make reference; a heading that asks, or is below one
//! that says `FAQ` or `Glossary`, makes a definition. Sections to which none applies take what the document says it
//! is (`type: faq`, a title such as `Glossary`), or are general.

use config::settings;

use super::atom::TokenIndex;
use super::{Budget, size};
use model::document::{Block, BlockKind, Document, Profile};
use notes::turn::QUESTION_MARKS;

/// Steps from which an ordered list is a procedure.
const MIN_STEPS: usize = 3;

/// The sizes of each profile.
#[derive(Debug, Clone)]
pub(super) struct Budgets {
    general: Budget,
    definition: Budget,
    procedure: Budget,
    reference: Budget,
    code: Budget,
}

impl Budgets {
    /// Reads the settings; `window` is the same for all.
    pub(super) fn new(chunk: &settings::Chunk, window: usize) -> Self {
        let of = |sizes: &settings::ChunkSizes| Budget {
            max: size(sizes.max_tokens),
            min: size(sizes.min_tokens),
            overlap: sizes.overlap_tokens as usize,
            window,
        };
        let general = Budget {
            max: size(chunk.max_tokens),
            min: size(chunk.min_tokens),
            overlap: chunk.overlap_tokens as usize,
            window,
        };
        let profiles = &chunk.profiles;
        let [definition, procedure, reference, code] =
            [&profiles.definition, &profiles.procedure, &profiles.reference, &profiles.code]
                .map(of);
        Budgets { general, definition, procedure, reference, code }
    }

    /// The sizes of one profile.
    pub(super) fn of(&self, profile: Profile) -> &Budget {
        match profile {
            Profile::General | Profile::Dialogue => &self.general,
            Profile::Definition => &self.definition,
            Profile::Procedure => &self.procedure,
            Profile::Reference => &self.reference,
            Profile::Code => &self.code,
        }
    }
}

/// Returns the profile of each block.
pub(super) fn profiles_of(doc: &Document, index: &TokenIndex) -> Vec<Profile> {
    let whole = of_document(doc);
    let mut profiles = Vec::with_capacity(doc.blocks.len());
    // For each heading, whether it or one above it announces definitions.
    let mut announces = vec![false; doc.blocks.len()];
    let mut at = 0;
    // One turn for each section: a heading with the blocks up to the next heading.
    while at < doc.blocks.len() {
        let rest = doc.blocks.get(at..).unwrap_or_default();
        let is_heading = |block: &Block| matches!(block.kind, BlockKind::Heading(_));
        let length = 1 + rest.iter().skip(1).take_while(|block| !is_heading(block)).count();
        let section = rest.get(..length).unwrap_or_default();
        let heading = section.first().filter(|block| is_heading(block));
        if let Some(block) = heading {
            let above =
                block.section.and_then(|idx| announces.get(idx as usize)).copied().unwrap_or(false);
            if let Some(own) = announces.get_mut(at) {
                *own = above || names_definitions(block.span.of(&doc.text));
            }
        }
        let is_announced = announces.get(at).copied().unwrap_or(false);
        let profile =
            of_section(section, heading.map(|block| block.span.of(&doc.text)), doc, index);
        let profile = match profile {
            Profile::General if is_announced => Profile::Definition,
            Profile::General => whole,
            shown => shown,
        };
        profiles.extend(std::iter::repeat_n(profile, length));
        at += length;
    }
    profiles
}

/// Returns the profile that a document states for all its sections.
fn of_document(doc: &Document) -> Profile {
    let stated = doc.meta.doc_type.as_deref().unwrap_or("").to_lowercase();
    match stated.as_str() {
        "faq" | "glossary" | "definition" | "definitions" => Profile::Definition,
        "runbook" | "playbook" | "procedure" | "howto" | "how-to" | "tutorial" => {
            Profile::Procedure
        }
        "api" | "reference" => Profile::Reference,
        _ if names_definitions(&doc.title) => Profile::Definition,
        _ => Profile::General,
    }
}

/// True for `FAQ`, `Glossary of terms`, `Frequently asked questions`.
fn names_definitions(title: &str) -> bool {
    let lower = title.trim().to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        matches!(word, "faq" | "faqs" | "glossary" | "terminology" | "glossar" | "glossaire")
    }) || lower.starts_with("frequently asked")
}

fn of_section(
    section: &[Block],
    heading: Option<&str>,
    doc: &Document,
    index: &TokenIndex,
) -> Profile {
    let (mut n_all, mut n_code, mut n_rows, mut n_steps, mut n_step_tokens) = (0, 0, 0, 0, 0);
    // Text between two steps belongs to the procedure, including code and nested lists; text before the first does
    // not.
    let mut n_since_step = 0;
    for block in section.iter().filter(|block| !matches!(block.kind, BlockKind::Heading(_))) {
        let n_tokens = index.count(block.span.start(), block.span.end());
        n_all += n_tokens;
        n_since_step += n_tokens;
        match block.kind {
            BlockKind::Code { .. } => n_code += n_tokens,
            BlockKind::TableRow { .. } => n_rows += n_tokens,
            BlockKind::ListItem { ordinal: Some(_), .. } => {
                // Text after the last step is not counted either: it is added only when another step follows.
                n_step_tokens += if n_steps == 0 { n_tokens } else { n_since_step };
                n_steps += 1;
                n_since_step = 0;
            }
            _ => {}
        }
    }
    let asks = heading.is_some_and(|heading| heading.trim_end().ends_with(QUESTION_MARKS));
    if n_steps >= MIN_STEPS && n_step_tokens * 2 >= n_all {
        Profile::Procedure
    } else if n_code * 5 >= n_all * 3 && n_code > 0 {
        Profile::Code
    } else if n_rows > 0 && n_rows * 2 >= n_all || heading.is_some_and(is_identifier) {
        Profile::Reference
    } else if asks && !doc.text.is_empty() {
        Profile::Definition
    } else {
        Profile::General
    }
}

/// True for a heading that is one identifier: `rotate_keys()`, `--dry-run`, `std::fs::read`, `max_file_bytes`.
fn is_identifier(heading: &str) -> bool {
    let heading = heading.trim();
    let is_one_word = !heading.is_empty() && !heading.contains(char::is_whitespace);
    let has_sign = heading.starts_with("--")
        || heading.ends_with(')')
        || ["_", "::"].iter().any(|sign| heading.trim_matches('_').contains(sign));
    is_one_word && has_sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_told_from_titles() {
        for heading in ["rotate_keys()", "--dry-run", "std::fs::read", "max_file_bytes", "get(key)"]
        {
            assert!(is_identifier(heading), "{heading}");
        }
        for heading in ["", "Install", "A (b)", "__init", "Note:", "two words()"] {
            assert!(!is_identifier(heading), "{heading}");
        }
        assert!(
            names_definitions("Project FAQ")
                && names_definitions("Glossary")
                && !names_definitions("Ports")
        );
    }
}
