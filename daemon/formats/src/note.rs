//! Note: what the author of a Markdown file stated in it, with places in the file.
//!
//! In: the file's text without secrets, and the maps back to the file. Out: [`StatedNote`].
//! Invariants: at most the first [`MAX_STATED`] items of each kind are kept, with a warning if there were more; at
//! most [`MAX_LINE_BYTES`] of a line are kept, around the link.

use std::ops::Range;

use notes::parse::{Note, Place, line_around};

use model::document::{Link, LinkKind, StatedNote};
use model::terms::{SpanMap, line_of};

/// Most observations, links, fields, headings and blocks kept per note; larger notes are data.
const MAX_STATED: usize = 20_000;

/// True for file extensions of notes.
pub(super) fn is_note(extension: &str) -> bool {
    matches!(extension, "md" | "markdown")
}

/// Keeps what the index needs of a parsed note. Places remain places of `text`.
pub(super) fn keep(text: &str, mut note: Note) -> StatedNote {
    let node = notes::memory::of(text, &note);
    // Only needed to make the node.
    note.blocks = Vec::new();
    note.items = Vec::new();
    note.verbatim = Vec::new();
    let links = note.links.iter().take(MAX_STATED);
    let link_lines = links.map(|link| line_around(text, &link.place.span)).collect();
    StatedNote { note, link_lines, node }
}

/// Drops items above the limit and returns a warning if there were any.
pub(super) fn limit(stated: &mut StatedNote) -> Option<String> {
    stated.node.items.truncate(MAX_STATED);
    let note = &mut stated.note;
    let n_links = note.links.len();
    let most = [n_links, note.observations.len(), note.fields.len(), note.headings.len()]
        .into_iter()
        .chain([note.block_ids.len(), note.anchors.len()])
        .max()?;
    if most <= MAX_STATED {
        return None;
    }
    note.links.truncate(MAX_STATED);
    // A relation refers to its link by index.
    note.relations.retain(|relation| relation.link < MAX_STATED);
    note.observations.truncate(MAX_STATED);
    note.fields.truncate(MAX_STATED);
    note.headings.truncate(MAX_STATED);
    note.block_ids.truncate(MAX_STATED);
    note.anchors.truncate(MAX_STATED);
    Some(format!("only the first {MAX_STATED} of {most} links, observations or similar are kept"))
}

/// Converts all places to places of the file: through the text before redaction to the bytes on disk.
pub(super) fn place(
    stated: &mut StatedNote,
    to_decoded: Option<&SpanMap>,
    to_file: &SpanMap,
    line_starts: &[u32],
) {
    let in_file = |span: &Range<usize>| {
        let span = match to_decoded {
            Some(map) => map.source_range(span.start, span.end),
            None => span.clone(),
        };
        to_file.source_range(span.start, span.end)
    };
    let move_to = |place: &mut Place| {
        place.span = in_file(&place.span);
        place.line = line_of(line_starts, place.span.start) as usize;
    };
    let note: &mut Note = &mut stated.note;
    note.headings.iter_mut().for_each(|it| {
        move_to(&mut it.place);
        it.section = in_file(&it.section);
    });
    note.observations.iter_mut().for_each(|it| move_to(&mut it.place));
    note.relations.iter_mut().for_each(|it| move_to(&mut it.place));
    note.links.iter_mut().for_each(|it| {
        move_to(&mut it.place);
        it.target_span = in_file(&it.target_span);
    });
    note.fields.iter_mut().for_each(|it| {
        move_to(&mut it.place);
        it.value_span = in_file(&it.value_span);
    });
    note.inline_tags.iter_mut().for_each(|it| move_to(&mut it.place));
    note.block_ids.iter_mut().for_each(|it| {
        move_to(&mut it.place);
        it.block = in_file(&it.block);
    });
    note.footnotes.iter_mut().for_each(|it| move_to(&mut it.place));
    note.callouts.iter_mut().for_each(|it| move_to(&mut it.place));
}

/// Adds the links of raw HTML to a text's, and corrects their targets from the note's: in `[[React [[Hooks]]]]`, the
/// Markdown parser only sees the inner link.
pub(super) fn lead(links: &mut Vec<Link>, map: &SpanMap, stated: &StatedNote) {
    let of_html = stated.note.links.iter().filter(|it| it.is_html).map(|it| Link {
        kind: LinkKind::Path,
        target: it.target.clone(),
        fragment: it.heading.clone().or_else(|| it.block.clone()),
        span: map.to_norm(&it.place.span),
    });
    links.extend(of_html.filter(|it| !it.target.is_empty()));
    links.sort_by_key(|it| it.span.start());
    let nested = stated.note.links.iter().filter(|it| it.target.contains("[["));
    let nested: Vec<_> = nested.filter(|it| it.kind == notes::parse::LinkKind::Wiki).collect();
    if nested.is_empty() {
        return;
    }
    for link in links.iter_mut().filter(|link| link.kind == LinkKind::Wiki) {
        let place = map.to_raw(link.span);
        // The last nested link that begins at or before this one.
        let after = nested.partition_point(|it| it.place.span.start <= place.start());
        let around = after.checked_sub(1).and_then(|at| nested.get(at));
        if let Some(around) = around.filter(|it| place.end() <= it.place.span.end) {
            link.target = around.target.clone();
            link.fragment = around.heading.clone().or_else(|| around.block.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::normalized;
    use notes::parse::line_around;

    #[test]
    fn places_lead_to_the_bytes_of_the_file() {
        let text = "\u{feff}# A\r\n\r\ntoken = ghp_012345678901234567890123456789012345\r\n\r\n- [fact] b [[C]] ^x\r\n";
        let doc = normalized("a.md", text.as_bytes());
        let note = &doc.note.as_ref().expect("a note").note;
        let link = &note.links[0];
        assert_eq!(&text[link.place.span.clone()], "[[C]]");
        assert_eq!(&text[link.target_span.clone()], "C");
        assert_eq!(link.place.line, 5);
        assert_eq!(&text[note.observations[0].place.span.clone()], "[fact] b [[C]] ^x");
        assert_eq!(&text[note.block_ids[0].place.span.clone()], "^x");
        assert_eq!(doc.note.as_ref().expect("a note").link_lines, ["- [fact] b [[C]] ^x"]);
    }

    #[test]
    fn a_link_in_a_link_is_part_of_its_name() {
        let text = "# A\n\n- uses [[React [[Hooks]]]] and [[B]] ![[c [[D]]]]\n";
        let doc = normalized("a.md", text.as_bytes());
        let targets: Vec<_> = doc.links.iter().map(|it| it.target.as_str()).collect();
        assert_eq!(targets, ["React [[Hooks]]", "B", "D"]);
    }

    #[test]
    fn no_secret_is_kept_in_what_a_note_states() {
        let key = "ghp_012345678901234567890123456789012345";
        let parts = ("ghp_0123456789012345678", "90123456789012345");
        let text = format!(
            "---\nkey: {key}\n---\n- [fact] the token {key} [[Note|{key}]]\n- [fact] {}**{}** [[B]]\n\nkey:: {key}\n",
            parts.0, parts.1
        );
        let doc = normalized("a.md", text.as_bytes());
        let shown = format!("{:?}", doc.note);
        assert!(!shown.contains("01234567890123"), "{shown}");
    }

    #[test]
    fn a_long_line_is_cut_around_its_link() {
        let line = format!("{}[[Note]]{}", "é ".repeat(1_000), " x".repeat(1_000));
        let at = line.find("[[").expect("a link");
        let line_part = line_around(&format!("a\n{line}\nb"), &(at + 2..at + 10));
        assert!(line_part.contains("[[Note]]") && line_part.len() <= 300, "{line_part}");
        assert_eq!(line_around("a\n  b [[c]] d\ne", &(6..11)), "b [[c]] d");
    }
}
