//! Any bytes as a `.pdf` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read("pdf", bytes));
