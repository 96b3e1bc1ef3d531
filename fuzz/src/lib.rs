//! What every fuzz target shares: reads bytes as a file of one extension, through the stage that the daemon runs, and
//! checks what each document promises.
//!
//! In: bytes. Out: nothing; a broken promise panics, which is what the fuzzer looks for.

use std::cell::RefCell;
use std::sync::Arc;

use model::Stage;
use formats::Normalizer;
use model::document::{Document, SourceDoc};
use model::terms::{ContentHash, RelPath};

thread_local! {
    static NORMALIZER: RefCell<Normalizer> =
        RefCell::new(Normalizer::new(&Default::default(), &Default::default()));
}

/// Reads `bytes` as a file with this extension and checks the outcome. A fault is an outcome, too.
pub fn read(extension: &str, bytes: &[u8]) {
    let source = SourceDoc {
        path: RelPath::new(format!("folder/file.{extension}")),
        bytes: Arc::from(bytes),
        hash: ContentHash(0),
        mtime_ms: 0,
        pass: Default::default(),
    };
    if let Ok(doc) = NORMALIZER.with_borrow_mut(|normalizer| normalizer.run(source)) {
        check(&doc);
    }
}

/// Panics where a document breaks what [`Document`] promises about places.
fn check(doc: &Document) {
    let text = &*doc.text;
    let is_place = |start: usize, end: usize| text.get(start..end).is_some();
    let mut end_of_last = 0;
    for block in &doc.blocks {
        let span = block.span;
        assert!(is_place(span.start(), span.end()), "a block outside the text: {span:?}");
        assert!(span.start() >= end_of_last, "blocks overlap: {span:?}");
        end_of_last = span.end();
        let section = block.section.map(|index| index as usize);
        assert!(section.is_none_or(|index| index < doc.blocks.len()), "a section that is no block");
    }
    for span in doc.inlines.iter().map(|inline| inline.span) {
        assert!(is_place(span.start(), span.end()), "a mark outside the text: {span:?}");
    }
    for span in doc.links.iter().map(|link| link.span) {
        assert!(is_place(span.start(), span.end()), "a link outside the text: {span:?}");
    }
    assert!(doc.pages.is_sorted(), "pages are not in order");
    assert!(doc.pages.last().is_none_or(|start| *start as usize <= text.len()), "a page past the end");
    assert!(doc.line_starts.is_sorted(), "lines are not in order");
    let mut to_end = 0;
    for segment in doc.map.segments() {
        assert!(segment.to >= to_end, "pieces of the map overlap");
        to_end = segment.to + segment.to_len;
        assert!(to_end as usize <= text.len(), "a piece of the map past the end");
    }
}
