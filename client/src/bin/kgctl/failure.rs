//! How a command ends: its exit code, and what is said when it fails.
//!
//! In: the errors of everything a command uses. Out: `error: …` and `hint: …` on standard error, and a code.
//! Not here: deciding that something failed.

use std::io::ErrorKind;
use std::process::ExitCode;

use ::config::load::LoadError;
use ::config::place::PlaceError;
use ::config::registry::{RegistryError, WhichError};
use client::call::CallError;
use client::connect::ConnectError;
use client::launch::LaunchError;
use proto::error::Code;

/// Exit codes; scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Refused = 2,
    NothingFound = 3,
    NoDaemon = 4,
    TimedOut = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    hint: Option<String>,
    /// Set when whoever read our output is gone, which is no failure.
    silent: bool,
}

impl Failure {
    /// A failure whose message may end in a line `hint: …`.
    pub(crate) fn new(exit: Exit, message: impl ToString) -> Self {
        let message = message.to_string();
        let (message, hint) = match message.split_once("\nhint: ") {
            Some((message, hint)) => (message.to_string(), Some(hint.to_string())),
            None => (message, None),
        };
        Failure { exit, message, hint, silent: false }
    }

    /// The same with a hint, unless it has one.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What to print; nothing when nobody reads it.
    pub(crate) fn text(&self) -> Option<String> {
        let hint = self.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        (!self.silent).then(|| format!("error: {}\n{hint}", self.message))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let silent = error.kind() == ErrorKind::BrokenPipe;
        let exit = if silent { Exit::Done } else { Exit::Failed };
        Failure { exit, message: error.to_string(), hint: None, silent }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let exit = match (&error, error.code()) {
            (_, Some(Code::NotFound)) => Exit::NothingFound,
            (_, Some(Code::InvalidParams | Code::Ambiguous | Code::OutsideProject)) => {
                Exit::Refused
            }
            (_, Some(Code::DeadlineExceeded)) => Exit::TimedOut,
            (CallError::Broken { .. }, _) | (_, Some(Code::Unavailable)) => Exit::NoDaemon,
            (_, Some(Code::Cancelled | Code::Internal) | None) => Exit::Failed,
        };
        Failure::new(exit, error)
    }
}

/// Errors that always end with the same code.
macro_rules! failure_from {
    ($($error:ty => $exit:expr),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new($exit, error)
            }
        })*
    };
}

failure_from! {
    LaunchError => Exit::NoDaemon,
    ConnectError => Exit::NoDaemon,
    WhichError => Exit::Refused,
    LoadError => Exit::Refused,
    RegistryError => Exit::Failed,
    PlaceError => Exit::Failed,
    serde_json::Error => Exit::Failed,
}

#[cfg(test)]
mod tests {
    use proto::error::ErrorView;

    use super::*;

    #[test]
    fn hints_stand_on_a_line_of_their_own() {
        let text = |failure: Failure| failure.text().unwrap_or_default();
        assert_eq!(text(Failure::new(Exit::Failed, "a\nhint: b")), "error: a\nhint: b\n");
        assert_eq!(text(Failure::new(Exit::Failed, "a\nhint: b").hint("c")), "error: a\nhint: b\n");
        assert_eq!(text(Failure::new(Exit::Failed, "a").hint("c")), "error: a\nhint: c\n");
        let gone = Failure::from(std::io::Error::from(ErrorKind::BrokenPipe));
        assert_eq!((gone.exit(), gone.text()), (Exit::Done, None));
    }

    #[test]
    fn codes_become_exit_codes() {
        let exit = |code| {
            Failure::from(CallError::Refused(ErrorView {
                code,
                message: String::new(),
                hint: None,
            }))
            .exit()
        };
        let table = [
            (Code::NotFound, Exit::NothingFound),
            (Code::InvalidParams, Exit::Refused),
            (Code::Ambiguous, Exit::Refused),
            (Code::DeadlineExceeded, Exit::TimedOut),
            (Code::Unavailable, Exit::NoDaemon),
            (Code::Internal, Exit::Failed),
        ];
        for (code, expected) in table {
            assert_eq!(exit(code), expected, "{code:?}");
        }
    }
}
