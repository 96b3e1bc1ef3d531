//! Any bytes as a file in one of the light markups: the first says which.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let extension = ["rst", "org", "adoc"][usize::from(*first) % 3];
    fuzz::read(extension, rest);
});
