//! Annotations: text that stands at a rectangle on a page, beside the page's content.
//!
//! In: a page. Out: for each annotation how it is drawn (its appearance), and its text if nothing is drawn: the value
//! of a form's field, the contents of a text box. Comments, which a viewer shows in windows of their own, are notes.
//! Invariants: at most [`MAX_ANNOTATIONS`] per page; loops among fields end; nothing that a viewer hides is read.

use hayro_font::kurbo::{Affine, Point};
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::page::Page;

use super::bound;
use super::glyph::{Glyph, GlyphStyle};
use super::meta::text_of;

/// Most annotations per page.
const MAX_ANNOTATIONS: usize = 2_000;
/// Deepest nesting of fields.
const MAX_PARENTS: usize = 16;
/// Most options of a choice that are compared.
const MAX_OPTIONS: usize = 2_000;
/// Longest text, in bytes; the rest is dropped.
const MAX_TEXT_BYTES: usize = 1 << 16;
/// Flags of annotations (ISO 32000-1, 12.5.3): hidden, and not viewed on a screen.
const HIDDEN: u32 = 1 << 1 | 1 << 5;
/// Flags of fields (12.7.4): a password; buttons that have no state.
const PASSWORD: u32 = 1 << 13;
const PUSH_BUTTON: u32 = 1 << 16;
/// Annotations whose contents are a comment on the page (12.5.6.2).
const COMMENTS: &[&str] = &[
    "Text",
    "Highlight",
    "Underline",
    "Squiggly",
    "StrikeOut",
    "Square",
    "Circle",
    "Line",
    "Polygon",
    "PolyLine",
    "Ink",
    "Caret",
    "FileAttachment",
];
/// Annotations that have no text of their own: the text of a link is on the page, that of a window in its comment.
const WITHOUT_TEXT: &[&str] = &["Link", "Popup"];
/// Size of text where nothing says another one, in points, and the width of its characters, in sizes.
const SIZE: f32 = 11.0;
const WIDTH: f32 = 0.5;

/// A rectangle in the coordinates of the page's text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x0: f32,
    pub(super) y0: f32,
    pub(super) x1: f32,
    pub(super) y1: f32,
}

/// What a viewer shows of an annotation.
pub(super) struct Annotation<'a> {
    pub(super) area: Area,
    /// What is drawn, and the transformation from its coordinates to those of the page.
    pub(super) appearance: Option<(Stream<'a>, Affine)>,
    /// The text that is shown if nothing is drawn.
    pub(super) text: String,
    /// True for a comment, which has a place but is not part of the page.
    pub(super) is_note: bool,
}

/// Returns the dictionaries of a page's annotations.
pub(super) fn dicts_of<'a>(page: &Page<'a>) -> impl Iterator<Item = Dict<'a>> {
    let all = page.raw().get::<Array<'a>>("Annots");
    all.into_iter().flat_map(|all| all.iter::<Dict<'a>>().take(MAX_ANNOTATIONS))
}

/// Returns an annotation's rectangle on the page.
pub(super) fn area_of(dict: &Dict<'_>, to_page: Affine) -> Option<Area> {
    let area = dict.get::<Rect>("Rect")?;
    let (a, b) = (to_page * Point::new(area.x0, area.y0), to_page * Point::new(area.x1, area.y1));
    Some(Area {
        x0: a.x.min(b.x) as f32,
        y0: a.y.min(b.y) as f32,
        x1: a.x.max(b.x) as f32,
        y1: a.y.max(b.y) as f32,
    })
}

/// Returns an annotation; `None` if it shows no text.
pub(super) fn read<'a>(dict: &Dict<'a>, to_page: Affine) -> Option<Annotation<'a>> {
    let kind = dict.get::<Name<'_>>(keys::SUBTYPE)?;
    let kind = kind.as_str();
    let flags = dict.get::<u32>("F").unwrap_or(0);
    if WITHOUT_TEXT.contains(&kind) || flags & HIDDEN != 0 {
        return None;
    }
    let area = area_of(dict, to_page)?;
    let is_note = COMMENTS.contains(&kind);
    // Fields that only hold data have no size.
    let is_seen = is_note || area.x1 - area.x0 >= 1.0 && area.y1 - area.y0 >= 1.0;
    let field = (kind == "Widget").then(|| Field::of(dict));
    let mut text = match &field {
        _ if !is_seen => return None,
        // What it draws may be the password, too.
        Some(field) if field.is_password() => return None,
        Some(field) => field.value(dict),
        None => dict.get::<PdfString<'_>>("Contents").map(|text| text_of(text.as_bytes())),
    }
    .unwrap_or_default();
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    // The state of a button is drawn as a mark of any form; its name says what it means.
    let is_drawn = !is_note && !field.is_some_and(|field| field.has_state());
    let appearance = if is_drawn { appearance_of(dict) } else { None };
    Some(Annotation { area, appearance, text, is_note })
}

/// Returns what an annotation draws, and how its box is fitted into the rectangle (12.5.5).
fn appearance_of<'a>(dict: &Dict<'a>) -> Option<(Stream<'a>, Affine)> {
    let all = dict.get::<Dict<'a>>("AP")?;
    let form = all.get::<Stream<'a>>("N").or_else(|| {
        let state = dict.get::<Name<'_>>("AS")?;
        all.get::<Dict<'a>>("N")?.get::<Stream<'a>>(state)
    })?;
    let area = dict.get::<Rect>("Rect")?;
    let own = form.dict().get::<Rect>(keys::BBOX)?;
    let matrix = form.dict().get::<[f64; 6]>(keys::MATRIX).map_or(Affine::IDENTITY, Affine::new);
    let corners = [(own.x0, own.y0), (own.x1, own.y0), (own.x0, own.y1), (own.x1, own.y1)]
        .map(|(x, y)| matrix * Point::new(x, y));
    let (x0, y0) =
        corners.iter().fold((f64::MAX, f64::MAX), |(x, y), it| (x.min(it.x), y.min(it.y)));
    let (x1, y1) =
        corners.iter().fold((f64::MIN, f64::MIN), |(x, y), it| (x.max(it.x), y.max(it.y)));
    // An empty box is not stretched.
    let scale = |to: f64, from: f64| if from > 0.0 && to > 0.0 { to / from } else { 1.0 };
    let (sx, sy) = (scale(area.x1 - area.x0, x1 - x0), scale(area.y1 - area.y0, y1 - y0));
    Some((form, Affine::new([sx, 0.0, 0.0, sy, area.x0 - sx * x0, area.y0 - sy * y0])))
}

/// A field of a form, with what it inherits.
struct Field<'a> {
    /// The widget, then its field and what that is part of.
    chain: Vec<Dict<'a>>,
    kind: String,
    flags: u32,
}

impl<'a> Field<'a> {
    fn of(widget: &Dict<'a>) -> Self {
        let parent = |dict: &Dict<'a>| dict.get::<Dict<'a>>("Parent");
        let chain = std::iter::successors(Some(widget.clone()), parent).take(MAX_PARENTS).collect();
        let mut field = Field { chain, kind: String::new(), flags: 0 };
        let kind = field.inherited(|dict| dict.get::<Name<'_>>("FT"));
        field.kind = kind.map_or(String::new(), |kind| kind.as_str().to_string());
        field.flags = field.inherited(|dict| dict.get::<u32>("Ff")).unwrap_or(0);
        field
    }

    fn inherited<T>(&self, get: impl Fn(&Dict<'a>) -> Option<T>) -> Option<T> {
        self.chain.iter().find_map(get)
    }

    fn is_password(&self) -> bool {
        self.kind == "Tx" && self.flags & PASSWORD != 0
    }

    /// True for a check box or a radio button.
    fn has_state(&self) -> bool {
        self.kind == "Btn" && self.flags & PUSH_BUTTON == 0
    }

    /// Returns the value as it is shown.
    fn value(&self, widget: &Dict<'a>) -> Option<String> {
        if self.flags & PUSH_BUTTON != 0 && self.kind == "Btn" {
            return None;
        }
        if self.has_state() {
            let state = widget.get::<Name<'_>>("AS");
            let state = state.or_else(|| self.inherited(|dict| dict.get::<Name<'_>>("V")))?;
            let state = state.as_str();
            // A number stands for one of the options (12.7.4.2.3).
            let option = state.parse().ok().and_then(|at: usize| self.options().nth(at));
            return (state != "Off").then(|| option.map_or(state.to_string(), |(_, shown)| shown));
        }
        match self.inherited(|dict| dict.get::<Object<'_>>("V"))? {
            Object::Array(all) => {
                let all = all.iter::<PdfString<'_>>().take(MAX_OPTIONS);
                let shown: Vec<String> = all.map(|it| self.shown(text_of(it.as_bytes()))).collect();
                Some(shown.join(", "))
            }
            Object::String(text) => Some(self.shown(text_of(text.as_bytes()))),
            Object::Stream(text) => bound::content(&text).map(|text| text_of(&text)),
            _ => None,
        }
    }

    /// Returns the options of a choice: what is stored, and what is shown.
    fn options(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.inherited(|dict| dict.get::<Array<'_>>("Opt"));
        let all = all.into_iter().flat_map(|all| all.iter::<Object<'_>>().take(MAX_OPTIONS));
        all.filter_map(|option| match option {
            Object::String(text) => {
                let text = text_of(text.as_bytes());
                Some((text.clone(), text))
            }
            Object::Array(pair) => {
                let mut pair = pair.iter::<PdfString<'_>>().map(|it| text_of(it.as_bytes()));
                Some((pair.next()?, pair.next()?))
            }
            _ => None,
        })
    }

    fn shown(&self, stored: String) -> String {
        let option = self.options().find(|(value, _)| *value == stored);
        option.map_or(stored, |(_, shown)| shown)
    }
}

/// Returns text as glyphs on one line of a rectangle, which is also narrow where the text is long, so that what belongs
/// together stays together. A rectangle with room for several lines begins beside its label.
pub(super) fn glyphs_in(area: Area, text: &str) -> Vec<Glyph> {
    let height = area.y1 - area.y0;
    let size = (0.7 * height).clamp(4.0, SIZE);
    let y = match height > 2.4 * size {
        true => area.y0 + size,
        false => (area.y0 + area.y1) / 2.0 + 0.3 * size,
    };
    let mut chars: Vec<char> =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    // Glyphs are in visual order, from left to right.
    if chars.first().copied().is_some_and(super::bidi::is_right_to_left) {
        chars.reverse();
    }
    let step = (WIDTH * size).min((area.x1 - area.x0).max(1.0) / chars.len().max(1) as f32);
    let glyph = |(i, char): (usize, char)| {
        let x0 = area.x0 + step * i as f32;
        Glyph { char, x0, x1: x0 + step, y, size, turn: 0, style: GlyphStyle::VALUE }
    };
    chars.into_iter().filter(|char| !char.is_control()).enumerate().map(glyph).collect()
}
