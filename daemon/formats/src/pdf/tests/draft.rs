//! Draft: writes small PDF files, so that tests show their content.

use std::fmt::Write as _;

/// A font that every draft has.
#[derive(Clone, Copy)]
pub(super) enum Face {
    Plain,
    Bold,
    Mono,
    /// Right to left: codes 0x05d0 and so on are Hebrew letters.
    Wide,
}

/// A page being drawn. Places count from the lower left corner, in points; a page is 600 × 800.
#[derive(Clone, Default)]
pub(super) struct Sheet {
    drawing: String,
    annotations: String,
    has_image: bool,
}

impl Sheet {
    pub(super) fn text(mut self, (x, y): (u32, u32), face: Face, size: u32, text: &str) -> Self {
        let name = ["F1", "F2", "F3", "F4"][face as usize];
        let shown = match face {
            Face::Wide => {
                let units: String = text.encode_utf16().map(|unit| format!("{unit:04x}")).collect();
                format!("<{units}>")
            }
            _ => {
                let bytes: String =
                    text.chars().map(|char| format!("{:02x}", win_ansi(char))).collect();
                format!("<{bytes}>")
            }
        };
        let _ = writeln!(self.drawing, "BT /{name} {size} Tf {x} {y} Td {shown} Tj ET");
        self
    }

    /// Draws lines below each other, 1.2 font sizes apart.
    pub(super) fn lines(mut self, (x, y): (u32, u32), size: u32, lines: &[&str]) -> Self {
        for (i, line) in lines.iter().enumerate() {
            self = self.text((x, y - i as u32 * size * 6 / 5), Face::Plain, size, line);
        }
        self
    }

    pub(super) fn raw(mut self, drawing: &str) -> Self {
        self.drawing.push_str(drawing);
        self.drawing.push('\n');
        self
    }

    pub(super) fn link(self, area: [u32; 4], address: &str) -> Self {
        self.annotation(area, &format!("/Subtype /Link /A << /S /URI /URI ({address}) >>"))
    }

    /// Adds an annotation with the given entries.
    pub(super) fn annotation(mut self, [x0, y0, x1, y1]: [u32; 4], entries: &str) -> Self {
        let _ =
            write!(self.annotations, "<< /Type /Annot /Rect [{x0} {y0} {x1} {y1}] {entries} >> ");
        self
    }

    pub(super) fn image(mut self) -> Self {
        self.has_image = true;
        self.raw("q 100 0 0 100 0 0 cm /Im Do Q")
    }
}

fn win_ansi(char: char) -> u8 {
    match char {
        '•' => 0x95,
        '\u{ad}' => 0xad,
        _ => u8::try_from(u32::from(char)).expect("a Latin letter"),
    }
}

/// A file being written.
pub(super) struct Draft {
    objects: Vec<String>,
    pages: Vec<usize>,
    catalog: String,
    info: String,
    trailer: String,
}

const PAGES: usize = 2;

impl Draft {
    pub(super) fn new() -> Self {
        let to_unicode = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> \
                          endcodespacerange 1 beginbfrange <0000> <ffff> <0000> endbfrange endcmap";
        let objects = vec![
            String::new(),
            String::new(),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_string(),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>".to_string(),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_string(),
            "<< /Type /Font /Subtype /Type0 /BaseFont /Wide /Encoding /Identity-H /DescendantFonts [7 0 R] \
             /ToUnicode 8 0 R >>"
                .to_string(),
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Wide /DW 500 \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
                .to_string(),
            stream("", to_unicode),
            stream(
                "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
                "x",
            ),
        ];
        Draft {
            objects,
            pages: Vec::new(),
            catalog: String::new(),
            info: String::new(),
            trailer: String::new(),
        }
    }

    /// Adds an object; returns its number.
    pub(super) fn object(&mut self, object: String) -> usize {
        self.objects.push(object);
        self.objects.len()
    }

    pub(super) fn objects_len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn page(mut self, sheet: Sheet) -> Self {
        let contents = self.object(stream("", &sheet.drawing));
        let image = if sheet.has_image { "/XObject << /Im 9 0 R >>" } else { "" };
        let page = self.object(format!(
            "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 600 800] /Contents {contents} 0 R /Annots [{}] \
             /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R /F4 6 0 R >> {image} >> >>",
            sheet.annotations
        ));
        self.pages.push(page);
        self
    }

    /// Entries of the catalog.
    pub(super) fn catalog(mut self, entries: &str) -> Self {
        self.catalog.push_str(entries);
        self
    }

    /// Entries of the Info dictionary.
    pub(super) fn info(mut self, entries: &str) -> Self {
        self.info.push_str(entries);
        self
    }

    /// Entries of the trailer.
    pub(super) fn trailer(mut self, entries: &str) -> Self {
        self.trailer.push_str(entries);
        self
    }

    /// Bookmarks: depth from 1, and title.
    pub(super) fn outline(mut self, bookmarks: &[(usize, &str)]) -> Self {
        let first = self.objects.len() + 1;
        for (i, (depth, title)) in bookmarks.iter().enumerate() {
            let rest = &bookmarks[i + 1..];
            let next = rest
                .iter()
                .take_while(|(other, _)| other >= depth)
                .position(|(other, _)| other == depth);
            let next = next.map_or(String::new(), |n| format!("/Next {} 0 R", first + i + 1 + n));
            let inner = rest.first().is_some_and(|(other, _)| other > depth);
            let inner = if inner { format!("/First {} 0 R", first + i + 1) } else { String::new() };
            self.object(format!("<< /Title ({title}) {next} {inner} >>"));
        }
        let root = self.object(format!("<< /Type /Outlines /First {first} 0 R >>"));
        self.catalog(&format!("/Outlines {root} 0 R"))
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let kids: String = self.pages.iter().map(|page| format!("{page} 0 R ")).collect();
        let n_pages = self.pages.len();
        self.objects[0] = format!("<< /Type /Catalog /Pages {PAGES} 0 R {} >>", self.catalog);
        self.objects[PAGES - 1] = format!("<< /Type /Pages /Kids [{kids}] /Count {n_pages} >>");
        let info = self.info.clone();
        let info = self.object(format!("<< {info} >>"));
        let mut out = String::from("%PDF-1.7\n");
        let mut places = Vec::new();
        for (i, object) in self.objects.iter().enumerate() {
            places.push(out.len());
            let _ = write!(out, "{} 0 obj\n{object}\nendobj\n", i + 1);
        }
        let start = out.len();
        let _ = write!(out, "xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
        for place in &places {
            let _ = writeln!(out, "{place:010} 00000 n ");
        }
        let trailer = self.trailer;
        let _ = write!(
            out,
            "trailer\n<< /Size {} /Root 1 0 R /Info {info} 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
            places.len() + 1
        );
        out.into_bytes()
    }
}

/// Returns a stream with additional entries in its dictionary.
pub(super) fn stream(entries: &str, content: &str) -> String {
    format!("<< /Length {} {entries} >>\nstream\n{content}\nendstream", content.len())
}
