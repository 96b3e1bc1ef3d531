//! Links: the areas of a page that link to an address.
//!
//! In: a page's annotations. Out: areas with addresses, in the coordinates of the page's text.
//! Invariant: at most [`MAX_LINKS`] per page, so that each word can be compared with all of them.

use hayro_font::kurbo::Affine;
use hayro_syntax::object::{Dict, Name, String as PdfString};
use hayro_syntax::page::Page;

use super::annotations::{self, Area};
use super::meta::text_of;
use super::rows::Word;

/// Most links per page.
const MAX_LINKS: usize = 200;

/// An area with an address.
#[derive(Debug, Clone)]
pub(super) struct PageLink {
    pub(super) address: String,
    area: Area,
}

/// Returns the links of a page.
pub(super) fn links_of(page: &Page<'_>) -> Vec<PageLink> {
    let to_page = Affine::new(page.initial_transform(true).as_coeffs());
    let links = annotations::dicts_of(page).filter_map(|dict| link_of(&dict, to_page));
    links.take(MAX_LINKS).collect()
}

fn link_of(dict: &Dict<'_>, to_page: Affine) -> Option<PageLink> {
    dict.get::<Name<'_>>("Subtype").filter(|name| name.as_str() == "Link")?;
    let address = dict.get::<Dict<'_>>("A")?.get::<PdfString<'_>>("URI")?;
    let area = annotations::area_of(dict, to_page)?;
    Some(PageLink { address: text_of(address.as_bytes()), area })
}

/// Returns the link that contains a word, counted from 1; 0 for none.
pub(super) fn link_at(links: &[PageLink], word: &Word) -> u16 {
    // A point in the middle of the word, a bit above the baseline.
    let (x, y) = ((word.x0 + word.x1) / 2.0, word.y - 0.25 * word.size);
    let holds = |PageLink { area, .. }: &PageLink| {
        (area.x0..=area.x1).contains(&x) && (area.y0..=area.y1).contains(&y)
    };
    links.iter().position(holds).map_or(0, |at| u16::try_from(at + 1).unwrap_or(0))
}
