//! Any bytes as a `.ipynb` file, or as source code: what begins with `{` is a notebook.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::read(if bytes.starts_with(b"{") { "ipynb" } else { "rs" }, bytes);
});
