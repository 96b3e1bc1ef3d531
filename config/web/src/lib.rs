//! Web: HTTP requests to servers that the user configured (`embed.remote`, `llm`) or asked for (`kgctl model pull`).
//! Nothing else in kgd connects to another machine.
//!
//! In: an address, headers, a body. Out: a reply of any status, or why there is none.
//! Invariants: redirects are not followed automatically, so neither text nor keys go to an unexpected server; every
//! wait is bounded; certificates are checked against those of the system; headers never appear in errors.

pub mod mock;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::crypto::ring;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body, Error};

/// Timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For resolving the name and connecting.
    pub connect: Duration,
    /// For the start of the reply, and for each further part of it.
    pub read: Duration,
    /// For the whole request, if limited.
    pub whole: Option<Duration>,
}

/// Sends requests.
#[derive(Debug, Clone)]
pub struct Web {
    agent: Agent,
}

/// A reply.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status, such as 200.
    pub status: u16,
    headers: ureq::http::HeaderMap,
    body: Body,
}

/// Why there is no reply, or only a part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The address is invalid.
    #[error("`{url}` is not a valid address: {why}")]
    Address {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection: no network, unknown name, nothing listens, or an invalid certificate.
    #[error("`{url}` cannot be reached: {why}")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// What the system said.
        why: String,
    },
    /// A timeout.
    #[error("`{url}` timed out: {why}")]
    TimedOut {
        /// What was asked for.
        url: String,
        /// Which timeout.
        why: String,
    },
    /// The connection broke, or the reply is not HTTP.
    #[error("the reply from `{url}` broke off: {why}")]
    Broken {
        /// What was asked for.
        url: String,
        /// How.
        why: String,
    },
    /// The reply is too long.
    #[error("the reply from `{url}` is longer than {most} bytes")]
    TooLong {
        /// What was asked for.
        url: String,
        /// Bytes.
        most: u64,
    },
}

impl Web {
    /// Creates a client for `url` and similar addresses. Certificates are loaded only for `https`; a proxy from the
    /// environment (`HTTPS_PROXY` and the like) is used except for this machine itself.
    ///
    /// # Errors
    /// [`WebError::Unreachable`] when the system has no root certificates.
    pub fn new(url: &str, patience: Patience) -> Result<Self, WebError> {
        let mut config = Agent::config_builder()
            // A status is for the caller to judge, and a redirect could lead to another server.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("kgd/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.read))
            .timeout_per_read(Some(patience.read))
            .timeout_per_write(Some(patience.read))
            .timeout_global(patience.whole);
        if url.starts_with("https:") {
            config = config.tls_config(tls(url)?);
        }
        // A proxy could not reach our loopback, and must not see what stays on this machine.
        if is_this_machine(url) {
            config = config.proxy(None);
        }
        Ok(Web { agent: config.build().new_agent() })
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// When no reply began. A reply of any status is not an error.
    pub fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Reply, WebError> {
        let mut request = self.agent.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.call().map(Reply::of).map_err(|error| explained(url, &error))
    }

    /// Sends JSON to an address.
    ///
    /// # Errors
    /// Those of [`Web::get`].
    pub fn post_json(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, WebError> {
        let mut request = self.agent.post(url).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send(body).map(Reply::of).map_err(|error| explained(url, &error))
    }

    /// Like [`Web::post_json`], with a limit for the whole reply.
    ///
    /// # Errors
    /// Those of [`Web::get`].
    pub fn post_json_within(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        within: Duration,
    ) -> Result<Reply, WebError> {
        let request = self.agent.post(url).config().timeout_global(Some(within)).build();
        // This adds a limit of the whole; those of the agent stay.
        let mut request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send(body).map(Reply::of).map_err(|error| explained(url, &error))
    }
}

impl Reply {
    /// Returns the pause that the server asks for (`Retry-After`), if any.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.header("retry-after"), Timestamp::now())
    }

    fn of(reply: ureq::http::Response<Body>) -> Self {
        let (parts, body) = reply.into_parts();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Returns a header by its lowercase name, if it is plain text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns a reader of the body.
    pub fn into_reader(self) -> impl Read {
        self.body.into_with_config().limit(u64::MAX).reader()
    }

    /// Reads the whole body; `url` is for errors.
    ///
    /// # Errors
    /// When it breaks off, or has more than `most` bytes.
    pub fn into_bytes(self, url: &str, most: u64) -> Result<Vec<u8>, WebError> {
        let mut bytes = Vec::new();
        // One byte more than allowed shows that the reply is too long.
        let read = self.into_reader().take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| broken(url, &error))?;
        match bytes.len() as u64 > most {
            true => Err(WebError::TooLong { url: url.to_string(), most }),
            false => Ok(bytes),
        }
    }
}

/// Converts an error in the middle of a body.
pub fn broken(url: &str, error: &std::io::Error) -> WebError {
    let (url, why) = (url.to_string(), error.to_string());
    match error.kind() {
        std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => {
            WebError::TimedOut { url, why }
        }
        _ => WebError::Broken { url, why },
    }
}

/// Returns true when the host of an address is this machine.
pub fn is_this_machine(url: &str) -> bool {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = after.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.starts_with("[::1]") {
        return true;
    }
    let name = host.split(':').next().unwrap_or_default();
    name == "localhost" || name.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback())
}

fn tls(url: &str) -> Result<TlsConfig, WebError> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        let why = "this system has no root certificates (install the package `ca-certificates`)";
        return Err(WebError::Unreachable { url: url.to_string(), why: why.to_string() });
    }
    let owned =
        |der: &rustls::pki_types::CertificateDer<'static>| Certificate::from_der(der).to_owned();
    let certs: Vec<Certificate<'static>> = found.iter().map(owned).collect();
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::from(certs))
        .build())
}

fn explained(url: &str, error: &Error) -> WebError {
    let (url, why) = (url.to_string(), error.to_string());
    match error {
        Error::BadUri(_) | Error::Http(_) | Error::RequireHttpsOnly(_) => {
            WebError::Address { url, why }
        }
        Error::Timeout(_) => WebError::TimedOut { url, why },
        Error::Protocol(_) => WebError::Broken { url, why },
        // Before a reply began, a broken connection may pass; a refused one means that nothing listens.
        Error::Io(error) => match error.kind() {
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => {
                WebError::TimedOut { url, why }
            }
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::ConnectionReset
            | std::io::ErrorKind::ConnectionAborted
            | std::io::ErrorKind::BrokenPipe => WebError::Broken { url, why },
            _ => WebError::Unreachable { url, why },
        },
        _ => WebError::Unreachable { url, why },
    }
}

/// Parses a `Retry-After` header: seconds, or a date.
pub fn retry_after(header: Option<&str>, now: Timestamp) -> Option<Duration> {
    let text = header?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_others() {
        for own in [
            "http://localhost:11434/api",
            "http://127.0.0.1/",
            "http://[::1]:80/",
            "http://127.9.0.1:1",
        ] {
            assert!(is_this_machine(own), "{own}");
        }
        for other in [
            "https://example.org/",
            "http://localhost.example.org/",
            "http://localhost@example.org/",
            "http://10.0.0.1/",
            "http://127.0.0.1.example.org/",
        ] {
            assert!(!is_this_machine(other), "{other}");
        }
    }

    #[test]
    fn certificates_and_addresses_are_checked_without_a_network() {
        let patience = Patience {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(5),
            whole: Some(Duration::from_secs(5)),
        };
        let web = Web::new("http://localhost", patience).expect("nothing is needed for it");
        assert!(matches!(web.get("no address", &[]), Err(WebError::Address { .. })));
        // Nothing listens at a port that was just released.
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let url = format!("http://{}/", port.expect("a port"));
        assert!(matches!(web.get(&url, &[]), Err(WebError::Unreachable { .. })));
        // Whether or not there are certificates, this must not panic.
        let _ = Web::new("https://localhost", patience);
    }

    #[test]
    fn a_retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-10-21T07:26:30Z".parse().expect("a moment");
        let seconds = |text, now| retry_after(text, now).map(|it| it.as_secs());
        assert_eq!(seconds(Some(" 7 "), now), Some(7));
        let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(seconds(date, now), Some(90));
        assert_eq!(seconds(date, now + Duration::from_secs(500)), Some(0), "it is over");
        assert_eq!(seconds(Some("soon"), now), None);
        assert_eq!(seconds(None, now), None);
    }
}
