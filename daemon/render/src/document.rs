//! The form of a document for programs that read text as JSON.

use proto::tool::notes::FetchReply;

/// Room for `false` in the place of `true`.
const IS_CUT_CHARS: usize = 1;

/// A document as JSON, as the clients that `fetch` is for read it.
pub fn fetched(reply: &FetchReply, max_chars: usize) -> String {
    let json = |reply: &FetchReply| serde_json::to_string(reply).unwrap_or_default();
    let whole = json(reply);
    let n_over = whole.chars().count().saturating_sub(max_chars);
    if n_over == 0 {
        return whole;
    }
    // A sign of the text may take several in JSON, so cutting as many as are over is enough.
    let mut cut = reply.clone();
    let n_kept = cut.text.chars().count().saturating_sub(n_over + IS_CUT_CHARS);
    cut.text = cut.text.chars().take(n_kept).collect();
    cut.metadata.insert("is_whole".into(), false.into());
    json(&cut)
}
