//! Terminal: an alternate screen with single key presses, for as long as the value lives.
//!
//! Invariants: the terminal is restored when the value is dropped, even after an error; no key is
//! lost when the terminal changes its size.

use std::io::{IsTerminal, Write};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// Switches to the alternate screen without a cursor; below, back again.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Moves to the top left and erases everything below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Size of a terminal that does not report one: columns, rows.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// A terminal in raw mode.
pub(crate) struct Terminal {
    before: Termios,
    resized: Signal,
    /// A read that continues while the screen is redrawn.
    reading: Option<JoinHandle<std::io::Result<Vec<u8>>>>,
}

/// What a person did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Typed these bytes; empty when the terminal is gone.
    Typed(Vec<u8>),
    /// Changed the size of the terminal, so the screen must be shown again.
    Resized,
}

impl Terminal {
    /// Returns whether a person can see output and press keys.
    pub(crate) fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }

    /// Takes over the terminal.
    pub(crate) fn enter() -> std::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let resized = signal(SignalKind::window_change())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)?;
        let terminal = Terminal { before, resized, reading: None };
        terminal.write(ENTER)?;
        Ok(terminal)
    }

    /// Returns the current columns and rows.
    pub(crate) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (usize::from(size.ws_col), usize::from(size.ws_row))
            }
            _ => DEFAULT_SIZE,
        }
    }

    /// Replaces the contents of the screen.
    pub(crate) fn show(&self, screen: &str) -> std::io::Result<()> {
        self.write(&format!("{CLEAR}{screen}"))
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Waits for the next event. Other tasks run meanwhile.
    pub(crate) async fn next(&mut self) -> std::io::Result<Event> {
        let reading = self.reading.get_or_insert_with(|| tokio::task::spawn_blocking(read));
        let typed = tokio::select! {
            typed = reading => typed,
            _ = self.resized.recv() => return Ok(Event::Resized),
        };
        self.reading = None;
        typed.unwrap_or_else(|error| Err(std::io::Error::other(error))).map(Event::Typed)
    }
}

fn read() -> std::io::Result<Vec<u8>> {
    let mut bytes = [0; 64];
    let n = rustix::io::retry_on_intr(|| rustix::io::read(std::io::stdin(), &mut bytes))?;
    Ok(bytes.get(..n).unwrap_or_default().to_vec())
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If this fails, nothing can be done.
        let _ = self.write(LEAVE);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
