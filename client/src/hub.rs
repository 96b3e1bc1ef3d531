//! Hub: reaches the front end of a hub, and starts it if none runs.
//!
//! In: a hub's address. Out: places that hold the hub's projects like those of folders.

use std::io::Read;
use std::net::Shutdown;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use config::address::split_password;
use config::place::{create_private_dir, replace_file};
use config::{Places, Registry};

use crate::gateway::Served;
use crate::launch::{LaunchError, Life, Target};
use crate::shim::Kind;

/// Longest wait for a front end to report an error.
const PATIENCE: Duration = Duration::from_secs(2);

/// The variable with a role's password, as PostgreSQL's own programs know it.
const PASSWORD: &str = "PGPASSWORD";

/// The file in a hub's places that holds its address; it may contain a password.
const URL_FILE: &str = "hub.url";

/// Makes sure that a front end of this hub runs, and returns its places.
///
/// # Errors
/// [`LaunchError`] with the front end's message, such as that the database cannot be reached. If it
/// was reachable before, its projects report this themselves until it is reachable again.
pub fn reach(places: &Places, url: &str) -> Result<Places, LaunchError> {
    let places = places.of_hub(url);
    create_private_dir(&places.state)?;
    if address_in(&places).as_deref() != Some(url) {
        replace_file(&places.state.join(URL_FILE), 0o600, url.as_bytes())?;
    }
    let front = places.front();
    create_private_dir(&front.root)?;
    // It creates the registry and the projects' sockets, where every client finds them.
    let mut stream = Target::new(&places, front)?.connect_or_start(Life::UntilIdle)?;
    // No request is sent to it.
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reply = Vec::new();
    // A front end that is just querying its database closes the connection later.
    let _ = stream.read_to_end(&mut reply);
    let is_unknown = Registry::load(&places.config).is_ok_and(|it| it.projects().is_empty());
    match Kind::of(reply.split(|byte| *byte == b'\n').next().unwrap_or_default()) {
        Kind::Refusal(refusal) if is_unknown => Err(LaunchError::Refused(refusal)),
        _ => Ok(places),
    }
}

/// Completes the projects of the hub with these places: they are copies that cannot be written, and a front end knows
/// what each holds.
///
/// # Errors
/// [`LaunchError`] when the places are too long for a socket.
pub fn serving(places: &Places, served: Served) -> Result<Served, LaunchError> {
    let front = places.project(&places.front())?;
    Ok(served.with_same_as(places.same_as()).with_front(front.socket).with_read_only(|_| true))
}

/// Gives a program the password of a hub's address in the environment, which only the user can read, where `PGPASSWORD`
/// is not set; returns the address without it, for arguments, which everybody can read.
pub fn pass_password(command: &mut Command, url: &str) -> String {
    let (shown, password) = split_password(url);
    if let Some(password) =
        password.filter(|_| std::env::var_os(PASSWORD).is_none_or(|it| it.is_empty()))
    {
        command.env(PASSWORD, password);
    }
    shown
}

/// Returns the hub whose places these are, if they belong to one.
pub(crate) fn address_in(places: &Places) -> Option<String> {
    address_at(&places.state)
}

fn address_at(state: &Path) -> Option<String> {
    std::fs::read_to_string(state.join(URL_FILE)).ok()
}
