//! Link: one session's stream, line by line.
//!
//! In: a connected stream. Out: the lines that come, and a place to put those that go.
//! Invariants: a line goes out whole or not at all, whoever stops waiting; what waits to go out is bounded, and so is a
//! line that comes in; the other side sees the end once both halves are dropped.

use std::io;

use bytes::{Bytes, BytesMut};
use config::limits::MAX_QUEUED_LINES;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Longest line taken from a session, in bytes: what our own clients take.
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
        let whole = [&line[..], b"\n"].concat();
        if writing.write_all(&whole).await.is_err() {
            return;
        }
    }
}

/// Lines that come.
#[derive(Debug)]
pub(crate) struct Incoming {
    reader: BufReader<OwnedReadHalf>,
    line: BytesMut,
}

impl Incoming {
    /// The next line, without its end; none when the session is over. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            // No await between looking at the buffer and consuming it.
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

/// Where lines are put that go. Clones share it; the last one ends it.
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

    /// Sends a line if there is room.
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
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.expect("the end");
        assert_eq!(heard, b"{}\n[]\n");
    }
}
