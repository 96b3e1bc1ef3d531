//! Fit: which projects of a hub can answer a call best, as a gateway asks its front end over the control socket.
//!
//! One line of JSON each way: [`Fit`], then [`Fitting`]. Who sends nothing only looks whether a front end is there.

use serde::{Deserialize, Serialize};

/// What is asked, and how many projects are wanted. Without a question and names: those that were published last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// A question, as typed.
    #[serde(default)]
    pub question: String,
    /// Names of entities.
    #[serde(default)]
    pub names: Vec<String>,
    /// Most projects.
    pub most: usize,
}

/// The names of projects, the fittest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitting {
    /// At most as many as were wanted.
    pub projects: Vec<String>,
}
