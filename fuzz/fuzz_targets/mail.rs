//! Any bytes as a `.eml` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read("eml", bytes));
