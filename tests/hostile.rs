//! Hostile: small documents that grow without bound, nest without end or lead in circles.
//!
//! In: nothing. Out: names and bytes, made by hand, so that no library refuses to write them.
//! Invariant: the same bytes each time.

/// Size to which a bomb grows: more than any limit, and quick to read if there is none.
const BOMB_BYTES: u64 = 3_000_000_000;

/// Nesting depth of a deep document.
const DEPTH: usize = 1_000_000;

/// Every hostile document, by a name with its extension.
pub fn documents() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("deep.html", deep("<div>", "</div>", "<p>deep</p>")),
        ("deep-inline.html", deep("<b><i>", "", "deep")),
        ("deep-list.html", deep("<ul><li>", "", "deep")),
        ("deep-table.html", deep("<table><tr><td>", "", "deep")),
        ("half-tags.html", "<a <b <c ".repeat(200_000).into_bytes()),
        ("attributes.html", format!("<p {}>text</p>", "a=b ".repeat(400_000)).into_bytes()),
        (
            "entities.xhtml",
            entities("<html xmlns='http://www.w3.org/1999/xhtml'><body><p>&j;</p></body></html>"),
        ),
        ("comment.html", format!("<!--{}", "-!>".repeat(500_000)).into_bytes()),
        ("empty.pdf", Vec::new()),
        ("no.pdf", b"%PDF-1.7\nnothing else".to_vec()),
        ("flate.pdf", flate_pdf()),
        (
            "pages.pdf",
            pdf(&["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 2/Kids[2 0 R 2 0 R]>>"]),
        ),
        (
            "parents.pdf",
            pdf(&[
                "<</Type/Catalog/Pages 2 0 R>>",
                "<</Type/Pages/Count 1/Kids[3 0 R]/Parent 3 0 R>>",
                "<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>",
            ]),
        ),
        (
            "many-pages.pdf",
            pdf(&[
                "<</Type/Catalog/Pages 2 0 R>>",
                &format!("<</Type/Pages/Count 1000000000/Kids[{}]>>", "3 0 R ".repeat(100_000)),
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
            ]),
        ),
        (
            "deep.pdf",
            pdf(&[
                "<</Type/Catalog/Pages 2 0 R>>",
                &format!("<</Type/Pages/Count 1/Kids{}>>", "[".repeat(DEPTH)),
            ]),
        ),
        (
            "lengths.pdf",
            pdf(&["<</Type/Catalog/Pages 2 0 R/Length 1 0 R>>", "<</Length 2 0 R>>stream\nx"]),
        ),
        ("empty.docx", Vec::new()),
        ("zip.docx", zip(&[("word/document.xml", Entry::Bomb)])),
        ("names.docx", zip(&many_entries())),
        (
            "entities.docx",
            zip(&[(
                "word/document.xml",
                Entry::Stored(entities("<w:document><w:p>&j;</w:p></w:document>")),
            )]),
        ),
        ("deep.docx", zip(&[("word/document.xml", Entry::Stored(deep_docx()))])),
        (
            "outside.docx",
            zip(&[("../../../../tmp/kgd-was-here", Entry::Stored(b"outside".to_vec()))]),
        ),
    ]
}

fn deep(open: &str, close: &str, inside: &str) -> Vec<u8> {
    // Two megabytes is the largest page that is read.
    let depth = DEPTH.min(1_900_000 / (open.len() + close.len()));
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}

fn deep_docx() -> Vec<u8> {
    let (open, close) =
        ("<w:tbl><w:tr><w:tc>".repeat(DEPTH / 3), "</w:tc></w:tr></w:tbl>".repeat(DEPTH / 3));
    let space = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'";
    let body = format!("{open}<w:p><w:r><w:t>deep</w:t></w:r></w:p>{close}");
    format!("<w:document {space}><w:body>{body}</w:body></w:document>").into_bytes()
}

/// A document whose entity `j` expands to ten to the tenth letters.
fn entities(body: &str) -> Vec<u8> {
    let mut head = String::from("<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"ha\">");
    for (before, name) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        head.push_str(&format!("<!ENTITY {name} \"{}\">", format!("&{before};").repeat(10)));
    }
    format!("{head}]>{body}").into_bytes()
}

/// Builds a PDF of these objects, numbered from 1; the first is the root.
pub(crate) fn pdf(objects: &[&str]) -> Vec<u8> {
    let objects: Vec<Vec<u8>> = objects.iter().map(|it| it.as_bytes().to_vec()).collect();
    pdf_of(&objects)
}

fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (n, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend(format!("{n} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    file.extend(
        format!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").bytes(),
    );
    file
}

/// A page whose content is compressed a hundredfold, twice.
fn flate_pdf() -> Vec<u8> {
    let mut zlib = vec![0x78, 0x9c];
    zlib.extend(deflated_bomb());
    let mut content = format!("<</Filter/FlateDecode/Length {}>>stream\n", zlib.len()).into_bytes();
    content.extend(zlib);
    content.extend(b"\nendstream");
    let text = |it: &str| it.as_bytes().to_vec();
    pdf_of(&[
        text("<</Type/Catalog/Pages 2 0 R>>"),
        text("<</Type/Pages/Count 1/Kids[3 0 R]>>"),
        text("<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<<>>>>"),
        content,
    ])
}

/// Returns [`BOMB_BYTES`] spaces as raw deflate: one space, then copies of 258 bytes at distance 1,
/// in the fixed code.
fn deflated_bomb() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b011, 3);
    bits.code(0x30 + u32::from(b' '), 8);
    for _ in 0..BOMB_BYTES / 258 {
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    bits.code(0, 7);
    bits.bytes.push(bits.open as u8);
    bits.bytes
}

/// Writes bits from the lowest of each byte up, as deflate does.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    open: u32,
    n_open: u32,
}

impl Bits {
    fn push(&mut self, value: u32, n_bits: u32) {
        self.open |= value << self.n_open;
        self.n_open += n_bits;
        while self.n_open >= 8 {
            self.bytes.push(self.open as u8);
            self.open >>= 8;
            self.n_open -= 8;
        }
    }

    /// Codes are written from their highest bit.
    fn code(&mut self, value: u32, n_bits: u32) {
        self.push(value.reverse_bits() >> (32 - n_bits), n_bits);
    }
}

/// Content of an archive entry.
pub(crate) enum Entry {
    Stored(Vec<u8>),
    Bomb,
}

fn many_entries() -> Vec<(&'static str, Entry)> {
    (0..60_000).map(|_| ("word/document.xml", Entry::Stored(b"<w:document/>".to_vec()))).collect()
}

/// Builds a zip archive; checksums are left at zero.
pub(crate) fn zip(entries: &[(&str, Entry)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, entry) in entries {
        let (method, data, size) = match entry {
            Entry::Stored(data) => (0_u16, data.clone(), data.len() as u64),
            Entry::Bomb => (8, deflated_bomb(), BOMB_BYTES / 258 * 258 + 1),
        };
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0]);
        common.extend(method.to_le_bytes());
        common.extend([0; 8]);
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((size as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let place = file.len() as u32;
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.bytes());
        file.extend(data);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(place.to_le_bytes());
        directory.extend(name.bytes());
    }
    let (start, n_entries) = (file.len() as u32, entries.len() as u16);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(n_entries.to_le_bytes());
    file.extend(n_entries.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}
