//! Link: one session's stream, line by line.
//!
//! In: a connected stream. Out: the lines received, and a queue for those to send.
//! Invariants: a line is sent completely or not at all, even if its sender is cancelled; the queue is bounded, and so
//! is a received line; the other side sees the end once both halves are dropped.

use std::io;

use bytes::{Bytes, BytesMut};
use config::limits::MAX_QUEUED_LINES;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Longest line received from a session, in bytes, as in our own clients.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The two halves of a session.
pub(crate) fn split(stream: UnixStream) -> (Incoming, Outgoing) {
    let (reading, writing) = stream.into_split();
    let (lines, queue) = mpsc::channel(MAX_QUEUED_LINES);
    tokio::spawn(write(writing, queue));
    (Incoming { reader: BufReader::new(reading), line: BytesMut::new() }, Outgoing { lines })
}

async fn write(mut writing: OwnedWriteHalf, mut queue: mpsc::Receiver<Bytes>) {
    while let Some(line) = queue.recv().await {
        // One buffer, so that a line and its end go out in one write.
        let whole = [&line[..], b"\n"].concat();
        if writing.write_all(&whole).await.is_err() {
            return;
        }
    }
}

/// The receiving half.
#[derive(Debug)]
pub(crate) struct Incoming {
    reader: BufReader<OwnedReadHalf>,
    line: BytesMut,
}

impl Incoming {
    /// Returns the next line without its end; none when the session is over. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            // No await between reading the buffer and consuming it, hence cancel-safe.
            let available = self.reader.fill_buf().await.ok()?;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = available.get(..end.unwrap_or(available.len()))?;
            self.line.extend_from_slice(part);
            let n_used = part.len() + usize::from(end.is_some());
            self.reader.consume(n_used);
            if n_used == 0 || self.line.len() > MAX_LINE_BYTES {
                return None;
            }
            if end.is_some() {
                return Some(self.line.split().freeze());
            }
        }
    }
}

/// The sending half. Clones share it; dropping the last one closes it.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    lines: mpsc::Sender<Bytes>,
}

impl Outgoing {
    /// Sends a line once there is room.
    ///
    /// # Errors
    /// When the session is over.
    pub(crate) async fn send(&self, line: Bytes) -> io::Result<()> {
        self.lines.send(line).await.map_err(|_| io::ErrorKind::NotConnected.into())
    }

    /// Sends a line if there is room; otherwise drops it.
    pub(crate) fn try_send(&self, line: Bytes) {
        let _ = self.lines.try_send(line);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn lines_pass_whole_and_the_end_is_seen() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let (mut incoming, outgoing) = split(ours);
        outgoing.send(Bytes::from_static(b"{}")).await.expect("sent");
        outgoing.send(Bytes::from_static(b"[]")).await.expect("sent");
        theirs.write_all(b"first\nsec").await.expect("written");
        assert_eq!(incoming.next().await.as_deref(), Some(&b"first"[..]));
        theirs.write_all(b"ond\n").await.expect("written");
        assert_eq!(incoming.next().await.as_deref(), Some(&b"second"[..]));
        drop((incoming, outgoing));
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.expect("the end");
        assert_eq!(received, b"{}\n[]\n");
    }
}
