//! Any bytes as the frontmatter of a Markdown note.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut note = Vec::with_capacity(bytes.len() + 16);
    note.extend_from_slice(b"---\n");
    note.extend_from_slice(bytes);
    note.extend_from_slice(b"\n---\nText.\n");
    fuzz::read("md", &note);
});
