//! Reader: runs the daemon's first stages over a text.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use arc_swap::ArcSwap;
use config::settings::Settings;
use embed::WordPiece;
use extract::chunk::Chunker;
use extract::recognize::{Gazetteer, RecognizeStage};
use formats::Normalizer;
use model::Stage as _;
use model::document::{Document, Pass, SourceDoc};
use model::terms::{ContentHash, RelPath};

/// The stages, without mined terms, and with a recognizer that does not judge the kinds of names.
pub(crate) struct Reader {
    normalizer: Normalizer,
    chunker: Chunker,
    recognize: RecognizeStage,
}

impl Reader {
    pub(crate) fn new() -> Self {
        let settings = Settings::default();
        let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, std::iter::empty())));
        Reader {
            normalizer: Normalizer::new(&settings.watch, &settings.privacy),
            chunker: Chunker::new(&settings.chunk, &settings.embed, WordPiece::builtin()),
            recognize: RecognizeStage::new(&settings.recognize, gazetteer).without_judgement(),
        }
    }

    pub(crate) fn mentioned(&mut self, text: &str) -> Result<Document> {
        let source = SourceDoc {
            path: RelPath::new("page.md"),
            bytes: Arc::from(text.as_bytes()),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Pass::Deep,
        };
        let fault = |fault| anyhow!("{fault:?}");
        let doc = self.normalizer.run(source).map_err(fault)?;
        let doc = self.chunker.run(doc).map_err(fault)?;
        self.recognize.run(doc).map_err(fault)
    }
}
