//! Page: a text with given mentions, in the form of the relate stage.
//!
//! In: a text, or a normalized document, and mentions with the number of their referent. Out:
//! evidence.

use anyhow::{Result, anyhow};
use extract::chunk::sentences_of;
use extract::relate::RelateStage;
use model::PartStage as _;
use model::document::{
    Block, BlockKind, DocHead, Document, Evidence, Mention, NameUse, Party, Pass, RecognizerKind,
};
use model::terms::{Confidence, ContentHash, EntityType, RelPath, Span, SpanMap};

/// A given mention: byte range, referent, type.
pub(crate) type Given = (std::ops::Range<usize>, u32, EntityType);

/// A relation between given referents; `None` is the document.
pub(crate) struct Found {
    pub(crate) subject: Option<u32>,
    pub(crate) predicate: &'static str,
    pub(crate) object: Option<u32>,
    pub(crate) pattern: &'static str,
    /// Whether it comes from a swift reading, without grammar.
    pub(crate) is_swift: bool,
}

/// A text as a document of one paragraph.
pub(crate) fn of_text(text: &str) -> Document {
    let (path, hash) = (RelPath::new("text.txt"), ContentHash::of(text.as_bytes()));
    let n_bytes = text.len() as u64;
    let block = Block { kind: BlockKind::Paragraph, span: Span::new(0, text.len()), section: None };
    Document {
        head: DocHead { path, hash, n_bytes, pass: Pass::Deep, ..DocHead::default() },
        language: "en".into(),
        text: text.to_string(),
        map: SpanMap::identity(text.len(), 0),
        line_starts: vec![0],
        blocks: vec![block],
        ..Document::default()
    }
}

/// Returns the relations that the document states between given mentions, from a swift and a deep
/// reading; of overlapping mentions the longest counts.
pub(crate) fn relate(doc: Document, given: Vec<Given>) -> Result<Vec<Found>> {
    let mut swift = doc.clone();
    swift.head.pass = Pass::Swift;
    let mut found = read(swift, given.clone())?;
    found.extend(read(doc, given)?);
    Ok(found)
}

fn read(mut doc: Document, mut given: Vec<Given>) -> Result<Vec<Found>> {
    let is_swift = doc.head.pass == Pass::Swift;
    given.sort_by_key(|(span, ..)| (span.start, std::cmp::Reverse(span.end)));
    let mut end = 0;
    given.retain(|(span, ..)| {
        let is_free = span.start >= end && span.end <= doc.text.len();
        end = if is_free { span.end } else { end };
        is_free
    });
    let mention = |(span, name, entity_type): &Given| Mention {
        span: Span::new(span.start, span.end),
        name: format!("thing {name}"),
        entity_type: *entity_type,
        recognizer: RecognizerKind::Gazetteer,
        score: Confidence::new(1.0),
        place: Default::default(),
    };
    let n_names = given.iter().map(|(_, name, _)| name + 1).max().unwrap_or(0);
    let names = (0..n_names).map(|n| NameUse { norm: format!("thing{n}"), is_fuzzy: false });
    doc.found.sentences = sentences_of(&doc);
    doc.found.mentions = given.iter().map(mention).collect();
    doc.linked.names = names.collect();
    doc.linked.mention_names = given.iter().map(|(_, name, _)| *name).collect();
    let evidence = RelateStage::default().part_of(&doc).map_err(|fault| anyhow!("{fault}"))?;
    let party = |party: Party| match party {
        Party::Document | Party::Link(_) => None,
        Party::Mention(idx) => given.get(idx as usize).map(|(_, name, _)| *name),
    };
    let found = |e: &Evidence| Found {
        subject: party(e.subject),
        predicate: e.predicate,
        object: party(e.object),
        pattern: e.pattern,
        is_swift,
    };
    let is_relation = |e: &&Evidence| !e.predicate.starts_with("not ");
    Ok(evidence.iter().filter(is_relation).map(found).collect())
}
