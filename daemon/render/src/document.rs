//! The form of a document for programs that read text as JSON.

use proto::tool::notes::FetchReply;
use proto::visible::show_value;

/// `false` has one more character than `true`.
const IS_CUT_CHARS: usize = 1;

/// Renders a document as JSON, the form that clients of `fetch` expect.
pub fn fetched(reply: &FetchReply, max_chars: usize) -> String {
    // Clients give a model what they parse, so hidden characters are escaped in the values, not by JSON.
    let json = |reply: &FetchReply| {
        let mut value = serde_json::to_value(reply).unwrap_or_default();
        show_value(&mut value);
        value.to_string()
    };
    let whole = json(reply);
    let n_over = whole.chars().count().saturating_sub(max_chars);
    if n_over == 0 {
        return whole;
    }
    // One character of the text may need several in JSON, so cutting as many as are over is enough.
    let mut cut = reply.clone();
    let n_kept = cut.text.chars().count().saturating_sub(n_over + IS_CUT_CHARS);
    cut.text = cut.text.chars().take(n_kept).collect();
    cut.metadata.insert("is_whole".into(), false.into());
    json(&cut)
}
