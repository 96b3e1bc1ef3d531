//! Any bytes as a `.html` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read("html", bytes));
