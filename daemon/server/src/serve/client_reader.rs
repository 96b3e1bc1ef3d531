//! Client reader: reads from a client, and distinguishes one that is gone from one that has finished sending.
//!
//! In: a socket. Out: its bytes, and a signal once the other side can no longer read.
//! Invariants: a client that only finished sending is not gone: it still waits for answers.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::Notify;

/// Signals that the client is gone: awaited by one task, set by any. Clones share one state.
#[derive(Debug, Clone, Default)]
pub(crate) struct HangUp(Arc<Notify>);

impl HangUp {
    /// Sets the signal.
    pub(crate) fn set(&self) {
        self.0.notify_one();
    }

    /// Returns once the signal is set. Cancel-safe.
    pub(super) async fn wait(&self) {
        self.0.notified().await;
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub(crate) struct ClientReader {
    inner: OwnedReadHalf,
    gone: HangUp,
}

impl ClientReader {
    /// Reads from `inner`.
    pub(super) fn new(inner: OwnedReadHalf, gone: HangUp) -> Self {
        ClientReader { inner, gone }
    }
}

impl AsyncRead for ClientReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(ctx, out));
        let is_end = read.is_err() || out.filled().len() == before;
        if is_end && is_hung_up(self.inner.as_ref()) {
            self.gone.set();
        }
        Poll::Ready(read)
    }
}

/// Returns whether both directions are closed; a client that only finished sending closed one.
fn is_hung_up(stream: &UnixStream) -> bool {
    let mut seen = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut seen, Some(&now)).is_ok()
        && seen.iter().any(|it| it.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn who_finished_sending_is_not_gone_and_who_closed_is() {
        for closes in [false, true] {
            let (ours, mut theirs) = UnixStream::pair().expect("a pair");
            let (reading, _writing) = ours.into_split();
            let gone = HangUp::default();
            let mut reader = ClientReader::new(reading, gone.clone());
            theirs.write_all(b"x").await.expect("written");
            theirs.shutdown().await.expect("shut");
            let theirs = (!closes).then_some(theirs);
            let mut received = Vec::new();
            reader.read_to_end(&mut received).await.expect("the end");
            // Biased, so that a signal that was set is seen first.
            let is_gone = tokio::select! {
                biased;
                () = gone.wait() => true,
                () = std::future::ready(()) => false,
            };
            assert_eq!((received.as_slice(), is_gone), (&b"x"[..], closes));
            drop(theirs);
        }
    }
}
