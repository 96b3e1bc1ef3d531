//! Progress: a bar on standard error that follows the progress of a tool call.

use client::connect::Session;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows the progress of this session's calls from now on. The caller clears it.
pub(crate) fn show(session: &Session) -> ProgressBar {
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let shown = bar.clone();
    session.on_progress(move |progress| {
        if let Some(total) = progress.total {
            shown.set_length(total as u64);
        }
        shown.set_position(progress.done as u64);
        shown.set_message(progress.message.unwrap_or_default());
    });
    bar
}
