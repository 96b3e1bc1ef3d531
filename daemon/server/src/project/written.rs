//! Written: the files behind the index, as answers quote them.
//!
//! In: a path and the hash that was indexed. Out: the file's text, through the confined opener.
//! Not here: which of its lines are shown (`query`).

use model::terms::ContentHash;
use query::Files;

use super::Project;

/// Largest file that is read for an answer, bytes. A larger one is quoted from the index.
const MAX_BYTES: u64 = 1 << 20;

impl Files for Project {
    fn text(&self, path: &str, hash: &[u8]) -> Option<String> {
        let content = self.opened_root().ok()?.read(path, MAX_BYTES).ok()??;
        let is_same = !content.is_cut && ContentHash::of(&content.bytes).0.to_le_bytes() == hash;
        is_same.then(|| String::from_utf8(content.bytes).ok()).flatten()
    }
}
