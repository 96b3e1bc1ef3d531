//! Everything that needs a whole daemon, from files on disk to replies on the socket.

mod bad_input;
mod crowd;
mod determinism;
mod graph;
mod life;
mod shutdown;
mod tidy;
mod versions;
mod wire;
