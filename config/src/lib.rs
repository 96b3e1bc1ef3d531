//! What a user may edit (`kg.yaml`, the registry of projects), and the code that reads it.
//!
//! Only the daemon acts on settings.

pub mod address;
pub mod boundary;
pub mod command;
pub mod fingerprint;
pub mod formats;
pub mod keys;
pub mod kinds;
pub mod limits;
pub mod live;
pub mod load;
pub mod models;
pub mod patterns;
pub mod place;
pub mod reference;
pub mod registry;
pub mod schema;
pub mod settings;

pub use live::Live;
pub use load::{Loaded, Origin};
pub use place::{Places, Project, ProjectPaths};
pub use registry::{Registry, which_project};
pub use settings::Settings;
