//! Hub: reaches the front end of a hub, and starts it if none runs.
//!
//! In: a hub's address. Out: places in which its projects lie like those of folders.
//! Not here: what a front end is (`kgd --hub`); no word is said to a database from here.

use std::io::Read;
use std::net::Shutdown;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use config::place::create_private_dir;
use config::{Places, Registry};

use crate::launch::{LaunchError, Life, Target};
use crate::shim::Kind;

/// How long a front end may take to say what is wrong.
const PATIENCE: Duration = Duration::from_secs(2);

/// The file in a hub's places that holds its address; it may contain a password.
const URL_FILE: &str = "hub.url";

/// Makes sure that a front end of this hub runs, and returns its places.
///
/// # Errors
/// [`LaunchError`] with what the front end said, such as that the database cannot be reached. Where it was reached
/// before, its projects say so themselves, until it can be reached again.
pub fn reach(places: &Places, url: &str) -> Result<Places, LaunchError> {
    let places = places.of_hub(url);
    create_private_dir(&places.state)?;
    let file = places.state.join(URL_FILE);
    if address_in(&places).as_deref() != Some(url) {
        let open = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(file);
        std::io::Write::write_all(&mut open?, url.as_bytes())?;
    }
    let front = places.front();
    create_private_dir(&front.root)?;
    // It lets whoever comes find the registry and the projects' sockets.
    let mut stream = Target::new(&places, front)?.connect_or_start(Life::UntilIdle)?;
    // Nothing is asked of it.
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut said = Vec::new();
    // One that asks its database at the moment hangs up later.
    let _ = stream.read_to_end(&mut said);
    let is_unknown = Registry::load(&places.config).is_ok_and(|it| it.projects().is_empty());
    match Kind::of(said.split(|byte| *byte == b'\n').next().unwrap_or_default()) {
        Kind::Refusal(refusal) if is_unknown => Err(LaunchError::Refused(refusal)),
        _ => Ok(places),
    }
}

/// The hub whose places these are, if they are a hub's.
pub(crate) fn address_in(places: &Places) -> Option<String> {
    address_at(&places.state)
}

fn address_at(state: &Path) -> Option<String> {
    std::fs::read_to_string(state.join(URL_FILE)).ok()
}
