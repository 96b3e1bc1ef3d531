//! Any bytes as a file of one format: the variable `KG_FORMAT` holds its extension.
#![no_main]

use std::sync::LazyLock;

static EXTENSION: LazyLock<String> = LazyLock::new(|| {
    let extension = std::env::var("KG_FORMAT").unwrap_or_default();
    let is_known = config::formats::of(&extension).is_some();
    assert!(is_known, "`KG_FORMAT` is `{extension}`\nhint: set it to an extension, such as `pdf`");
    extension
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read(&EXTENSION, bytes));
