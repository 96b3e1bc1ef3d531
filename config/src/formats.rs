//! Formats: the kinds of documents that kgd reads, one row each.
//!
//! In: an extension. Out: what is true of the files that have it. Every other list of extensions is derived from
//! [`FORMATS`]: what is read by default, which size limit holds, what a worker process parses, which links name
//! documents, how a place is cited, and the table in `docs/src/reference/formats.md`.
//! Invariant: an extension belongs to one format.

/// Names a format in code, so that the compiler finds a format without a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// Markdown, the format of notes.
    Markdown,
    /// Plain text; also every extension that no format claims.
    Text,
    /// Web pages.
    Html,
    /// PDF.
    Pdf,
    /// Word.
    Docx,
    /// reStructuredText.
    Rst,
    /// Org.
    Org,
    /// AsciiDoc.
    Adoc,
    /// Jupyter notebooks.
    Notebook,
    /// One mail message.
    Email,
    /// Values separated by commas, semicolons or tabs.
    Csv,
    /// Excel.
    Xlsx,
}

/// What the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Text that a person can read as it is.
    Prose,
    /// Text with so much syntax that only its reader makes it readable.
    Markup,
    /// Not text: `watch.max_document_bytes` is the size limit, and a worker process parses it.
    Bytes,
}

/// How a place in a document is cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By the line of the file.
    Line,
    /// By line and headings: readers see the page, not its lines.
    LineAndHeadings,
    /// By headings.
    Headings,
    /// By page.
    Page,
    /// By the file alone.
    File,
}

/// One format.
#[derive(Debug)]
pub struct Format {
    /// The reader's key.
    pub id: Id,
    /// As people call it.
    pub name: &'static str,
    /// Extensions that are read by default, lowercase, without dot; the first is the usual one.
    pub extensions: &'static [&'static str],
    /// Further extensions of the format, read where `watch.extensions` lists them.
    pub if_listed: &'static [&'static str],
    /// What the bytes are.
    pub source: Source,
    /// True when a worker process without rights parses it: intricate code, or code of others. Always so for bytes.
    pub is_confined: bool,
    /// How a place is cited.
    pub place: Place,
    /// True when people write it for people: `secrets.md` explains how secrets are kept and is read, while
    /// `secrets.txt` holds them and is denied. Holds for the extensions that are read by default.
    pub is_for_readers: bool,
}

/// A format with the values that most formats have.
const LIGHT: Format = Format {
    id: Id::Text,
    name: "",
    extensions: &[],
    if_listed: &[],
    source: Source::Prose,
    is_confined: false,
    place: Place::Line,
    is_for_readers: true,
};

/// Every format.
pub const FORMATS: &[Format] = &[
    Format { id: Id::Markdown, name: "Markdown", extensions: &["md", "markdown"], ..LIGHT },
    Format {
        id: Id::Text,
        name: "text",
        extensions: &["txt"],
        if_listed: &["text"],
        is_for_readers: false,
        ..LIGHT
    },
    Format {
        id: Id::Html,
        name: "HTML",
        extensions: &["html", "htm"],
        if_listed: &["xhtml"],
        source: Source::Markup,
        is_confined: true,
        place: Place::LineAndHeadings,
        ..LIGHT
    },
    Format {
        id: Id::Pdf,
        name: "PDF",
        extensions: &["pdf"],
        source: Source::Bytes,
        is_confined: true,
        place: Place::Page,
        ..LIGHT
    },
    Format {
        id: Id::Docx,
        name: "Word",
        extensions: &["docx"],
        // `doc` is claimed so that the fault of an old file says how to convert it.
        if_listed: &["docm", "dotx", "dotm", "doc"],
        source: Source::Bytes,
        is_confined: true,
        place: Place::Headings,
        ..LIGHT
    },
    Format { id: Id::Rst, name: "reStructuredText", extensions: &["rst"], ..LIGHT },
    Format { id: Id::Org, name: "Org", extensions: &["org"], ..LIGHT },
    Format { id: Id::Adoc, name: "AsciiDoc", extensions: &["adoc", "asciidoc"], ..LIGHT },
    Format {
        id: Id::Notebook,
        name: "Jupyter notebooks",
        extensions: &["ipynb"],
        source: Source::Markup,
        ..LIGHT
    },
    Format {
        id: Id::Email,
        name: "mail",
        extensions: &["eml"],
        source: Source::Bytes,
        is_confined: true,
        place: Place::File,
        is_for_readers: false,
        ..LIGHT
    },
    Format {
        id: Id::Csv,
        name: "tables as text",
        extensions: &["csv", "tsv"],
        is_for_readers: false,
        ..LIGHT
    },
    Format {
        id: Id::Xlsx,
        name: "Excel",
        extensions: &["xlsx"],
        // `xls` is claimed so that the fault of an old file says how to convert it.
        if_listed: &["xlsm", "xltx", "xltm", "xls"],
        source: Source::Bytes,
        is_confined: true,
        place: Place::Headings,
        is_for_readers: false,
    },
];

impl Format {
    /// Returns all extensions, those that are read by default first.
    pub fn all_extensions(&self) -> impl Iterator<Item = &'static str> {
        self.extensions.iter().chain(self.if_listed).copied()
    }
}

/// Returns the format of an extension (lowercase, without dot).
pub fn of(extension: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.all_extensions().any(|it| it == extension))
}

/// Returns the extensions that are read by default.
pub fn default_extensions() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.extensions.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- generated from config/src/formats.rs -->\n";
    const END: &str = "<!-- end -->\n";

    /// The rows of the page that describes formats.
    fn table() -> String {
        let mut out =
            "| format | extensions | a place is cited as | parsed in |\n|---|---|---|---|\n"
                .to_string();
        for format in FORMATS {
            let code = |list: &[&str]| {
                list.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
            };
            let mut extensions = code(format.extensions);
            if !format.if_listed.is_empty() {
                extensions += &format!("; if listed: {}", code(format.if_listed));
            }
            let file = format!("name.{}", format.extensions[0]);
            let place = match format.place {
                Place::Line => format!("`{file}:12`"),
                Place::LineAndHeadings => format!("`{file}:12  Heading › Heading`"),
                Place::Headings => format!("`{file}  Heading › Heading`"),
                Place::Page => format!("`{file} p. 3`"),
                Place::File => format!("`{file}`"),
            };
            let process = if format.is_confined { "a worker" } else { "the daemon" };
            out += &format!("| {} | {extensions} | {place} | {process} |\n", format.name);
        }
        out
    }

    #[test]
    fn the_committed_reference_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference/formats.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("where it begins");
        let (committed, after) = rest.split_once(END).expect("where it ends");
        if std::env::var_os("KG_REGENERATE").is_some() {
            let page = [before, BEGIN, &table(), END, after].concat();
            std::fs::write(&path, page).expect("the page is written");
        } else {
            assert!(
                committed == table(),
                "`docs/src/reference/formats.md` is old\nhint: run the tests with `KG_REGENERATE=1`"
            );
        }
    }

    #[test]
    fn bytes_are_always_confined() {
        assert!(FORMATS.iter().all(|it| it.source != Source::Bytes || it.is_confined));
    }
}
