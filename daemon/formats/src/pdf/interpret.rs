//! Interpret: runs the content of a page as far as it concerns text.
//!
//! In: a page. Out: its glyphs in drawing order, those of its annotations last, [`Shown`].
//! Invariants: nothing is rendered; work is bounded for the whole document ([`Budget`]); an invalid operator is
//! skipped.

use std::rc::Rc;

use hayro_font::kurbo::Affine;
use hayro_syntax::content::{Instruction, UntypedIter};
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::annotations;
use super::bound;
use super::font::{Code, Fonts, PdfFont};
use super::glyph::{Glyph, GlyphStyle, Shown};
use super::marked::Marked;
use super::state::{State, number};

/// Deepest nesting of forms (reusable content).
const MAX_DEPTH: usize = 16;
/// Most glyphs per page; a newspaper page has some 50,000.
const MAX_PAGE_GLYPHS: usize = 500_000;
/// Most saved states at once.
const MAX_SAVED: usize = 512;
/// Longest string of text that is read, in bytes; the rest is skipped.
const MAX_STRING_BYTES: usize = 1 << 16;

/// The work that is left for a document.
#[derive(Debug)]
pub(super) struct Budget {
    /// Operators.
    pub(super) n_operators: usize,
    /// Bytes of unpacked content.
    pub(super) n_bytes: usize,
}

impl Budget {
    /// True once nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.n_operators == 0 || self.n_bytes == 0
    }
}

/// Runs the pages of one document.
pub(super) struct Interpreter<'a> {
    fonts: Fonts<'a>,
    pub(super) budget: Budget,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(budget: Budget) -> Self {
        Interpreter { fonts: Fonts::new(), budget }
    }

    /// Returns the content of a page.
    pub(super) fn page(&mut self, page: &Page<'a>) -> Shown {
        let start = Affine::new(page.initial_transform(true).as_coeffs());
        let mut run = PageRun {
            document: self,
            shown: Shown::default(),
            state: State::new(start),
            saved: Vec::new(),
            marked: Marked::default(),
            style: GlyphStyle::default(),
            depth: 0,
        };
        if let Some(drawing) = drawing_of(page) {
            run.content(&drawing, page.resources());
        }
        run.marked.end_all(&mut run.shown.glyphs);
        run.annotations(page, start);
        run.shown
    }
}

/// Returns the page's content, unpacked; several streams are joined.
fn drawing_of(page: &Page<'_>) -> Option<Vec<u8>> {
    let raw = page.raw();
    if let Some(stream) = raw.get::<Stream<'_>>(keys::CONTENTS) {
        return bound::content(&stream).map(|content| content.into_owned());
    }
    let mut all = Vec::new();
    for stream in raw.get::<Array<'_>>(keys::CONTENTS)?.iter::<Stream<'_>>() {
        let Some(content) = bound::content(&stream) else { continue };
        if all.len() + content.len() > bound::MAX_STREAM_BYTES {
            break;
        }
        all.extend_from_slice(&content);
        // Streams may be split between any two tokens.
        all.push(b' ');
    }
    Some(all)
}

fn name_of<'a>(operand: Option<&Object<'a>>) -> Option<Name<'a>> {
    match operand {
        Some(Object::Name(name)) => Some(name.clone()),
        _ => None,
    }
}

/// The run of one page.
struct PageRun<'a, 'd> {
    document: &'d mut Interpreter<'a>,
    shown: Shown,
    state: State<'a>,
    saved: Vec<State<'a>>,
    marked: Marked,
    /// What all glyphs have that are drawn now.
    style: GlyphStyle,
    depth: usize,
}

impl<'a> PageRun<'a, '_> {
    /// Runs what annotations draw; text that is not drawn is placed in their rectangles.
    fn annotations(&mut self, page: &Page<'a>, start: Affine) {
        self.style = GlyphStyle::VALUE;
        for dict in annotations::dicts_of(page) {
            let Some(annotation) = annotations::read(&dict, start) else { continue };
            let (n_glyphs, n_images) = (self.shown.glyphs.len(), self.shown.n_images);
            if self.document.budget.is_spent() || n_glyphs > MAX_PAGE_GLYPHS {
                break;
            }
            if let Some((form, to_area)) = &annotation.appearance {
                self.state = State::new(start * *to_area);
                self.object(form, page.resources());
                self.marked.end_all(&mut self.shown.glyphs);
                // Pictures of marks and stamps do not make a page a scan.
                self.shown.n_images = n_images;
            }
            let drawn = self.shown.glyphs.get(n_glyphs..).unwrap_or(&[]);
            if annotation.is_note {
                self.shown.notes.push(annotation.text);
            } else if drawn.iter().all(|glyph| glyph.char == ' ') {
                let placed = annotations::glyphs_in(annotation.area, &annotation.text);
                self.shown.glyphs.extend(placed);
            }
        }
    }

    /// Runs one content stream: a page's, or a form's.
    fn content(&mut self, content: &[u8], resources: &Resources<'a>) {
        let budget = &mut self.document.budget;
        budget.n_bytes = budget.n_bytes.saturating_sub(content.len());
        let n_saved = self.saved.len();
        let mut instructions = UntypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            if self.document.budget.is_spent() || self.shown.glyphs.len() > MAX_PAGE_GLYPHS {
                break;
            }
            self.document.budget.n_operators -= 1;
            self.run(&instruction, resources, n_saved);
        }
        // States that this stream saved and did not restore.
        self.saved.truncate(n_saved.max(1));
    }

    /// Runs one operator. The first `n_outer` saved states belong to the surrounding content and cannot be restored
    /// here.
    fn run(
        &mut self,
        instruction: &Instruction<'_, '_>,
        resources: &Resources<'a>,
        n_outer: usize,
    ) {
        let operator: &[u8] = instruction.operator;
        let mut operands = instruction.operands();
        // Operators that need resources or glyphs; see ISO 32000-1, annex A. All others only change the state.
        match operator {
            b"q" if self.saved.len() < MAX_SAVED => self.saved.push(self.state.clone()),
            b"Q" if self.saved.len() > n_outer => {
                self.state = self.saved.pop().unwrap_or_else(|| self.state.clone());
            }
            b"cm" => self.state.transform(operands),
            b"Tj" => self.show_operand(operands.next()),
            b"TJ" => self.show_pieces(operands.next()),
            b"'" => {
                self.state.next_line();
                self.show_operand(operands.next());
            }
            b"\"" => {
                self.state.word_spacing = number(operands.next()).unwrap_or(0.0);
                self.state.char_spacing = number(operands.next()).unwrap_or(0.0);
                self.state.next_line();
                self.show_operand(operands.next());
            }
            b"Tf" => {
                let dict = name_of(operands.next()).and_then(|name| resources.get_font(&name));
                self.state.size = number(operands.next()).unwrap_or(0.0);
                self.set_font(dict.as_ref());
            }
            b"gs" => self.set_state(
                name_of(operands.next()).and_then(|name| resources.get_ext_g_state(&name)),
            ),
            b"Do" => {
                let object =
                    name_of(operands.next()).and_then(|name| resources.get_x_object(&name));
                if let Some(object) = object {
                    self.object(&object, resources);
                }
            }
            // An inline image.
            b"BI" => self.shown.n_images += 1,
            b"BMC" | b"BDC" => {
                let tag = name_of(operands.next());
                // Properties are written in place, or named in the resources.
                match operands.next() {
                    Some(Object::Dict(dict)) => {
                        self.marked.begin(tag, Some(dict), self.shown.glyphs.len())
                    }
                    Some(Object::Name(name)) => {
                        let dict = resources.properties.get::<Dict<'_>>(name.as_ref());
                        self.marked.begin(tag, dict.as_ref(), self.shown.glyphs.len())
                    }
                    _ => self.marked.begin(tag, None, self.shown.glyphs.len()),
                }
            }
            b"EMC" => self.marked.end(&mut self.shown.glyphs),
            _ => self.state.run(operator, operands),
        }
    }

    fn set_font(&mut self, dict: Option<&Dict<'a>>) {
        self.state.font = dict.and_then(|dict| self.document.fonts.font(dict));
    }

    /// Applies a named graphics state, as far as it sets a font.
    fn set_state(&mut self, dict: Option<Dict<'a>>) {
        let Some(font) = dict.and_then(|dict| dict.get::<Array<'_>>(keys::FONT)) else { return };
        let mut items = font.flex_iter();
        let dict = items.next::<Dict<'_>>();
        self.state.size = items.next::<f32>().map_or(self.state.size, f64::from);
        self.set_font(dict.as_ref());
    }

    /// Runs a form; counts a picture.
    fn object(&mut self, object: &Stream<'a>, outer: &Resources<'a>) {
        let dict = object.dict();
        let is_form =
            dict.get::<Name<'_>>(keys::SUBTYPE).is_some_and(|name| name.as_str() == "Form");
        if !is_form {
            self.shown.n_images += 1;
            return;
        }
        // A form can contain itself.
        if self.depth >= MAX_DEPTH {
            return;
        }
        let Some(content) = bound::content(object) else { return };
        // A form cannot change the state outside of it.
        let before = self.state.clone();
        if let Some(matrix) = dict.get::<[f64; 6]>(keys::MATRIX) {
            self.state.to_page *= Affine::new(matrix);
        }
        // A form without resources uses those of the page.
        let own = dict.get::<Dict<'_>>(keys::RESOURCES).map(Resources::new);
        self.depth += 1;
        self.content(&content, own.as_ref().unwrap_or(outer));
        self.depth -= 1;
        self.state = before;
    }

    fn show_operand(&mut self, operand: Option<&Object<'_>>) {
        if let Some(Object::String(text)) = operand {
            self.show(text);
        }
    }

    fn show_pieces(&mut self, operand: Option<&Object<'_>>) {
        let Some(Object::Array(pieces)) = operand else { return };
        for piece in pieces.raw_iter() {
            match piece {
                hayro_syntax::object::MaybeRef::NotRef(Object::String(text)) => self.show(&text),
                hayro_syntax::object::MaybeRef::NotRef(Object::Number(by)) => {
                    self.state.adjust(by.as_f64())
                }
                _ => {}
            }
            if self.shown.glyphs.len() > MAX_PAGE_GLYPHS {
                break;
            }
        }
    }

    fn show(&mut self, text: &PdfString<'_>) {
        let Some(font) = self.state.font.clone() else { return };
        let mut bytes = text.as_bytes();
        bytes = bytes.get(..MAX_STRING_BYTES).unwrap_or(bytes);
        while let Some((code, number, n_bytes)) = font.next_code(bytes) {
            self.show_code(&font, &code);
            // Word spacing only applies to the single-byte code 32 (ISO 32000-1, 9.3.3).
            self.state.advance(&code, n_bytes == 1 && number == u32::from(b' '));
            bytes = bytes.get(n_bytes..).unwrap_or(&[]);
        }
    }

    /// Adds the glyphs of a code at the pen's position.
    fn show_code(&mut self, font: &Rc<PdfFont<'a>>, code: &Code) {
        if code.text.is_empty() {
            self.shown.n_unknown += 1;
            return;
        }
        let placed = self.state.placed(font, code);
        let Some(placed) = placed else { return };
        let style = self.marked.style() | font.style | self.style;
        // A ligature has several characters; each gets an equal part of its width.
        let n_chars = code.text.chars().count().max(1);
        let step = (placed.x1 - placed.x0) / n_chars as f32;
        let is_reversed = code.text.chars().next().is_some_and(super::bidi::is_right_to_left);
        // Glyphs are in visual order, from left to right; the text of a ligature is in reading order.
        let mut push = |(i, char): (usize, char)| {
            let x0 = placed.x0 + step * i as f32;
            self.shown.glyphs.push(Glyph { char, x0, x1: x0 + step, style, ..placed });
        };
        if is_reversed {
            code.text.chars().rev().enumerate().for_each(&mut push);
        } else {
            code.text.chars().enumerate().for_each(&mut push);
        }
    }
}
