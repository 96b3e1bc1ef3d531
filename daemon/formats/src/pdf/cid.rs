//! Character collections: finds the text of Chinese, Japanese and Korean fonts that only state the numbers of their
//! glyphs in a published collection.
//!
//! In: a font dictionary without a character table. Out: the text of its codes.
//! Invariant: only tables that come with the library, or the font's own, are used.

use hayro_font::hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Stream, String as PdfString};

use super::bound;

/// Maps codes to numbers in a collection, and those to text.
pub(super) struct CidText {
    /// `None` where codes are numbers already.
    to_number: Option<CMap>,
    to_text: CMap,
}

impl CidText {
    /// Returns `None` for a font of no known collection, and for one with a character table.
    pub(super) fn of_font(dict: &Dict<'_>) -> Option<CidText> {
        if dict.contains_key(keys::TO_UNICODE) {
            return None;
        }
        let inner = dict.get::<Array<'_>>(keys::DESCENDANT_FONTS)?.iter::<Dict<'_>>().next()?;
        let info = inner.get::<Dict<'_>>(keys::CIDSYSTEMINFO)?;
        let text = |key: &str| info.get::<PdfString<'_>>(key);
        let (registry, ordering) = (text("Registry")?, text("Ordering")?);
        let family = CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes());
        let to_text = named(family.ucs2_cmap()?)?;
        let to_number = match dict.get::<Name<'_>>(keys::ENCODING) {
            Some(name) if name.as_str().starts_with("Identity") => None,
            Some(name) => Some(named(CMapName::from_bytes(name.as_ref()))?),
            None => {
                let stream = dict.get::<Stream<'_>>(keys::ENCODING)?;
                Some(CMap::parse(&bound::content(&stream)?, load_embedded)?)
            }
        };
        Some(CidText { to_number, to_text })
    }

    /// Returns the text of a code.
    pub(super) fn text(&self, code: u32) -> Option<BfString> {
        let number = match &self.to_number {
            // The code does not say how many bytes it was written with.
            Some(map) => (1..=4).find_map(|n_bytes| map.lookup_cid_code(code, n_bytes))?,
            None => code,
        };
        self.to_text.lookup_bf_string(number)
    }
}

fn named(name: CMapName<'_>) -> Option<CMap> {
    CMap::parse(load_embedded(name)?, load_embedded)
}
