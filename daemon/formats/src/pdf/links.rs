//! Links: the areas of a page that link to an address.
//!
//! In: a page's annotations. Out: areas with addresses, in the coordinates of the page's text.
//! Invariant: at most [`MAX_LINKS`] per page, so that each word can be compared with all of them.

use hayro_font::kurbo::{Affine, Point};
use hayro_syntax::object::{Array, Dict, Name, Rect, String as PdfString};
use hayro_syntax::page::Page;

use super::meta::text_of;
use super::rows::Word;

/// Most links per page.
const MAX_LINKS: usize = 200;

/// An area with an address.
#[derive(Debug, Clone)]
pub(super) struct PageLink {
    pub(super) address: String,
    x0: f32,
    y0: f32,
    x1: f32,
    y1: f32,
}

/// Returns the links of a page.
pub(super) fn links_of(page: &Page<'_>) -> Vec<PageLink> {
    let Some(annotations) = page.raw().get::<Array<'_>>("Annots") else { return Vec::new() };
    let to_page = Affine::new(page.initial_transform(true).as_coeffs());
    annotations
        .iter::<Dict<'_>>()
        // Other annotations are skipped, but their number is bounded too.
        .take(10 * MAX_LINKS)
        .filter_map(|dict| link_of(&dict, to_page))
        .take(MAX_LINKS)
        .collect()
}

fn link_of(dict: &Dict<'_>, to_page: Affine) -> Option<PageLink> {
    dict.get::<Name<'_>>("Subtype").filter(|name| name.as_str() == "Link")?;
    let address = dict.get::<Dict<'_>>("A")?.get::<PdfString<'_>>("URI")?;
    let area = dict.get::<Rect>("Rect")?;
    let (a, b) = (to_page * Point::new(area.x0, area.y0), to_page * Point::new(area.x1, area.y1));
    Some(PageLink {
        address: text_of(address.as_bytes()),
        x0: a.x.min(b.x) as f32,
        y0: a.y.min(b.y) as f32,
        x1: a.x.max(b.x) as f32,
        y1: a.y.max(b.y) as f32,
    })
}

/// Returns the link that contains a word, counted from 1; 0 for none.
pub(super) fn link_at(links: &[PageLink], word: &Word) -> u16 {
    // A point in the middle of the word, a bit above the baseline.
    let (x, y) = ((word.x0 + word.x1) / 2.0, word.y - 0.25 * word.size);
    let holds =
        |link: &PageLink| (link.x0..=link.x1).contains(&x) && (link.y0..=link.y1).contains(&y);
    links.iter().position(holds).map_or(0, |at| u16::try_from(at + 1).unwrap_or(0))
}
