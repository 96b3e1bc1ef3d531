//! Limits: a writer that gives up on a peer that does not read.
//!
//! In: bytes. Out: the same bytes, or an error of kind `TimedOut` if none could be written for the
//! limit.
//! Invariants: nothing is buffered here; any progress restarts the limit.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::Sleep;

/// An [`AsyncWrite`] that fails with `TimedOut` after `limit` without progress.
#[derive(Debug)]
pub(crate) struct TimedWriter<W> {
    inner: W,
    limit: Duration,
    /// Set while a write is stuck.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<W: AsyncWrite + Unpin> TimedWriter<W> {
    /// Wraps `inner`; `limit` starts when a write cannot proceed.
    pub(super) fn new(inner: W, limit: Duration) -> Self {
        TimedWriter { inner, limit, stuck: None }
    }

    fn watched<T>(
        &mut self,
        ctx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut W>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = step(Pin::new(&mut self.inner), ctx) {
            self.stuck = None;
            return Poll::Ready(done);
        }
        let limit = self.limit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        stuck.as_mut().poll(ctx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for TimedWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.watched(ctx, |inner, ctx| inner.poll_write(ctx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched(ctx, |inner, ctx| inner.poll_flush(ctx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched(ctx, |inner, ctx| inner.poll_shutdown(ctx))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_does_not_read_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(16);
        let mut writer = TimedWriter::new(ours, Duration::from_millis(1));
        let error = writer.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test]
    async fn a_reader_that_reads_gets_everything() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut writer = TimedWriter::new(ours, Duration::from_secs(3600));
        let reading = tokio::spawn(async move {
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).await.map(|_| bytes.len())
        });
        writer.write_all(&[7; 1000]).await.expect("read");
        drop(writer);
        assert_eq!(reading.await.expect("no panic").expect("read"), 1000);
    }
}
