//! Everything that needs a whole daemon, from files on disk to replies on the socket.

mod bad_input;
mod crash;
mod crowd;
mod deep;
mod determinism;
mod documents;
mod duplicates;
mod events;
mod graph;
mod hostile;
mod identity;
mod languages;
mod ledger;
mod life;
mod linking;
mod models;
mod relations;
mod secrets;
mod seeing;
mod shutdown;
mod tidy;
mod trouble;
mod upgrade;
mod versions;
mod wire;
mod workers;
