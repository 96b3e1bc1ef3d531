//! Everything that needs a whole daemon, from files on disk to replies on the socket.

mod bad_input;
mod crash;
mod crowd;
mod determinism;
mod events;
mod graph;
mod identity;
mod languages;
mod ledger;
mod life;
mod shutdown;
mod tidy;
mod trouble;
mod upgrade;
mod versions;
mod wire;
