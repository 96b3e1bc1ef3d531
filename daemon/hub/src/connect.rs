//! Connect: opens a connection to a hub from its address.
//!
//! In: a PostgreSQL URL, the user's settings. Out: a client.
//! Invariants: a connection to another machine uses TLS, unless both the URL and the user's settings say that it need
//! not. The certificate is verified against the system's authorities, or against those in the file that `sslrootcert`
//! names. A password is never logged; that of `publish.token_file` goes to the role and host of `publish.url` alone.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::settings::Publish;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::clear::{self, MakeClear};
use crate::{HubError, schema};

/// Longest wait for a connection: half of what a client waits for a front end that it starts.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which a network that swallows packets counts as down: nothing that was sent is
/// acknowledged, or an idle connection gets no answer, for this long.
const SILENCE: Duration = Duration::from_secs(30);

/// Longest time for a statement, and for the wait for a lock.
const STATEMENT_TIMEOUT: &str = "SET statement_timeout = '10min'; SET lock_timeout = '30s'";

/// The place of a hub, and the role that queries it.
#[derive(Debug, Clone)]
pub struct Address {
    config: Config,
    /// Authorities to trust; `None` means the system's.
    authorities: Option<PathBuf>,
    way: Way,
    shown: String,
}

/// How a hub is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// On this machine: over TLS if the address says so, or the server offers it.
    Here,
    /// Over TLS alone.
    Tls,
    /// Without TLS, and without a password as it is.
    Clear,
}

/// A connection to a hub.
pub struct Hub {
    pub(crate) client: Client,
}

impl Address {
    /// Parses a URL such as `postgres://role@host/database?sslrootcert=FILE`. The password comes
    /// from `publish.token_file` where the URL is that of `publish.url`, else from `PGPASSWORD`, else from the URL.
    ///
    /// # Errors
    /// If the URL or the file cannot be read, or it asks another machine without TLS.
    pub fn parse(url: &str, own: &Publish) -> Result<Self, HubError> {
        let (mut config, authorities) = read(url)?;
        let token = match own.token_file.as_str() {
            file if !file.is_empty() && is_that_of(&config, &own.url) => {
                let read = std::fs::read_to_string(file);
                Some(read.map_err(|error| wrong(&format!("`{file}`: {error}")))?)
            }
            _ => std::env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()),
        };
        if let Some(token) = token {
            config.password(token.trim_end_matches(['\n', '\r']));
        }
        let way = match authorities {
            Some(_) => Way::Tls,
            None => way(&config, url, &own.plaintext_hosts)?,
        };
        match way {
            Way::Here => {}
            Way::Tls => _ = config.ssl_mode(SslMode::Require),
            Way::Clear => {
                config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
            }
        }
        config.application_name("kgd").connect_timeout(CONNECT_TIMEOUT);
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
        config.keepalives_interval(SILENCE / 6).keepalives_retries(3);
        let shown = shown(&config);
        Ok(Address { config, authorities, way, shown })
    }

    /// Returns role, host and database, as messages name the hub.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Connects, and checks that the tables have the version that this program needs.
    ///
    /// # Errors
    /// The error of the database or the network, or another version.
    pub async fn connect(&self) -> Result<Hub, HubError> {
        let hub = self.connect_as_owner().await?;
        let found = schema::version(&hub).await.map_err(|error| match error {
            HubError::Database(why) if why.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                HubError::Stranger(self.shown.clone())
            }
            error => error,
        })?;
        if found != schema::VERSION {
            return Err(HubError::Version { found, needed: schema::VERSION });
        }
        Ok(hub)
    }

    /// Returns `kept` if it still answers, else a fresh connection: one that was kept may have ended unnoticed, as
    /// where the database was started again.
    ///
    /// # Errors
    /// As [`Address::connect`]; [`HubError::Silent`] where the database hangs.
    pub async fn connect_unless(&self, kept: Option<Hub>) -> Result<Hub, HubError> {
        if let Some(hub) = kept
            && self.in_time(hub.client.batch_execute("")).await?.is_ok()
        {
            return Ok(hub);
        }
        self.connect().await
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, HubError> {
        let late = |_| HubError::Silent(self.shown.clone());
        tokio::time::timeout(CONNECT_TIMEOUT, work).await.map_err(late)
    }

    /// Does the same as [`Address::connect`] for tables of any version, or none.
    ///
    /// # Errors
    /// The error of the database or the network.
    pub async fn connect_as_owner(&self) -> Result<Hub, HubError> {
        // The driver's own limit ends when the server has taken the connection, which one that hangs does.
        let opened = match self.way {
            Way::Clear => self.in_time(open(&self.config, MakeClear)).await?,
            Way::Here | Way::Tls => {
                let tls = MakeRustlsConnect::new(self.tls()?);
                self.in_time(open(&self.config, tls)).await?
            }
        };
        let client = opened.map_err(|why| HubError::NoConnection {
            hub: self.shown.clone(),
            hint: hint_for(&why),
            why,
        })?;
        client.batch_execute(STATEMENT_TIMEOUT).await?;
        Ok(Hub { client })
    }

    fn tls(&self) -> Result<rustls::ClientConfig, HubError> {
        let mut roots = rustls::RootCertStore::empty();
        if let Some(file) = &self.authorities {
            let wrong = |why: String| HubError::Address(format!("`{}`: {why}", file.display()));
            let found =
                CertificateDer::pem_file_iter(file).map_err(|why| wrong(why.to_string()))?;
            for one in found {
                let one = one.map_err(|why| wrong(why.to_string()))?;
                roots.add(one).map_err(|why| wrong(why.to_string()))?;
            }
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| HubError::Address(error.to_string()))?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Opens a connection, which lives as long as its client.
async fn open<T>(config: &Config, tls: T) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = crate::message_of(&error), "a connection to the hub ended");
        }
    });
    Ok(client)
}

fn wrong(why: &str) -> HubError {
    HubError::Address(format!("the hub's address: {why}"))
}

/// Reads a URL; also the file that its `sslrootcert` names.
fn read(url: &str) -> Result<(Config, Option<PathBuf>), HubError> {
    let (url, authorities) = without_authorities(url);
    let config = url.parse().map_err(|error: tokio_postgres::Error| {
        let hint = "`postgres://ROLE@HOST/DATABASE`";
        wrong(&format!("{}\nhint: {hint}", crate::message_of(&error)))
    })?;
    Ok((config, authorities))
}

/// Returns whether both mean the same role of the same server.
fn is_that_of(config: &Config, url: &str) -> bool {
    let key = |it: &Config| {
        let user = it.get_user().map(str::to_string);
        (user, it.get_hosts().to_vec(), it.get_hostaddrs().to_vec(), ports(it))
    };
    read(url).is_ok_and(|(own, _)| key(&own) == key(config))
}

/// Returns the port of each host.
fn ports(config: &Config) -> Vec<u16> {
    let n_hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    match config.get_ports() {
        [] => vec![USUAL_PORT; n_hosts],
        [port] => vec![*port; n_hosts],
        ports => ports.to_vec(),
    }
}

/// Decides how to speak to the hosts of an address.
fn way(config: &Config, url: &str, plaintext_hosts: &[String]) -> Result<Way, HubError> {
    let name = |host: &Host| match host {
        Host::Tcp(name) => Some(name.clone()),
        Host::Unix(_) => None,
    };
    // Where addresses are given, names are only what certificates are checked for.
    let places: Vec<String> = match config.get_hostaddrs() {
        [] => config.get_hosts().iter().filter_map(name).collect(),
        addresses => addresses.iter().map(ToString::to_string).collect(),
    };
    let mut far = places.iter().filter(|it| !is_here(it)).peekable();
    let Some(host) = far.peek().copied() else { return Ok(Way::Here) };
    match config.get_ssl_mode() {
        SslMode::Disable if far.all(|it| plaintext_hosts.contains(it)) => Ok(Way::Clear),
        SslMode::Disable => Err(wrong(&format!(
            "with `sslmode=disable`, `{host}` is another machine that would be spoken to without TLS\n\
             hint: leave `sslmode` out; in a network that nobody else can read, name the host in \
             `publish.plaintext_hosts` of your own `config.yaml`, too"
        ))),
        // The driver's default, too, which stands for TLS here.
        SslMode::Prefer if url.contains("sslmode=prefer") => Err(wrong(&format!(
            "with `sslmode=prefer`, `{host}` would get the password in clear whenever it offers no TLS\n\
             hint: leave `sslmode` out: another machine is then only spoken to over TLS"
        ))),
        _ => Ok(Way::Tls),
    }
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Returns what a person can do if no connection can be made.
fn hint_for(why: &tokio_postgres::Error) -> &'static str {
    let message = crate::message_of(why);
    match why.code().and_then(|code| code.code().get(..2)) {
        Some("28") => "check the role and its password: `PGPASSWORD`, or `publish.token_file`",
        Some("3D") => "check the name of the database in the address",
        _ if message.contains(clear::REFUSED) => {
            "let PostgreSQL ask for `scram-sha-256` in `pg_hba.conf`, or speak to it over TLS"
        }
        _ if ["TLS", "tls", "certificate"].iter().any(|word| message.contains(word)) => {
            "`?sslrootcert=FILE` in the address names the authorities to trust"
        }
        _ => "check that PostgreSQL runs at that address and lets this machine in",
    }
}

/// Removes the parameter `sslrootcert` from a URL, because the driver does not know it.
fn without_authorities(url: &str) -> (String, Option<PathBuf>) {
    let Some((front, query)) = url.split_once('?') else { return (url.to_string(), None) };
    let (own, rest): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|it| it.starts_with("sslrootcert="));
    let file = own.first().and_then(|it| it.split_once('=')).map(|(_, file)| PathBuf::from(file));
    let rest = rest.join("&");
    let joint = if rest.is_empty() { "" } else { "?" };
    (format!("{front}{joint}{rest}"), file)
}

/// The default port, which messages leave out.
const USUAL_PORT: u16 = 5432;

fn shown(config: &Config) -> String {
    let host = |(host, port): (&Host, u16)| {
        let port = if port == USUAL_PORT { String::new() } else { format!(":{port}") };
        match host {
            Host::Tcp(name) => format!("{name}{port}"),
            Host::Unix(path) => format!("{}{port}", path.display()),
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().zip(ports(config)).map(host).collect();
    let (user, database) = (config.get_user().unwrap_or_default(), config.get_dbname());
    format!("{user}@{}/{}", hosts.join(","), database.unwrap_or(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(url: &str, token_file: &str, plaintext_hosts: &[&str]) -> Publish {
        let plaintext_hosts = plaintext_hosts.iter().map(|it| it.to_string()).collect();
        let (url, token_file) = (url.to_string(), token_file.to_string());
        Publish { url, token_file, plaintext_hosts, ..Publish::default() }
    }

    #[test]
    fn another_machine_is_asked_over_tls_alone_unless_address_and_settings_say_otherwise() {
        use Way::{Clear, Here, Tls};
        for (url, plaintext_hosts, expected) in [
            ("postgres://r@localhost:5433/kg", &[][..], Ok(Here)),
            ("postgres://r@LOCALHOST/kg?sslmode=prefer", &[], Ok(Here)),
            ("postgres://r@127.0.0.2/kg?sslmode=disable", &[], Ok(Here)),
            ("postgres://r@%2Ftmp/kg?sslmode=disable", &[], Ok(Here)),
            ("postgres://r@localhost/kg?sslrootcert=/ca.pem", &[], Ok(Tls)),
            ("postgres://r@db.example/kg", &[], Ok(Tls)),
            ("postgres://r@localhost,db.example/kg", &[], Ok(Tls)),
            ("postgres://r@localhost/kg?hostaddr=192.0.2.2", &[], Ok(Tls)),
            ("postgres://r@db.example/kg?sslmode=require", &["db.example"], Ok(Tls)),
            ("postgres://sslmode=x@db.example/kg", &[], Ok(Tls)),
            ("postgres://r@db.example/kg?ssl%6Dode=prefer", &[], Ok(Tls)),
            ("postgres://r@db.example/kg?sslmode=prefer", &["db.example"], Err("sslmode=prefer")),
            ("postgres://r@192.0.2.2/kg?sslmode=disable", &[], Err("publish.plaintext_hosts")),
            ("postgres://r@a,b/kg?sslmode=disable", &["a"], Err("`a` is another machine")),
            ("postgres://r@a/kg?hostaddr=192.0.2.2&sslmode=disable", &["a"], Err("`192.0.2.2`")),
            ("postgres://r@database/kg?sslmode=disable", &["database"], Ok(Clear)),
            ("postgres://r@database/kg", &["database"], Ok(Tls)),
        ] {
            let address = Address::parse(url, &own("", "", plaintext_hosts));
            match (address, expected) {
                (Ok(address), Ok(way)) => {
                    assert_eq!(address.way, way, "{url}");
                    let is_tls = address.config.get_ssl_mode() == SslMode::Require;
                    assert_eq!(is_tls, way != Here, "{url}");
                }
                (Err(error), Err(words)) => {
                    let error = error.to_string();
                    assert!(error.contains(words) && error.contains("\nhint: "), "{url}: {error}");
                }
                (address, _) => panic!("{url}: {address:?}"),
            }
        }
    }

    #[test]
    fn the_token_goes_to_its_own_role_and_host_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        std::fs::write(&file, "secret\n").expect("written");
        let own = own("postgres://press@db.example/kg", &file.display().to_string(), &[]);
        for (url, is_sent) in [
            ("postgres://press@db.example/kg", true),
            ("postgres://press@db.example:5432/other", true),
            ("postgres://press@db.example:5433/kg", false),
            ("postgres://press@evil.example/kg", false),
            ("postgres://press@db.example,evil.example/kg", false),
            ("postgres://press@db.example/kg?hostaddr=192.0.2.2", false),
            ("postgres://other@db.example/kg", false),
            ("postgres://other:own@db.example/kg", false),
        ] {
            let address = Address::parse(url, &own).expect(url);
            let password = address.config.get_password();
            assert_eq!(password == Some(b"secret"), is_sent, "{url}");
        }
    }

    #[test]
    fn a_hub_is_named_by_all_of_its_hosts() {
        for (url, expected) in [
            ("postgres://r@localhost:5433/kg", "r@localhost:5433/kg"),
            ("postgres://r@a,b:5433/kg?sslmode=require", "r@a,b:5433/kg"),
            ("postgres://r:pw@a", "r@a/r"),
        ] {
            assert_eq!(Address::parse(url, &Publish::default()).expect(url).shown(), expected);
        }
    }

    #[test]
    fn messages_never_hold_the_password() {
        let error = Address::parse("postgres://r:hunter2@h:x/kg", &Publish::default())
            .expect_err("no port");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let address =
            Address::parse("postgres://r:hunter2@localhost/kg", &Publish::default()).expect("read");
        assert!(!format!("{address:?}").contains("hunter2"));
    }
}
