//! State: the text and graphics state that operators change.
//!
//! In: operators and operands. Out: the position of the pen, with font and spacing.
//! Invariant: numbers may be anything that a file states; values too large or not finite are rejected where glyphs
//! are placed.

use std::rc::Rc;

use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::content::OperandIterator;
use hayro_syntax::object::Object;

use super::font::{Code, PdfFont};
use super::glyph::{Glyph, GlyphStyle};

/// The state in which a glyph is drawn (ISO 32000-1, 8.4 and 9.3).
#[derive(Clone)]
pub(super) struct State<'a> {
    /// From the current coordinates to those of the page; its y grows downwards.
    pub(super) to_page: Affine,
    /// From text coordinates to the current ones: the position of the pen.
    pub(super) text: Affine,
    /// The same at the start of the line.
    line: Affine,
    pub(super) font: Option<Rc<PdfFont<'a>>>,
    pub(super) size: f64,
    pub(super) char_spacing: f64,
    pub(super) word_spacing: f64,
    /// Horizontal scale; 1 is normal.
    pub(super) stretch: f64,
    leading: f64,
    pub(super) rise: f64,
}

/// Returns an operand as a number; `None` if it is something else.
pub(super) fn number(operand: Option<&Object<'_>>) -> Option<f64> {
    match operand {
        Some(Object::Number(number)) => Some(number.as_f64()),
        _ => None,
    }
}

impl State<'_> {
    pub(super) fn new(to_page: Affine) -> Self {
        State {
            to_page,
            text: Affine::IDENTITY,
            line: Affine::IDENTITY,
            font: None,
            size: 0.0,
            char_spacing: 0.0,
            word_spacing: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }

    /// Runs an operator that needs nothing but its operands.
    pub(super) fn run(&mut self, operator: &[u8], mut operands: OperandIterator<'_, '_>) {
        let mut next = || number(operands.next());
        match operator {
            b"BT" => (self.text, self.line) = (Affine::IDENTITY, Affine::IDENTITY),
            b"Td" | b"TD" => {
                if let (Some(x), Some(y)) = (next(), next()) {
                    if operator == b"TD" {
                        self.leading = -y;
                    }
                    self.move_line(x, y);
                }
            }
            b"T*" => self.next_line(),
            b"Tm" => {
                if let Some(matrix) = matrix(operands) {
                    (self.text, self.line) = (matrix, matrix);
                }
            }
            b"Tc" => self.char_spacing = next().unwrap_or(0.0),
            b"Tw" => self.word_spacing = next().unwrap_or(0.0),
            b"Tz" => self.stretch = next().map_or(1.0, |percent| percent / 100.0),
            b"TL" => self.leading = next().unwrap_or(0.0),
            b"Ts" => self.rise = next().unwrap_or(0.0),
            _ => {}
        }
    }

    /// Runs `cm`: changes the coordinates.
    pub(super) fn transform(&mut self, operands: OperandIterator<'_, '_>) {
        if let Some(matrix) = matrix(operands) {
            self.to_page *= matrix;
        }
    }

    pub(super) fn next_line(&mut self) {
        self.move_line(0.0, -self.leading);
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate(Vec2::new(x, y));
        self.text = self.line;
    }

    /// Moves the pen back by a number between pieces of text, in thousandths of the font size.
    pub(super) fn adjust(&mut self, by: f64) {
        self.move_pen(-by / 1000.0 * self.size * self.stretch, 0.0);
    }

    /// Moves the pen past a code (ISO 32000-1, 9.4.4).
    pub(super) fn advance(&mut self, code: &Code, is_space: bool) {
        let spacing = self.char_spacing + if is_space { self.word_spacing } else { 0.0 };
        let (x, y) = (f64::from(code.advance.0) * self.size, f64::from(code.advance.1) * self.size);
        // Only vertical text has a vertical advance; the horizontal scale does not apply to it.
        match code.advance.1 == 0.0 {
            true => self.move_pen((x + spacing) * self.stretch, 0.0),
            false => self.move_pen(0.0, y + spacing),
        }
    }

    /// Returns the glyph of a code at the pen, with a space for its character; `None` if its place or size is
    /// unusable.
    pub(super) fn placed(&self, font: &PdfFont<'_>, code: &Code) -> Option<Glyph> {
        let to_page = self.to_page * self.text * Affine::translate(Vec2::new(0.0, self.rise));
        let [a, b, c, d, ..] = to_page.as_coeffs();
        let (origin_x, origin_y) = (f64::from(code.origin.0), f64::from(code.origin.1));
        let width = f64::from(code.advance.0) * self.size + self.char_spacing.max(0.0);
        let is_vertical = code.advance.1 != 0.0;
        // Columns of vertical text are one size wide.
        let width = if is_vertical { self.size } else { width } * self.stretch;
        let start = to_page * Point::new(origin_x * self.size * self.stretch, origin_y * self.size);
        let along = Vec2::new(a, b) * width;
        // The height of a unit after the transformation is the scale of the size.
        let size = self.size.abs() * c.hypot(d) * f64::from(font.scale);
        // A negative size sets a font upside down and mirrored; the pen then moves to the left.
        let direction = if self.size < 0.0 { -Vec2::new(a, b) } else { Vec2::new(a, b) };
        let turn = direction.y.atan2(direction.x).to_degrees().round().rem_euclid(360.0);
        // Rotate by `-turn`, so that the text runs to the right.
        let (sin, cos) = turn.to_radians().sin_cos();
        let x = start.x * cos + start.y * sin;
        let y = start.y * cos - start.x * sin;
        let end = x + along.x * cos + along.y * sin;
        let is_sane = [x, y, end, size].iter().all(|n| n.is_finite() && n.abs() < 1e6);
        (is_sane && size > 0.01).then_some(Glyph {
            char: ' ',
            x0: x.min(end) as f32,
            x1: x.max(end) as f32,
            y: y as f32,
            size: size as f32,
            turn: turn as u16 % 360,
            style: GlyphStyle::default(),
        })
    }

    fn move_pen(&mut self, x: f64, y: f64) {
        self.text *= Affine::translate(Vec2::new(x, y));
    }
}

fn matrix(operands: OperandIterator<'_, '_>) -> Option<Affine> {
    let mut matrix = [0.0; 6];
    let mut n = 0;
    for (slot, operand) in matrix.iter_mut().zip(operands) {
        *slot = number(Some(operand))?;
        n += 1;
    }
    (n == 6).then(|| Affine::new(matrix))
}
