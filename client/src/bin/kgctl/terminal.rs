//! Terminal: an alternate screen with single key presses, for as long as the value lives.
//!
//! Invariant: the terminal is restored when the value is dropped, also after an error.
//! Not here: what is shown (`client::pick`).

use std::io::{IsTerminal, Write};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Alternate screen without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Home, and everything below erased.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Size of a terminal that does not report one: columns, rows.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// A terminal in raw mode.
pub(crate) struct Terminal {
    before: Termios,
}

impl Terminal {
    /// Returns true when a person can see output and press keys.
    pub(crate) fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }

    /// Takes over the terminal.
    pub(crate) fn enter() -> std::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)?;
        let terminal = Terminal { before };
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

    /// Replaces the screen.
    pub(crate) fn show(&self, screen: &str) -> std::io::Result<()> {
        self.write(&format!("{CLEAR}{screen}"))
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Returns the next bytes typed; empty when the terminal is gone. Other tasks run meanwhile.
    pub(crate) async fn read(&self) -> std::io::Result<Vec<u8>> {
        let read = || {
            let mut bytes = [0; 64];
            let n = rustix::io::retry_on_intr(|| rustix::io::read(std::io::stdin(), &mut bytes))?;
            Ok(bytes.get(..n).unwrap_or_default().to_vec())
        };
        tokio::task::spawn_blocking(read)
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nothing can be done if this fails.
        let _ = self.write(LEAVE);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
