//! The second pass over a note. Its strings are from the file's own text, which the first pass has cleaned, but
//! markup may split a secret, and personal data is only removed here.
//!
//! Invariant: if the second pass found something in the document, or looks for more than secrets, every string is
//! cleaned, with and without markup; otherwise only strings that YAML may have joined.

use notes::parse::{Frontmatter, Note};

use super::Redactor;
use super::parsed::clean_value;
use model::document::StatedNote;

impl Redactor {
    /// Cleans a note. `found_more`: the second pass found something in the document.
    pub fn redact_note(&self, stated: &mut StatedNote, allowed: &[String], found_more: bool) {
        let mut clean = |text: &mut String| {
            let cleaned = self.redact_again(text.clone(), allowed);
            if cleaned.1.is_some() {
                *text = cleaned.0;
                return;
            }
            // Nothing found with the markup in place: try without, and keep the markup if there is nothing to hide.
            let bare = without_markup(text);
            if bare.len() < text.len() {
                let cleaned = self.redact_again(bare, allowed);
                if cleaned.1.is_some() {
                    *text = cleaned.0;
                }
            }
        };
        let node = &mut stated.node;
        let head = [&mut node.name, &mut node.node_type, &mut node.summary];
        head.into_iter().flatten().chain(&mut node.tags).for_each(&mut clean);
        let note = &mut stated.note;
        if let Some(frontmatter) = &mut note.frontmatter {
            clean_frontmatter(frontmatter, &mut clean);
        }
        if found_more || !self.personal.is_empty() {
            clean_note(note, &mut clean);
            stated.link_lines.iter_mut().for_each(&mut clean);
            stated.node.items.iter_mut().for_each(|it| clean(&mut it.content));
        }
    }
}

fn clean_frontmatter(frontmatter: &mut Frontmatter, clean: &mut dyn FnMut(&mut String)) {
    for (mut key, mut value) in std::mem::take(&mut frontmatter.values) {
        clean(&mut key);
        clean_value(&mut value, clean);
        frontmatter.values.insert(key, value);
    }
    frontmatter.warning.iter_mut().for_each(&mut *clean);
    frontmatter.keys.iter_mut().for_each(|key| clean(&mut key.name));
}

fn clean_note(note: &mut Note, clean: &mut dyn FnMut(&mut String)) {
    let head = [&mut note.title, &mut note.note_type, &mut note.permalink];
    head.into_iter().flatten().for_each(&mut *clean);
    note.aliases.iter_mut().chain(&mut note.tags).chain(&mut note.anchors).for_each(&mut *clean);
    for heading in &mut note.headings {
        clean(&mut heading.text);
        heading.id.iter_mut().for_each(&mut *clean);
    }
    for it in &mut note.observations {
        clean(&mut it.category);
        clean(&mut it.content);
        it.tags.iter_mut().chain(&mut it.context).chain(&mut it.block_id).for_each(&mut *clean);
    }
    for it in &mut note.links {
        clean(&mut it.target);
        let parts = [&mut it.heading, &mut it.block, &mut it.display];
        parts.into_iter().flatten().for_each(&mut *clean);
    }
    for it in &mut note.relations {
        clean(&mut it.relation_type);
        it.context.iter_mut().chain(&mut it.block_id).for_each(&mut *clean);
    }
    for it in &mut note.fields {
        clean(&mut it.key);
        clean(&mut it.value);
    }
    note.inline_tags.iter_mut().for_each(|it| clean(&mut it.name));
    note.block_ids.iter_mut().for_each(|it| clean(&mut it.id));
    note.footnotes.iter_mut().for_each(|it| clean(&mut it.label));
    for it in &mut note.callouts {
        clean(&mut it.kind);
        it.title.iter_mut().for_each(&mut *clean);
    }
}

/// Returns a text without markup inside words: signs of emphasis and code, tags, backslashes.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_tag = false;
    let last_end = text.rfind('>').unwrap_or(0);
    for (at, c) in text.char_indices() {
        match c {
            // `<` without any `>` after it is a comparison, not a tag.
            '<' => is_tag = at < last_end,
            '>' if is_tag => is_tag = false,
            '*' | '`' | '~' | '\\' => {}
            _ if is_tag => {}
            _ => out.push(c),
        }
    }
    out
}
