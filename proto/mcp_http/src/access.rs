//! Access: who may send requests, judged by a request's head.
//!
//! In: `Host`, `Origin` and `Authorization` of a request, and the local address of its connection. Out: whether it is
//! allowed, and for which web page.
//! Why: any web page may send requests to this machine's loopback, and a name that it owns may resolve to it (DNS
//! rebinding). Such requests have that name in `Host` or `Origin`, and no token.
//! Invariants: a `Host` is a loopback name, the very address that was connected to, or a name that the user listed; an
//! `Origin`, if there is one, is that very host's or listed, and only listed pages may read replies; a token is
//! required unless the user's own settings say `none`; tokens are compared in constant time.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use config::settings::{Http, HttpToken};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Caller, token};

/// Shortest token, in characters: 16 random ones cannot be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// Largest token file that is read, in bytes.
const MAX_TOKEN_BYTES: u64 = 4_096;

/// The rules of access.
#[derive(Debug, Clone, Default)]
pub struct Access {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// SHA-256 of the token: hashing hides its length from timing, too.
    token: Option<[u8; 32]>,
    /// SHA-256 of the page's own token, if a page is served.
    page_token: Option<[u8; 32]>,
    warning: Option<String>,
}

/// Why the rules of access cannot be read from the settings.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AccessError {
    /// The file with the token cannot be used.
    #[error(
        "the token's file `{path}` {why}\nhint: `(umask 077; openssl rand -hex 32 > {path})` makes one"
    )]
    Token {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Why a request is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It was sent to a name that is not ours.
    Host(String),
    /// It comes from a web page that is not allowed.
    Origin(String),
    /// It has no token.
    NoToken,
    /// It has a wrong token.
    WrongToken,
}

impl Access {
    /// Returns the rules of the settings. The token is read from the file that they name, else from `made`, where it is
    /// generated if missing.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn of(settings: &Http, made: &Path) -> Result<Self, AccessError> {
        let lower = |list: &[String]| list.iter().map(|it| it.trim().to_lowercase()).collect();
        let file = token_file(settings, made);
        let (token, warning) = match file.as_deref() {
            None => (None, Some(OPEN.to_string())),
            Some(path) => {
                let wrong = |error| unusable(path, format!("cannot be made: {error}"));
                if path == made {
                    token::make(path).map_err(wrong)?;
                }
                (Some(read_token(path)?), warning_if_readable_by_others(path))
            }
        };
        let (hosts, origins) = (lower(&settings.hosts), lower(&settings.origins));
        let token = token.map(|it| digest(&it));
        Ok(Access { hosts, origins, token, page_token: None, warning })
    }

    /// Adds the page's own token, which is generated at `made` if missing.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn with_page(self, made: &Path) -> Result<Self, AccessError> {
        token::make(made).map_err(|error| unusable(made, format!("cannot be made: {error}")))?;
        Ok(Access { page_token: Some(digest(&read_token(made)?)), ..self })
    }

    /// Returns a warning for the user about the token, if any.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Returns true if a token is required.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Checks the host to which a request was sent, and the web page it comes from; returns the page that may read the
    /// reply, if it is a listed one.
    pub(crate) fn check_place(
        &self,
        headers: &HeaderMap,
        authority: Option<&Authority>,
        local: IpAddr,
    ) -> Result<Option<HeaderValue>, Denied> {
        let mut hosts = headers.get_all(HOST).iter();
        // Several `Host` headers are ambiguous, so they count as none, which is not ours.
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => text(host),
            _ => String::new(),
        };
        let is_ours = self.is_ours(&host, local);
        if !is_ours || authority.is_some_and(|it| !self.is_ours(it.as_str(), local)) {
            return Err(Denied::Host(host));
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(None) };
        let named = text(origin).to_lowercase();
        if origins.next().is_some() {
            return Err(Denied::Origin(named));
        }
        if self.origins.contains(&named) {
            return Ok(Some(origin.clone()));
        }
        // A page of the very host that was asked, such as one behind the same proxy, may read replies anyway. A page on
        // another port of this machine is foreign.
        let page = named.strip_prefix("http://").or_else(|| named.strip_prefix("https://"));
        let is_same = page.is_some_and(|page| page.eq_ignore_ascii_case(host.trim()));
        if is_same { Ok(None) } else { Err(Denied::Origin(named)) }
    }

    /// Checks the token.
    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), Denied> {
        match self.caller(headers) {
            Err(_) if self.token.is_none() => Ok(()),
            known => known.map(|_| ()),
        }
    }

    /// Returns whose token a request has.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let given = headers.get(AUTHORIZATION).ok_or(Denied::NoToken)?;
        let given = given.to_str().map_err(|_| Denied::WrongToken)?;
        let (scheme, given) = given.split_once(' ').ok_or(Denied::WrongToken)?;
        let given = digest(given.trim());
        let is = |token: &Option<[u8; 32]>| token.is_some_and(|it| bool::from(given.ct_eq(&it)));
        // Both tokens were compared above, whichever matches, so that timing shows nothing.
        match (scheme.eq_ignore_ascii_case("bearer"), is(&self.page_token), is(&self.token)) {
            (true, true, _) => Ok(Caller::Person),
            (true, false, true) => Ok(Caller::Program),
            _ => Err(Denied::WrongToken),
        }
    }

    /// Returns true if `authority` (a host, with or without a port) is one of ours.
    fn is_ours(&self, authority: &str, local: IpAddr) -> bool {
        let authority = authority.trim().to_lowercase();
        let Some(host) = host_of(&authority) else { return false };
        let is_address = host.parse::<IpAddr>().is_ok_and(|it| {
            let it = it.to_canonical();
            it.is_loopback() || it == local.to_canonical()
        });
        is_address
            || host == "localhost"
            || self.hosts.iter().any(|it| *it == host || *it == authority)
    }
}

/// Returns the host of `host`, `host:port`, `[v6]` or `[v6]:port`. `authority` is in lower case.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            // "?" is no port, so anything else after the bracket is rejected below.
            (host, after.strip_prefix(':').unwrap_or(if after.is_empty() { "0" } else { "?" }))
        }
        None => authority.rsplit_once(':').unwrap_or((authority, "0")),
    };
    let is_host = !host.is_empty() && !host.contains(['@', '/', '?', '#', ' ']);
    // A trailing dot only makes a name fully qualified.
    (is_host && port.parse::<u16>().is_ok()).then(|| host.strip_suffix('.').unwrap_or(host))
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The warning for settings without a token.
const OPEN: &str =
    "`http.token` is `none`: every program and every user of this machine may ask over HTTP";

/// Returns the path of the token file: the one that the settings name, else `made`; none if no token is required.
pub fn token_file(settings: &Http, made: &Path) -> Option<PathBuf> {
    match (settings.token, settings.token_file.as_str()) {
        (HttpToken::None, _) => None,
        (HttpToken::Required, "") => Some(made.to_path_buf()),
        (HttpToken::Required, named) => Some(PathBuf::from(named)),
    }
}

/// Returns a warning if others than the owner can read the file.
fn warning_if_readable_by_others(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode();
    let path = path.display();
    (mode & 0o077 != 0).then(|| {
        format!(
            "the token's file `{path}` is open to other users of this machine (mode {:03o}); `chmod 600 {path}` \
             closes it",
            mode & 0o777
        )
    })
}

fn unusable(path: &Path, why: String) -> AccessError {
    AccessError::Token { path: path.display().to_string(), why }
}

/// Reads the token of a file.
///
/// # Errors
/// [`AccessError`].
pub fn read_token(path: &Path) -> Result<String, AccessError> {
    let wrong = |why: String| unusable(path, why);
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    let found = path.metadata().map_err(unreadable)?;
    if !found.is_file() || found.len() > MAX_TOKEN_BYTES {
        return Err(wrong(format!("is not a file of at most {MAX_TOKEN_BYTES} bytes")));
    }
    let token = std::fs::read_to_string(path).map_err(unreadable)?.trim().to_string();
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("contains spaces or characters outside ASCII".to_string()));
    }
    if token.len() < MIN_TOKEN_CHARS {
        return Err(wrong(format!("holds fewer than {MIN_TOKEN_CHARS} characters")));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAN: &str = "192.0.2.7";

    fn access() -> Access {
        let settings = Http {
            token: HttpToken::None,
            hosts: vec!["KG.example.org".into(), "proxied:8443".into()],
            origins: vec!["https://app.example.org".into()],
            ..Http::default()
        };
        Access::of(&settings, Path::new("/nowhere")).expect("no token")
    }

    fn asked(host: &str, origin: Option<&str>) -> Result<bool, Denied> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().expect("a value"));
        }
        let local = LAN.parse().expect("an address");
        access().check_place(&headers, None, local).map(|page| page.is_some())
    }

    #[test]
    fn hosts_are_loopback_the_address_itself_or_listed() {
        for ours in [
            "localhost",
            "LOCALHOST:8765",
            "localhost.",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:8765",
            "[::1]",
            "192.0.2.7:8765",
            "kg.example.org",
            "kg.example.org:443",
            "proxied:8443",
        ] {
            assert_eq!(asked(ours, None), Ok(false), "{ours}");
        }
        for foreign in [
            "evil.example.com",
            "localhost.evil.com",
            "evil.com:8765",
            "127.0.0.1.evil.com",
            "192.0.2.8",
            "proxied",
            "proxied:1",
            "localhost:x",
            "localhost@evil.com",
            "[::1",
            "[::1]x",
            "",
            "localhost:99999",
            "0.0.0.0",
        ] {
            assert_eq!(asked(foreign, None), Err(Denied::Host(foreign.into())), "{foreign}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let local = LAN.parse().expect("an address");
        let mut headers = HeaderMap::new();
        assert!(access().check_place(&headers, None, local).is_err());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        let foreign = Authority::from_static("evil.example.com");
        assert!(access().check_place(&headers, Some(&foreign), local).is_err());
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert!(access().check_place(&headers, None, local).is_err());
    }

    #[test]
    fn only_pages_that_are_listed_may_read() {
        assert_eq!(asked("localhost", Some("https://app.example.org")), Ok(true));
        let own = asked("kg.example.org", Some("https://KG.example.org"));
        assert_eq!(own, Ok(false), "the same origin needs no leave");
        for foreign in [
            "http://localhost:6274",
            "http://127.0.0.1",
            "https://kg.example.org",
            "https://evil.example.com",
            "null",
            "file://",
            "https://app.example.org:444",
            "ftp://localhost",
        ] {
            assert_eq!(asked("localhost:1", Some(foreign)), Err(Denied::Origin(foreign.into())));
        }
    }

    #[test]
    fn a_token_is_asked_for_where_one_is_set() {
        let folder = std::env::temp_dir().join(format!("mcp-http-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("token").display().to_string();
        let made = folder.join("made");
        let named = |file: &str| {
            Access::of(&Http { token_file: file.to_string(), ..Http::default() }, &made)
        };
        let of = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            named(&file)
        };
        assert!(
            of("short\n").is_err() && of("with spaces in it, long").is_err() && of("").is_err()
        );
        let missing = named("/nowhere/token").expect_err("no file");
        assert!(missing.to_string().contains("cannot be read") && !made.exists());
        let access = of("0123456789abcdef\n").expect("a token");
        for (mode, is_warned) in [(0o644, true), (0o640, true), (0o600, false), (0o400, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
            let warned = warning_if_readable_by_others(Path::new(&file));
            assert_eq!(warned.is_some_and(|it| it.contains(&file)), is_warned, "{mode:o}");
        }
        let asked = |value: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(AUTHORIZATION, value.parse().expect("a value"));
            }
            access.check_token(&headers)
        };
        assert_eq!(asked(None), Err(Denied::NoToken));
        assert_eq!(asked(Some("Bearer 0123456789abcdef")), Ok(()));
        assert_eq!(asked(Some("bearer  0123456789abcdef ")), Ok(()));
        for wrong in [
            "Bearer",
            "Bearer ",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdeX",
            "0123456789abcdef",
        ] {
            assert_eq!(asked(Some(wrong)), Err(Denied::WrongToken), "{wrong}");
        }
        assert!(!format!("{access:?}").contains("0123456789abcdef"));
        let usual = Access::of(&Http::default(), &made).expect("made");
        assert!(usual.has_token() && usual.warning().is_none());
        let made = read_token(&made).expect("a token");
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {made}").parse().expect("a value"));
        assert_eq!(usual.check_token(&headers), Ok(()));
        let open = Http { token: HttpToken::None, ..Http::default() };
        let open = Access::of(&open, Path::new("/nowhere")).expect("no token");
        assert!(!open.has_token() && open.warning().is_some_and(|it| it.contains("`none`")));
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
