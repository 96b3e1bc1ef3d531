//! Check: decides whether a worker's reply about a document can be used.
//!
//! In: a reply of the right shape, and the length of its source. Out: the document as the format would have returned
//! it in this process, or what is wrong with it.
//! Invariants: every place lies within its text and on character boundaries; blocks, marks, links and pages are in
//! order; a section is an earlier heading. The worker read a hostile file and may be under its control: its reply can
//! be wrong about the document, but must not harm its reader.

use super::message::{
    WireBlock, WireBlockKind, WireInline, WireInlineKind, WireLink, WireLinkKind, WireMeta,
    WireParsed,
};
use model::document::{Block, BlockKind, DocMeta, Inline, InlineKind, Link, LinkKind, Parsed};
use model::terms::{Norm, Span, SpanMap};

/// Longest text in a document's metadata, in bytes. Nobody reads longer ones.
const MAX_META_BYTES: usize = 1 << 20;

/// What is wrong with a reply.
pub(super) type Unsound = &'static str;

/// The limits that a document must keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Longest text, in bytes.
    pub(super) max_text_bytes: usize,
    /// Length of the text that the format read, in bytes; `None` when its map leads to the text it extracted.
    pub(super) source_bytes: Option<usize>,
}

/// Returns the document if it is valid.
pub(super) fn sound(wire: WireParsed, bounds: Bounds) -> Result<Parsed, Unsound> {
    let WireParsed { title, meta, text, map, blocks, inlines, links, pages, warnings } = wire;
    if text.len() > bounds.max_text_bytes || u32::try_from(text.len()).is_err() {
        return Err("its text is too long");
    }
    let source_bytes = bounds.source_bytes.unwrap_or(text.len());
    Ok(Parsed {
        title: title.map(short).transpose()?,
        meta: sound_meta(meta)?,
        map: sound_map(&map, text.len(), source_bytes)?,
        blocks: sound_blocks(blocks, &text)?,
        inlines: sound_inlines(inlines, &text)?,
        links: sound_links(links, &text)?,
        pages: sound_pages(pages, &text)?,
        warnings: warnings.into_iter().map(short).collect::<Result<_, _>>()?,
        text,
    })
}

fn short(text: String) -> Result<String, Unsound> {
    if text.len() > MAX_META_BYTES { Err("its metadata is too long") } else { Ok(text) }
}

fn sound_meta(meta: WireMeta) -> Result<DocMeta, Unsound> {
    let one = |text: Option<String>| text.map(short).transpose();
    let many = |texts: Vec<String>| texts.into_iter().map(short).collect::<Result<Vec<_>, _>>();
    let extra = serde_json::from_str(&short(meta.extra)?);
    Ok(DocMeta {
        has_stated_title: meta.has_stated_title,
        aliases: many(meta.aliases)?,
        ids: many(meta.ids)?,
        tags: many(meta.tags)?,
        doc_type: one(meta.doc_type)?,
        author: one(meta.author)?,
        language: one(meta.language)?,
        date: one(meta.date)?,
        source_url: one(meta.source_url)?,
        security: one(meta.security)?,
        extra: extra.map_err(|_| "its metadata is not JSON")?,
    })
}

/// Returns a place in the text, if it is on character boundaries.
fn place(text: &str, span: (u32, u32)) -> Result<Span<Norm>, Unsound> {
    let (start, end) = (span.0 as usize, span.1 as usize);
    match text.get(start..end) {
        Some(_) => Ok(Span::new(start, end)),
        None => Err("a place is not in its text"),
    }
}

fn sound_map(map: &[[u32; 4]], to_bytes: usize, from_bytes: usize) -> Result<SpanMap, Unsound> {
    let mut sound = SpanMap::default();
    let mut done = 0;
    for segment in map {
        let [to, to_len, from, from_len] = segment.map(|n| n as usize);
        // All numbers are from `u32`, so the sums do not overflow.
        if to < done || to + to_len > to_bytes || from + from_len > from_bytes {
            return Err("its map leads outside");
        }
        done = to + to_len;
        sound.push(to, to_len, from, from_len);
    }
    Ok(sound)
}

fn sound_blocks(blocks: Vec<WireBlock>, text: &str) -> Result<Vec<Block>, Unsound> {
    let mut sound: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut done = 0;
    for WireBlock { kind, span, section } in blocks {
        let span = place(text, span)?;
        if span.start() < done {
            return Err("its blocks overlap");
        }
        done = span.end();
        // Only earlier blocks are in `sound` yet, so a section cannot refer forward.
        let stands_under = |section: u32| {
            let heading = sound.get(section as usize);
            heading.is_some_and(|block| matches!(block.kind, BlockKind::Heading(_)))
        };
        if section.is_some_and(|section| !stands_under(section)) {
            return Err("a block has no heading");
        }
        sound.push(Block { kind: sound_kind(kind)?, span, section });
    }
    Ok(sound)
}

fn sound_kind(kind: WireBlockKind) -> Result<BlockKind, Unsound> {
    Ok(match kind {
        WireBlockKind::Heading(level @ 1..=6) => BlockKind::Heading(level),
        WireBlockKind::Heading(_) => return Err("a heading has no valid level"),
        WireBlockKind::Paragraph => BlockKind::Paragraph,
        WireBlockKind::ListItem { list, depth, ordinal } => {
            BlockKind::ListItem { list, depth, ordinal }
        }
        WireBlockKind::TableRow { table, is_header } => BlockKind::TableRow { table, is_header },
        WireBlockKind::Code { language } => BlockKind::Code { language: short(language)? },
        WireBlockKind::Quote => BlockKind::Quote,
    })
}

fn sound_inlines(inlines: Vec<WireInline>, text: &str) -> Result<Vec<Inline>, Unsound> {
    let mut last = 0;
    let mut sound = Vec::with_capacity(inlines.len());
    for WireInline { kind, span } in inlines {
        let span = in_order(place(text, span)?, &mut last)?;
        let kind = match kind {
            WireInlineKind::Bold => InlineKind::Bold,
            WireInlineKind::Emphasis => InlineKind::Emphasis,
            WireInlineKind::Code => InlineKind::Code,
        };
        sound.push(Inline { kind, span });
    }
    Ok(sound)
}

fn sound_links(links: Vec<WireLink>, text: &str) -> Result<Vec<Link>, Unsound> {
    let mut last = 0;
    let mut sound = Vec::with_capacity(links.len());
    for WireLink { kind, target, fragment, span } in links {
        let span = in_order(place(text, span)?, &mut last)?;
        let kind = match kind {
            WireLinkKind::Wiki => LinkKind::Wiki,
            WireLinkKind::Embed => LinkKind::Embed,
            WireLinkKind::Path => LinkKind::Path,
            WireLinkKind::Url => LinkKind::Url,
        };
        let fragment = fragment.map(short).transpose()?;
        sound.push(Link { kind, target: short(target)?, fragment, span });
    }
    Ok(sound)
}

/// Returns the span, if it does not begin before the previous one.
fn in_order(span: Span<Norm>, last: &mut usize) -> Result<Span<Norm>, Unsound> {
    if span.start() < *last {
        return Err("its marks or links are out of order");
    }
    *last = span.start();
    Ok(span)
}

fn sound_pages(pages: Vec<u32>, text: &str) -> Result<Vec<u32>, Unsound> {
    let is_place = |page: &u32| text.is_char_boundary(*page as usize);
    if pages.is_sorted() && pages.iter().all(is_place) {
        Ok(pages)
    } else {
        Err("its pages are out of order")
    }
}
