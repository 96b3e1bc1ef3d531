//! Models for the tests of this crate.
#![allow(dead_code)] // Each test uses a part.

pub mod bert;
pub mod minilm;
pub mod tiny;
