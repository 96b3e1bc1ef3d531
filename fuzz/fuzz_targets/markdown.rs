//! Any bytes as a `.md` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read("md", bytes));
