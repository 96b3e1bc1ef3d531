//! Progress: a bar on standard error that follows the progress of a tool call.

use client::connect::Session;
use indicatif::{ProgressBar, ProgressStyle};
use proto::tool::Tool;

use super::failure::Failure;

/// Calls one tool with a progress bar, then closes the session.
pub(crate) async fn call<T: Tool>(session: Session, request: &T) -> Result<T::Reply, Failure> {
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
    let reply = session.call(request).await;
    bar.finish_and_clear();
    let reply = reply?;
    session.close().await;
    Ok(reply)
}
