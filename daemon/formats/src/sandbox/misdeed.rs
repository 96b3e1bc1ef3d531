//! Misdeeds: what a broken or compromised parser might do. Tests request them from inside a document.
//!
//! In: a document with `misdeed:NAME` in it. Out: as the name says; nothing for a document without.
//! Invariant: only a daemon started with `KG_FAIL=worker.obeys=N` lets workers obey, and only for its first N
//! documents.

#![expect(
    clippy::disallowed_methods,
    reason = "does what no code should, for tests of the sandbox"
)]

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use super::child::write_all;

/// What comes before the name in a document.
const MARK: &str = "misdeed:";

/// Does what the document asks for. If the sandbox blocks it, the panic's message is the system's error.
#[allow(clippy::print_stdout)]
pub(super) fn commit(source: &[u8]) {
    let text = String::from_utf8_lossy(source);
    let Some((_, rest)) = text.split_once(MARK) else { return };
    let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
    match name.as_str() {
        "abort" => std::process::abort(),
        "allocate" => allocate(),
        "connect" => drop(std::net::TcpStream::connect("127.0.0.1:9")),
        "exit" => std::process::exit(7),
        "fork" => drop(std::process::Command::new("/bin/true").spawn()),
        "garbage" => write_for_ever(&[0xff; 64]),
        "half" => half_a_reply(),
        "huge" => write_for_ever(&0x7fff_ffff_u32.to_le_bytes()),
        "open" => assert!(std::fs::read("/etc/passwd").is_err(), "a file was opened"),
        "overflow" => drop(black_box(deeper(0))),
        "panic" => panic!("the text of the document: {text}"),
        "print" => print(),
        "signal" => assert!(reaches_others().is_err(), "another process can be signaled"),
        "sleep" => std::thread::sleep(Duration::MAX),
        "spin" => spin(),
        "thread" => drop(std::thread::spawn(|| ()).join()),
        other => panic!("no misdeed `{other}`"),
    }
}

/// Checks whether the first process could be signaled, without signaling it.
fn reaches_others() -> rustix::io::Result<()> {
    rustix::process::test_kill_process(rustix::process::Pid::INIT)
}

fn allocate() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 1 << 20]));
    }
}

fn deeper(depth: u64) -> u64 {
    let room = black_box([depth; 128]);
    if black_box(depth) == u64::MAX {
        return 0;
    }
    deeper(depth + 1) + room.iter().sum::<u64>()
}

fn half_a_reply() {
    let _ = write_all(&100_u32.to_le_bytes());
    let _ = write_all(&[1; 50]);
    std::process::exit(0);
}

fn write_for_ever(bytes: &[u8]) {
    while write_all(bytes).is_ok() {}
    std::process::exit(0);
}

fn print() {
    let line = "the text of the document\n".repeat(1000);
    for _ in 0..100 {
        let _ = std::io::stdout().write_all(line.as_bytes());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    spin();
}

fn spin() {
    let mut n = 0_u64;
    loop {
        n = black_box(n.wrapping_add(1));
    }
}
