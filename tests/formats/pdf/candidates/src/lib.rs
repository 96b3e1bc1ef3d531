//! Shared by the programs: `NAME FOLDER FILE...` writes the text of each file to `FOLDER/STEM.txt`. There is no text if
//! the library fails or panics.

use std::panic::catch_unwind;
use std::path::Path;

/// Runs one library over the files that the command line names.
pub fn run(text_of: fn(&str) -> Option<String>) {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("usage: NAME FOLDER FILE...");
    for path in args {
        let stem = Path::new(&path).file_stem().expect("a file").to_string_lossy().into_owned();
        match catch_unwind(|| text_of(&path)) {
            Ok(Some(text)) => std::fs::write(format!("{folder}/{stem}.txt"), text).expect("a folder to write to"),
            Ok(None) => eprintln!("failed: {stem}"),
            Err(_) => eprintln!("panicked: {stem}"),
        }
    }
}
