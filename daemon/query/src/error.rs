//! Errors of answering, as the caller sees them.

use proto::error::{Code, ErrorView};
use proto::tool::core;

use index::store::StoreError;

/// A request that cannot be answered, because the index could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct AskError(#[from] StoreError);

impl From<AskError> for ErrorView {
    fn from(error: AskError) -> Self {
        let hint = "see `kgctl logs`; if it lasts, `kgctl restart`";
        ErrorView::hinted(Code::Internal, error.to_string(), hint)
    }
}

/// A parameter out of range or malformed.
pub(crate) fn invalid(message: String, hint: &str) -> ErrorView {
    ErrorView::hinted(Code::InvalidParams, message, hint)
}

/// Returns a parameter, if it is in a range.
pub(crate) fn in_range(name: &str, value: u32, low: u32, high: u32) -> Result<u32, ErrorView> {
    let hint = || format!("give a number from {low} to {high}");
    let is_within = (low..=high).contains(&value);
    is_within.then_some(value).ok_or_else(|| invalid(format!("`{name}` is {value}"), &hint()))
}

/// Returns the most characters of an answer.
pub(crate) fn budget(
    max_chars: Option<u32>,
    max_tokens: Option<u32>,
    usual: u32,
) -> Result<u32, ErrorView> {
    let budget = core::budget(max_chars, max_tokens, usual);
    let hint = "give `max_chars` from 200 to 100,000, or `max_tokens` from 70 to 33,000";
    let refused = || invalid(format!("the budget is {budget} characters"), hint);
    (200..=100_000).contains(&budget).then_some(budget).ok_or_else(refused)
}

/// Returns the first characters of a text that a caller gave, to quote it in an error.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}
