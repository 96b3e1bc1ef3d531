//! hayro-interpret with a device that writes glyphs as they are drawn: a line break where the baseline changes, a space
//! where there is a gap. The bare library that kgd's reader is compared with.

use hayro_cmap::BfString;
use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, interpret_page,
};
use kurbo::{Affine, BezPath, Point, Rect};

#[derive(Default)]
struct Text {
    out: String,
    last: Option<(Point, f64)>,
}

impl Device<'_> for Text {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, _: &DrawMode) {
        for glyph in run.glyphs() {
            let to_page = props.transform * glyph.transform();
            let (at, right) = (to_page * Point::ZERO, to_page * Point::new(1000.0, 0.0));
            let em = at.distance(right);
            if let Some((end, _)) = self.last {
                if (at.y - end.y).abs() > 0.5 * em {
                    self.out.push('\n');
                } else if at.x - end.x > 0.15 * em || at.x - end.x < -em {
                    self.out.push(' ');
                }
            }
            let width = match &**glyph {
                Glyph::Outline(outline) => outline.advance_width().unwrap_or(500.0),
                Glyph::Type3(_) => 500.0,
            };
            self.last = Some((to_page * Point::new(f64::from(width), 0.0), em));
            match glyph.as_unicode() {
                Some(BfString::Char(c)) => self.out.push(c),
                Some(BfString::String(s)) => self.out.push_str(&s),
                None => self.out.push('\u{fffd}'),
            }
        }
    }
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {}
}

fn main() {
    candidates::run(|path| {
        let pdf = hayro_syntax::Pdf::new(std::fs::read(path).ok()?).ok()?;
        let cache = InterpreterCache::new();
        let mut out = String::new();
        for page in pdf.pages().iter() {
            let settings = InterpreterSettings::default();
            let page_area = Rect::new(0.0, 0.0, 1e4, 1e4);
            let mut context = Context::new(Affine::IDENTITY, page_area, &cache, pdf.xref(), settings);
            let mut text = Text::default();
            interpret_page(page, &mut context, &mut text);
            out += &text.out;
            out.push('\n');
        }
        Some(out)
    });
}
