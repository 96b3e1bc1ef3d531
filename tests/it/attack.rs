//! Attacks: what an agent, a hostile folder or another process must not reach, keep or break. Each
//! test reproduces one finding and would fail on the version in which it was found. `SECURITY.md`
//! describes the model.

mod boundary;
mod doors;
mod durability;
mod erasing;
mod opener;
mod output;
mod state;
mod waiting;
mod writes;
