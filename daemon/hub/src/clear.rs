//! Clear: a connection to another machine without TLS, which never carries a password as it is.
//!
//! In: a stream. Out: the same stream, which fails where the server asks for the password itself.
//! Invariant: proofs of a password (SCRAM) may pass; `AuthenticationCleartextPassword` is refused, not answered.
//! How: the driver takes it for TLS that is negotiated directly, and so makes the connection as it makes any other.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready as done};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

/// The error of a server that asks for the password.
pub(crate) const REFUSED: &str = "the server asks for the password in clear, without TLS";

/// Makes such connections.
pub(crate) struct MakeClear;

impl<S: AsyncRead + AsyncWrite + Unpin> MakeTlsConnect<S> for MakeClear {
    type Stream = Clear<S>;
    type TlsConnect = MakeClear;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<MakeClear> {
        Ok(MakeClear)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnect<S> for MakeClear {
    type Stream = Clear<S>;
    type Error = io::Error;
    type Future = Ready<io::Result<Clear<S>>>;

    fn connect(self, inner: S) -> Self::Future {
        ready(Ok(Clear { inner, opening: Opening::default() }))
    }
}

/// A stream whose first messages are looked at.
pub(crate) struct Clear<S> {
    inner: S,
    opening: Opening,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Clear<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// What the server says until it lets the client in.
#[derive(Debug, Default)]
struct Opening {
    /// The beginning of a message: its type, its length, and the kind of authentication.
    head: Vec<u8>,
    /// Bytes of the message that still come.
    rest: usize,
    is_over: bool,
}

impl Opening {
    fn see(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            if self.is_over {
                return Ok(());
            }
            if self.rest > 0 {
                self.rest -= 1;
                continue;
            }
            self.head.push(*byte);
            // The length counts itself.
            let rest = match *self.head.as_slice() {
                [b'R', n0, n1, n2, n3, k0, k1, k2, k3] => {
                    match u32::from_be_bytes([k0, k1, k2, k3]) {
                        0 => self.is_over = true,
                        3 => return Err(io::Error::new(io::ErrorKind::PermissionDenied, REFUSED)),
                        _ => {}
                    }
                    u32::from_be_bytes([n0, n1, n2, n3]).saturating_sub(8)
                }
                [b'R', ..] => continue,
                [_, n0, n1, n2, n3] => u32::from_be_bytes([n0, n1, n2, n3]).saturating_sub(4),
                _ => continue,
            };
            self.rest = rest as usize;
            self.head.clear();
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Clear<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buf.filled().len();
        done!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        Poll::Ready(self.opening.see(buf.filled().get(n_before..).unwrap_or_default()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Clear<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_for_the_password_is_refused_however_it_comes_and_a_proof_is_not() {
        let message = |kind: u8, body: &[u8]| {
            let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
            [&[kind][..], &length, body].concat()
        };
        let ask = message(b'R', &3_u32.to_be_bytes());
        let proof = message(b'R', &[&10_u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat());
        let notice = message(b'N', b"SNOTICE\0");
        let welcome = message(b'R', &0_u32.to_be_bytes());
        for (talk, is_refused) in [
            (ask.clone(), true),
            ([notice.clone(), ask.clone()].concat(), true),
            ([proof.clone(), ask.clone()].concat(), true),
            ([proof, notice, welcome.clone()].concat(), false),
            // From here on, bytes are rows.
            ([welcome, ask].concat(), false),
        ] {
            for at_once in [1, 3, talk.len()] {
                let mut opening = Opening::default();
                let seen = talk.chunks(at_once).try_for_each(|it| opening.see(it));
                assert_eq!(seen.is_err(), is_refused, "{talk:?}");
            }
        }
    }
}
