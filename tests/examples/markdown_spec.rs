//! Reads the examples of a Markdown specification and compares the text, headings and links with those of their
//! HTML.
//!
//! `cargo run -p tests --example markdown_spec -- FILE [--all]`: FILE is JSON lines with `markdown` and `html`.
//! Prints mean F1 of words (of text nodes, and with the alternative text of images, which kgd keeps), the share
//! of examples with the same words, and how many headings and links were found. `--all` prints every example that
//! differs.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use formats::Normalizer;
use model::Stage as _;
use model::document::{BlockKind, Document, SourceDoc};
use model::terms::{ContentHash, RelPath};
use serde_json::Value;
use tests::score::{Bag, words_of};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.first().context("usage: markdown_spec FILE [--all]")?;
    let examples =
        std::fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?;
    let mut normalizer = Normalizer::new(&Default::default(), &Default::default());
    let mut sums = Sums::default();
    let mut differing = String::new();
    for line in examples.lines().filter(|line| !line.trim().is_empty()) {
        let example: Value = serde_json::from_str(line).context("not JSON lines")?;
        let [markdown, html] = ["markdown", "html"].map(|key| example[key].as_str().unwrap_or(""));
        let doc = read(&mut normalizer, markdown)
            .with_context(|| format!("example {}", example["id"]))?;
        if sums.add(&doc, html) < 1.0 {
            let _ =
                writeln!(differing, "{} {markdown:?}\n  {html:?}\n  {:?}", example["id"], doc.text);
        }
    }
    let mut out = std::io::stdout().lock();
    if args.iter().any(|arg| arg == "--all") {
        std::io::Write::write_all(&mut out, differing.as_bytes())?;
    }
    std::io::Write::write_all(&mut out, sums.report().as_bytes())?;
    Ok(())
}

fn read(normalizer: &mut Normalizer, markdown: &str) -> anyhow::Result<Document> {
    let path = RelPath::new("example.md");
    let source = SourceDoc {
        path,
        bytes: Arc::from(markdown.as_bytes()),
        hash: ContentHash(0),
        mtime_ms: 0,
        pass: Default::default(),
    };
    normalizer.run(source).map_err(|fault| anyhow::anyhow!("{fault:?}"))
}

#[derive(Default)]
struct Sums {
    n: usize,
    n_same: usize,
    f1_of_text: f64,
    f1_with_alt: f64,
    /// Wanted, found.
    headings: [usize; 2],
    links: [usize; 2],
}

impl Sums {
    /// Adds one example; returns its F1 with alternative text, or 0 if a heading or link is
    /// missing.
    fn add(&mut self, doc: &Document, html: &str) -> f64 {
        let found = words_of(&doc.text);
        let [of_text, with_alt] = [false, true].map(|with_alt| {
            let wanted = words_of(&text_of(html, with_alt));
            Bag::of(&wanted, 1).f1(&Bag::of(&found, 1))
        });
        self.n += 1;
        self.n_same += usize::from(with_alt == 1.0);
        self.f1_of_text += of_text;
        self.f1_with_alt += with_alt;
        let n_headings: usize =
            (1..=6).map(|level| html.matches(&format!("<h{level}>")).count()).sum();
        let is_heading = |kind: &BlockKind| matches!(kind, BlockKind::Heading(_));
        let n_found = doc.blocks.iter().filter(|block| is_heading(&block.kind)).count();
        self.headings = [self.headings[0] + n_headings, self.headings[1] + n_found.min(n_headings)];
        let n_links = html.matches("<a href=").count() + html.matches("<img src=").count();
        self.links = [self.links[0] + n_links, self.links[1] + doc.links.len().min(n_links)];
        if n_found < n_headings || doc.links.len() < n_links { 0.0 } else { with_alt }
    }

    fn report(&self) -> String {
        let mean = |sum: f64| sum / self.n as f64;
        format!(
            "{} examples: word F1 {:.4} against text nodes, {:.4} with alternative text; {} the same\n\
             headings {} of {}, links and images {} of {}\n",
            self.n,
            mean(self.f1_of_text),
            mean(self.f1_with_alt),
            self.n_same,
            self.headings[1],
            self.headings[0],
            self.links[1],
            self.links[0],
        )
    }
}

/// Returns the text of simple HTML, as in the specification: block tags separate words, others do
/// not; comments, scripts and styles are dropped.
fn text_of(html: &str, with_alt: bool) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        out += before;
        let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        let hidden =
            [("!--", "-->"), ("script", "</script>"), ("style", "</style>"), ("![CDATA[", "]]>")];
        let end = match hidden.iter().find(|(start, _)| tag.starts_with(start)) {
            Some((_, end)) => tag.find(end).map(|at| at + end.len()),
            None => tag.find('>').map(|at| at + 1),
        };
        let Some(end) = end.filter(|_| is_tag) else {
            rest = tag;
            continue;
        };
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let is_inline =
            ["a", "em", "strong", "code", "del", "b", "i", "span"].contains(&name.unwrap_or(""));
        out += if is_inline { "" } else { " " };
        let alt = tag[..end].split_once("alt=\"").and_then(|(_, alt)| alt.split_once('"'));
        out += alt.filter(|_| with_alt).map_or("", |(alt, _)| alt);
        rest = &tag[end..];
    }
    out += rest;
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(out, |text, (name, character)| text.replace(name, character))
}
