//! Connect: opens a connection to a hub from its address.
//!
//! In: a PostgreSQL URL, a file with the password. Out: a client.
//! Invariants: a connection to another machine uses TLS, unless the URL sets `sslmode`. The
//! certificate is verified against the system's authorities, or against those in the file that
//! `sslrootcert` names. A password is never logged.
//! Not here: queries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

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
    shown: String,
}

/// A connection to a hub.
pub struct Hub {
    pub(crate) client: Client,
}

impl Address {
    /// Parses a URL such as `postgres://role@host/database?sslrootcert=FILE`. The password comes
    /// from `token_file`, otherwise from `PGPASSWORD`, otherwise from the URL.
    ///
    /// # Errors
    /// If the URL or the file cannot be read.
    pub fn parse(url: &str, token_file: Option<&Path>) -> Result<Self, HubError> {
        let wrong = |why: String| HubError::Address(format!("the hub's address: {why}"));
        let (url, authorities) = without_authorities(url);
        let is_explicit = url.contains("sslmode=");
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let hint = "`postgres://ROLE@HOST/DATABASE`";
            wrong(format!("{}\nhint: {hint}", crate::message_of(&error)))
        })?;
        let token = match token_file {
            Some(file) => {
                let read = std::fs::read_to_string(file);
                Some(read.map_err(|error| wrong(format!("`{}`: {error}", file.display())))?)
            }
            None => std::env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()),
        };
        if let Some(token) = token {
            config.password(token.trim_end_matches(['\n', '\r']));
        }
        let is_here = config.get_hosts().iter().all(|host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        });
        if authorities.is_some() || !is_here && !is_explicit {
            config.ssl_mode(SslMode::Require);
        }
        config.application_name("kgd").connect_timeout(CONNECT_TIMEOUT);
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
        config.keepalives_interval(SILENCE / 6).keepalives_retries(3);
        let shown = shown(&config);
        Ok(Address { config, authorities, shown })
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
        let found = schema::version(&hub).await?;
        if found != schema::VERSION {
            return Err(HubError::Version { found, needed: schema::VERSION });
        }
        Ok(hub)
    }

    /// Does the same as [`Address::connect`] for tables of any version, or none.
    ///
    /// # Errors
    /// The error of the database or the network.
    pub async fn connect_as_owner(&self) -> Result<Hub, HubError> {
        let tls = MakeRustlsConnect::new(self.tls()?);
        let (client, connection) = self.config.connect(tls).await.map_err(|why| {
            HubError::NoConnection { hub: self.shown.clone(), hint: hint_for(&why), why }
        })?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = crate::message_of(&error), "a connection to the hub ended");
            }
        });
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

/// Returns what a person can do if no connection can be made.
fn hint_for(why: &tokio_postgres::Error) -> &'static str {
    let message = crate::message_of(why);
    match why.code().and_then(|code| code.code().get(..2)) {
        Some("28") => "check the role and its password: `PGPASSWORD`, or `publish.token_file`",
        Some("3D") => "check the name of the database in the address",
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
    let host = config.get_hosts().first().map_or("localhost".to_string(), |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().filter(|port| **port != USUAL_PORT);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let (user, database) = (config.get_user(), config.get_dbname());
    format!("{}@{host}{port}/{}", user.unwrap_or_default(), database.or(user).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_asked_over_tls_alone() {
        for (url, mode, shown) in [
            ("postgres://r@localhost:5433/kg", SslMode::Prefer, "r@localhost:5433/kg"),
            ("postgres://r@db.example/kg", SslMode::Require, "r@db.example/kg"),
            ("postgres://r@db.example/kg?sslmode=disable", SslMode::Disable, "r@db.example/kg"),
            ("postgres://r@localhost/kg?sslrootcert=/ca.pem", SslMode::Require, "r@localhost/kg"),
        ] {
            let address = Address::parse(url, None).expect(url);
            assert_eq!(address.config.get_ssl_mode(), mode, "{url}");
            assert_eq!(address.shown(), shown);
        }
    }

    #[test]
    fn messages_never_hold_the_password() {
        let error = Address::parse("postgres://r:hunter2@h:x/kg", None).expect_err("no port");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let address = Address::parse("postgres://r:hunter2@localhost/kg", None).expect("read");
        assert!(!format!("{address:?}").contains("hunter2"));
    }
}
