//! Everything that needs a whole daemon, from files on disk to replies on the socket.

mod bad_input;
mod crash;
mod crowd;
mod determinism;
mod graph;
mod identity;
mod life;
mod tidy;
mod trouble;
mod wire;
