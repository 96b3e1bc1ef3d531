//! Any bytes as a `.txt` file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read("txt", bytes));
