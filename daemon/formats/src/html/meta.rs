//! Meta: the metadata of a page.
//!
//! In: a tree. Out: the page's title and a [`DocMeta`]. Invariant: values are bounded in length and number.

use html5ever::ns;
use notes::parse::add_tag;
use serde_json::Value;

use super::data;
use super::press::is_data;
use super::tree::{Element, NodeId, Tree};
use crate::target::Target;
use model::document::{BlockKind, DocMeta, LinkKind, Parsed};

/// Longest title, description or other value, in bytes.
const MAX_VALUE_BYTES: usize = 1_000;
/// Most scripts with JSON-LD that are read.
const MAX_SCRIPTS: usize = 4;
/// Separators between the title of a page and the name of its site.
const TITLE_SEPARATORS: &[&str] = &[" | ", " - ", " – ", " — ", " · ", " :: ", " » ", " • "];
/// Names of dates in `<meta>`, in order of preference.
const DATES: &[&str] = &[
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dcterms.date",
    "dc.date.issued",
    "dcterms.created",
    "pubdate",
    "article:modified_time",
];

/// Metadata found in the content itself, for what the head does not state.
#[derive(Debug, Default)]
pub(super) struct ShownMeta {
    /// The `datetime` of the first `<time>`.
    pub(super) time: Option<String>,
    /// The author in the byline.
    pub(super) author: Option<String>,
}

/// Reads the head of a page into `parsed`.
pub(super) fn read_head(tree: &Tree, source: &str, shown: ShownMeta, parsed: &mut Parsed) {
    let mut head = Head::default();
    // The whole tree is visited: `<meta>` and scripts may be outside the head.
    for id in tree.walk(NodeId::ROOT) {
        let Some(element) = tree.element(id) else { continue };
        match &*element.name.local {
            "html" => head.language = element.attr("lang").and_then(value_of),
            "title" if element.name.ns == ns!(html) && head.title.is_none() => {
                let title = tree.text_of(id, source, MAX_VALUE_BYTES);
                head.title = value_of(&title);
            }
            "meta" => head.read_meta(element),
            "base" if head.base.is_none() => {
                head.base = element.attr("href").and_then(Target::of_address);
            }
            "link" if head.canonical.is_none() => head.canonical = canonical_of(element),
            "script" if head.n_scripts < MAX_SCRIPTS && is_data(element) => {
                head.n_scripts += 1;
                head.read_data(&tree.text_of(id, source, data::MAX_JSON_BYTES));
            }
            _ => {}
        }
    }
    let first_heading = parsed.blocks.iter().find(|block| block.kind == BlockKind::Heading(1));
    let first_heading = first_heading.map(|block| block.span.of(&parsed.text));
    let base = head.base.take().filter(|it| it.kind == LinkKind::Path);
    // What the site calls by its whole address is not where this copy of it lies.
    if let Some((folder, _)) = base.as_ref().and_then(|it| it.name.rsplit_once('/')) {
        for link in parsed.links.iter_mut().filter(|it| it.kind != LinkKind::Url) {
            if !link.target.starts_with('/') {
                link.target = format!("{folder}/{}", link.target);
            }
        }
    }
    parsed.title = head.title.take().map(|title| without_site(title, first_heading));
    parsed.meta = head.into_meta(shown, parsed.title.is_some());
}

#[derive(Default)]
struct Head {
    title: Option<String>,
    language: Option<String>,
    canonical: Option<String>,
    base: Option<Target>,
    description: Option<String>,
    author: Option<String>,
    keywords: Option<String>,
    /// Its rank in [`DATES`], and its value.
    date: Option<(usize, String)>,
    /// Values from JSON-LD.
    stated: data::Stated,
    n_scripts: usize,
}

impl Head {
    fn read_data(&mut self, json: &str) {
        let stated = data::read(json);
        for (mine, read) in [
            (&mut self.stated.author, stated.author),
            (&mut self.stated.date, stated.date),
            (&mut self.stated.language, stated.language),
        ] {
            *mine = mine.take().or_else(|| read.as_deref().and_then(value_of));
        }
    }

    fn read_meta(&mut self, element: &Element) {
        let name = ["name", "property", "itemprop"].iter().find_map(|attr| element.attr(attr));
        let (Some(name), Some(value)) = (name, element.attr("content").and_then(value_of)) else {
            return;
        };
        let name = name.trim().to_ascii_lowercase();
        match &*name {
            "description" => self.description = Some(value),
            "og:description" if self.description.is_none() => self.description = Some(value),
            // Some sites give the address of a profile instead of a name.
            "author" | "article:author" | "dc.creator" | "dcterms.creator" | "parsely-author"
            | "sailthru.author"
                if !value.contains("://") =>
            {
                self.author.get_or_insert(value);
            }
            "og:locale" | "dc.language" | "content-language" => {
                self.language.get_or_insert(value.replace('_', "-"));
            }
            "keywords" | "news_keywords" => {
                self.keywords.get_or_insert(value);
            }
            "og:url" => {
                self.canonical.get_or_insert(value);
            }
            _ => {
                let rank = DATES.iter().position(|date| *date == name);
                let best = self.date.as_ref().map_or(DATES.len(), |(rank, _)| *rank);
                if let Some(rank) = rank.filter(|rank| *rank < best) {
                    self.date = Some((rank, value));
                }
            }
        }
    }

    fn into_meta(self, shown: ShownMeta, has_stated_title: bool) -> DocMeta {
        let mut meta =
            DocMeta { has_stated_title, source_url: self.canonical, ..DocMeta::default() };
        let time = shown.time.as_deref().and_then(value_of);
        meta.date = self.date.map(|(_, date)| date).or(self.stated.date).or(time);
        meta.author = self.author.or(self.stated.author).or(shown.author);
        meta.language = self.language.or(self.stated.language);
        for tag in self.keywords.iter().flat_map(|keywords| keywords.split([',', ';'])) {
            add_tag(&mut meta.tags, tag);
        }
        if let Some(description) = self.description {
            meta.extra.insert("description".to_string(), Value::String(description));
        }
        meta
    }
}

/// Returns a value without white space around it; `None` if it is empty or too long.
pub(super) fn value_of(written: &str) -> Option<String> {
    let value = written.trim();
    (!value.is_empty() && value.len() <= MAX_VALUE_BYTES).then(|| value.to_string())
}

fn canonical_of(element: &Element) -> Option<String> {
    let rel = element.attr("rel")?;
    let is_canonical =
        rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"));
    let href = element.attr("href").and_then(value_of)?;
    (is_canonical && href.contains("://")).then_some(href)
}

/// Removes the name of the site from a title, if the first heading shows the title of the page itself.
fn without_site(title: String, heading: Option<&str>) -> String {
    let Some(heading) = heading else { return title };
    let is_heading = |part: &&str| part.trim().to_lowercase() == heading.trim().to_lowercase();
    let parts = TITLE_SEPARATORS
        .iter()
        .flat_map(|separator| title.match_indices(separator).map(|(at, _)| &title[..at]));
    match parts.into_iter().find(is_heading) {
        Some(part) => part.trim().to_string(),
        None => title,
    }
}
