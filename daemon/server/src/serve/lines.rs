//! Lines: splits the input of a client into lines, in bounded memory.
//!
//! In: bytes. Out: one line at a time, without its terminator; or that one was too long; or the
//! end.
//! Invariants: at most `max_bytes` of a line are held; a line that is too long is reported once,
//! immediately, and skipped to its end; dropping the future of `next` loses nothing; an unfinished
//! line before the end is dropped; the patience limits a line that has started, not the wait for
//! one.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::{Instant, timeout_at};

/// The result of `next`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its `\n` or `\r\n`; it may be empty.
    Whole(Vec<u8>),
    /// A line that exceeds the limit and is skipped.
    TooLong,
    /// The client sends no more.
    End,
}

/// Reads lines of at most a given size.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    max_bytes: usize,
    line: Vec<u8>,
    /// Whether the input is inside a line that was reported as too long.
    is_skipping: bool,
    put_back: Option<Line>,
    patience: Option<Duration>,
    last_byte: Option<Instant>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `max_bytes`, not counting the terminator.
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        let reader = BufReader::new(reader);
        Lines {
            reader,
            max_bytes,
            line: Vec::new(),
            is_skipping: false,
            put_back: None,
            patience: None,
            last_byte: None,
        }
    }

    /// Gives up on an unfinished line if nothing arrives for this long.
    pub(crate) fn patient_for(self, patience: Duration) -> Self {
        Lines { patience: Some(patience), ..self }
    }

    /// Puts a line back: the next call to `next` returns it.
    pub(crate) fn put_back(&mut self, line: Line) {
        self.put_back = Some(line);
    }

    /// Returns the next line. Cancel-safe: what was read stays here.
    ///
    /// # Errors
    /// Errors of the socket; `TimedOut` when an unfinished line does not continue.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        if let Some(line) = self.put_back.take() {
            return Ok(line);
        }
        loop {
            // No await between looking at the buffer and consuming it, so nothing is lost or read
            // twice.
            let is_inside = self.is_skipping || !self.line.is_empty();
            let patience = self.patience.filter(|_| is_inside);
            let until =
                self.last_byte.zip(patience).map(|(last_byte, patience)| last_byte + patience);
            let available = match until {
                Some(until) => timeout_at(until, self.reader.fill_buf()).await??,
                None => self.reader.fill_buf().await?,
            };
            if available.is_empty() {
                return Ok(Line::End);
            }
            let end = memchr::memchr(b'\n', available);
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            let n_used = part.len() + usize::from(end.is_some());
            let fits = self.line.len() + part.len() <= self.max_bytes;
            let was_skipping = self.is_skipping;
            if fits && !was_skipping {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(n_used);
            self.last_byte = self.patience.map(|_| Instant::now());
            self.is_skipping = end.is_none() && (was_skipping || !fits);
            if !fits && !was_skipping {
                self.line = Vec::new();
                return Ok(Line::TooLong);
            }
            if end.is_some() && !was_skipping {
                return Ok(Line::Whole(self.take_line()));
            }
        }
    }

    fn take_line(&mut self) -> Vec<u8> {
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        std::mem::take(&mut self.line)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Yields at most `step` bytes per read.
    struct Drip<'a> {
        rest: &'a [u8],
        step: usize,
    }

    impl AsyncRead for Drip<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let n = self.step.min(self.rest.len()).min(out.remaining());
            let (now, later) = self.rest.split_at(n);
            out.put_slice(now);
            self.rest = later;
            Poll::Ready(Ok(()))
        }
    }

    async fn all(bytes: &[u8], step: usize, max_bytes: usize) -> Vec<Line> {
        let mut lines = Lines::new(Drip { rest: bytes, step }, max_bytes);
        let mut found = Vec::new();
        loop {
            let line = lines.next().await.expect("no errors");
            if line == Line::End {
                return found;
            }
            found.push(line);
        }
    }

    async fn check(text: &str, expected: Expect) {
        let mut out = String::new();
        for line in all(text.as_bytes(), 3, 8).await {
            match line {
                Line::Whole(bytes) => out += &format!("{:?}\n", String::from_utf8_lossy(&bytes)),
                other => out += &format!("{other:?}\n"),
            }
        }
        expected.assert_eq(&out);
    }

    #[tokio::test]
    async fn cut_at_line_ends() {
        check(
            "one\r\ntwo\n\n12345678\n123456789\nfive\nhalf",
            expect![[r#"
                "one"
                "two"
                ""
                "12345678"
                TooLong
                "five"
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn an_endless_line_is_reported_once_and_costs_nothing() {
        let mut lines = Lines::new(tokio::io::repeat(b'x'), 1 << 20);
        assert_eq!(lines.next().await.expect("no errors"), Line::TooLong);
        assert_eq!(lines.line.capacity(), 0);
    }

    #[tokio::test]
    async fn a_line_that_does_not_go_on_is_given_up_and_one_that_does_not_begin_is_waited_for() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut lines = Lines::new(ours, 3).patient_for(Duration::from_millis(1));
        for half in [&b"ab"[..], b"abcdef"] {
            let next = lines.next();
            // No line has started, so no wait is too long.
            assert!(tokio::time::timeout(Duration::from_millis(5), next).await.is_err());
            tokio::io::AsyncWriteExt::write_all(&mut theirs, half).await.expect("written");
            let error = loop {
                match lines.next().await {
                    Ok(line) => assert_eq!(line, Line::TooLong),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            tokio::io::AsyncWriteExt::write_all(&mut theirs, b"\n").await.expect("written");
            if half.len() <= 3 {
                assert_eq!(lines.next().await.expect("no errors"), Line::Whole(half.to_vec()));
            }
        }
    }

    #[tokio::test]
    async fn a_line_put_back_comes_again() {
        let mut lines = Lines::new(&b"one\ntwo\n"[..], 10);
        let one = lines.next().await.expect("no errors");
        lines.put_back(one);
        assert_eq!(lines.next().await.expect("no errors"), Line::Whole(b"one".to_vec()));
        assert_eq!(lines.next().await.expect("no errors"), Line::Whole(b"two".to_vec()));
    }

    proptest! {
        #[test]
        fn how_bytes_arrive_does_not_matter(bytes in "[a\r\n]{0,60}", step in 1usize..9) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let (dripped, whole) = runtime.block_on(async {
                (all(bytes.as_bytes(), step, 5).await, all(bytes.as_bytes(), 1 << 20, 5).await)
            });
            prop_assert_eq!(dripped, whole);
        }
    }
}
