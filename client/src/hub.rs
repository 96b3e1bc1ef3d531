//! Hub: reaches the front end of a hub, and starts it if none runs.
//!
//! In: a hub's address. Out: places in which its projects lie like those of folders.
//! Not here: what a front end is (`kgd --hub`); no word is said to a database from here.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use config::Places;
use config::place::create_private_dir;

use crate::launch::{LaunchError, Life, Target};

/// The file in a hub's places that holds its address; it may contain a password.
const URL_FILE: &str = "hub.url";

/// Makes sure that a front end of this hub runs, and returns its places.
///
/// # Errors
/// [`LaunchError`] with what the front end said, such as that the database cannot be reached.
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
    Target::new(&places, front)?.connect_or_start(Life::UntilIdle)?;
    Ok(places)
}

/// The hub whose places these are, if they are a hub's.
pub(crate) fn address_in(places: &Places) -> Option<String> {
    address_at(&places.state)
}

fn address_at(state: &Path) -> Option<String> {
    std::fs::read_to_string(state.join(URL_FILE)).ok()
}
